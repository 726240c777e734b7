"""Intervals hold every value a node takes, and what they promise of a row is true of it."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import Field, InputError, Reward, term
from plaudit.checks.trace import Trace
from plaudit.language import nodes as n
from plaudit.language.intervals import bound_nodes
from plaudit.language.static import analyse_program
from plaudit.targets import compile_program
from plaudit.testing.rows import as_arguments, as_columns
from support.examples import examples
from support.strategies import cases, rows


@examples(1 / 2)
@given(cases(), st.integers(0, 2**32))
def test_every_value_lies_in_its_interval_and_what_surely_holds_does(case, seed):
    columns = as_columns(case, rows(case, seed, 48))
    program = case.reward.program.bind()
    values = Trace(program).columns(as_arguments(program, columns))
    inside = in_range(case.reward, columns)
    inexact: set[int] = set()
    for at, (value, interval) in enumerate(zip(values, bound_nodes(program), strict=True)):
        number = value[inside].astype(float)
        if getattr(program.nodes[at], "inexact", False) or inexact.intersection(n.operands(program.nodes[at])):
            inexact.add(at)  # NumPy's functions round otherwise than Python's
        apart = 1e-12 * max([1.0, *(abs(end) for end in interval if math.isfinite(end))]) if at in inexact else 0.0
        within = (interval.low - apart <= number) & (number <= interval.high + apart)
        within |= np.isnan(number) & (interval == (-math.inf, math.inf))
        assert within.all(), f"{program.nodes[at]} is {number[~within]}, outside {interval}"
    for at in analyse_program(program).holds:
        assert values[at][inside].all(), f"{program.nodes[at]} does not hold"


def in_range(reward, columns):
    """Return the rows whose inputs lie in their declared sets, whatever becomes of them afterwards."""
    program = replace(reward.program, value_guards=())
    return compile_program(program, "numpy", on_bad="mask")(columns).ok


def scored(function, x, **field):
    return Reward("r", version="1", terms=[term(function)], fields=[Field("x", **field)]).score(x=x)


def hands_on_nan(x):
    return math.tanh(x - x)


def least_of_nan(x):
    return max(min(x - x, 1), 0)


def wraps_infinity(x):
    return x % 2


def absolute_nan(x):
    return min(abs(x * 0), 1)


def clips_nan(x):
    return min(1, max(x - x, -1)) if x > 5 else 0


@pytest.mark.parametrize("function", [hands_on_nan, least_of_nan, wraps_infinity, absolute_nan])
def test_a_nan_is_never_taken_for_a_number_within_bounds(function):
    with pytest.raises(InputError, match="not finite"):
        scored(function, math.inf, low=0, infinite=True)
    assert scored(function, 1.0, low=0, infinite=True).total == pytest.approx(function(1.0))


def root_of_what_is_not_reached(x):
    if math.isinf(x):
        return 0
    y = 1 / math.sqrt(x)
    return y * y


def floor_of_what_is_not_reached(x):
    if math.isinf(x):
        return 0
    y = 1 / math.floor(x)
    return y * y


@pytest.mark.parametrize("function", [root_of_what_is_not_reached, floor_of_what_is_not_reached])
def test_the_stand_in_for_an_infinite_argument_is_counted(function):
    assert scored(function, math.inf, low=4, infinite=True).total == 0.0
    assert scored(function, 4.0, low=4, infinite=True).total == function(4.0)


def test_an_infinity_is_allowed_beside_any_number_outside_the_range():
    for outside in ("allow", "clip"):
        with pytest.raises(InputError, match="not finite"):
            scored(lambda_free, math.inf, low=0, infinite=True, outside=outside)


def lambda_free(x):
    return x


@term
def always(x):
    return x


@term(terminal=True)
def at_the_end(steps):
    inverse = 1 / steps
    return inverse * inverse


def test_what_only_the_end_reads_is_not_in_range_before_it():
    reward = Reward("r", version="1", terms=[always, at_the_end], fields=[Field("x"), Field("steps", low=1)])
    for steps in (0.0, math.nan, math.inf):
        assert reward.score(x=1.0, steps=steps, terminal=False).total == 1.0


@term
def looked_up(mood, lit):
    return ("wild", "busy").index(mood) if lit else 0.5


def test_a_flag_from_a_table_is_not_sure_because_its_index_is():
    fields = [Field("mood", values=("calm", "wild", "busy")), Field("lit", flag=True)]
    reward = Reward("r", version="1", terms=[looked_up], fields=fields)
    assert reward.score(mood="busy", lit=True).total == 1.0
    with pytest.raises(InputError, match="looks up a value that is not in its tuple"):
        reward.score(mood="calm", lit=True)
