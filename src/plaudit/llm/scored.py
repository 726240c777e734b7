"""A scored batch: what each sample is paid and why, or why it is not."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from plaudit.errors import Abstained
from plaudit.llm.sample import Sample
from plaudit.reward.reward import Reward
from plaudit.reward.signal import Signal

__all__ = ["Scored"]


@dataclass(slots=True)
class Scored:
    """A batch of samples with their rewards; a sample without one has None everywhere, and a reason.

    Example:
        ```python
        scored = scoring.score(samples)
        for total, reason in zip(scored.totals, map(scored.reasons.get, range(len(samples)))):
            print(total, reason or "")
        ```
    """

    samples: Sequence[Sample]
    groups: Sequence[Any]
    """What tells completions of one prompt from others, by sample."""
    totals: list[float | None]
    inputs: list[dict[str, Any] | None]
    """The inputs of the reward, by sample."""
    values: dict[str, list[float | None]]
    """The value of each term, by sample: they add up to the total, but for a clamp."""
    rewards: list[Reward]
    """The reward that scored each sample: one without the terms that its group lost."""
    reasons: dict[int, str] = field(default_factory=dict)
    """Why samples could not be scored, by sample."""
    abstained: dict[int, str] = field(default_factory=dict)
    """Why features gave no reward to samples, by sample; they do not count as failures."""
    answers: dict[int, dict[str, str]] = field(default_factory=dict)
    """What judges said, by sample and feature."""
    outside: frozenset[int] = frozenset()
    """The samples that the reward is not about, as `applies` says; they are among those of `abstained`."""
    found: dict[str, Sequence[Any]] = field(default_factory=dict)
    """What judges, and features that give the reward its inputs, found in each sample; None where there is nothing."""
    errors: dict[int, Exception] = field(default_factory=dict)
    lost_terms: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """The terms that samples are scored without, by sample, with `on_lost_term="group"`."""
    lost_reasons: dict[int, str] = field(default_factory=dict)
    """Why samples are scored without these terms, by sample: what failed for one of their group."""
    lost_errors: dict[int, Exception] = field(default_factory=dict)
    lost_causes: list[Exception] = field(default_factory=list)
    """What failed, one for each sample whose own feature did: the others of its group lost a term with it."""

    @property
    def share_masked(self) -> float:
        """The share of samples that could not be scored, of those that should have been."""
        due = len(self.samples) - len(self.abstained)
        return len(self.reasons) / due if due else 0.0

    @property
    def share_lost(self) -> float:
        """The share of samples that were scored without a term because a feature failed, of those due a reward."""
        due = len(self.samples) - len(self.abstained)
        return self.count_lost() / due if due else 0.0

    def count_lost(self) -> int:
        """Return how many samples were scored without a term because a feature failed, and did not abstain.

        Returns:
            Their number.
        """
        return sum(not isinstance(error, Abstained) for error in self.lost_errors.values())

    def build_signal(self, at: int) -> Signal | None:
        """Return the signal of a sample, which explains its reward.

        Args:
            at: The position of the sample.

        Returns:
            The signal; None if the sample has no reward.
        """
        inputs = self.inputs[at]
        return None if self.totals[at] is None or inputs is None else self.rewards[at].score(**inputs)
