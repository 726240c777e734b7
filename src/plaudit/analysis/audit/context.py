"""What every detector of an audit is given: the reward, its episodes, the thresholds, and how to tell what it found."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import floor, log10
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from plaudit.analysis.audit.episodes import EpisodeTable
from plaudit.analysis.audit.steps import FlagProgram, StepBatch
from plaudit.analysis.audit.thresholds import Thresholds
from plaudit.checks.finding import Finding, Severity, Step
from plaudit.checks.history_rules import HISTORY_RULES
from plaudit.checks.model import RewardModel
from plaudit.language.field import Field
from plaudit.language.intervals import bound_nodes
from plaudit.language.reading.source import SourceLine
from plaudit.ledger.ledger import Ledger
from plaudit.ledger.summary.returns import name_episode
from plaudit.reward.reward import Reward


@dataclass
class AuditContext:
    """A reward and its history, as detectors see them."""

    ledger: Ledger
    model: RewardModel
    table: EpisodeTable
    thresholds: Thresholds
    recorded: frozenset[str]
    """The inputs that every step has."""
    steps: int = 0
    """How many steps were read."""
    skipped: dict[str, str] = field(default_factory=dict)
    """Codes that nothing can be said about, and why."""
    remarks: list[str] = field(default_factory=list)
    """What else is to be said of what was not looked at."""

    def __post_init__(self) -> None:
        """Choose the late episodes, and find out which terms can pay."""
        self.late: NDArray[np.bool_] = self.table.choose_late(self.thresholds.late)
        program = self.model.program
        spans = bound_nodes(program)
        self.can_pay = frozenset(term for term in program.terms if spans[program.outputs[f"{term}.value"]].high > 0)
        """The terms that are above 0 somewhere in the declared ranges."""

    @property
    def reward(self) -> Reward:
        """The reward that is audited."""
        return self.model.reward

    @property
    def terms(self) -> tuple[str, ...]:
        """The terms, then the adjustments of the total, as records have them."""
        return self.reward.program.terms

    def has_steps(self, *codes: str) -> bool:
        """Return whether there are steps enough; say of these codes that there are not."""
        least = self.thresholds.min_steps
        if self.steps < least:
            self.skip(f"{least:,} steps are needed, and there are {self.steps:,}", *codes)
        return self.steps >= least

    def has_episodes(self, *codes: str, least: int | None = None) -> bool:
        """Return whether there are whole episodes enough; say of these codes that there are not."""
        wanted = self.thresholds.min_episodes if least is None else least
        count = int(self.table.whole.sum())
        if not len(self.table):
            self.skip("no record belongs to an episode", *codes)
        elif count < wanted:
            noun = "episode is" if wanted == 1 else "episodes are"
            self.skip(f"{wanted:,} whole {noun} needed, and there are {count:,}", *codes)
        return len(self.table) > 0 and count >= wanted

    def skip(self, why: str, *codes: str) -> None:
        """Say of codes why nothing can be said about them."""
        for code in codes:
            self.skipped.setdefault(code, why)

    def finding(
        self,
        code: str,
        term: str,
        message: str,
        advice: str,
        *,
        witness: Iterable[Step] = (),
        severity: Severity | None = None,
        place: SourceLine | None = None,
    ) -> Finding:
        """Return a finding, as grave as its rule says and where the term stands unless told otherwise."""
        return Finding(
            code=code,
            severity=severity or HISTORY_RULES[code].severity,
            term=term,
            message=message,
            advice=advice,
            witness=tuple(witness),
            place=place or self.model.locate(term),
        )

    def step(self, number: int, note: str = "") -> Step:
        """Return a record as a row of a witness: `plaudit ledger why` opens it by its number."""
        record = self.ledger[int(number)]
        episode = name_episode((record.run, record.actor, record.episode))
        place = ", ".join(part for part in (episode, "" if record.step is None else f"step {record.step}") if part)
        named = f"record {number}{f' ({place})' if place else ''}"
        told = f"{named}: {note}" if note else named
        return Step(dict(record.signal.inputs), record.total, told, record=record.id)

    def format_share(self, count: int) -> str:
        """Return how many steps these are, and of how many: `312 of 10,000 steps (3.1 %)`."""
        return f"{count:,} of {self.steps:,} steps ({format_percent(count / max(self.steps, 1))})"


class Detector(Protocol):
    """Looks at every step once, then says what it found."""

    @property
    def codes(self) -> tuple[str, ...]:
        """The rules whose findings it yields."""

    def add(self, batch: StepBatch) -> None:
        """Take the steps of a batch in."""

    def find(self, context: AuditContext) -> Iterator[Finding]:
        """Yield what was found, after the last batch."""


def format_percent(share: float) -> str:
    """Return a share for people: what is not 0, or not all of it, does not look so.

    >>> format_percent(0.9512), format_percent(0.00025), format_percent(0.999975), format_percent(1.0)
    ('95.1 %', '0.025 %', '>99.9 %', '100.0 %')
    """
    percent = round(100 * share, 9)
    if 99.95 <= percent < 100:
        return ">99.9 %"
    if not 0 < percent < 0.1:
        return f"{percent:.1f} %"
    return f"{percent:.{1 - floor(log10(percent))}f}".rstrip("0") + " %"


def compile_goal(context: AuditContext) -> FlagProgram | None:
    """Return what tells of each step whether the goal is reached, as the flag "goal"; None where that is not known."""
    program = context.reward._goal_program
    if not program.outputs or not context.recorded >= program.inputs.keys():
        return None
    return FlagProgram(program, {"goal": next(iter(program.outputs.values()))})


def find_input(field: Field, recorded: Iterable[str]) -> list[str]:
    """Return the recorded inputs that are a field after the step, an entry of a vector by itself."""
    names = [f"{field.name}{entry}" for entry in field.entries or ("",)]
    known = set(recorded)
    return [name for plain in names for name in (f"curr.{plain}", plain) if name in known]
