"""Reading attributes: parts of records, and methods, properties and constants of the class of a method.

What the reward declares comes first: `Field("yaw")` is what `self.yaw` is, whatever the class has under that name.
"""

import ast
import types
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from functools import cached_property

from plaudit.errors import PlauditError
from plaudit.language.field import to_number
from plaudit.language.reading.changes import list_own_names, may_own_change
from plaudit.language.reading.context import Context, reads
from plaudit.language.reading.dictionaries import read_record_call
from plaudit.language.reading.expressions import find_attribute, read_constant, read_name
from plaudit.language.reading.helpers import read_helper
from plaudit.language.reading.inputs import refuse_record, refuse_written
from plaudit.language.reading.owners import (
    MISSING,
    find_function,
    find_member,
    find_next,
    find_part,
    find_rival,
    find_setter,
    has_setter,
)
from plaudit.language.reading.paths import find_declared, list_part_names, show_call
from plaudit.language.reading.presence import is_own_method
from plaudit.language.reading.source import Owner
from plaudit.language.reading.values import (
    Constant,
    Record,
    Unassigned,
    Value,
    Vector,
    format_part,
    freeze,
    is_library_array,
    is_record,
)


@reads(ast.Attribute)
def _read_attribute(context: Context, node: ast.Attribute) -> Value:
    base = context.read(node.value)
    if is_record(base) and (local := format_part(base, node.attr)) in context.names:
        return read_name(context, ast.copy_location(ast.Name(local, ast.Load()), node))
    path = (*getattr(base, "path", ()), node.attr) if is_record(base) else ()
    refuse_written(context, path, node)
    owner = _find_owner(context, path)
    if owner is None:
        return find_attribute(context, base, node)
    member = find_member(owner, node.attr) if len(path) == 2 else MISSING
    if declared := find_declared(context, path):
        _note_declared(context, owner, member, node, declared)
    elif isinstance(member, property | cached_property):
        call = ast.copy_location(ast.Call(node, [], []), node)
        return _read_own(context, owner, member, call, [base], lambda: find_attribute(context, base, node))
    elif (constant := _find_constant(context, owner, path)) is not MISSING:
        _refuse_written_part(context, path, node)
        context.parts.update(list_part_names(path))
        context.reads.pop(path[-2], None)  # it is no field, but holds constants
        return read_constant(context, constant, node)
    found = find_attribute(context, base, node)
    if is_own_method(context, found):
        context.reads.pop(getattr(found, "name", ""), None)  # it is no field, but called later
    return found


def read_method(context: Context, base: Value, node: ast.Call) -> Value | None:
    """Return what a method of the same class returns, read in place; None where a call calls no such method."""
    assert isinstance(node.func, ast.Attribute)
    path = (*getattr(base, "path", ()), node.func.attr)
    _refuse_lost(context, path, node)
    found = _find_method(context, base, path)
    if found is None:
        return None
    owner, member = found
    if declared := find_declared(context, (*path[:-1], show_call(context, node))):
        _note_declared(context, owner, member, node.func, declared)
        return None
    bound = _bind(owner, member, base)
    return _read_own(context, owner, member, node, bound, lambda: read_record_call(context, base, node))


def _refuse_written_part(context: Context, path: tuple[str, ...], node: ast.Attribute) -> None:
    """Refuse a table of the class of which a dropped statement has changed an entry."""
    for each in context.written:
        if each[: len(path)] == path and each[-1] != "()":
            refuse_written(context, each, node)


def _refuse_lost(context: Context, path: tuple[str, ...], node: ast.Call) -> None:
    """Refuse a call of a method of `self` whose class is not found: a field is not what it computes."""
    if context.lost and len(path) == 2 and path[0] == context.first and context.scope.fields is not None:
        what = f"`{ast.unparse(node.func)}` may be a method of the class {context.lost!r}, which is not found."
        advice = f"Take the function from an object: term({context.lost}().{context.source.name})."
        raise context.error(node, what, advice)


def read_super(context: Context, node: ast.Call) -> Value | None:
    """Return what `super().x(...)` gives, the method of a base class read in place; None for any other call."""
    match node.func:
        case ast.Attribute(value=ast.Call(func=ast.Name(id="super"), args=given), attr=name):
            pass
        case _:
            return None
    function, owner = context.source.function, context.owner
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    first = context.read(given[0]) if given else None
    kind = first.value if isinstance(first, Constant) else getattr(cells.get("__class__"), "cell_contents", None)
    own = context.source.tree.args.args
    if owner is None or not isinstance(kind, type) or not own:
        what = f"which class `{ast.unparse(node.func)}` is of is not known here."
        raise context.error(node, what, f"Take it from its class or an object, or write Base.{name}(self, ...).")
    member, rival = find_next(owner, kind, name)
    inner = find_function(member)
    if not isinstance(inner, types.FunctionType) or isinstance(member, property | cached_property):
        what = f"no base class of {kind.__qualname__!r} has a method {name!r} that can be read."
        raise context.error(node, what, "Compute it before scoring and pass it in as a field.")
    if rival is not None:
        what = f"`{ast.unparse(node.func)}` is something else in the subclass {rival.__qualname__!r}."
        raise context.error(node, what, f"Say which class is meant: take {owner.method!r} from an object.")
    return read_helper(context, inner, node, _bind(owner, member, context.names[own[0].arg]))


def run_method(context: Context, base: Value, node: ast.Call) -> bool:
    """Read a call of a method of the same class for what it assigns; return whether it is one."""
    assert isinstance(node.func, ast.Attribute)
    found = _find_method(context, base, (*getattr(base, "path", ()), node.func.attr))
    function = None if found is None else find_function(found[1])
    if found is None or not isinstance(function, types.FunctionType):
        return False
    try:
        _refuse_rival(context, found[0], node.func)
        read_helper(context, function, node, _bind(*found, base), needed=False)
    except PlauditError as error:
        raise _explain(context, error, node.func, "Drop this line if it makes no difference to the score.") from None
    return True


def _find_method(context: Context, base: Value, path: tuple[str, ...]) -> tuple[Owner, object] | None:
    """Return the class of the method that is read, and what it has under a name; None where that is no method."""
    owner = _find_owner(context, path)
    if owner is None or len(path) != 2 or format_part(base, path[1]) in context.names:
        return None
    member = find_member(owner, path[1])
    if isinstance(member, property | cached_property):
        return None
    known = member is MISSING or isinstance(find_function(member), types.FunctionType)
    return (owner, member) if known else None


def _bind(owner: Owner, member: object, base: Value) -> list[Value]:
    if isinstance(member, staticmethod):
        return []
    return [Constant(owner.kind) if isinstance(member, classmethod) else base]


def _find_owner(context: Context, path: tuple[str, ...]) -> Owner | None:
    """Return the class of the method that is read, where a path leads from its `self`."""
    return context.owner if context.owner is not None and path and path[0] == context.receiver else None


def _read_own(
    context: Context,
    owner: Owner,
    member: object,
    node: ast.Call,
    bound: list[Value],
    read_record: Callable[[], Value],
) -> Value:
    """Return what a method or property of the class computes; where it cannot be read, a record of its parts.

    Parts of that record may be declared: `self.get_robot().speed`. Used as a value, it is refused with the reason.
    """
    called = node.func
    assert isinstance(called, ast.Attribute)
    function = find_function(member)
    context.parts.update(list_part_names((context.receiver, called.attr)))
    failure: PlauditError | None = None
    try:
        with context.trying():
            _refuse_rival(context, owner, called)
            _refuse_cached(context, member, called)
            if isinstance(function, types.FunctionType):
                value = _explain_parts(context, read_helper(context, function, node, bound), called)
                if not isinstance(value, Record) or value.path == (context.receiver,):
                    return value
                if any(name.startswith(f"{value.name}.") for name in context.names):
                    return value  # the function has assigned some of its parts, under that name
                _refuse_returned(context, function, value)
    except PlauditError as error:
        failure = _explain(context, error, called)
        if context.scope.fields is not None and may_own_change(context, called.attr):
            raise failure from None  # what it assigns would be lost
    found = read_record()
    if failure is not None and isinstance(found, Record):
        context.failures[found.path] = failure
    return found


def _refuse_cached(context: Context, member: object, node: ast.Attribute) -> None:
    """Refuse a cached property or method that assigns, or that reads what was assigned: it runs only once."""
    if not isinstance(member, cached_property) and not hasattr(member, "cache_info"):
        return
    if may_own_change(context, node.attr):
        what = f"`{ast.unparse(node)}` is cached, and what it assigns it assigns only the first time."
        raise context.error(node, what, "Drop the cache, or what it assigns.")
    assigned = {name.rpartition(".")[2] for name in context.writes} & list_own_names(context, node.attr)
    if assigned:
        what = f"`{ast.unparse(node)}` is cached, and reads `{min(assigned)}`, which the function assigns."
        raise context.error(node, what, "Drop the cache.")


def _explain_parts(context: Context, value: Value, node: ast.Attribute) -> Value:
    """Return what a method returns; of what cannot be read of it, the error says what uses it."""
    items = value.items if isinstance(value, Vector) else ()
    errors = [each.error for each in items if isinstance(each, Unassigned) and isinstance(each.error, PlauditError)]
    if not errors:
        return value
    if len(errors) == len(items):
        raise errors[0]
    told = {id(error): _explain(context, error, node) for error in errors}
    return Vector(tuple(replace(v, error=told.get(id(v.error))) if isinstance(v, Unassigned) else v for v in items))


def _refuse_returned(context: Context, function: types.FunctionType, value: Record) -> None:
    """Refuse what a method returns, a part of a record that is not declared, where the method returns it."""
    inner = copy(context)
    inner.source = context.source.find_helper(function)
    returns = [node for node in ast.walk(inner.source.tree) if isinstance(node, ast.Return)]
    refuse_record(inner, value, returns[-1])


def _explain(context: Context, error: PlauditError, node: ast.Attribute, advice: str = "") -> PlauditError:
    """Return an error in a method with what uses it, and how to do without reading it."""
    known = str(error)
    if f"Field({node.attr!r})" in known or "is read because" in known:
        return error
    place = context.source.locate(node)
    reached = f"{node.attr!r} is read because {context.source.name!r} uses it: {place}"
    advice = advice or f"To pass its value in instead, declare Field({node.attr!r})."
    return type(error)(f"{known}\n{reached}\n{advice}")


def _refuse_rival(context: Context, owner: Owner, node: ast.Attribute) -> None:
    """Refuse what a subclass has too, or has alone, and what objects are given: the function does not say which."""
    if not has_setter(owner, node.attr) and (setter := find_setter(owner, node.attr, seen=True)):
        what = f"`{ast.unparse(node)}` may be something else: {setter!r} assigns it."
        raise context.error(node, what, f"To pass its value in instead, declare Field({node.attr!r}).")
    if (rival := find_rival(owner, node.attr)) is None:
        return
    what = f"`{ast.unparse(node)}` is something else in the subclass {rival.__qualname__!r}."
    advice = (
        f"Say which class is meant: take the method from an object, term(env.{owner.method}), or define "
        f"{owner.method!r} in that class. To pass its value in instead, declare Field({node.attr!r})."
    )
    raise context.error(node, what, advice)


def _find_constant(context: Context, owner: Owner, path: tuple[str, ...]) -> object:
    """Return a number, bool, string, table or array that a class has for all its objects; MISSING for anything else."""
    value = find_member(owner, path[1])
    for part in path[2:]:
        value = find_part(value, part)
    if not _is_plain(value) or _has_declared_parts(context, path, value):
        return MISSING
    if find_rival(owner, path[1]) is not None or any(find_setter(owner, part) for part in path[1:]):
        return MISSING
    known = context.source.known
    key = (id(owner.kind), path)
    if key not in known:
        known[id(owner.kind)] = owner.kind  # so that no other class gets its id
        known[key] = freeze(value)
    return known[key]


def _is_plain(value: object) -> bool:
    if isinstance(value, Mapping | list | tuple):
        parts = list(value.values()) if isinstance(value, Mapping) else list(value)
        return bool(parts) and all(map(_is_plain, parts))
    return value is None or isinstance(value, str) or to_number(value) is not None or is_library_array(value)


def _has_declared_parts(context: Context, path: tuple[str, ...], value: object) -> bool:
    """Return whether an entry of a table is declared: the table is then read as a record."""
    if not isinstance(value, Mapping | list | tuple):
        return False
    parts = value.items() if isinstance(value, Mapping) else enumerate(value)
    below = [((*path, str(key)), part) for key, part in parts]
    return any(find_declared(context, each) or _has_declared_parts(context, each, part) for each, part in below)


def _note_declared(context: Context, owner: Owner, member: object, node: ast.Attribute, declared: str) -> None:
    if context.scope.fields is not None and (callable(member) or isinstance(member, property | cached_property)):
        kind = "field" if declared in context.scope.fields else "shared parameter"
        what = f"`{ast.unparse(node)}` is the {kind} {declared!r}, and not what {owner.kind.__name__} computes."
        context.note(node, what)
