"""Which numbers an array can hold, and what becomes of a value that is written into it.

A reward knows floats and bools. NumPy and PyTorch know integers too: what is written into an array of integers loses
what follows the decimal point, and in an array of bools everything but 0 is True.
"""

import ast
import re
from collections.abc import Iterable
from dataclasses import replace

from plaudit.errors import ReadError
from plaudit.language import nodes as n
from plaudit.language.field import to_number
from plaudit.language.kinds import FLAG, NUMBER
from plaudit.language.program import find_reachable
from plaudit.language.reading.arithmetic import apply_function
from plaudit.language.reading.context import Context
from plaudit.language.reading.entrywise import cast_entry, truncate
from plaudit.language.reading.expressions import add_number, spread
from plaudit.language.reading.integers import KEEPING, list_assumed, may_be_integer
from plaudit.language.reading.values import Constant, Ref, Value, find_kind

BOOL, INTEGER, FLOAT = "bool", "int", "float"


def find_dtype(context: Context, entries: list[Value]) -> str:
    """Return what an array of these entries holds; integers where all of them may be integers."""
    if not entries or any(find_kind(entry) not in (FLAG, NUMBER) for entry in entries):
        return ""
    if all(find_kind(entry) == FLAG for entry in entries):
        return BOOL
    return INTEGER if all(may_be_integer(context, entry) for entry in entries) else FLOAT


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
    if (dtype == BOOL and not flag) or (dtype == INTEGER and not may_be_integer(context, value)):
        stored = "True or False" if dtype == BOOL else "the integer towards 0"
        what = f"this array may hold {dtype}s, and then {stored} is stored of the number that is written here."
        advice = f"Make it an array of floats where it is made: 1.0 * v, or np.zeros(3).{_doubt_example(context)}"
        raise context.error(node, what, advice)
    return replace(value) if isinstance(value, Ref) else value


def _doubt_example(context: Context) -> str:
    """Return what to write where an example has integers, and rows have floats."""
    names = list(dict.fromkeys(field.name for field in context.inputs.values() if field.integers))
    if not names:
        return ""
    verb, them = ("are", "them") if len(names) > 1 else ("is", "it")
    few = ", ".join(map(repr, names[:3])) + (" …" if len(names) > 3 else "")
    return f" In the example {few} {verb} of integers: where rows hold floats, write {them} so, 1.0."


def cast_dtype(context: Context, dtype: str, value: Value, node: ast.AST) -> Value:
    """Return an array with another dtype; entries that have it are the same."""

    def cast(entry: Value) -> Value:
        if dtype != FLOAT or not (isinstance(entry, Ref) and entry.kind == NUMBER):
            return fit_entry(context, dtype, entry, node)
        if not list_assumed(context, entry):
            return entry
        return Ref(context.add(n.Mul(entry.at, context.builder.const(1.0))), NUMBER)  # no integer from here on

    return spread(context, cast, value, node=node)


def cast_integers(context: Context, dtype: str, value: Value, node: ast.AST) -> Value:
    """Return an array with a dtype of integers: bools count 1 and 0, and numbers are cut off towards 0, as `int(x)` is.

    A row whose number is beyond every integer of that dtype is bad.
    """
    bits = int(re.sub(r"\D", "", dtype) or 64)

    def cast(entry: Value) -> Value:
        known = to_number(entry.value) if isinstance(entry, Constant) else None
        if known is not None and 0 <= known < 2 ** (bits - 1):
            return Constant(int(known))
        if find_kind(entry) == FLAG:
            found = fit_entry(context, INTEGER, entry, node)
            if dtype.startswith("u") and isinstance(found, Ref):
                context.unsigned.setdefault(found.at, _make_wrapping_error(context, dtype, node))
            return found
        if dtype.startswith("u") or bits < 32:
            advice = "Convert it to int64, or write np.trunc(x)."
            raise context.error(node, f"a number may be beyond every integer of the dtype {dtype}.", advice)
        if may_be_integer(context, entry) and not list_assumed(context, entry):
            return entry
        whole = truncate(context, node, entry)
        size, most = add_number(context, apply_function(context, node, n.Abs, whole), node), float(2 ** (bits - 1))
        context.require(context.add(n.Lt(size, context.builder.const(most))), f"is beyond every {dtype}", node)
        return whole

    return spread(context, cast, value, node=node)


def _make_wrapping_error(context: Context, dtype: str, node: ast.AST) -> ReadError:
    what = f"integers of the dtype {dtype} are subtracted further down, and below 0 they start again at the largest."
    return context.error(node, what, "Convert to int or float instead.")


def refuse_wrapping(context: Context, roots: Iterable[int]) -> None:
    """Refuse differences of integers without a sign; 1 less a bool is never below 0."""
    if not context.unsigned:
        return
    nodes = context.builder.nodes
    found: dict[int, ReadError] = dict(context.unsigned)
    for at in find_reachable(tuple(nodes), roots):
        node = nodes[at]
        operands = n.operands(node)[isinstance(node, n.Select) :]
        errors = [found[each] for each in operands if each in found]
        if not isinstance(node, KEEPING) or not errors or not may_be_integer(context, Ref(at, NUMBER)):
            continue
        found[at] = errors[0]
        if isinstance(node, n.Neg) or (isinstance(node, n.Sub) and not _is_one_less_bool(context, node)):
            raise errors[0]


def _is_one_less_bool(context: Context, node: n.Sub) -> bool:
    first = context.builder.nodes[node.left]
    return node.right in context.unsigned and isinstance(first, n.Const) and first.value >= 1
