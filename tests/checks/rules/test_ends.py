"""Ends that are cheaper than going on."""

import pytest

from plaudit import Field, Reward, Task, fact, term
from support.asking import really, told

CODE = "cheap-end"
OUTCOME = Field("outcome", values=("none", "win", "fall", "crash"))


@term(weight=-1)
def step():
    return 1


@term(terminal=True)
def end(outcome):
    return 10 if outcome == "win" else -5 if outcome == "fall" else -50 if outcome == "crash" else 0


def reward(*terms, fields=(OUTCOME,), action=None, **task):
    return Reward("r", version="1", terms=terms, fields=fields, action=action, task=Task(**task))


def test_the_suicidal_agent():
    made = reward(step, end)
    (finding,) = told(made, CODE)
    assert (finding.severity, finding.term) == ("advice", "total")
    assert finding.message == (
        "every step that leaves everything as it is costs at least 1, and there is an end that costs 5: less than 6 "
        "more steps. The best end, worth 10 at most, is worth going for only within 15 steps."
    )
    assert really(made, finding) == [-1, -6]
    assert finding.witness[1].inputs == {"terminal": True, "outcome": "fall"}


@pytest.mark.parametrize(
    ("weight", "told_steps"), [(-10, "less than one more step"), (-0.05, None), (-0.0501, "less than 100 more steps")]
)
def test_an_end_that_is_dearer_than_a_hundred_steps_is_not_cheap(weight, told_steps):
    @term(weight=weight)
    def price():
        return 1

    found = told(reward(price, end), CODE)
    assert [told_steps in each.message for each in found] == ([True] if told_steps else [])


@pytest.mark.parametrize(("discount", "costs"), [(0.5, None), (0.8, None), (0.9, "10"), (0.99, "100")])
def test_the_discount_decides_what_going_on_costs(discount, costs):
    found = told(reward(step, end, discount=discount), CODE)
    ending = f"less than going on for ever, which costs {costs} at a discount of {discount}."
    assert [ending in each.message for each in found] == ([True] if costs else [])


def test_flags_make_kinds_of_ends():
    @term(terminal=True)
    def over(won, died):
        return 10 * won - 5 * died

    made = reward(step, over, fields=[Field("won", flag=True), Field("died", flag=True)])
    (finding,) = told(made, CODE)
    assert finding.witness[1].inputs == {"terminal": True, "won": False, "died": True}


def test_an_end_in_a_range_counts_at_its_dearest():
    @term(terminal=True, weight=-1)
    def missed(distance):
        return distance

    made = reward(step, missed, fields=[Field("distance", low=0, high=8)], states=["distance"])
    (finding,) = told(made, CODE)
    assert "an end that costs 8: less than 9 more steps" in finding.message
    assert really(made, finding) == [-1, -9]


def test_an_end_that_may_pay_is_bad_only_where_no_other_is():
    @term(terminal=True)
    def landed(height, late):
        return (50 if height < 1 else -5) - 90 * late

    fields = [Field("height", low=0, high=9), Field("late", flag=True)]
    (finding,) = told(reward(step, landed, fields=fields, states=["height"]), CODE)
    assert "an end that costs 95" in finding.message

    @term(terminal=True)
    def touched(height):
        return 50 if height < 1 else -5

    (finding,) = told(reward(step, touched, fields=fields[:1], states=["height"]), CODE)
    assert "an end that costs 5" in finding.message


def test_where_no_end_is_bad_nothing_is_cheap():
    @term(terminal=True)
    def over(outcome):
        return 1

    assert told(reward(step, fields=[]), CODE) == []
    assert told(reward(step, over, fields=[]), CODE) == []


@pytest.mark.parametrize("death", [0, -0.001])
def test_a_death_for_nothing_is_found_as_one_for_next_to_nothing_is(death):
    @term(terminal=True)
    def over(outcome):
        return 20 if outcome == "win" else death if outcome == "fall" else -50

    made = reward(step, over, discount=0.99)
    (finding,) = told(made, CODE)
    assert "costs nothing more" in finding.message if death == 0 else "costs 0.001" in finding.message
    assert finding.witness[1].inputs["outcome"] == "fall"
    assert "less than going on for ever, which costs 100 at a discount of 0.99." in finding.message
    assert finding.message.endswith("The best end, worth 20 at most, is worth going for only within 20 steps.")
    really(made, finding)


def test_a_death_for_nothing_is_not_cheap_where_the_best_end_is_worth_the_way():
    @term(terminal=True)
    def over(outcome):
        return 200 if outcome == "win" else 0

    assert told(reward(step, over, discount=0.99), CODE) == []
    assert told(reward(step, over, horizon=150), CODE) == []
    assert len(told(reward(step, over, horizon=300), CODE)) == 1


@fact
def falls(angle, terminal):
    return terminal == (abs(angle) > 1)


@term(weight=-1)
def tilt(angle):
    return 0.1 + angle * angle


def upright(angle):
    return abs(angle) < 0.05


TILTING = {"fields": [Field("angle", low=-2, high=2)], "states": ["angle"]}


def test_an_end_that_only_a_fact_tells_of_is_an_end():
    made = reward(tilt, **TILTING, facts=[falls], discount=0.99)
    (finding,) = told(made, CODE)
    assert finding.severity == "advice"
    assert "every step that leaves everything as it is costs at least 0.1" in finding.message
    assert abs(finding.witness[1].inputs["angle"]) > 1
    really(made, finding)
    assert told(reward(tilt, **TILTING, discount=0.99), CODE) == []


def test_with_a_goal_only_other_ends_are_bad():
    @fact
    def arrives(angle, terminal):
        return terminal == (abs(angle) < 0.05)

    assert told(reward(tilt, **TILTING, facts=[arrives], goal=upright, discount=0.99), CODE) == []
    (finding,) = told(reward(tilt, **TILTING, facts=[falls], goal=upright, goal_ends=False, horizon=500), CODE)
    assert "over 500 steps, which costs 50" in finding.message


def test_an_end_may_be_cheap_in_one_zone_alone():
    @term
    def zones(distance):
        return -100 if distance < 5 else -5 if distance < 15 else 1

    @fact
    def crashes(distance, terminal):
        return terminal == (distance < 5)

    gap = {"fields": [Field("distance", low=0, high=100)], "states": ["distance"]}
    made = reward(zones, **gap, facts=[crashes])
    (finding,) = told(made, CODE)
    assert finding.message == (
        "between 5 and 15 of distance every step that leaves everything as it is costs at least 5, and there is an end "
        "that costs 100: less than 21 more steps."
    )
    assert finding.severity == "advice"
    assert really(made, finding) == [-5, -100]
    assert told(reward(zones, **gap, facts=[crashes], discount=0.9), CODE) == []


def test_a_good_end_that_must_be_near_makes_it_a_warning():
    @term(terminal=True)
    def over(outcome):
        return 5 if outcome == "win" else -5 if outcome == "fall" else -50

    assert [each.severity for each in told(reward(step, over, discount=0.99), CODE)] == ["warning"]
    assert [each.severity for each in told(reward(step, end, discount=0.98), CODE)] == ["advice"]


def test_where_a_step_can_be_free_nobody_gives_up():
    @term(weight=-1)
    def effort(force):
        return force

    @term
    def alive():
        return 1

    assert told(reward(end), CODE) == []
    assert told(reward(alive, end), CODE) == []
    made = reward(effort, end, fields=[OUTCOME, Field("force", low=0, high=1)], action="force")
    assert told(made, CODE) == []


def test_a_bad_end_without_bound_is_not_cheap():
    @term(terminal=True, weight=-1)
    def damage(cost):
        return cost

    assert told(reward(step, damage, fields=[Field("cost", low=0)]), CODE) == []
