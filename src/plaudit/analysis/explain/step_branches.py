"""The result of `nearest_branches`: the conditions, lines and nearest other branches of one step."""

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
    """The nearest value of one input that leads to another branch, with all other inputs unchanged.

    Example:
        ```python
        for each in nearest_branches(reward, row)["safety"].nearest:
            print(each)                  # 0.4 m less distance (just below 5): it would pay -5, total -4.97
        ```
    """

    input: str
    before: Value
    after: Value
    unit: str
    condition: str
    """The condition that changes there: `distance < 5`."""
    value: float
    """What the term would pay."""
    total: float
    """What the step would pay."""
    breaks: tuple[str, ...] = ()
    """Facts that the changed step would break and this one does not: it may be impossible."""
    begins: bool = False
    """Whether the pay is unchanged at this value and changes beyond it, as where a clamp stops binding."""

    @property
    def delta(self) -> float | None:
        """How much the input would have to change; None if it is a flag, a category or infinite."""
        if isinstance(self.before, str | bool) or isinstance(self.after, str | bool):
            return None
        delta = float(self.after) - float(self.before)
        return delta if math.isfinite(delta) else None

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data for JSON.

        Returns:
            A dictionary of plain values.
        """
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
        """Return it as a sentence: '0.4 m less distance (just below 5): it would pay -5, total -4.97'."""
        moved = f"{self.input} = {_describe_place(self.after)}"
        if (delta := self.delta) is not None:
            unit = f" {self.unit}" if self.unit else ""
            way = "more" if delta > 0 else "less"
            moved = f"{format_number(abs(delta))}{unit} {way} {self.input} ({_describe_place(self.after)})"
        broken = f"; this would break {', '.join(self.breaks)}" if self.breaks else ""
        paid = f"it would pay {format_number(self.value)}, total {format_number(self.total)}"
        if self.begins:
            paid = f"it would start to change from {format_number(self.value)}"
        return escape_controls(f"{moved}: {paid}{broken}")


class TermBranches(NamedTuple):
    """The branches that one term takes in a step; also of the gate, the overrides or the clamp of the total.

    Example:
        ```python
        found = nearest_branches(reward, row)["safety"]
        found.conditions, found.nearest
        ```
    """

    term: str
    value: float
    inputs: tuple[str, ...]
    """The inputs that the value depends on in this step."""
    lines: tuple[SourceLine, ...]
    """The source lines that only some steps reach, and this one did; empty without the source."""
    conditions: tuple[Condition, ...]
    nearest: tuple[NearestBranch, ...]
    """For each input and direction, the nearest value at which another branch pays differently; nearest first."""

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data for JSON.

        Returns:
            A dictionary of plain values.
        """
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
    """The branches that each term takes in a step; `print` it.

    Example:
        ```python
        found = nearest_branches(reward, {"distance": 5.4})
        print(found["safety"].nearest[0].condition)
        ```
    """

    reward: str
    """Its name and version: `following@1`."""
    total: float
    terms: tuple[TermBranches, ...]
    """The terms, then the gate, the overrides and the clamp of the total, if any."""

    def __getitem__(self, term: str) -> TermBranches:
        """Return the branches of one term.

        Raises:
            KeyError: There is no such term; the message suggests one.
        """
        for each in self.terms:
            if each.term == term:
                return each
        near = did_you_mean(term, [each.term for each in self.terms])
        raise KeyError(f"{self.reward} has no term {term!r}.{near}")

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data for JSON.

        Returns:
            A dictionary of plain values.
        """
        return {"reward": self.reward, "total": self.total, "terms": [each.to_dict() for each in self.terms]}

    def __str__(self) -> str:
        """Format for each term its lines, conditions and nearest other branches."""
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
