"""Which numbers an array can hold, and what becomes of a value that is written into it.

A reward knows floats and bools. NumPy and PyTorch know integers too: what is written into an array of integers loses
what follows the decimal point, and in an array of bools everything but 0 is True.
"""

import ast
from dataclasses import replace

from plaudit.language import nodes as n
from plaudit.language.field import to_number
from plaudit.language.kinds import FLAG, NUMBER
from plaudit.language.reading.context import Context
from plaudit.language.reading.entrywise import cast_entry
from plaudit.language.reading.expressions import add_number, spread
from plaudit.language.reading.inputs import OTHER_ROW
from plaudit.language.reading.values import Constant, Ref, Value, find_kind

BOOL, INTEGER, FLOAT = "bool", "int", "float"

_KEEPING = (n.Add, n.Sub, n.Mul, n.FloorDiv, n.Mod, n.Power, n.Min, n.Max, n.Neg, n.Abs, n.Sign, n.Select)
"""What gives an integer where all its operands are integers."""


def find_dtype(context: Context, entries: list[Value]) -> str:
    """Return what an array of these entries holds; integers where all of them may be integers."""
    if not entries or any(find_kind(entry) not in (FLAG, NUMBER) for entry in entries):
        return ""
    if all(find_kind(entry) == FLAG for entry in entries):
        return BOOL
    return INTEGER if all(_may_be_integer(context, entry) for entry in entries) else FLOAT


def fit_entry(context: Context, dtype: str, value: Value, node: ast.AST) -> Value:
    """Return a value as an array of a dtype holds it, as an entry of its own."""
    known = to_number(value.value) if isinstance(value, Constant) else None
    flag = find_kind(value) == FLAG
    if dtype == FLOAT and (flag or known is not None):
        return cast_entry(context, node, value)
    if dtype == BOOL and known is not None:
        return Constant(bool(known))
    if dtype == INTEGER and known is not None and known % 1 == 0:
        return Constant(int(known))
    if dtype == INTEGER and flag:
        return Ref(add_number(context, value, node), NUMBER)
    if (dtype == BOOL and not flag) or (dtype == INTEGER and not _may_be_integer(context, value)):
        stored = "True or False" if dtype == BOOL else "the integer towards 0"
        what = f"this array may hold {dtype}s, and then {stored} is stored of the number that is written here."
        raise context.error(node, what, "Make it an array of floats where it is made: 1.0 * v, or np.zeros(3).")
    return replace(value) if isinstance(value, Ref) else value


def cast_dtype(context: Context, dtype: str, value: Value, node: ast.AST) -> Value:
    """Return an array with another dtype; entries that have it are the same."""

    def cast(entry: Value) -> Value:
        computed = isinstance(entry, Ref) and entry.kind == NUMBER
        return entry if dtype == FLOAT and computed else fit_entry(context, dtype, entry, node)

    return spread(context, cast, value, node=node)


def _may_be_integer(context: Context, value: Value) -> bool:
    """Return whether a number may be an integer to NumPy: a count, a constant, or what is computed of such alone."""
    if isinstance(value, Constant):
        return isinstance(value.value, int)
    if not isinstance(value, Ref):
        return False
    known, waiting = context.integers, [value.at]
    while waiting:
        node = context.builder.nodes[waiting[-1]]
        operands = n.operands(node)[isinstance(node, n.Select) :] if isinstance(node, _KEEPING) else ()
        unknown = [each for each in operands if each not in known]
        if unknown:
            waiting += unknown
            continue
        known[waiting.pop()] = all(known[each] for each in operands) if operands else _is_integer(context, node)
    return known[value.at]


def _is_integer(context: Context, node: n.Node) -> bool:
    match node:
        case n.Const(value):
            return isinstance(value, int)
        case n.Param(name):
            return _are_integers(context.scope.params.get(name.partition("[")[0], 0.0))
        case n.Input(name):
            field = context.inputs.get(name.partition(OTHER_ROW)[0])
            return field is not None and field.is_integer
        case n.Item(entries, _):
            return all(float(each).is_integer() for each in entries)
    return isinstance(node, n.Number | n.Floor | n.Ceil | n.Round) or node.flag


def _are_integers(value: object) -> bool:
    """Return whether a parameter is an integer, or consists of integers."""
    return all(map(_are_integers, value)) if isinstance(value, tuple) else isinstance(value, int)
