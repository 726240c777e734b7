"""What functions of array libraries mean that make arrays, or give one another shape."""

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import prod

from plaudit.language.reading.comprehensions import list_range
from plaudit.language.reading.context import Context, X, spells
from plaudit.language.reading.dtypes import FLOAT, cast_dtype, cast_integers, find_dtype, fit_entry
from plaudit.language.reading.entrywise import apply_operator, cast_entry, choose, to_flag
from plaudit.language.reading.expressions import fit, limit_entries, list_integers, list_items, spread
from plaudit.language.reading.instances import is_written_for
from plaudit.language.reading.values import Constant, Ref, Value, Vector, describe, has_items, is_array
from plaudit.language.reading.vectors import (
    broadcast_shapes,
    build_array,
    find_shape,
    grow_axes,
    holds_flags,
    insert_axis,
    join_arrays,
    join_as_columns,
    join_columns,
    join_layers,
    join_rows,
    list_entries,
    normalise_axis,
    permute_axes,
    remove_axes,
    reshape,
    stack_arrays,
    stretch,
    to_array,
    transpose,
    validate_shape,
)


@spells("diff", f"{X} times?|n axis?|dim|axis")
def _differ(context: Context, node: ast.AST, x: Value, times: Value | None = None, axis: Value | None = None) -> Value:
    """Return `np.diff`: each entry less the one before it, along the last axis where none is given."""
    rank = len(fit(context, find_shape, x, node=node))
    known = -1 if axis is None else _find_axis(context, node, axis)
    along = fit(context, normalise_axis, known, rank, node=node)
    order = [along, *(at for at in range(rank) if at != along)]
    rows = list_items(context, fit(context, permute_axes, x, order, node=node), node)
    for _ in range(1 if times is None else _validate_count(context, node, list_integers(context, [times], node)[0])):
        pairs = zip(rows[1:], rows[:-1], strict=True)
        rows = [apply_operator(context, node, ast.Sub(), after, before) for after, before in pairs]
    if not rows:
        raise context.error(node, "there is no pair of entries to subtract.", "The axis needs more entries.")
    back = [order.index(at) for at in range(rank)]
    return fit(context, permute_axes, Vector(tuple(rows), array=True), back, node=node)


@spells("asarray as_tensor", f"{X} dtype?")
@spells("from_numpy", X)
def _make_array(context: Context, node: ast.AST, x: Value) -> Value:
    return fit(context, to_array, x, node=node)


@spells("Tensor FloatTensor DoubleTensor")
def _make_tensor(context: Context, node: ast.AST, x: Value) -> Value:
    """Return `torch.Tensor([...])`, of floats; of a number it makes so many entries that nothing has set."""
    if not has_items(x):
        raise context.error(node, "this makes a tensor of a size, with any entries.", "Write torch.tensor([x]).")
    return spread(context, partial(cast_entry, context, node), fit(context, to_array, x, node=node), node=node)


@spells("array tensor", f"{X} dtype?")
@spells("copy clone")
@spells("astype", f"{X} dtype")
def _copy_array(context: Context, node: ast.AST, x: Value) -> Value:
    """Return `np.array`, whose entries are its own."""
    return spread(context, lambda entry: replace(entry) if isinstance(entry, Ref | Constant) else entry, x, node=node)


@spells(".int", dtype="int32")
@spells(".long", dtype="int64")
def _cast_integers(context: Context, node: ast.AST, x: Value, dtype: str) -> Value:
    return cast_integers(context, dtype, x, node)


@spells(".bool")
def _cast_flags(context: Context, node: ast.AST, x: Value) -> Value:
    return spread(context, partial(to_flag, context, node), x, node=node)


@spells("float double float32 float64")
def _cast_floats(context: Context, node: ast.AST, x: Value) -> Value:
    """Return bools as 1 and 0; what is a float already may be the same array, as in PyTorch."""
    return cast_dtype(context, FLOAT, x, node)


@spells("unsqueeze expand_dims", f"{X} axis|dim")
def _add_axis(context: Context, node: ast.AST, x: Value, axis: Value) -> Value:
    rank = len(fit(context, find_shape, x, node=node)) + 1
    at = fit(context, normalise_axis, _find_axis(context, node, axis), rank, node=node)
    return fit(context, insert_axis, x, at, node=node)


@spells("squeeze", f"{X} axis?|dim|axis")
def _drop_axis(context: Context, node: ast.AST, x: Value, axis: Value | None = None) -> Value:
    return fit(context, remove_axes, x, None if axis is None else _find_axis(context, node, axis), node=node)


@spells("concatenate cat concat", f"{X} axis?|dim|axis")
def _concatenate(context: Context, node: ast.AST, x: Value, axis: Value | None = None) -> Value:
    joined = fit(context, join_arrays, list_items(context, x, node), _find_axis(context, node, axis), node=node)
    return _copy_array(context, node, joined)


@spells("hstack", joins=join_columns)
@spells("vstack", joins=join_rows)
@spells("dstack", joins=join_layers)
@spells("column_stack", joins=join_as_columns)
def _join(context: Context, node: ast.AST, x: Value, joins: Callable[[list[Value]], Value]) -> Value:
    return _copy_array(context, node, fit(context, joins, list_items(context, x, node), node=node))


@spells("stack", f"{X} axis?|dim|axis")
def _stack(context: Context, node: ast.AST, x: Value, axis: Value | None = None) -> Value:
    stacked = fit(context, stack_arrays, list_items(context, x, node), _find_axis(context, node, axis), node=node)
    return _copy_array(context, node, stacked)


@spells("tile", f"{X} sizes|reps|dims")
def _tile(context: Context, node: ast.AST, x: Value, sizes: Value) -> Value:
    """Return an array repeated as a whole, along each axis."""
    times = _find_sizes(context, node, sizes if has_items(sizes) else Vector((sizes,)))
    rank = max(len(times), len(fit(context, find_shape, x, node=node)))
    tiled = fit(context, grow_axes, x, rank, node=node)
    for axis, count in enumerate((1,) * (rank - len(times)) + times):
        tiled = fit(context, join_arrays, [tiled] * _validate_count(context, node, count), axis, node=node)
    return _copy_array(context, node, tiled)


@spells("repeat repeat_interleave", f"{X} count|repeats axis?|dim|axis")
def _repeat(context: Context, node: ast.AST, x: Value, count: Value, axis: Value | None = None) -> Value:
    """Return an array with each entry repeated, or each row along an axis."""
    times = _validate_count(context, node, list_integers(context, [count], node)[0])
    shape = fit(context, find_shape, x, node=node)
    if axis is None:
        _find_axis(context, node, axis)
        entries = [entry for entry in list_entries(x) for _ in range(times)]
        return _copy_array(
            context, node, build_array(entries, fit(context, validate_shape, (len(entries),), node=node))
        )
    at = fit(context, normalise_axis, _find_axis(context, node, axis), len(shape), node=node)
    copies = fit(context, stack_arrays, [x] * times, at + 1, node=node)
    whole = fit(context, reshape, copies, (*shape[:at], shape[at] * times, *shape[at + 1 :]), node=node)
    return _copy_array(context, node, whole)


@spells(".tile", f"{X} *counts")
def _tile_tensor(context: Context, node: ast.AST, x: Value, counts: Value) -> Value:
    return _tile(context, node, x, Vector(tuple(map(Constant, _find_sizes(context, node, counts)))))


@spells(".repeat", f"{X} *counts axis?")
def _repeat_method(context: Context, node: ast.AST, x: Value, counts: Value, axis: Value | None = None) -> Value:
    """Return `v.repeat(...)`, where the arguments or the function say whether it is PyTorch's or NumPy's."""
    given = list_items(context, counts, node)
    if axis is not None and len(given) == 1:
        return _repeat(context, node, x, given[0], axis)  # PyTorch has no axis there
    shape, sizes = fit(context, find_shape, x, node=node), _find_sizes(context, node, counts)
    if not is_written_for(context, "torch") and _may_be_numpy(shape, sizes, several=len(given) > 1):
        advice = "It is np.tile in PyTorch and np.repeat in NumPy: write one of them. Shapes broadcast without either."
        raise context.error(node, "what the method `.repeat()` repeats depends on the library.", advice)
    if len(sizes) < len(shape):
        advice = "Write one for each axis: x.repeat(1, 2)."
        raise context.error(node, f"{sizes} is less than a count for each of {len(shape)} axes.", advice)
    return _tile_tensor(context, node, x, counts)


def _may_be_numpy(shape: Sequence[int], sizes: Sequence[int], several: bool) -> bool:
    """Return whether NumPy takes these arguments of `.repeat`: a count and an axis, or a count for each entry."""
    if several:
        return len(sizes) == 2 and -len(shape) <= sizes[1] < len(shape)
    return len(sizes) in (1, prod(shape))


def _validate_count(context: Context, node: ast.AST, count: int) -> int:
    if count < 1:
        raise context.error(node, f"{count} copies of an array cannot be read.", "Repeat it at least once.")
    limit_entries(context, [], node, count)
    return count


def _find_axis(context: Context, node: ast.AST, axis: Value | None) -> int:
    """Return a constant axis; the first one where none is given."""
    for keyword in node.keywords if isinstance(node, ast.Call) and axis is None else ():
        if keyword.arg in ("axis", "dim"):
            raise context.error(node, "`axis=None` cannot be read here.", "Flatten each array: v.flatten().")
    return 0 if axis is None else list_integers(context, [axis], node)[0]


def _find_sizes(context: Context, node: ast.AST, shape: Value) -> tuple[int, ...]:
    """Return a constant shape, given as integers or as one tuple of them."""
    parts = list_items(context, shape, node)
    parts = list_items(context, parts[0], node) if len(parts) == 1 and has_items(parts[0]) else parts
    return tuple(list_integers(context, parts, node))


@spells("full", "shape|size value|fill_value dtype?")
@spells("zeros", "*shape dtype?", value=Constant(0.0))
@spells("ones", "*shape dtype?", value=Constant(1.0))
def _fill_with(context: Context, node: ast.AST, shape: Value, value: Value) -> Value:
    sizes = _find_sizes(context, node, shape if has_items(shape) else Vector((shape,)))
    if any(size < 0 for size in sizes):
        raise context.error(node, f"{sizes} is not a shape.")
    _refuse_array(context, node, value)
    fit(context, validate_shape, sizes, node=node)
    return _copy_array(context, node, build_array([value] * prod(sizes), sizes))


def _refuse_array(context: Context, node: ast.AST, value: Value) -> None:
    if has_items(value):
        advice = "Write np.stack([v, v]), or np.zeros((2, 3)) + v."
        raise context.error(node, f"an array can only be filled with one value, and this is {describe(value)}.", advice)


@spells("full_like", f"{X} fill_value dtype?")
@spells("zeros_like", f"{X} dtype?", fill_value=Constant(0.0))
@spells("ones_like", f"{X} dtype?", fill_value=Constant(1.0))
def _fill_shape(context: Context, node: ast.AST, x: Value, fill_value: Value) -> Value:
    _refuse_array(context, node, fill_value)
    if not context.batch:  # there, what is not declared has a value for each row, as a constant counts for each
        fit(context, find_shape, x, node=node)
    filled = fit_entry(context, find_dtype(context, list_entries(x)), fill_value, node)
    return _copy_array(context, node, spread(context, lambda _: filled, x, node=node))


@spells("masked_fill", f"{X} mask value")
def _fill_where(context: Context, node: ast.AST, x: Value, mask: Value, value: Value) -> Value:
    """Return an array with one value where a mask is true."""
    _refuse_array(context, node, value)
    if not holds_flags(mask):
        raise context.error(node, "a mask holds bools.", "Write x.masked_fill(v > 0, 0.0).")
    return choose(context, node, mask, fit_entry(context, find_dtype(context, list_entries(x)), value, node), x)


@spells("arange", "*numbers dtype?")
def _count_up(context: Context, node: ast.Call, numbers: Value) -> Value:
    return Vector(tuple(list_range(context, list_items(context, numbers, node), node)), array=True)


@spells(".expand", f"{X} *shape")
@spells("broadcast_to", f"{X} *shape")
def _stretch(context: Context, node: ast.AST, x: Value, shape: Value) -> Value:
    """Return an array repeated along axes of size 1; -1 is the size that an axis has."""
    own, sizes = fit(context, find_shape, x, node=node), _find_sizes(context, node, shape)
    behind = len(sizes) - len(own)
    wanted = tuple(own[at - behind] if size == -1 and at >= behind else size for at, size in enumerate(sizes))
    if -1 in wanted or fit(context, broadcast_shapes, [own, wanted], node=node) != wanted:
        raise context.error(
            node, f"an array of the shape {own} cannot be expanded to {sizes}.", "Only an axis of size 1 can."
        )
    return fit(context, stretch, x, wanted, node=node)


@spells(".expand_as", f"{X} other")
def _stretch_like(context: Context, node: ast.AST, x: Value, other: Value) -> Value:
    sizes = fit(context, find_shape, other, node=node)
    return _stretch(context, node, x, Vector(tuple(Constant(size) for size in sizes)))


@spells("reshape view", f"{X} *shape")
def _change_shape(context: Context, node: ast.AST, x: Value, shape: Value) -> Value:
    return fit(context, reshape, x, _find_sizes(context, node, shape), node=node)


@spells("ravel flatten")
def _flatten(context: Context, node: ast.AST, x: Value) -> Value:
    return fit(context, reshape, x, (-1,), node=node)


@spells("transpose permute", f"{X} *axes")
@spells("t")
def _turn(context: Context, node: ast.AST, x: Value, axes: Value | None = None) -> Value:
    """Return an array with its axes in another order; of two numbers, PyTorch swaps those axes."""
    order = [] if axes is None else _find_sizes(context, node, axes)
    if not order:
        return fit(context, transpose, x, node=node)
    rank = len(fit(context, find_shape, x, node=node))
    known = [fit(context, normalise_axis, axis, rank, node=node) for axis in order]
    if len(known) == 2 and rank > 2:
        return _swap(context, node, x, known)
    if known == [0, 1]:
        what = "this is the array itself in NumPy, and turned around in PyTorch."
        raise context.error(node, what, "Write m.T for the latter, and drop the call otherwise.")
    return fit(context, permute_axes, x, known, node=node)


@spells("swapaxes swapdims", f"{X} axis1|axis0|dim0 axis2|axis1|dim1")
def _swap_axes(context: Context, node: ast.AST, x: Value, axis1: Value, axis2: Value) -> Value:
    rank = len(fit(context, find_shape, x, node=node))
    axes = list_integers(context, [axis1, axis2], node)
    return _swap(context, node, x, [fit(context, normalise_axis, axis, rank, node=node) for axis in axes])


def _swap(context: Context, node: ast.AST, x: Value, axes: list[int]) -> Value:
    order = list(range(len(fit(context, find_shape, x, node=node))))
    order[axes[0]], order[axes[1]] = axes[1], axes[0]
    return fit(context, permute_axes, x, order, node=node)


@spells("shape")
@spells(".size", f"{X} axis?|dim|axis")
def _find_sizes_of(context: Context, node: ast.AST, x: Value, axis: Value | None = None) -> Value:
    """Return `np.shape`, or the size of one axis."""
    shape = fit(context, find_shape, x, node=node)
    if axis is None:
        return Constant(shape)
    return Constant(shape[fit(context, normalise_axis, _find_axis(context, node, axis), len(shape), node=node)])


@spells("size numel")
def _count_entries(context: Context, node: ast.AST, x: Value) -> Value:
    return Constant(prod(fit(context, find_shape, x, node=node)))


@spells("tolist")
def _make_list(context: Context, node: ast.AST, x: Value) -> Value:
    return Vector(tuple(list_items(context, x, node))) if has_items(x) or is_array(x) else x


@spells("to type", f"{X} dtype")
@spells("nan_to_num", f"{X} nan? posinf? neginf?")
@spells("detach contiguous item cpu cuda numpy")
def _hand_back(context: Context, node: ast.AST, x: Value, **ignored: Value) -> Value:
    return x
