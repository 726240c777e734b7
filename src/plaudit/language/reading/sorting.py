"""What sorting means: `np.sort`, `torch.sort` and Python's own `sorted`, of a few numbers."""

import ast

from plaudit.language import nodes as n
from plaudit.language.reading.arithmetic import fold
from plaudit.language.reading.comprehensions import read_iterable
from plaudit.language.reading.context import Context, X, spells
from plaudit.language.reading.expressions import fit, list_integers, list_items, read_constant
from plaudit.language.reading.values import (
    Constant,
    Unassigned,
    Value,
    Vector,
    describe,
    find_each,
    find_open,
    has_items,
    is_open,
    list_each,
)
from plaudit.language.reading.vectors import build_array, find_shape, list_entries, normalise_axis

_BEFORE = "Compute it before scoring and pass it in as a field."

MOST_SORTED = 8
"""How many numbers are sorted at most: each is compared with each."""


@spells("sort", f"{X} axis?|dim|axis descending?")
@spells("torch.sort", f"{X} axis?|dim descending?", torch=True)
def _sort(
    context: Context,
    node: ast.AST,
    x: Value,
    axis: Value | None = None,
    descending: Value | None = None,
    torch: bool = False,
) -> Value:
    """Return numbers in order, along the last axis; in PyTorch also the positions, which are not known."""
    shape = fit(context, find_shape, x, node=node)
    along = fit(context, normalise_axis, _read_axis(context, node, axis), len(shape), node=node)
    size = shape[along]
    if along != len(shape) - 1 or size > MOST_SORTED:
        raise context.error(node, f"at most {MOST_SORTED} numbers are sorted, along the last axis.", _BEFORE)
    backwards = _read_order(context, node, "descending", descending)
    entries = list_entries(x)
    rows = [_sort_entries(context, node, entries[at : at + size])[::backwards] for at in range(0, len(entries), size)]
    found = build_array([entry for row in rows for entry in row], shape)
    return Vector((found, Unassigned("the positions of sorted numbers cannot be read."))) if torch else found


def _sort_entries(context: Context, node: ast.AST, entries: list[Value]) -> list[Value]:
    """Return numbers in order, by comparing neighbours until each is where it belongs."""
    for last in range(len(entries) - 1, 0, -1):
        for at in range(last):
            pair = entries[at : at + 2]
            entries[at : at + 2] = [fold(context, kind, pair, node) for kind in (n.Min, n.Max)]
    return entries


def _read_axis(context: Context, node: ast.AST, axis: Value | None) -> int:
    return -1 if axis is None else list_integers(context, [axis], node)[0]


def _read_order(context: Context, node: ast.AST, name: str, backwards: Value | None) -> int:
    """Return the step through numbers in rising order: 1, or -1 to begin with the largest."""
    if backwards is not None and not isinstance(backwards, Constant):
        raise context.error(node, f"{name}= must be a constant.", f"Write {name}=True.")
    return -1 if backwards is not None and backwards.value else 1


def read_sorted(context: Context, node: ast.Call) -> Value:
    """Return `sorted(v)` or `sorted(v, reverse=True)`, a list."""
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    if len(node.args) != 1 or not given.keys() <= {"reverse"}:
        advice = "Write sorted(v), sorted(v, reverse=True) or sorted(f(x) for x in v); by a key, sort before scoring."
        raise context.error(node, "`sorted` cannot be read with these arguments.", advice)
    backwards = None if not given else context.read(given["reverse"])
    value = read_iterable(context, node.args[0])
    if (unknown := find_open(value)) is not None and is_open(value):
        return list_each(unknown, find_each(value))
    items = list_items(context, value, node)
    if unknown is not None:
        return Vector((unknown,) * len(items), sequence=list)
    step = _read_order(context, node, "reverse", backwards)
    if all(isinstance(each, Constant) for each in items):
        return _sort_constants(context, node, [each.value for each in items if isinstance(each, Constant)], step)
    if len(items) > MOST_SORTED:
        raise context.error(node, f"at most {MOST_SORTED} numbers are sorted, and here are {len(items)}.", _BEFORE)
    for each in items:
        if has_items(each):
            advice = "Sort one number of each: sorted(x for x, y in v)."
            raise context.error(node, f"`sorted` orders numbers here, and this is {describe(each)}.", advice)
    return Vector(tuple(_sort_entries(context, node, items)[::step]), sequence=list)


def _sort_constants(context: Context, node: ast.AST, values: list[object], step: int) -> Value:
    """Return constants, also strings and tuples, in Python's own order."""
    try:
        found = sorted(values, reverse=step < 0)  # type: ignore[type-var]  # what has no order is refused
    except TypeError as error:
        raise context.error(node, f"these constants have no order: {error}.") from None
    return Vector(tuple(read_constant(context, each, node) for each in found), sequence=list)
