"""What a simulated run came to: what was earned, against which baselines, and what the ledger says about why."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plaudit.learn.alignment import ACTIONS
from plaudit.learn.replay import fit
from plaudit.learn.router import RouterState
from plaudit.systems.deepthinker.advisor import TIERS
from plaudit.systems.deepthinker.features import features
from plaudit.systems.deepthinker.loop import CORRECTIONS, Loop
from plaudit.systems.deepthinker.reward_signal import reward
from plaudit.systems.deepthinker.simulated.fresh import Choose, Judged, judge
from plaudit.systems.deepthinker.simulated.run import ROUTER, Met
from plaudit.systems.deepthinker.simulated.world import PHASES, World
from plaudit.systems.deepthinker.versions import version

Numbers = NDArray[np.float64]

FRESH = 60
"""Missions that nobody has seen, to put what was learnt to the test."""


class Earned(NamedTuple):
    """What a policy earned in the phases of a run, or would have."""

    policy: str
    reward: float
    error: float
    """The standard error of the mean."""
    tokens: float


class TypeRow(NamedTuple):
    """What the ledger holds of a type of phase: the mean reward of each tier, and how often it was tried."""

    phase: str
    rewards: tuple[float | None, ...]
    times: tuple[int, ...]
    advised: str
    """What the router advises in most of these phases now."""
    confidence: float


class CorrectionRow(NamedTuple):
    """What the ledger holds of a correction."""

    action: str
    times: int
    reward: float | None
    """The mean reward of the phases that followed it."""
    drift: float | None
    """What it took off the drift, on average."""


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that a simulated run has to tell."""

    seed: int
    missions: int
    policies: tuple[Earned, ...]
    """The router first, then what it is compared with."""
    fixed: str
    """The best fixed choice."""
    margin: float
    """What the router earned beyond it, a phase."""
    margin_error: float
    types: tuple[TypeRow, ...]
    corrections: tuple[CorrectionRow, ...]
    fresh: tuple[Judged, ...]
    telling: int
    """The record that earned least."""

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data for JSON."""
        rows = {
            name: [row._asdict() for row in getattr(self, name)]
            for name in ("policies", "types", "corrections", "fresh")
        }
        return asdict(self) | rows


def reported(loop: Loop, met: Sequence[Met], *, missions: int, seed: int) -> Report:
    """Return what a run came to, from the phases it met and from the ledger."""
    rewards = np.array([phase.rewards for phase in met])
    chosen = np.array([TIERS.index(phase.tier) for phase in met])
    best = int(rewards.mean(axis=0).argmax())
    margins = rewards[np.arange(len(met)), chosen] - rewards[:, best]
    history = list(loop.store.iter_history(loop.router.decision_class))
    return Report(
        seed=seed,
        missions=missions,
        policies=_policies(met, rewards, chosen),
        fixed=TIERS[best],
        margin=float(margins.mean()),
        margin_error=_error(margins),
        types=tuple(_types(loop, history)),
        corrections=tuple(_corrections(loop)),
        fresh=tuple(_fresh(loop, World(seed), range(missions, missions + FRESH))),
        telling=min(history, key=lambda record: record.signal.reward).id,
    )


def _policies(met: Sequence[Met], rewards: Numbers, chosen: NDArray[np.intp]) -> tuple[Earned, ...]:
    """Return the router and what it is compared with, all of them in the very same phases."""
    types = np.array([PHASES.index(phase.phase) for phase in met])
    by_type = np.array([rewards[types == at].mean(axis=0).argmax() for at in range(len(PHASES))])
    order = np.argsort(-rewards.mean(axis=0), kind="stable").tolist()
    choices = {
        "the router, as it learnt": chosen,
        f"best fixed choice: always {TIERS[order[0]]}": np.full(len(met), order[0]),
        **{f"always {TIERS[at]}": np.full(len(met), at) for at in order[1:]},
        "best tier for each type of phase, in hindsight": by_type[types],
        "best tier in every single phase, in hindsight": rewards.argmax(axis=1),
    }
    tokens, rows = np.array([phase.tokens for phase in met]), np.arange(len(met))
    return tuple(
        Earned(name, float(found.mean()), _error(found), float(tokens[rows, at].mean()))
        for name, at in choices.items()
        for found in (rewards[rows, at],)
    )


def _error(values: Numbers) -> float:
    """Return the standard error of a mean."""
    return float(values.std(ddof=1)) / math.sqrt(len(values))


def _types(loop: Loop, history: Sequence[Any]) -> list[TypeRow]:
    """Return what the ledger holds of each type of phase, and what the router makes of it."""
    rows = []
    for phase in PHASES:
        records = [record for record in history if record.phase == phase]
        by_tier = [[r.signal.reward for r in records if r.context["decision"]["action"] == tier] for tier in TIERS]
        advice = [ROUTER.advise(loop.router.state, record.context["decision"]["x"]) for record in records]
        advised, _ = Counter(each.candidate for each in advice).most_common(1)[0]
        sure = [each.confidence for each in advice if each.candidate == advised]
        rewards = tuple(float(np.mean(found)) if found else None for found in by_tier)
        rows.append(TypeRow(phase, rewards, tuple(map(len, by_tier)), advised, float(np.mean(sure))))
    return rows


def _corrections(loop: Loop) -> list[CorrectionRow]:
    """Return what the ledger holds of each correction."""
    records = list(loop.store.ledger.history(decision_class=CORRECTIONS))
    rows = []
    for action in ACTIONS:
        mine = [record for record in records if record.context["decision"]["action"] == action]
        parts = [record.context["parts"] for record in mine]
        reward = float(np.mean([record.total for record in mine])) if mine else None
        taken = float(np.mean([each["drift_before"] - each["drift_after"] for each in parts])) if parts else None
        rows.append(CorrectionRow(action, len(mine), reward, taken))
    return rows


def _fresh(loop: Loop, world: World, missions: Sequence[int]) -> list[Judged]:
    """Return how what was learnt does in fresh missions: as it was learnt, and fitted anew to the repaired reward."""
    repaired = version("rescaled")
    anew = fit(loop.store.ledger, ROUTER, decision_class=loop.router.decision_class, under=repaired)
    policies: dict[str, Choose] = {f"always {tier}": _always(tier) for tier in TIERS}
    policies[f"router, learnt from {reward.version}"] = _advised(loop.router.state)
    policies[f"router, fitted anew to {repaired.version}"] = _advised(anew)
    return judge(world, missions, policies, (reward, repaired))


def _always(tier: str) -> Choose:
    return lambda phase: tier


def _advised(state: RouterState) -> Choose:
    return lambda phase: ROUTER.advise(state, features(phase)).candidate
