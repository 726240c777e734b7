"""Which rollouts are of one group: completions of one prompt that were scored together, in whatever processes."""

import os
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from plaudit.ledger.history import list_contexts
from plaudit.ledger.ledger import Ledger
from plaudit.ledger.query import Query
from plaudit.ledger.storage.texts import TEXTS
from plaudit.llm.running import Gather

GROUP, GROUP_SIZE = "group", "group_size"
"""Under which names the context of a record says which group it is of, and how many completions that has."""
GroupKey = tuple[str | None, str]
"""A run, and what tells a group from others in it."""


class Membership(NamedTuple):
    """The group that a sample is of."""

    group: str
    """What tells it from all others, in every batch and process."""
    size: int
    """How many completions it has, those in other processes too."""


def name_groups(groups: Sequence[Any], gather: Gather | None = None) -> list[Membership]:
    """Return the group of each sample, the same in all processes that `gather` brings together.

    >>> one, other = name_groups(["a", "b", "a"])[1:]
    >>> one.size, other.size, one.group == other.group
    (1, 2, False)
    """
    everyone = [(group, os.urandom(8).hex()) for group in groups[:1]] + [(group, "") for group in groups[1:]]
    if gather is not None:
        everyone, _ = gather(everyone)
    batch = everyone[0][1] if everyone else ""
    sizes = Counter(group for group, _ in everyone)
    names = {group: f"{batch}-{number}" for number, group in enumerate(sizes, 1)}
    return [Membership(names[group], sizes[group]) for group in groups]


def find_group(run: str | None, context: Any) -> GroupKey | None:
    """Return the group of a record with this context; None if it is no rollout. Actors may share a group."""
    if not isinstance(context, Mapping) or TEXTS not in context or not isinstance(context.get(GROUP), str):
        return None
    return run, context[GROUP]


class LedgerGroups:
    """The records of each group in a ledger, also of those that lie apart, as processes wrote them."""

    def __init__(self, ledger: Ledger, run: str | None) -> None:
        """Look at one run, or at all of them; nothing is read yet."""
        self._ledger, self._query = ledger, Query.parse({"run": run})
        self._members: dict[GroupKey, array[int]] = {}
        self._last = 0

    def read_until(self, last: int) -> None:
        """Read on if there may be records up to a number that were not there before."""
        if last <= self._last:
            return
        begin = self._last + 1 if self._last else None
        for number, run, context in list_contexts(self._ledger._store, self._query, begin):
            self._last = max(self._last, number)
            group = find_group(run, context)
            if group is not None:
                self._members.setdefault(group, array("q")).append(number)

    def list_members(self, group: GroupKey) -> Sequence[int]:
        """Return the numbers of the records of a group."""
        return self._members.get(group, ())
