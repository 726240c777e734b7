"""What functions of array libraries mean that make arrays, or give one another shape."""

import ast
from dataclasses import replace
from math import prod

from plaudit.language.reading.comprehensions import list_range
from plaudit.language.reading.context import Context
from plaudit.language.reading.entrywise import apply_operator
from plaudit.language.reading.operands import fit, list_integers, list_items, spread
from plaudit.language.reading.values import Constant, Ref, Value, Vector, describe
from plaudit.language.reading.vectors import (
    build_array,
    find_shape,
    has_items,
    insert_axis,
    join_arrays,
    list_entries,
    normalise_axis,
    remove_axes,
    reshape,
    stack_arrays,
    to_array,
    transpose,
    validate_shape,
)


def differ(context: Context, node: ast.AST, x: Value) -> Value:
    """Return `np.diff`: each entry less the one before it."""
    if len(fit(context, find_shape, x, node=node)) != 1:
        raise context.error(node, "the differences of a vector are read.", "Of a matrix write m[1:] - m[:-1].")
    rows = list_entries(x)
    return apply_operator(context, ast.Sub(), node, Vector(tuple(rows[1:])), Vector(tuple(rows[:-1])))


def make_array(context: Context, node: ast.AST, x: Value) -> Value:
    """Return `np.asarray`."""
    return fit(context, to_array, x, node=node)


def copy_array(context: Context, node: ast.AST, x: Value) -> Value:
    """Return `np.array`, whose entries are its own."""
    return spread(context, lambda entry: replace(entry) if isinstance(entry, Ref | Constant) else entry, x, node=node)


def add_axis(context: Context, node: ast.AST, x: Value, axis: Value) -> Value:
    """Return `np.expand_dims`, or `unsqueeze`."""
    rank = len(fit(context, find_shape, x, node=node)) + 1
    return fit(
        context,
        insert_axis,
        x,
        fit(context, normalise_axis, find_axis(context, axis, node), rank, node=node),
        node=node,
    )


def drop_axis(context: Context, node: ast.AST, x: Value, axis: Value | None = None) -> Value:
    """Return `np.squeeze`."""
    return fit(context, remove_axes, x, None if axis is None else find_axis(context, axis, node), node=node)


def concatenate(context: Context, node: ast.AST, x: Value, axis: Value | None = None) -> Value:
    """Return `np.concatenate`."""
    joined = fit(context, join_arrays, list_items(context, x, node), find_axis(context, axis, node), node=node)
    return copy_array(context, node, joined)


def stack(context: Context, node: ast.AST, x: Value, axis: Value | None = None) -> Value:
    """Return `np.stack`."""
    stacked = fit(context, stack_arrays, list_items(context, x, node), find_axis(context, axis, node), node=node)
    return copy_array(context, node, stacked)


def find_axis(context: Context, axis: Value | None, node: ast.AST) -> int:
    """Return a constant axis; the first one where none is given."""
    return 0 if axis is None else list_integers(context, [axis], node)[0]


def find_sizes(context: Context, shape: Value, node: ast.AST) -> tuple[int, ...]:
    """Return a constant shape, given as integers or as one tuple of them."""
    parts = list_items(context, shape, node)
    parts = list_items(context, parts[0], node) if len(parts) == 1 and has_items(parts[0]) else parts
    return tuple(list_integers(context, parts, node))


def fill(context: Context, value: float, node: ast.AST, shape: Value) -> Value:
    """Return `np.zeros` or `np.ones` of a constant shape."""
    return fill_with(context, node, shape, Constant(value))


def fill_with(context: Context, node: ast.AST, shape: Value, value: Value) -> Value:
    """Return `np.full`."""
    sizes = find_sizes(context, shape if has_items(shape) else Vector((shape,)), node)
    if any(size < 0 for size in sizes):
        raise context.error(node, f"{sizes} is not a shape.")
    refuse_array(context, value, node)
    fit(context, validate_shape, sizes, node=node)
    return copy_array(context, node, build_array([value] * prod(sizes), sizes))


def refuse_array(context: Context, value: Value, node: ast.AST) -> None:
    """Refuse an array where every entry is to be one value."""
    if has_items(value):
        advice = "Write np.stack([v, v]), or np.zeros((2, 3)) + v."
        raise context.error(node, f"an array is filled with one value, and this is {describe(value)}.", advice)


def fill_like(context: Context, value: float, node: ast.AST, x: Value) -> Value:
    """Return `np.zeros_like` or `np.ones_like`."""
    return fill_shape(context, node, x, Constant(value))


def fill_shape(context: Context, node: ast.AST, x: Value, fill_value: Value) -> Value:
    """Return `np.full_like`."""
    refuse_array(context, fill_value, node)
    return copy_array(context, node, spread(context, lambda _: fill_value, x, node=node))


def count_up(context: Context, node: ast.Call, numbers: Value) -> Value:
    """Return `np.arange` of constant integers."""
    return Vector(tuple(list_range(context, list_items(context, numbers, node), node)), array=True)


def change_shape(context: Context, node: ast.AST, x: Value, shape: Value) -> Value:
    """Return `np.reshape`."""
    return fit(context, reshape, x, find_sizes(context, shape, node), node=node)


def flatten(context: Context, node: ast.AST, x: Value) -> Value:
    """Return all entries as a vector."""
    return fit(context, reshape, x, (-1,), node=node)


def turn(context: Context, node: ast.AST, x: Value) -> Value:
    """Return `np.transpose`."""
    return fit(context, transpose, x, node=node)


def find_sizes_of(context: Context, node: ast.AST, x: Value, axis: Value | None = None) -> Value:
    """Return `np.shape`, or the size of one axis."""
    shape = fit(context, find_shape, x, node=node)
    return Constant(
        shape
        if axis is None
        else shape[fit(context, normalise_axis, find_axis(context, axis, node), len(shape), node=node)]
    )


def count_entries(context: Context, node: ast.AST, x: Value) -> Value:
    """Return `np.size`."""
    return Constant(len(list_entries(x)))


def make_list(context: Context, node: ast.AST, x: Value) -> Value:
    """Return `v.tolist()`."""
    return Vector(tuple(list_items(context, x, node))) if has_items(x) else x


def hand_back(context: Context, node: ast.AST, x: Value, **ignored: Value) -> Value:
    """Return the value as it is."""
    return x
