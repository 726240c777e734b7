"""Taking in files: what is missing is added, what is there must be the same, and what does not recompute stays out."""

import json
import math
import os

import pytest

from plaudit import Entry, Field, Ledger, Reward, Signal, term
from plaudit.errors import FileError, LedgerError
from plaudit.ledger.exchange import imports
from plaudit.ledger.storage import contents
from support.ledgers import REWARD, columns, seal_export, signal, verified
from support.postgres import server_in_soak


@term
def drop(x):
    """A reward whose last bit depends on the machine."""
    return math.exp(-x)


INEXACT = Reward("inexact", version="1", terms=[drop], fields=[Field("x", low=0, high=9)])


def steps(ledger, **query):
    return [record.step for record in ledger.history(**query)]


def edit(path, change, *, at=0):
    """Change one record of an exported file, and seal it again."""
    lines = path.read_text().splitlines()[:-1]
    places = [place for place, line in enumerate(lines) if line.startswith('{"record"')]
    content = json.loads(lines[places[at]])
    change(content["record"])
    lines[places[at]] = json.dumps(content)
    path.write_text(seal_export(lines))
    return places[at] + 1


def add_one(record):
    record["signal"]["total"] += 1.0


# -- after a restore ---------------------------------------------------------------------------------------------------


def test_what_was_recorded_after_a_backup_is_brought_back_by_an_export(where, tmp_path):
    with Ledger(where) as ledger:
        for step in range(5):
            ledger.record(signal(step), step=step)
        ledger.backup(tmp_path / "backup.db")
        for step in range(5, 8):
            ledger.record(signal(step), step=step, key=f"k{step}")
        ledger.record_batch(REWARD, columns(8, 10), step=range(8, 10))
        ledger.export(tmp_path / "all.jsonl")
        wanted = [record.signal.to_dict() for record in ledger.history()]
        assert ledger.import_file(tmp_path / "all.jsonl") == 0
    with Ledger(tmp_path / "backup.db") as restored:
        assert restored.import_file(tmp_path / "all.jsonl") == 5
        assert steps(restored) == list(range(10))
        assert [record.signal.to_dict() for record in restored.history()] == wanted
        assert restored.import_file(tmp_path / "all.jsonl") == 0
        restored.export(tmp_path / "again.jsonl")
        verified(restored)
    with Ledger(tmp_path / "other.db") as other:
        assert other.import_file(tmp_path / "again.jsonl") == 10
        assert other.import_file(tmp_path / "all.jsonl") == 0  # they are the same records


def test_a_block_of_which_a_part_was_taken_in_is_filled_up(where, tmp_path):
    with Ledger(tmp_path / "source.db") as source, Ledger(where) as ledger:
        source.record_batch(REWARD, columns(0, 50), step=range(50))
        source.export(tmp_path / "one.jsonl", step=17)
        source.export(tmp_path / "some.jsonl", after=40)
        source.export(tmp_path / "all.jsonl")
        brought = [ledger.import_file(tmp_path / f"{name}.jsonl") for name in ("one", "some", "all", "one")]
        assert brought == [1, 10, 39, 0]
        assert sorted(steps(ledger)) == list(range(50))
        verified(ledger)


@pytest.mark.parametrize("known", ["recorded here", "taken in"])
@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda record: record.update(step=9), "step: 3 there, 9 here"),
        (lambda record: record.update(at="2020-01-01T00:00:00Z"), "at: "),
        (lambda record: record.update(key="other"), "key: None there, other here"),
        (lambda record: record.update(context={"a": 1}), 'context: None there, {"a": 1} here'),
        (lambda record: record.update(signal=signal(8).to_dict()), "inputs; scores"),
    ],
    ids=["step", "time", "key", "context", "signal"],
)
def test_a_record_that_is_there_with_another_content_is_named_and_nothing_comes_in(tmp_path, known, change, told):
    with Ledger(tmp_path / "source.db") as source, Ledger(tmp_path / "other.db") as other:
        source.record_many([Entry(signal(step), step=step) for step in range(2, 5)])
        source.export(tmp_path / "all.jsonl")
        other.import_file(tmp_path / "all.jsonl")
        line = edit(tmp_path / "all.jsonl", change, at=1)
        ledger = source if known == "recorded here" else other
        with pytest.raises(
            LedgerError, match=r"line \d+: the record from \w+/\d+ is already there as record 2, "
        ) as caught:
            ledger.import_file(tmp_path / "all.jsonl")
        assert f"line {line}: " in str(caught.value)
        assert f"which differs: {told}" in str(caught.value)
        assert ledger.history().count() == 3
        verified(ledger)


def test_the_same_record_twice_in_a_file_comes_in_once(tmp_path, monkeypatch):
    monkeypatch.setattr(imports, "_BATCH", 4)  # beside itself, and in another batch
    with Ledger(tmp_path / "source.db") as source, Ledger(tmp_path / "other.db") as other:
        source.record_many([Entry(signal(step), step=step) for step in range(10)])
        source.export(tmp_path / "all.jsonl")
        *head, last = (tmp_path / "all.jsonl").read_text().splitlines()[:-1]
        (tmp_path / "all.jsonl").write_text(seal_export([*head, last, last, *head[-9:], *head[-9:], last]))
        assert other.import_file(tmp_path / "all.jsonl") == 10
        assert steps(other) == list(range(10))
        edit(tmp_path / "all.jsonl", lambda record: record.update(step=7), at=-1)
        with Ledger(tmp_path / "third.db") as third, pytest.raises(LedgerError, match="which differs: step: 9 there"):
            third.import_file(tmp_path / "all.jsonl")


def test_a_source_that_no_ledger_wrote_is_a_name_like_another(tmp_path):
    names = ["elsewhere", "a/b/c", "x/1", "x/-1/2", "x/1/2/3", "x/" + "9" * 40, "x/\u0661"]
    with Ledger(tmp_path / "source.db") as source, Ledger(tmp_path / "other.db") as other:
        for step in range(len(names)):
            source.record(signal(step), step=step)
        source.export(tmp_path / "all.jsonl")
        for at, name in enumerate(names):
            edit(tmp_path / "all.jsonl", lambda record, name=name: record.update(source=name), at=at)
        assert [other.import_file(tmp_path / "all.jsonl") for _ in range(2)] == [len(names), 0]


def test_statements_grow_with_batches_and_not_with_records(tmp_path, monkeypatch):
    executed = []
    with Ledger(tmp_path / "source.db") as source, Ledger(tmp_path / "other.db") as other:
        source.record_many([Entry(signal(step), step=step, key=f"k{step}") for step in range(1000)])
        source.export(tmp_path / "all.jsonl")
        assert other.import_file(tmp_path / "all.jsonl") == 1000
        for ledger in (source, other):
            connection = ledger._store.backend.writer
            connection.set_trace_callback(executed.append)
            assert ledger.import_file(tmp_path / "all.jsonl") == 0
            connection.set_trace_callback(None)
    assert 0 < len(executed) < 40
    assert list(contents.split_runs([1, 2, 300, 10_000])) == [[1, 2], [300], [10_000]]


# -- numbers that do not recompute -------------------------------------------------------------------------------------


@server_in_soak
@pytest.mark.parametrize(
    ("target", "change", "told"),
    [
        ("python", add_one, "total is "),
        ("numpy", lambda record: record["signal"]["terms"][0].update(score=1.25), ".score is 1.25 but recomputes as "),
        ("numpy", lambda record: record["signal"]["inputs"].update(distance=1.0), " does not recompute: total is "),
    ],
    ids=["total", "score", "input"],
)
def test_a_record_that_its_reward_does_not_compute_is_refused_or_kept_apart(tmp_path, where, target, change, told):
    with Ledger(tmp_path / "source.db") as source, Ledger(where) as ledger:
        if target == "numpy":
            source.record_batch(REWARD, columns(0, 3), step=range(3))
        else:
            source.record_many([Entry(signal(step), step=step) for step in range(3)])
        path = tmp_path / "all.jsonl"
        source.export(path)
        line = edit(path, change, at=1)
        with pytest.raises(LedgerError, match=f"line {line}: the record from .* does not recompute") as caught:
            ledger.import_file(path)
        assert told in str(caught.value)
        assert "quarantine=True" in str(caught.value)
        assert ledger.history().count() == 0
        assert [ledger.import_file(path, quarantine=True) for _ in range(2)] == [2, 0]
        (apart,) = ledger.quarantined()
        assert (apart.line, apart.file, apart.record["step"]) == (line, str(path), 1)
        assert apart.reason in str(caught.value)
        assert list(ledger.quarantined(after=apart.id)) == []
        assert steps(ledger) == [0, 2]
        assert (ledger.stats().records, ledger.stats().quarantined) == (2, 1)
        assert "1 record in quarantine" in str(ledger.stats())
        assert ledger.export(tmp_path / "back.jsonl") == 2
        assert ledger.rescore(REWARD.with_version("2")).records == 2
        assert source.import_file(path, quarantine=True) == 0  # which has the true one
        verified(ledger)
        verified(source)


@pytest.mark.parametrize(("value", "told"), [(-4.0, "outside its declared range"), ("far", "'far' is a str")])
def test_inputs_that_a_reward_refuses_are_kept_apart_too(tmp_path, value, told):
    with Ledger(tmp_path / "source.db") as source, Ledger(tmp_path / "other.db") as other:
        source.record(signal(1), step=1)
        source.export(tmp_path / "all.jsonl")
        line = edit(tmp_path / "all.jsonl", lambda record: record["signal"]["inputs"].update(distance=value))
        with pytest.raises(LedgerError, match=f"line {line}: .*{told}"):
            other.import_file(tmp_path / "all.jsonl")
        assert other.import_file(tmp_path / "all.jsonl", quarantine=True) == 0
        assert told in next(other.quarantined()).reason
        copy = other.backup(tmp_path / "copy.db")
        with Ledger(copy, read_only=True) as kept:
            assert [each.to_dict() for each in kept.quarantined()] == [each.to_dict() for each in other.quarantined()]


def next_float(record):
    """Move a result by one unit in the last place, as another C library may."""
    for part in (record["signal"], record["signal"]["terms"][0]):
        for name in ("total", "score", "clamped", "value"):
            if name in part:
                part[name] = math.nextafter(part[name], 2)


@pytest.mark.parametrize("machine", ["another", "nobody knows which", "this one"])
def test_numbers_of_another_machine_may_differ_in_their_last_place(tmp_path, monkeypatch, machine):
    path = tmp_path / "all.jsonl"
    with Ledger(tmp_path / "source.db") as source, Ledger(tmp_path / "other.db") as other:
        source.record_many([Entry(INEXACT.score(x=0.5 + step), step=step) for step in range(3)])
        source.export(path)
        if machine != "this one":
            lines = [line for line in path.read_text().splitlines()[:-1] if not line.startswith('{"writer"')]
            said = ['{"writer": {"id": 1, "made_with": "an abacus"}}'] if machine == "another" else []
            path.write_text(seal_export([lines[0], *said, *lines[1:]]))
        edit(path, next_float, at=1)
        if machine == "this one":
            with pytest.raises(LedgerError, match="does not recompute: total is "):
                other.import_file(path)
            return
        assert other.import_file(path) == 3
        assert verified(other).compared_ulp == 3
        edit(path, add_one, at=2)
        with Ledger(tmp_path / "third.db") as third, pytest.raises(LedgerError, match="does not recompute"):
            third.import_file(path)


def test_a_signal_that_was_read_from_data_must_be_what_its_reward_computes(tmp_path):
    good, bad = signal(3).to_dict(), signal(4).to_dict()
    bad["total"] += 1.0
    with Ledger(tmp_path / "ledger.db") as ledger:
        ledger.register(REWARD)
        ledger.record(Signal.from_dict(good), step=0)
        for record in (
            lambda: ledger.record(Signal.from_dict(bad)),
            lambda: ledger.record_many([signal(5), Signal.from_dict(bad)]),
            lambda: ledger.writer().record(Signal.from_dict(bad)),
        ):
            with pytest.raises(LedgerError, match="is not what its reward 'following' computes: total is "):
                record()
        assert steps(ledger) == [0]
        verified(ledger)


def test_signals_of_a_ledger_can_be_recorded_in_another_whatever_computed_them(tmp_path):
    with Ledger(tmp_path / "source.db") as source, Ledger(tmp_path / "other.db") as other:
        source.record_batch(INEXACT, {"x": [n / 50 for n in range(400)]})
        source.record_many(INEXACT.score(x=n / 50) for n in range(400))
        other.register(INEXACT)
        other.record_many([record.signal for record in source.history()])
        other.record_many([Signal.from_dict(record.signal.to_dict()) for record in source.history()])
        assert verified(other).compared_bits == 1600


def test_signals_of_this_process_are_not_computed_again(tmp_path, monkeypatch):
    monkeypatch.setattr("plaudit.ledger.ledger.check_recomputes", None)
    copied = Reward.from_json(REWARD.to_json())
    with Ledger(tmp_path / "ledger.db") as ledger:
        ledger.record(signal(1))
        ledger.record(copied.score(distance=3.0, deceleration=0.0, action=0))
        with pytest.raises(TypeError):
            ledger.record(Signal.from_dict(signal(1).to_dict()))


# -- files that are no exports -----------------------------------------------------------------------------------------


def test_a_file_that_has_no_end_is_refused_at_once(tmp_path, monkeypatch):
    zeros = tmp_path / "zeros.jsonl"
    with zeros.open("wb") as file:
        file.truncate(1 << 40)
    os.mkfifo(tmp_path / "pipe.jsonl")
    monkeypatch.setattr(imports, "LONGEST_LINE", 1 << 16)
    with Ledger(tmp_path / "ledger.db") as ledger:
        for path in ("/dev/zero", tmp_path / "pipe.jsonl", "-"):
            with pytest.raises(FileError, match="not a regular file"):
                ledger.import_file(path)
        with pytest.raises(LedgerError, match="line 1: it is longer than"):
            ledger.import_file(zeros)
        ledger.record(signal(0))
        ledger.export(tmp_path / "all.jsonl")
        long = tmp_path / "long.jsonl"
        long.write_text("\n".join([*(tmp_path / "all.jsonl").read_text().splitlines()[:-1], "x" * 100_000]))
        with pytest.raises(LedgerError, match="line 5: it is longer than"):
            ledger.import_file(long)


def test_records_are_recognised_after_their_blocks_were_merged(where, tmp_path):
    with Ledger(where) as ledger:
        for number in range(40):
            ledger.record(signal(number), run="run", step=number)
        ledger.export(tmp_path / "all.jsonl")
        assert ledger.compact() > 0
        assert ledger.import_file(tmp_path / "all.jsonl") == 0
        ledger.export(tmp_path / "again.jsonl")
        assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "all.jsonl").read_bytes()
