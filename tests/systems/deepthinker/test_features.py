"""What a learner sees of a phase: golden rows, worked out by hand from the formulas."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import errors
from plaudit.systems.deepthinker.features import (
    CONTEXT,
    FEATURES,
    TASKS,
    encode_context,
    encode_features,
    estimate_difficulty,
)
from plaudit.systems.deepthinker.phase import Outcome, Phase


def by_name(phase):
    return dict(zip(FEATURES, encode_features(phase), strict=True))


FULL = Phase(
    name="deep_research",
    objective="Survey the field. " + "x" * 700,
    text="See https://example.org, 1999 and 42?\n```code```" + "." * 9951 + "?",
    minutes_remaining=15,
    minutes_budget=60,
    drift_risk=0.25,
    retries=3,
    recent_scores=(0.3, 0.6, 0.75),
    models_used=4,
    councils_used=2,
)

# every one of the 30, by the formula that defines it
GOLDEN = {
    "task_scholarly": 0.0,
    "task_research": 1.0,
    "task_code": 0.0,
    "task_analysis": 0.0,
    "task_creative": 0.0,
    "task_planning": 0.0,
    "phase_research": 1.0,
    "phase_plan": 0.0,
    "phase_code": 0.0,
    "phase_eval": 0.0,
    "phase_synth": 0.0,
    "input_length": 1.0,
    "log_input_length": math.log(1 + 10_000) / 10,
    "objective_length": 0.718,
    "has_code_block": 1.0,
    "has_url": 1.0,
    "has_long_number": 1.0,
    "question_marks": 0.2,
    "time_remaining_ratio": 0.25,
    "log_minutes_remaining": math.log(16) / 10,
    "time_pressure": 0.75,
    "drift_risk": 0.25,
    "retries": 0.6,
    "difficulty": 0.3 + 0.1 + 0.1 + 0.2 + 0.1,  # objective > 500, input > 5000, retries, a score below 0.4
    "recent_score_mean": 0.55,
    "recent_score_min": 0.3,
    "recent_score_max": 0.75,
    "recent_score_trend": 0.15,
    "models_used": 0.4,
    "councils_used": 0.4,
}


def test_the_thirty_features_of_a_phase_are_what_their_formulas_give():
    assert len(FULL.text) == 10_000
    assert len(FEATURES) == 30
    assert list(GOLDEN) == list(FEATURES)
    assert by_name(FULL) == pytest.approx(GOLDEN, abs=1e-12)


def test_a_phase_of_which_nothing_is_known_has_the_defaults():
    found = by_name(Phase(name="reconnaissance"))
    expected = dict.fromkeys(FEATURES, 0.0) | {
        "time_remaining_ratio": 1.0,
        "difficulty": 0.3,
        "recent_score_mean": 0.5,
        "recent_score_min": 0.5,
        "recent_score_max": 0.5,
    }
    assert found == expected


@pytest.mark.parametrize(
    ("objective", "task"),
    [
        ("A literature review of code", "scholarly"),
        ("Investigate the code", "research"),
        ("Implement and analyse it", "code"),
        ("COMPARE the plans", "analysis"),
        ("Write a story about a plan", "creative"),
        ("A roadmap", "planning"),
        ("Hello", None),
        ("A history of Rome", None),
        ("How planets, planes and plants form", None),
        ("Human resources", None),
        ("Encode, decode", None),
        ("Name the sources", "research"),
        ("Researchers at work", "research"),
        ("An implementation; programming", "code"),
        ("An assessment", "analysis"),
        ("Planning, planned or plans", "planning"),
        ("Re-plan: a scheduler", "planning"),
    ],
)
def test_the_first_kind_of_task_with_a_word_in_the_objective_is_set(objective, task):
    found = by_name(Phase(name="x", objective=objective))
    assert [name for name in TASKS if found[f"task_{name}"]] == ([task] if task else [])


def test_a_phase_may_be_of_several_kinds():
    found = by_name(Phase(name="Code_Evaluation"))
    assert (found["phase_code"], found["phase_eval"], found["phase_plan"]) == (1.0, 1.0, 0.0)


@pytest.mark.parametrize(
    ("phase", "expected"),
    [
        (Phase(name="x"), 0.3),
        (Phase(name="x", objective="o" * 500, text="t" * 5000), 0.3),
        (Phase(name="x", objective="o" * 501), 0.4),
        (Phase(name="x", objective="o" * 1001), 0.5),
        (Phase(name="x", text="t" * 5001), 0.4),
        (Phase(name="x", text="t" * 20_001), 0.5),
        (Phase(name="x", retries=1), 0.4),
        (Phase(name="x", retries=9), 0.5),
        (Phase(name="x", recent_scores=(0.9, 0.39)), 0.4),
        (Phase(name="x", objective="o" * 1001, text="t" * 20_001, retries=2, recent_scores=(0.1,)), 1.0),
        (Phase(name="x", difficulty=0.05, retries=9), 0.05),
    ],
)
def test_difficulty_is_as_it_is_said_to_be_or_guessed(phase, expected):
    assert estimate_difficulty(phase) == pytest.approx(expected)


def test_the_sixteen_contextual_features():
    phase = Phase(
        name="Planning",
        minutes_remaining=30,
        minutes_budget=40,
        recent_scores=(0.2, 0.6),
        retries=2,
        drift_risk=0.1,
        corrections=3,
        tokens_used=2500,
        gpu_pressure="high",
    )
    assert len(CONTEXT) == 16
    assert encode_context(phase) == pytest.approx((30, 0.25, 0.6, 0.2, 0.5, 2, 0.1, 3, 2.5, 1.0, 0, 0, 1, 0, 0, 0))
    assert encode_context(Phase(name="other"))[2:5] == (0.5, 0.0, 0.5)


phases = st.builds(
    Phase,
    name=st.text(min_size=1, max_size=20).filter(lambda name: "\0" not in name),
    objective=st.text(max_size=1200),
    text=st.text(max_size=200),
    minutes_remaining=st.floats(0, 1e6),
    minutes_budget=st.floats(0, 1e6),
    drift_risk=st.floats(0, 1),
    retries=st.integers(0, 1000),
    recent_scores=st.lists(st.floats(0, 1), max_size=5).map(tuple),
)


@given(phases)
def test_every_feature_of_any_phase_is_a_small_finite_number(phase):
    assert len(encode_features(phase)) == 30
    assert all(math.isfinite(value) and abs(value) <= 2 for value in encode_features(phase))


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"minutes_remaining": math.nan}, errors.NotFinite),
        ({"minutes_remaining": -1}, errors.OutOfRange),
        ({"drift_risk": 1.5}, errors.OutOfRange),
        ({"difficulty": math.inf}, errors.NotFinite),
        ({"retries": 1.5}, errors.OutOfRange),
        ({"retries": "2"}, errors.WrongType),
        ({"objective": None}, errors.WrongType),
        ({"recent_scores": (0.5, math.nan)}, errors.NotFinite),
        ({"gpu_pressure": "mad"}, errors.UnknownCategory),
    ],
)
def test_what_no_phase_can_be_is_refused_by_name(given, error):
    with pytest.raises(error, match=next(iter(given))):
        Phase(name="research", **given)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"similarity": 1.1}, errors.OutOfRange),
        ({"similarity": math.nan}, errors.NotFinite),
        ({"relevance": -0.1}, errors.OutOfRange),
        ({"blocked": ""}, errors.WrongType),
        ({"blocked": True}, errors.WrongType),
    ],
)
def test_what_no_outcome_can_be_is_refused_by_name(given, error):
    with pytest.raises(error, match=next(iter(given))):
        Outcome(**given)
