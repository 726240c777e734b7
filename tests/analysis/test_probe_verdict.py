"""What a verdict makes of a table: pairs that are an inversion, and those that are a tie, taste, luck or only hard."""

import numpy as np
import pytest

from plaudit import Field, Reward, term
from plaudit.analysis import PolicyOutcome
from plaudit.analysis.probe.measures import Measure, is_clearly_above, is_clearly_more_often
from plaudit.analysis.probe.result import PlayedEpisode
from plaudit.analysis.probe.verdict import Standings

GOAL = Measure("goal", "goal", rank=2)
SPEED = Measure("speed", "wish", width=30.0)
EFFORT = Measure("effort", "wish", -1.0, 0)
HITS = Measure("hits", "wish", -1.0, is_count=True)
FALLEN = Measure("fallen", "end", -1.0)
SEEDS = 10


@term
def paid(speed):
    return speed


SIGNAL = Reward("paid", version="1", terms=[paid], fields=[Field("speed", low=0, high=30)]).score(speed=1.0)


def fare(name, earned, kind="search", *, length=100, sign=None, finals=None, **measures):
    """Return a policy that fared so in each seed: numbers, or one for each seed."""

    def at(value, seed):
        return float(value[seed] if isinstance(value, list | np.ndarray) else value + 0.01 * seed * (abs(value) > 1))

    episodes = [
        PlayedEpisode(
            policy=name,
            seed=seed,
            earned=at(earned, seed),
            measures={measure: at(value, seed) for measure, value in measures.items()},
            terms={},
            length=length,
            ended="truncated",
            first=SIGNAL,
            last=SIGNAL,
            finals=finals or {},
            sign=sign,
        )
        for seed in range(SEEDS)
    ]
    return PolicyOutcome(name, kind, tuple(episodes))


def judge(*policies, measures):
    ranked = sorted(policies, key=lambda each: -each.earned.value)
    return {each.measure.name: each for each in Standings(ranked, measures).judge()}


def test_more_pay_for_less_of_what_is_wanted_is_a_warning():
    found = judge(fare("hack", 200.0, speed=3.0), fare("drive", 100.0, speed=20.0), measures=[SPEED])["speed"]
    assert (found.answer, found.severity, found.earns.name, found.wanted.name) == ("worse", "warning", "hack", "drive")


def test_a_near_tie_in_pay_is_not_an_inversion():
    found = judge(fare("hack", 101.0, speed=3.0), fare("drive", 100.0, speed=20.0), measures=[SPEED])["speed"]
    assert found.answer == "tie"


def test_a_measure_that_hardly_differs_says_nothing():
    found = judge(fare("one", 200.0, speed=20.0), fare("other", 100.0, speed=20.4), measures=[SPEED])["speed"]
    assert found.answer == "same"


def test_better_by_less_than_a_third_of_the_way_is_as_good():
    table = [
        fare("most", 200.0, speed=18.0),
        fare("other", 100.0, speed=20.0),
        fare("random", 10.0, "random", speed=2.0),
    ]
    assert judge(*table, measures=[SPEED])["speed"].answer == "best"


def test_two_wishes_that_disagree_are_a_matter_of_taste_and_the_goal_decides_above_them():
    wait = {"speed": 1.0, "hits": 0.0}
    drive = {"speed": 20.0, "hits": 8.0}
    found = judge(fare("wait", 200.0, **wait), fare("drive", 100.0, **drive), measures=[SPEED, HITS])
    assert (found["speed"].answer, found["hits"].answer) == ("taste", "best")
    found = judge(
        fare("wait", 200.0, goal=0.0, **wait), fare("drive", 100.0, goal=1.0, **drive), measures=[GOAL, SPEED, HITS]
    )
    assert found["goal"].answer == "worse"


def test_what_the_agent_itself_chooses_makes_up_for_nothing_and_alone_is_advice():
    idle, drive = {"speed": 0.0, "effort": 0.0}, {"speed": 20.0, "effort": 9.0}
    found = judge(fare("idle", 200.0, **idle), fare("drive", 100.0, **drive), measures=[SPEED, EFFORT])
    assert (found["speed"].answer, found["speed"].severity) == ("worse", "warning")
    found = judge(fare("drive", 200.0, effort=9.0), fare("idle", 100.0, effort=0.0), measures=[EFFORT])["effort"]
    assert (found.answer, found.severity) == ("worse", "advice")


def test_a_crash_after_five_steps_is_no_way_to_be_fast():
    steady = fare("steady", 200.0, length=100, speed=15.0, fallen=0.0)
    crash = fare("crash", 20.0, length=5, sign="bad", speed=28.0, fallen=1.0)
    found = judge(steady, crash, measures=[SPEED, FALLEN])
    assert (found["speed"].answer, found["fallen"].answer) == ("same", "best")
    idle = fare("idle", 400.0, speed=0.0, fallen=0.0)
    assert judge(steady, crash, idle, measures=[SPEED, FALLEN])["speed"].wanted is steady
    unsaid = fare("crash", 20.0, length=5, speed=28.0, finals={"speed": 28.0})
    assert judge(fare("steady", 200.0, speed=15.0), unsaid, measures=[SPEED])["speed"].answer != "worse"
    few = fare("crash", 20.0, length=5, sign="bad", hits=0.0)
    assert judge(fare("steady", 200.0, hits=6.0), few, measures=[HITS])["hits"].answer != "worse"


def test_an_early_end_that_is_good_stays_as_it_ended():
    there = fare("there", 20.0, length=5, sign="good", finals={"speed": 20.0}, speed=20.0)
    found = judge(fare("hack", 200.0, speed=3.0), there, measures=[SPEED])["speed"]
    assert found.answer == "worse"


def test_a_crash_that_is_paid_is_a_warning_though_it_is_fast():
    crash = fare("crash", 200.0, length=5, sign="bad", speed=28.0, fallen=1.0, finals={"speed": 28.0})
    found = judge(crash, fare("steady", 20.0, speed=15.0, fallen=0.0), measures=[SPEED, FALLEN])["fallen"]
    assert (found.answer, found.severity) == ("worse", "warning")


@pytest.mark.parametrize(("pay", "answer"), [(2.0, "paid"), (-1.0, "worse")])
def test_where_success_is_paid_more_the_task_is_only_hard(pay, answer):
    reached = np.array([1.0] * 6 + [0.0] * 4)
    risky = fare("risky", np.where(reached, pay, -200.0), goal=reached)
    found = judge(fare("wait", np.linspace(0, 1, SEEDS), "constant", goal=0.0), risky, measures=[GOAL])["goal"]
    assert found.answer == answer


def test_a_wish_below_a_goal_that_nothing_reaches_is_advice():
    table = fare("wait", 200.0, goal=0.0, speed=1.0), fare("drive", 100.0, goal=0.0, speed=20.0)
    found = judge(*table, measures=[GOAL, SPEED])
    assert found["goal"].answer == "unreached"
    assert (found["speed"].answer, found["speed"].severity) == ("worse", "advice")


def test_a_wish_beside_a_goal_that_both_reach_counts_unless_what_earns_most_is_there_sooner():
    spill, careful = fare("spill", 200.0, goal=1.0, hits=9.0), fare("careful", 100.0, goal=1.0, hits=0.0)
    assert judge(spill, careful, measures=[GOAL, HITS])["hits"].severity == "warning"
    slow = fare("careful", 100.0, length=150, goal=1.0, hits=0.0)
    assert judge(spill, slow, measures=[GOAL, HITS])["hits"].answer == "taste"


def test_where_chance_earns_most_nothing_is_known():
    table = fare("random", 200.0, "random", speed=20.0), fare("drive", 100.0, speed=10.0)
    assert judge(*table, measures=[SPEED])["speed"].answer == "chance"


def test_values_that_are_not_paired_are_compared_by_welch():
    one, other = np.array([5.0, 6.0, 7.0, 6.0]), np.array([1.0, 2.0, 1.5, 2.5, 1.0])
    assert is_clearly_above(one, other, paired=False)
    assert not is_clearly_above(one, other + 4.0, paired=False)
    assert not is_clearly_above(one[:1], other, paired=False)
    assert is_clearly_above(np.ones(3), np.zeros(4), paired=False)


def test_four_of_ten_against_none_is_beyond_chance_and_three_are_not():
    none = np.zeros(10)
    assert is_clearly_more_often(np.array([1.0] * 4 + [0.0] * 6), none)
    assert not is_clearly_more_often(np.array([1.0] * 3 + [0.0] * 7), none)
