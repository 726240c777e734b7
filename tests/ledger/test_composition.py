"""Composed and scheduled rewards in a ledger: every row of a total is stored, and every past step recomputes."""

import numpy as np
import pytest

from plaudit import Ledger, Reward, term
from plaudit.errors import VersionConflict
from plaudit.ledger.storage.codec import RecordLayout
from plaudit.ledger.storage.recompute import Recomputer
from plaudit.schedules import linear
from support.composed import COUNTS, FIELDS, STEPS, forward, ran, rows, training, walking

REWARD, TRAINING = walking(), training()


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "rewards.db") as opened:
        yield opened


def signals(reward):
    counts = [{name: column[at].item() for name, column in COUNTS.items()} for at in range(7)]
    return [
        reward.score(**row, **(count if reward is TRAINING else {})) for row, count in zip(rows(), counts, strict=True)
    ]


@pytest.mark.parametrize("reward", [REWARD, TRAINING], ids=["composed", "scheduled"])
def test_what_was_recorded_comes_back_whole_and_recomputes(ledger, reward):
    made = signals(reward)
    for at, signal in enumerate(made):
        ledger.record(signal, step=at)
    back = [record.signal for record in ledger.history()]
    assert [each.to_dict() for each in back] == [each.to_dict() for each in made]
    assert [each.explain() for each in back] == [each.explain() for each in made]
    found = ledger.verify()
    assert found.ok, str(found)
    assert found.compared_bits == 7


def test_a_scheduled_clamp_of_a_term_comes_back(ledger):
    held = term(name="forward", high=linear(0, 10, over=10))(forward.__wrapped__)
    reward = Reward("held", version="1", terms=[held], fields=FIELDS[:1])
    ledger.record(reward.score(speed=4.0, step=1))
    (record,) = ledger.history()
    assert record.signal["forward"].clamped == 1.0
    assert record.signal.to_dict() == reward.score(speed=4.0, step=1).to_dict()


def test_a_batch_is_recorded_with_its_rows(ledger):
    scores = TRAINING.compile("numpy")({**STEPS, **COUNTS})
    layout = RecordLayout(TRAINING)
    assert layout.stack_scores(scores, 7).shape == (7, 1 + 2 * 7)
    assert not Recomputer(layout).find_wrong_sums(layout.stack_scores(scores, 7)).any()


def test_values_that_do_not_add_up_are_found():
    layout = RecordLayout(REWARD)
    stored = layout.stack_scores(REWARD.compile("numpy")(STEPS), 7)
    stored[3, 2] += 0.5
    assert Recomputer(layout).find_wrong_sums(stored).tolist() == [at == 3 for at in range(7)]


def test_records_are_rescored_with_another_weight_at_the_step_they_were_taken(ledger):
    for signal in signals(TRAINING):
        ledger.record(signal)
    other = TRAINING.with_version("2").with_params({"forward.weight.end": 4.0})
    ledger.rescore(other)
    totals = [record.signal.total for record in ledger.history(job=1)]
    wanted = other.compile("numpy")({**STEPS, **COUNTS}).total
    np.testing.assert_allclose(totals, wanted)


def test_a_label_that_stands_for_another_composition_is_told_what_differs(ledger):
    ledger.record(REWARD.score(**rows()[0]))

    def upright(height, *, reach=0.5):
        return height > reach

    with pytest.raises(VersionConflict, match="gate: its formula differs"):
        ledger.register(walking(gate=upright))
    with pytest.raises(VersionConflict, match=r"override.fell: -1 → \(none\)[^$]*fell: removed"):
        ledger.register(walking(override=[(ran, -2.0)]))
    with pytest.raises(VersionConflict, match="scale: dt → total.scale"):
        ledger.register(walking(scale=0.25, shared={}))
    with pytest.raises(VersionConflict, match=r"forward.weight: 2 → linear\(0, 2, over=100\)"):
        ledger.register(REWARD.with_weights(forward=linear(0, 2, over=100)))


def test_a_signal_read_from_data_is_recorded(ledger):
    ledger.register(REWARD)
    signal = REWARD.score(**rows()[4])
    ledger.record(type(signal).from_dict(signal.to_dict()))
    (record,) = ledger.history()
    assert record.signal.override == "fell"
    assert record.signal["ran"].score == 1.0


def test_an_export_is_read_into_another_ledger(ledger, tmp_path):
    for signal in signals(TRAINING):
        ledger.record(signal)
    ledger.export(tmp_path / "rewards.jsonl")
    with Ledger(tmp_path / "other.db") as other:
        other.import_file(tmp_path / "rewards.jsonl")
        assert [r.signal.to_dict() for r in other.history()] == [r.signal.to_dict() for r in ledger.history()]
        assert other.verify().ok
