"""What is given of a question, as intervals of its nodes: a search in boxes need not look beyond them."""

import math

from plaudit.language import nodes as n
from plaudit.language.interval import Interval
from plaudit.language.program import Program


def assumed(program: Program) -> dict[int, Interval]:
    """Return what the given comparisons say of single nodes, and of differences of the two that they compare."""
    found: dict[int, Interval] = {}
    constants = {at: float(node.value) for at, node in enumerate(program.nodes) if isinstance(node, n.Const)}
    waiting = [program.outputs["given"]]
    while waiting:
        match program.nodes[waiting.pop()]:
            case n.And(left, right):
                waiting += [left, right]
            case (
                n.Le(left, right) | n.Lt(left, right) | n.Ge(right, left) | n.Gt(right, left)
            ):  # left is not above right
                if right in constants:
                    _narrow(found, left, -math.inf, constants[right])
                if left in constants:
                    _narrow(found, right, constants[left], math.inf)
                for at, node in enumerate(program.nodes):
                    if node == n.Sub(right, left):
                        _narrow(found, at, 0.0, math.inf)
                    elif node == n.Sub(left, right):
                        _narrow(found, at, -math.inf, 0.0)
    for at, node in enumerate(program.nodes):  # what is known of a difference is known of its negative
        if isinstance(node, n.Sub) and at in found:
            for other, opposite in enumerate(program.nodes):
                if opposite == n.Sub(node.right, node.left):
                    _narrow(found, other, -found[at].high, -found[at].low)
    return found


def _narrow(found: dict[int, Interval], at: int, low: float, high: float) -> None:
    known = found.get(at, Interval(-math.inf, math.inf))
    found[at] = Interval(max(known.low, low), min(known.high, high))
