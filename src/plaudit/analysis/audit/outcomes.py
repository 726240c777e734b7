"""Other measures of each episode than its return: the goal, `better` fields, the environment's reward."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plaudit.analysis.audit.context import (
    AuditContext,
    Detector,
    compile_goal,
    find_input,
    format_percent,
    history_rule,
)
from plaudit.analysis.audit.episodes import format_runs
from plaudit.analysis.audit.parting import Parting, find_parting
from plaudit.analysis.audit.steps import Numbers, Positions, StepBatch
from plaudit.checks.finding import Finding
from plaudit.checks.formats.plain import format_apart, format_number
from plaudit.ledger.summary.ranks import compute_ranks
from plaudit.terminal import format_count


class Wish(NamedTuple):
    """One objective of episodes."""

    name: str
    values: Numbers
    """The measure of each episode, as it is shown."""
    sign: float = 1.0
    """-1 where less of it is better."""
    is_share: bool = False

    def format(self, one: float, other: float) -> tuple[str, str]:
        """Return two means of it, told apart."""
        return (format_percent(one), format_percent(other)) if self.is_share else format_apart(one, other)


class EpisodeOutcomes(Detector):
    """The objectives, added up for each episode."""

    def __init__(self, context: AuditContext) -> None:
        reward, recorded = context.reward, context.recorded
        self._table = context.table
        goal = reward._bound.goal_program
        self._goal = compile_goal(context)
        if goal.outputs and self._goal is None:
            unknown = ", ".join(sorted(goal.inputs.keys() - recorded))
            context.skip(f"the goal reads {unknown}, which is not recorded", "goal-earned-less")
        wanted = [each for each in reward._bound.fields.values() if each.is_wished]
        self._fields = {each.name: (each, names) for each in wanted if (names := find_input(each, recorded))}
        lacking = [each.name for each in wanted if each.name not in self._fields]
        if lacking:
            context.remarks.append(f"Not recorded, because no term reads it: {', '.join(lacking)}.")
        count = len(context.table)
        self._reached = np.zeros(count)
        self._sums, self._known = ({name: np.zeros(count) for name in self._fields} for _ in range(2))
        self._original: Numbers | None = np.zeros(count)

    def add(self, batch: StepBatch) -> None:
        """Add the steps of a batch."""
        rows = batch.episodes[batch.starts]
        known = rows >= 0
        if not known.any():
            return

        def add_up(column: NDArray[np.generic], onto: Numbers) -> None:
            np.add.at(onto, rows[known], np.add.reduceat(np.asarray(column, np.float64), batch.starts)[known])

        if self._goal is not None:
            add_up(self._goal.evaluate(batch)["goal"], self._reached)
        for name, (field, inputs) in self._fields.items():
            for each in inputs:
                column = np.asarray(batch.columns[each], np.float64)
                wish = column if field.aim is None else np.abs(column - field.aim)
                add_up(np.where(np.isfinite(wish), wish, 0.0), self._sums[name])
                add_up(np.isfinite(wish), self._known[name])
        if batch.original is None:
            self._original = None
        elif self._original is not None:
            add_up(batch.original, self._original)

    @property
    def reached(self) -> NDArray[np.bool_] | None:
        """Whether each episode reached the goal; None if no goal is declared or its inputs are not recorded."""
        return None if self._goal is None else self._reached > 0

    @property
    def original(self) -> Numbers | None:
        """The returns of the environment's own reward; None if it was not recorded."""
        known = self._original is not None and len(self._original) > 0 and bool(np.isfinite(self._original).all())
        return self._original if known else None

    @cached_property
    def wishes(self) -> Sequence[Wish]:
        """The objectives of each episode."""
        found: list[Wish] = []
        if self.reached is not None:
            found.append(Wish("the share of episodes that reach the goal", self.reached.astype(np.float64), 1.0, True))
        for name, (field, _) in self._fields.items():
            mean = self._sums[name] / np.maximum(self._known[name], 1)
            if field.aim is not None:
                found.append(Wish(f"the distance of {name} from {format_number(field.aim)}", mean, -1.0))
            else:
                found.append(Wish(f"{name} (better {field.better})", mean, 1.0 if field.better == "high" else -1.0))
        if self.original is not None:
            found.append(Wish("the environment's own return", self.original))
        return found

    # -- what is found -------------------------------------------------------------------------------------------------

    @history_rule(
        "parted-from-goal",
        severity="warning",
        why="The return rises while the stated objective gets worse: the agent games the reward.",
    )
    def find_partings(self, context: AuditContext) -> Iterator[Finding]:
        """Find for each objective where, within a run, the return rises while the objective gets worse."""
        if not self.wishes:
            context.skip("no goal and no better= or aim= field is declared, and no environment reward is recorded")
        if not context.has_episodes():
            return
        least = context.thresholds.min_episodes
        runs = [rows for rows in context.table.split_runs() if len(rows) >= least]
        if not runs:
            longest = max(len(rows) for rows in context.table.split_runs())
            context.skip(f"at least {least:,} complete episodes of one run are needed; the longest run has {longest:,}")
        chance = min(0.5, context.thresholds.chance / max(1, len(runs) * len(self.wishes)))  # Bonferroni
        for wish in self.wishes:
            found = []
            for rows in runs:
                returns, wanted = context.table.returns[rows], wish.sign * wish.values[rows]
                parting = find_parting(returns, wanted, late=context.thresholds.late, chance=chance)
                if parting is not None:
                    found.append((rows, parting))
            if found:
                others = [context.table.listed[rows[0]].run for rows, _ in found[1:]]
                yield self._describe_parting(context, wish, *found[0], others)

    def _describe_parting(
        self, context: AuditContext, wish: Wish, rows: Positions, parting: Parting, others: Sequence[str | None]
    ) -> Finding:
        table = context.table
        before, after = rows[parting.before], rows[parting.after]
        low, high = format_apart(float(table.returns[before].mean()), float(table.returns[after].mean()))
        good, bad = wish.format(float(wish.values[before].mean()), float(wish.values[after].mean()))
        turn = table.listed[rows[parting.turn]]
        actors = {table.listed[row].actor for row in rows.tolist()}
        counted = "; each actor's episodes are counted from its own first" if len(actors) > 1 else ""
        as_well = f" The same happens in {format_runs(others)}." if others else ""
        witness = (
            before[wish.sign * (wish.values[before] - wish.values[before].mean()) >= 0][-1],
            after[wish.sign * (wish.values[after] - wish.values[after].mean()) <= 0][-1],
        )
        return context.finding(
            "total",
            f"from about episode {table.name(rows[parting.turn])} (record {turn.first_record}) on, the mean return "
            f"rises from {low} to {high} while {wish.name} {'falls' if wish.sign > 0 else 'rises'} from {good} to "
            f"{bad} ({format_count(len(before), 'complete episode')} from {table.name(before[0])} to "
            f"{table.name(before[-1])}, compared with the last {len(after):,}{counted}).{as_well}",
            "Compare an episode from before with one from after (plaudit ledger why) to see what now pays instead. "
            "Change "
            "the reward before you train further.",
            witness=(
                context.step(table.listed[witness[0]].last_record, "before: last step of an episode"),
                context.step(table.listed[witness[1]].last_record, "after: last step of an episode"),
            ),
        )

    @history_rule(
        "goal-earned-less", severity="warning", why="Episodes that reach the goal earn less than those that do not."
    )
    def find_worthless_goal(self, context: AuditContext) -> Iterator[Finding]:
        """Find that episodes that reach the goal rank below those that do not, by more than chance would have it."""
        reached = self.reached
        if reached is None:
            context.skip("no goal is declared")
        if not context.has_episodes() or reached is None:
            return
        rows = np.flatnonzero(context.table.whole)
        done = reached[rows]
        one, other = int(done.sum()), int((~done).sum())
        if min(one, other) < max(1, context.thresholds.min_episodes // 4):
            few = "reach" if one < other else "miss"
            context.skip(f"too few episodes {few} the goal to compare: {min(one, other)}")
            return
        returns = context.table.returns[rows]
        ranks = compute_ranks(returns)
        surplus = ranks[done].sum() - one * (len(rows) + 1) / 2  # Mann and Whitney
        error = float(np.sqrt(one * other * (len(rows) + 1) / 12))
        if surplus > -context.thresholds.fall * error or returns[done].mean() >= returns[~done].mean():
            return
        best = int(rows[~done][returns[~done].argmax()])
        typical = int(rows[done][np.argsort(returns[done])[one // 2]])
        yield context.finding(
            "total",
            f"{one:,} episodes reach the goal and earn {format_number(returns[done].mean())} on average; {other:,} do "
            f"not and earn {format_number(returns[~done].mean())}, up to {format_number(returns[~done].max())} "
            f"({context.table.name(best)}).",
            "Make the goal pay more than an episode without it can earn, or make steps without it cost something.",
            witness=(
                context.step(context.table.listed[best].last_record, "last step of the best episode without the goal"),
                context.step(context.table.listed[typical].last_record, "last step of a typical episode with it"),
            ),
        )
