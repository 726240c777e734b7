"""Records in Parquet files: given back to the bit, read as one with the rest, and never there by half."""

import json
import sys
from pathlib import Path

import duckdb
import numpy as np
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from gymnasium.vector import SyncVectorEnv

from plaudit import Entry, Ledger
from plaudit.adapters.gymnasium import RewardWrapper
from plaudit.errors import LedgerBroken, MissingExtra, UnusableFile
from plaudit.ledger.context import Scope
from plaudit.ledger.storage import batch, moving, segments, steps
from plaudit.ledger.storage.codec import NotFaithful, RecordLayout
from plaudit.ledger.storage.computation import Computation
from plaudit.ledger.storage.recompute import get_recomputer
from plaudit.ledger.storage.record_table import describe_records, get_table
from plaudit.systems import BUILT_IN, load, system
from plaudit.targets.dtypes import round_array
from support import walks
from support.ledgers import REWARD, columns
from support.ledgers import signal as made

SYSTEMS = [
    pytest.param(name, label, marks=() if label == next(iter(system(name).VERSIONS)) else pytest.mark.slow)
    for name in BUILT_IN
    for label in system(name).VERSIONS
]


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Let few records be worth a file."""
    for module in (batch, moving, steps):
        monkeypatch.setattr(module, "FEWEST", 20)


def draw_inputs(layout, count=300, seed=0):
    """Return rows of inputs, some of them unknown or out of range."""
    draw = np.random.default_rng(seed)
    rows = np.empty((count, layout.width))
    for at, field in enumerate(layout.scored.program.inputs.values()):
        if field.kind == "flag":
            rows[:, at] = draw.integers(0, 2, count)
        elif field.kind == "category":
            rows[:, at] = draw.integers(0, len(field.labels), count)
        elif field.values:
            rows[:, at] = draw.choice([float(value) for value in field.values], count)
        else:
            low, high = (end if isinstance(end, int | float) else None for end in (field.low, field.high))
            low = -1e3 if low is None else float(low)
            rows[:, at] = draw.uniform(low, max(low, 1e3 if high is None else float(high)), count)
            if field.is_integer:
                rows[:, at] = np.round(rows[:, at])
    rows[draw.random(rows.shape) < 0.005] = np.nan
    return rows


def describe(count):
    texts = [None if n % 3 else json.dumps({"n": n}) for n in range(count)]
    return describe_records(range(count), [None] * count, ["1"] * count, list(range(count)), texts)


@pytest.mark.parametrize(("name", "label"), SYSTEMS, ids="@".join)
@pytest.mark.parametrize("target", ["numpy", "python"])
def test_scores_that_are_not_kept_are_given_back_bit_for_bit(name, label, target):
    layout = RecordLayout(load(name, label))
    inputs = draw_inputs(layout, 300 if target == "numpy" else 60)
    again = get_recomputer(layout)
    outputs = (again.run_numpy if target == "numpy" else again.run_python)(inputs)
    assert np.isfinite(outputs[:, 0]).any()
    records = get_table(layout, target)
    table = records.build(Scope(), describe(len(inputs)), inputs, outputs, computed=False)
    found = pq.read_table(pa.BufferReader(segments.encode_tables(records, [table])))
    assert records.read_inputs(found).tobytes() == inputs.tobytes()
    assert records.read_outputs(found).tobytes() == outputs.tobytes()
    assert records.digest(found) == records.digest(table)
    kept = [name for name in found.column_names if name.endswith(".score")]
    assert len(kept) < len(layout.scored.program.terms) or not again.exact


def test_inputs_keep_the_dtype_they_came_in_and_every_bit_of_it():
    layout = RecordLayout(REWARD)
    dtypes = (("distance", "float32"), ("deceleration", "float16"))
    target = Computation("numpy", inputs=dtypes).format(layout.scored.program)
    given = draw_inputs(layout)
    for at, (_, dtype) in enumerate(dtypes):
        given[:, at] = round_array(given[:, at], dtype)
    outputs = get_recomputer(layout).run_numpy(given)
    records = get_table(layout, target)
    table = records.build(Scope(), describe(300), given, outputs, computed=True)
    assert table.schema.field("distance").type == table.schema.field("deceleration").type == pa.float32()
    assert records.read_inputs(table).tobytes() == given.tobytes()
    given[0, 0] = 0.1  # which no float32 is
    with pytest.raises(NotFaithful):
        records.build(Scope(), describe(300), given, outputs, computed=True)


# -- read as one -------------------------------------------------------------------------------------------------------


def content(ledger, **query):
    return [json.dumps(record.to_dict(), sort_keys=True) for record in ledger.history(**query)]


def record(ledger, count=100, run="night"):
    """Record a batch of several episodes."""
    names = [str(n // 30) for n in range(count)]
    said = [{"original_reward": n / 3, **({"terminated": True} if n % 30 == 29 else {})} for n in range(count)]
    about = {"run": run, "actor": "a", "episode": names, "step": range(count), "context": said}
    return ledger.record_batch(REWARD, columns(0, count), **about)


@pytest.fixture
def both(tmp_path, monkeypatch):
    """The same records twice: in the database, and in a segment."""
    with Ledger(tmp_path / "database.db") as database, Ledger(tmp_path / "files.db") as files:
        files.record(made(1), run="single")
        database.record(made(1), run="single")
        record(files)
        with monkeypatch.context() as patched:
            patched.setattr(batch, "FEWEST", 10**9)
            record(database)
        assert not list(tmp_path.glob("database.db.segments/*"))
        assert len(list(tmp_path.glob("files.db.segments/*/*.parquet"))) == 1
        yield database, files


def plain(ledger, **query):
    """Return records without what no two ledgers share: when they were made."""
    return [{**record.to_dict(), "at": None} for record in ledger.history(**query)]


QUERIES = [{}, {"run": "night"}, {"episode": "2"}, {"step": 31}, {"after": 40}, {"id": 77}, {"episode": "1", "step": 35},
           {"run": "none"}, {"reward": REWARD.name}]  # fmt: skip


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_both_give_the_same_records(both, query):
    database, files = both
    assert plain(files, **query) == plain(database, **query)
    assert files.history(**query).count() == database.history(**query).count()
    assert files.history(**query).totals() == database.history(**query).totals()


def test_records_that_are_explained_together_are_those_explained_one_by_one(both):
    for ledger in both:
        ledger.rescore(REWARD.with_version("again"), run="night")
        record(ledger, run="day")
        last = ledger.history().find_last()
        numbers = [77, 1, 3, 50, 3, last + 7, *range(95, last, 40), last]
        wanted = sorted({number for number in numbers if number <= last})
        assert ledger._explain_many(numbers) == [ledger.why(number) for number in wanted]
        assert ledger._explain_many([]) == []


def test_both_give_the_same_answers(both):
    database, files = both
    for ask in (
        lambda ledger: [str(each) for each in (ledger.totals("run", "term"), ledger.totals("reward"))],
        lambda ledger: [{**each.to_dict(), "began": 0, "latest": 0} for each in ledger.episodes()],
        lambda ledger: [each.id for each in ledger.history().best(5)],
        lambda ledger: [each.id for each in ledger.history().worst(5, term="comfort")],
        lambda ledger: [each.id for each in ledger.history().last(7)],
        lambda ledger: str(ledger.why(50)).split("\n")[1:],
        lambda ledger: ledger.history().to_arrow().drop_columns(["record.at"]).to_pylist(),
        lambda ledger: ledger.rescore(REWARD.with_params(comfort={"harsh": 5.0}).with_version("x")).to_dict(),
        lambda ledger: plain(ledger, job=1),
    ):
        assert ask(files) == ask(database)


def test_a_ledger_with_segments_verifies_and_its_copy_too(both, tmp_path):
    _, files = both
    assert files.verify().ok, str(files.verify())
    assert files.verify().records == 101
    files.export(tmp_path / "out.jsonl")
    with Ledger(tmp_path / "copy.db") as copy:
        copy.import_file(tmp_path / "out.jsonl")
        assert copy.history().totals() == files.history().totals()
        assert copy.verify().ok


def test_a_backup_has_the_segments(both, tmp_path):
    _, files = both
    files.backup(tmp_path / "saved.db")
    wanted = plain(files)
    with Ledger(tmp_path / "saved.db", read_only=True) as saved:
        assert plain(saved) == wanted
        assert saved.verify().ok


@pytest.mark.parametrize("many", [False, True], ids=["one environment", "many"])
def test_steps_of_environments_go_to_segments(tmp_path, many, monkeypatch):
    found = []
    for name, fewest in (("files", 10), ("database", 10**9)):
        monkeypatch.setattr(steps, "FEWEST", fewest)
        with Ledger(tmp_path / f"{name}.db") as ledger:
            env = SyncVectorEnv([walks.Walk] * 4) if many else walks.Walk()
            env = RewardWrapper(env, walks.reward(), walks.features, ledger=ledger, run="r", flush_every=60)
            env.reset(seed=1)
            for n in range(30):
                *_, ended, cut, _ = env.step(np.full(4, n % 3) if many else n % 3)
                if not many and (ended or cut):
                    env.reset()
            env.close()
            assert ledger.verify().ok
            found.append([plain(ledger), [(e.episode, e.total, e.ended) for e in ledger.episodes()]])
        assert bool(list(tmp_path.glob(f"{name}.db.segments/*/*.parquet"))) == (name == "files")
    assert found[0] == found[1]


# -- moved by compact --------------------------------------------------------------------------------------------------


def record_singles(ledger, count=60):
    contexts = [({"original_reward": 0.1 * n}, {"note": [n]}, None)[n % 3] for n in range(count)]
    keys = [f"k{n}" if n % 4 else None for n in range(count)]
    ledger.record_many(
        Entry(made(n), run="single", episode=n // 20, step=n, key=keys[n], context=contexts[n]) for n in range(count)
    )


def test_compact_moves_records_and_changes_nothing_that_can_be_asked(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        record_singles(ledger)
        ledger.rescore(REWARD.with_params(comfort={"harsh": 5.0}).with_version("x"))
        head, before, scored = ledger.head(), content(ledger), content(ledger, job=1)
        ledger.export(tmp_path / "before.jsonl")
        ledger.compact()
        assert list(tmp_path.glob("rewards.db.segments/*/*.parquet"))
        assert (content(ledger), content(ledger, job=1)) == (before, scored)
        assert ledger.head() == head
        assert ledger.verify(heads=head).ok, str(ledger.verify(heads=head))
        ledger.export(tmp_path / "after.jsonl")
        assert (tmp_path / "before.jsonl").read_bytes() == (tmp_path / "after.jsonl").read_bytes()
        assert ledger.record(made(5), run="single", episode=0, step=5, key="k5", context=None) == ledger["k5"].id
        ledger.record(made(7), run="single")
        ledger.compact()
        assert ledger.verify().ok


def test_compact_joins_small_segments_while_others_read(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger, Ledger(tmp_path / "rewards.db", read_only=True) as reader:
        for _ in range(4):
            record(ledger, 40)
        before = content(reader)
        pages = iter(reader.history())
        first = next(pages).to_dict()
        ledger.compact()
        assert len(list(tmp_path.glob("rewards.db.segments/*/*.parquet"))) == 1
        assert [json.dumps(each, sort_keys=True) for each in (first, *(each.to_dict() for each in pages))] == before
        assert content(reader) == before
        assert ledger.verify().ok


def test_files_that_nothing_names_are_removed_by_compact(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        record(ledger)
        (kept,) = tmp_path.glob("rewards.db.segments/*/*.parquet")
        stray = kept.with_name("20200101-00.parquet")
        stray.write_bytes(kept.read_bytes())
        being_written = kept.with_name(".20300101-00.parquet")
        being_written.write_bytes(b"")
        ledger.compact()
        assert (kept.exists(), stray.exists(), being_written.exists()) == (True, False, True)
        assert ledger.verify().ok


# -- what other engines see --------------------------------------------------------------------------------------------


def test_other_engines_read_the_files(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        record(ledger)
        totals = [each.total for each in ledger.history()]
        paid = [each.signal.values["comfort"] for each in ledger.history()]
        originals = [each.original_reward for each in ledger.history()]
    files = f"{tmp_path}/rewards.db.segments/*/*.parquet"
    rows = duckdb.sql(f'SELECT total, comfort, original_reward FROM "{files}" ORDER BY step').fetchall()
    assert rows == list(zip(totals, paid, originals, strict=True))
    frame = polars.read_parquet(files).sort("step")
    assert frame["total"].to_list() == totals
    assert frame["end"].to_list() == ["terminated" if n % 30 == 29 else None for n in range(100)]
    (path,) = tmp_path.glob("rewards.db.segments/*/*.parquet")
    assert pq.read_table(path).to_pandas()["episode"].tolist() == [str(n // 30) for n in range(100)]


# -- what goes wrong ---------------------------------------------------------------------------------------------------


def spoil(path, how):
    data = bytearray(path.read_bytes())
    if how == "deleted":
        path.unlink()
    elif how == "truncated":
        path.write_bytes(data[: len(data) // 2])
    else:
        data[len(data) // 3] ^= 4
        path.write_bytes(data)


@pytest.mark.parametrize("how", ["deleted", "truncated", "one bit"])
def test_verify_names_the_file_and_its_records(tmp_path, how):
    with Ledger(tmp_path / "rewards.db") as ledger:
        ledger.record(made(0), run="single")
        record(ledger)
    (path,) = tmp_path.glob("rewards.db.segments/*/*.parquet")
    spoil(path, how)
    with Ledger(tmp_path / "rewards.db") as ledger:
        found = str(ledger.verify())
        assert str(path) in found
        assert "from 2 to 101" in found
        assert ledger[1].total == made(0).total
        if how != "one bit":
            with pytest.raises(LedgerBroken, match=path.name):
                ledger[50]


@pytest.mark.parametrize("pieces", [12, pytest.param(40, marks=pytest.mark.slow)])
def test_every_bit_of_a_segment_is_checked(tmp_path, pieces):
    with Ledger(tmp_path / "rewards.db") as ledger:
        record(ledger)
    (path,) = tmp_path.glob("rewards.db.segments/*/*.parquet")
    whole = path.read_bytes()
    for at in range(0, len(whole), max(1, len(whole) // pieces)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with Ledger(tmp_path / "rewards.db", read_only=True) as ledger:
            assert not ledger.verify().ok, f"byte {at}"


def test_a_file_that_was_replaced_by_one_with_other_numbers_is_told_also_where_its_checksum_was_set(tmp_path):
    import hashlib
    import sqlite3

    with Ledger(tmp_path / "rewards.db") as ledger:
        record(ledger)
    (path,) = tmp_path.glob("rewards.db.segments/*/*.parquet")
    table = pq.read_table(path)
    at = table.column_names.index("original_reward")
    pq.write_table(table.set_column(at, "original_reward", pa.array([9.0] * 100)), path)
    with sqlite3.connect(tmp_path / "rewards.db") as database:
        database.execute("UPDATE segments SET sha256 = ?", (hashlib.sha256(path.read_bytes()).digest(),))
    with Ledger(tmp_path / "rewards.db") as ledger:
        assert [each.kind for each in ledger.verify().problems] == ["edited"]


def test_without_pyarrow_records_lie_in_the_database_and_those_in_files_say_what_is_missing(tmp_path, monkeypatch):
    with Ledger(tmp_path / "rewards.db") as ledger:
        record(ledger)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, "plaudit.ledger.storage.segments")
    with Ledger(tmp_path / "rewards.db") as ledger:
        record(ledger, run="more")
        assert ledger.history(run="more").count() == 100
        assert ledger[150].run == "more"
        with pytest.raises(MissingExtra, match=r"plaudit\[data\]"):
            ledger[50]
        ledger.compact()
    assert len(list(tmp_path.glob("rewards.db.segments/*/*.parquet"))) == 1


def test_a_file_system_without_links_gets_a_whole_copy(tmp_path, monkeypatch):
    def refuse(*paths):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(segments.os, "link", refuse)
    with Ledger(tmp_path / "rewards.db") as ledger:
        record(ledger)
        assert ledger.history().count() == 100
        assert ledger.verify().ok
    assert len(list(tmp_path.glob("rewards.db.segments/*/*"))) == 1


def test_a_folder_that_cannot_be_written_loses_nothing(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        Path(tmp_path / "rewards.db.segments").write_text("in the way")
        with pytest.raises(UnusableFile, match="cannot be written"):
            record(ledger)
        assert ledger.history().count() == 0
        Path(tmp_path / "rewards.db.segments").unlink()
        record(ledger)
        assert ledger.history().count() == 100
        assert ledger.verify().ok


def test_a_transaction_that_fails_after_its_file_is_written_leaves_no_record_and_can_be_done_again(
    tmp_path, monkeypatch
):
    with Ledger(tmp_path / "rewards.db") as ledger:
        record(ledger, 40)
        writer = ledger._store.writer
        with monkeypatch.context() as patched:
            patched.setattr(writer, "now", lambda: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                ledger._store.writer.write_blocks(made_blocks(ledger))
        assert ledger.history().count() == 40
        record(ledger, 40)
        ledger.compact()
        assert len(list(tmp_path.glob("rewards.db.segments/*/[!.]*.parquet"))) == 1
        assert ledger.verify().ok


def made_blocks(ledger):
    """Return blocks of a segment that is written and entered in no ledger."""
    store = ledger._store
    layout = store.specs.get_layout(REWARD)
    inputs, outputs, target = batch.score_batch(layout, columns(0, 50))
    files = store.backend.segments
    return files.store(layout, target, Scope(), [(describe(50), inputs, outputs)])
