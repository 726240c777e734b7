"""Statements that are a call alone, for what it changes or assigns, and `del`."""

import ast
import types

from plaudit.language.reading.advice import explain_unsupported
from plaudit.language.reading.assignments import call_in_place, delete_key
from plaudit.language.reading.changes import read_changes
from plaudit.language.reading.context import Context
from plaudit.language.reading.dropped import Dropped, drop, find_report, find_written, is_change, list_arguments
from plaudit.language.reading.effects import resolve
from plaudit.language.reading.flow import runs
from plaudit.language.reading.helpers import read_helper
from plaudit.language.reading.methods import run_method
from plaudit.language.reading.source import is_standard
from plaudit.language.reading.values import Unassigned, format_part, is_record


@runs(ast.Expr)
def _run_expression(context: Context, statement: ast.Expr) -> None:
    """Read a call for what it changes or assigns; drop one that only reports, but for what its arguments assign."""
    call = statement.value
    if isinstance(call, ast.Call):
        if call_in_place(context, call) or _run_own(context, call):
            return
        if (found := find_report(context, statement, call)) is not None:
            read_changes(context, call.func)
            for argument in list_arguments(call):
                read_changes(context, argument, is_change)
            drop(context, found)
            return
    raise context.error(statement, *explain_unsupported(statement))


def _run_own(context: Context, call: ast.Call) -> bool:
    """Read a method of the same class, or a helper, for what it assigns; return whether the call is one."""
    if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name):
        base = context.names.get(call.func.value.id)
        if base is not None and is_record(base) and run_method(context, base, call):
            return True
    called = resolve(call.func, context.find)
    if not isinstance(called, types.FunctionType) or is_standard(called) or context.source.is_library_call(called):
        return False
    read_helper(context, called, call, needed=False)
    return True


@runs(ast.Delete)
def _run_deletion(context: Context, statement: ast.Delete) -> None:
    """Read `del x`: from here on there is no such name, attribute or entry."""
    for target in statement.targets:
        name = _find_deleted(context, target)
        if name:
            context.names[name] = Unassigned(f"`{name}` is deleted above.", "Read it before, or drop the `del`.")
            drop(context, Dropped(statement))
        elif isinstance(target, ast.Subscript) and (written := find_written(context, target, statement)) is not None:
            read_changes(context, target)
            drop(context, written)
        elif not (isinstance(target, ast.Subscript) and delete_key(context, target)):
            raise context.error(target, *explain_unsupported(statement))


def _find_deleted(context: Context, target: ast.expr) -> str:
    """Return the name that `del` removes, of a local or of a part of a record."""
    if isinstance(target, ast.Name):
        context.read(target)
        return target.id
    base = context.read(target.value) if isinstance(target, ast.Attribute) else None
    if base is not None and is_record(base):
        return format_part(base, target.attr)  # type: ignore[attr-defined]  # an attribute
    return ""
