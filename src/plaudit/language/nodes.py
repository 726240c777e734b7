"""The operations a reward is made of: plain data, each naming its operands by position.

A node has no behaviour. Running, rendering, bounding and proving are tables from node type to a small function,
kept in the modules named after those jobs. Every operation is total: outside its domain it has a value all the
same (said in each docstring), and a `Defined` node beside it says whether that value counts.
"""

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Node:
    """One operation of a Program."""


@dataclass(frozen=True, slots=True)
class Const(Node):
    """A number or a flag. `1`, `1.0` and `True` are three constants."""

    value: float | bool


@dataclass(frozen=True, slots=True)
class Label(Node):
    """The constant category `value` of `field`."""

    field: str
    value: str


@dataclass(frozen=True, slots=True)
class Input(Node):
    """A value of the row being scored: `distance`, `prev.tokens_used`, `torque[3]`, `terminal`."""

    name: str


@dataclass(frozen=True, slots=True)
class Param(Node):
    """A parameter of the reward: `comfort.harsh`, `comfort.weight`, `total.low`."""

    name: str


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """An operation on one operand."""

    arg: int


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """An operation on two operands."""

    left: int
    right: int


class Neg(Unary):
    """`-arg`."""

    __slots__ = ()


class Abs(Unary):
    """`abs(arg)`."""

    __slots__ = ()


class Not(Unary):
    """`not arg`, of a flag."""

    __slots__ = ()


class Number(Unary):
    """A flag as a number: 1 or 0."""

    __slots__ = ()


class Sqrt(Unary):
    """The square root; 0 outside the domain."""

    __slots__ = ()


class Exp(Unary):
    """The exponential; 1 where it would overflow."""

    __slots__ = ()


class Expm1(Unary):
    """`exp(arg) - 1`; 0 where it would overflow."""

    __slots__ = ()


class Log(Unary):
    """The natural logarithm; 0 outside the domain."""

    __slots__ = ()


class Log1p(Unary):
    """`log(1 + arg)`; 0 outside the domain."""

    __slots__ = ()


class Sin(Unary):
    """The sine; 0 for an infinite argument."""

    __slots__ = ()


class Cos(Unary):
    """The cosine; 1 for an infinite argument."""

    __slots__ = ()


class Tanh(Unary):
    """The hyperbolic tangent."""

    __slots__ = ()


class Floor(Unary):
    """The largest whole number not above `arg`; 0 for an infinite argument."""

    __slots__ = ()


class Ceil(Unary):
    """The smallest whole number not below `arg`; 0 for an infinite argument."""

    __slots__ = ()


class Round(Unary):
    """The nearest whole number, halves to even; 0 for an infinite argument."""

    __slots__ = ()


class IsInf(Unary):
    """Whether `arg` is infinite."""

    __slots__ = ()


class IsFinite(Unary):
    """Whether `arg` is neither infinite nor NaN."""

    __slots__ = ()


class Defined(Unary):
    """Whether the partial operation `arg` is inside its domain and its result finite."""

    __slots__ = ()


class Add(Binary):
    """`left + right`."""

    __slots__ = ()


class Sub(Binary):
    """`left - right`."""

    __slots__ = ()


class Mul(Binary):
    """`left * right`."""

    __slots__ = ()


class Div(Binary):
    """`left / right`; a divisor of 0 counts as 1."""

    __slots__ = ()


class FloorDiv(Binary):
    """`left // right`, rounded down as in Python; a divisor of 0 counts as 1."""

    __slots__ = ()


class Mod(Binary):
    """`left % right`, with the divisor's sign as in Python; a divisor of 0 counts as 1."""

    __slots__ = ()


class Min(Binary):
    """The smaller operand; the left one where they are equal."""

    __slots__ = ()


class Max(Binary):
    """The larger operand; the left one where they are equal."""

    __slots__ = ()


class Lt(Binary):
    """`left < right`."""

    __slots__ = ()


class Le(Binary):
    """`left <= right`."""

    __slots__ = ()


class Gt(Binary):
    """`left > right`."""

    __slots__ = ()


class Ge(Binary):
    """`left >= right`."""

    __slots__ = ()


class Eq(Binary):
    """`left == right`, of two numbers or two categories."""

    __slots__ = ()


class Ne(Binary):
    """`left != right`, of two numbers or two categories."""

    __slots__ = ()


class And(Binary):
    """`left and right`, of flags."""

    __slots__ = ()


class Or(Binary):
    """`left or right`, of flags."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Select(Node):
    """`then` where the flag `condition` is true, `otherwise` elsewhere."""

    condition: int
    then: int
    otherwise: int


@dataclass(frozen=True, slots=True)
class Clip(Node):
    """`arg`, held within `[low, high]`."""

    arg: int
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Item(Node):
    """The entry of a constant table at `index`, a whole number or a category; the first entry outside it."""

    table: tuple[float | bool, ...]
    index: int


PARTIAL = (Sqrt, Exp, Expm1, Log, Log1p, Sin, Cos, Floor, Ceil, Round, Div, FloorDiv, Mod, Item)
"""Operations that Python refuses for some operands; each is read together with a `Defined` node."""


_OPERANDS: dict[str, tuple[str, ...]] = {}


def operand_names(kind: type[Node]) -> tuple[str, ...]:
    """Return the names of the fields of `kind` that hold positions of other nodes."""
    if kind.__name__ not in _OPERANDS:
        _OPERANDS[kind.__name__] = tuple(field.name for field in fields(kind) if field.type is int)
    return _OPERANDS[kind.__name__]


def operands(node: Node) -> tuple[int, ...]:
    """Return the positions of the nodes that `node` reads, in order.

    >>> operands(Select(condition=4, then=2, otherwise=3))
    (4, 2, 3)
    """
    return tuple([getattr(node, name) for name in operand_names(type(node))])
