"""Values larger than any that a ledger writes are refused before they are loaded, and none that large is written."""

import sqlite3
import tracemalloc

import pytest

from plaudit import Entry, Field, Ledger, Reward, term
from plaudit.errors import InputError, LedgerBroken
from plaudit.ledger.storage import codec, merge
from support.ledgers import REWARD, columns, signal, verified
from support.postgres import server_in_soak

MEGABYTES = 20
SAID = {"run": "run", "step": 1, "episode": 1, "key": "key 1", "context": {"n": 1}}
USES = {
    "history": lambda ledger: [str(record) for record in ledger.history()],
    "a step": lambda ledger: list(ledger.history(step=1)),
    "an episode": lambda ledger: list(ledger.history(episode=1)),
    "a key": lambda ledger: ledger["key 1"],
    "the last": lambda ledger: list(ledger.history().last(1)),
    "arrow": lambda ledger: list(ledger.history().arrow()),
    "worst": lambda ledger: ledger.history().worst(2),
    "totals": lambda ledger: ledger.totals("run", "term"),
    "episodes": lambda ledger: list(ledger.episodes()),
    "episodes of a re-scoring": lambda ledger: list(ledger.episodes(job=1)),
    "stats": lambda ledger: ledger.stats(),
    "recording a key again": lambda ledger: ledger.record(signal(1), **SAID),
    "re-scoring": lambda ledger: ledger.rescore(REWARD.with_params(comfort={"harsh": 5.0}).with_version("2")),
    "the same re-scoring": lambda ledger: ledger.rescore(REWARD.with_version("3")),
    "merging": lambda ledger: merge.merge_blocks(ledger._store),
}


def execute(where, on_server, in_file):
    """Change a ledger behind its back."""
    if str(where).startswith("postgresql"):
        import psycopg

        with psycopg.connect(where, autocommit=True) as connection:
            connection.execute(on_server)
        return
    connection = sqlite3.connect(where, isolation_level=None)
    connection.execute(in_file)
    connection.close()


@pytest.fixture
def ledger(where):
    """A ledger of three blocks of one record, one of many, and a re-scoring."""
    with Ledger(where) as made:
        for n in range(3):
            made.record(signal(n), **SAID | {"step": n, "key": f"key {n}", "context": {"n": n}})
        made.record_batch(REWARD, columns(3, 9), run="run", step=range(3, 9), episode=2)
        made.rescore(REWARD.with_version("3"))
        yield made


def measure(ledger, use):
    """Return what a use comes to, and how many bytes of Python's it took at most."""
    tracemalloc.start()
    try:
        return use(ledger), tracemalloc.get_traced_memory()[1]
    except LedgerBroken as error:
        return error, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("column", ["inputs", pytest.param("outputs", marks=pytest.mark.slow)])
def test_more_numbers_than_a_block_has_are_never_loaded(ledger, where, column):
    for use in (*USES.values(), Ledger.verify):
        use(ledger)  # what is imported and compiled once
    size = MEGABYTES << 20
    execute(
        where,
        f"UPDATE blocks SET {column} = decode(repeat('00', {size}), 'hex') WHERE first = 2",
        f"UPDATE blocks SET {column} = zeroblob({size}) WHERE first = 2",
    )
    refused = set()
    for name, use in USES.items():
        found, most = measure(ledger, use)
        assert most < size / 4, f"{name} took {most:,} bytes"
        if isinstance(found, LedgerBroken):
            assert "damaged" in str(found)
            refused.add(name)
    assert refused >= {"history", "a step", "an episode", "a key", "recording a key again", "arrow"}
    found, most = measure(ledger, Ledger.verify)
    assert most < size / 4
    assert (2, "damaged") in {(problem.id, problem.kind) for problem in found.problems}


@server_in_soak
def test_a_text_larger_than_any_is_never_loaded(ledger, where):
    size = 130 << 20
    execute(
        where,
        f"UPDATE blocks SET contexts = '[\"' || repeat('x', {size}) || '\"]' WHERE first = 2",
        f"UPDATE blocks SET contexts = CAST(zeroblob({size}) AS TEXT) WHERE first = 2",
    )
    for name in ("history", "recording a key again", "arrow"):
        found, most = measure(ledger, USES[name])
        assert isinstance(found, LedgerBroken), name
        assert most < size / 8, f"{name} took {most:,} bytes"
    found, most = measure(ledger, Ledger.verify)
    assert most < size / 8
    assert {problem.id for problem in found.problems} == {2}


# -- what is written -------------------------------------------------------------------------------------------------


def list_blocks(ledger):
    """Return how many records each block has."""
    with ledger._store.backend.snapshot() as connection:
        return list(connection.exec_driver_sql("SELECT records FROM blocks ORDER BY first").scalars())


def test_a_block_ends_before_its_texts_are_too_long(tmp_path, monkeypatch):
    monkeypatch.setattr(codec, "MAX_TEXT", 1000)
    texts = ["x" * 400, "y" * 400, "z" * 400, "a" * 2000, "b", "c"]
    with Ledger(tmp_path / "ledger.db") as ledger:
        ledger.record_many(Entry(signal=signal(n), context=text, key=f"{n}") for n, text in enumerate(texts))
        ledger.record_batch(REWARD, columns(0, 6), context=texts)
        ledger.record_batch(REWARD, columns(0, 6), episode=texts)
        ledger.record_batch(REWARD, columns(0, 6), context=texts[:1] * 6)  # one stands for all
        assert list_blocks(ledger) == [2, 1, 1, 2, 2, 1, 1, 2, 2, 1, 1, 2, 6]
        assert [record.context for record in ledger.history()] == [*texts, *texts, *[None] * 6, *texts[:1] * 6]
        verified(ledger)


def test_blocks_are_not_merged_into_one_that_is_too_large(tmp_path, monkeypatch):
    monkeypatch.setattr(merge, "MAX_NUMBERS", 3000)
    with Ledger(tmp_path / "ledger.db") as ledger:
        for n in range(8):
            ledger.record(signal(n), context=f"{n}" * 600)
        ledger.compact()
        assert list_blocks(ledger) == [4, 4]
        assert [record.context[0] for record in ledger.history()] == [*"01234567"]
        verified(ledger)


def test_a_block_of_a_wide_reward_has_fewer_records(tmp_path):
    @term
    def most(xs):
        """The largest."""
        return max(xs)

    reward = Reward("wide", version="1", terms=[most], fields=[Field("xs", length=3000)])
    layout = codec.RecordLayout(reward)
    assert layout.most_records == codec.MAX_NUMBERS // (8 * 3000) < codec.INLINE_RECORDS
    assert codec.RecordLayout(REWARD).most_records == codec.INLINE_RECORDS


@pytest.mark.parametrize("name", ["run", "key", "episode", "phase", "decision_class", "actor"])
def test_a_string_that_belongs_into_the_context_is_refused(tmp_path, name):
    with Ledger(tmp_path / "ledger.db") as ledger, pytest.raises(InputError, match=r"1,048,577 characters.*context="):
        ledger.record(signal(), **{name: "x" * ((1 << 20) + 1)})
