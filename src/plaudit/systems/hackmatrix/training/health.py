"""Whether a run was healthy: its policy changed in small steps and kept trying things out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LARGEST_KL = 0.06
LARGEST_CLIP_FRACTION = 0.30
SMALLEST_ENTROPY_SHARE = 0.05
"""Of the entropy of a policy that takes all legal actions alike. Below it the policy hardly explores."""


@dataclass(frozen=True)
class Measure:
    """A figure that each update has, and when it is healthy."""

    key: str
    name: str
    limit: float
    below: bool
    """Whether figures have to lie below the limit, or above it."""

    @property
    def wanted(self) -> str:
        """What is healthy, in a few characters."""
        return f"{'<' if self.below else '>'} {self.limit:g}"

    def holds(self, figure: float) -> bool:
        """Return whether a figure is healthy; NaN is not."""
        return figure < self.limit if self.below else figure > self.limit


MEASURES = (
    Measure("kl", "approximate KL", LARGEST_KL, below=True),
    Measure("clip_fraction", "clip fraction", LARGEST_CLIP_FRACTION, below=True),
    Measure("entropy_share", "entropy, share of its maximum", SMALLEST_ENTROPY_SHARE, below=False),
)


@dataclass(frozen=True)
class Verdict:
    """The verdict on a run by one measure."""

    measure: Measure
    worst: float
    last: float
    outside: int
    """Updates with an unhealthy figure."""
    since: int | None
    """The first of them; None if there is none."""
    updates: int

    @property
    def healthy(self) -> bool:
        """Whether no update had an unhealthy figure."""
        return self.since is None

    def __str__(self) -> str:
        if self.healthy:
            return "healthy"
        now = "healthy at the end" if self.measure.holds(self.last) else "still at the end"
        return f"unhealthy since update {self.since}: {self.outside:,} of {self.updates:,} updates, {now}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "healthy": self.healthy,
            "verdict": str(self),
            "wanted": self.measure.wanted,
            "worst": self.worst,
            "last": self.last,
            "since_update": self.since,
            "unhealthy_updates": self.outside,
        }


def judge_health(rows: Sequence[Mapping[str, Any]]) -> tuple[Verdict, ...]:
    """Return a verdict by each measure on a run, of whose updates there is a row each.

    >>> print(judge_health([{"update": 1, "kl": 0.1, "clip_fraction": 0.1, "entropy_share": 0.9}])[0])
    unhealthy since update 1: 1 of 1 updates, still at the end
    """
    return tuple(_judge_by(measure, rows) for measure in MEASURES) if rows else ()


def _judge_by(measure: Measure, rows: Sequence[Mapping[str, Any]]) -> Verdict:
    figures = [float("nan") if row[measure.key] is None else row[measure.key] for row in rows]
    outside = [row["update"] for row, figure in zip(rows, figures, strict=True) if not measure.holds(figure)]
    known = [figure for figure in figures if figure == figure]
    extreme: Callable[[Sequence[float]], float] = max if measure.below else min
    worst = extreme(known) if len(known) == len(figures) else float("nan")
    return Verdict(measure, worst, figures[-1], len(outside), outside[0] if outside else None, len(rows))
