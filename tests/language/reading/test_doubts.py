"""Values that NumPy leaves undefined and that the author drops: a row is bad only where such a value counts."""

import math
from math import inf

import numpy as np
import pytest

from plaudit import Field, Reward, term
from plaudit.errors import OutsideDomain
from support.running import SCORING, installed, mark_numba_slow, scored
from support.strategies import load

HEADER = "import warnings\nimport numpy as np\n"
FIELDS = [Field("x", low=-4, high=4), Field("y", low=-4, high=4)]
ROWS = [(x, y) for x in (-4.0, -1.0, -0.0, 0.0, 0.5, 1.0, 4.0) for y in (-1.0, 0.0, 2.0)]


def write(body):
    """Return the plain function of some statements."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return load(f"{HEADER}def f(x, y):\n{lines}")["f"]


def run(function, x, y):
    """Return what NumPy makes of a row; numbers of its own divide by zero without an error."""
    with np.errstate(all="ignore"):
        return float(function(np.float64(x), np.float64(y)))


def read(body):
    function = write(body)
    return Reward("doubted", version="1", terms=[term(function)], fields=FIELDS), function


DROPPED = [
    "with np.errstate(divide='ignore', invalid='ignore'):\n    ratio = x / y\nreturn np.where(y != 0, ratio, -1.0)",
    "with np.errstate(all='ignore'):\n    root = np.sqrt(x) + np.log(x) / y\nreturn root if x > 0 and y > 0 else y",
    "with warnings.catch_warnings():\n    warnings.simplefilter('ignore')\n    a = x / y\nreturn y + (a if y > 0 else x)",
    "with np.errstate(all='ignore'):\n    far = (x / y) > 1\nreturn 1.0 * ((y > 0) & far) + ((y <= 0) | far)",
    "far = np.where(x > 0, x, np.inf)\nreturn np.where(x > 0, far ** 2, -1.0) + y",
    "far = np.where(x > 0, x, -np.inf)\nreturn np.where(x > 0, np.cosh(far) + np.exp(-far ** 2), 0.5) * y",
    "far = np.where(x > 0, x, np.inf)\nreturn 1.0 / np.where(x > 0, np.floor(far) + 1, 2.0) + y",
]


@pytest.mark.parametrize("body", DROPPED)
@pytest.mark.parametrize("target", mark_numba_slow(SCORING))
def test_a_row_that_drops_what_is_undefined_counts(body, target):
    if not installed(target):
        pytest.skip(f"needs {target}")
    reward, function = read(body)
    columns = {name: np.array(column) for name, column in zip("xy", zip(*ROWS, strict=True), strict=True)}
    found = scored(reward, target, columns)
    assert np.all(found.ok)
    assert found.total == pytest.approx([run(function, x, y) for x, y in ROWS], rel=1e-12)


COUNTED = [
    "with np.errstate(divide='ignore', invalid='ignore'):\n    ratio = x / y\nreturn ratio",
    "with np.errstate(all='ignore'):\n    ratio = x / y\nreturn np.where(x > 0, ratio, -1.0)",
    "with np.errstate(all='ignore'):\n    ratio = x / y\nreturn 1.0 if ratio > 2 else 0.0",
    "with np.errstate(all='ignore'):\n    ratio = x / y\nreturn 0.0 * ratio + y",
    "with np.errstate(all='ignore'):\n    ratio = x / y\nreturn np.where(np.isnan(ratio), 1.0, 0.0)",
    "with np.errstate(all='ignore'):\n    ratio = x / y\nassert ratio < 9\nreturn x",
    "with np.errstate(all='ignore'):\n    ratio = x / y\nreturn x / y + np.where(y != 0, ratio, 0)",
    "ratio = x / y\nreturn np.where(y != 0, ratio, -1.0)",
    "with np.errstate(all='raise'):\n    ratio = x / y\nreturn np.where(y != 0, ratio, -1.0)",
]


@pytest.mark.parametrize("body", COUNTED)
def test_a_row_that_needs_what_is_undefined_is_bad(body):
    reward, function = read(body)
    assert reward.score(x=1.0, y=2.0).total == run(function, 1.0, 2.0)
    with pytest.raises(OutsideDomain):
        reward.score(x=1.0, y=0.0)


def test_a_square_of_a_constant_infinity_that_counts_is_bad():
    reward, _ = read("far = np.where(x > 0, x, np.inf)\nreturn 1.0 / (1.0 + far ** 2) + y")
    assert reward.score(x=2.0, y=0.0).total == pytest.approx(0.2)
    with pytest.raises(OutsideDomain, match="beyond every float"):
        reward.score(x=-2.0, y=0.0)


SIGMOIDS = ("gaussian", "hyperbolic", "long_tail", "cosine", "linear", "quadratic")


@pytest.mark.parametrize("bounds", [(0.5, inf), (-inf, 0.5), (-0.5, 0.5), (0.0, 0.0), (-inf, inf)], ids=str)
@pytest.mark.parametrize("sigmoid", SIGMOIDS)
def test_tolerance_as_libraries_write_it_takes_infinite_bounds(sigmoid, bounds):
    from language.pasted.libraries import tolerance

    def posture(x, y):
        return tolerance(x, bounds=bounds, margin=0.7, sigmoid=sigmoid, value_at_margin=0.2) + 0.0 * y

    reward = Reward("posture", version="1", terms=[term(posture)], fields=FIELDS)
    for x, y in ROWS:
        assert math.isclose(reward.score(x=x, y=y).total, posture(x, y), rel_tol=1e-12, abs_tol=1e-15)
