"""Which episode a row of a log belongs to, and whether the logs of a run agree on that."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from plaudit.errors import InputError
from plaudit.systems.apex.logs.artifacts import DECISIONS, REWARDS
from plaudit.systems.apex.logs.rows import DecisionRow, RewardRow


class Place(NamedTuple):
    """Where a row belongs."""

    episode: int
    decision: int
    """The step of the decision that it is about."""
    said: bool = True
    """Whether the row says its episode; else it was counted."""
    end: bool = False
    """Whether it is the end of the episode, which may be of no decision."""

    @property
    def key(self) -> tuple[int, int]:
        """What tells the place from others."""
        return self[:2]


def placed(rows: Iterable[Any]) -> Iterator[tuple[Place, Any]]:
    """Yield the rows of a log with their places.

    A row that does not say its episode is of that of the row before, or of the next where the steps do not go up.
    """
    episode, last = 1, -1
    for row in rows:
        decision = row.step if isinstance(row, DecisionRow) else row.decision
        episode = row.episode or episode + (decision <= last)
        last = decision
        yield Place(episode, decision, row.episode is not None, isinstance(row, RewardRow) and row.terminal), row


def check_places(logs: Mapping[str, Sequence[Place]], torn: Iterable[str] = ()) -> bool:
    """Return whether every log has its episodes one after another; InputError where the logs do not agree.

    Where rows say their episode, that is taken. Where it was counted, all logs must have the same episodes, and every
    reward a decision; `torn` names the logs whose last row was lost.
    """
    for name, places in logs.items():
        keys = {place.key for place in places}
        if len(keys) < len(places):
            raise InputError(f"{name} has two rows of the same step in the same episode. Nothing was recorded.")
    if not all(place.said for places in logs.values() for place in places):
        _check_counted(logs, DECISIONS in torn)
    return all(one.key < other.key for places in logs.values() for one, other in pairwise(places))


def _check_counted(logs: Mapping[str, Sequence[Place]], torn: bool) -> None:
    counts = {name: len({place.episode for place in places if not place.end}) for name, places in logs.items()}
    if len({count for count in counts.values() if count}) > 1:
        told = ", ".join(f"{name} has {count}" for name, count in counts.items())
        raise _doubt(f"the logs hold different numbers of episodes: {told}")
    decisions = logs.get(DECISIONS, ())
    for episode, places in groupby(decisions, key=lambda place: place.episode):
        if episode > 1 and next(places).decision != 1:
            raise _doubt(f"{DECISIONS}: the steps go back, but not to 1, as if episodes were mixed")
    decided = {place.key for place in decisions}
    lost = max(decided, default=(0, 0)) if torn else None
    for place in logs.get(REWARDS, ()) if decided else ():
        if not place.end and place.key not in decided and (lost is None or place.key < lost):
            raise _doubt(f"{REWARDS}: no decision of step {place.decision} in episode {place.episode} is logged")


def _doubt(what: str) -> InputError:
    return InputError(
        f"{what}. Which reward belongs to which decision cannot be told, and nothing was recorded. Import the logs of "
        "one episode at a time; those of Artifacts(…, extras=True) say the `episode` of each row."
    )
