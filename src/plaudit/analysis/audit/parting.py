"""Stretches of training between which the return rises while an objective falls."""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

PARTS = 10
"""A run is cut into this many parts of the same length; a stretch is one of them or several in a row."""
UNITS = 50
"""Episodes are averaged in up to this many groups before they are compared: what goes up and down within a fiftieth of
a run is noise."""
SHUFFLES = 1000
"""How many random orders of the groups show what chance does."""
RARE = 0.02
"""What so few of them go beyond is taken from them; what fewer do is worked out from it."""
LEAST = 0.2
"""What rises or falls by less than this share of the standard deviation of single episodes is too little to report."""
CERTAIN = 2.0
"""A difference less this many standard errors is there for certain."""
LASTING = 0.5
"""At the end of the run, this share of the rise and of the fall must still be there."""
SCALED = 2.0
"""How many standard errors the worth of the objective must rise by to show that the scale of returns changed."""


@dataclass(frozen=True)
class Parting:
    """Two stretches of a run: in the later one the return is higher and what is wanted is lower."""

    before: slice
    after: slice
    turn: int
    """The episode from which on what is wanted falls."""


def find_parting(returns: Numbers, wish: Numbers, *, late: float, chance: float) -> Parting | None:
    """Return where the return of a run rises while a wish falls, and both by more than chance; None where they do not.

    Stretches are compared, not episodes: where the wish itself is paid, an episode with it earns more than one
    without, before and after. The rise and the fall are tested one by one, so that a trend in one of them and noise in
    the other is not enough. What comes in the first tenth is exploration, and what does not last until the `late`
    episodes has passed.

    Args:
        returns: What each episode of the run earned, in order.
        wish: What is wanted of each, more being better.
        late: The last share of the episodes.
        chance: How often a rise, or a fall, may be as large by chance.
    """
    returns, wish = (column / (np.abs(column).max() or 1.0) for column in (returns, wish))  # whose squares are numbers
    count = min(UNITS, len(returns))
    edges = np.linspace(0, len(returns), count + 1).astype(np.intp)
    columns = [_average(column, edges) for column in (returns, -wish)]
    stretches = _list_stretches(count, late)
    if not stretches.size or not all(column.any() for column in columns):
        return None
    rises = np.array([_score_rises(column, stretches) for column in columns])
    if rises.min(axis=0).max() < -NormalDist().inv_cdf(chance):  # a single comparison comes out so by chance
        return None
    limits = np.array([[_find_limit(column, stretches, chance)] for column in columns])
    end = slice(int(edges[count - _count_late(count, late)]), len(returns))
    pairs = [
        (slice(start, stop), slice(later, len(returns)))
        for start, stop, later in edges[stretches[:, (rises > limits).all(axis=0)]].T.tolist()
    ]
    pairs = [pair for pair in pairs if all(_is_large(column, *pair, end) for column in (returns, -wish))]
    if not pairs:
        return None
    before, after = max(pairs, key=lambda pair: _rate_pair(returns, wish, *pair))
    if _is_rescaled(returns, wish, before, after):
        return None
    turn = before.start + _locate_turn(wish[before.start :], after.start - before.start)
    return Parting(before, after, turn)


def _average(column: Numbers, edges: NDArray[np.intp]) -> Numbers:
    """Return the means of the groups, in standard deviations from the mean of all; zeros where all are the same."""
    means = np.add.reduceat(column, edges[:-1]) / np.diff(edges)
    moved = means - means.mean()
    spread = float(moved.std())
    return moved / spread if spread > 1e-12 else np.zeros(len(means))


def _count_late(count: int, late: float) -> int:
    return max(1, round(late * count))


def _list_stretches(count: int, late: float) -> NDArray[np.intp]:
    """Return where an earlier stretch may start and stop, and where a later one may start that lasts until the end."""
    edges = sorted({round(part * count / PARTS) for part in range(1, PARTS + 1)})
    last = count - _count_late(count, late)
    found = [(a, b, c) for a in edges for b in edges for c in edges if a < b <= c <= last]
    return np.array(found, np.intp).reshape(-1, 3).T


def _score_rises(groups: Numbers, stretches: NDArray[np.intp]) -> Numbers:
    """Return how many standard errors the later stretch of each pair is above the earlier one, for rows of groups."""
    start, stop, later = stretches
    sums, squares = (np.cumsum(each, axis=-1) for each in (groups, groups * groups))
    sums, squares = (np.concatenate([np.zeros((*each.shape[:-1], 1)), each], axis=-1) for each in (sums, squares))
    first, second = stop - start, groups.shape[-1] - later
    one, other = sums[..., stop] - sums[..., start], sums[..., -1:] - sums[..., later]
    both = squares[..., stop] - squares[..., start] + squares[..., -1:] - squares[..., later]
    variance = np.maximum(both - (one + other) ** 2 / (first + second), 0.0) / (first + second - 1)
    error = np.sqrt(variance * (1 / first + 1 / second))
    known = error > 1e-9
    found: Numbers = np.where(known, (other / second - one / first) / np.where(known, error, 1.0), 0.0)
    return found


def _find_limit(groups: Numbers, stretches: NDArray[np.intp], chance: float) -> float:
    """Return what the highest of all rises goes beyond by chance alone, that often.

    The shuffled groups show how much higher it lies than a single one, which is all but normal (Bonferroni with the
    number of comparisons that these are worth): so what is too rare to be met in them is bounded as well.
    """
    orders = np.random.default_rng(0).permuted(np.tile(np.arange(len(groups)), (SHUFFLES, 1)), axis=1)
    highest = np.sort(_score_rises(groups[orders], stretches).max(axis=1))
    comparisons = RARE / NormalDist().cdf(-highest[-1 - int(RARE * SHUFFLES)])
    return -NormalDist().inv_cdf(chance / max(comparisons, 1.0))


def _is_large(column: Numbers, before: slice, after: slice, end: slice) -> bool:
    """Return whether a rise is worth reporting, and is still there at the end."""
    low = column[before].mean()
    rise = column[after].mean() - low
    spread = np.concatenate([column[before], column[after]]).std()
    return bool(rise >= LEAST * spread and column[end].mean() - low >= LASTING * rise)


def _rate_pair(returns: Numbers, wish: Numbers, before: slice, after: slice) -> tuple[float, int]:
    """Return how far two stretches differ for certain, and how long they are: of equal ones, the longest tell most."""
    surely = []
    for column in (returns, -wish):
        one, other = column[before], column[after]
        error = np.sqrt(one.var() / len(one) + other.var() / len(other))
        surely.append((other.mean() - one.mean() - CERTAIN * error) / column.std())
    return round(min(surely), 6), before.stop - before.start - after.start


def _is_rescaled(returns: Numbers, wish: Numbers, before: slice, after: slice) -> bool:
    """Return whether the return rises only because everything is paid more, as in a harder level of a curriculum.

    Then an episode with what is wanted earns more above one without it than it did earlier, and measured by that the
    return has not risen.
    """
    worth, error = _fit_slope(wish[: before.stop], returns[: before.stop])
    later, later_error = _fit_slope(wish[after], returns[after])
    if worth <= 0 or later - worth <= SCALED * np.hypot(error, later_error):
        return False
    return bool(returns[after].mean() / later <= returns[before].mean() / worth)


def _fit_slope(wish: Numbers, returns: Numbers) -> tuple[float, float]:
    """Return how much more is earned for one more of the wish, and the standard error of that."""
    moved, paid = wish - wish.mean(), returns - returns.mean()
    spread = float(moved @ moved)
    if len(wish) < 3 or spread < 1e-18:
        return 0.0, np.inf
    slope = float(moved @ paid) / spread
    rest = paid - slope * moved
    return slope, float(np.sqrt(rest @ rest / (len(wish) - 2) / spread))


def _locate_turn(wish: Numbers, last: int) -> int:
    """Return where a wish begins to fall, at `last` or before: at once or little by little, whichever fits it better.

    Both are fitted by least squares: the mean of all, and a step or a ramp from each episode on.
    """
    moved = wish - wish.mean()
    total = len(moved)
    left = np.arange(total, 0, -1.0)[1:]  # how many episodes there are from each on; the first is no turn
    sums = np.cumsum(moved[::-1])[::-1]
    ramps = np.cumsum(sums[::-1])[::-1][1:]
    step = sums[1:] ** 2 * total / (left * (total - left))
    ramp = ramps**2 / (left * (left + 1) * ((2 * left + 1) / 6 - left * (left + 1) / (4 * total)))
    step, ramp = step[:last], ramp[:last]
    return 1 + int((step if step.max() >= ramp.max() else ramp).argmax())
