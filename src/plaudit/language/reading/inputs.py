"""What a function reads: fields, parts of records, and parameters, each an input or a parameter of the Program."""

import ast
from collections.abc import Mapping

from plaudit.errors import UnknownField, did_you_mean
from plaudit.language import nodes as n
from plaudit.language.field import RECORDS, TERMINAL, Field, infer_field_kind
from plaudit.language.kinds import FLAG, NUMBER
from plaudit.language.parameters import Fixed, expand_parameters
from plaudit.language.program import Builder
from plaudit.language.reading.advice import explain_state
from plaudit.language.reading.context import Context, Path
from plaudit.language.reading.owners import list_held
from plaudit.language.reading.paths import (
    claim_name,
    drop_indices,
    find_declared,
    format_part_name,
    list_part_names,
    suggest_name,
)
from plaudit.language.reading.values import (
    Constant,
    Dictionary,
    Element,
    Record,
    Ref,
    Unassigned,
    Undeclared,
    Value,
    Vector,
    build_vector,
    format_path,
)
from plaudit.language.shapes import infer_shape

BATCH_SIZES = ("num_envs", "batch_size")
"""What a record calls the number of rows of a batch."""


OTHER_ROW = "@"
"""What follows the name of an input of another row, in functions that are written for batches."""


def read_parameter(context: Context, name: str, node: ast.AST) -> Value:
    """Return what a positional parameter stands for: a field, a shared parameter, or a record of them."""
    if name in RECORDS:
        return Record((name,))
    fields = context.scope.fields
    if fields is None:
        context.parts.add(name)
    if name not in (fields or ()) and name in context.scope.params:
        return read_shared(context, name)
    if fields is not None and name not in fields and name != TERMINAL.name:
        return Record((name,))  # refused where it is used as a value
    return _read_field(context, name, (name,), node)


def _read_field(context: Context, name: str, path: tuple[str, ...], node: ast.AST) -> Value:
    """Return a field that is read plainly: its value after the step. `path` is the parameter or part it is."""
    claim_name(context, name, path, node)
    context.reads[name] = None
    if name in context.scope.states:
        return _read_state(context, name, node)
    if name in context.scope.transition:
        return _read_input(context, name, f"curr.{name}", node)
    return _read_input(context, name, name, node)


def read_part(context: Context, path: tuple[str, ...], node: ast.AST) -> Value:
    """Return a part of a record: the field, or the shared parameter, whose name is the longest that ends its path.

    `self.robot.pos` is the field `robot_pos`, or `pos`, and `env.speed("n")` is `speed_n`, or `speed`. Where none is
    declared, it is a record itself.
    """
    refuse_written(context, path, node)
    names = list_part_names(path)
    name = find_declared(context, path)
    if name in context.scope.params and name not in (context.scope.fields or ()):
        context.parts.update(names if context.scope.fields is None else ())
        claim_name(context, name, path, node)
        return read_shared(context, name)
    if context.scope.fields is None:
        above = format_part_name(drop_indices(path[:-1])[-1])
        if above in context.parts:  # it is no field, but a record
            context.reads.pop(above, None)
        context.parts.update(names)
        context.reads[names[-1]] = None
        return Undeclared(context.add(n.Input(names[-1])), names[-1], path)
    if name:
        return _read_field(context, name, path, node)
    if context.batch and path[-1] in BATCH_SIZES:
        return Constant(context.batch)
    return Record(path)


def read_kept_part(context: Context, name: str, node: ast.AST) -> Value:
    """Return what a part of a record is on a path that does not assign it: its field, if that is declared."""
    base = context.bases.get(name)
    path = (*getattr(base, "path", ()), name.rpartition(".")[2])
    if base is None or (context.scope.fields is not None and not find_declared(context, path)):
        return Unassigned()
    return read_member(context, base, path[-1], node)


def refuse_written(context: Context, path: Path, node: ast.AST) -> None:
    """Refuse a part of a record that a dropped statement has changed: what it is now is not known."""
    if not context.written:
        return
    for length in range(1, len(path) + 1):
        *above, last = path[:length]
        where = context.written.get((*above, "()" if "(" in last else last))
        if where is not None:
            what = f"`{format_path(path)}` is changed by {where}, and what it holds then is not read."
            kept = explain_state(format_part_name(path[-1]))
            raise context.error(node, what, f"Give the value a local name, and read that. {kept}")


def read_member(context: Context, base: Value, part: str, node: ast.AST) -> Value:
    """Return a part of a record: `base.part` or `base["part"]`."""
    assert isinstance(base, Record | Undeclared | Element)
    if base.path[0] in RECORDS:
        return read_record(context, base.path[0], part, node)
    return read_part(context, (*base.path, part), node)


def read_record(context: Context, record: str, name: str, node: ast.AST) -> Value:
    """Return a field before or after the step; what no term reads as `prev.x` or `curr.x` is plain after it."""
    context.reads[f"{record}.{name}"] = None
    if record == "curr" and name in context.scope.states:
        return _read_state(context, name, node)
    if record == "curr" and context.scope.fields is not None and name not in context.scope.transition:
        return _read_input(context, name, name, node)
    return _read_input(context, name, f"{record}.{name}", node)


def _read_state(context: Context, name: str, node: ast.AST) -> Value:
    """Return a state after the step, which is what its update computes."""
    computed = context.scope.states[name]
    if computed is None:
        reader = "an update" if context.what == "state" else f"a {context.what}"
        what = f"{reader} cannot read a state after the step: updates compute it."
        advice = f"Read its value before the step: `prev.{name}`, with `prev` among the parameters."
        raise context.error(node, f"{name!r} is a state, and {what}", advice)
    if context.batch:
        what = f"{name!r} is a state, which a function with batched=True cannot read after the step."
        raise context.error(node, what, "Write the function for one row, without batched=True.")
    context.inputs |= computed.inputs
    return computed.value


def _read_input(context: Context, field_name: str, name: str, node: ast.AST) -> Value:
    """Return an input by its whole name; a vector or matrix is written out in row-major order."""
    if context.scope.fields is None:
        return Undeclared(context.add(n.Input(name)), name, () if "." in name else (name,))
    declared = TERMINAL if name == "terminal" else context.scope.fields.get(field_name)
    if declared is None:
        raise _make_unknown(context, (field_name,), field_name, node)
    if name not in context.known:
        rows = ["", *(f"{OTHER_ROW}{row}" for row in range(1, context.batch))]
        values = tuple(_add_inputs(context, name, declared, row) for row in rows)
        context.known[name] = Vector(values, array=True) if context.batch else values[0]
    return context.known[name]


def _make_unknown(context: Context, path: Path, name: str, node: ast.AST, more: str = "") -> UnknownField:
    """Return the error that says that a field is not declared."""
    shown = format_path(path)
    known = ", ".join(context.scope.fields or ()) or "none"
    near = did_you_mean(name, _list_readable(context))
    value = _find_value(context, path)
    given = f"shared={{{name!r}: {value!r:.60}}}" if value is not None else "shared="
    advice = f"\nDeclare Field({name!r}), or pass it in {given} if it never changes."
    if shown == name:  # a parameter
        given = f"give it a value with term(params={{{name!r}: ...}})"
        wanted = context.what == "term" and not near
        advice = f"\nDeclare Field({name!r}), or {given} if it never changes." if wanted else ""
    elif path[0] == context.receiver:
        more = f"{_suggest_held(context)}{more}"
    return UnknownField(
        f"{context.what} {context.term!r} reads {shown!r}, which the reward does not declare.\n"
        f"  {context.source.locate(node)}\n"
        f"Declared fields: {known}.{near}{advice}{more}"
    )


def _suggest_held(context: Context) -> str:
    """Return what the object holds whose method is read, and what of it is not declared; nothing for a single part."""
    if context.owner is None:
        return ""
    known = {*(context.scope.fields or ()), *context.scope.params}
    held = {name: value for name, value in list_held(context.owner, context.source).items() if name not in known}
    if len(held) < 2:
        return ""
    kind = context.owner.kind.__name__
    return f"\nOf what this {kind} holds, shared={held!r} takes those that never change; declare fields for the rest."


def _find_value(context: Context, path: Path) -> object:
    """Return the value that the object has now of whose method is read, if that can be written; None otherwise."""
    value = getattr(context.owner, "receiver", None)
    if value is None or isinstance(value, type) or path[0] != context.receiver:
        return None
    for part in path[1:]:
        value = getattr(value, "__dict__", {}).get(part)
    plain = isinstance(value, bool | int | float | str | tuple)
    return value if plain else None


def refuse_record(context: Context, value: Value, node: ast.AST, *, listed: bool = False) -> None:
    """Refuse a record where a value, or if `listed` a list, is needed: no field is declared for it."""
    if isinstance(value, Record) and value.path[0] not in RECORDS:
        path = value.path
        for length in range(2, len(path) + 1):
            if path[:length] in context.failures:
                raise context.failures[path[:length]]
        path = drop_indices(path)  # into what is not declared
        name = suggest_name(path)
        part = f"Of a list of objects, declare what is read of each one: Field('{name}_0_pos'), Field('{name}_1_pos')."
        raise _make_unknown(context, path, name, node, f"\n{part}" if listed else "")


def _list_readable(context: Context) -> list[str]:
    """Return the names that a term may read: fields, and fields before and after the step."""
    fields = context.scope.fields or {}
    return [*fields, *(f"{record}.{name}" for name in fields for record in RECORDS)]


def _add_inputs(context: Context, name: str, declared: Field, row: str) -> Value:
    """Return the entries of a field, of this row or of another one of a batch."""
    if not declared.shape:
        return _add_input(context, name, declared, row)
    entries = [_add_input(context, f"{name}{entry}", declared, row) for entry in declared.entries]
    context.entries |= {id(entry): entry for entry in entries}
    return build_vector(entries, declared.shape)


def _add_input(context: Context, name: str, declared: Field, row: str) -> Ref:
    if not row:
        context.inputs[name] = declared
    at = context.add(n.Input(f"{name}{row}"))
    if declared.outside == "clip":
        at = hold_within_range(context.builder, at, declared)
    return Ref(at, infer_field_kind(declared))


def read_knob(context: Context, name: str, default: object) -> Value:
    """Return what a parameter of the function stands for that is not data; one without a value is shared."""
    if default is None:
        return read_shared(context, name)
    if isinstance(default, Fixed):
        return _read_fixed(context, default.value)
    dotted = f"{context.term}.{name}"
    return _read_number(context, dotted, context.scope.params.get(dotted, default))


def read_shared(context: Context, name: str) -> Value:
    """Return a parameter that the reward supplies: a number, numbers, or a constant."""
    if name not in context.scope.params:
        context.params[name] = None
        return Undeclared(context.add(n.Param(name)), name)  # the reward will say what it is
    value = context.scope.params[name]
    return _read_fixed(context, value.value) if isinstance(value, Fixed) else _read_number(context, name, value)


def _read_fixed(context: Context, value: object) -> Value:
    """Return a constant; the entries of a mapping may be read as attributes, as those of a configuration are."""
    if isinstance(value, Mapping):
        return Dictionary({key: _read_fixed(context, part) for key, part in value.items()}, attributes=True)
    return context.read(ast.Constant(value))  # type: ignore[arg-type]  # any object stands there


def _read_number(context: Context, name: str, value: object) -> Value:
    if isinstance(value, tuple):
        entries = [_add_parameter(context, *entry) for entry in expand_parameters({name: value}).items()]
        return build_vector(entries, infer_shape(value))
    return _add_parameter(context, name, value)


def _add_parameter(context: Context, name: str, value: object) -> Ref:
    context.params[name] = None
    return Ref(context.add(n.Param(name)), FLAG if isinstance(value, bool) else NUMBER)


def hold_within_range(builder: Builder, at: int, field: Field) -> int:
    """Return the position of a number that is held within the range of its field."""
    if field.low is not None:
        at = builder.add(n.Max(at, builder.const(float(field.low))))
    return at if field.high is None else builder.add(n.Min(at, builder.const(float(field.high))))
