"""Where a task and steps that happened disagree: the task is of another environment, or of another version of it."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from plaudit.checks.formats.plain import format_number, format_value
from plaudit.checks.seen_steps import SeenSteps
from plaudit.errors import DefinitionError
from plaudit.language.field import Field
from plaudit.reward.task.task import Task

FURTHER = 0.5
"""By how much of its width a range that was only seen must be left: other play reaches other ends."""
OFTEN = 0.01
"""In which share of the steps it must be."""
SLIGHT = 1e-6
"""Rounding, as a share of the range."""


def refuse_disagreement(task: Task, steps: SeenSteps, env: str) -> None:
    """Refuse a task that contradicts the steps.

    Raises:
        DefinitionError: The message names the statement and what was seen instead.
    """
    for part, name, says, instead in _list_disagreements(task, steps):
        seen = task.seen.get(f"{part}.{name}" if name else part)
        basis = "declared" if seen is None else f"seen in {seen}"
        raise DefinitionError(
            f"task {task.name!r} says that {says} ({basis}), but in {env} {instead}. The task may be for another "
            f"environment or version: correct the statement, or run `plaudit observe` again."
        )


def _list_disagreements(task: Task, steps: SeenSteps) -> Iterator[tuple[str, str, str, str]]:
    """Yield the statement, what it says, and what was seen instead."""
    for name, field in task.fields.items():
        column = steps.after.get(name)
        if column is None or column.ndim > 1 or field.shape:
            continue
        if field.kind != (kind := _find_kind(column)) and {field.kind, kind} != {"number", "flag"}:
            yield "fields", name, f"{name} is a {field.kind}", f"it is a {kind}"
        elif field.kind == "category":
            for label in sorted(set(column.tolist()) - {*field.labels})[:1]:
                yield "fields", name, f"{name} is one of {', '.join(field.labels)}", f"it is {format_value(label)}"
        elif field.kind == "number":
            yield from _compare_range(task, field, column.astype(np.float64))
    for name, change in _list_changes(task, steps):
        largest = task.max_change.get(name)
        if largest is not None and np.abs(change).max() > largest * (1 + SLIGHT):
            moved = format_number(np.abs(change).max())
            yield "max_change", name, f"{name} changes by at most {format_number(largest)}", f"it changes by {moved}"
        way = task.monotone.get(name)
        if way is not None and ((change < 0) if way == "up" else (change > 0)).any():
            yield "monotone", name, f"{name} only goes {way}", f"it goes {'down' if way == 'up' else 'up'} as well"
    lengths = np.diff(np.append(np.flatnonzero(steps.first), len(steps)))
    if task.horizon is not None and int(lengths.max()) > task.horizon:
        says = f"an episode has at most {format_number(task.horizon)} steps"
        yield "horizon", "", says, f"one has {format_number(int(lengths.max()))}"


def _find_kind(column: np.ndarray[Any, Any]) -> str:
    return {"b": "flag", "U": "category"}.get(column.dtype.kind, "number")


def _compare_range(task: Task, field: Field, values: np.ndarray[Any, Any]) -> Iterator[tuple[str, str, str, str]]:
    ends = field.numbers or tuple(float(end) for end in (field.low, field.high) if end is not None)
    low = min(ends) if field.numbers or field.low is not None else -np.inf
    high = max(ends) if field.numbers or field.high is not None else np.inf
    is_seen = f"fields.{field.name}" in task.seen
    width = high - low if np.isfinite(high - low) else float(np.ptp(values))
    room = (FURTHER if is_seen else SLIGHT) * max(width, SLIGHT)
    beyond = (values < low - room) | (values > high + room)
    if beyond.mean() > (OFTEN if is_seen else 0.0):
        value = values[np.argmax(np.maximum(low - values, values - high))]
        says = " and ".join(
            [f"{field.name} is at least {format_number(low)}"] * bool(np.isfinite(low))
            + [f"{'' if np.isfinite(low) else f'{field.name} is '}at most {format_number(high)}"]
            * bool(np.isfinite(high))
        )
        yield "fields", field.name, says, f"it is sometimes {format_number(value)}"


def _list_changes(task: Task, steps: SeenSteps) -> Iterator[tuple[str, Any]]:
    for name in dict.fromkeys((*task.max_change, *task.monotone)):
        if name in steps.before and name in steps.after and _find_kind(steps.after[name]) == "number":
            known = ~steps.first if name in steps.unknown_first else np.ones(len(steps), bool)
            change = (steps.after[name].astype(np.float64) - steps.before[name].astype(np.float64))[known]
            if change.size and change.ndim == 1:
                yield name, change
