"""What episodes are measured by beside what they earn, and when a difference between two policies is beyond chance."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from plaudit.analysis.compare.comparison import Estimate
from plaudit.analysis.compare.measures import CONFIDENCE
from plaudit.quantiles import t_quantile
from plaudit.reward.reward import Reward
from plaudit.reward.task.bound import TaskField

Numbers = NDArray[np.float64]

NATIVE, GOAL = "native", "goal"
"""The measures that are no field: what the environment itself pays, and whether the goal is reached in an episode."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One way to tell episodes apart, and which way is better."""

    name: str
    kind: Literal["native", "goal", "end", "wish"]
    sign: float = 1.0
    """1 where more is better, -1 where less is."""
    rank: int = 1
    """The goal (2) counts before everything else, and what the agent chooses, such as effort (0), comes last."""
    is_count: bool = False
    """Whether it is counted over an episode; other wishes are the mean of its steps."""
    width: float | None = None
    """How wide the declared range is, of a mean that has one."""

    @property
    def is_share(self) -> bool:
        """Whether it is yes or no in an episode."""
        return self.kind in ("goal", "end")


def list_measures(reward: Reward) -> Iterator[Measure]:
    """Yield every measure of the task of a reward, the most important first."""
    task, bound = reward.task, reward._bound
    if bound.goal is not None:
        yield Measure(GOAL, "goal", rank=2)
    yield Measure(NATIVE, "native")
    wishes = {name: each for name, each in bound.fields.items() if is_wish(each)}
    for name, end in task.ends.items():
        if end.sign in ("good", "bad") and name not in (*wishes, NATIVE, GOAL):
            yield Measure(name, "end", 1.0 if end.sign == "good" else -1.0)
    for name, each in wishes.items():
        chosen = each.role == "action" or name in (reward.action, "action")
        counted = is_counted(each)
        low, high = each.low, each.high
        width = None if counted or low is None or high is None or not math.isfinite(high - low) else high - low
        yield Measure(name, "wish", 1.0 if each.better == "high" else -1.0, 0 if chosen else 1, counted, width)


def is_wish(field: TaskField) -> bool:
    """Return whether a field says what is better."""
    return field.is_wished and not field.shape


def is_counted(field: TaskField) -> bool:
    """Return whether a field is counted over an episode, and not averaged."""
    return field.kind == "flag" or field.role == "event"


# -- beyond chance -----------------------------------------------------------------------------------------------------


def estimate_mean(values: Numbers) -> Estimate:
    """Return the mean over seeds and its interval, by Student's t; none of a single value."""
    mean = float(values.mean())
    if len(values) < 2:
        return Estimate(mean, float("nan"), float("nan"))
    reach = t_quantile(CONFIDENCE, len(values) - 1) * float(values.std(ddof=1)) / len(values) ** 0.5
    return Estimate(mean, mean - reach, mean + reach)


def is_clearly_above(one: Numbers, other: Numbers, *, paired: bool) -> bool:
    """Return whether the mean of some values is above that of others beyond chance.

    `paired` are values of the same seeds (Student's t of the differences); others are compared by Welch's t.
    """
    if paired:
        return bool(estimate_mean(one - other).low > 0.0)
    if min(len(one), len(other)) < 2:
        return False
    parts = [float(each.var(ddof=1)) / len(each) for each in (one, other)]
    error, gain = sum(parts), float(one.mean() - other.mean())
    if error == 0.0:
        return gain > 0.0
    freedom = error**2 / sum(part**2 / (len(each) - 1) for part, each in zip(parts, (one, other), strict=True))
    return bool(gain > t_quantile(CONFIDENCE, max(1, int(freedom))) * error**0.5)


def is_clearly_more_often(one: Numbers, other: Numbers) -> bool:
    """Return whether a flag is set in clearly more of one set of episodes: Fisher's exact test, one-sided, at 5 %.

    >>> is_clearly_more_often(np.ones(4), np.zeros(4)), is_clearly_more_often(np.ones(2), np.zeros(2))
    (True, False)
    """
    size, total, hits = len(one), len(one) + len(other), int(one.sum() + other.sum())
    ways = sum(
        math.comb(size, count) * math.comb(total - size, hits - count)
        for count in range(int(one.sum()), min(size, hits) + 1)
    )
    return ways <= 0.05 * math.comb(total, hits)
