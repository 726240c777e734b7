"""A reward over Arrow batches: its columns found first, then bad rows masked and counted by reason."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from plaudit.errors import InputError, MissingField, UnusableFile, WrongType, did_you_mean
from plaudit.language.field import RECORDS, Kind
from plaudit.language.program import Program
from plaudit.language.shapes import Shape, nest_entries
from plaudit.ledger.dataset.arrow import Flags, Values, convert_column, find_narrow_dtype, narrow_value
from plaudit.reward.reward import Reward
from plaudit.reward.rows import parse_bool, parse_number
from plaudit.targets.compiled import Scores
from plaudit.targets.inputs import InputSlot, find_default, list_slots, make_duplicate_error
from plaudit.targets.numpy import ReasonCounter

Path = tuple[str, ...]
"""A column by its name, or a child of a struct by both names."""

COMPILED_FROM = 30_000_000
"""Rows from which compiling to machine code, a second or two, pays."""

_KINDS = {"number": "number", "flag": "bool", "category": "string"}


@dataclass(frozen=True, slots=True)
class FoundColumn:
    """One column that a reward reads: under which name it is scored, where it lies, what it holds."""

    name: str
    """`distance`, `prev.tokens_used`, `torque` or `torque[3]`: what a compiled reward calls it."""
    path: Path
    place: InputSlot
    type: pa.DataType

    @property
    def shape(self) -> Shape:
        """The shape of a vector or matrix that lies in one column; empty for a single value."""
        return () if self.name == self.place.name else self.place.field.shape

    @property
    def dotted(self) -> str:
        """Where it lies, as Parquet names it."""
        return ".".join(self.path)


def find_columns(
    program: Program, schema: pa.Schema, source: str, columns: Mapping[str, str] | None = None, *, texts: bool = False
) -> list[FoundColumn]:
    """Return where each input lies; MissingField names every one that lacks, WrongType one of another kind.

    `columns` says where an input lies under another name. With `texts` every column is text, as in CSV.
    """
    refuse_duplicates(schema.names, source)
    paths = _list_paths(schema)
    renamed = _validate_names(program, columns or {}, paths, source)
    found: dict[str, FoundColumn] = {}
    lacking: list[str] = []
    terminal: object = False if _find_path("terminal", renamed, paths) is None else _SomeRows()
    for place in list_slots(program):
        for name in dict.fromkeys((place.name, place.column)):
            path = _find_path(name, renamed, paths)
            if path is not None:
                if place.column in found and name != place.column:
                    raise make_duplicate_error(program, place.column)
                found[name] = FoundColumn(name, path, place, paths[path])
                break
        else:
            if find_default(program, place, terminal) is None:
                apart = any(f"{place.column}{entry}" in found for entry in place.field.entries)
                lacking.append(place.name if apart else place.column)
    if lacking:
        raise build_missing(program.name, list(dict.fromkeys(lacking)), source, [".".join(path) for path in paths])
    for one in found.values():
        _check_type(f"{source}: reward {program.name!r}, field {one.name!r}", one, texts)
    return list(found.values())


class _SomeRows:
    """Stands for a column of flags of which some may be true."""


def _list_paths(schema: pa.Schema) -> dict[Path, pa.DataType]:
    """Return every column, and the children of `prev` and `curr`."""
    paths: dict[Path, pa.DataType] = {(column.name,): column.type for column in schema}
    for record in RECORDS:
        kind = paths.get((record,))
        if kind is not None and pa.types.is_struct(kind):
            paths |= {(record, child.name): child.type for child in kind}
    return paths


def _find_path(name: str, renamed: Mapping[str, Path], paths: Mapping[Path, pa.DataType]) -> Path | None:
    """Return where a name lies: as given, under its own name, in its record, or after the step where it is plain."""
    if name in renamed:
        return renamed[name]
    record, dot, key = name.rpartition(".")
    ways: list[Path] = [(name,), (record, key)] if dot else [(name,), ("curr", name), (f"curr.{name}",)]
    return next((path for path in ways if path in paths), None)


def _validate_names(
    program: Program, columns: Mapping[str, str], paths: Mapping[Path, pa.DataType], source: str
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


def build_missing(reward: str | None, names: Sequence[str], source: str, known: Sequence[str]) -> MissingField:
    """Return the error for columns that a data set does not have, and that a reward, or the caller, asked for."""
    wanted = "asked for" if reward is None else f"which reward {reward!r} needs"
    lines = [f"{source} lacks {_format_names(names)}, {wanted}."]
    for name in names:
        near = did_you_mean(name, known).strip()
        lines += [f"  {name}: {near}"] if near else []
    shown = ", ".join(known[:40]) + (", …" if len(known) > 40 else "")
    return MissingField("\n".join([*lines, f"Its columns: {shown or 'none'}."]))


def refuse_duplicates(names: Iterable[str], source: str) -> None:
    """Refuse a table with two columns of one name."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise UnusableFile(f"{source} has the column {name!r} twice; nobody can tell which one is meant.")
        seen.add(name)


def _format_names(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names)) if len(names) < 3 else f"{', '.join(map(repr, names[:-1]))} and {names[-1]!r}"


def _check_type(where: str, found: FoundColumn, texts: bool) -> None:
    kind: Any = found.type
    for size in found.shape if not texts else ():
        if not is_list(kind):
            raise WrongType(f"{where}: a column of {found.type} is no {_describe(found.shape)}; a list is needed.")
        if pa.types.is_fixed_size_list(kind) and kind.list_size != size:
            raise WrongType(f"{where}: a column of {kind} holds {kind.list_size} entries, not {size}.")
        kind = kind.value_type
    if texts and found.shape:
        first, second, *_ = *found.place.field.entries, ""
        raise WrongType(f"{where}: CSV has no vectors; give {found.name}{first}, {found.name}{second} … a column each.")
    if not texts and not _holds(kind, found.place.field.kind):
        needed = {"number": "a number", "flag": "a bool", "category": "a string"}[found.place.field.kind]
        raise WrongType(f"{where}: a column of {kind} does not hold {needed}. Convert the column first.")


def _describe(shape: Shape) -> str:
    return f"vector of {shape[0]}" if len(shape) == 1 else f"list of lists of the shape {shape}"


def is_list(kind: pa.DataType) -> bool:
    """Return whether a column holds a list in each row."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _holds(kind: pa.DataType, needed: Kind) -> bool:
    if pa.types.is_null(kind):
        return True
    if pa.types.is_dictionary(kind):
        return _holds(kind.value_type, needed)
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if needed == "flag":
        return bool(number or pa.types.is_boolean(kind))
    if needed == "number":
        return bool(number or pa.types.is_decimal(kind))
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


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
    """A reward that scores batches of one schema; it counts bad rows and why they are bad."""

    def __init__(
        self,
        reward: Reward,
        schema: pa.Schema,
        source: str,
        *,
        columns: Mapping[str, str] | None = None,
        texts: bool = False,
        rows: int | None = None,
    ) -> None:
        """Find the columns; a missing one, or one of another kind, is an error here, before any row is read."""
        self.reward = reward
        self.found = find_columns(reward.program, schema, source, columns, texts=texts)
        self.target = choose_target(reward.program, rows)
        self.bad = 0
        self.reasons: Counter[str] = Counter()

    @cached_property
    def _compiled(self) -> Any:
        options = {"parallel": False} if self.target == "numba" else {}
        return self.reward.compile(self.target, on_bad="mask", **options)

    @cached_property
    def _why(self) -> ReasonCounter:
        return ReasonCounter(self.reward.program)

    def __call__(self, batch: pa.RecordBatch, wrong: Mapping[str, Flags] | None = None) -> Scored:
        """Return the scores of a batch; `wrong` notes rows, by column, whose value the reader could not read."""
        columns: dict[str, NDArray[Any]] = {}
        refused: dict[str, Flags] = {}
        for one in self.found:
            column = convert_column(pick_column(batch, one), one.place.field, one.shape)
            columns[one.name] = column.array
            self._note(one, column, (wrong or {}).get(one.dotted), refused)
        self._excuse(columns, refused)
        scores = self._compiled(columns)
        rows = batch.num_rows
        ok = np.array(np.broadcast_to(scores.ok, rows)) if refused else np.broadcast_to(scores.ok, rows)
        for rows_refused in refused.values():
            ok &= ~rows_refused
        bad = rows - int(np.count_nonzero(ok))
        if bad:
            self.bad += bad
            self._count(columns, refused, ok)
        return Scored(scores, ok, bad, columns)

    def _note(self, one: FoundColumn, column: Values, wrong: Flags | None, refused: dict[str, Flags]) -> None:
        """Note the rows whose value is absent or of another kind."""
        absent = column.absent
        if wrong is not None:
            refused[f"{one.name} is not a {_KINDS[one.place.field.kind]}"] = wrong
            absent = None if absent is None else absent & ~wrong
        if column.wrong is not None and column.wrong.any():
            sizes = " × ".join(map(str, one.shape))
            what = f"no list of {sizes}" if sizes else f"not a {_KINDS[one.place.field.kind]}"
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

    def build_refusal(self, batch: pa.RecordBatch, row: int) -> InputError:
        """Return the error for one row of a batch that cannot be scored."""
        inputs: dict[str, Any] = {}
        vectors: dict[str, list[Any]] = {}
        for one in self.found:
            value = pick_column(batch, one)[row].as_py()
            if isinstance(value, str) and one.place.field.kind != "category":
                value = _parse_cell(value, one)
            dtype = find_narrow_dtype(one.type)
            if dtype is not None and one.place.field.kind == "number":
                value = narrow_value(value, dtype)
            elif isinstance(value, bool | int | float) and one.place.field.kind == "number" and not one.shape:
                value = float(value) if not isinstance(value, bool | int) else value
            _put_input(inputs, one, value, vectors)
        for place in list_slots(self.reward.program):
            if place.record and place.record not in inputs:
                inputs[place.record] = {}
            default = find_default(self.reward.program, place, False)
            if default is not None:
                target = inputs[place.record] if place.record else inputs
                target.setdefault(place.key, default)
        try:
            self.reward.score(**inputs)
        except InputError as error:
            return error
        return InputError(f"reward {self.reward.name!r}: the row cannot be scored.")


def pick_column(batch: pa.RecordBatch, found: FoundColumn) -> pa.Array:
    """Return the column that an input lies in."""
    column = batch.column(batch.schema.get_field_index(found.path[0]))
    return column if len(found.path) == 1 else pc.struct_field(column, found.path[1:])


def _parse_cell(text: str, one: FoundColumn) -> Any:
    try:
        return parse_number(text) if one.place.field.kind == "number" else parse_bool(text)
    except ValueError:
        return text


def _put_input(inputs: dict[str, Any], one: FoundColumn, value: Any, vectors: dict[str, list[Any]]) -> None:
    """Put a value where `reward.score` looks for it; `vectors` holds the entries of those that lie apart."""
    record = inputs.setdefault(one.place.record, {}) if one.place.record else inputs
    if one.place.entry is not None and not one.shape:
        entries = vectors.setdefault(one.place.column, [None] * len(one.place.field.entries))
        entries[one.place.entry] = value
        value = nest_entries(entries, one.place.field.shape)
    record[one.place.key] = value
