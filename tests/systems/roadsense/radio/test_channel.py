"""What becomes of a packet: losses by distance, bursts, latency, and noise that is held to what a car can say."""

from dataclasses import replace
from math import inf, isnan, nan, nextafter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit.systems.roadsense.radio import PARAMETERS, RadioParameters
from plaudit.systems.roadsense.radio.channel import Channel, received
from plaudit.systems.roadsense.world import CarState


def channel(parameters: RadioParameters, **episode: float) -> Channel:
    return Channel(parameters, episode=replace(parameters, **episode))


def losses(channel: Channel, *distances: float) -> list[float]:
    return [channel.link(distance)[0] for distance in distances]


@pytest.mark.parametrize(
    ("name", "distance", "loss"),
    [
        ("default", 0.0, 0.02),
        ("default", nextafter(50.0, 0.0), 0.02),
        ("default", 50.0, 0.02),
        ("default", 75.0, 0.085),
        ("default", nextafter(100.0, 0.0), 0.15),
        ("default", 100.0, 0.40),
        ("default", 5000.0, 0.40),
        ("bench", 49.0, 0.19),
        ("bench", 75.0, 0.565),
        ("bench", 100.0, 1.0),
        ("field", 0.0, 0.058),
        ("field", nextafter(20.0, 0.0), 0.058),
        ("field", 20.0, 0.116),
        ("field", 50.0, 0.116),
        ("field", nextafter(50.0, 51.0), 1.0),
    ],
)
def test_losses_follow_the_tiers_or_the_bins_that_were_measured_up_to_the_reach(name, distance, loss):
    assert losses(channel(PARAMETERS[name]), distance) == pytest.approx([loss], abs=1e-12)


def test_tiers_begin_at_the_loss_of_the_episode_and_end_where_they_were():
    drawn = channel(PARAMETERS["default"], base_loss=0.15)
    assert losses(drawn, 10.0, 75.0, 100.0) == pytest.approx([0.15, 0.15, 0.40])


def test_bins_rise_and_fall_with_the_loss_of_the_episode_up_to_certainty():
    assert losses(channel(PARAMETERS["field"], base_loss=0.116), 10.0, 30.0) == pytest.approx([0.116, 0.232])
    assert losses(channel(PARAMETERS["field"], base_loss=1.0), 30.0) == [1.0]


def test_bins_without_a_nominal_loss_stay_as_they_are():
    parameters = RadioParameters(base_loss=0.0, bins=((20.0, 0.3),))
    assert losses(channel(parameters, base_loss=0.1), 5.0, 500.0) == [0.3, 0.3]


def test_tiers_may_begin_at_once():
    assert losses(channel(RadioParameters(near=0.0)), 0.0, 50.0) == pytest.approx([0.02, 0.085])


@pytest.mark.parametrize("reach", [0.0, 30.0, 60.0, 100.0, 150.0])
def test_nothing_is_heard_beyond_the_reach_and_up_to_it_all_is_as_without_one(reach):
    free, held = channel(RadioParameters()), channel(RadioParameters(reach=reach))
    distances = np.linspace(0.0, reach, 101).tolist()
    assert losses(held, *distances) == pytest.approx(losses(free, *distances), rel=0, abs=1e-12)
    assert losses(held, nextafter(reach, inf), 2 * reach + 1, 1e6) == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(("name", "reach"), [("default", inf), ("bench", nextafter(100.0, 0.0)), ("field", 50.0)])
def test_the_reach_is_where_certain_loss_begins(name, reach):
    assert channel(PARAMETERS[name]).reach == reach


def test_a_distance_that_is_no_number_is_not_just_out_of_reach():
    assert all(isnan(losses(channel(each), nan)[0]) for each in PARAMETERS.values())


def test_a_packet_at_risk_is_lost_more_often_but_never_more_seldom_than_alone():
    bench = channel(PARAMETERS["bench"])
    at_risk = [bench.at_risk((loss, 3.0)) for loss in (0.01, 0.19, 0.97, 1.0)]
    assert [loss for loss, _ in at_risk] == pytest.approx([0.0495, 0.9405, 0.97, 1.0])
    assert {latency for _, latency in at_risk} == {3.0}


@pytest.mark.parametrize(("name", "risk"), [("default", 0.0), ("bench", 1 - 1 / 4.60), ("field", 1 - 1 / 1.606)])
def test_the_risk_is_that_of_bursts_as_long_as_were_measured(name, risk):
    assert channel(PARAMETERS[name]).risk == risk


@pytest.mark.parametrize(("distance", "latency"), [(0.0, 15.0), (100.0, 25.0)])
def test_a_packet_takes_longer_over_a_distance(distance, latency):
    assert channel(PARAMETERS["default"]).link(distance)[1] == latency


numbers = st.floats(-100, 100)
noises = st.lists(numbers, min_size=5, max_size=5)


@given(st.tuples(numbers, numbers, st.floats(0, 60), st.floats(-10, 10), st.floats(0, 360)), noises)
def test_what_is_said_with_noise_is_still_what_a_car_can_say(said, noise):
    x, y, speed, acceleration, heading, age, hops = received(CarState(*said), [noise], 7.0)
    assert (x, y, age, hops) == (said[0] + noise[0], said[1] + noise[1], 7.0, 1)
    assert speed == max(0.0, said[2] + noise[2])
    assert acceleration == min(max(said[3] + noise[3], -10.0), 10.0)
    assert 0.0 <= heading <= 360.0
    assert np.cos(np.radians(heading)) == pytest.approx(np.cos(np.radians(said[4] + noise[4])), abs=1e-9)


@given(st.lists(noises, min_size=1, max_size=3))
def test_every_sender_says_again_what_it_heard(noises):
    car = CarState(3.0, 4.0, 15.0, -2.5, 359.5)
    said = car
    for noise in noises:
        said = received(said, [noise], 0.0)
    assert received(car, noises, 0.0) == said._replace(hops=len(noises))


def test_without_noise_a_car_says_what_it_does():
    car = CarState(3.0, 4.0, 15.0, -2.5, 359.5)
    assert received(car, [[0.0] * 5], 1.0) == car._replace(age=1.0, hops=1)


@pytest.mark.parametrize("field", ["x", "y", "speed", "acceleration", "heading"])
def test_what_is_no_number_is_said_as_it_is(field):
    said = received(CarState(3.0, 4.0, 15.0, -2.5, 0.5)._replace(**{field: nan}), [[0.1] * 5], 1.0)
    assert isnan(getattr(said, field))
