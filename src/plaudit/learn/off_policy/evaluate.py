"""What another policy would have earned: one call, over columns or over the records of a ledger."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from plaudit.errors import DefinitionError, NotEvaluable, OutOfRange, did_you_mean
from plaudit.learn.off_policy import intervals
from plaudit.learn.off_policy.estimators import ESTIMATORS, Case, logged
from plaudit.learn.off_policy.evaluation import Evaluation
from plaudit.learn.off_policy.intervals import KINDS, Kind
from plaudit.learn.off_policy.log import Codes, LoggedDecisions
from plaudit.learn.off_policy.policies import Policy, called, target
from plaudit.learn.off_policy.reading import read_decisions
from plaudit.reward.reward import Reward

if TYPE_CHECKING:
    from plaudit.ledger.store import Ledger

MINIMUM = 50.0
"""The effective sample size below which an estimate is refused. In simulations, intervals that claim 95 % cover 89 to
93 % around 50 (88 % where one decision in ten earns it all), 87 to 93 % around 20, and as little as 75 % around 5."""
_CLOSE = 0.25
"""The effective share of a log from which a policy is close to the logged one: no better policy would help much."""
_CARRIES = 0.1
"""A share of all weight that one decision should not have."""
_FEW_EPISODES = 20
_FAR = 4.0
"""Standard errors by which the mean weight misses 1 only if something is wrong."""


def evaluate(
    ledger: "Ledger",
    policy: Policy,
    *,
    decision_class: str,
    reward: Reward | None = None,
    since: Any = None,
    until: Any = None,
    run: str | None = None,
    estimators: Sequence[str] = ("ips", "snips", "dm", "dr"),
    interval: Kind = "normal",
    confidence: float = 0.95,
    minimum_effective: float = MINIMUM,
    seed: int = 0,
    actions: Sequence[str] | None = None,
    reward_range: tuple[float, float] | None = None,
    independent: bool = False,
    on_bad: str = "raise",
    progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """Return what `policy` would have earned on the decisions of a ledger, under `reward` or as they were scored.

    The records are those of a decision class (and of a `run`, `since` and `until` a moment), with the decision in their
    context. With another `reward` recorded inputs are scored again; nothing is written. What that reward cannot score
    is an error, or with `on_bad="mask"` left out and counted. `actions` names the columns of a policy that does not
    name them itself. The rest is as for `evaluate_decisions`.
    """
    choice = {"since": since, "until": until, "run": run}
    found = read_decisions(
        ledger,
        decision_class=decision_class,
        reward=reward,
        on_bad=on_bad,
        progress=progress,
        **{name: value for name, value in choice.items() if value is not None},
    )
    if interval == "anytime" and reward_range is None:
        reward_range = found.range()
    result = evaluate_decisions(
        found.decisions,
        policy,
        estimators=estimators,
        interval=interval,
        confidence=confidence,
        minimum_effective=minimum_effective,
        seed=seed,
        actions=actions,
        reward_range=reward_range,
        independent=independent,
    )
    return replace(result, source=found.source, notes=(*found.source.told(), *result.notes))


def evaluate_decisions(
    log: LoggedDecisions,
    policy: Policy,
    *,
    estimators: Sequence[str] = ("ips", "snips", "dm", "dr"),
    interval: Kind = "normal",
    confidence: float = 0.95,
    minimum_effective: float = MINIMUM,
    seed: int = 0,
    actions: Sequence[str] | None = None,
    reward_range: tuple[float, float] | None = None,
    independent: bool = False,
) -> Evaluation:
    """Return what `policy` would have earned on logged decisions; NotEvaluable where they cannot tell.

    Intervals are "normal" (standard errors), "bootstrap" (percentiles of drawing the log again) or "anytime", which
    stays true however often it is looked at as the log grows, and needs a `reward_range`, (lowest, highest). Episodes
    are what varies, where the log has them, unless decisions are called `independent`. `seed` deals decisions into
    folds and draws the bootstrap.

    >>> import numpy as np
    >>> log = LoggedDecisions(("a", "b"), [0, 1] * 200, [0.5] * 400, [0.0, 1.0] * 200)
    >>> found = evaluate_decisions(log, lambda contexts: np.tile([0.1, 0.9], (len(contexts), 1)), actions=("a", "b"))
    >>> round(found["snips"].value, 6), round(found.effective), found.better
    (0.9, 244, True)
    """
    _check(estimators, interval, confidence, reward_range)
    case = Case(log, target(policy, log, actions), _units(log, independent), seed)
    _check_reach(case, minimum_effective, called(policy))
    base = logged(case)
    ratios = {"logged": base, **{name: ESTIMATORS[name](case) for name in estimators}}
    if interval == "anytime":
        assert reward_range is not None
        found = intervals.anytime(ratios, base, case, confidence, reward_range)
    else:
        found = {"normal": intervals.normal, "bootstrap": intervals.bootstrap}[interval](ratios, base, case, confidence)
    return Evaluation(
        policy=called(policy),
        decisions=len(log),
        actions=log.actions,
        logged=found.pop("logged"),
        estimates=found,
        effective=case.effective,
        mean_weight=float(case.weights.mean()),
        largest_weight=float(case.weights.max()),
        interval=interval,
        confidence=confidence,
        episodes=None if case.units is None else int(case.units.max()) + 1,
        notes=tuple(_notes(case)),
    )


def _check(
    estimators: Sequence[str], interval: str, confidence: float, reward_range: tuple[float, float] | None
) -> None:
    if isinstance(estimators, str) or not estimators:
        raise DefinitionError(f"estimators={estimators!r} must be one or more of {', '.join(ESTIMATORS)}.")
    for name in estimators:
        if name not in ESTIMATORS:
            near = did_you_mean(str(name), ESTIMATORS)
            raise DefinitionError(f"there is no estimator {name!r}, only {', '.join(ESTIMATORS)}.{near}")
    if interval not in KINDS:
        raise DefinitionError(f"interval={interval!r} must be one of {', '.join(KINDS)}.")
    if not 0 < confidence < 1:
        raise OutOfRange(f"confidence={confidence!r} must be between 0 and 1, such as 0.95.")
    if interval != "anytime":
        return
    if "ips" not in estimators:
        raise DefinitionError("interval='anytime' is an interval around 'ips': name it among the estimators.")
    if reward_range is None:
        raise DefinitionError("interval='anytime' needs the range of rewards: reward_range=(lowest, highest).")
    low, high = reward_range
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise OutOfRange(f"reward_range={reward_range!r} must be two finite numbers, the lower one first.")


def _units(log: LoggedDecisions, independent: bool) -> Codes | None:
    """Return what varies independently: the episodes, or None for single decisions."""
    if independent or log.episodes is None:
        return None
    if log.episodes.max() == 0:
        raise NotEvaluable(
            "all decisions are of one episode, so nothing tells how much episodes differ. Log more of them, or say "
            "independent=True if each decision stands for itself."
        )
    return log.episodes


def _check_reach(case: Case, minimum: float, name: str) -> None:
    if len(case.log) < 2:
        raise NotEvaluable("there is one decision in the log, and nothing tells how much rewards vary.")
    if case.effective >= minimum and case.effective:
        return
    worth = f"the log's {len(case.log):,} decisions are worth {case.effective:.1f} of its own (effective sample size)"
    if case.effective > _CLOSE * len(case.log):
        raise NotEvaluable(
            f"for {name} {worth}, and {minimum:g} are needed: the log is short. Choose more of it, or log more; or "
            "lower minimum_effective and do not trust the intervals."
        )
    raise NotEvaluable(
        f"for {name} {worth}, and {minimum:g} are needed: it mostly does what was logged rarely or never. Log more "
        "decisions, or with more exploration; evaluate a policy that is closer to the logged one; or lower "
        "minimum_effective and do not trust the intervals."
    )


def _notes(case: Case) -> list[str]:
    weights, count = case.weights, len(case.log)
    found = []
    mean, error = float(weights.mean()), float(weights.std()) / math.sqrt(count)
    if abs(mean - 1.0) > max(_FAR * error, 1e-6):
        found.append(
            f"weights average {mean:.3f} and should average 1: the logged probabilities are not what actions were "
            "chosen with, or the policy takes actions that could not be chosen."
        )
    heaviest = float(weights.max() / weights.sum())
    if heaviest > _CARRIES:
        found.append(f"one decision carries {heaviest:.0%} of all weight; look at it before you believe the estimates.")
    if case.units is not None and (episodes := int(case.units.max()) + 1) < _FEW_EPISODES:
        found.append(f"{episodes} episodes are few to judge by how much episodes differ.")
    return found
