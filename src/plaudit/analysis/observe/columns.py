"""Columns of steps from whatever was given for each, and transitions from columns of both ends of a step."""

import re
from collections.abc import Callable, Mapping, Sequence, Sized
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plaudit.analysis.observe.transitions import Column, Mask, Transitions
from plaudit.errors import InputError, NotFinite, WrongType, shorten
from plaudit.language.field import Field

OUTCOMES = ("terminal", "terminated", "truncated", "original_reward")
"""Names of what an environment says of a step beside its state: these are not fields."""
_ENTRY = re.compile(r"(.+?)((?:\[\d+\])+)")


def build_column(
    name: str,
    values: Sequence[Any],
    where: Callable[[int], str] = lambda row: f"in row {row + 1}",
    what: str = "",
) -> Column | None:
    """Return the values of a field as a column; None where some are absent (None), so that it has no column.

    In messages `where` says which row it is, and `what` who gave the values: "the features return ".

    Raises:
        WrongType: They are not all numbers, all bools, all strings, or all vectors of one shape.
        NotFinite: One is NaN.
    """
    kinds = set(map(type, values))
    if type(None) in kinds:
        return None
    if kinds == {bool}:
        return np.array(values, bool)
    if all(issubclass(kind, str) for kind in kinds):
        return np.array(list(map(str, values)))
    try:
        array = np.array(values, np.float64 if kinds <= {float, int} else None)  # ValueError where shapes differ
    except (ValueError, OverflowError, TypeError):
        array = np.array(None)
    array = array.reshape(len(values)) if array.size == len(values) else array
    if array.dtype.kind == "b" and {np.asarray(value).dtype.kind for value in values} == {"b"}:
        return array
    if array.dtype.kind in "fiu" and not any(issubclass(kind, bool | np.bool_) for kind in kinds):
        return _require_numbers(name, array.astype(np.float64), where, what)
    forms = [
        (type(value), getattr(value, "shape", len(value) if isinstance(value, Sized) else None)) for value in values
    ]
    odd = next((at for at, form in enumerate(forms) if form != forms[0]), None)
    then = where(0) if odd is None else f"in the first step and {shorten(values[odd], 40)} {where(odd)}"
    raise WrongType(
        f"{what}{name!r}, which must be a number, a bool, a string or a vector of one shape in every step: it is "
        f"{shorten(values[0], 40)} {then}."
    )


def _require_numbers(name: str, array: NDArray[np.float64], where: Callable[[int], str], what: str) -> Column:
    unknown = np.isnan(array)
    if unknown.any():
        raise NotFinite(f"{what}NaN as {name!r} {where(int(np.argwhere(unknown)[0][0]))}.")
    return array


def join_entries(columns: Mapping[str, Column]) -> dict[str, Column]:
    """Return columns in which `torque[0]`, `torque[1]` are one: `torque`.

    >>> join_entries({"speed": np.zeros(1), "torque[0]": np.ones(1), "torque[1]": np.zeros(1)})["torque"].tolist()
    [[1.0, 0.0]]
    """
    entries: dict[str, list[Column]] = {}
    for name, column in columns.items():
        match = _ENTRY.fullmatch(name)
        entries.setdefault(match[1] if match else name, []).append(column)
    return {name: parts[0] if name in columns else np.stack(parts, 1) for name, parts in entries.items()}


def build_transitions(
    columns: Mapping[str, Column],
    *,
    episode: NDArray[np.int64],
    policy: NDArray[np.str_],
    terminated: Mask,
    truncated: Mask,
    actions: Column | None,
    action_names: Sequence[str],
    idle: Any = None,
    declared: Mapping[str, Field] | None = None,
    paid: NDArray[np.float64] | None = None,
    source: str,
) -> Transitions:
    """Return the steps of columns: `prev.x` and `curr.x`, or `x` alone, which is known only after a step.

    Rows of an episode stand together, in order. An episode whose every action is `idle` counts as idle;
    a recorded one whose actions are all alike, a constant policy's.
    """
    given = {name: column for name, column in columns.items() if name.rpartition(".")[2] not in OUTCOMES}
    after: dict[str, Column] = {}
    before: dict[str, Column] = {}
    unknown_first = set()
    first = np.concatenate(([True], episode[1:] != episode[:-1]))
    for name, column in given.items():
        record, _, plain = name.rpartition(".")
        if plain in after and record != "prev" and not np.array_equal(after[plain], column):
            raise InputError(
                f"{source}: {plain!r} and 'curr.{plain}' differ, but both mean {plain!r} after a step: give only one."
            )
        if record == "prev" or plain in after:
            continue
        after[plain] = column
        if plain in action_names:
            continue
        if f"prev.{plain}" in given:
            before[plain] = given[f"prev.{plain}"]
        else:
            unknown_first.add(plain)
            before[plain] = np.concatenate((column[:1], column[:-1]))
            before[plain][first] = column[first]
    if not after:
        raise InputError(f"{source}: nothing to learn from: no field is known after a step.")
    if actions is not None:
        policy = _label_policies(policy, episode, actions.reshape(len(episode), -1), idle)
    return Transitions(
        before=before,
        after=after,
        actions=actions,
        episode=episode,
        policy=policy,
        terminated=terminated,
        truncated=truncated & ~terminated,  # as in a ledger: where a step is both, the first holds
        declared={name: each for name, each in (declared or {}).items() if name in after},
        source=source,
        unknown_first=frozenset(unknown_first),
        integer=frozenset(name for name, column in after.items() if _is_integer(column)),
        action_names=tuple(name for name in action_names if name in after),
        paid=paid,
    )


def _label_policies(policy: NDArray[np.str_], episode: NDArray[np.int64], actions: Column, idle: Any) -> Column:
    _, starts, codes, lengths = np.unique(episode, return_index=True, return_inverse=True, return_counts=True)
    changed = np.bincount(codes, (actions != actions[starts[codes]]).any(1)) > 0
    constant = ~changed & (lengths > 1)
    policy = np.where(constant[codes] & (policy == "recorded"), "constant", policy)
    if idle is None:
        return policy
    idled = ~changed & (actions[starts] == np.ravel(idle)).all(1)
    return np.where(idled[codes], "idle", policy)


def _is_integer(column: Column) -> bool:
    return column.dtype.kind == "f" and bool((np.isfinite(column) & (column == np.round(column))).all())


def find_idle(actions: Column | None) -> Any:
    """Return the action that does nothing, where that is clear: False, or 0 of numbers that are not all integers.

    Integers may number choices, of which none is known to do nothing.
    """
    if actions is None or actions.dtype.kind not in "bf" or _is_integer(actions):
        return None
    return np.zeros(actions.shape[1:], actions.dtype)
