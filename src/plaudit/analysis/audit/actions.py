"""A policy that repeats one action."""

from collections.abc import Iterator

import numpy as np

from plaudit.analysis.audit.context import AuditContext, Detector, format_percent, history_rule
from plaudit.analysis.audit.steps import StepBatch
from plaudit.checks.finding import Finding
from plaudit.checks.formats.plain import format_number
from plaudit.checks.solver.ranges import decode_value, list_choices
from plaudit.language.field import Field
from plaudit.terminal import format_count

SHORTEST = 10
"""In a shorter episode, one action may well be right throughout."""
MOST_ACTIONS = 256
PARTS = 20
"""A continuous action is counted in this many equal parts of its range."""
NEARLY_ALL = 0.8
"""This share of the late episodes must repeat the same action."""


class ActionCounts(Detector):
    """How often each episode took each action."""

    def __init__(self, context: AuditContext) -> None:
        model, self._table = context.model, context.table
        names = [name for name in sorted(context.recorded) if model.role(model.fields[name]) == "action"]
        self._name = names[0] if len(names) == 1 else ""
        self._field = model.fields[self._name] if self._name else Field("action")
        self._choices = np.array(list_choices(self._field))
        self._count = len(self._choices) or (PARTS if self._has_range() else 0)
        if not self._name:
            context.skip("no recorded field is the action, or more than one is", "action-repeated")
        elif not 2 <= self._count <= MOST_ACTIONS:
            context.skip(
                f"the actions in {self._name!r} cannot be counted; declare its values or its range", "action-repeated"
            )
        self._usable = "action-repeated" not in context.skipped
        self.counts = np.zeros((len(self._table) if self._usable else 0, self._count), np.int64)

    def _has_range(self) -> bool:
        return self._field.low is not None and self._field.high is not None and self._field.high > self._field.low

    def add(self, batch: StepBatch) -> None:
        """Add the steps of a batch."""
        if not self._usable:
            return
        column = np.asarray(batch.columns[self._name], np.float64)
        known = batch.episodes >= 0
        codes = batch.episodes[known] * self._count + self._number(column[known])
        first, last = batch.episodes[known].min(initial=len(self._table)), batch.episodes.max(initial=-1)
        if first > last:
            return
        found = np.bincount(codes - first * self._count, minlength=(last - first + 1) * self._count)
        self.counts[first : last + 1] += found.reshape(-1, self._count)

    def _number(self, column: np.ndarray) -> np.ndarray:
        if len(self._choices):
            return np.searchsorted(self._choices, column).clip(0, self._count - 1)
        low, high = float(self._field.low or 0.0), float(self._field.high or 0.0)
        return ((column - low) / (high - low) * PARTS).clip(0, PARTS - 1).astype(np.intp)

    @history_rule("action-repeated", severity="advice", why="The agent repeats one action, whatever it observes.")
    def find_repeated(self, context: AuditContext) -> Iterator[Finding]:
        """Find the action that the late episodes repeat."""
        if not self._usable or not context.has_episodes():
            return
        steps = self.counts.sum(axis=1)
        late = context.late & (steps >= SHORTEST)
        top = self.counts.argmax(axis=1)
        alike = late & (self.counts.max(axis=1) >= context.thresholds.action * steps)
        if not alike.any():
            return
        action = int(np.bincount(top[alike]).argmax())
        same = alike & (top == action)
        if same.sum() < NEARLY_ALL * context.late.sum():
            return
        rows = np.flatnonzero(same).tolist()
        share = self.counts[rows, action].sum() / steps[rows].sum()
        yield context.finding(
            "total",
            f"{len(rows):,} of {format_count(int(context.late.sum()), 'late episode')} "
            f"{'repeats' if len(rows) == 1 else 'repeat'} {self._describe(action)} in {format_percent(share)} of "
            f"{'its' if len(rows) == 1 else 'their'} steps, whatever the agent observes: "
            f"{context.table.describe(rows)}.",
            "See what this action earns (plaudit ledger why), and whether any other action ever pays more.",
            witness=(context.step(context.table.listed[row].first_record) for row in rows[-1:]),
        )

    def _describe(self, action: int) -> str:
        if len(self._choices):
            value = decode_value(self._field, float(self._choices[action]))
            return f"{self._name} {value if isinstance(value, str | bool) else format_number(value)}"
        width = (float(self._field.high or 0.0) - float(self._field.low or 0.0)) / PARTS
        low = float(self._field.low or 0.0) + action * width
        return f"{self._name} from {format_number(low)} to {format_number(low + width)}"
