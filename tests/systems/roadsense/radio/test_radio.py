"""Every radio: what holds whatever the set, the transport and the convoy are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit.errors import DefinitionError, InputError
from plaudit.systems.roadsense.radio import PARAMETERS, TRANSPORTS, RadioParameters, build_radio
from plaudit.systems.roadsense.world import EGO, CarState, is_fresh
from support.examples import examples

states = st.builds(
    CarState,
    *(st.floats(-300, 300), st.floats(-300, 300), st.floats(0, 50), st.floats(-10, 10), st.floats(0, 359.9)),
    age=st.just(0.0),
    hops=st.just(0),
)
convoys = st.integers(0, 8).flatmap(
    lambda peers: st.fixed_dictionaries({f"V{number:03}": states for number in range(1, peers + 2)})
)
noisy = pytest.mark.parametrize("name", PARAMETERS)
transports = pytest.mark.parametrize("transport", TRANSPORTS)


def convoy(peers: int, *, gap: float = 25.0) -> dict[str, CarState]:
    return {f"V{at + 1:03}": CarState(0.0, gap * at, 15.0, -0.1 * at, 0.0) for at in range(peers + 1)}


@given(convoys)
def test_the_ideal_radio_says_what_is_true_of_every_car_but_the_own(cars):
    heard = build_radio("ideal").exchange(0.0, cars, EGO)
    assert heard == {name: car for name, car in cars.items() if name != EGO}
    assert all(isinstance(message, CarState) for message in heard.values())


@noisy
@transports
@examples(1 / 4)
@given(st.lists(convoys, min_size=1, max_size=5), st.integers(0, 2**32))
def test_what_is_heard_is_what_a_car_can_say(name, transport, steps, seed):
    air = build_radio(name, transport=transport)
    air.reset(np.random.default_rng(seed))
    for step, cars in enumerate(steps):
        for source, message in air.exchange(100.0 * step, cars, EGO).items():
            assert source != EGO
            assert message.age >= (1.0 if transport == "mesh" else 100.0)
            assert 1 <= message.hops <= (3 if transport == "mesh" else 1)
            assert message.speed >= 0.0
            assert -10.0 <= message.acceleration <= 10.0
            assert 0.0 <= message.heading <= 360.0
            assert np.isfinite(message).all()
            assert isinstance(message, CarState)


@noisy
@transports
def test_the_same_generator_gives_the_same_episode_to_the_bit(name, transport):
    def episode(air, seed):
        air.reset(np.random.default_rng(seed))
        return [air.exchange(100.0 * step, convoy(5), EGO) for step in range(50)]

    air = build_radio(name, transport=transport)
    first = episode(air, 1)
    assert episode(air, 1) == first, "a reset must forget the episode before"
    assert episode(build_radio(name, transport=transport), 1) == first
    assert episode(air, 2) != first


@transports
def test_a_randomised_radio_draws_its_episode_and_another_does_not(transport):
    field = PARAMETERS["field"]
    drawn, fixed = (
        build_radio("field", transport=transport),
        build_radio("field", transport=transport, randomised=False),
    )
    seen = set()
    for seed in range(5):
        for air in (drawn, fixed):
            air.reset(np.random.default_rng(seed))
        assert fixed.channel.episode == field
        seen.add(drawn.channel.episode)
    assert len(seen) == 5


@transports
def test_a_radio_without_losses_delays_and_noise_hears_everyone_ahead_exactly(transport):
    perfect = RadioParameters(
        base_latency=0.0,
        latency_per_metre=0.0,
        jitter=0.0,
        base_loss=0.0,
        middle_loss=0.0,
        far_loss=0.0,
        position_noise=0.0,
        speed_noise=0.0,
        acceleration_noise=0.0,
        heading_noise=0.0,
    )
    air, cars = build_radio(perfect, transport=transport, randomised=False), convoy(5)
    air.reset(np.random.default_rng(0))
    air.exchange(0.0, cars, EGO)
    heard = air.exchange(100.0, cars, EGO)
    age = 1.0 if transport == "mesh" else 100.0
    assert heard == {name: car._replace(age=age, hops=1) for name, car in cars.items() if name != EGO}


@transports
def test_a_car_alone_hears_nobody(transport):
    air = build_radio("field", transport=transport)
    air.reset(np.random.default_rng(0))
    assert air.exchange(0.0, convoy(0), EGO) == {}


@transports
def test_cars_may_leave_and_join(transport):
    air = build_radio("default", transport=transport)
    air.reset(np.random.default_rng(0))
    for step in range(30):
        cars = convoy(1 + step % 4)
        heard = air.exchange(100.0 * step, cars, EGO)
        assert set(heard) < (set(cars) if transport == "mesh" else set(convoy(4)))  # what is under way outlives its car


@transports
def test_an_ego_that_is_not_on_the_road_is_refused_by_name(transport):
    air = build_radio("field", transport=transport)
    air.reset(np.random.default_rng(0))
    with pytest.raises(InputError, match="'V009' is not on the road, so it hears nothing. On it: V001, V002."):
        air.exchange(0.0, convoy(1), "V009")


@transports
def test_a_radio_asks_for_its_random_numbers(transport):
    with pytest.raises(InputError, match=r"call reset\(rng\) before the first exchange"):
        build_radio("field", transport=transport).exchange(0.0, convoy(1), EGO)


def test_an_unknown_radio_or_transport_is_refused_with_what_there_is():
    with pytest.raises(DefinitionError, match="radio='feild': .* ideal, default, bench, field. Did you mean 'field'?"):
        build_radio("feild")
    with pytest.raises(DefinitionError, match="radio=3: give a RadioParameters"):
        build_radio(3)
    with pytest.raises(DefinitionError, match="transport='mash' must be one of mesh, queue. Did you mean 'mesh'?"):
        build_radio("ideal", transport="mash")


@pytest.mark.parametrize(("age", "counts"), [(0.0, True), (499.999, True), (500.0, False), (9999.0, False)])
def test_a_message_counts_until_it_is_half_a_second_old(age, counts):
    assert is_fresh(CarState(0.0, 0.0, 0.0, 0.0, 0.0, age)) is counts
