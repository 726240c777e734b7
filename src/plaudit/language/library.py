"""What the functions of array libraries mean: each is read as operations on entries, in row-major order."""

import ast
import operator
from abc import ABC
from collections.abc import Callable, Mapping
from functools import partial, reduce
from math import inf, prod
from typing import Any

from plaudit.language import nodes as n
from plaudit.language.field import to_number
from plaudit.language.kinds import FLAG, NUMBER
from plaudit.language.loops import LoopReader
from plaudit.language.reader import Constant, Ref, Value, Vector, describe
from plaudit.language.vectors import (
    build_array,
    find_open,
    find_shape,
    has_items,
    join_arrays,
    list_entries,
    normalise_axis,
    reduce_axis,
    reshape,
    stack_arrays,
    to_array,
    transpose,
    validate_shape,
)

FOLDS: Mapping[type[n.Binary], Callable[[Any, Any], Any]] = {
    n.Add: operator.add,
    n.Mul: operator.mul,
    n.Min: min,
    n.Max: max,
}
"""What reduces constants, from left to right."""


class LibraryReader(LoopReader, ABC):
    """Reads what the functions of array libraries mean; each takes the place of the call, then its arguments."""

    def cast(self, node: ast.AST, x: Value) -> Value:
        """Return a value as numbers: bools count 1 and 0."""
        return self.spread(partial(self.cast_entry, node), x, node=node)

    def cast_entry(self, node: ast.AST, x: Value) -> Value:
        """Return one value as a number."""
        number = to_number(x.value) if isinstance(x, Constant) else None
        if number is not None:
            return Constant(float(number))
        return Ref(self.reader.add_number(x, node, self.source), NUMBER)

    def map_node(self, kind: type[n.Node], node: ast.AST, **operands: Value) -> Value:
        """Return a function of one or two numbers, entry by entry."""
        return self.spread(partial(self.apply_function, kind, node), *operands.values(), node=node)

    def apply_function(self, kind: type[n.Node], node: ast.AST, *values: Value) -> Value:
        """Return a function of one or two numbers."""
        if (unknown := find_open(*values)) is not None:
            return unknown
        at = [self.reader.add_number(value, node, self.source) for value in values]
        if kind.partial:
            return self.reader.add_partial(kind(*at), node, self.source)
        return Ref(self.reader.add(kind(*at)), FLAG if kind.flag else NUMBER)

    def apply_operator(self, op: ast.operator, node: ast.AST, x: Value, y: Value) -> Value:
        """Return an operator that is written as a function, such as `np.add`."""
        left = self.fit(to_array, x, node=node)
        return self.apply_arithmetic(op, left, self.fit(to_array, y, node=node), node)

    def apply_comparison(self, op: ast.cmpop, node: ast.AST, x: Value, y: Value) -> Value:
        """Return a comparison that is written as a function, such as `np.greater`."""
        return self.spread(lambda left, right: self.compare(op, left, right, node), x, y, node=node)

    def apply_logic(self, op: ast.operator, node: ast.AST, x: Value, y: Value) -> Value:
        """Return `np.logical_and` and the like; a number means `!= 0`."""
        left, right = (self.spread(partial(self.to_flag, node), value, node=node) for value in (x, y))
        return self.apply_arithmetic(op, left, right, node)

    def to_flag(self, node: ast.AST, x: Value) -> Value:
        """Return a value as a bool."""
        truth = self.read_truth(x, node)
        return Constant(truth) if isinstance(truth, bool) else Ref(truth, FLAG)

    def negate(self, node: ast.AST, x: Value) -> Value:
        """Return `np.logical_not`."""
        return self.spread(lambda entry: self.apply_unary(ast.Not(), entry, node), x, node=node)

    def negative(self, node: ast.AST, x: Value) -> Value:
        """Return `-x`."""
        return self.spread(lambda entry: self.apply_unary(ast.USub(), entry, node), x, node=node)

    def square(self, node: ast.AST, x: Value) -> Value:
        """Return `x * x`."""
        return self.apply_operator(ast.Mult(), node, x, x)

    def scale(self, factor: float, node: ast.AST, x: Value) -> Value:
        """Return `x` times a constant."""
        return self.apply_operator(ast.Mult(), node, x, Constant(factor))

    def choose(self, node: ast.AST, condition: Value, x: Value, y: Value) -> Value:
        """Return `np.where`: both sides are computed, and one is taken."""

        def pick(test: Value, then: Value, otherwise: Value) -> Value:
            truth = self.read_truth(test, node)
            if isinstance(truth, bool):
                return then if truth else otherwise
            return self.join(truth, then, otherwise, node)

        return self.spread(pick, condition, x, y, node=node)

    def clip(self, node: ast.AST, x: Value, low: Value | None = None, high: Value | None = None) -> Value:
        """Return `min(max(x, low), high)`; either bound may be left out."""
        if low is None and high is None:
            raise self.error(node, "a bound is needed.", "Write np.clip(x, 0.0, 1.0).")
        x = x if low is None else self.extreme(n.Max, node, x, low)
        return x if high is None else self.extreme(n.Min, node, x, high)

    def extreme(self, kind: type[n.Binary], node: ast.AST, x: Value, y: Value) -> Value:
        """Return the smaller or larger of two, entry by entry."""
        return self.spread(lambda left, right: self.fold(kind, [left, right], node), x, y, node=node)

    def fold(self, kind: type[n.Binary], values: list[Value], node: ast.AST) -> Value:
        """Return the sum, product, minimum or maximum of values, from left to right."""
        if not values:
            raise self.error(node, "the vector is empty.")
        known = [to_number(value.value) for value in values if isinstance(value, Constant)]
        if len(known) == len(values) and None not in known:
            return self.read_constant(reduce(FOLDS[kind], known), node)
        numbers = [self.reader.add_number(value, node, self.source) for value in values]
        return Ref(reduce(lambda left, right: self.reader.add(kind(left, right)), numbers), NUMBER)

    def reduce(
        self,
        function: Callable[["LibraryReader", list[Value], ast.AST], Value],
        node: ast.AST,
        x: Value,
        axis: Value | None = None,
        keepdims: Value | None = None,
    ) -> Value:
        """Return a reduction of all entries, or along an axis."""
        number = axis.value if isinstance(axis, Constant) else axis
        if keepdims is not None and not isinstance(keepdims, Constant):
            raise self.error(node, "keepdims= is a constant.", "Write keepdims=True.")
        keep = keepdims is not None and bool(keepdims.value)
        return self.fit(partial(reduce_axis, keepdims=keep), x, number, lambda e: function(self, e, node), node=node)

    def reduce_by(self, kind: type[n.Binary], node: ast.AST, **arguments: Any) -> Value:
        """Return `np.sum`, `np.prod`, `np.min` or `np.max`."""
        return self.reduce(lambda own, entries, place: own.fold(kind, entries, place), node, **arguments)

    def reduce_flags(self, conjunction: bool, node: ast.AST, **arguments: Any) -> Value:
        """Return `np.all` or `np.any`."""

        def join_flags(own: "LibraryReader", entries: list[Value], place: ast.AST) -> Value:
            return own.chain(conjunction, [partial(own.read_truth, entry, place) for entry in entries])

        return self.reduce(join_flags, node, **arguments)

    def reduce_torch(self, kind: type[n.Binary], node: ast.AST, x: Value, y: Value | None = None) -> Value:
        """Return `torch.min` or `torch.max`: of all entries, or of two arrays entry by entry."""
        if y is None:
            return self.reduce_by(kind, node, x=x)
        if isinstance(y, Constant):
            name = kind.__name__.lower()
            advice = f"Write torch.a{name}(v, dim=0); of two arrays, torch.{name}imum(a, b)."
            raise self.error(node, f"torch.{name} along an axis gives positions as well.", advice)
        return self.extreme(kind, node, x, y)

    def average(self, node: ast.AST, **arguments: Any) -> Value:
        """Return `np.mean`."""
        return self.reduce(LibraryReader.mean, node, **arguments)

    def mean(self, entries: list[Value], node: ast.AST) -> Value:
        """Return the sum divided by the count."""
        return self.apply_arithmetic(ast.Div(), self.fold(n.Add, entries, node), Constant(len(entries)), node)

    def norm(
        self,
        node: ast.AST,
        x: Value,
        order: Value | None = None,
        axis: Value | None = None,
        keepdims: Value | None = None,
    ) -> Value:
        """Return the square root of the sum of squares; of order 1 the sum of magnitudes, of `inf` the largest."""
        known = order.value if isinstance(order, Constant) else order
        known = to_number(known) if to_number(known) is not None else known
        matrix = axis is None and len(self.fit(find_shape, x, node=node)) > 1
        if known not in (None, 1, 2, inf, "fro") or (matrix and known in (1, 2, inf)):
            advice = "Write np.linalg.norm(v), with ord=1, 2 or np.inf for a vector."
            raise self.error(node, "this norm is not read.", advice)
        if known in (1, inf):
            kind = n.Add if known == 1 else n.Max
            return self.reduce_by(kind, node, x=self.map_node(n.Abs, node, x=x), axis=axis, keepdims=keepdims)
        sums = self.reduce_by(n.Add, node, x=self.square(node, x), axis=axis, keepdims=keepdims)
        return self.map_node(n.Sqrt, node, x=sums)

    def dot(self, node: ast.AST, x: Value, y: Value) -> Value:
        """Return a sum of products; of a number, the product."""
        if has_items(x) and has_items(y):
            return self.multiply_matrices(x, y, node)
        return self.apply_operator(ast.Mult(), node, x, y)

    def inner(self, node: ast.AST, x: Value, y: Value) -> Value:
        """Return the sum of the products of two vectors."""
        shapes = [self.fit(find_shape, value, node=node) for value in (x, y)]
        if any(len(shape) != 1 for shape in shapes):
            what = f"an inner product is of two vectors, and these have the shapes {shapes[0]} and {shapes[1]}."
            raise self.error(node, what, "Of matrices write a @ b, or np.sum(a * b).")
        return self.multiply_matrices(x, y, node)

    def cross(self, node: ast.AST, x: Value, y: Value, axis: Value | None = None) -> Value:
        """Return the cross product of two vectors of three."""
        shapes = [self.fit(find_shape, value, node=node) for value in (x, y)]
        if shapes != [(3,), (3,)]:
            raise self.error(
                node, f"a cross product is of two vectors of 3, and these are {shapes[0]} and {shapes[1]}."
            )
        a, b = list_entries(x), list_entries(y)
        times, minus = partial(self.apply_arithmetic, ast.Mult()), partial(self.apply_arithmetic, ast.Sub())
        pairs = ((1, 2), (2, 0), (0, 1))
        return build_array([minus(times(a[i], b[j], node), times(a[j], b[i], node), node) for i, j in pairs], (3,))

    def sigmoid(self, node: ast.AST, x: Value) -> Value:
        """Return `exp(min(x, 0)) / (1 + exp(-abs(x)))`, which is the logistic function and never overflows."""
        top = self.map_node(n.Exp, node, x=self.extreme(n.Min, node, x, Constant(0.0)))
        falling = self.map_node(n.Exp, node, x=self.negative(node, self.map_node(n.Abs, node, x=x)))
        below = self.apply_operator(ast.Add(), node, Constant(1.0), falling)
        return self.apply_operator(ast.Div(), node, top, below)

    def differ(self, node: ast.AST, x: Value) -> Value:
        """Return `np.diff`: each entry less the one before it."""
        if len(self.fit(find_shape, x, node=node)) != 1:
            raise self.error(node, "the differences of a vector are read.", "Of a matrix write m[1:] - m[:-1].")
        rows = list_entries(x)
        return self.apply_operator(ast.Sub(), node, Vector(tuple(rows[1:])), Vector(tuple(rows[:-1])))

    def make_array(self, node: ast.AST, x: Value) -> Value:
        """Return `np.array`."""
        return self.fit(to_array, x, node=node)

    def join_arrays(self, node: ast.AST, x: Value, axis: Value | None = None) -> Value:
        """Return `np.concatenate`."""
        return self.fit(join_arrays, self.list_items(x, node), self.find_axis(axis, node), node=node)

    def stack_arrays(self, node: ast.AST, x: Value, axis: Value | None = None) -> Value:
        """Return `np.stack`."""
        return self.fit(stack_arrays, self.list_items(x, node), self.find_axis(axis, node), node=node)

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
        return build_array([value] * prod(sizes), sizes)

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
        return self.spread(lambda _: fill_value, x, node=node)

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

    def hand_back(self, node: ast.AST, x: Value) -> Value:
        """Return the value as it is."""
        return x
