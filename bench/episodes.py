"""Episodes of a ledger, listed from what is kept of them, against adding up their records by Arrow and by DuckDB.

`python bench/episodes.py [steps]`. Episodes have 1,000 steps. The second table is the same for the steps of 1,024
environments at once, whose episodes lie side by side in every block, and the third what keeping the sums costs a batch
that is recorded: with episodes, against without.
"""

import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from timing import compare, measure, size, table

from plaudit import Ledger
from plaudit.systems import roadsense

LENGTH, ENVS, TOGETHER = 1000, 1024, 65_536


def main(steps: int) -> None:
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as folder:
        for what, envs in (("one environment", 1), (f"{ENVS:,} environments at once", ENVS)):
            path = Path(folder) / f"{envs}.db"
            with Ledger(path) as ledger:
                record(ledger, steps if envs == 1 else steps // 10, envs)
                list_episodes(ledger, Path(folder) / f"{envs}.parquet", what)
        keep(Path(folder), min(steps, 500_000))


def build_batch(start: int, count: int) -> dict[str, np.ndarray]:
    at = np.arange(start, start + count)
    return {"distance": 5.0 + at * 0.37 % 60, "deceleration": at * 0.11 % 9, "action": at % 4}


def record(ledger: Ledger, steps: int, envs: int) -> None:
    """Record steps in the order in which so many environments would take them."""
    for start in range(0, steps, TOGETHER):
        at = np.arange(start, min(start + TOGETHER, steps))
        episode = at // (LENGTH * envs) * envs + at % envs
        step = at // envs % LENGTH
        ledger.record_batch(roadsense.reward, build_batch(start, len(at)), run="r", episode=episode, step=step)


def list_episodes(ledger: Ledger, parquet: Path, what: str) -> None:
    episodes, first = measure(lambda: ledger.episodes(run="r"))
    best = compare({"kept": lambda: ledger.episodes(run="r")}, calls=1, rounds=5).best["kept"]
    count = sum(episodes.select_column("length"))
    rows: list[tuple[str, ...]] = [("what", "s", "against the ledger"), ("ledger.episodes", f"{best:.3f}", "1x")]
    rows.append(("ledger.episodes, the first time", f"{first:.3f}", f"{first / best:.1f}x"))
    if find_spec("duckdb"):
        import duckdb

        ledger.export(parquet)
        columns = 'sum(total), count(*), sum(safety), sum(comfort), min("record.step"), max("record.step")'
        query = f'SELECT "record.episode", {columns} FROM \'{parquet}\' GROUP BY "record.episode"'
        theirs = {row[0]: row[1:3] for row in duckdb.execute(query).fetchall()}
        assert len(theirs) == len(episodes)
        for each in episodes:
            assert abs(theirs[each.episode][0] - each.total) < 1e-6
            assert theirs[each.episode][1] == each.length
        duck = compare({"duckdb": lambda: duckdb.execute(query).fetchall()}, calls=1, rounds=5).best["duckdb"]
        rows.append(("DuckDB on Parquet, GROUP BY", f"{duck:.3f}", f"{duck / best:.1f}x"))
    print(f"{len(episodes):,} episodes of {count:,} steps, {what}")
    table(rows)
    print()


def keep(folder: Path, steps: int) -> None:
    """Show what a batch costs with episodes and without."""
    with Ledger(folder / "with.db") as with_them, Ledger(folder / "without.db") as without:
        episodes = np.arange(steps) // LENGTH
        columns = build_batch(0, steps)
        result = compare(
            {
                "without": lambda: without.record_batch(roadsense.reward, columns, step=range(steps)),
                "with": lambda: with_them.record_batch(roadsense.reward, columns, step=range(steps), episode=episodes),
            },
            calls=1,
            rounds=3,
        )
    print(f"A batch of {steps:,} steps")
    rows: list[tuple[str, ...]] = [("what", "steps/s", "against the first")]
    for name in ("without", "with"):
        against = f"{result.best[name] / result.best['without']:.2f}x"
        rows.append((f"{name} episodes", f"{steps / result.best[name]:,.0f}", against))
    table(rows)


if __name__ == "__main__":
    main(size(10_000_000, quick=2_000))
