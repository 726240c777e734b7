"""A reward over Arrow batches: compiled once, bad rows masked and counted by reason."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from plaudit.errors import InputError
from plaudit.language import nodes as n
from plaudit.language.program import Program
from plaudit.ledger.dataset.cells import flag_cell, number_cell
from plaudit.ledger.dataset.columns import Found, find
from plaudit.ledger.dataset.values import Flags, Values, values
from plaudit.reward.reward import Reward
from plaudit.targets.reasons import Reasons
from plaudit.targets.rows import default_of, places
from plaudit.targets.scores import Scores

COMPILED_FROM = 30_000_000
"""Rows from which compiling to machine code, a second or two, pays."""

_INEXACT = (n.Exp, n.Expm1, n.Log, n.Log1p, n.Sin, n.Cos, n.Tanh)
"""Operations that two libraries may round differently."""


def target_for(program: Program, rows: int | None) -> str:
    """Return `numba` where it is installed, pays, and gives the very bits that `numpy` gives; else `numpy`."""
    exact = not any(isinstance(node, _INEXACT) for node in program.nodes)
    pays = rows is not None and rows >= COMPILED_FROM  # reading text takes so long that nothing is gained
    return "numba" if exact and pays and find_spec("numba") is not None else "numpy"


@dataclass(frozen=True, slots=True)
class Scored:
    """The scores of a batch; where `ok` is false the numbers mean nothing."""

    scores: Scores
    ok: Flags
    bad: int


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
        self.found = find(reward.program, schema, source, columns, texts=texts)
        self.target = target_for(reward.program, rows)
        self.bad = 0
        self.reasons: Counter[str] = Counter()

    @cached_property
    def _compiled(self) -> Any:
        options = {"parallel": False} if self.target == "numba" else {}
        return self.reward.compile(self.target, on_bad="mask", **options)

    @cached_property
    def _why(self) -> Reasons:
        return Reasons(self.reward.program)

    def __call__(self, batch: pa.RecordBatch, wrong: Mapping[str, Flags] | None = None) -> Scored:
        """Return the scores of a batch; `wrong` notes rows, by column, whose value the reader could not read."""
        columns: dict[str, NDArray[Any]] = {}
        refused: dict[str, Flags] = {}
        for one in self.found:
            column = values(column_at(batch, one), one.place.field, one.length)
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
        return Scored(scores, ok, bad)

    def _note(self, one: Found, column: Values, wrong: Flags | None, refused: dict[str, Flags]) -> None:
        """Note the rows whose value is absent or of another kind."""
        absent = column.absent
        if wrong is not None:
            refused[f"{one.name} is not a {_KIND[one.place.field.kind]}"] = wrong
            absent = None if absent is None else absent & ~wrong
        if column.wrong is not None and column.wrong.any():
            what = f"not a {_KIND[one.place.field.kind]}" if one.length is None else f"no list of {one.length}"
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
            self.reasons[reason] += int(np.count_nonzero(rows & left))
            left &= ~rows
        if left.any():
            rows_left = np.flatnonzero(left)
            self.reasons += self._why({name: array[rows_left] for name, array in columns.items()})

    def refusal(self, batch: pa.RecordBatch, row: int) -> InputError:
        """Return the error for one row of a batch that cannot be scored."""
        inputs: dict[str, Any] = {}
        for one in self.found:
            value = column_at(batch, one)[row].as_py()
            if isinstance(value, str) and one.place.field.kind != "category":
                value = _cell(value, one)
            if isinstance(value, bool | int | float) and one.place.field.kind == "number" and not one.length:
                value = float(value) if not isinstance(value, bool | int) else value
            _put(inputs, one, value)
        for place in places(self.reward.program):
            if place.record and place.record not in inputs:
                inputs[place.record] = {}
            default = default_of(self.reward.program, place, False)
            if default is not None:
                target = inputs[place.record] if place.record else inputs
                target.setdefault(place.key, default)
        try:
            self.reward.score(**inputs)
        except InputError as error:
            return error
        return InputError(f"reward {self.reward.name!r}: the row cannot be scored.")


_KIND = {"number": "number", "flag": "flag", "category": "text"}


def column_at(batch: pa.RecordBatch, found: Found) -> pa.Array:
    """Return the column that an input lies in."""
    column = batch.column(batch.schema.get_field_index(found.path[0]))
    return column if len(found.path) == 1 else pc.struct_field(column, found.path[1:])


def _cell(text: str, one: Found) -> Any:
    try:
        return number_cell(text) if one.place.field.kind == "number" else flag_cell(text)
    except ValueError:
        return text


def _put(inputs: dict[str, Any], one: Found, value: Any) -> None:
    """Put a value where `reward.score` looks for it."""
    record = inputs.setdefault(one.place.record, {}) if one.place.record else inputs
    if one.place.entry is not None and one.length is None:
        vector = record.setdefault(one.place.key, [None] * (one.place.field.length or 0))
        vector[one.place.entry] = value
    else:
        record[one.place.key] = value
