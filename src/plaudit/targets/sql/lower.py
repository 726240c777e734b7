"""From a Program to one of plain SQL operations: domains as conditions, Python's `%` and `//` spelled out.

What comes out uses the same nodes with a narrower meaning. Arguments of partial operations are safe already, and `Mod`
is the remainder that C, Java and SQL have, with the sign of the dividend.
"""

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

from plaudit.language import nodes as n
from plaudit.language.intervals import (
    ANYTHING,
    YES,
    Interval,
    bound_field,
    bound_nodes_within,
    decide_defined,
    find_integer_nodes,
)
from plaudit.language.program import Builder, Program, find_reachable, renumber

_LARGEST_SIZE, _SMALLEST_SIZE = 709.78271289338, 745.0
"""Logarithms beyond which a power is inf or 0."""
_HALVES = 2.0**52
"""From here on every float is an integer."""


@dataclass(frozen=True, slots=True)
class LoweredProgram:
    """A Program in plain SQL operations, with what is known of each node."""

    program: Program
    roots: tuple[int, ...]
    """Where the nodes that were asked for have moved to."""
    found: tuple[Interval, ...]
    """An interval for each node; what may be NaN has all numbers."""
    integers: tuple[bool, ...]
    """Whether a node is surely an integer."""

    def may_be_nan(self, at: int) -> bool:
        """Return whether a node may be NaN in a row that counts."""
        return self.found[at] == ANYTHING


def bound_inputs(program: Program, *, guard: bool) -> dict[str, Interval]:
    """Return what each input can be once it has been checked; without `guard`, a number can be anything."""
    return {
        name: bound_field(field) if guard or field.kind != "number" else ANYTHING
        for name, field in program.inputs.items()
    }


def lower(
    program: Program,
    roots: Sequence[int],
    box: Mapping[str, Interval],
    *,
    native: Set[type[n.Node]],
    guard: bool = True,
) -> LoweredProgram:
    """Return what `roots` need in plain operations; those of `native` need not be spelled out for the dialect."""
    integers = find_integer_nodes(program, guard, True)
    found = bound_nodes_within(program, box, integers=integers)
    builder = _PlainBuilder(native)
    moved: dict[int, int] = {}
    assumed: dict[int, Interval] = {}
    for at in find_reachable(program.nodes, roots):
        node = program.nodes[at]
        if found[at] == YES and node.flag:
            moved[at] = builder.const(True)
            continue
        defined = bool(node.partial) and decide_defined(node, found, integers) == YES
        if isinstance(node, n.Defined):
            source = program.nodes[node.arg]
            moved[at] = builder.add_domain_test(renumber(source, moved))
        else:
            moved[at] = builder.add_plain(renumber(node, moved), defined=defined)
        assumed[moved[at]] = found[at]
    plain = replace(program, nodes=tuple(builder.nodes), outputs={}, value_guards=(), ranges=(), terminal=frozenset())
    after = find_integer_nodes(plain, guard, True)
    return LoweredProgram(
        plain,
        tuple(moved[root] for root in roots),
        bound_nodes_within(plain, box, integers=after, assumed=assumed),
        tuple(after),
    )


class _PlainBuilder(Builder):
    """A growing list of plain operations."""

    def __init__(self, native: Set[type[n.Node]]) -> None:
        super().__init__()
        self.native = native

    def number(self, value: float) -> int:
        return self.const(float(value))

    def choose(self, condition: int, then: int, otherwise: int) -> int:
        return self.simplify(n.Select(condition, then, otherwise))

    def add_domain_test(self, node: n.Node) -> int:
        """Return the condition that a partial operation is inside its domain; NaN is, for a divisor, as in Python."""
        match node:
            case n.Item(table, index):
                inside = self._add_range(n.Domain(0.0, len(table) - 1.0), index)
                integer = self.simplify(n.Eq(index, self.add_plain(n.Floor(index), defined=True)))
                return self.all([inside, integer])
            case n.Unary(arg) if node.domain is not None:
                return self._add_range(node.domain, arg)
        divisor = n.operands(node)[-1]
        return self.simplify(n.Ne(divisor, self.number(0)))

    def _add_range(self, domain: n.Domain, at: int) -> int:
        if domain == n.FINITE:
            return self.simplify(n.IsFinite(at))
        low, high = self.number(domain.low), self.number(domain.high)
        below = self.simplify((n.Lt if domain.open_high else n.Le)(at, high))
        if domain.low == -math.inf and not domain.open_low:
            return below
        above = self.simplify((n.Lt if domain.open_low else n.Le)(low, at))
        return self.simplify(n.And(above, below))

    def add_plain(self, node: n.Node, *, defined: bool) -> int:
        """Return the position of an operation, its argument made safe unless it is `defined` as it stands."""
        match node:
            case n.Div(left, right):
                return self.simplify(n.Div(left, right if defined else self._make_safe_divisor(right)))
            case n.Mod(left, right):
                return self._add_modulo(left, right if defined else self._make_safe_divisor(right))
            case n.FloorDiv(left, right):
                return self._add_floor_division(left, right if defined else self._make_safe_divisor(right))
            case n.Power(left, right):
                return self._add_power(left, right)
            case n.Item() if not isinstance(self.nodes[node.index], n.Const):
                return self.add(node)
            case n.Unary(arg) if node.partial:
                arg = arg if defined else self.choose(self.add_domain_test(node), arg, self.number(node.harmless))
                return self._spell_out(replace(node, arg=arg))
        return self._spell_out(node)

    def _spell_out(self, node: n.Node) -> int:
        """Return an operation, in terms of others where the dialect has no such function."""
        constant = all(isinstance(self.nodes[at], n.Const) for at in n.operands(node))
        if isinstance(node, tuple(self.native)) or constant:
            return self.simplify(node)
        match node:
            case n.Expm1(arg):
                return self._add_expm1(arg)
            case n.Log1p(arg):
                return self._add_log1p(arg)
            case n.Round(arg):
                return self._add_round(arg)
            case n.Floor(arg):
                return self._add_integer_beside(arg, n.Gt, -1.0)
            case n.Ceil(arg):
                return self._add_integer_beside(arg, n.Lt, 1.0)
            case n.Sign(arg):
                return self._add_sign(arg)
            case n.Hypot(left, right):
                return self._add_hypot(left, right)
        return self.simplify(node)

    def _make_safe_divisor(self, at: int) -> int:
        zero = self.simplify(n.Eq(at, self.number(0)))
        return self.choose(zero, self.number(1), at)

    def _add_sign_test(self, remainder: int, divisor: int) -> int:
        zero = self.number(0)
        if isinstance(known := self.nodes[divisor], n.Const):
            return self.simplify(n.Lt(remainder, zero) if known.value > 0 else n.Gt(remainder, zero))
        below = n.And(self.simplify(n.Lt(remainder, zero)), self.simplify(n.Gt(divisor, zero)))
        above = n.And(self.simplify(n.Gt(remainder, zero)), self.simplify(n.Lt(divisor, zero)))
        return self.simplify(n.Or(self.simplify(below), self.simplify(above)))

    def _add_modulo(self, left: int, right: int) -> int:
        remainder = self.simplify(n.Mod(left, right))
        return self.choose(self._add_sign_test(remainder, right), self.simplify(n.Add(remainder, right)), remainder)

    def _add_floor_division(self, left: int, right: int) -> int:
        """Return the quotient as CPython computes it, from the remainder."""
        remainder = self.simplify(n.Mod(left, right))
        quotient = self.simplify(n.Div(self.simplify(n.Sub(left, remainder)), right))
        less = self.simplify(n.Sub(quotient, self.number(1)))
        exact = self.choose(self._add_sign_test(remainder, right), less, quotient)
        floor = self._spell_out(n.Floor(exact))
        far = self.simplify(n.Gt(self.simplify(n.Sub(exact, floor)), self.number(0.5)))
        return self.choose(far, self.simplify(n.Add(floor, self.number(1))), floor)

    def _add_round(self, arg: int) -> int:
        """Return the nearest integer, halves to even: adding 2**52 leaves no room for a fraction."""
        room = self.number(_HALVES)
        up = self.simplify(n.Sub(self.simplify(n.Add(arg, room)), room))
        down = self.simplify(n.Add(self.simplify(n.Sub(arg, room)), room))
        signed = self.choose(self.simplify(n.Ge(arg, self.number(0))), up, down)
        return self.choose(self.simplify(n.Lt(self.simplify(n.Abs(arg)), room)), signed, arg)

    def _add_integer_beside(self, arg: int, passed: type[n.Binary], step: float) -> int:
        """Return the integer at or before `arg`, from the nearest one."""
        nearest = self._spell_out(n.Round(arg))
        over = self.simplify(passed(nearest, arg))
        return self.choose(over, self.simplify(n.Add(nearest, self.number(step))), nearest)

    def _add_power(self, base: int, exponent: int) -> int:
        """Return a power; engines refuse what is beyond every float, so its logarithm decides first."""
        zero, one = self.number(0), self.number(1)
        above, raised = self.simplify(n.Gt(base, zero)), self.simplify(n.Gt(exponent, zero))
        safe = self.choose(above, base, one)
        size = self.simplify(n.Mul(exponent, self.simplify(n.Log(safe))))
        over = self.simplify(n.Gt(size, self.number(_LARGEST_SIZE)))
        under = self.simplify(n.Lt(size, self.number(-_SMALLEST_SIZE)))
        kept = self.choose(over, one, self.choose(under, one, exponent))
        power = self.choose(over, self.number(math.inf), self.choose(under, zero, self.simplify(n.Power(safe, kept))))
        nothing = self.simplify(n.And(self.simplify(n.Eq(base, zero)), raised))
        return self.choose(above, power, self.choose(nothing, zero, one))

    def _add_hypot(self, left: int, right: int) -> int:
        """Return the distance from the origin, from shares of the larger side, whose squares do not overflow."""
        sides = [self.simplify(n.Abs(at)) for at in (left, right)]
        largest = self.simplify(n.Max(sides[0], sides[1]))
        divisor = self._make_safe_divisor(largest)
        shares = [self.simplify(n.Div(side, divisor)) for side in sides]
        squares = [self.simplify(n.Mul(share, share)) for share in shares]
        root = self.simplify(n.Sqrt(self.simplify(n.Add(squares[0], squares[1]))))
        infinite = self.any(self.simplify(n.IsInf(at)) for at in (left, right))
        return self.choose(infinite, self.number(math.inf), self.simplify(n.Mul(largest, root)))

    def _add_sign(self, arg: int) -> int:
        """Return the sign as a float; some dialects have integers there, or a sign of NaN."""
        zero = self.number(0)
        still = self.choose(self.simplify(n.Eq(arg, zero)), zero, arg)
        below = self.choose(self.simplify(n.Lt(arg, zero)), self.number(-1), still)
        return self.choose(self.simplify(n.Gt(arg, zero)), self.number(1), below)

    def _add_log1p(self, arg: int) -> int:
        """Return log(1 + arg), corrected for what the sum has lost."""
        one = self.number(1)
        total = self.simplify(n.Add(arg, one))
        kept = self.simplify(n.Sub(total, one))
        share = self.simplify(n.Div(arg, self._make_safe_divisor(kept)))
        corrected = self.simplify(n.Mul(self.simplify(n.Log(total)), share))
        return self.choose(self._add_tiny_test(arg), arg, corrected)

    def _add_expm1(self, arg: int) -> int:
        """Return exp(arg) - 1 by the hyperbolic tangent, which is exact near 0, and plainly above 0.5."""
        one = self.number(1)
        half = self.simplify(n.Tanh(self.simplify(n.Mul(arg, self.number(0.5)))))
        above = self.simplify(n.Sub(one, half))
        near = self.simplify(n.Div(self.simplify(n.Mul(half, self.number(2))), self._make_safe_divisor(above)))
        far = self.simplify(n.Sub(self.simplify(n.Exp(arg)), one))
        large = self.simplify(n.Gt(arg, self.number(0.5)))
        return self.choose(self._add_tiny_test(arg), arg, self.choose(large, far, near))

    def _add_tiny_test(self, arg: int) -> int:
        return self.simplify(n.Lt(self.simplify(n.Abs(arg)), self.number(1e-17)))
