"""Cross-entropy search: draw the weights of policies, and draw the next ones near the best."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from plaudit.analysis.probe.policies import Policy

Numbers = NDArray[np.float64]

POPULATION, ELITE = 24, 6
EPISODES = 2
"""Episodes of a candidate, the same for all of a generation: in one alone, chance decides."""
SMOOTHING = 0.8
NOISE, NOISE_KEPT = 0.4, 0.97
"""What is drawn stays at least this wide at first, and so much of that from one generation to the next: a search that
narrows too soon ends where it began."""
FINALISTS, FINAL_EPISODES = 4, 4
"""How many candidates are tried again at the end, in how many others: the luckiest is not always the best."""
FIRST_SEARCH_SEED = 2**20
"""From here on are the seeds of the search; below are those that policies are compared with."""
SETTLED = 0.12
"""A search whose spread falls below this starts again: it has converged."""
_NARROWEST = 0.02

Value = TypeVar("Value")


class Family(Protocol):
    """Policies that numbers make different."""

    mean: Numbers
    deviation: Numbers
    constants: tuple[Numbers, ...]

    def build(self, weights: Numbers, name: str = "") -> Policy:
        """Return the policy with these numbers."""


@dataclass
class Search(Generic[Value]):
    """A search of one family for what is best by one objective."""

    family: Family
    evaluate: Callable[[Policy, int], Value]
    """What a policy achieves in the episode with a seed."""
    objective: Callable[[list[Value]], float]
    """How good that is; higher is better."""
    generator: np.random.Generator
    known: tuple[Numbers, ...] = ()
    """What other searches found: candidates of the first generation, with the constants, and of the last choice."""
    mean: Numbers = field(init=False)
    deviation: Numbers = field(init=False)
    tried: list[tuple[float, Numbers]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.mean, self.deviation = self.family.mean.copy(), self.family.deviation.copy()

    def run(self) -> Iterator[None]:
        """Search until the caller stops; each candidate is a turn."""
        noise = NOISE
        while True:
            seeds = self._draw_seeds(EPISODES)
            width = np.maximum(self.deviation, noise)
            noise *= NOISE_KEPT
            if width.mean() < SETTLED:
                self.mean, self.deviation, noise = self.family.mean, self.family.deviation, NOISE
                continue
            drawn = self.mean + width * self.generator.normal(size=(POPULATION, len(self.mean)))
            drawn[0] = self.mean
            for at, weights in enumerate(() if self.tried else (*self.known, *self.family.constants), 1):
                drawn[at] = weights
            scores = []
            for weights in drawn:
                scores.append(self._score(weights, seeds))
                self.tried.append((scores[-1], weights))
                yield
            self._narrow(drawn, np.array(scores))
            self.tried = sorted(self.tried, key=lambda each: -each[0])[:POPULATION]

    def _narrow(self, drawn: Numbers, scores: Numbers) -> None:
        if scores.max() == scores.min():  # nothing to learn from
            return
        best = drawn[np.argsort(-scores, kind="stable")[:ELITE]]
        self.mean = (1 - SMOOTHING) * self.mean + SMOOTHING * best.mean(0)
        self.deviation = np.maximum((1 - SMOOTHING) * self.deviation + SMOOTHING * best.std(0), _NARROWEST)

    def find_best(self, *, again: bool = True) -> Numbers | None:
        """Return the numbers that are best in episodes that they were not chosen by; None if none was tried.

        Unless they are tried `again`, it is those that were best so far.
        """
        if not self.tried:
            return None
        best = [weights for _, weights in sorted(self.tried, key=lambda each: -each[0])[:FINALISTS]]
        if not again:
            return best[0]
        finalists = [self.mean, *self.known, *best]
        seeds = self._draw_seeds(FINAL_EPISODES)
        return max(finalists, key=lambda weights: self._score(weights, seeds))

    def _score(self, weights: Numbers, seeds: list[int]) -> float:
        policy = self.family.build(weights)
        return self.objective([self.evaluate(policy, seed) for seed in seeds])

    def _draw_seeds(self, count: int) -> list[int]:
        """Return seeds of episodes, none of which is among those that policies are compared in."""
        return [int(seed) for seed in self.generator.integers(FIRST_SEARCH_SEED, 2**31, count)]
