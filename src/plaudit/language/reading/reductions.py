"""What functions of array libraries mean that make fewer numbers of many: sums, means, norms, products."""

import ast
import operator
from abc import ABC
from collections.abc import Callable, Mapping
from functools import partial, reduce
from math import inf
from typing import Any, cast

from plaudit.language import nodes as n
from plaudit.language.field import to_number
from plaudit.language.kinds import NUMBER
from plaudit.language.reading.library import EntrywiseReader
from plaudit.language.reading.values import Constant, Ref, Value, Vector
from plaudit.language.reading.vectors import build_array, find_shape, has_items, list_entries, reduce_axis

FOLDS: Mapping[type[n.Binary], Callable[[Any, Any], Any]] = {
    n.Add: operator.add,
    n.Mul: operator.mul,
    n.Min: min,
    n.Max: max,
}
"""What reduces constants, from left to right."""


class ReductionReader(EntrywiseReader, ABC):
    """Reads reductions and products; each takes the place of the call, then its arguments."""

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
        function: Callable[["ReductionReader", list[Value], ast.AST], Value],
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

        def join_flags(own: "ReductionReader", entries: list[Value], place: ast.AST) -> Value:
            return own.chain(conjunction, [partial(own.read_truth, entry, place) for entry in entries])

        return self.reduce(join_flags, node, **arguments)

    def reduce_torch(
        self,
        kind: type[n.Binary],
        node: ast.AST,
        x: Value,
        y: Value | None = None,
        axis: Value | None = None,
        keepdims: Value | None = None,
    ) -> Value:
        """Return `torch.min` or `torch.max`: of all entries, of two arrays, or values and positions along an axis."""
        along = y if isinstance(y, Constant) else axis
        if along is not None:
            values = self.reduce_by(kind, node, x=x, axis=along, keepdims=keepdims)
            return Vector((values, self.find_extreme(kind, node, x=x, axis=along, keepdims=keepdims)))
        return self.reduce_by(kind, node, x=x) if y is None else self.extreme(kind, node, x, y)

    def reduce_method(self, kind: type[n.Binary], node: ast.AST, dim: Value | None = None, **arguments: Any) -> Value:
        """Return `v.min()` or `v.max()`; with `dim=`, which PyTorch alone has, values and positions."""
        if dim is None:
            return self.reduce_by(kind, node, **arguments)
        return self.reduce_torch(kind, node, **{**arguments, "axis": dim})

    def find_extreme(self, kind: type[n.Binary], node: ast.AST, **arguments: Any) -> Value:
        """Return `np.argmin` or `np.argmax`: the position of the first smallest or largest entry."""
        better = ast.Gt() if kind is n.Max else ast.Lt()

        def search(own: "ReductionReader", entries: list[Value], place: ast.AST) -> Value:
            best, found = entries[0], cast(Value, Constant(0))
            for at, entry in enumerate(entries[1:], 1):
                flag = own.read_truth(own.compare(better, entry, best, place), place)
                if not isinstance(flag, bool):
                    found = own.join(flag, Constant(at), found, place)
                elif flag:
                    found = Constant(at)
                best = own.fold(kind, [best, entry], place)
            return found

        return self.reduce(search, node, **arguments)

    def count(self, node: ast.AST, x: Value, **arguments: Any) -> Value:
        """Return `np.count_nonzero`."""
        flags = self.spread(partial(self.to_flag, node), x, node=node)
        return self.reduce_by(n.Add, node, x=self.cast(node, flags), **arguments)

    def variance(self, less: int, node: ast.AST, x: Value, ddof: Value | None = None, **arguments: Any) -> Value:
        """Return the mean square of the differences from the mean; torch divides by one less than the count."""
        known = ddof.value if isinstance(ddof, Constant) else None
        known = less if known is None else int(known)  # type: ignore[call-overload]  # True of `unbiased=` is 1

        def spread_out(own: "ReductionReader", entries: list[Value], place: ast.AST) -> Value:
            if len(entries) <= known:
                raise own.error(place, f"the spread of {len(entries)} entries is not known.")
            middle = own.mean(entries, place)
            off = [own.apply_arithmetic(ast.Sub(), entry, middle, place) for entry in entries]
            squares = own.fold(n.Add, [own.square(place, each) for each in off], place)
            return own.apply_arithmetic(ast.Div(), squares, Constant(len(entries) - known), place)

        return self.reduce(spread_out, node, x, **arguments)

    def deviation(self, less: int, node: ast.AST, x: Value, **arguments: Any) -> Value:
        """Return the square root of the variance."""
        return self.map_node(n.Sqrt, node, x=self.variance(less, node, x, **arguments))

    def add_up(self, node: ast.AST, x: Value) -> Value:
        """Return `np.cumsum` of a vector."""
        entries = self.list_items(x, node)
        return Vector(tuple(self.fold(n.Add, entries[: at + 1], node) for at in range(len(entries))), array=True)

    def loss(self, square: bool, node: ast.AST, x: Value, y: Value, reduction: Value | None = None) -> Value:
        """Return `F.mse_loss` or `F.l1_loss`."""
        off = self.apply_operator(ast.Sub(), node, x, y)
        each = self.square(node, off) if square else self.map_node(n.Abs, node, x=off)
        return self.reduce_loss(each, reduction, node)

    def smooth_loss(self, node: ast.AST, x: Value, y: Value, beta: Value, reduction: Value | None = None) -> Value:
        """Return `F.smooth_l1_loss`: half the square over `beta` near 0, a straight line from `beta` on."""
        off = self.map_node(n.Abs, node, x=self.apply_operator(ast.Sub(), node, x, y))
        half = self.apply_operator(ast.Mult(), node, Constant(0.5), beta)
        curve = self.apply_operator(ast.Mult(), node, Constant(0.5), self.square(node, off))
        curve = self.apply_operator(ast.Div(), node, curve, beta)
        near = self.apply_comparison(ast.Lt(), node, off, beta)
        return self.reduce_loss(
            self.choose(node, near, curve, self.apply_operator(ast.Sub(), node, off, half)), reduction, node
        )

    def reduce_loss(self, each: Value, reduction: Value | None, node: ast.AST) -> Value:
        """Return a loss of each entry as its `reduction=` says: their mean where nothing is said."""
        known = reduction.value if isinstance(reduction, Constant) else "mean"
        if known == "mean":
            return self.average(node, x=each)
        return self.reduce_by(n.Add, node, x=each) if known == "sum" else each

    def similarity(self, node: ast.AST, x: Value, y: Value, axis: Value, eps: Value) -> Value:
        """Return `F.cosine_similarity`."""
        top = self.reduce_by(n.Add, node, x=self.apply_operator(ast.Mult(), node, x, y), axis=axis)
        norms = [self.extreme(n.Max, node, self.norm(node, value, axis=axis), eps) for value in (x, y)]
        return self.apply_operator(ast.Div(), node, top, self.apply_operator(ast.Mult(), node, *norms))

    def normalise(self, node: ast.AST, x: Value, axis: Value, eps: Value, p: Value | None = None) -> Value:
        """Return `F.normalize`: a vector over its norm."""
        size = self.norm(node, x, order=p, axis=axis, keepdims=Constant(True))
        return self.apply_operator(ast.Div(), node, x, self.extreme(n.Max, node, size, eps))

    def softmax(self, node: ast.AST, x: Value, axis: Value | None = None) -> Value:
        """Return `exp(x) / sum(exp(x))`, less the largest entry first, so that nothing overflows."""
        top = self.reduce_by(n.Max, node, x=x, axis=axis, keepdims=Constant(True))
        powers = self.map_node(n.Exp, node, x=self.apply_operator(ast.Sub(), node, x, top))
        total = self.reduce_by(n.Add, node, x=powers, axis=axis, keepdims=Constant(True))
        return self.apply_operator(ast.Div(), node, powers, total)

    def distance(self, node: ast.AST, x: Value, y: Value) -> Value:
        """Return `math.dist`."""
        return self.norm(node, self.apply_operator(ast.Sub(), node, x, y))

    def average(self, node: ast.AST, **arguments: Any) -> Value:
        """Return `np.mean`."""
        return self.reduce(ReductionReader.mean, node, **arguments)

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
