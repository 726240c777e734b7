"""Operations on arrays: written out entry by entry, in row-major order, with the shapes brought together."""

import ast
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial, reduce
from typing import Any, TypeVar

from plaudit.errors import ReadError
from plaudit.language.field import to_number
from plaudit.language.kinds import FLAG, UNKNOWN
from plaudit.language.reading.reader import Reader
from plaudit.language.reading.source import Source
from plaudit.language.reading.syntax import explain_unsupported
from plaudit.language.reading.values import Constant, Dictionary, Value, Vector, describe
from plaudit.language.reading.vectors import (
    ShapeProblem,
    build_array,
    find_open,
    find_shape,
    has_items,
    is_array,
    is_open,
    list_entries,
    spread,
    transpose,
)
from plaudit.language.shapes import MOST_AXES, MOST_ENTRIES

Found = TypeVar("Found")


class ArrayReader(ABC):
    """Reads operations on arrays into operations on their entries."""

    def __init__(self, reader: Reader, source: Source) -> None:
        """Begin to read the function `source`."""
        self.reader = reader
        self.source = source

    def error(self, node: ast.AST, what: str, advice: str = "") -> ReadError:
        """Return the error that points at `node`."""
        return self.source.error(node, what, advice)

    @abstractmethod
    def read_constant(self, value: object, node: ast.AST) -> Value:
        """Return a constant of the language."""

    @abstractmethod
    def read_tuple(self, items: list[Value]) -> Value:
        """Return a tuple of values."""

    @abstractmethod
    def apply_arithmetic(self, op: ast.operator, left: Value, right: Value, node: ast.AST) -> Value:
        """Return `left op right`."""

    @abstractmethod
    def compare(self, op: ast.cmpop, left: Value, right: Value, node: ast.AST) -> Value:
        """Return one comparison."""

    @abstractmethod
    def chain(self, conjunction: bool, parts: list[Callable[[], int | bool]]) -> Value:
        """Return the conjunction or disjunction of `parts`."""

    @abstractmethod
    def join(self, test: int, then: Value, otherwise: Value, node: ast.AST) -> Value:
        """Return `then` where `test` is true and `otherwise` elsewhere."""

    @abstractmethod
    def find_kind(self, value: Value) -> str:
        """Return the kind of a value."""

    def fit(self, function: Callable[..., Found], *arguments: Any, node: ast.AST) -> Found:
        """Return what a function of shapes gives, or raise the error that points at `node` where they do not fit."""
        try:
            return function(*arguments)
        except ShapeProblem as problem:
            raise self.error(node, problem.what, problem.advice) from None

    def list_items(self, value: Value, node: ast.AST) -> list[Value]:
        """Return the entries of a vector, tuple or list; of a matrix, its rows."""
        if is_open(value) and (unknown := find_open(value)) is not None:
            return [unknown]  # it is not known yet how many there are: one is read for all
        if isinstance(value, Constant) and isinstance(value.value, tuple):
            return [self.read_constant(item, node) for item in value.value]
        if isinstance(value, Vector):
            return list(value.items)
        if isinstance(value, Dictionary):
            return [Constant(key) for key in value.items]
        self.reader.refuse_record(value, node, self.source)
        advice = "Give the field a length: Field('torque', length=12)."
        raise self.error(node, f"{describe(value)} is not a vector.", advice)

    def read_array(self, value: Any, node: ast.AST) -> Value:
        """Return a constant array of NumPy, JAX or PyTorch."""
        if value.ndim > MOST_AXES or math.prod(value.shape) > MOST_ENTRIES:
            shown = f"an array of shape {tuple(value.shape)} is too large"
            raise self.error(node, f"{shown}: at most {MOST_AXES} axes and {MOST_ENTRIES:,} entries are read.")
        entries = [to_number(entry) for entry in value.reshape(-1).tolist()]
        if None in entries:
            raise self.error(node, "a constant array holds numbers or bools.")
        return build_array([Constant(entry) for entry in entries], tuple(value.shape))

    def apply_to_vectors(self, op: ast.operator, left: Value, right: Value, node: ast.AST) -> Value:
        """Return arithmetic on arrays entry by entry; tuples and lists are joined by `+` and repeated by `*`."""
        if is_array(left) or is_array(right):
            if isinstance(op, ast.Add | ast.Sub) and self.holds_flags(left) and self.holds_flags(right):
                advice = "Join arrays of bools with `|` and `&`; to count, write 1.0 * (a > 0) + 1.0 * (b > 0)."
                raise self.error(node, "NumPy does not count in arrays of bools: True + True is True.", advice)
            return self.spread(partial(self.apply_arithmetic, op, node=node), left, right, node=node)
        if isinstance(op, ast.Add) and has_items(left) and has_items(right):
            return self.read_tuple([*self.list_items(left, node), *self.list_items(right, node)])
        if is_open(left) or is_open(right):
            return find_open(left, right) or left
        items, count = (left, right) if has_items(left) else (right, left)
        if isinstance(op, ast.Mult) and isinstance(count, Constant) and isinstance(count.value, int):
            found = self.list_items(items, node)
            if len(found) * count.value > MOST_ENTRIES:
                raise self.error(node, f"more than {MOST_ENTRIES:,} entries.", "Compute it before scoring.")
            return self.read_tuple(found * count.value)
        advice = "Make it an array, np.array(...), which is computed entry by entry; or declare it as a field."
        raise self.error(node, "a tuple or list has no arithmetic but `+` and `* 2`, as in Python.", advice)

    def spread(self, function: Callable[..., Value], *values: Value, node: ast.AST) -> Value:
        """Return a function of scalars applied entry by entry; an unknown where a shape is not known yet."""
        if any(has_items(value) for value in values):
            return find_open(*values) or self.fit(spread, function, *values, node=node)
        return function(*values)

    def holds_flags(self, value: Value) -> bool:
        """Return whether every entry is a bool."""
        return all(self.find_kind(entry) == FLAG for entry in list_entries(value))

    def apply_bits(self, op: ast.operator, left: Value, right: Value, *, node: ast.AST) -> Value:
        """Return `&`, `|` or `^` of two bools; both are computed."""
        if any(self.find_kind(value) not in (FLAG, UNKNOWN) for value in (left, right)):
            raise self.error(node, *explain_unsupported(op))
        if (unknown := find_open(left, right)) is not None:
            return unknown
        if isinstance(op, ast.BitXor):
            return self.compare(ast.NotEq(), left, right, node)
        return self.chain(
            isinstance(op, ast.BitAnd),
            [partial(self.read_truth, value, node) for value in (left, right)],
        )

    def read_truth(self, value: Value, node: ast.AST) -> int | bool:
        """Return a value as a condition: a position, or what it is when it is known already."""
        if isinstance(value, Constant) and to_number(value.value) is not None:
            return bool(value.value)
        return self.reader.add_flag(value, node, self.source)

    def multiply_matrices(self, left: Value, right: Value, node: ast.AST) -> Value:
        """Return `left @ right`: sums of products, from left to right."""
        if (unknown := find_open(left, right)) is not None:
            return unknown
        shapes = [self.fit(find_shape, value, node=node) for value in (left, right)]
        if not all(0 < len(shape) <= 2 for shape in shapes):
            shown = " and ".join(map(str, shapes))
            raise self.error(node, f"`@` takes vectors and matrices, and these have the shapes {shown}.")
        if shapes[0][-1] != shapes[1][0]:
            advice = "The last axis of the left one is as long as the first of the right one."
            raise self.error(node, f"the shapes {shapes[0]} and {shapes[1]} do not fit.", advice)
        rows = [left] if len(shapes[0]) == 1 else self.list_items(left, node)
        columns = [right] if len(shapes[1]) == 1 else self.list_items(transpose(right), node)
        found = [self.add_products(row, column, node) for row in rows for column in columns]
        return build_array(found, shapes[0][:-1] + shapes[1][1:])

    def add_products(self, left: Value, right: Value, node: ast.AST) -> Value:
        """Return the sum of the products of two vectors of one length."""
        pairs = zip(self.list_items(left, node), self.list_items(right, node), strict=True)
        products = [self.apply_arithmetic(ast.Mult(), one, other, node) for one, other in pairs]
        return reduce(lambda total, product: self.apply_arithmetic(ast.Add(), total, product, node), products)

    def join_vectors(self, test: int, then: Value, otherwise: Value, node: ast.AST) -> Value:
        """Return one of two vectors of the same length."""
        rows = self.list_items(then, node), self.list_items(otherwise, node)
        if len(rows[0]) != len(rows[1]):
            advice = "Both branches give as many entries."
            raise self.error(node, f"{describe(then)} on one path, {describe(otherwise)} on the other.", advice)
        joined = [self.join(test, left, right, node) for left, right in zip(*rows, strict=True)]
        return Vector(tuple(joined), array=is_array(then) or is_array(otherwise))
