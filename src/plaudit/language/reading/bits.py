"""Bits of integers: shifts by a constant, and `&`, `|` and `^` with a constant, written out as arithmetic.

`x >> 3` is `floor(x / 8)` and `x & 1` is `x % 2`, for negative integers too: dividing by a power of two is exact.
An integer is what a field lists, what an example has as one, what `int` gives, and what is computed of such; other
numbers have no bits.
"""

import ast
import operator
from collections.abc import Callable, Mapping
from functools import reduce

from plaudit.language import nodes as n
from plaudit.language.field import to_number
from plaudit.language.kinds import FLAG, NUMBER, UNKNOWN
from plaudit.language.reading.advice import explain_unsupported
from plaudit.language.reading.context import Context
from plaudit.language.reading.expressions import add_number
from plaudit.language.reading.inputs import refuse_record
from plaudit.language.reading.integers import find_field, list_assumed, refuse_overflow
from plaudit.language.reading.values import Constant, Ref, Value, find_kind, find_open

NO_INTEGER = "takes the bits of a number that is no integer"
"""What is wrong with a row whose number is no integer although that of the example is."""
MOST_BITS = 32
"""How many bits a constant may have, and by how many one may shift."""

_PYTHON: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
BIT_OPERATORS = tuple(_PYTHON)


def apply_bits(context: Context, op: ast.operator, left: Value, right: Value, node: ast.AST) -> Value:
    """Return `>>`, `<<`, `&`, `|` or `^` of two integers, one of which is a constant: of a shift, the right one."""
    for value in (left, right):
        refuse_record(context, value, node)
    if any(find_kind(value) not in (FLAG, NUMBER, UNKNOWN) for value in (left, right)):
        raise context.error(node, *explain_unsupported(op))
    known = [to_number(value.value) if isinstance(value, Constant) else None for value in (left, right)]
    if any(isinstance(number, float) for number in known):
        raise context.error(node, *explain_unsupported(op))
    if (unknown := find_open(left, right)) is not None:
        return unknown
    refuse_overflow(context, op, (left, right), node)
    shift = isinstance(op, ast.LShift | ast.RShift)
    if known[0] is not None and not shift:
        left, right, known = right, left, known[::-1]
    mask = known[1]
    if mask is None:
        for value in (left, right):
            _add_integer(context, op, value, node)
        advice = "Write a constant: x >> 2, x & 1. Otherwise compute it before scoring."
        raise context.error(node, "the bits of two numbers that depend on data cannot be read.", advice)
    at = 0 if known[0] is not None else _add_integer(context, op, left, node)
    if not 0 <= mask < (MOST_BITS + 1 if shift else 2**MOST_BITS):
        raise context.error(node, f"bits from 0 to {MOST_BITS} can be read.", "Compute it before scoring.")
    if known[0] is not None:
        return Constant(_PYTHON[type(op)](int(known[0]), int(mask)))
    return Ref(_write_out(context, op, at, int(mask)), NUMBER)


def invert(context: Context, value: Value, node: ast.AST) -> Value:
    """Return `~x` of an integer, which is `-x - 1`."""
    refuse_overflow(context, ast.Invert(), (value,), node)
    at = context.add(n.Neg(_add_integer(context, ast.Invert(), value, node)))
    return Ref(context.add(n.Sub(at, context.builder.const(1))), NUMBER)


def _write_out(context: Context, op: ast.operator, at: int, mask: int) -> int:
    def const(number: int) -> int:
        return context.builder.const(number)

    match op:
        case ast.RShift():
            return _shift(context, at, mask)
        case ast.LShift():
            return context.add(n.Mul(at, const(2**mask)))
        case ast.BitOr():
            both = _write_out(context, ast.BitAnd(), at, mask)
            return context.add(n.Sub(context.add(n.Add(at, const(mask))), both))
        case ast.BitXor():
            both = context.add(n.Mul(const(2), _write_out(context, ast.BitAnd(), at, mask)))
            return context.add(n.Sub(context.add(n.Add(at, const(mask))), both))
    bits = [bit for bit in range(mask.bit_length()) if mask >> bit & 1]
    if mask & (mask + 1) == 0:  # all bits up to one: 1, 3, 7
        return context.add(n.Mod(at, const(mask + 1))) if mask else const(0)
    kept = [context.add(n.Mod(_shift(context, at, bit), const(2))) for bit in bits]
    return reduce(
        lambda total, part: context.add(n.Add(total, part)),
        [context.add(n.Mul(part, const(2**bit))) if bit else part for part, bit in zip(kept, bits, strict=True)],
    )


def _shift(context: Context, at: int, bits: int) -> int:
    return context.add(n.Floor(context.add(n.Div(at, context.builder.const(2**bits))))) if bits else at


def _add_integer(context: Context, op: ast.operator | ast.unaryop, value: Value, node: ast.AST) -> int:
    """Return the position of an integer."""
    at = add_number(context, value, node)
    if not _is_integer(context, at):
        raise context.error(node, *explain_unsupported(op))
    for each in list_assumed(context, Ref(at, NUMBER)):
        whole = context.add(n.Eq(each, context.add(n.Floor(each))))
        if all(guard.node != whole for guard in context.guards):
            context.require(whole, NO_INTEGER, node)
    return at


def _is_integer(context: Context, at: int) -> bool:
    match context.builder.nodes[at]:
        case n.Input():
            field = find_field(context, context.builder.nodes[at])
            return field is not None and (field.is_integer or bool(field.integers))
        case n.Floor() | n.Ceil() | n.Round() | n.Number():
            return True
        case n.Neg(operand):
            return _is_integer(context, operand)
        case n.Select(_, left, right):
            return _is_integer(context, left) and _is_integer(context, right)
        case n.Mod(left, right) | n.Mul(left, right) | n.Add(left, right) | n.Sub(left, right):
            return _is_integer(context, left) and _is_integer(context, right)
        case n.Min(left, right) | n.Max(left, right):
            return _is_integer(context, left) and _is_integer(context, right)
        case n.Const(number):
            return float(number).is_integer()
    return False
