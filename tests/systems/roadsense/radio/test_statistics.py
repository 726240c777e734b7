"""How often, how long and how far off: what radios do over thousands of packets, against what their numbers say.

The bounds are 4.5 standard deviations wide, so that of a million true radios seven fail a test; the seeds are fixed.
"""

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest
from scipy import stats

from plaudit.systems.roadsense.radio import PARAMETERS, TRANSPORTS, RadioParameters, build_radio
from plaudit.systems.roadsense.world import EGO, CarState

WIDE = 4.5
STEPS = 3000
transports = pytest.mark.parametrize("transport", TRANSPORTS)


def drive(
    parameters: RadioParameters, transport: str, *distances: float, steps: int = STEPS
) -> list[dict[str, CarState]]:
    """Return what a car hears, step by step, of cars to its left and right; nobody is ahead of anybody, to relay."""
    air = build_radio(parameters, transport=transport, randomised=False)
    air.reset(np.random.default_rng(5))
    cars = {EGO: CarState(0.0, 0.0, 15.0, 0.0, 180.0)}
    for distance, side in zip(distances, (1.0, -1.0), strict=False):
        cars[f"at {distance:g}"] = CarState(side * distance, 0.0, 20.0, -1.0, 180.0)
    return [air.exchange(100.0 * step, cars, EGO) for step in range(steps)]


def losses(heard: list[dict[str, CarState]], transport: str, distance: float) -> np.ndarray:
    """Return for each packet whether it was lost: a new one is 100 ms old in the queue."""
    messages = [step.get(f"at {distance:g}") for step in heard]
    if transport == "mesh":
        return np.array([message is None for message in messages])
    return np.array([message is None or message.age != 100.0 for message in messages[1:]])


def chain(parameters: RadioParameters, distance: float) -> tuple[float, float, float]:
    """Return the share of losses, the correlation of neighbours, and how likely a loss follows a loss."""
    alone, _ = build_radio(parameters, randomised=False).channel.find_link(distance)
    risk = 1 - 1 / parameters.burst_length if parameters.bursts else 0.0
    worse = max(alone, min(alone * parameters.burst_factor, parameters.burst_cap))
    tied = risk * (worse - alone)
    return alone / (1 - tied), tied, alone + tied


@transports
@pytest.mark.parametrize("bursts", [False, True])
@pytest.mark.parametrize(
    ("name", "distance"),
    [("default", 30), ("default", 75), ("default", 120), ("bench", 30), ("bench", 75), ("field", 10), ("field", 35)],
)
def test_packets_are_lost_as_often_as_their_distance_says(transport, name, distance, bursts):
    parameters = replace(PARAMETERS[name], bursts=bursts)
    lost = losses(drive(parameters, transport, distance), transport, distance)
    share, tied, _ = chain(parameters, distance)
    spread = sqrt(share * (1 - share) / len(lost) * (1 + tied) / (1 - tied))
    assert lost.mean() == pytest.approx(share, abs=WIDE * spread)


@transports
@pytest.mark.parametrize(("name", "distance"), [("bench", 120), ("field", 50.001)])
def test_beyond_the_last_tier_or_the_reach_every_packet_is_lost(transport, name, distance):
    assert losses(drive(PARAMETERS[name], transport, distance, steps=500), transport, distance).all()


@transports
@pytest.mark.parametrize(
    ("name", "distance", "length"), [("bench", 30, 4.49), ("field", 10, 1.10), ("field", 35, 1.17)]
)
def test_bursts_are_as_long_as_the_chances_of_a_packet_at_risk_make_them(transport, name, distance, length):
    parameters = PARAMETERS[name]
    lost = losses(drive(parameters, transport, distance), transport, distance)
    edges = np.flatnonzero(np.diff(np.concatenate(([0], lost, [0]))))
    bursts = edges[1::2] - edges[::2]
    _, _, follows = chain(parameters, distance)
    mean, spread = 1 / (1 - follows), sqrt(follows) / (1 - follows)
    assert mean == pytest.approx(length, abs=0.005), "the numbers of the set, worked out by hand"
    assert bursts.mean() == pytest.approx(mean, abs=WIDE * spread / sqrt(len(bursts)))


@transports
def test_losses_of_two_senders_have_nothing_to_do_with_each_other(transport):
    heard = drive(PARAMETERS["bench"], transport, 20, 30)
    one, other = (losses(heard, transport, distance) for distance in (20, 30))
    _, tied, _ = chain(PARAMETERS["bench"], 30)
    spread = sqrt((1 + tied**2) / (1 - tied**2) / len(one))  # of the correlation of two chains
    assert abs(np.corrcoef(one, other)[0, 1]) < WIDE * spread


@pytest.mark.parametrize(("name", "distance"), [("default", 30), ("default", 90), ("bench", 30), ("field", 30)])
def test_ages_in_the_mesh_are_spread_as_latencies_are(name, distance):
    parameters = replace(PARAMETERS[name], base_loss=0.0, middle_loss=0.0, bins=(), bursts=False)
    ages = np.array([step[f"at {distance:g}"].age for step in drive(parameters, "mesh", distance)])
    mean = parameters.base_latency + parameters.latency_per_metre * distance
    normal = stats.norm(mean, parameters.jitter)
    floored = normal.cdf(1.0)
    assert ages.min() >= 1.0
    assert (ages == 1.0).mean() == pytest.approx(floored, abs=WIDE * sqrt(floored * (1 - floored) / len(ages)))
    above = stats.truncnorm((1.0 - mean) / parameters.jitter, np.inf, mean, parameters.jitter)
    assert stats.kstest(ages[ages > 1.0], above.cdf).pvalue > 1e-4


@transports
@pytest.mark.parametrize("name", PARAMETERS)
def test_what_is_heard_is_off_by_the_noise_of_the_set(transport, name):
    parameters = PARAMETERS[name]
    heard = [step["at 30"] for step in drive(parameters, transport, 30) if "at 30" in step]
    if transport == "queue":
        heard = [message for message in heard if message.age == 100.0]
    off = np.array([(m.x - 30, m.y, m.speed - 20, m.acceleration + 1, m.heading - 180) for m in heard])
    others = parameters.speed_noise, parameters.acceleration_noise, parameters.heading_noise
    spread = np.array((parameters.position_noise, parameters.position_noise, *others))
    count = len(off)
    assert (np.abs(off.mean(axis=0)) < WIDE * spread / sqrt(count)).all()
    assert (np.abs(off.std(axis=0) / spread - 1) < WIDE / sqrt(2 * count)).all()
    between = np.corrcoef(off.T)[np.triu_indices(5, 1)]
    assert (np.abs(between) < WIDE / sqrt(count)).all()
