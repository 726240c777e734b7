"""Columns that grow by pages of a ledger: actions, probabilities, features and rewards of recorded decisions."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plaudit.errors import MissingField, NotEvaluable, ShapeMismatch
from plaudit.learn.off_policy.credits import Credit, Known, added
from plaudit.learn.off_policy.log import LoggedDecisions
from plaudit.learn.off_policy.records import Records, read
from plaudit.learn.off_policy.totals import Scorer, Totals
from plaudit.ledger.history import Page
from plaudit.ledger.wording import counted

Numbers = NDArray[np.float64]
Codes = NDArray[np.intp]
Flags = NDArray[np.bool_]


class Batch(NamedTuple):
    """Columns of some decisions, in order."""

    chosen: Codes
    probabilities: Numbers
    """NaN where a decision has none."""
    features: Numbers
    episodes: Codes
    """-1 where a record names no episode."""
    rewards: Numbers
    """NaN where the other reward gives none."""
    lacking: Flags
    """Whether that is for want of an input."""

    def at(self, where: Flags) -> "Batch":
        """Return the columns of some of the decisions."""
        return Batch(*(column[where] for column in self))  # type: ignore[arg-type]  # each stays what it is


class Numbering(dict[Any, int]):
    """Numbers what it is asked for, in order of appearance."""

    def __missing__(self, key: Any) -> int:
        self[key] = number = len(self)
        return number


@dataclass(eq=False)
class Columns:
    """What was read so far."""

    scorer: Scorer
    batches: list[Batch] = field(default_factory=list)
    actions: Numbering = field(default_factory=Numbering)
    episodes: Numbering = field(default_factory=Numbering)
    known: list[Known] = field(default_factory=list)
    credits: list[Credit] = field(default_factory=list)
    widths: dict[int, int] = field(default_factory=dict)
    """On how many features decisions were made, and the first record of which that is true."""
    decisions: int = 0
    unpaid: int = 0
    blocked: int = 0

    def take(self, pages: Sequence[Page]) -> int:
        """Take in the chosen records of some pages, and return how many they are."""
        totals = self.scorer.totals(pages)
        start = 0
        for found in read(pages):
            end = start + found.count
            self._add(found, totals.at(slice(start, end)))
            start = end
        return start

    def _add(self, found: Records, totals: Totals) -> None:
        for extra in found.extras:
            if totals.unpaid[extra.at]:
                self.unpaid += 1
            else:
                self.credits.append(Credit(extra.name, float(totals.rewards[extra.at]), self.decisions + extra.before))
        if not found.actions:
            return
        numbering = self.episodes
        self.known.append(found.known)
        self.blocked += found.blocked
        self.decisions += len(found.kept)
        self.widths.setdefault(found.features.shape[1], int(found.numbers[0]))
        self.batches.append(
            Batch(
                np.array([self.actions[name] for name in found.actions], np.intp),
                found.probabilities,
                found.features,
                np.array([-1 if place[1] is None else numbering[place] for place in found.places], np.intp),
                totals.rewards[found.kept],
                (totals.lacking | totals.unpaid)[found.kept],
            )
        )

    def finished(self, reward: str, *, on_bad: str) -> "Finished":
        """Return the log and what was left out of it; `reward` is what the rewards are called."""
        batch = self._together()
        names = (name for known in self.known for name in known.names())
        unmatched = added(batch.rewards, names, self.credits)
        bad = ~np.isfinite(batch.rewards)
        lacking = int((batch.lacking & bad).sum())
        refused = int(bad.sum()) - lacking
        if (lacking or refused) and (on_bad == "raise" or bad.all()):
            raise self._unscorable(reward, lacking, refused)
        if bad.any():
            batch = batch.at(~bad)
        actions = sorted(self.actions)
        places = np.array([actions.index(name) for name in self.actions], np.intp)
        log = LoggedDecisions(
            tuple(actions),
            places[batch.chosen],
            batch.probabilities,
            batch.rewards,
            batch.features if batch.features.shape[1] else None,
            _units(batch.episodes),
        )
        return Finished(log, unmatched, lacking, refused)

    def _together(self) -> Batch:
        if not self.decisions:
            raise NotEvaluable("the records hold extra credits only (again), and no decision that they belong to.")
        if len(self.widths) > 1:
            told = ", ".join(f"{width} (such as record {record})" for width, record in self.widths.items())
            raise ShapeMismatch(f"decisions were made on different numbers of features: {told}. Choose one kind.")
        return Batch(*map(np.concatenate, zip(*self.batches, strict=True)))

    def _unscorable(self, reward: str, lacking: int, refused: int) -> MissingField | NotEvaluable:
        offer = "Choose other records, or leave them out and have them counted: on_bad='mask'."
        if not lacking:
            what = f"{reward} refuses the inputs of {counted(refused, 'decision')} (outside its ranges)"
            return NotEvaluable(f"{what}, and without a reward there is no estimate. {offer}")
        needed = {name for shape in self.scorer.recorded for name in self.scorer.lacks(shape)}
        what = f"{counted(lacking, 'decision')} were recorded without what {reward} needs: {', '.join(sorted(needed))}."
        return MissingField(f"{what} {offer}")


class Finished(NamedTuple):
    """A log, and how many records are not in it."""

    log: LoggedDecisions
    unmatched: int
    lacking: int
    refused: int


def _units(episodes: Codes) -> Codes | None:
    """Return episodes as a log takes them: None where no record names one, and where some do not, each its own."""
    unnamed = episodes < 0
    if unnamed.all():
        return None
    if unnamed.any():
        episodes = episodes.copy()
        episodes[unnamed] = episodes.max() + 1 + np.arange(unnamed.sum())
    return episodes
