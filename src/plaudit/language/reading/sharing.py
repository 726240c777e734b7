"""Which names see a change in place: an array shares entries with its parts, and what the caller passed stays."""

import ast
from dataclasses import replace

from plaudit.language.reading.context import Context
from plaudit.language.reading.expressions import read_name
from plaudit.language.reading.values import (
    Constant,
    Dictionary,
    Ref,
    Unassigned,
    Value,
    Vector,
    format_part,
    is_array,
    is_open,
    is_record,
)
from plaudit.language.reading.vectors import list_entries


def find_local(context: Context, node: ast.expr) -> tuple[str, Value] | None:
    """Return the local name that is changed in place, and its value; None where it is not the function's own."""
    if isinstance(node, ast.Attribute) and is_record(base := context.read(node.value)):
        node = ast.copy_location(ast.Name(format_part(base, node.attr), ast.Load()), node)
    if not isinstance(node, ast.Name) or node.id not in context.names:
        return None
    value = read_name(context, node)
    own = isinstance(value, Vector | Dictionary) or (is_open(value) and isinstance(value, Ref))
    return (node.id, value) if own and not is_given(context, value) else None


def is_given(context: Context, value: Value) -> bool:
    """Return whether a value belongs to the caller, or shares entries with what does."""
    if is_array(value) and any(id(entry) in context.entries for entry in list_entries(value)):
        return True  # a field that was read from a record
    return any(is_shared(value, other) for other in context.given)


def change(context: Context, old: Value, new: Value) -> None:
    """Give what is changed in place its new value under all its names; what may share entries with it loses its own."""
    names = [name for name, value in context.names.items() if value is old]
    forget_shared(context, old, *names)
    context.names.update(dict.fromkeys(names, new))


def forget_shared(context: Context, old: Value, *but: str) -> None:
    """Take the value from every name, but some, that a change of `old` in place may be seen in."""
    context.changed.append(old)
    for name, value in context.names.items():
        if name not in but and (is_shared(old, value) or _list_origins(context, old) & _list_origins(context, value)):
            context.names[name] = Unassigned(f"{name!r} may share entries with a value that was changed in place.")


def remember_origins(context: Context, joined: Value, *values: Value) -> Value:
    """Return what is one list, dict or array on one path, and another on another: it may be either."""
    if not isinstance(joined, Vector | Dictionary) or all(value is joined for value in values):
        return joined
    if any(value is joined for value in values):  # they are equal, and yet not the same
        joined = replace(joined)
    context.origins[id(joined)] = joined, set[int]().union(*(_list_origins(context, value) for value in values))
    return joined


def _list_origins(context: Context, value: Value) -> set[int]:
    """Return which lists, dicts and arrays a value may be, by their identity."""
    if not isinstance(value, Vector | Dictionary):
        return set()
    return context.origins[id(value)][1] | {id(value)} if id(value) in context.origins else {id(value)}


def is_shared(value: Value, other: Value) -> bool:
    """Return whether a change of `value` in place may be seen in `other`: it is the same, holds it, or shares entries.

    An entry on its own counts as shared: in PyTorch it is a view of its array.
    """
    if value is other:
        return isinstance(value, Vector | Dictionary)
    if isinstance(other, Dictionary) or (isinstance(other, Vector) and not other.array):
        held = other.items.values() if isinstance(other, Dictionary) else other.items
        return any(is_shared(value, each) for each in held if isinstance(each, Vector | Dictionary))
    if not is_array(value) or not isinstance(other, Vector | Ref):
        return False
    return not {id(entry) for entry in list_entries(value)}.isdisjoint(id(entry) for entry in list_entries(other))


def copy_value(value: Value, *, deep: bool) -> Value:
    """Return a value that can be changed in place alone, if it is `deep` with all that it holds.

    One that is not may share the entries of an array, as in PyTorch, and shares what a list or dict holds.
    """
    match value:
        case Vector(items) if deep:
            return replace(value, items=tuple(copy_value(each, deep=True) for each in items))
        case Dictionary(items) if deep:
            return replace(value, items={key: copy_value(each, deep=True) for key, each in items.items()})
        case Vector() | Dictionary() | Ref() | Constant():
            return replace(value)
    return value
