"""The two inner loops of a linear bandit in machine code, for those who installed the extra `fast`."""

from typing import Any

import numba
import numpy as np

from plaudit.learn.draws import COUNTED, FINISHED, KEYED
from plaudit.learn.ridge import LARGEST, Numbers

_KEYED, _COUNTED, _FIRST, _SECOND = (np.uint64(each) for each in (KEYED, COUNTED, *FINISHED))


def _decided(
    table: Numbers,
    x: Numbers,
    key: int,
    decisions: int,
    alpha: float,
    inverse_gap: bool,
    first: float,
    second: float,
    over: float,
    floor: float,
    likely: Numbers,
) -> tuple[int, float]:
    """Return the action picked, or -1 for features that are refused, and how much is explored; fill in `likely`.

    `first`, `second` and `over` are start, end and length of a falling share; with `inverse_gap`, gamma and exponent.
    """
    count, rows, dimension = table.shape
    best, top = 0, -np.inf
    for each in range(count):
        score = 0.0
        for at in range(dimension):
            score += table[each, rows - 2, at] * x[at]
        if alpha > 0.0:
            spread = 0.0
            for at in range(dimension):
                row = 0.0
                for other in range(dimension):
                    row += table[each, at, other] * x[other]
                spread += row * x[at]
            score += alpha * np.sqrt(max(spread, 0.0))
        if not np.isfinite(score):
            return -1, 0.0
        likely[each] = score
        if score > top:
            best, top = each, score
    if inverse_gap:
        amount = first * (decisions + 1.0) ** second
        left = 1.0
        for each in range(count):
            if each != best:
                likely[each] = max(floor, 1.0 / (count + amount * (top - likely[each])))
                left -= likely[each]
        likely[best] = left
    else:
        amount = second if decisions >= over else first - (first - second) * (decisions / over)
        likely[:] = amount / count
        likely[best] += 1.0 - amount
    z = np.uint64(key) * _KEYED + np.uint64(decisions) * _COUNTED + np.uint64(1)
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    uniform = ((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53
    passed, picked = 0.0, 0
    for each in range(count):
        if likely[each] > 0.0:
            passed += likely[each]
            picked = each
            if uniform < passed:
                break
    return picked, amount


def _learn(new: Numbers, model: int, x: Numbers, reward: float) -> bool:
    """Learn a row, as `plaudit.learn.ridge.learn` does."""
    dimension = x.shape[0]
    step = np.empty(dimension)
    scale = 1.0
    for at in range(dimension):
        row = 0.0
        for other in range(dimension):
            row += new[model, at, other] * x[other]
        step[at] = row
        scale += row * x[at]
    for at in range(dimension):
        for other in range(dimension):
            new[model, at, other] -= step[at] * (step[other] / scale)
        new[model, dimension, at] += reward * x[at]
    for at in range(dimension):
        row = 0.0
        for other in range(dimension):
            row += new[model, at, other] * new[model, dimension, other]
        new[model, dimension + 1, at] = row
    new[model, dimension + 2, 0] += 1.0
    return 1.0 <= scale <= LARGEST


def _machine_code(function: Any, signature: str) -> Any:
    """Compile a function now, so that no decision waits for it; what was compiled is kept where that is possible."""
    try:
        return numba.njit(signature, cache=True)(function)
    except RuntimeError:  # there is no folder that the result could be kept in
        return numba.njit(signature)(function)


_TABLE, _ROW, _F = "float64[:, :, ::1]", "float64[::1]", "float64"
decided = _machine_code(
    _decided,
    f"Tuple((int64, {_F}))({_TABLE}, {_ROW}, uint64, int64, {_F}, boolean, {_F}, {_F}, {_F}, {_F}, {_ROW})",
)
learn = _machine_code(_learn, f"boolean({_TABLE}, int64, {_ROW}, {_F})")
