"""The ledger against a bare sqlite3 loop, an append-only JSONL store that is read and filtered, and DuckDB on Parquet.

`python bench/ledger.py [records]`. Everything is written to a temporary folder on the disk that holds this checkout.
"""

import json
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from peers import draw_roadsense
from timing import QUICK, compare, measure, size, table

from plaudit import Ledger, Reward, Signal
from plaudit.systems import roadsense

CLASSES = 1000


def main(records: int) -> None:
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as folder:
        singles(Path(folder))
        rates(Path(folder), records)
        one_by_one(Path(folder), min(records, 50_000))
        one_class(Path(folder), records)
        questions(Path(folder), records)
        versions(Path(folder))


def signal() -> Signal:
    return roadsense.reward.score(distance=30.0, deceleration=1.0, action=0)


# -- one durable record at a time ------------------------------------------------------------------------------------


def singles(folder: Path) -> None:
    bare = {name: bare_table(folder / f"{name}.db") for name in ("bytes", "json")}
    ledger = Ledger(folder / "singles.db")
    one = signal()
    inputs, outputs = bytes(24), bytes(56)
    counted = iter(range(10**9))

    def insert(table: sqlite3.Connection, *content: object) -> None:
        row = (time.time_ns(), "m1", "e1", next(counted), "drive", "brake", "car", *content)
        table.execute("BEGIN IMMEDIATE")
        table.execute(f"INSERT INTO rewards VALUES (NULL, {', '.join('?' * 10)})", row)
        table.execute("COMMIT")

    def record() -> None:
        ledger.record(
            one, run="m1", episode="e1", step=next(counted), phase="drive", decision_class="brake", actor="car"
        )

    store = (folder / "rewards.jsonl").open("a")

    def append() -> None:
        store.write(json.dumps(seed_row(next(counted), "brake", one)) + "\n")
        store.flush()
        os.fsync(store.fileno())

    peer = "sqlite3 loop, the signal as JSON"
    result = compare(
        {
            peer: lambda: insert(bare["json"], json.dumps(one.to_dict()), None, None),
            "sqlite3 loop, bytes that are ready": lambda: insert(bare["bytes"], one.fingerprint, inputs, outputs),
            "JSONL, fsync a line": append,
            "Ledger.record": record,
        },
        calls=100,
        rounds=80,
    )
    print("One durable record at a time, WAL, synchronous=FULL")
    rows: list[tuple[str, ...]] = [("what", "records/s", "against the first")]
    rows += [(n, f"{1 / t:,.0f}", f"{result.ratio(n, peer):.2f}x") for n, t in result.best.items()]
    table(rows)
    print()
    ledger.close()


def bare_table(path: Path) -> sqlite3.Connection:
    bare = sqlite3.connect(path, isolation_level=None)
    bare.execute("PRAGMA journal_mode = WAL")
    bare.execute("PRAGMA synchronous = FULL")
    bare.execute(
        "CREATE TABLE rewards (id INTEGER PRIMARY KEY, at INTEGER, run TEXT, episode TEXT, step INTEGER, phase TEXT, "
        "decision_class TEXT, actor TEXT, reward TEXT, inputs BLOB, outputs BLOB)"
    )
    return bare


def seed_row(step: int, decision_class: str, one: Signal) -> dict[str, object]:
    about = {"mission_id": "m1", "phase": "drive", "decision_class": decision_class, "step": step}
    return {**about, "timestamp": "2026-01-01T00:00:00+00:00", "signal": one.to_dict()}


# -- rates -------------------------------------------------------------------------------------------------------------


def rate(what: str, records: int, work: Callable[[], object]) -> tuple[str, ...]:
    return what, f"{records:,}", f"{records / measure(work)[1]:,.0f}"


def verify(ledger: Ledger, records: int) -> None:
    result = ledger.verify()
    assert result.ok
    assert result.records == records


def rates(folder: Path, records: int) -> None:
    print("Rates")
    rows: list[tuple[str, ...]] = [("what", "records", "records/s")]
    few = min(records, 100_000)
    ledger = Ledger(folder / "group.db")
    one = signal()

    def commit_in_groups() -> None:
        with ledger.writer() as writer:
            for step in range(few):
                receipt = writer.record(one, run="m1", step=step, decision_class="brake")
        assert receipt.durable

    rows.append(rate("group commit", few, commit_in_groups))
    rows.append(rate("verify what was group-committed", few, lambda: verify(ledger, few)))
    ledger.close()
    ledger = Ledger(folder / "bulk.db")
    columns = draw_roadsense(records)

    def write_in_bulk() -> None:
        for at in range(0, records, 65_536):
            part = {name: column[at : at + 65_536] for name, column in columns.items()}
            steps = np.arange(at, min(at + 65_536, records))
            ledger.record_batch(roadsense.reward, part, run="m1", step=steps, decision_class="brake")

    rows.append(rate("bulk, 65,536 rows a call", records, write_in_bulk))
    rows.append(rate("verify what came in bulk", records, lambda: verify(ledger, records)))
    ledger.close()
    table(rows)
    print()


# -- verifying what was written one by one -----------------------------------------------------------------------------


def one_by_one(folder: Path, records: int) -> None:
    ledger = Ledger(folder / "keyed.db")
    ledger._store.backend.writer.execute("PRAGMA synchronous = OFF")  # how fast they are written is measured above
    one = signal()
    for step in range(records):
        ledger.record(one, run="m1", step=step, key=f"m1/{step}")
    print("Verifying records that were written one by one, with keys")
    rows: list[tuple[str, ...]] = [("what", "records", "records/s")]
    for what in ("as they were written", "after compact"):
        rows.append(rate(what, records, lambda: verify(ledger, records)))
        ledger.compact()
    ledger.close()
    table(rows)
    print()


# -- one decision class out of many records ----------------------------------------------------------------------------


def one_class(folder: Path, records: int) -> None:
    one = signal()
    ledger = Ledger(folder / "classes.db")
    with (folder / "classes.jsonl").open("w") as store, ledger.writer(max_records=10_000) as writer:
        for step in range(records):
            label = f"class-{step % CLASSES}"
            writer.record(one, run="m1", step=step, phase="drive", decision_class=label)
            store.write(json.dumps(seed_row(step, label, one)) + "\n")

    def read_and_filter() -> Iterator[dict[str, object]]:
        with (folder / "classes.jsonl").open() as store:
            rows = [json.loads(line) for line in store]
        return (row for row in rows if row["decision_class"] == "class-7")

    theirs, scan = measure(lambda: list(read_and_filter()))
    ours, best = measure(lambda: list(ledger.history(decision_class="class-7")), rounds=5)
    assert [record.step for record in ours] == [row["step"] for row in theirs]
    print(f"One decision class: {len(ours):,} of {records:,} records")
    table(
        [
            ("what", "ms", "against read and filter"),
            ("JSONL, read and filter", f"{scan * 1e3:,.1f}", "1x"),
            ("ledger.history", f"{best * 1e3:,.1f}", f"{scan / best:,.0f}x"),
        ]
    )
    *_, speed = rate("verify", records, lambda: verify(ledger, records))
    print(f"verify, records of {CLASSES:,} scopes in turn: {speed} records/s")
    print()
    ask(ledger, folder / "classes.parquet", {"mean of one class of 1,000, in turn": {"decision_class": "class-7"}})
    ledger.close()


# -- questions about many records, against DuckDB on the same records as Parquet --------------------------------------


def questions(folder: Path, records: int) -> None:
    """Ask for means and for single records of a ledger that was written in bulk, a class a batch."""
    rng = np.random.default_rng(1)
    ledger = Ledger(folder / "questions.db")
    batch = min(65_536, records // 20)
    for start in range(0, records, batch):
        count = min(batch, records - start)
        columns = draw_roadsense(count, rng)
        numbers = np.arange(start, start + count)
        label = f"class-{start // batch % 10}"
        about = {"run": f"run-{start // batch // 10}", "episode": numbers // 200, "step": numbers % 200}
        ledger.record_batch(roadsense.reward, columns, decision_class=label, **about)
    episode = records // 400
    asked: dict[str, dict[str, object]] = {
        "mean of one class of ten": {"decision_class": "class-3"},
        "mean of one episode": {"episode": str(episode)},
        "one episode and step": {"episode": str(episode), "step": 7},
        "mean of one step of all episodes": {"step": 7},
    }
    ask(ledger, folder / "questions.parquet", asked)
    ledger.close()


def ask(ledger: Ledger, path: Path, asked: dict[str, dict[str, object]]) -> None:
    """Print how long answers take, here and with DuckDB on an export of the ledger."""
    if not find_spec("duckdb"):
        print("DuckDB is not installed: nothing to compare with.")
        return
    import duckdb

    count = ledger.export(path)

    def by_duckdb(choice: dict[str, object]) -> tuple[int, float]:
        where = " AND ".join(f'"record.{name}" = ?' for name in choice)
        query = f"SELECT count(*), avg(total) FROM '{path}' WHERE {where}"
        found = duckdb.execute(query, list(choice.values())).fetchone()
        assert found is not None
        return found

    print(f"Questions about {count:,} records")
    rows: list[tuple[str, ...]] = [("what", "DuckDB on Parquet, ms", "ledger, ms", "ledger / DuckDB")]
    for name, choice in asked.items():
        theirs, ours = by_duckdb(choice), ledger.history(**choice).totals()
        assert theirs[0] == ours.records > 0
        assert abs(theirs[1] - ours.mean) < 1e-9 * (ours.high - ours.low + 1)
        contenders: dict[str, Callable[[], object]] = {
            "duckdb": partial(by_duckdb, choice),
            "ledger": lambda choice=choice: ledger.history(**choice).totals(),
        }
        result = compare(contenders, calls=1, rounds=20)
        times = [f"{result.best[each] * 1e3:,.1f}" for each in ("duckdb", "ledger")]
        rows.append((name, *times, f"{result.best['ledger'] / result.best['duckdb']:.2f}x"))
    table(rows)
    print()


# -- many versions of a reward ----------------------------------------------------------------------------------------


def versions(folder: Path) -> None:
    """Look up one record of a ledger that knows many rewards, against making one reward of its text."""
    count = 5 if QUICK else 2000
    with Ledger(folder / "versions.db") as ledger:
        rewards = (roadsense.reward.with_version(f"v{at}") for at in range(count))
        ledger.record_many(reward.score(distance=30.0, deceleration=1.0, action=0) for reward in rewards)
    text = roadsense.reward.to_json()

    def look_up() -> None:
        with Ledger(folder / "versions.db", read_only=True) as ledger:
            assert ledger[count // 2].total

    result = compare({"one reward": lambda: Reward.from_json(text), "lookup": look_up}, calls=1, rounds=10)
    print(f"The first lookup in a ledger of {count:,} versions")
    table(
        [
            ("what", "ms", "against the first"),
            ("Reward.from_json", f"{result.best['one reward'] * 1e3:,.1f}", "1x"),
            (
                "open the ledger, read one record",
                f"{result.best['lookup'] * 1e3:,.1f}",
                f"{result.best['lookup'] / result.best['one reward']:.1f}x",
            ),
        ]
    )


if __name__ == "__main__":
    main(size(1_000_000, quick=1_000))
