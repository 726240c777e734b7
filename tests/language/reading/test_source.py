"""A function is read wherever Python keeps its source: files, notebooks, nested and indented definitions."""

import functools
import linecache
import math

import numpy as np
import pytest

from plaudit import Field, ReadError, Reward, term
from support.strategies import load
from support.written import reward_of


def scores(made, x=3.0):
    """Return what a term of `x` scores in a reward."""
    return Reward("r", version="1", terms=[made], fields=[Field("x")]).score(x=x).total


LAYOUTS = {
    "a long signature": """\
@term(
    weight=1.0,
    high=100.0,  # a comment in the decorator
)
def f(
    x,
    *,
    # a comment among the knobs
    gain=3.0,
    other: float = 1.0,
) -> float:
    return gain * x
""",
    "a docstring and comments at the left edge": """\
@term
def f(x, *, gain=3.0):
    '''A docstring.

  With a line further out,
and one at the left edge.
    '''
    # a comment
    y = gain * x  # another

# a comment at the left edge
    return y
""",
    "inside a function": """\
def outer(gain):
    @term
    # between the decorator and the function
    def f(x):
        '''One.

    Two, further out.
        '''
        return gain * x
    return f
f = outer(3.0)
""",
    "inside a branch": """\
if True:
	for gain in (3.0,):
		@term(weight=1.0)
		def f(x):
			if x > 100:
				return 0
			return x * gain
""",
    "inside a class": """\
class Holder:
    LIMIT = 3.0
    @term
    def f(x):
        return x * 3.0
f = Holder.f
""",
    "on one line": """\
@term
def f(x): y = 3.0; return x * y
""",
    "over broken lines": """\
@term
def f(x):
    return x \\
        * (
  3.0
        )
""",
    "beside others of the same name": """\
def f(x): return 1
@term
def f(x): return 3.0 * x
g, f = f, f
def g(x): return 2
""",
}


@pytest.mark.parametrize("text", LAYOUTS.values(), ids=LAYOUTS)
def test_a_definition_is_read_however_it_is_laid_out(text):
    made = load(f"from plaudit import term\n{text}")["f"]
    assert scores(made) == 9.0


def test_a_function_is_read_without_its_decorator_line():
    def late(x):
        return x + 1

    assert scores(term(late)) == 4.0
    assert scores(term(weight=3.0, name="other")(late)) == 12.0


def test_a_notebook_cell_is_read():
    text = "@term\ndef cell(x):\n    return x * 7\n"
    name = "/tmp/ipykernel_12/3456.py"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space = {"term": term}
    exec(compile(text, name, "exec"), space)
    assert scores(space["cell"]) == 21.0


@pytest.mark.parametrize("name", ["<stdin>", "<string>", "gone.py"])
def test_a_function_without_source_is_refused_and_says_so(name):
    space = {}
    exec(compile("def f(x):\n    return x\n", name, "exec"), space)
    with pytest.raises(ReadError) as caught:
        term(space["f"])
    assert "'f' cannot be read: its source is not available" in str(caught.value)
    assert repr(name) in str(caught.value)
    assert "Define it in a file or a notebook cell" in str(caught.value)


async def waiting(x):
    return x


@pytest.mark.parametrize("made", [lambda x: x, waiting], ids=["lambda", "async"])
def test_what_is_not_made_with_def_is_refused(made):
    with pytest.raises(ReadError, match=r"(?s)made with `def`.*test_source.py, line \d+.*Write `def"):
        term(made)


@pytest.mark.parametrize(
    ("made", "advice"),
    [
        (np.sum, r"a function of numpy that is not .*\n.*def sum_of\(x\): return numpy.sum\(x\)"),
        (math.sqrt, r"a function of math that is not .*\n.*def sqrt_of\(x\): return math.sqrt\(x\)"),
        (abs, r"def abs_of\(x\): return abs\(x\)"),
        (int, r"the class 'int'"),
    ],
)
def test_a_function_of_a_library_is_no_term_and_what_calls_it_is(made, advice):
    with pytest.raises(ReadError, match=advice):
        term(made)


class Called:
    def __call__(self, x):
        return x

    def method(self, x):
        return x


@pytest.mark.parametrize("made", [abs, Called, functools.partial(max, x=1), 3, "f"])
def test_what_is_no_plain_function_is_refused(made):
    with pytest.raises(ReadError, match="a term is a plain Python function"):
        term(made)


def test_the_lines_of_errors_are_the_lines_of_the_file():
    def f(x):
        y = x  # the first line of the body

        return 1 / y

    with pytest.raises(ArithmeticError) as caught:
        reward_of(f).score(x=0.0)
    line = f.__code__.co_firstlineno + 3
    assert f"test_source.py, line {line}:  return 1 / y" in str(caught.value)
