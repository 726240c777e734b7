"""The mesh against its rules, carried out packet by packet as they are written, with the same luck and over many."""

from collections import Counter, defaultdict
from dataclasses import replace
from itertools import permutations
from math import atan2, degrees, hypot

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from plaudit.systems.roadsense.radio import PARAMETERS, RadioParameters, build_radio
from plaudit.systems.roadsense.world import EGO, CarState

Cars = dict[str, CarState]
SELDOM = 1e-5
"""Luck as bad as this is no luck, with 60 chances of it in fixed seeds."""


class LiteralMesh:
    """Every car's every packet, in no hurry."""

    def __init__(self, parameters: RadioParameters, rng) -> None:
        self.parameters, self.rng = parameters, rng
        self.lost: set[tuple[str, str]] = set()

    def exchange(self, cars: Cars, ego: str) -> Cars:
        losses = {pair: self.loss(cars, *pair) for pair in permutations(cars, 2)}
        self.lost = set()
        best = {source: min(self.copies(source, cars, ego, losses), default=None) for source in cars if source != ego}
        return {name: copy[2]._replace(age=copy[0], hops=copy[1]) for name, copy in best.items() if copy}

    def loss(self, cars: Cars, sender: str, receiver: str) -> float:
        """Return how likely what a sender says to a receiver is lost in this cycle."""
        given, distance = self.parameters, self.distance(cars, sender, receiver)
        if distance > given.reach:
            return 1.0
        if given.bins:
            loss = next((loss for end, loss in given.bins if distance < end), given.bins[-1][1])
        elif distance < given.far:
            share = max(0.0, (distance - given.near) / (given.far - given.near))
            loss = given.base_loss + share * (given.middle_loss - given.base_loss)
        else:
            loss = given.far_loss
        if given.bursts and (sender, receiver) in self.lost and self.rng.random() < 1 - 1 / given.burst_length:
            return max(loss, min(loss * given.burst_factor, given.burst_cap))
        return loss

    def copies(self, source: str, cars: Cars, ego: str, losses) -> list[tuple[float, int, CarState]]:
        """Return age, hops and content of all copies of a source's message that reach `ego`."""
        speaking, seen, copies = {source: (0.0, cars[source])}, {source}, []
        for hops in (1, 2, 3):
            arrived = defaultdict(list)
            for sender, (age, known) in speaking.items():
                said = self.noisy(known)
                for receiver in cars:
                    if receiver == sender:
                        continue
                    if self.rng.random() < losses[sender, receiver]:
                        self.lost |= {(sender, receiver)} if hops == 1 else set()
                    else:
                        arrived[receiver].append((age + self.latency(cars, sender, receiver), hops, said))
            copies += arrived[ego]
            speaking = {}
            for receiver in cars:
                if receiver not in seen and arrived[receiver]:
                    seen.add(receiver)
                    age, _, said = min(arrived[receiver])
                    if in_front(cars[receiver], said):
                        speaking[receiver] = age, said
        return copies

    def latency(self, cars: Cars, sender: str, receiver: str) -> float:
        given, distance = self.parameters, self.distance(cars, sender, receiver)
        late = given.jitter * self.rng.standard_normal()
        return max(1.0, given.base_latency + given.latency_per_metre * distance + late)

    def noisy(self, car: CarState) -> CarState:
        given, normal = self.parameters, self.rng.standard_normal
        return CarState(
            car.x + given.position_noise * normal(),
            car.y + given.position_noise * normal(),
            max(0.0, car.speed + given.speed_noise * normal()),
            min(10.0, max(-10.0, car.acceleration + given.acceleration_noise * normal())),
            (car.heading + given.heading_noise * normal()) % 360.0,
        )

    @staticmethod
    def distance(cars: Cars, one: str, other: str) -> float:
        return hypot(cars[one].x - cars[other].x, cars[one].y - cars[other].y)


def in_front(car: CarState, place: CarState) -> bool:
    off = degrees(atan2(place.x - car.x, place.y - car.y)) - car.heading
    return abs((off + 180.0) % 360.0 - 180.0) <= 45.0


class Steady:
    """A generator that is always as lucky."""

    def __init__(self, uniform: float, normal: float) -> None:
        self.uniform, self.normal = uniform, normal

    def random(self, shape=()):
        return np.full(shape, self.uniform)

    def standard_normal(self, shape=()):
        return np.full(shape, self.normal)


def drives(rng: np.random.Generator, *, steps: int) -> list[Cars]:
    """Return some cars step by step: they bend, draw apart and close up, and some leave and join."""
    cars = [f"V{number:03}" for number in range(1, rng.integers(2, 9))]
    heading, drift = rng.normal(0, 25, len(cars)) % 360, rng.normal(0, 12, (steps, len(cars), 2)).cumsum(axis=0)
    places = rng.normal(0, (10, 50), (len(cars), 2)) + drift
    drive = []
    for step in range(steps):
        there = [name for name in cars if name == EGO or rng.random() < 0.9]
        order = rng.permutation(there).tolist()
        states = {name: (*places[step, at], rng.uniform(0, 20), -1.0, heading[at]) for at, name in enumerate(cars)}
        drive.append({name: CarState(*map(float, states[name])) for name in order})
    return drive


RULES = RadioParameters(
    base_latency=3.0,
    latency_per_metre=0.0,
    jitter=1.0,
    base_loss=0.2,
    middle_loss=0.9,
    far_loss=1.0,
    near=20.0,
    far=80.0,
    burst_length=3.0,
    burst_factor=2.0,
    burst_cap=0.9,
    position_noise=3.0,
)
KINDS = {
    "tiers": RULES,
    "bursts": replace(RULES, bursts=True),
    "reach": replace(RULES, reach=45.0, latency_per_metre=0.2, base_latency=0.0),
    "bins": replace(RULES, bins=((20.0, 0.1), (50.0, 0.45), (90.0, 0.6)), bursts=True, reach=70.0),
}


@pytest.mark.parametrize("kind", KINDS)
@given(st.integers(0, 2**32), st.floats(0.05, 0.6), st.sampled_from((-1.2, -0.3, 0.0, 0.7)))
def test_with_the_same_luck_the_mesh_brings_what_its_rules_say(kind, seed, uniform, normal):
    air, luck = build_radio(KINDS[kind], randomised=False), Steady(uniform, normal)
    air.reset(luck)
    literal = LiteralMesh(KINDS[kind], luck)
    for step, cars in enumerate(drives(np.random.default_rng(seed), steps=4)):
        heard, expected = air.exchange(100.0 * step, cars, EGO), literal.exchange(cars, EGO)
        assert list(heard) == list(expected)
        for name, message in heard.items():
            assert message == pytest.approx(expected[name], abs=1e-9)


@pytest.mark.parametrize(("heading", "relayed"), [(330.0, True), (324.0, False)])
def test_a_second_relay_goes_by_what_the_first_one_said(heading, relayed):
    sure = RadioParameters(base_loss=0.0, reach=50.0, position_noise=10.0)
    cars = {f"V{at + 1:03}": CarState(0.0, 40.0 * at, 15.0, 0.0, 0.0) for at in range(4)}
    # The source is 10 m further east and north than it is, said the source; and as much again, said the first relay.
    cars["V002"] = cars["V002"]._replace(heading=heading)
    air = build_radio(sure, randomised=False)
    air.reset(Steady(0.5, 1.0))
    assert ("V004" in air.exchange(0.0, cars, EGO)) is relayed


def bent(gap: float) -> Cars:
    """Return six cars in a bend, so that not all see the same in front."""
    angles = np.radians(np.arange(6) * 12.0)
    return {
        f"V{at + 1:03}": CarState(float(gap * 1.5 * at * np.sin(angle)), gap * at, 15.0, -1.0, float(np.degrees(angle)))
        for at, angle in enumerate(angles)
    }


@pytest.mark.parametrize("episodes", [250, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("name", "gap"), [("default", 30.0), ("bench", 20.0), ("field", 20.0)])
def test_over_many_episodes_the_mesh_brings_as_much_as_often_as_its_rules_do(name, gap, episodes):
    cars, parameters = bent(gap), PARAMETERS[name]
    air = build_radio(parameters, randomised=False)
    fast, slow = defaultdict(list), defaultdict(list)
    for seed in range(episodes):
        air.reset(np.random.default_rng(seed))
        literal = LiteralMesh(parameters, np.random.default_rng([seed, 1]))
        for _ in range(2):  # in the second step there may be bursts
            heard, expected = air.exchange(0.0, cars, EGO), literal.exchange(cars, EGO)
        for peer in list(cars)[1:]:
            fast[peer].append(heard.get(peer))
            slow[peer].append(expected.get(peer))
    for peer in fast:
        assert alike(hops(fast[peer]), hops(slow[peer])) > SELDOM, peer
        for of in (0, 1, 5):  # x, y and age
            one, other = ([message[of] for message in each[peer] if message] for each in (fast, slow))
            assert min(len(one), len(other)) < 20 or stats.ks_2samp(one, other).pvalue > SELDOM, (peer, of)


def hops(messages: list[CarState | None]) -> Counter[int]:
    return Counter(message.hops if message else 0 for message in messages)


def alike(one: Counter[int], other: Counter[int]) -> float:
    """Return how likely two counts are as different as they are, if what is counted is the same."""
    kinds = sorted(one | other)
    table = [[each[kind] for kind in kinds] for each in (one, other)]
    return float(stats.chi2_contingency(table).pvalue) if len(kinds) > 1 else 1.0
