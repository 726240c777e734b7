"""`plaudit.functions`: known values, the formulas they stand for, and the same on every target."""

import inspect
import math

import numpy as np
import pytest

from plaudit import Field, OutOfRange, ReadError, Reward, functions, term
from plaudit.functions import (
    deadband,
    huber,
    quat_angle,
    quat_error,
    quat_inverse,
    quat_multiply,
    quat_rotate,
    quat_rotate_inverse,
    quat_to_yaw,
    smoothstep,
    tolerance,
    wrap_to_pi,
)
from support import engines
from support.running import EXTRAS, SCORING, scored

# The sigmoids of dm_control.utils.rewards as its documentation gives them, written with NumPy.
SIGMOIDS = {
    "gaussian": lambda x, v: np.exp(-0.5 * (x * np.sqrt(-2 * np.log(v))) ** 2),
    "hyperbolic": lambda x, v: 1 / np.cosh(x * np.arccosh(1 / v)),
    "long_tail": lambda x, v: 1 / ((x * np.sqrt(1 / v - 1)) ** 2 + 1),
    "reciprocal": lambda x, v: 1 / (np.abs(x) * (1 / v - 1) + 1),
    "cosine": lambda x, v: np.where(
        np.abs(x * np.arccos(2 * v - 1) / np.pi) < 1, (1 + np.cos(x * np.arccos(2 * v - 1))) / 2, 0
    ),
    "linear": lambda x, v: np.where(np.abs(x * (1 - v)) < 1, 1 - x * (1 - v), 0),
    "quadratic": lambda x, v: np.where(np.abs(x * np.sqrt(1 - v)) < 1, 1 - (x * np.sqrt(1 - v)) ** 2, 0),
    "tanh_squared": lambda x, v: 1 - np.tanh(x * np.arctanh(np.sqrt(1 - v))) ** 2,
}
BOUNDS = [(0.0, 0.0), (-0.5, 1.0), (0.3, math.inf), (-math.inf, 0.2)]


def expected_tolerance(x, bounds, margin, sigmoid, value):
    low, high = bounds
    inside = (low <= x) & (x <= high)
    if margin == 0:
        return np.where(inside, 1.0, 0.0)
    return np.where(inside, 1.0, SIGMOIDS[sigmoid](np.maximum(np.maximum(low - x, x - high), 0) / margin, value))


@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
@pytest.mark.parametrize("sigmoid", SIGMOIDS)
def test_tolerance_is_that_of_dm_control(sigmoid, bounds):
    x = np.linspace(-5, 5, 201)
    for margin, value in ((0.0, 0.1), (0.5, 0.1), (2.0, 0.5), (3.0, 0.01)):
        wanted = expected_tolerance(x, bounds, margin, sigmoid, value)
        found = [tolerance(float(one), bounds, margin, sigmoid, value) for one in x]
        assert found == pytest.approx(wanted.tolist(), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("sigmoid", SIGMOIDS)
def test_tolerance_at_the_margin_and_far_beyond_it(sigmoid):
    assert tolerance(1.5, (0, 1), 0.5, sigmoid, 0.25) == pytest.approx(0.25, rel=1e-12)
    assert tolerance(1.0, (0, 1), 0.5, sigmoid, 0.25) == 1.0
    assert 0.0 <= tolerance(1e200, (0, 1), 0.5, sigmoid, 0.25) < 1e-6


@pytest.mark.parametrize("sigmoid", ["cosine", "linear", "quadratic"])
def test_some_sigmoids_reach_zero_at_the_margin(sigmoid):
    assert tolerance(2.0, (0, 1), 1.0, sigmoid, 0.0) == pytest.approx(0.0, abs=1e-15)
    assert tolerance(3.0, (0, 1), 1.0, sigmoid, 0.0) == pytest.approx(0.0, abs=1e-15)


def rotation(q):
    """Return the rotation matrix of a quaternion of length 1, w first."""
    w, x, y, z = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def unit(rng, count):
    q = rng.normal(size=(count, 4))
    return q / np.linalg.norm(q, axis=1, keepdims=True)


RNG = np.random.default_rng(7)
QUATERNIONS = list(zip(unit(RNG, 20), unit(RNG, 20), RNG.normal(size=(20, 3)), strict=True))


@pytest.mark.parametrize("w_last", [False, True])
def test_quaternions_are_the_rotations_that_their_matrices_are(w_last):
    def order(q):
        return np.roll(q, -1) if w_last else np.asarray(q)

    def first(q):
        return np.roll(q, 1) if w_last else np.asarray(q)

    for p, q, v in QUATERNIONS:
        a, b = order(p), order(q)
        near = {"rel": 1e-12, "abs": 1e-12}
        assert quat_rotate(a, v, w_last) == pytest.approx(rotation(p) @ v, **near)
        assert quat_rotate_inverse(a, v, w_last) == pytest.approx(rotation(p).T @ v, **near)
        assert rotation(first(quat_multiply(a, b, w_last))) == pytest.approx(rotation(p) @ rotation(q), **near)
        assert rotation(first(quat_inverse(a, w_last))) == pytest.approx(rotation(p).T, **near)
        angle = math.acos((np.trace(rotation(p) @ rotation(q).T) - 1) / 2)
        assert quat_error(a, b, w_last) == pytest.approx(angle, rel=1e-7)
        assert quat_angle(a, w_last) == pytest.approx(math.acos((np.trace(rotation(p)) - 1) / 2), rel=1e-7)
        assert quat_to_yaw(a, w_last) == pytest.approx(math.atan2(rotation(p)[1, 0], rotation(p)[0, 0]), **near)


def test_known_values():
    assert [wrap_to_pi(x) for x in (0.0, math.pi, -math.pi)] == [0.0, -math.pi, -math.pi]
    assert wrap_to_pi(7.0) == pytest.approx(7.0 - 2 * math.pi)
    assert wrap_to_pi(-4.0) == pytest.approx(2 * math.pi - 4.0)
    assert [smoothstep(x, 1, 3) for x in (0, 1, 1.5, 2, 3, 4)] == [0, 0, 0.15625, 0.5, 1, 1]
    assert [huber(x, 2) for x in (-3, -2, 0, 1, 2, 3)] == [4, 2, 0, 0.5, 2, 4]
    assert [deadband(x, 1) for x in (-3, -1, 0, 1, 3)] == [-2, 0, 0, 0, 2]
    assert quat_inverse((2.0, 0.0, 0.0, 0.0)) == (0.5, 0.0, 0.0, 0.0)


@term
def upright(x, *, margin=0.7):
    return tolerance(x, (0.3, math.inf), margin) + tolerance(x, (-1.0, 0.5))


@term
def sigmoids(x):
    total = tolerance(x, margin=2.0, sigmoid="hyperbolic") + tolerance(x, margin=2.0, sigmoid="long_tail")
    total += tolerance(x, margin=2.0, sigmoid="reciprocal") + tolerance(x, margin=2.0, sigmoid="cosine")
    total += tolerance(x, margin=2.0, sigmoid="linear") + tolerance(x, margin=2.0, sigmoid="quadratic")
    return total + tolerance(x, margin=2.0, sigmoid="tanh_squared")


@term
def shapes(x):
    return wrap_to_pi(3 * x) + smoothstep(x, -1, 1) + huber(x, 0.5) + deadband(x, 0.25)


@term
def turned(q, v):
    a, b, c = quat_rotate(q, v)
    d, e, f = quat_rotate_inverse(q, (0.0, 0.0, -1.0))
    return a - 2 * b + 3 * c + d * e - f


@term
def aligned(q, goal):
    w, x, y, z = quat_multiply(quat_inverse(q), goal)
    return quat_error(q, goal) + quat_to_yaw(q) + quat_angle(goal) + w * x - y * z


REWARD = Reward(
    "all",
    version="1",
    terms=[upright, sigmoids, shapes, turned, aligned],
    fields=[
        Field("x", low=-5, high=5),
        Field("q", length=4, low=-1, high=1),
        Field("goal", length=4, low=-1, high=1),
        Field("v", length=3, low=-10, high=10),
    ],
)
COLUMNS = {
    "x": RNG.uniform(-5, 5, 20),
    "q": np.array([p for p, _, _ in QUATERNIONS]),
    "goal": np.array([q for _, q, _ in QUATERNIONS]),
    "v": np.array([v for _, _, v in QUATERNIONS]),
}
WANTED = {
    made.name: [made(*(COLUMNS[name][i] for name in made.reads)) for i in range(20)]
    for made in (upright, sigmoids, shapes, turned, aligned)
}


@pytest.mark.parametrize("target", [pytest.param(t, marks=pytest.mark.slow) if t in EXTRAS else t for t in SCORING])
def test_every_target_computes_what_the_plain_functions_compute(target):
    scores = scored(REWARD, target, COLUMNS)
    assert scores.ok.all()
    for name, wanted in WANTED.items():
        assert scores.scores[name].tolist() == pytest.approx(wanted, rel=1e-12, abs=1e-12), name


@pytest.mark.parametrize("engine", [engines.DuckDB, engines.SQLite])
def test_databases_compute_what_the_plain_functions_compute(engine):
    rows = [{k: tuple(c[i].tolist()) if c.ndim > 1 else float(c[i]) for k, c in COLUMNS.items()} for i in range(20)]
    scores = engines.scored(engine(), REWARD, rows)
    for name, wanted in WANTED.items():
        assert scores.scores[name].tolist() == pytest.approx(wanted, rel=1e-10, abs=1e-10), name


def test_a_sigmoid_that_is_not_there_is_an_error_at_the_call():
    with pytest.raises(ValueError, match="one of gaussian"):
        tolerance(1.0, margin=1.0, sigmoid="gausian")

    def wrong(x):
        return tolerance(x, margin=1.0, sigmoid="gausian")

    with pytest.raises(ReadError) as caught:
        term(wrong)
    message = str(caught.value)
    assert "test_functions.py" in message
    assert 'return tolerance(x, margin=1.0, sigmoid="gausian")' in message
    assert "sigmoid must be one of gaussian" in message


def test_a_row_that_they_cannot_take_is_an_error_at_the_call():
    @term
    def back(q):
        w, _, _, _ = quat_inverse(q)
        return w

    reward = Reward("back", version="1", terms=[back], fields=[Field("q", length=4)])
    with pytest.raises(
        (OutOfRange, ArithmeticError), match=r"test_functions\.py, line \d+:  w, _, _, _ = quat_inverse\(q\)"
    ):
        reward.score(q=(0.0, 0.0, 0.0, 0.0))


def test_what_is_offered_is_listed_and_documented():
    public = [name for name, value in vars(functions).items() if inspect.isfunction(value) and not name.startswith("_")]
    assert sorted(public) == functions.__all__
    assert all(">>>" in getattr(functions, name).__doc__ for name in public)
