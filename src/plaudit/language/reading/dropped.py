"""Statements that make no difference to the number are dropped, with a note that names each.

They print, log or warn, or put something into what is not a field: `info["seen"] = x`. If the function itself reads
further down what it has put there, that is refused there.
"""

import ast
from typing import NamedTuple

from plaudit.errors import PlauditError
from plaudit.language.field import RECORDS
from plaudit.language.reading.changes import may_change_here
from plaudit.language.reading.context import Context, Path
from plaudit.language.reading.effects import FILLING, SPECIAL, changes_something, is_reporting
from plaudit.language.reading.owners import MISSING, find_member, has_setter, has_special
from plaudit.language.reading.paths import find_declared, list_part_names
from plaudit.language.reading.values import Constant, Record, Ref, Unassigned, Undeclared

BUFFERS = ("rew_buf", "reward_buf", "rewards", "reward")
"""Where functions of simulations that return nothing leave the reward, a float: `self.rew_buf[:] = ...`."""

_ANY = "*"
"""Stands for any key."""

_NEW = {"clone", "copy", "deepcopy", "item", "mean", "norm", "sum", "tolist"}
"""Methods that return something that shares nothing with what they belong to."""


class Dropped(NamedTuple):
    """A statement that is dropped, and what it changes."""

    statement: ast.stmt
    container: Path = ()
    """The path of what it changes; empty if it changes nothing."""
    key: str = ""
    """The only entry that it changes; an empty string if it may be any."""
    put: tuple[ast.expr, ...] = ()
    """What it puts there."""
    names: tuple[str, ...] = ()
    """Local names that it assigns."""


def drop_statement(context: Context, statement: ast.stmt) -> bool:
    """Drop a statement that makes no difference to the number; return whether it is one."""
    found = _find_dropped(context, statement)
    if found is None:
        return False
    mention_fields(context, statement)
    for each in found:
        drop(context, each)
    return True


def drop(context: Context, dropped: Dropped) -> None:
    """Drop a statement with a note; from here on, what it changes cannot be read."""
    context.counts["dropped"] += 1
    statement, container, key, put, names = dropped
    text = _shorten(statement)
    for name in names:
        why = f"{name!r} is assigned by a loop that makes no difference to the score."
        context.names[name] = Unassigned(why, "Assign it above the loop, or use it inside.")
    mention_fields(context, statement)
    if container:
        context.counts["written"] += 1
        where = f"`{text}` in line {getattr(statement, 'lineno', 0)}"
        if context.scope.fields is not None and any(_may_share(context, each) for each in put):
            context.kept.append((*container, key or _ANY))
        context.written.update(dict.fromkeys([(*container, key), (*container, "()")] if key else [container], where))
    if not names:
        context.note(statement, f"`{text}` is dropped: it makes no difference to the score.")


def mention_fields(context: Context, statement: ast.AST) -> None:
    """Remember, while no field is declared, what those may be called that a statement mentions."""
    for node in ast.walk(statement) if context.scope.fields is None else ():
        if isinstance(node, ast.Attribute | ast.Subscript) and (path := find_container(context, node)) is not None:
            context.mentioned.update(list_part_names(path))


def find_written(
    context: Context, target: ast.Subscript, statement: ast.stmt, put: tuple[ast.expr, ...] = ()
) -> Dropped | None:
    """Return what assigning to an item changes, where that may be dropped: it is not a field, nor made here."""
    container = None if fills_part(context, target) else find_container(context, target.value)
    own = container == (context.receiver,)
    if container is None or (own and has_special(context.owner, "__setitem__", "__delitem__")):
        return None
    key = _find_key(context, target.slice)
    entry = (*container, _ANY if key is None else str(key))
    in_place = isinstance(statement, ast.AugAssign)  # it may change the entry itself
    if _may_be_shared(context, container) or (in_place and _may_be_shared(context, entry)):
        return None
    return Dropped(statement, *_cut(container, key), put)


def _may_be_shared(context: Context, path: Path) -> bool:
    """Return whether what a path leads to may be, or belong to, a value that the function goes on to read."""
    for each in context.kept:
        if len(path) >= len(each) and all(_ANY in pair or pair[0] == pair[1] for pair in zip(path, each, strict=False)):
            return True
    return False


def _may_share(context: Context, node: ast.expr) -> bool:
    """Return whether the value of an expression may share entries with one that has a name."""
    match node:
        case ast.Name(id=name):
            value = context.names.get(name)
            return value is not None and not isinstance(value, Constant | Ref)
        case ast.BinOp() | ast.UnaryOp() | ast.Compare() | ast.JoinedStr() | ast.Constant():
            return False
        case ast.Call(func=ast.Name(id="float" | "int" | "bool" | "str" | "len")):
            return False
        case ast.Call(func=ast.Attribute(value=inner, attr=name)) if name in _NEW:
            return name == "copy" and ast.unparse(inner) == "copy" and any(_may_share(context, x) for x in node.args)
    return any(_may_share(context, each) for each in ast.walk(node) if isinstance(each, ast.Name))


def _cut(container: Path, key: str | int | None) -> tuple[Path, str]:
    """Return the path up to the first index: another index may mean the same entry."""
    at = next((at for at, part in enumerate(container) if part.lstrip("-").isdigit()), None)
    if at is not None:
        return container[:at], ""
    return container, key if isinstance(key, str) else ""


def fills_part(context: Context, target: ast.expr) -> bool:
    """Return whether a target is all entries of an attribute that is a field, or a buffer: `self.rew_buf[:]`."""
    part = target.value if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Attribute) else None
    if part is None or ast.unparse(target.slice) not in (":", "..."):  # type: ignore[attr-defined]  # a subscript
        return False
    return context.scope.fields is None or part.attr in BUFFERS or find_container(context, part) is None


def find_container(context: Context, node: ast.expr) -> Path | None:
    """Return the path of something that is no field and that the function did not make, such as `self.extras`."""
    match node:
        case ast.Name(id=name):
            value = context.names.get(name)
        case ast.Attribute(value=inner, attr=attr):
            path = find_container(context, inner)
            if path is None or (path == (context.receiver,) and has_setter(context.owner, attr)):
                return None
            path = (*path, attr)
            value = context.names.get(".".join(path), Record(path))
        case ast.Subscript(value=inner, slice=index):
            path, key = find_container(context, inner), _find_key(context, index)
            if path is None or key is None:
                return None
            value = Record((*path, str(key)))
        case _:
            return None
    if not isinstance(value, Record | Undeclared) or not value.path or value.path[0] in RECORDS:
        return None
    declared = len(value.path) > 1 and context.scope.fields is not None and find_declared(context, value.path)
    return None if declared else value.path


def _find_filled(context: Context, call: ast.Call) -> Path | None:
    """Return the path of what `self.history.append(x)` changes, where that may be dropped; None for other calls."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in FILLING:
        return None
    container = find_container(context, call.func.value)
    return None if container is None or _may_be_shared(context, container) else container


def find_report(context: Context, statement: ast.Expr, call: ast.Call) -> Dropped | None:
    """Return what a call changes that only reports, or fills something that is not a field; None for other calls."""
    if (filled := _find_filled(context, call)) is not None:
        return Dropped(statement, *_cut(filled, None), put=tuple(list_arguments(call)))
    return Dropped(statement) if _is_report(context, call) else None


def _is_report(context: Context, call: ast.Call) -> bool:
    """Return whether a call only prints, logs or warns, and is no method of the class whose method is read."""
    return is_reporting(call, context.find) and not _is_own(context, call.func)


def _is_own(context: Context, called: ast.expr) -> bool:
    """Return whether something is an attribute of the class whose method is read."""
    if context.owner is None or not isinstance(called, ast.Attribute):
        return False
    own = find_container(context, called.value) == (context.receiver,)
    return own and find_member(context.owner, called.attr) is not MISSING


def is_harmless_here(context: Context, node: ast.AST) -> bool:
    """Return whether an expression changes nothing; a method of a record is a field, and changes nothing either."""
    return not any(is_change(context, each) for each in ast.walk(node))


def is_change(context: Context, node: ast.AST) -> bool:
    """Return whether a part of an expression, by itself, may change something."""
    if may_change_here(context, node):
        return True
    return changes_something(node, context.find) and not _is_record_call(context, node)


def _is_record_call(context: Context, node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    name = node.func.attr
    changes = name in FILLING | SPECIAL or (name.endswith("_") and not name.endswith("__"))
    return not changes and find_container(context, node.func.value) is not None and not _is_own(context, node.func)


def _find_dropped(context: Context, statement: ast.stmt) -> list[Dropped] | None:
    """Return the statements within one that are dropped with it; None if it may make a difference."""
    parts: list[ast.expr] = []
    targets: list[ast.expr] = []
    found: list[Dropped] = []
    match statement:
        case ast.Pass() | ast.Expr(value=ast.Constant(value=str())):
            pass
        case ast.Expr(value=ast.Call() as call):
            if any(may_change_here(context, each) for each in ast.walk(call.func)):
                return None
            parts = list_arguments(call)
            if (reported := find_report(context, statement, call)) is None:
                return None
            found = [reported]
        case ast.Assign(targets=targets, value=value):
            parts = [value, *targets]
        case ast.AugAssign(target=target, value=value):
            targets = [target]
            parts = [value, target]
        case ast.Delete(targets=targets):
            parts = targets
        case ast.If(test=test, body=body, orelse=orelse):
            inside = _find_all_dropped(context, [*body, *orelse])
            if not inside:
                return None
            found, parts = inside, [test]
        case ast.For(target=target, iter=iterated, body=body, orelse=[]):
            inside = _find_all_dropped(context, body)
            if not inside:
                return None
            names = tuple(each.id for each in ast.walk(target) if isinstance(each, ast.Name))
            found, parts = [*inside, Dropped(statement, names=names)], [iterated]
        case _:
            return None
    put = (statement.value,) if isinstance(statement, ast.Assign) else ()
    for target in targets:
        written = find_written(context, target, statement, put) if isinstance(target, ast.Subscript) else None
        if written is None:
            return None
        found.append(written)
    return found if all(is_harmless_here(context, part) for part in parts) else None


def _find_all_dropped(context: Context, statements: list[ast.stmt]) -> list[Dropped] | None:
    found: list[Dropped] = []
    for statement in statements:
        here = _find_dropped(context, statement)
        if here is None:
            return None
        found += here
    return found


def list_arguments(call: ast.Call) -> list[ast.expr]:
    """Return the expressions that a call passes."""
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _find_key(context: Context, index: ast.expr) -> str | int | None:
    """Return a constant key; None for an index that is computed, or a slice."""
    if isinstance(index, ast.Slice | ast.Tuple) or not is_harmless_here(context, index):
        return None
    try:
        with context.trying():
            value = context.read(index)
    except PlauditError:
        return None
    known = value.value if isinstance(value, Constant) else None
    return known if isinstance(known, str | int) else None


def _shorten(statement: ast.stmt) -> str:
    text = ast.unparse(statement).partition("\n")[0]
    return text if len(text) <= 60 else f"{text[:57]}..."
