"""Ranges: what values fields had, where they left what is declared, what they began with and what idling meets."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from plaudit.analysis.observe.rounding import write_number
from plaudit.analysis.observe.steps import FEW, Steps
from plaudit.analysis.observe.transitions import Column
from plaudit.language.field import Field
from plaudit.reward.task.statements import Seen

FEWEST_STARTS = 3
FEWEST_IDLE = 20
FEWEST_OF_VALUE = 5
MOST_CATEGORIES = 64


def find_fields(steps: Steps) -> dict[str, tuple[Field, Seen]]:
    """Return each field with the values it had, and how many steps kept to what is declared."""
    found = {}
    for name, after in steps.transitions.after.items():
        values = _include_start(steps, name, after)
        field, unusual = _describe(name, values)
        declared = steps.transitions.declared.get(name)
        inside = np.ones(len(after), bool)
        notes = list(unusual)
        if declared is not None:
            inside, note = _compare(after, declared)
            notes += [note] if note else []
            field = replace(field, unit=declared.unit if field.kind == "number" else "")
        if values.ndim == 1 and len(values) and (values == values[0]).all():
            notes.append("never changed")
        notes = [*([declared.doc] if declared is not None and declared.doc else []), *notes]
        found[name] = replace(field, doc="; ".join(notes)), Seen(int(inside.sum()), len(after))
    return found


def _include_start(steps: Steps, name: str, after: Column) -> Column:
    """Return what a field was after each step, and what episodes began with."""
    before, known = steps.find_before(name)
    rows = steps.starts[known[steps.starts]]
    return np.concatenate((after, before[rows])) if len(rows) else after


def _describe(name: str, values: Column) -> tuple[Field, list[str]]:
    """Return a field that allows exactly what was seen, and what is unusual about it."""
    if values.dtype.kind == "b":
        return Field(name, flag=True), []
    if values.dtype.kind in "US":
        labels = np.unique(values)
        if len(labels) > MOST_CATEGORIES:
            return Field(name, values=("other",), other="other"), [f"more than {MOST_CATEGORIES} categories"]
        return Field(name, values=tuple(labels.tolist())), []
    numbers = values.astype(np.float64)
    finite = numbers[np.isfinite(numbers)]
    notes = []
    if missing := int(np.isnan(numbers).sum()):
        notes.append(f"not a number in {missing:,} of {len(numbers):,}")
    if below := int(np.isneginf(numbers).sum()):
        notes.append(f"minus infinity in {below:,} of {len(numbers):,}")
    infinite = bool(np.isposinf(numbers).any())
    shape = values.shape[1:]
    if not finite.size:
        return Field(name, infinite=infinite, shape=shape), notes
    low, high = float(finite.min()), float(finite.max())
    if not infinite and not shape and finite.size == numbers.size and low < high:
        counts = np.unique(finite, return_counts=True)
        if _are_listed(*counts):
            return Field(name, values=tuple(int(value) for value in counts[0])), notes
    return Field(name, low=low, high=high, infinite=infinite, shape=shape), notes


def _are_listed(values: Column, counts: Column) -> bool:
    """Return whether a few integers are all there is: each seen often, and none missing among them."""
    whole = len(values) <= FEW and (values == np.rint(values)).all()
    return bool(whole and counts.min() >= FEWEST_OF_VALUE and np.ptp(values) == len(values) - 1)


def _compare(after: Column, declared: Field) -> tuple[Any, str]:
    """Return the rows inside what is declared, and a note on the others."""
    everything = np.ones(len(after), bool)
    if declared.kind != "number" or after.dtype.kind not in "fiu":
        return everything, ""
    numbers = after.astype(np.float64).reshape(len(after), -1)
    allowed = declared.numbers
    low = min(allowed) if allowed else declared.low if declared.low is not None else -math.inf
    high = max(allowed) if allowed else declared.high if declared.high is not None else math.inf
    slack = 1e-6 * max((abs(bound) for bound in (low, high) if math.isfinite(bound)), default=0.0)
    inside = ((numbers >= low - slack) & (numbers <= high + slack)).all(axis=1)
    if inside.all():
        return inside, ""
    bounds = f"{_write_bound(low)} to {_write_bound(high)}"
    return inside, f"left its declared range of {bounds} in {int((~inside).sum()):,} of {len(after):,} steps"


def _write_bound(bound: float) -> str:
    return write_number(float(f"{bound:.6g}")) if math.isfinite(bound) else "infinity" if bound > 0 else "-infinity"


def find_start(steps: Steps, others: set[str]) -> dict[str, tuple[Any, Seen]]:
    """Return what episodes began with: a value, or the lowest and the highest number."""
    found: dict[str, tuple[Any, Seen]] = {}
    for name in steps.scalars:
        before, known = steps.find_before(name)
        rows = steps.starts[known[steps.starts]]
        count = len(rows)
        if name in others or count < FEWEST_STARTS:
            continue
        values = before[rows]
        seen = Seen(count, count, "episodes")
        if (values == values[0]).all():
            found[name] = values[0].item(), seen
        elif values.dtype.kind in "fiu":
            found[name] = (float(values.min()), float(values.max())), seen
    return found


def find_idle(steps: Steps) -> dict[str, tuple[Any, Seen]]:
    """Return what idling from the beginning of an episode meets in every step."""
    idling = steps.transitions.policy == "idle"
    count = int(idling.sum())
    if count < FEWEST_IDLE or steps.count_episodes(idling) < 2:
        return {}
    found = {}
    vectors = {name: column for name, column in steps.transitions.after.items() if column.ndim > 1}
    for name, column in {**steps.scalars, **vectors}.items():
        values = column[idling]
        if (values == values[0]).all():
            found[name] = values[0].tolist(), Seen(count, count, "idle steps")
    return found
