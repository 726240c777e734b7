"""What was declared, against what was recorded: ranges that values leave, facts that are false."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plaudit.analysis.audit.context import AuditContext, Detector, history_rule
from plaudit.analysis.audit.steps import FlagProgram, StepBatch
from plaudit.checks.finding import Finding
from plaudit.checks.formats.plain import format_number
from plaudit.checks.model import locate_source
from plaudit.language.field import Field
from plaudit.reward.declared import find_fact_inputs

CLIPPED = 0.01
"""A field that is declared to be clipped may leave its range in this share of steps without a finding."""


@dataclass
class _Outside:
    count: int = 0
    low: float = np.inf
    high: float = -np.inf
    first: int = 0


class Declarations(Detector):
    """Steps in which a number was outside its declared range, or a fact false."""

    def __init__(self, context: AuditContext) -> None:
        """Look up what is declared; a fact whose inputs are not recorded is skipped."""
        fields = context.reward.program.inputs
        counters = context.reward.program.counters
        self._ranged = {
            name: fields[name]
            for name in context.recorded
            if name in fields and name not in counters and _has_range(fields[name])
        }
        self.outside: dict[str, _Outside] = {}
        program = context.reward._bound.facts_program
        asked = {
            fact: at
            for fact, at in program.outputs.items()
            if context.recorded >= find_fact_inputs(program, fact).keys()
        }
        unasked = [fact for fact in program.outputs if fact not in asked]
        if unasked:
            context.skip(f"not all inputs of {', '.join(unasked)} are recorded", "fact-broken")
        self._facts = FlagProgram(program, asked) if asked else None
        self.broken = {fact: [0, 0] for fact in asked}
        """Of each fact, in how many steps it was false, and the number of the first."""

    def add(self, batch: StepBatch) -> None:
        """Add the steps of a batch."""
        lows, highs = np.fmin.reduce(batch.inputs), np.fmax.reduce(batch.inputs)
        for at, name in enumerate(batch.layout.scored.program.inputs):
            field = self._ranged.get(name)
            if field is not None and not _holds(field, lows[at], highs[at]):
                self._add_outside(name, field, batch.inputs[:, at], batch.numbers)
        if self._facts is not None:
            unknown = self._facts.find_unknown(batch)
            for fact, holds in self._facts.evaluate(batch).items():
                held = holds | unknown
                count = len(batch) - int(np.count_nonzero(held))
                if count and not self.broken[fact][0]:
                    self.broken[fact][1] = int(batch.numbers[held.argmin()])
                self.broken[fact][0] += count

    def _add_outside(self, name: str, field: Field, column: NDArray[np.float64], numbers: NDArray[np.int64]) -> None:
        if field.numbers:
            beyond = ~np.isin(column, field.numbers) & ~np.isnan(column)
        else:
            beyond = np.zeros(len(column), np.bool_)
            beyond |= column < (-np.inf if field.low is None else field.low)
            beyond |= (column > (np.inf if field.high is None else field.high)) & ~(np.isinf(column) & field.infinite)
        if not beyond.any():
            return
        found = self.outside.setdefault(name, _Outside(first=int(numbers[beyond.argmax()])))
        found.count += int(np.count_nonzero(beyond))
        found.low, found.high = min(found.low, column[beyond].min()), max(found.high, column[beyond].max())

    @history_rule("outside-range", severity="warning", why="The results of check hold only within the declared ranges.")
    def find_outside(self, context: AuditContext) -> Iterator[Finding]:
        """Find fields that left their ranges."""
        for name, found in self.outside.items():
            field = self._ranged[name]
            clipped = field.outside == "clip"
            if clipped and found.count < CLIPPED * context.steps:
                continue
            yield context.finding(
                "total",
                f"{name} is declared to be {_describe_range(field)} but was "
                f"outside{', and clipped,' if clipped else ''} in "
                f"{context.format_share(found.count)}: {_describe_span(found)}.",
                "Declare its actual range; the results of check and prove hold only within it.",
                severity="advice" if clipped else None,
                witness=(context.step(found.first),),
            )

    @history_rule("fact-broken", severity="warning", why="Results that rely on a fact do not hold where it is false.")
    def find_broken(self, context: AuditContext) -> Iterator[Finding]:
        """Find facts that were false."""
        for fact, (count, first) in self.broken.items():
            if count:
                declared = next((each for each in context.reward._bound.facts if each.name == fact), None)
                yield context.finding(
                    "total",
                    f"the fact {fact!r} was false in {context.format_share(count)}.",
                    "Correct the fact or the code that measures its inputs; findings and proofs that use it are "
                    "unreliable.",
                    witness=(context.step(first),),
                    place=None if declared is None else locate_source(declared.source),
                )


def _has_range(field: Field) -> bool:
    return field.kind == "number" and bool(field.numbers or field.low is not None or field.high is not None)


def _holds(field: Field, low: float, high: float) -> bool:
    """Return whether a column from `low` to `high` surely lies within the declared range."""
    if field.numbers:
        return bool(low == high and low in field.numbers)
    return bool(
        low >= (-np.inf if field.low is None else field.low) and high <= (np.inf if field.high is None else field.high)
    )


def _describe_range(field: Field) -> str:
    if field.numbers:
        return f"one of {', '.join(map(format_number, field.numbers))}"
    if field.low is None:
        return f"at most {format_number(field.high)}"
    if field.high is None:
        return f"at least {format_number(field.low)}"
    return f"{format_number(field.low)} to {format_number(field.high)}"


def _describe_span(found: _Outside) -> str:
    if found.low == found.high:
        return format_number(found.low)
    return f"lowest {format_number(found.low)}, highest {format_number(found.high)}"
