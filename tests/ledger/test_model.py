"""A ledger against a plain list: whatever is done in whatever order, both hold the same."""

import json
import shutil
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from plaudit import Entry, Ledger
from plaudit.errors import KeyConflict, NotInLedger
from support.examples import examples
from support.ledgers import REWARD, columns, signal, verified
from support.memory import find_memory

START = datetime(2026, 1, 1, tzinfo=UTC)
OTHERS = {
    label: REWARD.with_params(comfort={"harsh": number}).with_version(label)
    for label, number in (("five", 5.0), ("six", 6.0))
}

steps = st.integers(0, 30)
words = st.sampled_from([None, "a", "b", "c'"])
moments = st.none() | st.integers(-5, 5).map(lambda seconds: START + timedelta(seconds=seconds))
contexts = st.none() | st.sampled_from([1, 1.0, True, {"a": [None]}, "x", []])
keys = st.none() | st.sampled_from(["k1", "k2", "k3", "k4"])
wheres = st.fixed_dictionaries(
    {"run": words, "episode": words, "step": steps, "phase": words, "decision_class": words, "actor": words},
).flatmap(lambda where: st.tuples(contexts, moments).map(lambda two: {**where, "context": two[0], "at": two[1]}))


class Model(RuleBasedStateMachine):
    """What a ledger should hold, and the ledger."""

    @initialize()
    def begin(self):
        self.folder = Path(tempfile.mkdtemp(prefix="plaudit-model-", dir=find_memory()))
        self.time = START
        self.rows = []
        self.by_key = {}
        self.scored = {}
        self.ledger = self.open()

    def open(self):
        return Ledger(self.folder / "ledger.db", clock=self.clock)

    def clock(self):
        return self.time

    def teardown(self):
        if hasattr(self, "ledger"):
            self.ledger.close()
            shutil.rmtree(self.folder)

    # -- what the model does -----------------------------------------------------------------------------------------

    def content(self, n, where):
        return (
            n,
            *(
                json.dumps(where[name])
                for name in ("run", "episode", "step", "phase", "decision_class", "actor", "context")
            ),
        )

    def expect(self, pending, n, where, key):
        """Return which row an entry is or becomes; KeyConflict where it cannot be."""
        keyed = {row["key"]: row for row in [*self.rows, *pending] if row["key"] is not None}
        if key in keyed:
            if self.content(keyed[key]["n"], keyed[key]["where"]) != self.content(n, where):
                raise KeyConflict
            return keyed[key]
        row = {"n": n, "where": where, "key": key, "at": where["at"] or self.time}
        pending.append(row)
        return row

    def compare(self, wanted, got):
        for row, number in zip(wanted, got, strict=True):
            assert row.setdefault("id", number) == number
        ids = [row["id"] for row in self.rows]
        assert ids == sorted(set(ids))

    def do(self, entries, record):
        """Do the same in the model and in the ledger: both accept it, or both refuse it."""
        pending = []
        try:
            wanted = [self.expect(pending, *entry) for entry in entries]
        except KeyConflict:
            wanted = None
        try:
            got = record()
        except KeyConflict:
            assert wanted is None, "the ledger saw a conflict where there is none"
            return
        assert wanted is not None, "the ledger overlooked a conflict"
        self.rows += pending
        self.compare(wanted, got)

    # -- what can be done --------------------------------------------------------------------------------------------

    @rule(seconds=st.integers(-3, 3))
    def move_the_clock(self, seconds):
        self.time += timedelta(seconds=seconds)

    @rule(n=steps, where=wheres, key=keys)
    def record(self, n, where, key):
        self.do([(n, where, key)], lambda: [self.ledger.record(signal(n), key=key, **where)])

    @rule(entries=st.lists(st.tuples(steps, wheres, keys), max_size=5))
    def record_many(self, entries):
        given = [Entry(signal=signal(n), key=key, **where) for n, where, key in entries]
        self.do(entries, lambda: self.ledger.record_many(given))

    @rule(
        start=steps,
        wheres=st.lists(wheres, min_size=1, max_size=6),
        with_keys=st.booleans(),
        given_keys=st.lists(keys, min_size=6, max_size=6),
    )
    def record_batch(self, start, wheres, with_keys, given_keys):
        count = len(wheres)
        names = given_keys[:count] if with_keys else [None] * count
        parts = {name: [where[name] for where in wheres] for name in wheres[0]}
        entries = [(start + at, where, key) for at, (where, key) in enumerate(zip(wheres, names, strict=True))]
        extra = {"key": names} if with_keys else {}
        self.do(entries, lambda: self.ledger.record_batch(REWARD, columns(start, start + count), **parts, **extra))

    @rule(entries=st.lists(st.tuples(steps, wheres), min_size=1, max_size=6))
    def record_through_a_writer(self, entries):
        with self.ledger.writer(max_records=3) as writer:
            receipts = [writer.record(signal(n), **where) for n, where in entries]
            writer.flush()
            assert all(receipt.durable for receipt in receipts)
        self.do([(n, where, None) for n, where in entries], lambda: [receipt.id for receipt in receipts])

    @rule()
    def reopen(self):
        self.ledger.close()
        self.ledger = self.open()

    @rule()
    def compact(self):
        self.ledger.compact()

    @rule()
    def copy(self):
        path = self.ledger.backup(self.folder / "copy.db", overwrite=True)
        with Ledger(path, read_only=True) as copy:
            self.check(list(copy.history()), self.rows)
            verified(copy)

    @rule()
    def export_and_import(self):
        self.ledger.export(self.folder / "records.jsonl", overwrite=True)
        with Ledger(self.folder / "imported.db") as other:
            assert other.import_file(self.folder / "records.jsonl") == len(self.rows)
            self.check(list(other.history()), self.rows, ids=False)
            verified(other)
        (self.folder / "imported.db").unlink()

    @precondition(lambda self: self.rows)
    @rule(label=st.sampled_from(sorted(OTHERS)), run=words)
    def rescore(self, label, run):
        chosen = [row for row in self.rows if run is None or row["where"]["run"] == run]
        if not chosen:
            return
        result = self.ledger.rescore(OTHERS[label], **({} if run is None else {"run": run}))
        before = self.scored.get(result.job, [])
        assert result.scored == len(chosen) - len(before)
        self.scored[result.job] = chosen
        found = list(self.ledger.history(job=result.job))
        assert sorted(record.origin for record in found) == [row["id"] for row in chosen]
        by_origin = {record.origin: record for record in found}
        for row in chosen:
            again = OTHERS[label].score(**signal(row["n"]).inputs)
            assert by_origin[row["id"]].signal.to_dict() == again.to_dict()

    # -- what must hold ----------------------------------------------------------------------------------------------

    def check(self, records, rows, *, ids=True):
        assert len(records) == len(rows)
        for record, row in zip(records, rows, strict=True):
            where = row["where"]
            assert not ids or record.id == row["id"]
            assert record.signal.to_dict() == signal(row["n"]).to_dict()
            assert record.at == row["at"]
            assert record.key == row["key"]
            for name in ("run", "episode", "step", "phase", "decision_class", "actor"):
                assert getattr(record, name) == where[name]
            assert json.dumps(record.context) == json.dumps(where["context"])

    @invariant()
    def history_is_the_list(self):
        if hasattr(self, "ledger"):
            self.check(list(self.ledger.history()), self.rows)

    @rule(run=words, episode=words, phase=words, decision_class=words, actor=words, since=moments, until=moments,
          key=keys, after=st.none() | st.integers(0, 40))  # fmt: skip
    def choose(self, key, since, until, after, **parts):
        chosen = [
            row
            for row in self.rows
            if all(value is None or row["where"][name] == value for name, value in parts.items())
            and (key is None or row["key"] == key)
            and (since is None or row["at"] >= since)
            and (until is None or row["at"] < until)
            and (after is None or row["id"] > after)
        ]
        history = self.ledger.history(**parts, key=key, since=since, until=until, after=after)
        self.check(list(history), chosen)
        assert history.count() == len(chosen)

    @rule(key=st.sampled_from(["k1", "k2", "k3", "k4"]), number=st.integers(1, 60))
    def look_up(self, key, number):
        for wanted, name in ((key, "key"), (number, "id")):
            row = next((row for row in self.rows if row[name] == wanted), None)
            try:
                record = self.ledger[wanted]
            except NotInLedger:
                assert row is None
            else:
                assert row is not None or record.job is not None
                if row is not None:
                    self.check([record], [row])

    @rule()
    def verify(self):
        verified(self.ledger)


class TestModel(Model.TestCase):
    """A few short lives."""

    settings = examples(0.08, stateful_step_count=20, suppress_health_check=list(HealthCheck))


@pytest.mark.slow
class TestModelForLong(Model.TestCase):
    """Many long lives."""

    settings = examples(0.2, stateful_step_count=60, suppress_health_check=list(HealthCheck))
