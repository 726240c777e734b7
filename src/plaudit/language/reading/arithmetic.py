"""Reading arithmetic: operators on numbers, entry by entry on arrays, and powers."""

import ast
from functools import partial

from plaudit.language import nodes as n
from plaudit.language.field import to_number
from plaudit.language.kinds import FLAG, NUMBER
from plaudit.language.program import PYTHON_OPERATIONS
from plaudit.language.reading.conditions import ConditionReader
from plaudit.language.reading.syntax import ARITHMETIC, explain_unsupported
from plaudit.language.reading.values import Constant, Ref, Value
from plaudit.language.reading.vectors import find_open, has_items, is_array

LARGEST_POWER = 64


class ArithmeticReader(ConditionReader):
    """Reads the arithmetic of one function."""

    def apply_arithmetic(self, op: ast.operator, left: Value, right: Value, node: ast.AST) -> Value:
        """Return `left op right`."""
        if isinstance(op, ast.MatMult):
            return self.multiply_matrices(left, right, node)
        if isinstance(op, ast.BitAnd | ast.BitOr | ast.BitXor):
            return self.spread(partial(self.apply_bits, op, node=node), left, right, node=node)
        if type(op) not in ARITHMETIC and not isinstance(op, ast.Pow):
            raise self.error(node, *explain_unsupported(op))
        if has_items(left) or has_items(right):
            return self.apply_to_vectors(op, left, right, node)
        if isinstance(left, Constant) and isinstance(right, Constant):
            return self.fold_constants(node, op, left, right)
        unknown = find_open(left, right)
        if isinstance(op, ast.Pow):
            found = self.raise_to_power(left, right, node)
            return unknown or found
        kind = ARITHMETIC[type(op)]
        operands = (self.reader.add_number(left, node, self.source), self.reader.add_number(right, node, self.source))
        if unknown is not None:
            return unknown
        if kind.partial:
            return self.reader.add_partial(kind(*operands), node, self.source)
        return Ref(self.reader.add(kind(*operands)), NUMBER)

    def fold_constants(self, node: ast.AST, op: ast.operator, left: Constant, right: Constant) -> Value:
        """Return arithmetic on constants, computed by Python itself."""
        numbers = [to_number(value.value) for value in (left, right)]
        if None in numbers:
            raise self.error(node, "arithmetic needs numbers.")
        python = pow if isinstance(op, ast.Pow) else PYTHON_OPERATIONS[ARITHMETIC[type(op)]]
        if isinstance(op, ast.Pow) and abs(numbers[1] or 0) > 1024:
            raise self.error(node, "the exponent is too large.")
        try:
            return self.read_constant(python(*numbers), node)  # type: ignore[arg-type]  # None was refused above
        except ArithmeticError as error:
            raise self.error(node, f"this constant cannot be computed: {error}.") from None

    def raise_to_power(self, base: Value, exponent: Value, node: ast.AST) -> Value:
        """Return a power: written out where its exponent is a constant integer, else of a base that is not negative."""
        known = to_number(exponent.value) if isinstance(exponent, Constant) else None
        if known is not None and float(known).is_integer():
            if abs(known) > LARGEST_POWER:
                raise self.error(
                    node,
                    f"a constant integer exponent is from -{LARGEST_POWER} to {LARGEST_POWER}.",
                    "For a larger one write math.exp(n * math.log(x)).",
                )
            return self.expand_power(base, int(known), node)
        reader, source = self.reader, self.source
        operands = [reader.add_number(value, node, source) for value in (base, exponent)]
        zero = reader.builder.const(0)
        above = reader.add(n.Gt(operands[0], zero))
        nothing = reader.add(n.And(reader.add(n.Eq(operands[0], zero)), reader.add(n.Gt(operands[1], zero))))
        reader.require(reader.add(n.Or(above, nothing)), "raises to a power outside its domain", node, source)
        result = reader.add(n.Power(*operands))
        reader.require(reader.add(n.IsFinite(result)), "raises a power beyond every float", node, source)
        return Ref(result, NUMBER)

    def expand_power(self, base: Value, whole: int, node: ast.AST) -> Value:
        """Write a power out as products: squares are halved, so `x ** 8` is three products, and `x ** -2` 1 by one."""
        if whole < 0:
            below = self.reader.add_number(self.expand_power(base, -whole, node), node, self.source)
            return self.reader.add_partial(n.Div(self.reader.builder.const(1.0), below), node, self.source)
        square = self.reader.add_number(base, node, self.source)
        result: int | None = None
        while whole:
            if whole & 1:
                result = square if result is None else self.reader.add(n.Mul(result, square))
            whole >>= 1
            if whole:
                square = self.reader.add(n.Mul(square, square))
        if result is None:
            return Constant(1.0)
        self.reader.require(self.reader.add(n.IsFinite(result)), "raises a power beyond every float", node, self.source)
        return find_open(base) or Ref(result, NUMBER)

    def apply_unary(self, op: ast.unaryop, value: Value, node: ast.AST) -> Value:
        """Return `op value`."""
        number = to_number(value.value) if isinstance(value, Constant) else None
        unknown = find_open(value)
        match op:
            case ast.Invert() if unknown is not None:
                return unknown
            case ast.Invert() if is_array(value) and self.holds_flags(value):
                return self.spread(lambda entry: self.apply_unary(ast.Not(), entry, node), value, node=node)
            case ast.USub() | ast.UAdd() if is_array(value):
                return self.spread(lambda entry: self.apply_unary(op, entry, node), value, node=node)
            case ast.USub() | ast.UAdd() if unknown is not None and not has_items(value):
                return unknown
            case ast.USub() if number is not None:
                return Constant(-number)
            case ast.USub():
                return Ref(self.reader.add(n.Neg(self.reader.add_number(value, node, self.source))), NUMBER)
            case ast.UAdd():
                return (
                    Ref(self.reader.add_number(value, node, self.source), NUMBER)
                    if number is None
                    else Constant(+number)
                )
            case ast.Not() if number is not None:
                return Constant(not number)
            case ast.Not():
                return Ref(self.reader.add(n.Not(self.reader.add_flag(value, node, self.source))), FLAG)
        raise self.error(node, *explain_unsupported(op))
