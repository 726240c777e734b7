"""Reading arithmetic: operators on numbers, powers, and operators on arrays, written out entry by entry."""

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial, reduce
from typing import Any

from plaudit.language import nodes as n
from plaudit.language.field import to_number
from plaudit.language.kinds import FLAG, NUMBER, UNKNOWN
from plaudit.language.program import PYTHON_OPERATIONS
from plaudit.language.reading.advice import explain_unsupported
from plaudit.language.reading.bits import BIT_OPERATORS, apply_bits, invert
from plaudit.language.reading.conditions import compare, negate
from plaudit.language.reading.context import Context, reads
from plaudit.language.reading.expressions import (
    add_number,
    chain,
    fit,
    limit_entries,
    list_items,
    read_constant,
    read_truth,
    spread,
)
from plaudit.language.reading.inputs import refuse_record
from plaudit.language.reading.integers import refuse_overflow
from plaudit.language.reading.texts import is_text, join_texts
from plaudit.language.reading.values import (
    Constant,
    Ref,
    Value,
    Vector,
    build_tuple,
    find_kind,
    find_open,
    has_items,
    is_array,
    is_open,
)
from plaudit.language.reading.vectors import build_array, find_shape, holds_flags, list_entries, transpose

LARGEST_POWER = 64

ARITHMETIC: Mapping[type[ast.operator], type[n.Binary]] = {
    ast.Add: n.Add,
    ast.Sub: n.Sub,
    ast.Mult: n.Mul,
    ast.Div: n.Div,
    ast.FloorDiv: n.FloorDiv,
    ast.Mod: n.Mod,
}


FOLDS: Mapping[type[n.Binary], Callable[[Any, Any], Any]] = {
    n.Add: operator.add,
    n.Mul: operator.mul,
    n.Min: min,
    n.Max: max,
}
"""What reduces constants, from left to right."""


@reads(ast.BinOp)
def _read_operation(context: Context, node: ast.BinOp) -> Value:
    return apply_arithmetic(context, node.op, context.read(node.left), context.read(node.right), node)


def apply_arithmetic(context: Context, op: ast.operator, left: Value, right: Value, node: ast.AST) -> Value:
    """Return `left op right`."""
    if is_text(left) and (isinstance(op, ast.Mod) or (is_text(right) and isinstance(op, ast.Add))):
        return join_texts(context, op, left, right, node)
    if isinstance(op, ast.MatMult):
        return multiply_matrices(context, left, right, node)
    if isinstance(op, BIT_OPERATORS):
        return spread(context, partial(_apply_bits, context, op, node=node), left, right, node=node)
    if type(op) not in ARITHMETIC and not isinstance(op, ast.Pow):
        raise context.error(node, *explain_unsupported(op))
    if any(has_items(value) or is_array(value) for value in (left, right)):
        return _apply_to_vectors(context, op, left, right, node)
    refuse_overflow(context, op, (left, right), node)
    if isinstance(left, Constant) and isinstance(right, Constant):
        return _fold_constants(context, node, op, left, right)
    unknown = find_open(left, right)
    if isinstance(op, ast.Pow):
        found = raise_to_power(context, left, right, node)
        return unknown or found
    kind = ARITHMETIC[type(op)]
    operands = (add_number(context, left, node), add_number(context, right, node))
    if unknown is not None:
        return unknown
    if kind.partial:
        return context.add_partial(kind(*operands), node)
    return Ref(context.add(kind(*operands)), NUMBER)


def _fold_constants(context: Context, node: ast.AST, op: ast.operator, left: Constant, right: Constant) -> Value:
    """Return arithmetic on constants, computed by Python itself."""
    numbers = [to_number(value.value) for value in (left, right)]
    if None in numbers:
        raise context.error(node, "arithmetic needs numbers.")
    python = pow if isinstance(op, ast.Pow) else PYTHON_OPERATIONS[ARITHMETIC[type(op)]]
    if isinstance(op, ast.Pow) and abs(numbers[1] or 0) > 1024:
        raise context.error(node, "the exponent is too large.")
    try:
        return read_constant(context, python(*numbers), node)  # type: ignore[arg-type]  # None was refused above
    except ArithmeticError as error:
        raise context.error(node, f"this constant cannot be computed: {error}.") from None


def raise_to_power(context: Context, base: Value, exponent: Value, node: ast.AST) -> Value:
    """Return a power: written out where its exponent is a constant integer, else of a base that is not negative."""
    known = to_number(exponent.value) if isinstance(exponent, Constant) else None
    if known is not None and known % 1 == 0:
        if abs(known) > LARGEST_POWER:
            what = f"a constant integer exponent is from -{LARGEST_POWER} to {LARGEST_POWER}."
            raise context.error(node, what, "For a larger one write math.exp(n * math.log(x)).")
        return _expand_power(context, base, int(known), node)
    operands = [add_number(context, value, node) for value in (base, exponent)]
    zero = context.builder.const(0)
    above = context.add(n.Gt(operands[0], zero))
    nothing = context.add(n.And(context.add(n.Eq(operands[0], zero)), context.add(n.Gt(operands[1], zero))))
    result = context.add(n.Power(*operands))
    context.require(context.add(n.Or(above, nothing)), "raises to a power outside its domain", node, of=result)
    why = "raises a power beyond every float"
    context.require(context.add(n.IsFinite(result)), why, node, of=result, finite=True)
    return Ref(result, NUMBER)


def _expand_power(context: Context, base: Value, whole: int, node: ast.AST) -> Value:
    """Write a power out as products: squares are halved, so `x ** 8` is three products, and `x ** -2` 1 by one."""
    if whole < 0:
        below = add_number(context, _expand_power(context, base, -whole, node), node)
        return context.add_partial(n.Div(context.builder.const(1.0), below), node)
    square = add_number(context, base, node)
    result: int | None = None
    while whole:
        if whole & 1:
            result = square if result is None else context.add(n.Mul(result, square))
        whole >>= 1
        if whole:
            square = context.add(n.Mul(square, square))
    if result is None:
        return Constant(1.0)
    why = "raises a power beyond every float"
    context.require(context.add(n.IsFinite(result)), why, node, of=result, finite=True)
    return find_open(base) or Ref(result, NUMBER)


def apply_function(context: Context, node: ast.AST, kind: type[n.Node], *values: Value) -> Value:
    """Return a function of one or two numbers."""
    if (unknown := find_open(*values)) is not None:
        return unknown
    at = [add_number(context, value, node) for value in values]
    if kind.partial:
        return context.add_partial(kind(*at), node)
    return Ref(context.add(kind(*at)), FLAG if kind.flag else NUMBER)


@reads(ast.UnaryOp)
def _read_unary(context: Context, node: ast.UnaryOp) -> Value:
    return apply_unary(context, node.op, context.read(node.operand), node)


def apply_unary(context: Context, op: ast.unaryop, value: Value, node: ast.AST) -> Value:
    """Return `op value`."""
    number = to_number(value.value) if isinstance(value, Constant) else None
    unknown = find_open(value)
    match op:
        case ast.Invert() if unknown is not None:
            return unknown
        case ast.Invert() if is_array(value) and holds_flags(value):
            return spread(context, lambda entry: negate(context, entry, node), value, node=node)
        case ast.Invert() if is_array(value) and FLAG not in map(find_kind, list_entries(value)):
            return spread(context, lambda entry: invert(context, entry, node), value, node=node)
        case ast.Invert() if isinstance(number, int) and not isinstance(number, bool):
            return Constant(~number)
        case ast.Invert() if isinstance(value, Ref) and value.kind == NUMBER:
            return invert(context, value, node)
        case ast.USub() | ast.UAdd() if is_array(value):
            return spread(context, lambda entry: apply_unary(context, op, entry, node), value, node=node)
        case ast.USub() | ast.UAdd() if unknown is not None and not has_items(value):
            return unknown
        case ast.USub() if number is not None:
            return Constant(-number)
        case ast.USub():
            refuse_overflow(context, op, (value,), node)
            return Ref(context.add(n.Neg(add_number(context, value, node))), NUMBER)
        case ast.UAdd():
            return Ref(add_number(context, value, node), NUMBER) if number is None else Constant(+number)
        case ast.Not():
            return negate(context, value, node)
    refuse_record(context, value, node)
    raise context.error(node, *explain_unsupported(op))


def _apply_to_vectors(context: Context, op: ast.operator, left: Value, right: Value, node: ast.AST) -> Value:
    """Return arithmetic on arrays entry by entry; tuples and lists are joined by `+` and repeated by `*`."""
    if is_array(left) or is_array(right):
        if holds_flags(left) and holds_flags(right):
            op = _find_operator_of_flags(context, op, node)
        return spread(context, partial(apply_arithmetic, context, op, node=node), left, right, node=node)
    if isinstance(op, ast.Add) and has_items(left) and has_items(right):
        both = [*list_items(context, left, node), *list_items(context, right, node)]
        return _build_alike(limit_entries(context, both, node), left)
    if is_open(left) or is_open(right):
        return find_open(left, right) or left
    items, count = (left, right) if has_items(left) else (right, left)
    if isinstance(op, ast.Mult) and isinstance(count, Constant) and isinstance(count.value, int):
        found = list_items(context, items, node)
        return _build_alike(limit_entries(context, found, node, count.value) * count.value, items)
    advice = "Make it an array, np.array(...), to compute entry by entry, or declare it as a field."
    raise context.error(node, "a tuple or list supports only `+` and `* 2`, as in Python.", advice)


def _find_operator_of_flags(context: Context, op: ast.operator, node: ast.AST) -> ast.operator:
    """Return what an operator means between arrays of bools: in every library, a sum or product of them is a bool."""
    if isinstance(op, ast.Sub):
        advice = "Write a ^ b where they differ, a & ~b, or 1.0 * a - 1.0 * b for numbers."
        raise context.error(node, "NumPy and PyTorch do not subtract arrays of bools.", advice)
    if isinstance(op, ast.Add):
        shown = ast.unparse(node).partition("\n")[0]
        what = f"`{shown}` adds arrays of bools, which is `or` in NumPy, JAX and PyTorch, and no count."
        context.note(node, f"{what} To count, write 1.0 * a + 1.0 * b.")
        return ast.BitOr()
    return ast.BitAnd() if isinstance(op, ast.Mult) else op


def _build_alike(items: list[Value], like: Value) -> Value:
    """Return a list that may be changed where `like` may be one, and otherwise a tuple."""
    return replace(like, items=tuple(items)) if isinstance(like, Vector) else build_tuple(items)


def _apply_bits(context: Context, op: ast.operator, left: Value, right: Value, *, node: ast.AST) -> Value:
    """Return `&`, `|` or `^` of two bools, of which both are computed, or an operation on the bits of integers."""
    if isinstance(op, ast.LShift | ast.RShift) or any(
        find_kind(value) not in (FLAG, UNKNOWN) for value in (left, right)
    ):
        return apply_bits(context, op, left, right, node)
    if (unknown := find_open(left, right)) is not None:
        return unknown
    if isinstance(op, ast.BitXor):
        return compare(context, ast.NotEq(), left, right, node)
    return chain(
        context,
        isinstance(op, ast.BitAnd),
        [partial(read_truth, context, value, node) for value in (left, right)],
    )


def multiply_matrices(context: Context, left: Value, right: Value, node: ast.AST) -> Value:
    """Return `left @ right`: sums of products, from left to right, also of stacks of matrices."""
    if (unknown := find_open(left, right)) is not None:
        return unknown
    shapes = [fit(context, find_shape, value, node=node) for value in (left, right)]
    refuse_flags(context, [left, right], node)
    if not all(shapes):
        shown = " and ".join(map(str, shapes))
        raise context.error(node, f"`@` takes vectors and matrices, and these have the shapes {shown}.")
    if any(len(shape) > 2 for shape in shapes):
        return _multiply_stacks(context, left, right, node)
    if shapes[0][-1] != shapes[1][0]:
        advice = "The last axis of the left one must be as long as the first axis of the right one."
        raise context.error(node, f"the shapes {shapes[0]} and {shapes[1]} do not fit.", advice)
    rows = [left] if len(shapes[0]) == 1 else list_items(context, left, node)
    columns = [right] if len(shapes[1]) == 1 else list_items(context, transpose(right), node)
    found = [_add_products(context, row, column, node) for row in rows for column in columns]
    return build_array(found, shapes[0][:-1] + shapes[1][1:])


def refuse_flags(context: Context, values: list[Value], node: ast.AST) -> None:
    """Refuse sums of products of bools, which NumPy does not count."""
    if all(holds_flags(value) for value in values):
        raise context.error(node, "NumPy gives a bool for a product of arrays of bools.", "To count, write 1.0 * a.")


def _multiply_stacks(context: Context, left: Value, right: Value, node: ast.AST) -> Value:
    """Return the products of matrices that stand along the first axes, brought together by NumPy's rule."""
    ranks = [len(fit(context, find_shape, value, node=node)) for value in (left, right)]
    stacks = [
        list_items(context, value, node) if rank > 2 and rank == max(ranks) else [value]
        for value, rank in zip((left, right), ranks, strict=True)
    ]
    count = max(map(len, stacks))
    if any(len(stack) not in (1, count) for stack in stacks):
        raise context.error(node, f"stacks of {len(stacks[0])} and {len(stacks[1])} matrices do not fit.")
    lefts, rights = (stack * count if len(stack) == 1 else stack for stack in stacks)
    pairs = zip(lefts, rights, strict=True)
    return Vector(tuple(multiply_matrices(context, one, other, node) for one, other in pairs), array=True)


def _add_products(context: Context, left: Value, right: Value, node: ast.AST) -> Value:
    pairs = zip(list_items(context, left, node), list_items(context, right, node), strict=True)
    products = [apply_arithmetic(context, ast.Mult(), one, other, node) for one, other in pairs]
    return reduce(lambda total, product: apply_arithmetic(context, ast.Add(), total, product, node), products)


def fold(context: Context, kind: type[n.Binary], values: list[Value], node: ast.AST) -> Value:
    """Return the sum, product, minimum or maximum of values, from left to right."""
    if not values:
        raise context.error(node, "the vector is empty.")
    known = [to_number(value.value) for value in values if isinstance(value, Constant)]
    if len(known) == len(values) and None not in known:
        return read_constant(context, reduce(FOLDS[kind], known), node)
    numbers = [add_number(context, value, node) for value in values]
    return Ref(reduce(lambda left, right: context.add(kind(left, right)), numbers), NUMBER)
