"""What functions of array libraries mean that take an array apart: `torch.unbind`, `torch.chunk`, `np.split`.

The pieces share their entries with the array.
"""

import ast
from collections.abc import Sequence
from itertools import accumulate, pairwise

from plaudit.language.reading.context import Context, X, spells
from plaudit.language.reading.expressions import fit, limit_entries, list_integers, list_items
from plaudit.language.reading.indexing import Part, pick_entries
from plaudit.language.reading.values import Constant, Value, Vector, has_items
from plaudit.language.reading.vectors import find_shape, normalise_axis, to_array


@spells("unbind", f"{X} axis|dim?=0")
def _unbind(context: Context, node: ast.AST, x: Value, axis: Value) -> Value:
    """Return `torch.unbind`: the entries along an axis."""
    along, size = _find_length(context, node, x, axis)
    whole = fit(context, to_array, x, node=node)
    return _pick(context, node, whole, along, [Constant(at) for at in range(size)])


@spells("split", f"{X} sections|indices_or_sections axis?=0", exact=True)
@spells("array_split", f"{X} sections|indices_or_sections axis?=0", exact=False)
@spells("tensor_split", f"{X} sections|indices_or_sections|indices axis|dim?=0", exact=False)
def _split(context: Context, node: ast.AST, x: Value, sections: Value, axis: Value, exact: bool) -> Value:
    """Return `np.split`: so many pieces, the first of which may be longer by one, or pieces that begin at indices."""
    along, size = _find_length(context, node, x, axis)
    if has_items(sections):
        starts = list_integers(context, list_items(context, sections, node), node)
        return _cut(context, node, x, along, [0, *starts, size])
    count = _read_count(context, node, sections)
    if exact and size % count:
        what = f"{size} entries cannot be split into {count} pieces of the same length."
        raise context.error(node, what, "Say where the pieces begin, np.split(v, [2, 4]), or write np.array_split.")
    lengths = [size // count + (at < size % count) for at in range(count)]
    return _cut(context, node, x, along, [0, *accumulate(lengths)])


@spells("torch.split .split", f"{X} lengths|split_size_or_sections|split_size axis|dim?=0")
def _split_torch(context: Context, node: ast.AST, x: Value, lengths: Value, axis: Value) -> Value:
    """Return `torch.split`: pieces of one length, the last of which may be shorter, or of the lengths in a list."""
    along, size = _find_length(context, node, x, axis)
    if not has_items(lengths):
        return _cut_evenly(context, node, x, along, size, _read_count(context, node, lengths))
    known = list_integers(context, list_items(context, lengths, node), node)
    if sum(known) != size or min(known, default=0) < 0:
        what = f"pieces of the lengths {known} do not make up {size} entries."
        raise context.error(node, what, "In PyTorch the list holds the lengths of all pieces, in NumPy their starts.")
    return _cut(context, node, x, along, [0, *accumulate(known)])


@spells("chunk", f"{X} chunks axis|dim?=0")
def _chunk(context: Context, node: ast.AST, x: Value, chunks: Value, axis: Value) -> Value:
    """Return `torch.chunk`: at most so many pieces of one length, the last of which may be shorter."""
    along, size = _find_length(context, node, x, axis)
    return _cut_evenly(context, node, x, along, size, -(-size // _read_count(context, node, chunks)))


def _find_length(context: Context, node: ast.AST, x: Value, axis: Value) -> tuple[int, int]:
    """Return an axis counted from the first, and how many entries there are along it."""
    shape = fit(context, find_shape, x, node=node)
    (known,) = list_integers(context, [axis], node)
    along = fit(context, normalise_axis, known, len(shape), node=node)
    return along, shape[along]


def _read_count(context: Context, node: ast.AST, count: Value) -> int:
    """Return how many pieces there are, or how long they are."""
    (known,) = list_integers(context, [count], node)
    if known < 1:
        raise context.error(node, f"an array cannot be taken apart by {known}.", "Write an integer of at least 1.")
    limit_entries(context, [], node, known)
    return known


def _cut_evenly(context: Context, node: ast.AST, x: Value, along: int, size: int, length: int) -> Value:
    return _cut(context, node, x, along, [*range(0, size, max(length, 1)), size])


def _cut(context: Context, node: ast.AST, x: Value, along: int, bounds: list[int]) -> Value:
    """Return the pieces of an array between indices along an axis."""
    whole = fit(context, to_array, x, node=node)
    return _pick(context, node, whole, along, [slice(first, last) for first, last in pairwise(bounds)])


def _pick(context: Context, node: ast.AST, whole: Value, along: int, parts: Sequence[Part]) -> Value:
    """Return what each index into one axis picks."""
    before: list[Part] = [slice(None)] * along
    return Vector(tuple(pick_entries(context, whole, [*before, part], node) for part in parts))
