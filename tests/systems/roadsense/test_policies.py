"""Policies that nobody trained: what each does in what it sees."""

import numpy as np
import pytest

from plaudit.systems.roadsense.action_applicator import RELEASE
from plaudit.systems.roadsense.measurement import Measurement
from plaudit.systems.roadsense.policies import (
    CONTINUOUS,
    DISCRETE,
    IDLE_POLICIES,
    PARKING_POLICIES,
    PolicyInput,
    to_level,
)


def seen(seed=1, **measured):
    calm = dict.fromkeys(Measurement._fields, 0.0) | {"distance": 30.0, "ego_speed": 15.0}
    return PolicyInput(Measurement(**calm | measured), step=3, rng=np.random.default_rng(seed))


@pytest.mark.parametrize(("policy", "action"), [("maintain", 0), ("caution", 1), ("brake", 2), ("emergency", 3)])
def test_four_policies_always_choose_the_same_action(policy, action):
    assert {DISCRETE[policy](seen(distance=distance)) for distance in (3.0, 17.0, float("inf"))} == {action}


def test_whoever_does_nothing_lets_the_car_follow_by_itself():
    assert CONTINUOUS["nothing"](seen(distance=3.0)) <= RELEASE


def test_a_car_parks_so_gently_that_r0_calls_it_caution():
    assert RELEASE < CONTINUOUS["park"](seen()) < to_level(1.25)


@pytest.mark.parametrize(("distance", "action"), [(14.999, 3), (15.0, 2), (19.999, 2), (20.0, 0), (float("inf"), 0)])
def test_the_sensible_one_brakes_the_harder_the_closer_it_is(distance, action):
    assert DISCRETE["sensible"](seen(distance=distance)) == action
    assert CONTINUOUS["sensible"](seen(distance=distance)) == to_level((0.0, 0.5, 2.0, 4.5)[action])


@pytest.mark.parametrize("policies", [DISCRETE, CONTINUOUS], ids=["discrete", "continuous"])
def test_the_warned_one_brakes_on_a_warning_and_then_whenever_the_gap_closes(policies):
    warned = policies["warned"]
    assert warned(seen()) == warned(seen(closing_rate=3.0)) == warned(seen(peer_warned_ever=1.0)) == 0
    assert warned(seen(fresh_braking=True)) == warned(seen(peer_warned_ever=1.0, closing_rate=0.1)) > 0


@pytest.mark.parametrize("policies", [DISCRETE, CONTINUOUS], ids=["discrete", "continuous"])
def test_the_late_one_waits_until_it_is_too_close_and_comes_closer(policies):
    late = policies["late"]
    assert late(seen(distance=14.0)) == late(seen(distance=15.0, closing_rate=5.0)) == 0
    assert late(seen(distance=14.0, closing_rate=0.1)) > 0


@pytest.mark.parametrize("policies", [DISCRETE, CONTINUOUS], ids=["discrete", "continuous"])
def test_chance_is_the_one_handed_in(policies):
    drawn = [[policies["random"](each) for _ in range(50)] for each in (seen(1), seen(1), seen(2))]
    assert drawn[0][0] == drawn[1][0]
    assert drawn[0] != drawn[2]
    assert {type(action) for action in drawn[0]} <= {int, float}
    assert 0 <= min(drawn[0]) < max(drawn[0]) <= 3


@pytest.mark.parametrize("policies", [DISCRETE, CONTINUOUS], ids=["discrete", "continuous"])
def test_who_is_blind_does_the_same_whatever_it_sees(policies):
    telling = [
        seen(distance=4.0, closing_rate=5.0),
        seen(distance=17.0),
        seen(fresh_braking=True, peer_warned_ever=1.0, closing_rate=2.0),
    ]
    for name, policy in policies.items():
        assert (len({policy(each) for each in telling}) == 1) == (name in IDLE_POLICIES | PARKING_POLICIES), name
