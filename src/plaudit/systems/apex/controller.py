"""The controller: at every step it decides whether the agents talk in another way, and learns what that earned."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from plaudit import Signal
from plaudit.errors import InputError, OutOfRange, UnknownCategory
from plaudit.systems.apex.decision import Choice, Chooser, Credit, build_learner, validate_learner
from plaudit.systems.apex.features import FeatureSource
from plaudit.systems.apex.logs.artifacts import Artifacts, all_tests_pass
from plaudit.systems.apex.logs.logbook import Logbook
from plaudit.systems.apex.logs.rows import DecisionRow, RewardRow
from plaudit.systems.apex.reward import RewardAccumulator
from plaudit.systems.apex.runtime import Outcome, Switchable, adapt_runtime, carry_out, find_outcome
from plaudit.systems.apex.switching.topologies import STAY

if TYPE_CHECKING:
    from plaudit.learn.bandits import Learner
    from plaudit.learn.decision import Decision
    from plaudit.ledger.ledger import Ledger


class ControllerStats(NamedTuple):
    """How an episode went so far, as its controller saw it."""

    decisions: int
    requested: Mapping[str, int]
    """How often each action was chosen."""
    executed: Mapping[str, int]
    """How often each took effect."""
    switches: Mapping[str, int]
    """What became of the switches that were attempted: committed, refused, aborted, failed, timed_out or cancelled."""
    credited: int
    """Decisions whose reward is known."""
    earned: float
    """The sum of the rewards, the bonus included."""
    epsilon: float | None
    """The share of random choices at the last decision, where the learner has one."""
    latencies: tuple[float, ...]
    """How long each choice took, in milliseconds."""

    def percentile(self, share: float) -> float:
        """Return the latency that `share` of the choices stay below: the one at floor(share · n) when sorted."""
        ordered = sorted(self.latencies)
        return ordered[min(int(share * len(ordered)), len(ordered) - 1)] if ordered else 0.0


class Controller:
    """Decides about the topology of one episode, step by step, and learns from what each step earned.

    At each state of the task `tick` takes a decision and carries it out; when the agents have worked, `observe` takes
    the states before and after and credits that decision; `finish` ends the episode. Each returns the row it logged.
    The next episode has a controller of its own, which goes on with the same `Chooser` or with a saved one.

    >>> from plaudit.systems.apex.switching import Coordinator, Router, SwitchEngine
    >>> controller = Controller(Coordinator(SwitchEngine(Router())), FeatureSource(), seed=7)
    >>> asyncio.run(controller.tick()).executed
    'stay'
    >>> controller.observe({"phase": "planning"}, {"phase": "coding", "tokens_used": 50}).r_step
    0.295
    >>> controller.finish(success=True).r_step
    1.0
    """

    def __init__(
        self,
        runtime: Switchable,
        features: FeatureSource,
        *,
        learner: "Chooser | Learner | None" = None,
        reward: RewardAccumulator | None = None,
        artifacts: Artifacts | None = None,
        ledger: "Ledger | None" = None,
        run: str = "apex",
        episode: int = 1,
        seed: int = 0,
        clock: Callable[[], float] = time.perf_counter,
        credit: Credit = "executed",
        terminal_credit: bool = True,
        switch_timeout: float | None = 30.0,
    ) -> None:
        """Begin an episode.

        `runtime` is a `Coordinator`, or anything with a `topology` and an `async def switch(topology)`. A switch that
        takes longer than `switch_timeout` seconds is cancelled and counts as refused; None waits forever.
        `learner` is by default the bandit of the specification; a `Chooser` brings what it has learned, and
        its own seed.
        `credit` says which action a reward is learned for: "executed", the one that took effect, so "stay" where a
        switch was refused, or "requested", the one that was asked for. The name of the active topology is both.
        `terminal_credit` says whether the bonus at the end is learned too, by the last decision. `clock` is in seconds.
        """
        if credit not in ("executed", "requested"):
            raise UnknownCategory(f"credit={credit!r} is neither 'executed' nor 'requested'.")
        if switch_timeout is not None and not switch_timeout > 0:
            raise OutOfRange(f"switch_timeout={switch_timeout!r} must be a number of seconds above 0, or None.")
        self.coordinator = adapt_runtime(runtime, features)
        self.features = features
        if learner is None:
            learner = build_learner(features.topologies, features.names)
        self.chooser = learner if isinstance(learner, Chooser) else Chooser(learner, seed=seed)
        validate_learner(self.chooser.learner, features)
        self.reward = RewardAccumulator() if reward is None else reward
        self.logbook = Logbook(artifacts, ledger, run=run, episode=episode)
        self.step = 0
        """The number of the last tick."""
        self._clock = clock
        self._credit_to = credit
        self._terminal_credit = terminal_credit
        self._switch_timeout = switch_timeout
        self._lock = asyncio.Lock()
        self._rows: list[DecisionRow] = []
        self._decision: Decision | None = None  # the last decision, as it is to be credited
        self._pending = False  # whether it waits for its reward
        self._switched = False  # whether a switch was committed since the last state that was observed
        self._ended = False
        self._state: Mapping[str, Any] = {}
        self._switches: Counter[str] = Counter()
        self._credited = 0
        self._earned = 0.0

    async def tick(self) -> DecisionRow:
        """Take and carry out the decision for the current state.

        A switch that is refused, aborted, fails or times out is logged like any other decision: its row has the reason,
        and the executed action is "stay". Concurrent ticks wait for each other. A cancelled tick logs its decision and
        raises the cancellation. If a log fails, the error is raised; the decision has taken effect, and its step can
        be observed.

        Returns:
            The row that was logged.
        """
        async with self._lock:
            self._check_open()
            began = self._clock()
            self._record_unrewarded()
            self.coordinator.step()
            choice = self._choose()
            action = choice.decision.action
            try:
                outcome = await carry_out(self.coordinator, action, self._switch_timeout)
            except BaseException as error:
                told = type(error).__name__
                outcome = find_outcome(self.coordinator, action, choice.topology, "cancelled", told)
                self._conclude(choice, outcome, began)
                raise
            return self._conclude(choice, outcome, began)

    def observe(self, prev: Mapping[str, Any], curr: Mapping[str, Any]) -> RewardRow:
        """Credit the last decision with the reward of its step.

        A switch that the controller committed is charged whether or not `curr` says so.

        Args:
            prev: The state in which the decision was taken.
            curr: The state after the step.

        Returns:
            The row that was logged.

        Raises:
            InputError: No decision waits for a reward, or the step cannot be scored. Nothing is learned or logged, and
                the step can be observed again.
        """
        self._check_open(idle=True)
        if not self._pending:
            raise InputError(
                "there is no decision to credit: call observe once per step, after the tick of its first state."
            )
        if self._switched:
            curr = {**curr, "switch_committed": True}
        row = self._credit(self.step + 1, self.reward.signal(prev, curr))
        self._pending = self._switched = False
        self._state = curr
        return row

    def finish(self, success: bool | None = None) -> RewardRow:
        """End the episode and credit the bonus to its last decision.

        The bonus comes on top of the reward of that decision's step. If no step was observed for it, the bonus is its
        only reward, and a switch that it committed is not charged. If a log fails, call it again.

        Args:
            success: Whether every test passes. If None, the last state decides.

        Returns:
            The row that was logged.
        """
        self._check_open(idle=True)
        signal = self.reward.reward.score_terminal(success=all_tests_pass(self._state) if success is None else success)
        reached = self.step if self._pending else self.step + 1
        first = self._pending and self._terminal_credit
        if self._pending and not first:
            self.logbook.record_unrewarded(self._rows[-1])
        row = self._credit(reached + 1, signal, again=not first)
        self._pending, self._ended = False, True
        return row

    def abandon(self) -> None:
        """End an episode that was broken off: a decision that waits for its reward is recorded as one without.

        Where the episode has ended, nothing is left to do.
        """
        self._record_unrewarded()
        self._ended = True

    @property
    def stats(self) -> ControllerStats:
        """How the episode went so far."""
        return ControllerStats(
            len(self._rows),
            _count_actions(self.features.topologies, (row.requested for row in self._rows)),
            _count_actions(self.features.topologies, (row.executed for row in self._rows)),
            dict(self._switches),
            self._credited,
            self._earned,
            None if self._decision is None else self._decision.epsilon,
            tuple(row.ms for row in self._rows),
        )

    def _choose(self) -> Choice:
        coordinator = self.coordinator
        topology = coordinator.topology
        x = self.features.encode(topology, steps_since_switch=coordinator.steps_since_switch, dwell=coordinator.dwell)
        began = self._clock()
        decision = self.chooser.choose(x)
        ms = self._measure_ms(began)
        return Choice(
            self.step + 1, topology, x, decision, self.chooser.learner.actions, coordinator.find_blocker(), ms
        )

    def _conclude(self, choice: Choice, outcome: Outcome, began: float) -> DecisionRow:
        self._switched |= outcome.committed
        row = choice.build_row(outcome, self._credit_to, self.logbook.episode)
        decision, credited = choice.decision, choice.find_credited(outcome, self._credit_to)
        if credited != decision.action:
            decision = decision.credit_to(credited, row.executed_probability)
        self.step, self._decision, self._pending = choice.step, decision, True
        self._rows.append(row)
        if outcome.kind is not None:
            self._switches[outcome.kind] += 1
        self.features.end_step()
        try:
            self._rows[-1] = replace(row, tick_ms=self._measure_ms(began))
        finally:  # whatever the clock does, what took effect is in the logs
            self.logbook.record_decision(self._rows[-1])
        return self._rows[-1]

    def _credit(self, step: int, signal: Signal, *, again: bool = False) -> RewardRow:
        """Learn and log what the last decision earned: both, or, where one of them fails, neither."""
        row = RewardRow.from_signal(step, signal, detector=self.reward.reward.version, episode=self.logbook.episode)
        decision = self._decision if not again or self._terminal_credit else None
        again = again and decision is not None
        state = None if decision is None else self.chooser.update(decision, signal.total, again=again)
        self.logbook.record_reward(row, signal, None if decision is None else self._rows[-1], again=again)
        if decision is not None:
            self.chooser.keep(state, again=again)
            self._credited += not again
        self._earned += signal.total
        return row

    def _record_unrewarded(self) -> None:
        """Let a decision that was never credited be one without a reward."""
        if self._pending:
            self.logbook.record_unrewarded(self._rows[-1])
            self._pending = False

    def _measure_ms(self, began: float) -> float:
        """Return the milliseconds that have passed; 0 where the clock was set back."""
        return max(0.0, 1e3 * (self._clock() - began))

    def _check_open(self, *, idle: bool = False) -> None:
        if self._ended:
            raise InputError("the episode has ended; create another controller for the next one.")
        if idle and self._lock.locked():
            raise InputError("a tick is still running; await it first.")


def _count_actions(topologies: Sequence[str], actions: Iterable[str | None]) -> dict[str, int]:
    counts = Counter(actions)
    return {action: counts[action] for action in (STAY, *topologies) if counts[action]}
