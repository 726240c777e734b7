"""What each episode came to by other measures than its return: the goal, `better` fields, the environment's reward."""

from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from plaudit.analysis.audit.context import AuditContext, compile_goal, find_input
from plaudit.analysis.audit.steps import Numbers, StepBatch
from plaudit.checks.finding import Finding
from plaudit.checks.formats.plain import format_number
from plaudit.ledger.ranks import compute_ranks, correlate_ranks

PARTS = 10
"""Episodes are compared in so many stretches, one after the other."""
LEVEL = 0.05
"""Stretches that are this near to the best one, as a share of the way from the best to the worst, are as good."""
LEAST_FALL = 0.2
"""What falls must lose this share of the way between its best and its worst stretch."""


class EpisodeOutcomes:
    """What is wanted, added up for each episode."""

    codes = ("parted-from-goal", "goal-earned-less")

    def __init__(self, context: AuditContext) -> None:
        """Find out what is wanted, and whether steps have it."""
        reward, recorded = context.reward, context.recorded
        self._table = context.table
        goal = reward.goal_program
        self._goal = compile_goal(context)
        if goal.outputs and self._goal is None:
            unknown = ", ".join(sorted(goal.inputs.keys() - recorded))
            context.skip(f"the goal reads {unknown}, which is not recorded", "goal-earned-less")
        wanted = [each for each in reward.fields.values() if each.better is not None or each.aim is not None]
        self._fields = {each.name: (each, names) for each in wanted if (names := find_input(each, recorded))}
        lacking = [each.name for each in wanted if each.name not in self._fields]
        if lacking:
            context.remarks.append(f"Not recorded, for no term reads it: {', '.join(lacking)}.")
        count = len(context.table)
        self._steps = np.zeros(count)
        self._reached = np.zeros(count)
        self._sums = {name: np.zeros(count) for name in self._fields}
        self._original: Numbers | None = np.zeros(count)

    def add(self, batch: StepBatch) -> None:
        """Take the steps of a batch in."""
        rows = batch.episodes[batch.starts]
        known = rows >= 0
        if not known.any():
            return

        def add_up(column: NDArray[np.generic], onto: Numbers) -> None:
            np.add.at(onto, rows[known], np.add.reduceat(np.asarray(column, np.float64), batch.starts)[known])

        add_up(np.ones(len(batch)), self._steps)
        if self._goal is not None:
            add_up(self._goal.evaluate(batch)["goal"], self._reached)
        for name, (field, inputs) in self._fields.items():
            for each in inputs:
                column = np.asarray(batch.columns[each], np.float64)
                wish = column if field.aim is None else -np.abs(column - field.aim)
                add_up(np.where(np.isfinite(wish), wish, 0.0), self._sums[name])
        if batch.original is None:
            self._original = None
        elif self._original is not None:
            add_up(batch.original, self._original)

    @property
    def reached(self) -> NDArray[np.bool_] | None:
        """Whether each episode reached the goal; None where none is declared, or it cannot be told."""
        return None if self._goal is None else self._reached > 0

    @property
    def original(self) -> Numbers | None:
        """The returns of the environment's own reward; None where nobody recorded it."""
        known = self._original is not None and len(self._original) > 0 and bool(np.isfinite(self._original).all())
        return self._original if known else None

    @cached_property
    def wishes(self) -> Mapping[str, Numbers]:
        """What is wanted of each episode, more of it being better, by a name for people."""
        found: dict[str, Numbers] = {}
        if self.reached is not None:
            found["the share of episodes that reach the goal"] = self.reached.astype(np.float64)
        for name, (field, inputs) in self._fields.items():
            mean = self._sums[name] / np.maximum(self._steps * len(inputs), 1)
            if field.aim is not None:
                found[f"how near {name} is to {format_number(field.aim)}"] = mean
            else:
                found[f"{name} (better {field.better})"] = mean if field.better == "high" else -mean
        if self.original is not None:
            found["the environment's own return"] = self.original
        return found

    # -- what is found -------------------------------------------------------------------------------------------------

    def find(self, context: AuditContext) -> Iterator[Finding]:
        """Yield where the reward parts from what is wanted, and whether the goal is worth less than something else."""
        if not self.wishes:
            why = "neither a goal nor a field that is better high or low is declared, and no reward of the environment"
            context.skip(f"{why} is recorded", "parted-from-goal")
        if self._goal is None:
            context.skip("no goal is declared", "goal-earned-less")
        if not context.has_episodes(*self.codes):
            return
        for name, wish in self.wishes.items():
            yield from self._find_parting(context, name, wish)
        if self.reached is not None:
            yield from self._find_worthless_goal(context, self.reached)

    def _find_parting(self, context: AuditContext, name: str, wish: Numbers) -> Iterator[Finding]:
        """Yield the stretch from which on returns rise and a wish falls, by more than chance would have it."""
        rows = np.flatnonzero(context.table.whole)
        returns, wanted = context.table.returns[rows], wish[rows]
        parts = np.array_split(np.arange(len(rows)), min(PARTS, len(rows) // 4))
        levels = np.array([[column[part].mean() for part in parts] for column in (returns, wanted)])
        way = float(np.ptp(levels[1]))
        best = int(np.flatnonzero(levels[1] >= levels[1].max() - LEVEL * way)[-1])
        if best == len(parts) - 1:
            return
        before, after = parts[best], parts[-1]
        rise, fall = (_compare(column[before], column[after]) for column in (returns, wanted))
        limit = context.thresholds.fall
        if rise[1] < limit or fall[1] > -limit or -fall[0] < LEAST_FALL * way:
            return
        later = np.concatenate(parts[best:])
        together = correlate_ranks(returns[later], wanted[later])
        if together is None or together >= 0:
            return
        sign = -1.0 if "(better low)" in name or "how near" in name else 1.0
        first, last = int(rows[_locate_turn(wanted, before, LEVEL * way)]), int(rows[after[-1]])
        levels_before, levels_after = (sign * float(wanted[part].mean()) for part in (before, after))
        begins = context.table.listed[first]
        yield context.finding(
            "parted-from-goal",
            "total",
            f"from episode {context.table.name(first)} (record {begins.first_record}) on the return rises, from "
            f"{format_number(returns[before].mean())} to {format_number(returns[after].mean())} on average, while "
            f"{name} goes from {format_number(levels_before)} to {format_number(levels_after)}; their rank correlation "
            f"from there on is {together:.2f}.",
            "Look at an episode before and one after (plaudit ledger why): what pays there is not what is wanted. Stop "
            "there, and change the reward before going on.",
            witness=(
                context.step(begins.last_record, "before: the end of an episode"),
                context.step(context.table.listed[last].last_record, "after"),
            ),
        )

    def _find_worthless_goal(self, context: AuditContext, reached: NDArray[np.bool_]) -> Iterator[Finding]:
        """Yield that episodes that reach the goal rank below those that do not, by more than chance would have it."""
        rows = np.flatnonzero(context.table.whole)
        done = reached[rows]
        one, other = int(done.sum()), int((~done).sum())
        if min(one, other) < context.thresholds.min_episodes // 4:
            few = "reach" if one < other else "miss"
            context.skip(f"too few episodes {few} the goal to compare: {min(one, other)}", "goal-earned-less")
            return
        returns = context.table.returns[rows]
        ranks = compute_ranks(returns)
        surplus = ranks[done].sum() - one * (len(rows) + 1) / 2  # Mann and Whitney
        error = float(np.sqrt(one * other * (len(rows) + 1) / 12))
        if surplus > -context.thresholds.fall * error:
            return
        best = int(rows[~done][returns[~done].argmax()])
        typical = int(rows[done][np.argsort(returns[done])[one // 2]])
        yield context.finding(
            "goal-earned-less",
            "total",
            f"{one:,} episodes reach the goal and earn {format_number(returns[done].mean())} on average; {other:,} do "
            f"not and earn {format_number(returns[~done].mean())}, up to {format_number(returns[~done].max())} "
            f"({context.table.name(best)}).",
            "Let the goal pay more than an episode without it can earn, or let steps without it cost something.",
            witness=(
                context.step(context.table.listed[best].last_record, "the end of the best without the goal"),
                context.step(context.table.listed[typical].last_record, "the end of one with it"),
            ),
        )


def _locate_turn(wish: Numbers, best: NDArray[np.intp], near: float) -> int:
    """Return the last episode around the best stretch of which a wish is still as good, but for `near`.

    Half as many episodes as a stretch has are looked at together, so that no single one decides.
    """
    width = max(1, len(best) // 2)
    start, end = max(0, int(best[0]) - width), min(len(wish), int(best[-1]) + 1 + len(best))
    levels = np.convolve(wish[start:end], np.full(width, 1 / width), "valid")
    return start + int(np.flatnonzero(levels >= levels.max() - near)[-1]) + width - 1


def _compare(before: Numbers, after: Numbers) -> tuple[float, float]:
    """Return how far a mean has risen, and how many standard errors that is."""
    rise = float(after.mean() - before.mean())
    error = float(np.sqrt(before.var() / len(before) + after.var() / len(after)))
    return rise, rise / error if error else float(np.sign(rise)) * np.inf
