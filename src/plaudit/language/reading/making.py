"""What functions of array libraries mean that make arrays, or give one another shape."""

import ast
from abc import ABC
from dataclasses import replace
from math import prod

from plaudit.language.reading.reductions import ReductionReader
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


class MakingReader(ReductionReader, ABC):
    """Reads what makes arrays; each takes the place of the call, then its arguments."""

    def differ(self, node: ast.AST, x: Value) -> Value:
        """Return `np.diff`: each entry less the one before it."""
        if len(self.fit(find_shape, x, node=node)) != 1:
            raise self.error(node, "the differences of a vector are read.", "Of a matrix write m[1:] - m[:-1].")
        rows = list_entries(x)
        return self.apply_operator(ast.Sub(), node, Vector(tuple(rows[1:])), Vector(tuple(rows[:-1])))

    def make_array(self, node: ast.AST, x: Value) -> Value:
        """Return `np.asarray`."""
        return self.fit(to_array, x, node=node)

    def copy_array(self, node: ast.AST, x: Value) -> Value:
        """Return `np.array`, whose entries are its own."""
        return self.spread(lambda entry: replace(entry) if isinstance(entry, Ref | Constant) else entry, x, node=node)

    def add_axis(self, node: ast.AST, x: Value, axis: Value) -> Value:
        """Return `np.expand_dims`, or `unsqueeze`."""
        rank = len(self.fit(find_shape, x, node=node)) + 1
        return self.fit(
            insert_axis, x, self.fit(normalise_axis, self.find_axis(axis, node), rank, node=node), node=node
        )

    def drop_axis(self, node: ast.AST, x: Value, axis: Value | None = None) -> Value:
        """Return `np.squeeze`."""
        return self.fit(remove_axes, x, None if axis is None else self.find_axis(axis, node), node=node)

    def join_arrays(self, node: ast.AST, x: Value, axis: Value | None = None) -> Value:
        """Return `np.concatenate`."""
        joined = self.fit(join_arrays, self.list_items(x, node), self.find_axis(axis, node), node=node)
        return self.copy_array(node, joined)

    def stack_arrays(self, node: ast.AST, x: Value, axis: Value | None = None) -> Value:
        """Return `np.stack`."""
        stacked = self.fit(stack_arrays, self.list_items(x, node), self.find_axis(axis, node), node=node)
        return self.copy_array(node, stacked)

    def find_axis(self, axis: Value | None, node: ast.AST) -> int:
        """Return a constant axis; the first one where none is given."""
        return 0 if axis is None else self.list_integers([axis], node)[0]

    def find_sizes(self, shape: Value, node: ast.AST) -> tuple[int, ...]:
        """Return a constant shape, given as integers or as one tuple of them."""
        parts = self.list_items(shape, node)
        parts = self.list_items(parts[0], node) if len(parts) == 1 and has_items(parts[0]) else parts
        return tuple(self.list_integers(parts, node))

    def fill(self, value: float, node: ast.AST, shape: Value) -> Value:
        """Return `np.zeros` or `np.ones` of a constant shape."""
        return self.fill_with(node, shape, Constant(value))

    def fill_with(self, node: ast.AST, shape: Value, value: Value) -> Value:
        """Return `np.full`."""
        sizes = self.find_sizes(shape if has_items(shape) else Vector((shape,)), node)
        if any(size < 0 for size in sizes):
            raise self.error(node, f"{sizes} is not a shape.")
        self.refuse_array(value, node)
        self.fit(validate_shape, sizes, node=node)
        return self.copy_array(node, build_array([value] * prod(sizes), sizes))

    def refuse_array(self, value: Value, node: ast.AST) -> None:
        """Refuse an array where every entry is to be one value."""
        if has_items(value):
            advice = "Write np.stack([v, v]), or np.zeros((2, 3)) + v."
            raise self.error(node, f"an array is filled with one value, and this is {describe(value)}.", advice)

    def fill_like(self, value: float, node: ast.AST, x: Value) -> Value:
        """Return `np.zeros_like` or `np.ones_like`."""
        return self.fill_shape(node, x, Constant(value))

    def fill_shape(self, node: ast.AST, x: Value, fill_value: Value) -> Value:
        """Return `np.full_like`."""
        self.refuse_array(fill_value, node)
        return self.copy_array(node, self.spread(lambda _: fill_value, x, node=node))

    def count_up(self, node: ast.Call, numbers: Value) -> Value:
        """Return `np.arange` of constant integers."""
        return Vector(tuple(self.list_range(self.list_items(numbers, node), node)), array=True)

    def change_shape(self, node: ast.AST, x: Value, shape: Value) -> Value:
        """Return `np.reshape`."""
        return self.fit(reshape, x, self.find_sizes(shape, node), node=node)

    def flatten(self, node: ast.AST, x: Value) -> Value:
        """Return all entries as a vector."""
        return self.fit(reshape, x, (-1,), node=node)

    def turn(self, node: ast.AST, x: Value) -> Value:
        """Return `np.transpose`."""
        return self.fit(transpose, x, node=node)

    def find_sizes_of(self, node: ast.AST, x: Value, axis: Value | None = None) -> Value:
        """Return `np.shape`, or the size of one axis."""
        shape = self.fit(find_shape, x, node=node)
        return Constant(
            shape
            if axis is None
            else shape[self.fit(normalise_axis, self.find_axis(axis, node), len(shape), node=node)]
        )

    def count_entries(self, node: ast.AST, x: Value) -> Value:
        """Return `np.size`."""
        return Constant(len(list_entries(x)))

    def make_list(self, node: ast.AST, x: Value) -> Value:
        """Return `v.tolist()`."""
        return Vector(tuple(self.list_items(x, node))) if has_items(x) else x

    def hand_back(self, node: ast.AST, x: Value) -> Value:
        """Return the value as it is."""
        return x
