"""What functions of array libraries mean that work entry by entry."""

import ast
from functools import partial
from math import log

from plaudit.language import nodes as n
from plaudit.language.field import to_number
from plaudit.language.kinds import FLAG, NUMBER
from plaudit.language.reading.arithmetic import apply_arithmetic, apply_unary, fold
from plaudit.language.reading.conditions import compare, join, negate
from plaudit.language.reading.context import Context
from plaudit.language.reading.operands import add_number, fit, list_items, read_truth, spread
from plaudit.language.reading.values import Constant, Ref, Value
from plaudit.language.reading.vectors import find_open, to_array


def cast_numbers(context: Context, node: ast.AST, x: Value) -> Value:
    """Return a value as numbers: bools count 1 and 0."""
    return spread(context, partial(cast_entry, context, node), x, node=node)


def cast_entry(context: Context, node: ast.AST, x: Value) -> Value:
    """Return one value as a number."""
    number = to_number(x.value) if isinstance(x, Constant) else None
    if number is not None:
        return Constant(float(number))
    return Ref(add_number(context, x, node), NUMBER)


def map_node(context: Context, kind: type[n.Node], node: ast.AST, **operands: Value) -> Value:
    """Return a function of one or two numbers, entry by entry."""
    return spread(context, partial(apply_function, context, kind, node), *operands.values(), node=node)


def apply_function(context: Context, kind: type[n.Node], node: ast.AST, *values: Value) -> Value:
    """Return a function of one or two numbers."""
    if (unknown := find_open(*values)) is not None:
        return unknown
    at = [add_number(context, value, node) for value in values]
    if kind.partial:
        return context.add_partial(kind(*at), node)
    return Ref(context.add(kind(*at)), FLAG if kind.flag else NUMBER)


def apply_operator(context: Context, op: ast.operator, node: ast.AST, x: Value, y: Value) -> Value:
    """Return an operator that is written as a function, such as `np.add`."""
    left = fit(context, to_array, x, node=node)
    return apply_arithmetic(context, op, left, fit(context, to_array, y, node=node), node)


def apply_comparison(context: Context, op: ast.cmpop, node: ast.AST, x: Value, y: Value) -> Value:
    """Return a comparison that is written as a function, such as `np.greater`."""
    return spread(context, lambda left, right: compare(context, op, left, right, node), x, y, node=node)


def apply_logic(context: Context, op: ast.operator, node: ast.AST, x: Value, y: Value) -> Value:
    """Return `np.logical_and` and the like; a number means `!= 0`."""
    left, right = (spread(context, partial(to_flag, context, node), value, node=node) for value in (x, y))
    return apply_arithmetic(context, op, left, right, node)


def to_flag(context: Context, node: ast.AST, x: Value) -> Value:
    """Return a value as a bool."""
    truth = read_truth(context, x, node)
    return Constant(truth) if isinstance(truth, bool) else Ref(truth, FLAG)


def logical_not(context: Context, node: ast.AST, x: Value) -> Value:
    """Return `np.logical_not`."""
    return spread(context, lambda entry: negate(context, entry, node), x, node=node)


def negative(context: Context, node: ast.AST, x: Value) -> Value:
    """Return `-x`."""
    return spread(context, lambda entry: apply_unary(context, ast.USub(), entry, node), x, node=node)


def square_entries(context: Context, node: ast.AST, x: Value) -> Value:
    """Return `x * x`."""
    return apply_operator(context, ast.Mult(), node, x, x)


def scale(context: Context, factor: float, node: ast.AST, x: Value) -> Value:
    """Return `x` times a constant."""
    return apply_operator(context, ast.Mult(), node, x, Constant(factor))


def choose(context: Context, node: ast.AST, condition: Value, x: Value, y: Value) -> Value:
    """Return `np.where`: both sides are computed, and one is taken."""

    def pick(test: Value, then: Value, otherwise: Value) -> Value:
        truth = read_truth(context, test, node)
        if isinstance(truth, bool):
            return then if truth else otherwise
        return join(context, truth, then, otherwise, node)

    return spread(context, pick, condition, x, y, node=node)


def clip(context: Context, node: ast.AST, x: Value, low: Value | None = None, high: Value | None = None) -> Value:
    """Return `min(max(x, low), high)`; either bound may be left out."""
    if low is None and high is None:
        raise context.error(node, "a bound is needed.", "Write np.clip(x, 0.0, 1.0).")
    x = x if low is None else extreme(context, n.Max, node, x, low)
    return x if high is None else extreme(context, n.Min, node, x, high)


def extreme(context: Context, kind: type[n.Binary], node: ast.AST, x: Value, y: Value) -> Value:
    """Return the smaller or larger of two, entry by entry."""
    return spread(context, lambda left, right: fold(context, kind, [left, right], node), x, y, node=node)


def sigmoid(context: Context, node: ast.AST, x: Value) -> Value:
    """Return `exp(min(x, 0)) / (1 + exp(-abs(x)))`, which is the logistic function and never overflows."""
    top = map_node(context, n.Exp, node, x=extreme(context, n.Min, node, x, Constant(0.0)))
    falling = map_node(context, n.Exp, node, x=negative(context, node, map_node(context, n.Abs, node, x=x)))
    below = apply_operator(context, ast.Add(), node, Constant(1.0), falling)
    return apply_operator(context, ast.Div(), node, top, below)


def is_finite(context: Context, node: ast.AST, x: Value) -> Value:
    """Return `np.isfinite`: a NaN never reaches a term."""
    return logical_not(context, node, map_node(context, n.IsInf, node, x=x))


def is_nan(context: Context, node: ast.AST, x: Value) -> Value:
    """Return `np.isnan`, which is False: a NaN never reaches a term."""
    return spread(context, lambda _: Constant(False), x, node=node)


def is_close(context: Context, node: ast.AST, x: Value, y: Value, rtol: Value, atol: Value) -> Value:
    """Return `abs(x - y) <= atol + rtol * abs(y)`."""
    scale = apply_operator(context, ast.Mult(), node, rtol, map_node(context, n.Abs, node, x=y))
    off = map_node(context, n.Abs, node, x=apply_operator(context, ast.Sub(), node, x, y))
    return apply_comparison(context, ast.LtE(), node, off, apply_operator(context, ast.Add(), node, atol, scale))


def is_near(context: Context, node: ast.AST, x: Value, y: Value, rel_tol: Value, abs_tol: Value) -> Value:
    """Return `math.isclose`: `abs(x - y) <= max(rel_tol * max(abs(x), abs(y)), abs_tol)`."""
    sizes = [map_node(context, n.Abs, node, x=value) for value in (x, y)]
    scale = apply_operator(context, ast.Mult(), node, rel_tol, extreme(context, n.Max, node, *sizes))
    off = map_node(context, n.Abs, node, x=apply_operator(context, ast.Sub(), node, x, y))
    return apply_comparison(context, ast.LtE(), node, off, extreme(context, n.Max, node, scale, abs_tol))


def reciprocal(context: Context, node: ast.AST, x: Value) -> Value:
    """Return `1 / x`."""
    return apply_operator(context, ast.Div(), node, Constant(1.0), x)


def logarithm(context: Context, base: float, node: ast.AST, x: Value) -> Value:
    """Return a logarithm to a constant base."""
    return apply_operator(context, ast.Div(), node, map_node(context, n.Log, node, x=x), Constant(log(base)))


def tangent(context: Context, node: ast.AST, x: Value) -> Value:
    """Return `sin(x) / cos(x)`."""
    return apply_operator(
        context, ast.Div(), node, map_node(context, n.Sin, node, x=x), map_node(context, n.Cos, node, x=x)
    )


def hyperbolic(context: Context, op: ast.operator, node: ast.AST, x: Value) -> Value:
    """Return `(exp(x) + exp(-x)) / 2`, or with a minus."""
    rising, falling = (map_node(context, n.Exp, node, x=value) for value in (x, negative(context, node, x)))
    return apply_operator(context, ast.Div(), node, apply_operator(context, op, node, rising, falling), Constant(2.0))


def softplus(context: Context, node: ast.AST, x: Value) -> Value:
    """Return `log(1 + exp(x))`, as `max(x, 0) + log1p(exp(-abs(x)))`, which never overflows."""
    falling = map_node(context, n.Exp, node, x=negative(context, node, map_node(context, n.Abs, node, x=x)))
    above = extreme(context, n.Max, node, x, Constant(0.0))
    return apply_operator(context, ast.Add(), node, above, map_node(context, n.Log1p, node, x=falling))


def truncate(context: Context, node: ast.AST, x: Value) -> Value:
    """Return the integer next to a number on the side of 0: `np.trunc`, `int`."""
    below = apply_comparison(context, ast.Lt(), node, x, Constant(0.0))
    ends = (map_node(context, kind, node, x=x) for kind in (n.Ceil, n.Floor))
    return choose(context, node, below, *ends)


def select(context: Context, node: ast.AST, conditions: Value, choices: Value, default: Value) -> Value:
    """Return `np.select`: the choice of the first condition that holds."""
    pairs = zip(list_items(context, conditions, node), list_items(context, choices, node), strict=False)
    for condition, choice in reversed(list(pairs)):
        default = choose(context, node, condition, choice, default)
    return default


def interpolate(context: Context, node: ast.AST, x: Value, xp: Value, fp: Value) -> Value:
    """Return `np.interp`: straight lines between points, flat outside them."""
    places, heights = list_items(context, xp, node), list_items(context, fp, node)
    if len(places) != len(heights) or not places:
        raise context.error(node, f"{len(places)} places for {len(heights)} values.", "Write as many of both.")
    add, subtract, times, by = (
        partial(apply_operator, context, op, node) for op in (ast.Add(), ast.Sub(), ast.Mult(), ast.Div())
    )
    result = heights[-1]
    for at in range(len(places) - 2, -1, -1):
        slope = by(subtract(heights[at + 1], heights[at]), subtract(places[at + 1], places[at]))
        line = add(times(slope, subtract(x, places[at])), heights[at])
        result = choose(context, node, apply_comparison(context, ast.Lt(), node, x, places[at + 1]), line, result)
    return choose(context, node, apply_comparison(context, ast.LtE(), node, x, places[0]), heights[0], result)
