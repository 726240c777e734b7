"""What functions of array libraries mean that make fewer numbers of many: sums, means, norms, products."""

import ast
from collections.abc import Callable
from functools import partial
from math import inf, prod
from typing import Any, cast

from plaudit.language import nodes as n
from plaudit.language.field import to_number
from plaudit.language.reading.arithmetic import apply_arithmetic, fold
from plaudit.language.reading.conditions import compare, join
from plaudit.language.reading.context import ALONG, X_Y, Context, X, spells
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
from plaudit.language.reading.expressions import add_flag, chain, fit, list_integers, list_items, read_truth, spread
from plaudit.language.reading.masks import find_row_shape, map_rows
from plaudit.language.reading.values import Constant, Picked, Value, Vector, has_items
from plaudit.language.reading.vectors import (
    COUNTED,
    WRITE_BACK,
    build_array,
    find_shape,
    list_entries,
    normalise_axis,
    permute_axes,
    reduce_axis,
    reshape,
)


def _reduce_array(
    context: Context,
    function: Callable[[list[Value]], Value],
    node: ast.AST,
    x: Value,
    axis: Value | None = None,
    keepdims: Value | None = None,
    *,
    over: Callable[[list[Value], list[Value]], Value] | None = None,
) -> Value:
    """Return a reduction along an axis; `over` says what it gives of entries that count only where flags are true."""
    number = axis.value if isinstance(axis, Constant) else axis
    if keepdims is not None and not isinstance(keepdims, Constant):
        raise context.error(node, "keepdims= must be a constant.", "Write keepdims=True.")
    keep = keepdims is not None and bool(keepdims.value)
    if isinstance(number, tuple) or has_items(axis or Constant(0)):
        return _reduce_axes(context, function, node, x, list_items(context, cast(Value, axis), node), keep)
    if isinstance(x, Picked):
        return _reduce_picked(context, function, over, x, number, keep, node)
    return fit(context, partial(reduce_axis, keepdims=keep), x, number, function, node=node)


def _reduce_axes(
    context: Context, function: Callable[[list[Value]], Value], node: ast.AST, x: Value, axes: list[Value], keep: bool
) -> Value:
    """Return a reduction along several axes at once, `x.sum((1, 2))`."""
    shape = fit(context, find_shape, x, node=node)
    gone = [fit(context, normalise_axis, at, len(shape), node=node) for at in list_integers(context, axes, node)]
    kept = [at for at in range(len(shape)) if at not in gone]
    turned = fit(context, permute_axes, x, [*kept, *gone], node=node)
    size = prod(shape[at] for at in gone)
    flat = fit(context, reshape, turned, [*(shape[at] for at in kept), size], node=node)
    found = fit(context, reduce_axis, flat, -1, function, node=node)
    sizes = [1 if at in gone else size for at, size in enumerate(shape)]
    return fit(context, reshape, found, sizes, node=node) if keep else found


def _reduce_picked(
    context: Context,
    function: Callable[[list[Value]], Value],
    over: Callable[[list[Value], list[Value]], Value] | None,
    picked: Picked,
    axis: object,
    keep: bool,
    node: ast.AST,
) -> Value:
    """Return a reduction of what a mask picks: of each row, or of all rows where the mask is true."""
    shape = fit(context, find_row_shape, picked, node=node)
    along = 0 if axis is None else fit(context, normalise_axis, axis, len(shape) + 1, node=node)
    if along:
        return fit(
            context,
            map_rows,
            context,
            lambda row: reduce_axis(row, along - 1, function, keepdims=keep),
            picked,
            node=node,
        )
    if over is None:
        raise context.error(node, COUNTED, WRITE_BACK)
    rows = [list_entries(row) for row in picked.rows]
    if axis is None:
        flags = [flag for flag, row in zip(picked.mask, rows, strict=True) for _ in row]
        return build_array(
            [over(flags, [entry for row in rows for entry in row])], (1,) * (len(shape) + 1) if keep else ()
        )
    found = [over(list(picked.mask), list(column)) for column in zip(*rows, strict=True)]
    return build_array(found, ((1,) if keep else ()) + shape)


@spells("sum", f"{X} {ALONG} dtype?", kind=n.Add)
@spells("prod", f"{X} {ALONG} dtype?", kind=n.Mul)
@spells("min", f"{X} axis? keepdims?", kind=n.Min)
@spells("max", f"{X} axis? keepdims?", kind=n.Max)
@spells("amin", f"{X} {ALONG}", kind=n.Min)
@spells("amax", f"{X} {ALONG}", kind=n.Max)
@spells("math.prod", "x", kind=n.Mul)
@spells("math.fsum", "x", kind=n.Add)
def reduce_by(context: Context, node: ast.AST, kind: type[n.Binary], **arguments: Any) -> Value:
    """Return the sum, product, minimum or maximum along an axis, or of all entries."""
    neutral = {n.Add: Constant(0), n.Mul: Constant(1)}.get(kind)

    def fold_entries(entries: list[Value]) -> Value:
        return fold(context, kind, entries, node) if entries or neutral is None else neutral

    def fold_picked(flags: list[Value], entries: list[Value]) -> Value:
        if neutral is None:
            return _find_picked_extreme(context, kind, flags, entries, node)
        return fold(context, kind, _replace_others(context, flags, entries, neutral, node), node)

    return _reduce_array(context, fold_entries, node, **arguments, over=fold_picked)


def _replace_others(
    context: Context, flags: list[Value], entries: list[Value], neutral: Value, node: ast.AST
) -> list[Value]:
    """Return entries, with a neutral value where a mask is false."""
    return [choose(context, node, flag, entry, neutral) for flag, entry in zip(flags, entries, strict=True)]


def _find_picked_extreme(
    context: Context, kind: type[n.Binary], flags: list[Value], entries: list[Value], node: ast.AST
) -> Value:
    """Return the smallest or largest entry where a mask is true; a row in which it is true nowhere is bad."""
    found, some = entries[0], flags[0]
    for flag, entry in zip(flags[1:], entries[1:], strict=True):
        better = choose(context, node, some, fold(context, kind, [found, entry], node), entry)
        found = choose(context, node, flag, better, found)
        some = apply_arithmetic(context, ast.BitOr(), some, flag, node)
    context.require(add_flag(context, some, node), "takes the extreme of no entries", node)
    return found


@spells("any", f"{X} {ALONG}", conjunction=False)
@spells("all", f"{X} {ALONG}", conjunction=True)
def _reduce_flags(context: Context, node: ast.AST, conjunction: bool, **arguments: Any) -> Value:
    def join_flags(entries: list[Value]) -> Value:
        return chain(context, conjunction, [partial(read_truth, context, entry, node) for entry in entries])

    def join_picked(flags: list[Value], entries: list[Value]) -> Value:
        truths = [to_flag(context, node, entry) for entry in entries]
        return join_flags(_replace_others(context, flags, truths, Constant(conjunction), node))

    return _reduce_array(context, join_flags, node, **arguments, over=join_picked)


@spells("torch.min", f"{X} y?|other {ALONG}", kind=n.Min)
@spells("torch.max", f"{X} y?|other {ALONG}", kind=n.Max)
def _reduce_torch(
    context: Context,
    node: ast.AST,
    kind: type[n.Binary],
    x: Value,
    y: Value | None = None,
    axis: Value | None = None,
    keepdims: Value | None = None,
) -> Value:
    """Return `torch.min` or `torch.max`: of all entries, of two arrays, or values and positions along an axis."""
    along = y if isinstance(y, Constant) else axis
    if along is not None:
        values = reduce_by(context, node, kind, x=x, axis=along, keepdims=keepdims)
        return Vector((values, _find_extreme(context, node, kind, x=x, axis=along, keepdims=keepdims)))
    return reduce_by(context, node, kind, x=x) if y is None else extreme(context, node, kind, x, y)


@spells(".min", f"{X} axis? keepdims?|keepdim|keepdims dim?", kind=n.Min)
@spells(".max", f"{X} axis? keepdims?|keepdim|keepdims dim?", kind=n.Max)
def _reduce_method(
    context: Context, node: ast.AST, kind: type[n.Binary], dim: Value | None = None, **arguments: Any
) -> Value:
    """Return `v.min()` or `v.max()`; with `dim=`, which PyTorch alone has, values and positions."""
    if dim is None:
        return reduce_by(context, node, kind, **arguments)
    return _reduce_torch(context, node, kind, **{**arguments, "axis": dim})


@spells("argmin", f"{X} {ALONG}", kind=n.Min)
@spells("argmax", f"{X} {ALONG}", kind=n.Max)
def _find_extreme(context: Context, node: ast.AST, kind: type[n.Binary], **arguments: Any) -> Value:
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

    return _reduce_array(context, search, node, **arguments)


@spells("count_nonzero", f"{X} {ALONG}")
def _count_nonzero(context: Context, node: ast.AST, x: Value, **arguments: Any) -> Value:
    flags = spread(context, partial(to_flag, context, node), x, node=node)
    return reduce_by(context, node, n.Add, x=cast_numbers(context, node, flags), **arguments)


@spells("var", f"{X} {ALONG} ddof?", less=0)
@spells("torch.var", f"{X} {ALONG} ddof?|unbiased|correction", less=1)
def _variance(
    context: Context, node: ast.AST, less: int, x: Value, ddof: Value | None = None, **arguments: Any
) -> Value:
    """Return the mean square of the differences from the mean; torch divides by one less than the count."""
    known = ddof.value if isinstance(ddof, Constant) else None
    known = less if known is None else int(known)  # type: ignore[call-overload]  # True of `unbiased=` is 1

    def spread_out(entries: list[Value]) -> Value:
        if len(entries) <= known:
            raise context.error(node, f"the spread of {len(entries)} entries is undefined.")
        middle = _mean(context, node, entries)
        off = [apply_arithmetic(context, ast.Sub(), entry, middle, node) for entry in entries]
        squares = fold(context, n.Add, [square_entries(context, node, each) for each in off], node)
        return apply_arithmetic(context, ast.Div(), squares, Constant(len(entries) - known), node)

    return _reduce_array(context, spread_out, node, x, **arguments)


@spells("std", f"{X} {ALONG} ddof?", less=0)
@spells("torch.std", f"{X} {ALONG} ddof?|unbiased|correction", less=1)
def _deviation(context: Context, node: ast.AST, less: int, x: Value, **arguments: Any) -> Value:
    return map_node(context, node, n.Sqrt, x=_variance(context, node, less, x, **arguments))


@spells("allclose", f"{X_Y} rtol?=1e-5 atol?=1e-8")
def _all_close(context: Context, node: ast.AST, **arguments: Value) -> Value:
    return _reduce_flags(context, node, True, x=is_close(context, node, **arguments))


@spells("cumsum", f"{X} axis?|dim|axis")
def _add_up(context: Context, node: ast.AST, x: Value, axis: Value | None = None) -> Value:
    entries = list_items(context, x, node)
    return Vector(tuple(fold(context, n.Add, entries[: at + 1], node) for at in range(len(entries))), array=True)


@spells("mse_loss", "x|input y|target reduction?", square=True)
@spells("l1_loss", "x|input y|target reduction?", square=False)
def _loss(context: Context, node: ast.AST, square: bool, x: Value, y: Value, reduction: Value | None = None) -> Value:
    off = apply_operator(context, node, ast.Sub(), x, y)
    each = square_entries(context, node, off) if square else map_node(context, node, n.Abs, x=off)
    return _reduce_loss(context, each, reduction, node)


@spells("smooth_l1_loss", "x|input y|target reduction? beta?=1")
def _smooth_loss(
    context: Context, node: ast.AST, x: Value, y: Value, beta: Value, reduction: Value | None = None
) -> Value:
    """Return `F.smooth_l1_loss`: half the square over `beta` near 0, a straight line from `beta` on."""
    off = map_node(context, node, n.Abs, x=apply_operator(context, node, ast.Sub(), x, y))
    half = apply_operator(context, node, ast.Mult(), Constant(0.5), beta)
    curve = apply_operator(context, node, ast.Mult(), Constant(0.5), square_entries(context, node, off))
    curve = apply_operator(context, node, ast.Div(), curve, beta)
    near = apply_comparison(context, node, ast.Lt(), off, beta)
    line = apply_operator(context, node, ast.Sub(), off, half)
    return _reduce_loss(context, choose(context, node, near, curve, line), reduction, node)


def _reduce_loss(context: Context, each: Value, reduction: Value | None, node: ast.AST) -> Value:
    """Return a loss of each entry as its `reduction=` says: their mean where nothing is said."""
    known = reduction.value if isinstance(reduction, Constant) else "mean"
    if known == "mean":
        return _average(context, node, x=each)
    return reduce_by(context, node, n.Add, x=each) if known == "sum" else each


@spells("cosine_similarity", "x|x1 y|x2 axis|dim?=-1 eps?=1e-8")
def _similarity(context: Context, node: ast.AST, x: Value, y: Value, axis: Value, eps: Value) -> Value:
    top = reduce_by(context, node, n.Add, x=apply_operator(context, node, ast.Mult(), x, y), axis=axis)
    norms = [extreme(context, node, n.Max, norm(context, node, value, axis=axis), eps) for value in (x, y)]
    return apply_operator(context, node, ast.Div(), top, apply_operator(context, node, ast.Mult(), *norms))


@spells("normalize", "x|input p? axis|dim?=-1 eps?=1e-12")
def _normalise(context: Context, node: ast.AST, x: Value, axis: Value, eps: Value, p: Value | None = None) -> Value:
    """Return `F.normalize`: a vector over its norm."""
    size = norm(context, node, x, order=p, axis=axis, keepdims=Constant(True))
    return apply_operator(context, node, ast.Div(), x, extreme(context, node, n.Max, size, eps))


@spells("softmax", f"{X} axis?|dim|axis")
def _softmax(context: Context, node: ast.AST, x: Value, axis: Value | None = None) -> Value:
    """Return `exp(x) / sum(exp(x))`, less the largest entry first, so that nothing overflows."""
    top = reduce_by(context, node, n.Max, x=x, axis=axis, keepdims=Constant(True))
    powers = map_node(context, node, n.Exp, x=apply_operator(context, node, ast.Sub(), x, top))
    total = reduce_by(context, node, n.Add, x=powers, axis=axis, keepdims=Constant(True))
    return apply_operator(context, node, ast.Div(), powers, total)


@spells("logsumexp", f"{X} {ALONG}")
def _log_of_sum(
    context: Context, node: ast.AST, x: Value, axis: Value | None = None, keepdims: Value | None = None
) -> Value:
    """Return `log(sum(exp(x)))`, less the largest entry first, so that nothing overflows."""
    top = reduce_by(context, node, n.Max, x=x, axis=axis, keepdims=Constant(True))
    powers = map_node(context, node, n.Exp, x=apply_operator(context, node, ast.Sub(), x, top))
    total = reduce_by(context, node, n.Add, x=powers, axis=axis, keepdims=keepdims)
    most = reduce_by(context, node, n.Max, x=x, axis=axis, keepdims=keepdims)
    return apply_operator(context, node, ast.Add(), map_node(context, node, n.Log, x=total), most)


@spells("math.dist", "x y")
def _distance(context: Context, node: ast.AST, x: Value, y: Value) -> Value:
    return norm(context, node, apply_operator(context, node, ast.Sub(), x, y))


@spells("mean", f"{X} {ALONG} dtype?")
@spells("statistics.mean statistics.fmean", "x")
def _average(context: Context, node: ast.AST, **arguments: Any) -> Value:
    def average_picked(flags: list[Value], entries: list[Value]) -> Value:
        total = fold(context, n.Add, _replace_others(context, flags, entries, Constant(0), node), node)
        return apply_arithmetic(context, ast.Div(), total, fold(context, n.Add, flags, node), node)

    return _reduce_array(context, lambda entries: _mean(context, node, entries), node, **arguments, over=average_picked)


def _mean(context: Context, node: ast.AST, entries: list[Value]) -> Value:
    return apply_arithmetic(context, ast.Div(), fold(context, n.Add, entries, node), Constant(len(entries)), node)


@spells("norm vector_norm", f"{X} order?|p|ord {ALONG}")
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
    matrix = matrix or (axis is not None and has_items(axis) and len(list_items(context, axis, node)) > 1)
    if known not in (None, 1, 2, inf, "fro") or (matrix and known in (1, 2, inf)):
        advice = "Write np.linalg.norm(v), with ord=1, 2 or np.inf for a vector."
        raise context.error(node, "this norm cannot be read.", advice)
    if known in (1, inf):
        kind = n.Add if known == 1 else n.Max
        return reduce_by(context, node, kind, x=map_node(context, node, n.Abs, x=x), axis=axis, keepdims=keepdims)
    sums = reduce_by(context, node, n.Add, x=square_entries(context, node, x), axis=axis, keepdims=keepdims)
    return map_node(context, node, n.Sqrt, x=sums)
