"""Simulated missions through the loop: every phase chosen, run, rewarded, recorded and learned from."""

from collections.abc import Callable
from typing import NamedTuple

from plaudit.errors import FileError
from plaudit.learn.alignment import ACTIONS
from plaudit.learn.bandits import linucb, ucb1
from plaudit.learn.router import Router
from plaudit.learn.shared import SharedLearner
from plaudit.reward.reward import Reward
from plaudit.systems.deepthinker.advisor import TIERS, guess_tier
from plaudit.systems.deepthinker.drift import SENSITIVE
from plaudit.systems.deepthinker.features import FEATURES
from plaudit.systems.deepthinker.loop import CORRECTION_CLASS, Loop, Mission
from plaudit.systems.deepthinker.phase import Outcome
from plaudit.systems.deepthinker.reward_signal import reward
from plaudit.systems.deepthinker.reward_store import RewardStore
from plaudit.systems.deepthinker.simulated.world import PHASES, World

_BANDIT = linucb(TIERS, FEATURES, alpha=0.1, ridge=0.3, intercept=False)  # its tasks say as much
ROUTER = Router(_BANDIT, guess_tier, minimum=24, trial=0.3)
"""Every tier keeps a chance of 2 %, so that the history can be judged by other policies afterwards."""
CORRECTOR = ucb1(ACTIONS, width=0.2)

DECISION_CLASS = "model_tier"
"""The decision class of the router."""

OnMission = Callable[[int, int], None]
"""Called after every mission with how many are done, and of how many."""


class SimulatedPhase(NamedTuple):
    """A phase as the run met it, and what every model would have earned in it."""

    phase: str
    tier: str
    rewards: tuple[float, ...]
    """By tier, in the order of `TIERS`: one of them was earned, the others are known because all is simulated."""
    tokens: tuple[int, ...]


def validate_store(store: RewardStore, *, missions: int, seed: int) -> None:
    """Refuse a store that holds other missions than those of this run: a report would count them as its own."""
    mine = {_format_name(seed, number) for number in range(missions)}
    for record in store.ledger.history(decision_class=DECISION_CLASS):
        if record.run not in mine:
            raise FileError(
                f"the folder holds {record.run!r}, which is not one of the {missions} missions of seed {seed}. Resume "
                "with the same seed and at least as many missions, or name another folder."
            )


def simulate(
    store: RewardStore, *, missions: int, seed: int, on_mission: OnMission | None = None
) -> tuple[Loop, list[SimulatedPhase]]:
    """Run missions of a seed through the loop, but for what the store holds of them already."""
    world = World(seed)
    router = SharedLearner(store.ledger, ROUTER, decision_class=DECISION_CLASS, seed=seed)
    corrector = SharedLearner(store.ledger, CORRECTOR, decision_class=CORRECTION_CLASS, seed=seed)
    loop = Loop(store, router, corrections=corrector, drift=SENSITIVE)
    phases: list[SimulatedPhase] = []
    for number in range(missions):
        mission = loop.mission(_format_name(seed, number))
        while mission.state.steps < len(PHASES):
            run_phase(world, number, mission)
        phases += _list_phases(world, number, mission)
        if on_mission is not None:
            on_mission(number + 1, missions)
    return loop, phases


def run_phase(world: World, number: int, mission: Mission) -> None:
    """Run the next phase of a simulated mission."""
    state = mission.state
    outcomes = world.simulate_outcomes(number, state.begun_with)
    drift = state.point.drift if state.point else 0.0
    phase = world.build_phase(number, state.gains, drift=drift, corrections=sum(state.used.values()))
    mission.run(phase, lambda phase, plan: outcomes[plan.decision.action])


def score_outcome(outcome: Outcome, events: int, formula: Reward = reward) -> float:
    """Return what an outcome earns by a formula."""
    return formula.score(**outcome.to_measurements(events)).total


def _format_name(seed: int, number: int) -> str:
    return f"seed {seed}, mission {number}"


def _list_phases(world: World, number: int, mission: Mission) -> list[SimulatedPhase]:
    """Return the phases of a mission that is done, with what every model would have earned in them."""
    phases = []
    for at, step in enumerate(mission.steps):
        outcomes = world.simulate_outcomes(number, mission.state.corrections[: at + 1])
        events = int(step.point is not None and step.point.event)
        rewards = tuple(score_outcome(outcomes[tier], events) for tier in TIERS)
        tokens = tuple(outcomes[tier].cost_tokens for tier in TIERS)
        phases.append(SimulatedPhase(step.phase, step.decision.action, rewards, tokens))
    return phases
