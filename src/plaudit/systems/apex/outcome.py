"""What becomes of a decision: whether the topology changed, why not, and how likely that was."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from plaudit.systems.apex.logs.rows import DecisionRow, Switch
from plaudit.systems.apex.logs.values import STAY
from plaudit.systems.apex.switching import Coordinator, SwitchEngine

if TYPE_CHECKING:
    from plaudit.learn.decision import Decision

Kind = Literal["committed", "refused", "aborted", "failed", "cancelled"]
Credit = Literal["executed", "requested"]


class Outcome(NamedTuple):
    """What became of a decision; `kind` is None where no switch was asked for."""

    epoch: int
    kind: Kind | None = None
    committed: bool = False
    error: str | None = None

    @classmethod
    def seen(cls, engine: SwitchEngine, action: str, before: int, kind: Kind, error: str) -> "Outcome":
        """Return the outcome of a switch that gave no answer: the engine shows whether it took effect."""
        committed = engine.topology == action and engine.epoch > before
        return cls(engine.epoch, "committed" if committed else kind, committed, error)

    def logged(self) -> Switch:
        """Return it as it stands in the log."""
        return Switch(attempted=self.kind is not None, committed=self.committed, epoch=self.epoch, error=self.error)


async def carried_out(coordinator: Coordinator, action: str) -> Outcome:
    """Ask for the topology that `action` names, unless it is the active one, and return what became of that.

    What is refused, called off or raised is told in the outcome; a cancellation goes on to the caller.
    """
    engine = coordinator.engine
    before = engine.epoch
    if action in (STAY, engine.topology):
        return Outcome(before)
    try:
        result = await coordinator.request_switch(action)
    except Exception as error:
        return Outcome.seen(engine, action, before, "failed", f"{type(error).__name__}: {error}")
    if result.committed:
        return Outcome(result.epoch, "committed", True)
    return Outcome(result.epoch, "aborted" if result.accepted else "refused", False, result.reason)


class Choice(NamedTuple):
    """A decision that was taken, and what was known when it was."""

    step: int
    topology: str
    x: tuple[float, ...]
    decision: "Decision"
    actions: tuple[str, ...]
    """The actions there were, in the order of the decision's probabilities."""
    blocked: str | None
    """Why no switch could begin at that moment; None where one could."""
    ms: float

    def executed(self, outcome: Outcome) -> str:
        """Return the action that took effect: a switch, or "stay"."""
        return self.decision.action if outcome.committed else STAY

    def credited(self, outcome: Outcome, by: Credit) -> str:
        """Return the action that learns what the step earns: the one that was asked for, unless it was not granted.

        The name of the active topology is granted, though nothing changes: it learns for itself what that earns, or a
        learner that is curious about it would ask for it for ever.
        """
        granted = outcome.kind is None or outcome.committed
        return self.decision.action if granted or by == "requested" else STAY

    def likely(self, executed: str) -> float | None:
        """Return how likely it was to choose an action that leads to `executed`, by what was known beforehand.

        Where no switch could begin, every action leads to "stay". Else "stay" and the name of the active topology do,
        and any other action leads to its own topology. None where that cannot be said: a switch was called off, which
        nobody could know, or the learner tells the probability of the chosen action only.
        """
        if self.blocked is not None:
            return 1.0 if executed == STAY else None
        if executed != STAY:
            return self.decision.probability
        if self.decision.probabilities is None or self.decision.action not in (STAY, self.topology):
            return None
        return min(1.0, sum(_shares(self.actions, self.decision.probabilities, (STAY, self.topology))))

    def row(self, outcome: Outcome, by: Credit, episode: int) -> DecisionRow:
        """Return the row of the log, now that it is known what became of the decision."""
        executed, credited, decision = self.executed(outcome), self.credited(outcome, by), self.decision
        return DecisionRow(
            step=self.step,
            topology=self.topology,
            x=self.x,
            action=decision.action,
            epsilon=decision.epsilon or 0.0,
            ms=self.ms,
            switch=outcome.logged(),
            topology_after=decision.action if outcome.committed else None,
            requested=decision.action,
            executed=executed,
            credited=credited if credited != executed else None,
            probability=decision.probability,
            executed_probability=self.likely(executed),
            probabilities=decision.probabilities,
            episode=episode,
        )


def _shares(actions: Sequence[str], probabilities: Sequence[float], which: Sequence[str]) -> list[float]:
    return [likely for action, likely in zip(actions, probabilities, strict=True) if action in which]
