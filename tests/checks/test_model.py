"""A reward as the checker sees it, and facts that contradict one another."""

import math

import pytest

from plaudit import DefinitionError, Field, Reward, Task, bounds, fact, term
from plaudit.checks.model import UNCLAMPED, Contradiction, RewardModel, find_contradiction
from plaudit.checks.solver.boxes import evaluate
from plaudit.checks.solver.question import Question
from plaudit.checks.solver.solver import Solver
from plaudit.language import nodes as n
from plaudit.schedules import piecewise
from support.written import reward_from


@term
def closer(prev, curr, action, bumped):
    return prev.distance - curr.distance - 0.1 * action - bumped


@fact
def careful(prev, curr):
    return curr.distance <= prev.distance + 2


FIELDS = [Field("distance", low=0, high=10), Field("action", values=(0, 1, 2)), Field("bumped", flag=True)]
TASK = Task(max_change={"distance": 3}, facts=[careful])
REWARD = Reward("walk", version="1", terms=[closer], fields=FIELDS, action="action", task=TASK)


def test_what_a_field_is_to_the_agent():
    model = RewardModel(REWARD)
    roles = {name: model.role(field) for name, field in REWARD.fields.items()}
    assert roles == {"distance": "state", "action": "action", "bumped": "event"}
    assert model.resting_events == {"bumped": 0.0}
    assert list(model.step_ends()) == [("prev.distance", "curr.distance")]


def test_a_number_that_a_goal_reads_or_that_has_a_rate_is_a_state():
    @term
    def near(distance, angle, push):
        return -distance - angle - push

    def arrived(distance):
        return distance < 1

    fields = [Field("distance", low=0, high=9), Field("angle", low=0, high=9), Field("push")]
    task = Task(goal=arrived, rates={"angle": "turning"}, fields=[Field("turning", low=-1, high=1)])
    reward = Reward("r", version="1", terms=[near], fields=fields, task=task)
    assert RewardModel(reward).resting_events.keys() == {"push", "turning"} & {*RewardModel(reward).fields}
    assert "distance" in RewardModel(reward.with_task(task.evolve(goal=None))).resting_events


def test_a_declared_role_goes_before_what_is_guessed():
    task = Task(events=["distance"])
    model = RewardModel(Reward("walk", version="1", terms=[closer], fields=FIELDS, task=task))
    assert model.resting_events.keys() == {"prev.distance", "curr.distance", "action", "bumped"}


def test_a_field_that_only_a_fact_reads_before_the_step_is_a_state():
    @term
    def near(distance):
        return -distance

    @fact
    def calm(prev, distance):
        return abs(distance - prev.distance) <= 1

    fields, task = [Field("distance", low=0, high=9)], Task(facts=[calm])
    reward = Reward("r", version="1", terms=[near], fields=fields, task=task)
    model = RewardModel(reward)
    assert set(model.fields) == {"distance", "prev.distance"}
    assert model.role(model.fields["distance"]) == "state"
    assert list(model.step_ends()) == [("prev.distance", "distance")]
    assert model.facts_about("distance") == ("calm",)


def test_facts_are_named_by_what_they_are_about():
    assert RewardModel(REWARD).facts_about("curr.distance") == ("careful", "distance changes by at most 3 in a step")
    assert RewardModel(REWARD).facts_about("action") == ()
    rising, falling = (REWARD.with_task(Task(monotone={"distance": way})) for way in ("up", "down"))
    assert RewardModel(rising).facts_about("prev.distance") == ("distance only rises",)
    assert RewardModel(falling).facts_about("prev.distance") == ("distance only falls",)


def test_what_is_declared_of_fields_is_told_in_the_order_in_which_they_are_read():
    fields = [Field(name, low=0, high=9) for name in "xy"]
    reward = reward_from("def f(prev, curr): return curr.x - prev.x + curr.y - prev.y", *fields)
    model = RewardModel(reward.with_task(Task(max_change={"y": 1, "x": 1})))
    told = tuple(f"{name} changes by at most 1 in a step" for name in "xy")
    assert model.facts_about("prev.x", "curr.y") == model.facts_about("curr.y", "prev.x") == told


def test_a_row_keeps_facts_steps_and_directions():
    question = Question()
    copy = RewardModel(REWARD).add_row(question)
    program = question.program(copy["total"])
    row = {"prev.distance": 5.0, "curr.distance": 6.0, "action": 0.0, "bumped": 0.0}
    assert evaluate(program, row) == -1
    assert evaluate(program, row | {"curr.distance": 7.5}) == -math.inf  # the fact
    assert evaluate(program, row | {"curr.distance": 1.5}) == -math.inf  # the step
    assert evaluate(program, row | {"curr.distance": 2.0}) == 3


def test_facts_hold_of_renamed_rows_too():
    question = Question()
    names = {"prev.distance": "s", "curr.distance": "t"}
    copy = RewardModel(REWARD).add_row(question, names=names, fixed={"bumped": 0.0, "action": 1.0})
    program = question.program(copy["total"])
    assert set(program.inputs) == {"s", "t"}
    assert evaluate(program, {"s": 5.0, "t": 4.0}) == pytest.approx(0.9)
    assert evaluate(program, {"s": 5.0, "t": 9.0}) == -math.inf


def test_a_step_that_is_fixed_at_one_end_keeps_to_what_is_declared():
    question = Question()
    copy = RewardModel(REWARD).add_row(question, fixed={"prev.distance": 5.0})
    assert Solver(z3=False).maximise(question, copy["total"]).bound == 3


def test_the_sum_before_the_last_clamp_is_an_output():
    reward = Reward("walk", version="1", terms=[closer], fields=FIELDS, low=-1, high=1)
    program = RewardModel(reward).program
    assert isinstance(program.nodes[program.outputs["total"]], n.Clip | n.Min | n.Max)
    question = Question()
    assert Solver(z3=False).maximise(question, question.copy(program)[UNCLAMPED]).bound == 10


def test_conditions_that_cannot_fail_are_left_out():
    safe = reward_from("def f(x): return 1 / (1 + x)", Field("x", low=0, high=1))
    unsafe = reward_from("def f(x): return 1 / x", Field("x", low=0, high=1))
    assert RewardModel(safe).program.value_guards == ()
    assert [guard.why for guard in RewardModel(unsafe).program.value_guards] == ["divides by zero"]


def test_a_row_is_told_with_what_it_really_gets():
    model = RewardModel(REWARD)
    step = model.build_step({"prev.distance": 5.0, "curr.distance": 4.0}, "closer")
    assert step.inputs == {"prev.distance": 5.0, "curr.distance": 4.0, "action": 0.0, "bumped": False}
    assert (step.total, step.note) == (1.0, "closer")
    assert model.build_step({"action": 2.0}, only=frozenset(["action"])).about == ("action",)
    unsafe = RewardModel(reward_from("def f(x): return 1 / x", Field("x", low=0, high=1)))
    assert unsafe.build_step({"x": 0.0}).total is None


def test_a_row_that_stands_alone_is_told_in_plain_numbers():
    model = RewardModel(reward_from("def f(x): return 1 if x > 40 else 0", Field("x", low=0)))
    assert model.build_step({"x": 3.7e205}, plain=True).inputs == {"x": 100.0}
    assert model.build_step({"x": 40.00000001}, plain=True).inputs == {"x": 41.0}
    assert model.build_step({"x": 17.123456}, plain=True).inputs == {"x": 0.0}
    linear = RewardModel(reward_from("def f(x): return x", Field("x", low=0)))
    assert linear.build_step({"x": 17.123456}, plain=True).inputs == {"x": 17.123456}


def test_a_row_in_plainer_numbers_is_one_that_schedules_weigh_the_same():
    @term(weight=piecewise([0.5, -1.0, 3.0], at=[0.5, 3.0], counter="tick"))
    def near(x):
        return x

    reward = Reward("r", version="1", terms=[near], fields=[Field("x"), Field("tick", low=0)])
    step = RewardModel(reward).build_step({"x": 1.0, "tick": 1.123456}, plain=True)
    assert reward.compile("python")(dict(step.inputs)).total == step.total


def test_where_a_term_is_defined():
    place = RewardModel(REWARD).locate("closer")
    assert place.file.endswith("test_model.py")
    assert place.text == "def closer(prev, curr, action, bumped):"
    loaded = Reward.from_json(REWARD.to_json())
    assert RewardModel(loaded).locate("closer") is None
    assert RewardModel(REWARD).locate("total") is None


def test_what_depends_on_what():
    @term(weight=0)
    def silent(x):
        return x

    @term
    def loud(y):
        return y

    fields = [Field("x", low=0, high=1), Field("y", low=0, high=1)]
    model = RewardModel(Reward("r", version="1", terms=[silent, loud], fields=fields))
    assert model.reads_score["silent"] == {"x"}
    assert model.reads["loud"] == {"y"}
    assert "y" in model.reads["total"]


@term
def climb(prev, curr):
    return curr.level - prev.level


@term
def drive(speed):
    return speed / 30


@fact
def sinks(prev, curr):
    return curr.level < prev.level


@fact
def leaps(prev, curr):
    return curr.level > prev.level + 2


@fact
def fast(speed):
    return speed > 50


@fact
def quick(speed):
    return speed > 20


@fact
def slow(speed):
    return speed < 10


@fact
def crawls(speed):
    return speed < 5


CLIMBING = Task(monotone={"level": "up"}, max_change={"level": 1})


def reward(*facts, task=CLIMBING):
    fields = [Field("speed", low=0, high=30), Field("level", low=0, high=99)]
    return Reward("r", version="1", terms=[climb, drive], fields=fields, task=task.evolve(facts=facts))


def contradicted(*facts, **options):
    return find_contradiction(RewardModel(reward(*facts, **options)), Solver())


@pytest.mark.parametrize("facts", [(), (quick,), (slow, crawls)])
def test_facts_that_can_all_be_true(facts):
    assert contradicted(*facts) is None


@pytest.mark.parametrize(
    ("facts", "guilty"),
    [
        ((slow, fast), Contradiction(("fast",))),
        ((slow, quick), Contradiction(("slow", "quick"))),
        ((slow, crawls, quick), Contradiction(("crawls", "quick"))),
        ((slow, sinks), Contradiction(("sinks",), ("level only rises",))),
        ((leaps, slow), Contradiction(("leaps",), ("level changes by at most 1 in a step",))),
    ],
)
def test_only_what_is_guilty_is_named(facts, guilty):
    assert contradicted(*facts) == guilty


def test_a_field_that_changes_freely_contradicts_nothing():
    assert contradicted(sinks, leaps, task=Task()) == Contradiction(("sinks", "leaps"))
    assert contradicted(sinks, task=Task()) is None


def test_a_fact_that_cannot_be_told_is_true_of_no_step():
    @fact
    def halves(speed):
        return 1 / (speed - speed) > 0

    assert contradicted(halves) == Contradiction(("halves",))


def test_among_very_many_declarations_all_are_named(monkeypatch):
    monkeypatch.setattr("plaudit.checks.model.MOST_DECLARED", 3)
    assert contradicted(slow, fast).facts == ("slow", "fast")


def test_the_sentence_names_them():
    assert str(Contradiction(("a",))) == "no step within the declared ranges makes the fact 'a' true"
    assert str(Contradiction(("a", "b"), ("level only rises",))) == (
        "no step within the declared ranges makes the facts 'a' and 'b' true at once, given that level only rises"
    )


def test_there_are_no_bounds_of_what_cannot_happen():
    with pytest.raises(DefinitionError, match="'r' has no bounds: no step within the declared ranges makes the"):
        bounds(reward(slow, quick), facts=True)
    assert bounds(reward(slow, quick)).total.high == 100


def test_a_reward_that_was_loaded_contradicts_itself_as_well():
    loaded = Reward.from_json(reward(slow, quick).to_json())
    found = find_contradiction(RewardModel(loaded), Solver())
    assert found is not None
    assert set(found.facts) == {"slow", "quick"}
