"""Steps that happened, played or recorded, as columns: the input for learning a task."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plaudit.checks.seen_steps import SeenSteps
from plaudit.language.field import Field

Column: TypeAlias = NDArray[Any]
"""float64, bool or str; a value for each row."""
Mask: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True)
class Transitions:
    """Steps that happened, a row each; rows of an episode stand together, in order.

    The last row of an episode that was cut off by the number of steps to play is neither terminated nor truncated.
    """

    before: Mapping[str, Column]
    """Fields before the step. Actions have none."""
    after: Mapping[str, Column]
    """Fields after the step, actions among them: float64, bool or str. A vector is (rows, k); only its range,
    whether it is an action and what idling meets are learned."""
    actions: Column | None
    """The actions as played: (rows,) or (rows, k)."""
    episode: NDArray[np.int64]
    policy: NDArray[np.str_]
    """One of "idle", "constant", "random", "smooth" and "recorded"."""
    terminated: Mask
    truncated: Mask
    """Cut off by the environment, its own limit of steps, and not terminated as well."""
    declared: Mapping[str, Field]
    """What spaces or a recorded reward declare of a field (low, high, values, flag), where they do."""
    source: str
    """Such as "CartPole-v1, 10,000 steps of 412 episodes, seed 0"."""
    unknown_first: frozenset[str] = field(default=frozenset())
    """Fields of `before` that are only known after a step: in the first row of an episode, `before` is a copy of
    `after`. In later rows it is `after` of the row above."""
    integer: frozenset[str] = field(default=frozenset())
    """Fields of numbers that held integers only."""
    action_names: tuple[str, ...] = ()
    """Fields of `after` that are the action, or an entry of it."""
    paid: NDArray[np.float64] | None = None
    """What the environment itself paid in each step, where it is known; nothing is learned from it."""

    def __len__(self) -> int:
        return len(self.episode)

    @cached_property
    def first(self) -> Mask:
        """Rows that begin an episode."""
        return np.concatenate(([True], self.episode[1:] != self.episode[:-1])) if len(self) else np.zeros(0, bool)

    def to_seen_steps(self) -> SeenSteps:
        """Return the part that witnesses of findings are compared with."""
        return SeenSteps(
            before=self.before,
            after=self.after,
            episode=self.episode,
            terminated=self.terminated,
            truncated=self.truncated,
            source=self.source,
            unknown_first=self.unknown_first,
            actions=self.actions,
            paid=self.paid,
        )

    def knows_before(self, name: str) -> Mask:
        """Return the rows in which a field is known before the step and after it."""
        if name not in self.before:
            return np.zeros(len(self), bool)
        return ~self.first if name in self.unknown_first else np.ones(len(self), bool)
