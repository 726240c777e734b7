"""A reward as data: it comes back whole, and whatever else is loaded is refused by a SpecError and nothing else."""

import copy
import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import Field, PlauditError, Reward, SpecError, Task, fact, prefer, term
from plaudit.testing.rows import as_inputs
from support.examples import examples
from support.samples import SAMPLES
from support.strategies import rows
from support.written import module, readable

TEXT = """
PRICES = (0.5, -1.0, 2.0)
def steady(x, v, mood, *, reach=2.0, strict=True, far):
    '''Doc.'''
    if mood == "calm" and strict:
        return sum(a * a for a in v) / reach
    return min(far, PRICES[round(x)]) if x < reach else math.sqrt(x)
def moved(prev, curr): return curr.level - prev.level
def won(bonus): return 1 / bonus
def climbs(prev, curr, *, most=1.0): return 0 <= curr.level - prev.level <= most
def arrived(x): return x < 1
def priced(prev, x, mood): return PRICES[round(x)] > 0 if mood == "calm" else x >= prev.x
"""
SPACE = module(TEXT)
REWARD = Reward(
    "all",
    version="1",
    terms=[
        term(weight=-0.5, low=-1, high=3)(SPACE["steady"]),
        term(kind="shaping", allow={"jump": "meant"})(SPACE["moved"]),
        term(terminal=True)(SPACE["won"]),
    ],
    fields=[
        Field("x", low=0, infinite=True, unit="m"),
        Field("v", length=2, low=-1, high=1, outside="clip"),
        Field("mood", values=("calm", "wild"), other="wild", missing="calm"),
        Field("level"),
        Field("bonus", values=(0, 1, 2)),
    ],
    shared={"far": 40.0},
    action="mood",
    low=-100.0,
    task=Task(
        "all",
        goal=SPACE["arrived"],
        facts=[fact(SPACE["climbs"]), fact(SPACE["priced"])],
        discount=0.99,
        prefer=[
            prefer({"x": 1, "mood": "calm"}, over={"x": float("inf")}, because="near"),
            prefer([{"prev": {"level": 1}}], over=[{"v": (0, 1)}, {"terminal": True, "bonus": 2}]),
        ],
        states=["level"],
        monotone={"level": "up"},
        max_change={"level": 1},
        idle={"x": 3.0},
    ),
    allow={"loop-that-pays": "meant"},
    doc="Everything at once.",
)
ROW = {"x": 1.0, "v": (0.5, 2.0), "mood": "busy", "prev": {"level": 1}, "curr": {"level": 3}}
SPEC = json.loads(REWARD.to_json())


def loaded(**changes):
    """Return the reward of the specification with some parts changed."""
    return Reward.from_dict({**copy.deepcopy(SPEC), **changes})


@examples(0.25)
@given(case=readable(), seed=st.integers(0, 2**32))
def test_a_random_reward_comes_back_from_json_whole(case, seed):
    reward = case.reward
    again = Reward.from_json(reward.to_json())
    assert again == reward
    assert again.fingerprint == reward.fingerprint
    assert again.domain_fingerprint == reward.domain_fingerprint
    assert again.to_json() == reward.to_json()
    compiled, loaded = (made.compile("python", on_bad="mask") for made in (reward, again))
    for row in rows(case, seed, 5):
        assert repr(loaded(as_inputs(row))) == repr(compiled(as_inputs(row)))


@pytest.mark.parametrize("reward", SAMPLES.values(), ids=SAMPLES)
def test_a_reward_comes_back_from_json_whole(reward):
    again = Reward.from_json(reward.to_json())
    assert (again, again.to_json()) == (reward, reward.to_json())
    assert again.formula() == reward.formula()
    assert again.source() == reward.source()


def test_a_loaded_reward_does_all_that_a_reward_does():
    again = Reward.from_json(REWARD.to_json())
    assert again.score(**ROW) == REWARD.score(**ROW)
    assert again.score_terminal(bonus=2).total == REWARD.score_terminal(bonus=2).total == 0.5
    assert again.with_params(far=1.0).fingerprint == REWARD.with_params(far=1.0).fingerprint
    assert again.select_terms("moved") == REWARD.select_terms("moved")
    assert again.gradients() == REWARD.gradients()
    assert (again.doc, again.action, again.terms[0].doc) == ("Everything at once.", "mood", "Doc.")
    assert again.task == REWARD.task
    assert again._bound.facts_program.nodes == REWARD._bound.facts_program.nodes
    assert again._bound.goal_program.nodes == REWARD._bound.goal_program.nodes
    assert (again._bound.prefer, again.allow) == (REWARD._bound.prefer, REWARD.allow)
    assert [each.allow for each in again.terms] == [each.allow for each in REWARD.terms]
    with pytest.raises(PlauditError, match=r"line \d+:  def won\(bonus\): return 1 / bonus"):
        again.score_terminal(bonus=0)


def test_a_loaded_term_has_no_function():
    with pytest.raises(PlauditError, match="was loaded from a specification"):
        loaded().terms[0](1.0)
    with pytest.raises(PlauditError, match="was loaded from a specification"):
        Reward("other", version="1", terms=[loaded().terms[1]], fields=[Field("level")])


def test_a_loaded_fact_can_be_read_again_and_not_run():
    kept = loaded().task.facts[0]
    with pytest.raises(PlauditError, match="read but not called"):
        kept(1.0)
    other = Reward("other", version="1", terms=REWARD.terms[1:2], fields=[Field("level")], task=Task(facts=[kept]))
    assert set(other._bound.facts_program.inputs) == {"prev.level", "curr.level"}


HOSTILE = {
    "nothing": "",
    "no JSON": "{",
    "a number": "5",
    "a list": "[]",
    "null": "null",
    "an empty object": "{}",
    "deep lists": "[" * 10_000 + "]" * 10_000,
    "deep objects": '{"plaudit":' * 10_000 + "1" + "}" * 10_000,
    "deep inside": json.dumps(SPEC).replace('"nodes": [', '"nodes": [' + "[" * 10_000 + "]" * 10_000 + ", "),
    "NaN": json.dumps(SPEC).replace("-0.5", "NaN"),
    "Infinity": json.dumps(SPEC).replace("-0.5", "Infinity"),
    "-Infinity": json.dumps(SPEC).replace("-0.5", "-Infinity"),
    "a number beyond floats": json.dumps(SPEC).replace("-0.5", "1e999"),
    "a very long number": json.dumps(SPEC).replace("-0.5", "9" * 5000),
    "a key twice": json.dumps(SPEC).replace('"low": -100.0', '"low": -100.0, "low": -50.0'),
    "a key twice deep inside": json.dumps(SPEC).replace('"unit": "m"', '"unit": "m", "unit": "km"'),
    "another format": json.dumps({**SPEC, "plaudit": 3}),
    "an older format": json.dumps({**SPEC, "plaudit": 1}),
    "a format of another type": json.dumps({**SPEC, "plaudit": True}).replace("true", "[1]", 1),
    "more than is known": json.dumps({**SPEC, "code": "import os"}),
    "control letters": "\x00\x01",
    "lone surrogates": '{"plaudit": "\\ud800"}',
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_json_is_refused(text):
    with pytest.raises(SpecError) as caught:
        Reward.from_json(text)
    assert len(str(caught.value)) < 500
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_a_text_that_is_too_large_is_refused_unread(monkeypatch):
    monkeypatch.setattr("plaudit.language.codec.MOST_CHARACTERS", 1000)
    monkeypatch.setattr("json.loads", None)
    with pytest.raises(SpecError, match="larger than 1,000 characters"):
        Reward.from_json(" " * 1001)


@pytest.mark.parametrize("key", sorted(SPEC.keys() - {"task"}))
def test_a_part_that_is_missing_is_refused(key):
    spec = {name: part for name, part in SPEC.items() if name != key}
    with pytest.raises(SpecError, match=key):
        Reward.from_dict(spec)


JUNK = (None, True, False, 0, -1, 1.5, 10**30, "", "inf", "x", "__import__('os')", [], [[]], {}, {"a": 1}, [1, 2], -0.0)
HARMLESS = [
    *(("doc", text) for text in ("", "inf", "x", "__import__('os')")),
    *((key, text) for key in ("name", "version") for text in ("inf", "x", "__import__('os')")),
    *((key, None) for key in ("action", "low", "high")),
    *((key, value) for key in ("low", "high") for value in (0, -1, 1.5, 10**30, -0.0)),
    ("action", "x"),
]
EMPTY = {"allow": {}}


@pytest.mark.parametrize("key", sorted(SPEC))
def test_a_part_of_another_type_is_refused(key):
    for junk in JUNK:
        if isinstance(junk, list | dict):
            harmless = EMPTY.get(key) == junk
        else:
            harmless = any(repr((key, junk)) == repr(known) for known in HARMLESS)
        if harmless or (key == "plaudit" and junk is True):
            continue
        with pytest.raises(SpecError):
            loaded(**{key: junk})


def changed(at, node):
    """Return the nodes of the specification with one of them changed."""
    nodes = copy.deepcopy(SPEC["nodes"])
    nodes[at] = node
    return nodes


NODES = {
    "an unknown operation": ["Exec", "import os"],
    "an operation of another case": ["add", 0, 1],
    "a base class": ["Binary", 0, 1],
    "an operation without operands": ["Add"],
    "too many operands": ["Add", 0, 0, 0],
    "a forward reference": ["Neg", 9_999],
    "a reference to itself": ["Neg", len(SPEC["nodes"]) - 1],
    "a negative reference": ["Neg", -1],
    "a flag as a reference": ["Neg", True],
    "a broken reference": ["Neg", 1.0],
    "a text as a reference": ["Neg", "0"],
    "an empty node": [],
    "no list": "Neg",
    "an object": {"Neg": 0},
    "no name": [0, 1],
    "an unknown input": ["Input", "y"],
    "an input of another record": ["Input", "next.level"],
    "an input beyond a vector": ["Input", "v[2]"],
    "an input that is a whole vector": ["Input", "v"],
    "an input with a leading zero": ["Input", "v[00]"],
    "an input with a negative index": ["Input", "v[-1]"],
    "an index into a number": ["Input", "x[0]"],
    "a record alone": ["Input", "prev"],
    "a number for an input": ["Input", 5],
    "an unknown parameter": ["Param", "steady.nothing"],
    "an unknown label": ["Label", "mood", "martian"],
    "a label of a number": ["Label", "x", "calm"],
    "a text constant": ["Const", "x"],
    "NaN as a text": ["Const", "nan"],
    "a null constant": ["Const", None],
    "a constant no float holds": ["Const", 2**53 + 1],
    "a list as a constant": ["Const", [1]],
    "an empty table": ["Item", [], 0],
    "a table of texts": ["Item", ["a"], 0],
    "a table of numbers and flags": ["Item", [1.0, True], 0],
    "a table without an index": ["Item", [1.0]],
}


@pytest.mark.parametrize("node", NODES.values(), ids=NODES)
def test_a_node_that_is_none_is_refused(node):
    last = len(SPEC["nodes"]) - 1
    with pytest.raises(SpecError):
        loaded(nodes=changed(last, node))


@pytest.mark.parametrize(
    "nodes",
    [
        [["Input", "x"], ["Not", 0]],
        [["Input", "x"], ["And", 0, 0]],
        [["Input", "mood"], ["Add", 0, 0]],
        [["Input", "mood"], ["Input", "x"], ["Eq", 0, 1]],
        [["Input", "x"], ["Lt", 0, 0], ["Neg", 1]],
        [["Input", "x"], ["Lt", 0, 0], ["Eq", 1, 1]],
        [["Input", "x"], ["Select", 0, 0, 0]],
        [["Input", "x"], ["Lt", 0, 0], ["Select", 1, 0, 1]],
        [["Input", "x"], ["Defined", 0]],
        [["Input", "x"], ["Lt", 0, 0], ["Item", [1.0, 2.0], 1]],
        [["Input", "x"], ["Number", 0]],
    ],
)
def test_operands_of_the_wrong_kind_are_refused(nodes):
    with pytest.raises(SpecError, match=r"cannot take|cannot be loaded"):
        loaded(nodes=nodes)


@pytest.mark.parametrize(
    "changes",
    [
        {"scores": {**SPEC["scores"], "steady": 10_000}},
        {"scores": {**SPEC["scores"], "steady": True}},
        {"scores": {**SPEC["scores"], "other": 0}},
        {"scores": {"steady": 0}},
        {"guards": [[0, "steady", "because", "here"]]},
        {"guards": [[10_000, "steady", "because", "here"]]},
        {"guards": [["0", "nobody", "because", "here"]]},
        {"guards": [[1, 2]]},
        {"guards": ["abcd"]},
        {"terms": [*SPEC["terms"], SPEC["terms"][0]]},
        {"terms": [{**SPEC["terms"][0], "name": "a b"}, *SPEC["terms"][1:]]},
        {"terms": [{**SPEC["terms"][0], "weight": "2"}, *SPEC["terms"][1:]]},
        {"terms": [{**SPEC["terms"][0], "low": 5, "high": 4}, *SPEC["terms"][1:]]},
        {"terms": [{**SPEC["terms"][0], "source": "import os"}, *SPEC["terms"][1:]]},
        {"terms": [{**SPEC["terms"][0], "knobs": {"reach": None}}, *SPEC["terms"][1:]]},
        {"terms": [{**SPEC["terms"][0], "terminal": 1}, *SPEC["terms"][1:]]},
        {"terms": [{**SPEC["terms"][0], "kind": "evil"}, *SPEC["terms"][1:]]},
        {"terms": []},
        {"fields": [*SPEC["fields"], {"name": "unread"}]},
        {"fields": [*SPEC["fields"], {"name": "x", "evil": 1}]},
        {"fields": [{"name": "x", "doc": 5}, *SPEC["fields"][1:]]},
        {"fields": [{"low": 5}, *SPEC["fields"][1:]]},
        {"fields": SPEC["fields"][1:]},
        {"params": {}},
        {"params": {"far": "1"}},
        {"params": {"far": 1, "near": 2}},
        {"low": 5, "high": 4},
        {"action": "nobody"},
        {"name": "a\nb"},
    ],
)
def test_parts_that_do_not_fit_each_other_are_refused(changes):
    with pytest.raises(SpecError):
        loaded(**changes)


@pytest.mark.parametrize(
    "facts",
    [
        [],
        {"f": "def f(x): return x < 1"},
        {"f": {}},
        {"f": {"when": None}},
        {"f": {"when": "def f(x): return x < 1", "code": "import os"}},
        {"f": {"when": "def f(x): return x < 1", "seen": "always"}},
        {"f": {"when": "def g(x): return x < 1"}},
        {"steady": {"when": "def steady(x): return x < 1"}},
        {"a b": {"when": "def a b(x): return x < 1"}},
        {"total": {"when": "def total(x): return x < 1"}},
        {"f": {"when": "def f(x): return x"}},
        {"f": {"when": "def f(x): return mood"}},
        {"f": {"when": "def f(v): return v < 1"}},
        {"f": {"when": "def f(v): return v[2] < 1"}},
        {"f": {"when": "def f(x): return x[0] < 1"}},
        {"f": {"when": "def f(mood): return mood == 'martian'"}},
        {"f": {"when": "def f(mood): return mood + 1 > 0"}},
        {"f": {"when": "def f(x): return x < far"}},
        {"f": {"when": "def f(x): return open('x')"}},
        {"f": {"when": "lambda x: x < 1"}},
        {"f": {"when": "import os"}},
    ],
    ids=str,
)
def test_facts_that_are_none_are_refused(facts):
    with pytest.raises(SpecError):
        loaded(task={**SPEC["task"], "facts": facts})


@pytest.mark.parametrize(
    "preference",
    [
        {},
        {"better": [{"x": 1.0}], "over": [{"x": 2.0}], "because": "", "code": "import os"},
        {"better": [{"x": 1.0}], "over": [{"x": 2.0}], "because": None},
        {"better": [{"x": 1.0}], "because": ""},
        {"better": 5, "over": [{"x": 2.0}], "because": ""},
        {"better": [], "over": [{"x": 2.0}], "because": ""},
        {"better": [[]], "over": [{"x": 2.0}], "because": ""},
        {"better": [{"x": 1.0}], "over": [{"x": 1.0}], "because": ""},
        {"better": [{"x": -1.0}], "over": [{"x": 1.0}], "because": ""},
        {"better": [{"x": "-inf"}], "over": [{"x": 1.0}], "because": ""},
        {"better": [{"x": [1]}], "over": [{"x": 1.0}], "because": ""},
        {"better": [{"x": True}], "over": [{"x": 1.0}], "because": ""},
        {"better": [{"prev": {"level": 1}}], "over": [{"x": 1.0}], "because": ""},
        {"better": [{"v": [1, 2]}], "over": [{"x": 1.0}], "because": ""},
        {"better": [{"mood": "martian"}], "over": [{"x": 1.0}], "because": ""},
        {"better": [{"mood": 0}], "over": [{"x": 1.0}], "because": ""},
        {"better": [{"terminal": 1}], "over": [{"x": 1.0}], "because": ""},
    ],
)
def test_a_preference_that_is_none_is_refused(preference):
    with pytest.raises(SpecError):
        loaded(task={**SPEC["task"], "prefer": [preference]})


@pytest.mark.parametrize(
    "changes",
    [
        *({"task": {**SPEC["task"], "discount": {"is": value}}} for value in (0, 2, True, "inf")),
        *({"task": {**SPEC["task"], "horizon": {"is": value}}} for value in (0, 1.5, "inf")),
        *({"task": {**SPEC["task"], "goal": value}} for value in (3, {}, {"when": "def f(x): return x < -1"})),
        *({"task": {**SPEC["task"], "idle": value}} for value in (3, {"x": 3}, {"x": {"is": -1}}, {"x": {}})),
        {"allow": {"jump": ""}},
        {"allow": {"Jump": "meant"}},
        {"allow": {"jump": None}},
        {"terms": [{**SPEC["terms"][0], "allow": {"jump": 5}}, *SPEC["terms"][1:]]},
        {"terms": [{**SPEC["terms"][0], "allow": ["jump"]}, *SPEC["terms"][1:]]},
        {"terms": [{**SPEC["terms"][0], "weight": True}, *SPEC["terms"][1:]]},
    ],
)
def test_what_a_reward_never_declares_is_refused(changes):
    with pytest.raises(SpecError):
        loaded(**changes)


def test_a_field_twice_is_refused():
    with pytest.raises(SpecError):
        loaded(fields=[*SPEC["fields"], {"name": "x", "low": 5}])


SEEDS = [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 8))]


def spots(data, path=()):
    """Yield the path to every part of `data`."""
    yield path
    parts = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, part in parts:
        yield from spots(part, (*path, key))


def mutated(spec, chance):
    """Return a specification with something in it replaced, dropped, doubled or moved."""
    spec = json.loads(json.dumps(spec))  # a copy, and several times as fast as copy.deepcopy
    *path, last = chance.choice([path for path in spots(spec) if path])
    parent = spec
    for key in path:
        parent = parent[key]
    match chance.randrange(5):
        case 0 if isinstance(parent, list):
            parent.insert(last, copy.deepcopy(parent[last]))
        case 1:
            del parent[last]
        case 2 if isinstance(parent[last], int):
            parent[last] += chance.choice((-1, 1, 7))
        case 3 if isinstance(parent, list) and len(parent) > 1:
            other = chance.randrange(len(parent))
            parent[last], parent[other] = parent[other], parent[last]
        case _:
            parent[last] = copy.deepcopy(chance.choice((*JUNK, *SPEC.values(), *SPEC["nodes"])))
    return spec


@pytest.mark.parametrize("seed", SEEDS)
def test_a_mutated_specification_loads_or_is_refused(seed):
    chance = random.Random(seed)
    for _ in range(100):
        spec = mutated(SPEC, chance)
        try:
            made = Reward.from_dict(spec)
        except SpecError:
            continue
        assert made.to_dict()["plaudit"] == 2


@pytest.mark.parametrize("seed", SEEDS)
def test_what_loads_can_be_used_or_refuses_rows_by_name(seed):
    chance = random.Random(seed)
    for _ in range(60):
        spec = mutated(mutated(SPEC, chance), chance)
        try:
            made = Reward.from_dict(spec)
        except SpecError:
            continue
        assert Reward.from_json(made.to_json()) == made
        made.source(), made.formula(), made.gradients()
        try:
            made.score(**ROW)
        except PlauditError:
            continue


def test_a_terminal_term_that_does_not_ask_for_the_end_is_refused():
    first = {**SPEC["terms"][0], "terminal": True}
    with pytest.raises(SpecError):
        loaded(terms=[first, *SPEC["terms"][1:]]).score(**ROW)


def test_no_text_of_a_specification_reaches_the_code_that_runs():
    evil = "x); __import__('os').system('true'); ("
    spec = {**SPEC, "task": {**SPEC["task"], "facts": {}}}
    spec = json.dumps(spec).replace('"calm"', json.dumps(evil)).replace("def won(bonus)", evil)
    reward = Reward.from_json(spec)
    assert evil in reward.fields["mood"].labels
    assert "__import__" not in reward.compile("python").source
    assert reward.score(**{**ROW, "mood": evil}).inputs["mood"] == evil
    for name in ("x); evil(", "import", "x0 = 1"):
        if name.isidentifier():
            continue
        with pytest.raises(SpecError):
            Reward.from_json(json.dumps(SPEC).replace('"x"', json.dumps(name)))


def test_a_chain_of_many_nodes_loads_and_scores():
    nodes = [["Input", "x"], ["Const", 0.001]]
    nodes += [["Add", at, 1] for at in [0, *range(2, 5_000)]]
    term_ = {**SPEC["terms"][1], "name": "long", "reads": ["x"]}
    spec = {**SPEC, "nodes": nodes, "terms": [term_], "fields": [{"name": "x"}], "params": {}, "guards": []}
    del spec["task"]
    reward = Reward.from_dict({**spec, "scores": {"long": len(nodes) - 1}, "action": None, "low": None})
    assert reward.score(x=0.0).total == pytest.approx(4.999)
    assert reward.source()
    assert reward.formula()
