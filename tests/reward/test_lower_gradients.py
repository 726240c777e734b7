"""Which parameters a gradient reaches, said before anything runs."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from plaudit import Field, Reward, term
from plaudit.testing.rows import as_columns
from support.examples import examples
from support.running import scored
from support.strategies import cases, load, rows


def reached(source, **options):
    space = load(f"import math\n\n\n{source}")
    return Reward("r", version="1", terms=[term(**options)(space["f"])], fields=[Field("x")]).gradients()


def test_a_threshold_is_not_reached_and_a_factor_is():
    found = reached("def f(x, *, limit=1.0, gain=2.0):\n    return gain * x if x < limit else 0.0\n")
    assert found == {"f.limit": False, "f.gain": True, "f.weight": True}


def test_clamps_and_weights_are_reached():
    assert reached("def f(x):\n    return x\n", low=-1.0, high=1.0) == {"f.weight": True, "f.low": True, "f.high": True}


def test_what_is_rounded_or_looked_up_or_counted_is_not_reached():
    source = "def f(x, *, a=1.0, b=1.0, c=1.0, d=1.0, e=True, g=1.0):\n    return (round(x * a) + math.floor(b) + (1.0, 2.0, 3.0)[round(c)]\n            + (x > d) + e + x // g)\n"
    found = reached(source)
    assert found == {
        "f.a": False,
        "f.b": False,
        "f.c": False,
        "f.d": False,
        "f.e": False,
        "f.g": False,
        "f.weight": True,
    }


def test_every_smooth_function_lets_it_through():
    source = "def f(x, *, a=0.5, b=0.5, c=0.5, d=0.5, e=0.5, g=0.5, h=0.5):\n    return math.exp(a) + math.log(b) + math.sqrt(c) + math.tanh(d * x) + abs(e) + min(x, g) + x / h\n"
    assert all(reached(source).values())


def test_a_branch_lets_it_through_and_its_condition_does_not():
    found = reached("def f(x, *, a=1.0, b=2.0, c=3.0):\n    if x > a:\n        return b\n    return c\n")
    assert found == {"f.a": False, "f.b": True, "f.c": True, "f.weight": True}


def test_a_shared_knob_is_reached_through_any_term():
    space = load("def f(x, *, far):\n    return x > far\n\n\ndef g(x, *, far):\n    return x * far\n")
    both = Reward(
        "r", version="1", terms=[term(space["f"]), term(space["g"])], fields=[Field("x")], shared={"far": 1.0}
    )
    assert both.gradients()["far"] is True
    assert both.select_terms("f").gradients()["far"] is False


@examples(1 / 4)
@given(cases(), st.integers(0, 2**32))
def test_a_parameter_that_is_not_reached_changes_totals_by_jumps_alone(case, seed):
    """Moving it by very little, from beside its value, where a jump may be, changes a total in few rows or in none."""
    columns = as_columns(case, rows(case, seed, 32, bad=0.0, small=True))
    before = scored(case.reward, "numpy", columns)
    for name, smooth in case.reward.gradients().items():
        value = case.reward.params[name]
        if smooth or isinstance(value, bool):
            continue
        beside = (value + 1e-9, value + 2e-9)
        still, moved = (scored(case.reward, "numpy", columns, params={name: at}) for at in beside)
        same = (still.total == moved.total) | ~still.ok | ~moved.ok
        assert same.mean() >= 0.5, name
    assert math.isfinite(np.nansum(before.total))
