"""Specifications of format 1 load with everything that they said, now in a task."""

import json
import math
from pathlib import Path

import pytest

from plaudit import Event, Rate, Reward, SpecError

GOLDEN = Path(__file__).parents[1] / "golden" / "format_1.json"
KEPT = json.loads(GOLDEN.read_text(encoding="utf-8"))
SPEC = json.loads(KEPT["everything"]["spec"])
ROW = {
    "prev": {"place": (1.0, 1.0), "air": 1.0},
    "curr": {"place": (0.0, 0.5)},
    "torque": 2.0,
    "action": 2,
    "phase": "go",
    "height": 1.0,
    "lit": False,
}


def upgraded(**changes):
    return Reward.from_dict({**SPEC, **changes})


def test_what_fields_said_is_said_by_a_task():
    task = upgraded().task
    assert task.name == "everything"
    assert dict(task.better) == {"budget": "low", "lit": "high", "range": "high", "speed": "low", "torque": "low"}
    assert dict(task.aim) == {"height": 0.3}
    assert dict(task.max_change) == {"height": 1.0, "place": 0.5}
    assert dict(task.monotone) == {"energy": "up", "range": "down"}
    assert dict(task.rates) == {"place": Rate("speed")}
    assert (task.states, task.actions) == (("place",), ("action",))
    assert dict(task.events) == {"phase": Event(), "lit": Event()}
    assert task.seen == {}


def test_what_the_reward_said_is_said_by_a_task():
    task = upgraded().task
    assert (task.discount, task.horizon, task.goal_ends) == (0.97, 250, False)
    assert (task.goal.name, task.goal.doc) == ("arrived", "The hand is there.")
    assert {each.name: each.doc for each in task.facts} == {
        "brakes": "Each action brakes at its own rate.",
        "calm": "",
        "slow": "",
        "counts": "",
        "saves": "",
    }


def test_rows_are_those_that_the_reward_had():
    bound = upgraded()._bound
    known = {name: math.inf if value == "inf" else value for name, value in SPEC["idle"].items()}
    assert bound.idle == {**known, "phase": "stop", "budget": 9.0}  # what fields were at rest
    assert bound.prefer[0].better == ({"phase": "inf", "range": math.inf},)  # a category, and a number
    assert bound.prefer[0].over == ({"phase": "go", "range": 1.0}, {"lit": False})
    assert bound.prefer[0].because == "far is safe"
    assert bound.prefer[1].better == ({"curr.place[0]": 0.0, "curr.place[1]": 0.0},)


@pytest.mark.parametrize(("part", "program"), [("facts", "facts_program"), ("goal", "goal_program")])
def test_functions_are_the_same_formulas(part, program):
    found = getattr(upgraded()._bound, program)
    assert set(found.outputs) == {each["name"] for each in SPEC[part]["named"]}
    inputs = {node[1] for node in SPEC[part]["nodes"] if node[0] == "Input"}
    assert set(found.inputs) == inputs
    assert sum(type(node).__name__ in ("Lt", "Le", "Eq") for node in found.nodes) == sum(
        node[0] in ("Lt", "Le", "Eq") for node in SPEC[part]["nodes"]
    )


def test_it_scores_as_it_did_and_its_formula_is_the_same():
    assert upgraded().fingerprint == KEPT["everything"]["fingerprint"]
    assert upgraded().score(**ROW).total == pytest.approx(math.sqrt(2) - 0.5 - 0.1 * 1.5 + 1.0 - 2.0)


def test_it_is_written_in_the_format_of_today():
    again = upgraded().to_dict()
    assert again["plaudit"] == 2
    assert Reward.from_dict(again) == upgraded()
    assert not again.keys() & {"facts", "discount", "prefer", "goal", "goal_ends", "idle", "horizon"}
    moved = {"role", "rest", "step", "monotone", "better", "aim", "rate"}
    assert not any(moved & field.keys() for field in again["fields"])


def test_what_is_at_rest_at_both_ends_of_a_step_gives_way_to_the_idle_row():
    fields = [{**field, "rest": 9.0} if field["name"] == "torque" else field for field in SPEC["fields"]]
    assert upgraded(fields=fields)._bound.idle["torque"] == 0.0  # as the row says


@pytest.mark.parametrize(
    "changes",
    [
        {"facts": []},
        {"facts": {"named": [{"name": "f", "doc": "", "reads": [], "flag": 10_000}], "nodes": [], "guards": []}},
        {"facts": {**SPEC["facts"], "named": [{"flag": 0}]}},
        {"facts": {**SPEC["facts"], "nodes": [["Exec", "x"]]}},
        {"goal": 3},
        {"goal_ends": 1},
        {"idle": 3},
        {"idle": {"torque": -1}},
        {"horizon": 0},
        {"discount": 2},
        {"prefer": {}},
        {"prefer": [{}]},
        {"prefer": [3]},
        {"fields": [*SPEC["fields"], {"name": "x", "role": "king"}]},
        {"fields": [{}]},
        {"fields": 3},
        {"states": [{}]},
        {"task": {"task": 1}},
    ],
    ids=lambda changes: str(changes)[:60],
)
def test_what_was_refused_before_is_refused(changes):
    with pytest.raises(SpecError):
        upgraded(**changes)


@pytest.mark.parametrize("key", ["facts", "discount", "prefer", "fields", "nodes", "name"])
def test_a_part_that_is_missing_is_named(key):
    with pytest.raises(SpecError, match=key):
        Reward.from_dict({name: part for name, part in SPEC.items() if name != key})


def test_a_vector_at_rest_is_at_rest_in_every_entry():
    fields = [{**field, "rest": 0.5} if field["name"] == "speed" else field for field in SPEC["fields"]]
    reward = upgraded(fields=fields)
    assert reward.task.idle["speed"] == [0.5, 0.5]
    assert reward._bound.fields["speed"].at_rest == 0.5
    assert Reward.from_json(reward.to_json()) == reward


def test_an_idle_row_of_nothing_is_what_is_at_rest():
    idle = upgraded(idle={})._bound.idle
    assert idle == {"torque": 0.5, "phase": "stop", "budget": 9.0}  # and no more: the rest is open, as it was


def test_functions_refuse_the_rows_that_they_refused():
    nodes = [["Input", "torque"], ["Sign", 0], ["Const", 2.0], ["Lt", 1, 2], ["Div", 2, 0], ["Defined", 4]]
    named = [{"name": "f", "doc": "", "reads": ["torque"], "flag": 3}]
    facts = {"named": named, "nodes": nodes, "guards": [[5, "f", "divides by zero", ""]]}
    fields = [field for field in SPEC["fields"] if field["name"] not in ("energy", "budget")]  # which facts read
    text = upgraded(facts=facts, fields=fields).task.facts[0].text
    assert text == "def f(torque):\n    assert (2.0 / torque) == 0 or True\n    return sign(torque) < 2.0"
