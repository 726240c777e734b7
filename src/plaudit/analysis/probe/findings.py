"""What a probe finds: policies that earn more than what is wanted, and are not what is wanted.

What is wanted is named by a measure: the environment's own reward, the goal, a field that says what is better. A policy
is counted as wanted if it does three quarters as well by that measure as the best that was tried, counted from the best
dull policy (for the goal, from never reaching it). There is a finding where what earns most is not wanted, earns more
than everything that is, and what is wanted is no worse by any other measure. Both differences are taken seed by seed,
and must be clear of chance. Where nothing does better than dull policies, nothing is known of what is wanted.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plaudit.analysis.probe.result import GOAL, NATIVE, PolicyOutcome, estimate_mean, format_estimate, list_dull
from plaudit.checks.finding import Finding, Severity, Step, Undecided
from plaudit.checks.formats.plain import format_number
from plaudit.language.reading.source import SourceLine
from plaudit.reward.reward import Reward

Numbers = NDArray[np.float64]

ENOUGH = 0.75
"""How much of the best that was reached, beyond what is had for nothing, makes a policy one of those wanted."""
CODES = {GOAL: "goal-not-best"}
"""The rule that a measure is about; of all others it is `outcome-order`."""


@dataclass(frozen=True)
class Inversion:
    """A policy that earns more than any that is wanted by a measure."""

    measure: str
    earns: PolicyOutcome
    wanted: PolicyOutcome
    severity: Severity


class Comparison:
    """Policies by one measure: which of them are wanted."""

    def __init__(self, reward: Reward, policies: Sequence[PolicyOutcome], measure: str) -> None:
        """Compare them; there is at least one."""
        self.measure, self.policies = measure, policies
        self._sign = orient(reward, measure)
        best = max(policies, key=self._mean)
        dull = [] if measure == GOAL else list_dull(policies)
        self._base = max(map(self._mean, dull), default=0.0)
        self._reach = self._mean(best) - self._base
        rest = max(dull, key=self._mean) if dull else None
        gain = self.column(best) - (self.column(rest) if rest is not None else 0.0)
        self.tells = self._reach > 0 and is_clearly_above(gain, 0.0)
        """Whether something does better than is had for nothing: else nobody knows what is wanted."""

    def column(self, policy: PolicyOutcome) -> Numbers:
        """Return the measure of each episode; higher is better."""
        return self._sign * policy.column(self.measure)

    def _mean(self, policy: PolicyOutcome) -> float:
        return float(self.column(policy).mean())

    def is_wanted(self, policy: PolicyOutcome) -> bool:
        """Return whether a policy does about as well as the best."""
        return self._mean(policy) - self._base >= ENOUGH * self._reach

    @property
    def least_wanted(self) -> float:
        """The measure, higher being better, from which on a policy is wanted."""
        return self._base + ENOUGH * self._reach

    def is_better_than_dull(self, policy: PolicyOutcome) -> bool:
        """Return whether a policy does clearly better than is had for nothing."""
        dull = [] if self.measure == GOAL else list_dull(self.policies)
        rest = self.column(max(dull, key=self._mean)) if dull else 0.0
        return is_clearly_above(self.column(policy) - rest, 0.0)


def orient(reward: Reward, measure: str) -> float:
    """Return 1 where more of a measure is better, and -1 where less is."""
    if measure in (NATIVE, GOAL):
        return 1.0
    return 1.0 if reward.task.better.get(measure) == "high" else -1.0


def is_clearly_above(values: Numbers, limit: float) -> bool:
    """Return whether the mean of values, one a seed, is above a limit beyond chance; of one value nobody knows."""
    return bool(estimate_mean(values).low > limit)


def find_inversions(
    reward: Reward, policies: Sequence[PolicyOutcome], measures: Sequence[str]
) -> Iterator[Inversion | Undecided]:
    """Yield for each measure the policy that earns most without being wanted, if it earns more than what is."""
    if not policies:
        return
    comparisons = [Comparison(reward, policies, measure) for measure in measures]
    for comparison in comparisons:
        if not comparison.tells:
            if comparison.measure in (NATIVE, GOAL):
                yield Undecided(
                    CODES.get(comparison.measure, "outcome-order"), "total", _explain_silence(reward, comparison)
                )
            continue
        found = _find_inversion(comparison, comparisons)
        if found is not None:
            yield found


def _explain_silence(reward: Reward, comparison: Comparison) -> str:
    if comparison.measure == GOAL:
        assert reward._bound.goal is not None
        what = f"no policy that was tried reaches the goal {reward._bound.goal.name!r} beyond chance"
    else:
        what = "by the environment's own reward no policy that was tried does clearly better than dull ones"
    return f"{what}; a longer --budget or more --seeds may"


def _find_inversion(comparison: Comparison, others: Sequence[Comparison]) -> Inversion | None:
    """Return what earns most of what is not wanted, dull policies first: they say most plainly what is wrong."""
    policies = comparison.policies
    unwanted = [each for each in policies if not comparison.is_wanted(each)]
    for group in (list_dull(unwanted), unwanted):
        earns = max(group, key=_mean_earned, default=None)
        if earns is None:
            continue
        wanted = max(
            (each for each in policies if comparison.is_wanted(each) and _is_no_worse(each, earns, others)),
            key=_mean_earned,
            default=None,
        )
        if wanted is None or any(
            _mean_earned(each) >= _mean_earned(earns) for each in policies if comparison.is_wanted(each)
        ):
            continue
        if is_clearly_above(earns.column("earned") - wanted.column("earned"), 0.0) and is_clearly_above(
            comparison.column(wanted) - comparison.column(earns), 0.0
        ):
            severity: Severity = "advice" if comparison.is_better_than_dull(earns) else "warning"
            return Inversion(comparison.measure, earns, wanted, severity)
    return None


def _mean_earned(policy: PolicyOutcome) -> float:
    return policy.earned.value


def _is_no_worse(wanted: PolicyOutcome, earns: PolicyOutcome, comparisons: Sequence[Comparison]) -> bool:
    """Return whether what is wanted by one measure is worse by none: else the two are a matter of taste."""
    return not any(is_clearly_above(each.column(earns) - each.column(wanted), 0.0) for each in comparisons)


# -- telling -----------------------------------------------------------------------------------------------------------


def describe_inversion(reward: Reward, found: Inversion, records: dict[tuple[str, int], tuple[int, int]]) -> Finding:
    """Return an inversion as a finding; `records` are the first and last record of an episode, by policy and seed."""
    earns, wanted = found.earns, found.wanted
    term, paid, instead = _find_paying_term(earns, wanted)
    source = next((each.source for each in reward.terms if each.name == term), None)
    return Finding(
        code=CODES.get(found.measure, "outcome-order"),
        severity=found.severity,
        term=term,
        message=f"as it happened, {_format_who(earns)} earns {format_estimate(earns.earned)} and {_format_who(wanted)} "
        f"{format_estimate(wanted.earned)}, though {_format_worse(reward, found)}.",
        advice=f"Look at what pays in such an episode: {term} gives {format_number(paid)} there and "
        f"{format_number(instead)} in the other. Pay for what is wanted, once, or less for this.",
        witness=tuple(_list_steps(found, records)),
        place=None if source is None else SourceLine(source.file, source.first),
    )


def _format_who(policy: PolicyOutcome) -> str:
    return f"'{policy.name}'"


def _format_worse(reward: Reward, found: Inversion) -> str:
    one, other = found.earns.measures[found.measure], found.wanted.measures[found.measure]
    if found.measure == GOAL:
        assert reward._bound.goal is not None
        count = len(found.earns.episodes)
        shares = f"in {round(one.value * count)} of {count} episodes, and the other in {round(other.value * count)}"
        return f"it reaches the goal {reward._bound.goal.name!r} {shares}"
    numbers = f"{format_estimate(one)} against {format_estimate(other)}"
    if found.measure == NATIVE:
        return f"by the environment's own reward it is the worse one: {numbers}"
    declared = reward._bound.fields[found.measure]
    wish = f"close to {declared.aim:g}" if declared.aim is not None else declared.better
    return f"{found.measure}, better {wish}, says it is the worse one: {numbers}"


def _find_paying_term(earns: PolicyOutcome, wanted: PolicyOutcome) -> tuple[str, float, float]:
    """Return the term that pays one policy most beyond the other, and what it pays each in an episode."""

    def mean(policy: PolicyOutcome, term: str) -> float:
        return float(np.mean([each.terms.get(term, 0.0) for each in policy.episodes]))

    terms = earns.episodes[0].terms
    best = max(terms, key=lambda term: mean(earns, term) - mean(wanted, term))
    return best, mean(earns, best), mean(wanted, best)


def _list_steps(found: Inversion, records: dict[tuple[str, int], tuple[int, int]]) -> Iterator[Step]:
    """Yield the first and the last step of an episode of each: the one in which they are furthest apart."""
    apart = found.earns.column("earned") - found.wanted.column("earned")
    at = int(apart.argmax())
    for policy in (found.earns, found.wanted):
        episode = policy.episodes[at]
        numbers = records.get((policy.name, episode.seed), (None, None))
        for signal, step, number in zip((episode.first, episode.last), (1, episode.length), numbers, strict=True):
            record = "" if number is None else f", record {number}"
            note = f"{policy.name}, seed {episode.seed}, step {step} of {episode.length}{record}"
            yield Step(dict(signal.inputs), signal.total, note)
            if episode.length == 1:
                break
