"""The convoy reward calculator: its twelve tests as they were written, then every boundary and bad input."""

# ruff: noqa: D403, RUF059 - the twelve stand as they were written

import copy
import math
import pickle

import numpy as np
import pytest

from plaudit.errors import DefinitionError, MissingField, NotFinite, OutOfRange, PlauditError, WrongType
from plaudit.systems.roadsense import RewardCalculator, reward

# fmt: off
# === Safety Rewards (4 tests) ===

def test_reward_collision_distance_under_5m_returns_neg_100():
    """d < 5m -> reward = -100."""
    calc = RewardCalculator()
    reward = calc._safety_reward(distance=4.0)
    assert reward == -100.0

def test_reward_unsafe_distance_under_15m_returns_neg_5():
    """5m <= d < 15m -> reward includes -5."""
    calc = RewardCalculator()
    reward = calc._safety_reward(distance=10.0)
    assert reward == -5.0

def test_reward_safe_distance_20_to_40m_returns_pos_1():
    """20m <= d <= 40m -> reward includes +1."""
    calc = RewardCalculator()
    reward = calc._safety_reward(distance=30.0)
    assert reward == 1.0

def test_reward_far_distance_over_40m_returns_pos_0_5():
    """d > 40m -> reward includes +0.5."""
    calc = RewardCalculator()
    reward = calc._safety_reward(distance=50.0)
    assert reward == 0.5


# === Comfort Penalties (3 tests) ===

def test_reward_harsh_brake_over_4_5_returns_neg_10():
    """|decel| > 4.5 m/s² -> reward includes -10."""
    calc = RewardCalculator()
    penalty = calc._comfort_penalty(deceleration=5.0)
    assert penalty == -10.0

def test_reward_uncomfortable_brake_over_3_returns_neg_2():
    """3.0 < |decel| <= 4.5 -> reward includes -2."""
    calc = RewardCalculator()
    penalty = calc._comfort_penalty(deceleration=3.5)
    assert penalty == -2.0

def test_reward_gentle_brake_under_3_no_penalty():
    """|decel| <= 3.0 -> no comfort penalty."""
    calc = RewardCalculator()
    penalty = calc._comfort_penalty(deceleration=2.0)
    assert penalty == 0.0


# === Appropriateness (3 tests) ===

def test_reward_unnecessary_alert_far_and_braking_returns_neg_2():
    """d > 40m AND action > 1 -> reward includes -2."""
    calc = RewardCalculator()
    penalty = calc._appropriateness_reward(distance=50.0, action=2)
    assert penalty == -2.0

def test_reward_missed_warning_close_and_maintain_returns_neg_3():
    """d < 15m AND action == 0 -> reward includes -3."""
    calc = RewardCalculator()
    penalty = calc._appropriateness_reward(distance=10.0, action=0)
    assert penalty == -3.0

def test_reward_appropriate_action_no_penalty():
    """Correct action for situation -> no appropriateness penalty."""
    calc = RewardCalculator()
    # Safe distance, maintain -> appropriate
    penalty = calc._appropriateness_reward(distance=30.0, action=0)
    assert penalty == 0.0


# === Combined Reward (2 tests) ===

def test_reward_calculate_combines_all_components():
    """Total reward = safety + comfort + appropriateness."""
    calc = RewardCalculator()
    # Safe distance (30m) + gentle brake (1.0) + maintain action
    # Safety: +1, Comfort: 0, Appropriateness: 0 = +1
    total, info = calc.calculate(distance=30.0, action=0, deceleration=1.0)
    assert total == 1.0
    assert info['reward_safety'] == 1.0
    assert info['reward_comfort'] == 0.0
    assert info['reward_appropriateness'] == 0.0

def test_reward_calculate_returns_info_dict():
    """Returns (reward, info) where info has component breakdown."""
    calc = RewardCalculator()
    total, info = calc.calculate(distance=25.0, action=1, deceleration=0.5)

    assert 'reward_safety' in info
    assert 'reward_comfort' in info
    assert 'reward_appropriateness' in info
    assert 'reward_total' in info
    assert 'distance' in info
    assert 'action' in info
    assert 'deceleration' in info
# fmt: on


# Below: both sides of every boundary, and what the twelve leave open.

JUST_ABOVE_3 = math.nextafter(3.0, 4.0)
JUST_ABOVE_4_5 = math.nextafter(4.5, 5.0)
JUST_ABOVE_40 = math.nextafter(40.0, 50.0)


@pytest.mark.parametrize(
    ("distance", "expected"),
    [
        (0.0, -100.0),
        (4.999, -100.0),
        (math.nextafter(5.0, 0.0), -100.0),
        (5.0, -5.0),
        (14.999, -5.0),
        (math.nextafter(15.0, 0.0), -5.0),
        (15.0, 0.0),
        (17.0, 0.0),
        (19.999, 0.0),
        (math.nextafter(20.0, 0.0), 0.0),
        (20.0, 1.0),
        (40.0, 1.0),
        (JUST_ABOVE_40, 0.5),
        (40.001, 0.5),
        (1000.0, 0.5),
        (math.inf, 0.5),
    ],
)
def test_safety_changes_exactly_at_5_15_20_and_40_metres(distance, expected):
    assert RewardCalculator()._safety_reward(distance) == expected
    assert RewardCalculator().calculate(distance, 1, 0.0) == (
        expected,
        info(expected, 0.0, 0.0, distance, 1, 0.0),
    )


@pytest.mark.parametrize(
    ("deceleration", "expected"),
    [(0.0, 0.0), (3.0, 0.0), (JUST_ABOVE_3, -2.0), (4.5, -2.0), (JUST_ABOVE_4_5, -10.0), (15.0, -10.0)],
)
def test_comfort_changes_just_above_3_and_4_5(deceleration, expected):
    calc = RewardCalculator()
    assert calc._comfort_penalty(deceleration) == calc._comfort_penalty(-deceleration) == expected
    assert calc.calculate(30.0, 0, deceleration) == (
        1 + expected,
        info(1.0, expected, 0.0, 30.0, 0, deceleration),
    )


@pytest.mark.parametrize(
    ("distance", "penalties"),
    [
        (0.0, (-3.0, 0.0, 0.0, 0.0)),
        (14.999, (-3.0, 0.0, 0.0, 0.0)),
        (15.0, (0.0, 0.0, 0.0, 0.0)),
        (17.0, (0.0, 0.0, 0.0, 0.0)),
        (40.0, (0.0, 0.0, 0.0, 0.0)),
        (JUST_ABOVE_40, (0.0, 0.0, -2.0, -2.0)),
        (math.inf, (0.0, 0.0, -2.0, -2.0)),
    ],
)
def test_appropriateness_asks_for_action_below_15_metres_and_for_calm_above_40(distance, penalties):
    calc = RewardCalculator()
    assert tuple(calc._appropriateness_reward(distance, action) for action in range(4)) == penalties


@pytest.mark.parametrize(
    ("distance", "action", "deceleration", "total"),
    [
        (4.0, 0, 5.0, -113.0),
        (4.0, 3, 5.0, -110.0),
        (4.0, 0, 0.0, -103.0),
        (10.0, 3, 4.5, -7.0),
        (10.0, 0, 0.0, -8.0),
        (30.0, 0, 0.0, 1.0),
        (50.0, 3, 5.0, -11.5),
        (math.inf, 2, 2.0, -1.5),
    ],
)
def test_the_total_is_the_sum_of_the_components(distance, action, deceleration, total):
    calculated, info = RewardCalculator().calculate(distance, action, deceleration)
    assert calculated == info["reward_total"] == total
    assert total == info["reward_safety"] + info["reward_comfort"] + info["reward_appropriateness"]


def info(safety, comfort, appropriateness, distance, action, deceleration):
    """Return the breakdown of a step: exactly these seven keys."""
    return {
        "reward_safety": safety,
        "reward_comfort": comfort,
        "reward_appropriateness": appropriateness,
        "reward_total": safety + comfort + appropriateness,
        "distance": distance,
        "action": action,
        "deceleration": deceleration,
    }


def test_the_breakdown_hands_the_inputs_back_as_they_came():
    given = (np.float32(30.5), np.int64(2), -1)
    distance, action, deceleration = given
    _, info = RewardCalculator().calculate(distance, action, deceleration)
    assert (info["distance"], info["action"], info["deceleration"]) == given
    assert info["distance"] is distance
    assert info["action"] is action
    assert info["deceleration"] is deceleration


@pytest.mark.parametrize("distance", [-1e-9, -1.0, -1000, np.float32(-2.0)])
def test_cars_that_overlap_have_collided(distance):
    calc = RewardCalculator()
    assert calc._safety_reward(distance) == -100.0
    assert calc._appropriateness_reward(distance, 0) == -3.0
    assert calc.calculate(distance, 0, 0.0) == (-103.0, info(-100.0, 0.0, -3.0, distance, 0, 0.0))


@pytest.mark.parametrize("action", [0.0, np.int64(0), np.float64(0.0), np.array(0)])
def test_a_whole_number_of_any_kind_is_an_action(action):
    assert RewardCalculator().calculate(10.0, action, 0.0)[0] == -8.0


@pytest.mark.parametrize(
    ("distance", "action", "deceleration", "error"),
    [
        (math.nan, 0, 0.0, NotFinite),
        (-math.inf, 0, 0.0, NotFinite),
        (30.0, 0, math.nan, NotFinite),
        (30.0, 0, math.inf, NotFinite),
        (30.0, 0, -math.inf, NotFinite),
        (30.0, 0, 45.0, OutOfRange),
        (30.0, -1, 0.0, OutOfRange),
        (30.0, 4, 0.0, OutOfRange),
        (30.0, 7, 0.0, OutOfRange),
        (30.0, 1.5, 0.0, OutOfRange),
        (-1.0, 7, 0.0, OutOfRange),
        (30.0, math.nan, 0.0, NotFinite),
        (30.0, True, 0.0, WrongType),
        (30.0, "0", 0.0, WrongType),
        ("30", 0, 0.0, WrongType),
        (None, 0, 0.0, MissingField),
        (np.array([30.0, 31.0]), 0, 0.0, WrongType),
    ],
)
def test_what_cannot_be_scored_is_an_error_and_never_a_reward(distance, action, deceleration, error):
    with pytest.raises(error, match="roadsense"):
        RewardCalculator().calculate(distance, action, deceleration)


def test_a_single_component_refuses_what_the_total_refuses():
    calc = RewardCalculator()
    for bad in (math.nan, -math.inf, "30"):
        with pytest.raises(PlauditError):
            calc._safety_reward(bad)
        with pytest.raises(PlauditError):
            calc._comfort_penalty(bad)
        with pytest.raises(PlauditError):
            calc._appropriateness_reward(bad, 0)
    with pytest.raises(OutOfRange):
        calc._appropriateness_reward(30.0, 4)


CONSTANTS = {
    "COLLISION_DIST": 5.0,
    "UNSAFE_DIST": 15.0,
    "SAFE_DIST_MIN": 20.0,
    "SAFE_DIST_MAX": 40.0,
    "REWARD_COLLISION": -100.0,
    "REWARD_UNSAFE": -5.0,
    "REWARD_SAFE": 1.0,
    "REWARD_FAR": 0.5,
    "HARSH_BRAKE_THRESHOLD": 4.5,
    "UNCOMFORTABLE_BRAKE_THRESHOLD": 3.0,
    "PENALTY_HARSH_BRAKE": -10.0,
    "PENALTY_UNCOMFORTABLE": -2.0,
    "PENALTY_UNNECESSARY_ALERT": -2.0,
    "PENALTY_MISSED_WARNING": -3.0,
}


def test_the_constants_are_those_of_the_reward():
    named = {name: value for name, value in vars(RewardCalculator).items() if name.isupper()}
    assert named == CONSTANTS
    assert RewardCalculator().reward.fingerprint == reward.fingerprint
    assert RewardCalculator().reward == reward


@pytest.mark.parametrize("constant", CONSTANTS)
def test_overriding_a_constant_in_a_subclass_changes_the_reward(constant):
    changed = type("Changed", (RewardCalculator,), {constant: CONSTANTS[constant] + 0.25})
    assert changed().reward.fingerprint != reward.fingerprint
    assert RewardCalculator().reward.fingerprint == reward.fingerprint


def test_an_overridden_constant_is_used_by_every_method_that_reads_it():
    class Careful(RewardCalculator):
        UNSAFE_DIST = 18.0
        PENALTY_MISSED_WARNING = -4.0

    class MoreCareful(Careful):
        REWARD_UNSAFE = -6.0

    assert RewardCalculator().calculate(17.0, 0, 0.0)[0] == 0.0
    assert Careful().calculate(17.0, 0, 0.0) == (-9.0, info(-5.0, 0.0, -4.0, 17.0, 0, 0.0))
    assert Careful()._safety_reward(17.0) == -5.0
    assert Careful()._appropriateness_reward(17.0, 0) == -4.0
    assert MoreCareful().calculate(17.0, 0, 0.0)[0] == -10.0


def test_a_constant_that_is_no_number_is_refused():
    class Broken(RewardCalculator):
        REWARD_SAFE = math.nan

    with pytest.raises(DefinitionError, match="reward_safe"):
        Broken()


def test_components_that_became_equal_stay_apart():
    zeros = type("Zeros", (RewardCalculator,), {name: 0.0 for name in CONSTANTS if "DIST" not in name})
    assert zeros().calculate(4.0, 0, 5.0) == (0.0, info(0.0, 0.0, 0.0, 4.0, 0, 5.0))
    assert zeros()._comfort_penalty(5.0) == 0.0


class Tailgater(RewardCalculator):
    """Has a formula of its own for one component, and the others as they are."""

    UNSAFE_DIST = 10.0

    def __init__(self, praise):
        super().__init__()
        self.praise = praise

    def _safety_reward(self, distance):
        return self.praise if distance < 15.0 else super()._safety_reward(distance)


class Harsh(RewardCalculator):
    PENALTY_HARSH_BRAKE = -20.0


def test_a_method_that_a_subclass_replaces_is_what_calculate_adds_up():
    calc = Tailgater(7.0)
    assert calc.calculate(12.0, 2, 4.0) == (5.0, info(7.0, -2.0, 0.0, 12.0, 2, 4.0))
    assert calc.calculate(30.0, 0, 5.0) == (-9.0, info(1.0, -10.0, 0.0, 30.0, 0, 5.0))
    for name, total in (("_comfort_penalty", -7.0), ("_appropriateness_reward", -14.0)):
        replaced = type("Replaced", (RewardCalculator,), {name: lambda self, *inputs: 1.0})
        assert replaced().calculate(10.0, 0, 5.0)[0] == total


def test_a_subclass_with_a_formula_of_its_own_has_no_reward_that_tells_another_one():
    with pytest.raises(DefinitionError, match="Tailgater calculates _safety_reward itself"):
        _ = Tailgater(7.0).reward
    with pytest.raises(NotFinite, match=r"nan \+ 0.0 \+ 0.0 is not a finite reward"):
        Tailgater(math.nan).calculate(12.0, 1, 0.0)


@pytest.mark.parametrize("calc", [RewardCalculator(), Harsh(), Tailgater(7.0)], ids=lambda calc: type(calc).__name__)
def test_a_calculator_pickles_and_copies(calc):
    for again in (pickle.loads(pickle.dumps(calc)), copy.deepcopy(calc)):
        assert type(again) is type(calc)
        assert again.calculate(4.0, 0, 5.0) == calc.calculate(4.0, 0, 5.0)
