"""Reading names, attributes, constants, tuples and lists; values as numbers, as conditions, and entry by entry."""

import ast
import math
import types
from collections.abc import Callable, Mapping, Sequence
from enum import Enum, EnumMeta
from types import EllipsisType, NoneType
from typing import Any, TypeVar

from plaudit.errors import did_you_mean
from plaudit.language import nodes as n
from plaudit.language.field import LARGEST_INTEGER, is_exact, to_number
from plaudit.language.kinds import FLAG, NUMBER, UNKNOWN
from plaudit.language.reading.advice import explain_unsupported_attribute
from plaudit.language.reading.context import Context, reads
from plaudit.language.reading.inputs import read_kept_part, read_member, refuse_record
from plaudit.language.reading.lists import list_records
from plaudit.language.reading.masks import map_picked
from plaudit.language.reading.paths import list_part_names
from plaudit.language.reading.source import read_current
from plaudit.language.reading.values import (
    Constant,
    Dictionary,
    Nested,
    Picked,
    Ref,
    Settings,
    Unassigned,
    Undeclared,
    Value,
    Vector,
    build_tuple,
    describe,
    find_each,
    find_open,
    freeze,
    has_items,
    is_array,
    is_library_array,
    is_mapping,
    is_object,
    is_open,
    is_record,
)
from plaudit.language.reading.vectors import (
    COUNTED,
    WRITE_BACK,
    ShapeProblem,
    build_array,
    find_shape,
    list_entries,
    map_entries,
    reshape,
    transpose,
)
from plaudit.language.shapes import MOST_AXES, MOST_ENTRIES

Found = TypeVar("Found")


@reads(ast.Constant)
def _read_literal(context: Context, node: ast.Constant) -> Value:
    return read_constant(context, node.value, node)


@reads(ast.Name)
def read_name(context: Context, node: ast.Name) -> Value:
    """Return a local name, or a constant from outside the function."""
    if node.id in context.names:
        value = context.names[node.id]
        if isinstance(value, Unassigned) and value.error:
            raise value.error
        if isinstance(value, Unassigned) and value.why:
            advice = value.advice or f"Give the new value its own name: `total = {node.id} + ...`."
            raise context.error(node, value.why, advice)
        if isinstance(value, Unassigned):
            raise context.error(node, f"{node.id!r} has no value on some paths.", _advise_value(context, node.id))
        if (node.id, id(value)) in context.kept_parts:
            read_kept_part(context, node.id, node)  # from here on the function is known to read that field
        return value
    if node.id in context.locals:
        raise context.error(node, f"{node.id!r} is read before it is assigned.", "Assign it above this line.")
    known = context.source.known  # as it was when the function was first read
    try:
        if node.id not in known:
            known[node.id] = freeze(read_current(context.source.function, node.id))
    except KeyError:
        near = did_you_mean(node.id, [*context.names, *context.source.function.__globals__])
        advice = "Define constants above the term; a field is a parameter."
        raise context.error(node, f"the name {node.id!r} is not known.{near}", advice) from None
    return read_constant(context, known[node.id], node)


def _advise_value(context: Context, name: str) -> str:
    """Return what to do about a name that only some paths assign."""
    if name not in context.bases:
        return "Assign it before the `if`."
    field = name.rpartition(".")[2]
    return f"Assign it before the `if`, or declare Field({field!r}): what it is where the function does not assign it."


def find_attribute(context: Context, base: Value, node: ast.Attribute) -> Value:
    """Return the attribute that `node` names, of what it is read from."""
    if node.attr in ("values", "indices") and is_open(base) and isinstance(base, Ref):
        return base  # of `torch.max(v, dim=0)`
    if node.attr in ("torch", "data") and (is_array(base) or (isinstance(base, Ref) and not is_record(base))):
        return base  # the tensor of an array of Isaac Lab, the numbers of a tensor
    if node.attr in ("shape", "size", "ndim", "T", "flat") and (is_open(base) or is_array(base)):
        if (unknown := find_open(base)) is not None:
            if is_record(base):
                context.parts.update(list_part_names((*getattr(base, "path", ()), node.attr)))  # or it is a part
            return unknown
        if node.attr == "T":
            return fit(context, transpose, base, node=node)
        if node.attr == "flat":
            return fit(context, reshape, base, (-1,), node=node)
        shape = fit(context, find_shape, base, node=node)
        return Constant({"shape": shape, "size": len(list_entries(base)), "ndim": len(shape)}[node.attr])
    if is_record(base):
        return read_member(context, base, node.attr, node)
    if isinstance(base, Constant) and (member := _find_enum_member(context, node)) is not None:
        return read_constant(context, getattr(member, node.attr), node)
    if isinstance(base, Constant) and (isinstance(base.value, types.ModuleType | type) or is_object(base.value)):
        key = (id(base.value), node.attr)
        if key not in context.source.known:
            if not hasattr(base.value, node.attr):
                near = did_you_mean(node.attr, dir(base.value))
                raise context.error(node, f"{ast.unparse(node)!r} does not exist.{near}")
            context.source.known[id(base.value)] = base.value  # so that no other object gets its id
            context.source.known[key] = freeze(getattr(base.value, node.attr))
        return read_constant(context, context.source.known[key], node)
    if isinstance(base, Vector) and not base.array and node.attr in ("values", "indices") and len(base.items) == 2:
        return base.items[node.attr == "indices"]
    if isinstance(base, Dictionary) and base.attributes:
        if node.attr in base.items:
            return base.items[node.attr]
        near = did_you_mean(node.attr, [str(key) for key in base.items])
        raise context.error(
            node, f"{ast.unparse(node)!r} does not exist.{near}", "Give it a value where the others are."
        )
    known = "" if is_open(base) and isinstance(base, Ref) else describe(base)
    axes = len(fit(context, find_shape, base, node=node)) if is_array(base) else 0
    raise context.error(node, *explain_unsupported_attribute(node, known, axes=axes))


def _find_enum_member(context: Context, node: ast.Attribute) -> Enum | None:
    """Return the member in `Action.UP.value`; read on its own, one of an IntEnum is a number that has no value."""
    if node.attr not in ("value", "name") or not isinstance(node.value, ast.Attribute | ast.Subscript):
        return None
    owner = context.read(node.value.value)
    kind = owner.value if isinstance(owner, Constant) else None
    if not isinstance(kind, EnumMeta):
        return None
    key = node.value.attr if isinstance(node.value, ast.Attribute) else context.read(node.value.slice)
    name = key.value if isinstance(key, Constant) else key
    return kind.__members__.get(name) if isinstance(name, str) else None


@reads(ast.Tuple)
def _read_tuple(context: Context, node: ast.Tuple) -> Value:
    return find_open_star(context, node.elts) or build_tuple(read_several(context, node.elts))


@reads(ast.List)
def _read_list(context: Context, node: ast.List) -> Value:
    return find_open_star(context, node.elts) or Vector(tuple(read_several(context, node.elts)), sequence=list)


def read_several(context: Context, elements: list[ast.expr]) -> list[Value]:
    """Return the values of a tuple, list or call; `*v` stands for the entries of `v`."""
    found: list[Value] = []
    for element in elements:
        if isinstance(element, ast.Starred):
            found += list_items(context, context.read(element.value), element)
            limit_entries(context, found, element)
        else:
            found.append(context.read(element))
    return found


def limit_entries(context: Context, found: list[Value], node: ast.AST, times: int = 1) -> list[Value]:
    """Return the entries of a tuple or list; an error if there are too many."""
    if len(found) * times > MOST_ENTRIES:
        raise context.error(node, f"more than {MOST_ENTRIES:,} entries.", "Compute it before scoring.")
    return found


def find_open_star(context: Context, elements: list[ast.expr]) -> Ref | None:
    """Return an unknown where it is not known yet how many values `*v` stands for."""
    stars = [context.read(each.value) for each in elements if isinstance(each, ast.Starred)]
    return find_open(*(value for value in stars if is_open(value)))


def add_number(context: Context, value: Value, node: ast.AST) -> int:
    """Return the position of `value` as a number; a flag counts 1 or 0."""
    match value:
        case Ref(at, kind) if kind in (NUMBER, UNKNOWN):
            return at
        case Undeclared(at, _):
            return at
        case Ref(at, kind) if kind == FLAG:
            return context.add(n.Number(at))
        case Constant(known) if (number := to_number(known)) is not None:
            if number != number:
                advice = "Write 0.0 for what does not count, or `assert` what every row must have."
                raise context.error(node, "NaN is no score: a row has a number, or it is bad.", advice)
            if not is_exact(number):
                raise context.error(node, f"{describe(value)} is not a number that a float can hold exactly.")
            large = isinstance(number, bool) or abs(number) > LARGEST_INTEGER
            return context.builder.const(float(number) if large else number)
    refuse_unassigned(context, value, node)
    refuse_record(context, value, node)
    advice = ""
    if isinstance(value, Nested):
        advice = f"Call it: `{value.source.name}(...)`."
    elif isinstance(value, Picked):
        advice = WRITE_BACK
    elif isinstance(value, Vector):
        advice = "Reduce it to one number: sum(v), np.mean(v), max(v), np.linalg.norm(v)."
    elif isinstance(value, Constant) and value.value is None:
        advice = (
            "Give a parameter whose default is None a number, params={...}; a field that may be absent a `missing=`."
        )
    elif isinstance(value, Constant) and isinstance(value.value, Enum):
        advice = f"Write `{value.value}.value`: only the members of an IntEnum, or of a class of strings, are values."
    elif isinstance(value, Constant) and is_object(value.value):
        advice = "Use numbers, bools, strings, tuples or dicts; or read one of its attributes."
    raise context.error(node, f"a number is needed here, and this is {describe(value)}.", advice)


def refuse_unassigned(context: Context, value: Value, node: ast.AST) -> None:
    """Refuse what has no value, with the reason."""
    if isinstance(value, Unassigned) and value.error:
        raise value.error
    if isinstance(value, Unassigned) and value.why:
        raise context.error(node, value.why, value.advice or "Compute it before scoring and pass it in as a field.")


def add_flag(context: Context, value: Value, node: ast.AST) -> int:
    """Return the position of `value` as a condition; a number means `!= 0`."""
    match value:
        case Ref(at, kind) if kind in (FLAG, UNKNOWN):
            return at
        case Undeclared(at, _):
            return at
        case Ref(at, kind) if kind == NUMBER:
            return context.add(n.Ne(at, context.builder.const(0)))
        case Constant(known) if to_number(known) is not None:
            return context.builder.const(bool(known))
    refuse_record(context, value, node)
    advice = "Compare a category with one of its values: phase == 'coding'."
    if isinstance(value, Vector):
        advice = "Say which entries must hold: any(v > 0) or all(v > 0); join arrays of bools with `&`, `|`, `~`."
    raise context.error(node, f"a condition is needed here, and this is {describe(value)}.", advice)


def read_truth(context: Context, value: Value, node: ast.AST) -> int | bool:
    """Return a value as a condition: a position, or what it is when it is known already."""
    if isinstance(value, Constant) and to_number(value.value) is not None:
        return bool(value.value)
    if (known := find_truth(value)) is not None:
        return known
    return add_flag(context, value, node)


def find_truth(value: Value) -> bool | None:
    """Return whether a string, tuple, list, dict or None counts as true, as in Python; None for anything else."""
    if isinstance(value, Constant) and isinstance(value.value, str | tuple | NoneType):
        return bool(value.value)
    if isinstance(value, Dictionary) or (isinstance(value, Vector) and not value.array):
        return bool(value.items)
    return None


def chain(context: Context, conjunction: bool, parts: Sequence[int | bool | Callable[[], int | bool]]) -> Value:
    """Return the conjunction or disjunction of flags, each read where those before it leave it open."""
    outer = context.path
    result: int | None = None
    try:
        for part in parts:
            flag = part() if callable(part) else part
            if isinstance(flag, bool):
                if flag is conjunction:
                    continue
                if result is None:
                    return Constant(flag)
                flag = context.builder.const(flag)
            result = flag if result is None else context.add((n.And if conjunction else n.Or)(result, flag))
            open_ = result if conjunction else context.add(n.Not(result))
            context.path = open_ if outer is None else context.add(n.And(outer, open_))
    finally:
        context.path = outer
    return Constant(conjunction) if result is None else Ref(result, FLAG)


def read_constant(context: Context, value: object, node: ast.AST) -> Value:
    """Return a constant of the language; refuse what it does not have."""
    if isinstance(value, tuple) and any(isinstance(item, list | Mapping) for item in value):
        return Vector(tuple(read_constant(context, item, node) for item in value), sequence=tuple)
    if isinstance(value, str | tuple | types.ModuleType | type) or callable(value):
        return Constant(value)
    number = to_number(value)
    if number is not None:
        return Constant(number)
    if is_library_array(value):
        return _read_array(context, value, node)
    if type(value).__name__ == "dtype":
        return Constant(value)
    if isinstance(value, list):
        return Vector(tuple(read_constant(context, item, node) for item in value), sequence=list)
    if isinstance(value, set | frozenset):
        return Constant(freeze(value))
    if isinstance(value, range):
        limit_entries(context, [], node, len(value))
        return Vector(tuple(map(Constant, value)))
    if is_mapping(value):
        items = freeze(value)
        return Dictionary({key: read_constant(context, items[key], node) for key in items}, isinstance(items, Settings))
    if isinstance(value, bytes | complex | EllipsisType):
        what = f"a {type(value).__name__} is not part of the language."
        raise context.error(node, what, "Use numbers, bools, strings, tuples or dicts.")
    return Constant(value)  # None, or an object whose attributes may be read


def _read_array(context: Context, value: Any, node: ast.AST) -> Value:
    if value.ndim > MOST_AXES or math.prod(value.shape) > MOST_ENTRIES:
        shown = f"an array of shape {tuple(value.shape)} is too large"
        raise context.error(node, f"{shown}: at most {MOST_AXES} axes and {MOST_ENTRIES:,} entries can be read.")
    entries = [to_number(entry) for entry in value.reshape(-1).tolist()]
    if None in entries:
        raise context.error(node, "a constant array must hold numbers or bools.")
    return fit(context, build_array, [Constant(entry) for entry in entries], tuple(value.shape), node=node)


def fit(context: Context, function: Callable[..., Found], *arguments: Any, node: ast.AST) -> Found:
    """Return what a function of shapes gives, or raise the error that points at `node` where they do not fit."""
    try:
        return function(*arguments)
    except ShapeProblem as problem:
        if problem.of is not None:
            refuse_record(context, problem.of, node)
        raise context.error(node, problem.what, problem.advice) from None


def spread(context: Context, function: Callable[..., Value], *values: Value, node: ast.AST) -> Value:
    """Return a function of scalars applied entry by entry; an unknown where a shape is not known yet."""
    if any(isinstance(value, Picked) for value in values):
        return find_open(*values) or fit(context, map_picked, context, function, *values, node=node)
    if any(has_items(value) for value in values):
        return find_open(*values) or fit(context, map_entries, function, *values, node=node)
    return function(*values)


def list_items(context: Context, value: Value, node: ast.AST) -> list[Value]:
    """Return the entries of a vector, tuple or list; of a matrix, its rows."""
    if (each := find_each(value)) is not None:
        return [each]  # it is not known yet how many there are: one is read for all
    if isinstance(value, Constant) and isinstance(value.value, tuple):
        return [read_constant(context, item, node) for item in value.value]
    if isinstance(value, Vector):
        return list(value.items)
    if isinstance(value, Dictionary):
        return [Constant(key) for key in value.items]
    if isinstance(value, Constant) and isinstance(value.value, EnumMeta):
        members: list[Enum] = list(value.value)
        return [read_constant(context, member, node) for member in members]
    if isinstance(value, Picked):
        raise context.error(node, COUNTED, WRITE_BACK)
    if (records := list_records(context, value, node)) is not None:
        return records
    refuse_unassigned(context, value, node)
    refuse_record(context, value, node, listed=True)
    advice = "Give the field a length: Field('torque', length=12)."
    raise context.error(node, f"{describe(value)} is not a vector.", advice)


def list_integers(context: Context, values: list[Value], node: ast.AST) -> list[int]:
    """Return constant integers."""
    found = [to_number(value.value) if isinstance(value, Constant) else None for value in values]
    for number, value in zip(found, values, strict=True):
        if not isinstance(number, int) or isinstance(number, bool):
            advice = (
                "Loop over a constant range, and stop early (`if i >= n: break`) or drop entries (x if i < n else 0)."
            )
            raise context.error(node, f"a constant integer is needed here, and this is {describe(value)}.", advice)
    return [number for number in found if isinstance(number, int)]
