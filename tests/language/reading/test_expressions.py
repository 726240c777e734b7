"""Reading expressions and statements: what is accepted means what Python means."""

import math
from itertools import product

import numpy as np
import pytest

from plaudit import Field, ReadError, prove
from plaudit.checks.solver.breakpoints import find_breakpoints
from support.running import SCORING, installed, scored
from support.written import NUMBERS, agree, plain, reward_from, reward_of

EXPRESSIONS = [
    "x + 1",
    "x - 0.5",
    "2 * x",
    "x / 3",
    "x // 2",
    "x // -0.5",
    "x % 2",
    "x % -2.5",
    "1 / x",
    "1 // x",
    "7 % x",
    "-x",
    "+x",
    "- - x",
    "x + x ** 0",
    "x ** 1",
    "x ** 2",
    "x ** 3",
    "x ** 8",
    "x * 2 ** 0.5",
    "x + 1 / 3",
    "x + 7 // 2 - 7 % 4",
    "x < 1",
    "x <= 1",
    "x > 1",
    "x >= 1",
    "x == 1",
    "x != 1",
    "1 < x",
    "0 < x <= 1",
    "0 <= x < 2 < 3",
    "2 > x != 0 <= x",
    "x in (0, 1, 2.5)",
    "x not in (0, 1)",
    "x + (x in ())",
    "x + (1 in (1, 2))",
    "x > 0 and x < 2",
    "x < 0 or x > 2",
    "x > 0 and x != 1 and x < 2 or x == 7",
    "x > 0 and True",
    "x > 0 or False",
    "True and x > 0",
    "not x > 1",
    "not x",
    "not (x > 0 and not x > 1)",
    "1 if x > 1 else -1",
    "1 if x else -1",
    "x if 1 else -x",
    "x if x > 0 else -x if x < -1 else 0",
    "(x if x > 0 else 2) if x != 1 else 3",
    "x if (x > 1 if x > 0 else x < -1) else 0",
    "abs(x)",
    "math.fabs(x)",
    "min(x, 1)",
    "min(1, x)",
    "max(x, 0, 1.5)",
    "max(0.0, x)",
    "round(x)",
    "math.floor(x)",
    "math.ceil(x)",
    "math.sqrt(x)",
    "math.exp(x)",
    "math.log(x)",
    "math.log1p(x)",
    "math.expm1(x)",
    "math.tanh(x)",
    "math.sin(x)",
    "math.cos(x)",
    "math.atan(x)",
    "math.isinf(x)",
    "x * math.pi",
    "x < math.inf",
    "x > -math.inf",
    "x + (0.5, -1.0, 2.0)[0]",
    "x + (0.5, -1.0, 2.0)[-1]",
    "x + (0.5, -1.0)[True]",
    "(0.5, -1.0, 2.0)[x > 1]",
    "(2, 2.5, 7, 2).index(x)",
    "x + (1, 2, 3).index(2)",
    "x + sum((1, 2, 3)) + min((4, 5)) + max((4, 5)) + len((4, 5))",
    "x + any((0, 1)) + all((0, 1))",
    "sum((x, 2.5 * x))",
    "max((x, 1))",
    "(x, 2 * x)[1]",
    "(x > 0) + (x > 1)",
    "(x > 0) * 2.5",
    "-(x > 0)",
    "(x > 0) == (x > 1)",
    "(x > 0) < 1",
    "abs(x > 0)",
    "1_000 * x + 0x10 + 1e-3",
]


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_an_expression_means_what_python_means(text):
    agree(f"def f(x): return {text}")


STATEMENTS = {
    "an assignment": """
        y = x + 1
        y = y * y
        return y
        """,
    "an annotated assignment": """
        y: float = x + 1
        return y
        """,
    "augmented assignments": """
        y = x
        y += 1
        y -= 0.5
        y *= 3
        y /= 4
        y //= 0.25
        y %= 5
        y **= 2
        return y
        """,
    "an assignment to a parameter": """
        x = x + 1
        x += 1
        return x
        """,
    "pass": """
        if x > 1:
            pass
        else:
            x = 3
        pass
        return x
        """,
    "if without else": """
        y = 0
        if x > 1:
            y = x
        return y
        """,
    "if, elif, else": """
        if x < 0:
            y = -1
        elif x < 1:
            y = 5 * x
        elif x == 1:
            y = 100
        else:
            y = 2
        return y + x
        """,
    "returns in every branch": """
        if x < 0:
            return -1
        elif x < 1:
            return 0.5
        else:
            return 2 * x
        """,
    "an early return": """
        if x < 0:
            return -1
        y = x + 1
        if y > 2:
            return y
        return 0
        """,
    "a branch that only may return": """
        y = 1
        if x > 0:
            if x > 2:
                return 10 * x
            y = 2
        else:
            if x < -1:
                return -10
            y = 3
        return x + y
        """,
    "two branches that only may return": """
        if x > 0:
            if x > 2:
                return 1
        elif x < -1:
            if x < -3:
                return 2
        else:
            return 3
        if x == 1:
            return 4
        return 5 + x
        """,
    "a name of two kinds in two branches": """
        if x > 0:
            y = x > 1
        else:
            y = x
        return y
        """,
    "flags joined after a branch": """
        if x > 0:
            y = x > 1
        else:
            y = x < -1
        return 3 if y else 4
        """,
    "a condition known beforehand": """
        if 1 < 2:
            y = x
        else:
            y = undefined
        return y
        """,
    "a name assigned in one branch and read there only": """
        if x > 0:
            y = 2 * x
            return y
        return x
        """,
    "a number or a flag returned": """
        if x > 1:
            return x > 2
        return x
        """,
    "a constant on one path": """
        if x > 1:
            return 3
        return 3.0 + x
        """,
    "statements after a return, never reached": """
        return x
        return y
        """,
    "a tuple of computed values": """
        if x > 1:
            pair = (x, 1)
        else:
            pair = (1, x)
        return pair[0] - 2 * pair[1]
        """,
}


@pytest.mark.parametrize("body", STATEMENTS.values(), ids=STATEMENTS)
def test_statements_mean_what_python_means(body):
    agree(f"def f(x):{body}")


BOTH = [{"x": x, "lit": lit} for x, lit in product(NUMBERS, (False, True))]


@pytest.mark.parametrize(
    "text",
    [
        "x + lit",
        "x if lit else -x",
        "lit * x",
        "lit and x > 0",
        "lit or x > 0",
        "not lit or x > 1",
        "lit == (x > 0)",
        "x * (lit != True)",
        "lit + lit + x",
        "(10, 20)[lit] + x",
        "x + (lit in (1, 2))",
        "min(lit, x)",
        "-lit - x",
        "lit if x > 0 else not lit",
        "x + (True if lit else 2.5)",
        "lit < x",
    ],
)
def test_a_flag_counts_as_python_counts_it(text):
    agree(f"def f(x, lit): return {text}", Field("lit", flag=True), rows=BOTH)


def test_a_reward_that_reads_nothing_scores_its_constant():
    reward = reward_from("def f(): return -100")
    assert reward.score().total == -100.0


def test_a_float_comes_back_for_whole_numbers_flags_and_floats():
    for text in ("1 if x > 0 else 2", "x > 0", "x", "round(x)"):
        assert type(reward_from(f"def f(x): return {text}").score(x=1).total) is float


@pytest.mark.parametrize("x", [1, 2, 3, 4])
def test_a_table_is_indexed_by_a_whole_number_expression(x):
    agree("def f(x): return (10.0, 20.5, 7)[x - 1]", Field("x", values=(0, 1, 2, 3, 4)), rows=[{"x": x}])


@pytest.mark.parametrize("x", [-1.0, 0.5, 3.0, -0.5])
def test_an_index_that_is_negative_broken_or_too_large_is_outside_a_table(x):
    reward = reward_from("def f(x): return (10.0, 20.5, 7)[x]")
    with pytest.raises(ArithmeticError, match=r"term 'f' of reward 'tried' indexes a table of 3 outside it"):
        reward.score(x=x)


def test_a_computed_table_entry_is_the_entry():
    reward = reward_from("def f(x): return (10.0, 20.5, 7)[x]")
    assert [reward.score(x=x).total for x in (0, 1, 2)] == [10.0, 20.5, 7.0]
    flags = reward_from("def f(x): return not (True, False)[x]")
    assert [flags.score(x=x).total for x in (0, 1)] == [0.0, 1.0]


@pytest.mark.parametrize("text", ["-x", "x * 1", "min(x, 0)", "max(x, 0.0)", "x if x <= 0 else 1", "x + -0.0", "x / 2"])
def test_the_sign_of_zero_is_kept(text):
    function = plain(f"def f(x): return {text}")
    reward = reward_of(function)
    for x in (0.0, -0.0):
        assert math.copysign(1, reward.score(x=x).total) == math.copysign(1, function(x))


def test_the_sign_is_one_operation_however_it_is_spelled():
    text = "import numpy\nimport plaudit\ndef f(x): return {0}(x) * x + {0}(x)"
    own, other = (reward_from(text.format(name)) for name in ("plaudit.sign", "numpy.sign"))
    assert own.fingerprint == other.fingerprint
    assert [own.score(x=x).total for x in (-2.5, -0.0, 0.0, 1e-300, 3.0)] == [1.5, 0.0, 0.0, 1.0, 4.0]
    assert "plaudit.sign(x)" in own.source()


def test_the_sign_of_no_number_is_none():
    far = Field("x", infinite=True)
    text = "import plaudit\ndef f(x): return 3 if plaudit.sign(x - x) == plaudit.sign(x - x) else 1 + plaudit.sign(x)"
    reward = reward_from(text, far)
    columns = {"x": np.array([math.inf, 5.0])}
    for target in filter(installed, SCORING):
        assert scored(reward, target, columns).total.tolist() == [2.0, 3.0], target


def test_the_sign_is_exact_to_the_solver_and_jumps_at_0():
    text = "import plaudit\ndef f(x): return plaudit.sign(x + 1) * abs(x + 1)"
    reward = reward_from(text, Field("x", low=-5, high=5))
    alone = reward_from("import plaudit\ndef f(x): return plaudit.sign(x + 1)", Field("x", low=-5, high=5))
    assert -1.0 in find_breakpoints(alone.program)["x"]
    plain_line = reward_from("def f(x): return x + 1", Field("x", low=-5, high=5))
    assert prove(reward, plain_line).exactly


def test_two_zeros_in_two_branches_stay_two():
    reward = reward_from("def f(x): return 0.0 if x > 0 else -0.0")
    assert [math.copysign(1, reward.score(x=x).total) for x in (1.0, -1.0)] == [1.0, -1.0]


IS = {
    "a flag": "on is True",
    "not a flag": "(on is not True) * 2 + (on is False)",
    "flags": "(on and lit) is True",
    "the other way round": "True is not lit",
    "a constant": "(2 > 1) is True",
    "none": "on is None",
}


@pytest.mark.parametrize("text", IS.values(), ids=IS)
def test_a_flag_is_true_or_false(text):
    function = plain(f"def f(on, lit, x): return x + ({text})")
    reward = reward_of(function, Field("on", flag=True), Field("lit", flag=True))
    for on, lit in product((False, True), repeat=2):
        assert reward.score(on=on, lit=lit, x=2.0).total == function(on, lit, 2.0)


@pytest.mark.parametrize("text", ["(x > 0) is True", "c[0] is True", "x is True", "x is x"])
def test_what_may_be_a_bool_of_numpy_is_not_compared_by_identity(text):
    with pytest.raises(ReadError, match="`is` compares identity"):
        reward_from(f"def f(c, x): return x + ({text})", Field("c", flag=True, length=2))


COUNTS = {
    "numbers": ("list(v).count(0.5)", [0.5, 1.0, 0.5]),
    "none": ("list(v).count(7)", [0.5, 1.0, 0.5]),
    "a list that was made": ("[x, v[0], 2, 0.5].count(0.5)", [0.5, 1.0, 0.5]),
    "a list that is given": ("v.count(-1)", [-1, 0, -1]),
    "data": ("v.count(x)", [0.5, 0.25, 0.5]),
    "constants": ("[1, 2, 1].count(1) + v[0]", [0.5, 0.25, 0.5]),
}


@pytest.mark.parametrize(("text", "v"), COUNTS.values(), ids=COUNTS)
def test_what_is_in_a_list_is_counted(text, v):
    function = plain(f"def f(v, x): return {text}")
    for x in (0.5, 0.25, 2.0):
        assert reward_of(function, Field("v", length=3)).score(v=v, x=x).total == function(v, x)
