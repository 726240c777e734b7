"""What plain SQL can do to a ledger: every attack that leaves each row looking right is seen by `verify`."""

import shutil
import sqlite3
from pathlib import Path

import pytest

from plaudit import Field, Ledger, Reward, term
from plaudit.errors import SpecError
from plaudit.ledger.heads import LedgerHead
from support.ledgers import REWARD, columns, signal, verified

GOLDEN = Path(__file__).parents[2] / "golden"


@term
def pay(x):
    """Pays what it gets."""
    return x


PAY = Reward("pay", version="1", terms=[pay], fields=[Field("x", low=0, high=9)], allow={"constant": "meant so"})


def record_two_writers(where):
    with Ledger(where) as first:
        for step in range(5):
            first.record(signal(step), run="one", step=step)
    with Ledger(where) as second:
        for step in range(5):
            second.record(signal(step), run="two", step=step, key=f"key {step}")
        second.record_batch(REWARD, columns(5, 9), run="two", step=range(5, 9))
        second.rescore(REWARD.with_params(comfort={"harsh": 5.0}).with_version("2"), run="one")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    path = tmp_path_factory.mktemp("recorded") / "ledger.db"
    record_two_writers(path)
    return path


@pytest.fixture
def ledger(where, recorded):
    """A ledger of three writers, with a re-scoring and an import."""
    if isinstance(where, Path):
        shutil.copy(recorded, where)
    else:
        record_two_writers(where)
    with Ledger(where) as third:
        third.register(PAY)
        third.record(signal(9), run="three", step=9)
        yield third


def test_a_ledger_that_nobody_changed_is_whole(ledger):
    verified(ledger)


@pytest.fixture
def execute(ledger, where):
    """Return what executes SQL behind the ledger's back."""
    if str(where).startswith("postgresql"):
        import psycopg

        other = psycopg.connect(str(where), autocommit=True)
    else:
        other = sqlite3.connect(where, isolation_level=None)
    yield lambda text: other.execute(text)
    other.close()


def problems(ledger, kind=None):
    found = ledger.verify()
    assert not found.ok, "nothing was found"
    return [problem.text for problem in found.problems if kind in (None, problem.kind)]


def test_a_writer_deleted_with_all_that_it_wrote_is_missed(ledger, execute):
    execute("DELETE FROM summaries WHERE first IN (SELECT first FROM blocks WHERE writer = 1)")
    execute("DELETE FROM blocks WHERE writer = 1")
    execute("DELETE FROM summaries WHERE first IN (SELECT first FROM blocks WHERE origin IS NOT NULL)")
    execute("DELETE FROM blocks WHERE origin IS NOT NULL")
    execute("DELETE FROM writers WHERE id = 1")
    assert "3 rows were written to 'writers', but 2 are there" in problems(ledger, "removed")


def test_the_last_writer_deleted_with_all_that_it_wrote_is_missed(ledger, execute):
    execute("DELETE FROM summaries WHERE first IN (SELECT first FROM blocks WHERE writer = 3)")
    execute("DELETE FROM blocks WHERE writer = 3")
    execute("DELETE FROM writers WHERE id = 3")
    execute("DELETE FROM scopes WHERE run = 'three'")
    assert problems(ledger) == ["3 rows were written to 'writers', but 2 are there"]


def test_the_last_block_deleted_and_the_head_set_back_is_missed(ledger, execute):
    execute("UPDATE writers SET records = records - 1 WHERE id = 1")
    execute("DELETE FROM summaries WHERE first IN (SELECT first FROM blocks WHERE first = 5)")
    execute("DELETE FROM blocks WHERE first = 5")
    execute("UPDATE writers SET head = (SELECT head FROM blocks WHERE first = 4) WHERE id = 1")
    assert any("written after it are missing" in text for text in problems(ledger, "removed"))


def test_the_only_record_of_the_last_writer_deleted_is_missed(ledger, execute):
    execute("DELETE FROM summaries WHERE first IN (SELECT first FROM blocks WHERE writer = 3)")
    execute("DELETE FROM blocks WHERE writer = 3")
    execute("UPDATE writers SET records = 0 WHERE id = 3")
    assert problems(ledger)


def test_a_view_that_is_gone_is_seen(ledger, execute):
    execute("DROP VIEW appended")  # with its trigger
    assert any("the view 'appended' was removed" in text for text in problems(ledger, "edited"))


def test_a_trigger_that_is_gone_is_seen(ledger, execute, where):
    on_server = str(where).startswith("postgresql")
    execute("DROP TRIGGER append ON appended" if on_server else "DROP TRIGGER append")
    assert "trigger" in problems(ledger, "edited")[0]


def test_a_trigger_that_was_added_is_seen(ledger, execute, where):
    if str(where).startswith("postgresql"):
        execute("CREATE FUNCTION spy() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$")
        execute("CREATE TRIGGER spy AFTER INSERT ON keys FOR EACH ROW EXECUTE FUNCTION spy()")
    else:
        execute("CREATE TRIGGER spy AFTER INSERT ON keys BEGIN SELECT 1; END")
    assert "trigger" in problems(ledger, "edited")[0]


def test_an_index_that_is_gone_is_seen(ledger, execute):
    execute("DROP INDEX blocks_by_scope")
    assert problems(ledger) == ["the index 'blocks_by_scope' of 'blocks' was removed"]


def test_an_index_that_was_added_is_named(ledger, execute):
    execute("CREATE INDEX e ON blocks ((writer * 0))")
    assert problems(ledger) == ["the index 'e' of 'blocks' was added: it is not part of a ledger"]


def test_other_tables_are_named_in_a_file_and_left_alone_in_a_database(ledger, execute, where):
    execute("CREATE TABLE notes (number INTEGER)")
    execute("CREATE VIEW latest AS SELECT max(first) FROM blocks")
    if str(where).startswith("postgresql"):
        verified(ledger)
        execute("CREATE TABLE more () INHERITS (keys)")  # whose rows would be keys
        assert problems(ledger) == ["the child table 'more' of 'keys' was added: it is not part of a ledger"]
    else:
        added = [
            "the table 'notes' was added: it is not part of a ledger",
            "the view 'latest' was added: it is not part of a ledger",
        ]
        assert problems(ledger) == added


@pytest.mark.parametrize("table", ["keys", "summaries", "jobs"])
def test_a_table_that_is_gone_is_named(ledger, execute, where, table):
    execute(f"DROP TABLE {table}" + " CASCADE" * str(where).startswith("postgresql"))
    assert f"the table '{table}' was removed" in problems(ledger, "edited")


def test_what_planners_know_is_no_part_of_a_ledger(ledger, execute):
    execute("ANALYZE")
    verified(ledger)


@pytest.mark.parametrize(("old", "new"), [("Pays what it gets.", "Is harmless."), ("meant so", "approved")])
def test_texts_of_a_reward_that_were_rewritten_are_seen(ledger, execute, old, new):
    execute(f"UPDATE specs SET spec = replace(spec, '{old}', '{new}') WHERE name = 'pay'")
    assert problems(ledger) == ["a row of 'specs' was changed"]


def test_a_reward_that_was_only_registered_and_is_gone_is_missed(ledger, execute):
    execute("DELETE FROM specs WHERE name = 'pay'")
    execute("DELETE FROM labels WHERE name = 'pay'")
    assert problems(ledger, "removed") == ["3 rows were written to 'specs', but 2 are there"]


@pytest.mark.parametrize("column", ["started", "finished"])
def test_times_of_a_rescoring_that_were_changed_are_seen(ledger, execute, column):
    execute(f"UPDATE jobs SET {column} = {column} - 1")
    assert any("re-scoring 1" in text for text in problems(ledger, "edited"))


def test_an_import_that_was_forgotten_or_forged_is_seen(ledger, execute, tmp_path):
    with Ledger(tmp_path / "other.db") as other:
        other.record_many(signal(n) for n in range(30, 33))
        other.export(tmp_path / "other.jsonl")
    ledger.import_file(tmp_path / "other.jsonl")
    verified(ledger)
    execute("INSERT INTO imported (source, record) VALUES ('elsewhere/1', 3)")
    assert problems(ledger) == ["3 rows were written to 'imported', but 4 are there"]
    execute("DELETE FROM imported WHERE record = 3")
    verified(ledger)
    execute("DELETE FROM imported WHERE record = (SELECT max(record) FROM imported)")
    assert problems(ledger) == ["3 rows were written to 'imported', but 2 are there"]


# -- the head of the ledger ----------------------------------------------------------------------------------------------


def test_a_head_that_was_kept_still_holds_when_more_was_added(ledger):
    kept = LedgerHead.from_dict(ledger.stats().to_dict())
    assert kept == ledger.stats().head == ledger.head()
    assert ledger.verify().to_dict()["head"] == kept.digest
    ledger.record(signal(10), run="three", step=10)
    ledger.register(PAY.with_version("2"))
    ledger.rescore(REWARD.with_params(comfort={"harsh": 6.0}).with_version("3"), run="one")
    assert ledger.stats().head.digest != kept.digest
    for heads in (kept, [kept], kept.to_dict(), kept.writers):
        found = ledger.verify(heads=heads)
        assert found.ok, str(found)


def test_a_past_rewritten_by_a_program_is_seen_by_a_head_that_was_kept(tmp_path):
    def write(name, text):
        reward = Reward("pay", version="1", terms=[pay], fields=[Field("x", low=0, high=9)], allow={"constant": text})
        with Ledger(tmp_path / name) as ledger:
            ledger.record(reward.score(x=1.0))
            return ledger.stats().head

    kept = write("honest.db", "meant so")
    write("forged.db", "approved")
    with Ledger(tmp_path / "forged.db") as forged:
        verified(forged)
        found = forged.verify(heads=kept)
    assert any("'specs'" in problem.text for problem in found.problems)


def test_a_head_that_is_not_as_it_was_written_is_refused(ledger):
    data = ledger.stats().head.to_dict()
    data["heads"][0]["records"] += 1
    with pytest.raises(SpecError, match="digest does not match"):
        ledger.verify(heads=data)
