"""Ends that are cheaper than going on."""

import pytest

from plaudit import Field, Reward, Task, check, fact, term
from support.asking import really, told
from support.played import make_steps

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
        "an agent may give up: each step that changes nothing costs at least 1, and there is an end that costs 5, less "
        "than 6 more steps. The best end, worth at most 10, is worth pursuing only within 15 steps."
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
    ending = f"less than going on over an infinite horizon, which costs {costs} at discount {discount}."
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
    assert "an end that costs 8, less than 9 more steps" in finding.message
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
    assert "costs nothing extra" in finding.message if death == 0 else "costs 0.001" in finding.message
    assert finding.witness[1].inputs["outcome"] == "fall"
    assert "less than going on over an infinite horizon, which costs 100 at discount 0.99." in finding.message
    assert finding.message.endswith("The best end, worth at most 20, is worth pursuing only within 19 steps.")
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
    assert "each step that changes nothing costs at least 0.1" in finding.message
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
        "an agent may give up: with distance between 5 and 15, each step that changes nothing costs at least 5, and "
        "there is an end that costs 100, less than 21 more steps."
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


# -- ends that the task calls bad ---------------------------------------------------------------------------------------

X, FALLEN = Field("x", low=0, high=10), Field("fallen", flag=True)


@term(weight=20)
def home(x):
    return x > 9


@term(weight=-5)
def fell(fallen):
    return fallen


@term(weight=-0.1)
def away(x):
    return 10 - x


def there(x):
    return x > 9


def off(x):
    return x < 0.5


def walk(*terms, fields=(X,), **task):
    return reward(*terms, fields=fields, **{"states": ["x"], "goal": there, "horizon": 100, **task})


def test_a_flag_that_a_term_reads_is_an_end_that_costs():
    made = walk(step, home, fell, fields=[X, FALLEN], ends={"fallen": "bad"})
    (finding,) = told(made, CODE)
    assert finding.severity == "advice"
    assert finding.message == (
        "an agent may give up: each step that changes nothing costs 1, and the bad end 'fallen' costs 5, less than going "
        "on over 100 steps, which costs 100. The goal, worth at most 19, is worth pursuing only within 25 steps."
    )
    assert really(made, finding) == [-1, -6]
    assert [each.inputs["fallen"] for each in finding.witness] == [False, True]
    assert told(walk(step, home, fell, fields=[X, FALLEN], ends={"fallen": "good"}), CODE) == []
    assert told(walk(step, home, fell, fields=[X, FALLEN]), CODE) == []


def test_a_flag_that_no_term_reads_is_an_end_for_nothing():
    made = walk(step, home, fields=[X, FALLEN], ends={"fallen": "bad"})
    (finding,) = told(made, CODE)
    assert "and the bad end 'fallen' costs nothing extra, less than going on over 100 steps" in finding.message
    assert "within 20 steps" in finding.message
    assert really(made, finding) == [-1, -1]


def test_a_function_says_where_an_end_is_and_its_witness_is_there():
    made = walk(step, home, ends={"off": ("bad", off)})
    (finding,) = told(made, CODE)
    assert "the bad end 'off' costs nothing extra" in finding.message
    assert off(finding.witness[1].inputs["x"])
    really(made, finding)


def test_a_bad_end_that_pays_is_told_as_one():
    @term
    def thrill(fallen):
        return 3 * fallen

    made = walk(step, home, thrill, fields=[X, FALLEN], ends={"fallen": "bad"})
    (finding,) = told(made, CODE)
    assert "the bad end 'fallen' pays 3, less than going on" in finding.message
    assert really(made, finding) == [-1, 2]


@pytest.mark.parametrize("price", [0, 0.001], ids=["free", "dear"])
def test_of_several_bad_ends_the_cheapest_is_told(price):
    @term(weight=-1)
    def damage(fallen, hit):
        return 50 * fallen + price * hit

    fields = [X, FALLEN, Field("hit", flag=True)]
    (finding,) = told(walk(step, home, damage, fields=fields, ends={"fallen": "bad", "hit": "bad"}), CODE)
    assert "the bad end 'hit' costs" in finding.message


@pytest.mark.parametrize(("discount", "within"), [(None, 25), (0.99, 24), (0.9, None)])
def test_within_the_steps_that_are_told_the_goal_is_better_than_giving_up_and_not_after_them(discount, within):
    made = walk(step, home, fell, fields=[X, FALLEN], ends={"fallen": "bad"}, horizon=None, discount=discount)
    found = told(made, CODE)
    assert [f"only within {within} steps." in each.message for each in found] == ([True] if within else [])
    if within is None:
        return
    gamma, give_up = discount or 1.0, found[0].witness[1].total
    steps, goal = found[0].witness[0].total, 19

    def finish(after):
        return sum(steps * gamma**at for at in range(after - 1)) + goal * gamma ** (after - 1)

    assert finish(within) > give_up >= finish(within + 1)


def test_a_goal_that_pays_nothing_is_never_better_than_giving_up():
    made = walk(step, ends={"off": ("bad", off)})
    (finding,) = told(made, CODE)
    assert finding.severity == "warning"
    assert finding.message.endswith("The goal, worth at most -1, is never better than giving up.")


def test_where_the_goal_is_worth_every_step_there_is_nobody_gives_up():
    assert told(walk(step, home, ends={"off": ("bad", off)}, horizon=21), CODE) == []
    assert len(told(walk(step, home, ends={"off": ("bad", off)}, horizon=23), CODE)) == 1


@pytest.mark.parametrize(("prize", "found"), [(20, 1), (98, 1), (150, 0)])
def test_where_no_horizon_is_declared_a_goal_worth_more_than_a_hundred_steps_is_not_given_up(prize, found):
    made = walk(step, home, ends={"off": ("bad", off)}, horizon=None).with_weights(home=prize)
    assert len(told(made, CODE)) == found


def test_how_far_the_goal_is_at_least_decides_how_grave_it_is():
    ends, start = {"off": ("bad", off)}, {"x": 4}
    (far,) = told(walk(step, home, ends=ends, start=start, max_change={"x": 0.3}), CODE)
    assert far.severity == "warning"
    assert far.message.endswith("only within 20 steps, and it takes at least 17.")
    (near,) = told(walk(step, home, ends=ends, start=start, max_change={"x": 1}), CODE)
    assert near.severity == "advice"
    assert near.message.endswith("only within 20 steps, and it takes at least 5.")
    (unknown,) = told(walk(step, home, ends=ends, max_change={"x": 0.3}), CODE)
    assert "takes" not in unknown.message


def test_a_goal_that_is_far_by_declaration_counts_without_a_horizon():
    made = walk(step, home, ends={"off": ("bad", off)}, start={"x": 0}, max_change={"x": 0.1}, horizon=None)
    (finding,) = told(made.with_weights(home=120), CODE)
    assert finding.severity == "warning"
    assert finding.message.endswith("only within 120 steps, and it takes at least 90.")


def test_an_episode_may_begin_anywhere_in_a_range_and_the_nearest_end_of_it_counts():
    ends = {"off": ("bad", off)}
    (finding,) = told(walk(step, home, ends=ends, start={"x": (1, 4)}, max_change={"x": 0.5}), CODE)
    assert finding.message.endswith("and it takes at least 10.")


def test_how_far_a_field_moves_may_have_been_seen():
    made = walk(step, home, ends={"off": ("bad", off)}, start={"x": 4})
    steps = make_steps({"x": [4, 4.2, 4.1, 4.4, 4.4]})
    (finding,) = check(made, only=[CODE], steps=steps).findings
    assert (finding.severity, finding.message.endswith("and it takes at least 17.")) == ("warning", True)


def test_an_idle_life_that_costs_is_held_against_a_bad_end():
    made = walk(away, fell, fields=[X, FALLEN], ends={"fallen": "bad"}, idle={"x": 0})
    (finding,) = told(made, CODE)
    assert finding.severity == "warning"
    assert finding.message == (
        "an agent may give up: each step of doing nothing costs 1, and the bad end 'fallen' costs 5, less than going on "
        "over 100 steps, which costs 100. The goal, worth at most 0, is worth pursuing only within about 11 steps."
    )
    assert really(made, finding) == [-1, -6]
    (elsewhere,) = told(walk(away, fell, fields=[X, FALLEN], ends={"fallen": "bad"}), CODE)
    assert elsewhere.severity == "advice"
    assert "each step that changes nothing costs 0.1" in elsewhere.message
