"""Assignments: several names at once, tuples and vectors taken apart, and what must not change in place."""

import re
from textwrap import dedent

import numpy as np
import pytest

from plaudit import Field, ReadError, Reward, term
from support.strategies import load
from support.written import agree, module, plain, reward_from

V = Field("v", length=3)
ROWS = [{"v": v} for v in ((1.0, 2.0, 4.0), (-1.0, 0.5, -0.0), (3.0, 3.0, 3.0))]

READ = {
    "a vector": "x, y, z = v\n    return x - y * z",
    "a list of names": "[x, y, z] = v\n    return x - y * z",
    "a tuple": "x, y = v[0], v[2]\n    return x - y",
    "a swap": "x, y = v[0], v[2]\n    x, y = y, x\n    return x - 2 * y",
    "tuples inside": "(x, y), z = (v[0], v[1]), 5\n    return x - y * z",
    "a star": "x, *rest = v\n    return x - 2 * sum(rest) + len(rest)",
    "a star in the middle": "x, *rest, z = v\n    return x - 2 * z + rest[0]",
    "a star that takes nothing": "x, y, z, *rest = v\n    return x + len(rest)",
    "a helper's tuple": "low, high = ends(v)\n    return high - low",
    "two names for one value": "x = y = v[0]\n    x += 1\n    return x * y",
    "a name and a tuple": "whole = x, y = v[0], v[1]\n    return whole[0] - y + x",
    "an annotation": "x: float = v[0]\n    return x",
    "an annotation alone": "x: 'anything at all'\n    x = v[0]\n    return x",
    "an annotation of an entry alone": "w = [v[0]]\n    w[0]: float\n    return w[0]",
    "a cast": "x = typing.cast('anything at all', v[0])\n    return x + cast(list[int], v)[1]",
    "inside a condition": "if (x := v[0] + v[1]) > 2:\n        return x\n    return -x",
    "inside an expression": "return (x := v[0]) * x + (y := x + 1) * y",
    "augmented tuples": "t = (v[0], 1)\n    a, b = t\n    a += b\n    return a",
}


@pytest.mark.parametrize("body", READ.values(), ids=READ)
def test_an_assignment_means_what_python_means(body):
    agree(
        f"import typing\nfrom typing import cast\ndef ends(v):\n    return min(v), max(v)\ndef f(v: 'array') -> float:\n    {body}\n",
        V,
        rows=ROWS,
    )


REFUSED = {
    "too few names": ("x, y = v", "x, y", "3 values here, and the left side takes 2", "rest"),
    "too many names": ("x, y, z, w = v", "x, y, z, w", "3 values here, and the left side takes 4", "rest"),
    "too many beside a star": ("a, b, c, d, *e = v", "a, b, c, d, *e", "takes at least 4", "rest"),
    "a number taken apart": (
        "x, y = v[0]",
        "x, y",
        "a number cannot be unpacked into 2 names",
        "Unpack a vector field",
    ),
    "a string taken apart": ("x, y = 'ab'", "x, y", "the string 'ab'", "Unpack a vector field"),
    "an entry": ("v[0] = 1", "v[0]", "changed in place", "its own name"),
    "an entry, augmented": ("v[0] += 1", "v[0]", "changed in place", "its own name"),
    "an entry among names": ("x, v[0] = 1, 2", "v[0]", "changed in place", "its own name"),
    "an attribute": ("v.x = 1", "v.x", "cannot have side effects", "`x = ...`"),
    "a field in place": ("v += v", "v += v", "shares with other names", "`v = v + ...`"),
    "another name of a field in place": ("w = v\n    w += w", "w += w", "shares with other names", "`w = w + ...`"),
}


@pytest.mark.parametrize(("body", "pointed", "what", "advice"), REFUSED.values(), ids=REFUSED)
def test_an_assignment_that_cannot_be_read_says_why(body, pointed, what, advice):
    with pytest.raises(ReadError) as caught:
        reward_from(f"def f(v):\n    {body}\n    return 1.0\n", V)
    first, _, line, caret, *_, last = str(caught.value).splitlines()
    assert what in first
    assert line[caret.index("^") : caret.rindex("^") + 1] == pointed
    assert advice in last


def test_an_assignment_inside_that_some_rows_miss_is_refused():
    with pytest.raises(ReadError, match=r"(?s)`:=`.*line of its own"):
        reward_from("def f(x):\n    return 1 if x > 2 and (y := x) > 3 else 0")


def test_the_plain_function_is_left_as_it_was():
    assert plain("def f(v):\n    x, *rest = v\n    return x + rest[0]")((1, 2, 3)) == 3


CHANGED = [
    "w = v * 2\nw += 1\nw[0] = x\nreturn sum(w)",
    "w = np.zeros(3)\nw[1] = x\nw[2:] = 7.0\nreturn sum(w)",
    "w = np.array(v)\nw -= x\nreturn sum(w) + sum(v)",
    "w = v.copy()\nw[0] = x\nreturn w[0] + v[0]",
    "w = v * 1\nw[w > 0] = -1.0\nreturn sum(w)",
    "m = np.stack([v, v]) * 2\nm[1, 2] = x\nm[0] = 5.0\nm[:, 1] = v[:2]\nreturn np.sum(m)",
    "a = [x]\nb = a\nb.append(3.0)\nreturn sum(a) + len(b)",
    "a = [x]\na += [2.0]\nreturn sum(a)",
    "total = 0\nparts = []\nfor e in v:\n    if e > 0:\n        e = 2 * e\n    parts.append(e)\nreturn sum(parts)",
]

SHARED = [
    "w = v * 2\nu = w\nw += 1\nreturn sum(u)",
    "w = v * 2\nu = w[:2]\nw[0] = 1.0\nreturn sum(u)",
    "m = np.stack([v, v])\nrow = m[0]\nm[0, 0] = 5.0\nreturn sum(row)",
    "z = np.zeros(3)\ny = z[:2]\nz[0] = x\nreturn sum(y)",
    "w = v * 2\nd = {'w': w}\nw[0] = 1.0\nreturn sum(d['w'])",
    "inner = [x]\nouter = {'a': inner}\ninner.append(2.0)\nreturn sum(outer['a'])",
    "a = [x]\nb = a\nb += [1.0]\nreturn sum(a)",
    "w = v * 2\nfor row in [w]:\n    row += 1\nreturn sum(w)",
]


def write(body, names=("v", "x")):
    """Return the plain function with this body."""
    lines = "\n".join(f"    {line}" for line in body.split("\n"))
    return load(f"import numpy as np\ndef f({', '.join(names)}):\n{lines}\n")["f"]


@pytest.mark.parametrize("body", CHANGED)
def test_what_is_local_changes_in_place_as_in_python(body):
    names = [name for name in ("v", "x") if re.search(rf"\b{name}\b", body)]
    function = write(body, names)
    fields = [V if name == "v" else Field("x") for name in names]
    reward = Reward("r", version="1", terms=[term(function)], fields=fields)
    for v, x in (([1.0, -2.0, 3.0], 4.0), ([-0.5, 0.0, 2.5], -1.0)):
        row = {name: {"v": np.array(v), "x": x}[name] for name in names}
        found = reward.score(**row).total
        assert found == pytest.approx(float(function(**row)), rel=1e-15)


@pytest.mark.parametrize("body", SHARED)
def test_what_may_have_changed_with_something_else_is_not_read(body):
    with pytest.raises(ReadError, match="may share entries with a value that was changed in place"):
        Reward("r", version="1", terms=[term(write(body))], fields=[Field("v", length=3), Field("x")])


@pytest.mark.parametrize("line", ["w += 1", "w[0] = 1.0"])
def test_an_array_of_a_record_is_the_callers(line):
    function = load(f"def f(obs):\n    w = obs['v']\n    {line}\n    return sum(w) + sum(obs['v'])\n")["f"]
    with pytest.raises(ReadError, match=r"shares with other names|is changed by"):
        Reward("r", version="1", terms=[term(function)], fields=[Field("v", length=3)])


def test_an_array_that_self_holds_is_forgotten_under_its_other_names():
    text = "def f(self):\n    old = self.v\n    self.v += 1.0\n    return sum(self.v)NEXT\n"
    fields = [Field("v", length=3)]
    reward = Reward("r", version="1", terms=[term(load(text.replace("NEXT", ""))["f"])], fields=fields)
    assert reward.score(v=[1.0, 2.0, 3.0]).total == 9.0
    with pytest.raises(ReadError, match="may share entries with a value that was changed in place"):
        Reward("r", version="1", terms=[term(load(text.replace("NEXT", " - sum(old)"))["f"])], fields=fields)


CHANGED = {
    "a list made by *": "parts = [0.0] * 3\n    parts[0] = v[0]\n    parts[2] += v[1]\n    return sum(parts)",
    "a list made by +": "parts = [0.0] + [1.0]\n    parts[0] = v[0]\n    return parts[0] - parts[1]",
    "a copy of a dict": "d = {'a': v[0]}\n    e = d.copy()\n    e['a'] = 5.0\n    return d['a'] + e['a']",
    "two names for one list": "a = b = [0.0, 0.0]\n    if v[0] > 0:\n        a[0] = 1.0\n    a[1] = 5.0\n    return b[0] + b[1]",
    "two names for one dict": "a = b = {'k': 0.0}\n    if v[0] > 0:\n        a['k'] = 1.0\n    b['k'] += v[1]\n    return a['k']",
    "two names for one array": "a = b = np.zeros(2)\n    if v[0] > 0:\n        a[0] = v[1]\n    a[1] = 5.0\n    return b[0] + b[1]",
}


@pytest.mark.parametrize("body", CHANGED.values(), ids=CHANGED)
def test_what_is_changed_in_place_is_changed_under_all_its_names(body):
    agree(f"import numpy as np\ndef f(v):\n    {body}\n", V, rows=ROWS)


UNSURE = {
    "a list": "a, b = [0.0, 1.0], [v[0], 2.0]\n    if v[0] > 0:\n        b = a\n    a[0] = 5.0\n    return b[0]",
    "the other way round": "a, b = [0.0, 1.0], [v[0], 2.0]\n    if v[0] > 0:\n        b = a\n    b[0] = 5.0\n    return a[0]",
    "an equal list": "a, b = [0.0, 1.0], [0.0, 1.0]\n    if v[0] > 0:\n        b = a\n    a[0] = 5.0\n    return b[0]",
    "an array": "a, b = np.zeros(2), np.ones(2)\n    if v[0] > 0:\n        b = a\n    a[0] = 5.0\n    return b[0]",
    "a dict": "a, b = {'k': v[0]}, {'k': 1.0}\n    if v[0] > 0:\n        b = a\n    a['k'] = 5.0\n    return b['k']",
}


@pytest.mark.parametrize("body", UNSURE.values(), ids=UNSURE)
def test_what_is_one_list_in_some_rows_has_no_value_when_the_other_changes(body):
    with pytest.raises(ReadError, match="may share entries with a value that was changed in place"):
        reward_from(f"import numpy as np\ndef f(v):\n    {body}\n", V)


@pytest.mark.parametrize("made", ["{'a': [0.0, 1.0]}", "{'a': {0: 1.0}}", "{'a': np.zeros(2)}"])
def test_what_is_inside_a_dict_is_not_changed_there(made):
    text = f"import numpy as np\ndef f(v):\n    parts = {made}\n    parts['a'][0] = v[0]\n    return parts['a'][0]\n"
    with pytest.raises(ReadError, match=r"`parts\['a'\]` is inside another list or dict") as caught:
        reward_from(text, V)
    assert "under its own name" in str(caught.value)


def test_the_reason_why_a_method_is_not_read_is_kept_where_it_is_unpacked():
    text = """
    class Env:
        def parts(self): return statistics.median(self.v), 1.0
        def f(self):
            a, b = self.parts()
            return a + b
    """
    with pytest.raises(ReadError, match=r"(?s)'parts' cannot be read.*statistics.median.*'parts' is read because 'f'"):
        Reward("r", version="1", terms=[term(module(f"import statistics\n{dedent(text)}")["Env"].f)], fields=[V])


def test_parts_of_an_array_are_not_swapped_in_one_line():
    for line in ("w[:2], w[1:] = w[1:], w[:2]", "w[0], w[1] = w[1], w[0]"):
        text = f"import numpy as np\ndef f(x):\n    w = np.array([x, 2 * x, 1.0])\n    {line}\n    return w[0] - w[2]\n"
        with pytest.raises(ReadError, match="is given a part of an array that another target has just changed"):
            Reward("r", version="1", terms=[term(load(text)["f"])], fields=[Field("x")])


def test_an_index_that_assigns_is_not_looked_up_twice():
    text = """
class Env:
    def step(self):
        self.k = self.k + 1
        return 0
    def f(self, x):
        self.k = 0.0
        parts = [x, 1.0]
        parts[self.step()] += x
        return sum(parts) + self.k
"""
    with pytest.raises(ReadError, match=r"`parts\[self\.step\(\)\]` assigns something where it is looked up"):
        Reward("r", version="1", terms=[term(load(text)["Env"].f)], fields=[Field("x")])


@pytest.mark.parametrize("view", ["values", "items", "keys"])
def test_a_view_of_a_dict_that_changes_is_not_read(view):
    text = f"def f(x):\n    d = {{'a': x}}\n    seen = d.{view}()\n    d['b'] = 1.0\n    return x + len(seen)\n"
    with pytest.raises(ReadError, match="'seen' may share entries with a value that was changed in place"):
        Reward("r", version="1", terms=[term(load(text)["f"])], fields=[Field("x")])


@pytest.mark.parametrize("sign", ["+", "-", "*", "/", "**", "//"])
def test_the_advice_for_a_change_in_place_shows_the_operator_that_stands_there(sign):
    with pytest.raises(ReadError, match=re.escape(f"Write a new value: `v = v {sign} ...`")):
        reward_from(f"def f(v):\n    v {sign}= 2\n    return v.sum()", V)
