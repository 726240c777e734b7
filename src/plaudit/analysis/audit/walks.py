"""Cycles that episodes went around, states that they stayed in, and what both earned."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plaudit.analysis.audit.context import AuditContext, Detector, compile_goal, history_rule
from plaudit.analysis.audit.outcomes import EpisodeOutcomes
from plaudit.analysis.audit.steps import Numbers, Positions, StepBatch
from plaudit.checks.finding import Finding, Severity
from plaudit.checks.formats.plain import format_number
from plaudit.checks.model import find_state_fields
from plaudit.language.field import Field
from plaudit.terminal import format_count

PARTS = 100
"""Two numbers of a declared range are the same place where they lie in the same hundredth of it."""
LONGEST = 200_000
"""A longer episode is processed in pieces of this many steps."""
UNEVEN = 0.5
"""Some step of a cycle must pay less than this share of its average step. If every step pays the same, the agent is
paid for being there, not for going around."""


@dataclass
class Walk:
    """How an episode spent its time: going around through one state, or staying in states."""

    times: int = 0
    steps: int = 0
    pay: float = 0.0
    first: int = 0
    """The number of the record with which it begins."""
    last: int = 0


class _Steps(NamedTuple):
    """Steps of one episode or of several, one after the other."""

    places: NDArray[np.uint64]
    totals: Numbers
    numbers: NDArray[np.int64]
    done: NDArray[np.bool_]
    """Whether the goal is reached."""

    def take(self, start: int, end: int) -> "_Steps":
        """Return some of them that follow one another."""
        return _Steps(self.places[start:end], self.totals[start:end], self.numbers[start:end], self.done[start:end])

    @staticmethod
    def join(parts: Sequence["_Steps"]) -> "_Steps":
        """Return several as one."""
        return _Steps(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


class Walks(Detector):
    """The cycles and stays of every episode."""

    def __init__(self, context: AuditContext, outcomes: EpisodeOutcomes) -> None:
        self._context, self._table, self._outcomes = context, context.table, outcomes
        model, recorded = context.model, context.recorded
        self._names: dict[str, Field] = {}
        for plain, each in find_state_fields(model).items():
            found = next((name for name in (f"curr.{plain}", plain) if name in recorded), None)
            if found is not None and plain not in model.program.counters:
                self._names[found] = each
        self._goal = compile_goal(context)
        self._usable = bool(self._names) and len(self._table) > 0
        if not self._names:
            context.skip(
                "no recorded field is a state; declare one with Task(states=[...])", "walked-laps", "stayed-put"
            )
        self._open: dict[int, list[_Steps]] = {}
        self._seen = np.zeros(len(self._table), np.int64)
        self.laps: dict[int, Walk] = {}
        self.stays: dict[int, Walk] = {}

    def add(self, batch: StepBatch) -> None:
        """Add the steps of a batch; an episode is processed when its last step is there."""
        if not self._usable:
            return
        done = np.zeros(len(batch), np.bool_) if self._goal is None else self._goal.evaluate(batch)["goal"]
        steps = _Steps(self._number_places(batch), batch.totals, batch.numbers, done)
        ends = np.append(batch.starts[1:], len(batch))
        ready: list[tuple[int, list[_Steps]]] = []
        for start, end in zip(batch.starts.tolist(), ends.tolist(), strict=True):
            row = int(batch.episodes[start])
            if row < 0 or self._table.gaps[row]:
                continue
            pieces = [*self._open.pop(row, ()), steps.take(start, end)]
            self._seen[row] += end - start
            long = sum(len(piece.places) for piece in pieces) >= LONGEST
            if self._seen[row] >= self._table.lengths[row] or long:
                ready.append((row, pieces))
            else:
                self._open[row] = pieces
        if ready:
            self._look_at(ready)

    def _number_places(self, batch: StepBatch) -> NDArray[np.uint64]:
        """Return a number for the place that each step leads to: equal where the places are."""
        found = np.zeros(len(batch), np.uint64)
        for name, each in self._names.items():
            column = np.asarray(batch.columns[name], np.float64) + 0.0
            if each.low is not None and each.high is not None and each.high > each.low:
                column = np.floor((column - each.low) * (PARTS / (each.high - each.low)))
            found = (found ^ column.view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
            found ^= found >> np.uint64(29)
        return found

    def _look_at(self, ready: Sequence[tuple[int, Sequence[_Steps]]]) -> None:
        steps = _Steps.join([piece for _, pieces in ready for piece in pieces])
        counts = [sum(len(piece.places) for piece in pieces) for _, pieces in ready]
        rows = np.repeat([row for row, _ in ready], counts)
        self._find_stays(rows, steps)
        self._find_laps(rows, steps)

    def _find_stays(self, rows: Positions, steps: _Steps) -> None:
        """Add up stays that pay; the step that leads to a place is no part of the stay."""
        places, totals, numbers, done = steps
        moves = np.concatenate([[True], (places[1:] != places[:-1]) | (rows[1:] != rows[:-1])])
        starts = np.flatnonzero(moves)
        ends = np.append(starts[1:], len(rows))
        lengths = ends - starts - 1
        pay = np.add.reduceat(totals, starts) - totals[starts]
        reached = np.logical_or.reduceat(done, starts)
        for at in np.flatnonzero((lengths >= self._context.thresholds.stay) & (pay > 0) & ~reached).tolist():
            found = self.stays.setdefault(int(rows[starts[at]]), Walk(first=int(numbers[starts[at]])))
            found.times += 1
            found.steps += int(lengths[at])
            found.pay += float(pay[at])
            found.last = int(numbers[ends[at] - 1])

    def _find_laps(self, rows: Positions, steps: _Steps) -> None:
        """Find for each episode the state with the best-paid cycles: out of it and back."""
        places, totals, numbers, done = steps
        keys = places ^ (rows.astype(np.uint64) * np.uint64(0xD1B54A32D192ED03))
        order = np.argsort(keys, kind="stable")
        sorted_keys, sorted_rows = keys[order], rows[order]
        again = (sorted_keys[1:] == sorted_keys[:-1]) & (sorted_rows[1:] == sorted_rows[:-1])
        away = np.diff(order) >= 2
        groups = np.cumsum(np.concatenate([[True], ~again]))
        times = np.bincount(groups[1:], again & away)
        least = self._context.thresholds.laps
        often = np.flatnonzero(times >= least)
        if not len(often):
            return
        paid = np.concatenate([[0.0], np.cumsum(totals)])
        begins = np.searchsorted(groups, often, side="left")
        stops = np.searchsorted(groups, often, side="right") - 1
        firsts, lasts = order[begins], order[stops]
        pays = paid[lasts + 1] - paid[firsts + 1]
        best: dict[int, int] = {}
        for at in np.flatnonzero(pays > 0).tolist():
            row = int(rows[firsts[at]])
            if row not in best or (round(pays[at], 9), -firsts[at]) > (round(pays[best[row]], 9), -firsts[best[row]]):
                best[row] = at  # of cycles that pay the same, the first
        for row, at in best.items():
            first, last = int(firsts[at]), int(lasts[at])
            between = totals[first + 1 : last + 1]
            if between.min() > UNEVEN * between.mean() or done[first + 1 : last + 1].any():
                continue
            found = Walk(
                int(times[often[at]]), last - first, float(pays[at]), int(numbers[first + 1]), int(numbers[last])
            )
            if row not in self.laps or found.pay > self.laps[row].pay:
                self.laps[row] = found

    # -- what is found -------------------------------------------------------------------------------------------------

    def _is_complete(self, context: AuditContext) -> bool:
        """Return whether there are episodes, all of them processed."""
        if not self._usable or not context.has_episodes(least=1):
            return False
        if self._open:  # episodes of which not every step was chosen, or there
            self._look_at([*self._open.items()])
            self._open = {}
        return True

    @property
    def _severity(self) -> Severity | None:
        return None if self._goal is not None else "advice"

    @history_rule("walked-laps", severity="warning", why="The agent is paid for going around in a cycle.")
    def find_laps(self, context: AuditContext) -> Iterator[Finding]:
        """Find cycles that dominate the late episodes."""
        if not self._is_complete(context):
            return
        gone = self.choose(self.laps)
        if self._is_habit(gone) and self._is_unwanted(gone) is not False:
            walk = self.laps[gone[-1]]
            yield context.finding(
                "total",
                f"{self._describe(gone, self.laps, 'going around in cycles')}; for example, "
                f"{self._context.table.name(gone[-1])} visited one state {format_count(walk.times + 1, 'time')} in "
                f"{walk.steps:,} steps and earned {format_number(walk.pay)}.",
                "Make the way back cost what the way there earns (a potential-based difference), pay each state once, "
                "or "
                "make a step cost more than it can earn.",
                witness=(
                    context.step(walk.first, "the first cycle begins"),
                    context.step(walk.last, "back in the same state"),
                ),
                severity=self._severity,
            )

    @history_rule("stayed-put", severity="warning", why="The agent is paid for staying where it is.")
    def find_stays(self, context: AuditContext) -> Iterator[Finding]:
        """Find stays that dominate the late episodes."""
        if not self._is_complete(context):
            return
        stayed = self.choose(self.stays)
        if self._is_habit(stayed) and self._is_unwanted(stayed) is None:
            why = "no goal is declared and no environment reward shows that staying is worse; it may be the task"
            context.skip(why)
        elif self._is_habit(stayed) and self._is_unwanted(stayed):
            walk = self.stays[stayed[-1]]
            yield context.finding(
                "total",
                f"{self._describe(stayed, self.stays, 'standing still')}; for example, "
                f"{self._context.table.name(stayed[-1])} stood still for {walk.steps:,} steps and earned "
                f"{format_number(walk.pay)}.",
                "If the agent should finish, make each step cost something or the end pay more than waiting. If "
                "staying "
                "is the task, allow this finding with that reason, or declare a goal that staying meets.",
                witness=(context.step(walk.first, "it stops here"), context.step(walk.last, "it is still here")),
                severity=self._severity,
            )

    def choose(self, walks: dict[int, Walk]) -> list[int]:
        """Return the episodes that were about such walks: most of their steps, and most of what they earned."""
        share, table = self._context.thresholds.spent, self._table
        return [
            row
            for row, walk in sorted(walks.items())
            if walk.steps >= share * table.lengths[row] and walk.pay >= share * table.returns[row] > 0
        ]

    def _is_unwanted(self, rows: list[int]) -> bool | None:
        """Return whether other episodes were better by the objective; None if none is known.

        A walk through the goal does not count. Without a goal, the environment's own reward decides.
        """
        if self._goal is not None:
            return True
        original = self._outcomes.original
        others = np.setdiff1d(np.flatnonzero(self._table.whole), rows)
        if original is None or not len(others):
            return None
        return bool(original[rows].mean() < original[others].mean())

    def _is_habit(self, rows: list[int]) -> bool:
        late = self._context.late
        return bool(rows) and late[rows].sum() >= max(1.0, self._context.thresholds.habit * late.sum())

    def _describe(self, rows: list[int], walks: dict[int, Walk], doing: str) -> str:
        steps, pay = sum(walks[row].steps for row in rows), sum(walks[row].pay for row in rows)
        return (
            f"{len(rows):,} of {format_count(len(self._table), 'episode')} ({self._table.describe(rows)}) spent "
            f"{steps:,} steps {doing} and earned {format_number(pay)}"
        )
