"""Choices between segments, as one table of steps."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from plaudit.errors import InputError, NotFinite, OutOfRange, ShapeMismatch, WrongType
from plaudit.reward.reward import Reward
from plaudit.targets.array import gather, to_array

Array = np.ndarray[Any, Any]


class Steps(NamedTuple):
    """The steps of many segments in one table; `segment` says which choice each step belongs to, counted from 0.

    >>> steps = Steps({"value": [1.0, 2.0, 0.5]}, [0, 0, 1])
    >>> len(steps.segment)
    3
    """

    columns: Any
    segment: Any


class Choices(NamedTuple):
    """Every step of both sides, a row each, and what it counts for in the choice that it is a part of."""

    columns: dict[str, Array]
    """By the names of the reward's inputs."""
    choice: Array
    """The number of the choice."""
    factor: Array
    """The discount of the step, negative on the side that was not preferred."""
    share: Array
    """Of each choice, the share of judges who preferred the first side."""
    judgements: Array
    """Of each choice, how many judgements it stands for."""


class _Side(NamedTuple):
    columns: dict[str, Array]
    choice: Array
    step: Array
    """The number of the step within its segment."""


def build_choices(reward: Reward, preferred: Any, rejected: Any, *, share: Any, count: Any, discount: float) -> Choices:
    """Return both sides of all choices as one table; an InputError says on which side and in which choice it fails."""
    sides = [_parse_side(reward, name, given) for name, given in (("preferred", preferred), ("rejected", rejected))]
    lengths = [int(side.choice.max()) + 1 for side in sides]
    if lengths[0] != lengths[1]:
        raise ShapeMismatch(
            f"there are {lengths[0]} preferred and {lengths[1]} rejected segments; they are compared in pairs."
        )
    first, second = sides
    return Choices(
        {name: np.concatenate([first.columns[name], second.columns[name]]) for name in first.columns},
        np.concatenate([first.choice, second.choice]).astype(np.int32),
        np.concatenate([discount**first.step, -(discount**second.step)]),
        _parse_numbers("share", share, 1.0, lengths[0], high=1.0),
        _parse_numbers("count", count, 1.0, lengths[0], high=np.inf),
    )


def _parse_side(reward: Reward, name: str, given: Any) -> _Side:
    apart = isinstance(given, Sequence) and not isinstance(given, str | bytes | Steps)
    if isinstance(given, Steps):
        columns, _ = _parse_table(reward, name, given.columns)
        side = _Side(columns, *_number_steps(name, given.segment, columns))
    elif apart:
        side = _parse_segments(reward, name, given)
    else:
        columns, rows = _parse_table(reward, name, given)
        side = _Side(columns, np.arange(rows), np.zeros(rows))
    if not len(side.choice):
        raise InputError(f"{name} is empty: there are no choices to fit a reward to.")
    _require_scorable(reward, name, side, apart=apart)
    return side


def _parse_segments(reward: Reward, name: str, segments: Sequence[Any]) -> _Side:
    """Return segments one after the other: each is the columns of its steps, one step, or a list of steps."""
    tables, lengths = [], []
    for at, segment in enumerate(segments):
        where = f"{name}, choice {at}"
        steps = [segment] if isinstance(segment, Mapping) else segment
        if not isinstance(steps, Sequence) or isinstance(steps, str) or not steps:
            raise WrongType(f"{where}: a segment is a mapping or a list of mappings, one per step, not {segment!r:.60}")
        parts = [_parse_table(reward, where, step) for step in steps]
        tables += [columns for columns, _ in parts]
        lengths.append(sum(rows for _, rows in parts))
        if not lengths[-1]:
            raise ShapeMismatch(f"{where}: the segment has no steps.")
    columns = {key: np.concatenate([table[key] for table in tables]) for key in (tables[0] if tables else ())}
    choice = np.repeat(np.arange(len(lengths)), lengths)
    step = np.array([at for length in lengths for at in range(length)], dtype=np.float64)
    return _Side(columns, choice, step)


def _number_steps(name: str, segment: Any, columns: Mapping[str, Array]) -> tuple[Array, Array]:
    """Return the choice of each step, and its number within the segment, in the order of the rows."""
    choice = np.asarray(segment)
    rows = len(next(iter(columns.values())))
    if choice.shape != (rows,):
        raise ShapeMismatch(f"{name}: segment has the shape {choice.shape}, but there are {rows} steps.")
    if rows and (choice.dtype.kind not in "iu" or not np.array_equal(np.unique(choice), np.arange(choice.max() + 1))):
        raise InputError(f"{name}: segment must number the choices 0, 1, 2 … without gaps.")
    order = np.argsort(choice, kind="stable")
    starts = np.searchsorted(choice[order], choice[order])
    step = np.empty(rows)
    step[order] = np.arange(rows) - starts
    return choice, step


def _parse_table(reward: Reward, where: str, given: Any) -> tuple[dict[str, Array], int]:
    """Return columns by the names of the reward's inputs, a single value repeated for every row, and the row count."""
    try:
        flat = reward.encode(given)
        arrays, _, shape = gather(
            reward.program, flat, lambda name, field, value: (to_array(reward.name, name, field, value), None)
        )
    except InputError as error:
        raise type(error)(f"{where}: {error}") from None
    if len(shape) > 1:
        raise ShapeMismatch(f"{where}: a column holds one value per row, but these have the shape {shape}.")
    rows = shape[0] if shape else 1
    return {name: np.broadcast_to(array, (rows,)) for name, array in zip(reward.inputs, arrays, strict=True)}, rows


def _require_scorable(reward: Reward, name: str, side: _Side, *, apart: bool) -> None:
    """Refuse steps that cannot be scored, by the number of their choice; rows count within it if given `apart`."""
    score, choice = reward.compile("numpy", on_bad="mask"), ""
    try:
        bad = np.flatnonzero(~score(side.columns).ok)
        if bad.size:
            choice = f", choice {side.choice[bad[0]]}"
            rows = side.choice == side.choice[bad[0]] if apart else slice(None)
            reward.compile("numpy")({key: column[rows] for key, column in side.columns.items()})
    except InputError as error:
        raise type(error)(f"{name}{choice}: {error}") from None


def _parse_numbers(name: str, given: Any, default: float, length: int, *, high: float) -> Array:
    """Return one number a choice, checked."""
    if given is None:
        return np.full(length, default)
    try:
        numbers = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise WrongType(f"{name} must be numbers, one for each choice.") from None
    if numbers.shape not in ((), (length,)):
        raise ShapeMismatch(f"{name} has the shape {numbers.shape}, but there are {length} choices.")
    if not np.isfinite(numbers).all():
        raise NotFinite(f"{name} holds a number that is not finite.")
    if numbers.min(initial=0.0) < 0 or numbers.max(initial=0.0) > high:
        raise OutOfRange(f"{name} must be {'within [0, 1]' if high == 1 else '0 or more'}.")
    if name == "count" and not numbers.any():
        raise InputError("count is 0 for every choice, so none of them counts.")
    return np.broadcast_to(numbers, (length,)).copy()
