"""Simulated missions through the loop: every phase chosen, run, rewarded, recorded and learnt from."""

from collections.abc import Callable
from typing import NamedTuple

from plaudit.errors import InputError
from plaudit.learn.alignment import ACTIONS
from plaudit.learn.bandits import linucb, ucb1
from plaudit.learn.router import Router
from plaudit.learn.shared import SharedLearner
from plaudit.reward.reward import Reward
from plaudit.systems.deepthinker.advisor import TIERS, weighted_tier
from plaudit.systems.deepthinker.drift import SENSITIVE
from plaudit.systems.deepthinker.features import FEATURES
from plaudit.systems.deepthinker.loop import CORRECTIONS, Loop, Mission
from plaudit.systems.deepthinker.phase import Outcome
from plaudit.systems.deepthinker.reward_signal import reward
from plaudit.systems.deepthinker.reward_store import RewardStore
from plaudit.systems.deepthinker.simulated.world import PHASES, World

ROUTER = Router(linucb(TIERS, FEATURES, alpha=0.1, ridge=0.3), weighted_tier, minimum=24, trial=0.3)
"""Every tier keeps a chance of 2 %, so that the history can be judged by other policies afterwards."""
CORRECTOR = ucb1(ACTIONS, width=0.2)

DECIDED = "model_tier"
"""The decision class of the router."""

Told = Callable[[int, int], None]
"""Told how many missions are done, and of how many."""


class Met(NamedTuple):
    """A phase as the run met it, and what every model would have earned in it."""

    phase: str
    tier: str
    rewards: tuple[float, ...]
    """By tier, in the order of `TIERS`: one of them was earned, the others are known because all is simulated."""
    tokens: tuple[int, ...]


def check_one_run(store: RewardStore, *, missions: int, seed: int) -> None:
    """Refuse a store that holds other missions than those of this run: a report would count them as its own."""
    mine = {_name(seed, number) for number in range(missions)}
    for record in store.ledger.history(decision_class=DECIDED):
        if record.run not in mine:
            raise InputError(
                f"the folder holds {record.run!r}, which is none of the {missions} missions of seed {seed}. Go on with "
                "the seed that is there and with as many missions or more, or name another folder."
            )


def simulate(store: RewardStore, *, missions: int, seed: int, told: Told | None = None) -> tuple[Loop, list[Met]]:
    """Run missions of a seed through the loop, but for what the store holds of them already."""
    world = World(seed)
    router = SharedLearner(store.ledger, ROUTER, decision_class=DECIDED, seed=seed)
    corrector = SharedLearner(store.ledger, CORRECTOR, decision_class=CORRECTIONS, seed=seed)
    loop = Loop(store, router, corrections=corrector, drift=SENSITIVE)
    met: list[Met] = []
    for number in range(missions):
        mission = loop.mission(_name(seed, number))
        while mission.state.steps < len(PHASES):
            run_phase(world, number, mission)
        met += _met(world, number, mission)
        if told is not None:
            told(number + 1, missions)
    return loop, met


def run_phase(world: World, number: int, mission: Mission) -> None:
    """Run the next phase of a simulated mission."""
    state = mission.state
    outcomes = world.outcomes(number, state.begun_with)
    drift = state.point.drift if state.point else 0.0
    phase = world.phase(number, state.gains, drift=drift, corrections=sum(state.used.values()))
    mission.run(phase, lambda phase, plan: outcomes[plan.decision.action])


def earned(outcome: Outcome, events: int, formula: Reward = reward) -> float:
    """Return what an outcome earns by a formula."""
    return formula.score(**outcome.measured(events)).total


def _name(seed: int, number: int) -> str:
    return f"seed {seed}, mission {number}"


def _met(world: World, number: int, mission: Mission) -> list[Met]:
    """Return the phases of a mission that is done, with what every model would have earned in them."""
    found = []
    for at, step in enumerate(mission.steps):
        outcomes = world.outcomes(number, mission.state.corrections[: at + 1])
        events = int(step.point is not None and step.point.event)
        rewards = tuple(earned(outcomes[tier], events) for tier in TIERS)
        tokens = tuple(outcomes[tier].cost_tokens for tier in TIERS)
        found.append(Met(step.phase, step.decision.action, rewards, tokens))
    return found
