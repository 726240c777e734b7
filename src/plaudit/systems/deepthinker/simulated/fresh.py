"""What was learnt, put to the test: routers that learn no more, and fixed choices, in missions nobody has seen."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plaudit.reward.reward import Reward
from plaudit.systems.deepthinker.advisor import TIERS
from plaudit.systems.deepthinker.drift import SENSITIVE, DriftState, observe
from plaudit.systems.deepthinker.phase import Outcome, Phase
from plaudit.systems.deepthinker.simulated.run import earned
from plaudit.systems.deepthinker.simulated.world import PHASES, World

Choose = Callable[[Phase], str]
"""A phase in, a tier out."""


class Judged(NamedTuple):
    """What a policy comes to, a phase."""

    policy: str
    rewards: Mapping[str, float]
    """The mean by each formula, by its version."""
    tokens: float


def judge(
    world: World, missions: Sequence[int], policies: Mapping[str, Choose], formulas: Sequence[Reward]
) -> list[Judged]:
    """Return what each policy earns in missions by each formula, and last the best of all choices in every phase."""
    phases = [_phases(world, number) for number in missions]
    totals = {
        each.version: np.array([[earned(o, e, each) for o in outs.values()] for m in phases for outs, e in m])
        for each in formulas
    }
    tokens = np.array([[o.cost_tokens for o in outs.values()] for m in phases for outs, _ in m])
    rows = np.arange(len(tokens))
    judged = []
    for name, choose in policies.items():
        chosen = np.array([at for n, m in zip(missions, phases, strict=True) for at in _chosen(world, n, m, choose)])
        means = {version: float(total[rows, chosen].mean()) for version, total in totals.items()}
        judged.append(Judged(name, means, float(tokens[rows, chosen].mean())))
    best = {version: float(total.max(axis=1).mean()) for version, total in totals.items()}
    first: NDArray[np.intp] = totals[formulas[0].version].argmax(axis=1)
    return [*judged, Judged("best of the three in every phase", best, float(tokens[rows, first].mean()))]


def _phases(world: World, number: int) -> list[tuple[dict[str, Outcome], int]]:
    """Return what each model would do in every phase of a mission that nobody corrects, and the events of drift."""
    state, found = DriftState(), []
    for step in range(len(PHASES)):
        outcomes = world.outcomes(number, (None,) * (step + 1))
        similarity = outcomes[TIERS[0]].similarity
        assert similarity is not None  # it is simulated
        state, point = observe(state, similarity, SENSITIVE)
        found.append((outcomes, int(point.event)))
    return found


def _chosen(world: World, number: int, phases: Sequence[tuple[dict[str, Outcome], int]], choose: Choose) -> list[int]:
    """Return the positions of the tiers that a policy chooses in the phases of a mission."""
    gains: list[float] = []
    positions, drift = [], 0.0
    for outcomes, _ in phases:
        tier = choose(world.phase(number, gains, drift=drift))
        positions.append(TIERS.index(tier))
        gains.append(outcomes[tier].score_delta)
        drift = 1 - (outcomes[tier].similarity or 0.0)
    return positions
