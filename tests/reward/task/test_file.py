"""A task as JSON that people edit: it comes back whole, and what is wrong in it is told in one message."""

import json
import math

import pytest

from plaudit import DefinitionError, Event, Field, FileError, Rate, Seen, SpecError, Task, prefer
from support.landing import TASK


def edited(**parts):
    """Return the task with some parts of its file written otherwise; None takes one out."""
    data = {**json.loads(TASK.to_json()), **parts}
    return Task.from_json(json.dumps({key: part for key, part in data.items() if part is not None}))


def test_a_task_comes_back_from_a_file_whole(tmp_path):
    TASK.save(tmp_path / "task.json")
    again = Task.load(tmp_path / "task.json")
    assert again == TASK
    assert again.to_json() == TASK.to_json() == (tmp_path / "task.json").read_text(encoding="utf-8")
    assert (again.fingerprint, again.seen, again.source) == (TASK.fingerprint, TASK.seen, TASK.source)
    assert Task.from_dict(TASK.to_dict()) == TASK
    assert again.prefer == TASK.prefer
    assert again.start == {"height": (5, 8.5), "speed": 0.0, "mode": "off"}
    assert again.fields == TASK.fields
    assert list(again.states) == list(TASK.states)  # in the order in which it was said


def test_a_statement_is_a_line_with_how_often_it_was_seen():
    lines = TASK.to_json().splitlines()
    assert '    "angle": {"rate": "spin", "dt": 0.02, "seen": "9,975 of 9,975 steps"},' in lines
    assert '  "horizon": {"is": 500, "seen": "3 of 3 episodes"},' in lines
    assert '    "wind": {"is": [0.0, "inf"]},' in lines
    assert '    "gone": {"is": null}' in lines


def test_an_empty_task_is_a_file_too():
    assert Task.from_json('{"task": 1}') == Task() == Task.from_json(Task().to_json())


def test_what_a_person_edits_is_read():
    task = edited(
        name="mine",
        horizon={"is": 300},
        better={"fuel": {"is": "low"}},
        rates={"height": {"rate": "speed", "dt": 0.1, "seen": "9 of 10 steps"}},
        events={"touch": {"at_most": 2}},
        goal={"when": "def done(height, *, low=0.5):\n    # near enough\n    return height < low"},
        fields={"fuel": {"low": 0}},
        idle={"wind": {"is": ["-inf", 1]}},
        facts=None,
    )
    assert (task.name, task.horizon, task.better) == ("mine", 300, {"fuel": "low"})
    assert task.find_basis("horizon") == "declared"
    assert task.rates == {"height": Rate("speed", 0.1)}
    assert task.seen == {"rates.height": Seen(9, 10)}
    assert (task.events, task.fields) == ({"touch": Event(at_most=2)}, {"fuel": Field("fuel", low=0)})
    assert (task.goal.name, task.goal.reads, dict(task.goal.constants)) == ("done", ("height",), {"low": 0.5})
    assert task.goal_ends
    assert task.idle == {"wind": [-math.inf, 1]}
    assert task.facts == ()


def test_a_statement_without_its_count_is_declared():
    assert edited(horizon={"is": 500}).find_basis("horizon") == "declared"


WRONG = {
    "another format": ({"task": 2}, "written in format 2, and this plaudit reads format 1"),
    "no format": ({"task": None}, 'it has no "task", which says the version of the format'),
    "an unknown part": ({"goals": {}}, "a task has no part 'goals'. Did you mean 'goal'?"),
    "a bare number": ({"horizon": 300}, "'horizon' is 300; write an object, such as {\"is\": 300}"),
    "a bare word": ({"better": {"fuel": "low"}}, '\'better.fuel\' is "low"; write an object, such as {"is": "low"}'),
    "empty": ({"better": {"fuel": {}}}, "'better.fuel' has no 'is'"),
    "no rate": ({"rates": {"x": {"dt": 1}}}, "'rates.x' has no 'rate'"),
    "a bare goal": (
        {"goal": "def f(x): return x < 1"},
        '\'goal\' is "def f(x): return x < 1"; write an object, such as {"when":',
    ),
    "a state that is said": ({"states": {"x": True}}, "'states.x' is true; write an object, such as {}"),
    "what a goal does": ({"goal_ends": False}, "a task has no part 'goal_ends'. Write \"ends\": false in its goal."),
    "a goal that does not parse": (
        {"goal": {"when": "def f(x):\n  return x <"}},
        "does not parse: invalid syntax, line 2\n",
    ),
    "a list of states": ({"states": ["x"]}, "'states' is an object with an entry for each name"),
    "more than is known": ({"states": {"x": {"is": True}}}, "'states.x' has no part 'is'. Its parts: seen."),
    "a count": ({"horizon": {"is": 3, "seen": "often"}}, "'horizon': seen='often' must be one count out of"),
    "a direction": ({"better": {"fuel": {"is": "up"}}}, "is not one of 'low', 'high'"),
    "an event that never happens": ({"events": {"x": {"at_most": 0}}}, "'events.x': an event's at_most=0 must be"),
    "a field": ({"fields": {"x": {"low": 2, "high": 1}}}, "field 'x': low=2 is above high=1"),
    "a part of a field": ({"fields": {"x": {"role": "state"}}}, "'fields.x' has no part 'role'. Its parts: low"),
    "a fact of another name": ({"facts": {"f": {"when": "def g(x): return x < 1"}}}, "defines a function 'g'"),
    "a fact that is no function": ({"facts": {"f": {"when": "x < 1"}}}, "one plain function"),
    "a goal that runs": ({"goal": {"when": "def f(x, *, k=exit()): return x < k"}}, "is a plain value"),
    "an end": ({"ends": {"x": {"is": "bad", "when": "import os"}}}, "end: the text is one plain function"),
    "a value": ({"idle": {"x": {"is": None}}}, "idle.x: a finite number, true, false"),
    "preferences": ({"prefer": {}}, "'prefer' is a list of preferences"),
    "a preference": ({"prefer": [{"better": []}]}, "better, over, because"),
    "a name": ({"name": 5}, "a task's name must be a printable string"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_in_a_file_is_told_in_one_message(name):
    parts, message = WRONG[name]
    with pytest.raises(SpecError) as caught:
        edited(**parts)
    assert message in str(caught.value)
    assert "Error:" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "5", "[" * 10_000, '{"task": 1, "task": 1}', "NaN"])
def test_text_that_is_no_task_is_refused(text):
    with pytest.raises(SpecError):
        Task.from_json(text)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(FileError, match=r"nowhere\.json cannot be read"):
        Task.load(tmp_path / "nowhere.json")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe")
    with pytest.raises(FileError, match=r"bytes\.json cannot be read"):
        Task.load(tmp_path / "bytes.json")
    (tmp_path / "other.json").write_text('{"task": 7}')
    with pytest.raises(SpecError, match=r"other\.json: this task was written in format 7"):
        Task.load(tmp_path / "other.json")


def test_a_task_that_cannot_be_written_leaves_the_file_as_it_was(tmp_path):
    def late(x):
        import math

        return x < math.pi

    (tmp_path / "task.json").write_text("as it was")
    with pytest.raises(DefinitionError, match="cannot be written as text on its own"):
        Task(goal=late).save(tmp_path / "task.json")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["as it was"]


def test_a_preference_in_a_file_needs_no_reason_and_a_single_step_no_list():
    wish = edited(prefer=[{"better": {"x": 1.0}, "over": [{"x": 0.0}]}]).prefer
    assert wish == Task(prefer=[prefer({"x": 1.0}, over={"x": 0.0})]).prefer


@pytest.mark.parametrize("sign", ["good", "bad"])
def test_an_end_that_somebody_calls_good_or_bad_is_declared(sign):
    when = "def low(height): return height < 1"
    task = edited(ends={"low": {"is": sign, "when": when, "seen": "9 of 9 ends"}})
    assert task.find_basis("ends", "low") == "declared"
    assert edited(ends={"low": {"is": None, "when": when, "seen": "9 of 9 ends"}}).find_basis("ends", "low") == "seen"


def test_a_flag_that_is_true_at_the_start_or_while_idle_is_written():
    task = Task("lamp", start={"lit": True}, idle={"lit": True, "on": False}, still=["lit"])
    assert Task.from_json(task.to_json()) == task
    assert task.to_dict()["start"]["lit"] == {"is": True}
