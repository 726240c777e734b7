"""A learner with what it has learnt so far: it chooses, is told what that earned, and can be put aside in a file."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from plaudit.errors import DefinitionError, ShapeMismatch, SpecError
from plaudit.systems.apex.features import FEATURES
from plaudit.systems.apex.logs.values import ACTIONS, STAY

if TYPE_CHECKING:
    from plaudit.learn.bandits import Learner
    from plaudit.learn.decision import Decision


class Chooser:
    """Chooses among the actions with a learner, and keeps what it learns.

    Several controllers on one event loop may share one: then their episodes learn together. The same seed and the same
    course of choices and rewards give the same choices.

    >>> chooser = Chooser(seed=7)
    >>> decision = chooser.choose([1, 0, 0, 1, 0.5, 0.3, 0.2, 0.9])
    >>> chooser.keep(chooser.learnt(decision, 0.25))
    >>> chooser.state.decisions, chooser.waiting
    (1, 0)
    """

    def __init__(self, learner: "Learner | None" = None, *, seed: int = 0, state: Any = None) -> None:
        """Begin with `state`, or knowing nothing; without a learner it is the ridge regression with random choices."""
        if learner is None:
            from plaudit.learn.bandits import epsilon_ridge

            learner = epsilon_ridge(ACTIONS, FEATURES)
        _check(learner)
        self.learner: Learner = learner
        self.seed = seed
        self.state = learner.init() if state is None else state
        self.waiting = 0
        """How many decisions were made here and have not been credited."""

    def choose(self, x: Sequence[float]) -> "Decision":
        """Return a decision on the features `x`.

        A learner draws by the number of decisions it was credited with. While some wait, they are counted in, so that
        two decisions in a row are two draws.
        """
        key = self.seed + (self.waiting << 40)
        decision = self.learner.choose(self.state, key, x if self.learner.features else None)
        self.waiting += 1
        return decision

    def learnt(self, decision: "Decision", reward: float, *, again: bool = False) -> Any:
        """Return the state that a reward leads to, and change nothing."""
        return self.learner.update(self.state, decision, reward, again=again)

    def keep(self, state: Any, *, again: bool = False) -> None:
        """Go on with a state that `learnt` returned."""
        self.state = state
        self.waiting -= not again

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the learner, its state and the seed to `path`; the file is complete or not touched at all."""
        from plaudit.learn.saving import save

        save(path, self.learner, self.state, seed=self.seed, waiting=self.waiting)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the chooser that was saved to `path`; it goes on as if it had never been put aside."""
        from plaudit.learn.saving import load

        saved = load(path)
        made = cls(saved.learner, state=saved.state)
        for name in ("seed", "waiting"):
            value = saved.more.get(name)
            if isinstance(value, bool) or not isinstance(value, int):
                raise SpecError(f"{os.fspath(path)} was not saved by a chooser: its {name!r} is {value!r}.")
            setattr(made, name, value)
        return made


def _check(learner: "Learner") -> None:
    """Refuse a learner for other actions, or for other features."""
    unknown = [action for action in learner.actions if action not in ACTIONS]
    if unknown or STAY not in learner.actions:
        raise DefinitionError(
            f"the learner chooses among {', '.join(learner.actions)}; a controller needs {STAY!r}, which a refused "
            f"switch amounts to, and some of {', '.join(ACTIONS[1:])}."
        )
    if learner.features and len(learner.features) != len(FEATURES):
        raise ShapeMismatch(
            f"the learner reads {len(learner.features)} features, and a controller has {len(FEATURES)}."
        )
