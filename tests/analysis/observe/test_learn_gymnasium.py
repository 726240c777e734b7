import re

import pytest

from plaudit.reward.task.functions import write_function
from plaudit.reward.task.statements import Rate

pytest.importorskip("gymnasium")


@pytest.fixture(scope="module")
def observed():
    from plaudit.analysis.observe.observe import observe

    kept = {}

    def observe_once(env):
        if env not in kept:
            kept[env] = observe(env, steps=6000).task
        return kept[env]

    return observe_once


def list_parts(task):
    """Return what kinds of statements there are, but for those that are what was seen, and roles."""
    return {part for part, *_ in task.list_statements()} - {"fields", "start", "idle", "states", "actions"}


def test_what_moves_a_cart_and_its_pole_and_where_the_pole_has_fallen_is_found(observed):
    task = observed("CartPole-v1")
    assert dict(task.rates) == {"obs_0": Rate("obs_1", 0.02), "obs_2": Rate("obs_3", 0.02)}
    assert [name for name in task.ends if name != "timeout"] == ["obs_2_outside"]
    bound = float(re.search(r"> ([\d.]+)", write_function(task.ends["obs_2_outside"].when))[1])
    assert bound == pytest.approx(12 * 2 * 3.141592653589793 / 360, abs=2e-3)  # as the environment says
    assert list_parts(task) - {"horizon"} == {"rates", "ends"}


def test_the_angle_of_a_pendulum_is_on_a_circle(observed):
    task = observed("Pendulum-v1")
    assert [each.name for each in task.facts] == ["norm_of_obs_0_obs_1"]
    assert task.horizon == 200
    assert list_parts(task) == {"facts", "horizon", "ends"}


def test_a_car_in_a_valley_moves_by_its_speed_but_where_the_wall_stops_it(observed):
    task = observed("MountainCar-v0")
    assert dict(task.rates) == {"obs_0": Rate("obs_1", 1.0)}
    assert task.seen["rates.obs_0"].count < task.seen["rates.obs_0"].of
    assert task.start["obs_1"] == 0.0
    assert task.horizon == 200
    assert list_parts(task) == {"rates", "horizon", "ends"}


def test_a_frozen_lake_ends_in_its_holes_and_at_its_goal(observed):
    task = observed("FrozenLake-v1")
    assert {name for name in task.ends if name != "timeout"} == {f"obs_is_{cell}" for cell in (5, 7, 11, 12, 15)}
    assert all(end.sign is None for name, end in task.ends.items() if name != "timeout")
    assert task.max_change["obs"] == 4.0  # a row of the lake
    assert list_parts(task) == {"ends", "horizon", "max_change"}


def test_both_joints_of_an_acrobot_are_on_circles(observed):
    task = observed("Acrobot-v1")
    assert {each.name for each in task.facts} == {"norm_of_obs_0_obs_1", "norm_of_obs_2_obs_3"}
    assert list_parts(task) == {"facts", "horizon", "ends"}
