"""What the language does not have is refused with the file, the line, a caret under the place, and what to do instead.

In the tables below « and » stand around what the caret must underline.
"""

import re
import sys

import pytest

from plaudit import Field, ReadError, Reward, term
from support.strategies import load

STATEMENTS = {
    "while": ("«while x > 0:»\n        x -= 1\n    return x", "no known number of iterations", "for i in range"),
    "an expression": ("«x + 1»\n    return x", "no effect", "drop this line"),
    "a class": ("«class A:»\n        b = 1\n    return x", "class inside a term", "above the term"),
    "try": (
        "«try:»\n        assert x > 1\n    except AssertionError:\n        return 0\n    return x",
        "exceptions",
        "`if`",
    ),
    "raise": ("«raise ValueError»", "exceptions", "range of the field"),
    "global": ("«global y»\n    return x", "side effects", r'State\("y", reset=0.0'),
    "with": ("«with x:»\n        return x", "`with`", "before scoring"),
    "return alone": ("«return»", "without a value", "every path"),
    "yield": ("y = «yield x»\n    return y", "returns once", "Return the value"),
    "a loop in a branch": (
        "if x > 1:\n        «while x: x = 0»\n    return x",
        "no known number of iterations",
        "for i in range",
    ),
}

EXPRESSIONS = {
    "an assignment that not every row gets to": ("x > 1 and («y := x») > 2", "`:=`", "line of its own"),
    "a set": ("x in «{1, 2}»", "set", "tuple"),
    "a set comprehension": ("len(«{y for y in x}»)", "a set cannot", "x in v"),
    "a generator alone": ("«(y for y in x)»", "sum, min, max", "sum"),
    "an f-string": ("x == «f'{(lambda: x)}'»", "build strings", "category"),
    "an ellipsis": ("x == «...»", "ellipsis", "numbers"),
    "bytes": ("x == «b'a'»", "bytes", "numbers"),
    "a complex number": ("x + «1j»", "complex", "numbers"),
    "is": ("«x is x»", "identity", "=="),
    "is not": ("«x is not x»", "identity", "!="),
    "a bitwise and": ("«x & 1.0»", "bit operations", "`and`"),
    "a bitwise or": ("«x | 1.0»", "bit operations", "`or`"),
    "a bitwise xor": ("«x ^ 1.0»", "`\\^` is exclusive or", r"`x \*\* 2` for a power"),
    "a shift": ("1 + («x << 1.0»)", "bit operations", "conditions"),
    "a large power": ("«x ** 65»", "from -64 to 64", r"math\.exp"),
    "a large power below": ("«x ** -65.0»", "from -64 to 64", r"math\.exp"),
    "an unknown name": ("x + «threshhold»", "not known. Did you mean 'threshold'", "above the term"),
    "a name read too early": ("x + «late»\n    late = 1", "before it is assigned", "above this line"),
    "an object outside": ("«x + THING»", "an object of the class object", "attributes"),
    "math.copysign": ("«math.copysign(1, x)»", "every target", "else -x"),
    "math.gamma": ("«math.gamma(x)»", "every target", "helper"),
    "sorted": ("«sorted((x, 1.0), key=abs)»[0]", "with these arguments", "reverse=True"),
    "print": ("«print(x)»", "every target", "side effects"),
    "a method of a string": ("«'a'.encode()» == x", r"no `\.encode\(\)` here", "startswith"),
}

TERSE = {
    "keywords": ("«round(x, ndigits=2)»", "plain arguments"),
    "two arguments": ("«round(x, 2)»", "takes one argument"),
    "no argument": ("«math.sqrt()»", "takes one argument"),
    "an empty minimum": ("x + «min(())»", "vector is empty"),
    "constants that differ in length": (
        "x + sum(a * b for a, b in «zip((1, 2), (1, 2, 3))»)",
        "differ in length: 2 and 3",
    ),
    "text arithmetic": ("x == «'a' - 'b'»", "arithmetic needs numbers"),
    "division by zero": ("x + «1 / 0»", "cannot be computed: division by zero"),
    "a huge exponent": ("x + «10 ** 5000»", "too large"),
    "a whole number no float holds": ("«x + 9007199254740993»", "float can hold exactly"),
    "NaN": ("«x + (math.inf - math.inf)»", "NaN is no score"),
    "a text as a number": ("«x + 'a'»", "a number is needed here, and this is the string 'a'"),
    "an attribute that is not there": ("x + «math.tau2»", "does not exist"),
    "an index beyond": ("x + «(1, 2)[2]»", "2 is not an index into 2 entries"),
    "a broken index": ("x + «(1, 2)[HALF]»", "0.5 is not an index"),
    "what is not in a tuple": ("x + «(1, 2).index(3)»", "3 is not in the tuple"),
    "a helper with too many arguments": ("«half(x, 1)»", "'half' takes 1 positional"),
    "a helper without an argument": ("x + «half()»", "called without y"),
    "a helper with an unknown keyword": ("«half(x, z=1)»", "has no argument 'z', or is given it twice"),
    "a helper with an argument twice": ("«half(x, y=1)»", "has no argument 'y', or is given it twice"),
}

SIGNATURES = {
    "*args": ("x, *«args»", r"\*args", "Name each field"),
    "**kwargs": ("x, **«kwargs»", r"\*\*kwargs", "Name each field"),
    "positional-only": ("«x», /", "positional-only", "Drop the `/`"),
}

HEADER = """\
import math
import numpy

THING = object()
threshold = 3
HALF = 0.5


def half(y, *, by=2):
    return y / by


"""


def refusal(marked):
    """Return the message that reading the function `f` of `marked` ends in, with the file and the marked place."""
    text = HEADER + marked
    before, _, rest = text.partition("«")
    under, _, after = rest.partition("»")
    function = load(before + under + after)["f"]
    with pytest.raises(ReadError) as caught:
        term(function)
    line = (before + under + after).splitlines()[before.count("\n")]
    indent = len(line) - len(line.lstrip())
    start = len(before) - before.rfind("\n") - 1 - indent
    stop = start + len(under)
    place = f"  {function.__code__.co_filename}, line {before.count(chr(10)) + 1}"
    return str(caught.value).splitlines(), place, line.strip(), (start, stop)


def check(marked, what, advice):
    """Assert that a refusal says what, where, and what to do."""
    lines, place, line, (start, stop) = refusal(marked)
    assert re.search(what, lines[0])
    assert lines[0].startswith("'f' cannot be read: ")
    assert lines[1] == place
    assert lines[2] == f"    {line}"
    caret = lines[3].removeprefix("    ")
    assert (len(caret) - len(caret.lstrip()), len(caret)) == (start, stop)
    assert set(caret.strip()) == {"^"}
    assert re.search(advice, "\n".join(lines[4:]))


@pytest.mark.parametrize(("body", "what", "advice"), STATEMENTS.values(), ids=STATEMENTS)
def test_a_statement_outside_the_language_is_refused_where_it_stands(body, what, advice):
    check(f"def f(x):\n    {body}\n", what, advice)


@pytest.mark.parametrize(("text", "what", "advice"), EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_an_expression_outside_the_language_is_refused_where_it_stands(text, what, advice):
    parameters = "x, y" if "[y]" in text else "x"
    check(f"def f({parameters}):\n    return {text}\n", what, advice)


@pytest.mark.parametrize(("text", "what"), TERSE.values(), ids=TERSE)
def test_a_wrong_use_of_the_language_is_refused_where_it_stands(text, what):
    check(f"def f(x):\n    return {text}\n", what, "")


@pytest.mark.parametrize(("text", "what"), TERSE.values(), ids=TERSE)
def test_every_refusal_says_what_to_do(text, what):
    lines, *_ = refusal(f"def f(x):\n    return {text}\n")
    assert lines[4:]


@pytest.mark.parametrize(("parameters", "what", "advice"), SIGNATURES.values(), ids=SIGNATURES)
def test_a_signature_is_data_and_then_knobs(parameters, what, advice):
    check(f"def f({parameters}):\n    return len(args) + len(kwargs)\n", what, advice)


def test_a_signature_over_many_lines_is_pointed_into():
    check("def f(\n    x,\n    *«y»,\n):\n    return x + y[0]\n", r"\*args", "Name each field")


def test_an_expression_over_many_lines_is_pointed_into():
    check("def f(x):\n    return (\n        x\n        + «lambda_»\n    )\n", "not known", "Define constants")
    check(
        "def f(x):\n    return «min(\n        x,\n        k=2,\n    )»\n".replace("»", "").replace("min(", "min(»"),
        "",
        "",
    )


def test_a_helper_is_pointed_into_where_it_leaves_the_language():
    marked = "def g(y):\n    return «{y}»\n\n\ndef f(x):\n    return g(x)\n"
    lines, place, line, _ = refusal(marked)
    assert lines[0].startswith("'g' cannot be read: a set has no order")
    assert lines[1:3] == [place, f"    {line}"]


def test_a_helper_with_a_signature_outside_the_language_is_refused():
    lines, place, *_ = refusal("def g(*«y»):\n    return y[0]\n\n\ndef f(x):\n    return g(x)\n")
    assert "'g' cannot be read: `*args`" in lines[0]
    assert lines[1] == place


def test_the_real_file_is_named(tmp_path):
    path = tmp_path / "my rewards.py"
    path.write_text("# a comment\n\n\ndef f(x):\n    # why\n    return {x}\n")
    space = {}
    exec(compile(path.read_text(), str(path), "exec"), space)
    with pytest.raises(ReadError) as caught:
        term(space["f"])
    assert str(caught.value).splitlines()[1:4] == [f"  {path}, line 6", "    return {x}", "           ^^^"]


def test_the_caret_is_right_behind_letters_of_more_than_one_byte():
    check("def f(x):\n    return x == 'žluťoučký' + «{1}»\n", "set", "tuple")


@pytest.mark.parametrize("text", ["x + ((1, 2) < 3)", "x + ('a' > 1)"])
def test_constants_that_do_not_compare_are_refused(text):
    with pytest.raises(ReadError):
        term(load(f"def f(x): return {text}\n")["f"])


@pytest.mark.parametrize(
    "text", ["x + 10**1000 * 10**1000 * 10**1000 * 10**1000 * 10**1000", "x + float(10**400)", "x ** 10**400"]
)
def test_a_number_too_long_to_print_or_for_a_float_is_refused(text):
    with pytest.raises(ReadError):
        term(load(f"def f(x): return {text}\n")["f"])


def test_what_is_only_wrong_for_the_fields_is_refused_by_the_reward_with_the_same_place():
    function = load("def f(x):\n    return x + 1\n")["f"]
    with pytest.raises(ReadError) as caught:
        Reward("r", version="1", terms=[term(function)], fields=[Field("x", values=("a", "b"))])
    lines = str(caught.value).splitlines()
    assert lines[0] == "'f' cannot be read: a number is needed here, and this is a category x."
    assert lines[2:4] == ["    return x + 1", "           ^^^^^"]


@pytest.fixture
def usual_recursion():
    """Let Python nest as deeply as it does by default; libraries that other tests load may have changed that."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    sys.setrecursionlimit(before)


def test_an_expression_nested_too_deeply_is_refused(usual_recursion):
    function = load(f"def f(x): return {'-' * 1500}x\n")["f"]
    with pytest.raises(ReadError, match=r"nested too deeply\. Split it into helpers"):
        term(function)
