"""A reward over chunks of rows: its columns found first, then bad rows masked and counted by reason."""

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plaudit.errors import InputError, MissingField, WrongType, did_you_mean, find_nearest
from plaudit.language.program import Program
from plaudit.reward.reward import Reward
from plaudit.rows.chunks import Chunk, RowSource
from plaudit.rows.columns import Flags, FoundColumn, Path, Values
from plaudit.rows.row import arrange_row
from plaudit.targets.compiled import Scores
from plaudit.targets.inputs import find_default, list_slots, make_duplicate_error
from plaudit.targets.numpy import ReasonCounter

COMPILED_FROM = 30_000_000
"""Rows from which compiling to machine code, a second or two, pays."""

_KINDS = {"number": "number", "flag": "bool", "category": "string"}


def find_columns(reward: Reward, source: RowSource, columns: Mapping[str, str] | None = None) -> list[FoundColumn]:
    """Return where each input lies; MissingField names every one that lacks, WrongType one of another kind.

    `columns` says where an input lies under another name. A file whose first rows have no key at all lacks none: each
    row is then checked alone.
    """
    program, paths = reward.program, source.paths
    renamed = _validate_names(program, columns or {}, paths, source.name)
    found: dict[str, FoundColumn] = {}
    lacking: list[str] = []
    terminal: object = False if find_path("terminal", renamed, paths) is None else _SomeRows()
    for place in list_slots(program):
        for name in dict.fromkeys((place.name, place.column)):
            path = find_path(name, renamed, paths)
            if path is not None and not (source.grows and name not in renamed and name != place.column):
                if place.column in found and name != place.column:
                    raise make_duplicate_error(program, place.column)
                found[name] = FoundColumn(name, path, place, paths[path])
                break
        else:
            if find_default(program, place, terminal) is None and (paths or not source.grows):
                apart = any(f"{place.column}{entry}" in found for entry in place.field.entries)
                lacking.append(place.name if apart else place.column)
            elif source.grows:  # a later row may have it
                found[place.column] = FoundColumn(place.column, (place.column,), place)
    if lacking:
        known = [".".join(path) for path in paths]
        raise build_missing(reward, list(dict.fromkeys(lacking)), source.name, known)
    for one in found.values():
        source.check_column(f"{source.name}: reward {program.name!r}, field {one.name!r}", one)
    return list(found.values())


def list_remarks(reward: Reward, source: RowSource, found: Sequence[FoundColumn]) -> list[str]:
    """Return likely misspellings: inputs that take their default while an unused column has a similar name.

    Of JSON lines, the columns are the keys of the first rows.
    """
    read = {one.path for one in found if one.path in source.paths}
    there = {name for one in found if one.path in read for name in (one.name, one.place.name)}
    unread = [".".join(path) for path in source.paths if path not in read]
    remarks = []
    for place in list_slots(reward.program):
        if place.field.missing is None or not there.isdisjoint((place.name, place.column)):
            continue
        for name in dict.fromkeys((place.column, place.name)):
            near = find_nearest(name, (each for each in unread if ("[" in each) == ("[" in name)))
            if near is not None:
                text = f"{name} is not among the columns, so its default is used. Did you mean {near!r}?"
                remarks.append(f"{text} (--column {shlex.quote(f'{name}={near}')})")
                break
    return list(dict.fromkeys(remarks))


class _SomeRows:
    """A placeholder for a column of flags, some of which may be true."""


def find_path(name: str, renamed: Mapping[str, Path], paths: Mapping[Path, Any]) -> Path | None:
    """Return where a name lies: as given, under its own name, in its record, or after the step where it is plain."""
    if name in renamed:
        return renamed[name]
    record, dot, key = name.rpartition(".")
    ways: list[Path] = [(name,), (record, key)] if dot else [(name,), ("curr", name), (f"curr.{name}",)]
    return next((path for path in ways if path in paths), None)


def _validate_names(
    program: Program, columns: Mapping[str, str], paths: Mapping[Path, Any], source: str
) -> dict[str, Path]:
    known = {name for place in list_slots(program) for name in (place.name, place.column)}
    dotted = {".".join(path): path for path in reversed(list(paths))}
    for name, column in columns.items():
        if name not in known:
            near = did_you_mean(name, known)
            raise MissingField(f"columns= names {name!r}, which reward {program.name!r} does not read.{near}")
        if column not in dotted:
            raise build_missing(None, [column], source, list(dotted))
    return {name: dotted[column] for name, column in columns.items()}


def build_missing(reward: Reward | None, names: Sequence[str], source: str, known: Sequence[str]) -> MissingField:
    """Return the error for columns that a file does not have, and that a reward, or the caller, asked for."""
    wanted = "asked for" if reward is None else f"which reward {reward.name!r} needs"
    lines = [f"{source} lacks {_format_names(names)}, {wanted}."]
    for name in names:
        near = did_you_mean(name, known).strip()
        if reward is not None and name.rpartition(".")[2].partition("[")[0] in reward.states:
            near = "It is a state that the reward carries; with columns 'episode' and 'step' it is computed."
        lines += [f"  {name}: {near}"] if near else []
    shown = ", ".join(known[:40]) + (", …" if len(known) > 40 else "")
    return MissingField("\n".join([*lines, f"Its columns: {shown or 'none'}."]))


def _format_names(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names)) if len(names) < 3 else f"{', '.join(map(repr, names[:-1]))} and {names[-1]!r}"


def choose_target(program: Program, rows: int | None) -> str:
    """Return `numba` where it is installed, pays, and gives the very bits that `numpy` gives; else `numpy`."""
    exact = not any(node.inexact for node in program.nodes)
    pays = rows is not None and rows >= COMPILED_FROM  # reading text takes so long that nothing is gained
    return "numba" if exact and pays and find_spec("numba") is not None else "numpy"


@dataclass(frozen=True, slots=True)
class Scored:
    """The scores of a batch; where `ok` is false the numbers mean nothing."""

    scores: Scores
    ok: Flags
    bad: int
    columns: Mapping[str, NDArray[Any]]
    """What was scored."""


class Scoring:
    """A reward that scores the rows of one file; it counts bad rows and why they are bad."""

    def __init__(self, reward: Reward, source: RowSource, columns: Mapping[str, str] | None = None) -> None:
        """Find the columns; a missing one, or one of another kind, is an error here, before any row is read."""
        self.reward = reward
        self.found = find_columns(reward, source, columns)
        self.remarks = list_remarks(reward, source, self.found)
        self.target = choose_target(reward.program, source.rows)
        self.bad = 0
        self.reasons: Counter[str] = Counter()

    @cached_property
    def _compiled(self) -> Any:
        options = {"parallel": False} if self.target == "numba" else {}
        return self.reward.compile(self.target, on_bad="mask", **options)

    @cached_property
    def _why(self) -> ReasonCounter:
        return ReasonCounter(self.reward.program)

    def __call__(self, chunk: Chunk) -> Scored:
        """Return the scores of some rows."""
        columns: dict[str, NDArray[Any]] = {}
        refused: dict[str, Flags] = {}
        for one, column in self._read(chunk):
            columns[one.name] = column.array
            self._note(one, column, refused)
        self._excuse(columns, refused)
        scores = self._compute(chunk, columns, refused)
        rows = chunk.rows
        ok = np.array(np.broadcast_to(scores.ok, rows)) if refused else np.broadcast_to(scores.ok, rows)
        for rows_refused in refused.values():
            ok &= ~rows_refused
        bad = rows - int(np.count_nonzero(ok))
        if bad:
            self.bad += bad
            self._count(columns, refused, ok)
        return Scored(scores, ok, bad, columns)

    @property
    def reads(self) -> list[Path]:
        """Where what it reads lies."""
        return [one.path for one in self.found]

    def _read(self, chunk: Chunk) -> Iterator[tuple[FoundColumn, Values]]:
        """Yield the columns to score."""
        for one in self.found:
            yield one, chunk.read(one)

    def _compute(self, chunk: Chunk, columns: dict[str, NDArray[Any]], refused: Mapping[str, Flags]) -> Scores:
        """Return the scores of columns; those of rows that are `refused` mean nothing."""
        scores: Scores = self._compiled(columns)
        return scores

    def _note(self, one: FoundColumn, column: Values, refused: dict[str, Flags]) -> None:
        absent = None if one.name == "terminal" else column.absent  # an episode goes on unless a row says otherwise
        if column.wrong is not None and column.wrong.any():
            sizes = " × ".join(map(str, one.shape))
            what = f"not a list of {sizes}" if sizes else f"not a {_KINDS[one.place.field.kind]}"
            refused[f"{one.name} is {what}"] = column.wrong
        if absent is not None and absent.any():
            refused[f"{one.name} is NULL"] = absent

    def _excuse(self, columns: Mapping[str, NDArray[Any]], refused: dict[str, Flags]) -> None:
        """Let an input that only terminal terms read be absent where the episode goes on."""
        program = self.reward.program
        if not program.terminal or not refused:
            return
        ends = columns["terminal"] != 0 if "terminal" in columns else np.False_
        names = {one.name for one in self.found if one.place.name in program.terminal}
        for reason in refused:
            if reason.partition(" ")[0] in names:
                refused[reason] = refused[reason] & ends

    def _count(self, columns: Mapping[str, NDArray[Any]], refused: Mapping[str, Flags], ok: Flags) -> None:
        left = ~ok
        for reason, rows in refused.items():
            if number := int(np.count_nonzero(rows & left)):
                self.reasons[reason] += number
            left &= ~rows
        if left.any():
            rows_left = np.flatnonzero(left)
            self.reasons += self._why({name: array[rows_left] for name, array in columns.items()})

    def _get_row(self, chunk: Chunk, row: int) -> dict[str, Any]:
        return {one.name: chunk.get_value(one, row) for one in self.found}

    def explain(self, chunk: Chunk, row: int) -> InputError:
        """Return the error for one row that cannot be scored."""
        name = self.reward.name
        try:
            given = self._get_row(chunk, row)
            row_given = {key: value for key, value in given.items() if value is not None}
            self.reward.score(**arrange_row(self.reward.program, row_given))
        except WrongType as error:
            return error if str(error).startswith("reward ") else WrongType(f"reward {name!r}, {error}")
        except InputError as error:
            return error
        return InputError(f"reward {name!r}: the row cannot be scored.")
