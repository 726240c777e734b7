"""What the terms did in practice: constant, drowned, redundant, or with spikes."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from plaudit.analysis.audit.context import AuditContext, Detector, format_percent, history_rule
from plaudit.analysis.audit.steps import Numbers, StepBatch
from plaudit.checks.finding import Finding
from plaudit.checks.formats.plain import format_number
from plaudit.checks.rules.terms import SHARE as SMALL
from plaudit.reward.reward import Reward
from plaudit.reward.term import Term

LEAST_STEPS = 3000
"""With fewer steps nothing is said of a term that never changed: what happens in a thousandth of all steps may not have
happened yet (3/n, the rule of three)."""
LEAST_OFTEN = 100
"""In fewer steps than this a term is too rare to say what it is like."""
RARE = 0.001
"""What more than this share of a term's payments are like is no spike."""
FEW_VALUES = 32
"""A term of no more different values is a table of prices: the highest of them is meant."""
_BINS = 2200
_OFFSET = 1100
"""Sizes are counted by powers of two, the smallest and the largest that a float has included."""


class TermStatistics(Detector):
    """What each term, then each adjustment of the total, was like over all steps."""

    def __init__(self, reward: Reward, drowned: float) -> None:
        """Begin with no step; `drowned` is the share of all terms from which one of them is heard."""
        self.reward, self._drowned = reward, drowned
        count = len(reward.program.terms)
        self.steps = 0
        self.low, self.high = np.full(count, np.inf), np.full(count, -np.inf)
        self.nonzero, self.heard = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self.sizes = np.zeros((count, _BINS), np.int64)
        self.largest, self.largest_at = np.zeros(count), np.zeros(count, np.int64)
        self.first = 0
        """The number of the first record."""
        self._known: list[set[float] | None] = [set() for _ in range(count)]
        self._shift: Numbers | None = None
        self._sums, self._products = np.zeros(count), np.zeros((count, count))

    def add(self, batch: StepBatch) -> None:
        """Add the steps of a batch."""
        values = batch.values
        if not self.steps:
            self.first = int(batch.numbers[0])
        self.steps += len(batch)
        lows, highs = values.min(axis=1), values.max(axis=1)
        self.low, self.high = np.minimum(self.low, lows), np.maximum(self.high, highs)
        sizes = np.abs(values)
        together = sizes.sum(axis=0) * self._drowned
        for at, size in enumerate(sizes):
            if lows[at] == highs[at] == 0:
                continue  # it did nothing in all of these steps
            paid = size > 0
            self.nonzero[at] += np.count_nonzero(paid)
            self.heard[at] += np.count_nonzero(paid & (size >= together))
            self._count_sizes(at, size, batch)
            self._note_values(at, values[at])
        self._shift = values.mean(axis=1) if self._shift is None else self._shift
        moved = values - self._shift[:, None]
        self._sums += moved.sum(axis=1)
        self._products += moved @ moved.T

    def _count_sizes(self, at: int, size: Numbers, batch: StepBatch) -> None:
        counted = np.bincount(np.frexp(size)[1] + _OFFSET, minlength=_BINS)
        counted[_OFFSET] -= np.count_nonzero(size == 0)  # which has the exponent 0
        self.sizes[at] += counted
        place = int(size.argmax())
        if size[place] > self.largest[at]:
            self.largest[at], self.largest_at[at] = size[place], batch.numbers[place]

    def _note_values(self, at: int, column: Numbers) -> None:
        """Note which values a term has, as long as they are few."""
        known = self._known[at]
        while known is not None:
            new = column[~np.isin(column, list(known))] if known else column
            if not len(new):
                return
            known |= set(new[:: max(1, len(new) // FEW_VALUES)][: FEW_VALUES + 1].tolist())
            if len(known) > FEW_VALUES:
                known = self._known[at] = None

    def is_price_list(self, at: int) -> bool:
        """Return whether a term had but a few different values."""
        return self._known[at] is not None

    def find_percentile(self, at: int, share: float) -> float:
        """Return a size that no more than `share` of a term's payments go beyond: a power of two."""
        beyond = self.sizes[at][::-1].cumsum()
        place = _BINS - 1 - int(np.searchsorted(beyond, share * self.nonzero[at], side="right"))
        return float(2.0 ** (place - _OFFSET))

    def count_beyond(self, at: int, size: float) -> int:
        """Return in how many steps a term was at least `size`, a power of two."""
        return int(self.sizes[at][int(np.frexp(size)[1]) + _OFFSET :].sum())

    @property
    def correlations(self) -> NDArray[np.float64]:
        """How terms go together: Pearson's correlation, 0 where one does not vary."""
        moved = self._products - np.outer(self._sums, self._sums) / max(self.steps, 1)
        spread = np.sqrt(np.maximum(np.diag(moved), 0.0))
        floor = 1e-9 * np.maximum(np.abs(self.low), np.abs(self.high)) * np.sqrt(max(self.steps, 1))
        varies = np.isfinite(spread) & (spread > floor)
        safe = np.where(varies, spread, 1.0)
        return np.where(np.outer(varies, varies), moved / np.outer(safe, safe), 0.0)

    # -- what is found -------------------------------------------------------------------------------------------------

    def _list_paid(self, context: AuditContext) -> list[tuple[int, Term]]:
        """Return the terms that are paid in steps, with their places; none where there are too few steps."""
        if not context.has_steps():
            return []
        return [(at, each) for at, each in enumerate(self.reward.terms) if each.weight != 0 and not each.terminal]

    @history_rule("constant-in-practice", severity="advice", why="A term that never changes teaches the agent nothing.")
    def find_constant(self, context: AuditContext) -> Iterator[Finding]:
        """Find terms that were the same in every step."""
        for at, term in self._list_paid(context):
            if self.steps >= LEAST_STEPS and term.reads and self.low[at] == self.high[at]:
                yield from self._describe_constant(context, at, term)

    def _describe_constant(self, context: AuditContext, at: int, term: Term) -> Iterator[Finding]:
        value = float(self.low[at])
        if value == 0 and (term.kind == "penalty" or term.name not in context.can_pay):
            return  # a price that never had to be paid
        if value == 0:
            message = f"{term.name!r} paid nothing: it was 0 in all {self.steps:,} steps."
            advice = (
                "If the agent should learn it, make it reachable: a longer run, an easier start, a shaping term that "
                "leads there. If not, drop the term."
            )
        else:
            message = f"{term.name!r} paid {format_number(value)} in all {self.steps:,} steps, whatever the agent did."
            advice = (
                "If every step should be paid the same, use a term that reads nothing. If not, find out why its inputs "
                "never change it."
            )
        yield context.finding(
            term.name,
            message,
            advice,
            witness=(context.step(self.first, "the same in every step"),),
        )

    @history_rule(
        "drowned-in-practice", severity="advice", why="A term this small next to the others makes no difference."
    )
    def find_drowned(self, context: AuditContext) -> Iterator[Finding]:
        """Find terms that made a difference in hardly any step."""
        for at, term in self._list_paid(context):
            heard, paid = int(self.heard[at]), int(self.nonzero[at])
            if len(self.reward.terms) < 2 or paid < LEAST_OFTEN or heard >= SMALL * paid:
                continue
            yield context.finding(
                term.name,
                f"{term.name!r} was at least {format_percent(context.thresholds.drowned)} of all terms together in "
                f"{heard:,} of the {paid:,} steps in which it was not 0; its largest size was "
                f"{format_number(self.largest[at])}.",
                "Raise its weight, lower the terms that drown it, or drop it.",
                witness=(context.step(int(self.largest_at[at]), f"{term.name} at its largest"),),
            )

    @history_rule(
        "redundant-terms", severity="advice", why="Two terms that move together pay twice for the same thing."
    )
    def find_redundant(self, context: AuditContext) -> Iterator[Finding]:
        """Find terms that rise and fall together."""
        found, paid = self.correlations, self._list_paid(context)
        for place, (at, term) in enumerate(paid):
            for other, twin in paid[:place]:
                often = min(self.nonzero[at], self.nonzero[other]) >= LEAST_OFTEN
                if not often or abs(found[at, other]) < context.thresholds.redundant:
                    continue
                how = "together" if found[at, other] > 0 else "in opposite directions"
                yield context.finding(
                    term.name,
                    f"{twin.name!r} and {term.name!r} move {how}: their correlation over {self.steps:,} steps "
                    f"is {found[at, other]:z.4f}.",
                    "Keep the one that measures the objective, or make them measure different things.",
                    witness=(context.step(int(self.largest_at[at]), "both terms"),),
                )

    @history_rule("spike", severity="warning", why="A few steps outweigh all others and dominate learning.")
    def find_spikes(self, context: AuditContext) -> Iterator[Finding]:
        """Find terms a few payments of which outweigh all others."""
        for at, term in self._list_paid(context):
            if self.nonzero[at] < context.thresholds.min_steps or self.is_price_list(at):
                continue
            usual = self.find_percentile(at, RARE)
            if self.largest[at] < context.thresholds.spike * usual:
                continue
            least = 2.0 ** float(np.frexp(context.thresholds.spike * usual)[1] - 1)
            yield context.finding(
                term.name,
                f"{term.name!r} reached {format_number(self.largest[at])} in size, but at least "
                f"{format_percent(1 - RARE)} "
                f"of its payments were below {format_number(usual)}; it was {format_number(least)} or more in "
                f"{context.format_share(self.count_beyond(at, least))}.",
                "Clamp the score where it stops being meaningful, or find out what the simulator did in that step.",
                witness=(context.step(int(self.largest_at[at]), f"{term.name} at its largest"),),
            )
