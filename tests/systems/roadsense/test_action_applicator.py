"""What an action does to the car, without a simulator: a car that brakes as hard as it is told, up to a limit."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import DefinitionError, InputError, OutOfRange
from plaudit.errors import NotFinite, WrongType
from plaudit.systems.roadsense import ActionApplicator
from plaudit.systems.roadsense.action_applicator import HARDEST, RELEASED
from plaudit.systems.roadsense.fields import BRAKE


class Car:
    """A car at a speed, which can lose at most `most` m/s in a step."""

    def __init__(self, speed=20.0, most=math.inf):
        self.speed, self.most, self.commands = speed, most, []

    def drive(self, speed):
        self.commands.append(speed)
        if speed >= 0:
            self.speed = max(speed, self.speed - self.most)
        return self.speed


@pytest.mark.parametrize("action", range(4))
@given(speed=st.floats(0.45, 60.0))
def test_the_four_actions_brake_at_exactly_what_the_fact_says(action, speed):
    assert ActionApplicator(Car(speed)).apply(action) == BRAKE[action]


def test_a_car_that_stands_brakes_no_more():
    assert ActionApplicator(Car(0.0)).apply(3) == 0.0
    assert ActionApplicator(Car(0.1)).apply(3) == 1.0


def test_what_is_returned_is_what_came_of_it():
    assert ActionApplicator(Car(20.0, most=0.1)).apply(3) == 1.0
    assert ActionApplicator(Car(20.0, most=0.1), charge="requested").apply(3) == 4.5


def test_per_step_the_three_brakes_are_one():
    cars = [Car(20.0, most=0.45) for _ in range(4)]
    achieved = [ActionApplicator(car, scale="per_step").apply(action) for action, car in enumerate(cars)]
    assert achieved == [0.0, 4.5, 4.5, 4.5]
    assert [car.commands for car in cars] == [[20.0], [19.5], [18.0], [15.5]]


def test_per_step_what_was_requested_is_the_speed_to_lose_in_a_step():
    asked = [ActionApplicator(Car(most=0.45), scale="per_step", charge="requested").apply(a) for a in range(4)]
    assert asked == list(BRAKE)


@given(level=st.floats(0.0, 1.0))
def test_a_continuous_action_releases_or_brakes_by_degrees(level):
    car = Car(50.0)
    braked = ActionApplicator(car, actions="continuous").apply(np.array([level]))
    if level <= 0.02:
        assert (braked, car.commands) == (0.0, [RELEASED])
    else:
        assert braked == pytest.approx(HARDEST * level, abs=1e-8)


def test_a_release_holds_the_speed_where_following_is_taken_away():
    car = Car(12.0)
    applicator = ActionApplicator(car, actions="continuous")
    applicator.holding = True
    assert applicator.apply(0.0) == 0.0
    assert car.commands == [12.0]


@pytest.mark.parametrize(
    ("action", "error"),
    [(-1, OutOfRange), (4, OutOfRange), (1.5, WrongType), (True, WrongType), ("2", WrongType), (None, WrongType),
     (np.array([1, 2]), WrongType), (float("nan"), WrongType), (np.float64("inf"), WrongType)],
)  # fmt: skip
def test_what_is_none_of_the_four_actions_is_refused_and_drives_nothing(action, error):
    car = Car()
    with pytest.raises(error, match="action"):
        ActionApplicator(car).apply(action)
    assert car.commands == []


@pytest.mark.parametrize("action", [2, np.int64(2), np.uint8(2), np.array(2), np.array([2]), 2.0])
def test_whole_numbers_of_every_kind_are_actions(action):
    assert ActionApplicator(Car()).apply(action) == 2.0


@pytest.mark.parametrize(
    ("action", "error"),
    [(-0.1, OutOfRange), (1.1, OutOfRange), (float("nan"), NotFinite), (np.array([np.inf]), NotFinite),
     ("0.5", WrongType), ([0.1, 0.2], WrongType), (None, WrongType), (True, WrongType)],
)  # fmt: skip
def test_what_is_no_level_is_refused_by_name(action, error):
    with pytest.raises(error, match="action") as caught:
        ActionApplicator(Car(), actions="continuous").apply(action)
    assert isinstance(caught.value, InputError)


@pytest.mark.parametrize("actions", ["discrete", "continuous"])
def test_a_tensor_with_two_numbers_is_refused_like_an_array(actions):
    """PyTorch has another error for it than NumPy."""
    torch = pytest.importorskip("torch")
    for action in (torch.tensor([1, 0]), torch.tensor([]), np.array([])):
        with pytest.raises(WrongType, match="action"):
            ActionApplicator(Car(), actions=actions).apply(action)
    assert ActionApplicator(Car(), actions=actions).apply(torch.tensor([0])) == 0.0


@pytest.mark.parametrize("wrong", [{"actions": "both"}, {"scale": "m/s"}, {"charge": "twice"}])
def test_a_setting_that_is_none_is_refused_with_those_there_are(wrong):
    (name,) = wrong
    with pytest.raises(DefinitionError, match=f"{name}=.*must be '"):
        ActionApplicator(Car(), **wrong)


def test_the_scale_of_steps_is_for_the_four_actions():
    with pytest.raises(DefinitionError, match="per_step"):
        ActionApplicator(Car(), actions="continuous", scale="per_step")
