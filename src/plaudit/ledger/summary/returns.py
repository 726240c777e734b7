"""Returns of episodes under an old and a new reward: what each earned, and how their order changes."""

import json
import re
from collections.abc import Container, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plaudit.ledger.storage.codec import decode_column
from plaudit.ledger.storage.episode_parts import ORIGINAL_REWARD, find_original_reward
from plaudit.ledger.summary.ranks import compute_ranks, correlate_ranks
from plaudit.terminal import format_count

Numbers = NDArray[np.float64]
EpisodeKey = tuple[Any, Any, Any]
"""The run, the actor and the episode."""
_SHOWN = 3
_WRITTEN = re.compile(rf'"{ORIGINAL_REWARD}":(-?[0-9][0-9.e+-]*)')


class Classes(NamedTuple):
    """Labels of a batch in a compact form: distinct labels, and for each row the position of its own."""

    labels: Sequence[Any]
    codes: NDArray[Any]


def join_classes(parts: Sequence[Classes]) -> Classes:
    """Return the labels of several batches as those of one.

    >>> join_classes([Classes(["a"], np.array([0])), Classes(["b", "a"], np.array([0, 1]))])
    Classes(labels=['a', 'b'], codes=array([0, 1, 0]))
    """
    positions: dict[Any, int] = {}
    codes = [
        np.array([positions.setdefault(label, len(positions)) for label in part.labels], np.intp)[part.codes]
        for part in parts
    ]
    return Classes(list(positions), np.concatenate(codes))


class EpisodeReturns:
    """What episodes earned in total, old and new, added up as their steps arrive.

    An episode with a step that one of the two cannot score has no return to compare: it is `broken`. One whose step
    numbers leave some out has `gaps`: its returns are of the steps that are there.

    >>> returns = EpisodeReturns()
    >>> keys = [("night", None, "1"), ("night", None, "2")]
    >>> returns.add(Classes(keys, np.array([0, 0, 1])), np.array([1.0, 2.0, 5.0]), np.array([4.0, 4.0, 5.0]))
    >>> returns.old.tolist(), returns.new.tolist(), returns.rank_correlation
    ([3.0, 5.0], [8.0, 5.0], -1.0)
    """

    def __init__(self) -> None:
        """Begin with no episode."""
        self._numbers: dict[Hashable, int] = {}
        self.unfinished: Container[EpisodeKey] = frozenset()
        """Episodes that have no end: they are counted, and have no return to compare."""
        self._left_out: set[EpisodeKey] = set()
        self._room = np.zeros((6, 0))  # old, new, steps, bad steps, lowest and highest step number

    def add(self, episodes: Classes, old: Numbers, new: Numbers, steps: Numbers | None = None) -> None:
        """Add a batch of steps; a label of None is no episode, and a step number of NaN is not known."""
        places = np.array([self._find(label) for label in episodes.labels], np.intp)
        self._grow()
        codes = episodes.codes
        if (places < 0).any():
            known = places[codes] >= 0
            codes, old, new = codes[known], old[known], new[known]
            steps = None if steps is None else steps[known]
        bad = np.isnan(old) | np.isnan(new)
        count, ours = len(places), places >= 0  # a batch costs what its own rows and episodes do
        for at, column in enumerate((old, new, None, bad)):
            np.add.at(self._sums[at], places[ours], np.bincount(codes, column, count)[ours])
        if steps is not None:
            ends = np.full((2, count), np.nan)
            np.fmin.at(ends[0], codes, steps)
            np.fmax.at(ends[1], codes, steps)
            np.fmin.at(self._sums[4], places[ours], ends[0][ours])
            np.fmax.at(self._sums[5], places[ours], ends[1][ours])

    def merge(self, other: "EpisodeReturns") -> None:
        """Add the steps of others, which come after these."""
        places = np.array([self._numbers.setdefault(key, len(self._numbers)) for key in other._numbers], np.intp)
        self._grow()
        mine, theirs = self._sums, other._sums
        mine[:4, places] += theirs[:4]
        mine[4, places] = np.fmin(mine[4, places], theirs[4])
        mine[5, places] = np.fmax(mine[5, places], theirs[5])

    @property
    def sums(self) -> tuple[list[Hashable], Numbers]:
        """The episodes, and of each the returns, steps, bad steps, and lowest and highest step number."""
        return list(self._numbers), self._sums

    @classmethod
    def restore(cls, keys: Sequence[EpisodeKey], sums: Numbers) -> "EpisodeReturns":
        """Return what `sums` were of."""
        made = cls()
        made._numbers = {key: at for at, key in enumerate(keys)}
        made._room = sums
        return made

    def _find(self, label: Any) -> int:
        if label is None or label[-1] is None:
            return -1
        if label in self.unfinished:
            self._left_out.add(label)
            return -1
        return self._numbers.setdefault(label, len(self._numbers))

    def _grow(self) -> None:
        have = self._room.shape[1]
        if len(self._numbers) > have:
            more = np.zeros((6, max(len(self._numbers), 2 * have) - have))
            more[4:] = np.nan
            self._room = np.concatenate([self._room, more], axis=1)

    @property
    def _sums(self) -> Numbers:
        return self._room[:, : len(self._numbers)]

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def _whole(self) -> NDArray[np.bool_]:
        whole: NDArray[np.bool_] = self._sums[3] == 0.0
        return whole

    def _select(self, at: int) -> Numbers:
        found: Numbers = self._sums[at][self._whole]
        return found

    @property
    def keys(self) -> list[EpisodeKey]:
        """The run, actor and name of each episode that both rewards can score whole."""
        return [key for key, whole in zip(self._numbers, self._whole, strict=True) if whole]  # type: ignore[misc]

    @property
    def old(self) -> Numbers:
        """Their returns before."""
        return self._select(0)

    @property
    def new(self) -> Numbers:
        """Their returns now."""
        return self._select(1)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """How many steps each of them has."""
        return self._select(2).astype(np.int64)

    @property
    def broken(self) -> list[EpisodeKey]:
        """Episodes with a step that one of the two cannot score."""
        return [key for key, whole in zip(self._numbers, self._whole, strict=True) if not whole]  # type: ignore[misc]

    @property
    def gaps(self) -> list[EpisodeKey]:
        """Episodes whose step numbers leave some out."""
        _, _, count, _, low, high = self._sums
        missing = high - low + 1 > count  # NaN, where nobody numbered them, is not
        return [key for key, gap in zip(self._numbers, missing, strict=True) if gap]  # type: ignore[misc]

    @property
    def ranks(self) -> tuple[Numbers, Numbers]:
        """The place of each episode before and now: 1 for the one that earned most; equal returns share a place."""
        return compute_ranks(-self.old), compute_ranks(-self.new)

    @property
    def rank_correlation(self) -> float | None:
        """Spearman's correlation of old and new returns; None where one does not vary, or there is one episode."""
        return correlate_ranks(self.old, self.new)

    def to_dict(self) -> dict[str, Any]:
        """Return how many there are and how they compare, for JSON."""
        old, new = self.old, self.new
        before, after = self.ranks
        return {
            "episodes": len(self),
            "compared": len(old),
            "broken": len(self.broken),
            "with_gaps": len(self.gaps),
            "unfinished": len(self._left_out),
            "mean_old": float(old.mean()) if len(old) else None,
            "mean_new": float(new.mean()) if len(new) else None,
            "rank_correlation": self.rank_correlation,
            "rank_changed": int((before != after).sum()),
        }

    def describe(self) -> list[str]:
        """Return a few lines for people; none where no record belongs to an episode."""
        plain, lines = self.to_dict(), []
        if plain["compared"]:
            lines.append(
                f"{format_count(plain['compared'], 'episode')}: mean return {plain['mean_old']:z.6g} → "
                f"{plain['mean_new']:z.6g}. {self._describe_ranks(plain)}"
            )
        for which, what in ((self.broken, "steps that one of the two cannot score; left out"), (self.gaps, "")):
            if which:
                what = what or "missing step numbers; their returns cover the recorded steps only"
                have = "has" if len(which) == 1 else "have"
                lines.append(f"{format_count(len(which), 'episode')} {have} {what}: {format_episodes(which)}.")
        if self._left_out:
            lines.append(f"Left out: {format_count(len(self._left_out), 'unfinished episode')}.")
        return lines

    def _describe_ranks(self, plain: dict[str, Any]) -> str:
        if plain["compared"] == 1:
            return "Rank correlation needs at least two episodes."
        if plain["rank_correlation"] is None:
            return "Rank correlation of returns: undefined, because all returns on one side are equal."
        changed = format_count(plain["rank_changed"], "episode")
        return f"Rank correlation of returns (Spearman): {plain['rank_correlation']:z.6f}; {changed} changed rank."


def name_episode(key: EpisodeKey) -> str:
    """Return an episode as people call it.

    >>> name_episode(("night-3", None, "7")), name_episode((None, "left", 7))
    ('night-3/7', 'left/7')
    """
    return "/".join(str(part) for part in key if part is not None)


def format_episodes(keys: Sequence[EpisodeKey]) -> str:
    """Return the first few of some episodes by name."""
    more = f" and {len(keys) - _SHOWN:,} more" if len(keys) > _SHOWN else ""
    return ", ".join(map(name_episode, keys[:_SHOWN])) + more


def read_steps(row: Any, chosen: NDArray[np.intp] | None = None) -> tuple[Classes, Numbers]:
    """Return the episode and the step of each record of a block, or of the chosen ones; NaN for a step nobody gave."""
    steps = np.array([None] if row.steps is None else json.loads(row.steps), np.float64)
    steps = np.broadcast_to(steps, row.records)
    return read_episodes(row, chosen), steps if chosen is None else steps[chosen]


def read_episodes(row: Any, chosen: NDArray[np.intp] | None = None) -> Classes:
    """Return the episode of each record of a block, or of the chosen ones."""
    listed = [None] if row.episodes is None else json.loads(row.episodes)
    positions = {episode: at for at, episode in enumerate(dict.fromkeys(listed))}
    codes = np.fromiter(map(positions.__getitem__, listed), np.intp, len(listed))
    codes = np.broadcast_to(codes, row.records)
    labels = [(row.run, row.actor, episode) for episode in positions]
    return Classes(labels, codes if chosen is None else codes[chosen])


def read_original_rewards(row: Any, chosen: NDArray[np.intp] | None = None) -> Numbers | None:
    """Return what the environment itself paid for each record of a block; None where a record does not say.

    What a wrapper wrote is looked for in the text, which is sooner searched than read.
    """
    text = row.contexts
    if text is None or ORIGINAL_REWARD not in text:
        return None
    found = _WRITTEN.findall(text)
    if len(found) == text.count("{") == row.records:  # nothing in them is nested
        rewards = np.array(found, np.float64)
    else:
        paid = [find_original_reward(each) for each in decode_column(text, row.records)]
        rewards = np.array([np.nan if each is None else each for each in paid])
        if None in paid:
            return None
    return rewards if chosen is None else rewards[chosen]


def number_decisions(codes: NDArray[Any], steps: Numbers) -> NDArray[np.int64]:
    """Return the number of each record's decision: those of one step of an episode are candidates for the same.

    >>> number_decisions(np.array([0, 0, 0, 1]), np.array([1.0, 1.0, 2.0, 2.0])).tolist()
    [0, 0, 1, 2]
    """
    begins = (codes[1:] != codes[:-1]) | (steps[1:] != steps[:-1])
    return np.concatenate([[0], np.cumsum(begins)])
