"""A deadline: how much time is left, and how several questions share it."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import TypeVar

from plaudit.errors import DefinitionError
from plaudit.language.field import to_number

TIME_IS_UP = "out of time"

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment by `time.monotonic`; the default never comes."""

    at: float = math.inf

    @classmethod
    def after(cls, timeout: float) -> "Deadline":
        """Return the deadline that is `timeout` seconds from now.

        Raises:
            DefinitionError: `timeout` is not a positive, finite number.
        """
        seconds = to_number(timeout)
        if seconds is None or isinstance(seconds, bool) or not 0 < seconds < math.inf:
            raise DefinitionError(f"timeout={timeout!r} must be a positive, finite number of seconds")
        return cls(monotonic() + seconds)

    @property
    def left(self) -> float:
        """Seconds until then; 0 once it has passed."""
        return max(0.0, self.at - monotonic())

    @property
    def passed(self) -> bool:
        """Whether the time is up."""
        return monotonic() >= self.at

    def share(self, count: int) -> "Deadline":
        """Return the deadline of the first of `count` questions that divide the remaining time evenly."""
        now = monotonic()
        return Deadline(min(self.at, now + max(0.0, self.at - now) / count))

    def take_turns(self, items: Sequence[_Item]) -> Iterator[tuple[_Item, "Deadline"]]:
        """Yield each item with its deadline: an even share of what is left, so that saved time goes to later items."""
        for done, item in enumerate(items):
            yield item, self.share(len(items) - done)


NEVER = Deadline()
