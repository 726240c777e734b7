"""Intervals: what varies is what they are about, and both ways of making them agree."""

import numpy as np
import pytest

from plaudit import errors
from plaudit.learn.off_policy import LoggedDecisions, evaluate_decisions, named


def repeated(log, times):
    """Return a log in which each decision was made so many times over, each lot an episode."""
    columns = (log.chosen, log.probabilities, log.rewards, log.contexts)
    episodes = np.repeat(np.arange(len(log)), times)
    return LoggedDecisions(log.actions, *(np.repeat(column, times, axis=0) for column in columns), episodes)


@pytest.mark.parametrize("interval", ["normal", "bootstrap"])
def test_an_episode_of_the_same_over_and_over_counts_once(world, interval):
    log = world.log(800, seed=1)
    policy = named(world.policy, world.actions)
    once = evaluate_decisions(log, policy, interval=interval, estimators=("ips", "snips"))
    often = evaluate_decisions(repeated(log, 5), policy, interval=interval, estimators=("ips", "snips"))
    fooled = evaluate_decisions(
        repeated(log, 5), policy, interval=interval, estimators=("ips", "snips"), independent=True
    )
    assert often.episodes == 800
    assert fooled.episodes is None
    for name in ("ips", "snips"):
        assert often[name].value == pytest.approx(once[name].value)
        assert often[name].error == pytest.approx(once[name].error, rel=0.1)
        assert fooled[name].error == pytest.approx(once[name].error / np.sqrt(5), rel=0.1)


def test_the_bootstrap_agrees_with_standard_errors(world):
    log = world.log(3000, seed=2)
    policy = named(world.policy, world.actions)
    normal, drawn = (evaluate_decisions(log, policy, interval=each) for each in ("normal", "bootstrap"))
    for name in normal.estimates:
        assert drawn[name].value == normal[name].value
        assert drawn[name].error == pytest.approx(normal[name].error, rel=0.1)
        assert drawn[name].gain.error == pytest.approx(normal[name].gain.error, rel=0.1)
        assert drawn[name].low == pytest.approx(normal[name].low, abs=0.6 * normal[name].error)
        assert drawn[name].high == pytest.approx(normal[name].high, abs=0.6 * normal[name].error)


def test_many_decisions_are_drawn_in_groups(world):
    log = world.log(30_000, seed=3)
    policy = named(world.policy, world.actions)
    normal, drawn = (evaluate_decisions(log, policy, interval=each) for each in ("normal", "bootstrap"))
    for name in normal.estimates:
        assert drawn[name].error == pytest.approx(normal[name].error, rel=0.08)


def test_the_seed_decides_all_chance(world):
    log = world.log(500, seed=4)
    policy = named(world.policy, world.actions)
    one, same, other = (
        evaluate_decisions(log, policy, interval="bootstrap", seed=seed, minimum_effective=20) for seed in (1, 1, 2)
    )
    assert one.estimates == same.estimates
    assert one["dr"] != other["dr"]


def test_more_confidence_is_a_wider_interval(world):
    log = world.log(1000, seed=5)
    policy = named(world.policy, world.actions)
    for interval in ("normal", "bootstrap", "anytime"):
        wide, narrow = (
            evaluate_decisions(log, policy, interval=interval, confidence=each, reward_range=(0, 1))["ips"]
            for each in (0.99, 0.8)
        )
        assert wide.low < narrow.low < narrow.value < narrow.high < wide.high


def test_only_inverse_propensities_have_an_anytime_interval(world):
    found = evaluate_decisions(
        world.log(1000, seed=6), named(world.policy, world.actions), interval="anytime", reward_range=(0, 1)
    )
    assert found["ips"].low is not None
    assert found["dr"].low is None
    assert found.best == "ips"
    assert 0 <= found.logged.low < found.logged.value < found.logged.high <= 1


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"interval": "anytime"}, errors.DefinitionError, "reward_range"),
        ({"interval": "anytime", "reward_range": (0, 0.5)}, errors.OutOfRange, "go from 0 to 1"),
        ({"interval": "anytime", "reward_range": (1, 0)}, errors.OutOfRange, "lower one first"),
        ({"interval": "anytime", "reward_range": (0, np.inf)}, errors.OutOfRange, "finite"),
        ({"interval": "anytime", "reward_range": (0, 1), "estimators": ("dr",)}, errors.DefinitionError, "'ips'"),
        ({"interval": "exact"}, errors.DefinitionError, "normal, bootstrap, anytime"),
        ({"confidence": 95}, errors.OutOfRange, "between 0 and 1"),
        ({"estimators": ("dr", "isp")}, errors.DefinitionError, "Did you mean 'ips'"),
        ({"estimators": "dr"}, errors.DefinitionError, "one or more of"),
        ({"estimators": ()}, errors.DefinitionError, "one or more of"),
    ],
)
def test_what_cannot_be_asked_is_refused(world, options, error, words):
    with pytest.raises(error, match=words):
        evaluate_decisions(world.log(1000, seed=7), named(world.policy, world.actions), **options)
