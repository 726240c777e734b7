"""A reward as JSON: enough to run it with none of its source, and nothing that it holds is ever run."""

import contextlib
import copy
import json
import math
import random
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import Field, PlauditError, Reward, SpecError, Task, fact, prefer, term
from plaudit.testing.rows import as_columns
from support.examples import examples
from support.forking import run_python
from support.running import scored
from support.strategies import cases, rows


@term(weight=-0.5, low=-2.0, high=2.0, kind="shaping")
def near(distance, mood, *, reach=2.0, strict=True, table=(1.0, 2.0, 4.0), far):
    """How near."""
    return table[round(distance)] / reach if mood == "calm" or strict else far


@term
def moved(prev, curr):
    return sum(abs(a - b) for a, b in zip(prev.force, curr.force, strict=True))


@term(terminal=True)
def won(success, distance):
    return math.log1p(distance) if success else -1


@fact
def follows(prev, curr, *, most=0.5):
    """No force changes by much."""
    return all(abs(a - b) <= most for a, b in zip(prev.force, curr.force, strict=True))


@fact
def ahead(prev, distance, success, terminal):
    return 1 / (1 + distance) > 0 and prev.distance >= distance if success else not terminal


FIELDS = (
    Field("distance", low=0, infinite=True, unit="m", doc="Ahead."),
    Field("mood", values=("calm", "wild"), other="wild", missing="calm"),
    Field("force", length=2, low=-1, high=1, outside="clip"),
    Field("success", flag=True),
)
REWARD = Reward(
    "kept",
    version="2.1",
    terms=[near, moved, won],
    fields=FIELDS,
    shared={"far": 4.0},
    low=-9.0,
    doc="A reward.",
    action="force",
    task=Task(
        facts=[follows, ahead],
        discount=0.95,
        prefer=[prefer({"mood": "calm"}, over={"mood": "wild", "distance": math.inf}, because="peace")],
    ),
    allow={"jump": "the table is meant"},
)
ROW = {"distance": 1.0, "mood": "calm", "prev": {"force": (0.5, 0.0)}, "curr": {"force": (0.0, 3.0)}}
few = examples(1 / 3)


def test_it_comes_back_whole():
    again = Reward.from_json(REWARD.to_json())
    assert again == REWARD
    assert again.to_json() == REWARD.to_json()
    assert again.fields == REWARD.fields
    assert again.terms == REWARD.terms
    assert again.params == REWARD.params
    assert (again.doc, again.action, again.low, again.high) == ("A reward.", "force", -9.0, None)
    assert again.inputs == REWARD.inputs
    assert again.task == REWARD.task
    assert {*again.task.facts} == {*REWARD.task.facts}
    assert {*again._bound.facts_program.inputs} == {*REWARD._bound.facts_program.inputs}
    assert (again.task.discount, again._bound.prefer) == (0.95, REWARD._bound.prefer)
    assert (again.allow, again.terms[0].allow) == ({"jump": "the table is meant"}, {})
    assert again.program == REWARD.program
    assert again.score(**ROW) == REWARD.score(**ROW)
    assert again.score_terminal(success=True, distance=1.0) == REWARD.score_terminal(success=True, distance=1.0)
    assert (
        again.with_params(near={"reach": 1.0}).score(**ROW).total
        == REWARD.with_params(near={"reach": 1.0}).score(**ROW).total
    )
    assert again.select_terms("near").score(distance=1.0).total == REWARD.select_terms("near").score(distance=1.0).total


def test_as_data_it_goes_through_json_unchanged():
    data = REWARD.to_dict()
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert Reward.from_dict(data) == REWARD
    assert data["plaudit"] == 2


def test_an_error_still_names_the_line_it_came_from():
    again = Reward.from_json(REWARD.to_json())
    with pytest.raises(ArithmeticError, match=r"term 'near'.*\n  test_serial\.py, line \d+:  return table") as caught:
        again.score(**{**ROW, "distance": 7.0})
    with pytest.raises(ArithmeticError) as direct:
        REWARD.score(**{**ROW, "distance": 7.0})
    assert str(caught.value) == str(direct.value)


def test_it_can_be_loaded_where_none_of_its_source_is(tmp_path):
    path = tmp_path / "reward.json"
    path.write_text(REWARD.to_json(), encoding="utf-8")
    code = (
        "import sys, pathlib; from plaudit import Reward; r = Reward.from_json(pathlib.Path(sys.argv[1]).read_text()); "
    )
    code += "print(r.fingerprint, r.score(distance=1.0, prev={'force': (0, 0)}, curr={'force': (0, 0)}).total)"
    done = run_python([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True, cwd=tmp_path)
    still = {**ROW, "prev": {"force": (0, 0)}, "curr": {"force": (0, 0)}}
    assert done.stdout.split() == [REWARD.fingerprint, str(REWARD.score(**still).total)]


@few
@given(cases(), st.integers(0, 2**32))
def test_any_reward_comes_back_with_its_fingerprint_and_its_scores(case, seed):
    again = Reward.from_json(case.reward.to_json())
    assert again == case.reward
    assert again.fingerprint == case.reward.fingerprint
    assert again.program == case.reward.program
    columns = as_columns(case, rows(case, seed, 24))
    found, wanted = (scored(reward, "numpy", columns) for reward in (again, case.reward))
    np.testing.assert_array_equal(found.ok, wanted.ok)
    np.testing.assert_array_equal(found.total, wanted.total)


# -- hostile input -------------------------------------------------------------------------------------------------


def loaded(data):
    """Load data; only SpecError may come out of it, and whatever loads must compile and score or refuse."""
    try:
        reward = Reward.from_json(json.dumps(data))
    except SpecError:
        return None
    reward.fingerprint, reward.params, repr(reward)
    assert Reward.from_json(reward.to_json()) == reward
    with contextlib.suppress(PlauditError):
        reward.compile("python", on_bad="mask")({})
    return reward


def paths(data, at=()):
    """Yield the way to every value in JSON data."""
    yield at
    if isinstance(data, dict):
        for key in data:
            yield from paths(data[key], (*at, key))
    elif isinstance(data, list):
        for i, part in enumerate(data):
            yield from paths(part, (*at, i))


POISON = [
    None,
    True,
    False,
    0,
    -1,
    1,
    0.5,
    10**400,
    2**53 + 1,
    -1e308,
    "",
    "x",
    "inf",
    "nan",
    "near",
    "prev.force[0]",
    [],
    {},
]
POISON += [[None], ["Const", 1], {"name": "x"}, [[]], "\u0000", "a" * 1000, [0]]


def mutated(data, chance):
    """Return data with one thing in it replaced, removed, doubled or swapped with another."""
    data = json.loads(json.dumps(data))  # a copy, and several times as fast as copy.deepcopy
    ways = [path for path in paths(data) if path]
    path = chance.choice(ways)
    parent = data
    for step in path[:-1]:
        parent = parent[step]
    match chance.randrange(5):
        case 0 | 1:
            parent[path[-1]] = copy.deepcopy(chance.choice(POISON))
        case 2:
            del parent[path[-1]]
        case 3 if isinstance(parent, list):
            parent.insert(chance.randrange(len(parent) + 1), copy.deepcopy(parent[path[-1]]))
        case 3:
            parent[chance.choice(("extra", "name", "values", "low"))] = copy.deepcopy(parent[path[-1]])
        case _:
            other = chance.choice(ways)
            source = data
            try:
                for step in other:
                    source = source[step]
                parent[path[-1]] = copy.deepcopy(source)
            except (KeyError, IndexError, TypeError):
                pass
    return data


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 12))])
def test_no_mutation_of_a_reward_raises_anything_but_spec_error(seed):
    chance = random.Random(seed)
    good = REWARD.to_dict()
    survived = 0
    for _ in range(120):
        data = good
        for _ in range(chance.choice((1, 1, 1, 2, 4))):
            data = mutated(data, chance)
        survived += loaded(data) is not None
    assert 0 < survived < 96


@few
@given(cases(), st.integers(0, 2**32))
def test_no_mutation_of_a_random_reward_raises_anything_but_spec_error(case, seed):
    chance = random.Random(seed)
    for _ in range(6):
        loaded(mutated(case.reward.to_dict(), chance))


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", "null", "5", '"reward"', "[" * 10_000, "NaN", "\ufeff{}", "{" * 10_000],
    ids=lambda t: t[:8],
)
def test_text_that_is_no_reward_is_refused(text):
    with pytest.raises(SpecError):
        Reward.from_json(text)


def test_a_reward_ten_thousand_deep_is_refused():
    text = REWARD.to_json().replace('"doc":"A reward."', '"doc":' + "[" * 10_000 + "]" * 10_000)
    with pytest.raises(SpecError, match="nested too deeply"):
        Reward.from_json(text)


def changed(**parts):
    return {**copy.deepcopy(REWARD.to_dict()), **parts}


@pytest.mark.parametrize("other", [1, 3, True])
def test_another_format_is_refused_by_number(other):
    with pytest.raises(SpecError, match=f"format {other}; this version of plaudit reads format 2"):
        Reward.from_dict(changed(plaudit=other))


def test_missing_and_unknown_keys_are_named():
    data = changed(extra=1)
    del data["nodes"]
    with pytest.raises(SpecError, match=r"missing \['nodes'\], unknown \['extra'\]"):
        Reward.from_dict(data)


@pytest.mark.parametrize(
    "parts",
    [
        {"name": ""},
        {"name": 5},
        {"name": "a\nb"},
        {"version": None},
        {"version": " "},
        {"doc": 5},
        {"action": "nowhere"},
        {"action": 5},
        {"action": ["force"]},
        {"low": "x"},
        {"low": 10, "high": 1},
        {"low": 5.0, "high": 1.0},
        {"high": 10**400},
        {"params": {}},
        {"params": {"far": "x"}},
        {"params": {"far": 1, "more": 2}},
        {"params": []},
        {"params": {"far": 10**400}},
        {"fields": []},
        {"fields": [{}]},
        {"fields": {}},
        {"terms": []},
        {"terms": [{}]},
        {"terms": "near"},
        {"nodes": []},
        {"nodes": [["Input", "distance"]]},
        {"scores": {}},
        {"scores": []},
        {"guards": [[0]]},
        {"guards": {}},
        {"guards": [[0, "nobody", "why", "line"]]},
        {"task": []},
        {"task": {}},
        {"task": {"task": 1, "facts": []}},
        {"task": {"task": 1, "discount": {"is": 1.5}}},
        {"task": {"task": 1, "prefer": {}}},
        {"task": {"task": 1, "prefer": [{}]}},
        {"discount": 0.5},
        {"allow": []},
    ],
    ids=str,
)
def test_a_part_that_does_not_fit_is_refused(parts):
    with pytest.raises(SpecError):
        Reward.from_dict(json.loads(json.dumps(changed(**parts))))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nowhere", "'nowhere', which is not a declared field"),
        ("next.distance", "not a declared field"),
        ("prev.prev.distance", "not a declared field"),
        ("force", "does not fit the shape"),
        ("curr.force[2]", "does not fit the shape"),
        ("curr.force[-1]", "does not fit the shape"),
        ("curr.force[01]", "does not fit the shape"),
        ("curr.force[0", "does not fit the shape"),
        ("curr.force[²]", "does not fit the shape"),
        ("distance[0]", "does not fit the shape"),
        ("", "not a declared field"),
    ],
)
def test_an_input_that_no_field_has_is_refused(name, words):
    data = changed()
    at = next(i for i, node in enumerate(data["nodes"]) if node == ["Input", "curr.force[0]"])
    data["nodes"][at] = ["Input", name]
    with pytest.raises(SpecError, match=words):
        Reward.from_dict(data)


def test_a_score_of_another_kind_is_refused():
    data = changed()
    flag = next(i for i, node in enumerate(data["nodes"]) if node[0] == "Eq")
    data["scores"]["near"] = flag
    with pytest.raises(SpecError, match="is a flag where a number is needed"):
        Reward.from_dict(data)
    for position in (True, -1, 10**9, "0", None, 0.0):
        with pytest.raises(SpecError, match="not the position of a node"):
            Reward.from_dict(changed(scores={**REWARD.to_dict()["scores"], "near": position}))


def test_two_terms_or_two_fields_of_one_name_are_refused():
    data = changed()
    data["terms"].append(copy.deepcopy(data["terms"][0]))
    with pytest.raises(SpecError):
        Reward.from_dict(data)
    data = changed()
    data["fields"].append(copy.deepcopy(data["fields"][0]))
    with pytest.raises(SpecError):
        Reward.from_dict(data)


def test_a_node_of_the_wrong_kind_is_refused_whoever_wrote_it():
    data = changed()
    at = next(i for i, node in enumerate(data["nodes"]) if node[0] == "Div")
    data["nodes"][at][0] = "And"
    with pytest.raises(SpecError, match="And cannot take number, number"):
        Reward.from_dict(data)


def test_what_was_loaded_is_data_and_not_a_live_object():
    data = changed()
    reward = Reward.from_dict(data)
    before = reward.fingerprint
    data["nodes"].clear()
    data["terms"].clear()
    assert reward.fingerprint == before
    assert reward.score(**ROW) == REWARD.score(**ROW)
