"""Episodes: listed from what is kept of them, they are what adding up their records gives."""

import json
import math
import random
import re
import sqlite3
from collections import defaultdict
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import event

from plaudit import Entry, Ledger, LedgerError, NotInLedger
from plaudit.errors import LedgerBroken
from plaudit.ledger.storage.parts import pack_record
from plaudit.ledger.summary import part_reader
from plaudit.ledger.summary.episodes import Episodes
from support.ledgers import REWARD, columns, end, signal
from support.postgres import server_in_soak

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
OTHER = REWARD.with_version("2")
NAMES = [*map(str, range(12)), 'a", "b', "é", None]


def fill(ledger):
    """Record one by one, a few together and many, of two runs and actors whose episodes have the same names."""
    rng = random.Random(11)

    def about(at):
        return {
            "run": rng.choice(["a", "b", None]), "actor": rng.choice(["me", None]), "episode": rng.choice(NAMES),
            "step": rng.choice([*range(30), None]), "decision_class": f"c{rng.randrange(2)}",
            "context": rng.choice([None, None, {"terminated": True}, {"truncated": True}, {"terminated": False}, [1]]),
            "at": NOON + timedelta(minutes=at % 60, microseconds=rng.randrange(10**6)),
        }  # fmt: skip

    for at in range(8):
        ledger.record(signal(at), **about(at))
    for size in (2, 3, 40, 100):
        ledger.record_many(Entry(signal=signal(at), **about(at)) for at in range(size))
    ledger.record(end(), run="a", episode="3", at=NOON)
    for reward in (REWARD, OTHER):
        many = [about(at) for at in range(120)]
        parts = {name: [each[name] for each in many] for name in ("episode", "step", "at", "context")}
        ledger.record_batch(reward, columns(0, 120), run="a", actor="me", **parts)


def add_up(records):
    """Return what episodes should be, by looking at every record."""
    groups = defaultdict(list)
    for record in records:
        if record.episode is not None:
            key = record.run, record.actor, record.episode, record.signal.reward, record.signal.version
            groups[key].append(record)
    return groups


def check(episodes, records, ends=None):
    """Check that episodes are what their records say."""
    groups = add_up(records)
    found = [(each.run, each.actor, each.episode, each.reward, each.version) for each in episodes]
    assert found == sorted(groups, key=lambda key: groups[key][0].id)
    for each, key in zip(episodes, found, strict=True):
        group = groups[key]
        final = {record.id for record in group if record.signal.frame.part == "final"}
        steps = [record.step for record in group if record.step is not None]
        assert each.total == pytest.approx(math.fsum(record.total for record in group), rel=1e-14, abs=1e-14)
        for term, value in each.terms.items():
            values = [record.signal.values[term] for record in group if term in record.signal.values]
            assert value == pytest.approx(math.fsum(values), rel=1e-14, abs=1e-14)
        assert each.length == len(group) - len(final)
        assert (each.first_step, each.last_step) == ((min(steps), max(steps)) if steps else (None, None))
        assert (each.first_record, each.last_record) == (group[0].id, group[-1].id)
        assert (each.began, each.latest) == (min(r.at for r in group), max(r.at for r in group))
        said = {name for r in group for name in ("terminated", "truncated") if _says(r, name, ends)}
        wanted = "terminated" if "terminated" in said or final else "truncated" if said else None
        assert each.ended == wanted


def _says(record, name, ends):
    context = record.context if ends is None else ends[record.origin]
    return isinstance(context, dict) and context.get(name) is True


def test_episodes_are_what_their_records_add_up_to(where):
    with Ledger(where) as ledger:
        assert list(ledger.episodes()) == []
        fill(ledger)
        everything = list(ledger.history())
        check(ledger.episodes(), everything)
        check(
            ledger.episodes(run="a", actor="me"), [each for each in everything if (each.run, each.actor) == ("a", "me")]
        )
        for choice in ({"episode": 3}, {"reward": OTHER}, {"decision_class": "c1"}, {"run": "nowhere"}):
            check(ledger.episodes(**choice), ledger.history(**choice))
        before = [each.length for each in ledger.episodes()]
        assert ledger.compact() > 0
        check(ledger.episodes(), everything)
        assert [each.length for each in ledger.episodes()] == before
        assert ledger.verify().ok


@server_in_soak
def test_a_rescoring_has_returns_of_its_own_and_the_ends_of_what_it_scored(where):
    with Ledger(where) as ledger:
        fill(ledger)
        contexts = {record.id: record.context for record in ledger.history()}
        stricter = REWARD.with_weights(comfort=2.0).with_version("3")
        for job, choice in enumerate(({}, {"run": "a"}), start=1):
            ledger.rescore(stricter, **choice)
            check(ledger.episodes(job=job), ledger.history(job=job), contexts)
        assert {each.version for each in ledger.episodes(job=1)} == {"3"}
        ledger.rescore(stricter, step=12)  # parts of blocks
        lengths = {each.episode: each.length for each in ledger.episodes(job=3, run="a", actor="me")}
        scored = [record.episode for record in ledger.history(job=3, run="a", actor="me")]
        assert lengths == {name: scored.count(name) for name in {*scored} - {None}}
        assert ledger.verify().ok


def test_an_import_has_the_episodes_that_were_exported(tmp_path):
    with Ledger(tmp_path / "ledger.db") as ledger, Ledger(tmp_path / "other.db") as other:
        fill(ledger)
        ledger.export(tmp_path / "records.jsonl")
        other.import_file(tmp_path / "records.jsonl")
        ledger.backup(tmp_path / "copy.db")
        with Ledger(tmp_path / "copy.db", read_only=True) as copy:
            assert [each.to_dict() for each in copy.episodes()] == [each.to_dict() for each in ledger.episodes()]
        check(other.episodes(), other.history())
        assert len(other.episodes()) == len(ledger.episodes())


def test_listing_opens_no_block_of_many_records(tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr(part_reader, "pack_record", lambda *about: opened.append(about) or pack_record(*about))
    with Ledger(tmp_path / "ledger.db") as ledger:
        for run in range(20):
            ledger.record_batch(REWARD, columns(0, 500), run=f"r{run}", episode=[at // 50 for at in range(500)])
        ledger.record(signal(), run="r3", episode=9)
        assert len(ledger.episodes()) == 200
        assert len(opened) == 1
        rows, plans = watch(ledger)
        assert [each.length for each in ledger.episodes(run="r3")] == [50] * 9 + [51]
        assert sum(rows) <= 7  # 2 blocks, the reward and the scope
        assert not [plan for plan in plans if re.match(r"SCAN (blocks|summaries|scopes)", plan)], plans


def watch(ledger):
    """Return how many rows each statement gives, and the plan of each, as lists that statements to come are added to."""
    rows, plans = [], []

    def note(connection, cursor, statement, parameters, context, executemany):
        if statement.lstrip().startswith("SELECT"):
            ask = connection.connection.driver_connection.execute
            rows.append(ask(f"SELECT count(*) FROM ({statement})", parameters).fetchone()[0])
            plans.extend(line[-1] for line in ask(f"EXPLAIN QUERY PLAN {statement}", parameters))

    event.listen(ledger._store.backend.engine, "before_cursor_execute", note)
    return rows, plans


def test_episodes_are_chosen_by_when_they_began_and_are_whole(tmp_path):
    with Ledger(tmp_path / "ledger.db") as ledger:
        for at in range(6):
            ledger.record(signal(at), episode=at // 2, step=at, at=NOON + timedelta(minutes=at))
        found = ledger.episodes(since=NOON + timedelta(minutes=1), until=NOON + timedelta(minutes=4))
        assert [(each.episode, each.length) for each in found] == [("1", 2)]


@pytest.mark.parametrize("name", ["step", "key", "after", "id"])
def test_episodes_are_not_chosen_by_what_is_a_records_own(tmp_path, name):
    with Ledger(tmp_path / "ledger.db") as ledger:
        with pytest.raises(LedgerError, match=f"episodes cannot be chosen by '{name}'"):
            ledger.episodes(**{name: "1" if name == "key" else 1})
        with pytest.raises(LedgerError, match="Did you mean 'run'"):
            ledger.episodes(runn="a")


def test_worst_and_best_are_by_return_or_by_a_term(tmp_path):
    with Ledger(tmp_path / "ledger.db") as ledger:
        fill(ledger)
        found = ledger.episodes(run="a")
        assert [each.total for each in found.worst(3)] == sorted(each.total for each in found)[:3]
        comfort = sorted((each.terms["comfort"] for each in found if "comfort" in each.terms), reverse=True)
        assert [each.terms["comfort"] for each in found.best(4, term="comfort")] == comfort[:4]
        with pytest.raises(NotInLedger, match="Did you mean 'comfort'"):
            found.worst(term="comfrt")
        assert len(ledger.episodes(run="nowhere").worst(term="comfrt")) == 0


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ("UPDATE summaries SET parts = NULL WHERE first = 1", "record 1: its episode sums"),
        ("UPDATE summaries SET parts = zeroblob(length(parts)) WHERE first = 1", "record 1: its episode sums"),
        ("UPDATE summaries SET parts = substr(parts, 1, 60) WHERE first = 1", "record 1: its episode sums"),
        ("UPDATE summaries SET parts = 'a text' WHERE first = 1", "record 1: its episode sums"),
        ("UPDATE summaries SET parts = x'01' WHERE first = 51", "record 51: its episode sums"),
        ("UPDATE summaries SET telling = 1 WHERE first = 51", "record 51: its episode sums"),
    ],
)
def test_verify_finds_what_does_not_follow_from_its_block(tmp_path, change, what):
    path = tmp_path / "ledger.db"
    with Ledger(path) as ledger:
        ledger.record_batch(REWARD, columns(0, 50), step=range(50), episode=[at // 10 for at in range(50)])
        ledger.record(signal(), episode="single")
        assert ledger.verify().ok
        connection = sqlite3.connect(path)
        connection.execute(change)
        connection.commit()
        connection.close()
        found = ledger.verify()
        assert {problem.kind for problem in found.problems} == {"edited"}
        assert what in str(found)


@pytest.mark.parametrize("change", ["NULL", "zeroblob(length(parts))", "substr(parts, 1, 60)", "'a text'", "x'01'"])
def test_damaged_sums_are_not_listed(tmp_path, change):
    path = tmp_path / "ledger.db"
    with Ledger(path) as ledger:
        ledger.record_batch(REWARD, columns(0, 50), episode=[at // 10 for at in range(50)])
        connection = sqlite3.connect(path)
        connection.execute(f"UPDATE summaries SET parts = {change}")
        connection.commit()
        connection.close()
        with pytest.raises(LedgerBroken, match="what is kept of an episode cannot be read"):
            ledger.episodes()


def test_an_episode_is_plain_data(tmp_path):
    with Ledger(tmp_path / "ledger.db") as ledger:
        ledger.record(signal(), run="a", episode=1, step=4, at=NOON, context={"truncated": True})
        found = json.loads(json.dumps(ledger.episodes()[0].to_dict()))
    assert found["ended"] == "truncated"
    assert (found["first_step"], found["last_step"], found["began"]) == (4, 4, "2026-11-01T12:00:00Z")


@pytest.mark.parametrize("name", ["{}", "ep-{}"])
def test_a_block_of_very_many_episodes_need_not_be_opened(tmp_path, monkeypatch, name):
    many = 2000
    with Ledger(tmp_path / "ledger.db") as ledger:
        names = [name.format(at % many) for at in range(2 * many)]
        ledger.record_batch(REWARD, columns(0, 2 * many), episode=names)
        ledger.record(signal(), episode=names[7])
        found = ledger.episodes()
        assert [each.episode for each in found] == names[:many]
        assert [each.length for each in found] == [3 if at == 7 else 2 for at in range(many)]
        check(found, ledger.history())
        assert ledger.verify().ok


def test_episodes_made_of_objects_are_those_that_were_listed(tmp_path):
    with Ledger(tmp_path / "ledger.db") as ledger:
        fill(ledger)
        listed = ledger.episodes()
    assert listed[3] == list(listed)[3] == listed[3:][0]
    assert listed[-1] == next(reversed(listed))
    made = Episodes(listed)
    assert made.to_columns() == listed.to_columns()
    assert list(made.finished) == list(listed.finished) == [each for each in listed if each.finished]
    assert list(made.best(5)) == list(listed.best(5))
    assert made._repr_html_() == listed._repr_html_()
    assert made.term_names == tuple(dict.fromkeys(term for each in listed for term in each.terms))
    terms = [[each.terms.get(term) for each in listed] for term in made.term_names]
    columns = made.to_columns()
    assert [columns.get(f"{term}.value", columns[term]) for term in made.term_names] == terms


def test_an_episode_that_is_being_written_is_told_as_far_as_it_is_recorded(tmp_path):
    path = tmp_path / "ledger.db"
    with Ledger(path) as ledger, Ledger(path, read_only=True) as reader:
        ledger.record_batch(REWARD, columns(0, 2), run="a", episode=1, step=[1, 2])
        assert [(each.length, each.ended) for each in reader.episodes()] == [(2, None)]
        ledger.record(signal(2), run="a", episode=1, step=3, context={"terminated": True})
        assert [(each.length, each.last_step, each.ended) for each in reader.episodes()] == [(3, 3, "terminated")]
        ledger.compact()
        assert [(each.length, each.ended) for each in reader.episodes()] == [(3, "terminated")]
