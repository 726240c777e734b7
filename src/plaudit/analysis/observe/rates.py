"""Rates: which field moves by another one times a constant in every step."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plaudit.analysis.observe.rounding import list_shorter
from plaudit.analysis.observe.steps import DOUBLE_PRECISION, SINGLE_PRECISION, Numbers, Steps
from plaudit.analysis.observe.transitions import Mask
from plaudit.reward.task.statements import Rate, Seen

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
    """Return for each field of numbers the one that it moves by: as it was before the step, or as it is after it."""
    earlier = [(name, *steps.find_before(name)) for name in steps.changing if name not in actions]
    everywhere = np.ones(len(steps), bool)
    speeds = [(name, column.astype(np.float64), known) for name, column, known in earlier]
    choices = [name for name in actions if steps.is_few.get(name)]  # their numbers are not amounts
    speeds += [(name, column, everywhere) for name, column in steps.changing.items() if name not in choices]
    found = {}
    for name in steps.changing:
        for precision in sorted({max(steps.precision[name], DOUBLE_PRECISION), SINGLE_PRECISION}):
            motion = None if name in actions else _describe_motion(steps, name, precision)
            fits = [] if motion is None else list(_list_fits(motion, [each for each in speeds if each[0] != name]))
            if fits:
                best = min(fits)
                found[name] = Rate(best.rate, best.dt), Seen(best.of - best.exceptions, best.of)
                break
    return found


def _describe_motion(steps: Steps, name: str, precision: float) -> _Motion | None:
    """Return how a field moves; None where it hardly does."""
    before, known = steps.find_before(name)
    before, after = before[known].astype(np.float64), steps.changing[name][known]
    noise = ROUNDINGS * precision * (np.abs(before) + np.abs(after))
    motion = _Motion(np.flatnonzero(known), after, after - before, noise, precision)
    return motion if np.isfinite(before).all() and motion.visible.sum() >= FEWEST else None


def _list_fits(motion: _Motion, speeds: Sequence[tuple[str, Numbers, Mask]]) -> Iterator[_Fit]:
    if not speeds:
        return
    visible = np.flatnonzero(motion.visible)
    sample = motion.take(visible[:: max(1, len(visible) // SAMPLE)])
    guesses = _guess(sample.change, np.array([column[sample.rows] for _, column, _ in speeds]))
    for dt, (rate, column, known) in zip(guesses, speeds, strict=True):
        if dt:
            moved = motion.take(known[motion.rows])
            fit = _fit(moved, rate, column[moved.rows], dt)
            if fit is not None:
                yield fit


def _guess(change: Numbers, speeds: Numbers) -> list[float]:
    """Return for each row of speeds the constant that most of the changes agree on; 0 where they do not."""
    moving = (speeds != 0) & np.isfinite(speeds)
    with np.errstate(invalid="ignore"):
        factors = np.median(change / np.where(moving, speeds, 1.0), axis=1, keepdims=True)
        near = moving & (np.abs(change - factors * speeds) <= 0.05 * np.abs(change))
    agreed = near.mean(axis=1) >= 1 - MOST_EXPLAINED
    return [float(factor) for factor in np.where(agreed, factors[:, 0], 0.0)]


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
