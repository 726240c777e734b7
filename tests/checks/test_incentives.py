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
        "An agent is paid most to go round (cells_left 3 → 4 → 3): 0.015 a step, 3 over 200 steps; the goal pays 2.04."
    )
    assert check(maze(horizon=20)).summary == (
        "An agent is paid most to reach the goal (cells_left 1 → 0, left true): 2.04."
    )
    assert check(maze(), only="jump").summary == ""


def test_an_event_that_can_come_back_is_told_with_what_it_adds_up_to():
    @term
    def coin(found):
        return 0.3 * found

    def made(**said):
        terms, fields = [coin, step, exit], [*FIELDS, Field("found", flag=True)][1:]
        return Reward("maze", version="1", terms=terms, fields=fields, task=Task(goal=out, horizon=200, **said))

    assert check(made()).summary.endswith("Besides, found true pays 0.29 each time, however often it happens.")
    often = next(each for each in incentives(made(events={"found": 5})) if each.kind == "event")
    assert (often.worth, often.value) == ("1.45 in all, 5 times at most", pytest.approx(1.45))
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


def test_a_discount_says_what_it_adds_up_to():
    worth = {each.kind: each.worth for each in incentives(maze(horizon=None, discount=0.9))}
    assert worth["stay"] == "-0.1 for ever at a discount of 0.9"
    assert worth["goal"] == ""
    assert {each.worth for each in incentives(maze(horizon=None))} == {""}


def test_a_report_says_it_before_any_finding_and_not_where_only_some_rules_are_asked_for():
    report = check(maze())
    text = str(report)
    assert text.index("What pays most:") < text.index("warning")
    assert "  a lap           0.015 a step: cells_left 3 → 4 → 3 (3 over 200 steps)" in text
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
    assert "paid most to stay (height 1,000,000): as much as you like a step" in str(check(made))
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
    with pytest.raises(DefinitionError, match="'maze' pays for nothing: no step .* makes the fact 'never' true"):
        incentives(made)
    assert check(made).incentives == ()


def test_only_a_reward_has_incentives():
    with pytest.raises(DefinitionError, match="incentives takes a Reward, and this is a function"):
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
