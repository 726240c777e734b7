"""Drift of a mission: a sequence worked out by hand, the thresholds, and what earlier monitors got wrong."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import errors
from plaudit.learn.alignment import ACTIONS
from plaudit.systems.deepthinker.drift import (
    SENSITIVE,
    DriftConfig,
    DriftPoint,
    DriftState,
    choose_correction,
    cosine,
    observe,
)


def followed(similarities, config=DriftConfig()):  # noqa: B008 - it cannot be changed
    state, points = DriftState(), []
    for similarity in similarities:
        state, point = observe(state, similarity, config)
        points.append(point)
    return state, points


# similarity, change, CUSUM, warning, reasons, events in a row: change from 1.0 at first, CUSUM with a slack of 0.05
GOLDEN = [
    (0.90, -0.10, 0.05, False, (), 0),
    (0.70, -0.20, 0.20, False, (), 0),  # it fell far, but the first three phases cannot be events
    (0.35, -0.35, 0.50, False, (), 0),
    (0.55, +0.20, 0.45, True, (), 0),
    (0.39, -0.16, 0.56, True, ("similarity", "drop", "cusum"), 1),
    (0.41, +0.02, 0.51, True, ("cusum",), 2),
    (0.50, +0.09, 0.46, True, (), 0),  # an event that is none begins anew
    (0.34, -0.16, 0.57, True, ("similarity", "drop", "cusum"), 1),
    (0.95, +0.61, 0.52, False, ("cusum",), 2),
    (0.95, 0.0, 0.47, False, (), 0),
]


def test_the_golden_sequence():
    state, points = followed([row[0] for row in GOLDEN])
    for at, (point, row) in enumerate(zip(points, GOLDEN, strict=True)):
        similarity, change, cusum, warning, reasons, consecutive = row
        assert point.phase == at
        assert point.similarity == similarity
        assert point.change == pytest.approx(change, abs=1e-12)
        assert point.cusum == pytest.approx(cusum, abs=1e-12)
        assert (point.warning, point.reasons, point.event) == (warning, reasons, bool(reasons))
        assert point.consecutive == consecutive
    assert (state.phases, state.events, state.consecutive) == (10, 4, 0)
    assert state.fallen == pytest.approx(0.10 + 0.20 + 0.35 + 0.16 + 0.16)


def test_events_in_a_row_are_counted_anew_after_a_phase_without_one():
    config = DriftConfig(begin=0, slack=1.0)
    _, points = followed([0.3, 0.3, 0.9, 0.3], config)
    assert [point.consecutive for point in points] == [1, 2, 0, 1]


@pytest.mark.parametrize(
    ("config", "events"),
    [
        (DriftConfig(), []),
        (DriftConfig(begin=0), [2]),
        (DriftConfig(begin=1, low=0.75), [2, 3]),
        (SENSITIVE, [2, 3]),
        (DriftConfig(begin=0, drop=0.05, most=10), [0, 1, 2]),
    ],
)
def test_thresholds_are_settings(config, events):
    _, points = followed([0.9, 0.8, 0.6, 0.7], config)
    assert [point.phase for point in points if point.event] == events


def test_recovery_takes_the_cusum_back_where_that_is_wanted():
    fall = [0.9, 0.5, 0.5, 0.9]
    stays = followed(fall)[1][-1].cusum
    falls = followed(fall, DriftConfig(recovery=1.0))[1][-1].cusum
    assert stays == pytest.approx(0.30)
    assert falls == 0.0


@pytest.mark.parametrize(
    ("similarity", "cusum", "opinion", "severity"),
    [
        (0.29, 0.0, None, "severe"),
        (0.7, 0.8, None, "severe"),
        (0.7, 0.3, None, "low"),
        (0.6, 0.3, None, "medium"),
        (0.7, 0.4, None, "medium"),
        (0.7, 0.3, "severe", "severe"),
        (0.5, 0.4, "none", "low"),
        (0.2, 0.4, "none", "severe"),
    ],
)
def test_severity_by_rule_and_by_opinion(similarity, cusum, opinion, severity):
    before = DriftState(phases=5, similarity=similarity, cusum=cusum + 0.05)
    _, point = observe(before, similarity, opinion=opinion)
    assert point.cusum == pytest.approx(cusum)
    assert point.severity == severity


def point(consecutive, severity="medium"):
    return DriftPoint(5, 0.5, -0.2, 0.1, True, ("drop",), severity, consecutive)


def test_every_rung_of_the_ladder_is_reached():
    assert [choose_correction(point(n)) for n in range(1, 8)] == [*ACTIONS, ACTIONS[-1], ACTIONS[-1]]
    assert [choose_correction(point(n, "severe")) for n in range(1, 6)] == [ACTIONS[3]] * 4 + [ACTIONS[4]]


@given(st.lists(st.floats(-1, 1), max_size=30), st.floats(0, 2))
def test_the_cusum_is_never_negative_and_drift_is_a_share(similarities, recovery):
    state, points = followed(similarities, DriftConfig(recovery=recovery))
    assert all(each.cusum >= 0 and 0 <= each.drift <= 1 for each in points)
    assert state.events == sum(each.event for each in points)
    assert not any(each.event or each.warning for each in points[:3])


@pytest.mark.parametrize("bad", [math.nan, math.inf, 1.2, -1.01, "0.5", None, True])
def test_what_is_no_cosine_is_refused(bad):
    with pytest.raises(errors.InputError, match="similarity"):
        observe(DriftState(), bad)


def test_an_opinion_that_nobody_knows_is_refused():
    with pytest.raises(errors.UnknownCategory, match="opinion='bad'"):
        observe(DriftState(), 0.5, opinion="bad")


@pytest.mark.parametrize("setting", [{"low": 2}, {"drop": -0.1}, {"most": math.nan}, {"begin": 1.5}, {"begin": -1}])
def test_thresholds_that_are_none_are_refused(setting):
    with pytest.raises(errors.DefinitionError, match=next(iter(setting))):
        DriftConfig(**setting)


vectors = st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3).filter(lambda v: math.hypot(*v) > 1e-3)


@given(vectors, vectors)
def test_a_cosine_is_that_of_numpy(one, other):
    expected = np.dot(one, other) / (np.linalg.norm(one) * np.linalg.norm(other))
    assert cosine(one, np.array(other)) == pytest.approx(expected, abs=1e-9)


def test_vectors_of_any_size_have_a_cosine():
    assert cosine([1e300, 1e300], [1e-300, 0]) == pytest.approx(math.sqrt(0.5))


@pytest.mark.parametrize(
    ("one", "other", "error"),
    [
        ([1, 0], [1, 0, 0], errors.ShapeMismatch),
        ([0, 0], [1, 0], errors.OutOfRange),
        ([], [], errors.OutOfRange),
        ([math.nan, 1], [1, 0], errors.NotFinite),
        ("ab", [1, 0], errors.WrongType),
    ],
)
def test_what_has_no_cosine_is_refused(one, other, error):
    with pytest.raises(error):
        cosine(one, other)
