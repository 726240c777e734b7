"""Gradients: finite wherever a row counts, in the branch not taken too, and what finite differences say."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from plaudit import Field, Reward, term
from plaudit.checks.trace import Trace
from plaudit.language import nodes as n
from plaudit.testing.rows import as_arguments, as_columns
from support.examples import examples
from support.hasty_compiler import hasty_compiler
from support.running import GRADIENTS, need, wide
from support.strategies import cases, load, rows

ROWS = 48
STEP = 1e-5


def slopes(reward, target, columns, params=None):
    """Return the gradient of the summed totals of good rows, by column and by parameter."""
    library = need(target)
    params = {name: value for name, value in (params or reward.params).items() if not isinstance(value, bool)}
    moving = {name: array for name, array in columns.items() if array.dtype.kind == "f"}
    fixed = {name: array for name, array in columns.items() if array.dtype.kind != "f"}
    compiled = reward.compile(target, on_bad="mask")
    with wide(target):
        if target == "jax":

            def loss(moved, knobs):
                found = compiled({**moved, **fixed}, knobs)
                return library.numpy.where(found.ok, found.total, 0.0).sum()

            with hasty_compiler():
                to_columns, to_params = library.jit(library.grad(loss, argnums=(0, 1)))(moving, params)
            return _arrays(to_columns), _arrays(to_params)
        leaves = {name: library.tensor(array, requires_grad=True) for name, array in moving.items()}
        knobs = {
            name: library.tensor(float(v), dtype=library.float64, requires_grad=True) for name, v in params.items()
        }
        found = compiled({**leaves, **{name: library.as_tensor(array) for name, array in fixed.items()}}, knobs)
        loss = library.where(found.ok, found.total, 0.0).sum()
        if loss.requires_grad:
            loss.backward()

        def of(parts):
            return {k: np.zeros(v.shape) if v.grad is None else v.grad.numpy() for k, v in parts.items()}

        return of(leaves), of(knobs)


def _arrays(parts):
    return {name: np.asarray(value) for name, value in parts.items()}


def sane_rows(case, seed):
    """Return columns of normal-sized rows only, filled up to the same length; None where there are none."""
    columns = as_columns(case, rows(case, seed, ROWS, bad=0.0, small=True))
    program = case.reward.program
    found = zip(program.nodes, Trace(program).columns(as_arguments(program, columns)), strict=True)
    values = [value for node, value in found if value.dtype.kind == "f" and not isinstance(node, n.Const)]
    sizes = np.abs(np.stack([*values, np.ones(ROWS)]))
    with np.errstate(invalid="ignore"):
        normal = ((sizes == 0) | ((sizes > 1e-4) & (sizes < 1e4))).all(axis=0)
    kept = np.flatnonzero(normal)
    if not len(kept):
        return None
    picked = np.resize(kept, ROWS)
    return {name: array[picked] for name, array in columns.items()}


@pytest.mark.parametrize(("target", "share"), [("jax", 0.1), ("torch", 0.17)], ids=str)
def test_gradients_are_finite_and_what_finite_differences_say_on_smooth_spots(target, share):
    need(target)
    count = Counter()

    @examples(share)
    @given(cases(), st.integers(0, 2**32))
    def agree(case, seed):
        columns = sane_rows(case, seed)
        assume(columns is not None)
        to_columns, to_params = slopes(case.reward, target, columns)
        for name, slope in {**to_columns, **to_params}.items():
            assert np.isfinite(slope).all(), f"the gradient by {name} is {slope}"
        count["knobs"] += sum(slope != 0 for slope in to_params.values())
        compiled = case.reward.compile("numpy", on_bad="mask")
        for name, slope in to_columns.items():
            if columns[name].ndim == 1:
                measured, smooth = difference(compiled, columns, name)
                close = np.isclose(slope, measured, rtol=1e-3, atol=1e-3)
                assert close[smooth].all(), f"by {name}: {slope[smooth & ~close]} is not {measured[smooth & ~close]}"
                count["moved"] += int((smooth & (measured != 0)).sum())

    agree()
    assert count["moved"] > 30, count  # whatever is drawn: a function that is new changes every draw
    assert count["knobs"] > 5, count


def difference(compiled, columns, name):
    """Return central differences by one column, and where they can be trusted."""

    def at(step):
        moved = {**columns, name: columns[name] + step}
        return compiled(moved), _shape(compiled.program, moved)

    here, shape = at(0.0)
    found = []
    smooth = here.ok.copy()
    for step in (STEP, STEP / 2):
        (up, up_shape), (down, down_shape) = at(step), at(-step)
        smooth &= up.ok & down.ok & (up_shape == shape).all(axis=0) & (down_shape == shape).all(axis=0)
        found.append((up.total - down.total) / (2 * step))
    smooth &= np.isclose(found[0], found[1], rtol=1e-5, atol=1e-6)
    return found[1], smooth


def _shape(program, columns):
    """Return which piece of the formula each row is on: every flag, whole number and kink."""
    values = Trace(program).columns(as_arguments(program, columns))
    pieces = []
    with np.errstate(all="ignore"):
        for node, value in zip(program.nodes, values, strict=True):
            of = [values[at] for at in n.operands(node)]
            match node:
                case n.FloorDiv() | n.Item():
                    pieces.append(value)
                case _ if type(node) in n.FUNCTIONS:
                    pieces += [value] if node.flat else [np.sign(of[0] - edge) for edge in node.edges]
                case n.Mod():
                    pieces.append(np.floor(of[0] / np.where(of[1] == 0, 1, of[1])))
                case n.Min() | n.Max():
                    pieces.append(np.sign(of[0] - of[1]))
                case n.Clip():
                    pieces.append(np.sign(of[0] - of[1]) + 3 * np.sign(of[0] - of[2]))
                case _ if value.dtype.kind == "b":
                    pieces.append(value)
    return np.stack([np.asarray(piece, float) for piece in [*pieces, np.zeros(len(values[0]))]])


EDGES = """\
import math

TABLE = (1.0, 2.0)


def divides(x, *, gain=2.0):
    return gain / x if x != 0 else gain


def roots(x, *, gain=2.0):
    return gain * math.sqrt(x) if x >= 0 else -gain


def takes_log(x, *, gain=2.0):
    return gain * math.log(x) if x > 0 else gain * x


def wraps(x, *, gain=2.0):
    return gain * (7 % x) + 7 // x if x != 0 else gain


def grows(x, *, gain=2.0):
    return math.exp(gain * 400 * x) if x < 0.1 else gain


def indexes(x, *, gain=2.0):
    return gain * TABLE[round(x)] if 0 <= x <= 1 else gain * x
"""


@pytest.mark.parametrize("target", GRADIENTS)
def test_the_branch_not_taken_leaves_no_nan_in_any_gradient(target):
    space = load(EDGES)
    names = [line[4:].partition("(")[0] for line in EDGES.splitlines() if line.startswith("def ")]
    reward = Reward("edges", version="1", terms=[term(space[name]) for name in names], fields=[Field("x")])
    column = np.array([0.0, 1.0, -1.0, 0.5, 3.0])
    to_columns, to_params = slopes(reward, target, {"x": column})
    assert np.isfinite(to_columns["x"]).all()
    assert all(np.isfinite(slope) for slope in to_params.values())
    assert to_params["divides.gain"] == pytest.approx(1 + 1 - 1 + 2 + 1 / 3)
    assert to_params["takes_log.gain"] == pytest.approx(0 + 0 - 1 + np.log(0.5) + np.log(3.0))


STEEP = [kind for kind in n.FUNCTIONS if (kind.steep_ends or issubclass(kind, n.Binary)) and kind is not n.Power]
"""A power is tested in test_power.py: where it overflows, its row is bad and its gradient no number."""


@pytest.mark.parametrize("target", GRADIENTS)
@pytest.mark.parametrize("kind", STEEP, ids=lambda kind: kind.function)
def test_a_gradient_is_finite_where_a_function_is_infinitely_steep(kind, target):
    """Also where the branch is not taken: 0 times infinity would be a NaN."""
    names = ("a", "b")[: len(n.operand_names(kind))]
    call = f"{kind.function}({', '.join(names)})"
    header = f"import math\nfrom math import inf\n\n\ndef only({', '.join(names)}):\n"
    inside = "math.isinf(a)" if len(names) > 1 else f"not {kind.domain.low} <= a <= {kind.domain.high}"
    only = load(f"{header}    return 3.0 if {inside} else {call}\n")["only"]
    fields = [Field(name, infinite=len(names) > 1) for name in names]
    reward = Reward("steep", version="1", terms=[term(only)], fields=fields)
    values = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 1e-200, 1e200] + [np.inf] * (len(names) > 1))
    grid = np.meshgrid(*[values] * len(names))
    columns = {name: part.reshape(-1) for name, part in zip(names, grid, strict=True)}
    to_columns, _ = slopes(reward, target, columns)
    assert all(np.isfinite(slope).all() for slope in to_columns.values())


@pytest.mark.parametrize("target", GRADIENTS)
def test_a_gradient_by_weights_and_clamps_reaches_the_total(target):
    @term(weight=-0.5, low=-1.0, high=2.0)
    def distance(x):
        return x

    reward = Reward("clamped", version="1", terms=[distance], fields=[Field("x")], high=0.25)
    column = np.array([1.5, 5.0, -5.0])  # inside the clamps, above them, below them (then above the total's)
    to_columns, to_params = slopes(reward, target, {"x": column})
    assert to_columns["x"].tolist() == [-0.5, 0.0, 0.0]
    assert to_params["distance.weight"] == pytest.approx(1.5 + 2.0)
    assert to_params["distance.high"] == pytest.approx(-0.5)
    assert to_params["distance.low"] == 0.0
    assert to_params["total.high"] == pytest.approx(1.0)


@pytest.mark.parametrize("target", GRADIENTS)
def test_a_threshold_has_a_gradient_of_exactly_zero_as_the_reward_says(target):
    @term
    def near(x, *, reach=1.0, gain=2.0):
        return gain * x if x < reach else 0.0

    reward = Reward("near", version="1", terms=[near], fields=[Field("x")])
    _, to_params = slopes(reward, target, {"x": np.array([0.5, 1.5])})
    assert to_params["near.reach"] == 0.0
    assert to_params["near.gain"] == 0.5
    assert reward.gradients() == {"near.reach": False, "near.gain": True, "near.weight": True}


@pytest.mark.parametrize("target", GRADIENTS)
def test_a_bad_row_does_not_spoil_the_gradients_of_the_others(target):
    @term
    def inverse(x, *, gain=2.0):
        return gain / x

    reward = Reward("inverse", version="1", terms=[inverse], fields=[Field("x", low=-9, high=9)])
    to_columns, to_params = slopes(reward, target, {"x": np.array([2.0, 0.0, np.nan, 11.0, np.inf])})
    assert to_columns["x"].tolist() == [-0.5, 0.0, 0.0, 0.0, 0.0]
    assert to_params["inverse.gain"] == 0.5
