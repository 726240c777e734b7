"""Rates: which field moves by another one times a constant in every step."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plaudit.analysis.observe.rounding import list_shorter
from plaudit.analysis.observe.steps import DOUBLE_PRECISION, SINGLE_PRECISION, Numbers, Steps
from plaudit.analysis.observe.transitions import Mask
from plaudit.reward.task import Rate, Seen

ROUNDINGS = 8
"""How many roundings of a number separate a computed change from the one that is seen."""
VISIBLE = 20
"""How many times the rounding error a change must be to say anything."""
FEWEST = 100
"""Steps in which the field visibly moved at its rate."""
FEWEST_VALUES = 8
MOST_EXPLAINED = 0.3
"""The largest share of exceptions where each is at a limit of the field or a jump around a circle."""
MOST_UNEXPLAINED = 0.02
SAMPLE = 400


class _Fit(NamedTuple):
    """A constant, and how well it fits; the least is the best."""

    exceptions: int
    digits: int
    rate: str
    dt: float
    of: int


@dataclass(frozen=True)
class _Motion:
    """How a field moves in the rows in which it is known on both sides of a step."""

    rows: NDArray[np.int64]
    after: Numbers
    change: Numbers
    noise: Numbers
    """How much of the change may be rounding."""
    precision: float

    @property
    def visible(self) -> Mask:
        return np.asarray(np.abs(self.change) > VISIBLE * self.noise)

    def take(self, kept: NDArray[np.int64] | Mask) -> "_Motion":
        return _Motion(self.rows[kept], self.after[kept], self.change[kept], self.noise[kept], self.precision)

    def fits(self, dt: float, speed: Numbers) -> Mask:
        slack = self.noise + ROUNDINGS * self.precision * np.abs(dt * speed)
        return np.asarray(np.abs(self.change - dt * speed) <= slack)


def find_rates(steps: Steps, actions: tuple[str, ...]) -> dict[str, tuple[Rate, Seen]]:
    """Return for each field of numbers the one that it moves by."""
    found = {}
    for name in steps.changing:
        if name in actions:
            continue
        for precision in sorted({max(steps.precision[name], DOUBLE_PRECISION), SINGLE_PRECISION}):
            fits = list(_list_fits(steps, name, precision))
            if fits:
                best = min(fits)
                found[name] = Rate(best.rate, best.dt), Seen(best.of - best.exceptions, best.of)
                break
    return found


def _list_fits(steps: Steps, name: str, precision: float) -> Iterator[_Fit]:
    before, known = steps.find_before(name)
    before, after = before[known].astype(np.float64), steps.changing[name][known]
    if not np.isfinite(before).all():
        return
    noise = ROUNDINGS * precision * (np.abs(before) + np.abs(after))
    motion = _Motion(np.flatnonzero(known), after, after - before, noise, precision)
    visible = np.flatnonzero(motion.visible)
    if len(visible) < FEWEST:
        return
    sample = motion.take(visible[:: max(1, len(visible) // SAMPLE)])
    for other in steps.changing:
        if other == name:
            continue
        earlier, is_known = steps.find_before(other)
        both = motion.take(is_known[motion.rows]) if _guess(sample, earlier) else None
        for moved, speeds in ((both, earlier), (motion, steps.changing[other])):
            dt = _guess(sample, speeds)
            fit = _fit(moved, other, speeds[moved.rows].astype(np.float64), dt) if dt and moved is not None else None
            if fit is not None:
                yield fit


def _guess(sample: _Motion, speeds: Numbers) -> float:
    """Return the constant that most of a sample of changes agree on; 0 where they do not."""
    speed = speeds[sample.rows].astype(np.float64)
    moving = (speed != 0) & np.isfinite(speed)
    if moving.mean() < 1 - MOST_EXPLAINED:
        return 0.0
    dt = float(np.median(sample.change[moving] / speed[moving]))
    near = np.abs(sample.change[moving] - dt * speed[moving]) <= 0.05 * np.abs(sample.change[moving])
    return dt if near.mean() >= 1 - MOST_EXPLAINED else 0.0


def _fit(motion: _Motion, rate: str, speed: Numbers, dt: float) -> _Fit | None:
    """Return the constant near `dt` by which a field moves at a speed, where enough of the steps agree."""
    if not np.isfinite(speed).all():
        return None
    dt = _refine(motion, speed, dt)
    fitting = motion.fits(dt, speed)
    digits = 10
    for at, shorter in enumerate(list_shorter(dt)):
        if (rounded := motion.fits(shorter, speed)).sum() >= fitting.sum():
            dt, fitting, digits = shorter, rounded, at
            break
    moving = motion.visible | (np.abs(dt * speed) > VISIBLE * motion.noise)
    if not _is_varied(speed[moving & fitting], speed, fitting):
        return None
    exceptions = moving & ~fitting
    unexplained = exceptions & ~_find_explained(motion.after, motion.change - dt * speed, exceptions)
    if exceptions.sum() > MOST_EXPLAINED * moving.sum() or unexplained.sum() > MOST_UNEXPLAINED * moving.sum():
        return None
    return _Fit(int((~fitting).sum()), digits, rate, dt, len(speed))


def _refine(motion: _Motion, speed: Numbers, dt: float) -> float:
    """Return the constant by least squares over the rows that it nearly fits, closing in on those it fits."""
    for share in (0.05, 0.01, 1e-3):
        near = np.abs(motion.change - dt * speed) <= share * np.abs(dt * speed) + motion.noise
        if (weight := float((speed[near] ** 2).sum())) > 0:
            dt = float((motion.change[near] * speed[near]).sum()) / weight
    return dt


def _is_varied(moving: Numbers, speed: Numbers, fitting: Mask) -> bool:
    """Return whether enough different speeds were seen; of two, each often."""
    if len(moving) < FEWEST:
        return False
    values, counts = np.unique(moving, return_counts=True)
    if len(values) >= FEWEST_VALUES:
        return True
    still = int((fitting & (speed == 0)).sum())
    return int((np.append(counts, still) >= FEWEST).sum()) >= 2


def _find_explained(after: Numbers, rest: Numbers, exceptions: Mask) -> Mask:
    """Return the rows that end at a limit which the field reaches often, or that jump by the same amount."""
    explained = np.zeros(len(after), bool)
    for limit in (after.min(), after.max()):
        at_limit = after == limit
        if at_limit.sum() >= 2:
            explained |= at_limit
    if exceptions.any():
        jump = float(np.median(np.abs(rest[exceptions])))
        if jump > np.ptp(after) / 2:
            explained |= np.abs(np.abs(rest) - jump) <= 1e-4 * jump
    return explained
