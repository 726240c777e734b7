"""Which numbers are integers to NumPy and PyTorch, and what their arithmetic does to those of a small dtype.

A number is an integer if it is a count, an integer constant, what a field lists, what an example has as one, or what is
computed of such alone. An example may be careless, `{"speed": 0}`, and rows hold 0.5 all the same: so it decides what
is refused, and what only integers have needs a row with one.
"""

import ast
from collections.abc import Iterator

from plaudit.language import nodes as n
from plaudit.language.field import INTEGER_DTYPE, Field
from plaudit.language.reading.context import Context
from plaudit.language.reading.inputs import OTHER_ROW
from plaudit.language.reading.values import Constant, Ref, Value

KEEPING = (n.Add, n.Sub, n.Mul, n.FloorDiv, n.Mod, n.Power, n.Min, n.Max, n.Neg, n.Abs, n.Sign, n.Select)
"""What gives an integer where all its operands are integers."""

_LOSING = {ast.Sub: 64, ast.USub: 64, ast.Invert: 64, ast.Add: 16, ast.Mult: 16, ast.Pow: 16, ast.LShift: 16}
"""Operations that leave what a dtype without a sign holds, by the widest one for which that is likely."""


def may_be_integer(context: Context, value: Value) -> bool:
    """Return whether a number may be an integer to NumPy: a count, a constant, or what is computed of such alone."""
    if isinstance(value, Constant):
        return isinstance(value.value, int)
    if not isinstance(value, Ref):
        return False
    known, waiting = context.integers, [value.at]
    while waiting:
        node = context.builder.nodes[waiting[-1]]
        operands = _list_operands(node)
        unknown = [each for each in operands if each not in known]
        if unknown:
            waiting += unknown
            continue
        known[waiting.pop()] = all(known[each] for each in operands) if operands else _is_integer(context, node)
    return known[value.at]


def find_field(context: Context, node: n.Node) -> Field | None:
    """Return the field that an input is of, perhaps of another row of a batch."""
    return context.inputs.get(node.name.partition(OTHER_ROW)[0]) if isinstance(node, n.Input) else None


def list_assumed(context: Context, value: Value) -> list[int]:
    """Return the inputs that make a number an integer because an example has integers there."""
    return [at for at, field in _list_fields(context, value) if field is not None and _is_assumed(field)]


def refuse_overflow(context: Context, op: ast.operator | ast.unaryop, values: tuple[Value, ...], node: ast.AST) -> None:
    """Refuse arithmetic of integers without a sign, or of few bits, whose result their dtype may not hold."""
    most = _LOSING.get(type(op), 0)
    if not most or not any(field.integers for field in context.inputs.values()):
        return
    if not all(may_be_integer(context, value) for value in values):
        return
    found = [field for value in values for _, field in _list_fields(context, value)]
    small = [field for field in found if field is not None and _is_small(field, most)]
    if not small or len(small) < len(found):
        return
    name, dtype = small[0].name, small[0].integers
    what = f"{name!r} has the dtype {dtype}, and a result that it does not hold wraps around: 3 - 5 is 254 in uint8."
    raise context.error(node, what, f"Convert first: {name}.astype(float), {name}.float() or float({name}).")


def _is_small(field: Field, most: int) -> bool:
    """Return whether arithmetic leaves the dtype of a field: one without a sign, or one of few bits."""
    match = INTEGER_DTYPE.fullmatch(field.integers)
    return match is not None and int(match[2]) <= (most if match[1] else 16)


def _is_assumed(field: Field) -> bool:
    return bool(field.integers) and not field.is_integer


def _list_fields(context: Context, value: Value) -> Iterator[tuple[int, Field | None]]:
    """Yield the nodes that an integer is computed of, each with its field; neither constants nor flags."""
    waiting = [value.at] if isinstance(value, Ref) else []
    seen = set(waiting)
    for at in waiting:  # which grows meanwhile
        node = context.builder.nodes[at]
        new = [each for each in _list_operands(node) if each not in seen]
        seen.update(new)
        waiting += new
        if not _list_operands(node) and not isinstance(node, n.Const | n.Number | n.Param) and not node.flag:
            yield at, find_field(context, node)


def _list_operands(node: n.Node) -> tuple[int, ...]:
    """Return what decides whether a number is an integer."""
    return n.operands(node)[isinstance(node, n.Select) :] if isinstance(node, KEEPING) else ()


def _is_integer(context: Context, node: n.Node) -> bool:
    match node:
        case n.Const(value):
            return isinstance(value, int)
        case n.Param(name):
            return _are_integers(context.scope.params.get(name.partition("[")[0], 0.0))
        case n.Input():
            field = find_field(context, node)
            return field is not None and (field.is_integer or bool(field.integers))
        case n.Item(entries, _):
            return all(float(each).is_integer() for each in entries)
    return isinstance(node, n.Number | n.Floor | n.Ceil | n.Round) or node.flag


def _are_integers(value: object) -> bool:
    """Return whether a parameter is an integer, or consists of integers."""
    return all(map(_are_integers, value)) if isinstance(value, tuple) else isinstance(value, int)
