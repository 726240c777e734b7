"""The published anchors: which estimator is off by how much, and how often intervals cover."""

import numpy as np
import pytest

from plaudit.learn.off_policy import evaluate_decisions, from_function

ESTIMATORS = ("ips", "snips", "dm", "dr", "switch")
RUNS = {1000: 120, 10_000: 40}


@pytest.fixture(scope="module")
def found(world):
    """Return the evaluations of so many logs, by their length."""
    policy = from_function(world.policy, world.actions)
    return {
        count: [
            evaluate_decisions(world.log(count, seed=7000 + seed), policy, estimators=ESTIMATORS)
            for seed in range(runs)
        ]
        for count, runs in RUNS.items()
    }


@pytest.fixture(scope="module")
def truth(world):
    return world.value(world.policy)


@pytest.fixture(scope="module")
def behaviour(world):
    return world.value(world.behaviour)


def errors(evaluations, name, truth):
    return np.array([each[name].value - truth for each in evaluations])


def test_the_world_is_that_of_the_anchors(found, truth):
    assert truth == pytest.approx(0.6606, abs=0.01)
    for evaluations in found.values():
        assert np.mean([each.share for each in evaluations]) == pytest.approx(0.105, abs=0.02)
        assert 20 < np.mean([each.largest_weight for each in evaluations]) < 38.5


@pytest.mark.parametrize("count", RUNS)
@pytest.mark.parametrize("name", ["ips", "snips", "dr"])
def test_weighted_estimators_are_right_in_the_mean(found, truth, count, name):
    off = errors(found[count], name, truth)
    assert abs(off.mean()) < 3 * off.std() / np.sqrt(len(off)) + 0.002


@pytest.mark.parametrize("count", RUNS)
def test_a_linear_regression_alone_is_too_low_however_long_the_log(found, truth, count):
    off = errors(found[count], "dm", truth)
    assert -0.03 < off.mean() < -0.008
    assert off.mean() < -3 * off.std() / np.sqrt(len(off))


@pytest.mark.parametrize(
    ("count", "anchors"),
    [
        (1000, {"ips": 0.0818, "snips": 0.0461, "dm": 0.0355, "dr": 0.0454, "switch": 0.0410}),
        (10_000, {"ips": 0.0252, "snips": 0.0152, "dm": 0.0144, "dr": 0.0135, "switch": 0.0128}),
    ],
)
def test_errors_are_of_the_size_of_the_anchors(found, truth, count, anchors):
    for name, anchor in anchors.items():
        size = np.sqrt((errors(found[count], name, truth) ** 2).mean())
        assert size == pytest.approx(anchor, rel=0.35), name


@pytest.mark.parametrize("count", RUNS)
def test_normalising_the_weights_and_correcting_a_regression_both_help(found, truth, count):
    size = {name: np.sqrt((errors(found[count], name, truth) ** 2).mean()) for name in ESTIMATORS}
    assert size["snips"] < 0.7 * size["ips"]
    assert size["dr"] < 0.7 * size["ips"]
    assert size["dr"] < 1.1 * size["snips"]
    assert size["switch"] < size["dr"]


def test_in_the_long_run_correcting_beats_the_regression_alone(found, truth):
    size = {name: np.sqrt((errors(found[10_000], name, truth) ** 2).mean()) for name in ("dm", "dr")}
    assert size["dr"] < size["dm"]


@pytest.mark.parametrize("count", RUNS)
@pytest.mark.parametrize("name", ["ips", "snips", "dr"])
def test_intervals_cover_as_often_as_they_say(found, truth, behaviour, count, name):
    runs = RUNS[count]
    values = np.mean([each[name].low <= truth <= each[name].high for each in found[count]])
    gains = np.mean([each[name].gain.low <= truth - behaviour <= each[name].gain.high for each in found[count]])
    error = np.sqrt(0.95 * 0.05 / runs)
    assert 0.93 - 2.5 * error <= values  # the anchors lie from .917 to .967
    assert 0.93 - 2.5 * error <= gains


@pytest.mark.parametrize(("count", "ips", "dr"), [(1000, 0.306, 0.173), (10_000, 0.097, 0.053)])
def test_intervals_are_as_wide_as_the_anchors(found, count, ips, dr):
    for name, width in {"ips": ips, "dr": dr}.items():
        assert np.mean([each[name].high - each[name].low for each in found[count]]) == pytest.approx(width, rel=0.15)


@pytest.mark.parametrize(
    ("count", "runs", "anchor"),
    [(1000, 15, 0.482), (10_000, 5, 0.226), pytest.param(10_000, 30, 0.226, marks=pytest.mark.slow)],
)
def test_anytime_intervals_cover_and_are_no_wider_than_a_bound_that_knows_the_largest_weight(
    world, truth, count, runs, anchor
):
    policy = from_function(world.policy, world.actions)
    found = [
        evaluate_decisions(
            world.log(count, seed), policy, estimators=("ips",), interval="anytime", reward_range=(0, 1)
        )["ips"]
        for seed in range(runs)
    ]
    assert sum(each.low <= truth <= each.high for each in found) >= runs - runs // 15
    assert np.mean([each.high - each.low for each in found]) < anchor
