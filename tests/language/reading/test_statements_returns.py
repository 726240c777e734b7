"""What a term returns: one number, or that of several values which `part=` names; errors point at the `return`."""

import numpy as np
import pytest

from plaudit import Field, ReadError, Reward, Task, fact, term
from support.strategies import load

SEVERAL = """
def f(x, y):
    forward = 2.0 * x
    effort = -0.1 * y * y
    if x < 0:
        return -1.0, {"forward": 0.0, "effort": effort, "note": f"{x} is negative"}
    total = forward + effort
    return total, {"forward": forward, "effort": effort}
"""
PARTS = "def f(x, y):\n    parts = {'forward': 2.0 * x, 'effort': -y * y}\n    return parts\n"


def read(text, **options):
    """Return the plain function `f`, and its reward."""
    function = load(text)["f"]
    return function, Reward("r", version="1", terms=[term(**options)(function)], fields=[Field("x"), Field("y")])


@pytest.mark.parametrize("x", [-2.0, 3.0])
def test_a_part_of_a_returned_tuple_is_the_score(x):
    function, reward = read(SEVERAL, part=0)
    assert reward.score(x=x, y=2.0).total == function(x, 2.0)[0]
    assert reward.terms[0].name == "f"


def test_each_part_of_a_returned_dict_can_be_a_term():
    function = load(PARTS)["f"]
    terms = [term(part=part, weight=weight)(function) for part, weight in (("forward", 1.0), ("effort", 0.5))]
    reward = Reward("r", version="1", terms=terms, fields=[Field("x"), Field("y")])
    assert reward.score(x=1.5, y=2.0).values == {"forward": 3.0, "effort": -2.0}


@pytest.mark.parametrize(
    ("text", "options", "what", "line", "advice"),
    [
        ("def f(x, y):\n    return x, y\n", {}, "a tuple of 2", "return x, y", "@term(part=0)"),
        (PARTS, {}, "a dict of 2", "return parts", "@term(part='forward')"),
        (PARTS, {"part": "forwards"}, "is not a key of the dict", "return parts", "'forward', 'effort'"),
        ("def f(x, y):\n    return x + y\n", {"part": 0}, "there is no part 0", "return x + y", "Leave part= out"),
        ("def f(x, y):\n    return x, y\n", {"part": 2}, "there is no part 2", "return x, y", "name another part"),
        (
            "import numpy as np\ndef f(x, y):\n    if x > 1:\n        return 0.0\n    return np.array([x, y])\n",
            {},
            "a vector of 2",
            "return np.array([x, y])",
            "sum(v)",
        ),
    ],
)
def test_what_is_no_score_is_shown_at_the_line_that_returns_it(text, options, what, line, advice):
    with pytest.raises(ReadError) as caught:
        read(text, **options)
    first, _, shown, _, *rest = str(caught.value).splitlines()
    assert what in first
    assert shown.strip() == line
    assert advice in "\n".join(rest)


def test_a_fact_that_is_no_bool_is_shown_at_the_line_that_returns_it():
    function = load("def f(x):\n    y = x + 1\n    return y\n")["f"]
    with pytest.raises(ReadError, match=r"a fact must return a bool(.|\n)*    return y"):
        Reward(
            "r",
            version="1",
            terms=[term(load("def g(x): return x")["g"])],
            fields=[Field("x")],
            task=Task(facts=[fact(function)]),
        )


@pytest.mark.parametrize(
    "text",
    [
        "def f(x, y):\n    assert y > -100, f'{y} is too low'\n    return x + y\n",
        "def f(x, y):\n    if y <= -100:\n        raise ValueError(f'{y} is too low')\n    return x + y\n",
        "def f(x, y):\n    if y > -100:\n        return x + y\n    else:\n        raise ValueError\n",
        "def f(x, y):\n    for k in range(2):\n        if y < -100 * k - 100:\n            raise ValueError\n    return x + y\n",
    ],
)
def test_a_row_that_raises_does_not_count(text):
    function, reward = read(text)
    assert reward.score(x=1.0, y=2.0).total == function(1.0, 2.0)
    with pytest.raises(Exception, match=r"fails an assertion|raises ValueError"):
        reward.score(x=1.0, y=-150.0)
    masked = reward.compile("numpy", on_bad="mask")({"x": [1.0, 1.0], "y": [2.0, -150.0]}).total
    assert np.isnan(masked).tolist() == [False, True]


@pytest.mark.parametrize(
    "text",
    [
        "def f(x, y):\n    if x is None or y is None:\n        return -1.0\n    return x + y\n",
        "def g(a, b=None):\n    return a if b is None else a + b\ndef f(x, y):\n    return g(x) + g(x, y)\n",
        "def f(x, y):\n    best = None\n    if best is not None:\n        return 0.0\n    return x - y\n",
        "def f(x, y):\n    import math\n    from math import pi as half_turn\n    import numpy as np\n"
        "    return math.cos(x) + np.abs(y) + half_turn\n",
    ],
)
def test_none_and_imports_inside_are_read(text):
    function, reward = read(text)
    assert reward.score(x=1.5, y=-2.0).total == pytest.approx(float(function(1.5, -2.0)), rel=1e-15)
