"""Statements that are no assignment and return nothing: what changes a value is read, what only reports is left out."""

import ast

from plaudit.language.reading.advice import explain_unsupported
from plaudit.language.reading.assignments import call_in_place
from plaudit.language.reading.context import Context
from plaudit.language.reading.flow import runs
from plaudit.language.reading.methods import run_method
from plaudit.language.reading.values import is_record


@runs(ast.Expr)
def _run_expression(context: Context, statement: ast.Expr) -> None:
    """Read a call that changes a list or dict in place, or whose function assigns; leave out one that only reports."""
    call = statement.value
    if isinstance(call, ast.Call) and (call_in_place(context, call) or _run_own(context, call)):
        return
    raise context.error(statement, *explain_unsupported(statement))


def _run_own(context: Context, call: ast.Call) -> bool:
    if not isinstance(call.func, ast.Attribute) or not isinstance(call.func.value, ast.Name):
        return False
    base = context.names.get(call.func.value.id)
    return base is not None and is_record(base) and run_method(context, base, call)
