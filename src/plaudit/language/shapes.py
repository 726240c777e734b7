"""Shapes of fields and parameters: how many entries there are, what each is called, and nested lists of them."""

from collections.abc import Callable, Mapping, Sequence, Set
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any

from plaudit.errors import ShapeMismatch

MOST_ENTRIES = 4_096
"""How many entries a field or a parameter has at most."""
MOST_AXES = 3

Shape = tuple[int, ...]

_VARIES = "; a list whose length varies cannot be a field: pass a flag or a count that is computed before scoring"


def find_shape_problem(shape: object) -> str:
    """Return what is wrong with a declared shape; an empty string where nothing is.

    >>> find_shape_problem((4, 3)), find_shape_problem(())
    ('', '')
    >>> find_shape_problem((4, 0)).partition(";")[0]
    'shape=(4, 0) must be a tuple of one to 3 integers from 1 on, such as (4, 3)'
    """
    if not isinstance(shape, tuple) or not all(type(size) is int and size >= 1 for size in shape):
        shown = repr(shape)
        shown = shown if len(shown) <= 60 else f"{shown[:60]}…"
        empty = _VARIES if isinstance(shape, tuple) and 0 in shape else ""
        return f"shape={shown} must be a tuple of one to {MOST_AXES} integers from 1 on, such as (4, 3){empty}"
    if len(shape) > MOST_AXES:
        return f"a shape of {len(shape)} axes; at most {MOST_AXES} can be read"
    if any(size > MOST_ENTRIES for size in shape) or prod(shape) > MOST_ENTRIES:
        return f"shape={shape} has more than {MOST_ENTRIES:,} entries; compute features of it before scoring"
    return ""


@lru_cache(maxsize=256)
def list_entries(shape: Shape) -> tuple[str, ...]:
    """Return what follows the name of each entry, in row-major order; nothing for a single value.

    >>> list_entries((3,)), list_entries((2, 2)), list_entries(())
    (('[0]', '[1]', '[2]'), ('[0][0]', '[0][1]', '[1][0]', '[1][1]'), ())
    """
    if not shape:
        return ()
    return tuple("".join(f"[{at}]" for at in index) for index in product(*map(range, shape)))


@lru_cache(maxsize=256)
def index_entries(shape: Shape) -> Mapping[str, int]:
    """Return the position of each entry, in row-major order, by what follows its name."""
    return {entry: at for at, entry in enumerate(list_entries(shape))}


def nest_entries(values: Sequence[Any], shape: Shape, make: Callable[[list[Any]], Any] = list) -> Any:
    """Return values in row-major order as nested lists, or as what `make` makes of a list.

    >>> nest_entries([1, 2, 3, 4, 5, 6], (2, 3))
    [[1, 2, 3], [4, 5, 6]]
    >>> nest_entries([], (2, 0))
    [[], []]
    """
    for axis in range(len(shape) - 1, 0, -1):
        size = shape[axis]
        values = [make(list(values[at * size : (at + 1) * size])) for at in range(prod(shape[:axis]))]
    return make(list(values))


def flatten_entries(value: Any, shape: Shape) -> list[Any]:
    """Return the entries of nested lists, tuples or arrays in row-major order; ShapeMismatch for any other shape.

    >>> flatten_entries([[1, 2], [3, 4]], (2, 2))
    [1, 2, 3, 4]
    """
    level = [value]
    for size in shape:
        found: list[Any] = []
        for part in level:
            if not _is_vector(part) or len(part) != size:
                raise ShapeMismatch(f"{_format_wanted(shape)} needed, {_describe_shape(value, shape)} given.")
            found += [part[at] for at in range(size)]
        level = found
    return level


def infer_shape(value: Any) -> Shape:
    """Return the shape of nested lists, tuples or arrays, by the first entry of each.

    >>> infer_shape([[1, 2, 3], [4, 5, 6]]), infer_shape(2.5)
    ((2, 3), ())
    """
    shape: Shape = ()
    while _is_vector(value) and len(shape) <= MOST_AXES:
        shape += (len(value),)
        value = value[0] if len(value) else None
    return shape


def _is_vector(value: Any) -> bool:
    """Return whether a value has entries: a list, a tuple, an array of one axis or more, and no string or mapping."""
    if isinstance(value, str | bytes | Mapping | Set) or not hasattr(value, "__getitem__"):
        return False
    return hasattr(value, "__len__") and getattr(value, "ndim", 1) != 0


def _format_wanted(shape: Shape) -> str:
    return f"{shape[0]} values are" if len(shape) == 1 else f"values of the shape {shape} are"


def _describe_shape(value: Any, shape: Shape) -> str:
    found = infer_shape(value)
    if not found:
        return f"a {type(value).__name__}"
    if len(shape) == 1 and len(found) == 1:
        return f"{found[0]} values"
    return f"{found} with rows that differ" if found == shape else f"the shape {found}"
