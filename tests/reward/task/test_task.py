"""A task by itself: what can be said, what is refused, and that it never changes but for those who evolve it."""

import copy
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

from plaudit import DefinitionError, End, Event, Field, Rate, Seen, Task, fact, prefer, term
from plaudit.errors import DuplicateName
from support.landing import NEAR, TASK, landed, light, sinks, tilted


def test_what_is_said_is_kept_in_one_form():
    assert TASK.ends["crashed"] == End("bad")
    assert (TASK.ends["tilted"].sign, TASK.ends["tilted"].when.name) == ("bad", "tilted")
    assert TASK.events == {"touch": Event(renews=3, rate=0.25), "crashed": Event(at_most=1), "blink": Event()}
    assert TASK.rates == {"height": Rate("speed"), "angle": Rate("spin", 0.02), "fuel": Rate("thrust", -0.5)}
    assert TASK.idle == {"thrust": 0, "prev.speed": 1.5, "wind": [0.0, math.inf], "mode": "off"}
    assert Task(events=["touch"], states=["x", "x"]).events == {"touch": Event()}
    assert Task(states=["x", "x"]).states == ("x",)
    assert [TASK.find_role(name) for name in ("height", "thrust", "touch", "fuel")] == [
        "state",
        "action",
        "event",
        None,
    ]


def test_what_is_given_may_change_later_and_the_task_does_not():
    better, states = {"fuel": "high"}, ["height"]
    task = Task(better=better, states=states)
    better["fuel"] = "low"
    states.append("speed")
    assert (task.better, task.states) == ({"fuel": "high"}, ("height",))
    for change in (lambda: setattr(task, "better", {}), lambda: setattr(task, "x", 1), lambda: delattr(task, "better")):
        with pytest.raises(AttributeError, match="a task is immutable"):
            change()
    with pytest.raises(TypeError):
        task.better["fuel"] = "low"


def test_a_statement_is_declared_seen_or_nobodys():
    assert TASK.find_basis("rates", "angle") == "seen"
    assert TASK.find_basis("facts", "light") == TASK.find_basis("horizon") == "seen"
    assert (
        TASK.find_basis("rates", "height") == TASK.find_basis("facts", "sinks") == TASK.find_basis("goal") == "declared"
    )
    assert TASK.find_basis("prefer", "0") == TASK.find_basis("better") == "declared"
    assert TASK.find_basis("rates", "spin") == TASK.find_basis("facts", "heavy") == "default"
    assert Task().find_basis("discount") == Task().find_basis("better") == "default"


def test_what_says_nothing_is_empty():
    assert Task().is_empty
    assert Task("named", version="2", doc="Nothing yet.").is_empty
    assert not Task(still=["x"]).is_empty
    assert repr(Task()) == "Task(task@1: empty)"
    assert repr(Task("t", goal=landed, better={"a": "low", "b": "low"})) == "Task(t@1: goal, better 2)"


# -- others of its kind ----------------------------------------------------------------------------------------------


def test_another_task_keeps_what_does_not_change():
    assert TASK.evolve() == TASK
    other = TASK.evolve(version="4", horizon=300, goal=None)
    assert (other.version, other.horizon, other.goal, other.better) == ("4", 300, None, TASK.better)
    assert (TASK.version, TASK.horizon) == ("3", 500)


def test_what_a_person_changes_is_no_longer_seen():
    other = TASK.evolve(horizon=300, rates={**TASK.rates, "angle": ("spin", 0.05)})
    assert other.find_basis("horizon") == other.find_basis("rates", "angle") == "declared"
    assert other.find_basis("facts", "light") == "seen"

    @fact
    def light(fuel):
        return fuel <= 11

    assert TASK.evolve(facts=[sinks, light]).find_basis("facts", "light") == "declared"
    assert "facts.light" not in TASK.evolve(facts=[sinks]).seen
    assert TASK.evolve(horizon=500).find_basis("horizon") == "seen"  # the same is said


def test_two_tasks_merge_and_declarations_count_before_what_was_seen():
    declared = Task("mine", better={"fuel": "high"}, states=["height"], horizon=400, prefer=[NEAR])
    seen = Task(
        better={"fuel": "low", "speed": "low"},
        events=["height", "touch"],
        horizon=200,
        discount=0.9,
        prefer=[NEAR],
        facts=[light],
        source="env",
        seen={"horizon": Seen(4, 4, "episodes"), "events.touch": Seen(3, 9), "facts.light": Seen(9, 9)},
    )
    for merged in (declared.merge(seen), seen.merge(declared)):
        assert (merged.horizon, merged.discount, merged.source) == (400, 0.9, "env")
        assert merged.find_role("touch") == "event"
        assert merged.prefer == (NEAR,)
        assert merged.find_basis("horizon") == "declared"
        assert merged.find_basis("events", "touch") == merged.find_basis("facts", "light") == "seen"
    assert declared.merge(seen).better == {"fuel": "high", "speed": "low"}
    assert declared.merge(seen).find_role("height") == "state"
    assert declared.merge(seen).name == "mine"
    assert Task().merge(TASK) == TASK.evolve(name="task", version="1", doc="")


def test_a_goal_of_another_task_comes_with_whether_it_ends():
    assert not Task().merge(TASK).goal_ends
    assert Task(goal=tilted).merge(TASK).goal_ends


# -- identity --------------------------------------------------------------------------------------------------------


def test_copies_are_the_task_and_a_pickle_is_equal():
    assert copy.copy(TASK) is copy.deepcopy(TASK) is TASK
    again = pickle.loads(pickle.dumps(TASK))
    assert again == TASK
    assert hash(again) == hash(TASK)
    assert again.find_basis("rates", "angle") == "seen"


SAID = {
    "goal": None,
    "goal_ends": True,
    "better": {"fuel": "low"},
    "aim": {"angle": 1},
    "prefer": [],
    "ends": {"crashed": "good"},
    "discount": 0.9,
    "fields": [Field("fuel", low=0, high=9)],
    "states": ["height"],
    "actions": [],
    "events": ["touch"],
    "idle": {},
    "start": {"height": 5},
    "horizon": 499,
    "rates": {"height": ("speed", 0.1)},
    "max_change": {"speed": 3},
    "monotone": {},
    "still": [],
    "facts": [sinks],
}


@pytest.mark.parametrize("part", SAID)
def test_everything_that_is_said_is_in_the_fingerprint(part):
    other = TASK.evolve(**{part: SAID[part]})
    assert other.fingerprint != TASK.fingerprint
    assert other != TASK


def test_names_sentences_and_counts_are_not_in_the_fingerprint():
    def landed(height, speed, *, slow=1.0):  # said otherwise
        return height <= 0 and (speed < slow)

    counts = dict.fromkeys(TASK.seen, Seen(1, 1))
    other = TASK.evolve(name="other", version="9", doc="", source="elsewhere", goal=landed, seen=counts)
    assert other.fingerprint == TASK.fingerprint
    assert other != TASK


# -- what is refused -------------------------------------------------------------------------------------------------

WRONG = {
    "no name": ({"name": " "}, "a task's name must be a printable string"),
    "a name of two lines": ({"name": "a\nb"}, "a task's name must be a printable string"),
    "a version that is a number": ({"version": 2}, "a task's version must be a printable string"),
    "a doc": ({"doc": None}, "doc=None must be a string"),
    "a goal that is a string": (
        {"goal": "height <= 0"},
        "goal= must be a plain function of a step that returns a bool",
    ),
    "a goal that is a term": ({"goal": term(landed)}, "goal= must be a plain function of a step that returns a bool"),
    "goal_ends": ({"goal_ends": 1}, "goal_ends=1 must be a bool"),
    "better in a list": ({"better": ["fuel"]}, "better= must map field names"),
    "a direction": ({"better": {"fuel": "up"}}, "better={'fuel': 'up'} is not one of 'low', 'high'"),
    "a name": ({"better": {"fuel level": "low"}}, "better= names 'fuel level', which is not a plain identifier"),
    "both": ({"better": {"x": "low"}, "aim": {"x": 1}}, "better= and aim= both name 'x'"),
    "an endless aim": ({"aim": {"x": math.inf}}, "aim of 'x'=inf must be a finite number"),
    "an aim that is a string": ({"aim": {"x": "1"}}, "aim of 'x'='1' must be a finite number"),
    "a preference": ({"prefer": [{"x": 1}]}, "is not a preference; write prefer"),
    "one preference": ({"prefer": NEAR}, "prefer= must be a list"),
    "a value": ({"prefer": [prefer({"x": object()}, over={"x": 1})]}, "which is not a value that the field allows"),
    "an end": ({"ends": {"x": "awful"}}, "ends={'x': 'awful'} is not one of 'good', 'bad', 'time'"),
    "an end that is no function": ({"ends": {"x": ("bad", 3)}}, "ends= must be a plain function"),
    "discount 0": ({"discount": 0}, "discount=0 must be above 0 and at most 1"),
    "a field": ({"fields": ["fuel"]}, "'fuel' is not a Field"),
    "one field": ({"fields": "fuel"}, "fields= must be a list of Field"),
    "a field by another name": ({"fields": {"y": Field("x")}}, "a field under 'y', which is not its name"),
    "states in a string": ({"states": "height"}, "states= must be a list of field names"),
    "states in lists": ({"states": [["height"]]}, "states= names ['height']"),
    "two roles": (
        {"states": ["x"], "events": ["x"]},
        "'x' is in both its states and its events; it can only be in one",
    ),
    "an event that never happens": ({"events": {"x": 0}}, "'x': an event's at_most=0 must be an integer of at least 1"),
    "an event that is True": ({"events": {"x": True}}, "at_most=True must be an integer"),
    "an event that is often": ({"events": {"x": "often"}}, "must be an Event(...) or the maximum number of times"),
    "idle": ({"idle": 3}, "idle= must map inputs to values"),
    "an idle nothing": ({"idle": {"x": None}}, "idle= has x=None, which is not a value that the field allows"),
    "an idle NaN": ({"idle": {"x": math.nan}}, "which is not a value that the field allows"),
    "an idle twice": ({"idle": {"prev": {"x": 1}, "prev.x": 2}}, "gives 'prev.x' twice"),
    "an input that is none": ({"idle": {"next.x": 1}}, "idle= names 'next.x', which is not an input"),
    "a start": ({"start": {"x": (3, 1)}}, "start= of 'x' must be a value or (low, high), not (3, 1)"),
    "half a step": ({"horizon": 1.5}, "horizon=1.5 must be an integer of at least 1"),
    "an endless horizon": ({"horizon": math.inf}, "horizon=inf must be a finite number"),
    "its own rate": ({"rates": {"x": "x"}}, "rates= names 'x' as its own rate"),
    "no time": ({"rates": {"x": ("v", 0)}}, "dt must not be 0"),
    "a time that is a string": ({"rates": {"x": Rate("v", "1")}}, "dt='1' must be a finite number"),
    "a rate": ({"rates": {"x": 3}}, "must be the name of a field, or (name, dt)"),
    "no change": ({"max_change": {"x": 0}}, "max_change={'x': 0} must be a finite number above 0"),
    "sideways": ({"monotone": {"x": "sideways"}}, "is not one of 'up', 'down'"),
    "a plain function": ({"facts": [tilted]}, "is not a fact; decorate the function with @fact"),
    "seen and not said": ({"seen": {"horizn": Seen(1, 1)}, "horizon": 3}, "Did you mean 'horizon'?"),
    "seen by hand": ({"seen": {"horizon": "3 of 3"}, "horizon": 3}, "is not a Seen(count, of)"),
    "seen in a list": ({"seen": ["horizon"], "horizon": 3}, "seen= must map statements to Seen(count, of)"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_makes_no_sense_is_refused_in_one_message(name):
    said, message = WRONG[name]
    with pytest.raises(DefinitionError) as caught:
        Task(**said)
    assert message in str(caught.value)
    assert str(caught.value).startswith(("task 'task'", "a task's"))


def test_what_is_said_twice_is_refused():
    with pytest.raises(DuplicateName, match="two facts called 'light'"):
        Task(facts=[light, light])
    with pytest.raises(DuplicateName, match="declares the field 'x' twice"):
        Task(fields=[Field("x"), Field("x", low=0)])


def test_an_argument_that_there_is_not_is_told_with_the_one_that_is_meant():
    with pytest.raises(TypeError, match=r"Task\(\) got an unexpected keyword argument 'goals'. Did you mean 'goal'"):
        Task(goals=landed)
    with pytest.raises(TypeError, match=r"evolve\(\) got an unexpected keyword argument 'rate'. Did you mean 'rates'"):
        TASK.evolve(rate={})


@pytest.mark.parametrize(
    "parts",
    [{"at_most": 0}, {"at_most": 1.0}, {"renews": 0}, {"renews": True}, {"rate": 0}, {"rate": 1.5}, {"rate": "often"}],
    ids=str,
)
def test_an_event_happens_now_and_then(parts):
    with pytest.raises(DefinitionError, match="an event's"):
        Event(**parts)


@pytest.mark.parametrize("parts", [(3, 2), (-1, 2), (1.0, 2), (True, 2), (1, 2, "Steps!"), (1, 2, ""), (1, 2, None)])
def test_what_was_seen_is_a_count_of_counts(parts):
    with pytest.raises(DefinitionError, match="Seen"):
        Seen(*parts)


def test_a_count_of_counts_is_read_as_it_is_written():
    for seen in (Seen(9975, 9975), Seen(0, 3, "idle steps"), Seen(np.int64(12), 10**12, "episodes")):
        assert Seen.parse(str(seen)) == seen
    for text in (
        "",
        "always",
        "3 of 4",
        "3 of 2 steps",
        "-1 of 2 steps",
        ", of , steps",
        "٣ of ٤ steps",
        3,
        "9" * 5000,
    ):
        with pytest.raises(DefinitionError):
            Seen.parse(text)


def test_what_follows_a_goal_is_not_said_without_a_goal():
    with pytest.raises(DefinitionError, match="goal_ends=False needs a goal"):
        Task("flight", goal_ends=False)
    task = TASK.evolve(goal_ends=False)
    assert task.evolve(goal=None).goal_ends
    with pytest.raises(DefinitionError, match="goal_ends=False needs a goal"):
        TASK.evolve(goal=None, goal_ends=False)


def test_numbers_of_any_kind_are_kept_as_plain_ones():
    task = Task(events={"lit": Event(rate=np.float32(0.5)), "hit": Event(rate=Fraction(1, 2))})
    assert Task.from_json(task.to_json()) == task
    assert task.events["lit"] == task.events["hit"] == Event(rate=0.5)


@pytest.mark.parametrize("given", [{"better": {"x": np.array(["low", "high"])}}, {"idle": {"x": 2**53 + 1}}])
def test_what_no_file_would_hold_is_refused(given):
    with pytest.raises(DefinitionError, match=r"better=|idle="):
        Task(**given)
