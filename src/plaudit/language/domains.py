"""Where partial operations are defined, as far as the intervals of their operands tell."""

import math
from collections.abc import Sequence

from plaudit.language import nodes as n
from plaudit.language.interval import FLAG, NO, YES, Interval
from plaudit.language.program import Program

LARGEST_EXPONENT = 709.782712893384
"""The largest number whose exponential is a float."""


def in_domain(node: n.Node, found: Sequence[Interval], wholes: Sequence[bool]) -> Interval:
    """Return whether a partial operation is inside its domain, as far as the intervals of its operands tell."""
    operands = [found[at] for at in n.operands(node)]
    inside = _inside(node, operands, wholes)
    if inside:
        return YES
    return NO if _outside(node, operands) else FLAG


def _inside(node: n.Node, operands: Sequence[Interval], wholes: Sequence[bool]) -> bool:
    arg = operands[-1]
    match node:
        case n.Div() | n.FloorDiv() | n.Mod():
            return not arg.low <= 0 <= arg.high
        case n.Sqrt():
            return arg.low >= 0 and arg.high < math.inf
        case n.Log():
            return arg.low > 0 and arg.high < math.inf
        case n.Log1p():
            return arg.low > -1 and arg.high < math.inf
        case n.Exp() | n.Expm1():
            return arg.high <= LARGEST_EXPONENT
        case n.Item(table, index):
            whole = bool(wholes) and wholes[index]
            return arg.low >= 0 and arg.high <= len(table) - 1 and (whole or _point(arg))
    return arg.finite


def _outside(node: n.Node, operands: Sequence[Interval]) -> bool:
    arg = operands[-1]
    match node:
        case n.Div() | n.FloorDiv() | n.Mod():
            return arg.low == arg.high == 0
        case n.Sqrt():
            return arg.high < 0
        case n.Log():
            return arg.high <= 0
        case n.Log1p():
            return arg.high <= -1
        case n.Exp() | n.Expm1():
            return arg.low > LARGEST_EXPONENT
        case n.Item(table):
            return arg.high < 0 or arg.low > len(table) - 1 or (arg.low == arg.high and not arg.low.is_integer())
    return arg.low == math.inf or arg.high == -math.inf


def _point(arg: Interval) -> bool:
    return arg.low == arg.high and arg.low.is_integer()


def whole_nodes(program: Program, ranges: bool, looked_up: bool) -> list[bool]:
    """Return for each node whether it is surely a whole number."""
    found: list[bool] = []
    for node in program.nodes:
        operands = [found[at] for at in n.operands(node)]
        match node:
            case n.Const(value):
                found.append(float(value).is_integer())
            case n.Input(name):
                field = program.inputs[name]
                checked = ranges and name not in program.terminal
                listed = bool(field.numbers) and all(number.is_integer() for number in field.numbers)
                known = field.kind == "flag" or (looked_up and field.kind == "category")
                found.append(known or (checked and (field.kind == "category" or listed)))
            case n.Add() | n.Sub() | n.Mul() | n.Min() | n.Max() | n.Neg() | n.Abs():
                found.append(all(operands))
            case n.Floor() | n.Ceil() | n.Round() | n.Number():
                found.append(True)
            case _:
                found.append(False)
    return found
