"""A coding episode: agents talk, edit and test, the controller decides how they talk, and every step is paid."""

import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from plaudit.errors import OutOfRange
from plaudit.systems.apex.chooser import Chooser
from plaudit.systems.apex.coding.agents import AGENTS, Agents
from plaudit.systems.apex.coding.project import TASKS, TESTS, Project
from plaudit.systems.apex.coding.talk import Said, Talk
from plaudit.systems.apex.controller import Controller, Stats
from plaudit.systems.apex.features import FeatureSource
from plaudit.systems.apex.logs.artifacts import Artifacts
from plaudit.systems.apex.logs.rows import DecisionRow, RewardRow
from plaudit.systems.apex.phases import PhaseCounts, count_phases
from plaudit.systems.apex.probing.budget import BUDGET, Denial, TokenBudget
from plaudit.systems.apex.probing.junit import PytestRun
from plaudit.systems.apex.probing.probes import PytestProbe
from plaudit.systems.apex.switching import Coordinator, Router, SwitchEngine

if TYPE_CHECKING:
    from plaudit.ledger.store import Ledger

STEPS = 60
"""How many steps an episode has at most."""


class Step(NamedTuple):
    """One step: what was decided in the state before it, the state that it led to, and what that earned."""

    decision: DecisionRow
    state: dict[str, Any]
    tests: PytestRun
    """The last run of the tests by then."""
    reward: RewardRow


class Episode(NamedTuple):
    """A whole episode."""

    first: dict[str, Any]
    """The state that it began in."""
    steps: tuple[Step, ...]
    end: RewardRow
    said: tuple[Said, ...]
    """Every message that was let through, in order."""
    refused_ways: int
    """How often the topology refused the direct way, so that somebody had to pass a message on."""
    phases: PhaseCounts
    denials: tuple[Denial, ...]
    stats: Stats

    @property
    def success(self) -> bool:
        """Whether it ended with every test passing."""
        return self.end.r_step > 0

    @property
    def tokens(self) -> int:
        """The tokens that it took."""
        return int(self.steps[-1].state["tokens_used"]) if self.steps else 0


async def coding_episode(
    folder: str | os.PathLike[str],
    *,
    chooser: Chooser | None = None,
    seed: int = 0,
    budget: int = BUDGET,
    most: int = STEPS,
    artifacts: Artifacts | None = None,
    ledger: "Ledger | None" = None,
    run: str = "coding",
    episode: int = 1,
    clock: Callable[[], float] = time.perf_counter,
    told: Callable[[Step], None] | None = None,
    python: str | os.PathLike[str] = sys.executable,
) -> Episode:
    """Let four agents write a small module in `folder`, and return how that went.

    Messages, edits and tests are real; what agents say is scripted. The same chooser (or `seed`) and the same options
    give the same episode to the bit, but for what `clock` measures. `told` is called after every step.
    """
    if most < 1:
        raise OutOfRange(f"most={most!r} must be a number of steps from 1 up.")
    setting = _Setting(folder, budget, python)
    controller = Controller(
        setting.coordinator,
        setting.features,
        learner=Chooser(seed=seed) if chooser is None else chooser,
        artifacts=artifacts,
        ledger=ledger,
        run=run,
        episode=episode,
        clock=clock,
    )
    setting.agents.last = await setting.probe.arun()
    setting.talk.start(f"Make the tests pass: {', '.join(TASKS)}.")
    states = [setting.state()]
    steps: list[Step] = []
    try:
        while len(steps) < most and setting.agents.phase != "done":
            setting.talk.step = len(states)
            decision = await controller.tick()
            await setting.work()
            states.append(setting.state())
            reward = controller.observe(states[-2], states[-1])
            steps.append(Step(decision, states[-1], setting.agents.last, reward))
            if told is not None:
                told(steps[-1])
        end = controller.finish(setting.agents.phase == "done" and setting.agents.last.success)
    finally:
        controller.abandon()  # where it was broken off
    return Episode(
        states[0],
        tuple(steps),
        end,
        tuple(setting.talk.said),
        setting.talk.refused,
        count_phases(states),
        setting.budget.denials,
        controller.stats,
    )


class _Setting:
    """The runtime of an episode. Its time is counted and not measured, so that no delay changes what happens."""

    def __init__(self, folder: str | os.PathLike[str], budget: int, python: str | os.PathLike[str]) -> None:
        self._now = 0.0
        self.budget = TokenBudget(budget)
        self.features = FeatureSource(budget=self.budget)
        router = Router(AGENTS, clock=lambda: self._now)
        self.talk = Talk(router, self.features)
        engine = SwitchEngine(router, clock=lambda: self._now, sleep=self._pass)
        self.coordinator = Coordinator(engine)
        project = Project(folder)
        self.probe = PytestProbe(project.folder, python=python, expected=TESTS, plugins=False)
        self.agents = Agents(self.talk, project, self.probe.arun, self.budget)

    async def work(self) -> None:
        """Let the agents take what was sent to them, and act on it."""
        self.talk.collect()
        await self.agents.act()
        self._now += 1.0

    async def _pass(self, seconds: float) -> None:
        """Let time pass while a switch waits: the agents go on receiving, which is what it waits for."""
        self._now += seconds
        self.talk.collect()

    def state(self) -> dict[str, Any]:
        """Return what the reward reads."""
        tests = self.agents.last
        return {
            "phase": self.agents.phase,
            "test_pass_rate": 0.0 if tests is None else tests.rate,
            "tokens_used": self.budget.used,
            "role_shares": self.features.role_shares,
        }
