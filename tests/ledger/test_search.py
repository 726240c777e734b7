"""Finding records: every choice goes by an index, and finds what looking at every record would find."""

import math
import random
import re
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import event

from plaudit import Entry, Ledger
from support.ledgers import REWARD, columns, signal

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
OTHER = REWARD.with_version("2")
EPISODES = [*range(40), "night-3/ep-7", "ep7", "7", "5f0c-9b1e", "é\"'", 'a", "b', "x" * 30, 10**18, -5, None]
STEPS = [*range(30), -1, -(2**62), 2**63 - 1, 12, 120, None]
CHOICES = [
    {"episode": 7},
    {"episode": "5f0c-9b1e"},
    {"episode": 'a", "b'},
    {"episode": "é\"'"},
    {"episode": "nowhere"},
    {"step": 12},
    {"step": -1},
    {"step": 2**63 - 1},
    {"step": 31},
    {"episode": 7, "step": 12},
    {"run": "b", "step": 12},
    {"run": "a", "episode": 3},
    {"decision_class": "c1", "episode": 3},
    {"since": NOON + timedelta(minutes=30)},
    {"until": NOON + timedelta(minutes=30)},
    {"since": NOON + timedelta(minutes=20), "until": NOON + timedelta(minutes=21)},
    {"run": "a", "since": NOON + timedelta(minutes=20), "step": 12},
    {"run": "a"},
    {"phase": "p"},
    {"actor": "me"},
    {"decision_class": "c1"},
    {"reward": REWARD.name},
    {"reward": OTHER},
    {"version": "2"},
    {"reward": OTHER, "run": "a"},
    {"key": "k3"},
    {"id": 40},
    {"after": 300},
    {"after": 300, "step": 12},
    {"job": 1},
]  # fmt: skip


def fill(ledger):
    """Record one by one, a few together, and many; some at odd times, and some scored again."""
    rng = random.Random(7)

    def about(at):
        return {
            "run": rng.choice("ab"), "episode": rng.choice(EPISODES), "step": rng.choice(STEPS),
            "phase": rng.choice(["p", None]), "decision_class": f"c{rng.randrange(3)}", "actor": rng.choice(["me", None]),
            "at": NOON + timedelta(minutes=at % 60, microseconds=rng.randrange(10**6)),
        }  # fmt: skip

    for at in range(6):
        ledger.record(signal(at), key=f"k{at}", **about(at))
    for size in (2, 3, 40, 100):
        ledger.record_many(Entry(signal=signal(at), **about(at)) for at in range(size))
    for reward in (REWARD, OTHER):
        many = [about(at) for at in range(120)]
        parts = {name: [each[name] for each in many] for name in ("episode", "step", "at")}
        ledger.record_batch(reward, columns(0, 120), run="a", phase="p", decision_class="c1", **parts)
    ledger.rescore(REWARD.with_weights(comfort=2.0).with_version("3"), step=12)


def is_chosen(record, choice):
    for name, value in choice.items():
        if name == "since" and not record.at >= value:
            return False
        if name == "until" and not record.at < value:
            return False
        if name == "after" and not record.id > value:
            return False
        if name == "version" and record.signal.version != value:
            return False
        if name == "reward":
            given = (value,) if isinstance(value, str) else (value.name, value.version)
            if (record.signal.reward, record.signal.version)[: len(given)] != given:
                return False
        if name == "episode" and record.episode != str(value):
            return False
        if name in ("run", "step", "phase", "decision_class", "actor", "key", "id") and getattr(record, name) != value:
            return False
    return True


@pytest.mark.parametrize("every", [2, pytest.param(1, marks=pytest.mark.slow)])
def test_every_choice_finds_what_looking_at_every_record_finds(where, every):
    with Ledger(where) as ledger:
        fill(ledger)
        everything, rescored = list(ledger.history()), list(ledger.history(job=1))
        for choice in CHOICES[::every]:
            wanted = [record for record in (rescored if "job" in choice else everything) if is_chosen(record, choice)]
            history = ledger.history(**choice)
            numbers = [record.id for record in history]
            assert numbers == [record.id for record in wanted], choice
            assert history.count() == len(wanted), choice
            assert sum(count for _, count in history.counts()) == len(wanted), choice
            for count in (1, 5, 50):
                assert [record.id for record in history.last(count)] == numbers[-count:], choice
            found, totals = history.totals(), [record.total for record in wanted]
            assert found.records == len(wanted), choice
            if totals:
                assert (found.low, found.high) == (min(totals), max(totals)), choice
                assert found.mean == pytest.approx(math.fsum(totals) / len(totals), rel=1e-15), choice


def watch_statements(ledger):
    """Return the list to which every statement that reads the ledger is added, with what it is given."""
    seen = []

    def note(connection, cursor, statement, parameters, context, executemany):
        if statement.lstrip().startswith("SELECT"):
            seen.append((statement, parameters))

    event.listen(ledger._store.backend.engine, "before_cursor_execute", note)
    return seen


@pytest.mark.parametrize("choice", CHOICES, ids=lambda choice: "+".join(choice))
def test_no_choice_goes_through_all_blocks(tmp_path, choice):
    with Ledger(tmp_path / "ledger.db") as ledger:
        ledger.record_many(Entry(signal=signal(at), run="a", step=at, decision_class=f"c{at % 3}") for at in range(9))
        seen = watch_statements(ledger)
        history = ledger.history(**choice)
        list(history)
        history.count()
        history.totals()
        with ledger._store.backend.snapshot() as connection:
            plans = [
                row[3]
                for statement, parameters in tuple(seen)
                for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
            ]
    assert plans
    assert not [plan for plan in plans if re.match(r"SCAN (blocks|summaries|scopes|keys)", plan)]


def test_postgresql_has_an_index_for_every_choice(postgres_url):
    with Ledger(postgres_url) as ledger:
        ledger.record_many(Entry(signal=signal(at), run="a", step=at, decision_class=f"c{at % 3}") for at in range(9))
        seen = watch_statements(ledger)
        for choice in CHOICES:
            list(ledger.history(**choice))
        assert len(seen) >= len(CHOICES)
        with ledger._store.backend.snapshot() as connection:
            connection.exec_driver_sql("SET LOCAL enable_seqscan = off")  # which so small a table would be read by
            for statement, parameters in tuple(seen):
                plan = [row[0] for row in connection.exec_driver_sql(f"EXPLAIN {statement}", parameters)]
                assert not [line for line in plan if re.search(r"Seq Scan on (blocks|summaries)", line)], plan


def test_totals_of_whole_blocks_open_none_of_them(tmp_path):
    with Ledger(tmp_path / "ledger.db") as ledger:
        for at in range(5):
            ledger.record_batch(REWARD, columns(at, at + 100), decision_class=f"c{at % 2}")
        seen = watch_statements(ledger)
        assert ledger.history(decision_class="c1").totals().records == 200
        assert ledger.stats().decision_classes["c0"].records == 300
        assert len(seen) < 20
        assert not [statement for statement, _ in seen if "outputs" in statement]


def test_a_mean_is_a_number_although_the_sum_is_none(tmp_path):
    from plaudit import Field, Reward, term

    @term
    def huge(x):
        return x

    reward = Reward("huge", version="1", terms=[huge], fields=[Field("x")])
    with Ledger(tmp_path / "ledger.db") as ledger:
        ledger.record_batch(reward, {"x": [1.5e308] * 6}, run="one block")
        for _ in range(3):
            ledger.record(reward.score(x=1.5e308), run="several")
        assert [ledger.history(run=run).totals().mean for run in ("one block", "several")] == [1.5e308, 1.5e308]
        assert ledger.stats().rewards["huge@1"].mean == 1.5e308
        assert ledger.verify().ok


def test_an_error_that_would_add_up_does_not(tmp_path):
    with Ledger(tmp_path / "ledger.db") as ledger:
        numbers = ledger.record_batch(REWARD, columns(0, 9000), decision_class="c")
        totals = [record.total for record in ledger.history()]
        assert ledger.history(decision_class="c").totals().mean == pytest.approx(math.fsum(totals) / 9000, rel=1e-15)
        assert ledger.history(after=numbers[0] - 1).totals().mean == math.fsum(totals) / 9000
