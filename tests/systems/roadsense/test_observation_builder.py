"""What a car makes of its messages: what the reward reads of them, and what the policy sees."""

import sys
from math import hypot, inf, nan, nextafter

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

from plaudit.errors import DefinitionError, MissingExtra, NotFinite
from plaudit.systems.roadsense.observation_builder import ObservationBuilder, Sighting, build_sighting, measure_forward
from plaudit.systems.roadsense.radio import PARAMETERS, TRANSPORTS, build_radio
from plaudit.systems.roadsense.world import CarState

Message = tuple[str, CarState]
HERE = CarState(0.0, 0.0, 15.0, 0.0, 0.0)
NOBODY = Sighting(inf, 0.0, None, False, False, False, 0)


def peer(x=0.0, y=30.0, speed=15.0, acceleration=0.0, heading=0.0, age=4.0, name="V002") -> Message:
    return name, CarState(x, y, speed, acceleration, heading, age)


def heard(*messages: Message) -> dict[str, CarState]:
    return dict(messages)


def seen(*messages: Message, ego: CarState = HERE) -> Sighting:
    return build_sighting(ego, heard(*messages))


def turned(angle: float, forward: float, right: float) -> tuple[float, float]:
    """Return the place that is so far ahead and to the right of the origin for a car of a heading."""
    sine, cosine = np.sin(np.radians(angle)), np.cos(np.radians(angle))
    return float(forward * sine + right * cosine), float(forward * cosine - right * sine)


# -- what the reward reads --------------------------------------------------------------------------------------------


def test_without_messages_nobody_is_ahead():
    assert seen() == NOBODY


def test_the_nearest_car_ahead_gives_distance_and_closing_rate():
    sighting = seen(peer(y=80.0, name="V003"), peer(x=4.0, y=30.0, speed=12.0), peer(y=-10.0, name="V004"))
    assert sighting == Sighting(pytest.approx(30.265, abs=1e-3), 3.0, "V002", False, False, False, 3)


@pytest.mark.parametrize("heading", [0.0, 30.0, 45.0, 90.0, 135.0, 180.0, 270.0, 359.0])
@pytest.mark.parametrize(("along", "right", "ahead"), [(10.0, 9.0, True), (-10.0, 1.0, False), (1e-3, 50.0, True)])
def test_ahead_is_where_the_heading_points(heading, along, right, ahead):
    x, y = turned(heading, along, right)
    ego = HERE._replace(heading=heading)
    assert (seen(peer(x, y), ego=ego).nearest == "V002") is ahead
    assert measure_forward(ego, peer(x, y)[1]) == pytest.approx(along)


@pytest.mark.parametrize("heading", [float(angle) for angle in range(0, 360, 15)])
@pytest.mark.parametrize("right", [50.0, -50.0, 1000.0])
def test_a_car_exactly_beside_is_not_ahead(heading, right):
    x, y = turned(heading, 0.0, right)
    ego = HERE._replace(heading=heading)
    assert seen(peer(x, y), ego=ego).distance == inf
    assert measure_forward(ego, peer(x, y)[1]) == 0.0


def test_a_car_in_the_same_place_is_not_ahead():
    assert seen(peer(0.0, 0.0)).nearest is None


@pytest.mark.parametrize(
    ("age", "counts"), [(0.0, True), (nextafter(500.0, 0.0), True), (500.0, False), (9999.0, False)]
)
def test_a_message_counts_until_it_is_half_a_second_old(age, counts):
    assert seen(peer(acceleration=-3.0, age=age)) == (
        Sighting(30.0, 0.0, "V002", True, True, True, 1) if counts else NOBODY
    )


@pytest.mark.parametrize(
    ("acceleration", "speed", "peer_braking", "braking_peer"),
    [
        (0.0, 15.0, False, False),
        (nextafter(-0.5, 0.0), 15.0, False, False),
        (-0.5, 15.0, True, False),
        (nextafter(-2.5, 0.0), 15.0, True, False),
        (-2.5, 15.0, True, True),
        (-9.0, 15.0, True, True),
        (0.0, 0.5, True, False),
        (0.0, nextafter(0.5, 1.0), False, False),
        (1.0, 0.0, True, False),
    ],
)
def test_a_peer_brakes_at_half_a_metre_a_second_squared_or_stands_and_warns_at_two_and_a_half(
    acceleration, speed, peer_braking, braking_peer
):
    sighting = seen(peer(acceleration=acceleration, speed=speed))
    assert (sighting.peer_braking, sighting.braking_peer) == (peer_braking, braking_peer)
    assert sighting.fresh_braking is braking_peer


@pytest.mark.parametrize("heading", [0.0, 37.0, 90.0, 225.0])
@pytest.mark.parametrize(
    ("bearing", "fresh"),
    [
        (0.0, True),
        (44.9, True),
        (45.0, True),
        (45.1, False),
        (-45.0, True),
        (-46.0, False),
        (90.0, False),
        (180.0, False),
    ],
)
def test_a_fresh_warning_comes_from_within_45_degrees_of_straight_ahead(heading, bearing, fresh):
    x, y = turned(heading + bearing, 40.0, 0.0)
    sighting = seen(peer(x, y, acceleration=-3.0), ego=HERE._replace(heading=heading))
    assert sighting.braking_peer
    assert sighting.fresh_braking is fresh


@pytest.mark.parametrize("what", ["x", "y", "speed", "acceleration"])
@pytest.mark.parametrize("bad", [nan, inf, -inf])
def test_a_message_that_is_not_finite_is_an_error_and_not_an_empty_road(what, bad):
    with pytest.raises(NotFinite, match=f"the message from 'V002' cannot be placed: .*{what}={bad}"):
        seen(peer(**{what: bad}))
    with pytest.raises(NotFinite, match="for a car that is at"):
        seen(peer(), ego=HERE._replace(x=bad))


# -- what the policy sees ---------------------------------------------------------------------------------------------


def test_the_vector_is_own_speed_and_five_numbers_of_each_peer():
    builder = ObservationBuilder("vector", peers=("V002", "V003"))
    vector = builder.build(HERE, heard(peer(x=30.0, y=40.0, speed=12.0, acceleration=-5.0, age=250.0)))
    assert vector.dtype == np.float32
    assert vector.tolist() == pytest.approx([0.5, 0.5, -0.1, -0.5, 0.5, 1.0] + [0.0] * 5)


def test_a_stale_peer_is_still_seen_in_the_vector_but_flagged():
    builder = ObservationBuilder("vector", peers=("V002",))
    assert builder.build(HERE, heard(peer(age=500.0))).tolist()[-2:] == [1.0, 0.0]
    assert builder.build(HERE, heard(peer(age=1e6))).tolist()[-2:] == [pytest.approx(9999 / 500), 0.0]


def test_a_peer_that_the_vector_has_no_room_for_is_left_out():
    builder = ObservationBuilder("vector", peers=("V002",))
    assert builder.build(HERE, heard(peer(name="V003"))).tolist() == [0.5, 0.0, 0.0, 0.0, 0.0, 0.0]


def test_the_dict_has_rows_of_those_in_front_the_nearest_first():
    builder = ObservationBuilder("dict", peers=())
    built = builder.build(
        HERE._replace(acceleration=-2.0, heading=350.0),
        heard(
            peer(x=-10.0, y=60.0, speed=18.0, acceleration=1.0, heading=10.0, age=100.0, name="V003"),
            peer(x=0.0, y=30.0, speed=9.0, acceleration=-4.0, heading=340.0, age=5.0),
            peer(x=0.0, y=-30.0, acceleration=-9.0, name="behind"),
            peer(x=90.0, y=10.0, speed=0.0, name="beside"),
            peer(y=10.0, age=500.0, acceleration=-9.0, name="stale"),
        ),
        braking=0.25,
    )
    sine, cosine = np.sin(np.radians(10.0)), np.cos(np.radians(10.0))
    assert built["ego"].tolist() == pytest.approx([0.5, -0.2, 2 / 8, -0.4, 0.25, 0.2])
    assert built["peer_mask"].tolist() == [1.0, 1.0] + [0.0] * 6
    near = [0.3 * cosine, -0.3 * sine, -0.2, -10 / 180, -0.4, 0.01]
    far = [0.1 * sine + 0.6 * cosine, 0.1 * cosine - 0.6 * sine, 0.1, 20 / 180, 0.1, 0.2]
    np.testing.assert_allclose(built["peers"][:2], [near, far], atol=1e-6)
    assert not built["peers"][2:].any()


def test_left_is_positive():
    builder = ObservationBuilder("dict", peers=())
    for heading in (0.0, 90.0, 200.0):
        x, y = turned(heading, 50.0, -20.0)
        (row, *_) = builder.build(HERE._replace(heading=heading), heard(peer(x, y)))["peers"]
        assert row[:2].tolist() == pytest.approx([0.5, 0.2])


def test_of_more_than_eight_the_dict_has_the_nearest():
    builder = ObservationBuilder("dict", peers=())
    peers = [peer(y=10.0 * rank, name=f"V{rank:03}") for rank in range(12, 0, -1)]
    built = builder.build(HERE, heard(*peers))
    assert built["peers"][:, 0].tolist() == pytest.approx([0.1 * rank for rank in range(1, 9)])
    assert built["ego"][2] == 1.0


def test_the_dict_of_nobody_is_empty():
    built = ObservationBuilder("dict", peers=()).build(HERE, {})
    assert str(built["ego"].tolist()) == "[0.5, 0.0, 0.0, 0.0, 0.0, 0.0]", "and no -0.0"
    assert not built["peers"].any()
    assert not built["peer_mask"].any()


@pytest.mark.parametrize("kind", ["vector", "dict"])
def test_every_observation_is_its_own(kind):
    builder = ObservationBuilder(kind, peers=("V002",))
    first, second = (builder.build(HERE, heard(peer())) for _ in range(2))
    arrays = [(first, second)] if kind == "vector" else [(first[name], second[name]) for name in first]
    for one, other in arrays:
        assert one.flags.writeable
        assert not np.shares_memory(one, other)


def test_the_distance_is_that_of_the_nearest_car_ahead():
    builder = ObservationBuilder(peers=("V002",))
    assert builder.distance(HERE, heard(peer(x=3.0, y=4.0))) == 5.0
    assert builder.distance(HERE, heard(peer(y=-4.0))) == inf


def test_an_unknown_kind_is_refused():
    with pytest.raises(
        DefinitionError, match="observation='vectr' must be one of vector, dict. Did you mean 'vector'?"
    ):
        ObservationBuilder("vectr", peers=())


def test_without_gymnasium_a_space_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(MissingExtra, match=r"pip install 'plaudit\[gym\]'"):
        _ = ObservationBuilder(peers=()).space


def test_the_spaces_are_of_the_shapes_that_were_promised():
    vector = ObservationBuilder("vector", peers=("V002", "V003")).space
    assert isinstance(vector, spaces.Box)
    assert (vector.shape, vector.dtype) == ((11,), np.float32)
    parts = ObservationBuilder("dict", peers=()).space
    assert {name: part.shape for name, part in parts.items()} == {"ego": (6,), "peers": (8, 6), "peer_mask": (8,)}
    assert all(np.isfinite(part.low).all() and np.isfinite(part.high).all() for part in (vector, *parts.values()))


@pytest.mark.parametrize("far", [10_001.0, 1e12, 1e300])
def test_what_is_beyond_the_ends_of_the_space_is_held_to_them(far):
    messages = heard(peer(y=far, speed=90.0, acceleration=-12.0))
    ego = HERE._replace(speed=0.0, acceleration=-11.0)
    vector = ObservationBuilder("vector", peers=("V002",)).build(ego, messages)
    assert vector.tolist() == [0.0, 100.0, 2.0, -1.0, pytest.approx(4 / 500), 1.0]
    built = ObservationBuilder("dict", peers=()).build(ego, messages)
    assert built["ego"].tolist() == [0.0, -1.0, 1 / 8, -1.0, 0.0, 0.0]
    assert built["peers"][0].tolist() == [100.0, 0.0, 2.0, 0.0, -1.0, pytest.approx(4 / 500)]
    assert built["peer_mask"].tolist() == [1.0] + [0.0] * 7


places = st.floats(-20_000, 20_000) | st.sampled_from((0.0, 10.0, 30.0, -30.0))
headings = st.floats(0, 360) | st.sampled_from((0.0, 90.0))
states = st.builds(
    CarState, places, places, st.floats(0, 80), st.floats(-60, 60), headings, age=st.just(0.0), hops=st.just(0)
)
convoys = st.integers(0, 8).flatmap(
    lambda peers: st.fixed_dictionaries({f"V{number:03}": states for number in range(1, peers + 2)})
)
AIRS = [("ideal", "mesh"), *((name, transport) for name in PARAMETERS for transport in TRANSPORTS)]


@given(st.lists(convoys, min_size=1, max_size=4), st.sampled_from(AIRS), st.integers(0, 99), st.floats(0, 1))
def test_an_observation_is_always_in_its_space(steps, air, seed, braking):
    name, transport = air
    ether = build_radio(name, transport=transport)
    ether.reset(np.random.default_rng(seed))
    builders = [ObservationBuilder(kind, peers=list(steps[0])[1:]) for kind in ("vector", "dict")]
    for step, cars in enumerate(steps):
        messages = ether.exchange(300.0 * step, cars, "V001")
        for builder in builders:
            built = builder.build(cars["V001"], messages, braking=braking)
            assert builder.space.contains(built), built


@given(convoys)
def test_what_is_sighted_agrees_with_itself(cars):
    ego = cars["V001"]
    messages = build_radio("ideal").exchange(0.0, cars, "V001")
    sighting = build_sighting(ego, messages)
    ahead = [car for name, car in cars.items() if name != "V001" and measure_forward(ego, car) > 0]
    assert sighting.hearing == len(cars) - 1
    assert (sighting.nearest is None) == (sighting.distance == inf) == (not ahead)
    assert sighting.fresh_braking <= sighting.braking_peer <= sighting.peer_braking
    if sighting.nearest:
        nearest = cars[sighting.nearest]
        assert sighting.distance == min(hypot(car.x - ego.x, car.y - ego.y) for car in ahead)
        assert sighting.closing_rate == ego.speed - nearest.speed
