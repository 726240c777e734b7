"""What a task says, one statement at a time: how often something happens, what moves it, how episodes end."""

import re
from dataclasses import dataclass
from typing import Literal

from plaudit.errors import DefinitionError
from plaudit.language.field import to_number, validate_number
from plaudit.reward.declared import Fact

Better = Literal["low", "high"]
Monotone = Literal["up", "down"]
Role = Literal["state", "action", "event"]
Sign = Literal["good", "bad", "time"]
Basis = Literal["declared", "seen", "default"]
"""Where a statement comes from: from a person, from an environment or a ledger, or from nobody."""

_SEEN = re.compile(r"([0-9][0-9,]{0,20}) of ([0-9][0-9,]{0,20}) ([a-z ]+)")
_UNIT = re.compile(r"[a-z]+( [a-z]+)*")


@dataclass(frozen=True, slots=True)
class Seen:
    """How often a statement was seen to hold, and in how many cases it could have failed."""

    count: int
    of: int
    unit: str = "steps"

    def __post_init__(self) -> None:
        counts = [to_number(each) for each in (self.count, self.of)]
        if not all(type(each) is int for each in counts) or not 0 <= self.count <= self.of:
            raise DefinitionError(f"Seen({self.count!r:.60}, {self.of!r:.60}) must be a count of counts")
        for part, number in zip(("count", "of"), counts, strict=True):
            object.__setattr__(self, part, number)  # a plain integer
        unit: object = self.unit
        if not isinstance(unit, str) or not _UNIT.fullmatch(unit):
            raise DefinitionError(f"Seen(unit={self.unit!r:.60}) must be words in lower case, such as 'steps'")

    def __str__(self) -> str:
        return f"{self.count:,} of {self.of:,} {self.unit}"

    @classmethod
    def parse(cls, text: object) -> "Seen":
        """Return what `str` wrote: `9,975 of 9,975 steps`."""
        match = _SEEN.fullmatch(text) if isinstance(text, str) else None
        if match is None:
            raise DefinitionError(f"seen={text!r:.60} must be a count of counts, such as '9,975 of 9,975 steps'")
        return cls(int(match[1].replace(",", "")), int(match[2].replace(",", "")), match[3])


@dataclass(frozen=True, slots=True)
class Rate:
    """That a field changes by another one, `rate`, times `dt` in a step; unless `dt` is given, by some multiple."""

    rate: str
    dt: float | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """How often an event can happen.

    Args:
        at_most: The most times in an episode.
        renews: The fewest steps from one time to the next.
        rate: The share of steps in which it happens.
    """

    at_most: int | None = None
    renews: int | None = None
    rate: float | None = None

    def __post_init__(self) -> None:
        for name in ("at_most", "renews"):
            value = getattr(self, name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                never = " What never happens needs no event." if value == 0 and value is not False else ""
                raise DefinitionError(f"an event's {name}={value!r:.60} must be an integer of at least 1.{never}")
        if self.rate is None:
            return
        object.__setattr__(self, "rate", validate_number("an event's rate", self.rate))
        if not 0 < self.rate <= 1:
            raise DefinitionError(f"an event's rate={self.rate!r} must be above 0 and at most 1: a share of steps")


@dataclass(frozen=True, slots=True)
class End:
    """How an episode can end: whether that is good, bad, or only that time is up; None where nobody has said."""

    sign: Sign | None
    when: Fact | None = None
    """What is true of a step that ends so; unless given, the flag of the end's name."""
