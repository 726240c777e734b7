"""Values that may be undefined and that a row may drop: which rows need them, and what turns warnings off.

Under `with np.errstate(...)` or `warnings.catch_warnings()` an author divides by zero on purpose, and then chooses
another value with `np.where`. A constant infinity does the same: `tolerance(x, bounds=(1.0, inf))` computes a distance
from infinity and drops it. There a row is bad only if the undefined value counts: if it reaches the result, or decides
anything.
"""

import ast
from collections.abc import Iterable
from dataclasses import replace

from plaudit.language import nodes as n
from plaudit.language.reading.advice import find_whole_name
from plaudit.language.reading.context import Context
from plaudit.language.reading.values import Constant

_QUIETER = ("numpy.errstate", "warnings.catch_warnings")


def settle_doubts(context: Context, results: Iterable[int]) -> None:
    """Let each guard of a value that a row may drop hold only where the value counts."""
    if not any(each.dropped for each in context.partial):
        return
    doubts = _list_doubts(context)
    certain = [guard.node for at, guard in enumerate(context.guards) if at not in doubts]
    counts = _find_where_it_counts(context, [*results, *certain, *context.looked_at])
    for at, value in doubts.items():
        flag = counts.get(value, False)
        if not isinstance(flag, bool):
            guard = context.guards[at]
            context.guards[at] = replace(guard, node=context.add(n.Or(context.add(n.Not(flag)), guard.node)))
    context.guards = [guard for at, guard in enumerate(context.guards) if at not in doubts or doubts[at] in counts]
    context.partial = []


def _list_doubts(context: Context) -> dict[int, int]:
    """Return the guards of values that a row may drop, or that are computed from such values, with these values."""
    doubtful = {each.node for each in context.partial if each.dropped}
    for at, node in enumerate(context.builder.nodes):
        if not doubtful.isdisjoint(n.operands(node)):
            doubtful.add(at)
    return {each.guard: each.node for each in context.partial if each.node in doubtful}


def _find_where_it_counts(context: Context, roots: list[int]) -> dict[int, int | bool]:
    """Return for each node that `roots` need where its value makes a difference: a flag, or True."""
    counts: dict[int, int | bool] = dict.fromkeys(roots, True)
    for at in range(max(roots, default=-1), -1, -1):
        here = counts.get(at, False)
        if here is False:
            continue
        match context.builder.nodes[at]:
            case n.Select(test, then, otherwise):
                _count(context, counts, test, here)
                _count(context, counts, then, _narrow(context, here, test))
                _count(context, counts, otherwise, _narrow(context, here, context.add(n.Not(test))))
            case n.And(left, right):
                _count(context, counts, left, here)
                _count(context, counts, right, _narrow(context, here, left))
            case n.Or(left, right):
                _count(context, counts, left, here)
                _count(context, counts, right, _narrow(context, here, context.add(n.Not(left))))
            case node:
                for operand in n.operands(node):
                    _count(context, counts, operand, here)
    return counts


def _narrow(context: Context, here: int | bool, flag: int) -> int:
    return flag if here is True else context.add(n.And(int(here), flag))


def _count(context: Context, counts: dict[int, int | bool], at: int, flag: int | bool) -> None:
    known = counts.get(at, False)
    if known is False or flag is True:
        counts[at] = flag
    elif known is not True and known != flag:
        counts[at] = context.add(n.Or(known, int(flag)))


def turns_warnings_off(context: Context, manager: ast.expr) -> bool | None:
    """Return whether a `with` turns off the warnings of undefined operations; None where it does anything else."""
    if not isinstance(manager, ast.Call):
        return None
    called = context.read(manager.func)
    if not isinstance(called, Constant) or find_whole_name(called.value) not in _QUIETER:
        return None
    return all(ast.unparse(each.value) != "'raise'" for each in manager.keywords)


def drop_filters(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return statements without those that say which warnings are shown."""
    kept = [each for each in body if not _is_filter(each)]
    return kept or [ast.copy_location(ast.Pass(), body[0])]


def _is_filter(statement: ast.stmt) -> bool:
    name = ast.unparse(statement.value.func) if _is_call(statement) else ""  # type: ignore[attr-defined]
    return name.rpartition(".")[2] in ("filterwarnings", "simplefilter")


def _is_call(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
