"""The report of a simulated run: rewards, baselines, and explanations from the ledger."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plaudit.learn.alignment import ACTIONS
from plaudit.learn.replay import fit
from plaudit.learn.router import RouterState
from plaudit.reward.reward import Reward
from plaudit.systems.deepthinker.advisor import TIERS
from plaudit.systems.deepthinker.drift import SENSITIVE, DriftState, observe
from plaudit.systems.deepthinker.features import encode_features
from plaudit.systems.deepthinker.loop import CORRECTION_CLASS, Loop
from plaudit.systems.deepthinker.phase import Outcome, Phase
from plaudit.systems.deepthinker.reward_signal import reward, version
from plaudit.systems.deepthinker.simulated.run import ROUTER, SimulatedPhase, score_outcome
from plaudit.systems.deepthinker.simulated.world import PHASES, World

Numbers = NDArray[np.float64]

FRESH = 60
"""Held-out missions to evaluate the learned policies on."""

Choose = Callable[[Phase], str]
"""A phase in, a tier out."""


class PolicyEarnings(NamedTuple):
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


class PolicyJudgement(NamedTuple):
    """The mean results of a policy per phase."""

    policy: str
    rewards: Mapping[str, float]
    """The mean by each formula, by its version."""
    tokens: float


@dataclass(frozen=True, slots=True)
class Report:
    """The report of a simulated run."""

    seed: int
    missions: int
    policies: tuple[PolicyEarnings, ...]
    """The router first, then what it is compared with."""
    fixed: str
    """The best fixed choice."""
    margin: float
    """What the router earned beyond it, a phase."""
    margin_error: float
    types: tuple[TypeRow, ...]
    corrections: tuple[CorrectionRow, ...]
    fresh: tuple[PolicyJudgement, ...]
    telling: int
    """The record that earned least."""

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data for JSON."""
        rows = {
            name: [row._asdict() for row in getattr(self, name)]
            for name in ("policies", "types", "corrections", "fresh")
        }
        return asdict(self) | rows


def build_report(loop: Loop, phases: Sequence[SimulatedPhase], *, missions: int, seed: int) -> Report:
    """Build the report of a run, from its phases and the ledger."""
    rewards = np.array([phase.rewards for phase in phases])
    chosen = np.array([TIERS.index(phase.tier) for phase in phases])
    best = int(rewards.mean(axis=0).argmax())
    margins = rewards[np.arange(len(phases)), chosen] - rewards[:, best]
    history = list(loop.store.iter_history(loop.router.decision_class))
    return Report(
        seed=seed,
        missions=missions,
        policies=_compare_policies(phases, rewards, chosen),
        fixed=TIERS[best],
        margin=float(margins.mean()),
        margin_error=_compute_error(margins),
        types=tuple(_summarise_types(loop, history)),
        corrections=tuple(_summarise_corrections(loop)),
        fresh=tuple(_judge_fresh(loop, World(seed), range(missions, missions + FRESH))),
        telling=min(history, key=lambda record: record.signal.reward).id,
    )


def _compare_policies(
    phases: Sequence[SimulatedPhase], rewards: Numbers, chosen: NDArray[np.intp]
) -> tuple[PolicyEarnings, ...]:
    """Return the router and what it is compared with, all of them in the very same phases."""
    types = np.array([PHASES.index(phase.phase) for phase in phases])
    by_type = np.array([rewards[types == at].mean(axis=0).argmax() for at in range(len(PHASES))])
    order = np.argsort(-rewards.mean(axis=0), kind="stable").tolist()
    choices = {
        "the router, while learning": chosen,
        f"best fixed choice: always {TIERS[order[0]]}": np.full(len(phases), order[0]),
        **{f"always {TIERS[at]}": np.full(len(phases), at) for at in order[1:]},
        "best tier for each type of phase, in hindsight": by_type[types],
        "best tier in every single phase, in hindsight": rewards.argmax(axis=1),
    }
    tokens, rows = np.array([phase.tokens for phase in phases]), np.arange(len(phases))
    return tuple(
        PolicyEarnings(name, float(earned.mean()), _compute_error(earned), float(tokens[rows, at].mean()))
        for name, at in choices.items()
        for earned in (rewards[rows, at],)
    )


def _compute_error(values: Numbers) -> float:
    return float(values.std(ddof=1)) / math.sqrt(len(values))


def _summarise_types(loop: Loop, history: Sequence[Any]) -> list[TypeRow]:
    """Return what the ledger holds of each type of phase, and what the router makes of it."""
    rows = []
    for phase in PHASES:
        records = [record for record in history if record.phase == phase]
        by_tier = [[r.signal.reward for r in records if r.context["decision"]["action"] == tier] for tier in TIERS]
        advice = [ROUTER.advise(loop.router.state, record.context["decision"]["x"]) for record in records]
        advised, _ = Counter(each.candidate for each in advice).most_common(1)[0]
        sure = [each.confidence for each in advice if each.candidate == advised]
        rewards = tuple(float(np.mean(earned)) if earned else None for earned in by_tier)
        rows.append(TypeRow(phase, rewards, tuple(map(len, by_tier)), advised, float(np.mean(sure))))
    return rows


def _summarise_corrections(loop: Loop) -> list[CorrectionRow]:
    records = list(loop.store.ledger.history(decision_class=CORRECTION_CLASS))
    rows = []
    for action in ACTIONS:
        mine = [record for record in records if record.context["decision"]["action"] == action]
        parts = [record.context["parts"] for record in mine]
        reward = float(np.mean([record.total for record in mine])) if mine else None
        taken = float(np.mean([each["drift_before"] - each["drift_after"] for each in parts])) if parts else None
        rows.append(CorrectionRow(action, len(mine), reward, taken))
    return rows


def _judge_fresh(loop: Loop, world: World, missions: Sequence[int]) -> list[PolicyJudgement]:
    """Return the results of the learned router in held-out missions, as learned and refitted to the repaired reward."""
    repaired = version("rescaled")
    anew = fit(loop.store.ledger, ROUTER, decision_class=loop.router.decision_class, under=repaired)
    policies: dict[str, Choose] = {f"always {tier}": _build_fixed_policy(tier) for tier in TIERS}
    policies[f"router, trained on {reward.version}"] = _build_router_policy(loop.router.state)
    policies[f"router, refitted to {repaired.version}"] = _build_router_policy(anew)
    return judge_policies(world, missions, policies, (reward, repaired))


def judge_policies(
    world: World, missions: Sequence[int], policies: Mapping[str, Choose], formulas: Sequence[Reward]
) -> list[PolicyJudgement]:
    """Return what each policy earns in missions by each formula, and last the best of all choices in every phase."""
    phases = [_simulate_phases(world, number) for number in missions]
    totals = {
        each.version: np.array([[score_outcome(o, e, each) for o in outs.values()] for m in phases for outs, e in m])
        for each in formulas
    }
    tokens = np.array([[o.cost_tokens for o in outs.values()] for m in phases for outs, _ in m])
    rows = np.arange(len(tokens))
    judged = []
    for name, choose in policies.items():
        chosen = np.array(
            [at for n, m in zip(missions, phases, strict=True) for at in _choose_tiers(world, n, m, choose)]
        )
        means = {version: float(total[rows, chosen].mean()) for version, total in totals.items()}
        judged.append(PolicyJudgement(name, means, float(tokens[rows, chosen].mean())))
    best = {version: float(total.max(axis=1).mean()) for version, total in totals.items()}
    first: NDArray[np.intp] = totals[formulas[0].version].argmax(axis=1)
    return [*judged, PolicyJudgement("best of the three in every phase", best, float(tokens[rows, first].mean()))]


def _simulate_phases(world: World, number: int) -> list[tuple[dict[str, Outcome], int]]:
    """Return what each model would do in every phase of a mission without corrections, and the events of drift."""
    state, phases = DriftState(), []
    for step in range(len(PHASES)):
        outcomes = world.simulate_outcomes(number, (None,) * (step + 1))
        similarity = outcomes[TIERS[0]].similarity
        assert similarity is not None  # it is simulated
        state, point = observe(state, similarity, SENSITIVE)
        phases.append((outcomes, int(point.event)))
    return phases


def _choose_tiers(
    world: World, number: int, phases: Sequence[tuple[dict[str, Outcome], int]], choose: Choose
) -> list[int]:
    """Return the positions of the tiers that a policy chooses in the phases of a mission."""
    gains: list[float] = []
    positions, drift = [], 0.0
    for outcomes, _ in phases:
        tier = choose(world.build_phase(number, gains, drift=drift))
        positions.append(TIERS.index(tier))
        gains.append(outcomes[tier].score_delta)
        drift = 1 - (outcomes[tier].similarity or 0.0)
    return positions


def _build_fixed_policy(tier: str) -> Choose:
    return lambda phase: tier


def _build_router_policy(state: RouterState) -> Choose:
    return lambda phase: ROUTER.advise(state, encode_features(phase)).candidate
