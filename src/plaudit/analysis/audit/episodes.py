"""The episodes of an audit as columns, from sums that the ledger keeps; which of them can be trusted, and why not."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from plaudit.ledger.summary.episodes import Episode
from plaudit.ledger.summary.returns import EpisodeKey, format_episodes, name_episode
from plaudit.terminal import format_count

Key = tuple[str | None, str | None, str | None, str, str]
"""The run, the actor, the episode, and the name and version of the reward."""


@dataclass(frozen=True)
class EpisodeTable:
    """Episodes in the order in which they began."""

    listed: Sequence[Episode]
    has_final: bool = False
    """Whether what the end of an episode pays may be a record of its own, which is no step."""

    def __len__(self) -> int:
        return len(self.listed)

    @cached_property
    def _rows(self) -> dict[Key, int]:
        return {
            (each.run, each.actor, each.episode, each.reward, each.version): at for at, each in enumerate(self.listed)
        }

    def find(self, key: Key) -> int:
        """Return the row of an episode; -1 where a step belongs to none, or to one that began meanwhile."""
        return self._rows.get(key, -1)

    @cached_property
    def returns(self) -> NDArray[np.float64]:
        """What each earned."""
        return np.array([each.total for each in self.listed], np.float64)

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """How many steps each has."""
        return np.array([each.length for each in self.listed], np.int64)

    def sum_term(self, name: str) -> NDArray[np.float64]:
        """Return what a term paid in each."""
        return np.array([each.terms.get(name, 0.0) for each in self.listed], np.float64)

    def key(self, row: int) -> EpisodeKey:
        """Return the run, the actor and the name of an episode."""
        each = self.listed[row]
        return each.run, each.actor, each.episode

    def name(self, row: int) -> str:
        """Return the display name of an episode."""
        return name_episode(self.key(row))

    def describe(self, rows: Iterable[int]) -> str:
        """Return the first few of some episodes by name."""
        return format_episodes([self.key(row) for row in rows])

    # -- which of them are whole ------------------------------------------------------------------------------------

    @cached_property
    def _runs(self) -> dict[str | None, list[int]]:
        runs: dict[str | None, list[int]] = {}
        for row, each in enumerate(self.listed):
            runs.setdefault(each.run, []).append(row)
        return runs

    @cached_property
    def unfinished(self) -> NDArray[np.bool_]:
        """Those without an end, where records say how episodes end: they are still running, or were broken off."""
        return np.array([each.is_scored and not each.finished for each in self.listed], np.bool_)

    @cached_property
    def gaps(self) -> NDArray[np.bool_]:
        """Those whose step numbers leave some out."""
        return np.array([_has_gaps(each, self.has_final) for each in self.listed], np.bool_)

    @cached_property
    def whole(self) -> NDArray[np.bool_]:
        """Those that are there from beginning to end."""
        return ~(self.unfinished | self.gaps) & np.isfinite(self.returns)

    def choose_late(self, share: float) -> NDArray[np.bool_]:
        """Return the last whole episodes of each run: that share of them, and one at least."""
        late = np.zeros(len(self), np.bool_)
        for listed in self._runs.values():
            rows = [row for row in listed if self.whole[row]]
            late[rows[len(rows) - max(1, round(share * len(rows))) :]] = True
        return late

    def split_runs(self) -> list[NDArray[np.intp]]:
        """Return the whole episodes of each run, in the order of training.

        Of several actors, each counts from its own first episode to its own last: one that comes later, and is paid
        otherwise, is no change in training.
        """
        return [self._order(np.array(rows)[self.whole[rows]]) for rows in self._runs.values()]

    def _order(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        actors: dict[str | None, list[int]] = {}
        for at, row in enumerate(rows.tolist()):
            actors.setdefault(self.listed[row].actor, []).append(at)
        progress = np.zeros(len(rows))
        for places in actors.values():
            progress[places] = (np.arange(len(places)) + 0.5) / len(places)
        return rows[np.argsort(progress, kind="stable")]

    def list_remarks(self) -> list[str]:
        """Return remarks about incomplete episodes."""
        remarks = []
        untold = dict.fromkeys(each.run for each in self.listed if each.finished and each.ended is None)
        if untold:
            of = f" of {format_runs(untold)}" if len(untold) < len(self._runs) else ""
            remarks.append(f"No record{of} says how an episode ended; the last episode may be unfinished.")
        for which, what in (
            (self.unfinished, "no recorded end and are excluded from the findings about returns"),
            (self.gaps, "missing step numbers and are excluded from the findings about returns, cycles and stays"),
        ):
            rows = np.flatnonzero(which).tolist()
            if rows:
                have = "has" if len(rows) == 1 else "have"
                text = what.replace("and are", "and is") if len(rows) == 1 else what
                remarks.append(f"{format_count(len(rows), 'episode')} {have} {text}: {self.describe(rows)}.")
        return remarks


def format_runs(runs: Iterable[str | None]) -> str:
    """Return the first few of some runs by name."""
    return format_episodes([("no run" if run is None else run, None, None) for run in runs])


def _has_gaps(episode: Episode, has_final: bool) -> bool:
    if episode.first_step is None or episode.last_step is None:
        return False
    return episode.last_step - episode.first_step + 1 > episode.length + has_final
