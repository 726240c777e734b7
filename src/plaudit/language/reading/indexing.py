"""Reading subscripts: entries, slices and rows of arrays, and constant tables, also by an index of the row."""

import ast
from dataclasses import replace
from enum import EnumMeta
from types import EllipsisType

from plaudit.language import nodes as n
from plaudit.language.field import is_exact, to_number
from plaudit.language.kinds import FLAG, NUMBER, UNKNOWN
from plaudit.language.reading.advice import explain_empty, explain_unsupported_index
from plaudit.language.reading.conditions import compare, find_labels, join
from plaudit.language.reading.configs import read_object_item
from plaudit.language.reading.context import Context, reads
from plaudit.language.reading.dictionaries import look_up_key
from plaudit.language.reading.expressions import add_flag, add_number, fit, list_items, read_constant, refuse_unassigned
from plaudit.language.reading.inputs import read_member, refuse_record
from plaudit.language.reading.lists import list_records
from plaudit.language.reading.masks import is_mask, map_rows, pick_rows
from plaudit.language.reading.presence import refuse_special
from plaudit.language.reading.values import (
    Constant,
    Dictionary,
    Element,
    Picked,
    Record,
    Ref,
    Undeclared,
    Value,
    Vector,
    build_tuple,
    describe,
    find_each,
    find_kind,
    find_open,
    has_items,
    is_array,
    is_object,
    is_open,
    is_record,
    list_each,
)
from plaudit.language.reading.vectors import (
    BATCH,
    BATCHED,
    COUNTED,
    WRITE_BACK,
    build_array,
    find_shape,
    insert_axis,
    list_entries,
    map_entries,
)

NEW_AXIS = slice(None, None, 0)
"""Stands for an index of None."""


_FROM_START = "An index that is a parameter counts from 0; write a constant to count from the end: v[-1]."

Part = Value | slice | EllipsisType
"""One part of an index: a value, a slice of constants, or `...`."""


@reads(ast.Subscript)
def _read_subscript(context: Context, node: ast.Subscript) -> Value:
    base = context.read(node.value)
    if isinstance(base, Dictionary):
        return look_up_key(context, base, context.read(node.slice), node)
    several = isinstance(node.slice, ast.Tuple)  # `v[(0, 1),]` has one part, and picks two entries
    parts = read_indices(context, node)
    known = parts[0].value if isinstance(parts[0], Constant) else None
    refuse_special(context, getattr(base, "path", ()), "__getitem__", node)
    if isinstance(known, str) and is_record(base):  # `history["speed", -1]` is an entry of the field
        member = read_member(context, base, known, node)
        return _read_item(context, member, parts[1:], node, True) if several else member
    if isinstance(known, int) and isinstance(base, Record) and not several:
        return read_member(context, base, str(known), node)  # `env.vehicles[0].speed`
    if isinstance(known, int) and isinstance(base, Undeclared) and base.path and not several:
        return replace(base, path=(*base.path, str(known)))
    if isinstance(known, str) and is_open(base) and isinstance(base, Ref):
        return base  # of a dict of dicts
    if (each := find_each(base)) is not None and isinstance(base, Undeclared | Element) and not several:
        return list_each(Ref(base.at, base.kind), each) if isinstance(node.slice, ast.Slice) else each
    if known is None and (records := list_records(context, base, node)) is not None:
        if not isinstance(parts[0], slice):
            advice = "Loop over all: `for i, each in enumerate(...): total += each.x if i == index else 0`."
            raise context.error(node, "which object of the list is meant depends on the row.", advice)
        base = Vector(tuple(records))
    if isinstance(known, str) and isinstance(base, Constant) and isinstance(base.value, EnumMeta):
        if known in base.value.__members__:
            return read_constant(context, base.value[known], node)
        listed = ", ".join(base.value.__members__)
        raise context.error(
            node, f"{known!r} is not a member of {base.value.__name__}.", f"Its members: {listed:.200}."
        )
    if isinstance(known, str):
        raise context.error(node, *explain_unsupported_index(known, describe(base)))
    return _read_item(context, base, parts, node, several)


def _read_item(context: Context, base: Value, parts: list[Part], node: ast.Subscript, several: bool) -> Value:
    """Return what an index of known parts gives, none of them the name of a part."""
    known = parts[0].value if isinstance(parts[0], Constant) else None
    if (unknown := find_open_index(context, base, parts)) is not None:
        return unknown
    if isinstance(base, Constant) and is_object(base.value):
        return read_object_item(context, base, parts, node)
    if isinstance(base, Picked):
        return _index_picked(context, base, parts, node)
    if is_array(base) and is_mask(parts[0]):
        return pick_masked(context, base, parts, node)
    if not has_items(base):
        refuse_unassigned(context, base, node)
        refuse_record(context, base, node)
        raise context.error(node, *explain_unsupported_index(known, describe(base)))
    if not is_array(base):
        if several or (isinstance(parts[0], Constant) and isinstance(parts[0].value, tuple)):
            raise context.error(node, "a tuple takes one index.", "Write t[1][2], or make it an array: np.array(t).")
        picked = _pick_item(context, list_items(context, base, node), parts[0], base, node)
        refuse_unassigned(context, picked, node)
        return picked
    if not several and isinstance(parts[0], Constant) and isinstance(parts[0].value, tuple):
        parts = [_as_part(context, Constant(part), node) for part in parts[0].value]
    return _index_array(context, base, parts, node)


def _index_array(context: Context, base: Value, parts: list[Part], node: ast.AST) -> Value:
    base, parts = _add_axes(context, base, [_as_list(context, part, node) for part in parts])
    return pick_entries(context, base, fill_ellipsis(context, base, parts, node), node)


def pick_masked(context: Context, base: Value, parts: list[Part], node: ast.AST) -> Picked:
    """Return what an index picks that begins with a mask of data: `v[v > 0]`, `m[fast, 2]`."""
    mask, *rest = parts
    if any(isinstance(part, Vector) for part in rest):
        raise context.error(
            node, "a mask cannot be combined with a list of indices.", "Index twice: m[mask][:, [0, 2]]."
        )
    picked = fit(context, pick_rows, base, mask, node=node)
    return map_rows(context, lambda row: _index_array(context, row, rest, node), picked) if rest else picked


def _index_picked(context: Context, base: Picked, parts: list[Part], node: ast.AST) -> Value:
    """Return an index into what a mask picks: all of it along its first axis."""
    rest = parts if parts[0] is ... else parts[1:]
    if parts[0] not in (..., slice(None)):
        raise context.error(node, COUNTED, WRITE_BACK)
    return map_rows(context, lambda row: _index_array(context, row, rest, node), base) if rest else base


def _as_list(context: Context, part: Part, node: ast.AST) -> Part:
    """Return a tuple of constants among the parts of an index as the list that it means there."""
    if isinstance(part, Constant) and isinstance(part.value, tuple):
        return Vector(tuple(read_constant(context, each, node) for each in part.value))
    return part


def read_indices(context: Context, node: ast.Subscript) -> list[Part]:
    """Return the parts of an index, one for each axis."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return [_read_index(context, part) for part in parts]


def find_open_index(context: Context, base: Value, parts: list[Part]) -> Ref | None:
    """Return an unknown where it is not known yet what is indexed, or by what."""
    indices = [part for part in parts if not isinstance(part, slice | EllipsisType)]
    if is_open(base) or any(find_open(index) for index in indices):
        return find_open(base, *indices)
    computed = any(not isinstance(index, Constant) for index in indices)
    return find_open(base) if computed else None


def _read_index(context: Context, node: ast.expr) -> Part:
    match node:
        case ast.Constant(value=value) if value is ...:
            return ...
        case ast.Constant(value=None) | ast.Attribute(attr="newaxis"):
            return NEW_AXIS
        case ast.Slice(lower=lower, upper=upper, step=step):
            bounds = [None if bound is None else context.read(bound) for bound in (lower, upper, step)]
            if (unknown := find_open(*(bound for bound in bounds if bound is not None))) is not None:
                return unknown
            known = [_find_bound(context, bound, node) for bound in bounds]
            if known[2] == 0:
                raise context.error(node, "the step of a slice cannot be 0.")
            return slice(*known)
    return _as_part(context, context.read(node), node)


def _as_part(context: Context, value: Value, node: ast.AST) -> Part:
    """Return a value as a part of an index: a constant slice, `...` or None, or a list of constants, is one."""
    match value:
        case Constant(slice() as known):
            bounds = [Constant(bound) for bound in (known.start, known.stop, known.step)]
            return slice(*(None if bound.value is None else _find_bound(context, bound, node) for bound in bounds))
        case Constant(EllipsisType()):
            return ...
        case Constant(None):
            return NEW_AXIS
    return value


def _find_bound(context: Context, value: Value | None, node: ast.AST) -> int | None:
    if value is None:
        return None
    number = to_number(value.value) if isinstance(value, Constant) else None
    if not isinstance(number, int):
        advice = "Weight the entries instead: np.where(np.arange(12) < count, v, 0.0)."
        raise context.error(node, "the bounds of a slice must be constant integers.", advice)
    return number


def fill_ellipsis(context: Context, base: Value, parts: list[Part], node: ast.AST) -> list[Part]:
    """Return one part for each axis that is indexed; `...` stands for the axes between."""
    shape = fit(context, find_shape, base, node=node)
    dots = [at for at, part in enumerate(parts) if part is ...]
    if len(dots) > 1:
        raise context.error(node, "an index can have only one `...`.")
    if len(parts) - len(dots) > len(shape):
        axes = f"{len(shape)} {'axis' if len(shape) == 1 else 'axes'}"
        advice = f"{BATCH}: write v[2] for v[:, 2]. {BATCHED} For several entries write v[[0, 3]]."
        raise context.error(node, f"{len(parts)} indices into {axes}.", advice)
    if dots:
        parts[dots[0] : dots[0] + 1] = [slice(None)] * (len(shape) - len(parts) + 1)
    return parts


def _add_axes(context: Context, base: Value, parts: list[Part]) -> tuple[Value, list[Part]]:
    """Return an array with the axes that an index of None adds, and the index with slices there."""
    dots = [at for at, part in enumerate(parts) if part is ...]
    for at, part in enumerate(parts):
        if part is NEW_AXIS:
            rank = len(find_shape(base))
            behind = len(parts) - at - 1 if dots and dots[0] < at else None
            base = insert_axis(base, at if behind is None else rank - behind)
    return base, [slice(None) if part is NEW_AXIS else part for part in parts]


def pick_entries(context: Context, base: Value, parts: list[Part], node: ast.AST) -> Value:
    """Return the entries of an array that an index names, axis by axis."""
    if not parts:
        return base
    picked = [at for at, part in enumerate(parts) if not isinstance(part, slice)]
    lists = [part for part in parts if isinstance(part, Vector)]
    if (lists and picked[-1] - picked[0] >= len(picked)) or (len(lists) > 1 and any(map(_is_constant_mask, lists))):
        advice = "Use the list on its own: m[0][[1, 2]]."
        raise context.error(node, "a list of indices cannot be combined with other indices.", advice)
    if isinstance(parts[0], Vector) and len(lists) > 1:
        rest = parts[len(picked) :]
        return fit(
            context,
            map_entries,
            lambda *each: pick_entries(context, base, [*each, *rest], node),
            *parts[: len(picked)],
            node=node,
        )
    if isinstance(parts[0], Vector):
        return _pick_listed(context, base, parts[0], parts[1:], node)
    found = _pick_item(context, list_items(context, base, node), parts[0], base, node)
    if not isinstance(parts[0], slice):
        return pick_entries(context, found, parts[1:], node)
    rows = [pick_entries(context, row, parts[1:], node) for row in list_items(context, found, node)]
    return Vector(tuple(rows), array=True)


def _pick_listed(context: Context, base: Value, index: Vector, rest: list[Part], node: ast.AST) -> Value:
    """Return the entries that an array of integers names, in its shape, or those where a mask of constants is true."""
    if _is_constant_mask(index):
        picked = fit(context, pick_rows, base, index, node=node)
        kept = [row for flag, row in zip(picked.mask, picked.rows, strict=True) if flag.value]  # type: ignore[union-attr]
        return Vector(tuple(pick_entries(context, row, rest, node) for row in kept), array=True)
    items, shape = list_items(context, base, node), fit(context, find_shape, index, node=node)
    if _holds_indices(index):
        found = [_choose_item(context, items, entry, node) for entry in list_entries(index)]
    else:
        found = [items[at] for at in _list_positions(context, index, len(items), node)]
    rows = [pick_entries(context, row, rest, node) for row in found]
    return build_array(rows, shape) if rows else Vector((), array=True)


def _is_constant_mask(index: Vector) -> bool:
    entries = list_entries(index)
    return bool(entries) and all(isinstance(entry, Constant) and isinstance(entry.value, bool) for entry in entries)


def _pick_item(context: Context, items: list[Value], part: Part, base: Value, node: ast.AST) -> Value:
    """Return the item that an index names, or the items that a slice does."""
    if isinstance(part, slice):
        found = items[part]
        return replace(base, items=tuple(found)) if isinstance(base, Vector) else build_tuple(found)
    if not isinstance(part, Constant):
        return _choose_item(context, items, part, node)
    whole = to_number(part.value)
    if not isinstance(whole, int) or not -len(items) <= whole < len(items):
        advice = "" if items else f"It is empty when the function is read.{explain_empty(node)}"
        raise context.error(node, f"{describe(part)} is not an index into {len(items)} entries.", advice)
    return items[whole]


def _holds_indices(index: Vector) -> bool:
    """Return whether an index lists numbers of the row or of the reward, and not constants."""
    entries = list_entries(index)
    return bool(entries) and all(isinstance(entry, Ref) and entry.kind == NUMBER for entry in entries)


def _list_positions(context: Context, index: Vector, length: int, node: ast.AST) -> list[int]:
    """Return the positions that an array of constant integers names."""
    known = [to_number(entry.value) if isinstance(entry, Constant) else None for entry in list_entries(index)]
    if not all(isinstance(entry, int) and not isinstance(entry, bool) for entry in known):
        advice = "Keep every entry and weight it: np.where(v > 0, v, 0.0)."
        raise context.error(node, "entries can only be picked by a list of constant integers or bools.", advice)
    for entry in known:
        if not -length <= entry < length:  # type: ignore[operator]
            raise context.error(node, f"{entry} is not an index into {length} entries.")
    return known  # type: ignore[return-value]


def _choose_item(context: Context, items: list[Value], index: Part, node: ast.AST) -> Value:
    """Return the item at a computed index, guarded: outside, the row does not count."""
    if has_items(index):  # type: ignore[arg-type]  # no slice
        advice = "Make it an array, np.array(v)[[0, 2]], or write [v[i] for i in indices]."
        what = f"a list or tuple of Python cannot be indexed by {describe(index)}."  # type: ignore[arg-type]
        raise context.error(node, what, advice)
    if not isinstance(index, Ref):
        raise context.error(node, f"{describe(index)} is not an index.", "Index by integers.")  # type: ignore[arg-type]
    if any(has_items(item) for item in items):
        shape = fit(context, find_shape, Vector(tuple(items)), node=node)[1:]
        columns = zip(*(list_entries(item) for item in items), strict=True)
        return build_array([_choose_item(context, list(column), index, node) for column in columns], shape)
    if all(isinstance(item, Constant) for item in items):
        return _look_up_item(context, tuple(item.value for item in items if isinstance(item, Constant)), index, node)
    knob = context.builder.nodes[index.at]
    if (
        isinstance(knob, n.Param)
        and (known := to_number(context.scope.params.get(knob.name))) is not None
        and known < 0
    ):
        raise context.error(node, f"the index is the parameter {knob.name!r}, and it is {known:g}.", _FROM_START)
    why = f"indexes a vector of {len(items)} outside it"
    positions = tuple(float(at) for at in range(len(items)))
    at = add_number(context, index, node)
    position = context.add_partial(n.Item(positions, at), node, why=why)
    result = items[-1]
    for place, item in reversed(list(enumerate(items[:-1]))):
        here = context.add(n.Eq(position.at, context.builder.const(float(place))))
        result = join(context, here, item, result, node)
    return result


def _look_up_item(context: Context, table: tuple[object, ...], index: Value, node: ast.AST) -> Value:
    numbers = [to_number(entry) for entry in table]
    if not numbers or None in numbers or not all(is_exact(entry) for entry in numbers if entry is not None):
        raise context.error(node, "a table indexed by a computed number must hold finite numbers or bools.")
    flags = all(isinstance(entry, bool) for entry in numbers)
    entries = tuple(bool(entry) if flags else float(entry or 0) for entry in numbers)
    at = add_number(context, index, node)
    why = f"indexes a table of {len(entries)} outside it"
    ref = context.add_partial(n.Item(entries, at), node, why=why)
    return Ref(ref.at, FLAG if flags else NUMBER)


def look_up_position(context: Context, table: tuple[object, ...], value: Value, node: ast.AST) -> Value:
    """Return `TABLE.index(value)`."""
    if isinstance(value, Constant):
        if value.value not in table:
            raise context.error(node, f"{value.value!r} is not in the tuple.")
        return Constant(table.index(value.value))
    if find_kind(value) == UNKNOWN:
        return Ref(add_number(context, value, node), UNKNOWN)
    why = "looks up a value that is not in its tuple"
    labels = find_labels(context, value)
    if labels and isinstance(value, Ref):
        known = tuple(label in table for label in labels)
        if not all(known):
            context.require(context.add(n.Item(known, value.at)), why, node)
        positions = tuple(float(table.index(label)) if label in table else 0.0 for label in labels)
        return context.add_partial(n.Item(positions, value.at), node, why=why)
    flags = [compare(context, ast.Eq(), value, read_constant(context, entry, node), node) for entry in table]
    matches = [add_flag(context, flag, node) for flag in flags]
    context.require(context.builder.any(matches), why, node)
    result = context.builder.const(0)
    for position, flag in reversed(list(enumerate(matches))):
        result = context.add(n.Select(flag, context.builder.const(position), result))
    return Ref(result, NUMBER)
