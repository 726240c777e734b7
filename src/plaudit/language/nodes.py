"""The operations a reward is made of: plain data, each naming its operands by position.

A node has no behaviour beyond its properties, which are class attributes. Running, rendering, bounding and proving are
tables from node type to a small function, kept in the modules named after those jobs; what they can derive from the
properties is in no table. Every operation is total: outside its domain it has a value all the same (said in each
docstring), and a `Defined` node beside it says whether that value counts.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import ClassVar, NamedTuple

LARGEST_EXPONENT = 709.782712893384
"""The largest number whose exponential is a float."""


class Domain(NamedTuple):
    """The arguments for which a function of one argument is defined: all numbers from `low` to `high`.

    An end that is open does not belong to it; NaN never does.
    """

    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False

    @property
    def smallest(self) -> float:
        """The smallest float inside."""
        return math.nextafter(self.low, math.inf) if self.open_low else self.low

    @property
    def largest(self) -> float:
        """The largest float inside."""
        return math.nextafter(self.high, -math.inf) if self.open_high else self.high


FINITE = Domain(open_low=True, open_high=True)
"""Every number but the two infinities."""


@dataclass(frozen=True, slots=True)
class Node:
    """One operation of a Program."""

    function: ClassVar[str] = ""
    """The function that computes it where it is defined: `math.sqrt`, `abs`; empty for anything else."""
    spellings: ClassVar[tuple[str, ...]] = ()
    """Other functions that mean the same, by module and name."""
    partial: ClassVar[str] = ""
    """What goes wrong outside its domain; empty where it is defined for every operand.

    Python refuses such operands, so a partial operation is always read together with a `Defined` node.
    """
    domain: ClassVar[Domain | None] = None
    """Where a partial function of one argument is defined."""
    harmless: ClassVar[float] = 0.0
    """An argument inside that domain: the value outside it is the value here."""
    inexact: ClassVar[bool] = False
    """Whether libraries may differ in the last bit of the result: it is not exactly rounded."""
    monotone: ClassVar[bool] = False
    """Whether the result never falls when its one argument rises, within the domain."""
    falling: ClassVar[bool] = False
    """Whether the result never rises when its one argument does, within the domain."""
    steepness: ClassVar[float] = math.inf
    """How steep a function is at most, in any of its arguments; infinite where that depends on them."""
    steep_ends: ClassVar[bool] = False
    """Whether the slope is infinite at the ends of the domain."""
    edges: ClassVar[tuple[float, ...]] = ()
    """Values of its first argument at which a function jumps, bends or ends; checks look on both sides of them."""
    pure: ClassVar[bool] = False
    """Whether the result is a pure number or an angle in radians, whatever the units of the operands."""
    flag: ClassVar[bool] = False
    """Whether the result is always a flag."""
    takes_flags: ClassVar[bool] = False
    """Whether the operands are flags rather than numbers."""
    jump: ClassVar[bool] = False
    """Whether the result may jump when an operand moves by the last bit."""
    flat: ClassVar[bool] = False
    """Whether the result stays as it is while operands move a little, but for jumps: no gradient passes."""


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
    function = "abs"
    spellings = ("math.fabs",)
    edges = (0.0,)


class Not(Unary):
    """`not arg`, of a flag."""

    __slots__ = ()
    flag = True
    takes_flags = True
    flat = True


class Number(Unary):
    """A flag as a number: 1 or 0."""

    __slots__ = ()
    takes_flags = True
    flat = True


class Sqrt(Unary):
    """The square root; 0 outside the domain."""

    __slots__ = ()
    function = "math.sqrt"
    partial = "takes a square root outside its domain"
    domain = Domain(low=0.0, open_high=True)
    monotone = True
    steep_ends = True
    edges = (0.0,)


class Exp(Unary):
    """The exponential; 1 where it would overflow."""

    __slots__ = ()
    function = "math.exp"
    partial = "takes an exponential beyond every float"
    domain = Domain(high=LARGEST_EXPONENT)
    inexact = True
    monotone = True
    pure = True


class Expm1(Unary):
    """`exp(arg) - 1`; 0 where it would overflow."""

    __slots__ = ()
    function = "math.expm1"
    partial = "takes an exponential beyond every float"
    domain = Domain(high=LARGEST_EXPONENT)
    inexact = True
    monotone = True
    pure = True


class Log(Unary):
    """The natural logarithm; 0 outside the domain."""

    __slots__ = ()
    function = "math.log"
    partial = "takes a logarithm outside its domain"
    domain = Domain(low=0.0, open_low=True, open_high=True)
    harmless = 1.0
    inexact = True
    monotone = True
    edges = (0.0,)
    pure = True


class Log1p(Unary):
    """`log(1 + arg)`; 0 outside the domain."""

    __slots__ = ()
    function = "math.log1p"
    partial = "takes a logarithm outside its domain"
    domain = Domain(low=-1.0, open_low=True, open_high=True)
    inexact = True
    monotone = True
    pure = True


class Sin(Unary):
    """The sine; 0 for an infinite argument."""

    __slots__ = ()
    function = "math.sin"
    partial = "sine takes an infinite number"
    domain = FINITE
    inexact = True
    steepness = 1.0
    pure = True


class Cos(Unary):
    """The cosine; 1 for an infinite argument."""

    __slots__ = ()
    function = "math.cos"
    partial = "cosine takes an infinite number"
    domain = FINITE
    inexact = True
    steepness = 1.0
    pure = True


class Tanh(Unary):
    """The hyperbolic tangent."""

    __slots__ = ()
    function = "math.tanh"
    inexact = True
    monotone = True
    steepness = 1.0
    pure = True


class Atan(Unary):
    """The arc tangent, in radians."""

    __slots__ = ()
    function = "math.atan"
    inexact = True
    monotone = True
    steepness = 1.0
    pure = True


class Asin(Unary):
    """The arc sine, in radians; 0 outside the domain."""

    __slots__ = ()
    function = "math.asin"
    partial = "takes an arc sine outside its domain"
    domain = Domain(low=-1.0, high=1.0)
    inexact = True
    monotone = True
    steep_ends = True
    edges = (-1.0, 1.0)
    pure = True


class Acos(Unary):
    """The arc cosine, in radians; half of pi outside the domain."""

    __slots__ = ()
    function = "math.acos"
    partial = "takes an arc cosine outside its domain"
    domain = Domain(low=-1.0, high=1.0)
    inexact = True
    falling = True
    steep_ends = True
    edges = (-1.0, 1.0)
    pure = True


class Floor(Unary):
    """The largest integer not above `arg`; 0 for an infinite argument."""

    __slots__ = ()
    function = "math.floor"
    partial = "rounds down: takes an infinite number"
    domain = FINITE
    monotone = True
    jump = True
    flat = True


class Ceil(Unary):
    """The smallest integer not below `arg`; 0 for an infinite argument."""

    __slots__ = ()
    function = "math.ceil"
    partial = "rounds up: takes an infinite number"
    domain = FINITE
    monotone = True
    jump = True
    flat = True


class Round(Unary):
    """The nearest integer, halves to even; 0 for an infinite argument."""

    __slots__ = ()
    function = "round"
    partial = "rounds: takes an infinite number"
    domain = FINITE
    monotone = True
    jump = True
    flat = True


class Sign(Unary):
    """-1, 0 or 1, as `arg` is below, at or above 0."""

    __slots__ = ()
    function = "plaudit.sign"
    spellings = ("numpy.sign",)
    monotone = True
    jump = True
    flat = True
    edges = (0.0,)
    pure = True


class IsInf(Unary):
    """Whether `arg` is infinite."""

    __slots__ = ()
    function = "math.isinf"
    flag = True
    flat = True


class IsFinite(Unary):
    """Whether `arg` is neither infinite nor NaN."""

    __slots__ = ()
    function = "math.isfinite"
    flag = True
    flat = True


class Defined(Unary):
    """Whether the partial operation `arg` is inside its domain and its result finite."""

    __slots__ = ()
    flag = True
    flat = True


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
    partial = "divides by zero"


class FloorDiv(Binary):
    """`left // right`, rounded down as in Python; a divisor of 0 counts as 1."""

    __slots__ = ()
    partial = "divides by zero"
    jump = True
    flat = True


class Mod(Binary):
    """`left % right`, with the divisor's sign as in Python; a divisor of 0 counts as 1."""

    __slots__ = ()
    partial = "divides by zero"
    jump = True


class Min(Binary):
    """The smaller operand; the left one where they are equal."""

    __slots__ = ()


class Max(Binary):
    """The larger operand; the left one where they are equal."""

    __slots__ = ()


class Atan2(Binary):
    """The angle of the point (`right`, `left`) as seen from the origin, from -pi to pi; it jumps behind the origin."""

    __slots__ = ()
    function = "math.atan2"
    inexact = True
    jump = True
    edges = (0.0,)
    pure = True


class Hypot(Binary):
    """The distance of the point (`left`, `right`) from the origin."""

    __slots__ = ()
    function = "math.hypot"
    inexact = True
    steepness = 1.0


class Power(Binary):
    """`left ** right`, of a base above 0, or of 0 to an exponent above 0; 1 elsewhere, and inf beyond every float.

    It is total; guards of their own say that a row is inside the domain and the result finite.
    """

    __slots__ = ()
    function = "math.pow"
    spellings = ("math.pow",)
    inexact = True
    edges = (0.0,)


class Lt(Binary):
    """`left < right`."""

    __slots__ = ()
    flag = True
    jump = True
    flat = True


class Le(Binary):
    """`left <= right`."""

    __slots__ = ()
    flag = True
    jump = True
    flat = True


class Gt(Binary):
    """`left > right`."""

    __slots__ = ()
    flag = True
    jump = True
    flat = True


class Ge(Binary):
    """`left >= right`."""

    __slots__ = ()
    flag = True
    jump = True
    flat = True


class Eq(Binary):
    """`left == right`, of two numbers or two categories."""

    __slots__ = ()
    flag = True
    jump = True
    flat = True


class Ne(Binary):
    """`left != right`, of two numbers or two categories."""

    __slots__ = ()
    flag = True
    jump = True
    flat = True


class And(Binary):
    """`left and right`, of flags."""

    __slots__ = ()
    flag = True
    takes_flags = True
    flat = True


class Or(Binary):
    """`left or right`, of flags."""

    __slots__ = ()
    flag = True
    takes_flags = True
    flat = True


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
    """The entry of a constant table at `index`, an integer or a category; the first entry outside it."""

    table: tuple[float | bool, ...]
    index: int
    partial = "indexes a table outside it"
    jump = True
    flat = True


KINDS: Mapping[str, type[Node]] = {
    name: kind
    for name, kind in dict(vars()).items()
    if isinstance(kind, type) and issubclass(kind, Node) and kind not in (Node, Unary, Binary)
}
"""Every operation by its name, which is what stored specifications call it."""

FUNCTIONS = tuple(kind for kind in KINDS.values() if kind.function and not kind.flag)
"""Operations that are a function of one or two numbers, and give a number."""

_OPERANDS: dict[str, tuple[str, ...]] = {}
_READERS: dict[type[Node], Callable[[Node], tuple[int, ...]]] = {}


def operand_names(kind: type[Node]) -> tuple[str, ...]:
    """Return the names of the fields of `kind` that hold positions of other nodes."""
    if kind.__name__ not in _OPERANDS:
        _OPERANDS[kind.__name__] = tuple(field.name for field in fields(kind) if field.type is int)
    return _OPERANDS[kind.__name__]


def split_function(kind: type[Node]) -> tuple[str, str]:
    """Return the module of a function, and its name there.

    >>> split_function(Sqrt), split_function(Abs)
    (('math', 'sqrt'), ('', 'abs'))
    """
    module, _, name = kind.function.rpartition(".")
    return module, name


def format_slots(kind: type[Node]) -> str:
    """Return the operands of `kind` as slots of a template: `{0}` or `{0}, {1}`."""
    return ", ".join(f"{{{at}}}" for at in range(len(operand_names(kind))))


def operands(node: Node) -> tuple[int, ...]:
    """Return the positions of the nodes that `node` reads, in order.

    >>> operands(Select(condition=4, then=2, otherwise=3))
    (4, 2, 3)
    """
    kind = type(node)
    if kind not in _READERS:
        _READERS[kind] = _build_reader(kind)
    return _READERS[kind](node)


def is_plain(kind: type[Node]) -> bool:
    """Return whether a node of `kind` is told by its operands alone.

    >>> is_plain(Add), is_plain(Item)
    (True, False)
    """
    return kind in _PLAIN


def _build_reader(kind: type[Node]) -> Callable[[Node], tuple[int, ...]]:
    """Return the function that reads the operands of a node of `kind`."""
    match operand_names(kind):
        case ():
            return lambda node: ()
        case (name,):
            read = attrgetter(name)
            return lambda node: (read(node),)
        case names:
            return attrgetter(*names)


_PLAIN = {kind for kind in KINDS.values() if operand_names(kind) and len(operand_names(kind)) == len(fields(kind))}
