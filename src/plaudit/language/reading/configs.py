"""Objects from outside that a reward looks things up in: configs with attributes, with keys, or with both.

They are read as they were when the term was defined: `cfg.joint_ids`, `cfg["scale"]`, `getattr(cfg, name, 1.0)`.
"""

import ast
from types import EllipsisType

from plaudit.language.reading.advice import explain_unsupported_call, explain_unsupported_index
from plaudit.language.reading.context import Context
from plaudit.language.reading.expressions import find_attribute, read_constant
from plaudit.language.reading.values import (
    Constant,
    Dictionary,
    Value,
    describe,
    find_open,
    freeze,
    is_object,
)


def read_object_attribute(context: Context, called: object, node: ast.Call) -> Value:
    """Return what `getattr(cfg, "x", default)` or `hasattr(cfg, "x")` gives of an object from outside."""
    base, name, *default = [context.read(argument) for argument in node.args]
    if (unknown := find_open(base, name)) is not None:
        return unknown
    known = name.value if isinstance(name, Constant) else None
    if not isinstance(known, str) or not isinstance(base, Constant | Dictionary) or len(default) > 1:
        raise context.error(node, *explain_unsupported_call(ast.unparse(node.func), called))
    found = _has_attribute(base, known)
    if called is hasattr:
        return Constant(found)
    if not found and default:
        return default[0]
    return find_attribute(context, base, ast.copy_location(ast.Attribute(node.args[0], known, ast.Load()), node))


def _has_attribute(base: Constant | Dictionary, name: str) -> bool:
    if isinstance(base, Dictionary):
        return base.attributes and name in base.items
    return hasattr(base.value, name)


def read_object_item(
    context: Context, base: Constant, parts: list[Value | slice | EllipsisType], node: ast.Subscript
) -> Value:
    """Return an item of an object from outside, by a constant key: `cfg["scale"]`, `np.s_[:3]`."""
    keys = [part.value if isinstance(part, Constant) else part for part in parts]
    if any(isinstance(key, Value) for key in keys) or not hasattr(type(base.value), "__getitem__"):
        raise context.error(node, *explain_unsupported_index(keys[0], describe(base)))
    key = tuple(keys) if isinstance(node.slice, ast.Tuple) else keys[0]
    try:
        found = base.value[key]  # type: ignore[index]  # it has `__getitem__`
    except (LookupError, TypeError, ValueError) as error:
        raise context.error(node, f"{key!r} is not a key of {describe(base)}: {error}.") from None
    return read_constant(context, freeze(found), node)


def list_attributes(context: Context, node: ast.Call) -> Value:
    """Return `vars(cfg)`."""
    base = context.read(node.args[0])
    if (unknown := find_open(base)) is not None:
        return unknown
    if not isinstance(base, Constant) or not is_object(base.value) or not hasattr(base.value, "__dict__"):
        raise context.error(node, f"`vars` takes an object from outside, and this is {describe(base)}.")
    names = [name for name in vars(base.value) if name.isidentifier()]
    read = [ast.copy_location(ast.Attribute(node.args[0], name, ast.Load()), node) for name in names]
    return Dictionary({name: find_attribute(context, base, each) for name, each in zip(names, read, strict=True)})


def make_slice(context: Context, node: ast.Call) -> Value:
    """Return `slice(start, stop, step)` of constants."""
    bounds = [context.read(argument) for argument in node.args]
    if (unknown := find_open(*bounds)) is not None:
        return unknown
    known = [bound.value for bound in bounds if isinstance(bound, Constant)]
    if len(known) != len(bounds) or not 1 <= len(known) <= 3 or node.keywords:
        raise context.error(node, "a slice takes one to three constants.", "Write slice(0, 3), or v[0:3].")
    return Constant(slice(*known))
