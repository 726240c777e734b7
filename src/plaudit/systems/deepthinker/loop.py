"""The loop: a phase runs, what was measured becomes a reward, the reward is kept, and the learners learn from it."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from inspect import isawaitable
from typing import Any, Literal, NamedTuple, Protocol

from plaudit.errors import DefinitionError, InputError, WrongType
from plaudit.learn.alignment import ACTIONS, Parts, apply_caps, correction
from plaudit.learn.decision import Decision
from plaudit.learn.replay import read_lesson
from plaudit.learn.shared import SharedLearner
from plaudit.reward.reward import Reward
from plaudit.systems.deepthinker.config import RewardConfig
from plaudit.systems.deepthinker.drift import DriftConfig, DriftPoint, choose_correction, observe
from plaudit.systems.deepthinker.features import Features, read_features
from plaudit.systems.deepthinker.mission_state import (
    MissionState,
    advance_state,
    build_context,
    is_phase_record,
    measure_correction,
)
from plaudit.systems.deepthinker.phase import Outcome, validate_name
from plaudit.systems.deepthinker.reward_signal import RewardSignal, tune_reward
from plaudit.systems.deepthinker.reward_store import RewardStore
from plaudit.systems.deepthinker.reward_weights import RewardWeights

CORRECTION_CLASS = "alignment_action"
"""The decision class of corrections."""


class NamedPhase(Protocol):
    """A `Phase`, or an object of your own with a name."""

    @property
    def name(self) -> str:
        """What its records are found by."""


class Plan(NamedTuple):
    """The plan of the next phase; `Mission.plan` returns it.

    Example:
        plan = mission.plan(phase)
        tier = plan.decision.action
        mission.finish(phase, plan, run_phase(phase, tier, plan.correction))
    """

    decision: Decision
    """What was chosen, such as the tier of its model, and how likely that was."""
    correction: str | None
    """What to do about drift first, where something is to be done."""


class Step(NamedTuple):
    """A phase that has run, with its decision and reward; `Mission.run` returns it.

    Example:
        step = mission.run(phase, execute)
        print(step.decision.action, step.signal.reward, step.correction)
    """

    record: int
    """The number of its record."""
    phase: str
    decision: Decision
    signal: RewardSignal
    point: DriftPoint | None
    """What it says about the course of its mission, where that was measured."""
    correction: Decision | None
    """What the next phase is to begin with."""
    blocked: str | None
    """Why nothing was learned from it, where a rule said so."""


class Loop:
    """Shared by all missions: the store, the router that chooses, and the learner of corrections.

    Learners know only the records: every reward is recorded first, and each learner replays the records of its
    decision class in order. So a crash in between loses nothing, and several processes may share a store.

    Example:
        loop = Loop(store, router, corrections=corrections)
        mission = loop.mission("m1")
        step = mission.run(Phase(name="research"), execute)
        print(step.signal.reward)
    """

    def __init__(
        self,
        store: RewardStore,
        router: SharedLearner,
        *,
        corrections: SharedLearner | None = None,
        features: Features | None = None,
        credit: Literal["following", "formula"] = "following",
        drift: DriftConfig = DriftConfig(),  # noqa: B008 - it cannot be changed
        weights: RewardWeights = RewardWeights(),  # noqa: B008 - it cannot be changed
        config: RewardConfig = RewardConfig(),  # noqa: B008 - it cannot be changed
    ) -> None:
        """Take up what the store says so far; the learners are of the store's own ledger.

        The router sees of a phase what `features(phase)` gives; unless given, `read_features` finds what the router's
        features name. Without `corrections` drift is answered by rule. A correction is credited with the reward of the
        phase that follows it or, as `credit` says, by a formula of its own.
        """
        for learner in filter(None, (router, corrections)):
            if learner.ledger is not store.ledger:
                raise DefinitionError("the loop's learner must use the ledger of its store, store.ledger.")
        if corrections is not None:
            _validate_corrections(corrections)
        if credit not in ("following", "formula"):
            raise DefinitionError(f"credit={credit!r} must be 'following' or 'formula'.")
        self.store, self.router, self.corrections = store, router, corrections
        self.features, self.credit = features, credit
        self.drift, self.weights, self.config = drift, weights, config
        formula = tune_reward(weights, config)
        self._validate_one_reward(router.decision_class, formula, "its weights and settings")
        credited = formula if credit == "following" else correction
        self._validate_one_reward(CORRECTION_CLASS, credited, f"credit={credit!r}")

    def mission(self, mission_id: str) -> "Mission":
        """Return a mission as recorded so far, or a new one.

        Args:
            mission_id: Its name.

        Returns:
            The mission.
        """
        return Mission(self, mission_id)

    def catch_up(self) -> int:
        """Learn from new records, including those of other processes.

        Returns:
            The number of rewards learned from.
        """
        return sum(learner.catch_up() for learner in (self.router, self.corrections) if learner is not None)

    def _validate_one_reward(self, decision_class: str, formula: Reward, by: str) -> None:
        mine = (formula.name, formula.fingerprint)
        for each in self.store.ledger.rewards():
            if (each.name, each.fingerprint) != mine:
                chosen = {"decision_class": decision_class, "reward": each.name, "version": each.version}
                if any(read_lesson(record) for record in self.store.ledger.history(**chosen)):
                    raise InputError(
                        f"the recorded rewards of {decision_class!r} are of {each.name}@{each.version}; the loop would "
                        f"add rewards that are not comparable, because of {by}. Use a separate store."
                    )


class Mission:
    """One mission: its phases run one after another, and each is recorded and learned from once.

    Example:
        mission = loop.mission("m1")
        for phase in phases:
            mission.run(phase, execute)
    """

    def __init__(self, loop: Loop, mission_id: str) -> None:
        """Read what is on record of the mission; `state.steps` says which phase is next."""
        self.id = validate_name("mission_id", mission_id)
        self.state = MissionState()
        self.steps: list[Step] = []
        self._loop = loop
        self._due: list[_Credit] = []
        self._running = False
        for record in loop.store.iter_history(loop.router.decision_class, mission_id=mission_id, mixed=True):
            if is_phase_record(record.context):
                self._advance(record.id, record.phase, record.context, record.signal)
        credited = {record.key for record in loop.store.ledger.history(decision_class=CORRECTION_CLASS, run=mission_id)}
        self._due = [credit for credit in self._due if credit.decision.id not in credited]
        self._settle()  # a process that recorded a phase may have stopped before this

    def run(self, phase: NamedPhase, execute: Callable[[Any, Plan], Outcome]) -> Step:
        """Choose how to run the next phase, run it, and learn from its reward.

        If `execute` raises, nothing is recorded.

        Args:
            phase: The phase: a `Phase`, or your own object with a name.
            execute: A function of the phase and its plan that returns the outcome.

        Returns:
            The phase as it ran.

        Raises:
            WrongType: `execute` is asynchronous (use `arun`), or returned no Outcome.
            InputError: Another phase of the mission is still running.
        """
        with self._start(phase) as plan:
            outcome = execute(phase, plan)
            if isawaitable(outcome):
                _discard(outcome)
                raise WrongType(
                    f"the phase {phase.name!r} runs asynchronously: use `await mission.arun(phase, execute)`. "
                    "Nothing was recorded."
                )
            return self.finish(phase, plan, outcome)

    async def arun(self, phase: NamedPhase, execute: Callable[[Any, Plan], Outcome | Awaitable[Outcome]]) -> Step:
        """Run the next phase with a coroutine function; a plain function blocks the event loop.

        Missions may run in parallel. Recording is synchronous, so a cancelled phase leaves no record.

        Args:
            phase: The phase: a `Phase`, or your own object with a name.
            execute: A function of the phase and its plan that returns the outcome.

        Returns:
            The phase as it ran.
        """
        with self._start(phase) as plan:
            outcome = execute(phase, plan)
            return self.finish(phase, plan, await outcome if isawaitable(outcome) else outcome)

    @contextmanager
    def _start(self, phase: NamedPhase) -> Iterator[Plan]:
        """Plan a phase that is about to run; meanwhile the mission runs no other."""
        if self._running:
            raise InputError(
                f"a phase of the mission {self.id!r} is still running: a mission runs one at a time. Wait for it, or "
                "run phases in parallel in separate missions."
            )
        self._running = True
        try:
            yield self.plan(phase)
        finally:
            self._running = False

    def plan(self, phase: NamedPhase) -> Plan:
        """Choose how to run the next phase; call `finish` afterwards. `run` does both.

        Args:
            phase: The phase: a `Phase`, or your own object with a name.

        Returns:
            The plan.
        """
        validate_name("phase name", getattr(phase, "name", None))
        self._settle()
        if self._loop.corrections is not None:
            self._loop.corrections.catch_up()  # a record that cannot be learned from raises before the phase runs
        router = self._loop.router
        decision = self._choose(router, read_features(phase, router.learner.features, self._loop.features))
        return Plan(decision, self.state.begun_with[-1])

    def finish(self, phase: NamedPhase, plan: Plan, outcome: Outcome) -> Step:
        """Record the reward of a phase and learn from it.

        Args:
            phase: The phase that has run.
            plan: Its plan.
            outcome: What was measured.

        Returns:
            The phase as it ran.

        Raises:
            WrongType: The outcome is not an Outcome.
            InputError: The plan is not for the next phase.
        """
        if not isinstance(outcome, Outcome):
            raise WrongType(f"the phase {phase.name!r} returned {outcome!r:.60}, not an Outcome. Nothing was recorded.")
        loop, before, key = self._loop, self.state, self._build_key(self._loop.router)
        if plan.decision.id != key:
            raise InputError(f"the plan {plan.decision.id!r} is not for the next phase, {key!r}: each plan runs once.")
        point = None
        if outcome.similarity is not None:
            _, point = observe(before.drift, outcome.similarity, loop.drift)
        signal = outcome.build_signal(int(point is not None and point.event), loop.weights, loop.config)
        loop.router.learner.update(loop.router.state, plan.decision, signal.reward)  # a record stays: refuse it before
        context = build_context(before.steps, plan.decision, outcome, self._choose_correction(point), loop.drift)
        if loop.router.learner.features and all(step.blocked for step in self.steps):
            context["decision"]["features"] = list(loop.router.learner.features)  # once a mission is enough
        number = loop.store.add(
            mission_id=self.id,
            phase=phase.name,
            decision_context={"decision_class": loop.router.decision_class, **context},
            signal=signal,
            key=key,
        )
        step = self._advance(number, phase.name, context, signal)
        self._settle()
        loop.catch_up()
        return step

    def _advance(self, number: int, phase: str, context: Mapping[str, Any], signal: RewardSignal) -> Step:
        """Take note of a phase that is on record, and of the credit that is due for the correction before it."""
        decision = Decision.from_dict(context["decision"], f"record {number}")
        before = self.state
        self.state = advance_state(before, context, signal, self._loop.drift, f"record {number}")
        blocked = context.get("blocked")
        step = Step(number, phase, decision, signal, self.state.point, self.state.correction, blocked)
        self.steps.append(step)
        if before.correction is not None:
            self._due.append(_Credit(before.correction, measure_correction(before, self.state), step))
        return step

    def _choose_correction(self, point: DriftPoint | None) -> Decision | None:
        """Return what to do about an event of drift: what the learner chooses or, without one, what the rule says."""
        if point is None or not point.event:
            return None
        if self._loop.corrections is not None:
            chosen = self._choose(self._loop.corrections)
            return apply_caps(chosen, self.state.used, actions=self._loop.corrections.learner.actions)
        name = f"{self.id}/{self.state.steps}/{CORRECTION_CLASS}"
        return apply_caps(Decision(choose_correction(point), None, None, None, 0, id=name), self.state.used)

    def _settle(self) -> None:
        """Record every credit that is due; one that fails stays due, and recording it again changes nothing."""
        while self._due:
            self._credit(*self._due[0])
            del self._due[0]

    def _credit(self, decision: Decision, parts: Parts | None, step: Step) -> None:
        """Record what a correction is credited with, now that a phase has followed it."""
        loop = self._loop
        context: dict[str, Any] = {"decision": decision.to_dict()}
        if parts is not None:
            context["parts"] = parts._asdict()
        if step.blocked is not None:
            context["blocked"] = step.blocked
        about: dict[str, Any] = {"phase": step.phase, "key": decision.id}
        if loop.credit == "following":
            decided = {"decision_class": CORRECTION_CLASS, **context}
            loop.store.add(mission_id=self.id, decision_context=decided, signal=step.signal, **about)
        elif parts is not None:
            loop.store.ledger.record(
                parts.signal(), run=self.id, decision_class=CORRECTION_CLASS, context=context, **about
            )

    def _choose(self, learner: SharedLearner, context: tuple[float, ...] | None = None) -> Decision:
        """Return a decision on all that is on record; a mission that is taken up again decides as it would have."""
        return learner.choose(context, id=self._build_key(learner))

    def _build_key(self, learner: SharedLearner) -> str:
        return f"{self.id}/{self.state.steps}/{learner.decision_class}"


def _discard(awaitable: Any) -> None:
    """Stop what nothing will wait for, so that Python does not warn of it."""
    stop = getattr(awaitable, "close", None) or getattr(awaitable, "cancel", None)
    if stop is not None:
        stop()


class _Credit(NamedTuple):
    """What is due for a correction: the phase that followed it, and what it changed, where that was measured."""

    decision: Decision
    parts: Parts | None
    step: Step


def _validate_corrections(corrections: SharedLearner) -> None:
    """Refuse a learner that cannot choose corrections, before a phase runs that would need one."""
    actions, features = corrections.learner.actions, corrections.learner.features
    if corrections.decision_class != CORRECTION_CLASS:
        raise DefinitionError(f"the corrections are for {corrections.decision_class!r}, not for {CORRECTION_CLASS!r}.")
    if set(actions) != set(ACTIONS):
        raise DefinitionError(f"the corrections choose among {', '.join(actions)}, not among {', '.join(ACTIONS)}.")
    if features:
        raise DefinitionError(f"the corrections read {', '.join(features)}, but are chosen without features: use ucb1.")
