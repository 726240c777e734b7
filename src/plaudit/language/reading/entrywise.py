"""What functions of array libraries mean that work entry by entry."""

import ast
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from math import log, pi

from plaudit.language import nodes as n
from plaudit.language.field import to_number
from plaudit.language.kinds import FLAG, NUMBER
from plaudit.language.reading.arithmetic import apply_arithmetic, apply_function, apply_unary, fold
from plaudit.language.reading.conditions import compare, join, negate
from plaudit.language.reading.context import X_Y, Context, X, spells
from plaudit.language.reading.expressions import add_number, fit, list_items, read_truth, spread
from plaudit.language.reading.values import Constant, Ref, Value
from plaudit.language.reading.vectors import list_entries, to_array

_ARCS = ("asin", "acos", "atan")
SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "abs": ("absolute", "fabs"),
    "round": ("rint", "around"),
    **{name: (f"arc{name[1:]}",) for _, name in map(n.split_function, n.FUNCTIONS) if name[:4] in _ARCS},
}


def cast_numbers(context: Context, node: ast.AST, x: Value) -> Value:
    """Return a value as numbers: bools count 1 and 0."""
    return spread(context, partial(cast_entry, context, node), x, node=node)


def cast_entry(context: Context, node: ast.AST, x: Value) -> Value:
    """Return one value as a number."""
    number = to_number(x.value) if isinstance(x, Constant) else None
    if number is not None:
        with suppress(OverflowError):  # `add_number` says that no float holds it
            return Constant(float(number))
    return Ref(add_number(context, x, node), NUMBER)


def map_node(context: Context, node: ast.AST, kind: type[n.Node], **operands: Value) -> Value:
    """Return a function of one or two numbers, entry by entry."""
    return spread(context, partial(apply_function, context, node, kind), *operands.values(), node=node)


for _kind in (*n.FUNCTIONS, n.IsInf):
    _name = n.split_function(_kind)[1]
    _names = " ".join((_name, *SYNONYMS.get(_name, ())))
    spells(_names, X_Y if len(n.operand_names(_kind)) == 2 else X, kind=_kind)(map_node)


@spells("multiply mul", X_Y, op=ast.Mult())
@spells("floor_divide", X_Y, op=ast.FloorDiv())
@spells("mod remainder", X_Y, op=ast.Mod())
@spells("power pow", X_Y, op=ast.Pow())
@spells("deg2rad radians math.radians", op=ast.Mult(), y=Constant(pi / 180.0))
@spells("rad2deg degrees math.degrees", op=ast.Mult(), y=Constant(180.0 / pi))
def apply_operator(context: Context, node: ast.AST, op: ast.operator, x: Value, y: Value) -> Value:
    """Return an operator that is written as a function, such as `np.add`."""
    left = fit(context, to_array, x, node=node)
    return apply_arithmetic(context, op, left, fit(context, to_array, y, node=node), node)


@spells("add", f"{X_Y} alpha?", op=ast.Add())
@spells("subtract sub", f"{X_Y} alpha?", op=ast.Sub())
def _add_multiple(
    context: Context, node: ast.AST, op: ast.operator, x: Value, y: Value, alpha: Value | None = None
) -> Value:
    """Return `x + y` or `x - y`; in PyTorch perhaps a multiple of `y`."""
    y = y if alpha is None else apply_operator(context, node, ast.Mult(), y, alpha)
    return apply_operator(context, node, op, x, y)


@spells("divide true_divide div", f"{X_Y} rounding_mode?")
def _divide(context: Context, node: ast.AST, x: Value, y: Value, rounding_mode: Value | None = None) -> Value:
    """Return `x / y`; in PyTorch perhaps rounded down, or towards 0."""
    mode = rounding_mode.value if isinstance(rounding_mode, Constant) else rounding_mode
    if mode not in (None, "floor", "trunc"):
        raise context.error(node, "rounding_mode= is not known here.", "Write rounding_mode='floor', or 'trunc'.")
    found = apply_operator(context, node, ast.FloorDiv() if mode == "floor" else ast.Div(), x, y)
    return truncate(context, node, found) if mode == "trunc" else found


@spells("fmod math.fmod", X_Y)
def _fmod(context: Context, node: ast.AST, x: Value, y: Value) -> Value:
    """Return the remainder with the sign of `x`: that of the magnitudes, turned around below 0."""
    sizes = [map_node(context, node, n.Abs, x=value) for value in (x, y)]
    rest = apply_operator(context, node, ast.Mod(), *sizes)
    below = apply_comparison(context, node, ast.Lt(), x, Constant(0.0))
    return choose(context, node, below, _negative(context, node, rest), rest)


@spells("greater gt", X_Y, op=ast.Gt())
@spells("greater_equal ge", X_Y, op=ast.GtE())
@spells("less lt", X_Y, op=ast.Lt())
@spells("less_equal le", X_Y, op=ast.LtE())
@spells("equal eq", X_Y, op=ast.Eq())
@spells("not_equal ne", X_Y, op=ast.NotEq())
def apply_comparison(context: Context, node: ast.AST, op: ast.cmpop, x: Value, y: Value) -> Value:
    """Return a comparison that is written as a function, such as `np.greater`."""
    return spread(context, lambda left, right: compare(context, op, left, right, node), x, y, node=node)


@spells("logical_and", X_Y, op=ast.BitAnd())
@spells("logical_or", X_Y, op=ast.BitOr())
@spells("logical_xor", X_Y, op=ast.BitXor())
def _apply_logic(context: Context, node: ast.AST, op: ast.operator, x: Value, y: Value) -> Value:
    left, right = (spread(context, partial(to_flag, context, node), value, node=node) for value in (x, y))
    return apply_arithmetic(context, op, left, right, node)


def to_flag(context: Context, node: ast.AST, x: Value) -> Value:
    """Return a value as a bool."""
    truth = read_truth(context, x, node)
    return Constant(truth) if isinstance(truth, bool) else Ref(truth, FLAG)


@spells("logical_not")
def _logical_not(context: Context, node: ast.AST, x: Value) -> Value:
    return spread(context, lambda entry: negate(context, entry, node), x, node=node)


@spells("negative neg")
def _negative(context: Context, node: ast.AST, x: Value) -> Value:
    return spread(context, lambda entry: apply_unary(context, ast.USub(), entry, node), x, node=node)


@spells("square")
def square_entries(context: Context, node: ast.AST, x: Value) -> Value:
    """Return `x * x`."""
    return apply_operator(context, node, ast.Mult(), x, x)


@spells("where", "condition x?|input y?|other")
def _choose(context: Context, node: ast.AST, condition: Value, x: Value | None = None, y: Value | None = None) -> Value:
    """Return `np.where` of three arguments."""
    if x is None or y is None:
        what = "`where` of a condition alone lists positions, and how many there are depends on the row."
        raise context.error(node, what, "Give both values, np.where(v > 0, v, 0.0), or write v[v > 0].")
    return choose(context, node, condition, x, y)


def choose(context: Context, node: ast.AST, condition: Value, x: Value, y: Value) -> Value:
    """Return `np.where`: both sides are computed, and one is taken."""

    def pick(test: Value, then: Value, otherwise: Value) -> Value:
        truth = read_truth(context, test, node)
        if isinstance(truth, bool):
            return then if truth else otherwise
        return join(context, truth, then, otherwise, node)

    return spread(context, pick, condition, x, y, node=node)


@spells("clip clamp", f"{X} low?|a_min|min high?|a_max|max")
def _clip(context: Context, node: ast.AST, x: Value, low: Value | None = None, high: Value | None = None) -> Value:
    """Return `min(max(x, low), high)`; either bound may be left out."""
    if low is None and high is None:
        raise context.error(node, "at least one bound is needed.", "Write np.clip(x, 0.0, 1.0).")
    x = x if low is None else extreme(context, node, n.Max, x, low)
    return x if high is None else extreme(context, node, n.Min, x, high)


@spells("minimum fmin", X_Y, kind=n.Min)
@spells("maximum fmax", X_Y, kind=n.Max)
@spells("relu", kind=n.Max, y=Constant(0.0))
def extreme(context: Context, node: ast.AST, kind: type[n.Binary], x: Value, y: Value) -> Value:
    """Return the smaller or larger of two, entry by entry."""
    return spread(context, lambda left, right: fold(context, kind, [left, right], node), x, y, node=node)


@spells("sigmoid expit")
def _sigmoid(context: Context, node: ast.AST, x: Value) -> Value:
    """Return `exp(min(x, 0)) / (1 + exp(-abs(x)))`, which is the logistic function and never overflows."""
    top = map_node(context, node, n.Exp, x=extreme(context, node, n.Min, x, Constant(0.0)))
    falling = map_node(context, node, n.Exp, x=_negative(context, node, map_node(context, node, n.Abs, x=x)))
    below = apply_operator(context, node, ast.Add(), Constant(1.0), falling)
    return apply_operator(context, node, ast.Div(), top, below)


@spells("isfinite math.isfinite")
def _is_finite(context: Context, node: ast.AST, x: Value) -> Value:
    """Return `np.isfinite`: a NaN never reaches a term."""
    return _logical_not(context, node, map_node(context, node, n.IsInf, x=x))


@spells("isnan math.isnan")
def _is_nan(context: Context, node: ast.AST, x: Value) -> Value:
    """Return `np.isnan`, which is False: a NaN never reaches a term."""
    context.looked_at += [entry.at for entry in list_entries(x) if isinstance(entry, Ref)]
    return spread(context, lambda _: Constant(False), x, node=node)


@spells("isclose", f"{X_Y} rtol?=1e-5 atol?=1e-8")
def is_close(context: Context, node: ast.AST, x: Value, y: Value, rtol: Value, atol: Value) -> Value:
    """Return `abs(x - y) <= atol + rtol * abs(y)`."""
    scale = apply_operator(context, node, ast.Mult(), rtol, map_node(context, node, n.Abs, x=y))
    off = map_node(context, node, n.Abs, x=apply_operator(context, node, ast.Sub(), x, y))
    return apply_comparison(context, node, ast.LtE(), off, apply_operator(context, node, ast.Add(), atol, scale))


@spells("math.isclose", "x y rel_tol?=1e-9 abs_tol?=0")
def _is_near(context: Context, node: ast.AST, x: Value, y: Value, rel_tol: Value, abs_tol: Value) -> Value:
    """Return `math.isclose`: `abs(x - y) <= max(rel_tol * max(abs(x), abs(y)), abs_tol)`."""
    sizes = [map_node(context, node, n.Abs, x=value) for value in (x, y)]
    scale = apply_operator(context, node, ast.Mult(), rel_tol, extreme(context, node, n.Max, *sizes))
    off = map_node(context, node, n.Abs, x=apply_operator(context, node, ast.Sub(), x, y))
    return apply_comparison(context, node, ast.LtE(), off, extreme(context, node, n.Max, scale, abs_tol))


@spells("reciprocal")
def _reciprocal(context: Context, node: ast.AST, x: Value) -> Value:
    return apply_operator(context, node, ast.Div(), Constant(1.0), x)


@spells("log2 math.log2", base=2.0)
@spells("log10 math.log10", base=10.0)
def _logarithm(context: Context, node: ast.AST, base: float, x: Value) -> Value:
    return apply_operator(context, node, ast.Div(), map_node(context, node, n.Log, x=x), Constant(log(base)))


@spells("tan math.tan")
def _tangent(context: Context, node: ast.AST, x: Value) -> Value:
    """Return `sin(x) / cos(x)`."""
    sine, cosine = (map_node(context, node, kind, x=x) for kind in (n.Sin, n.Cos))
    return apply_operator(context, node, ast.Div(), sine, cosine)


@spells("sinh math.sinh", op=ast.Sub())
@spells("cosh math.cosh", op=ast.Add())
def _hyperbolic(context: Context, node: ast.AST, op: ast.operator, x: Value) -> Value:
    """Return `(exp(x) + exp(-x)) / 2`, or with a minus."""
    infinite = any(isinstance(entry, Ref) and context.may_be_infinite(entry.at) for entry in list_entries(x))
    with context.without_warnings(infinite):
        rising, falling = (map_node(context, node, n.Exp, x=value) for value in (x, _negative(context, node, x)))
    return apply_operator(context, node, ast.Div(), apply_operator(context, node, op, rising, falling), Constant(2.0))


@spells("arcsinh asinh math.asinh")
def _area_sine(context: Context, node: ast.AST, x: Value) -> Value:
    """Return `sign(x) * log1p(a + a * a / (1 + sqrt(a * a + 1)))`, with `a = abs(x)`: exact near 0 too."""
    add, times, by = (partial(apply_operator, context, node, op) for op in (ast.Add(), ast.Mult(), ast.Div()))
    size = map_node(context, node, n.Abs, x=x)
    root = map_node(context, node, n.Sqrt, x=add(times(size, size), Constant(1.0)))
    inner = add(size, by(times(size, size), add(root, Constant(1.0))))
    return times(map_node(context, node, n.Sign, x=x), map_node(context, node, n.Log1p, x=inner))


@spells("arccosh acosh math.acosh")
def _area_cosine(context: Context, node: ast.AST, x: Value) -> Value:
    """Return `log1p(t + sqrt(t * (t + 2)))`, with `t = x - 1`: exact near 1 too."""
    add, times = (partial(apply_operator, context, node, op) for op in (ast.Add(), ast.Mult()))
    above = add(x, Constant(-1.0))
    root = map_node(context, node, n.Sqrt, x=times(above, add(above, Constant(2.0))))
    return map_node(context, node, n.Log1p, x=add(above, root))


@spells("arctanh atanh math.atanh")
def _area_tangent(context: Context, node: ast.AST, x: Value) -> Value:
    """Return `log1p(2 * x / (1 - x)) / 2`."""
    times, minus, by = (partial(apply_operator, context, node, op) for op in (ast.Mult(), ast.Sub(), ast.Div()))
    ratio = by(times(Constant(2.0), x), minus(Constant(1.0), x))
    return times(Constant(0.5), map_node(context, node, n.Log1p, x=ratio))


@spells("softplus")
def _softplus(context: Context, node: ast.AST, x: Value) -> Value:
    """Return `log(1 + exp(x))`, as `max(x, 0) + log1p(exp(-abs(x)))`, which never overflows."""
    falling = map_node(context, node, n.Exp, x=_negative(context, node, map_node(context, node, n.Abs, x=x)))
    above = extreme(context, node, n.Max, x, Constant(0.0))
    return apply_operator(context, node, ast.Add(), above, map_node(context, node, n.Log1p, x=falling))


@spells("trunc fix math.trunc")
def truncate(context: Context, node: ast.AST, x: Value) -> Value:
    """Return the integer next to a number on the side of 0: `np.trunc`, `int`."""
    below = apply_comparison(context, node, ast.Lt(), x, Constant(0.0))
    ends = (map_node(context, node, kind, x=x) for kind in (n.Ceil, n.Floor))
    return choose(context, node, below, *ends)


@spells("select", "conditions|condlist choices|choicelist default?=0")
def _select(context: Context, node: ast.AST, conditions: Value, choices: Value, default: Value) -> Value:
    """Return `np.select`: the choice of the first condition that holds."""
    pairs = zip(list_items(context, conditions, node), list_items(context, choices, node), strict=False)
    for condition, choice in reversed(list(pairs)):
        default = choose(context, node, condition, choice, default)
    return default


@spells("interp", "x xp fp")
def _interpolate(context: Context, node: ast.AST, x: Value, xp: Value, fp: Value) -> Value:
    """Return `np.interp`: straight lines between points, flat outside them."""
    places, heights = list_items(context, xp, node), list_items(context, fp, node)
    if len(places) != len(heights) or not places:
        raise context.error(node, f"{len(places)} points for {len(heights)} values.", "Give the same number of both.")
    add, subtract, times, by = (
        partial(apply_operator, context, node, op) for op in (ast.Add(), ast.Sub(), ast.Mult(), ast.Div())
    )
    result = heights[-1]
    for at in range(len(places) - 2, -1, -1):
        slope = by(subtract(heights[at + 1], heights[at]), subtract(places[at + 1], places[at]))
        line = add(times(slope, subtract(x, places[at])), heights[at])
        result = choose(context, node, apply_comparison(context, node, ast.Lt(), x, places[at + 1]), line, result)
    return choose(context, node, apply_comparison(context, node, ast.LtE(), x, places[0]), heights[0], result)
