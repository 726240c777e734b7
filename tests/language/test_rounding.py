"""Bounds on rounding hold: what 32-bit floats really lose, at a row and over ranges."""

import math

import numpy as np
import pytest

from plaudit import Field, Reward, term
from plaudit.checks.trace import Trace
from plaudit.language.intervals import bound_nodes
from plaudit.language.rounding import bound_errors
from support.written import module

EPSILON = float(np.finfo(np.float32).eps)
FORMULAS = [
    "x * y - y * (x + y) / 3",
    "x / (y + 3) - y / (x - 4)",
    "math.exp(x) * y - math.expm1(y)",
    "math.log(x + 3) + math.log1p(y * y)",
    "math.sqrt(x * x + y + 2.5) + math.hypot(x, y)",
    "math.sin(x * y) - math.cos(x) * math.tanh(y)",
    "math.asin(x / 4) + math.acos(y / 4) * math.atan(x * y)",
    "math.atan2(y, x + 2.5)",
    "(x + 2.5) ** (y + 0.5)",
    "min(x * y, y / 3) + max(abs(x), -y) if x < y else x * x",
]


@pytest.mark.parametrize("formula", FORMULAS)
def test_the_bound_holds_what_32_bit_floats_really_lose(formula):
    function = module(f"import math\n\n\ndef formula(x, y):\n    return {formula}\n")["formula"]
    fields = [Field("x", low=-2, high=2), Field("y", low=-2, high=2)]
    reward = Reward("r", version="1", terms=[term(function)], fields=fields)
    program = reward.program.bind()
    rounds = [True] * len(program.nodes)
    chance = np.random.default_rng(0)
    x, y = chance.uniform(-2, 2, (2, 400)).astype(np.float32)
    wide, narrow = (
        np.asarray(reward.compile("numpy", dtype=dtype)({"x": x, "y": y}).total) for dtype in ("float64", "float32")
    )
    values = Trace(program).columns([x.astype(float), y.astype(float)])
    at_rows = bound_errors(program, values, values, unit=EPSILON, rounds=rounds)[program.outputs["total"]].error
    low, high = zip(*bound_nodes(program), strict=True)
    anywhere = bound_errors(program, low, high, unit=EPSILON, rounds=rounds)[program.outputs["total"]].error
    assert (np.abs(narrow - wide) <= at_rows).all()
    assert (at_rows <= anywhere).all()
    assert at_rows.max() < 1e-3
    assert np.median(at_rows) < 100 * EPSILON
    assert math.isfinite(anywhere)
