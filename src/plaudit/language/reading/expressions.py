"""Reading names, attributes, constants, tuples and lists."""

import ast
import types

from plaudit.errors import did_you_mean
from plaudit.language.reading.advice import explain_unsupported_attribute
from plaudit.language.reading.context import Context, reads
from plaudit.language.reading.inputs import read_member
from plaudit.language.reading.operands import fit, list_items, read_constant
from plaudit.language.reading.values import (
    Constant,
    Ref,
    Unassigned,
    Value,
    Vector,
    build_tuple,
    describe,
    format_part,
    freeze,
    is_object,
)
from plaudit.language.reading.vectors import (
    find_open,
    find_shape,
    is_array,
    is_open,
    is_record,
    list_entries,
    transpose,
)


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
            raise context.error(node, value.why, f"Give the new value a name of its own: `total = {node.id} + ...`.")
        if isinstance(value, Unassigned):
            raise context.error(node, f"some path leaves {node.id!r} without a value.", "Assign it before the `if`.")
        return value
    if node.id in context.locals:
        raise context.error(node, f"{node.id!r} is read before it is assigned.", "Assign it above this line.")
    try:
        outer = context.source.find_outer(node.id)
    except KeyError:
        near = did_you_mean(node.id, [*context.names, *context.source.function.__globals__])
        raise context.error(
            node,
            f"the name {node.id!r} is not known.{near}",
            "Define constants above the term; a field is a parameter.",
        ) from None
    context.source.known[node.id] = outer = freeze(outer)  # kept as it was when the function was first read
    return read_constant(context, outer, node)


@reads(ast.Attribute)
def _read_attribute(context: Context, node: ast.Attribute) -> Value:
    base = context.read(node.value)
    if is_record(base) and (local := format_part(base, node.attr)) in context.names:
        return read_name(context, ast.copy_location(ast.Name(local, ast.Load()), node))
    return find_attribute(context, base, node)


def find_attribute(context: Context, base: Value, node: ast.Attribute) -> Value:
    """Return the attribute that `node` names, of what it is read from."""
    if node.attr in ("values", "indices") and is_open(base) and isinstance(base, Ref):
        return base  # of `torch.max(v, dim=0)`
    if node.attr in ("shape", "size", "ndim", "T") and (is_open(base) or is_array(base)):
        if (unknown := find_open(base)) is not None:
            return unknown
        if node.attr == "T":
            return fit(context, transpose, base, node=node)
        shape = fit(context, find_shape, base, node=node)
        return Constant({"shape": shape, "size": len(list_entries(base)), "ndim": len(shape)}[node.attr])
    if is_record(base):
        return read_member(context, base, node.attr, node)
    if isinstance(base, Constant) and (isinstance(base.value, types.ModuleType | type) or is_object(base.value)):
        key = (id(base.value), node.attr)
        if key not in context.source.known:
            if not hasattr(base.value, node.attr):
                raise context.error(node, f"{ast.unparse(node)!r} does not exist.")
            context.source.known[id(base.value)] = base.value  # so that no other object gets its id
            context.source.known[key] = freeze(getattr(base.value, node.attr))
        return read_constant(context, context.source.known[key], node)
    if isinstance(base, Vector) and not base.array and node.attr in ("values", "indices") and len(base.items) == 2:
        return base.items[node.attr == "indices"]
    raise context.error(node, *explain_unsupported_attribute(node, describe(base)))


@reads(ast.Tuple)
def _read_tuple(context: Context, node: ast.Tuple) -> Value:
    return find_open_star(context, node.elts) or build_tuple(read_several(context, node.elts))


@reads(ast.List)
def _read_list(context: Context, node: ast.List) -> Value:
    return find_open_star(context, node.elts) or Vector(tuple(read_several(context, node.elts)))


def read_several(context: Context, elements: list[ast.expr]) -> list[Value]:
    """Return the values of a tuple, list or call; `*v` stands for the entries of `v`."""
    found: list[Value] = []
    for element in elements:
        if isinstance(element, ast.Starred):
            found += list_items(context, context.read(element.value), element)
        else:
            found.append(context.read(element))
    return found


def find_open_star(context: Context, elements: list[ast.expr]) -> Ref | None:
    """Return an unknown where it is not known yet how many values `*v` stands for."""
    stars = [context.read(each.value) for each in elements if isinstance(each, ast.Starred)]
    return find_open(*(value for value in stars if is_open(value)))
