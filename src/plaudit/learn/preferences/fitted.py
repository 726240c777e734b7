"""What fitting to preferences gives: the tuned reward, and how sure each number is."""

from dataclasses import dataclass
from math import isfinite, isnan
from typing import NamedTuple

from plaudit.errors import did_you_mean
from plaudit.learn.preferences.choices import Array
from plaudit.reward.reward import Reward


class Estimate(NamedTuple):
    """One fitted number: what it was, what it is, and how far it may be off.

    Where a parameter ends at its bound, nothing is known of its error: the standard error and both ends are NaN.
    """

    name: str
    before: float
    value: float
    standard_error: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Fitted:
    """A reward fitted to choices; `fitted["comfort.weight"]` is one estimate, `explain()` prints them all.

    The intervals are those of a normal distribution with the curvature of the posterior at its top (Laplace), at the
    confidence asked for. `warnings` say what they do not show: read them first.
    """

    reward: Reward
    """The tuned reward, under its old version label."""
    estimates: tuple[Estimate, ...]
    correlation: Array
    """Of the errors of each two estimates; NaN for those without an error."""
    choices: int
    log_likelihood: float
    accuracy: float
    """The share of choices, ties left out, that the tuned reward decides as people did; NaN where all are ties."""
    accuracy_before: float
    confidence: float
    converged: bool
    warnings: tuple[str, ...]

    def __getitem__(self, name: str) -> Estimate:
        """Return the estimate of one parameter."""
        found = {estimate.name: estimate for estimate in self.estimates}
        if name not in found:
            raise KeyError(f"{name!r} was not fitted.{did_you_mean(name, found)} Fitted: {', '.join(found)}.")
        return found[name]

    def explain(self) -> str:
        """Return a table that a person can read, and the warnings below it."""
        head = ("parameter", "before", "value", "± error", f"{100 * self.confidence:.4g} % interval")
        rows = [
            (e.name, f"{e.before:.4g}", f"{e.value:.4g}", f"{e.standard_error:.2g}", f"{e.low:.4g} to {e.high:.4g}")
            if isfinite(e.standard_error)
            else (e.name, f"{e.before:.4g}", f"{e.value:.4g}", "–", "–")
            for e in self.estimates
        ]
        widths = [max(len(row[i]) for row in [head, *rows]) for i in range(5)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))])
            for row in [head, tuple("─" * width for width in widths), *rows]
        ]
        decided = f"{self.accuracy:.1%} decided as people did ({self.accuracy_before:.1%} before)"
        quality = (
            f"{self.choices:,} choice{'' if self.choices == 1 else 's'}, "
            f"{'all ties' if isnan(self.accuracy) else decided}, log-likelihood {self.log_likelihood:.2f}"
        )
        state = [] if self.converged else ["The search did not end at an optimum: do not trust the intervals."]
        return "\n".join([*lines, quality, *state, *(f"Warning: {warning}" for warning in self.warnings)])
