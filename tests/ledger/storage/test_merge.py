"""Merging small blocks: the same records under the same numbers, and heads that were kept still hold."""

import sqlite3

import pytest

from plaudit import Entry, Ledger
from plaudit.errors import LedgerError
from plaudit.ledger.storage import chain, merge
from support.ledgers import REWARD, columns, signal, verified

HARSHER = REWARD.with_params(comfort={"harsh": 5.0}).with_version("2")


def fill(ledger, count=40):
    """Record one by one what differs in every way, and return the head after each record."""
    heads = []
    for n in range(count):
        where = {"run": "one" if n < 30 else "two", "episode": n // 8 if n % 7 else None}
        context = {"n": n, "text": "é, null"} if n % 3 else None
        ledger.record(
            signal(n), **where, step=n if n % 5 else None, key=f"key, {n}" if n % 2 else None, context=context
        )
        heads.append(ledger.head())
    return heads


def everything(ledger):
    return [record.to_dict() for record in ledger.history()]


def count_blocks(ledger):
    return ledger.verify().blocks


def test_merging_changes_nothing_but_the_number_of_blocks(where, tmp_path):
    with Ledger(where) as ledger:
        heads = fill(ledger)
        before = everything(ledger)
        ledger.export(tmp_path / "before.jsonl")
        assert count_blocks(ledger) == 40
        assert ledger.compact() == 38
        assert count_blocks(ledger) == 2
        assert ledger.compact() == 0
        assert everything(ledger) == before
        assert ledger["key, 7"].id == 8
        assert ledger.head() == heads[-1]
        found = ledger.verify(heads=heads)
        assert found.ok, str(found)
        ledger.export(tmp_path / "after.jsonl")
        assert (tmp_path / "after.jsonl").read_bytes() == (tmp_path / "before.jsonl").read_bytes()
        ledger.record(signal(40), run="two", step=40)
        verified(ledger)


def test_an_export_from_before_is_known_after_merging(tmp_path):
    with Ledger(tmp_path / "one.db") as ledger:
        fill(ledger, 12)
        ledger.export(tmp_path / "before.jsonl")
        ledger.compact()
        ledger.export(tmp_path / "after.jsonl")
        assert ledger.import_file(tmp_path / "before.jsonl") == 0
    with Ledger(tmp_path / "two.db") as other:
        assert other.import_file(tmp_path / "before.jsonl") == 12
        assert other.import_file(tmp_path / "after.jsonl") == 0


def test_an_edit_of_a_record_in_a_merged_block_is_found(tmp_path):
    with Ledger(tmp_path / "ledger.db") as ledger:
        heads = fill(ledger)
        ledger.compact()
        other = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)
        other.execute("UPDATE blocks SET steps = replace(steps, ' 13,', ' 14,') WHERE first = 1")
        assert [problem.kind for problem in ledger.verify().problems] == ["edited"]
        assert not ledger.verify(heads=heads[20]).ok
        other.close()


def test_a_head_inside_a_merged_block_that_is_another_is_found(tmp_path):
    with Ledger(tmp_path / "one.db") as ledger:
        heads = fill(ledger)
        ledger.compact()
        forged = heads[20].to_dict()
        forged["heads"][0]["checksum"] = heads[19].writers[0].checksum
        del forged["head"]
        found = ledger.verify(heads=forged)
        assert [problem.kind for problem in found.problems] == ["removed"]


def test_what_was_rescored_is_not_merged_and_rescoring_goes_on(where):
    with Ledger(where) as ledger:
        ledger.record_many(Entry(signal(n), run=f"{n % 2}", step=n) for n in range(10))
        first = ledger.rescore(HARSHER, run="0")
        for n in range(10, 20):
            ledger.record(signal(n), run="0", step=n)
        ledger.compact()
        verified(ledger)
        again = ledger.rescore(HARSHER, run="0")
        assert (first.scored, again.scored) == (5, 10)
        new = [record.origin for record in ledger.history(job=first.job)]
        assert new == [record.id for record in ledger.history(run="0")]
        verified(ledger)


def test_blocks_merged_while_they_are_rescored_are_read_again(tmp_path, monkeypatch):
    from plaudit.ledger.rescore import rescore

    monkeypatch.setattr(rescore, "_BATCH", 8)
    with Ledger(tmp_path / "ledger.db") as ledger, Ledger(tmp_path / "ledger.db") as other:
        for n in range(40):
            ledger.record(signal(n), run="run", step=n)
        merged = []

        def progress(done, total):
            merged.append(other.compact())

        assert ledger.rescore(HARSHER, progress=progress).scored == 40
        assert sum(merged) > 10
        assert [record.origin for record in ledger.history(job=1)] == list(range(1, 41))
        verified(ledger)


@pytest.mark.parametrize(
    "stop", [pytest.param(1, marks=pytest.mark.slow), 17, pytest.param(40, marks=pytest.mark.slow)]
)
def test_a_history_that_is_being_read_misses_nothing_and_doubles_nothing(where, stop):
    with Ledger(where) as ledger, Ledger(where) as other:
        for n in range(60):
            ledger.record(signal(n), run="run", step=n)
        found = []
        for record in ledger.history(run="run"):
            found.append(record.step)
            if len(found) == stop:
                other.compact()
        assert found == list(range(60))


def test_whoever_is_interrupted_while_merging_loses_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(merge, "_TOGETHER", 10)
    monkeypatch.setattr(merge, "INLINE_RECORDS", 10)
    with Ledger(tmp_path / "ledger.db") as ledger:
        heads = fill(ledger)
        before = everything(ledger)
        merged = merge._merge_spans
        calls = []

        def interrupted(store, cursor, spans):
            calls.append(merged(store, cursor, spans))
            if len(calls) == 2:
                raise KeyboardInterrupt
            return calls[-1]

        monkeypatch.setattr(merge, "_merge_spans", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ledger.compact()
        assert everything(ledger) == before
        assert count_blocks(ledger) == 31
        found = ledger.verify(heads=heads)
        assert found.ok, str(found)


def test_blocks_are_not_merged_beyond_where_the_chain_begins_anew(tmp_path, monkeypatch):
    for module in (chain, merge):
        monkeypatch.setattr(module, "STRETCH", 16)
    with Ledger(tmp_path / "ledger.db") as ledger:
        heads = fill(ledger)
        ledger.record_batch(REWARD, columns(0, 100), run="two", step=range(100))
        for n in range(10):
            ledger.record(signal(n), run="two", step=n)
        ledger.compact()
        assert count_blocks(ledger) == 6
        found = ledger.verify(heads=heads)
        assert found.ok, str(found)
        other = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)
        other.execute("UPDATE blocks SET steps = replace(steps, '13', '14') WHERE first = 1")
        other.execute("UPDATE blocks SET steps = '[0]' WHERE first = 41")
        told = [(problem.kind, problem.id) for problem in ledger.verify().problems]
        assert told == [("edited", 1), ("edited", 41)]
        other.close()


@pytest.fixture
def short_stretches(monkeypatch):
    """Let a writer merge every 16 records what it wrote in 4 blocks or more."""
    for module in (chain, merge):
        monkeypatch.setattr(module, "STRETCH", 16)
    monkeypatch.setattr(merge, "_MANY", 4)


def test_a_writer_merges_what_it_wrote_one_by_one_now_and_then_and_when_it_closes(where, short_stretches):
    with Ledger(where) as ledger:
        heads = []
        for n in range(39):
            ledger.record(signal(n), run="run", step=n, key=f"key {n}" if n % 2 else None)
            heads.append(ledger.head())
        assert count_blocks(ledger) == 2 + 7
        before = everything(ledger)
    with Ledger(where) as ledger:
        assert count_blocks(ledger) == 3
        assert everything(ledger) == before
        found = ledger.verify(heads=heads)
        assert found.ok, str(found)
        assert ledger.compact() == 0


def test_two_writers_that_take_turns_merge_nothing_that_is_not_theirs(where, short_stretches):
    with Ledger(where) as one, Ledger(where) as two:
        for n in range(30):
            one.record(signal(n), run="one", step=n)
            if n >= 20:
                two.record(signal(n), run="two", step=n)
        before = everything(one)
    with Ledger(where) as ledger:
        assert everything(ledger) == before
        verified(ledger)
        assert count_blocks(ledger) < 40 - 15


def test_few_blocks_are_left_as_they_are(tmp_path, short_stretches):
    with Ledger(tmp_path / "ledger.db") as ledger:
        ledger.record_batch(REWARD, columns(0, 15), run="run")
        ledger.record(signal(1), run="run")
        ledger.record_batch(REWARD, columns(0, 15), run="run")
    with Ledger(tmp_path / "ledger.db") as ledger:
        assert count_blocks(ledger) == 3


@pytest.mark.parametrize("failure", [LedgerError("the disk is full"), MemoryError()], ids=repr)
def test_a_record_is_there_also_where_merging_fails(tmp_path, short_stretches, monkeypatch, failure):
    def fail(*arguments):
        raise failure

    monkeypatch.setattr(merge, "_merge_spans", fail)
    with Ledger(tmp_path / "ledger.db") as ledger:
        assert [ledger.record(signal(n), run="run", step=n) for n in range(40)] == list(range(1, 41))
        assert count_blocks(ledger) == 40
    with Ledger(tmp_path / "ledger.db") as ledger:
        verified(ledger)
        assert ledger.history().count() == 40


def test_verifying_keys_takes_no_statement_a_record(tmp_path, monkeypatch):
    from plaudit.ledger.backends import sqlite

    statements = []
    connect = sqlite._connect

    def traced(*arguments):
        connection = connect(*arguments)
        connection.set_trace_callback(statements.append)
        return connection

    monkeypatch.setattr(sqlite, "_connect", traced)
    with Ledger(tmp_path / "ledger.db") as ledger:
        counts = []
        for end in (50, 250):
            for n in range(0 if end == 50 else 50, end):
                ledger.record(signal(n), run="run", step=n, key=f"key {n}")
            statements.clear()
            verified(ledger)
            counts.append(len(statements))
    assert counts[1] <= counts[0] + 5, counts
