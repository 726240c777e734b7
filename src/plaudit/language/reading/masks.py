"""What a mask of data picks, `v[v > 0]`: computed entry by entry, and written back under the same mask.

How many entries it picks depends on the data, and every value that is read has a known shape. So each place of the mask
is computed, under the condition that the mask is true there: where it is false, nothing can make the row bad.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import prod

from plaudit.language.reading.context import Context
from plaudit.language.reading.values import Constant, Picked, Ref, Value, list_parts
from plaudit.language.reading.vectors import (
    COUNTED,
    WRITE_BACK,
    ShapeProblem,
    build_array,
    find_shape,
    holds_flags,
    list_entries,
    map_entries,
)
from plaudit.language.shapes import Shape


def is_mask(value: object) -> bool:
    """Return whether an index is an array of bools of which some depend on the data."""
    if not isinstance(value, Value) or list_parts(value) is None or not holds_flags(value):
        return False
    return any(isinstance(entry, Ref) for entry in list_entries(value))


def pick_rows(value: Value, mask: Value) -> Picked:
    """Return what a mask picks of an array, along the axes that the mask has."""
    shape, own = find_shape(value), find_shape(mask)
    if shape[: len(own)] != own:
        advice = "A mask has the shape of the array, or of its first axes. To choose by other axes, use np.where."
        raise ShapeProblem(f"a mask of the shape {own} does not fit an array of the shape {shape}.", advice)
    entries, step = list_entries(value), prod(shape[len(own) :])
    rows = [build_array(entries[at * step : (at + 1) * step], shape[len(own) :]) for at in range(prod(own))]
    return Picked(tuple(rows), tuple(list_entries(mask)))


def find_row_shape(picked: Picked) -> Shape:
    """Return the shape of each row that a mask picks."""
    return find_shape(picked.rows[0])


def map_rows(context: Context, function: Callable[[Value], Value], picked: Picked) -> Picked:
    """Return a function of each row, computed only where the mask is true."""
    return _map_rows(context, function, [picked.rows], picked.mask)


def map_picked(context: Context, function: Callable[..., Value], *values: Value) -> Picked:
    """Return a function of scalars applied entry by entry to what one mask picks, and to what fits each of its rows."""
    several = [value for value in values if isinstance(value, Picked)]
    if any(each.mask != several[0].mask for each in several):
        raise ShapeProblem("these entries were picked by different masks.", "Pick all with one mask: v[m] * w[m].")
    ranks = {len(find_row_shape(each)) for each in several}
    if len(ranks) > 1:
        raise ShapeProblem("these entries differ in their number of axes.", "Add an axis: v[m][:, None] * w[m].")
    count, rank = len(several[0].mask), ranks.pop()
    columns = [each.rows if isinstance(each, Picked) else (_fit_rows(each, rank),) * count for each in values]
    return _map_rows(context, lambda *row: map_entries(function, *row), columns, several[0].mask)


def _map_rows(
    context: Context, function: Callable[..., Value], columns: Sequence[Sequence[Value]], mask: tuple[Value, ...]
) -> Picked:
    found = []
    for flag, *row in zip(mask, *columns, strict=True):
        with _reaching(context, flag):
            found.append(function(*row))
    return Picked(tuple(found), mask)


@contextmanager
def _reaching(context: Context, flag: Value) -> Iterator[None]:
    """Read what follows as happening only where an entry of a mask is true."""
    if isinstance(flag, Constant) and flag.value:
        yield
        return
    with context.under(flag.at if isinstance(flag, Ref) else context.builder.const(False)):
        yield


def _fit_rows(value: Value, rank: int) -> Value:
    """Return an array as it meets each row that a mask picks: it has no axis of its own for them."""
    shape = find_shape(value)
    if len(shape) <= rank:
        return value
    if len(shape) == rank + 1 and shape[0] == 1:
        return build_array(list_entries(value), shape[1:])
    raise ShapeProblem(f"an array of the shape {shape} does not fit what a mask picks: {COUNTED}", PICK_BOTH)


PICK_BOTH = f"Pick its entries with the same mask, v[m] * w[m]. {WRITE_BACK}"
