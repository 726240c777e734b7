"""What every detector of an audit gets: the reward, its episodes, the thresholds, and how to report a finding."""

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from math import floor, log10
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from plaudit.analysis.audit.episodes import EpisodeTable
from plaudit.analysis.audit.steps import FlagProgram, StepBatch
from plaudit.checks.finding import Finding, Severity, Step
from plaudit.checks.model import RewardModel
from plaudit.checks.rules.registry import Rule, collect_rules, rule
from plaudit.errors import DefinitionError, did_you_mean
from plaudit.language.field import Field, validate_number
from plaudit.language.intervals import bound_nodes
from plaudit.language.reading.source import SourceLine
from plaudit.ledger.ledger import Ledger
from plaudit.ledger.summary.returns import name_episode
from plaudit.reward.reward import Reward


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """Set when an audit reports a finding.

    >>> Thresholds().with_values({"one_term": 0.9}).one_term
    0.9
    """

    min_steps: int = 1000
    """Minimum steps for findings about shares of steps."""
    min_episodes: int = 20
    """Minimum complete episodes for findings about returns."""
    late: float = 0.2
    """The last share of each run's episodes, which show what the agent learned rather than its exploration."""
    habit: float = 0.2
    """The share of late episodes that must show a behavior."""
    laps: int = 5
    """Minimum times that an episode goes around a cycle."""
    stay: int = 10
    """Minimum steps in one state that count as a stay."""
    spent: float = 0.5
    """The share of an episode's steps, and of its return, that cycles or stays must account for."""
    one_term: float = 0.95
    """The share of all pay that one term may account for."""
    length: float = 0.98
    """The share of the variance of returns that episode length may explain."""
    action: float = 0.95
    """The share of an episode's steps that one action may have."""
    clamp: float = 0.99
    """The share of steps in which a clamp may bind."""
    drowned: float = 0.01
    """A term counts in a step if it is at least this share of the sum of all terms' sizes."""
    redundant: float = 0.99
    """The correlation at which two terms are redundant."""
    spike: float = 32.0
    """The largest payment of a term, as a multiple of the 99.9th percentile of its size."""
    chance: float = 0.005
    """The false alarm rate of parted-from-goal, per audit."""
    fall: float = 3.0
    """How many standard errors a difference must be."""

    def with_values(self, given: Mapping[str, object]) -> Self:
        """Return a copy with other values.

        Args:
            given: New values by threshold name.

        Returns:
            The new thresholds.

        Raises:
            DefinitionError: A name is unknown or a value is out of range.
        """
        known = {each.name: each.type for each in fields(self)}
        numbers: dict[str, float] = {}
        for name, value in given.items():
            if name not in known:
                near = did_you_mean(name, known)
                raise DefinitionError(f"there is no threshold {name!r}.{near} Available: {', '.join(known)}.")
            number = validate_number(name, value)
            whole = isinstance(getattr(self, name), int)
            share = not whole and getattr(self, name) <= 1
            if number <= 0 or (share and number > 1) or (whole and not number.is_integer()):
                wanted = "an integer of at least 1" if whole else "above 0 and at most 1" if share else "above 0"
                raise DefinitionError(f"the threshold {name}={number:g} must be {wanted}.")
            numbers[name] = int(number) if whole else number
        return replace(self, **numbers)  # type: ignore[arg-type]


@dataclass
class AuditContext:
    """A reward and its history, as detectors get them."""

    ledger: Ledger
    model: RewardModel
    table: EpisodeTable
    thresholds: Thresholds
    recorded: frozenset[str]
    """The inputs that every step has."""
    steps: int = 0
    """How many steps were read."""
    skipped: dict[str, str] = field(default_factory=dict)
    """Codes of rules that were skipped, and why."""
    remarks: list[str] = field(default_factory=list)
    """Remarks about what was not read."""
    rule: Rule | None = None
    """The rule that is asked, which a finding is of."""

    def __post_init__(self) -> None:
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

    def has_steps(self) -> bool:
        """Return whether there are enough steps; if not, skip the rule."""
        least = self.thresholds.min_steps
        if self.steps < least:
            self.skip(f"at least {least:,} steps are needed; there are {self.steps:,}")
        return self.steps >= least

    def has_episodes(self, *, least: int | None = None) -> bool:
        """Return whether there are enough complete episodes; if not, skip the rule."""
        wanted = self.thresholds.min_episodes if least is None else least
        count = int(self.table.whole.sum())
        if not len(self.table):
            self.skip("no record belongs to an episode")
        elif count < wanted:
            noun = "episode is" if wanted == 1 else "episodes are"
            self.skip(f"at least {wanted:,} complete {noun} needed; there are {count:,}")
        return len(self.table) > 0 and count >= wanted

    def skip(self, why: str, *codes: str) -> None:
        """Skip rules, by default the current one, and keep the reason."""
        for code in codes or ([self.rule.code] if self.rule is not None else []):
            self.skipped.setdefault(code, why)

    def finding(
        self,
        term: str,
        message: str,
        advice: str,
        *,
        witness: Iterable[Step] = (),
        severity: Severity | None = None,
        place: SourceLine | None = None,
    ) -> Finding:
        """Return a finding of the current rule; its severity and place default to those of the rule and the term."""
        assert self.rule is not None, "a finding is of a rule"
        return Finding(
            code=self.rule.code,
            severity=severity or self.rule.severity,
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
        """Return a count as a share of all steps: `312 of 10,000 steps (3.1 %)`."""
        return f"{count:,} of {self.steps:,} steps ({format_percent(count / max(self.steps, 1))})"


class Detector:
    """Looks at every step once; the rules of its module are then asked what it saw."""

    @property
    def rules(self) -> Collection[Rule]:
        """The rules that it answers for."""
        return collect_rules(sys.modules[type(self).__module__]).values()

    @property
    def codes(self) -> list[str]:
        """What fails with it."""
        return [each.code for each in self.rules]

    def add(self, batch: StepBatch) -> None:
        """Add the steps of a batch."""


_Find = TypeVar("_Find", bound=Callable[[Any, AuditContext], Iterator[Finding]])


def history_rule(code: str, *, severity: Severity, why: str) -> Callable[[_Find], _Find]:
    """Make a rule of a function of a detector and the context, which is asked after the last batch."""
    return rule(code, severity=severity, why=why, needs="history")


def format_percent(share: float) -> str:
    """Format a share as a percentage that rounds to 0 or 100 only if it is exactly that.

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
    """Return a program that computes the flag "goal" of each step; None if its inputs are not recorded."""
    program = context.reward._bound.goal_program
    if not program.outputs or not context.recorded >= program.inputs.keys():
        return None
    return FlagProgram(program, {"goal": next(iter(program.outputs.values()))})


def find_input(field: Field, recorded: Iterable[str]) -> list[str]:
    """Return the recorded inputs that are a field after the step; each entry of a vector is an input of its own."""
    names = [f"{field.name}{entry}" for entry in field.entries or ("",)]
    known = set(recorded)
    return [name for plain in names for name in (f"curr.{plain}", plain) if name in known]
