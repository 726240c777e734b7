"""Settings: those of each version's time, and what cannot be is refused by name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import DefinitionError
from plaudit.systems.roadsense import VERSIONS, version
from plaudit.systems.roadsense.training.config import Config, build_config


@pytest.mark.parametrize(
    ("label", "actions", "entropy", "log_std", "normalise"),
    [
        ("R0", "discrete", 0.01, 0.0, False),
        ("graded", "discrete", 0.01, 0.0, False),
        ("R1", "continuous", 0.01, 0.0, False),
        ("R7", "continuous", 0.01, 0.0, False),
        ("R8", "continuous", 0.0, -0.5, True),
        ("R12b", "continuous", 0.0, -0.5, True),
    ],
)
def test_a_version_is_trained_with_the_settings_of_its_time(label, actions, entropy, log_std, normalise):
    config = build_config(version(label))
    assert (config.actions, config.entropy, config.log_std) == (actions, entropy, log_std)
    assert config.normalise is normalise
    assert (config.learning_rate, config.rollout, config.minibatch, config.epochs) == (3e-4, 2048, 64, 10)
    assert (config.gamma, config.gae_lambda, config.clip, config.value_weight) == (0.99, 0.95, 0.2, 0.5)


def test_what_is_asked_for_wins():
    config = build_config(version("R0"), actions="continuous", learning_rate=0.1, seed=7)
    assert (config.actions, config.learning_rate, config.seed, config.rollout) == ("continuous", 0.1, 7, 2048)


@given(label=st.sampled_from(VERSIONS), seed=st.integers(0, 2**32 - 1), envs=st.sampled_from([1, 2, 4, 8]))
def test_settings_come_back_from_json(label, seed, envs):
    config = build_config(version(label), seed=seed, envs=envs)
    assert Config.from_dict(config.to_dict()) == config


@given(steps=st.integers(1, 10**7))
def test_the_last_update_reaches_the_steps(steps):
    config = Config(steps=steps)
    assert (config.updates - 1) * config.batch < steps <= config.updates * config.batch


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"envs": 0}, "envs=0 must be 1 or more"),
        ({"envs": 3}, "does not divide into 3 equal parts"),
        ({"rollout": 100}, "into minibatches of 64"),
        ({"minibatch": 1}, "minibatch=1 must be 2 or more"),
        ({"learning_rate": float("nan")}, "learning_rate=nan must be above 0"),
        ({"hazards": 1.5}, "hazards=1.5 must be between 0 and 1"),
        ({"gamma": -0.1}, "gamma=-0.1 must be between 0 and 1"),
        ({"entropy": -1.0}, "entropy=-1.0 must be 0 or more"),
        ({"log_std": 5.0}, "log_std=5.0 must be between -20 and 2"),
        ({"actions": "both"}, "actions='both' must be discrete or continuous"),
        ({"radio": "loud"}, "radio='loud' must be ideal or default or bench or field"),
        ({"seed": -1}, "seed=-1 must be between 0"),
    ],
)
def test_what_cannot_be_is_refused_by_name(changes, message):
    with pytest.raises(DefinitionError, match=message):
        Config(**changes)


def test_a_setting_that_is_not_known_is_guessed():
    with pytest.raises(DefinitionError, match="there is no setting 'radoi'. Did you mean 'radio'"):
        Config.from_dict({"radoi": "ideal"})
