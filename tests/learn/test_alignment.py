"""Alignment: corrections with caps and exact probabilities, what they are credited with, and what an event costs."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import errors, learn
from plaudit.learn import Decision
from plaudit.learn.alignment import ACTIONS, CAPS, Parts, apply_caps, correction, fit_per_event

REANCHOR = ACTIONS[0]

counts = st.dictionaries(st.sampled_from(ACTIONS), st.integers(0, 6))


# -- caps -------------------------------------------------------------------------------------------------------------


def test_the_five_actions_and_their_caps():
    assert [CAPS.get(action) for action in ACTIONS] == [None, 5, 3, 2, 1]


@given(used=counts, key=st.integers(0, 10_000))
def test_what_is_used_up_becomes_a_reanchoring_with_the_probability_of_both(used, key):
    bandit = learn.epsilon_greedy(ACTIONS, start=0.8, end=0.8)
    decision = bandit.choose(bandit.init(), key)
    done = apply_caps(decision, used)
    over = [name for name, cap in CAPS.items() if used.get(name, 0) >= cap]
    assert done.action == (REANCHOR if decision.action in over else decision.action)
    assert sum(done.probabilities) == pytest.approx(1)
    chances = dict(zip(ACTIONS, done.probabilities, strict=True))
    assert all(chances[name] == 0 for name in over)
    assert done.probability == chances[done.action]
    before = dict(zip(ACTIONS, decision.probabilities, strict=True))
    assert chances[REANCHOR] == pytest.approx(before[REANCHOR] + sum(before[name] for name in over))
    assert done._replace(action="", probability=0, probabilities=None) == decision._replace(
        action="", probability=0, probabilities=None
    )


def test_the_probabilities_are_how_often_each_action_is_carried_out():
    bandit = learn.epsilon_greedy(ACTIONS, start=0.9, end=0.9)
    used = {"prune_or_park_focus_areas": 2, "trigger_user_event_drift_confirmation": 1}
    drawn = [apply_caps(bandit.choose(bandit.init(), key), used) for key in range(4000)]
    times = Counter(decision.action for decision in drawn)
    for at, action in enumerate(ACTIONS):
        assert times[action] / 4000 == pytest.approx(drawn[0].probabilities[at], abs=0.03)


def test_no_mission_goes_beyond_a_cap():
    bandit = learn.epsilon_greedy(ACTIONS, start=1.0, end=1.0)
    used = Counter()
    for key in range(300):
        used[apply_caps(bandit.choose(bandit.init(), key), used).action] += 1
    assert {name: used[name] for name in CAPS} == dict(CAPS)
    assert used[REANCHOR] == 300 - sum(CAPS.values())


def test_where_not_all_probabilities_are_known_that_of_reanchoring_is_not_either():
    used = {"prune_or_park_focus_areas": 2}
    sampled = Decision("prune_or_park_focus_areas", 0.3, None, None, 0)
    assert apply_caps(sampled, used)[:2] == (REANCHOR, None)
    assert apply_caps(sampled._replace(action="increase_skeptic_weight"), used)[:2] == ("increase_skeptic_weight", 0.3)
    assert apply_caps(sampled, {}) == sampled


def test_actions_that_nobody_knows_are_refused():
    decision = Decision("dance", 0.3, None, None, 0)
    with pytest.raises(errors.UnknownCategory, match="dance"):
        apply_caps(decision, {})
    with pytest.raises(errors.UnknownCategory, match="hop"):
        apply_caps(decision._replace(action=REANCHOR), {}, caps={"hop": 1})
    with pytest.raises(errors.DefinitionError, match="cannot have a cap"):
        apply_caps(decision._replace(action=REANCHOR), {}, caps={REANCHOR: 1})
    with pytest.raises(errors.ShapeMismatch, match="3 probabilities"):
        apply_caps(learn.ucb1(ACTIONS[:3]).choose(learn.ucb1(ACTIONS[:3]).init(), 1), {ACTIONS[4]: 1})


# -- the formula ------------------------------------------------------------------------------------------------------

shares = st.floats(0, 1)


@given(shares, shares, shares, shares)
def test_a_correction_earns_what_the_formula_says_within_one(before, after, relevant, left):
    parts = Parts(before, after, relevant, left)
    expected = (before - after) + 0.5 * min(0.0, left - relevant)
    assert parts.signal().total == pytest.approx(max(-1.0, min(1.0, expected)), abs=1e-12)


def test_both_parts_can_be_read_again():
    signal = Parts(0.75, 0.25, 0.5, 0.25).signal()
    assert signal.inputs == {
        "drift_before": 0.75,
        "drift_after": 0.25,
        "relevance_before": 0.5,
        "relevance_after": 0.25,
    }
    assert (signal["drift_reduction"].value, signal["relevance_loss"].value) == (0.5, -0.125)
    assert correction.score(drift_before=0, drift_after=1, relevance_before=1, relevance_after=0).total == -1.0


def test_parts_that_are_none_are_refused():
    with pytest.raises(errors.NotFinite, match="drift_after"):
        Parts(0.5, math.nan, 0.5, 0.5).signal()
    with pytest.raises(errors.OutOfRange, match="drift_before"):
        Parts(1.5, 0.5, 0.5, 0.5).signal()


# -- the penalty for an event -----------------------------------------------------------------------------------------


def squares(events, outcomes, penalty, weight=0.1, cap=0.4):
    """Return the sum of squares of a penalty, with the best constant."""
    left = np.asarray(outcomes) + weight * np.minimum(cap, penalty * np.asarray(events))
    return float(((left - left.mean()) ** 2).sum())


cases = st.lists(st.tuples(st.integers(0, 6), st.floats(-0.5, 0.5)), min_size=3, max_size=30).filter(
    lambda rows: len({n for n, _ in rows}) > 1
)


@given(cases)
def test_no_penalty_within_the_bounds_fits_better(rows):
    events, outcomes = zip(*rows, strict=True)
    found = fit_per_event(events, outcomes)
    assert 0 <= found.low <= found.value <= found.high <= 0.4
    best = squares(events, outcomes, found.value)
    for penalty in np.linspace(0, 0.4, 201):
        assert best <= squares(events, outcomes, penalty) + 1e-12


@given(cases)
def test_the_interval_holds_what_fits_nearly_as_well(rows):
    events, outcomes = zip(*rows, strict=True)
    found = fit_per_event(events, outcomes)
    limit = squares(events, outcomes, found.value) * (1 + 1.959964**2 / (len(rows) - 2))
    for penalty in np.linspace(0, 0.4, 101):
        if squares(events, outcomes, penalty) < limit * (1 - 1e-6) - 1e-9:
            assert found.low - 1e-9 <= penalty <= found.high + 1e-9


def test_the_true_penalty_is_found_and_nearly_always_within_the_interval():
    rng = np.random.default_rng(11)
    inside = 0
    for _ in range(200):
        events = rng.integers(0, 4, size=200)
        outcomes = 0.3 - 0.1 * np.minimum(0.4, 0.12 * events) + 0.02 * rng.normal(size=200)
        found = fit_per_event(events, outcomes)
        inside += found.low <= 0.12 <= found.high
        assert found.value == pytest.approx(0.12, abs=0.08)
    assert 180 <= inside <= 198


@pytest.mark.parametrize("size", [4, 6, 10])
def test_the_interval_holds_the_truth_as_often_as_it_says_with_few_records_too(size):
    rng = np.random.default_rng(12)
    events = np.arange(size) % 4
    inside = 0
    for _ in range(400):
        outcomes = 0.3 - 0.1 * 0.05 * events + 0.001 * rng.normal(size=size)
        found = fit_per_event(events, outcomes)
        inside += found.low <= 0.05 <= found.high
    assert 0.93 <= inside / 400 <= 0.98


def test_a_bound_that_stops_the_fit_is_told():
    events = [0, 1, 2, 3]
    free = fit_per_event(events, [0.0, 0.1, 0.2, 0.3])
    assert (free.value, free.at_bound) == (0.0, True)
    steep = fit_per_event(events, [0.0, -1.0, -1.0, -1.0])
    assert (steep.value, steep.at_bound) == (0.4, True)
    assert not fit_per_event(events, [0.2, 0.19, 0.18, 0.17]).at_bound


@pytest.mark.parametrize(
    ("events", "outcomes", "more", "error"),
    [
        ([0, 1], [0.1, 0.2], {}, errors.NotEvaluable),
        ([2, 2, 2], [0.1, 0.2, 0.3], {}, errors.NotEvaluable),
        ([], [], {}, errors.NotEvaluable),
        ([0, 1, 2], [0.1, 0.2], {}, errors.ShapeMismatch),
        ([0, 1, -1], [0.1, 0.2, 0.3], {}, errors.OutOfRange),
        ([0, 1, 2], [0.1, math.nan, 0.3], {}, errors.NotFinite),
        ([0, 1, 2], [0.1, 0.2, 0.3], {"bounds": (0.4, 0.0)}, errors.DefinitionError),
        ([0, 1, 2], [0.1, 0.2, 0.3], {"weight": 0}, errors.DefinitionError),
        ([0, 1, 2], [0.1, 0.2, 0.3], {"level": 1.0}, errors.DefinitionError),
    ],
)
def test_what_tells_no_penalty_is_refused(events, outcomes, more, error):
    with pytest.raises(error):
        fit_per_event(events, outcomes, **more)
