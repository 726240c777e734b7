"""Steps that happened, played or recorded, as columns: what a task is learnt from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plaudit.language.field import Field

Column: TypeAlias = NDArray[Any]
"""float64, bool or str; a value for each row."""


@dataclass(frozen=True)
class Transitions:
    """Steps that happened, a row each; rows of an episode stand together, in order.

    The last row of an episode that was cut off by the number of steps to play is neither terminated nor truncated.
    """

    before: Mapping[str, Column]
    """Fields before the step, of which that is known. A field known only after a step is given here too if
    `known_before` is False for the first row of each episode; what stands there then is that row's `after`."""
    after: Mapping[str, Column]
    """Fields after the step: float64, bool or str. Vectors of a field are (rows, k): only their range is learnt."""
    actions: Column | None
    """(rows,) or (rows, k), as played."""
    episode: NDArray[np.int64]
    policy: NDArray[np.str_]
    """One of "idle", "constant", "random", "smooth", or "recorded"."""
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    """Cut off by the environment: its own limit of steps."""
    declared: Mapping[str, Field]
    """What spaces declare of a field (low, high, values, flag), where they do."""
    source: str
    """Such as "CartPole-v1, 10,000 steps of 412 episodes, seed 0"."""
    known_before: NDArray[np.bool_] | None = None
    """Rows whose `before` is known; None: all."""
    integer: frozenset[str] = frozenset()
    """Fields that held integers only (as numbers, not flags)."""
    action_names: tuple[str, ...] = ()
    """Fields that are the action, or an entry of it, by name."""

    def __len__(self) -> int:
        return len(self.episode)

    @property
    def first(self) -> NDArray[np.bool_]:
        """Rows that begin an episode."""
        return np.concatenate(([True], self.episode[1:] != self.episode[:-1])) if len(self) else np.zeros(0, bool)
