"""What the change from one reward to another does within groups of rollouts."""

import math
from collections.abc import Mapping
from typing import Any

from plaudit.ledger.history import list_contexts
from plaudit.ledger.ledger import Ledger
from plaudit.ledger.query import Query
from plaudit.ledger.rescore.scored import ScoredBatch
from plaudit.llm.grouping import GROUP_SIZE, GroupKey, find_group
from plaudit.llm.groups import GroupChanges, GroupComparison

_Place = tuple[GroupKey, int | None]
"""A group and its size."""


class RolloutGroups:
    """The groups of rollouts that two rewards score."""

    def __init__(self, places: dict[int, _Place]) -> None:
        """Keep which record is in which group."""
        self._left, self._comparison = places, GroupComparison()

    def add(self, batch: ScoredBatch) -> None:
        """Add rollouts that both rewards scored."""
        old, new = (scores.total.tolist() for scores in batch.scores)
        for at, number in enumerate(batch.numbers.tolist()):
            place = self._left.pop(number, None)
            if place is not None:  # which one is that was recorded since
                self._comparison.add(*place, old[at], new[at])

    def count(self) -> GroupChanges:
        """Return what changed; rollouts that were not added have no total."""
        for place in self._left.values():
            self._comparison.add(*place, math.nan, math.nan)
        self._left = {}
        found = GroupChanges()
        self._comparison.count(found)
        return found


def find_groups(ledger: Ledger, query: Mapping[str, Any]) -> RolloutGroups | None:
    """Return the groups of the chosen records; None if some of them are no rollouts."""
    first = ledger.history(**query).first()  # where there is none, this says so
    if find_group(first.run, first.context) is None:
        return None
    places: dict[int, _Place] = {}
    for number, run, context in list_contexts(ledger._store, Query.parse(query)):
        group = find_group(run, context)
        if group is None:
            return None
        places[number] = group, context.get(GROUP_SIZE)
    return RolloutGroups(places)
