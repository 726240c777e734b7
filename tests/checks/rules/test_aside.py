"""Lives that leave the goal aside, and pay far beyond it."""

import pytest

from plaudit import Field, Reward, Task, term
from support.asking import really, told

ASIDE, BEYOND = "goal-untouched", "overshoot"
X, COMFORT = Field("x", low=0, high=10), Field("comfort", low=0, high=1)


@term(weight=10)
def prize(x):
    return x >= 8


@term(weight=0.08)
def ease(comfort):
    return comfort


def arrived(x):
    return x >= 8


def reward(*terms, fields=(X, COMFORT), **task):
    said = {"goal": arrived, "states": [each.name for each in fields], **task}
    return Reward("r", version="1", terms=terms, fields=fields, task=Task(**said))


def test_a_life_that_leaves_the_goal_aside_is_held_against_the_goal():
    made = reward(prize, ease, start={"x": 0}, horizon=100)
    (finding,) = told(made, ASIDE)
    assert finding.severity == "advice"
    assert finding.message == (
        "an agent that ignores the goal 'arrived' and leaves its inputs as they start earns 8 over 100 steps, 79% of the "
        "most that the goal is worth, 10.08."
    )
    assert really(made, finding) == [0.08]
    assert finding.witness[0].inputs == {"x": 0.0, "comfort": 1.0}


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ({"start": {"x": 0}}, 1),
        ({"idle": {"x": 0}}, 1),
        ({"start": {"x": (0, 3)}}, 1),
        ({}, 0),
        ({"start": {"x": 0}, "horizon": 62}, 0),
        ({"start": {"x": 0}, "horizon": 64}, 1),
        ({"start": {"x": 0}, "horizon": 200}, 0),
        ({"start": {"x": 9}}, 0),
        ({"start": {"x": 0}, "horizon": None}, 0),
        ({"start": {"x": 0}, "goal_ends": False}, 0),
    ],
    ids=["start", "idle", "range", "nothing", "less", "half", "more", "in the goal", "no end", "goes on"],
)
def test_it_takes_a_start_and_a_length_and_what_is_worth_more_is_told_as_goal_not_best(said, found):
    made = reward(prize, ease, **{"horizon": 100, **said})
    assert len(told(made, ASIDE)) == found
    assert len(told(made, "goal-not-best")) == (said.get("horizon") == 200)


def test_pay_for_what_the_goal_reads_is_not_left_aside():
    @term(weight=0.01)
    def nearer(x):
        return x

    made = reward(prize, nearer, fields=[X], horizon=100)
    assert told(made.with_task(made.task.evolve(start={"x": 0})), ASIDE) == []
    assert len(told(made.with_task(made.task.evolve(start={"x": 7})), ASIDE)) == 1


# -- beyond the goal ----------------------------------------------------------------------------------------------------

WIDE = Field("x", low=0, high=100, unit="m")


@term
def farther(x):
    return max(0, x - 7.5)


def goes_on(*terms, fields=(WIDE,), **task):
    return reward(*terms, fields=fields, **{"goal_ends": False, **task})


def test_pay_far_beyond_the_edge_of_the_goal_is_found():
    made = goes_on(farther)
    (finding,) = told(made, BEYOND)
    assert finding.severity == "warning"
    assert finding.message == (
        "an agent is paid to overshoot the goal 'arrived': it begins at x 8 m, where staying pays 0.5 a step, but "
        "staying at 100 m pays 92.5."
    )
    assert "better={'x': 'high'}" in finding.advice
    assert really(made, finding) == [0.5, 92.5]


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ({}, 1),
        ({"goal_ends": True}, 0),
        ({"better": {"x": "high"}}, 0),
        ({"better": {"x": "low"}}, 0),
        ({"aim": {"x": 100}}, 0),
        ({"aim": {"x": 8}}, 1),
    ],
    ids=["empty", "goal ends", "more wanted", "less wanted", "aim beyond", "aim at the edge"],
)
def test_what_the_task_wants_beyond_the_goal_is_no_overshoot(said, found):
    assert len(told(goes_on(farther, **said), BEYOND)) == found


def test_a_goal_may_begin_just_past_its_edge_or_lie_below_it():
    def passed(x):
        return x > 8

    made = goes_on(farther, goal=passed)
    (finding,) = told(made, BEYOND)
    assert finding.message == (
        "an agent is paid to overshoot the goal 'passed': it begins at x 8 m, and staying at 8.092 m pays 0.592 a step, "
        "but staying at 100 m pays 92.5."
    )
    really(made, finding)

    @term
    def deeper(x):
        return max(0, 2.5 - x)

    def below(x):
        return x <= 2

    made = goes_on(deeper, goal=below, fields=[Field("x", low=-50, high=9)])
    (finding,) = told(made, BEYOND)
    assert finding.message.endswith("begins at x 2, where staying pays 0.5 a step, but staying at -50 pays 52.5.")
    assert "better={'x': 'low'}" in finding.advice


def test_pay_without_bound_is_told_without_a_number_nobody_can_read():
    made = goes_on(farther, fields=[Field("x", low=0)])
    (finding,) = told(made, BEYOND)
    assert finding.message.endswith("pays 0.5 a step, but staying far beyond it pays an unbounded amount.")
    really(made, finding)


def test_what_is_best_between_two_edges_is_a_target_and_not_beyond_the_goal():
    @term
    def centred(x):
        return max(0, 10 - abs(x - 50))

    def in_band(x):
        return 40 <= x <= 60

    assert told(goes_on(centred, goal=in_band), BEYOND) == []


@pytest.mark.parametrize("text", ["level", "target", "steady", "raised"])
def test_pay_that_levels_off_or_rises_as_before_is_no_overshoot(text):
    @term
    def level(x):
        return min(8, x)

    @term
    def target(x):
        return 0.2 - abs(x - 9)

    @term
    def steady(x):
        return 0.01 * x

    @term
    def raised(x):
        return 5 + max(0, 0.2 * (x - 7.9))

    made = {"level": level, "target": target, "steady": steady, "raised": raised}[text]
    fields = [Field("x", low=0, high=20)]
    assert told(goes_on(made, fields=fields), BEYOND) == []
