"""What is declared about steps: facts, and fields that only rise or fall, or change by so much at most."""

import math
from collections.abc import Mapping, Sequence
from random import Random

from plaudit.checks.trace import Trace
from plaudit.reward.declared import find_fact_inputs
from plaudit.reward.reward import Reward
from plaudit.rows.row import FlatRow, Value

PROBES = 300
"""Random rows that tell whether facts leave enough of them."""
ENOUGH = 0.1
"""The share of rows that must keep the facts, if all of them are to."""


class StepFacts:
    """The facts that read nothing but what a row of the reward holds, and how its fields may change in a step."""

    def __init__(self, reward: Reward) -> None:
        program, inputs = reward._bound.facts_program, reward._bound.inputs
        self._trace = Trace(program) if program.outputs else None
        self._flags = {
            fact: [at, *(guard.node for guard in program.value_guards if guard.where == fact)]
            for fact, at in program.outputs.items()
            if find_fact_inputs(program, fact).keys() <= inputs.keys()
        }
        self._changes = {
            name: (f"curr.{plain}" if f"curr.{plain}" in inputs else plain, field)
            for name, field in inputs.items()
            if (plain := name.removeprefix("prev.")) != name and {f"curr.{plain}", plain} & inputs.keys()
            if field.monotone or field.step is not None
        }
        self.needed = True
        """Whether a row that breaks a fact is left out; it is not where hardly any row keeps them all."""

    def mend(self, row: FlatRow) -> FlatRow:
        """Return a row with the ends of its step brought to what their fields declare."""
        for name, (other, field) in self._changes.items():
            before, after = float(row[name]), float(row[other])
            if field.monotone and (after < before) == (field.monotone == "up"):
                before, after = after, before
            if field.step and abs(after - before) > field.step:
                after = before + math.copysign(field.step, after - before)
            row = {**row, name: before, other: after}
        return row

    def find_broken(self, row: Mapping[str, Value]) -> tuple[str, ...]:
        """Return the facts that a row breaks."""
        if self._trace is None:
            return ()
        rest = {name: field.at_rest for name, field in self._trace.program.inputs.items()}  # what other facts read
        values = self._trace.values({**rest, **row})
        return tuple(fact for fact, flags in self._flags.items() if not all(values[at] for at in flags))

    def find_wrong_changes(self, row: Mapping[str, Value]) -> tuple[str, ...]:
        """Return the declarations of how fields change that a row breaks, as sentences."""
        found = []
        for name, (other, field) in self._changes.items():
            plain, change = name.removeprefix("prev."), float(row[other]) - float(row[name])
            if (field.monotone == "up" and change < 0) or (field.monotone == "down" and change > 0):
                found.append(f"{plain} only {'rises' if field.monotone == 'up' else 'falls'}")
            if field.step is not None and abs(change) > field.step:
                found.append(f"{plain} changes by at most {field.step:g} in a step")
        return tuple(found)

    def probe(self, values: Mapping[str, Sequence[Value]], seed: int) -> None:
        """Find out whether facts leave enough rows of such values."""
        chance = Random(seed)
        rows = [self.mend({name: chance.choice(each) for name, each in values.items()}) for _ in range(PROBES)]
        self.needed = sum(not self.find_broken(row) for row in rows) >= ENOUGH * PROBES
