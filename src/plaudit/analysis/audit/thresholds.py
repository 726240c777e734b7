"""What counts as much: every number that a finding of an audit rests on, in one place."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Self

from plaudit.errors import DefinitionError, did_you_mean
from plaudit.language.field import validate_number


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """When an audit speaks up.

    >>> Thresholds().with_values({"one_term": 0.9}).one_term
    0.9
    """

    min_steps: int = 1000
    """With fewer steps nothing is said of shares of steps."""
    min_episodes: int = 20
    """With fewer episodes nothing is said of how returns are distributed."""
    late: float = 0.2
    """The last share of each run's episodes: what is learnt shows there, and not what was tried at first."""
    habit: float = 0.2
    """What so many of the late episodes do is a habit."""
    laps: int = 5
    """So many times round in an episode are laps, and no coincidence."""
    stay: int = 10
    """So many steps in one place are a stay."""
    spent: float = 0.5
    """An episode is about laps, or a stay, where they are this share of its steps and of what it earned."""
    one_term: float = 0.95
    """The share of all that was earned that one term may pay."""
    length: float = 0.98
    """The share of the variance of returns that the length of episodes may explain."""
    action: float = 0.95
    """The share of an episode's steps that one action may have."""
    clamp: float = 0.99
    """The share of steps in which a clamp may bind."""
    drowned: float = 0.01
    """A term is heard where it is this share of what all terms are together; less often than that, it is drowned."""
    redundant: float = 0.99
    """The correlation from which two terms are one."""
    spike: float = 32.0
    """How many times the 99.9th percentile of its size a term may be."""
    chance: float = 0.005
    """How often chance alone may make an audit report that the return parted from what is wanted."""
    fall: float = 3.0
    """How many standard errors something must rise or fall by, to have risen or fallen."""

    def with_values(self, given: Mapping[str, object]) -> Self:
        """Return the same with other numbers; DefinitionError for a name or a number that makes no sense."""
        known = {each.name: each.type for each in fields(self)}
        numbers: dict[str, float] = {}
        for name, value in given.items():
            if name not in known:
                near = did_you_mean(name, known)
                raise DefinitionError(f"there is no threshold {name!r}.{near} There are: {', '.join(known)}.")
            number = validate_number(name, value)
            whole = isinstance(getattr(self, name), int)
            share = not whole and getattr(self, name) <= 1
            if number <= 0 or (share and number > 1) or (whole and not number.is_integer()):
                wanted = "an integer of at least 1" if whole else "above 0 and at most 1" if share else "above 0"
                raise DefinitionError(f"the threshold {name}={number:g} must be {wanted}.")
            numbers[name] = int(number) if whole else number
        return replace(self, **numbers)  # type: ignore[arg-type]
