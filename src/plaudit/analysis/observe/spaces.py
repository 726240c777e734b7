"""Observations and actions as named numbers: which fields a space of Gymnasium has, and what it declares of them."""

import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from plaudit.analysis.observe.transitions import Column
from plaudit.errors import DefinitionError, shorten
from plaudit.language.field import RESERVED, Field

MOST_ENTRIES = 256
"""Entries of an observation that are fields; of more, features say what matters."""
_MOST_VALUES = 32
"""Choices that are listed one by one."""
_UNBOUNDED = 1e30
"""Bounds beyond this are a way to say that there are none."""


@dataclass(frozen=True)
class Leaf:
    """A part of an observation or an action, with the fields that its entries are."""

    names: tuple[str, ...]
    read: Callable[[Any], Any]
    fields: tuple[Field, ...]
    dtype: type
    """What its columns are made of: float, bool or str."""

    def allocate(self, rows: int) -> NDArray[Any]:
        """Return room for this many rows."""
        return np.empty((rows, len(self.names)), object if self.dtype is str else self.dtype)

    def split(self, rows: NDArray[Any]) -> dict[str, Column]:
        """Return rows as a column for each field."""
        return {name: rows[:, at].astype(self.dtype) for at, name in enumerate(self.names)}


def list_observation_leaves(space: spaces.Space[Any]) -> list[Leaf]:
    """Return the parts of an observation: `obs`, entries `obs_0`, …, and those of a Dict by their own names.

    Raises:
        DefinitionError: Some are not numbers, or there are far too many of them, as images have.
    """
    for part in _list_boxes(space):
        if len(part.shape) > 1:
            raise _explain(space, f"a part has {len(part.shape)} dimensions, like an image")
        if part.shape and part.shape[0] > MOST_ENTRIES:
            raise _explain(space, f"a part has {part.shape[0]:,} entries")
    leaves = list(_walk(space, "", "obs", lambda value: value))
    seen: set[str] = set()
    for each in (name for leaf in leaves for name in leaf.names):
        if each in seen:
            raise _explain(space, f"two parts would have the name {each!r}")
        seen.add(each)
    if len(seen) > MOST_ENTRIES:
        raise _explain(space, f"they have {len(seen):,} entries")
    return leaves


def list_action_leaves(space: spaces.Space[Any]) -> list[Leaf]:
    """Return the parts of an action: `action`, or its entries `action_0`, …."""
    return list(_walk(space, "", "action", lambda value: value))


def _list_boxes(space: spaces.Space[Any]) -> Iterator[spaces.Box]:
    match space:
        case spaces.Box():
            yield space
        case spaces.Dict():
            yield from (box for part in space.spaces.values() for box in _list_boxes(part))
        case spaces.Tuple():
            yield from (box for part in space.spaces for box in _list_boxes(part))


def _explain(space: spaces.Space[Any], why: str) -> DefinitionError:
    return DefinitionError(
        f"observations of {shorten(space, 80)} cannot be used as fields: {why}. Give features, a function of "
        "(obs, action, next_obs, info) that returns named values: features=, or --features FILE.py:NAME."
    )


def _walk(space: spaces.Space[Any], path: str, plain: str, read: Callable[[Any], Any]) -> Iterator[Leaf]:
    """Yield the leaves of a space; parts of a Dict are called by their key, of a Tuple by their place."""
    name = path or plain
    match space:
        case spaces.Dict():
            for key, part in space.spaces.items():
                inner = make_name(f"{path}_{key}" if path else str(key))
                yield from _walk(part, inner, plain, lambda value, key=key: read(value)[key])  # type: ignore[misc]
        case spaces.Tuple():
            for at, part in enumerate(space.spaces):
                yield from _walk(part, f"{name}_{at}", plain, lambda value, at=at: read(value)[at])  # type: ignore[misc]
        case spaces.Discrete():
            start, count = int(space.start), int(space.n)
            if count <= _MOST_VALUES:
                declared = Field(name, values=tuple(range(start, start + count)))
            else:
                declared = Field(name, low=start, high=start + count - 1)
            yield Leaf((name,), read, (declared,), float)
        case spaces.MultiBinary():
            names = _number(name, space.shape)
            yield Leaf(names, _flatten(read, space.shape), tuple(Field(each, flag=True) for each in names), bool)
        case spaces.MultiDiscrete():
            names, starts = _number(name, space.shape), np.ravel(space.start).tolist()
            ends = zip(names, starts, np.ravel(space.nvec).tolist(), strict=True)
            fields = tuple(Field(each, low=start, high=start + count - 1) for each, start, count in ends)
            yield Leaf(names, _flatten(read, space.shape), fields, float)
        case spaces.Box():
            yield _read_box(space, _number(name, space.shape), read)
        case spaces.Text():
            yield Leaf((name,), lambda value: [str(read(value))], (), str)
        case _:
            raise _explain(space, f"a part is a {type(space).__name__}")


def _read_box(space: spaces.Box, names: tuple[str, ...], read: Callable[[Any], Any]) -> Leaf:
    if space.dtype.kind == "b":
        return Leaf(names, _flatten(read, space.shape), tuple(Field(name, flag=True) for name in names), bool)
    bounds = [
        [None if abs(end) >= _UNBOUNDED else end for end in np.ravel(ends).astype(float).tolist()]
        for ends in (space.low, space.high)
    ]
    fields = (Field(name, low=low, high=high) for name, low, high in zip(names, *bounds, strict=True))
    return Leaf(names, _flatten(read, space.shape), tuple(fields), float)


def _number(name: str, shape: tuple[int, ...]) -> tuple[str, ...]:
    """Return the names of entries; a single one has the name itself.

    >>> _number("obs", (2,)), _number("obs", (1,))
    (('obs_0', 'obs_1'), ('obs',))
    """
    count = math.prod(shape)
    if count == 1:
        return (name,)
    return tuple("_".join([name, *map(str, np.unravel_index(at, shape))]) for at in range(count))


def _flatten(read: Callable[[Any], Any], shape: tuple[int, ...]) -> Callable[[Any], Any]:
    return read if len(shape) == 1 else lambda value: np.ravel(read(value))


def make_name(text: str) -> str:
    """Return the name of a field that stands for a key, which may be any string.

    >>> make_name("wheel speed"), make_name("2nd"), make_name("total")
    ('wheel_speed', '_2nd', 'total_')
    """
    name = re.sub(r"\W", "_", text, flags=re.ASCII) or "_"
    name = f"_{name}" if name[0].isdigit() else name
    return f"{name}_" if name in RESERVED else name


def list_declared(leaves: Iterable[Leaf]) -> dict[str, Field]:
    """Return what spaces declare of their fields, by name."""
    return {field.name: field for leaf in leaves for field in leaf.fields if field != Field(field.name)}
