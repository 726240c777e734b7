"""A total as a sum of parts that read what was before a step, what comes after it, or both.

A mean over everything that may follow costs one evaluation for each that does. Of a sum it is the sum of the means, so
only what reads both sides of a step has to be evaluated for every pair of a start and something that follows.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plaudit.language import nodes as n
from plaudit.language.program import Builder, Program
from plaudit.targets.inputs import InputColumn, InputSlot, list_columns, list_slots
from plaudit.targets.numpy import NumpyReward

Numbers = NDArray[np.float64]

CHUNK = 16_384
"""Number of pairs per block, small enough that intermediate results stay in the cache."""

BEFORE, AFTER, BOTH = 1, 2, 3


class PairMean:
    """The mean of a Program's total over pairs: each start of a step with everything that may follow it."""

    def __init__(self, program: Program, *, guard: bool) -> None:
        """Compile the total; with `guard`, pairs outside declared ranges do not count."""
        self.program = program
        self._function = NumpyReward(program, guard=guard, on_bad="mask").function

    def compute(self, find: Callable[[InputSlot], Any], size: int, count: int) -> Numbers:
        """Return the mean from each start over those that follow and can be scored; NaN where none can be.

        `find` returns the column of an input: `size` starts of it where it is read before the step, otherwise `count`
        values that follow, or one for all.
        """
        given = [self._join(column, find) for column in list_columns(self.program)]
        arguments = [argument for column in given for argument in column]
        at_once = min(max(1, CHUNK // size), count)
        ends = np.linspace(0, size, max(1, round(size / CHUNK)) + 1).astype(int).tolist()
        with np.errstate(all="ignore"):
            means = [self._average(arguments, slice(*rows), at_once, count) for rows in pairwise(ends)]
        return np.concatenate(means)

    def _join(self, column: InputColumn, find: Callable[[InputSlot], Any]) -> list[tuple[bool, Any]]:
        """Return a column as the generated function takes it, a vector as one, and whether it is of the start."""
        entries = [np.asarray(find(slot)) for slot in column.slots]
        start = column.slots[0].record == "prev"
        return [(start, each) for each in ([np.stack(entries)] if column.whole else entries)]

    def _average(self, arguments: Sequence[tuple[bool, Any]], rows: slice, at_once: int, count: int) -> Numbers:
        """Return the means of some starts; where they are few, some of those that follow are taken at once."""
        length = rows.stop - rows.start
        total, scored = np.zeros(length), np.zeros(length)
        starts = [np.tile(each[..., rows], at_once) if start else None for start, each in arguments]
        for at in range(0, count, at_once):
            group = min(at_once, count - at)
            called = [
                each
                if not each.ndim
                else _follow(each, at, group, length)
                if start is None
                else start[..., : group * length]
                for start, (_, each) in zip(starts, arguments, strict=True)
            ]
            paid, ok, _ = self._function(*called)
            if ok is True or np.all(ok):
                total += (
                    paid if group == 1 else np.broadcast_to(paid, group * length).reshape(group, length).sum(axis=0)
                )
                scored += group
            else:
                fine = np.broadcast_to(ok, group * length).reshape(group, length)
                total += np.where(fine, np.reshape(np.broadcast_to(paid, group * length), fine.shape), 0.0).sum(axis=0)
                scored += fine.sum(axis=0)
        return total / scored


def _follow(column: Any, at: int, group: int, length: int) -> Any:
    """Return what follows in some draws: one value for all starts, or each as often as there are starts."""
    if group == 1:
        return column[at] if column.ndim == 1 else column[:, at : at + 1]
    return np.repeat(column[..., at : at + group], length, axis=-1)


def separate(program: Program) -> dict[int, Program]:
    """Return a bound Program's total as parts that read only inputs BEFORE a step, only those AFTER it, or BOTH.

    Parts without anything in them are left out. Their sum is the total but for rounding.

    >>> from plaudit import Field, Reward, term
    >>> @term
    ... def approach(prev, curr, effort):
    ...     return 2 * (prev.x - 0.9 * curr.x) - effort
    >>> reward = Reward("moving", version="1", terms=[approach], fields=[Field("x"), Field("effort")])
    >>> {side: tuple(part.inputs) for side, part in separate(reward.program.bind()).items()}
    {1: ('prev.x',), 2: ('curr.x', 'effort')}
    """
    sides = _find_sides(program)
    sums: dict[int, dict[int, float]] = {BEFORE: {}, AFTER: {}, BOTH: {}}
    for at, factor in _list_summands(program, sides).items():
        sums[sides[at] or AFTER][at] = factor
    return {side: _add_up(program, summands) for side, summands in sums.items() if summands}


def _find_sides(program: Program) -> list[int]:
    records = {slot.name: BEFORE if slot.record == "prev" else AFTER for slot in list_slots(program)}
    found: list[int] = []
    for node in program.nodes:
        side = records[node.name] if isinstance(node, n.Input) else 0
        for operand in n.operands(node):
            side |= found[operand]
        found.append(side)
    return found


def _list_summands(program: Program, sides: list[int]) -> Mapping[int, float]:
    """Return the nodes that add up to the total, with their factors; what reads one side alone is not taken apart."""
    found: defaultdict[int, float] = defaultdict(float)
    stack = [(program.outputs["total"], 1.0)]
    while stack:
        at, factor = stack.pop()
        match program.nodes[at]:
            case _ if sides[at] != BOTH:
                found[at] += factor
            case n.Add(left, right):
                stack += [(left, factor), (right, factor)]
            case n.Sub(left, right):
                stack += [(left, factor), (right, -factor)]
            case n.Neg(arg):
                stack.append((arg, -factor))
            case n.Mul(left, right) if isinstance(number := program.nodes[right], n.Const):
                stack.append((left, factor * number.value))
            case n.Mul(left, right) if isinstance(number := program.nodes[left], n.Const):
                stack.append((right, factor * number.value))
            case n.Div(left, right) if isinstance(number := program.nodes[right], n.Const) and number.value:
                stack.append((left, factor / number.value))
            case _:
                found[at] += factor
    return found


def _add_up(program: Program, summands: Mapping[int, float]) -> Program:
    """Return a Program whose total is the sum of some nodes, each times its factor; without conditions."""
    builder = Builder(program.nodes)
    total: int | None = None
    for at, factor in summands.items():
        each = builder.simplify(n.Mul(at, builder.const(factor)))
        total = each if total is None else builder.add(n.Add(total, each))
    assert total is not None
    whole = replace(
        program, nodes=tuple(builder.nodes), outputs={"total": total}, value_guards=(), ranges=(), states={}
    ).prune()
    read = {node.name for node in whole.nodes if isinstance(node, n.Input)}
    return replace(whole, inputs={name: field for name, field in whole.inputs.items() if name in read})
