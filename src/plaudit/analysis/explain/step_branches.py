"""What the reward of one step hangs on, as `nearest_branches` found it: conditions, lines, other branches near by."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from plaudit.checks.branches import Condition, Value
from plaudit.checks.formats.plain import format_number
from plaudit.checks.solver.plainer import is_plain
from plaudit.errors import did_you_mean
from plaudit.language.reading.source import SourceLine
from plaudit.terminal import escape_controls, format_value


class NearestBranch(NamedTuple):
    """How far one input is from another branch, everything else as it was; that step was really scored."""

    input: str
    before: Value
    after: Value
    unit: str
    condition: str
    """What comes out differently there: `distance < 5`."""
    value: float
    """What the term would have paid."""
    total: float
    """What the step would have paid."""
    breaks: tuple[str, ...] = ()
    """Facts that such a step would break and this one does not: it may be that it cannot happen."""
    begins: bool = False
    """Whether the same is paid at this very value, and something else beyond it: a clamp that stops to bind."""

    @property
    def delta(self) -> float | None:
        """By how much the input would have to change; None where it is a flag or category, or infinite."""
        if isinstance(self.before, str | bool) or isinstance(self.after, str | bool):
            return None
        delta = float(self.after) - float(self.before)
        return delta if math.isfinite(delta) else None

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data for JSON."""
        return {
            "input": self.input,
            "from": _to_plain(self.before),
            "to": _to_plain(self.after),
            "delta": self.delta,
            "unit": self.unit,
            "condition": self.condition,
            "value": self.value,
            "total": self.total,
            "breaks": list(self.breaks),
            "begins": self.begins,
        }

    def __str__(self) -> str:
        """Return it as a sentence: '0.4 m less distance (just below 5) and it had paid -5, -4.97 in all'."""
        moved = f"{self.input} = {_describe_place(self.after)}"
        if (delta := self.delta) is not None:
            unit = f" {self.unit}" if self.unit else ""
            way = "more" if delta > 0 else "less"
            moved = f"{format_number(abs(delta))}{unit} {way} {self.input} ({_describe_place(self.after)})"
        broken = f"; that would break {', '.join(self.breaks)}" if self.breaks else ""
        paid = f"and it had paid {format_number(self.value)}, {format_number(self.total)} in all"
        if self.begins:
            paid = f"and it begins to change from {format_number(self.value)}"
        return escape_controls(f"{moved} {paid}{broken}")


class TermBranches(NamedTuple):
    """What one term hangs on in a step, or one of the rows that separate the sum of the terms from the total."""

    term: str
    value: float
    inputs: tuple[str, ...]
    """What the value depends on in this step."""
    lines: tuple[SourceLine, ...]
    """The places that only some steps get to, and this one did; none where the source is not at hand."""
    conditions: tuple[Condition, ...]
    nearest: tuple[NearestBranch, ...]
    """For each input the nearest value on either side at which another branch pays differently; the nearest first."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data for JSON."""
        return {
            "term": self.term,
            "value": self.value,
            "inputs": list(self.inputs),
            "lines": sorted({each.line for each in self.lines}),
            "code": [each.text for each in self.lines],
            "conditions": [{**each._asdict(), "value": _to_plain(each.value)} for each in self.conditions],
            "nearest": [each.to_dict() for each in self.nearest],
        }


@dataclass(frozen=True, slots=True)
class StepBranches:
    """What the reward of one step hangs on; `print` it."""

    reward: str
    """Its name and version: `following@1`."""
    total: float
    terms: tuple[TermBranches, ...]
    """The terms; then the gate, the overrides and the clamp of the total, where there are any."""

    def __getitem__(self, term: str) -> TermBranches:
        """Return what one term hangs on.

        Raises:
            KeyError: There is no such term; the message suggests one.
        """
        for each in self.terms:
            if each.term == term:
                return each
        near = did_you_mean(term, [each.term for each in self.terms])
        raise KeyError(f"{self.reward} has no term {term!r}.{near}")

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data for JSON."""
        return {"reward": self.reward, "total": self.total, "terms": [each.to_dict() for each in self.terms]}

    def __str__(self) -> str:
        """Return for each term the lines and conditions that made it, and what it would take to make it another."""
        lines = [f"{self.reward} pays {format_number(self.total)}"]
        for each in self.terms:
            lines += ["", f"{each.term}: {format_number(each.value)}"]
            lines += [f"  line {place.line}: {place.text}" for place in each.lines]
            lines += [f"  {condition}" for condition in each.conditions]
            lines += [f"  {branch}" for branch in each.nearest]
        return escape_controls("\n".join(lines))


def _describe_place(value: Value) -> str:
    """Return a value as people say it: "just below 5" for the last float before it."""
    if isinstance(value, float) and not is_plain(value) and is_plain(near := float(f"{value:.12g}")):
        return f"just {'below' if value < near else 'above'} {format_number(near)}"
    return format_value(value)


def _to_plain(value: Value) -> Any:
    return {"number": str(value)} if isinstance(value, float) and math.isinf(value) else value
