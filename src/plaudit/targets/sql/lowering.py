"""From a Program to one of plain SQL operations: domains as conditions, Python's `%` and `//` spelled out.

What comes out uses the same nodes with a narrower meaning. Arguments of partial operations are safe already, and `Mod`
is the remainder that C, Java and SQL have, with the sign of the dividend.
"""

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

from plaudit.language import nodes as n
from plaudit.language.domains import LARGEST_EXPONENT, in_domain, whole_nodes
from plaudit.language.interval import ANYTHING, YES, Interval, of_field
from plaudit.language.intervals import within
from plaudit.language.program import Builder, Program, reachable, renumbered
from plaudit.language.sure import CONDITIONS

_HALVES = 2.0**52
"""From here on every float is a whole number."""


@dataclass(frozen=True, slots=True)
class Lowered:
    """A Program in plain SQL operations, with what is known of each node."""

    program: Program
    roots: tuple[int, ...]
    """Where the nodes that were asked for have moved to."""
    found: tuple[Interval, ...]
    """An interval for each node; what may be NaN has all numbers."""
    wholes: tuple[bool, ...]
    """Whether a node is surely a whole number."""

    def may_be_nan(self, at: int) -> bool:
        """Return whether a node may be NaN in a row that counts."""
        return self.found[at] == ANYTHING


def box_of(program: Program, *, guard: bool) -> dict[str, Interval]:
    """Return what each input can be past the door; without `guard`, a number can be anything."""
    return {
        name: of_field(field) if guard or field.kind != "number" else ANYTHING for name, field in program.inputs.items()
    }


def lowered(
    program: Program,
    roots: Sequence[int],
    box: Mapping[str, Interval],
    *,
    native: Set[type[n.Node]],
    guard: bool = True,
) -> Lowered:
    """Return what `roots` need in plain operations; those of `native` need not be spelled out for the dialect."""
    wholes = whole_nodes(program, guard, True)
    found = within(program, box, wholes=wholes)
    builder = _Builder(native)
    moved: dict[int, int] = {}
    assumed: dict[int, Interval] = {}
    for at in reachable(program.nodes, roots):
        node = program.nodes[at]
        if found[at] == YES and isinstance(node, CONDITIONS):
            moved[at] = builder.const(True)
            continue
        plain = renumbered(node, moved)
        sure = isinstance(node, n.PARTIAL) and in_domain(node, found, wholes) == YES
        if isinstance(node, n.Defined):
            source = program.nodes[node.arg]
            moved[at] = builder.inside(renumbered(source, moved))
        else:
            moved[at] = builder.plain(plain, sure=sure)
        assumed[moved[at]] = found[at]
    whole = replace(program, nodes=tuple(builder.nodes), outputs={}, domain=(), ranges=(), terminal=frozenset())
    after = whole_nodes(whole, guard, True)
    return Lowered(
        whole, tuple(moved[root] for root in roots), within(whole, box, wholes=after, assumed=assumed), tuple(after)
    )


class _Builder(Builder):
    """A growing list of plain operations."""

    def __init__(self, native: Set[type[n.Node]]) -> None:
        super().__init__()
        self.native = native

    def number(self, value: float) -> int:
        return self.const(float(value))

    def choose(self, condition: int, then: int, otherwise: int) -> int:
        return self.simplified(n.Select(condition, then, otherwise))

    def inside(self, node: n.Node) -> int:
        """Return the condition that a partial operation is inside its domain; NaN is, for a divisor, as in Python."""
        first = n.operands(node)[0]
        match node:
            case n.Div(_, divisor) | n.FloorDiv(_, divisor) | n.Mod(_, divisor):
                return self.simplified(n.Ne(divisor, self.number(0)))
            case n.Sqrt():
                return self._between(n.Le(self.number(0), first), first)
            case n.Log():
                return self._between(n.Lt(self.number(0), first), first)
            case n.Log1p():
                return self._between(n.Lt(self.number(-1), first), first)
            case n.Exp() | n.Expm1():
                return self.simplified(n.Le(first, self.number(LARGEST_EXPONENT)))
            case n.Item(table):
                below = self.simplified(n.Le(self.number(0), first))
                above = self.simplified(n.Le(first, self.number(len(table) - 1)))
                whole = self.simplified(n.Eq(first, self.plain(n.Floor(first), sure=True)))
                return self.all([self.simplified(n.And(below, above)), whole])
        return self.simplified(n.IsFinite(first))

    def _between(self, low: n.Node, at: int) -> int:
        below = self.simplified(n.Lt(at, self.number(math.inf)))
        return self.simplified(n.And(self.simplified(low), below))

    def plain(self, node: n.Node, *, sure: bool) -> int:
        """Return the position of an operation, its argument made safe unless that is `sure`."""
        match node:
            case n.Div(left, right):
                return self.simplified(n.Div(left, right if sure else self._divisor(right)))
            case n.Mod(left, right):
                return self._modulo(left, right if sure else self._divisor(right))
            case n.FloorDiv(left, right):
                return self._floor_divided(left, right if sure else self._divisor(right))
            case n.Item() if not isinstance(self.nodes[node.index], n.Const):
                return self.add(node)
            case n.Unary(arg) if type(node) in n.PARTIAL:
                harmless = 1.0 if isinstance(node, n.Log) else 0.0
                arg = arg if sure else self.choose(self.inside(node), arg, self.number(harmless))
                return self._spelled(replace(node, arg=arg))
        return self.simplified(node)

    def _spelled(self, node: n.Unary) -> int:
        """Return a function of one argument, in terms of others where the dialect has no such function."""
        arg = node.arg
        if isinstance(node, tuple(self.native)) or isinstance(self.nodes[arg], n.Const):
            return self.simplified(node)
        match node:
            case n.Expm1():
                return self._expm1(arg)
            case n.Log1p():
                return self._log1p(arg)
            case n.Round():
                return self._round(arg)
            case n.Floor():
                return self._beside(arg, n.Gt, -1.0)
            case n.Ceil():
                return self._beside(arg, n.Lt, 1.0)
        return self.simplified(node)

    def _divisor(self, at: int) -> int:
        zero = self.simplified(n.Eq(at, self.number(0)))
        return self.choose(zero, self.number(1), at)

    def _apart(self, remainder: int, divisor: int) -> int:
        """Return whether a remainder and its divisor have different signs."""
        zero = self.number(0)
        if isinstance(known := self.nodes[divisor], n.Const):
            return self.simplified(n.Lt(remainder, zero) if known.value > 0 else n.Gt(remainder, zero))
        below = n.And(self.simplified(n.Lt(remainder, zero)), self.simplified(n.Gt(divisor, zero)))
        above = n.And(self.simplified(n.Gt(remainder, zero)), self.simplified(n.Lt(divisor, zero)))
        return self.simplified(n.Or(self.simplified(below), self.simplified(above)))

    def _modulo(self, left: int, right: int) -> int:
        remainder = self.simplified(n.Mod(left, right))
        return self.choose(self._apart(remainder, right), self.simplified(n.Add(remainder, right)), remainder)

    def _floor_divided(self, left: int, right: int) -> int:
        """Return the quotient as CPython computes it, from the remainder."""
        remainder = self.simplified(n.Mod(left, right))
        quotient = self.simplified(n.Div(self.simplified(n.Sub(left, remainder)), right))
        lower = self.simplified(n.Sub(quotient, self.number(1)))
        exact = self.choose(self._apart(remainder, right), lower, quotient)
        floor = self._spelled(n.Floor(exact))
        far = self.simplified(n.Gt(self.simplified(n.Sub(exact, floor)), self.number(0.5)))
        return self.choose(far, self.simplified(n.Add(floor, self.number(1))), floor)

    def _round(self, arg: int) -> int:
        """Return the nearest whole number, halves to even: adding 2**52 leaves no room for a fraction."""
        room = self.number(_HALVES)
        up = self.simplified(n.Sub(self.simplified(n.Add(arg, room)), room))
        down = self.simplified(n.Add(self.simplified(n.Sub(arg, room)), room))
        signed = self.choose(self.simplified(n.Ge(arg, self.number(0))), up, down)
        return self.choose(self.simplified(n.Lt(self.simplified(n.Abs(arg)), room)), signed, arg)

    def _beside(self, arg: int, passed: type[n.Binary], step: float) -> int:
        """Return the whole number at or before `arg`, from the nearest one."""
        nearest = self._spelled(n.Round(arg))
        over = self.simplified(passed(nearest, arg))
        return self.choose(over, self.simplified(n.Add(nearest, self.number(step))), nearest)

    def _log1p(self, arg: int) -> int:
        """Return log(1 + arg), corrected for what the sum has lost."""
        one = self.number(1)
        total = self.simplified(n.Add(arg, one))
        kept = self.simplified(n.Sub(total, one))
        share = self.simplified(n.Div(arg, self._divisor(kept)))
        corrected = self.simplified(n.Mul(self.simplified(n.Log(total)), share))
        return self.choose(self._tiny(arg), arg, corrected)

    def _expm1(self, arg: int) -> int:
        """Return exp(arg) - 1 by the hyperbolic tangent, which is exact near 0, and plainly above 0.5."""
        one = self.number(1)
        half = self.simplified(n.Tanh(self.simplified(n.Mul(arg, self.number(0.5)))))
        above = self.simplified(n.Sub(one, half))
        near = self.simplified(n.Div(self.simplified(n.Mul(half, self.number(2))), self._divisor(above)))
        far = self.simplified(n.Sub(self.simplified(n.Exp(arg)), one))
        large = self.simplified(n.Gt(arg, self.number(0.5)))
        return self.choose(self._tiny(arg), arg, self.choose(large, far, near))

    def _tiny(self, arg: int) -> int:
        return self.simplified(n.Lt(self.simplified(n.Abs(arg)), self.number(1e-17)))
