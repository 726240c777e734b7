"""What a rule is, how a function becomes one, and what every rule of `check` is given to work with."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from plaudit.checks.bounds import Ranges, Span
from plaudit.checks.finding import Claim, Finding, Severity, Step, Suppressed, Undecided
from plaudit.checks.grounds import list_grounds
from plaudit.checks.model import Contradiction, Outcomes, RewardModel, find_contradiction
from plaudit.checks.solver.question import Unknown
from plaudit.checks.solver.solver import Solver
from plaudit.language.reading.source import SourceLine
from plaudit.reward.reward import Reward
from plaudit.reward.task.statements import Seen

if TYPE_CHECKING:
    from plaudit.checks.seen_steps import SeenSteps

ROUGH = 40
"""How many boxes are cut where a rough bound will do."""

Found = Iterator[Finding | Undecided]
"""What a rule yields: flaws, and questions that stay open."""
Needs = Literal["reward", "outcomes", "findings", "history"]
"""What a rule needs to run: the reward alone, whole episodes as well, what all other rules found, or recorded steps."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What a finding's code stands for; its page says more."""

    code: str
    severity: Severity
    """What a finding of this rule usually is."""
    why: str
    """Why it matters, in a sentence."""
    find: "Callable[..., Found]"
    """Two rules may share a function; each finding names its rule."""
    needs: Needs = "reward"
    uses: tuple[str, ...] = ()
    """The parts of a task that it goes by: "roles", "goal", "better"; a finding says where they come from."""
    always: bool = False
    """Whether it says what every step does, or what may be scored: what was only seen says neither."""
    claims: Claim | None = "step"
    """What a witness of it says can be done, which steps that happened can show; None where it is about the formula."""

    @property
    def page(self) -> str:
        """Where the documentation says more."""
        return f"docs/reference/{'audit' if self.needs == 'history' else 'check'}-rules/{self.code}.md"


_REGISTERED: dict[str, Rule] = {}

_Find = TypeVar("_Find", bound=Callable[..., Iterator[Any]])
_Known = TypeVar("_Known")


def rule(
    code: str,
    *,
    severity: Severity,
    why: str,
    needs: Needs = "reward",
    uses: tuple[str, ...] = (),
    always: bool = False,
    claims: Claim | None = "step",
) -> Callable[[_Find], _Find]:
    """Make a rule of a function; decorators may be stacked where one function answers for several rules."""

    def register(find: _Find) -> _Find:
        assert code not in _REGISTERED, f"there are two rules {code!r}"
        _REGISTERED[code] = Rule(
            code, severity, why, find, needs, uses, always, None if always or needs != "reward" else claims
        )
        return find

    return register


def collect_rules(*families: ModuleType) -> Mapping[str, Rule]:
    """Return the rules that modules define, by code: family by family, in the order of the file."""
    found = [each for family in families for each in _REGISTERED.values() if each.find.__module__ == family.__name__]
    return MappingProxyType({each.code: each for each in found})


@dataclass(frozen=True)
class CheckContext:
    """A reward, and the means to ask about it; what is expensive to know is kept."""

    model: RewardModel
    solver: Solver
    rule: Rule | None = None
    """The rule that is asked, which a finding is of unless it says otherwise."""
    outcomes: Outcomes = field(default_factory=dict)
    """Whole episodes, for rules that need outcomes."""
    decided: frozenset[str] = frozenset()
    """The rules that ran and left nothing open, for rules that need findings."""
    suppressed: tuple[Suppressed, ...] = ()
    """The findings that the reward allows, for rules that need findings."""
    known: dict[str, Any] = field(default_factory=dict)
    """What one rule found out and another wants to know."""
    steps: "SeenSteps | None" = None
    """Steps that happened, where some were given."""

    @property
    def reward(self) -> Reward:
        """The reward that is checked."""
        return self.model.reward

    def find(self, rule: Rule) -> Found:
        """Return what a rule finds."""
        context = self.forget_seen() if rule.always else self
        return rule.find(replace(context, rule=rule))

    def forget_seen(self) -> "CheckContext":
        """Return this context without ranges and limits of changes that were only seen: play reaches little."""
        model, known = self.recall("without what was seen", self._forget_seen)
        return replace(self, model=model, known=known)

    def _forget_seen(self) -> tuple[RewardModel, dict[str, Any]]:
        task = self.reward.task
        fields = self.reward._bound.fields
        seen = {name for name, each in fields.items() if each.range_basis == "seen" and each.kind == "number"}
        moving: dict[str, Any] = {
            part: {name: each for name, each in getattr(task, part).items() if task.find_basis(part, name) != "seen"}
            for part in ("monotone", "max_change")
        }
        if not seen and all(moving[part] == getattr(task, part) for part in moving):
            return self.model, self.known
        opened = {name: replace(task.fields[name], low=None, high=None, values=None) for name in seen}
        changed = task.evolve(fields=[*{**task.fields, **opened}.values()], **moving)
        return RewardModel(Reward._build(self.reward, task=changed)), {}

    def limit_changes(self) -> "CheckContext | None":
        """Return this context with changes no larger than were seen; None where that is nothing new.

        What teleports and what moves step by step may be paid alike, and only one of them can be done.
        """
        task, limits = self.reward.task, dict[str, float]()
        for name in self.reward._transition if self.steps is not None else ():
            found = self.steps.find_largest_change(self.reward._bound.fields[name]) if self.steps is not None else None
            if found is not None and 0 < found < task.max_change.get(name, math.inf):
                limits[name] = found
        if self.steps is None or not limits:
            return None
        seen = {f"max_change.{name}": Seen(len(self.steps), len(self.steps)) for name in limits}
        changed = task.evolve(max_change={**task.max_change, **limits}, seen={**task.seen, **seen})
        return replace(self, model=RewardModel(Reward._build(self.reward, task=changed)), known={})

    def recall(self, what: str, find: Callable[[], _Known]) -> _Known:
        """Return what is known under a name, found out when it is first asked for."""
        if what not in self.known:
            self.known[what] = find()
        found: _Known = self.known[what]
        return found

    def span(self, output: str, *, tight: bool = False) -> Span:
        """Return the lowest and highest value of an output over every step that can happen.

        Boxes are quick and mostly exact; z3 is asked as well where the bounds must be `tight`.
        """
        spans: dict[tuple[str, bool], Span] = self.known.setdefault("spans", {})
        if (output, tight) not in spans:
            rough = spans.get((output, False))
            ranges = Ranges(self.model, self.solver if tight else replace(self.solver, quick=True, boxes=ROUGH))
            spans[output, tight] = rough if rough is not None and rough.exact else ranges.span(output)
        return spans[output, tight]

    def take_half(self) -> "CheckContext":
        """Return this context with half of the time that is left, so that what comes later is not starved."""
        return replace(self, solver=replace(self.solver, deadline=self.solver.deadline.share(2)))

    def is_contradicted(self, finding: Finding) -> bool:
        """Return whether steps that happened went otherwise than a finding says."""
        if self.steps is None:
            return False
        from plaudit.checks.evidence import judge_findings  # with NumPy, which a check without steps does not need

        (judged,) = judge_findings(self.steps, self.model, [finding])
        return judged.is_contradicted

    def find_contradiction(self) -> Contradiction | Unknown | None:
        """Return how the facts contradict one another; None where they do not."""
        return self.recall("contradiction", lambda: find_contradiction(self.model, self.solver))

    def finding(
        self,
        term: str,
        message: str,
        advice: str,
        *,
        witness: Iterable[Step] = (),
        severity: Severity | None = None,
        facts: tuple[str, ...] = (),
        place: SourceLine | None = None,
        code: str | None = None,
        about: Iterable[str] | None = None,
        claims: Claim | None = None,
    ) -> Finding:
        """Return a finding of the rule; the severity and the source line default to those of the rule and the term.

        What it rests on is said of the inputs that the term reads, unless it is `about` other fields. Its witness
        `claims` what those of the rule claim, unless told otherwise.
        """
        assert self.rule is not None, "a finding is of a rule"
        return Finding(
            code=code or self.rule.code,
            severity=severity or self.rule.severity,
            term=term,
            message=message,
            advice=advice,
            witness=tuple(witness),
            place=place or self.model.locate(term),
            facts=facts,
            grounds=list_grounds(self.model, self.rule.uses, term, about),
            claims=claims or self.rule.claims,
        )

    def undecided(self, term: str, what: str = "", *, reason: str = "", code: str | None = None) -> Undecided:
        """Return that a question was asked and not answered, for a reason or because the solver cannot tell."""
        assert self.rule is not None, "a question is of a rule"
        parts = [part for part in (what, reason or self.solver.explain_unknown()) if part]
        return Undecided(code or self.rule.code, term, ": ".join(parts))
