"""Questions about the classes of values, answered where every caller would get the same answer."""

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
    "x + callable(math.sqrt) + 2.0 * callable(x) + 4.0 * callable(lambda y: y) + np.ndim(x)",
    "v[0] + np.isscalar(1.0) + 2.0 * np.isscalar('a') + 4.0 * np.isscalar(v) + 8.0 * np.isscalar(POSE) + np.ndim(v)",
]


@pytest.mark.parametrize("text", KNOWN)
def test_what_every_caller_is_told_is_known(text):
    pytest.importorskip("torch")
    assert_means(text, TORCH)


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


def test_arrays_of_any_library_are_arrays():
    pytest.importorskip("torch")
    text = "(v.sum() if isinstance(v, torch.Tensor) else 0.0) + (1.0 if isinstance(v, np.ndarray) else 0.0)"
    assert read_of(text, TORCH).score(v=[1.0, 2.0, 3.0]).total == 7.0


def test_isinstance_takes_classes():
    assert "isinstance takes classes" in refusal("x * isinstance(x, 3)")


def test_the_object_of_a_method_is_of_its_class():
    text = "class Robot:\n    def f(self):\n        return self.x if isinstance(self, Robot) else 1.0\nf = Robot.f"
    reward = Reward("r", version="1", terms=[term(load(text)["f"])], fields=[Field("x")])
    assert reward.score(x=3.0).total == 3.0
    with pytest.raises(ReadError, match=r"whether `self` is an instance of int is not known"):
        term_of_int = term(load(text.replace("self, Robot", "self, int"))["f"])
        Reward("r", version="1", terms=[term_of_int], fields=[Field("x")])
