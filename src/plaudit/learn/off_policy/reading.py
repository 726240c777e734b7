"""Decisions out of a ledger: whole blocks at a time, no object for each record."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from plaudit.checks.ask import Solver
from plaudit.checks.bounds import Ranges
from plaudit.checks.subject import Subject
from plaudit.errors import DefinitionError, NotEvaluable, did_you_mean
from plaudit.learn.off_policy.columns import Columns
from plaudit.learn.off_policy.evaluation import Source
from plaudit.learn.off_policy.log import LoggedDecisions
from plaudit.learn.off_policy.totals import Scorer
from plaudit.ledger.places.schema import scopes
from plaudit.reward.reward import Reward

if TYPE_CHECKING:
    from plaudit.ledger.store import Ledger

_TOGETHER = 16_384
"""Records to take in together."""
_SECONDS = 3.0
"""How long to look for a tighter bound of a reward."""


@dataclass(frozen=True)
class Reading:
    """The decisions that were read, and what there is to know about their records."""

    decisions: LoggedDecisions
    source: Source
    reward: Reward

    def range(self) -> tuple[float, float]:
        """Return the lowest and highest reward that there can be, proven from the reward's definition."""
        if self.source.credits:
            raise DefinitionError(
                "interval='anytime' needs the range of rewards, and decisions were credited more than once, which no "
                "reward's definition bounds: give reward_range=(lowest, highest)."
            )
        total = Ranges(Subject(self.reward), Solver(_SECONDS), facts=False).span("total")
        if not (math.isfinite(total.low) and math.isfinite(total.high)):
            raise DefinitionError(
                f"interval='anytime' needs the range of rewards, and {self.source.reward} has none: its totals lie "
                f"between {total.low:g} and {total.high:g}. Give reward_range=(lowest, highest), or declare the ranges "
                "of its fields."
            )
        return total.low, total.high


def read_decisions(
    ledger: "Ledger",
    *,
    decision_class: str,
    reward: Reward | None = None,
    on_bad: str = "raise",
    progress: Callable[[int, int], None] | None = None,
    **choice: Any,
) -> Reading:
    """Return the decisions of a class, chosen as for `Ledger.history`, with their rewards as recorded or by `reward`.

    A record holds its decision as `context["decision"]`. One with `context["again"]` is an extra credit: it adds to the
    reward of the decision that it names, by its id (within a run) or else its number or step (within an episode), or
    to the last one of its episode.
    """
    if on_bad not in ("raise", "mask"):
        raise DefinitionError(f"on_bad={on_bad!r} must be 'raise' or 'mask'.")
    history = ledger.history(decision_class=decision_class, **choice)
    total = history.count() if progress is not None else 0
    columns = Columns(Scorer(ledger.shelf, reward))
    done = 0
    for pages in history.gathered(_TOGETHER):
        done += columns.take(pages)
        if progress is not None:
            progress(min(done, total), total)
    if not done:
        raise NotEvaluable(f"{ledger.place.name} has no record{history.choice.told()}.{_near(ledger, decision_class)}")
    _check_rewards(columns.scorer, reward)
    used = reward or next(iter(columns.scorer.recorded)).reward
    label = f"{used.name}@{used.version}"
    found = columns.finished(label, on_bad=on_bad)
    source = Source(
        decision_class=decision_class,
        reward=label,
        rescored=reward is not None,
        credits=len(columns.credits),
        unmatched=found.unmatched,
        unpaid=columns.unpaid,
        blocked=columns.blocked,
        refused=found.refused,
        lacking=found.lacking,
    )
    return Reading(found.log, source, used)


def _check_rewards(scorer: Scorer, reward: Reward | None) -> None:
    """Refuse records of several rewards, whose numbers do not compare."""
    counts: dict[str, int] = {}
    for shape, count in scorer.recorded.items():
        label = f"{shape.reward.name}@{shape.reward.version}"
        counts[label] = counts.get(label, 0) + count
    if reward is None and len(counts) > 1:
        listed = ", ".join(f"{count:,} of {label}" for label, count in counts.items())
        raise NotEvaluable(
            f"the records are of different rewards ({listed}), whose numbers do not compare. Give a reward, and all of "
            "them are scored by it; or choose a run or a time in which there was one."
        )


def _near(ledger: "Ledger", decision_class: str) -> str:
    with ledger.place.reading() as connection:
        known = {row.decision_class for row in connection.execute(scopes.select())} - {None}
    if decision_class in known:
        return ""
    listed = f" There are: {', '.join(sorted(known))}." if known else " No record names the class of its decision."
    return did_you_mean(decision_class, known) + listed
