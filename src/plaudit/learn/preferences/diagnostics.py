"""Warnings about a fit: what a table of estimates and intervals does not show by itself."""

from collections.abc import Iterator, Sequence

import numpy as np

from plaudit.learn.preferences.choices import Array
from plaudit.learn.preferences.posterior import Likelihood, Optimum, Prior

_LITTLE = 1.0
"""Information, in units of the prior's, below which an interval is more the prior's than the choices'."""
_NOTICEABLE = 0.3
"""The share of a direction from which on a parameter is named as a part of it."""
_NOT_NEGLIGIBLE = 0.5
"""Standard errors from which on the prior moves an estimate."""
_SURPRISING = 3.0
"""Standard errors from which on the held rationality does not fit."""
CERTAIN = 30.0
"""Log-odds from which on a choice is so certain that it says nothing of the numbers behind it."""
_SMALL = 1e-3
"""A jump of the log-likelihood that moves no estimate; the roundings of a sum lie far below it."""


def find_warnings(
    names: tuple[str, ...],
    found: Optimum,
    prior: Prior,
    *,
    scale_fits: bool,
    separated: bool,
    difference: float,
    jumping: Sequence[str],
) -> Iterator[str]:
    """Yield what a reader must know; the last of `names` is the rationality, `difference` a typical one."""
    if found.free.size and np.isnan(found.covariance).any():
        yield "the log-likelihood curves upward where the search ended, so there are no standard errors"
    for at in found.bound:
        side = "above" if found.theta[at] >= prior.high[at] else "below"
        yield (
            f"{names[at]} ends at its bound {found.theta[at]:g}: the choices would put it {side}, "
            f"and bounds={{{names[at]!r}: (None, None)}} lets it go there"
        )
    for name in jumping:
        yield (
            f"the likelihood is discontinuous in {name}, at a comparison or a rounding: its standard error ignores that"
        )
    if found.converged and difference <= CERTAIN:
        yield from _find_undetermined(names, found, prior)
    if separated:
        yield (
            "some parameter values predict every choice, so the choices do not limit the scale of the reward: "
            "the size of the numbers comes from the prior"
        )
    elif difference > CERTAIN:
        yield (
            f"the scale is far off: the sides typically differ by {difference:.2g} in log-odds, where every choice is "
            "certain and uninformative; fit the weights, or rationality='fit'"
        )
    else:
        yield from _find_pulled(names, found, prior)
        if not scale_fits and not found.bound.size:
            yield from _find_wrong_scale(found)


def _find_undetermined(names: tuple[str, ...], found: Optimum, prior: Prior) -> Iterator[str]:
    free, unit = found.free, prior.deviation[found.free]
    known = found.information[np.ix_(free, free)] * np.outer(unit, unit)
    if not len(free) or not np.isfinite(known).all():
        return
    silent = [names[at] for at, row in zip(free, known, strict=True) if not np.any(np.abs(row) > 1e-12)]
    if silent:
        yield (
            f"no choice depends on {' or '.join(silent)}: both sides change alike, or every step lies where a branch "
            "or a clamp hides it; the interval comes from the prior"
        )
    amounts, directions = np.linalg.eigh(known)
    for amount, direction in zip(amounts, directions.T, strict=True):
        parts = [names[free[at]] for at in np.flatnonzero(np.abs(direction) > _NOTICEABLE)]
        if amount >= _LITTLE or set(parts) & set(silent):
            continue
        if len(parts) == 1:
            yield f"the choices say little about {parts[0]}: its interval comes mostly from the prior"
        else:
            yield (
                f"the choices cannot separate {', '.join(parts[:-1])} and {parts[-1]}: along "
                f"{_format_direction(direction, names, free)} the intervals come mostly from the prior; fix one of them"
            )


def _find_pulled(names: tuple[str, ...], found: Optimum, prior: Prior) -> Iterator[str]:
    """Yield which estimates the prior has moved, to first order, by a good part of their error."""
    free = found.free
    moved = found.covariance @ ((found.theta - prior.mean) / prior.deviation**2)[free]
    for at, by, error in zip(free, moved, np.sqrt(np.diag(found.covariance)), strict=True):
        if abs(by) > _NOT_NEGLIGIBLE * error:
            yield (
                f"the prior pulls {names[at]} by {abs(by) / error:.1f} standard errors; "
                "a wider prior= lets the choices decide"
            )


def _format_direction(direction: Array, names: tuple[str, ...], free: Array) -> str:
    """Format a direction, each part in units of its prior's deviation."""
    sign = 1.0 if direction[np.argmax(np.abs(direction))] > 0 else -1.0
    parts = [f"{sign * part:+.2g} {names[at]}" for at, part in zip(free, direction, strict=True) if abs(part) > 0.05]
    return f"({' '.join(parts)})"


def _find_wrong_scale(found: Optimum) -> Iterator[str]:
    """Yield whether the choices follow the reward much more, or less, sharply than the held rationality says.

    A score test: the slope of the log-likelihood along the rationality, in units of its own deviation.
    """
    last, free = len(found.theta) - 1, found.free
    shared = found.information[last, free]
    own = float(found.information[last, last])
    left = own - float(shared @ found.covariance @ shared)
    if not left > 1e-6 * abs(own):  # the fitted weights can scale the reward themselves
        return
    slope = -float(found.slope[last])
    if abs(slope) > _SURPRISING * left**0.5:
        more = "more" if slope > 0 else "less"
        yield (
            f"the choices follow the reward {more} sharply than its scale implies ({abs(slope) / left**0.5:.1f} "
            "standard "
            "errors): fit the scale too, with rationality='fit'"
        )


def has_jump(likelihood: Likelihood, found: Optimum, at: int) -> bool:
    """Return whether the likelihood jumps within one standard error of a parameter.

    Between two places a function without a jump changes as its slopes there say. The widest gap between the two is
    looked at ever more closely: where it was a bend it closes, and where it was a jump it stays.
    """
    if at not in found.free:
        return False
    along = np.eye(len(found.theta))[at]
    error = float(np.sqrt(np.diag(found.covariance)[found.free == at][0]))
    places, gap = np.linspace(-error, error, 11), np.zeros(10)
    for _ in range(3):
        loss, slopes = zip(*(likelihood.loss(found.theta + by * along) for by in places), strict=True)
        slope, width = np.array(slopes) @ along, places[1] - places[0]
        gap = np.abs(np.diff(loss) - width * (slope[1:] + slope[:-1]) / 2) - width * np.abs(np.diff(slope)) / 2
        widest = int(np.argmax(gap))
        places = np.linspace(places[widest], places[widest + 1], 11)
    return bool(gap.max() > _SMALL)  # not for NaN
