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
"""Where a statement comes from: a person, an environment or a ledger, or neither."""

_SEEN = re.compile(r"([0-9][0-9,]{0,20}) of ([0-9][0-9,]{0,20}) ([a-z ]+)")
_UNIT = re.compile(r"[a-z]+( [a-z]+)*")


@dataclass(frozen=True, slots=True)
class Seen:
    """How often an observed statement held, out of the cases in which it could have failed.

    >>> Seen(9_975, 9_975), str(Seen(38, 38, "episodes"))
    (Seen(count=9975, of=9975, unit='steps'), '38 of 38 episodes')
    """

    count: int
    of: int
    unit: str = "steps"

    def __post_init__(self) -> None:
        counts = [to_number(each) for each in (self.count, self.of)]
        if not all(type(each) is int for each in counts) or not 0 <= self.count <= self.of:
            raise DefinitionError(f"Seen({self.count!r:.60}, {self.of!r:.60}) must be two counts, one out of the other")
        for part, number in zip(("count", "of"), counts, strict=True):
            object.__setattr__(self, part, number)  # a plain integer
        unit: object = self.unit
        if not isinstance(unit, str) or not _UNIT.fullmatch(unit):
            raise DefinitionError(f"Seen(unit={self.unit!r:.60}) must be words in lower case, such as 'steps'")

    def __str__(self) -> str:
        return f"{self.count:,} of {self.of:,} {self.unit}"

    @classmethod
    def parse(cls, text: object) -> "Seen":
        """Read the text that `str` returns.

        Args:
            text: Two counts and a unit: `9,975 of 9,975 steps`.

        Returns:
            The counts.

        Raises:
            DefinitionError: The text does not have that form.
        """
        match = _SEEN.fullmatch(text) if isinstance(text, str) else None
        if match is None:
            raise DefinitionError(f"seen={text!r:.60} must be one count out of another, such as '9,975 of 9,975 steps'")
        return cls(int(match[1].replace(",", "")), int(match[2].replace(",", "")), match[3])


@dataclass(frozen=True, slots=True)
class Rate:
    """The rate of change of a field: in each step it changes by the field `rate` times `dt`.

    If `dt` is omitted, it changes by some multiple of `rate`.

    >>> from plaudit import Task
    >>> Task(rates={"x": ("vx", 0.02)}).rates["x"]
    Rate(rate='vx', dt=0.02)
    """

    rate: str
    dt: float | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """How often an event can happen.

    Args:
        at_most: The maximum number of times in an episode.
        renews: The minimum number of steps between two times.
        rate: The fraction of steps in which it happens.

    >>> from plaudit import Task
    >>> Task(events={"goal_scored": 3}).events["goal_scored"]
    Event(at_most=3, renews=None, rate=None)
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
                never = " An event that never happens needs no entry." if value == 0 and value is not False else ""
                raise DefinitionError(f"an event's {name}={value!r:.60} must be an integer of at least 1.{never}")
        if self.rate is None:
            return
        object.__setattr__(self, "rate", validate_number("an event's rate", self.rate))
        if not 0 < self.rate <= 1:
            raise DefinitionError(f"an event's rate={self.rate!r} must be above 0 and at most 1: the fraction of steps")


@dataclass(frozen=True, slots=True)
class End:
    """How an episode can end: "good", "bad" or "time" (a time limit). None means that this is unknown.

    >>> from plaudit import Task
    >>> Task(ends={"fallen": "bad"}).ends["fallen"]
    End(sign='bad', when=None)
    """

    sign: Sign | None
    when: Fact | None = None
    """What is true of a step that ends so; unless given, the flag of the end's name."""
