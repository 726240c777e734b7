"""Static analysis: what is known of a Program before any row is seen."""

from typing import NamedTuple

from plaudit.language import nodes as n
from plaudit.language.intervals import YES, bound_nodes, decide_defined, find_integer_nodes
from plaudit.language.program import Program


class StaticAnalysis(NamedTuple):
    """What is known of a Program before any row is seen; a flag read from a table may be in one and not the other."""

    holds: frozenset[int] = frozenset()
    """Conditions that are true."""
    defined: frozenset[int] = frozenset()
    """Partial operations that are inside their domain."""


def analyse_program(program: Program, *, ranges: bool = True, looked_up: bool = False) -> StaticAnalysis:
    """Return the conditions that surely hold, and the partial operations surely inside their domain.

    With `ranges`, for inputs that lie in their declared sets; without, for any numbers at all. Categories that were
    `looked_up` are among their field's values either way.
    """
    found = bound_nodes(program, ranges=ranges, looked_up=looked_up)
    integers = find_integer_nodes(program, ranges, looked_up)
    nodes = list(enumerate(program.nodes))
    holds = {at for at, node in nodes if node.flag and found[at].low == 1}
    holds |= {at for at, node in nodes if isinstance(node, n.Const) and node.value is True}
    defined = {at for at, node in nodes if node.partial and decide_defined(node, found, integers) == YES}
    return StaticAnalysis(frozenset(holds), frozenset(defined))


def list_open_guards(program: Program, *, ranges: bool, exact: bool = True) -> list[int]:
    """Return the conditions of `ok` that are still to be tested: declared ranges, and values that may fail.

    Nothing is known while parameters are open, nor for floats narrower than the `exact` float64.
    """
    known = analyse_program(program, ranges=ranges) if exact and not program.params else StaticAnalysis()
    values = [guard.node for guard in program.value_guards if guard.node not in known.holds]
    return [guard.node for guard in (program.ranges if ranges else ())] + values
