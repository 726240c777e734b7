"""What functions of array libraries mean that multiply arrays: dot, cross and matrix products, and `einsum`."""

import ast
from itertools import product
from math import prod
from string import ascii_letters

from plaudit.language import nodes as n
from plaudit.language.reading.arithmetic import apply_arithmetic, multiply_matrices, refuse_flags
from plaudit.language.reading.context import X_Y, Context, spells
from plaudit.language.reading.entrywise import apply_operator
from plaudit.language.reading.expressions import fit, list_items
from plaudit.language.reading.masks import find_row_shape
from plaudit.language.reading.reductions import reduce_by
from plaudit.language.reading.values import Constant, Picked, Value, has_items, is_array
from plaudit.language.reading.vectors import (
    build_array,
    find_shape,
    list_entries,
    normalise_axis,
    permute_axes,
    stack_arrays,
)
from plaudit.language.shapes import Shape

MOST_PRODUCTS = 20_000
"""How many products an `einsum` may add up."""


@spells("matmul mv mm", X_Y)
def _multiply(context: Context, node: ast.AST, x: Value, y: Value) -> Value:
    return multiply_matrices(context, x, y, node)


@spells("dot", X_Y)
def _dot(context: Context, node: ast.AST, x: Value, y: Value) -> Value:
    """Return a sum of products; of a number, the product."""
    if isinstance(x, Picked) and isinstance(y, Picked) and not find_row_shape(x) and not find_row_shape(y):
        return reduce_by(context, node, n.Add, x=apply_operator(context, node, ast.Mult(), x, y))
    if not all(has_items(value) or is_array(value) for value in (x, y)):
        return apply_operator(context, node, ast.Mult(), x, y)
    if len(fit(context, find_shape, y, node=node)) > 2:
        raise context.error(node, "np.dot of more than two axes is not the product of matrices.", "Write x @ y.")
    return multiply_matrices(context, x, y, node)


@spells("bmm", "x|input y|mat2")
def _multiply_batches(context: Context, node: ast.AST, x: Value, y: Value) -> Value:
    """Return `torch.bmm`: the products of two stacks of matrices."""
    shapes = [fit(context, find_shape, value, node=node) for value in (x, y)]
    if any(len(shape) != 3 for shape in shapes) or shapes[0][0] != shapes[1][0]:
        what = f"this takes two stacks of as many matrices, and these have the shapes {shapes[0]} and {shapes[1]}."
        raise context.error(node, what, "For matrices write a @ b.")
    return multiply_matrices(context, x, y, node)


@spells("inner vdot", X_Y)
def _inner(context: Context, node: ast.AST, x: Value, y: Value) -> Value:
    shapes = [fit(context, find_shape, value, node=node) for value in (x, y)]
    if any(len(shape) != 1 for shape in shapes):
        what = f"an inner product takes two vectors, and these have the shapes {shapes[0]} and {shapes[1]}."
        raise context.error(node, what, "For matrices write a @ b, or np.sum(a * b).")
    return multiply_matrices(context, x, y, node)


@spells("cross", f"{X_Y} axis?|dim|axis", first=False)
@spells("torch.cross", f"{X_Y} axis?|dim|axis", first=True)
def _cross(context: Context, node: ast.AST, first: bool, x: Value, y: Value, axis: Value | None = None) -> Value:
    """Return the cross products of vectors of length 3 along an axis; of length 2, as NumPy does, single numbers.

    Without an axis it is the last one; to `torch.cross` it is the first one of size 3.
    """
    shapes = [fit(context, find_shape, value, node=node) for value in (x, y)]
    sizes = (3,) if first else (2, 3)
    if axis is None:
        wanted: object = -1
        if first and sum(size == 3 for size in shapes[0]) > 1:
            raise context.error(node, "several axes have the size 3, and the first one is taken.", "Write dim=-1.")
        if first and 3 in shapes[0]:
            wanted = shapes[0].index(3) - len(shapes[0])
    else:
        wanted = axis.value if isinstance(axis, Constant) else axis
    along = [fit(context, normalise_axis, wanted, len(shape), node=node) for shape in shapes]
    lengths = {shape[at] for shape, at in zip(shapes, along, strict=True)}
    if len(lengths) > 1 or not lengths <= set(sizes):
        shown = " or ".join(map(str, sizes))
        what = f"a cross product takes vectors of length {shown}, and these are {shapes[0]} and {shapes[1]}."
        raise context.error(node, what)
    a, b = (
        list_items(context, permute_axes(value, (at, *(each for each in range(len(shape)) if each != at))), node)
        for value, shape, at in zip((x, y), shapes, along, strict=True)
    )

    def subtract(i: int, j: int) -> Value:
        left = apply_arithmetic(context, ast.Mult(), a[i], b[j], node)
        return apply_arithmetic(context, ast.Sub(), left, apply_arithmetic(context, ast.Mult(), a[j], b[i], node), node)

    if lengths == {2}:
        return subtract(0, 1)
    return fit(context, stack_arrays, [subtract(1, 2), subtract(2, 0), subtract(0, 1)], wanted, node=node)


@spells("einsum", "spec|equation|subscripts *operands optimize?")
def _einsum(context: Context, node: ast.AST, spec: Value, operands: Value, optimize: Value | None = None) -> Value:
    """Return `np.einsum`: products of entries whose indices agree, added up over the indices that are not kept."""
    text = spec.value if isinstance(spec, Constant) else None
    if not isinstance(text, str):
        raise context.error(node, "the indices must be a constant string.", "Write np.einsum('ij,ij->i', a, b).")
    values = list_items(context, operands, node)
    values = list_items(context, values[0], node) if len(values) == 1 and not is_array(values[0]) else values
    shapes = [fit(context, find_shape, value, node=node) for value in values]
    terms, kept = _split_indices(context, text.replace(" ", ""), shapes, node)
    sizes: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=True):
        for letter, size in zip(term, shape, strict=True):
            if sizes.setdefault(letter, size) != size:
                what = f"the index {letter!r} of {text!r} has the sizes {sizes[letter]} and {size}."
                raise context.error(node, what, "Entries with one index have one size.")
    added = [letter for letter in sizes if letter not in kept]
    if prod(sizes.values()) > MOST_PRODUCTS:
        raise context.error(node, f"more than {MOST_PRODUCTS:,} products.", "Compute it before scoring.")
    refuse_flags(context, values, node)
    entries = [list_entries(value) for value in values]

    def add_products(at: dict[str, int]) -> Value:
        total: Value | None = None
        for rest in product(*(range(sizes[letter]) for letter in added)):
            here = at | dict(zip(added, rest, strict=True))
            factors = [
                own[_find_place([here[letter] for letter in term], shape)]
                for own, term, shape in zip(entries, terms, shapes, strict=True)
            ]
            found = factors[0]
            for factor in factors[1:]:
                found = apply_arithmetic(context, ast.Mult(), found, factor, node)
            total = found if total is None else apply_arithmetic(context, ast.Add(), total, found, node)
        return Constant(0.0) if total is None else total

    places = product(*(range(sizes[letter]) for letter in kept))
    shape = tuple(sizes[letter] for letter in kept)
    return build_array([add_products(dict(zip(kept, place, strict=True))) for place in places], shape)


def _find_place(place: list[int], shape: Shape) -> int:
    at = 0
    for position, size in zip(place, shape, strict=True):
        at = at * size + position
    return at


def _split_indices(context: Context, text: str, shapes: list[Shape], node: ast.AST) -> tuple[list[str], str]:
    """Return the indices of each operand, and those that are kept; letters stand for the axes that `...` does."""
    left, arrow, kept = text.partition("->")
    terms = left.split(",")
    advice = "Write np.einsum('ij,ij->i', a, b)."
    if len(terms) != len(shapes):
        raise context.error(node, f"{text!r} is for {len(terms)} arrays, and here are {len(shapes)}.", advice)
    counts = [len(shape) - len(term.replace("...", "")) for term, shape in zip(terms, shapes, strict=True)]
    free = [letter for letter in reversed(ascii_letters) if letter not in text]
    dots = "".join(free[: max([0, *counts])])
    for term, count in zip(terms, counts, strict=True):
        if count < 0 or (count and "..." not in term):
            axes = count + len(term.replace("...", ""))
            shown = f"{axes} {'axis' if axes == 1 else 'axes'}"
            raise context.error(node, f"{term!r} of {text!r} does not fit an array of {shown}.", advice)
    named = [term.replace("...", dots[len(dots) - count :]) for term, count in zip(terms, counts, strict=True)]
    if not arrow:
        every = "".join(terms).replace("...", "")
        kept = "..." * ("..." in left) + "".join(letter for letter in sorted(set(every)) if every.count(letter) == 1)
    kept = kept.replace("...", dots)
    known = set("".join(named))
    if not set(kept) <= known or len(set(kept)) < len(kept) or not all(letter.isalpha() for letter in known):
        raise context.error(node, f"the indices {text!r} cannot be read.", advice)
    return named, kept
