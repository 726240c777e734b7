"""Names of components in curves, and what a point of one is."""

import numpy as np
import pytest

from plaudit import DefinitionError, Signal
from plaudit.adapters.components import (
    ISAAC,
    TRL,
    Profile,
    average,
    find_profile,
    list_components,
    list_weights,
    split_total,
)
from support import composed

COMPONENTS = {"upright": 2.0, "effort": -0.5}


def test_terms_are_named_as_the_profile_names_them_and_add_up_to_its_total():
    assert ISAAC.tags(COMPONENTS) == {
        "Episode_Reward/upright": 2.0,
        "Episode_Reward/effort": -0.5,
        "Train/mean_reward": 1.5,
    }
    assert TRL.tags(COMPONENTS) == {"rewards/upright/mean": 2.0, "rewards/effort/mean": -0.5, "reward": 1.5}


def test_a_profile_is_found_by_its_name_or_is_your_own():
    own = Profile("terms/{}", "terms_total", "step")
    assert (find_profile("isaac"), find_profile("trl"), find_profile(own)) == (ISAAC, TRL, own)
    with pytest.raises(DefinitionError, match="no profile 'issac'. Did you mean 'isaac'"):
        find_profile("issac")


def test_what_many_environments_gave_is_averaged_over_those_it_is_about():
    components = {"upright": np.array([1.0, 3.0, 0.0]), "_upright": np.array([True, True, False]), "effort": -0.5}
    assert average(components, np.array([True, True, False])) == {"upright": 2.0, "effort": -0.5}
    assert average({"_own": 1.0}) == {"_own": 1.0}


def test_the_components_of_a_composed_reward_are_its_rows():
    reward = composed.walking()
    assert list_components(reward) == ("forward", "effort", "termination", "gate", "clamp", "fell", "ran")
    for row in composed.rows():
        signal = reward.score(**row)
        weights = list_weights(reward)
        assert sum(weights[name] * signal[name].clamped for name in weights) == pytest.approx(signal.total, abs=1e-12)
        assert split_total(signal) == signal.values
        assert split_total(Signal.from_dict(signal.to_dict())) == signal.values


def test_weights_that_follow_a_schedule_have_no_fixed_value():
    with pytest.raises(DefinitionError, match="the weight of 'forward' follows a schedule"):
        list_weights(composed.training())
