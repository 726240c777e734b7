"""Reading dicts and records: keys that are constants or data, and calls such as `info.get("speed", 0.0)`."""

import ast
from collections.abc import Hashable
from functools import partial
from typing import Any

from plaudit.errors import PlauditError, did_you_mean
from plaudit.language.field import RECORDS, to_number
from plaudit.language.kinds import FLAG, NUMBER, UNKNOWN
from plaudit.language.reading.advice import explain_empty, explain_unsupported_call
from plaudit.language.reading.changes import read_changes
from plaudit.language.reading.comprehensions import read_elements, read_iterable
from plaudit.language.reading.conditions import compare, find_labels, join
from plaudit.language.reading.context import Context, reads
from plaudit.language.reading.effects import SPECIAL
from plaudit.language.reading.expressions import chain, list_items, read_truth, refuse_unassigned
from plaudit.language.reading.inputs import read_member
from plaudit.language.reading.paths import list_keys, show_call, suggest_name
from plaudit.language.reading.presence import has_attribute
from plaudit.language.reading.sharing import remember_origins
from plaudit.language.reading.values import (
    Constant,
    Dictionary,
    Element,
    Record,
    Ref,
    Undeclared,
    Value,
    Vector,
    describe,
    find_kind,
    find_open,
    format_path,
    has_items,
    is_open,
    is_record,
)


@reads(ast.Dict)
def _read_dict(context: Context, node: ast.Dict) -> Value:
    """Return a dict that is written out; `**other` stands for the entries of another."""
    items: dict[Any, Value] = {}
    for key, expression in zip(node.keys, node.values, strict=True):
        value = context.read(expression)
        if key is not None:
            items[find_key(context, context.read(key), key)] = value
        elif isinstance(value, Dictionary):
            items |= value.items
        else:
            raise context.error(expression, f"`**` takes a dict, and this is {describe(value)}.")
    return Dictionary(items)


@reads(ast.DictComp)
def _read_dict_comprehension(context: Context, node: ast.DictComp) -> Value:
    pairs = ast.copy_location(ast.Tuple([node.key, node.value], ast.Load()), node)
    listed = read_elements(context, ast.copy_location(ast.ListComp(pairs, node.generators), node))
    if is_open(listed):
        return listed
    found = [list_items(context, pair, node) for pair in list_items(context, listed, node)]
    return Dictionary({find_key(context, key, node.key): value for key, value in found})


def make_dict(context: Context, node: ast.Call) -> Value:
    """Return what `dict(...)` makes: of keywords, of another dict, or of pairs."""
    items: dict[Any, Value] = {}
    for argument in node.args:
        value = context.read(argument)
        if isinstance(value, Dictionary):
            items |= value.items
            continue
        for pair in list_items(context, value, argument):
            parts = list_items(context, pair, argument)
            if len(parts) != 2:
                raise context.error(argument, "a dict needs pairs.", "Write {'a': x, 'b': y}.")
            items[find_key(context, parts[0], argument)] = parts[1]
    items |= {keyword.arg: context.read(keyword.value) for keyword in node.keywords if keyword.arg}
    return Dictionary(items)


def find_key(context: Context, key: Value, node: ast.AST) -> Any:
    """Return a constant key."""
    if not isinstance(key, Constant) or not isinstance(key.value, Hashable):
        advice = "Use `if` and `elif`, or add up what counts: `total += x if kind == 'a' else 0`."
        raise context.error(node, f"the keys of a dict must be constants, and this is {describe(key)}.", advice)
    return key.value


def read_dict_method(context: Context, base: Dictionary, node: ast.Call) -> Value:
    """Return what a method of a dict gives."""
    assert isinstance(node.func, ast.Attribute)
    given = [read_argument(context, argument) or Constant(None) for argument in node.args]
    match node.func.attr, given:
        case "get", [key, *default] if len(default) <= 1:
            return look_up_key(context, base, key, node, default[0] if default else Constant(None))
        case "keys", []:
            return remember_origins(context, Vector(tuple(list_items(context, base, node))), base)
        case "values", []:
            return remember_origins(context, Vector(tuple(base.items.values())), base)
        case "items", []:
            pairs = tuple(Vector((Constant(key), value)) for key, value in base.items.items())
            return remember_origins(context, Vector(pairs), base)
        case "copy", []:
            return Dictionary(base.items, base.attributes)
    advice = "A dict has d[key], d.get(key, 0), d.keys(), d.values(), d.items() and d.copy()."
    raise context.error(node, f"`.{node.func.attr}()` of a dict cannot be read here.", advice)


def look_up_key(context: Context, base: Dictionary, key: Value, node: ast.AST, default: Value | None = None) -> Value:
    """Return `base[key]`; of a key that is data, one of the values, and a row without any does not count."""
    if isinstance(key, Constant):
        if key.value in base.items:
            refuse_unassigned(context, base.items[key.value], node)
            return base.items[key.value]
        if default is not None:
            return default
        near = did_you_mean(str(key.value), [each for each in base.items if isinstance(each, str)])
        keys = ", ".join(map(repr, base.items))
        listed = f"Its keys: {keys:.200}." if keys else f"It is empty.{explain_empty(node)}"
        raise context.error(node, f"{describe(key)} is not a key of the dict.{near}", listed)
    if (unknown := find_open(key)) is not None:
        return unknown
    fits = [(_match_key(context, key, each, node), value) for each, value in base.items.items()]
    found = [(flag, value) for flag, value in fits if flag is not False]
    labels = find_labels(context, key)
    complete = bool(labels) and all(label in base.items for label in labels)
    if default is None or complete:
        if not found:
            raise context.error(node, f"no key of the dict can be {describe(key)}.")
        if not complete:
            flags = [context.builder.const(flag) if isinstance(flag, bool) else flag for flag, _ in found]
            why = "looks up a key that is not in its dict"
            context.require(context.builder.any(flags), why, node)
        default = found.pop()[1]
    for flag, value in reversed(found):
        default = value if flag is True else join(context, flag, value, default, node)
    return default


def _match_key(context: Context, key: Value, known: Any, node: ast.AST) -> int | bool:
    """Return where a key that is data equals a constant one."""
    if has_items(key) and isinstance(known, tuple):
        parts = list_items(context, key, node)
        if len(parts) != len(known):
            return False
        pairs = zip(parts, known, strict=True)
        joined = chain(context, True, [partial(_match_key, context, part, each, node) for part, each in pairs])
        return read_truth(context, joined, node)
    if isinstance(key, Constant):
        return bool(key.value == known)
    if find_kind(key) in (FLAG, NUMBER):
        known = to_number(known)
    elif known not in find_labels(context, key):
        known = None
    return known is not None and read_truth(context, compare(context, ast.Eq(), key, Constant(known), node), node)


def read_argument(context: Context, node: ast.expr) -> Value | None:
    """Return an argument; None where it is a literal None."""
    value = read_iterable(context, node)
    return None if isinstance(value, Constant) and value.value is None else value


def read_record_call(context: Context, base: Value, node: ast.Call) -> Value:
    """Return what `record.get(...)` or another method gives: the field of that name, `state_0` or `state`."""
    assert isinstance(node.func, ast.Attribute)
    name = node.func.attr
    if name in ("items", "keys", "values") and not node.args and isinstance(base, Record):
        return read_dict_method(context, _read_mapping(context, base, node), node)
    if name in ("items", "keys", "values") and isinstance(base, Undeclared | Element):
        return Ref(base.at, UNKNOWN)
    if name == "get" and node.args and len(node.args) <= 2 and not node.keywords:
        key, *default = [read_argument(context, argument) for argument in node.args]
        if isinstance(key, Constant) and isinstance(key.value, str):
            return _read_default(context, read_member(context, base, key.value, node), default, key.value, node)
    if name in SPECIAL:
        raise context.error(node, f"`.{name}()` changes what it belongs to.", "Assign to it: `self.x = value`.")
    part = show_call(context, node)
    for argument in ast.iter_child_nodes(node):
        read_changes(context, argument)  # which are not read but shown
    return read_member(context, base, part, node)


def _read_mapping(context: Context, base: Record, node: ast.Call) -> Dictionary:
    """Return a mapping whose parts are declared, `costs_left` and `costs_right`, with as many keys, in their order."""
    shown = format_path(base.path)
    named = {} if base.path[0] in RECORDS else list_keys(context, base.path)
    if len(named) > 1:
        names = " and ".join(f"{start}_{keys[0]}" for start, keys in named.items())
        what = f"which keys `{shown}` has is not known: parts are declared as {names}."
        raise context.error(node, what, "Give all its parts the longest name, and those of others another one.")
    keys = next(iter(named.values()), [])
    if not keys or not all(key.isidentifier() for key in keys):
        raise _explain_unknown(context, base, node)
    listed = ", ".join(map(repr, keys))
    what = f"`{shown}` is read as a mapping with the keys {listed}, as its declared parts say."
    if all(note.what != what for note in context.notes):
        context.note(node, what)
    return Dictionary({key: read_member(context, base, key, node) for key in keys})


def _explain_unknown(context: Context, base: Record, node: ast.Call) -> PlauditError:
    """Return why what a record lists is not known: the reason why a method is not read, if that is what gives it."""
    for length in range(2, len(base.path) + 1):
        if base.path[:length] in context.failures:
            return context.failures[base.path[:length]]
    what = f"`{ast.unparse(node)}` lists what is not known: `{format_path(base.path)}` is neither declared nor shared."
    if "(" in base.path[-1]:
        return context.error(node, what, "Make the dict in the function, or in a method of its class that is read too.")
    name = suggest_name(base.path)
    parts = f"Declare each of its entries, Field('{name}_a'), Field('{name}_b')"
    return context.error(
        node, what, f"{parts}; or pass it in shared={{{base.path[-1]!r}: {{...}}}} if it never changes."
    )


def read_attribute_call(context: Context, called: object, node: ast.Call) -> Value:
    """Return what `getattr(record, "x", default)` or `hasattr(record, "x")` gives."""
    base, name, *default = [read_argument(context, argument) for argument in node.args]
    known = name.value if isinstance(name, Constant) else None
    if base is None or not is_record(base) or not isinstance(known, str) or len(default) > 1:
        raise context.error(node, *explain_unsupported_call(ast.unparse(node.func), called))
    value = context.read(ast.copy_location(ast.Attribute(node.args[0], known, ast.Load()), node))
    if called is getattr:
        return _read_default(context, value, default, known, node)
    return find_open(value) or Constant(has_attribute(context, value, node))


def _read_default(context: Context, value: Value, default: list[Value | None], key: str, node: ast.AST) -> Value:
    """Return a field that is read with a default, which what stands in for a missing one must agree with."""
    declared = (context.scope.fields or {}).get(_find_field(context, value))
    if declared is None or declared.missing is None or default in ([], [None]):
        return value
    if isinstance(default[0], Constant) and default[0].value == declared.missing:
        return value
    what = f"the default of {key!r} is {describe(default[0]) if default[0] else 'None'}"
    advice = "Make both the same: a row without the field gets the `missing=` value."
    raise context.error(node, f"{what}, and the field has missing={declared.missing!r}.", advice)


def _find_field(context: Context, value: Value) -> str:
    """Return the field that a part of a record was read as; an empty string for anything else."""
    at = getattr(value, "at", None)
    node = context.builder.nodes[at] if isinstance(at, int) else None
    return str(getattr(node, "name", "")).rpartition(".")[2].partition("[")[0]
