"""The store as the specification uses it: a directory, `add`, and `get_history` for training."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from plaudit.systems.deepthinker import RewardSignal, RewardStore


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with RewardStore(path="kb/rewards") as store:
        yield store


def test_a_reward_is_stored_and_retrieved_for_training(store):
    state = SimpleNamespace(mission_id="mission-7")
    phase_name = "research"
    context = {"decision_class": "model_selection", "chosen": "LARGE"}
    signal = RewardSignal.from_phase_outcome(
        score_delta=0.1,
        consistency_delta=0.05,
        cost_tokens=5000,
        cost_latency_ms=2000,
        alignment_events=1,
        time_budget_used_pct=0.4,
    )

    store.add(mission_id=state.mission_id, phase=phase_name, decision_context=context, signal=signal)
    history = store.get_history(decision_class="model_selection", min_date=datetime.now() - timedelta(days=7))

    [record] = history
    assert record.mission_id == "mission-7"
    assert record.phase == "research"
    assert record.decision_class == "model_selection"
    assert record.context == context
    assert record.signal == signal
    assert record.signal.compute_reward() == pytest.approx(-0.030, abs=1e-12)


def test_what_is_older_than_the_date_is_left_out(store):
    signal = RewardSignal.from_phase_outcome(score_delta=0.1)
    for days in (8, 6, 0):
        when = datetime.now(UTC) - timedelta(days=days)
        store.add(mission_id=f"{days}", phase="p", decision_context="model_selection", signal=signal, timestamp=when)
    history = store.get_history(decision_class="model_selection", min_date=datetime.now() - timedelta(days=7))
    assert [record.mission_id for record in history] == ["6", "0"]


def test_the_record_preserves_raw_components_and_normalization(store):
    signal = RewardSignal.from_phase_outcome(score_delta=3.0, cost_tokens=5000)
    store.add(mission_id="m", phase="p", decision_context="model_selection", signal=signal)
    [record] = store.get_history(decision_class="model_selection")
    assert record.signal.components_raw["score_delta"] == 3.0
    assert record.signal.score_delta == 1.0
    assert record.signal.normalization_meta == signal.normalization_meta
