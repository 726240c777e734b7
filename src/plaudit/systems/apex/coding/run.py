"""Coding episodes one after another: what one has taught the learner, the next goes on with, also another day."""

import os
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from plaudit.errors import FileError, OutOfRange
from plaudit.file_lock import lock_folder
from plaudit.systems.apex.budget import BUDGET, Denial, TokenBudget
from plaudit.systems.apex.coding.agents import AGENTS, Agents, Conversation, SentMessage
from plaudit.systems.apex.coding.project import TASKS, TESTS, Project
from plaudit.systems.apex.controller import Controller, ControllerStats
from plaudit.systems.apex.decision import Chooser
from plaudit.systems.apex.features import FeatureSource
from plaudit.systems.apex.logs.artifacts import DECISIONS, Artifacts, read_decisions
from plaudit.systems.apex.logs.logbook import DECISION_CLASS
from plaudit.systems.apex.logs.rows import DecisionRow, RewardRow
from plaudit.systems.apex.phases import PhaseCounts, count_phases
from plaudit.systems.apex.pytest_probe import PytestProbe
from plaudit.systems.apex.pytest_results import PytestRun
from plaudit.systems.apex.switching import Coordinator, Router, SwitchEngine

if TYPE_CHECKING:
    from plaudit.ledger.ledger import Ledger

SEED = 7
"""What chance depends on, unless another seed is given."""

STEPS = 60
"""How many steps an episode has at most."""

RUN = "coding"
"""The name of the run in the ledger."""

LEARNER = "learner.json"
LEDGER = "rewards.db"
PROJECT = "project"


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
    messages: tuple[SentMessage, ...]
    """Every message that was let through, in order."""
    refused_ways: int
    """How often the topology refused the direct way, so that somebody had to pass a message on."""
    phases: PhaseCounts
    denials: tuple[Denial, ...]
    stats: ControllerStats

    @property
    def success(self) -> bool:
        """Whether it ended with every test passing."""
        return self.end.r_step > 0

    @property
    def tokens(self) -> int:
        """The tokens that it took."""
        return int(self.steps[-1].state["tokens_used"]) if self.steps else 0


class CodingRun(NamedTuple):
    """The episodes of a run, and what is known after them."""

    first: int
    """The number of the first of these episodes."""
    episodes: tuple[Episode, ...]
    chooser: Chooser


OnStep = Callable[[int, Step], None]
"""Called after every step with the number of its episode."""


async def run_episodes(
    episodes: int = 1,
    *,
    out: str | os.PathLike[str] | None = None,
    seed: int | None = None,
    budget: int = BUDGET,
    max_steps: int = STEPS,
    on_step: OnStep | None = None,
) -> CodingRun:
    """Run coding episodes, one learner through all of them, and return them.

    With `out` the folder of that name keeps everything: the logs in `artifacts`, every reward in the ledger
    `rewards.db`, the learner in `learner.json`, written when an episode ends, and the project as the last one left it.
    Where they are there already, the run goes on with them; a `project` that no run wrote is left alone, and so is a
    folder that another run is writing to.
    """
    with ExitStack() as stack:
        if out is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="plaudit-")))
            chooser, artifacts, ledger, first = Chooser(seed=SEED if seed is None else seed), None, None, 1
        else:
            from plaudit.ledger.ledger import Ledger

            folder = stack.enter_context(lock_folder(out))
            chooser = _load_chooser(folder, seed)
            artifacts = stack.enter_context(Artifacts(folder))
            ledger = stack.enter_context(Ledger(folder / LEDGER))
            _catch_up(chooser, ledger)
            first = 1 + _count_episodes(artifacts.folder)
            chooser.save(folder / LEARNER)  # whatever stops the run, it goes on with this seed
        probe = stack.enter_context(build_probe(folder / PROJECT))
        finished: list[Episode] = []
        for number in range(first, first + episodes):
            finished.append(
                await run_episode(
                    folder / PROJECT,
                    chooser=chooser,
                    budget=budget,
                    max_steps=max_steps,
                    artifacts=artifacts,
                    ledger=ledger,
                    run=RUN,
                    episode=number,
                    probe=probe,
                    on_step=None if on_step is None else partial(on_step, number),
                )
            )
            if out is not None:
                chooser.save(folder / LEARNER)
        return CodingRun(first, tuple(finished), chooser)


async def run_episode(
    folder: str | os.PathLike[str],
    *,
    chooser: Chooser | None = None,
    seed: int = 0,
    budget: int = BUDGET,
    max_steps: int = STEPS,
    artifacts: Artifacts | None = None,
    ledger: "Ledger | None" = None,
    run: str = "coding",
    episode: int = 1,
    clock: Callable[[], float] = time.perf_counter,
    on_step: Callable[[Step], None] | None = None,
    probe: PytestProbe | None = None,
) -> Episode:
    """Let four agents write a small module in `folder`, and return how that went.

    Messages, edits and tests are real; what agents say is scripted. The same chooser (or `seed`) and the same options
    give the same episode to the bit, but for what `clock` measures. `on_step` is called after every step. `probe` runs
    the tests; episodes that share one share the process that does.
    """
    if max_steps < 1:
        raise OutOfRange(f"max_steps={max_steps!r} must be 1 or more.")
    with build_probe(folder) if probe is None else nullcontext(probe) as tests:
        runtime = _Runtime(folder, budget, tests)
        controller = Controller(
            runtime.coordinator,
            runtime.features,
            learner=Chooser(seed=seed) if chooser is None else chooser,
            artifacts=artifacts,
            ledger=ledger,
            run=run,
            episode=episode,
            clock=clock,
        )
        return await _play(runtime, controller, max_steps, on_step)


def build_probe(folder: str | os.PathLike[str]) -> PytestProbe:
    """Return what runs the tests of a project in `folder`; in a `with` block, one process does for all episodes."""
    return PytestProbe(folder, expected=TESTS, plugins=False)


async def _play(
    runtime: "_Runtime", controller: Controller, max_steps: int, on_step: Callable[[Step], None] | None
) -> Episode:
    runtime.agents.last_run = await runtime.agents.run_tests()
    runtime.conversation.start(f"Make the tests pass: {', '.join(TASKS)}.")
    states = [runtime.read_state()]
    steps: list[Step] = []
    try:
        while len(steps) < max_steps and runtime.agents.phase != "done":
            runtime.conversation.step = len(states)
            decision = await controller.tick()
            await runtime.work()
            states.append(runtime.read_state())
            reward = controller.observe(states[-2], states[-1])
            steps.append(Step(decision, states[-1], runtime.agents.last_run, reward))
            if on_step is not None:
                on_step(steps[-1])
        end = controller.finish(runtime.agents.phase == "done" and runtime.agents.last_run.success)
    finally:
        controller.abandon()  # where it was broken off
    return Episode(
        states[0],
        tuple(steps),
        end,
        tuple(runtime.conversation.messages),
        runtime.conversation.refused,
        count_phases(states),
        runtime.budget.denials,
        controller.stats,
    )


class _Runtime:
    """The runtime of an episode. Its time is counted and not measured, so that no delay changes what happens."""

    def __init__(self, folder: str | os.PathLike[str], budget: int, probe: PytestProbe) -> None:
        self._now = 0.0
        self.budget = TokenBudget(budget)
        self.features = FeatureSource(budget=self.budget)
        router = Router(AGENTS, clock=lambda: self._now)
        self.conversation = Conversation(router, self.features)
        engine = SwitchEngine(router, clock=lambda: self._now, sleep=self._sleep)
        self.coordinator = Coordinator(engine)
        project = Project(folder)
        self.agents = Agents(self.conversation, project, probe.arun, self.budget)

    async def work(self) -> None:
        """Let the agents take what was sent to them, and act on it."""
        self.conversation.collect()
        await self.agents.act()
        self._now += 1.0

    async def _sleep(self, seconds: float) -> None:
        """Let time pass while a switch waits: the agents go on receiving, which is what it waits for."""
        self._now += seconds
        self.conversation.collect()

    def read_state(self) -> dict[str, Any]:
        """Return what the reward reads."""
        tests = self.agents.last_run
        return {
            "phase": self.agents.phase,
            "test_pass_rate": 0.0 if tests is None else tests.rate,
            "tokens_used": self.budget.used,
            "role_shares": self.features.role_shares,
        }


def _load_chooser(folder: Path, seed: int | None) -> Chooser:
    """Return the learner that a folder keeps, or a new one where nothing is in its way."""
    if not (folder / LEARNER).exists():
        project = folder / PROJECT
        if project.exists() and not (folder / LEDGER).exists() and (not project.is_dir() or any(project.iterdir())):
            raise FileError(f"{project} was not written by a run and would be overwritten. Name another folder.")
        return Chooser(seed=SEED if seed is None else seed)
    chooser = Chooser.load(folder / LEARNER)
    if seed not in (None, chooser.seed):
        raise FileError(
            f"{folder} holds a run with seed {chooser.seed}, not {seed}. Omit the seed to resume it, or name "
            "another folder."
        )
    return chooser


def _catch_up(chooser: Chooser, ledger: "Ledger") -> None:
    """Learn what the ledger holds and the learner's file does not: an episode was broken off."""
    from plaudit.learn import fit

    if ledger.history(run=RUN, decision_class=DECISION_CLASS).count() > sum(chooser.state.pulls):
        chooser.state = fit(ledger, chooser.learner, decision_class=DECISION_CLASS, run=RUN)


def _count_episodes(logs: Path) -> int:
    """Return how many episodes the logs hold, also those that were broken off."""
    return sum(row.step == 1 for row in read_decisions(logs)) if (logs / DECISIONS).exists() else 0
