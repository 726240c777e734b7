"""A decision about the topology: how a learner takes it, and what it is logged and credited as."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

from plaudit.errors import DefinitionError, ShapeMismatch, SpecError
from plaudit.systems.apex.features import FEATURES, FeatureSource
from plaudit.systems.apex.logs.rows import DecisionRow
from plaudit.systems.apex.runtime import Outcome
from plaudit.systems.apex.switching.topologies import STAY, TOPOLOGIES

if TYPE_CHECKING:
    from plaudit.learn.bandits import Learner
    from plaudit.learn.decision import Decision


Credit = Literal["executed", "requested"]


class Chooser:
    """Chooses among the actions with a learner, and keeps what it learns.

    Several controllers on one event loop may share one: then their episodes learn together. The same seed and the same
    course of choices and rewards give the same choices.

    >>> chooser = Chooser(seed=7)
    >>> decision = chooser.choose([1, 0, 0, 1, 0.5, 0.3, 0.2, 0.9])
    >>> chooser.keep(chooser.update(decision, 0.25))
    >>> chooser.state.decisions, chooser.waiting
    (1, 0)
    """

    def __init__(self, learner: "Learner | None" = None, *, seed: int = 0, state: Any = None) -> None:
        """Begin with `state`, or knowing nothing; without a learner it is the bandit of the specification."""
        learner = build_learner() if learner is None else learner
        if STAY not in learner.actions:
            raise DefinitionError(
                f"the learner chooses among {', '.join(learner.actions)}; it also needs {STAY!r}, the action that a "
                "refused switch is credited to."
            )
        self.learner: Learner = learner
        self.seed = seed
        self.state = learner.init() if state is None else state
        self.waiting = 0
        """How many decisions were made here and have not been credited."""

    def choose(self, x: Sequence[float]) -> "Decision":
        """Choose an action for a feature vector.

        The learner's random draw depends on the number of decisions. Decisions that still wait for their reward count
        too, so two decisions in a row are two draws.

        Args:
            x: The features, in the learner's order.

        Returns:
            The decision, with the probability of each action.
        """
        key = self.seed + (self.waiting << 40)
        decision = self.learner.choose(self.state, key, x if self.learner.features else None)
        self.waiting += 1
        return decision

    def update(self, decision: "Decision", reward: float, *, again: bool = False) -> Any:
        """Compute the state after a reward, without changing the chooser.

        Args:
            decision: The decision that earned the reward.
            reward: The reward.
            again: Whether the decision was credited before.

        Returns:
            The new state, for `keep`.
        """
        return self.learner.update(self.state, decision, reward, again=again)

    def keep(self, state: Any, *, again: bool = False) -> None:
        """Replace the learner's state.

        Args:
            state: A state from `update`.
            again: As in `update`; otherwise one decision fewer waits for its reward.
        """
        self.state = state
        self.waiting -= not again

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the learner, its state and the seed atomically.

        Args:
            path: The file to write.
        """
        from plaudit.learn.saving import save

        save(path, self.learner, self.state, seed=self.seed, waiting=self.waiting)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load a saved chooser; it continues exactly where it stopped.

        Args:
            path: A file written by `save`.

        Returns:
            The chooser.

        Raises:
            SpecError: The file was not written by a chooser.
        """
        from plaudit.learn.saving import load

        saved = load(path)
        chooser = cls(saved.learner, state=saved.state)
        for name in ("seed", "waiting"):
            value = saved.more.get(name)
            if isinstance(value, bool) or not isinstance(value, int):
                raise SpecError(f"{os.fspath(path)} was not saved by a chooser: its {name!r} is {value!r}.")
            setattr(chooser, name, value)
        return chooser


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

    def find_executed(self, outcome: Outcome) -> str:
        """Return the action that took effect: a switch, or "stay"."""
        return self.decision.action if outcome.committed else STAY

    def find_credited(self, outcome: Outcome, by: Credit) -> str:
        """Return the action that learns what the step earns: the one that was asked for, unless it was not granted.

        The name of the active topology is granted, though nothing changes: it learns for itself what that earns, or a
        learner that is curious about it would ask for it forever.
        """
        granted = outcome.kind is None or outcome.committed
        return self.decision.action if granted or by == "requested" else STAY

    def find_probability(self, executed: str) -> float | None:
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
        shares = zip(self.actions, self.decision.probabilities, strict=True)
        return min(1.0, sum(share for action, share in shares if action in (STAY, self.topology)))

    def build_row(self, outcome: Outcome, by: Credit, episode: int) -> DecisionRow:
        """Return the row of the log, now that it is known what became of the decision."""
        executed, credited, decision = self.find_executed(outcome), self.find_credited(outcome, by), self.decision
        return DecisionRow(
            step=self.step,
            topology=self.topology,
            x=self.x,
            action=decision.action,
            epsilon=decision.epsilon or 0.0,
            ms=self.ms,
            switch=outcome.to_switch(),
            topology_after=decision.action if outcome.committed else None,
            requested=decision.action,
            executed=executed,
            credited=credited if credited != executed else None,
            probability=decision.probability,
            executed_probability=self.find_probability(executed),
            probabilities=decision.probabilities,
            episode=episode,
        )


def build_learner(topologies: Sequence[str] = TOPOLOGIES, features: Sequence[str] = FEATURES) -> "Learner":
    """Return the bandit of the specification: a ridge regression per action, with random choices."""
    from plaudit.learn.bandits import epsilon_ridge

    return epsilon_ridge((STAY, *topologies), features, intercept=False)  # as specified: one topology is always 1


def validate_learner(learner: "Learner", features: FeatureSource) -> None:
    """Refuse a learner for other actions, or for other features."""
    if unknown := [action for action in learner.actions if action not in (STAY, *features.topologies)]:
        raise DefinitionError(
            f"the learner chooses among {', '.join(learner.actions)}, but {unknown[0]!r} is not one of the topologies "
            f"{', '.join(features.topologies)}."
        )
    if learner.features and len(learner.features) != len(features.names):
        raise ShapeMismatch(
            f"the learner reads {len(learner.features)} features, but the controller has {len(features.names)}."
        )
