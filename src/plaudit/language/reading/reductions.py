"""What functions of array libraries mean that make fewer numbers of many: sums, means, norms, products."""

import ast
from collections.abc import Callable
from functools import partial
from math import inf
from typing import Any, cast

from plaudit.language import nodes as n
from plaudit.language.field import to_number
from plaudit.language.reading.arithmetic import apply_arithmetic, fold, multiply_matrices
from plaudit.language.reading.conditions import compare, join
from plaudit.language.reading.context import Context
from plaudit.language.reading.entrywise import (
    apply_comparison,
    apply_operator,
    cast_numbers,
    choose,
    extreme,
    is_close,
    map_node,
    square_entries,
    to_flag,
)
from plaudit.language.reading.operands import chain, fit, list_items, read_truth, spread
from plaudit.language.reading.values import Constant, Value, Vector
from plaudit.language.reading.vectors import build_array, find_shape, has_items, list_entries, reduce_axis


def reduce_array(
    context: Context,
    function: Callable[[list[Value]], Value],
    node: ast.AST,
    x: Value,
    axis: Value | None = None,
    keepdims: Value | None = None,
) -> Value:
    """Return a reduction of all entries, or along an axis."""
    number = axis.value if isinstance(axis, Constant) else axis
    if keepdims is not None and not isinstance(keepdims, Constant):
        raise context.error(node, "keepdims= is a constant.", "Write keepdims=True.")
    keep = keepdims is not None and bool(keepdims.value)
    return fit(context, partial(reduce_axis, keepdims=keep), x, number, function, node=node)


def reduce_by(context: Context, kind: type[n.Binary], node: ast.AST, **arguments: Any) -> Value:
    """Return `np.sum`, `np.prod`, `np.min` or `np.max`."""
    return reduce_array(context, lambda entries: fold(context, kind, entries, node), node, **arguments)


def reduce_flags(context: Context, conjunction: bool, node: ast.AST, **arguments: Any) -> Value:
    """Return `np.all` or `np.any`."""

    def join_flags(entries: list[Value]) -> Value:
        return chain(context, conjunction, [partial(read_truth, context, entry, node) for entry in entries])

    return reduce_array(context, join_flags, node, **arguments)


def reduce_torch(
    context: Context,
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
        values = reduce_by(context, kind, node, x=x, axis=along, keepdims=keepdims)
        return Vector((values, find_extreme(context, kind, node, x=x, axis=along, keepdims=keepdims)))
    return reduce_by(context, kind, node, x=x) if y is None else extreme(context, kind, node, x, y)


def reduce_method(
    context: Context, kind: type[n.Binary], node: ast.AST, dim: Value | None = None, **arguments: Any
) -> Value:
    """Return `v.min()` or `v.max()`; with `dim=`, which PyTorch alone has, values and positions."""
    if dim is None:
        return reduce_by(context, kind, node, **arguments)
    return reduce_torch(context, kind, node, **{**arguments, "axis": dim})


def find_extreme(context: Context, kind: type[n.Binary], node: ast.AST, **arguments: Any) -> Value:
    """Return `np.argmin` or `np.argmax`: the position of the first smallest or largest entry."""
    better = ast.Gt() if kind is n.Max else ast.Lt()

    def search(entries: list[Value]) -> Value:
        best, found = entries[0], cast(Value, Constant(0))
        for at, entry in enumerate(entries[1:], 1):
            flag = read_truth(context, compare(context, better, entry, best, node), node)
            if not isinstance(flag, bool):
                found = join(context, flag, Constant(at), found, node)
            elif flag:
                found = Constant(at)
            best = fold(context, kind, [best, entry], node)
        return found

    return reduce_array(context, search, node, **arguments)


def count_nonzero(context: Context, node: ast.AST, x: Value, **arguments: Any) -> Value:
    """Return `np.count_nonzero`."""
    flags = spread(context, partial(to_flag, context, node), x, node=node)
    return reduce_by(context, n.Add, node, x=cast_numbers(context, node, flags), **arguments)


def variance(
    context: Context, less: int, node: ast.AST, x: Value, ddof: Value | None = None, **arguments: Any
) -> Value:
    """Return the mean square of the differences from the mean; torch divides by one less than the count."""
    known = ddof.value if isinstance(ddof, Constant) else None
    known = less if known is None else int(known)  # type: ignore[call-overload]  # True of `unbiased=` is 1

    def spread_out(entries: list[Value]) -> Value:
        if len(entries) <= known:
            raise context.error(node, f"the spread of {len(entries)} entries is not known.")
        middle = mean(context, entries, node)
        off = [apply_arithmetic(context, ast.Sub(), entry, middle, node) for entry in entries]
        squares = fold(context, n.Add, [square_entries(context, node, each) for each in off], node)
        return apply_arithmetic(context, ast.Div(), squares, Constant(len(entries) - known), node)

    return reduce_array(context, spread_out, node, x, **arguments)


def deviation(context: Context, less: int, node: ast.AST, x: Value, **arguments: Any) -> Value:
    """Return the square root of the variance."""
    return map_node(context, n.Sqrt, node, x=variance(context, less, node, x, **arguments))


def all_close(context: Context, node: ast.AST, **arguments: Value) -> Value:
    """Return `np.allclose`."""
    return reduce_flags(context, True, node, x=is_close(context, node, **arguments))


def add_up(context: Context, node: ast.AST, x: Value, axis: Value | None = None) -> Value:
    """Return `np.cumsum` of a vector."""
    entries = list_items(context, x, node)
    return Vector(tuple(fold(context, n.Add, entries[: at + 1], node) for at in range(len(entries))), array=True)


def loss(context: Context, square: bool, node: ast.AST, x: Value, y: Value, reduction: Value | None = None) -> Value:
    """Return `F.mse_loss` or `F.l1_loss`."""
    off = apply_operator(context, ast.Sub(), node, x, y)
    each = square_entries(context, node, off) if square else map_node(context, n.Abs, node, x=off)
    return reduce_loss(context, each, reduction, node)


def smooth_loss(
    context: Context, node: ast.AST, x: Value, y: Value, beta: Value, reduction: Value | None = None
) -> Value:
    """Return `F.smooth_l1_loss`: half the square over `beta` near 0, a straight line from `beta` on."""
    off = map_node(context, n.Abs, node, x=apply_operator(context, ast.Sub(), node, x, y))
    half = apply_operator(context, ast.Mult(), node, Constant(0.5), beta)
    curve = apply_operator(context, ast.Mult(), node, Constant(0.5), square_entries(context, node, off))
    curve = apply_operator(context, ast.Div(), node, curve, beta)
    near = apply_comparison(context, ast.Lt(), node, off, beta)
    return reduce_loss(
        context,
        choose(context, node, near, curve, apply_operator(context, ast.Sub(), node, off, half)),
        reduction,
        node,
    )


def reduce_loss(context: Context, each: Value, reduction: Value | None, node: ast.AST) -> Value:
    """Return a loss of each entry as its `reduction=` says: their mean where nothing is said."""
    known = reduction.value if isinstance(reduction, Constant) else "mean"
    if known == "mean":
        return average(context, node, x=each)
    return reduce_by(context, n.Add, node, x=each) if known == "sum" else each


def similarity(context: Context, node: ast.AST, x: Value, y: Value, axis: Value, eps: Value) -> Value:
    """Return `F.cosine_similarity`."""
    top = reduce_by(context, n.Add, node, x=apply_operator(context, ast.Mult(), node, x, y), axis=axis)
    norms = [extreme(context, n.Max, node, norm(context, node, value, axis=axis), eps) for value in (x, y)]
    return apply_operator(context, ast.Div(), node, top, apply_operator(context, ast.Mult(), node, *norms))


def normalise(context: Context, node: ast.AST, x: Value, axis: Value, eps: Value, p: Value | None = None) -> Value:
    """Return `F.normalize`: a vector over its norm."""
    size = norm(context, node, x, order=p, axis=axis, keepdims=Constant(True))
    return apply_operator(context, ast.Div(), node, x, extreme(context, n.Max, node, size, eps))


def softmax(context: Context, node: ast.AST, x: Value, axis: Value | None = None) -> Value:
    """Return `exp(x) / sum(exp(x))`, less the largest entry first, so that nothing overflows."""
    top = reduce_by(context, n.Max, node, x=x, axis=axis, keepdims=Constant(True))
    powers = map_node(context, n.Exp, node, x=apply_operator(context, ast.Sub(), node, x, top))
    total = reduce_by(context, n.Add, node, x=powers, axis=axis, keepdims=Constant(True))
    return apply_operator(context, ast.Div(), node, powers, total)


def distance(context: Context, node: ast.AST, x: Value, y: Value) -> Value:
    """Return `math.dist`."""
    return norm(context, node, apply_operator(context, ast.Sub(), node, x, y))


def average(context: Context, node: ast.AST, **arguments: Any) -> Value:
    """Return `np.mean`."""
    return reduce_array(context, lambda entries: mean(context, entries, node), node, **arguments)


def mean(context: Context, entries: list[Value], node: ast.AST) -> Value:
    """Return the sum divided by the count."""
    return apply_arithmetic(context, ast.Div(), fold(context, n.Add, entries, node), Constant(len(entries)), node)


def norm(
    context: Context,
    node: ast.AST,
    x: Value,
    order: Value | None = None,
    axis: Value | None = None,
    keepdims: Value | None = None,
) -> Value:
    """Return the square root of the sum of squares; of order 1 the sum of magnitudes, of `inf` the largest."""
    known = order.value if isinstance(order, Constant) else order
    known = to_number(known) if to_number(known) is not None else known
    matrix = axis is None and len(fit(context, find_shape, x, node=node)) > 1
    if known not in (None, 1, 2, inf, "fro") or (matrix and known in (1, 2, inf)):
        advice = "Write np.linalg.norm(v), with ord=1, 2 or np.inf for a vector."
        raise context.error(node, "this norm is not read.", advice)
    if known in (1, inf):
        kind = n.Add if known == 1 else n.Max
        return reduce_by(context, kind, node, x=map_node(context, n.Abs, node, x=x), axis=axis, keepdims=keepdims)
    sums = reduce_by(context, n.Add, node, x=square_entries(context, node, x), axis=axis, keepdims=keepdims)
    return map_node(context, n.Sqrt, node, x=sums)


def dot(context: Context, node: ast.AST, x: Value, y: Value) -> Value:
    """Return a sum of products; of a number, the product."""
    if has_items(x) and has_items(y):
        return multiply_matrices(context, x, y, node)
    return apply_operator(context, ast.Mult(), node, x, y)


def inner(context: Context, node: ast.AST, x: Value, y: Value) -> Value:
    """Return the sum of the products of two vectors."""
    shapes = [fit(context, find_shape, value, node=node) for value in (x, y)]
    if any(len(shape) != 1 for shape in shapes):
        what = f"an inner product is of two vectors, and these have the shapes {shapes[0]} and {shapes[1]}."
        raise context.error(node, what, "Of matrices write a @ b, or np.sum(a * b).")
    return multiply_matrices(context, x, y, node)


def cross(context: Context, node: ast.AST, x: Value, y: Value, axis: Value | None = None) -> Value:
    """Return the cross product of two vectors of three."""
    shapes = [fit(context, find_shape, value, node=node) for value in (x, y)]
    if shapes != [(3,), (3,)]:
        raise context.error(node, f"a cross product is of two vectors of 3, and these are {shapes[0]} and {shapes[1]}.")
    a, b = list_entries(x), list_entries(y)
    times, minus = partial(apply_arithmetic, context, ast.Mult()), partial(apply_arithmetic, context, ast.Sub())
    pairs = ((1, 2), (2, 0), (0, 1))
    return build_array([minus(times(a[i], b[j], node), times(a[j], b[i], node), node) for i, j in pairs], (3,))
