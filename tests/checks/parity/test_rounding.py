"""How far two numbers may be apart, which rows rounding decides, and how boundaries of several inputs are found."""

import math

import numpy as np
import pytest

from plaudit import Field, Reward, term
from plaudit.checks.parity import Answer, parity
from plaudit.checks.parity.candidates import build_pools
from plaudit.checks.parity.judge import Judge, find_differing_terms
from plaudit.checks.trace import Trace, move_to_edge, round_constants, to_float32
from support.samples import following, research


@term
def slope(x, y, *, reach=0.7):
    return 1.0 if x < reach else 0.1 * x + y * 0.3


@term
def beyond(x, y):
    return 2.0 if x * 0.1 + y > 0.3 else 0.0


FIELDS = [Field("x", low=0, high=1), Field("y", low=-1, high=1)]
REWARD = Reward("plane", version="1", terms=[slope, beyond], fields=FIELDS)


def answered(slope, beyond):
    return {"total": float(slope + beyond), "values": {"slope": float(slope), "beyond": float(beyond)}}


def reordered(x, y, *, reach=0.7, beyond=0.3):
    """Compute the same in another order, so that it rounds differently."""
    return answered(1.0 if x < reach else y * 0.3 + x * 0.1, 2.0 if y > beyond - 0.1 * x else 0.0)


@pytest.mark.parametrize("examples", [300, pytest.param(1000, marks=pytest.mark.slow)])
def test_another_order_of_operations_agrees(examples):
    report = parity(REWARD, reordered, examples=examples)
    assert report.ok
    assert report.tested == examples
    assert 0 < report.aside < examples / 10  # rows that stand on the line itself


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x, y: reordered(x, y, reach=0.7 + 1e-12),
        lambda x, y: reordered(x, y, beyond=0.3 + 1e-9),
        lambda x, y: reordered(x, y, beyond=0.3 - 1e-9),
        lambda x, y: answered(1.0 if x <= 0.7 else 0.1 * x + y * 0.3, reordered(x, y)["values"]["beyond"]),
        lambda x, y: answered(reordered(x, y)["values"]["slope"] + 1e-9, reordered(x, y)["values"]["beyond"]),
    ],
)
def test_more_than_rounding_is_found(wrong):
    assert not parity(REWARD, wrong, examples=2000).ok


def test_a_tolerance_that_is_given_is_kept_to_the_letter():
    @term
    def third(x):
        return x / 3

    reward = Reward("third", version="1", terms=[third], fields=[Field("x", low=0, high=10)])
    other = lambda x: x * (1 / 3)  # noqa: E731  # short and used twice
    assert parity(reward, other, examples=60).ok
    strict = parity(reward, other, tolerance=0)
    assert not strict.ok
    assert strict.tolerance == strict.mismatch.tolerance == 0.0
    assert parity(reward, lambda x: x / 3 + 0.01, tolerance=0.011, examples=60).ok
    assert not parity(reward, lambda x: x / 3 + 0.01, tolerance=0.009).ok
    assert not parity(REWARD, reordered, examples=2000, tolerance=1e-9).ok  # rounding is no excuse any more


def test_the_allowance_grows_with_what_cancels_out():
    @term
    def change(x, y):
        return (x + 1e9) - (y + 1e9)

    reward = Reward(
        "change", version="1", terms=[change], fields=[Field("x", low=0, high=1), Field("y", low=0, high=1)]
    )
    judge = Judge(reward.program, None)
    row = {"x": 0.5, "y": 0.25}
    assert 1e-7 < judge.tolerance_of(row, judge.score(row)) < 1e-4
    assert parity(reward, lambda x, y: x - y, examples=60).ok


def test_what_a_branch_not_taken_computes_allows_nothing():
    @term
    def guarded(x):
        return x * 1e15 if x > 1 else x

    reward = Reward("guarded", version="1", terms=[guarded], fields=[Field("x", low=0, high=2)])
    judge = Judge(reward.program, None)
    assert judge.tolerance_of({"x": 0.5}, judge.score({"x": 0.5})) < 1e-14
    assert judge.tolerance_of({"x": 1.5}, judge.score({"x": 1.5})) > 1


def test_an_exact_boundary_of_two_inputs_is_no_matter_of_rounding():
    @term
    def spent(prev, curr):
        return -1.0 if curr.tokens - prev.tokens > 100 else 0.0

    reward = Reward("spent", version="1", terms=[spent], fields=[Field("tokens", low=0, high=1000)])
    mismatch = parity(reward, lambda prev, curr: -1.0 if curr["tokens"] - prev["tokens"] >= 100 else 0.0).mismatch
    assert mismatch.inputs["curr.tokens"] - mismatch.inputs["prev.tokens"] == 100


@term
def quarters(x):
    return math.floor(x * 4)


@term
def nearest(x):
    return round(x)


@term
def remainder(x):
    return x % 2


@term
def halves(x):
    return x // 2


@pytest.mark.parametrize(
    ("function", "other"),
    [
        (quarters, lambda x: max(0, math.ceil(x * 4) - 1)),
        (nearest, lambda x: math.floor(x + 0.5)),
        (remainder, lambda x: x % 2 or 2.0),
        (halves, lambda x: max(0.0, (x - 1e-9) // 2)),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_step_that_is_taken_elsewhere_is_found(function, other):
    reward = Reward("steps", version="1", terms=[function], fields=[Field("x", low=0, high=8)])
    assert parity(reward, function, examples=60).ok
    assert not parity(reward, other).ok


# -- what goes on inside ------------------------------------------------------------------------------------------


def test_an_edge_is_found_to_the_last_float():
    trace = Trace(REWARD.program.bind())
    row = {"x": 0.5, "y": -1.0}
    last, first = (move_to_edge(trace, row, "y", 1.0, past=past) for past in (0, 1))
    assert math.nextafter(last["y"], 2) == first["y"]
    assert REWARD.score(**last)["beyond"].value == 0.0
    assert REWARD.score(**first)["beyond"].value == 2.0
    assert move_to_edge(trace, row, "y", 1.0, past=2)["y"] == math.nextafter(first["y"], 2)
    assert move_to_edge(trace, row, "y", 1.0, past=1 << 60) == last  # it would be out of range


def test_a_row_without_an_edge_stays_as_it_is():
    trace = Trace(REWARD.program.bind())
    assert move_to_edge(trace, {"x": 0.5, "y": -1.0}, "y", -0.5, past=1) == {"x": 0.5, "y": -1.0}
    trace = Trace(following.program.bind())
    far = {"distance": math.inf, "deceleration": 0.0, "action": 0.0}
    assert move_to_edge(trace, far, "distance", 3.0, past=0) == far


def test_exact_operands_are_told_from_rounded_ones():
    trace = Trace(REWARD.program.bind())
    exact = trace.values({"x": 0.0, "y": 0.5})
    rounded = trace.values({"x": 0.3, "y": 0.1})
    assert all(trace.find_exact_jumps(exact))
    assert not all(trace.find_exact_jumps(rounded))


def test_differences_are_told_by_term():
    expected = Answer(3.0, {"a": 1.0, "b": 2.0})
    assert find_differing_terms(expected, Answer(3.0, {"a": 1.0, "b": 2.0}), 0.0) == ()
    assert find_differing_terms(expected, Answer(3.0, {"a": 1.5, "b": 1.5}), 0.0) == ("a", "b")
    assert find_differing_terms(expected, Answer(3.0 + 1e-12, {"a": 1.0}), 1e-11) == ()


# -- single precision ---------------------------------------------------------------------------------------------

f = np.float32


def single(x, y, *, strict=True):
    x, y = f(x), f(y)
    first = x < f(0.7) if strict else x <= f(0.7)
    return answered(f(1) if first else f(0.1) * x + y * f(0.3), f(2) if x * f(0.1) + y > f(0.3) else f(0))


@pytest.mark.parametrize("examples", [150, pytest.param(600, marks=pytest.mark.slow)])
def test_a_program_of_32_bit_floats_agrees_when_asked_as_one(examples):
    assert not parity(REWARD, single).ok
    report = parity(REWARD, single, float32=True, examples=examples)
    assert report.ok, report.mismatch


def test_a_wrong_boundary_among_32_bit_floats_is_found():
    mismatch = parity(REWARD, lambda x, y: single(x, y, strict=False), float32=True).mismatch
    assert mismatch.inputs["x"] == float(f(0.7))
    assert mismatch.terms == ("slope",)


@pytest.mark.parametrize("examples", [120, pytest.param(1000, marks=pytest.mark.slow)])
def test_only_32_bit_floats_are_sent(examples):
    rows = []

    def ask(**row):
        rows.append(row)
        return reward.score(**row)

    reward = following
    assert parity(reward, ask, float32=True, examples=examples).ok
    assert all(to_float32(row[name]) == row[name] for row in rows for name in ("distance", "deceleration"))
    assert {20.0, float(np.nextafter(f(20), f(0))), math.inf} <= {row["distance"] for row in rows}
    pool = build_pools(reward, single=True)["distance"]
    assert all(pool.field.holds(value) for value in pool.values)


def test_every_constant_is_rounded():
    program = round_constants(research.program)
    constants = [node.value for node in program.nodes if type(node).__name__ == "Const"]
    assert constants
    assert all(to_float32(value) == value for value in constants if not isinstance(value, bool))
