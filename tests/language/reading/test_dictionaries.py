"""Dicts, lists and objects of the module and of the function: lookups by constants and by data."""

from types import SimpleNamespace

import pytest

from plaudit import Field, InputError, PlauditError, ReadError, Reward, term
from support.strategies import load

HEADER = """
import collections
from enum import Enum
from types import SimpleNamespace
WORTH = {"empty": -0.01, "goal": 1.0, "lava": -1.0}
LEVELS = {0: 0.5, 1: 2.0, 2: 8.0}
PAYOFF = {(0, 0): 1.0, (0, 1): -1.0, (1, 0): 3.0, (1, 1): 0.0}
WEIGHTS = [1.0, 2.0]
LANES = {3, 5, 7}
NESTED = {"speed": {"low": 1.0, "high": 4.0}, "list": [1, [2, 3]]}
class Move(Enum):
    LEFT = 0
    RIGHT = 1
class Config:
    gain = 3.0
    def __init__(self):
        self.limits = [0.5, 1.5]
    def scaled(self, value, by=2.0):
        return self.gain * value * by
config = Config()
space = SimpleNamespace(a=1.5)
Pair = collections.namedtuple("Pair", "one two")
pair = Pair(1.0, 2.0)
"""
FIELDS = {
    "cell": Field("cell", values=("empty", "goal", "lava")),
    "other": Field("other", values=("empty", "water")),
    "level": Field("level", values=(0, 1, 2)),
    "one": Field("one", values=(0, 1)),
    "two": Field("two", values=(0, 1)),
    "x": Field("x"),
    "lit": Field("lit", flag=True),
}
ROWS = {
    "cell": ("empty", "goal", "lava"),
    "other": ("empty",),
    "level": (0, 1, 2),
    "one": (0, 1),
    "two": (0, 1),
    "x": (-1.5, 0.0, 3.0, 2.25),
    "lit": (True, False),
}

BODIES = [
    ("cell", "return WORTH[cell]"),
    ("level", "return LEVELS[level] + LEVELS.get(level, 0)"),
    ("one, two", "return PAYOFF[(one, two)] + PAYOFF[one, two]"),
    ("cell", "return {'goal': 5.0}.get(cell, -1.0)"),
    ("lit", "return {True: 1.0, False: -2.0}[lit]"),
    ("x", "return x * WEIGHTS[1] + sum(WEIGHTS) + len(WEIGHTS)"),
    ("x", "return 1.0 if x in LANES or x in WEIGHTS else 0.0"),
    ("x", "return min(max(x, NESTED['speed']['low']), NESTED['speed']['high']) + NESTED['list'][1][0]"),
    ("x", "return x * config.gain + config.limits[0] + space.a + pair.two + pair[0]"),
    ("x", "return config.scaled(x) + config.scaled(x, by=3.0)"),
    ("one", "return 1.0 if one == Move.RIGHT.value else 0.0"),
    ("x", "parts = {'a': x, 'b': x * x}\n    return sum(parts.values()) + parts['a'] + len(parts)"),
    ("x", "parts = dict(a=x, b=2.0)\n    parts = {k: v * 2 for k, v in parts.items()}\n    return parts['a'] + parts['b']"),
    ("x", "p = collections.OrderedDict((('a', x), ('b', 1.0)))\n    return sum(p[k] for k in p.keys())"),
    ("x", "w = {'a': 0.5, 'b': 2.0}\n    p = {**w, 'c': x}\n    return sum(w.get(k, 10.0) * v for k, v in p.items())"),
    ("x", "d = {}\n    d['a'] = x\n    d['a'] += 1\n    d.update({'b': 2.0})\n    return d['a'] * d['b'] + ('b' in d)"),
    ("x", "d = {'a': 1.0}\n    if x > 0:\n        d['a'] = x\n    else:\n        d['a'] = -1.0\n    return d['a']"),
    ("x", "a = []\n    for k in range(3):\n        a.append(x * k)\n    a.extend([1.0, 2.0])\n    a[0] = 5.0\n    return sum(a) / len(a)"),
    ("x", "a = [x]\n    b = a\n    b.append(2.0)\n    return sum(a)"),
    ("cell, x", "table = {'goal': {'gain': 2.0}, 'empty': {'gain': x}, 'lava': {'gain': 0.0}}\n    return table[cell]['gain']"),
]  # fmt: skip


def read(signature, body):
    """Return the plain function with this body, and its reward."""
    function = load(f"{HEADER}\ndef f({signature}):\n    {body}\n")["f"]
    fields = [FIELDS[name] for name in signature.split(", ")]
    return function, Reward("r", version="1", terms=[term(function)], fields=fields)


@pytest.mark.parametrize(("signature", "body"), BODIES, ids=[body for _, body in BODIES])
def test_dicts_lists_and_objects_mean_what_python_means(signature, body):
    function, reward = read(signature, body)
    names = signature.split(", ")
    for first in ROWS[names[0]]:
        for second in ROWS[names[-1]]:
            row = {names[0]: first} | ({names[-1]: second} if len(names) > 1 else {})
            assert reward.score(**row).total == pytest.approx(float(function(**row)), rel=1e-15)


def test_a_key_that_is_not_there_is_a_row_that_does_not_count():
    function, reward = read("other", "return {'empty': 1.0, 'goal': 2.0}[other]")
    assert reward.score(other="empty").total == function("empty") == 1.0
    with pytest.raises((InputError, ArithmeticError, PlauditError), match="a key that is not in its dict"):
        reward.score(other="water")


def test_what_changes_outside_after_the_term_is_defined_does_not_change_the_reward():
    space = load("WEIGHTS = [1.0, 2.0]\nWORTH = {'a': [1.0]}\ndef f(x): return x * WEIGHTS[0] + WORTH['a'][0]\n")
    made = term(space["f"])
    space["WEIGHTS"][0] = 100.0
    space["WORTH"]["a"][0] = 100.0
    assert Reward("r", version="1", terms=[made], fields=[Field("x")]).score(x=1.0).total == 2.0


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("return {x: 1.0}[x]", "the keys of a dict must be constants"),
        ("return WORTH['gaol'] * x", "Did you mean 'goal'"),
        ("return LEVELS[cell]", "no key of the dict can be a category cell"),
        ("return dict([1.0, 2.0]) * x", "is not a vector"),
        ("return config.missing * x", "'config.missing' does not exist"),
        ("return {**x}['a']", "takes a dict"),
    ],
)
def test_what_dicts_do_not_do_is_refused(body, what):
    with pytest.raises(ReadError, match=what):
        read("x, cell", body)


MAPPED = {
    "the sum of its values": "sum(self.d.values())",
    "its items": "sum(v * (2 if k == 'a' else 1) for k, v in self.d.items())",
    "its keys": "sum(self.d[k] * WEIGHED[k] for k in self.d.keys()) + len(self.d.keys())",
    "a constant of the same keys": "sum(WEIGHED[k] * v for k, v in self.d.items() if k != 'b')",
    "a dict of it": "max({k: abs(v) for k, v in self.d.items()}.values()) + sum(list(self.d.values())[1:])",
    "an entry beside it": "min(self.d.values()) * self.d['c'] + ('a' in self.d) + self.x",
}


@pytest.mark.parametrize("text", MAPPED.values(), ids=MAPPED)
def test_a_mapping_of_the_example_has_the_keys_that_are_declared(text):
    function = load(f"WEIGHED = {{'a': 1.0, 'b': 0.5, 'c': 3.0}}\ndef f(self):\n    return {text}\n")["f"]
    example = {"d": {"a": 1.5, "b": -2.0, "c": 4.0}, "x": 0.25, "d2": 9.0}
    reward = Reward.from_functions({term()(function): 1.0}, example=example, name="r")
    row = {"d_a": -0.5, "d_b": 3.0, "d_c": 2.0, "x": 1.0}
    record = SimpleNamespace(d={"a": -0.5, "b": 3.0, "c": 2.0}, x=1.0)
    assert reward.score(**{name: row[name] for name in reward.inputs}).total == function(record)
    (note,) = reward.notes
    assert note.what == "`self.d` is read as a mapping with the keys 'a', 'b', 'c', as its declared parts say."


UNLISTED = {
    "no part is declared": (
        (),
        r"neither declared nor shared.*\n.*\n.*\n.*\nDeclare each of its entries, Field\('d_a'\)",
    ),
    "a list": (("d_0_x", "d_1_x"), "neither declared nor shared"),
    "two mappings": (("self_d_a", "d_b"), "parts are declared as self_d_a and d_b"),
}


@pytest.mark.parametrize(("names", "why"), UNLISTED.values(), ids=UNLISTED)
def test_the_keys_of_a_mapping_are_not_guessed(names, why):
    function = load("def f(self):\n    return self.x + sum(self.d.values())\n")["f"]
    with pytest.raises(ReadError, match=why):
        Reward("r", version="1", terms=[term(function)], fields=[Field("x"), *map(Field, names)])
