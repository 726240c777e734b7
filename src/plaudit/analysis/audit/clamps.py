"""Clamps that bind in nearly every step."""

from collections.abc import Iterator

import numpy as np

from plaudit.analysis.audit.context import AuditContext, Detector, history_rule
from plaudit.analysis.audit.steps import StepBatch
from plaudit.checks.finding import Finding
from plaudit.checks.formats.plain import format_number
from plaudit.reward.reward import Reward


class ClampCounts(Detector):
    """In how many steps each end of each clamp bound: the score lay beyond it, and what was beyond was lost."""

    def __init__(self, reward: Reward) -> None:
        """Count nothing yet; an end that follows a schedule is not counted."""
        self.limits = {
            (term.name, side): (at, limit)
            for at, term in enumerate(reward.terms)
            for side, limit in (("low", term.low), ("high", term.high))
            if isinstance(limit, float | int)
        }
        if not reward._composed:  # else the sum is scaled or gated before it is clamped
            self.limits |= {
                ("total", side): (-1, limit)
                for side, limit in (("low", reward.low), ("high", reward.high))
                if isinstance(limit, float | int)
            }
        self._terms = len(reward.terms)
        self.bound = dict.fromkeys(self.limits, 0)
        self.first = dict.fromkeys(self.limits, 0)
        """The number of the first record that each end bound."""

    def add(self, batch: StepBatch) -> None:
        """Add the steps of a batch."""
        for key, (at, limit) in self.limits.items():
            score = batch.values[: self._terms].sum(axis=0) if at < 0 else batch.scores[at]
            beyond = score < limit if key[1] == "low" else score > limit
            count = int(np.count_nonzero(beyond))
            if count and not self.bound[key]:
                self.first[key] = int(batch.numbers[beyond.argmax()])
            self.bound[key] += count

    @history_rule(
        "clamp-bound", severity="warning", why="A term that is clamped in nearly every step carries no signal."
    )
    def find_bound(self, context: AuditContext) -> Iterator[Finding]:
        """Find clamps that bound in nearly every step."""
        if not self.limits or not context.has_steps():
            return
        for (name, side), count in self.bound.items():
            if count < context.thresholds.clamp * context.steps:
                continue
            what = "cap" if side == "high" else "floor"
            owner = "the total" if name == "total" else repr(name)
            limit = format_number(self.limits[name, side][1])
            yield context.finding(
                name,
                f"{owner} was clamped at its {what} of {limit} in {context.format_share(count)}; there it does not "
                "depend on what the agent did.",
                f"Rescale the score so that typical values lie within the clamp, or move the {what}.",
                witness=(context.step(self.first[name, side], f"clamped at {limit}"),),
            )
