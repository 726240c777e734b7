"""Shapes of values while a function is read: entries in row-major order, broadcasting, axes.

A matrix is a `Vector` of `Vector`s, row by row. Nothing here computes: an operation on arrays is written out as
operations on their entries, in row-major order.
"""

from collections.abc import Callable, Sequence
from itertools import zip_longest
from math import prod
from typing import Any

from plaudit.language.kinds import FLAG
from plaudit.language.reading.values import Picked, Record, Value, Vector, build_vector, find_kind, list_parts
from plaudit.language.shapes import MOST_AXES, MOST_ENTRIES, Shape

BATCH = "A term sees one row, so there is no batch axis"
COUNTED = "how many entries a mask picks depends on the data."
WRITE_BACK = "Write them back under the same mask, r[m] = 2 * v[m], or keep all of them: np.where(m, v, 0.0)."
BATCHED = "If the whole function was written for a batch, use @term(batched=True)."


class ShapeProblem(ValueError):
    """Shapes that do not fit: what is wrong, and what to do about it."""

    def __init__(self, what: str, advice: str = "", *, of: Value | None = None) -> None:
        super().__init__(what, advice)
        self.what, self.advice = what, advice
        self.of = of  # what has no shape


def find_shape(value: Value) -> Shape:
    """Return the sizes of the axes; ShapeProblem where rows differ, where it is too large, or not declared."""
    if isinstance(value, Picked):
        raise ShapeProblem(COUNTED, WRITE_BACK)
    if isinstance(value, Record):
        raise ShapeProblem("its shape is not known.", of=value)
    parts = list_parts(value)
    if parts is None:
        return ()
    if not parts:
        return (0,)
    shapes = [find_shape(part) for part in parts]
    if len(set(shapes)) > 1:
        other = next(shape for shape in shapes if shape != shapes[0])
        raise ShapeProblem(
            f"its rows differ in shape: {shapes[0]} and {other}.", "Every row must have the same number of entries."
        )
    return validate_shape((len(parts), *shapes[0]))


def validate_shape(shape: Shape) -> Shape:
    """Return a shape; ShapeProblem where it has too many axes or entries."""
    if len(shape) > MOST_AXES + 1:  # one of them may be that of a batch
        raise ShapeProblem(f"the shape {shape} has more than {MOST_AXES + 1} axes.", "Compute it before scoring.")
    if prod(shape) > MOST_ENTRIES:
        advice = "Compute features of it before scoring and pass them in as fields."
        raise ShapeProblem(f"the shape {shape} has more than {MOST_ENTRIES:,} entries.", advice)
    return shape


def list_entries(value: Value) -> list[Value]:
    """Return the entries in row-major order; a scalar is its own one entry."""
    parts = value.rows if isinstance(value, Picked) else list_parts(value)
    return [value] if parts is None else [entry for part in parts for entry in list_entries(part)]


def holds_flags(value: Value) -> bool:
    """Return whether every entry is a bool; an array without entries is one of floats."""
    entries = list_entries(value)
    return bool(entries) and all(find_kind(entry) == FLAG for entry in entries)


def build_array(entries: Sequence[Value], shape: Shape) -> Value:
    """Return an array of a shape from its entries in row-major order; a scalar where the shape is empty."""
    if 0 in shape[:-1]:
        raise ShapeProblem(f"an array of shape {shape} has no rows.", "Leave it out: its sum is 0.")
    return build_vector(entries, shape) if shape else entries[0]


def to_array(value: Value) -> Value:
    """Return a value as an array; a scalar as it is, and so what a mask picks."""
    return value if isinstance(value, Picked) else build_array(list_entries(value), find_shape(value))


def broadcast_shapes(shapes: Sequence[Shape]) -> Shape:
    """Return the shape that operands take together, by NumPy's rule; ShapeProblem where they do not fit.

    >>> broadcast_shapes([(4, 3), (3,), ()])
    (4, 3)
    """
    found = []
    for sizes in zip_longest(*(reversed(shape) for shape in shapes), fillvalue=1):
        wanted = {size for size in sizes if size != 1}
        if len(wanted) > 1:
            shown = " and ".join(str(shape) for shape in dict.fromkeys(shapes) if shape)
            advice = "Shapes fit if they are equal, or if one is a row of the other."
            raise ShapeProblem(f"the shapes {shown} do not fit.", advice)
        found.append(wanted.pop() if wanted else 1)
    return validate_shape(tuple(reversed(found)))


def map_entries(function: Callable[..., Value], *values: Value) -> Value:
    """Return a function of scalars applied entry by entry, the shapes brought together."""
    shapes = [find_shape(value) for value in values]
    shape = broadcast_shapes(shapes)
    columns = [_stretch(list_entries(value), own, shape) for value, own in zip(values, shapes, strict=True)]
    return build_array([function(*row) for row in zip(*columns, strict=True)], shape)


def stretch(value: Value, shape: Shape) -> Value:
    """Return an array repeated along axes of size 1 so that it has a larger shape."""
    return build_array(_stretch(list_entries(value), find_shape(value), validate_shape(shape)), shape)


def _stretch(entries: list[Value], own: Shape, shape: Shape) -> list[Value]:
    """Return entries repeated so that they have a larger shape."""
    own = (1,) * (len(shape) - len(own)) + own
    found = [0]  # the positions of entries, axis by axis
    for size, wanted in zip(own, shape, strict=True):
        found = [at * size + (step if size > 1 else 0) for at in found for step in range(wanted)]
    return [entries[at] for at in found]


def normalise_axis(axis: object, rank: int) -> int:
    """Return an axis counted from the first; ShapeProblem where there is none."""
    if isinstance(axis, bool) or not isinstance(axis, int):
        raise ShapeProblem("an axis must be a constant integer.", "Reduce one axis at a time.")
    if not -rank <= axis < rank:
        kind = f"{rank} {'axis' if rank == 1 else 'axes'}" if rank else "no axes"
        raise ShapeProblem(
            f"there is no axis {axis}: this has {kind}.", f"{BATCH}: drop the axis, or write -1. {BATCHED}"
        )
    return axis % rank


def reduce_axis(
    value: Value, axis: object, function: Callable[[list[Value]], Value], *, keepdims: bool = False
) -> Value:
    """Return a reduction along an axis, or of all entries where `axis` is None."""
    shape, entries = find_shape(value), list_entries(value)
    if axis is None:
        return build_array([function(entries)], (1,) * len(shape) if keepdims else ())
    along = normalise_axis(axis, len(shape))
    step = prod(shape[along + 1 :])
    outer = range(prod(shape[:along]))
    starts = (at * shape[along] * step + offset for at in outer for offset in range(step))
    found = [function([entries[start + k * step] for k in range(shape[along])]) for start in starts]
    return build_array(found, (*shape[:along], *((1,) if keepdims else ()), *shape[along + 1 :]))


def transpose(value: Value) -> Value:
    """Return the array with its axes reversed; only of a matrix do they change places."""
    shape = find_shape(value)
    if len(shape) < 2:
        return to_array(value)
    if len(shape) > 2:
        raise ShapeProblem(
            f"an array of shape {shape} cannot be transposed.", "Say in which order the axes are: x.swapaxes(1, 2)."
        )
    return permute_axes(value, (1, 0))


def permute_axes(value: Value, order: Sequence[int]) -> Value:
    """Return the array with its axes in another order."""
    shape, entries = find_shape(value), list_entries(value)
    if sorted(order) != list(range(len(shape))):
        raise ShapeProblem(f"{tuple(order)} is not an order of the axes of the shape {shape}.", "Name each axis once.")
    places = [0]
    for axis in order:
        step = prod(shape[axis + 1 :])
        places = [place + step * at for place in places for at in range(shape[axis])]
    return build_array([entries[place] for place in places], tuple(shape[axis] for axis in order))


def insert_axis(value: Value, at: int) -> Value:
    """Return the array with one more axis, of size 1."""
    shape = find_shape(value)
    return build_array(list_entries(value), validate_shape((*shape[:at], 1, *shape[at:])))


def remove_axes(value: Value, axis: object) -> Value:
    """Return the array without the axes of size 1, or without one of them."""
    shape = find_shape(value)
    along = None if axis is None else normalise_axis(axis, len(shape))
    kept = tuple(size for at, size in enumerate(shape) if size != 1 or (along is not None and at != along))
    return build_array(list_entries(value), kept)


def reshape(value: Value, shape: Sequence[Any]) -> Value:
    """Return the array with its entries in another shape; one size may be -1."""
    own, entries = find_shape(value), list_entries(value)
    sizes = list(shape)
    if not all(type(size) is int and size >= -1 for size in sizes) or sizes.count(-1) > 1:
        raise ShapeProblem(f"{tuple(sizes)} is not a shape.", "Write constant integers: v.reshape(4, 3).")
    if -1 in sizes:
        others = -prod(sizes)
        sizes[sizes.index(-1)] = len(entries) // others if others else 0
    if prod(sizes) != len(entries):
        raise ShapeProblem(f"the shapes {own} and {tuple(shape)} have different numbers of entries.")
    return build_array(entries, validate_shape(tuple(sizes)))


def join_arrays(values: Sequence[Value], axis: object) -> Value:
    """Return arrays put one after the other along an axis."""
    shapes = [find_shape(value) for value in values]
    if not values or not all(shapes):
        what = "only arrays can be joined, and one of these is a number." if values else "there is nothing to join."
        raise ShapeProblem(what, "Write np.array([a, b])." if values else "Join at least one array.")
    along = normalise_axis(axis, len(shapes[0]))
    others = {shape[:along] + shape[along + 1 :] for shape in shapes if len(shape) == len(shapes[0])}
    if len(others) > 1 or len({len(shape) for shape in shapes}) > 1:
        shown = " and ".join(map(str, dict.fromkeys(shapes)))
        advice = f"Only axis {along} may differ, along which they are joined. To stack them, give all the same shape."
        raise ShapeProblem(f"arrays of the shapes {shown} cannot be joined along axis {along}.", advice)
    result = _join_along([to_array(value) for value in values], along)
    find_shape(result)
    return result


def join_columns(values: Sequence[Value]) -> Value:
    """Return what `np.hstack` gives: vectors and numbers end to end, the columns of matrices next to each other."""
    arrays = [grow_axes(value, 1) for value in values]
    return join_arrays(arrays, 0 if not arrays or len(find_shape(arrays[0])) == 1 else 1)


def join_rows(values: Sequence[Value]) -> Value:
    """Return what `np.vstack` gives: vectors as rows, and the rows of matrices below each other."""
    return join_arrays([grow_axes(value, 2) for value in values], 0)


def join_as_columns(values: Sequence[Value]) -> Value:
    """Return what `np.column_stack` gives: vectors as columns, next to the columns of matrices."""
    return join_arrays([grow_axes(value, 2, behind=len(find_shape(value)) == 1) for value in values], 1)


def join_layers(values: Sequence[Value]) -> Value:
    """Return what `np.dstack` gives: arrays joined along a third axis."""
    return join_arrays([grow_axes(grow_axes(value, 2), 3, behind=True) for value in values], 2)


def grow_axes(value: Value, rank: int, *, behind: bool = False) -> Value:
    """Return an array with at least so many axes: of size 1 before its own ones, or behind them."""
    shape = find_shape(value)
    added = (1,) * (rank - len(shape))
    entries = list_entries(value)
    return build_vector(entries, validate_shape((*shape, *added) if behind else (*added, *shape)))


def _join_along(values: Sequence[Value], along: int) -> Vector:
    parts = [list_parts(value) or () for value in values]
    if along == 0:
        return Vector(tuple(part for found in parts for part in found), array=True)
    return Vector(tuple(_join_along(row, along - 1) for row in zip(*parts, strict=True)), array=True)


def stack_arrays(values: Sequence[Value], axis: object) -> Value:
    """Return arrays of one shape as the rows, or along another new axis, of an array."""
    stacked = to_array(Vector(tuple(values)))
    along = normalise_axis(axis, len(find_shape(stacked)))
    for step in range(along):  # move the new axis inwards
        stacked = _swap_axes(stacked, step)
    return stacked


def _swap_axes(value: Value, at: int) -> Value:
    if at == 0:
        rows = [list_parts(row) or () for row in list_parts(value) or ()]
        return Vector(tuple(Vector(column, array=True) for column in zip(*rows, strict=True)), array=True)
    return Vector(tuple(_swap_axes(part, at - 1) for part in list_parts(value) or ()), array=True)
