"""Columns of text files in the types of Arrow: by the fields that read them, or as the first rows have them."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from plaudit.errors import InputError, UnusableFile
from plaudit.language.field import RECORDS
from plaudit.rows.chunks import Chunk, RowSource
from plaudit.rows.columns import FoundColumn
from plaudit.rows.jsonl_files import JsonLinesSource

_KINDS = {"number": pa.float64(), "flag": pa.bool_(), "category": pa.string()}


class TypedText:
    """What makes Arrow columns of a text file; those of CSV are strings, as they were written."""

    def __init__(self, source: RowSource, inputs: Sequence[FoundColumn]) -> None:
        """Look at the first rows of JSON lines; where keys hold integers there, at all of them."""
        self._name = source.name
        self._inputs = {one.dotted: one for one in inputs}
        self._first = source.first if isinstance(source, JsonLinesSource) else None
        self._integers = source.find_integers() if isinstance(source, JsonLinesSource) else set()

    def find_type(self, name: str) -> pa.DataType:
        """Return the type of a column."""
        return pa.string() if self._first is None else self._infer_type(name, self._first.list_column(name))

    def _infer_type(self, name: str, values: list[Any]) -> pa.DataType:
        """Return the type of a column of JSON: by its field, or as its first values are."""
        found = self._inputs.get(name)
        if found is not None:
            kind = pa.int64() if name in self._integers else _KINDS[found.place.field.kind]
            for _ in found.shape:
                kind = pa.list_(kind)
            return kind
        inner = [value for value in values if isinstance(value, dict)] if name in RECORDS else []
        if inner:
            keys = dict.fromkeys(key for value in inner for key in value)
            children = [(key, self._infer_type(f"{name}.{key}", [value.get(key) for value in inner])) for key in keys]
            return pa.struct(children)
        try:
            kind = pa.array(values).type
        except (pa.ArrowException, OverflowError):
            return pa.string()
        return pa.string() if pa.types.is_null(kind) else kind

    def build(self, chunk: Chunk, field: pa.Field) -> pa.Array:
        """Return a column of some rows; UnusableFile where a later row has another type than the first ones."""
        if field.name in RECORDS and pa.types.is_struct(field.type):
            named = [pa.field(f"{field.name}.{child.name}", child.type) for child in field.type]
            return pa.StructArray.from_arrays([self.build(chunk, each) for each in named], fields=[*field.type])
        values = chunk.list_column(field.name)
        try:
            return pa.array(values, field.type)
        except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
            found = self._inputs.get(field.name)
            if found is not None:
                return pa.array([_spell_value(chunk, found, row, field.type) for row in range(chunk.rows)], field.type)
            raise UnusableFile(
                f"{self._name}: a Parquet column has one type, but {field.name!r} starts as {field.type} and later "
                f"changes ({str(error).splitlines()[0]}). Write .jsonl, or leave it out with keep= (--keep)."
            ) from None


def _spell_value(chunk: Chunk, found: FoundColumn, row: int, kind: pa.DataType) -> Any:
    """Return an input as its column holds it; None for one of another kind, which makes its row a bad one."""
    try:
        value = chunk.get_value(found, row)
        value = _to_bools(value) if found.place.field.kind == "flag" else value
        return pa.scalar(value, kind).as_py()
    except (InputError, pa.ArrowException, OverflowError, TypeError, ValueError):
        return None


def _to_bools(value: Any) -> Any:
    """Return 1 and 0 as flags, in lists too."""
    if isinstance(value, list):
        return [_to_bools(entry) for entry in value]
    return bool(value) if type(value) is int and value in (0, 1) else value
