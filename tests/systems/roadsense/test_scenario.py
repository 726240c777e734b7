"""Convoys at their start."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import DefinitionError
from plaudit.systems.roadsense import SCENARIOS, Scenario
from plaudit.systems.roadsense.scenario import choose_spacing, find_scenario


def test_the_driven_car_is_the_last_one():
    world = SCENARIOS["early"].build_world(seed=7)
    assert [(car.id, car.position, car.speed) for car in world.cars] == [
        ("V001", 0.0, 15.0), ("V002", 30.0, 15.0), ("V003", 60.0, 15.0),
    ]  # fmt: skip
    assert world.seed == 7


@given(seed=st.integers(0, 2**32), peers=st.none() | st.integers(1, 5))
def test_what_is_drawn_keeps_its_ranges_and_a_peer_at_least(seed, peers):
    drawn = SCENARIOS["late"].sample(np.random.default_rng(seed), peers=peers)
    assert 1 <= drawn.peers <= 5
    assert peers in (None, drawn.peers)
    assert drawn.spacing == choose_spacing(drawn.peers)
    assert 0.8 <= drawn.model.speed_factor <= 1.2
    assert 0 <= drawn.model.sigma <= 0.5
    assert 3.5 <= drawn.model.decel <= 5.5
    assert 0.5 <= drawn.model.tau <= 1.5
    assert drawn == SCENARIOS["late"].sample(np.random.default_rng(seed), peers=peers)


def test_peers_stay_away_as_often_as_asked():
    rng = np.random.default_rng(0)
    there = [SCENARIOS["late"].sample(rng, drop=0.4).peers for _ in range(2000)]
    # Of five peers three are expected; that none comes, 1 % of the time, counts as one.
    assert np.mean(there) == pytest.approx(5 * 0.6 + 0.4**5, abs=4 * 1.1 / 2000**0.5)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [({"peers": 0}, "peers=0"), ({"peers": 9}, "peers=9"), ({"peers": 2.0}, "peers=2.0"), ({"peers": True}, "peers=True"),
     ({"spacing": 5.0}, "spacing=5.0"), ({"spacing": float("nan")}, "spacing=nan"), ({"speed": -1.0}, "speed=-1.0"),
     ({"speed": 51.0}, "speed=51.0"), ({"speed": "15"}, "speed='15'"), ({"spacing": None}, "spacing=None"),
     ({"network": None}, "network=None"), ({"model": None}, "model=None")],
)  # fmt: skip
def test_a_convoy_that_cannot_be_is_refused_by_name(wrong, named):
    with pytest.raises(DefinitionError, match=named):
        Scenario(**wrong)


def test_a_scenario_that_is_not_there_is_guessed():
    with pytest.raises(DefinitionError, match="Did you mean 'early'"):
        find_scenario("erly")
    with pytest.raises(DefinitionError, match=r"scenario=\[\]"):
        find_scenario([])


def test_numbers_of_numpy_describe_a_convoy_too():
    assert Scenario(peers=np.int64(2), spacing=np.float32(30.0)).build_world(1) == Scenario().build_world(1)
