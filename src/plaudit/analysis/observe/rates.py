"""Rates: which field moves by another one times a constant in every step."""

from dataclasses import dataclass

import numpy as np

from plaudit.analysis.observe.rounding import list_shorter
from plaudit.analysis.observe.steps import SINGLE_PRECISION, Numbers, Steps
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


@dataclass(frozen=True)
class _Fit:
    dt: float
    count: int
    of: int
    digits: int


def find_rates(steps: Steps, actions: tuple[str, ...]) -> dict[str, tuple[Rate, Seen]]:
    """Return for each field of numbers the one that it moves by, where exactly one constant fits."""
    found = {}
    for name in steps.changing:
        if name in actions:
            continue
        before, known = steps.find_before(name)
        before, after = before.astype(np.float64)[known], steps.changing[name][known]
        if not np.isfinite(before).all():
            continue
        fits = []
        for precision in sorted({max(steps.precision[name], 2.0**-52), SINGLE_PRECISION}):
            noise = ROUNDINGS * precision * (np.abs(before) + np.abs(after))
            moved = np.abs(after - before) > VISIBLE * noise
            if moved.sum() < FEWEST:
                continue
            for other in steps.changing:
                if other != name and (fit := _fit_either(steps, other, known, before, after, noise, precision)):
                    fits.append((-fit.count, fit.digits, other, fit))
            if fits:
                break
        if fits:
            _, _, other, fit = min(fits, key=lambda each: each[:3])
            found[name] = Rate(other, fit.dt), Seen(fit.count, fit.of)
    return found


def _fit_either(
    steps: Steps, other: str, known: Mask, before: Numbers, after: Numbers, noise: Numbers, precision: float
) -> _Fit | None:
    """Return how a field moves by `other` as it was before the step, or as it is after it: whichever fits better."""
    speed_before, known_before = steps.find_before(other)
    fits = []
    for speeds, rows in ((speed_before, known_before[known]), (steps.changing[other], np.ones(len(before), bool))):
        speed = speeds[known].astype(np.float64)
        if rows.any() and np.isfinite(speed).all():
            fits.append(_fit(before[rows], after[rows], speed[rows], noise[rows], precision, len(before)))
    made = [fit for fit in fits if fit is not None]
    return max(made, key=lambda fit: fit.count) if made else None


def _fit(before: Numbers, after: Numbers, speed: Numbers, noise: Numbers, precision: float, of: int) -> _Fit | None:
    change = after - before
    visible = np.abs(change) > VISIBLE * noise
    sample = np.flatnonzero(visible & (speed != 0))
    if len(sample) < FEWEST:
        return None
    sample = sample[:: max(1, len(sample) // SAMPLE)]
    dt = float(np.median(change[sample] / speed[sample]))
    rough = np.abs(change[sample] - dt * speed[sample]) <= 0.05 * np.abs(change[sample]) + noise[sample]
    if rough.mean() < 1 - MOST_EXPLAINED:
        return None
    dt = _refine(change, speed, noise, dt)

    def holds(factor: float) -> Mask:
        return np.asarray(np.abs(change - factor * speed) <= noise + ROUNDINGS * precision * np.abs(factor * speed))

    fitting = holds(dt)
    digits = 10
    for at, shorter in enumerate(list_shorter(dt)):
        if (rounded := holds(shorter)).sum() >= fitting.sum():
            dt, fitting, digits = shorter, rounded, at
            break
    moving = visible | (np.abs(dt * speed) > VISIBLE * noise)
    if not _is_varied(speed[moving & fitting], speed, fitting):
        return None
    exceptions = moving & ~fitting
    unexplained = exceptions & ~_is_explained(before, after, change - dt * speed, exceptions)
    if exceptions.sum() > MOST_EXPLAINED * moving.sum() or unexplained.sum() > MOST_UNEXPLAINED * moving.sum():
        return None
    return _Fit(dt, int(fitting.sum()), len(change), digits)


def _refine(change: Numbers, speed: Numbers, noise: Numbers, dt: float) -> float:
    """Return the constant by least squares over the rows that it nearly fits, closing in on those it fits."""
    for share in (0.05, 0.01, 1e-3):
        near = np.abs(change - dt * speed) <= share * np.abs(dt * speed) + noise
        if (weight := float((speed[near] ** 2).sum())) > 0:
            dt = float((change[near] * speed[near]).sum()) / weight
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


def _is_explained(before: Numbers, after: Numbers, rest: Numbers, exceptions: Mask) -> Mask:
    """Return the rows that end at a limit which the field reaches often, or that jump by the same amount."""
    explained = np.zeros(len(after), bool)
    for limit in (after.min(), after.max()):
        at_limit = after == limit
        if at_limit.sum() >= 2:
            explained |= at_limit
    spread = after.max() - after.min()
    if exceptions.any():
        jump = float(np.median(np.abs(rest[exceptions])))
        if jump > spread / 2:
            explained |= np.abs(np.abs(rest) - jump) <= 1e-4 * jump
    return explained
