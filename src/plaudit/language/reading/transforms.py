"""Reading what JAX makes of functions: `lax.cond` is a choice, `lax.fori_loop` a loop, `vmap` a call for each row."""

import ast
import inspect
from collections.abc import Callable, Mapping

from plaudit.language.reading.advice import find_whole_name
from plaudit.language.reading.comprehensions import count_turns
from plaudit.language.reading.context import Context
from plaudit.language.reading.expressions import fit, list_integers, list_items, read_several
from plaudit.language.reading.library_calls import call_spelling
from plaudit.language.reading.values import (
    Constant,
    Dictionary,
    Nested,
    Value,
    Vector,
    describe,
    find_open,
    is_array,
    is_open,
)
from plaudit.language.reading.vectors import stack_arrays

VMAP = "jax._src.api.vmap"


def read_transform(context: Context, called: object, node: ast.Call) -> Value | None:
    """Return what a function of JAX gives that is given functions; None for any other call."""
    reader = _READERS.get(find_whole_name(called)) if callable(called) else None
    return None if reader is None else reader(context, node)


def read_mapped_call(context: Context, node: ast.Call) -> Value | None:
    """Return what `jax.vmap(f)(xs)` gives; None for any other call."""
    if not isinstance(node.func, ast.Call):
        return None
    function = context.read(node.func.func)
    if not isinstance(function, Constant) or not callable(function.value) or find_whole_name(function.value) != VMAP:
        return None
    values = read_several(context, node.args)
    axes = _read_axes(context, node.func, len(values))
    mapped = [at for at, axis in enumerate(axes) if axis == 0]
    unknown = find_open(*(values[at] for at in mapped if is_open(values[at])))
    for at in mapped:
        if not is_array(values[at]) and not is_open(values[at]):
            what = f"`{ast.unparse(node.func.func)}` runs along the first axis of arrays, and this is"
            raise context.error(node, f"{what} {describe(values[at])}.", "Make it an array: jnp.array(...).")
    rows = [list_items(context, values[at], node) for at in mapped]
    if node.keywords or not rows or not rows[0] or (unknown is None and len({len(each) for each in rows}) > 1):
        raise context.error(node, "this call takes arrays of the same length, by position.", _VMAP)
    count = min(map(len, rows))
    count_turns(context, count, node)
    found = []
    for row in range(count):
        passed = [rows[mapped.index(at)][row] if at in mapped else value for at, value in enumerate(values)]
        found.append(_call(context, node.func.args[0], passed, node))
    return unknown or _stack(context, found, node)


def _read_axes(context: Context, made: ast.Call, count: int) -> list[object]:
    """Return along which axis each argument is taken apart: 0, or None for one that is passed whole."""
    given = [*made.args[1:2], *(each.value for each in made.keywords if each.arg == "in_axes")]
    known = context.read(given[0]) if len(given) == 1 else Constant(0)
    axes = known.value if isinstance(known, Constant) else known
    listed = list(axes) if isinstance(axes, tuple) else [axes] * count
    others = [each.arg for each in made.keywords if each.arg != "in_axes"]
    if len(made.args) not in (1, 2) or len(given) > 1 or others or len(listed) != count:
        raise context.error(made, f"`{ast.unparse(made)}` cannot be read.", _VMAP)
    if any(axis is not None and (axis != 0 or isinstance(axis, bool)) for axis in listed):
        raise context.error(made, "in_axes is 0 or None, or a tuple of these, one for each argument.", _VMAP)
    return listed


_VMAP = "Write jax.vmap(f)(xs, ys), or jax.vmap(f, in_axes=(0, None))(xs, y)."


def _call(context: Context, function: ast.expr, values: list[Value], node: ast.AST) -> Value:
    """Return what a function gives that is named by an expression, of values."""
    names = {f"argument {at}": value for at, value in enumerate(values)}
    call = ast.Call(function, [ast.copy_location(ast.Name(name, ast.Load()), node) for name in names], [])
    with context.using({**context.names, **names}):
        return context.read(ast.copy_location(call, node))


def _stack(context: Context, found: list[Value], node: ast.AST) -> Value:
    """Return the results of all rows as arrays along a new first axis; of tuples and dicts each part."""
    first = found[0]
    if isinstance(first, Dictionary) and all(isinstance(each, Dictionary) for each in found):
        return Dictionary({key: _stack(context, [each.items[key] for each in found], node) for key in first.items})  # type: ignore[union-attr]  # dicts
    parts = [list_items(context, each, node) for each in found if _is_tuple(each)]
    if len(parts) == len(found):
        return Vector(tuple(_stack(context, list(column), node) for column in zip(*parts, strict=True)))
    return find_open(*found) or fit(context, stack_arrays, found, 0, node=node)


def _is_tuple(value: Value) -> bool:
    listed = isinstance(value, Vector) and not value.array
    return listed or (isinstance(value, Constant) and isinstance(value.value, tuple))


def _make_mapped(context: Context, node: ast.Call) -> Value:
    """Return `jax.vmap(f)` as a function that is called later."""
    function = context.read(node.args[0]) if node.args else Constant(None)
    count = _count_parameters(function)
    if count is None:
        raise context.error(node, f"`{ast.unparse(node)}` cannot be read.", _VMAP)
    names = [f"argument_{at}" for at in range(count)]
    call = ast.Call(node, [ast.Name(name, ast.Load()) for name in names], [])
    made = ast.Lambda(ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, []), call)
    for each in ast.walk(made):
        if not hasattr(each, "lineno"):
            ast.copy_location(each, node)
    return context.read(made)


def _count_parameters(function: Value) -> int | None:
    """Return how many parameters a function has that must be given; None where that is not seen."""
    if isinstance(function, Nested):
        return len(function.source.tree.args.args) - len(function.source.tree.args.defaults)
    if not isinstance(function, Constant) or not callable(function.value):
        return None
    try:
        parameters = inspect.signature(function.value).parameters.values()
    except (TypeError, ValueError):
        return None
    return sum(each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD for each in parameters)


def _read_cond(context: Context, node: ast.Call) -> Value:
    """Return `lax.cond(condition, f, g, *operands)`: what one of two functions gives."""
    operands = [*node.args[3:], *(each.value for each in node.keywords if each.arg == "operand")]
    whole = len(node.args) >= 3 and not any(isinstance(each, ast.Starred) for each in node.args[:3])
    if not whole or any(each.arg != "operand" for each in node.keywords):
        raise context.error(node, f"`{ast.unparse(node.func)}` cannot be read so.", "Write it cond(c, f, g, x).")
    test, then, otherwise = node.args[:3]
    calls = [ast.copy_location(ast.Call(each, operands, []), each) for each in (then, otherwise)]
    return context.read(ast.copy_location(ast.IfExp(test, calls[0], calls[1]), node))


def _read_fori_loop(context: Context, node: ast.Call) -> Value:
    """Return `lax.fori_loop(first, end, step, value)` with constant ends."""
    if len(node.args) != 4 or node.keywords:
        raise context.error(node, "a loop takes its two ends, a function and a value.", "Write a `for` instead.")
    *ends, value = [context.read(each) for at, each in enumerate(node.args) if at != 2]
    if (unknown := find_open(*ends)) is not None:
        _call(context, node.args[2], [unknown, value], node)
        return unknown
    turns = range(*list_integers(context, ends, node))
    count_turns(context, len(turns), node)
    for turn in turns:
        value = _call(context, node.args[2], [Constant(turn), value], node)
    return value


def _read_select(context: Context, node: ast.Call) -> Value:
    """Return `lax.select(mask, a, b)`, which is `where`."""
    return call_spelling(context, "where", node)


_READERS: Mapping[str, Callable[[Context, ast.Call], Value]] = {
    VMAP: _make_mapped,
    "jax._src.lax.control_flow.conditionals.cond": _read_cond,
    "jax._src.lax.control_flow.loops.fori_loop": _read_fori_loop,
    "jax._src.lax.lax.select": _read_select,
}
"""What reads a call, by the whole name of the function that is called."""
