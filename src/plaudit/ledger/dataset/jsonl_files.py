"""JSON Lines: what the reward needs is read by column, and every line is kept as it was written."""

import io
import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json as arrow_json

from plaudit.errors import FileError, InputError, UnusableFile
from plaudit.language.field import RECORDS, Field
from plaudit.ledger.dataset.arrow import Chunk, Flags, to_numpy, translate_read_errors
from plaudit.ledger.jsonl import LONGEST_LINE
from plaudit.reward.row_files import strip_mark
from plaudit.reward.rows import INFINITIES, flatten_records, parse_json_row
from plaudit.targets.inputs import make_converter

_BLOCK = 4 << 20
_KINDS = {"number": pa.float64(), "flag": pa.bool_(), "category": pa.string()}


class JsonLinesSource:
    """A file of JSON objects, one a line. Its columns are those of the first chunk; keys of later lines are kept."""

    texts = False
    rows = None

    def __init__(self, path: str, fields: Mapping[str, Field]) -> None:
        """Read the first chunk of the file at `path`; `fields` says what the inputs are, by their dotted names."""
        self.name = path
        self.unreadable = 0
        self._fields = fields
        with translate_read_errors(path):
            self.total = os.path.getsize(path)
            first = next(_read_pieces(path), b"")
        rows = [row for row in map(_try_parse, _split_lines(first)) if row is not None]
        self.schema = _infer_schema(rows, fields, path)
        self._integers = {name for name, integer in _find_integers(rows).items() if integer} & fields.keys()

    def keep_integers(self) -> None:
        """Let inputs be integers that are so in every line, for which the whole file is looked at once more."""
        names = self._integers
        with translate_read_errors(self.name):
            for piece in _read_pieces(self.name) if names else ():
                lines = _split_lines(piece)
                if _read_quickly(lines, _narrow(_type_integers(self.schema, names), names)) is None:
                    rows = [row for row in map(_try_parse, lines) if row is not None]
                    found = _find_integers(rows)
                    names = {name for name in names if found.get(name, True)}
        self.schema = _type_integers(self.schema, names)

    def chunks(self, needed: Sequence[str], batch_rows: int | None) -> Iterator[Chunk]:
        """Yield the rows in order; a line that is no JSON object is counted, and left out."""
        schema = _narrow(self.schema, needed)
        done = 0
        with translate_read_errors(self.name):
            for piece in _read_pieces(self.name):
                done += len(piece)
                lines = _split_lines(piece)
                step = batch_rows or max(len(lines), 1)
                for start in range(0, len(lines), step):
                    yield self._build_chunk(lines[start : start + step], schema, min(done, self.total))

    def _build_chunk(self, lines: list[bytes], schema: pa.Schema, done: int) -> Chunk:
        batch = _read_quickly(lines, schema)
        if batch is not None:
            return Chunk(batch, done, lines)
        rows = [(line, row) for line in lines if (row := _try_parse(line)) is not None]
        self.unreadable += len(lines) - len(rows)
        wrong: dict[str, Flags] = {}
        columns = [self._build_column(field, [row for _, row in rows], wrong) for field in schema]
        batch = pa.record_batch(columns, schema=schema) if columns else _build_empty(len(rows))
        return Chunk(batch, done, [line for line, _ in rows], wrong)

    def _build_column(self, field: pa.Field, rows: Sequence[dict[str, Any]], wrong: dict[str, Flags]) -> pa.Array:
        """Return a column value by value; one that is not of its kind is NULL, and noted."""
        name = field.name
        if pa.types.is_struct(field.type) and name in RECORDS:
            outer = [{**_pick_prefixed(row, name), **_pick_record(row, name)} for row in rows]
            children = [self._build_child(name, child, outer, wrong) for child in field.type]
            return pa.StructArray.from_arrays(children, fields=list(field.type))
        return self._build_child("", field, [_unnest(row, name) for row in rows], wrong)

    def _build_child(
        self, record: str, field: pa.Field, rows: Sequence[dict[str, Any]], wrong: dict[str, Flags]
    ) -> pa.Array:
        name = f"{record}.{field.name}" if record else field.name
        given = [row.get(field.name) for row in rows]
        if name not in self._fields:
            try:
                return pa.array(given, field.type)
            except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
                raise UnusableFile(
                    f"{self.name}: the column {name!r} is {field.type} in its first rows and something else later "
                    f"({str(error).splitlines()[0]}). Write .jsonl, or leave the column out with keep=."
                ) from None
        convert = _build_converter(name, self._fields[name])
        values, refused = [], np.zeros(len(given), bool)
        for at, value in enumerate(given):
            try:
                values.append(None if value is None else convert(value))
            except (InputError, TypeError):
                values.append(None)
                refused[at] = True
        if refused.any():
            wrong[name] = refused
        return pa.array(values, field.type)


def _narrow(schema: pa.Schema, needed: Collection[str]) -> pa.Schema:
    """Return the schema of the needed columns; of a record, of the needed keys in it."""
    fields = []
    for field in schema:
        if field.name in needed:
            fields.append(field)
        elif pa.types.is_struct(field.type):
            kept = [child for child in field.type if f"{field.name}.{child.name}" in needed]
            fields += [pa.field(field.name, pa.struct(kept))] if kept else []
    return pa.schema(fields)


def _find_integers(rows: Sequence[dict[str, Any]]) -> dict[str, bool]:
    """Return of each name, dotted in records, that has values whether they are all integers."""
    values = _collect_values(map(flatten_records, rows))
    return {name: all(type(part) is int for part in parts) for name, parts in values.items() if parts}


def _type_integers(schema: pa.Schema, names: Collection[str], record: str = "") -> pa.Schema:
    """Return a schema in which columns of these names, dotted in records, are of integers."""
    fields = []
    for field in schema:
        if pa.types.is_struct(field.type) and not record:
            inner = _type_integers(pa.schema(list(field.type)), names, f"{field.name}.")
            field = pa.field(field.name, pa.struct(list(inner)))
        fields.append(field.with_type(pa.int64()) if f"{record}{field.name}" in names else field)
    return pa.schema(fields)


def _build_converter(name: str, field: Field) -> Callable[[Any], Any]:
    """Return the function that turns a JSON value into what its field holds."""
    check = make_converter("", name, field)

    def one(value: Any) -> Any:
        if value is None:
            return None
        if field.kind == "category":
            if not isinstance(value, str):
                raise TypeError
            return value
        return check(INFINITIES.get(value, value) if isinstance(value, str) else value)

    def vector(value: Any, axes: int) -> Any:
        if not axes or value is None:
            return one(value)
        if not isinstance(value, list):
            raise TypeError
        return [vector(entry, axes - 1) for entry in value]

    return one if name.endswith("]") else lambda value: vector(value, len(field.shape))


def _pick_record(row: dict[str, Any], name: str) -> dict[str, Any]:
    part = row.get(name)
    return part if isinstance(part, dict) else {}


def _pick_prefixed(row: dict[str, Any], record: str) -> dict[str, Any]:
    start = f"{record}."
    return {name.removeprefix(start): value for name, value in row.items() if name.startswith(start)}


def _unnest(row: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a row in which `prev.x` is found though this line has it in a record."""
    record, _, key = name.rpartition(".")
    part = row.get(record) if record and name not in row else None
    return {name: part.get(key)} if isinstance(part, dict) else row


def _build_empty(rows: int) -> pa.RecordBatch:
    return pa.record_batch([pa.nulls(rows)], names=[""])


def _read_quickly(lines: Sequence[bytes], schema: pa.Schema) -> pa.RecordBatch | None:
    """Return the columns as Arrow reads them; None where a line or a value needs a closer look."""
    text = b"\n".join(lines)
    if not len(schema) or any(mark in text for mark in _list_other_spellings(schema)):
        return None
    options = arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    try:
        table = arrow_json.read_json(io.BytesIO(text), parse_options=options)
    except pa.ArrowException:
        return None
    if table.num_rows != len(lines) or any(_has_null(column) for column in table.columns):
        return None
    return table.combine_chunks().to_batches()[0] if lines else None


def _list_other_spellings(schema: pa.Schema) -> Iterator[bytes]:
    """Yield what a line holds that spells a record of the schema flat, or a flat name of it as a record."""
    for record in RECORDS:
        if record in schema.names:
            yield f'"{record}.'.encode()
        if any(name.startswith(f"{record}.") for name in schema.names):
            yield f'"{record}"'.encode()


def _has_null(column: pa.ChunkedArray) -> bool:
    parts = column.flatten() if pa.types.is_struct(column.type) else [column]
    return any(part.null_count for part in parts)


def _infer_schema(rows: Sequence[dict[str, Any]], fields: Mapping[str, Field], path: str) -> pa.Schema:
    """Return the columns of the first rows; those that the reward reads have the kind that it needs."""
    found: dict[str, pa.DataType] = {}
    for name, parts in _collect_values(rows).items():
        inner = [part for part in parts if isinstance(part, dict)] if name in RECORDS else []
        if inner:
            keys = _collect_values(inner)
            found[name] = pa.struct([(key, _infer_type(f"{name}.{key}", keys[key], fields)) for key in keys])
        else:
            found[name] = _infer_type(name, parts, fields)
    return pa.schema(list(found.items()))


def _collect_values(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return the values of each key, those that are null left out."""
    found: dict[str, list[Any]] = {}
    for row in rows:
        for name, value in row.items():
            values = found.setdefault(name, [])
            if value is not None:
                values.append(value)
    return found


def _infer_type(name: str, parts: Sequence[Any], fields: Mapping[str, Field]) -> pa.DataType:
    """Return the type of a column: by its field, or as its first values are."""
    field = fields.get(name)
    if field is not None:
        kind = _KINDS[field.kind]
        for _ in field.shape if not name.endswith("]") else ():
            kind = pa.list_(kind)
        return kind
    try:
        kind = pa.array(list(parts)).type
    except (pa.ArrowException, OverflowError):
        return pa.string()
    return pa.string() if pa.types.is_null(kind) else kind


def _try_parse(line: bytes) -> dict[str, Any] | None:
    try:
        row = parse_json_row(line.decode())
        flatten_records(row)  # a name that is given twice, flat and in a record, makes no row
    except (InputError, UnicodeDecodeError):
        return None
    return row


def _split_lines(piece: bytes) -> list[bytes]:
    return [line for line in piece.split(b"\n") if line and not line.isspace()]


def _read_pieces(path: str) -> Iterator[bytes]:
    """Yield a file in pieces that end with a line."""
    with open(path, "rb") as file:
        rest = strip_mark(path, file.read(3))
        while piece := file.read(_BLOCK):
            whole, newline, after = (rest + piece).rpartition(b"\n")
            rest = after
            if newline:
                yield whole + newline
            elif len(rest) > LONGEST_LINE:
                raise UnusableFile(f"{path} is not JSON Lines: a line is longer than {LONGEST_LINE >> 20} MiB.")
        if rest:
            yield rest


class JsonLinesSink:
    """A file of JSON Lines to be written: a line as it was, with the new columns behind its own."""

    def __init__(self, path: Path, new: Sequence[str], name: str, *, whole: bool) -> None:
        """Write to `path`; with `whole`, lines that were JSON stay as they were."""
        self._file = path.open("wb")
        self._new = list(new)
        self._whole = whole
        self._name = name
        self._taken = [f'"{column}"'.encode() for column in new]

    def write(self, batch: pa.RecordBatch, lines: Sequence[bytes] | None) -> None:
        """Write a batch."""
        if lines is not None and self._whole:
            self._refuse_taken(lines)
            self._file.writelines(_splice(lines, self._format_new(batch)))
        else:
            for row in batch.to_pylist():
                self._file.write(json.dumps(row, default=str).encode() + b"\n")

    def _format_new(self, batch: pa.RecordBatch) -> Iterator[str]:
        """Yield the new columns of each row as JSON, without braces."""
        columns = [_format_json(batch.column(batch.schema.get_field_index(name))) for name in self._new]
        template = ", ".join(f'"{name}": %s' for name in self._new)
        return (template % cells for cells in zip(*columns, strict=True))

    def _refuse_taken(self, lines: Sequence[bytes]) -> None:
        whole = b"\n".join(lines)
        taken = [name for name in self._taken if name in whole]
        for line in lines if taken else ():
            for name in parse_json_row(line.decode()):
                if name in self._new:
                    raise FileError(f"{self._name}: a line has {name!r} already; give the new columns a prefix=.")

    def close(self) -> None:
        """Finish the file."""
        self._file.close()

    def abandon(self) -> None:
        """Close the file without finishing it."""
        try:
            self._file.close()
        except OSError:  # what does not fit any more was to be thrown away
            return


def _splice(lines: Sequence[bytes], texts: Iterator[str]) -> Iterator[bytes]:
    for line, text in zip(lines, texts, strict=True):
        head = line.rstrip()[:-1].rstrip()
        yield head + (b"" if head.endswith(b"{") else b", ") + text.encode() + b"}\n"


def _format_json(column: pa.Array) -> list[str]:
    """Return the numbers and flags of a column as JSON writes them."""
    if pa.types.is_boolean(column.type):
        return ["true" if value else "false" for value in column.to_pylist()]
    encoded = column.dictionary_encode()  # rewards often are few distinct numbers
    texts = [*map(repr, encoded.dictionary.to_pylist()), "null"]
    return [texts[at] for at in to_numpy(encoded.indices.fill_null(len(texts) - 1))]
