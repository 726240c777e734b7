"""Whether something is there that no field is declared for: `hasattr(self, "goal")`, `"goal" in info`, `goal is None`.

What the class of a method has is known. Anything else is taken to be there where the function reads declared parts of
it, as in `if self.goal is not None: return self.goal.distance`. Otherwise a row does not say, and the question is
refused.
"""

import ast

from plaudit.errors import PlauditError, UnknownField, did_you_mean
from plaudit.language.field import RECORDS
from plaudit.language.reading.context import Context, Path
from plaudit.language.reading.owners import has_member, has_method, has_special
from plaudit.language.reading.paths import drop_same, list_part_names, suggest_name
from plaudit.language.reading.values import Record, Value, format_path


def has_key(context: Context, table: Record, value: Value, node: ast.AST) -> bool:
    """Return whether a mapping has a key; `value` is what reading it gives."""
    refuse_special(context, table.path, "__contains__", node)
    if isinstance(value, Record):
        _suppose(context, value.path, node, "is there")
    return True


def refuse_special(context: Context, path: Path, name: str, node: ast.AST) -> None:
    """Refuse an operation on `self` for which its class has a method, which is not read."""
    if path == (context.receiver,) and has_special(context.owner, name):
        assert context.owner is not None
        what = f"this runs `{name}` of {context.owner.kind.__name__}, which is not read."
        raise context.error(node, what, "Call a method that does the same: self.find(key).")


def has_attribute(context: Context, value: Value, node: ast.AST) -> bool:
    """Return whether an object has an attribute; `value` is what reading it gives."""
    if not isinstance(value, Record):
        return True
    path = value.path
    if is_own(context, path):
        assert context.owner is not None
        there = has_member(context.owner, path[1])
        if there is False and not _has_declared_parts(context, path):
            kind = context.owner.kind.__name__
            what = f"`{format_path(path)}` is taken not to be there: {kind} does not have it, and it is not declared."
            context.note(node, what)
            return False
        if there:
            return True
    _suppose(context, path, node, "is there")
    return True


def is_none(context: Context, value: Record, node: ast.AST) -> bool:
    """Return whether something that is not declared is None: a method of the class is not, nor is what has parts."""
    refuse_special(context, value.path, "__eq__", node)
    if value.path[0] not in RECORDS and value.path != (context.receiver,) and not is_own_method(context, value):
        _suppose(context, value.path, node, "is None")
    return False


def is_own(context: Context, path: Path) -> bool:
    """Return whether a path is that of an attribute of the `self` of a method whose class is known."""
    return context.owner is not None and len(path) == 2 and path[0] == context.receiver


def is_own_method(context: Context, value: Value) -> bool:
    """Return whether a value is certainly a method of the class whose method is read: `self.cost`, not called."""
    path: Path = getattr(value, "path", ())
    return is_own(context, path) and context.owner is not None and has_method(context.owner, path[1])


def settle_suppositions(context: Context) -> None:
    """Refuse to have taken something to be there of which the function reads no declared part."""
    for path, error in context.supposed:
        if not any(claimed[: len(path)] == path for claimed in context.claimed.values()):
            raise error


def note_suppositions(context: Context, since: int, node: ast.AST, why: str) -> None:
    """Note what was taken to be there from the supposition `since` on, where nothing but a refusal hangs on it."""
    for path, _ in context.supposed[since:]:
        context.note(node, f"`{format_path(path)}` is not declared, and taken not to be None: {why}")
    del context.supposed[since:]


def _suppose(context: Context, path: Path, node: ast.AST, asked: str) -> None:
    context.supposed.append((drop_same(path), _make_unknown(context, path, node, asked)))


def _make_unknown(context: Context, path: Path, node: ast.AST, asked: str) -> PlauditError:
    if path in context.failures:
        return context.failures[path]
    name, fields = suggest_name(path), list(context.scope.fields or ())
    given = f", or give it a value with term(params={{{name!r}: ...}})" if len(path) == 1 else ""
    there = "is never None" if asked == "is None" else "is always there"
    return UnknownField(
        f"{context.what} {context.term!r} asks whether {format_path(path)!r} {asked}, and the reward does not declare "
        f"it.\n  {context.source.locate(node)}\nDeclared fields: {', '.join(fields) or 'none'}."
        f"{did_you_mean(name, fields)}\n"
        f"If it {there}, declare Field({name!r}){given}. If that depends on the step, test a flag that is declared; "
        "otherwise drop the test."
    )


def _has_declared_parts(context: Context, path: Path) -> bool:
    known = (*(context.scope.fields or ()), *context.scope.params)
    return any(name.startswith(f"{part}_") for part in list_part_names(path) for name in known)
