"""Columns of text files in the types of Arrow: by the fields that read them, or as the first rows have them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from plaudit.errors import UnusableFile
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
            if found is not None:  # those of another kind belong to bad rows, which are kept as they were
                wrong = chunk.read(found).wrong
                bad = np.zeros(chunk.rows, bool) if wrong is None else wrong
                spelt = [None if no else chunk.get_value(found, at) for at, no in enumerate(bad.tolist())]
                return pa.array(spelt, field.type)
            raise UnusableFile(
                f"{self._name}: a column of Parquet has one type; {field.name!r} was taken for {field.type}, and holds "
                f"something else ({str(error).splitlines()[0]}). Write .jsonl, or leave it out with keep= (--keep)."
            ) from None
