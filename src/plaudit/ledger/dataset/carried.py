"""Rewards over rows in the order of their episodes: states are computed, and `prev` is taken from the row before."""

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plaudit.errors import BrokenEpisode
from plaudit.ledger.dataset.context import find_context, read_episodes, read_steps
from plaudit.ledger.summary.returns import Classes, Numbers
from plaudit.reward.episodes import EpisodeReplay
from plaudit.reward.reward import Reward
from plaudit.rows.chunks import Chunk, RowSource
from plaudit.rows.columns import Flags, FoundColumn, Path, Values, find_stand_in
from plaudit.rows.scoring import Scoring, find_path
from plaudit.targets.compiled import Scores
from plaudit.targets.inputs import list_slots

Array = NDArray[Any]


class Track:
    """Where each episode of a data set is, for one reward: its states, its last step and that row."""

    def __init__(self, first: float | None = None) -> None:
        """Begin before all episodes; `first` is the number of their first step where it is known."""
        self.first = first
        self._replay: EpisodeReplay | None = None
        self._places: dict[Hashable, int] = {}
        self._held: dict[str, Array] = {}
        """Of the last row of each episode, the step, and of each column the value and whether it is absent or wrong."""

    def replay(self, reward: Reward) -> EpisodeReplay:
        """Return what computes the states."""
        self._replay = self._replay or EpisodeReplay(reward.program, first=self.first)
        return self._replay

    def shift(self, episodes: Classes, columns: Mapping[str, Array]) -> dict[str, Array]:
        """Return the columns as they were in the row before of each row's episode, and keep the last rows.

        Where `step` is not that of the row before, what the others hold means nothing.
        """
        known = {label: at for at, label in enumerate(episodes.labels)}
        places = np.array([self._places.setdefault(label, len(self._places)) for label in known], np.intp)
        codes, count = np.asarray(episodes.codes), len(places)
        order = np.argsort(codes, kind="stable")
        goes_on = codes[order][1:] == codes[order][:-1]
        taken = np.array(codes)  # the last row of an earlier batch, or a row of this one behind those
        taken[order[1:][goes_on]] = count + order[:-1][goes_on]
        last = order[np.append(~goes_on, True)] if len(order) else order
        found = {}
        for name, column in columns.items():
            held = self._grow(name, column)
            found[name] = np.concatenate([held[places], column])[taken]
            held[places[codes[last]]] = column[last]
        return found

    def _grow(self, name: str, like: Array) -> Array:
        held = self._held.get(name)
        if held is None or len(held) < len(self._places):
            room = np.zeros((2 * len(self._places), *like.shape[1:]), like.dtype)
            if name == _STEP:
                room[:] = np.nan
            if held is not None:
                room[: len(held)] = held
            self._held[name] = held = room
        return held


_STEP = "step"


class EpisodeScoring(Scoring):
    """A reward that scores rows in the order of their episodes."""

    def __init__(
        self,
        reward: Reward,
        source: RowSource,
        columns: Mapping[str, str] | None,
        track: Track,
        carried: Mapping[Path, Path | None],
    ) -> None:
        """Find the columns; those `carried` lie elsewhere, `prev` in the row before; a state lies nowhere."""
        super().__init__(reward, _Extended(source, carried), columns)  # type: ignore[arg-type]
        self._source, self._track = source, track
        moved = [replace(one, path=path) for one in self.found if (path := carried.get(one.path, one.path)) is not None]
        self._joined = [one for one in moved if one.place.record == "prev" and (one.name,) in carried]
        self.replays = None in carried.values()
        self.found = [one for one in moved if one not in self._joined]
        told = [f"{one.name} is taken from the row before in its episode." for one in self._joined]
        if self.replays:
            told.append("What the reward carries is computed from the first step of each episode.")
        self.remarks = [*self.remarks, *told]
        self._given: dict[str, Values] = {}
        """What was carried to the rows of the last chunk."""

    @property
    def reads(self) -> list[Path]:
        """Where what it reads lies."""
        context = [(name,) for name in find_context(self._source)]
        return [*super().reads, *(one.path for one in self._joined), *context]

    def follow(self, chunk: Chunk, wanted: Collection[Hashable]) -> None:
        """Go through rows of earlier steps of the `wanted` episodes; nothing is counted."""
        episodes = read_episodes(chunk, self._source)
        assert episodes is not None
        chosen = np.array([label in wanted for label in episodes.labels], bool)[episodes.codes]
        before = self.bad, self.reasons.copy()
        if chosen.any():
            self(_PickedChunk(chunk, np.flatnonzero(chosen)))
        self.bad, self.reasons = before

    def _read(self, chunk: Chunk) -> Iterator[tuple[FoundColumn, Values]]:
        yield from super()._read(chunk)
        self._given = {}
        if not self._joined:
            return
        episodes, steps = self._read_order(chunk)
        columns: dict[str, Array] = {_STEP: steps}
        for one in self._joined:
            values = chunk.read(one)
            none = np.zeros(chunk.rows, bool)
            columns[one.name] = values.array
            columns[f"{one.name} absent"] = none if values.absent is None else values.absent
            columns[f"{one.name} wrong"] = none if values.wrong is None else values.wrong
        before = self._track.shift(episodes, columns)
        named = np.array([label[-1] is not None for label in episodes.labels], bool)[episodes.codes]
        there = named & (before[_STEP] == steps - 1)
        for one in self._joined:
            array, field = before[one.name], one.place.field
            array[~there] = find_stand_in(field)
            absent = None if field.missing is not None else before[f"{one.name} absent"] | ~there
            self._given[one.name] = Values(array, absent, before[f"{one.name} wrong"] & there)
            yield one, self._given[one.name]

    def _compute(self, chunk: Chunk, columns: dict[str, Array], refused: Mapping[str, Flags]) -> Scores:
        if not self.replays:
            return super()._compute(chunk, columns, refused)
        episodes, steps = self._read_order(chunk)
        keys = [episodes.labels[code] for code in episodes.codes]
        masked = np.logical_or.reduce([np.zeros(chunk.rows, bool), *refused.values()])
        for row in np.flatnonzero(np.isnan(steps) | np.array([key[-1] is None for key in keys], bool)).tolist():
            raise BrokenEpisode(
                f"{self._source.name}, {self._source.unit} {chunk.numbers[row]:,} has no episode or no step. State is "
                "carried from step to step, so rows need both."
            )
        try:
            found = self._track.replay(self.reward).run(columns, keys, steps.tolist(), chunk.numbers, masked=masked)
        except BrokenEpisode as error:
            raise BrokenEpisode(f"{self._source.name}, {error}") from None
        states = {f"prev.{name}": array for name, array in found.states.items()}
        columns |= states
        self._given |= {name: Values(array) for name, array in states.items()}
        return found.scores

    def _read_order(self, chunk: Chunk) -> tuple[Classes, Numbers]:
        episodes, steps = read_episodes(chunk, self._source), read_steps(chunk, self._source)
        if episodes is None or steps is None:
            raise BrokenEpisode(f"{self._source.name}: the column 'step' does not hold numbers.")
        return episodes, steps

    def _get_row(self, chunk: Chunk, row: int) -> dict[str, Any]:
        given: dict[str, Any] = {
            name: None if values.absent is not None and values.absent[row] else values.array[row].tolist()
            for name, values in self._given.items()
        }
        for one in self._joined:
            if one.place.field.kind == "category" and given[one.name] is not None:
                labels = one.place.field.labels
                given[one.name] = labels[given[one.name]] if given[one.name] < len(labels) else None
        return super()._get_row(chunk, row) | given


def make_scoring(reward: Reward, source: RowSource, columns: Mapping[str, str] | None, track: Track) -> Scoring:
    """Return what scores the rows of a file, in the order of their episodes where the reward needs more than a row.

    That is where no column holds a state, or `prev` of a column that is there, and columns tell episode and step.
    """
    carried = _find_carried(reward, source, columns or {}) if {"episode", "step"} <= {*find_context(source)} else {}
    return EpisodeScoring(reward, source, columns, track, carried) if carried else Scoring(reward, source, columns)


def _find_carried(reward: Reward, source: RowSource, columns: Mapping[str, str]) -> dict[Path, Path | None]:
    """Return the inputs that no column holds, and the column without `prev` or `curr`; None for a state."""
    paths, found = source.paths, dict[Path, Path | None]()
    renamed = {name: path for path in paths for name, column in columns.items() if ".".join(path) == column}
    states = reward.program.states
    slots = [slot for slot in list_slots(reward.program) if slot.record]
    lacking = [slot for slot in slots if not any(find_path(n, renamed, paths) for n in (slot.name, slot.column))]
    carries = any(slot.key in states for slot in lacking)
    for slot in slots:
        if carries and slot.key in states:
            found[slot.column,] = None
        elif slot in lacking:
            for name in (slot.name, slot.column):
                plain = name.removeprefix(f"{slot.record}.")
                path = find_path(f"curr.{plain}", renamed, paths) or find_path(plain, renamed, paths)
                if path is not None:
                    found[name,] = path
                    break
    return found if any(name.startswith("prev.") for (name,) in found) else {}


class _Extended:
    """A file as if it had columns that are carried to its rows."""

    def __init__(self, source: RowSource, carried: Mapping[Path, Path | None]) -> None:
        self._source, self._carried = source, carried
        self.paths = {**source.paths, **{name: path and source.paths[path] for name, path in carried.items()}}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    def check_column(self, where: str, found: FoundColumn) -> None:
        """Refuse a column of another kind, where there is one."""
        if self._carried.get(found.path, found.path) is not None:
            self._source.check_column(where, found)


class _PickedChunk(Chunk):
    """Some rows of a chunk, to be scored."""

    def __init__(self, chunk: Chunk, rows: NDArray[np.intp]) -> None:
        self._chunk, self._rows = chunk, rows
        self.done, self.refused = chunk.done, []
        self.numbers: Sequence[int] = [chunk.numbers[row] for row in rows]

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(self._rows)

    def read(self, found: FoundColumn) -> Values:
        """Return a column as a compiled reward takes it."""
        values = self._chunk.read(found)
        absent, wrong = (None if each is None else each[self._rows] for each in (values.absent, values.wrong))
        return Values(values.array[self._rows], absent, wrong)

    def get_value(self, found: FoundColumn, row: int) -> Any:
        """Return one value as `reward.score` takes it."""
        return self._chunk.get_value(found, int(self._rows[row]))

    def list_column(self, name: str) -> list[Any]:
        """Return a column as Python's values."""
        values = self._chunk.list_column(name)
        return [values[row] for row in self._rows]

    def encode_labels(self, name: str) -> tuple[list[Any], NDArray[np.intp]]:
        """Return the distinct values of a column, and the position of each row's own."""
        labels, codes = self._chunk.encode_labels(name)
        return labels, codes[self._rows]

    def read_numbers(self, name: str) -> Numbers | None:
        """Return a column of numbers."""
        numbers = self._chunk.read_numbers(name)
        return None if numbers is None else numbers[self._rows]

    def format_row(self, row: int) -> bytes:
        """Return a row as a bad one is kept."""
        return self._chunk.format_row(int(self._rows[row]))
