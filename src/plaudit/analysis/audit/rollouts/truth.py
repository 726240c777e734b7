"""What is known about whether an answer is right: the goal of the reward, or flags that say so."""

import re
from dataclasses import dataclass

import numpy as np

from plaudit.analysis.audit.context import AuditContext
from plaudit.analysis.audit.rollouts.table import RolloutHistory, RolloutTable
from plaudit.analysis.audit.steps import Numbers, Positions

UNKNOWN = (
    "what says whether an answer is right is not known: declare a goal, give its term kind='goal', or name a flag "
    "'right' or 'correct'"
)
EARLY = 0.3
"""The first share of a run, which late rollouts are compared with."""
LEAST_SIDE = 6
"""Early and late groups, at least."""
LEAST_GROUPS = 3 * LEAST_SIDE
"""Groups of a run, at least."""
LEAST_PAIRED = 10
"""Prompts that must come back to be compared with themselves."""
_WORDS = re.compile(
    r"(^|_)(right|correct|correctness|solved|passed|passes|success|succeeded|accurate|accuracy|exact|match|matches|"
    r"true|truth|verified)(_|$)"
)


@dataclass(frozen=True, eq=False)
class Truth:
    """Whether each rollout is right."""

    name: str
    values: Numbers
    """1 where it is, 0 where it is not."""
    inputs: frozenset[str]
    """The inputs that say so; terms that read none of them pay for something else."""


def find_truth(history: RolloutHistory, context: AuditContext) -> Truth | None:
    """Return whether rollouts are right: by the task's goal, the inputs of terms for the goal, or flags named so."""
    table, reward = history.table, context.reward
    if table is None:
        return None
    if history.goal is not None:
        read = frozenset(reward._bound.goal_program.inputs)
        return Truth("the goal", history.goal.astype(np.float64), read)
    flags = [name for name, column in table.inputs.items() if _is_flag(column) and name not in table.judges]
    wanted = {name for term in reward.terms if term.kind == "goal" for name in term.reads}
    named = [name for name in flags if name in wanted] or [name for name in flags if _WORDS.search(name)]
    if not named:
        return None
    values = np.all([table.inputs[name] == 1 for name in named], axis=0).astype(np.float64)
    return Truth(" and ".join(map(repr, named)), values, frozenset(named))


def _is_flag(column: Numbers) -> bool:
    return bool(np.isin(column, (0.0, 1.0)).all())


def split_stretches(table: RolloutTable, run: int, late: float) -> tuple[Positions, Positions] | None:
    """Return which groups of a run are early, and which are late; None where there are too few."""
    ours = np.unique(table.groups[table.runs == run])
    if len(ours) < LEAST_GROUPS:
        return None
    ours = ours[np.argsort(table.group_progress[ours], kind="stable")]
    first, last = (max(LEAST_SIDE, round(share * len(ours))) for share in (EARLY, late))
    return ours[:first], ours[-last:]


@dataclass(frozen=True)
class Change:
    """How a mean differs between early and late groups."""

    before: float
    after: float
    error: float

    @property
    def difference(self) -> float:
        """The late mean less the early one."""
        return self.after - self.before

    @property
    def errors(self) -> float:
        """The difference in standard errors."""
        return self.difference / self.error if self.error else float(np.sign(self.difference)) * np.inf

    @property
    def most(self) -> float:
        """What the mean has not risen by more than: the upper end of its 95 % interval."""
        return self.difference + 1.645 * self.error


def measure_change(table: RolloutTable, column: Numbers, early: Positions, late: Positions) -> Change:
    """Return how the means of groups changed; groups, not completions, are independent.

    Prompts differ in how hard they are: where enough of them come back, each is compared with itself.
    """
    means = table.average(column)
    before, after = means[early], means[late]
    error = np.hypot(before.std(ddof=1) / len(before) ** 0.5, after.std(ddof=1) / len(after) ** 0.5)
    whole = Change(float(before.mean()), float(after.mean()), float(error))
    first, second = (_average_by(table.group_prompts[each], means[each]) for each in (early, late))
    both = sorted(first.keys() & second.keys())
    if len(both) < LEAST_PAIRED:
        return whole
    one, other = (np.array([each[prompt] for prompt in both]) for each in (first, second))
    error = (other - one).std(ddof=1) / len(both) ** 0.5
    return Change(float(one.mean()), float(other.mean()), float(error)) if error < whole.error else whole


def _average_by(keys: Positions, column: Numbers) -> dict[int, float]:
    names, codes = np.unique(keys, return_inverse=True)
    return dict(zip(names.tolist(), (np.bincount(codes, column) / np.bincount(codes)).tolist(), strict=True))
