"""What another policy would have earned: one call, over columns or over the records of a ledger."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from plaudit.errors import DefinitionError, NotEvaluable, OutOfRange, did_you_mean
from plaudit.learn.off_policy import intervals
from plaudit.learn.off_policy.estimators import ESTIMATORS, Case, logged_mean
from plaudit.learn.off_policy.intervals import KINDS, Interval, Kind, PolicyEstimate
from plaudit.learn.off_policy.log import Codes, LoggedDecisions
from plaudit.learn.off_policy.policies import Policy, compute_probabilities, find_name
from plaudit.learn.off_policy.propensities import find_failed_test
from plaudit.learn.off_policy.reading import Source, read_decisions
from plaudit.reward.reward import Reward
from plaudit.terminal import escape_controls, format_count, format_table

if TYPE_CHECKING:
    from plaudit.ledger.ledger import Ledger

MINIMUM = 50.0
"""The effective sample size below which an estimate is refused. In simulations, intervals that claim 95 % cover 89 to
93 % around 50 (88 % where one decision in ten earns it all), 87 to 93 % around 20, and as little as 75 % around 5."""
_CLOSE = 0.25
"""The effective share of a log from which a policy is close to the logged one: no better policy would help much."""
_CARRIES = 0.1
"""A share of all weight that one decision should not have."""
_FEW_EPISODES = 20
_PREFERRED = ("dr", "snips", "ips", "switch", "dm")
"""Whose word the verdict is, if it was asked and has an interval."""


@dataclass(frozen=True)
class Evaluation:
    """The result of an off-policy evaluation: what a policy would have earned on logged decisions.

    >>> import numpy as np
    >>> log = LoggedDecisions(("a", "b"), [0, 1] * 200, [0.5] * 400, [0.0, 1.0] * 200)
    >>> found = evaluate_decisions(log, lambda contexts: np.tile([0.1, 0.9], (len(contexts), 1)), actions=("a", "b"))
    >>> found.best, round(found["dr"].gain.value, 3), found.better
    ('dr', 0.4, True)
    """

    policy: str
    decisions: int
    actions: tuple[str, ...]
    estimates: Mapping[str, PolicyEstimate]
    """Estimates by estimator name."""
    logged: PolicyEstimate
    """The mean logged reward."""
    effective: float
    """The effective sample size."""
    mean_weight: float
    """The mean weight; 1 if the logged probabilities are right and cover the policy's actions."""
    largest_weight: float
    interval: Kind
    confidence: float
    episodes: int | None = None
    """The number of episodes, if they are the independent units; None if decisions are."""
    notes: tuple[str, ...] = ()
    """Read these before you trust the estimates."""
    failed: str | None = None
    """The test that the logged probabilities failed, also in `notes`: then no estimate is valid."""
    source: Source | None = None

    def __getitem__(self, estimator: str) -> PolicyEstimate:
        return self.estimates[estimator]

    @property
    def share(self) -> float:
        """The effective sample size as a share of the decisions."""
        return self.effective / self.decisions

    @property
    def best(self) -> str:
        """The estimator behind the verdict: the most trusted one with an interval."""
        return next(name for name in _PREFERRED if name in self.estimates and self.estimates[name].low is not None)

    @property
    def better(self) -> bool | None:
        """Whether the policy earns more than the logged one; None if the log cannot tell, or if a test `failed`."""
        if self.failed is not None:
            return None
        gain = self.estimates[self.best].gain
        assert gain.low is not None
        assert gain.high is not None
        if gain.low > 0:
            return True
        return False if gain.high < 0 else None

    @property
    def verdict(self) -> str:
        """Whether the policy is better than the logged one, in a sentence."""
        if self.failed is not None:
            return (
                f"Cannot tell whether {self.policy} is better than the logged policy: the logged probabilities fail "
                "their test (see the note)."
            )
        says = {True: "is better than", False: "is worse than", None: "cannot be distinguished from"}[self.better]
        gain = self.estimates[self.best].gain
        shown = f"{gain.value:+.{self._decimals}f} {_format_ends(gain, self._decimals)}"
        confidence = f"{100 * self.confidence:g}%"
        return f"{self.policy} {says} the logged policy: {shown} per decision ({self.best}, {confidence} interval)."

    def rows(self) -> list[tuple[str, ...]]:
        """Format the estimates as a table.

        Returns:
            The cells: the header first, the logged policy last.
        """
        confidence = f"{100 * self.confidence:g}%"
        heading = ("estimator", "value", "error", f"{confidence} interval", "gain", f"{confidence} interval (gain)")
        return [
            heading,
            *(self._row(name, each, each.gain) for name, each in self.estimates.items()),
            self._row("as logged", self.logged, None),
        ]

    def _row(self, name: str, each: PolicyEstimate, gain: Interval | None) -> tuple[str, ...]:
        decimals = self._decimals
        error = "" if each.error is None else f"{each.error:.{decimals}f}"
        gained = ("", "") if gain is None else (f"{gain.value:+.{decimals}f}", _format_ends(gain, decimals))
        return (name, f"{each.value:.{decimals}f}", error, _format_ends(each, decimals), *gained)

    @property
    def _decimals(self) -> int:
        """How many decimals tell the ends of the narrowest interval apart, and from 0 where that is the verdict."""
        every = (*self.estimates.values(), self.logged)
        widths = [each.high - each.low for each in every if each.low is not None and each.high is not None]
        narrow = min((width for width in widths if width > 0), default=0.01)
        gain = self.estimates[self.best].gain
        nearest = min(abs(gain.low or 0.0), abs(gain.high or 0.0)) if self.better is not None else 1.0
        return min(max(1 - math.floor(math.log10(narrow)), -math.floor(math.log10(nearest)), 0), 12)

    def figures(self) -> str:
        """Summarize the log: decisions, effective sample size, weights.

        Returns:
            One line.
        """
        parts = [
            format_count(self.decisions, "decision")
            + ("" if self.episodes is None else f" of {self.episodes:,} episodes"),
            f"effective sample size {self.effective:,.0f} ({self.share:.1%})",
            f"weights: mean {self.mean_weight:.3f}, largest {self.largest_weight:.3g}",
        ]
        return "; ".join(parts) + "."

    def __str__(self) -> str:
        notes = [f"Note: {note}" for note in self.notes]
        return escape_controls("\n".join([format_table(self.rows()), "", self.figures(), *notes, self.verdict]))

    def to_dict(self) -> dict[str, Any]:
        """Return the evaluation as plain data for JSON.

        Returns:
            The figures by name.
        """
        return {
            "policy": self.policy,
            "verdict": self.verdict,
            "better": self.better,
            "failed": self.failed,
            "estimator": self.best,
            "decisions": self.decisions,
            "episodes": self.episodes,
            "actions": list(self.actions),
            "interval": self.interval,
            "confidence": self.confidence,
            "estimates": {name: _to_plain(each) for name, each in self.estimates.items()},
            "logged": _to_plain(self.logged),
            "effective": self.effective,
            "effective_share": self.share,
            "mean_weight": self.mean_weight,
            "largest_weight": self.largest_weight,
            "notes": list(self.notes),
            "source": None if self.source is None else asdict(self.source),
        }


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
    """Estimate what `policy` would have earned on the decisions in a ledger.

    Args:
        ledger: The ledger with the decisions, each in the context of its record. Nothing is written.
        policy: A function from rows of features to rows of probabilities.
        decision_class: Which decisions to read.
        reward: Another reward, to score the recorded inputs again; the recorded rewards if omitted.
        since: Only records from this time on.
        until: Only records before this time.
        run: Only records of this run.
        estimators: Names from `ESTIMATORS`.
        interval: As for `evaluate_decisions`.
        confidence: Confidence level.
        minimum_effective: As for `evaluate_decisions`.
        seed: As for `evaluate_decisions`.
        actions: The action of each column, for a policy that does not name them.
        reward_range: The lowest and highest possible reward; for "anytime" it is proven from the reward if omitted.
        independent: As for `evaluate_decisions`.
        on_bad: "raise" an error for decisions that `reward` cannot score, "mask" to leave them out and count them, or
            "clip" their inputs to the declared ranges.
        progress: Called with the number of records read and the number in total.

    Returns:
        The estimates with confidence intervals, the effective sample size, and a verdict.

    Raises:
        NotEvaluable: The log does not show what the policy would have earned.
        MissingField: Records lack an input that `reward` needs.
        InputError: A decision or the policy is invalid.

    Example:
        ```python
        from plaudit.learn.off_policy import always, evaluate

        found = evaluate(ledger, always("star"), decision_class="move")
        print(found)
        ```
    """
    query = {"since": since, "until": until, "run": run}
    reading = read_decisions(
        ledger,
        decision_class=decision_class,
        reward=reward,
        on_bad=on_bad,
        progress=progress,
        **{name: value for name, value in query.items() if value is not None},
    )
    if interval == "anytime" and reward_range is None:
        reward_range = reading.find_range()
    result = evaluate_decisions(
        reading.decisions,
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
    return replace(result, source=reading.source, notes=(*reading.source.describe(), *result.notes))


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
    """Estimate what `policy` would have earned on logged decisions.

    Decisions are those of a bandit: a choice changes its own reward, but not what later decisions see.

    Args:
        log: The decisions.
        policy: A function from rows of features to rows of probabilities.
        estimators: Names from `ESTIMATORS`.
        interval: "normal" (standard errors), "bootstrap" (percentiles of resampling) or "anytime", which stays valid
            however often you look at it as the log grows, and needs a `reward_range`.
        confidence: Confidence level.
        minimum_effective: The smallest effective sample size; below it the evaluation is refused.
        seed: Random seed, for folds and the bootstrap.
        actions: The action of each column, for a policy that does not name them.
        reward_range: The lowest and the highest possible reward.
        independent: Treat decisions as independent. If false, episodes are, where the log has them.

    Returns:
        The estimates with confidence intervals, the effective sample size, and a verdict.

    Raises:
        NotEvaluable: The log does not show what the policy would have earned.
        InputError: The policy is invalid.
        DefinitionError: An argument is invalid.

    >>> import numpy as np
    >>> log = LoggedDecisions(("a", "b"), [0, 1] * 200, [0.5] * 400, [0.0, 1.0] * 200)
    >>> found = evaluate_decisions(log, lambda contexts: np.tile([0.1, 0.9], (len(contexts), 1)), actions=("a", "b"))
    >>> round(found["snips"].value, 6), round(found.effective), found.better
    (0.9, 244, True)
    """
    _validate_arguments(estimators, interval, confidence, reward_range)
    case = Case(log, compute_probabilities(policy, log, actions), _find_units(log, independent), seed)
    _require_reach(case, minimum_effective, find_name(policy))
    base, failed = logged_mean(case), find_failed_test(case)
    ratios = {"logged": base, **{name: ESTIMATORS[name](case) for name in estimators}}
    if interval == "anytime":
        assert reward_range is not None
        found = intervals.build_anytime(ratios, base, case, confidence, reward_range)
    else:
        found = {"normal": intervals.build_normal, "bootstrap": intervals.build_bootstrap}[interval](
            ratios, base, case, confidence
        )
    return Evaluation(
        policy=find_name(policy),
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
        notes=tuple(_collect_notes(case, failed)),
        failed=failed,
    )


def _validate_arguments(
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
        raise DefinitionError("interval='anytime' is an interval around 'ips': add 'ips' to the estimators.")
    if reward_range is None:
        raise DefinitionError("interval='anytime' needs the range of rewards: reward_range=(lowest, highest).")
    low, high = reward_range
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise OutOfRange(f"reward_range={reward_range!r} must be two finite numbers, the lower one first.")


def _find_units(log: LoggedDecisions, independent: bool) -> Codes | None:
    """Return what varies independently: the episodes, or None for single decisions."""
    if independent or log.episodes is None:
        return None
    if log.episodes.max() == 0:
        raise NotEvaluable(
            "all decisions belong to one episode, so the variation between episodes is unknown. Log more episodes, or "
            "pass independent=True if decisions are independent."
        )
    return log.episodes


def _require_reach(case: Case, minimum: float, name: str) -> None:
    if len(case.log) < 2:
        raise NotEvaluable("the log has only one decision, so the variation of rewards is unknown.")
    if case.effective >= minimum and case.effective:
        return
    worth = f"the log's {len(case.log):,} decisions have an effective sample size of {case.effective:.1f}"
    if case.effective > _CLOSE * len(case.log):
        raise NotEvaluable(
            f"for {name}, {worth}, and {minimum:g} is needed: the log is too short. Select more of it, or log more; "
            "or lower minimum_effective and do not trust the intervals."
        )
    raise NotEvaluable(
        f"for {name}, {worth}, and {minimum:g} is needed: the policy mostly takes actions that were rarely or never "
        "logged. Log more decisions, or with more exploration; evaluate a policy that is closer to the logged one; or "
        "lower minimum_effective and do not trust the intervals."
    )


def _collect_notes(case: Case, failed: str | None) -> list[str]:
    found = [] if failed is None else [failed]
    heaviest = float(case.weights.max() / case.weights.sum())
    if heaviest > _CARRIES:
        found.append(
            f"one decision carries {heaviest:.0%} of the total weight; inspect it before you trust the estimates."
        )
    if case.units is not None and (episodes := int(case.units.max()) + 1) < _FEW_EPISODES:
        found.append(f"{episodes} episodes are too few for a reliable estimate of how much episodes vary.")
    return found


def _format_ends(within: PolicyEstimate | Interval, decimals: int) -> str:
    if within.low is None or within.high is None:
        return ""
    return f"[{within.low:.{decimals}f}, {within.high:.{decimals}f}]"


def _to_plain(each: PolicyEstimate) -> dict[str, Any]:
    return {**asdict(each), "gain": each.gain._asdict()}
