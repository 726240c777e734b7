"""A Program: a flat tuple of nodes in evaluation order, with its inputs, parameters and named outputs.

Everything plaudit does with a reward is one loop over that tuple: running it on a target, bounding it, proving
things about it, rendering it, storing it. A value computed once is one node however often it is used.
"""

import builtins
import math
import operator
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from plaudit.errors import DefinitionError, ShapeMismatch, UnknownParameter, did_you_mean
from plaudit.language import nodes as n
from plaudit.language.field import Field, is_exact, to_number
from plaudit.language.parameters import find_vector_shapes, is_array
from plaudit.language.reading.source import SourceLine
from plaudit.language.shapes import Shape, flatten_entries, list_entries


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition that must hold for a row to count, with what to say when it does not."""

    node: int
    """The position of the condition, a flag."""
    where: str
    """The term or fact it belongs to, or the input whose range it is."""
    why: str
    """What went wrong when it is false: "divides by zero"."""
    line: str = ""
    """The source line, where known: 'rewards.py, line 12:  return a / b'."""
    place: SourceLine | None = field(default=None, compare=False, repr=False)
    """The same for programs, with the whole path; a reward that was loaded does not know it."""


@dataclass(frozen=True, slots=True)
class Carried:
    """A state: what is carried from each step of an episode to the next."""

    field: Field
    reset: tuple[float | bool, ...]
    """What it is before the first step of an episode, entry by entry."""

    def list_names(self, record: str) -> tuple[str, ...]:
        """Return the names of its entries before or after a step, as inputs or as outputs.

        >>> Carried(Field("air_time", length=2), (0.0, 0.0)).list_names("curr")
        ('curr.air_time[0]', 'curr.air_time[1]')
        """
        return tuple(f"{record}.{self.field.name}{entry}" for entry in self.field.entries or ("",))


@dataclass(frozen=True, slots=True)
class Program:
    """What a target compiles: nodes, what they read and what comes out."""

    name: str
    """The reward it belongs to, for errors."""
    terms: tuple[str, ...] = ()
    """Every row of a score: the terms, then the adjustments of the total."""
    nodes: tuple[n.Node, ...] = ()
    inputs: Mapping[str, Field] = field(default_factory=dict)
    """Each input's name (`prev.tokens_used`, `torque[3]`) and the field it is a value of."""
    params: Mapping[str, float | bool] = field(default_factory=dict)
    outputs: Mapping[str, int] = field(default_factory=dict)
    """`total`, for each term `<term>.score`, `<term>.clamped` and `<term>.value`, and each state: `curr.<state>`."""
    terminal: frozenset[str] = frozenset()
    """Inputs that only terminal terms read: needed only where `terminal` is true."""
    value_guards: tuple[Guard, ...] = ()
    """Partial operations that a row reaches are inside their domain, scores are finite, and facts hold if asked for."""
    ranges: tuple[Guard, ...] = ()
    """Inputs lie in their declared sets."""
    states: Mapping[str, Carried] = field(default_factory=dict)
    """What is carried from step to step: an input before the step, `prev.<state>`, and an output after it."""
    adjustments: tuple[str, ...] = ()
    """The rows after the declared terms that separate the sum of the values from the total."""
    counters: frozenset[str] = frozenset()
    """Inputs that schedules follow."""
    unused: frozenset[str] = frozenset()
    """Declared fields that make no difference to a score: a row may hold them."""
    memo: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What walks have found out and want to keep."""

    def guards(self, *, ranges: bool = True) -> tuple[Guard, ...]:
        """Return every condition of `ok`; without `ranges`, only those of computed values."""
        return (self.ranges if ranges else ()) + self.value_guards

    def fill_params(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return every parameter in order, those in `params` with the value they have there; vectors entry by entry."""
        shapes = self.vector_params
        filled: dict[str, Any] = dict(self.params)
        for name, given in params.items():
            if name in shapes:
                names = [f"{name}{entry}" for entry in list_entries(shapes[name])]
                values = dict(zip(names, _split_vector(name, given, shapes[name]), strict=True))
            elif name in self.params:
                values = {name: given}
            else:
                known = ", ".join(dict.fromkeys(each.partition("[")[0] for each in self.params))
                near = did_you_mean(str(name), [*self.params, *shapes])
                raise UnknownParameter(
                    f"reward {self.name!r} has no parameter {name!r}.{near}\nIts parameters: {known}."
                )
            for each, value in values.items():
                _validate_value(each, value, flag=isinstance(self.params[each], bool))
            filled |= values
        return filled

    @property
    def vector_params(self) -> Mapping[str, Shape]:
        """The shape of each parameter that is a vector, by its whole name."""
        if "vector params" not in self.memo:
            self.memo["vector params"] = find_vector_shapes(self.params)
        known: Mapping[str, Shape] = self.memo["vector params"]
        return known

    def prune(self) -> "Program":
        """Return this Program with only the nodes that its outputs and guards need, in canonical order."""
        guards = (guard.node for guard in self.value_guards + self.ranges)
        return self._replace_nodes(*prune(self.nodes, [*self.outputs.values(), *guards]))

    def with_terms(self, nodes: Mapping[str, int]) -> "Program":
        """Return a Program whose terms are some of its nodes, by their names in `nodes`; it refuses no row."""
        outputs = {f"{name}.{part}": at for name, at in nodes.items() for part in ("value", "score", "clamped")}
        total = next(iter(nodes.values()))
        return replace(
            self,
            terms=tuple(nodes),
            outputs={"total": total, **outputs},
            value_guards=(),
            ranges=(),
            states={},
            adjustments=(),
        )

    def bind(self, params: Mapping[str, float | bool] | None = None) -> "Program":
        """Return this Program with parameters turned into constants and exact simplifications made.

        Only rewrites that keep every bit are made: `x * 1.0` is `x`, a choice with a constant condition is its
        branch, a conjunction with True is its other side.
        """
        values = self.fill_params(params or {})
        builder = Builder()
        moved: dict[int, int] = {}
        for at, node in enumerate(self.nodes):
            if isinstance(node, n.Param):
                value = values[node.name]
                node = n.Const(value if isinstance(value, bool) else float(value))
            add = builder.add if self._weighs(node) else builder.simplify
            moved[at] = add(renumber(node, moved))
        return replace(self._replace_nodes(tuple(builder.nodes), moved), params={}).prune()

    def _weighs(self, node: n.Node) -> bool:
        """Return whether a node is a product with a 1 that its author wrote: one entry among others that weigh more."""
        factor = self.nodes[node.right] if isinstance(node, n.Mul) else None
        return isinstance(factor, n.Const) and factor.value == 1

    def _replace_nodes(self, nodes: tuple[n.Node, ...], moved: Mapping[int, int]) -> "Program":
        return replace(
            self,
            nodes=nodes,
            outputs={name: moved[at] for name, at in self.outputs.items()},
            value_guards=tuple(replace(guard, node=moved[guard.node]) for guard in self.value_guards),
            ranges=tuple(replace(guard, node=moved[guard.node]) for guard in self.ranges),
        )


def _split_vector(name: str, value: Any, shape: Shape) -> list[Any]:
    """Return the entries of a vector parameter; those of an array that has no values yet are its parts."""
    if is_array(value) and type(value).__module__.partition(".")[0] != "numpy":
        if tuple(value.shape) != shape:
            raise DefinitionError(f"{name}: values of the shape {shape} are needed, the shape {value.shape} given.")
        flat = value.reshape(-1)
        return [flat[at] for at in range(len(list_entries(shape)))]
    try:
        return flatten_entries(value.tolist() if is_array(value) else value, shape)
    except ShapeMismatch as error:
        raise DefinitionError(f"{name}: {error}") from None


def _validate_value(name: str, value: Any, *, flag: bool) -> None:
    """Refuse a value that no parameter can have; arrays and traced values are left to the target."""
    number = to_number(value)
    if number is None and not isinstance(value, str | bytes | None | list | tuple | dict):
        return
    if number is None or not is_exact(number) or not math.isfinite(number) or isinstance(number, bool) != flag:
        raise DefinitionError(f"{name}={value!r}: {'a bool' if flag else 'a finite number'} is needed")


def renumber(node: n.Node, moved: Mapping[int, int]) -> n.Node:
    """Return `node` with its operands at their new positions."""
    before = n.operands(node)
    after = tuple([moved[at] for at in before])
    if after == before:
        return node
    kind = type(node)
    return kind(*after) if n.is_plain(kind) else replace(node, **dict(zip(n.operand_names(kind), after, strict=True)))


def find_reachable(nodes: Sequence[n.Node], roots: Iterable[int], known: Iterable[int] = ()) -> Iterator[int]:
    """Yield the positions that `roots` need, operands before users, in the order a reader would meet them.

    What is `known` is not needed, nor what only that needs.
    """
    seen = set(known)
    for root in roots:
        stack = [root]
        while stack:
            at = stack.pop()
            if at < 0:  # it lay below what it needs, which has been yielded by now
                yield ~at
            elif at not in seen:
                seen.add(at)
                stack += (~at, *reversed(n.operands(nodes[at])))


def prune(nodes: tuple[n.Node, ...], roots: Iterable[int]) -> tuple[tuple[n.Node, ...], dict[int, int]]:
    """Return the nodes that `roots` need, in canonical order, and where each one moved to."""
    moved: dict[int, int] = {}
    kept: list[n.Node] = []
    for at in find_reachable(nodes, roots):
        moved[at] = len(kept)
        kept.append(renumber(nodes[at], moved))
    return tuple(kept), moved


def sign(x: float) -> float:
    """Return the sign of a number.

    Args:
        x: The number.

    Returns:
        -1.0 below 0, 0.0 at 0, 1.0 above 0; NaN for NaN.

    >>> sign(-2.5), sign(0), sign(True)
    (-1.0, 0.0, 1.0)
    """
    return 1.0 if x > 0 else -1.0 if x < 0 else 0.0 if x == 0 else x


def power(base: float, exponent: float) -> float:
    """Return `base ** exponent` of a base above 0, or of 0 to an exponent above 0; 1 elsewhere, inf beyond every float.

    >>> power(2.0, 0.5) == 2**0.5, power(0.0, 2.0), power(-8.0, 2.0), power(10.0, 400.0)
    (True, 0.0, 1.0, inf)
    """
    if not (base > 0 or (base == 0 and exponent > 0)):
        return 1.0
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return math.inf


def _find_function(name: str) -> Callable[..., Any]:
    """Return a function by its module and name: `math.sqrt`, `abs`; those of plaudit itself stand in this module."""
    module, _, plain = name.rpartition(".")
    space = {"": vars(builtins), "math": vars(math), "plaudit": globals()}[module]
    found: Callable[..., Any] = space[plain]
    return found


PYTHON_OPERATIONS: Mapping[type[n.Node], Callable[..., Any]] = {
    **{kind: _find_function(kind.function) for kind in n.KINDS.values() if kind.function},
    n.Neg: operator.neg,
    n.Not: operator.not_,
    n.Number: float,
    n.Add: operator.add,
    n.Sub: operator.sub,
    n.Mul: operator.mul,
    n.Div: operator.truediv,
    n.FloorDiv: operator.floordiv,
    n.Mod: operator.mod,
    n.Power: power,
    n.Min: min,
    n.Max: max,
    n.Lt: operator.lt,
    n.Le: operator.le,
    n.Gt: operator.gt,
    n.Ge: operator.ge,
    n.Eq: operator.eq,
    n.Ne: operator.ne,
}
"""What Python does for each operation, where its operands are inside the domain."""


def _identify(node: n.Node) -> Hashable:
    """Return what equal nodes share: where they hold more than operands, a repr, which tells 1, 1.0 and True apart."""
    return (type(node), n.operands(node)) if n.is_plain(type(node)) else repr(node)


class Builder:
    """A growing list of nodes in which equal nodes are one."""

    def __init__(self, nodes: Iterable[n.Node] = ()) -> None:
        self.nodes = list(nodes)
        self.calls: dict[str, list[Any]] = {}  # of methods of records: how each is shown, and what it was passed
        self._at = {_identify(node): at for at, node in enumerate(self.nodes)}

    def copy(self) -> "Builder":
        """Return a list that grows on its own."""
        other = Builder(self.nodes)
        other.calls = {name: list(seen) for name, seen in self.calls.items()}
        return other

    def add(self, node: n.Node) -> int:
        """Return the position of `node`, adding it if it is new."""
        at = self._at.setdefault(_identify(node), len(self.nodes))
        if at == len(self.nodes):
            self.nodes.append(node)
        return at

    def const(self, value: float | bool) -> int:
        """Return the position of a constant."""
        return self.add(n.Const(value))

    def all(self, flags: Iterable[int]) -> int:
        """Return the position of the conjunction of `flags`, left to right."""
        result: int | None = None
        for flag in flags:
            result = flag if result is None else self.add(n.And(result, flag))
        return self.const(True) if result is None else result

    def any(self, flags: Iterable[int]) -> int:
        """Return the position of the disjunction of `flags`, left to right."""
        result: int | None = None
        for flag in flags:
            result = flag if result is None else self.add(n.Or(result, flag))
        return self.const(False) if result is None else result

    def simplify(self, node: n.Node) -> int:
        """Return the position of `node` or of something simpler that is equal to the bit."""
        if (known := self._fold(node)) is not None:
            return self.const(known)
        match node:
            case n.Mul(left, right) if self._is_constant(right, 1.0):
                return left
            case n.Mul(left, right) if isinstance(self.nodes[right], n.Const) and (options := self._find_options(left)):
                condition, then, otherwise = options
                return self.add(
                    n.Select(condition, self.simplify(n.Mul(then, right)), self.simplify(n.Mul(otherwise, right)))
                )
            case n.And(left, right) if self._is_constant(left, True):
                return right
            case n.And(left, right) if self._is_constant(right, True):
                return left
            case n.Or(left, right) if self._is_constant(left, True) or self._is_constant(right, True):
                return self.const(True)
            case n.Or(left, right) if self._is_constant(left, False):
                return right
            case n.Or(left, right) if self._is_constant(right, False):
                return left
            case n.Select(condition, then, otherwise) if isinstance(test := self.nodes[condition], n.Const):
                return then if test.value else otherwise
            case n.Defined(arg) if isinstance(self.nodes[arg], n.Const):
                return self.const(True)  # it was computed, so it is inside its domain
            case n.Select(_, then, otherwise) if then == otherwise:
                return then
        return self.add(node)

    def _fold(self, node: n.Node) -> float | bool | None:
        """Return what Python makes of an operation on constants; None where it refuses or has no such operation."""
        operands = [self.nodes[at] for at in n.operands(node)]
        values = [operand.value for operand in operands if isinstance(operand, n.Const)]
        if type(node) not in PYTHON_OPERATIONS or len(values) != len(operands):
            return None
        try:
            floats = (value if isinstance(value, bool) else float(value) for value in values)
            result: float | bool = PYTHON_OPERATIONS[type(node)](*floats)
        except (ArithmeticError, ValueError):
            return None
        if node.partial and not math.isfinite(result):
            return None  # outside its domain, though Python has a value for it
        return result if isinstance(result, bool) else float(result)

    def _find_options(self, at: int) -> tuple[int, int, int] | None:
        """Return condition and branches of a choice between two constants, or None."""
        match self.nodes[at]:
            case n.Number(flag):
                return flag, self.const(1.0), self.const(0.0)
            case n.Select(condition, then, otherwise) if all(
                isinstance(self.nodes[branch], n.Const) for branch in (then, otherwise)
            ):
                return condition, then, otherwise
        return None

    def _is_constant(self, at: int, value: float | bool) -> bool:
        known = self.nodes[at]
        return isinstance(known, n.Const) and type(known.value) is type(value) and known.value == value
