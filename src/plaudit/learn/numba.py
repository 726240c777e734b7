"""The two inner loops of a linear bandit in machine code, for those who installed the extra `fast`."""

from typing import Any

import numba
import numpy as np

from plaudit.learn.draws import COUNTED, FINISHED, KEYED
from plaudit.learn.ridge import Numbers

COMPILES = not numba.config.DISABLE_JIT  # type: ignore[attr-defined]
"""Whether Numba compiles at all: an environment variable can forbid it."""
_KEYED, _COUNTED, _FIRST, _SECOND = (np.uint64(each) for each in (KEYED, COUNTED, *FINISHED))


@numba.njit(inline="always")
def _weigh_actions(
    table: Numbers,
    x: Numbers,
    decisions: int,
    alpha: float,
    inverse_gap: bool,
    first: float,
    second: float,
    over: float,
    floor: float,
    likely: Numbers,
) -> float:
    """Fill in how likely each action is, and return how much is explored.

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
    return float(amount)


def _decide(
    table: Numbers,
    x: Numbers,
    key: int,
    decisions: int,
    limit: float,
    alpha: float,
    inverse_gap: bool,
    first: float,
    second: float,
    over: float,
    floor: float,
    likely: Numbers,
) -> tuple[int, float]:
    """Return the action picked, or -1 for features beyond the limit, and how much is explored; fill in `likely`."""
    length = 0.0
    for at in range(x.shape[0]):
        length += x[at] * x[at]
    if not length <= limit:
        return -1, 0.0
    amount = _weigh_actions(table, x, decisions, alpha, inverse_gap, first, second, over, floor, likely)
    z = np.uint64(key) * _KEYED + np.uint64(decisions) * _COUNTED + np.uint64(1)
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    uniform = ((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53
    passed, picked = 0.0, 0
    for each in range(likely.shape[0]):
        if likely[each] > 0.0:
            passed += likely[each]
            picked = each
            if uniform < passed:
                break
    return picked, amount


def _weigh_rows(
    table: Numbers,
    rows: Numbers,
    decisions: int,
    alpha: float,
    inverse_gap: bool,
    first: float,
    second: float,
    over: float,
    floor: float,
    likely: Numbers,
) -> None:
    for at in range(rows.shape[0]):
        _weigh_actions(table, rows[at], decisions, alpha, inverse_gap, first, second, over, floor, likely[at])


def _learn(new: Numbers, model: int, x: Numbers, reward: float, limit: float) -> bool:
    """Learn a row as `plaudit.learn.ridge.learn` does; False for one beyond the limit."""
    dimension = x.shape[0]
    step = np.empty(dimension)
    scale, length = 1.0, 0.0
    for at in range(dimension):
        row = 0.0
        for other in range(dimension):
            row += new[model, at, other] * x[other]
        step[at] = row
        scale += row * x[at]
        length += x[at] * x[at]
    if not (scale >= 1.0 and length <= limit):
        return False
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
    return True


def _compile(function: Any, signature: str) -> Any:
    """Compile a function now, so that no decision waits for it; what was compiled is kept where that is possible."""
    try:
        return numba.njit(signature, cache=True)(function)
    except (RuntimeError, OSError):  # there is no folder that the result could be kept in, or no room
        return numba.njit(signature)(function)


_TABLE, _ROWS, _ROW, _F = "float64[:, :, ::1]", "float64[:, ::1]", "float64[::1]", "float64"
_RULE = f"{_F}, boolean, {_F}, {_F}, {_F}, {_F}"
decide = _compile(_decide, f"Tuple((int64, {_F}))({_TABLE}, {_ROW}, uint64, int64, {_F}, {_RULE}, {_ROW})")
weigh_rows = _compile(_weigh_rows, f"void({_TABLE}, {_ROWS}, int64, {_RULE}, {_ROWS})")
learn = _compile(_learn, f"boolean({_TABLE}, int64, {_ROW}, {_F}, {_F})")
