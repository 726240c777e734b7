"""Single precision: what a program that computes with 32-bit floats makes of numbers."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from plaudit.language import nodes as n
from plaudit.language.program import Program

EPSILON = float(np.finfo(np.float32).eps)


def narrow(number: float) -> float:
    """Return the 32-bit float nearest to a number.

    >>> narrow(0.1), narrow(15.0)
    (0.10000000149011612, 15.0)
    """
    with np.errstate(over="ignore"):
        return float(np.float32(number))


def next_narrow(number: float, towards: float) -> float:
    """Return the next 32-bit float in a direction."""
    with np.errstate(over="ignore"):
        return float(np.nextafter(np.float32(number), np.float32(towards)))


def with_neighbours(numbers: Iterable[float]) -> Iterator[float]:
    """Yield numbers as 32-bit floats, each with the floats on either side."""
    for number in numbers:
        middle = narrow(number)
        yield from (middle, next_narrow(middle, -math.inf), next_narrow(middle, math.inf))


def narrowed(program: Program) -> Program:
    """Return a Program with its parameters bound and every constant rounded to a 32-bit float."""
    bound = program.bound()
    return replace(bound, nodes=tuple(map(_narrowed, bound.nodes)))


def _narrowed(node: n.Node) -> n.Node:
    match node:
        case n.Const(value) if not isinstance(value, bool):
            return n.Const(narrow(value))
        case n.Item(table, index):
            return n.Item(tuple(entry if isinstance(entry, bool) else narrow(entry) for entry in table), index)
    return node
