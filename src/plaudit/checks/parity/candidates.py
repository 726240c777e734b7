"""Which values are worth sending: the boundaries of the expression, and steps that can happen."""

import math
from collections.abc import Iterator, Mapping
from functools import partial
from random import Random
from typing import NamedTuple

from plaudit.checks.parity.trace import Trace, float32_neighbours, to_float32
from plaudit.checks.solver.breakpoints import find_breakpoints, list_values_to_try
from plaudit.language.field import Field
from plaudit.reward.declared import find_fact_inputs
from plaudit.reward.reward import Reward
from plaudit.rows.row import FlatRow, Value

PROBES = 300
"""Random rows that tell whether facts leave enough of them."""
ENOUGH = 0.1
"""The share of rows that must keep the facts, if all of them are to."""


class Pool(NamedTuple):
    """The values of one input that are worth trying."""

    field: Field
    values: tuple[Value, ...]
    """The simplest first."""
    cuts: tuple[Value, ...]
    """Those at which a comparison, a clamp or a kink changes sides, and infinity."""
    marks: tuple[float, ...]
    """The finite numbers among them, in order: what lies between two of them is worth trying too. Empty where only the
    listed values are allowed."""


def build_pools(reward: Reward, *, single: bool = False) -> dict[str, Pool]:
    """Return a pool for each input; with `single`, of 32-bit floats."""
    program = reward.program.bind()
    wanted, cut = (
        {name: list(values) for name, values in list_values_to_try(program).items()},
        find_breakpoints(program),
    )
    for name, values in list_values_to_try(reward.facts_program).items():
        wanted.get(name, []).extend(values)
    if single:
        for name, field in program.inputs.items():
            if _is_open(field):
                numbers = [*map(to_float32, map(float, wanted[name])), *float32_neighbours(cut[name])]
                wanted[name] = [number for number in numbers if field.holds(number)]
                cut[name] = tuple(map(to_float32, cut[name]))
    found = {}
    for name, field in reward.program.inputs.items():
        ordered = sorted(dict.fromkeys(wanted[name]), key=partial(_oddness_key, field))
        marks = sorted(value for value in ordered if not isinstance(value, str) and math.isfinite(value))
        sharp = tuple(value for value in ordered if value in (*cut[name], math.inf))
        found[name] = Pool(field, tuple(ordered), sharp, tuple(marks) if _is_open(field) else ())
    return found


def _is_open(field: Field) -> bool:
    return field.kind == "number" and not field.numbers


def _oddness_key(field: Field, value: Value) -> tuple[float, ...]:
    """Return a key by which simple values come first: at rest, then small whole numbers, then short ones."""
    if isinstance(value, str):
        return (value != field.at_rest, field.labels.index(value))
    return (value != field.at_rest, not float(value).is_integer(), len(repr(value)), abs(value), value < 0)


def simpler_values(pool: Pool, value: Value) -> Iterator[Value]:
    """Yield values that are simpler than `value`, the simplest first."""
    if value in pool.values:
        yield from pool.values[: pool.values.index(value)]
        return
    yield from pool.values
    rounded = (round(float(value), digits) for digits in range(4))
    yield from (number for number in rounded if pool.field.holds(number) and number != value)


class StepFacts:
    """What is declared about steps: facts, and fields that only rise or that change by so much at most."""

    def __init__(self, reward: Reward) -> None:
        """Take the facts that read nothing but what a row holds."""
        program, inputs = reward.facts_program, reward.program.inputs
        self._trace = Trace(program) if program.outputs else None
        self._flags = {
            fact: [at, *(guard.node for guard in program.value_guards if guard.where == fact)]
            for fact, at in program.outputs.items()
            if find_fact_inputs(program, fact).keys() <= inputs.keys()
        }
        self._pairs = {
            field.name: field
            for field in inputs.values()
            if {f"prev.{field.name}", f"curr.{field.name}"} <= inputs.keys() and (field.monotone or field.step)
        }
        self.needed = True
        """Whether a row that breaks a fact is left out; it is not where hardly any row keeps them all."""

    def mend(self, row: FlatRow) -> FlatRow:
        """Return a row with the ends of its step brought to what their fields declare."""
        for name, field in self._pairs.items():
            before, after = float(row[f"prev.{name}"]), float(row[f"curr.{name}"])
            if field.monotone and (after < before) == (field.monotone == "up"):
                before, after = after, before
            if field.step and abs(after - before) > field.step:
                after = before + math.copysign(field.step, after - before)
            row = {**row, f"prev.{name}": before, f"curr.{name}": after}
        return row

    def find_broken(self, row: Mapping[str, Value]) -> tuple[str, ...]:
        """Return the facts that a row breaks."""
        if self._trace is None:
            return ()
        values = self._trace.values(row)
        return tuple(fact for fact, flags in self._flags.items() if not all(values[at] for at in flags))

    def probe(self, drawn: Mapping[str, Pool], seed: int) -> None:
        """Find out whether facts leave enough rows to draw from."""
        chance = Random(seed)
        rows = [self.mend({name: chance.choice(pool.values) for name, pool in drawn.items()}) for _ in range(PROBES)]
        self.needed = sum(not self.find_broken(row) for row in rows) >= ENOUGH * PROBES
