"""Steps that were played or recorded, as columns, to check the witnesses of findings against."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plaudit.checks.model import RewardModel, find_state_fields
from plaudit.checks.solver.ranges import NumericRow, list_choices, strip_step_end, value_at_rest
from plaudit.errors import DefinitionError
from plaudit.language.field import Field
from plaudit.reward.task.bound import TaskField

Column: TypeAlias = NDArray[Any]
Numbers: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]

KEPT = 3
"""For how many consecutive steps a state must stay as it is to count as kept."""
STILL = 0.01
"""How far a number that is kept may move, as a share of its range."""
DRIFT = 0.001
"""How far it may have moved after these steps if every one of them goes the same way."""
FINE = 0.02
"""Rows that differ by less than this share of each range are told once."""
FEWEST = 50
"""This many steps must have been paid better, and as many worse, to compare the two."""
SURE = 5.0
"""By how many standard errors two means must differ to differ."""
MOST_ROWS = 2000
"""The most rows that are listed."""


@dataclass(frozen=True)
class PaidHalf:
    """What a field was, or how it changed, on average in the better paid steps, or in the others."""

    mean: float
    row: NumericRow
    """One of the steps."""
    note: str
    spread: float
    """The standard deviation over all of them."""
    change: bool
    """Whether it is how the field changed in a step."""


@dataclass(frozen=True)
class SeenSteps:
    """Steps that happened, a row each; rows of an episode stand together, in order.

    `plaudit.analysis.observe` makes them of an environment, a ledger or a file, and `check` takes them as `steps=`.
    """

    before: Mapping[str, Column]
    """Fields before the step: float64, bool or str; a vector is (rows, …)."""
    after: Mapping[str, Column]
    """Fields after the step, actions among them."""
    episode: NDArray[np.int64]
    terminated: Mask
    truncated: Mask
    source: str = ""
    """Such as "CartPole-v1, 10,000 steps of 412 episodes, seed 0"."""
    unknown_first: frozenset[str] = frozenset()
    """Fields that are only known after a step: in the first row of an episode what they were before is not known."""
    actions: Column | None = None
    """The actions as played: (rows,) or (rows, k)."""
    paid: Numbers | None = None
    """What the environment itself paid, which rewards read as `original_reward`."""
    _kept: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not len(self.episode):
            raise DefinitionError("there are no steps in steps=; play or record some.")

    def __len__(self) -> int:
        return len(self.episode)

    @cached_property
    def first(self) -> Mask:
        """Rows that begin an episode."""
        return np.concatenate(([True], self.episode[1:] != self.episode[:-1]))

    @cached_property
    def episodes(self) -> int:
        """How many episodes there are."""
        return int(self.first.sum())

    @cached_property
    def distinct_actions(self) -> NDArray[np.int64] | None:
        """A number for the action of each row, the same where the action is; None where actions are not known."""
        if self.actions is None:
            return None
        rows = self.actions.reshape(len(self), -1)
        return np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)

    def make_mask(self, flags: Iterable[bool]) -> Mask:
        """Return a flag for each row as an array."""
        return np.fromiter(flags, bool, len(self))

    def read_row(self, model: RewardModel, at: int) -> NumericRow:
        """Return one step as a row of a reward's inputs, as far as these are known."""
        found = {name: self.find_column(name, declared) for name, declared in model.fields.items()}
        return {name: float(each[0][at]) for name, each in found.items() if each is not None and each[1][at]}

    def count_episodes(self, rows: Mask) -> int:
        """Return in how many episodes one of `rows` is."""
        return len(np.unique(self.episode[rows]))

    def find_column(self, name: str, declared: Field) -> tuple[Numbers, Mask] | None:
        """Return an input as the checker computes with it, and the rows in which it is known; None where it is not."""
        key = "column", name, declared.kind, declared.labels
        if key not in self._kept:
            self._kept[key] = self._read_column(name, declared)
        found: tuple[Numbers, Mask] | None = self._kept[key]
        return found

    def _read_column(self, name: str, declared: Field) -> tuple[Numbers, Mask] | None:
        every = np.ones(len(self), bool)
        if name in ("terminal", "terminated", "truncated"):
            return (self.truncated if name == "truncated" else self.terminated).astype(np.float64), every
        if name == "original_reward" and self.paid is not None:
            return self.paid, ~np.isnan(self.paid)
        end, _, _ = name.rpartition(".")
        table = self.before if end == "prev" else self.after
        whole = table.get(declared.name)
        if whole is None:
            return None
        if declared.shape:
            entry = strip_step_end(name).removeprefix(declared.name)
            flat = whole.reshape(len(self), -1)
            if entry not in declared.entries or flat.shape[1] != len(declared.entries):
                return None
            whole = flat[:, declared.entries.index(entry)]
        if whole.ndim > 1 or (whole.dtype.kind in "US") != (declared.kind == "category"):
            return None
        known = ~self.first if end == "prev" and declared.name in self.unknown_first else every
        if declared.kind != "category":
            return whole.astype(np.float64), known
        codes = np.full(len(self), np.nan)
        for code, label in enumerate(declared.labels):
            codes[whole == label] = code
        return codes, known

    def find_width(self, name: str, declared: Field) -> float:
        """Return the range of an input: as declared or as seen, whichever is smaller; 0 where it is not a number."""
        key = "width", strip_step_end(name), declared
        if key not in self._kept:
            self._kept[key] = self._measure_width(strip_step_end(name), declared)
        width: float = self._kept[key]
        return width

    def _measure_width(self, name: str, declared: Field) -> float:
        found = self.find_column(name, declared)
        if found is None or declared.kind != "number":
            return 0.0
        values = found[0][np.isfinite(found[0])]
        seen = float(np.ptp(values)) if values.size else 0.0
        low, high = (min(each), max(each)) if (each := list_choices(declared)) else (declared.low, declared.high)
        return seen if low is None or high is None else min(seen, high - low)

    def find_largest_change(self, declared: Field) -> float | None:
        """Return how far a field has moved in a step at most; None where it is not known before and after steps."""
        before, after = self.before.get(declared.name), self.after.get(declared.name)
        if declared.kind != "number" or before is None or after is None or before.ndim > 1:
            return None
        known = ~self.first if declared.name in self.unknown_first else slice(None)
        moves = np.abs(after.astype(np.float64) - before.astype(np.float64))[known]
        return float(np.nanmax(moves)) if np.isfinite(moves).any() else None

    def list_rows(self, model: RewardModel, *, most: int = MOST_ROWS) -> list[NumericRow]:
        """Return steps as rows of a reward's inputs, as far as these are known; of more than `most`, every second, ….

        A row of which something is not known, since the episode only begins with it, is left out.
        """
        return self._list_distinct(model, np.ones(len(self), bool), most)

    def list_kept_rows(self, model: RewardModel, *, most: int = MOST_ROWS) -> list[NumericRow]:
        """Return rows of states that were kept for three steps and more, each told once: steps that change nothing.

        What moved by less than counts is told as if it had not. What only rises or falls, such as fuel, need not be
        kept, unless the reward reads how it changes: then the step must have left it as it was.
        """
        kept = self.find_kept(list_lasting_fields(model))
        later = np.concatenate(([False], kept[:-1]))  # the first step that kept it
        both_ends = {prev: after for prev, after in model.step_ends() if model.fields[prev].name in self.before}
        for prev, after in both_ends.items():
            ends = [self.find_column(name, model.fields[name]) for name in (prev, after)]
            if model.fields[prev].monotone is not None and ends[0] is not None and ends[1] is not None:
                later &= ends[0][0] == ends[1][0]
        rows = self._list_distinct(model, later, most)
        return [{**row, **{prev: row[after] for prev, after in both_ends.items() if after in row}} for row in rows]

    def score_rows(self, model: RewardModel) -> Numbers | None:
        """Return what a reward makes of each step, NaN where it cannot be scored; None where it carries states."""
        if model.program.states:
            return None
        columns: dict[str, Any] = {}
        known = np.ones(len(self), bool)
        for name, declared in model.program.inputs.items():
            found = self.find_column(name, declared)
            values, here = (np.full(len(self), value_at_rest(declared)), known) if found is None else found
            known = known & here & ~np.isnan(values)
            values = np.where(np.isnan(values), 0.0, values)
            columns[name] = values if declared.kind == "number" else values.astype(np.intp if declared.labels else bool)
        compiled = model.reward.compile("numpy", on_bad="mask")
        totals = np.broadcast_to(np.asarray(compiled(columns).total, np.float64), len(self))
        return np.where(known, totals, np.nan)

    def sum_episodes(self, totals: Numbers, *, leave_out: Mask, discount: float) -> dict[int, float]:
        """Return what each episode that time cut off earned, but for those with a row to `leave_out` or no total."""
        last = np.concatenate((self.first[1:], [True]))
        cut = {*self.episode[last & self.truncated].tolist()} - {*self.episode[leave_out | np.isnan(totals)].tolist()}
        found = dict.fromkeys(sorted(cut), 0.0)
        factor = 1.0
        for first, episode, total in zip(self.first.tolist(), self.episode.tolist(), totals.tolist(), strict=True):
            factor = 1.0 if first else factor * discount
            if episode in found:
                found[episode] += factor * total
        return found

    def compare_paid(self, model: RewardModel, wished: TaskField) -> "tuple[PaidHalf, PaidHalf] | None":
        """Return the means of a field in the better-paid steps and in the others; None if they cannot be compared.

        Of a state it is how it changed in the step; of an aim, how far from it.
        """
        totals, found = self.score_rows(model), self.find_column(wished.name, wished)
        if totals is None or found is None or wished.kind == "category":
            return None
        values, known = found
        before = self.before.get(wished.name)
        if wished.aim is not None:
            values = np.abs(values - wished.aim)
        change = wished.kind == "number" and model.role(wished) == "state" and before is not None
        if change and before is not None:
            first = before.astype(np.float64)
            values = values - (first if wished.aim is None else np.abs(first - wished.aim))
            known = known & ~self.first if wished.name in self.unknown_first else known
        known = known & np.isfinite(totals) & np.isfinite(values)
        middle = np.median(totals[known]) if known.any() else 0.0
        halves = [known & (totals > middle), known & (totals < middle)]
        if min(int(half.sum()) for half in halves) < FEWEST:
            halves = [known & (totals >= middle), known & (totals < middle)]
        if min(int(half.sum()) for half in halves) < FEWEST:
            return None
        spread = float(values[known].std())
        means = [float(values[half].mean()) for half in halves]
        error = spread * math.sqrt(sum(1 / int(half.sum()) for half in halves))
        if abs(means[0] - means[1]) < SURE * error:
            return None
        rows = [self.read_row(model, int(np.flatnonzero(half)[0])) for half in halves]
        best, worst = (
            PaidHalf(mean, row, note, spread, change)
            for mean, row, note in zip(means, rows, ("better paid", "worse paid"), strict=True)
        )
        return best, worst

    def find_kept(self, fields: Mapping[str, Field]) -> Mask:
        """Return the rows after which fields stayed as they are for three steps and more; none without fields."""
        key = "kept", tuple(fields)
        if key not in self._kept:
            kept = self.goes_on(KEPT) if fields else np.zeros(len(self), bool)
            for name, declared in fields.items():
                kept = kept & self._find_still(name, declared)
            self._kept[key] = kept
        found: Mask = self._kept[key]
        return found

    def _find_still(self, name: str, declared: Field) -> Mask:
        found = self.find_column(name, declared)
        if found is None:
            return np.zeros(len(self), bool)
        values, width = found[0], self.find_width(name, declared)
        later = [np.roll(values, -at) for at in range(KEPT + 1)]
        moves = [one - other for one, other in zip(later[1:], later, strict=False)]
        near = np.all([np.abs(each - values) <= STILL * width for each in later], axis=0)
        one_way = np.all([each > 0 for each in moves], axis=0) | np.all([each < 0 for each in moves], axis=0)
        return np.asarray(near & ~(one_way & (np.abs(later[-1] - values) > DRIFT * width)))

    def goes_on(self, steps: int) -> Mask:
        """Return the rows after which the episode has at least as many steps."""
        later = np.full(len(self), -1, np.int64)
        if steps < len(self):
            later[:-steps] = self.episode[steps:]
        return np.asarray(later == self.episode)

    def _list_distinct(self, model: RewardModel, chosen: Mask, most: int) -> list[NumericRow]:
        """Return some rows without those that are nearly the same as an earlier one."""
        inputs = {**model.reward._bound.goal_program.inputs, **model.fields}
        columns: dict[str, Numbers] = {}
        for name, declared in inputs.items():
            if declared.name not in model.reward.states and (found := self.find_column(name, declared)) is not None:
                columns[name] = found[0]
                chosen = chosen & found[1] & ~np.isnan(found[0])
        rows = np.flatnonzero(chosen)
        if not columns or not rows.size:
            return []
        cells = []
        for name, values in columns.items():
            step = FINE * self.find_width(name, inputs[name])
            cells.append(np.floor(values[rows] / step) if step > 0 and math.isfinite(step) else values[rows])
        places = np.unique(np.stack(cells, 1), axis=0, return_index=True)[1]
        rows = rows[np.sort(places)]
        rows = rows[:: max(1, math.ceil(len(rows) / most))]
        lists = {name: values[rows].tolist() for name, values in columns.items()}
        return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]


def list_lasting_fields(model: RewardModel) -> dict[str, Field]:
    """Return the fields that a state must keep to be stayed in: all of it but what only rises or falls.

    What a reward carries from step to step itself is not part of what happens.
    """
    fields = find_state_fields(model)
    return {n: each for n, each in fields.items() if each.monotone is None and each.name not in model.reward.states}
