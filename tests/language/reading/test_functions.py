"""Reading: what the language has, and how everything else is refused."""

import linecache
import math
import textwrap

import pytest

from plaudit import DefinitionError, Field, ReadError, Reward, term
from plaudit.errors import UnknownField
from plaudit.language import nodes as n
from plaudit.language.reading import helpers
from support.strategies import load

HEADER = """\
import enum
import math
from math import inf, log1p, pi

import numpy as np

TABLE = (1.0, 2.0, 4.0)
MATRIX = ((1, 2), (3, 4))
MIXED = (1, "calm")
NOT_A_NUMBER = math.nan
TOO_BIG = 2**53 + 1
LIST = [1, 2]
DICT = {1: 2}
ARRAY = np.array([1.0, 2.0])
CALM = "calm"
INFINITE = math.inf


class Limits:
    low = 3
    nested = (5, 6)


class Level(enum.IntEnum):
    HIGH = 7


class Plain(enum.Enum):
    A = 1


INSTANCE = Limits()


def scaled(a, *, k=2.0):
    return a * k


def chooses(a, b):
    if a > b:
        return a - b
    c = b - a
    c *= 2
    return c


def never(a):
    if a > 1:
        return a


def again(a):
    return again(a - 1)


def ping(a):
    return pong(a)


def pong(a):
    return ping(a)


def optional(a, b=1):
    return a + b


short = lambda a: a


"""
FIELDS = {
    "x": Field("x"),
    "y": Field("y"),
    "force": Field("force", length=3),
    "drag": Field("drag", length=2),
    "mood": Field("mood", values=("calm", "wild")),
    "job": Field("job", values=("calm", "busy")),
    "lit": Field("lit", flag=True),
    "level": Field("level", values=(0, 1, 2)),
}


def function(body, signature):
    """Return the function of a body, with everything in the header above it."""
    source = f"{HEADER}def f({signature}):\n{textwrap.indent(body, '    ')}\n"
    return load(source)["f"]


def rewarded(body, signature, **options):
    """Return a reward of one term, with the fields that it reads."""
    made = term(function(body, signature))
    names = {read.rpartition(".")[2] for read in made.reads}
    return Reward("r", version="1", terms=[made], fields=[FIELDS[name] for name in FIELDS if name in names], **options)


# -- what is read --------------------------------------------------------------------------------------------------

X = {"x": 2.5}
ACCEPTED = [
    ("x", "return x", X, 2.5),
    ("x", "return -x + +x - -3", X, 3.0),
    ("x", "return (x + 1) * 2 - x / 4", X, 6.375),
    ("x", "return x // 2 + x % 2 - (-x) // 2 - (-x) % 2", X, 1.0 + 0.5 + 2.0 - 1.5),
    ("x", "return x ** 2 + x ** 3 + x ** 0 + x ** 1", X, 6.25 + 15.625 + 1 + 2.5),
    ("x", "return abs(-x) + round(x) + math.fabs(-x)", X, 2.5 + 2 + 2.5),
    ("x", "return min(x, 1) + max(x, 1, 3)", X, 4.0),
    ("x", "return math.floor(x) + math.ceil(x)", X, 5.0),
    ("x", "return math.sqrt(x) + math.exp(x) + math.expm1(x)", X, math.sqrt(2.5) + math.exp(2.5) + math.expm1(2.5)),
    ("x", "return math.log(x) + log1p(x)", X, math.log(2.5) + math.log1p(2.5)),
    ("x", "return math.hypot(x, 2 * x)", X, math.hypot(2.5, 5.0)),
    ("x", "return math.sin(x) + math.cos(x) + math.tanh(x)", X, math.sin(2.5) + math.cos(2.5) + math.tanh(2.5)),
    ("x", "return x * pi + math.pi", X, 2.5 * math.pi + math.pi),
    ("x", "return 1 if math.isinf(x) else 2", X, 2.0),
    ("x", "return 1 if x < inf else 2", X, 1.0),
    ("x", "return (x < 3) + (x <= 2.5) + (x > 3) + (x >= 2.5) + (x == 2.5) + (x != 2.5)", X, 4.0),
    ("x", "return 1 < x < 3 != x", X, 1.0),
    ("x", "return 1 < 2 < x", X, 1.0),
    ("x", "return x in (1, 2.5, 3)", X, 1.0),
    ("x", "return x not in TABLE", X, 1.0),
    ("x", "return 5 if x else 6", X, 5.0),
    ("x", "return not x", X, 0.0),
    ("x", "return (x > 1 and x < 2) or not x > 3", X, 1.0),
    ("x", "return x > 1 and True", X, 1.0),
    ("x", "return x > 1", X, 1.0),
    ("x", "return -100 if x > 1 else 0", X, -100.0),
    ("x", "a = x\na += 1\na -= 0.5\na *= 4\na /= 3\na //= 1\na %= 3\na **= 2\nreturn a", X, 1.0),
    ("x", "a: float = x\nreturn a", X, 2.5),
    ("x", "'A docstring.'\npass\nreturn x", X, 2.5),
    ("x", "x = x + 1\nreturn x", X, 3.5),
    ("x", "if x > 1:\n    a = 1\nelse:\n    a = 2\nreturn a", X, 1.0),
    ("x", "if x > 3:\n    return 1\nelif x > 2:\n    return 2\nreturn 3", X, 2.0),
    ("x", "a = 0\nif x > 1:\n    if x > 2:\n        a = 5\n    else:\n        return 7\nreturn a + x", X, 7.5),
    ("x", "return TABLE[0] + TABLE[-1] * x", X, 11.0),
    ("x", "return TABLE[round(x)]", X, 4.0),
    ("x", "return TABLE[x > 1]", X, 2.0),
    ("x", "return MATRIX[1][0] * x + MATRIX[1][round(x) - 1]", X, 11.5),
    ("x", "return (True, False)[round(x) - 1] or x > 9", X, 0.0),
    ("x", "return TABLE.index(4.0) + (7, 2.5).index(x)", X, 3.0),
    ("x", "return len(TABLE) + sum(TABLE) + max(TABLE) * x", X, 3 + 7 + 10.0),
    ("x", "return (x, 1)[0] + (x, 1)[1]", X, 3.5),
    ("x", "return any(a < x for a in TABLE) + all(a < x for a in TABLE)", X, 1.0),
    ("x", "return x * Limits.low + Limits.nested[1] + Level.HIGH", X, 7.5 + 6 + 7),
    ("x", "return x * np.pi", X, 2.5 * math.pi),
    (
        "x",
        "return scaled(x) + scaled(x, k=3) + scaled(a=x) + chooses(x, 1) + chooses(1, x)",
        X,
        5 + 7.5 + 5 + 1.5 + 3.0,
    ),
    ("x, y", "return x * y", {"x": 2.0, "y": 3.0}, 6.0),
    ("lit", "return lit", {"lit": True}, 1.0),
    ("lit", "return lit + lit * 3 - (not lit)", {"lit": True}, 4.0),
    ("lit", "return lit == True", {"lit": True}, 1.0),
    ("lit", "return 2 if lit and not lit or lit else 3", {"lit": True}, 2.0),
    ("mood", "return mood == 'calm'", {"mood": "calm"}, 1.0),
    ("mood", "return mood != CALM", {"mood": "calm"}, 0.0),
    ("mood", "return mood in ('calm', 'wild') and mood not in ('wild',)", {"mood": "calm"}, 1.0),
    ("mood", "return ('wild', 'calm').index(mood)", {"mood": "calm"}, 1.0),
    ("mood, lit", "m = mood if lit else 'wild'\nreturn m == 'wild'", {"mood": "calm", "lit": False}, 1.0),
    ("force", "return sum(force) + max(force) - min(force)", {"force": (1, 2, 5)}, 12.0),
    ("force", "return sum(f * f for f in force)", {"force": (1, 2, 5)}, 30.0),
    ("force", "return sum(f * t for f, t in zip(force, TABLE))", {"force": (1, 2, 5)}, 25.0),
    ("force", "return sum(a * b for a, b in zip(force, force, strict=True))", {"force": (1, 2, 5)}, 30.0),
    ("force", "return any(f > 4 for f in force) + all(f > 1 for f in force)", {"force": (1, 2, 5)}, 1.0),
    ("force", "return force[0] + force[-1] + len(force)", {"force": (1, 2, 5)}, 9.0),
    ("force", "return max(abs(f) if f < 2 else 0 for f in force)", {"force": (1, 2, 5)}, 1.0),
    ("prev, curr", "return curr.x - prev.x", {"prev": {"x": 1.0}, "curr": {"x": 4.0}}, 3.0),
    ("prev, x", "return x - prev.x", {"prev": {"x": 1.0}, "curr": {"x": 4.0}}, 3.0),
    (
        "prev, curr",
        "p = prev\nreturn sum(p.force) + sum(curr.force)",
        {"prev": {"force": (1, 1, 1)}, "curr": {"force": (2, 2, 2)}},
        9.0,
    ),
    ("prev, curr", "return prev.mood == curr.mood", {"prev": {"mood": "calm"}, "curr": {"mood": "calm"}}, 1.0),
    ("level", "return TABLE[level]", {"level": 2}, 4.0),
]


@pytest.mark.parametrize(("signature", "body", "inputs", "wanted"), ACCEPTED, ids=[case[1] for case in ACCEPTED])
def test_the_language_has(signature, body, inputs, wanted):
    reward = rewarded(body, signature)
    assert reward.score(**inputs).total == pytest.approx(wanted, rel=1e-14)


def test_what_is_known_when_reading_is_folded():
    reward = rewarded("return x if pi > 0 and 3 * 7 == 21 else 1 / 0", "x")
    assert reward.program.nodes == rewarded("return x", "x").program.nodes


# -- what is refused -----------------------------------------------------------------------------------------------

REFUSED = [
    # statements
    ("x", "while x > 1:\n    x = x - 1\nreturn x", "while x", "no known number of iterations", "as a field"),
    ("x", "try:\n    assert x > 1\nexcept AssertionError:\n    return 0\nreturn x", "try:", "cannot catch exceptions", "`if`"),
    ("x", "raise ValueError", "raise ValueError", "cannot raise exceptions", "range of the field"),
    ("x", "with x:\n    return x", "with x:", "`with`", "as a field"),
    ("x", "global Q\nQ = x\nreturn x", "global Q", "cannot have side effects", 'State("Q", reset=0.0, update=...)'),
    ("x", "class Q:\n    pass\nreturn x", "class Q:", "a class inside a term", "above the term"),
    ("x", "x + 1\nreturn x", "x + 1", "no effect", "drop this line"),
    ("x", "x.a = 1\nreturn x", "x.a", "cannot have side effects", "Assign to a local name: `a = ...`"),
    ("x", "TABLE[0] = 1\nreturn x", "TABLE[0]", "changed in place", "Make a new one"),
    ("x", "x[0] += 1\nreturn x", "x[0]", "a number cannot be indexed", "a vector field"),
    ("x", "return (yield x)", "yield x", "returns once", "Return the value"),
    ("x", "return", "return", "`return` without a value", "on every path"),
    ("x", "return None", "return None", "`return` without a value", "on every path"),
    # names and paths
    ("x", "if x > 1:\n    a = 1\nreturn a", "a", "'a' has no value on some paths", "before the `if`"),
    ("x", "if x > 1:\n    return 1", "def f", "a path ends without `return`", "on every path"),
    ("x", "if x > 1:\n    return 1\nelse:\n    x = 2", "def f", "a path ends without `return`", "on every path"),
    ("x", "return a\na = 1", "a", "'a' is read before it is assigned", "above this line"),
    ("x", "a += 1\nreturn a", "a", "'a' is read before it is assigned", "above this line"),
    ("x", "return x * nowhere", "nowhere", "the name 'nowhere' is not known", "Define constants above"),
    ("x", "return mth.sqrt(x)", "mth", "'mth' is not known. Did you mean 'math'?", "Define constants above"),
    ("x", "return x * below", "below", "'below' is not known", "Define constants above"),
    # expressions
    ("x", "return x in {1, 2}", "{1, 2}", "a set has no order", "Of constants, write a tuple"),
    ("x", "return (a for a in TABLE)", "(a for a in TABLE)", "a generator can only be used inside", "sum(x * x"),
    ("x", "return f'{x}'", "f'{x}'", "cannot build strings", "Compare a category"),
    ("x", "return x is TABLE", "x is TABLE", "`is` compares identity", "Use `==`"),
    ("x", "return x is not TABLE", "x is not TABLE", "`is not` compares identity", "Use `!=`"),
    ("x", "return x & 1", "x & 1", "bit operations", "`and`, `or`, `not`"),
    ("x", "return x << 1", "x << 1", "bit operations", "`and`, `or`, `not`"),
    ("x", "return ~x", "~x", "works on bits", "not condition"),
    ("x", "return x ** 65", "x ** 65", "constant integer exponent is from -64 to 64", "math.exp"),
    ("x", "return x ** -65", "x ** -65", "constant integer exponent is from -64 to 64", "math.exp"),
    ("x", "return x ** 'a'", "x ** 'a'", "a number is needed", ""),
    ("x", "return 1 if x and x else 0", "x", "join conditions", "compare: `x != 0`"),
    ("x", "return x > 1 or 3", "3", "join conditions", "a if condition else b"),
    ("x", "return x[0]", "x[0]", "cannot be indexed", "constant tuple or a vector field"),
    ("x", "return x in 'calm'", "x in 'calm'", "`in` needs a tuple, a list, a vector or a dict", "x in (1, 2, 3)"),
    ("x", "return x * Plain.A", "x * Plain.A", "the Enum member Plain.A", "Write `Plain.A.value`"),
    ("x", "return x * 1j", "1j", "a complex is not part of the language", "numbers, bools, strings"),
    ("x", "return x * ...", "...", "ellipsis is not part of the language", "numbers, bools, strings"),
    ("x", "return b'x'", "b'x'", "a bytes is not part of the language", "numbers, bools, strings"),
    # functions
    ("x", "return sorted(x)", "sorted(x)", "a number is not a vector", "length=12"),
    ("x", "return divmod(x, 2)", "divmod(x, 2)", "not available on every target", "x // y and x % y"),
    ("x", "return math.gamma(x)", "math.gamma(x)", "not available on every target", "A term can call abs"),
    ("x", "return x(1)", "x(1)", "`x` is a value here", "x * (...)"),
    ("x", "return again(x)", "again(a - 1)", "'again' calls itself", "Recursion"),
    ("x", "return f(x)", "f(x)", "'f' calls itself", "Recursion"),
    ("x", "return ping(x)", "ping(a)", "'ping' calls itself", "Recursion"),
    ("x", "return never(x)", "def never", "a path ends without `return`", "on every path"),
    ("x", "return scaled(*TABLE)", "scaled(*TABLE)", "'scaled' takes 1 positional", "Its parameters"),
    ("x", "return scaled(**x)", "scaled(**x)", "`**` takes a dict", "one by one"),
    # vectors
    ("x", "return max(x)", "x", "is not a vector", "Field('torque', length=12)"),
    ("force", "return 1 if force else 0", "force", "a condition is needed here", "any(v > 0)"),
    # categories
    ("mood", "return mood == 'clam'", "mood == 'clam'", "'clam' is not a value of field 'mood'. Did you mean 'calm'?", "Its values: calm, wild"),
    ("mood", "return mood < 'calm'", "mood < 'calm'", "categories have no order", "ORDER.index(a) < ORDER.index(b)"),
    ("mood", "return 1 if mood else 0", "mood", "a condition is needed here", "phase == 'coding'"),
    ("mood, lit", "m = mood if lit else 'nope'\nreturn m == 'calm'", "mood if lit else 'nope'", "'nope' is not a value", "Its values"),
]  # fmt: skip

# Refusals that say what is wrong and not (yet) what to do about it.
WITHOUT_ADVICE = [
    ("x", "return TABLE[7] * x", "TABLE[7]", "7"),
    ("x", "return TABLE[1.0] * x", "TABLE[1.0]", "1.0"),
    ("x", "return MIXED[round(x)]", "MIXED[round(x)]", "must hold finite numbers or bools"),
    ("x", "return x * Limits.high", "Limits.high", "'Limits.high' does not exist"),
    ("x", "return math.sqroot(x)", "math.sqroot", "'math.sqroot' does not exist"),
    ("x", "return x * NOT_A_NUMBER", "x * NOT_A_NUMBER", "NaN is no score"),
    ("x", "return x * TOO_BIG", "x * TOO_BIG", "a float can hold exactly"),
    ("x", "return x + 10**400", "x + 10**400", "a float can hold exactly"),
    ("x", "return x * 'calm'", "x * 'calm'", "the string 'calm'"),
    ("x", "return x * ('a' - 'b')", "'a' - 'b'", "arithmetic needs numbers"),
    ("x", "return 1 / 0 + x", "1 / 0", "cannot be computed: division by zero"),
    ("x", "return x + 2 ** 5000", "2 ** 5000", "the exponent is too large"),
    ("x", "return x if 1 < 'a' else 0", "1 < 'a'", "no order"),
    ("x", "return abs", "abs", "a number is needed here"),
    ("x", "return round(x, 1)", "round(x, 1)", "takes one argument"),
    ("x", "return math.sqrt(x=x)", "math.sqrt(x=x)", "plain arguments only"),
    ("x", "return max(x, 1, key=abs)", "max(x, 1, key=abs)", "plain arguments only"),
    ("x", "return min()", "min()", "takes one vector"),
    ("x", "return scaled(x, 3)", "scaled(x, 3)", "'scaled' takes 1 positional"),
    ("x", "return scaled()", "scaled()", "'scaled' is called without a"),
    ("x", "return scaled(x, z=1)", "scaled(x, z=1)", "'z'"),
    ("x", "return scaled(x, a=x)", "scaled(x, a=x)", "'a'"),
    ("x", "return TABLE.index(7) * x", "TABLE.index(7)", "7 is not in the tuple"),
    ("x", "return x == 'calm'", "x == 'calm'", "cannot be compared with"),
    ("force", "return force", "force", "a vector of 3"),
    ("force", "return force * 2", "force * 2", "a vector of 3"),
    ("force", "return force[3]", "force[3]", "3"),
    ("force, drag", "return sum(a * b for a, b in zip(force, drag))", "zip(force, drag)", "differ in length: 3 and 2"),
    ("force", "return sum(a for a, b in force)", "a, b", "cannot be unpacked into 2 names"),
    ("mood", "return mood", "mood", "a category"),
    ("mood", "return mood + 1", "mood + 1", "a category"),
    ("mood", "return TABLE[mood]", "TABLE[mood]", "a category"),
    ("mood", "return mood == 1", "mood == 1", "cannot be compared with 1"),
    ("mood, job", "return mood == job", "mood == job", "cannot be compared with"),
    ("mood, x", "return mood == x", "mood == x", "cannot be compared with"),
    ("prev", "return prev", "prev", "the whole of `prev`"),
]  # fmt: skip


def refusal(signature, body):
    """Return the error that reading a function ends in."""
    with pytest.raises(ReadError) as caught:
        rewarded(body, signature)
    return str(caught.value)


def assert_that_it_points(message, pointed):
    """Assert that an error names the file and line, shows the line, and marks what it is about."""
    _, where, line, caret, *_ = message.splitlines()
    assert where.startswith("  <generated ")
    number = int(where.rpartition("line ")[2])
    file = where.strip().partition(",")[0]
    assert linecache.getline(file, number).strip() == line.strip()
    marked = line[caret.index("^") : caret.rindex("^") + 1]
    assert set(caret.strip()) == {"^"}
    assert marked.startswith(pointed), f"{marked!r} is marked instead of {pointed!r}"


@pytest.mark.parametrize(("signature", "body", "pointed", "what", "advice"), REFUSED, ids=[case[1] for case in REFUSED])
def test_what_is_not_in_the_language_is_refused_with_place_caret_and_advice(signature, body, pointed, what, advice):
    message = refusal(signature, body)
    first, *_, last = message.splitlines()
    assert "cannot be read: " in first
    assert what in first
    assert advice in last
    assert_that_it_points(message, pointed)


@pytest.mark.parametrize(
    ("signature", "body", "pointed", "what"), WITHOUT_ADVICE, ids=[case[1] for case in WITHOUT_ADVICE]
)
def test_what_makes_no_sense_is_refused_with_place_and_caret(signature, body, pointed, what):
    message = refusal(signature, body)
    assert what in message.splitlines()[0]
    assert_that_it_points(message, pointed)


def test_every_refusal_says_what_to_do_instead():
    silent = [body for signature, body, *_ in WITHOUT_ADVICE if len(refusal(signature, body).splitlines()[-1]) < 20]
    assert silent == []


# -- signatures and sources ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("signature", "body", "what", "advice"),
    [
        ("*args", "return args[0]", "`*args` and `**kwargs` cannot be read", "Name each field"),
        ("x, **kw", "return kw['a']", "`*args` and `**kwargs` cannot be read", "Name each field"),
        ("x, /", "return 1", "positional-only parameters cannot be read", "Drop the `/`"),
    ],
)
def test_every_parameter_has_a_name(signature, body, what, advice):
    message = refusal(signature, body)
    assert what in message
    assert advice in message.splitlines()[-1]


def test_a_lambda_a_builtin_and_an_object_are_no_terms():
    with pytest.raises(ReadError, match="not a function made with `def`"):
        term(lambda x: x)
    for thing in (abs, len, int, 5, "f"):
        with pytest.raises(ReadError, match="a term is a plain Python function"):
            term(thing)


def test_an_async_function_and_a_generator_are_no_terms():
    with pytest.raises(ReadError):

        @term
        async def later(x):
            return x

    with pytest.raises(ReadError):

        @term
        def many(x):
            yield x


def test_a_lambda_is_no_helper():
    assert "cannot be read: it is not a function made with `def`" in refusal("x", "return short(x)")


def test_a_function_without_source_says_so():
    space = {}
    exec("def bare(x):\n    return x", space)
    with pytest.raises(ReadError, match=r"'bare' cannot be read: its source is not available(.|\n)*notebook cell"):
        term(space["bare"])


def test_a_function_of_a_notebook_cell_is_read():
    name = "/tmp/ipykernel_1234/567890.py"
    source = "def cell(x, *, gain=3.0):\n    return gain * x\n"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    space = {"__name__": "__main__"}
    exec(compile(source, name, "exec"), space)
    reward = Reward("notebook", version="1", terms=[term(space["cell"])], fields=[Field("x")])
    assert reward.score(x=2).total == 6.0


def test_a_function_of_a_file_is_read(tmp_path):
    path = tmp_path / "rewards.py"
    path.write_text("LIMIT = 3.0\n\n\ndef near(x):\n    return x < LIMIT\n\n\ndef wrong(x):\n    return x ** 99.\n")
    space = {}
    exec(compile(path.read_text(), str(path), "exec"), space)
    assert Reward("file", version="1", terms=[term(space["near"])], fields=[Field("x")]).score(x=2).total == 1.0
    with pytest.raises(ReadError, match=r"rewards\.py, line 9\n    return x \*\* 99\.\n           \^\^\^\^\^\^\^\^\n"):
        term(space["wrong"])


def test_a_function_inside_another_and_a_method_s_neighbour_are_read_with_their_indentation():
    limit = 3.0

    class Home:
        @staticmethod
        def near(x):
            if x < limit:
                return 1
            return 0

    reward = Reward("inner", version="1", terms=[term(Home.near)], fields=[Field("x")])
    assert reward.score(x=2).total == 1.0
    with pytest.raises(ReadError) as caught:

        @term
        def wrong(x):
            return x << limit

    lines = str(caught.value).splitlines()
    assert lines[2:4] == ["    return x << limit", "           ^^^^^^^^^^"]


def test_the_caret_counts_letters_and_not_bytes():
    message = refusal("x", "return x * 2 + 'é' * x ** 99.")
    assert_that_it_points(message, "'é' * x" if "text" in message else "x ** 99.")


def test_a_caret_runs_to_the_end_of_the_first_line_of_a_long_expression():
    message = refusal("x", "return (x **\n        99.)")
    assert message.splitlines()[2:4] == ["    return (x **", "            ^^^^"]


# -- names are resolved when the term is defined -------------------------------------------------------------------

LIMIT = 2.0


def helper_of_the_moment(x):
    return x * LIMIT


def test_a_constant_changed_later_changes_the_plain_function_and_not_the_reward(monkeypatch):
    @term
    def over(x):
        return helper_of_the_moment(x) if x > LIMIT else -1.0

    monkeypatch.setitem(globals(), "LIMIT", 10.0)
    reward = Reward("resolved", version="1", terms=[over], fields=[Field("x")])
    assert over(3.0) == -1.0
    assert reward.score(x=3.0).total == 6.0
    again = Reward("resolved", version="2", terms=[over], fields=[Field("x", low=0)])
    assert again.score(x=3.0).total == 6.0


def test_a_helper_changed_later_changes_the_plain_function_and_not_the_reward(monkeypatch):
    @term
    def calls(x):
        return helper_of_the_moment(x)

    monkeypatch.setitem(globals(), "helper_of_the_moment", lambda x: 0.0)
    assert calls(3.0) == 0.0
    assert Reward("resolved", version="1", terms=[calls], fields=[Field("x")]).score(x=3.0).total == 6.0


def test_a_constant_of_an_enclosing_function_is_read():
    def make(limit):
        @term
        def over(x):
            return x > limit

        return Reward("closure", version="1", terms=[over], fields=[Field("x")])

    assert [make(limit).score(x=3).total for limit in (2, 4)] == [1.0, 0.0]
    assert make(2).fingerprint != make(4).fingerprint


def test_a_constant_defined_below_is_not_known_yet():
    with pytest.raises(ReadError, match="'later' is not known"):

        @term
        def over(x):
            return x > later

    later = 3.0
    assert later


def test_a_keyword_default_is_read_once():
    space = load("def f(x, *, gain=2.0, table=(1.0, 5.0)):\n    return gain * x + table[1]\n")
    made = term(space["f"])
    space["f"].__kwdefaults__["gain"] = 100.0
    assert Reward("r", version="1", terms=[made], fields=[Field("x")]).score(x=1).total == 7.0


# -- one formula ---------------------------------------------------------------------------------------------------


def test_three_spellings_of_one_branch_give_the_same_nodes():
    spellings = [
        "return 1.0 if x < 3 else -x",
        "if x < 3:\n    return 1.0\nreturn -x",
        "if x < 3:\n    result = 1.0\nelse:\n    result = -x\nreturn result",
        "if x < 3:\n    return 1.0\nelse:\n    return -x",
        "result = -x\nif x < 3:\n    result = 1.0\nreturn result",
    ]
    rewards = [rewarded(body, "x") for body in spellings]
    assert len({reward.fingerprint for reward in rewards}) == 1
    assert len({reward.program.nodes for reward in rewards}) == 1


def test_a_value_computed_once_is_one_node():
    body = "a = math.tanh(x * y)\nb = math.tanh(x * y)\nreturn a * b + a + math.tanh(x * y)"
    nodes = rewarded(body, "x, y").program.nodes
    assert sum(isinstance(node, n.Tanh) for node in nodes) == 1


def test_constants_differ_by_type_and_bits():
    bodies = [f"return x if x < 2 else {number}" for number in ("1", "1.0", "0.0", "-0.0")]
    assert len({rewarded(body, "x").fingerprint for body in bodies}) == 4


def test_operands_are_never_reordered():
    assert rewarded("return x + y", "x, y").fingerprint != rewarded("return y + x", "x, y").fingerprint
    assert rewarded("return x < y", "x, y").fingerprint != rewarded("return y > x", "x, y").fingerprint


def test_min_max_and_abs_stay_nodes():
    nodes = {type(node) for node in rewarded("return min(max(abs(x), 1), 3)", "x").program.nodes}
    assert {n.Min, n.Max, n.Abs} <= nodes
    assert n.Select not in nodes


def test_sums_are_written_out_left_to_right():
    reward = rewarded("return sum(force)", "force")
    assert reward.score(force=(1e16, 1.0, -1e16)).total == 0.0  # Python 3.12 would give 1


def test_a_power_is_written_out_as_products():
    for exponent in (2, 3, 5, 7, 8, 13, 64):
        reward = rewarded(f"return x ** {exponent}", "x")
        assert reward.score(x=1.1).total == pytest.approx(1.1**exponent, rel=1e-13)
        products = sum(isinstance(node, n.Mul) for node in reward.program.bind().nodes)
        assert products <= 2 * exponent.bit_length()


# -- knobs ---------------------------------------------------------------------------------------------------------


def test_a_knob_stays_a_parameter_and_a_table_or_text_is_a_constant():
    made = term(
        function(
            "return gain * table[level] if mood == calm else far",
            "level, mood, *, gain=2.0, table=(1.0, 2.0, 4.0), calm='calm', far",
        )
    )
    assert dict(made.knobs) == {"gain": 2.0}
    assert made.shared == ("far",)
    fields = [FIELDS["level"], FIELDS["mood"]]
    reward = Reward("knobs", version="1", terms=[made], fields=fields, shared={"far": -1.0})
    assert set(reward.params) == {"f.gain", "f.weight", "far"}
    assert reward.score(level=2, mood="calm").total == 8.0
    assert reward.with_params(far=-5.0).score(level=2, mood="wild").total == -5.0


def test_a_knob_keeps_whole_numbers_and_flags_apart():
    made = term(function("return x * whole if on else 0", "x, *, whole=3, on=True"))
    assert dict(made.knobs) == {"whole": 3.0, "on": True}
    assert made.knobs["on"] is True


@pytest.mark.parametrize("default", ["math.nan", "10**400", "2**53 + 1"])
def test_a_knob_is_a_finite_number_that_a_float_holds(default):
    with pytest.raises(DefinitionError, match=r"f\.k="):
        term(function("return x * k", f"x, *, k={default}"))


def test_the_knob_of_a_helper_is_a_constant_unless_the_term_passes_it():
    reward = rewarded("return scaled(x) + scaled(x, k=gain)", "x, *, gain=10.0")
    assert set(reward.params) == {"f.gain", "f.weight"}
    assert reward.with_params(f={"gain": 1.0}).score(x=1).total == 3.0


def test_a_term_may_call_another_term_as_a_helper():
    @term
    def base(x, *, k=2.0):
        return k * x

    @term
    def more(x):
        return base(x) + base(x, k=10.0)

    reward = Reward("two", version="1", terms=[more], fields=[Field("x")])
    assert reward.score(x=1.0).total == more(1.0) == 12.0


# -- fields --------------------------------------------------------------------------------------------------------


def test_an_undeclared_field_is_named_with_line_and_the_near_one():
    @term
    def safety(distnce):
        return distnce

    with pytest.raises(UnknownField) as caught:
        Reward("roads", version="1", terms=[safety], fields=[Field("distance"), Field("action")])
    message = str(caught.value)
    assert "term 'safety' reads 'distnce', which the reward does not declare." in message
    assert "test_functions.py, line " in message
    assert "Declared fields: distance, action. Did you mean 'distance'?" in message


def test_an_undeclared_field_of_a_record_is_named():
    with pytest.raises(UnknownField, match="reads 'place'"):
        Reward("r", version="1", terms=[term(function("return curr.place", "curr"))], fields=[Field("plaice")])


def note_of(body, signature):
    """Return the only note on a reward of one function, with `x` and `y` declared."""
    made = term(function(body, signature))
    reward = Reward("r", version="1", terms=[made], fields=[FIELDS["x"], FIELDS["y"]])
    assert "x" not in reward.inputs
    (note,) = reward.notes
    assert note.term == made.name
    return note


@pytest.mark.parametrize("body", ["a = x\nreturn y", "return y if True else x", "return y + len((x, x))"])
def test_a_declared_field_that_makes_no_difference_is_noted(body):
    assert "reads the field 'x', but it does not affect any score" in note_of(body, "x, y").what


def test_a_parameter_that_is_never_used_is_noted_as_such():
    assert "takes the field 'x', and does not use it" in note_of("return y", "x, y").what


def test_a_parameter_that_is_neither_declared_nor_used_is_noted():
    reward = Reward("r", version="1", terms=[term(function("return y", "y, other"))], fields=[FIELDS["y"]])
    (note,) = reward.notes
    assert note.what == "takes 'other', which is not declared, and does not use it."
    assert reward.inputs == ("y",)


def test_more_arguments_that_are_not_used_are_noted():
    reward = Reward("r", version="1", terms=[term(function("return y", "y, *a, **k"))], fields=[FIELDS["y"]])
    assert [note.what for note in reward.notes] == [
        "takes any more arguments as 'a', and does not use them.",
        "takes any more arguments as 'k', and does not use them.",
    ]
    assert reward.inputs == ("y",)


def test_a_field_of_a_record_that_makes_no_difference_is_noted():
    assert "reads the field 'x', but it does not" in note_of("a = curr.x\nreturn curr.y", "curr").what


def test_a_field_that_only_a_condition_of_the_row_reads_is_used():
    reward = rewarded("a = 1 / x\nreturn 3.0", "x")
    assert reward.inputs == ("x",)
    with pytest.raises(ArithmeticError, match="divides by zero"):
        reward.score(x=0)


def test_a_branch_that_is_never_taken_is_not_read():
    assert rewarded("return x if True else undefined_anywhere", "x").score(x=2).total == 2.0


# -- size ----------------------------------------------------------------------------------------------------------


def test_too_many_calls_of_helpers_are_refused(monkeypatch):
    assert helpers.MOST_CALLS == 10_000
    monkeypatch.setattr(helpers, "MOST_CALLS", 1_000)
    doubling = ["def d0(a):\n    return a + 1\n"]
    doubling += [f"def d{i}(a):\n    return d{i - 1}(a) + d{i - 1}(a * 2)\n" for i in range(1, 11)]
    space = load("\n\n".join([*doubling, "def f(x):\n    return d10(x)\n"]))
    with pytest.raises(ReadError, match="more than 1,000 calls of helpers"):
        term(space["f"])
