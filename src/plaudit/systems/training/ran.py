"""How far a run came, and how fast."""

import math
import statistics
from dataclasses import dataclass, field
from typing import Any, Generic

from plaudit.systems.training.about import SettingsT


@dataclass(frozen=True, kw_only=True)
class Ran(Generic[SettingsT]):
    """A run that ended, or was stopped."""

    config: SettingsT
    rows: list[dict[str, Any]] = field(repr=False)
    """What was logged of each update, those before it was gone on with too."""
    update: int
    """Updates done."""

    @property
    def complete(self) -> bool:
        """Whether all updates were done."""
        return self.update >= self.config.updates

    @property
    def steps(self) -> int:
        """Steps done, over all environments."""
        return self.update * self.config.batch

    @property
    def seconds(self) -> float:
        """How long all updates took together, without compiling, evaluating and saving."""
        return math.fsum(row["seconds"] for row in self.rows)

    @property
    def speed(self) -> float:
        """Steps a second, of the update in the middle."""
        return statistics.median(row["steps_per_second"] for row in self.rows) if self.rows else float("nan")
