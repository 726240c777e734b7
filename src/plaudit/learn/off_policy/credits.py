"""Extra credits: rewards that came later for a decision made earlier, such as the bonus at the end of an episode."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

_KEYS = ("id", "number", "step")
"""What tells a decision from the others of its episode; the first that it has."""

Name = tuple[object, ...]
Place = tuple[str | None, Any]
"""A run and an episode of it."""


class Credit(NamedTuple):
    """A reward that belongs to an earlier decision."""

    name: Name
    reward: float
    before: int
    """How many decisions had been read by then: it belongs to one of them."""


class Known(NamedTuple):
    """What decisions that were read together are known by; their names are only made where there are credits."""

    places: Sequence[Place]
    key: str = ""
    values: Sequence[Any] = ()
    """One key that all of them have, perhaps as text; none where `key` is empty."""
    different: Sequence[Name] = ()
    """Their names, where they have different keys."""

    @classmethod
    def of(cls, places: Sequence[Place], columns: Mapping[str, Sequence[Any]]) -> "Known":
        """Return what decisions are known by of which there are columns, None standing for what is not said."""
        for key in _KEYS:
            values = columns.get(key, (None,))
            if None not in values:
                return cls(places, key, values)
            if any(value is not None for value in values):
                lists = (columns.get(name, (None,) * len(places)) for name in _KEYS)
                rows = (dict(zip(_KEYS, row, strict=True)) for row in zip(*lists, strict=True))
                return cls(places, different=[name_of(row, place) for row, place in zip(rows, places, strict=True)])
        return cls(places)

    def names(self) -> Iterator[Name]:
        """Yield the name of each decision."""
        if self.different:
            return iter(self.different)
        if not self.key:
            return iter(self.places)
        return (name_of({self.key: value}, place) for value, place in zip(self.values, self.places, strict=True))


def name_of(decision: Mapping[str, Any], place: Place) -> Name:
    """Return what a decision is known by: its id within the run, or its number, or its step, within the episode.

    One without any of them is only known to be of the episode, and a credit goes to the last of those.

    >>> name_of({"action": "star", "id": "d-7", "number": 3}, ("night-3", "12"))
    ('night-3', 'id', 'd-7')
    """
    for key in _KEYS:
        value = decision.get(key)
        if value is not None:
            return (place[0], key, str(value)) if key == "id" else (*place, key, str(value))
    return place


def added(rewards: Numbers, names: Iterable[Name], credits: Sequence[Credit]) -> int:
    """Add each credit to the reward of its decision, the last of that name before it; return how many found none."""
    wanted = {credit.name for credit in credits}
    places: dict[Name, list[int]] = defaultdict(list)
    for at, name in enumerate(names if wanted else ()):
        if name in wanted:
            places[name].append(at)
    unmatched = 0
    for credit in credits:
        found = places.get(credit.name, [])
        last = bisect_left(found, credit.before) - 1
        if last < 0:
            unmatched += 1
        else:
            rewards[found[last]] += credit.reward
    return unmatched
