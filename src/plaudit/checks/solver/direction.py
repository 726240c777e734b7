"""In which direction an expression moves with one input, all else equal, as far as its operations tell."""

from collections.abc import Sequence

from plaudit.language import nodes as n
from plaudit.language.intervals import Interval, bound_nodes
from plaudit.language.program import Program

Direction = int | None
"""1: it never falls as the input rises; -1: it never rises; 0: it does not depend on it; None: unknown."""


def find_direction(program: Program, output: str, name: str) -> Direction:
    """Return in which direction an output moves as one input rises.

    >>> from plaudit import Field, Reward, term
    >>> @term
    ... def near(distance, speed):
    ...     return max(0, 5 - distance) * 2 if speed > 1 else 0
    >>> fields = [Field("distance", low=0, high=9), Field("speed", low=0, high=3)]
    >>> program = Reward("r", version="1", terms=[near], fields=fields).program.bind()
    >>> find_direction(program, "total", "distance"), find_direction(program, "total", "speed")
    (-1, 1)
    """
    bounds = bound_nodes(program)
    found: list[Direction] = []
    for node in program.nodes:
        found.append(_follow(node, found, bounds, name))
    return found[program.outputs[output]]


def _follow(node: n.Node, known: Sequence[Direction], bounds: Sequence[Interval], name: str) -> Direction:
    if isinstance(node, n.Input):
        return int(node.name == name)
    operands = n.operands(node)
    moves = [known[each] for each in operands]
    if all(each == 0 for each in moves):
        return 0
    match node:
        case n.Add() | n.Min() | n.Max() | n.And() | n.Or() | n.Clip() | n.Number():
            return _agree(*moves)
        case n.Neg() | n.Not():
            return _turn(moves[0])
        case n.Sub() | n.Gt() | n.Ge():
            return _agree(moves[0], _turn(moves[1]))
        case n.Lt() | n.Le():
            return _agree(_turn(moves[0]), moves[1])
        case n.Mul(left, right):
            by_right, by_left = _scale(moves[0], bounds[right]), _scale(moves[1], bounds[left])
            return _agree(by_right, by_left)
        case n.Div(_, right) if moves[1] == 0:
            return _scale(moves[0], bounds[right])
        case n.Abs(arg):
            return _scale(moves[0], bounds[arg])
        case n.Select(_, then, otherwise):
            return _agree(moves[1], moves[2], _switch(moves[0], bounds[then], bounds[otherwise]))
        case n.Unary() if node.monotone:
            return moves[0]
        case n.Unary() if node.falling:
            return _turn(moves[0])
    return None


def _agree(*moves: Direction) -> Direction:
    """Return the direction in which all of these move, as far as they move."""
    if None in moves:
        return None
    some = {each for each in moves if each}
    return None if len(some) > 1 else some.pop() if some else 0


def _turn(move: Direction) -> Direction:
    return None if move is None else -move


def _scale(move: Direction, factor: Interval) -> Direction:
    """Return how a product moves with one factor, the other of which lies in an interval."""
    if move == 0 or factor.low >= 0:
        return move
    return _turn(move) if factor.high <= 0 else None


def _switch(move: Direction, then: Interval, otherwise: Interval) -> Direction:
    if move == 0 or then.low >= otherwise.high:
        return move
    return _turn(move) if then.high <= otherwise.low else None
