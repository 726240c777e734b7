"""Reading assignments: names get values, tuples are taken apart, and what a function made is changed in place."""

import ast
from dataclasses import replace

from plaudit.errors import PlauditError, UnknownField
from plaudit.language.field import RECORDS
from plaudit.language.reading.advice import explain_state, explain_unsupported, explain_unsupported_target
from plaudit.language.reading.arithmetic import apply_arithmetic
from plaudit.language.reading.changes import may_change_here, read_changes
from plaudit.language.reading.context import Context, binds, reads
from plaudit.language.reading.dictionaries import find_key, look_up_key
from plaudit.language.reading.dropped import (
    Dropped,
    drop,
    fills_part,
    find_container,
    find_written,
    is_harmless_here,
    mention_fields,
)
from plaudit.language.reading.dtypes import FLOAT, find_dtype, fit_entry
from plaudit.language.reading.entrywise import choose
from plaudit.language.reading.expressions import find_open_star, fit, list_items, read_several, spread
from plaudit.language.reading.flow import runs
from plaudit.language.reading.in_place import IN_PLACE, change_local, change_temporary
from plaudit.language.reading.indexing import (
    Part,
    fill_ellipsis,
    find_open_index,
    pick_entries,
    pick_masked,
    read_indices,
)
from plaudit.language.reading.inputs import refuse_record
from plaudit.language.reading.lists import list_records
from plaudit.language.reading.masks import find_row_shape, is_mask
from plaudit.language.reading.owners import has_setter
from plaudit.language.reading.sharing import change, find_local, forget_shared, is_given, is_shared
from plaudit.language.reading.values import (
    Constant,
    Dictionary,
    Picked,
    Record,
    Ref,
    Unassigned,
    Undeclared,
    Value,
    Vector,
    build_tuple,
    describe,
    find_each,
    find_open,
    format_part,
    has_items,
    is_array,
    is_open,
    is_record,
)
from plaudit.language.reading.vectors import build_array, find_shape, list_entries, map_entries


@runs(ast.Assign, ast.AnnAssign)
def _run_assignment(context: Context, statement: ast.Assign | ast.AnnAssign) -> None:
    """Read an assignment; what cannot be read is refused where somebody uses it."""
    targets: list[ast.expr] = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    if statement.value is None:
        return  # an annotation alone
    try:
        with context.trying():
            value = change_local(context, statement.value) or _read_value(context, targets, statement.value)
    except PlauditError as error:
        value = _keep_error(context, statement, targets, error)
    for target in targets:
        context.bind(target, value)


def _read_value(context: Context, targets: list[ast.expr], node: ast.expr) -> Value:
    """Return what is assigned; of several values, what one target gets is nothing to the others."""
    if isinstance(node, ast.Tuple) and any(isinstance(target, ast.Tuple | ast.List) for target in targets):
        return read_apart(context, node)
    return context.read(node)


def read_apart(context: Context, node: ast.Tuple) -> Value:
    """Return a tuple in which what cannot be read is refused where somebody uses it, as what is assigned is."""
    if (some := find_open_star(context, node.elts)) is not None:
        return some
    found: list[Value] = []
    for element in node.elts:
        try:
            with context.trying():
                found += read_several(context, [element])
        except PlauditError as error:
            unknown = isinstance(error, UnknownField)
            if _changes_array(element) or not (unknown or is_harmless_here(context, element)):
                raise
            context.note(element, f"`{ast.unparse(element)}` is dropped: it makes no difference to the score.")
            found.append(Unassigned(error=error))
    return build_tuple(found)


def _changes_array(value: ast.expr) -> bool:
    return any(isinstance(node, ast.Attribute) and node.attr in IN_PLACE for node in ast.walk(value))


@runs(ast.AugAssign)
def _run_augmented(context: Context, statement: ast.AugAssign) -> None:
    target = statement.target
    if isinstance(target, ast.Subscript) and (written := find_written(context, target, statement)) is not None:
        read_changes(context, target)
        context.read(statement.value)  # for what it assigns
        drop(context, written)
        return
    if any(may_change_here(context, each) for each in ast.walk(target)):
        what = f"`{ast.unparse(target)}` assigns something where it is looked up."
        raise context.error(target, what, "Give the index a local name, on a line of its own.")
    try:
        with context.trying():
            value = _augment(context, statement)
    except PlauditError as error:
        if isinstance(target, ast.Name) and not _is_plain(context, target):
            raise  # it may have changed an array in place
        value = _keep_error(context, statement, [target], error)
    context.bind(target, value)


def _is_plain(context: Context, target: ast.Name) -> bool:
    """Return whether a name is certainly given a new value by `+=`: it is no array and no list."""
    value = context.names.get(target.id)
    return value.plain if isinstance(value, Unassigned) else isinstance(context.read(target), Ref | Constant)


def _keep_error(
    context: Context,
    statement: ast.Assign | ast.AnnAssign | ast.AugAssign,
    targets: list[ast.expr],
    error: PlauditError,
) -> Value:
    """Return what stands for a value that cannot be read; an error where reading it would assign something."""
    names = all(isinstance(target, ast.Name) for target in targets)
    parts = all(isinstance(target, ast.Name | ast.Attribute) or fills_part(context, target) for target in targets)
    assert statement.value is not None
    unknown = names and isinstance(error, UnknownField)
    if _changes_array(statement.value) or not (unknown or (parts and is_harmless_here(context, statement.value))):
        raise error
    read_changes(context, statement.value)
    drop(context, Dropped(statement))
    return Unassigned(error=error)


def _augment(context: Context, statement: ast.AugAssign) -> Value:
    target = statement.target
    left = context.read(_load(target))
    if isinstance(left, Vector) and isinstance(target, ast.Name) and is_given(context, left):
        name = ast.unparse(target)
        sign = ast.unparse(statement)[len(name) :].split("=")[0].strip()
        advice = f"Write a new value: `{name} = {name} {sign} ...`. {explain_state(name)}"
        raise context.error(statement, f"this would change an array that {name!r} shares with other names.", advice)
    value = apply_arithmetic(context, statement.op, left, context.read(statement.value), statement)
    if isinstance(left, Vector):
        changed: ast.expr = target
        while isinstance(changed, ast.Subscript):  # what it is an entry of is changed where it is assigned
            changed = changed.value
        forget_shared(context, left, ast.unparse(changed))
    return value


def _load(target: ast.expr) -> ast.expr:
    read: ast.expr = ast.parse(ast.unparse(target), mode="eval").body
    for node in ast.walk(read):
        ast.copy_location(node, target)
    return read


@reads(ast.NamedExpr)
def _read_walrus(context: Context, node: ast.NamedExpr) -> Value:
    """Return what is assigned inside an expression, where every row that gets to the statement gets here."""
    if not context.certain:
        raise context.error(node, *explain_unsupported(node))
    value = context.read(node.value)
    context.assign(node.target.id, value)
    return value


@binds(ast.Name)
def _bind_name(context: Context, target: ast.Name, value: Value) -> None:
    context.assign(target.id, value)


@binds(ast.Tuple, ast.List)
def _bind_several(context: Context, target: ast.Tuple | ast.List, value: Value) -> None:
    changed = len(context.changed)
    for one, item in zip(target.elts, _split_value(context, target.elts, value, target), strict=True):
        if any(is_shared(old, item) for old in context.changed[changed:]):
            what = f"`{ast.unparse(one)}` is given a part of an array that another target has just changed."
            raise context.error(target, what, "Assign on lines of their own, with a copy of what is needed later.")
        context.bind(one.value if isinstance(one, ast.Starred) else one, item)


def _split_value(context: Context, targets: list[ast.expr], value: Value, node: ast.AST) -> list[Value]:
    """Return a value for each target; what a star takes is a list."""
    if (each := find_each(value)) is not None:
        return [value if isinstance(target, ast.Starred) else each for target in targets]
    records = list_records(context, value, node)
    if records is None and not has_items(value):
        refuse_record(context, value, node)
        what = f"{describe(value)} cannot be unpacked into {len(targets)} names."
        raise context.error(node, what, "Unpack a vector field, a tuple, or what a helper returns as a tuple.")
    items = list_items(context, value, node) if records is None else records
    star = next((at for at, target in enumerate(targets) if isinstance(target, ast.Starred)), None)
    if len(items) < len(targets) - 1 if star is not None else len(items) != len(targets):
        least = f"{len(targets)}" if star is None else f"at least {len(targets) - 1}"
        what = f"there are {len(items)} values here, and the left side takes {least}."
        raise context.error(node, what, "Write a name for each value, or `*rest` for the remaining ones.")
    if star is None:
        return items
    after = star + len(items) - len(targets) + 1
    return [*items[:star], Vector(tuple(items[star:after]), sequence=list), *items[after:]]


@binds(ast.Attribute)
def _assign_part(context: Context, target: ast.Attribute, value: Value) -> None:
    """Read `self.x = value`: from here on `self.x` is that value, as a local name is; nothing is kept."""
    base = context.read(target.value)
    if not isinstance(base, Record | Undeclared) or not base.path or base.path[0] in RECORDS:
        raise context.error(target, *explain_unsupported_target(target))
    if base.path == (context.receiver,) and has_setter(context.owner, target.attr):
        what = f"`{ast.unparse(target)}` is a property, or its class has `__setattr__`: assigning to it runs that."
        raise context.error(target, what, "Assign to a local name.")
    context.write(format_part(base, target.attr), value, base)


@binds(ast.Subscript)
def _assign_item(context: Context, target: ast.Subscript, value: Value) -> None:
    local = find_local(context, target.value)
    if local is None and _fill_part(context, target, value):
        return None
    if local is None:
        statement = ast.copy_location(ast.Expr(target), target)
        if (written := find_written(context, target, statement, put=(target,))) is not None:
            read_changes(context, target)
            return drop(context, written)
        if find_container(context, target.value) is not None:
            what = f"`{ast.unparse(target.value)}` may be a value that the function goes on to read."
            raise context.error(target, what, "Drop this line, or put a copy there first: `value.copy()`.")
        root: ast.expr = target.value
        while isinstance(root, ast.Subscript):
            root = root.value
        if root is not target.value and find_local(context, root) is not None:
            what = f"`{ast.unparse(target.value)}` is inside another list or dict, and cannot be changed there."
            raise context.error(target, what, "Change it under its own name, and put it there when it is complete.")
        raise context.error(target, *explain_unsupported_target(target))
    old = local[1]
    if isinstance(old, Dictionary):
        key = find_key(context, context.read(target.slice), target)
        return change(context, old, Dictionary({**old.items, key: value}))
    parts = read_indices(context, target)
    if (unknown := find_open(old, value) or find_open_index(context, old, parts)) is not None:
        return change(context, old, unknown)
    if is_array(old) and is_mask(parts[0]):
        return change(context, old, _write_masked(context, old, parts, value, target))
    return change(context, old, _replace_entries(context, old, parts, value, target))


def _fill_part(context: Context, target: ast.Subscript, value: Value) -> bool:
    """Read `self.rew_buf[:] = value`: from here on that part has these entries; return whether it is such a line."""
    if not fills_part(context, target):
        return False
    part = target.value
    assert isinstance(part, ast.Attribute)
    if not is_record(context.read(part.value)):
        return False
    if isinstance(value, Unassigned) or find_open(value) is not None:
        pass
    elif find_container(context, part) is None:
        old = context.read(part)
        if not is_array(old):
            return False
        dtype = find_dtype(context, list_entries(old))
        value = fit(
            context, map_entries, lambda _, one: fit_entry(context, dtype, one, target), old, value, node=target
        )
        forget_shared(context, old)
    else:
        if context.batch and not is_array(value):
            value = Vector((value,) * context.batch, array=True)
        value = spread(context, lambda one: fit_entry(context, FLOAT, one, target), value, node=target)
    mention_fields(context, target)
    _assign_part(context, part, value)
    return True


def _write_masked(context: Context, old: Value, parts: list[Part], value: Value, node: ast.Subscript) -> Value:
    """Return an array with `value` where a mask is true: what the same mask picks, or one value for all places."""
    shape = fit(context, find_shape, old, node=node)
    entries = list_entries(old)
    dtype = find_dtype(context, entries)
    places = pick_masked(context, build_array([Constant(at) for at in range(len(entries))], shape), parts, node)

    def fit_value(one: Value, place: Value) -> Value:
        return fit_entry(context, dtype, one, node)

    written = spread(context, fit_value, value, places, node=node)
    assert isinstance(written, Picked)
    if find_row_shape(written) != find_row_shape(places):
        what = f"values of the shape {find_row_shape(written)} are written into rows of the shape"
        raise context.error(node, f"{what} {find_row_shape(places)}.", "Write as many entries as there are.")
    for flag, row, where in zip(places.mask, written.rows, places.rows, strict=True):
        for one, place in zip(list_entries(row), list_entries(where), strict=True):
            at = place.value  # type: ignore[union-attr]  # a constant position
            chosen = choose(context, node, flag, one, entries[at])  # type: ignore[index]
            entries[at] = replace(chosen) if isinstance(chosen, Ref | Constant) else chosen  # type: ignore[index]
    return build_array(entries, shape)


def _replace_entries(context: Context, old: Value, parts: list[Part], value: Value, node: ast.Subscript) -> Value:
    assert isinstance(old, Vector)
    entries = list_entries(old) if old.array else list(old.items)
    shape = fit(context, find_shape, old, node=node) if old.array else (len(entries),)
    dtype = find_dtype(context, entries) if old.array else ""
    places = build_array([Constant(at) for at in range(len(entries))], shape)
    picked = pick_entries(context, places, fill_ellipsis(context, places, parts, node), node)
    if not all(isinstance(place, Constant) for place in list_entries(picked)):
        advice = "Choose between whole arrays: np.where(np.arange(4) == leg, x, v)."
        raise context.error(node, "only the entry at a constant index can be replaced.", advice)
    if not old.array:
        if isinstance(picked, Vector):
            raise context.error(node, "a slice of a list cannot be assigned to.", "Join lists: v[:1] + w.")
        entries[list_entries(picked)[0].value] = value  # type: ignore[union-attr,index]
        return replace(old, items=tuple(entries))

    def put(place: Value, one: Value) -> Value:
        entries[place.value] = fit_entry(context, dtype, one, node)  # type: ignore[union-attr,index]
        return one

    fit(context, map_entries, put, picked, value, node=node)
    return build_array(entries, shape)


def delete_key(context: Context, target: ast.Subscript) -> bool:
    """Read `del d["a"]` of a local dict; return whether it is one."""
    local = find_local(context, target.value)
    if local is None or not isinstance(local[1], Dictionary):
        return False
    key = find_key(context, context.read(target.slice), target)
    look_up_key(context, local[1], Constant(key), target)
    change(context, local[1], Dictionary({each: value for each, value in local[1].items.items() if each != key}))
    return True


def call_in_place(context: Context, node: ast.Call) -> bool:
    """Read `v.append(x)`, `v.extend(w)` and `d.update(e)` of a local list or dict, and `x.clamp_(0, 1)` of an array."""
    if change_local(context, node) is not None:
        return True
    if isinstance(node.func, ast.Attribute) and node.func.attr in IN_PLACE:
        base = context.read(node.func.value)
        return not isinstance(base, Record) and bool(change_temporary(context, base, node))
    if not isinstance(node.func, ast.Attribute) or node.keywords or len(node.args) != 1:
        return False
    local = find_local(context, node.func.value)
    if local is None or node.func.attr not in ("append", "extend", "update"):
        return False
    old, value = local[1], _read_added(context, node)
    match node.func.attr, old, value:
        case _ if is_open(old):
            pass
        case "append", Vector(items, False), _:
            change(context, old, replace(old, items=(*items, value)))
        case "extend", Vector(items, False), _:
            change(context, old, replace(old, items=(*items, *list_items(context, value, node))))
        case "update", Dictionary(entries), Dictionary(others):
            change(context, old, Dictionary({**entries, **others}))
        case _:
            what = f"`.{node.func.attr}()` cannot be read for {describe(old)} and {describe(value)}."
            raise context.error(node, what, "Lists have append and extend, dicts have update.")
    return True


def _read_added(context: Context, node: ast.Call) -> Value:
    """Return what is added to a list or dict; what cannot be appended is refused where somebody reads it."""
    try:
        with context.trying():
            return context.read(node.args[0])
    except PlauditError as error:
        appended = node.func.attr == "append"  # type: ignore[attr-defined]  # a method is called
        if not appended or _changes_array(node.args[0]) or not is_harmless_here(context, node.args[0]):
            raise
        read_changes(context, node.args[0])
        context.note(node, f"`{ast.unparse(node.args[0])}` is dropped: it makes no difference to the score.")
        return Unassigned(error=error)
