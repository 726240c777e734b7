"""The queue: packets arrive when their time has come, and are known until a newer one does."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from plaudit.systems.roadsense.radio import RadioParameters, build_radio
from plaudit.systems.roadsense.world import EGO, CarState, is_fresh

SURE = RadioParameters(
    base_latency=0.0,
    latency_per_metre=0.0,
    jitter=0.0,
    base_loss=0.0,
    middle_loss=0.0,
    far_loss=0.0,
    reach=100.0,
    position_noise=0.0,
    speed_noise=0.0,
    acceleration_noise=0.0,
    heading_noise=0.0,
)
HERE = CarState(0.0, 0.0, 15.0, 0.0, 0.0)


def queue(parameters: RadioParameters = SURE, **changed: float):
    air = build_radio(replace(parameters, **changed), transport="queue", randomised=False)
    air.reset(np.random.default_rng(0))
    return air


def at(distance: float) -> dict[str, CarState]:
    return {EGO: HERE, "V002": HERE._replace(y=distance)}


@pytest.mark.parametrize(
    ("latency", "first", "age"), [(0.0, 1, 100.0), (100.0, 1, 100.0), (100.5, 2, 200.0), (250.0, 3, 300.0)]
)
def test_a_message_is_there_from_the_step_on_in_which_its_latency_is_over(latency, first, age):
    air = queue(base_latency=latency)
    for step in range(6):
        heard = air.exchange(100.0 * step, at(30.0 + step), EGO)
        assert ("V002" in heard) is (step >= first)
        if heard:
            assert heard["V002"].age == age
            assert heard["V002"].y == 30.0 + step - age / 100.0, "what is known is what was so when it was sent"


def test_the_last_message_is_remembered_and_grows_old_until_it_counts_no_more():
    air = queue()
    air.exchange(0.0, at(30.0), EGO)
    ages = []
    for step in range(1, 8):
        message = air.exchange(100.0 * step, at(1000.0), EGO)["V002"]
        ages.append((message.age, is_fresh(message)))
    assert ages == [
        (100.0, True),
        (200.0, True),
        (300.0, True),
        (400.0, True),
        (500.0, False),
        (600.0, False),
        (700.0, False),
    ]


def test_a_car_that_has_left_is_remembered_too():
    air = queue()
    air.exchange(0.0, at(30.0), EGO)
    assert air.exchange(300.0, {EGO: HERE}, EGO)["V002"].age == 300.0


def test_what_is_overtaken_by_something_newer_is_dropped():
    air = queue(base_latency=200.0, jitter=150.0)
    sent, known = [], 0
    for step in range(2000):
        heard = air.exchange(100.0 * step, at(30.0), EGO)
        if heard:
            known += 1
            sent.append(100.0 * step - heard["V002"].age)
    assert known > 1990
    assert all(before <= after for before, after in itertools.pairwise(sent))
    assert len({after - before for before, after in itertools.pairwise(sent)}) > 3, "some come late"


def test_nothing_is_relayed():
    air = queue()
    cars = {f"V{number + 1:03}": HERE._replace(y=80.0 * number) for number in range(4)}
    for step in range(5):
        heard = air.exchange(100.0 * step, cars, EGO)
    assert set(heard) == {"V002"}
    assert heard["V002"].hops == 1


def test_a_new_episode_forgets_what_was_heard_and_what_was_under_way():
    air = queue(base_latency=150.0)
    air.exchange(0.0, at(30.0), EGO)
    air.exchange(100.0, at(30.0), EGO)
    air.reset(np.random.default_rng(0))
    assert air.exchange(1000.0, at(30.0), EGO) == {}
