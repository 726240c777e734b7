"""Intervals that hold every value a node can take, from the ranges of the inputs.

One loop over nodes. Bounds are computed with the very operations that run, which are monotone in floating point,
so they hold for the computed numbers and not only for the exact ones. A flag is [1, 1] where it surely holds, [0, 0]
where it surely does not, and the choice it makes is then known. Correlations are lost: `x - y + y` is not `x`.
"""

import math
from collections.abc import Callable, Mapping, Sequence

from plaudit.language import nodes as n
from plaudit.language.domains import LARGEST_EXPONENT, in_domain, whole_nodes
from plaudit.language.interval import ANYTHING, FLAG, LARGEST, NO, YES, Interval, hull, of_field
from plaudit.language.program import Program


def intervals(program: Program, *, ranges: bool = True, looked_up: bool = False) -> tuple[Interval, ...]:
    """Return an interval for each node; flags lie in [0, 1], categories are positions.

    Without `ranges`, numbers may be anything, whatever their field declares, and so may positions of categories
    unless they were `looked_up`.
    """
    box: dict[str, Interval] = {}
    for name, field in program.inputs.items():
        checked = ranges and name not in program.terminal  # what only the end reads is checked only there
        known = field.kind == "flag" or (looked_up and field.kind == "category")
        box[name] = of_field(field) if checked or known else ANYTHING
    return within(program, box, wholes=whole_nodes(program, ranges, looked_up))


def within(
    program: Program,
    box: Mapping[str, Interval],
    *,
    wholes: Sequence[bool] = (),
    assumed: Mapping[int, Interval] | None = None,
) -> tuple[Interval, ...]:
    """Return an interval for each node, for inputs that lie in `box`.

    `wholes` says which nodes are whole numbers; `assumed` are intervals that some nodes are known to lie in besides.
    """
    found: list[Interval] = []
    for node, rule, operands in _steps(program):
        if rule is not None:
            result = rule(*[found[at] for at in operands])
        else:
            result = _result(node, program, box, found, wholes)
        if result.low != result.low or result.high != result.high:
            result = ANYTHING
        if assumed and (known := assumed.get(len(found))) is not None:
            both = Interval(max(result.low, known.low), min(result.high, known.high))
            result = both if both.low <= both.high else result
        found.append(result)
    return tuple(found)


def _steps(program: Program) -> list[tuple[n.Node, Callable[..., Interval] | None, tuple[int, ...]]]:
    """Return each node with its rule and operands; a search walks the same Program many times."""
    if "intervals" not in program.memo:
        program.memo["intervals"] = [(node, RULES.get(type(node)), n.operands(node)) for node in program.nodes]
    steps: list[tuple[n.Node, Callable[..., Interval] | None, tuple[int, ...]]] = program.memo["intervals"]
    return steps


def _result(
    node: n.Node, program: Program, box: Mapping[str, Interval], found: list[Interval], wholes: Sequence[bool]
) -> Interval:
    """Return the interval of a node that its operands' intervals alone do not give."""
    match node:
        case n.Const(value):
            return Interval(float(value), float(value))
        case n.Param(name):
            return Interval(float(program.params[name]), float(program.params[name]))
        case n.Input(name):
            return box[name]
        case n.Label(field, value):
            return _position(program, field, value)
        case n.Item(table, index):
            return _entries(table, found[index])
        case n.Select(condition, then, otherwise):
            test = found[condition]
            return (
                found[then]
                if test.low == 1
                else found[otherwise]
                if test.high == 0
                else hull(found[then], found[otherwise])
            )
        case n.Mul(left, right):
            return _square(found[left]) if left == right else _product(found[left], found[right])
        case n.Defined(arg):
            return in_domain(program.nodes[arg], found, wholes)
    raise AssertionError(f"no rule for {node}")


# -- numbers ----------------------------------------------------------------------------------------------------------


def _corners(operation: Callable[[float, float], float]) -> Callable[[Interval, Interval], Interval]:
    def rule(left: Interval, right: Interval) -> Interval:
        values = [operation(a, b) for a in left for b in right]
        return ANYTHING if any(math.isnan(value) for value in values) else Interval(min(values), max(values))

    return rule


_product = _corners(lambda a, b: a * b)
_quotient = _corners(lambda a, b: a / b)


def _square(arg: Interval) -> Interval:
    ends = _absolute(arg)
    return Interval(ends.low * ends.low, ends.high * ends.high) if ends != ANYTHING else ANYTHING


def _monotone(operation: Callable[[float], float], low: float, high: float) -> Callable[[Interval], Interval]:
    """Return the rule of a rising function whose domain is `[low, high]`."""

    def rule(arg: Interval) -> Interval:
        return Interval(operation(min(max(arg.low, low), high)), operation(min(max(arg.high, low), high)))

    return rule


def _divide(left: Interval, right: Interval) -> Interval:
    return ANYTHING if right.low <= 0 <= right.high else _quotient(left, right)


def _floor_divide(left: Interval, right: Interval) -> Interval:
    if right.low <= 0 <= right.high or not left.finite or not right.finite:
        return ANYTHING
    return _corners(lambda a, b: a // b)(left, right)


def _absolute(arg: Interval) -> Interval:
    if arg == ANYTHING:
        return ANYTHING
    ends = sorted((abs(arg.low), abs(arg.high)))
    return Interval(0.0 if arg.low <= 0 <= arg.high else ends[0], ends[1])


def _unless_nan(rule: Callable[..., Interval]) -> Callable[..., Interval]:
    """Return the rule of an operation that hands on a NaN in its first operand."""
    return lambda first, *others: ANYTHING if first == ANYTHING else rule(first, *others)


def _or_else(
    value: float, rule: Callable[[Interval], Interval], low: float, high: float
) -> Callable[[Interval], Interval]:
    """Return the rule of an operation that is `value` where its argument is not from `low` to `high`."""

    def total(arg: Interval) -> Interval:
        if low <= arg.low and arg.high <= high:
            return rule(arg)
        otherwise = Interval(value, value)
        return otherwise if arg.high < low or arg.low > high else hull(rule(arg), otherwise)

    return total


def _modulo(left: Interval, right: Interval) -> Interval:
    if not left.finite:
        return ANYTHING
    if left.low == left.high and right.low == right.high != 0 and right.finite:
        return Interval(left.low % right.low, left.low % right.low)
    size = max(abs(right.low), abs(right.high), 1.0)
    return Interval(-size, size)


def _entries(table: Sequence[float | bool], index: Interval) -> Interval:
    """Return what a table holds at positions in `index`; the first entry where one may be outside it."""
    if index.low == index.high and index.low.is_integer() and 0 <= index.low < len(table):
        entry = float(table[int(index.low)])
        return Interval(entry, entry)
    first = math.ceil(max(index.low, 0.0)) if index.low < len(table) else len(table)
    last = math.floor(min(index.high, len(table) - 1.0)) if index.high >= 0 else -1
    entries = [float(table[0]), *(float(entry) for entry in table[first : last + 1])]
    return Interval(min(entries), max(entries))


def _position(program: Program, name: str, value: str) -> Interval:
    labels = next((field.labels for field in program.inputs.values() if field.name == name), ())
    return Interval(float(labels.index(value)), float(labels.index(value))) if value in labels else ANYTHING


def _wave(operation: Callable[[float], float], at_infinity: float, peak: float) -> Callable[[Interval], Interval]:
    """Return the rule of a sine or cosine that has its highest point at `peak`."""

    def rule(arg: Interval) -> Interval:
        if arg.low == arg.high:
            value = operation(arg.low) if arg.finite else at_infinity
            return Interval(value, value)
        if not arg.finite or arg.high - arg.low >= 2 * math.pi or max(-arg.low, arg.high) > 1e6:
            return Interval(-1.0, 1.0)
        ends = sorted((operation(arg.low), operation(arg.high)))
        low = -1.0 if _passes(arg, peak + math.pi) else max(ends[0] - 1e-9, -1.0)  # as good as any other bound
        return Interval(low, 1.0 if _passes(arg, peak) else min(ends[1] + 1e-9, 1.0))

    return rule


def _passes(arg: Interval, place: float) -> bool:
    """Return whether `arg` may hold `place` or a point whole turns away from it."""
    turns = math.floor((arg.high + 1e-9 - place) / (2 * math.pi))
    return place + 2 * math.pi * turns >= arg.low - 1e-9


def _whole(rounded: Callable[[float], float], value: float) -> float:
    return value if math.isinf(value) else float(rounded(value))


# -- flags ------------------------------------------------------------------------------------------------------------


def _decided(
    yes: Callable[[Interval, Interval], bool], no: Callable[[Interval, Interval], bool]
) -> Callable[..., Interval]:
    """Return the rule of a comparison; what may be NaN decides nothing."""

    def rule(a: Interval, b: Interval) -> Interval:
        if a == ANYTHING or b == ANYTHING:
            return FLAG
        return YES if yes(a, b) else NO if no(a, b) else FLAG

    return rule


def _apart(a: Interval, b: Interval) -> bool:
    return a.high < b.low or b.high < a.low


def _same(a: Interval, b: Interval) -> bool:
    return a.low == a.high == b.low == b.high


def _infinite(a: Interval) -> Interval:
    return NO if a.finite else YES if a.low == math.inf or a.high == -math.inf else FLAG


_TINY = 5e-324
_ABOVE_MINUS_ONE = -1.0 + 2**-53

RULES: Mapping[type[n.Node], Callable[..., Interval]] = {
    n.Neg: lambda a: Interval(-a.high, -a.low),
    n.Abs: _absolute,
    n.Number: lambda a: a,
    n.Sqrt: _or_else(0.0, _monotone(math.sqrt, 0.0, LARGEST), 0.0, LARGEST),
    n.Exp: _or_else(1.0, _monotone(math.exp, -LARGEST, LARGEST_EXPONENT), -math.inf, LARGEST_EXPONENT),
    n.Expm1: _or_else(0.0, _monotone(math.expm1, -LARGEST, LARGEST_EXPONENT), -math.inf, LARGEST_EXPONENT),
    n.Log: _or_else(0.0, _monotone(math.log, _TINY, LARGEST), _TINY, LARGEST),
    n.Log1p: _or_else(0.0, _monotone(math.log1p, _ABOVE_MINUS_ONE, LARGEST), _ABOVE_MINUS_ONE, LARGEST),
    n.Sin: _wave(math.sin, 0.0, math.pi / 2),
    n.Cos: _wave(math.cos, 1.0, 0.0),
    n.Tanh: _unless_nan(_monotone(math.tanh, -math.inf, math.inf)),
    n.Floor: _or_else(
        0.0, lambda a: Interval(_whole(math.floor, a.low), _whole(math.floor, a.high)), -LARGEST, LARGEST
    ),
    n.Ceil: _or_else(0.0, lambda a: Interval(_whole(math.ceil, a.low), _whole(math.ceil, a.high)), -LARGEST, LARGEST),
    n.Round: _or_else(0.0, lambda a: Interval(_whole(round, a.low), _whole(round, a.high)), -LARGEST, LARGEST),
    n.Add: lambda a, b: Interval(a.low + b.low, a.high + b.high),
    n.Sub: lambda a, b: Interval(a.low - b.high, a.high - b.low),
    n.Div: _divide,
    n.FloorDiv: _floor_divide,
    n.Mod: _modulo,
    n.Min: _unless_nan(lambda a, b: Interval(min(a.low, b.low), min(a.high, b.high))),
    n.Max: _unless_nan(lambda a, b: Interval(max(a.low, b.low), max(a.high, b.high))),
    n.Clip: _unless_nan(
        lambda a, low, high: Interval(min(max(a.low, low.low), high.low), max(min(a.high, high.high), low.high))
    ),
    n.Not: lambda a: Interval(1.0 - a.high, 1.0 - a.low),
    n.And: lambda a, b: Interval(min(a.low, b.low), min(a.high, b.high)),
    n.Or: lambda a, b: Interval(max(a.low, b.low), max(a.high, b.high)),
    n.Lt: _decided(lambda a, b: a.high < b.low, lambda a, b: a.low >= b.high),
    n.Le: _decided(lambda a, b: a.high <= b.low, lambda a, b: a.low > b.high),
    n.Gt: _decided(lambda a, b: a.low > b.high, lambda a, b: a.high <= b.low),
    n.Ge: _decided(lambda a, b: a.low >= b.high, lambda a, b: a.high < b.low),
    n.Eq: _decided(_same, _apart),
    n.Ne: _decided(_apart, _same),
    n.IsInf: _infinite,
    n.IsFinite: lambda a: YES if a.finite else NO if a.low == math.inf or a.high == -math.inf else FLAG,
}
"""How each operation moves intervals, where the intervals of its operands are all that matters."""
