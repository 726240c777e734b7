"""How columns become the inputs of a reward: by their dtypes, which are known when a query is planned."""

import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce

import polars as pl

from plaudit.errors import ShapeMismatch, TargetError, WrongType
from plaudit.language.field import LARGEST_INTEGER, RECORDS
from plaudit.language.program import Program
from plaudit.targets.dtypes import find_rounded
from plaudit.targets.inputs import (
    InputSlot,
    find_default,
    list_slots,
    make_absent_error,
    make_duplicate_error,
    may_be_inexact,
)

Schema = Mapping[str, pl.DataType]


@dataclass(frozen=True, slots=True)
class Source:
    """A column, or a field of the struct `prev` or `curr`."""

    expr: pl.Expr
    dtype: pl.DataType


@dataclass(slots=True)
class ReadInput:
    """An input as its field holds it, harmless where it is absent."""

    value: pl.Expr
    tests: dict[str, pl.Expr] = field(default_factory=dict)
    """What must hold of the column for the row to count, each under a name of its own."""
    size: int = 1
    """How many operations the value takes."""
    column: str = ""
    raw: pl.Expr | None = None
    """The column as it was given, for errors; None if it has a default."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns of a frame hold the inputs of a reward."""

    program: Program
    guard: bool = True
    keys: tuple[str, ...] = ()
    """Partition columns and then the order column, where `prev` is the row before."""
    order_step: float = 1

    def __post_init__(self) -> None:
        if len(self.keys) == 1:
            raise TargetError("keys=(partition…, order) needs at least two columns: the episode and the step within it")
        if len(set(self.keys)) != len(self.keys):
            raise TargetError(f"keys={self.keys!r} names a column twice")
        if isinstance(self.order_step, bool) or not 0 < self.order_step < math.inf:
            raise TargetError(f"order_step={self.order_step!r} must be a number above 0")

    def list_names(self) -> tuple[str, ...]:
        """Return the columns that are read, each once; vectors whole."""
        found = dict.fromkeys(self._find_name(slot) for slot in list_slots(self.program))
        return tuple(found | dict.fromkeys(self.keys))

    def list_candidates(self) -> tuple[str, ...]:
        """Return every name under which a column is looked for."""
        found = {name: None for slot in list_slots(self.program) for name in self._list_candidates(slot)}
        return (*found, *RECORDS, *(key for key in self.keys if key not in found))

    def is_row_before(self, slot: InputSlot) -> bool:
        """Return whether an input is found in the row before."""
        return bool(self.keys) and slot.record == "prev" and slot.key not in self.program.states

    def read(self, schema: Schema) -> dict[str, ReadInput]:
        """Return every input of a frame with this schema.

        Raises:
            InputError: No column holds an input, or one of another kind.
        """
        sources = self._list_sources(schema)
        return {slot.name: self._read_slot(slot, sources) for slot in list_slots(self.program)}

    def _list_sources(self, schema: Schema) -> dict[str, Source]:
        """Return what a frame holds, by name: `prev.x` is a column of that name or a field of the column `prev`."""
        sources = {name: Source(pl.col(name), dtype) for name, dtype in schema.items()}
        for record in RECORDS:
            if isinstance(dtype := schema.get(record), pl.Struct):
                for key, part in list_fields(dtype).items():
                    name = f"{record}.{key}"
                    if name in sources and any(name in (slot.name, slot.column) for slot in list_slots(self.program)):
                        raise make_duplicate_error(self.program, name)
                    sources[name] = Source(pl.col(record).struct.field(key), part)
        return sources

    def _find_name(self, slot: InputSlot) -> str:
        return slot.key if self.keys and slot.key not in self.program.states else slot.column

    def _list_candidates(self, slot: InputSlot) -> tuple[str, str, str]:
        """Return the column of an input, that of an entry of a vector, and another name for the first."""
        column = self._find_name(slot)
        entry = f"{column}{slot.plain.removeprefix(slot.key)}"
        after = f"curr.{column}"  # read plainly, a state is what it is after the step
        apart = slot.record or any(other.column == after for other in list_slots(self.program))
        return column, entry, column if apart else after

    def _read_slot(self, slot: InputSlot, sources: Mapping[str, Source]) -> ReadInput:
        column, entry, after = self._list_candidates(slot)
        found = dict.fromkeys(name for name in (column, entry, after) if name in sources)
        if len(found) > 1:
            raise make_duplicate_error(self.program, column)
        if not found:
            return self._read_default(slot, sources)
        [name] = found
        expr, dtype = sources[name].expr, sources[name].dtype
        if self.is_row_before(slot):
            *partition, order = self.keys
            expr = expr.shift(1).over(partition, order_by=order)
        apart = slot.entry is not None and name == entry
        reader = _ColumnReader(self.program.name, slot, self.guard)
        read = reader.read_entry(expr, dtype) if slot.entry is not None and not apart else reader.read(expr, dtype)
        read.column, read.raw = slot.name if apart else slot.column, expr
        return read

    def _read_default(self, slot: InputSlot, sources: Mapping[str, Source]) -> ReadInput:
        default = find_default(self.program, slot, "a column" if "terminal" in sources else False)
        if default is None:
            raise make_absent_error(self.program, slot, sources)
        if slot.field.kind == "category":
            return ReadInput(pl.lit(slot.field.labels.index(str(default)), pl.UInt32))
        return ReadInput(pl.lit(bool(default) if slot.field.kind == "flag" else float(default)))

    def write_follows(self, schema: Schema) -> pl.Expr:
        """Return the condition that the row before is the one step before, and no other row claims either place."""
        *partition, order = self.keys
        for name in self.keys:
            if name not in schema:
                raise TargetError(f"keys={self.keys!r}: there is no column {name!r}. Columns: {', '.join(schema)}.")
        if not schema[order].is_numeric():
            raise TargetError(f"keys={self.keys!r}: steps are numbers, and {order!r} is a column of {schema[order]}.")
        step = pl.col(order)
        before, twice, after = (step.shift(by).over(partition, order_by=order) for by in (1, 2, -1))
        single = (before != twice).fill_null(True) & (step != after).fill_null(True)
        known = [pl.col(name).is_not_null() for name in partition]
        return reduce(operator.and_, known, (step - before == self.order_step) & single).fill_null(False)


@dataclass(frozen=True, slots=True)
class _ColumnReader:
    """Reads one input out of a column."""

    reward: str
    slot: InputSlot
    guard: bool

    def read_entry(self, expr: pl.Expr, dtype: pl.DataType) -> ReadInput:
        """Return one entry of a column of vectors; where a list has another length, the row does not count."""
        tests: dict[str, pl.Expr] = {}
        name = self.slot.column
        rest = self.slot.entry or 0
        shape = self.slot.field.shape
        for axis, size in enumerate(shape):
            index, rest = divmod(rest, math.prod(shape[axis + 1 :]))
            if isinstance(dtype, pl.Array) and dtype.size == size:
                expr, dtype = expr.arr.get(index), _to_instance(dtype.inner)
            elif isinstance(dtype, pl.List):
                tests[f"length of {name}"] = (expr.list.len() == size).fill_null(True)
                expr, dtype = expr.list.get(index, null_on_oob=True), _to_instance(dtype.inner)
            elif isinstance(dtype, pl.Array):
                raise ShapeMismatch(
                    f"reward {self.reward!r}, field {name!r}: {size} values are needed, but the column holds "
                    f"{dtype.size} in each row."
                )
            elif dtype != pl.Null:
                raise self._make_error(dtype, f"lists or arrays of {size} values")
            name += f"[{index}]"
        read = self.read(expr, dtype)
        return ReadInput(read.value, {**tests, **read.tests}, read.size + len(self.slot.field.shape))

    def read(self, expr: pl.Expr, dtype: pl.DataType) -> ReadInput:
        """Return a column as numbers, flags or positions of categories."""
        declared = self.slot.field
        read = {"number": self._read_number, "flag": self._read_flag, "category": self._read_category}[declared.kind]
        value, test = read(expr, dtype)
        if test is None and declared.missing is None:
            test = expr.is_not_null()
        elif test is not None:
            test = test.fill_null(declared.missing is not None)
        if declared.kind == "category":
            stand_in = declared.labels.index(str(declared.missing)) if declared.missing is not None else 0
            filled = value.fill_null(pl.lit(stand_in, pl.UInt32))
        elif declared.kind == "flag":
            filled = value.fill_null(bool(declared.missing))
        else:
            filled = value.fill_null(float(declared.at_rest if declared.missing is None else declared.missing))
        size = {"number": 1 if dtype == pl.Float64 else 2, "flag": 1, "category": 6}[declared.kind]
        return ReadInput(filled, {} if test is None else {self.slot.name: test}, size)

    def _read_number(self, expr: pl.Expr, dtype: pl.DataType) -> tuple[pl.Expr, pl.Expr | None]:
        if dtype == pl.Float64:
            return expr, None
        wide = expr.cast(pl.Float64)
        if dtype.is_float():
            rounded = find_rounded(self.slot.field, str(dtype).lower())
            return wide.replace(list(rounded), list(rounded.values())) if rounded else wide, None
        if not (dtype.is_integer() or dtype == pl.Null):
            raise self._make_error(dtype, "numbers")
        large = dtype in (pl.Int64, pl.UInt64, pl.Int128, pl.UInt128) and may_be_inexact(self.slot.field, self.guard)
        return wide, expr.is_between(-LARGEST_INTEGER, LARGEST_INTEGER) if large else None

    def _read_flag(self, expr: pl.Expr, dtype: pl.DataType) -> tuple[pl.Expr, pl.Expr | None]:
        if dtype == pl.Boolean:
            return expr, None
        if dtype == pl.Null:
            return expr.cast(pl.Boolean), None
        if not (dtype.is_integer() or dtype.is_float()):
            raise self._make_error(dtype, "bools")
        return expr != 0, (expr == 0) | (expr == 1)

    def _read_category(self, expr: pl.Expr, dtype: pl.DataType) -> tuple[pl.Expr, pl.Expr | None]:
        """Return positions of categories, by the strings that a column holds."""
        if not isinstance(dtype, pl.String | pl.Categorical | pl.Enum | pl.Null):
            raise self._make_error(dtype, f"strings, each one of {', '.join(self.slot.field.labels)}")
        labels = self.slot.field.labels
        text = expr.cast(pl.String)
        position = text.cast(pl.Enum(labels), strict=False).to_physical().cast(pl.UInt32)
        if self.slot.field.other is None:
            absent = expr.is_null() if self.slot.field.missing is not None else pl.lit(False)
            return position, position.is_not_null() | absent
        other = pl.lit(labels.index(self.slot.field.other), pl.UInt32)
        return pl.when(expr.is_not_null() & position.is_null()).then(other).otherwise(position), None

    def _make_error(self, dtype: pl.DataType, wanted: str) -> WrongType:
        return WrongType(
            f"reward {self.reward!r}, field {self.slot.column!r}: a column of {dtype} does not hold {wanted}. "
            "Cast the column before scoring."
        )


def list_fields(dtype: pl.Struct) -> dict[str, pl.DataType]:
    """Return the dtype of each field of a struct."""
    return {each.name: _to_instance(each.dtype) for each in dtype.fields}


def _to_instance(dtype: object) -> pl.DataType:
    """Return a dtype as an object: the parts of others may be given as classes."""
    return dtype() if isinstance(dtype, type) else dtype  # type: ignore[return-value]
