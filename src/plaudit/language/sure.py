"""What is sure of a Program before any row is seen."""

from typing import NamedTuple

from plaudit.language import nodes as n
from plaudit.language.domains import in_domain, whole_nodes
from plaudit.language.interval import YES
from plaudit.language.intervals import intervals
from plaudit.language.program import Program


class Sure(NamedTuple):
    """What is known of a Program before any row is seen; a flag read from a table may be in one and not the other."""

    holds: frozenset[int] = frozenset()
    """Conditions that are true."""
    defined: frozenset[int] = frozenset()
    """Partial operations that are inside their domain."""


def surely(program: Program, *, ranges: bool = True, looked_up: bool = False) -> Sure:
    """Return the conditions that surely hold, and the partial operations surely inside their domain.

    With `ranges`, for inputs that lie in their declared sets; without, for any numbers at all. Categories that were
    `looked_up` are among their field's values either way.
    """
    found = intervals(program, ranges=ranges, looked_up=looked_up)
    wholes = whole_nodes(program, ranges, looked_up)
    holds = {at for at, node in enumerate(program.nodes) if isinstance(node, CONDITIONS) and found[at].low == 1}
    holds |= {at for at, node in enumerate(program.nodes) if isinstance(node, n.Const) and node.value is True}
    partial = {at for at, node in enumerate(program.nodes) if isinstance(node, n.PARTIAL)}
    defined = {at for at in partial if in_domain(program.nodes[at], found, wholes) == YES}
    return Sure(frozenset(holds), frozenset(defined))


CONDITIONS = (n.Not, n.And, n.Or, n.Lt, n.Le, n.Gt, n.Ge, n.Eq, n.Ne, n.IsInf, n.IsFinite, n.Defined)
"""Operations that make a flag."""


def open_guards(program: Program, *, ranges: bool, exact: bool = True) -> list[int]:
    """Return the conditions of `ok` that are still to be tested: declared ranges, and domains that are not sure.

    Nothing is sure while parameters are open, nor for floats narrower than the `exact` float64.
    """
    sure = surely(program, ranges=ranges) if exact and not program.params else Sure()
    domain = [guard.node for guard in program.domain if guard.node not in sure.holds]
    return [guard.node for guard in (program.ranges if ranges else ())] + domain
