"""Questions about the classes of values, answered where every caller would get the same answer."""

import numpy as np
import pytest

from plaudit import Field, ReadError, Reward, term
from support.arrays import HEADER, assert_means, read_of, refusal
from support.strategies import load

TORCH = HEADER + "import torch\nfrom collections.abc import Mapping, Sequence\n"

KNOWN = [
    "x + 2.0 * isinstance(x, (int, float)) + 4.0 * isinstance(x, int | float) + 8.0 * isinstance(x, str)",
    "v.sum() + isinstance(v, np.ndarray) + 2.0 * isinstance(v, (list, tuple)) + 4.0 * isinstance(v, (float, np.ndarray))",
    "v[0] + 2.0 * isinstance(POSE, tuple) + 4.0 * isinstance(POSE, (list, tuple)) + 8.0 * isinstance(POSE, dict)",
    "x + isinstance([x, 1.0], (list, tuple)) + 2.0 * isinstance({'a': x}, Mapping) + 4.0 * isinstance({'a': x}, list)",
    "c.sum() + 2.0 * isinstance(c[0], (str, dict)) + 8.0 * isinstance(None, int)",
    "x + isinstance('gaussian', str) + 2.0 * isinstance(2, int) + 4.0 * isinstance(2.0, int) + 8.0 * isinstance(True, int)",
    "np.sum(v) + (not isinstance(np.sum(v), np.ndarray)) + 2.0 * isinstance(x, torch.Tensor)",
    "x + callable(math.sqrt) + 2.0 * callable(x) + 4.0 * callable(lambda y: y) + np.ndim(x)",
    "v[0] + np.isscalar(1.0) + 2.0 * np.isscalar('a') + 4.0 * np.isscalar(v) + 8.0 * np.isscalar(POSE) + np.ndim(v)",
]


@pytest.mark.parametrize("text", KNOWN)
def test_what_every_caller_is_told_is_known(text):
    pytest.importorskip("torch")
    assert_means(text, TORCH)


EXACT = [
    "v.sum() + (type(v) is np.ndarray) + 2.0 * (type(v) in (list, tuple)) + 4.0 * (type(v) == float)",
    "x + (type(x) in (int, float)) + 2.0 * (type(x) is str) + 4.0 * (type(x) not in (list, tuple)) + 8.0 * (type(x) == bool)",
    "x + (type([x, 1.0]) in (list, tuple)) + 2.0 * (type({'a': x}) is list) + 4.0 * (list is type(x)) + 8.0 * (np.ndarray != type(v))",
    "x + (type('gaussian') is str) + 2.0 * (type('gaussian') != str) + 4.0 * (type(None) is str) + 8.0 * (type(x) is type)",
    "x + (type([x]) is Sequence) + 2.0 * (type(v) in (Sequence, Mapping, object)) + 4.0 * (type(x) is np.floating)",
    "x + 2.0 * (type(x) is torch.Tensor) + 4.0 * (type(POSE) in [tuple, list]) + 8.0 * (type(lambda y: y) is float)",
]


@pytest.mark.parametrize("text", EXACT)
def test_the_class_itself_is_known_as_for_isinstance(text):
    pytest.importorskip("torch")
    assert_means(text, TORCH)


INEXACT = ["type(x) is float", "type({'a': x}) is dict", "type((x, 1.0)) == tuple", "type(x) not in (np.float64, int)"]


@pytest.mark.parametrize("test", INEXACT)
def test_the_class_itself_may_depend_on_the_caller(test):
    assert "depends on who calls" in refusal(f"x * ({test})")


def test_the_class_of_the_object_of_a_method_is_known():
    text = "class Robot:\n    def f(self):\n        return self.x if type(self) is Robot else 1.0\nclass Arm(Robot):\n    pass\n"
    parts = load(text)
    for kind, wanted in (("Robot", 3.0), ("Arm", 1.0)):
        reward = Reward("r", version="1", terms=[term(parts[kind]().f)], fields=[Field("x")])
        assert reward.score(x=3.0).total == wanted
    with pytest.raises(ReadError, match="whether `self` is an instance of Robot is not known"):
        Reward("r", version="1", terms=[term(parts["Robot"].f)], fields=[Field("x")])


DEPENDS = {
    "a float or an int": "x * isinstance(x, float)",
    "an int or a float": "i * isinstance(i, int)",
    "a number of NumPy or of Python": "x * isinstance(x, np.floating)",
    "a bool of NumPy or of Python": "x * isinstance(x > 0, np.bool_)",
    "a list or a tuple": "x * isinstance([x, 1.0], tuple)",
    "a tuple or a list": "x * isinstance((x, 1.0), list)",
}


@pytest.mark.parametrize("text", DEPENDS.values(), ids=DEPENDS)
def test_what_depends_on_the_caller_is_refused(text):
    message = refusal(text)
    assert "depends on who calls" in message
    assert "Drop the test" in message


@pytest.mark.parametrize("kind", ["torch.Tensor", "np.ndarray", "(np.ndarray, torch.Tensor)"])
def test_an_array_is_one_of_the_library_that_is_asked_for(kind):
    pytest.importorskip("torch")
    text = f"v.sum() if isinstance(v, {kind}) else 0.0"
    assert read_of(text, TORCH).score(v=[1.0, 2.0, 3.0]).total == 6.0


MAY_BE_ARRAYS = {
    "an array of two libraries": "v.sum() * isinstance(v, torch.Tensor) + isinstance(v, np.ndarray)",
    "what PyTorch reduces": "x + isinstance(torch.norm(v), torch.Tensor)",
    "what PyTorch reduces, asked otherwise": "x + torch.is_tensor(v.sum())",
    "an entry": "x + isinstance(v[0], torch.Tensor)",
    "a choice of NumPy": "x + isinstance(np.where(x > 0, 1.0, 2.0), np.ndarray)",
    "two values": "v[0].item() + 1 if isinstance(v[0], torch.Tensor) else v[0]",
}


@pytest.mark.parametrize("text", MAY_BE_ARRAYS.values(), ids=MAY_BE_ARRAYS)
def test_a_number_that_may_be_an_array_without_an_axis_is_undecided(text):
    pytest.importorskip("torch")
    assert "depends on who calls" in refusal(text, TORCH)


NO_MATTER = {
    "a number of PyTorch": "d = (v * v).sum()\nreturn d.item() if torch.is_tensor(d) else float(d)",
    "an `if`": "d = v.sum()\nif isinstance(d, torch.Tensor):\n    d = d.item()\nreturn d",
    "an `else`": "d = v.sum()\nif isinstance(d, (torch.Tensor, str)):\n    e = d.item()\nelse:\n    e = float(d)\nreturn e / 2",
    "an `elif`": "d = v.sum()\nif x > 0:\n    d = 1.0\nelif isinstance(d, float):\n    d = float(d)\nreturn d",
}


@pytest.mark.parametrize("body", NO_MATTER.values(), ids=NO_MATTER)
def test_a_question_whose_answer_makes_no_difference_is_no_matter(body):
    torch = pytest.importorskip("torch")
    text = TORCH + "def f(v, x):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    function = load(text)["f"]
    reward = Reward("tried", version="1", terms=[term(function)], fields=[Field("v", length=3), Field("x")])
    for x in (-1.0, 2.0):
        wanted = {float(function(make([3.0, 4.0, 0.0]), x)) for make in (torch.tensor, np.array)}
        assert {reward.score(v=[3.0, 4.0, 0.0], x=x).total} == wanted


TOLERANCES = {
    "a chain": "if isinstance(margin, float):\n    y = x\nelif isinstance(margin, torch.Tensor):\n    y = x / (1 + margin)\nreturn y",
    "returned": "if isinstance(margin, (float, int)):\n    return x\nif isinstance(margin, torch.Tensor):\n    return torch.where(margin > 0, x, 0.0)",
    "a helper": "return scaled(torch.abs(x - margin), margin)",
}


@pytest.mark.parametrize("body", TOLERANCES.values(), ids=TOLERANCES)
def test_a_function_for_batches_is_called_with_arrays(body):
    torch = pytest.importorskip("torch")
    helper = "def scaled(x, margin):\n    if not isinstance(x, torch.Tensor):\n        x = torch.tensor(x)\n    return x * margin\n"
    text = TORCH + helper + "def f(x, margin):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    function = load(text)["f"]
    fields = [Field("x", low=0), Field("margin", low=0)]
    reward = Reward("tried", version="1", terms=[term(batched=True)(function)], fields=fields)
    given = torch.tensor([[0.5, 2.0, 0.0], [1.5, 0.0, 3.0]], dtype=torch.float64)
    for x, margin, wanted in zip(*given, function(*given), strict=True):
        assert reward.score(x=x.item(), margin=margin.item()).total == wanted.item()


def test_isinstance_takes_classes():
    assert "isinstance takes classes" in refusal("x * isinstance(x, 3)")


def test_the_object_of_a_method_is_of_its_class():
    text = "class Robot:\n    def f(self):\n        return self.x if isinstance(self, Robot) else 1.0\nf = Robot.f"
    reward = Reward("r", version="1", terms=[term(load(text)["f"])], fields=[Field("x")])
    assert reward.score(x=3.0).total == 3.0
    with pytest.raises(ReadError, match=r"whether `self` is an instance of int is not known"):
        term_of_int = term(load(text.replace("self, Robot", "self, int"))["f"])
        Reward("r", version="1", terms=[term_of_int], fields=[Field("x")])
