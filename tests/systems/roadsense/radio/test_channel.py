"""What becomes of a packet: losses by distance, bursts, latency, noise that a car can say, and the random numbers of it all."""

from dataclasses import replace
from math import inf, isnan, nan, nextafter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit.systems.roadsense.radio import PARAMETERS, RadioParameters
from plaudit.systems.roadsense.radio.channel import DRAWN_AT_ONCE, Channel, RandomDraws, apply_noise
from plaudit.systems.roadsense.world import CarState


def channel(parameters: RadioParameters, **episode: float) -> Channel:
    return Channel(parameters, episode=replace(parameters, **episode))


def losses(channel: Channel, *distances: float) -> list[float]:
    return [channel.find_link(distance)[0] for distance in distances]


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
    at_risk = [bench.worsen_link((loss, 3.0)) for loss in (0.01, 0.19, 0.97, 1.0)]
    assert [loss for loss, _ in at_risk] == pytest.approx([0.0495, 0.9405, 0.97, 1.0])
    assert {latency for _, latency in at_risk} == {3.0}


@pytest.mark.parametrize(("name", "risk"), [("default", 0.0), ("bench", 1 - 1 / 4.60), ("field", 1 - 1 / 1.606)])
def test_the_risk_is_that_of_bursts_as_long_as_were_measured(name, risk):
    assert channel(PARAMETERS[name]).risk == risk


@pytest.mark.parametrize(("distance", "latency"), [(0.0, 15.0), (100.0, 25.0)])
def test_a_packet_takes_longer_over_a_distance(distance, latency):
    assert channel(PARAMETERS["default"]).find_link(distance)[1] == latency


numbers = st.floats(-100, 100)
noises = st.lists(numbers, min_size=5, max_size=5)


@given(st.tuples(numbers, numbers, st.floats(0, 60), st.floats(-10, 10), st.floats(0, 360)), noises)
def test_what_is_said_with_noise_is_still_what_a_car_can_say(said, noise):
    x, y, speed, acceleration, heading, age, hops = apply_noise(CarState(*said), [noise], 7.0)
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
        said = apply_noise(said, [noise], 0.0)
    assert apply_noise(car, noises, 0.0) == said._replace(hops=len(noises))


def test_without_noise_a_car_says_what_it_does():
    car = CarState(3.0, 4.0, 15.0, -2.5, 359.5)
    assert apply_noise(car, [[0.0] * 5], 1.0) == car._replace(age=1.0, hops=1)


@pytest.mark.parametrize("field", ["x", "y", "speed", "acceleration", "heading"])
def test_what_is_no_number_is_said_as_it_is(field):
    said = apply_noise(CarState(3.0, 4.0, 15.0, -2.5, 0.5)._replace(**{field: nan}), [[0.1] * 5], 1.0)
    assert isnan(getattr(said, field))


DEFAULT = PARAMETERS["default"]


def chance(seed: int = 0, **episode: float) -> RandomDraws:
    return RandomDraws(np.random.default_rng(seed), Channel(DEFAULT, episode=replace(DEFAULT, **episode)))


def test_numbers_come_one_by_one_and_go_on_for_ever():
    drawn, rng = chance(), np.random.default_rng(0)
    assert [drawn.uniform() for _ in range(3 * DRAWN_AT_ONCE)] == rng.random(3 * DRAWN_AT_ONCE).tolist()


def test_noise_comes_in_rows_as_wide_as_the_channel_says():
    drawn, rng = chance(position_noise=2.0), np.random.default_rng(0)
    expected = rng.standard_normal((2 * DRAWN_AT_ONCE, 5)) * (2.0, 2.0, 0.5, 0.2, 3.0)
    assert [drawn.noise() for _ in range(2 * DRAWN_AT_ONCE)] == expected.tolist()


def test_what_is_drawn_of_one_kind_leaves_what_was_drawn_of_another():
    drawn = chance()
    numbers = {drawn.uniform(), drawn.jitter(), *drawn.noise(), drawn.uniform(), drawn.jitter(), *drawn.noise()}
    assert len(numbers) == 14


def test_a_packet_is_late_by_the_jitter_and_takes_a_millisecond_at_least():
    taken = [chance(jitter=0.0).draw_delay(latency) for latency in (0.0, 0.9, 1.0, 25.0)]
    assert taken == [1.0, 1.0, 1.0, 25.0]
    drawn, rng = chance(jitter=8.0), np.random.default_rng(0)
    assert [drawn.draw_delay(15.0) for _ in range(DRAWN_AT_ONCE)] == np.maximum(
        1.0, 15.0 + 8.0 * rng.standard_normal(DRAWN_AT_ONCE)
    ).tolist()
