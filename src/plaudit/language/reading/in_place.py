"""Methods of PyTorch that change an array in place, `x.clamp_(0.0, 1.0)`: of local arrays, and of what has no name."""

import ast
from collections.abc import Mapping

from plaudit.language.reading import entrywise, reductions
from plaudit.language.reading.context import SPELLINGS, Context
from plaudit.language.reading.dtypes import find_dtype, fit_entry
from plaudit.language.reading.expressions import fit, spread
from plaudit.language.reading.inputs import refuse_record
from plaudit.language.reading.library_calls import METHODS, call_spelling
from plaudit.language.reading.sharing import change, find_local, is_given, is_shared
from plaudit.language.reading.values import Ref, Value, describe, find_open, is_array
from plaudit.language.reading.vectors import find_shape, list_entries

_NAMES = (
    "abs acos add arccos arcsin arctan asin atan ceil clamp clip cos cosh deg2rad div divide exp expm1 floor log "
    "log10 log1p log2 masked_fill mul multiply neg negative pow rad2deg reciprocal relu remainder round sigmoid sign "
    "sin sinh sqrt square sub subtract tan tanh trunc"
)
IN_PLACE: Mapping[str, str] = {f"{name}_": name for name in _NAMES.split()} | {
    "fill_": "full_like",
    "zero_": "zeros_like",
}
"""What the methods that change an array in place leave there, by the function that returns it."""

_MADE = {
    "clone",
    "copy",
    "stack",
    "cat",
    "zeros",
    "ones",
    "full",
    "zeros_like",
    "ones_like",
    "full_like",
    "tensor",
    "bmm",
    "cross",
    "matmul",
} | {
    name.lstrip(".").rpartition(".")[2]
    for name, spelled in SPELLINGS.items()
    if spelled.function.func.__module__ in (entrywise.__name__, reductions.__name__)  # type: ignore[attr-defined]
}
"""Functions and methods that return an array of their own: no view of another one."""


def change_local(context: Context, node: ast.expr) -> Value | None:
    """Read a call that changes a local array in place, and calls of what it returns: `x.mul_(2).add_(1)`.

    It stands on a line of its own, or is all that is assigned or returned: nothing else reads the array meanwhile.

    Returns:
        The array as it is then; None where this is no such call.
    """
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in IN_PLACE:
        return None
    old = change_local(context, node.func.value)
    if old is None:
        local = find_local(context, node.func.value)
        if local is None:
            return None
        old = local[1]
    new = _compute(context, old, node)
    change(context, old, new)
    return new


def change_temporary(context: Context, base: Value, node: ast.Call) -> Value:
    """Return what a method leaves that changes an array in place which nothing else reads: `(a - b).clamp_(0.0)`."""
    assert isinstance(node.func, ast.Attribute)
    refuse_record(context, base, node)
    if (unknown := find_open(base)) is not None:
        return unknown
    known = (*context.names.values(), *context.known.values(), *context.given)
    if is_given(context, base) or not _is_made(node.func.value) or any(is_shared(base, each) for each in known):
        name = node.func.attr
        what = f"`.{name}()` changes an array in place that something else may read."
        advice = f"Write a new value, x = x.{IN_PLACE[name]}(...), or change a local copy on a line of its own."
        raise context.error(node, what, advice)
    return _compute(context, base, node)


def _is_made(node: ast.expr) -> bool:
    """Return whether an expression makes an array of its own, or is a part or another shape of such a one."""
    match node:
        case ast.BinOp() | ast.UnaryOp(op=ast.USub() | ast.Invert()):
            return True
        case ast.Call(func=ast.Attribute(value=value, attr=attr)):
            return attr in _MADE or ((attr in METHODS or attr in IN_PLACE) and _is_made(value))
        case ast.Subscript(value=value):
            return _is_made(value)
    return False


def _compute(context: Context, old: Value, node: ast.Call) -> Value:
    assert isinstance(node.func, ast.Attribute)
    if (unknown := find_open(old)) is not None:
        return unknown
    if not is_array(old) and not isinstance(old, Ref):
        raise context.error(node, f"{describe(old)} has no `.{node.func.attr}()`.", "Make it an array: np.array(...).")
    new = call_spelling(context, IN_PLACE[node.func.attr], node, old)
    if find_open(new) is not None:
        return new
    dtype = find_dtype(context, list_entries(old))
    shapes = [fit(context, find_shape, value, node=node) for value in (old, new)]
    if shapes[0] != shapes[1]:
        what = f"an array of the shape {shapes[0]} cannot become one of the shape {shapes[1]} in place."
        raise context.error(node, what, "Write a new value: y = x + z.")
    return spread(context, lambda entry: fit_entry(context, dtype, entry, node), new, node=node)
