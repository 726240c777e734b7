"""A car ahead that brakes: the hazards of all runs, whom they befall, and what the simulator is told."""

from dataclasses import replace
from math import ceil, inf, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from plaudit.errors import DefinitionError
from plaudit.systems.roadsense.hazard import HAZARDS, Hazard, find_hazard
from plaudit.systems.roadsense.hazard_injector import HazardInjector, list_gap_buckets
from plaudit.systems.roadsense.sumo import speed_mode
from plaudit.systems.roadsense.world import EGO, CarModel, CarState, Departure, World

NOTHING = {
    "gap_bucket": None,
    "gap_m": None,
    "closing_speed_mps": None,
    "peer_count": None,
    "trigger_step": None,
    "desired_rank_ahead": None,
}


def convoy(*gaps: float, speed: float = 15.0, heading: float = 0.0) -> dict[str, CarState]:
    """Return the ego and cars that are so far ahead of it."""
    sine, cosine = np.sin(np.radians(heading)), np.cos(np.radians(heading))
    return {
        f"V{at + 1:03}": CarState(float(gap * sine), float(gap * cosine), speed, 0.0, heading)
        for at, gap in enumerate((0.0, *gaps))
    }


def injector(hazard: Hazard | str, *, seed: int = 0) -> HazardInjector:
    made = HazardInjector()
    made.reset(find_hazard(hazard), np.random.default_rng(seed), EGO)
    return made


def play(made: HazardInjector, cars: dict[str, CarState], *, steps: int = 500) -> dict[int, list[tuple]]:
    """Return what the simulator is told, by step, in the steps in which it is told anything."""
    told = {step: made.next_commands(step, cars, cars[EGO]) for step in range(steps)}
    return {step: commands for step, commands in told.items() if commands}


# -- the hazards of the runs ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "probability", "first", "last", "kind", "seconds", "target"),
    [
        ("seed", 0.3, 30, 80, "stop", None, "nearest"),
        ("certain", 1.0, 30, 80, "stop", None, "nearest"),
        ("anyone", 0.3, 30, 80, "stop", None, "uniform"),
        ("often", 0.5, 30, 80, "stop", None, "uniform"),
        ("later", 0.5, 150, 350, "stop", None, "uniform"),
        ("gradual", 0.5, 150, 350, "slow", (2.0, 4.0), "uniform"),
        ("gradual_certain", 1.0, 150, 350, "slow", (2.0, 4.0), "uniform"),
        ("gradual_fixed", 1.0, 200, 200, "slow", (2.0, 4.0), "uniform"),
        ("brisk", 1.0, 200, 200, "slow", (0.5, 1.5), "uniform"),
        ("varied", 1.0, 200, 200, "slow", (0.5, 1.5), "uniform"),
        ("bucketed", 1.0, 150, 350, "slow", (0.5, 1.5), "uniform"),
    ],
)
def test_every_hazard_that_was_trained_with_can_be_had_by_name(name, probability, first, last, kind, seconds, target):
    hazard = HAZARDS[name]
    assert (hazard.probability, hazard.first, hazard.last, hazard.kind) == (probability, first, last, kind)
    assert hazard.target == target
    assert seconds is None or hazard.seconds == seconds
    varied = name in ("varied", "bucketed")
    assert hazard.decel == ((3.0, 10.0) if varied else None)
    assert (hazard.resolves, hazard.after) == ((0.4 if varied else 0.0), (20, 50))
    assert hazard.buckets is (name == "bucketed")


def test_none_never_happens():
    for seed in range(200):
        made = injector("none", seed=seed)
        assert play(made, convoy(30.0), steps=5) == {}
        assert (made.trigger_mode, made.attempted, made.source) == ("none", False, None)


@pytest.mark.parametrize("name", ["seed", "often", "certain"])
def test_a_hazard_happens_as_often_as_its_probability_says(name):
    share, count = HAZARDS[name].probability, 2000
    happened = [injector(name, seed=seed).trigger_mode == "step" for seed in range(count)]
    assert np.mean(happened) == pytest.approx(share, abs=4.5 * sqrt(share * (1 - share) / count))


def test_its_step_is_even_over_its_window_both_ends_included():
    steps = []
    for seed in range(2000):
        made = injector("certain", seed=seed)
        play(made, convoy(30.0), steps=100)
        steps.append(made.step)
    assert (min(steps), max(steps)) == (30, 80)
    assert stats.chisquare(np.bincount(steps)[30:]).pvalue > 1e-4


def test_an_injector_that_was_never_told_of_a_hazard_does_nothing():
    made = HazardInjector()
    assert play(made, convoy(30.0)) == {}
    assert made.onset == NOTHING


# -- whom it befalls --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("heading", [0.0, 90.0, 200.0])
@pytest.mark.parametrize(
    ("target", "source", "rank"),
    [("nearest", "V003", 1), ("rank:1", "V003", 1), ("rank:2", "V002", 2), ("rank:3", "V005", 3), ("V005", "V005", 3)],
)
def test_it_befalls_the_car_that_it_is_for(heading, target, source, rank):
    made = injector(Hazard(first=4, last=4, target=target))
    told = play(made, convoy(60.0, 30.0, -20.0, 90.0, heading=heading))
    assert told == {4: [("speed", source, 0.0)]}
    assert (made.source, made.rank_ahead, made.step) == (source, rank, 4)
    assert (made.attempted, made.failed_reason, made.trigger_result) == (True, None, "step")


def test_uniform_befalls_every_car_ahead_alike_and_none_behind():
    sources = []
    for seed in range(1500):
        made = injector(Hazard(first=0, last=0, target="uniform"), seed=seed)
        play(made, convoy(60.0, 30.0, -20.0, 90.0), steps=1)
        sources.append(made.source)
    names, counts = np.unique(sources, return_counts=True)
    assert names.tolist() == ["V002", "V003", "V005"]
    assert stats.chisquare(counts).pvalue > 1e-4


@pytest.mark.parametrize(
    ("target", "gaps", "reason"),
    [
        ("nearest", (), "no car ahead"),
        ("uniform", (-30.0, -60.0), "no car ahead"),
        ("rank:3", (30.0, 60.0), "no car of rank 3 ahead: there are 2"),
        ("V003", (30.0, -60.0), "V003 is not ahead"),
        ("V009", (30.0,), "V009 is not ahead"),
        ("nearest", (0.0,), "no car ahead"),
    ],
)
@pytest.mark.parametrize("waits", [False, True])
def test_where_there_is_no_car_for_it_the_hazard_says_so_and_is_over(target, gaps, reason, waits):
    made = injector(Hazard(first=5, last=9, target=target, buckets=waits))
    assert play(made, convoy(*gaps)) == {}
    assert (made.attempted, made.failed_reason, made.trigger_result) == (True, reason, "failed")
    assert (made.source, made.step, made.resolved, made.onset) == (None, None, False, NOTHING)


# -- what the simulator is told ---------------------------------------------------------------------------------------


def test_a_stop_is_commanded_once_and_for_good():
    made = injector(Hazard(first=30, last=30, target="nearest"))
    assert play(made, convoy(30.0, 60.0)) == {30: [("speed", "V002", 0.0)]}
    assert (made.target_speed, made.desired_decel, made.resolved) == (0.0, None, False)
    assert made.onset == NOTHING | {
        "gap_m": 30.0,
        "closing_speed_mps": 0.0,
        "peer_count": 2,
        "trigger_step": 30,
        "desired_rank_ahead": 1,
    }


@pytest.mark.parametrize("name", ["gradual_fixed", "brisk"])
def test_a_slow_down_leads_to_a_standstill_and_the_car_is_pinned_there(name):
    low, high = HAZARDS[name].seconds
    drawn = []
    for seed in range(300):
        made = injector(replace(HAZARDS[name], target="nearest"), seed=seed)
        told = play(made, convoy(30.0))
        (slow,) = told[200]
        order, source, speed, seconds = slow
        assert (order, source, speed) == ("slow_down", "V002", 0.0)
        assert told == {200: [slow], 200 + ceil(seconds / 0.1): [("speed", "V002", 0.0)]}
        assert made.desired_decel == pytest.approx(15.0 / seconds)
        drawn.append(seconds)
    assert stats.kstest(drawn, stats.uniform(low, high - low).cdf).pvalue > 1e-4


def test_a_varied_slow_down_brakes_as_hard_as_was_drawn_and_sometimes_resolves():
    decels, released, waited = [], 0, []
    count = 600
    for seed in range(count):
        made = injector("varied", seed=seed)
        told = play(made, convoy(30.0, speed=12.0))
        mode, (_, source, target, seconds) = told[200]
        assert mode == ("speed_mode", source, speed_mode.ASSISTED)  # or SUMO would cap it
        pinned = 200 + ceil(seconds / 0.1)
        assert target == made.target_speed == max(0.0, 12.0 - made.desired_decel * seconds)
        assert told[pinned] == [("speed", source, target)]
        decels.append(made.desired_decel)
        later = {step: commands for step, commands in told.items() if step > pinned}
        assert bool(later) is made.resolved
        if made.resolved:
            ((step, commands),) = later.items()
            assert commands == [("speed", source, -1.0), ("speed_mode", source, speed_mode.ORIGIN)]
            released += 1
            waited.append(step - pinned)
    assert stats.kstest(decels, stats.uniform(3.0, 7.0).cdf).pvalue > 1e-4
    assert released / count == pytest.approx(0.4, abs=4.5 * sqrt(0.24 / count))
    assert (min(waited), max(waited)) == (20, 50)


def test_a_stop_may_resolve_too():
    made = injector(Hazard(first=3, last=3, resolves=1.0, after=(7, 7)))
    assert play(made, convoy(30.0)) == {
        3: [("speed", "V002", 0.0)],
        10: [("speed", "V002", -1.0), ("speed_mode", "V002", 31)],
    }
    assert made.resolved


@pytest.mark.parametrize("leaves", [202, 220])
def test_a_car_that_has_left_the_road_is_not_commanded(leaves):
    made = injector(replace(HAZARDS["varied"], resolves=1.0))
    told = play(made, convoy(30.0), steps=leaves)
    assert made.source == "V002"
    for step in range(leaves, 400):
        assert made.next_commands(step, convoy(), convoy()[EGO]) == []
    assert 200 in told
    assert made.resolved is False


def test_every_answer_is_a_list_of_its_own():
    made, cars = injector("none"), convoy(30.0)
    made.next_commands(0, cars, cars[EGO]).append(("speed", EGO, 3.0))
    assert made.next_commands(0, cars, cars[EGO]) == []


def test_a_new_episode_forgets_the_hazard_of_the_last():
    made = injector(Hazard(first=0, last=0, resolves=1.0, after=(1, 1)))
    play(made, convoy(30.0))
    assert made.resolved
    made.reset(HAZARDS["none"], np.random.default_rng(0), EGO)
    fresh = HazardInjector()
    for fact in HazardInjector.__annotations__:
        assert getattr(made, fact) == getattr(fresh, fact), fact


@pytest.mark.parametrize("name", HAZARDS)
def test_the_same_generator_gives_the_same_hazard_and_takes_as_many_draws(name):
    cars = convoy(30.0, 60.0, 90.0)
    first, second = (play(injector(name, seed=9), cars) for _ in range(2))
    assert first == second
    one, other = np.random.default_rng(9), np.random.default_rng(9)
    HazardInjector().reset(HAZARDS[name], one, EGO)
    HazardInjector().reset(HAZARDS["none"], other, EGO)
    assert one.random() == other.random()


# -- buckets ----------------------------------------------------------------------------------------------------------

GAPS = {"close": (12, 22), "medium": (22, 35), "far": (35, 55), "very far": (55, 85)}


@pytest.mark.parametrize(
    ("rank", "names"),
    [
        (1, ["close", "medium", "far"]),
        (2, ["medium", "far", "very far"]),
        (3, ["far", "very far"]),
        (5, ["far", "very far"]),
    ],
)
def test_the_buckets_of_a_rank_are_those_that_were_trained_with(rank, names):
    assert [bucket.name for bucket in list_gap_buckets(rank)] == names
    for bucket in list_gap_buckets(rank):
        low, high = GAPS[bucket.name]
        assert (bucket.contains(low), bucket.contains(high), bucket.contains(low - 1e-9)) == (True, False, False)


def test_a_bucketed_hazard_waits_until_the_gap_is_in_its_bucket():
    seen = set()
    for seed in range(200):
        made = injector(replace(HAZARDS["bucketed"], target="nearest"), seed=seed)
        for step in range(400):
            gap = 5.0 + 0.2 * max(0, step - 140)  # reaches 12, 22 and 35 m in time
            cars = convoy(gap)
            if made.next_commands(step, cars, cars[EGO]):
                break
        bucket = made.onset["gap_bucket"]
        low, _ = GAPS[bucket]
        assert made.trigger_result == "bucket"
        assert made.trigger_mode == "bucket"
        assert low <= made.onset["gap_m"] < low + 0.2 + 1e-9
        assert (made.onset["trigger_step"], made.onset["desired_rank_ahead"]) == (made.step, 1)
        seen.add(bucket)
    assert seen == {"close", "medium", "far"}


def test_a_gap_that_is_in_the_bucket_already_is_taken_at_the_first_step_and_none_before():
    steps = set()
    for seed in range(50):
        made = injector(replace(HAZARDS["bucketed"], target="nearest"), seed=seed)
        play(made, convoy(15.0))
        steps.add((made.onset["gap_bucket"], made.trigger_result, made.step))
    assert steps == {("close", "bucket", 150), ("medium", "deadline", 350), ("far", "deadline", 350)}


def test_the_bucket_is_one_for_the_rank_that_was_drawn():
    for seed in range(100):
        made = injector("bucketed", seed=seed)
        play(made, convoy(15.0, 45.0, 70.0))
        assert made.onset["gap_bucket"] in {bucket.name for bucket in list_gap_buckets(made.rank_ahead)}
        assert made.onset["desired_rank_ahead"] == made.rank_ahead


def test_a_car_that_comes_ahead_late_is_waited_for():
    made = injector(replace(HAZARDS["bucketed"], target="nearest"), seed=0)
    assert play(made, convoy(), steps=300) == {}
    cars = convoy(15.0)
    told = [made.next_commands(step, cars, cars[EGO]) for step in range(300, 400)]
    assert made.source == "V002"
    assert sum(map(bool, told)) >= 2


# -- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"probability": 1.5}, "probability=1.5 must be a number from 0 to 1."),
        ({"probability": "often"}, "probability='often' must be a number from 0 to 1."),
        ({"resolves": -0.1}, "resolves=-0.1 must be a number from 0 to 1."),
        ({"first": -1}, "first=-1 must be an integer of 0 or more."),
        ({"last": 80.5}, "last=80.5 must be an integer of 0 or more."),
        ({"first": 90}, "first=90, last=80: the first step must not come after the last."),
        ({"kind": "halt"}, "kind='halt' must be stop or slow."),
        ({"seconds": (0.0, 1.0)}, "seconds=0.0 must be a number from 0.1 to 60."),
        ({"seconds": 2.0}, "seconds=2.0 must be a pair, the lowest and the highest value."),
        ({"seconds": (4.0, 2.0)}, "seconds=(4.0, 2.0) must be a pair, the lowest value first."),
        ({"decel": (3.0, inf)}, "decel=inf must be a number from 0 to 50."),
        ({"after": (20.5, 50)}, "after=20.5 must be an integer of 0 or more."),
        ({"target": "rank:0"}, "target='rank:0' must be nearest, uniform, rank:1"),
        ({"target": "rank:two"}, "target='rank:two' must be nearest, uniform, rank:1"),
        ({"target": ""}, "target='' must be nearest, uniform, rank:1"),
        ({"target": 2}, "target=2 must be nearest, uniform, rank:1"),
        ({"buckets": "no"}, "buckets='no' must be True or False."),
    ],
)
def test_a_hazard_that_cannot_be_is_refused(given, message):
    with pytest.raises(DefinitionError) as refused:
        Hazard(**given)
    assert message in str(refused.value)


def test_an_unknown_hazard_is_refused_with_what_there_is():
    with pytest.raises(
        DefinitionError, match="hazard='gradul': give a Hazard, or one of none, seed, .*mean 'gradual'?"
    ):
        find_hazard("gradul")
    with pytest.raises(DefinitionError, match="hazard=None"):
        find_hazard(None)
    assert find_hazard(HAZARDS["seed"]) is HAZARDS["seed"] is find_hazard("seed")


hazards = st.builds(
    Hazard,
    probability=st.sampled_from((0.0, 0.5, 1.0)),
    first=st.integers(0, 10),
    last=st.integers(10, 40),
    kind=st.sampled_from(("stop", "slow")),
    decel=st.none() | st.just((3.0, 10.0)),
    target=st.sampled_from(("nearest", "uniform", "rank:2", "V003")),
    resolves=st.sampled_from((0.0, 1.0)),
    after=st.just((0, 5)),
    buckets=st.booleans(),
)


@given(hazards, st.integers(0, 99), st.lists(st.lists(st.floats(-100, 100), max_size=5), min_size=1, max_size=80))
def test_whatever_the_road_does_only_cars_on_it_are_commanded_and_each_order_once(hazard, seed, drive):
    made = injector(hazard, seed=seed)
    orders = []
    for step, gaps in enumerate(drive):
        cars = convoy(*gaps)
        commands = made.next_commands(step, cars, cars[EGO])
        assert all(command[1] in cars and command[1] != EGO for command in commands)
        modes = [command for command in commands if command[0] == "speed_mode"]
        assert len(modes) <= 1
        assert len(commands) - len(modes) <= 1
        orders += [command for command in commands if command not in modes]
    assert len(orders) <= 3
    assert {command[1] for command in orders} <= {made.source}
    assert not (made.source and made.failed_reason)
    assert made.attempted == bool(made.source or made.failed_reason)


# -- on the road ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [0.95, 1.0, 1.03, 1.4])
def test_in_the_simulator_a_car_slows_down_as_told_is_held_and_let_go(sumo, seconds):
    hazard = Hazard(first=3, last=3, kind="slow", seconds=(seconds,) * 2, decel=(8.0, 8.0), resolves=1.0, after=(5, 5))
    made = injector(hazard)
    cars = (Departure(EGO, 0.0, 15.0), Departure("V002", 30.0, 15.0))
    sumo.begin(World("straight", cars, CarModel(decel=12.0, sigma=0.0)))
    now = sumo.step()
    speeds = []
    for step in range(40):
        now = sumo.step(made.next_commands(step, now, now[EGO]))
        speeds.append(now["V002"].speed)
    held = 3 + ceil(seconds / 0.1)
    slowing = np.diff(speeds[2:held])
    assert slowing[:-1] == pytest.approx(-0.8, abs=1e-3)
    assert slowing[-1] < 0
    assert speeds[held - 1 : held + 5] == pytest.approx([made.target_speed] * 6, abs=1e-3)
    assert (np.diff(speeds[held + 4 :]) > 0).all()
