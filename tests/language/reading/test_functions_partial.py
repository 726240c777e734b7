"""A row is refused for the partial operations it reaches, and for no others."""

import math

import pytest

from plaudit import Field
from plaudit.errors import OutsideDomain
from support.written import agree, plain, reward_from, reward_of

ZEROS = [{"x": x} for x in (-2.0, -0.0, 0.0, 0.5, 1.0, 2.0)]

REACHED = {
    "plainly": "return 1 / x",
    "and forgotten": "y = 1 / x\n    return 2 + x",
    "in a branch": "if x != 0:\n        return 1 / x\n    return 0",
    "in the other branch": "if x == 0:\n        y = 0\n    else:\n        y = 1 / x\n    return y",
    "after an early return": "if x == 0:\n        return 0\n    y = 1 / x\n    return y",
    "after a perhaps early return": "if x >= 0:\n        if x == 0:\n            return 5\n    return 1 / x",
    "in an elif": "if x == 0:\n        return 3\n    elif 1 / x > 1:\n        return 4\n    return 5",
    "in a condition": "if 1 / x > 1:\n        return 1\n    return 0",
    "in a conditional expression": "return 1 / x if x != 0 else 0",
    "in the other side of one": "return 0 if x == 0 else 1 / x",
    "in its condition": "return 0 if 1 / x > 1 else x",
    "behind and": "return x != 0 and 1 / x > 0.5",
    "before and": "return 1 / x > 0.5 and x != 0",
    "behind or": "return x == 0 or 1 / x > 0.5",
    "before or": "return 1 / x > 0.5 or x == 0",
    "behind two": "return x != 0 and x != 1 and 1 / (x * (x - 1)) > 0",
    "in a chain": "return 0 < x < 1 / x",
    "in a chain that holds": "return 0 <= x < 1 / x",
    "at the start of a chain": "return 1 / x < x < 2",
    "behind not": "return not (x == 0 or 1 / x > 0.5)",
    "under a branch and an and": "return (x > 0 and 1 / (x - 1) > 0) if x != 1 else 0",
    "in a helper": "return over(x)",
    "in a helper in a branch": "return over(x) if x != 0 else 0",
    "in a helper that guards itself": "return safe(x)",
    "in an argument": "return safe(1 / x)",
    "in any": "return any(1 / y > 0.5 for y in (x, x - 1))",
    "in all": "return all(1 / y > 0.5 for y in (x, x - 1))",
    "in a sum": "return sum(1 / y if y != 0 else 0 for y in (x, x - 1))",
    "in a minimum": "return min(x, 1 / x)",
    "in a membership": "return x in (0, 1) or 1 / x in (2, 4)",
    "never": "if 1 > 2:\n        return 1 / x\n    return x",
    "twice": "return 1 / x + (1 / x if x != 0 else 0)",
}


@pytest.mark.parametrize("body", REACHED.values(), ids=REACHED)
def test_a_division_counts_where_python_would_reach_it(body):
    helpers = "def over(y): return 1 / y\ndef safe(y):\n    if y == 0:\n        return 0\n    return over(y)\n"
    agree(f"{helpers}def f(x):\n    {body}\n", rows=ZEROS)


@pytest.mark.parametrize(
    ("text", "inside", "outside", "why"),
    [
        ("7 / x", (-1.0, 1e-300), (0.0, -0.0), "divides by zero"),
        ("7 // x", (-1.0, 2.0), (0.0,), "divides by zero"),
        ("7 % x", (-1.0, 2.0), (-0.0,), "divides by zero"),
        ("math.sqrt(x)", (0.0, -0.0, 1e300), (-5e-324, -1.0), "takes a square root outside its domain"),
        ("math.log(x)", (5e-324, 1e300), (0.0, -0.0, -1.0), "takes a logarithm outside its domain"),
        ("math.log1p(x)", (math.nextafter(-1, 0), 0.0), (-1.0, -2.0), "takes a logarithm outside its domain"),
        ("math.exp(x)", (-1e300, 709.782712893384), (709.7827128933841, 1e300), "exponential beyond every float"),
        ("math.expm1(x)", (-1e300, 709.78), (709.79,), "exponential beyond every float"),
        ("math.asin(x)", (-1.0, -0.0, 1.0), (-1.0000000000000002, 1.5), "takes an arc sine outside its domain"),
        ("math.acos(x)", (-1.0, -0.0, 1.0), (-1.0000000000000002, 1.5), "takes an arc cosine outside its domain"),
        ("x ** 2", (1e154, -1e154), (1e155, -1e200), "raises a power beyond every float"),
        ("x ** 3", (1e102,), (1e103, -1e200), "raises a power beyond every float"),
        ("(4, 5)[x]", (0.0, 1.0, -0.0), (-1.0, 2.0, 0.5, 1e300), "indexes a table of 2 outside it"),
        ("(4, 5).index(x)", (4.0, 5.0), (4.5, 0.0), "looks up a value that is not in its tuple"),
        ("x * x", (1e150,), (1e160,), "scores a number that is not finite"),
        ("x + 1e308", (1.0,), (1.7e308,), "scores a number that is not finite"),
    ],
)
def test_an_operation_is_refused_outside_its_domain_alone(text, inside, outside, why):
    function = plain(f"def f(x): return {text}")
    reward = reward_of(function)
    for x in inside:
        assert reward.score(x=x).total == pytest.approx(function(int(x) if "[" in text else x))
    for x in outside:
        with pytest.raises(OutsideDomain, match=f"term 'f' of reward 'tried' .*{why}"):
            reward.score(x=x)


@pytest.mark.parametrize(
    "text", ["math.floor(x)", "math.ceil(x)", "round(x)", "math.sin(x)", "math.cos(x)", "math.sqrt(x)", "math.log(x)"]
)
def test_an_infinite_number_is_outside_unless_asked_about(text):
    distance = Field("x", infinite=True, low=0.1)
    with pytest.raises(OutsideDomain, match=r"infinite number|outside its domain"):
        reward_from(f"def f(x): return {text}", distance).score(x=math.inf)
    asked = reward_from(f"def f(x): return -1 if math.isinf(x) else {text}", distance)
    assert asked.score(x=math.inf).total == -1.0
    assert asked.score(x=1.0).total == asked.terms[0](1.0)


def test_infinity_passes_through_what_stays_finite():
    agree("def f(x): return math.tanh(x) + 1 / x + min(x, 3)", Field("x", infinite=True, low=1), rows=[{"x": math.inf}])


def test_the_refusal_names_the_first_place_that_the_row_reaches():
    function = plain("def f(x, y):\n    a = 1 / y if x > 0 else 0\n    return a + math.log(x)\n")
    reward = reward_of(function)
    with pytest.raises(OutsideDomain, match=r"divides by zero.\n  .*, line 3:  a = 1 / y if x > 0 else 0"):
        reward.score(x=1.0, y=0.0)
    with pytest.raises(OutsideDomain, match=r"logarithm outside its domain.\n  .*, line 4:  return a \+ math.log\(x\)"):
        reward.score(x=0.0, y=0.0)


def test_the_refusal_is_an_arithmetic_error_that_shows_the_inputs_and_what_to_do():
    with pytest.raises(ArithmeticError) as caught:
        reward_from("def f(x, y): return x / y").score(x=1.5, y=0)
    assert isinstance(caught.value, ValueError)
    lines = str(caught.value).splitlines()
    assert lines[0] == "term 'f' of reward 'tried' divides by zero."
    assert lines[2] == "  inputs: x=1.5, y=0.0"
    assert lines[3].startswith("Guard the operation with an `if`")


def test_a_score_that_a_clamp_would_hide_is_refused_too():
    reward = reward_from("def f(x): return x * 1e300", high=1.0)
    assert reward.score(x=2.0).total == 1.0
    with pytest.raises(OutsideDomain, match="term 'f' of reward 'tried' scores a number that is not finite"):
        reward.score(x=1e300)
