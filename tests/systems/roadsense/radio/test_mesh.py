"""The mesh: who passes on what, how far it gets, and which copy is kept."""

from dataclasses import replace
from math import inf, isnan, nan, sqrt

import numpy as np
import pytest

from plaudit.systems.roadsense.radio import PARAMETERS, RadioParameters, build_radio
from plaudit.systems.roadsense.world import EGO, CarState

SURE = RadioParameters(
    base_latency=5.0,
    latency_per_metre=0.0,
    jitter=0.0,
    base_loss=0.0,
    middle_loss=0.0,
    far_loss=0.0,
    reach=50.0,
    position_noise=1.0,
    speed_noise=1.0,
    acceleration_noise=1.0,
    heading_noise=1.0,
)
"""Loses nothing within 50 m."""


def row(count: int, *, gap: float = 40.0, heading: float = 0.0) -> dict[str, CarState]:
    """Return cars one behind the other, the ego last."""
    east, north = np.sin(np.radians(heading)), np.cos(np.radians(heading))
    return {f"V{at + 1:03}": CarState(gap * at * east, gap * at * north, 15.0, -1.0, heading) for at in range(count)}


def hear(parameters: RadioParameters, cars: dict[str, CarState], *, ego: str = EGO, steps: int = 1, seed: int = 0):
    air = build_radio(parameters, randomised=False)
    air.reset(np.random.default_rng(seed))
    return [air.exchange(100.0 * step, cars, ego) for step in range(steps)]


@pytest.mark.parametrize("heading", [0.0, 45.0, 90.0, 180.0, 300.0])
def test_a_message_comes_three_hops_far_and_no_farther(heading):
    (heard,) = hear(SURE, row(6, heading=heading))
    assert {name: message.hops for name, message in heard.items()} == {"V002": 1, "V003": 2, "V004": 3}


def test_every_hop_adds_its_latency_to_the_age():
    (heard,) = hear(SURE, row(4))
    assert [heard[name].age for name in ("V002", "V003", "V004")] == [5.0, 10.0, 15.0]


def test_every_hop_adds_its_noise():
    cars = row(4, gap=30.0)
    many = hear(replace(SURE, reach=35.0), cars, steps=3000)
    for hops, name in enumerate(("V002", "V003", "V004"), 1):
        heard = [step[name] for step in many if name in step]
        off = np.array([np.subtract(message[:4], cars[name][:4]) for message in heard])
        assert {message.hops for message in heard} == {hops}
        assert off.std(axis=0) == pytest.approx(sqrt(hops), rel=4.5 / sqrt(2 * len(heard)))
        assert np.abs(off.mean(axis=0)).max() < 4.5 * sqrt(hops / len(heard))


def test_a_speed_is_floored_at_every_hop():
    cars = {name: car._replace(speed=0.0) for name, car in row(4, gap=30.0).items()}
    many = hear(replace(SURE, reach=35.0), cars, steps=2000)
    rng, once = np.random.default_rng(0), np.zeros(10**5)
    for name in ("V002", "V003", "V004"):
        speeds = [step[name].speed for step in many if name in step]
        once = np.maximum(0.0, once + rng.standard_normal(len(once)))
        assert np.mean(speeds) == pytest.approx(once.mean(), abs=4.5 * once.std() / sqrt(len(speeds)))


def test_nobody_passes_on_what_is_behind_it():
    cars = row(4)
    (heard,) = hear(SURE, cars, ego="V004")
    assert set(heard) == {"V003"}


@pytest.mark.parametrize(("side", "relayed"), [(29.0, True), (31.0, False)])
def test_a_car_passes_on_what_is_within_45_degrees_of_straight_ahead(side, relayed):
    cars = {
        EGO: CarState(0.0, 0.0, 15.0, 0.0, 0.0),
        "V002": CarState(0.0, 40.0, 15.0, 0.0, 0.0),
        "V003": CarState(side, 70.0, 15.0, 0.0, 0.0),
    }
    (heard,) = hear(replace(SURE, position_noise=0.0), cars)
    assert ("V003" in heard) is relayed


def test_whether_it_is_ahead_a_relay_can_only_tell_from_what_it_heard():
    cars = {
        EGO: CarState(0.0, 0.0, 15.0, 0.0, 0.0),
        "V002": CarState(0.0, 40.0, 15.0, 0.0, 0.0),
        "V003": CarState(30.0, 70.0, 15.0, 0.0, 0.0),
    }
    heard = hear(replace(SURE, position_noise=5.0), cars, steps=2000)
    share = np.mean(["V003" in step for step in heard])
    assert share == pytest.approx(0.5, abs=4.5 * 0.5 / sqrt(2000))


def test_of_copies_of_the_same_age_the_one_with_fewer_hops_is_kept():
    far = replace(SURE, reach=inf, base_latency=0.0, latency_per_metre=1.0, position_noise=0.0)
    (heard,) = hear(far, row(4))
    assert [(message.age, message.hops) for message in heard.values()] == [(40.0, 1), (80.0, 1), (120.0, 1)]


def test_so_are_two_hops_rather_than_three():
    far = replace(SURE, reach=60.0, base_latency=0.0, latency_per_metre=1.0, position_noise=0.0)
    places = {EGO: 0.0, "V002": 40.0, "V003": 60.0, "V004": 80.0, "V005": 120.0}
    (heard,) = hear(far, {name: CarState(0.0, y, 15.0, 0.0, 0.0) for name, y in places.items()})
    assert (heard["V005"].age, heard["V005"].hops) == (120.0, 2)


def test_relays_make_up_for_losses():
    lossy = RadioParameters(base_loss=0.5, position_noise=0.0)
    alone, helped = row(2, gap=45.0), row(2, gap=45.0)
    helped["V003"] = CarState(0.0, 20.0, 15.0, 0.0, 0.0)
    shares = [np.mean(["V002" in step for step in hear(lossy, cars, steps=2000)]) for cars in (alone, helped)]
    assert shares[0] == pytest.approx(0.5, abs=4.5 * sqrt(0.25 / 2000))
    assert shares[1] == pytest.approx(1 - 0.5 * 0.75, abs=4.5 * sqrt(0.375 * 0.625 / 2000))


def test_a_lost_peer_is_not_heard_of_in_that_step_and_nothing_is_late():
    heard = hear(RadioParameters(base_loss=0.5, base_latency=900.0), row(2), steps=200)
    assert {len(step) for step in heard} == {0, 1}
    assert all(message.age > 800.0 for step in heard for message in step.values())


def test_what_was_lost_before_is_remembered_of_those_who_stay():
    bursty = RadioParameters(
        base_loss=0.5, near=60.0, bursts=True, burst_length=1000.0, burst_factor=100.0, burst_cap=1.0
    )
    air = build_radio(bursty, randomised=False)
    air.reset(np.random.default_rng(1))
    cars = row(2)
    while air.exchange(0.0, cars, EGO):
        pass
    joined = {"V003": CarState(0.0, 500.0, 15.0, 0.0, 180.0), **cars}
    assert sum("V002" in air.exchange(0.0, joined, EGO) for _ in range(50)) <= 2, "the burst goes on"


def test_the_ego_may_be_any_of_the_cars():
    cars = row(4)
    order = ["V003", EGO, "V004", "V002"]
    (heard,) = hear(SURE, {name: cars[name] for name in order})
    assert {name: message.hops for name, message in heard.items()} == {"V003": 2, "V004": 3, "V002": 1}


def test_the_ego_may_be_another_car_in_the_next_step():
    air, cars = build_radio(SURE, randomised=False), row(4)
    air.reset(np.random.default_rng(0))
    assert [set(air.exchange(0.0, cars, ego)) for ego in (EGO, "V004")] == [{"V002", "V003", "V004"}, {"V003"}]


@pytest.mark.parametrize("name", PARAMETERS)
@pytest.mark.parametrize("where", ["x", "y"])
def test_a_car_that_is_nowhere_is_heard_so_that_it_does_not_go_unnoticed(name, where):
    cars = row(2)
    cars["V002"] = cars["V002"]._replace(**{where: nan})
    (heard,) = hear(PARAMETERS[name], cars)
    assert isnan(getattr(heard["V002"], where))
