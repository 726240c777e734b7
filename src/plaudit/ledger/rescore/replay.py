"""Episodes of a ledger from their first step on, where another reward carries something else through them.

A record holds what its own reward carried into its step. For a reward that carries the same by the same updates that
is all there is to know; any other one has to go through the whole episode again.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from plaudit.errors import BrokenEpisode
from plaudit.ledger.record import Page
from plaudit.ledger.storage.codec import RecordLayout, decode_column
from plaudit.reward.episodes import EpisodeReplay
from plaudit.reward.reward import Reward

Columns = Mapping[str, Any]
"""Inputs of chosen records by name."""


def needs_replay(reward: Reward, sources: Iterable[RecordLayout]) -> bool:
    """Return whether what `reward` carries is not what the rewards of `sources` carried."""
    return bool(reward.states) and any(
        source.reward._states_fingerprint != reward._states_fingerprint for source in sources
    )


class LedgerReplay:
    """Goes through the records of a ledger in order and computes what a reward carries into each.

    An episode is one of a run, an actor and a writer; `BrokenEpisode` names the record where a step is missing.
    """

    def __init__(self, reward: Reward) -> None:
        """Begin before the first record."""
        self._states = reward.program.states
        self._replay = EpisodeReplay(reward.program, what="record")

    def check(self, pages: Iterable[Page]) -> None:
        """Refuse records that no episode can be put together from; nothing is computed."""
        for page in pages:
            self._replay.check(*_list_steps([page]))

    def fill(self, pages: Sequence[Page], translate: Any) -> dict[int, dict[str, Any]]:
        """Return what is carried into the chosen records of each page, an input an entry, by the page's first record.

        `translate` gives the measured inputs of some rows of a layout; None where the reward cannot read them.
        """
        filled: dict[int, dict[str, Any]] = {}
        for layout, group in groupby(pages, key=lambda page: page.layout):
            alike = list(group)
            rows = np.concatenate([page.inputs[page.positions()] for page in alike])
            columns = translate(layout, rows)
            if columns is None:
                continue
            keys, steps, numbers = _list_steps(alike)
            before = self._replay.run(columns, keys, steps, rows=numbers).states
            entries = dict(self._split(before))
            start = 0
            for page in alike:
                end = start + len(page.positions())
                filled[page.row.first] = {name: column[start:end] for name, column in entries.items()}
                start = end
        return filled

    def _split(self, states: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        for name, carried in self._states.items():
            entries = states[name].reshape(len(states[name]), -1).T
            yield from zip(carried.list_names("prev"), entries, strict=True)


def _list_steps(pages: Sequence[Page]) -> tuple[list[Hashable], list[float], list[int]]:
    """Return the episode, the step and the number of each chosen record."""
    keys: list[Hashable] = []
    steps: list[float] = []
    numbers: list[int] = []
    for page in pages:
        row = page.row
        episodes, counted = (list(decode_column(column, row.records)) for column in (row.episodes, row.steps))
        for at in page.positions().tolist():
            if episodes[at] is None or counted[at] is None:
                raise BrokenEpisode(
                    f"record {row.first + at} has no episode or no step. State is carried from step to step, so "
                    "records need both."
                )
            keys.append((row.run, row.actor, row.writer, episodes[at]))
            steps.append(counted[at])
            numbers.append(row.first + at)
    return keys, steps, numbers
