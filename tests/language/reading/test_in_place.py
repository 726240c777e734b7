"""Methods of PyTorch that change an array in place: what they leave there, and who sees it."""

import re

import numpy as np
import pytest

from plaudit import Field, ReadError, Reward, term
from plaudit.errors import UnknownField
from plaudit.language.reading.in_place import IN_PLACE
from support.strategies import load

torch = pytest.importorskip("torch", reason="needs plaudit[torch]")

FIELDS = [Field("v", length=3), Field("w", length=3), Field("c", length=3, flag=True), Field("x")]

READ = {
    "a local": "r = v * 2\nr.clamp_(0.0, 1.0)\nreturn r.sum()",
    "one bound": "r = v * 2\nr.clip_(min=0.0)\nr.clamp_(max=x)\nreturn r.sum()",
    "a chain": "r = v.clone()\nr.mul_(2.0).add_(w).sub_(1)\nreturn r.sum()",
    "assigned": "r = v * 2\ns = r.abs_()\ns.add_(1.0)\nreturn (r * s).sum()",
    "assigned to itself": "r = v * 2\nr = r.clamp_(min=0.0)\nreturn r.sum()",
    "returned": "return doubled(v).sum() + doubled(w)[0]",
    "what has no name": "return (v - w).clip_(min=0.0).sum() - torch.abs(v).sub_(x).square_().max()",
    "a view of what has no name": "return (v - w).view(-1)[1:].relu_().sum()",
    "with itself": "r = v * 2\nr.mul_(r)\nr.add_(r)\nreturn r.sum()",
    "a sum beside": "r = v * 2\nreturn (r + w).neg_().sum() + r.sum()",
    "where a mask is true": "r = v * 2\nr.masked_fill_(r > 1, 0.5)\nr.masked_fill_(c, -1)\nreturn r.sum()",
    "filled": "r = v * 2\ns = r.sum()\nr.fill_(x)\nt = r.sum()\nr.zero_()\nreturn s + t + r.sum()",
    "bools": "r = c & (v > 0)\nr.masked_fill_(w > 0, True)\nreturn torch.sum(1.0 * r)",
    "in a branch": "r = v * 2\nif x > 0:\n    r.mul_(3.0)\nreturn r.sum()",
    "in a loop": "r = v * 2\nfor k in range(3):\n    r.add_(w[k]).clamp_(-2, 2)\nreturn r.sum()",
    "a deep copy": "r = copy.deepcopy(v)\nr.mul_(2.0)\nreturn r.sum() + v[0]",
    "a deep copy of a local": "r = v * 2\ns = copy.deepcopy(r)\ns[0] = 5.0\nr.add_(1.0)\nreturn r.sum() + s.sum()",
    "a copy": "r = copy.copy(v)\ny = copy.copy(x) + copy.deepcopy(x)\nreturn r.sum() + y * r.dim() + x.dim()",
    "a copy of a list": "r = [x, v[0]]\ns = copy.copy(r)\ns.append(w[0])\nr[0] = v[1]\nreturn sum(r) + 2 * sum(s)",
    "a deep copy of a list": "r = [v * 2, x]\ns = copy.deepcopy(r)\nt = s[0]\nt.mul_(3.0)\nreturn r[0].sum() + t.sum()",
    "one number": "return (v - w).norm().clamp_(max=1.0) + x",
}


def write(body):
    names = [field.name for field in FIELDS if re.search(rf"\b{field.name}\b", body)]
    lines = "\n    ".join(body.split("\n"))
    header = "import copy\nimport torch\nLIMITS = torch.tensor([1.0, 2.0, 3.0])\ndef change(r):\n    r.mul_(2.0)\n    return r.sum()\n"
    header += "def doubled(r):\n    twice = r * 1.0\n    return twice.add_(r)\n"
    function = load(f"{header}def f({', '.join(names)}):\n    {lines}\n")["f"]
    return function, Reward(
        "r", version="1", terms=[term(function)], fields=[field for field in FIELDS if field.name in names]
    )


def assert_same(body):
    function, reward = write(body)
    random = np.random.default_rng(2)
    for at in range(12):
        row = {"v": random.normal(size=3), "w": random.normal(size=3), "c": random.random(3) > 0.5}
        row = {**row, "x": np.float64(random.normal())}
        row["v"][at % 3] = at % 4 - 1
        given = {name: row[name] for name in reward.fields}
        wanted = function(**{name: torch.as_tensor(value.copy()) for name, value in given.items()})
        found = reward.score(**{name: value.tolist() for name, value in given.items()}).total
        assert found == pytest.approx(float(wanted), rel=1e-12, abs=1e-14), row


@pytest.mark.parametrize("body", READ.values(), ids=READ)
def test_what_changes_in_place_is_what_torch_leaves(body):
    assert_same(body)


POSITIVE = "log log2 log10 log1p sqrt reciprocal"
OTHERS = {
    **dict.fromkeys(("add", "div", "divide", "mul", "multiply", "remainder", "sub", "subtract"), "w.abs() + 0.5"),
    **dict.fromkeys(("clamp", "clip"), "-0.5, x"),
    "masked_fill": "c, x",
    "full_like": "x",
    "pow": "2",
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_each_method_leaves_what_torch_does(name):
    spelled = IN_PLACE[name]
    domain = "v.abs() + 0.5" if spelled in POSITIVE.split() else "torch.tanh(v)"
    assert_same(f"r = {domain}\nr.{name}({OTHERS.get(spelled, '')})\nreturn r.sum() + 0.5 * r[0] + x * v[0]")


REFUSED = {
    "inside an expression": "r = v * 2\nreturn (r + r.mul_(2.0)).sum()",
    "in a choice": "r = v * 2\ns = r.mul_(2.0) if x > 0 else v\nreturn (r + s).sum()",
    "a field": "v.mul_(2.0)\nreturn v.sum()",
    "a field that is assigned": "r = v.mul_(2.0)\nreturn r.sum()",
    "a copy of a field that is not deep": "r = copy.copy(v)\nr.mul_(2.0)\nreturn r.sum()",
    "a field under another name": "r = v\nr.mul_(2.0)\nreturn r.sum()",
    "a view of a field": "return v.view(-1).mul_(2.0).sum()",
    "a constant": "return LIMITS.mul_(2.0).sum() + x",
    "a view of a constant": "return LIMITS.view(-1).mul_(2.0).sum() + x",
    "a part of a constant": "return LIMITS[1:].mul_(2.0).sum() + x",
    "an argument of a helper": "r = v * 2\ns = change(r)\nreturn r.sum() + s",
    "a part": "r = v * 2\nr[1:].mul_(2.0)\nreturn r.sum()",
}


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED)
def test_what_something_else_may_read_does_not_change_in_place(body):
    with pytest.raises(ReadError, match="changes an array in place that something else may read"):
        write(body)


def test_an_array_whose_change_cannot_be_read_has_no_value():
    function = load("def f(self):\n    r = self.v * 2\n    s = r.add_(self.other)\n    return r.sum()\n")["f"]
    with pytest.raises(UnknownField, match="other"):
        Reward("r", version="1", terms=[term(function)], fields=FIELDS[:1])


LOST = {
    "a view": "r = v * 2\ns = r[1:]\nr.mul_(2.0)\nreturn s.sum()",
    "a float of it": "r = v * 2\ns = r.float()\nr.mul_(2.0)\nreturn s.sum()",
    "an entry": "r = v * 2\ns = r[0]\nr.mul_(2.0)\nreturn s",
    "a copy that is not deep": "r = v * 2\ns = copy.copy(r)\ns.mul_(2.0)\nreturn r.sum()",
}


@pytest.mark.parametrize("body", LOST.values(), ids=LOST)
def test_what_shares_entries_with_a_changed_array_has_no_value(body):
    with pytest.raises(ReadError, match="may share entries with a value that was changed in place"):
        write(body)


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("r = v * 2\nr.add_(torch.stack([v, w]))\nreturn r.sum()", "cannot become one of the shape"),
        ("r = torch.where(c, 1, 0)\nr.mul_(0.5)\nreturn r.sum()", "may hold ints"),
        ("r = c & (v > 0)\nr.masked_fill_(c, x)\nreturn torch.sum(1.0 * r)", "may hold bools"),
        ("r = v * 2\nr.masked_fill_(w, 1.0)\nreturn r.sum()", "a mask holds bools"),
        ("r = (v[0], w[0])\nr.mul_(2.0)\nreturn r[0]", "has no `.mul_()`"),
    ],
)
def test_what_torch_would_refuse_or_round_is_refused(body, what):
    with pytest.raises(ReadError) as caught:
        write(body)
    assert what in str(caught.value)
