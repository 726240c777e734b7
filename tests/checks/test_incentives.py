"""What pays most: the best step, places to stay, a lap, the goal, ends, and doing nothing."""

import json

import pytest

import plaudit
from plaudit import DefinitionError, Field, Reward, Task, check, fact, incentives, term
from plaudit.checks.formats.json import format_json
from plaudit.checks.report import LocatedReport
from plaudit.checks.rules import staying
from plaudit.checks.rules.state_graph import StateGraph
from plaudit.checks.solver.deadline import TIME_IS_UP
from support.asking import really

FIELDS = [Field("cells_left", low=0, high=35), Field("left", flag=True)]


@term(weight=0.05, kind="shaping")
def closer(prev, curr):
    return max(0.0, prev.cells_left - curr.cells_left)


@term(weight=-0.01, kind="penalty")
def step():
    return 1.0


@term(kind="goal", terminal=True, weight=2)
def exit(left):
    return left


@term(kind="penalty", terminal=True, weight=-1)
def gave_up(left):
    return not left


def out(left):
    return left


TASK = Task(goal=out, idle={"cells_left": 3.0}, horizon=200, max_change={"cells_left": 1})


def maze(**said):
    terms = [closer, step, exit, gave_up]
    return Reward("maze", version="1", terms=terms, fields=FIELDS, task=TASK.evolve(**said))


def test_every_way_of_life_has_its_pay_and_a_witness_that_was_run():
    found = {each.kind: each for each in incentives(maze())}
    assert list(found) == ["lap", "goal", "bad end", "stay", "idle"]
    pays = {kind: each.pay for kind, each in found.items()}
    assert pays == pytest.approx({"lap": 0.015, "goal": 2.04, "bad end": -1, "stay": -0.01, "idle": -0.01})
    assert [each.value for each in found.values()] == pytest.approx([3, 2.04, -1, -2, -2])
    assert found["lap"].where == "cells_left 3 → 4 → 3"
    assert found["goal"].where == "cells_left 1 → 0, left true"
    assert found["idle"].worth == "-2 over 200 steps"
    assert [really(maze(), each)[0] for each in found.values()] == pytest.approx([-0.01, 2.04, -1.01, -0.01, -0.01])


def test_a_sentence_says_first_what_an_agent_is_paid_most_to_do():
    assert check(maze()).summary == (
        "An agent earns the most by repeating a cycle (cells_left 3 → 4 → 3): 0.015 a step, 3 over 200 steps; the goal pays 2.04."
    )
    assert check(maze(horizon=20)).summary == (
        "An agent earns the most by reaching the goal (cells_left 1 → 0, left true): 2.04."
    )
    assert check(maze(), only="jump").summary == ""


def test_an_event_that_can_come_back_is_told_with_what_it_adds_up_to():
    @term
    def coin(found):
        return 0.3 * found

    def made(**said):
        terms, fields = [coin, step, exit], [*FIELDS, Field("found", flag=True)][1:]
        return Reward("maze", version="1", terms=terms, fields=fields, task=Task(goal=out, horizon=200, **said))

    assert check(made()).summary.endswith(
        "In addition, found true pays 0.29 each time it happens, with no declared limit."
    )
    often = next(each for each in incentives(made(events={"found": 5})) if each.kind == "event")
    assert (often.worth, often.value) == ("1.45 in total, at most 5 times", pytest.approx(1.45))
    assert "Besides" not in check(made(events={"found": 5})).summary


def test_a_speed_is_kept_up_and_a_step_that_reaches_the_goal_is_not_idle():
    @term
    def pace(speed):
        return speed

    def there(distance):
        return distance == 0

    fields = [Field("speed", low=0, high=6, unit="m/s")]
    task = Task(goal=there, fields=[Field("distance", low=0, high=9)], idle={"speed": 1}, horizon=10)
    made = Reward("sail", version="1", terms=[pace], fields=fields, task=task)
    (moving,) = [each for each in incentives(made) if each.kind == "pace"]
    assert (moving.pay, moving.where, moving.worth) == (6, "speed 6 m/s", "60 over 10 steps")
    assert "idle" not in {each.kind for each in incentives(made)}


def summary(terms, fields, **said):
    return check(Reward("r", version="1", terms=terms, fields=fields, task=Task(**said))).summary


def test_potentials_that_pay_for_staying_pay_as_much_for_going():
    @term
    def nearer(prev, curr):
        return prev.distance - 0.99 * curr.distance

    @term
    def there(distance):
        return 10.0 if distance < 1 else 0.0

    def arrived(distance):
        return distance < 1

    said = summary(
        [nearer, there], [Field("distance", low=0, high=50)], goal=arrived, discount=0.99, max_change={"distance": 3}
    )
    assert said.startswith("An agent earns the most by reaching the goal")


def test_where_there_is_no_state_to_stay_in_the_best_step_is_told():
    @term
    def profit(price, sold):
        return price * sold

    fields = [Field("price", low=-1, high=1), Field("sold", low=-5, high=5)]
    said = summary([profit], fields, idle={"sold": 0}, horizon=288)
    assert said in {
        f"An agent earns the most by taking the best single step (price {x}, sold {5 * x}): 5." for x in (1, -1)
    }


def test_a_speed_that_idling_does_not_have_is_kept_up_and_told_once():
    @term
    def track(error):
        return 1 / (1 + error * error)

    task = Task(idle={"error": 3.0}, horizon=10)
    made = Reward("r", version="1", terms=[track], fields=[Field("error", low=-3, high=3, unit="m/s")], task=task)
    told = incentives(made)
    assert [(each.kind, each.pay) for each in told] == [("pace", 1.0), ("stay", 0.1), ("idle", 0.1)]
    assert (
        check(made).summary
        == "An agent earns the most by keeping up a speed (error 0 m/s): 1 a step, 10 over 10 steps."
    )


def test_a_goal_that_goes_on_comes_before_staying_in_it_and_is_not_called_rest():
    @term(weight=-1)
    def far(distance):
        return distance

    def arrived(distance):
        return distance < 1

    field = Field("distance", low=0, high=5)
    assert summary([far], [field], goal=arrived, goal_ends=False, horizon=9) == (
        "An agent earns the most by reaching the goal: 0."
    )


def test_an_end_that_no_term_reads_is_told_by_its_name():
    @term
    def alive():
        return 1.0

    task = Task(ends={"fallen": "bad"}, fields=[Field("fallen", flag=True)], horizon=9)
    assert {
        each.kind: each.where for each in incentives(Reward("r", version="1", terms=[alive], fields=[], task=task))
    }["bad end"] == "fallen"


def test_a_bad_end_is_told_in_numbers_that_end_and_beside_a_step_that_does_not():
    @term
    def level(sugar):
        return -((sugar - 112) ** 2)

    def low(sugar):
        return sugar < 25

    task = Task(aim={"sugar": 112}, ends={"low": ("bad", low)}, horizon=480, max_change={"sugar": 10})
    made = Reward("r", version="1", terms=[level], fields=[Field("sugar", low=20, high=600)], task=task)
    told = {each.kind: each for each in incentives(made)}
    ended, going_on = told["bad end"].witness
    assert ended.inputs["sugar"] < 25 <= going_on.inputs["sugar"]
    assert check(made).summary.startswith("An agent earns the most by staying put (sugar 112)")


def test_in_an_episode_of_one_step_nothing_happens_again():
    @term
    def right(correct):
        return correct

    @term(weight=0.1)
    def tags(tagged):
        return tagged

    def solved(correct):
        return correct

    fields = [Field("correct", flag=True), Field("tagged", flag=True)]
    assert summary([right, tags], fields, goal=solved, horizon=1) == (
        "An agent earns the most by reaching the goal (correct true, tagged true): 1.1."
    )


def test_a_discount_says_what_it_adds_up_to():
    worth = {each.kind: each.worth for each in incentives(maze(horizon=None, discount=0.9))}
    assert worth["stay"] == "-0.1 over an infinite horizon at discount 0.9"
    assert worth["goal"] == ""
    assert {each.worth for each in incentives(maze(horizon=None))} == {""}


def test_a_report_says_it_before_any_finding_and_not_where_only_some_rules_are_asked_for():
    report = check(maze())
    text = str(report)
    assert text.index("Best-paid behaviors:") < text.index("warning")
    assert "  a cycle         0.015 a step: cells_left 3 → 4 → 3 (3 over 200 steps)" in text
    assert report.incentives == incentives(maze())
    assert check(maze(), only="jump").incentives == ()


def test_json_holds_it_without_loss():
    report = check(maze())
    (data,) = json.loads(json.dumps(format_json([LocatedReport(report)])))["rewards"]
    lap = next(each for each in data["incentives"] if each["kind"] == "lap")
    assert lap["pay"] == pytest.approx(0.015)
    assert [row["total"] for row in lap["witness"]] == pytest.approx([-0.01, 0.04])
    assert len(data["incentives"]) == len(report.incentives)


def test_the_rules_read_what_was_worked_out_for_it(monkeypatch):
    counts = {"stays": 0, "laps": 0}

    def count(what, function):
        def counted(*given, **named):
            counts[what] += 1
            return function(*given, **named)

        return counted

    monkeypatch.setattr(staying, "_find_stays", count("stays", staying._find_stays))
    monkeypatch.setattr(StateGraph, "laps", count("laps", StateGraph.laps))
    assert {"loop-that-pays"} <= {finding.code for finding in check(maze(goal=None))}
    assert counts == {"stays": 1, "laps": 1}


def test_what_has_no_bound_is_no_number():
    @term
    def high(height):
        return height

    task = Task(states=["height"])
    made = Reward("r", version="1", terms=[high], fields=[Field("height", low=0)], task=task)
    assert "earns the most by staying put (height 1,000,000): an unbounded amount a\nstep." in str(check(made))
    assert [each.pay for each in incentives(made)] == [float("inf")]
    assert all(0 < total <= 1e6 for each in incentives(made) for total in really(made, each))


def test_what_may_be_more_is_said_to_be_more():
    @term
    def tangled(x, y):
        return max(x, y) - max(y, x)

    fields, task = [Field(name, low=0, high=1) for name in "xy"], Task(states=["x", "y"])
    made = Reward("r", version="1", terms=[tangled], fields=fields, task=task)
    first, *_ = incentives(made, z3=False)
    assert first.pay == 0 < first.bound
    assert "0 or more" in check(made, z3=False).summary


def test_facts_that_contradict_each_other_leave_nothing_to_want():
    @fact
    def never(cells_left):
        return cells_left > 99

    made = maze(facts=[never])
    with pytest.raises(DefinitionError, match="'maze' has no incentives: no step .* makes the fact 'never' true"):
        incentives(made)
    assert check(made).incentives == ()


def test_only_a_reward_has_incentives():
    with pytest.raises(DefinitionError, match="incentives takes a Reward, not a function"):
        incentives(lambda x: x)
    assert plaudit.incentives is incentives


def test_a_fault_of_it_stops_no_rule(monkeypatch):
    monkeypatch.setattr("plaudit.checks.incentives.find_laps", lambda context: 1 / 0)
    report = check(maze())
    assert [each.code for each in report.failed] == ["incentives"]
    assert report.incentives == ()
    assert report.findings


def test_what_there_is_no_time_for_is_left_out():
    @fact
    def inside(cells_left):
        return cells_left >= 0

    assert incentives(maze(facts=[inside]), timeout=1e-9) == ()
    report = check(maze(), timeout=1e-9)
    assert not report.findings
    assert set(report.skipped.values()) == {TIME_IS_UP, "no outcome episodes were given"}


def test_a_timeout_that_never_comes_is_refused():
    with pytest.raises(DefinitionError, match="timeout=0 must be a positive"):
        incentives(Reward("r", version="1", terms=[step], fields=[]), timeout=0)


def test_a_stay_whose_pay_depends_on_numbers_is_not_called_any_state():
    @term
    def upright(angle):
        return 1 - abs(angle)

    [found] = incentives(Reward("r", version="1", terms=[upright], fields=[Field("angle", low=-1, high=1)]))
    assert (found.where, found.pay, found.witness[0].inputs) == ("everything at rest", 1, {"angle": 0.0})
