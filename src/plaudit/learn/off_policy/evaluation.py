"""What an evaluation found: estimates, how far to trust them, and a verdict in a sentence."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from plaudit.learn.off_policy.intervals import Estimate, Interval, Kind
from plaudit.ledger.wording import counted, table

_PREFERRED = ("dr", "snips", "ips", "switch", "dm")
"""Whose word the verdict is, if it was asked and has an interval."""


@dataclass(frozen=True, slots=True)
class Source:
    """The records of a ledger that decisions were read from."""

    decision_class: str
    reward: str
    """The reward that scored them, such as roadsense@R8."""
    rescored: bool = False
    """Whether that is another one than was recorded."""
    credits: int = 0
    """Records that added to the reward of an earlier decision."""
    unmatched: int = 0
    """Such records whose decision was not among those chosen; they count for nothing."""
    unpaid: int = 0
    """Such records of terminal terms, of which the other reward has none."""
    blocked: int = 0
    """Decisions that no learner was to learn from."""
    refused: int = 0
    """Decisions left out because the other reward refuses their inputs."""
    lacking: int = 0
    """Decisions left out because they were recorded without an input that the other reward needs."""

    def told(self) -> list[str]:
        """Return what there is to know about the records, in sentences."""
        found = []
        if self.refused or self.lacking:
            left = counted(self.refused + self.lacking, "decision")
            found.append(f"{left} that {self.reward} cannot score left out: the rest may not be like them.")
        if self.unmatched:
            text = f"{counted(self.unmatched, 'extra credit')} of decisions that were not chosen left out."
            found.append(f"{text} Choose records by whole episodes to have them.")
        if self.unpaid:
            found.append(f"{counted(self.unpaid, 'extra credit')} came from terminal terms; {self.reward} has none.")
        return found


@dataclass(frozen=True)
class Evaluation:
    """What a policy would have earned on logged decisions."""

    policy: str
    decisions: int
    actions: tuple[str, ...]
    estimates: Mapping[str, Estimate]
    """By the name of the estimator."""
    logged: Estimate
    """What was earned: the mean logged reward."""
    effective: float
    """The effective sample size: how many decisions of the policy the log is worth."""
    mean_weight: float
    """Weights average 1 where the logged probabilities are right and cover what the policy does."""
    largest_weight: float
    interval: Kind
    confidence: float
    episodes: int | None = None
    """How many episodes the decisions are of, if those are what varies; None if each decision stands for itself."""
    notes: tuple[str, ...] = ()
    """What to know before trusting it."""
    source: Source | None = None

    def __getitem__(self, estimator: str) -> Estimate:
        return self.estimates[estimator]

    @property
    def share(self) -> float:
        """The effective sample size as a share of the decisions."""
        return self.effective / self.decisions

    @property
    def best(self) -> str:
        """The estimator that the verdict goes by: the most trusted of those that have an interval."""
        return next(name for name in _PREFERRED if name in self.estimates and self.estimates[name].low is not None)

    @property
    def better(self) -> bool | None:
        """Whether the policy earns more than what was logged; None where that cannot be told."""
        gain = self.estimates[self.best].gain
        assert gain.low is not None
        assert gain.high is not None
        if gain.low > 0:
            return True
        return False if gain.high < 0 else None

    @property
    def verdict(self) -> str:
        """Whether the policy is better than what was logged, in a sentence."""
        says = {True: "is better than", False: "is worse than", None: "cannot be told apart from"}[self.better]
        gain = self.estimates[self.best].gain
        shown = f"{gain.value:+.{self._decimals}f} {_ends(gain, self._decimals)}"
        confidence = f"{100 * self.confidence:g} %"
        return f"{self.policy} {says} what was logged: {shown} a decision ({self.best}, {confidence} interval)."

    def rows(self) -> list[tuple[str, ...]]:
        """Return the estimates as a table, the heading first and what was logged last."""
        confidence = f"{100 * self.confidence:g} %"
        heading = ("estimator", "value", "error", f"{confidence} interval", "gain", f"{confidence} of the gain")
        return [
            heading,
            *(self._row(name, each, each.gain) for name, each in self.estimates.items()),
            self._row("as logged", self.logged, None),
        ]

    def _row(self, name: str, each: Estimate, gain: Interval | None) -> tuple[str, ...]:
        decimals = self._decimals
        error = "" if each.error is None else f"{each.error:.{decimals}f}"
        gained = ("", "") if gain is None else (f"{gain.value:+.{decimals}f}", _ends(gain, decimals))
        return (name, f"{each.value:.{decimals}f}", error, _ends(each, decimals), *gained)

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
        """Return how far the log reaches, in a line."""
        parts = [
            counted(self.decisions, "decision") + ("" if self.episodes is None else f" of {self.episodes:,} episodes"),
            f"effective {self.effective:,.0f} ({self.share:.1%})",
            f"weights: mean {self.mean_weight:.3f}, largest {self.largest_weight:.3g}",
        ]
        return "; ".join(parts) + "."

    def __str__(self) -> str:
        notes = [f"Note: {note}" for note in self.notes]
        return "\n".join([table(self.rows()), "", self.figures(), *notes, self.verdict])

    def to_dict(self) -> dict[str, Any]:
        """Return the evaluation as plain data for JSON."""
        return {
            "policy": self.policy,
            "verdict": self.verdict,
            "better": self.better,
            "estimator": self.best,
            "decisions": self.decisions,
            "episodes": self.episodes,
            "actions": list(self.actions),
            "interval": self.interval,
            "confidence": self.confidence,
            "estimates": {name: _plain(each) for name, each in self.estimates.items()},
            "logged": _plain(self.logged),
            "effective": self.effective,
            "effective_share": self.share,
            "mean_weight": self.mean_weight,
            "largest_weight": self.largest_weight,
            "notes": list(self.notes),
            "source": None if self.source is None else asdict(self.source),
        }


def _ends(within: Estimate | Interval, decimals: int) -> str:
    if within.low is None or within.high is None:
        return ""
    return f"[{within.low:.{decimals}f}, {within.high:.{decimals}f}]"


def _plain(each: Estimate) -> dict[str, Any]:
    return {**asdict(each), "gain": each.gain._asdict()}
