"""JSON lines: an object a line, flat or with `prev` and `curr` as objects, each kept as it was written."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, BinaryIO

from plaudit.errors import FileError, InputError, WrongType, shorten
from plaudit.language.field import RECORDS
from plaudit.language.shapes import list_entries, nest_entries
from plaudit.rows import lines as limits
from plaudit.rows.chunks import Chunk, TextSource, explain_length
from plaudit.rows.columns import FoundColumn, Path, Refused, Values, convert_values, format_columns
from plaudit.rows.row import Row, convert_infinities, encode_row, flatten_records, parse_json_row
from plaudit.rows.streams import Source

_LOOKED_AT = 64
"""Blocks at the beginning of a file in which a row is looked for."""
_scan: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder().scan_once  # type: ignore[attr-defined]


class JsonChunk(Chunk):
    """Rows of JSON; null and a key that lacks are absent values."""

    def __init__(self, done: int) -> None:
        self.done = done
        self.numbers: Sequence[int] = []
        self.lines: list[bytes] = []
        self.refused: list[Refused] = []
        self.given: list[Row] = []
        """The rows as they are."""
        self.flat: list[Row] = []
        """The rows with the entries of `prev` and `curr` under their whole names."""

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(self.given)

    def read(self, found: FoundColumn) -> Values:
        """Return a column as a compiled reward takes it."""
        return convert_values(self._list_values(found), found.name, found.place.field, found.shape)

    def _list_values(self, found: FoundColumn) -> list[Any]:
        name = found.dotted
        if not found.shape:
            return [row.get(name) for row in self.flat]
        entries = [f"{name}{entry}" for entry in list_entries(found.shape)]
        return [row[name] if name in row else self._nest(row, entries, found) for row in self.flat]

    def _nest(self, row: Row, entries: Sequence[str], found: FoundColumn) -> Any:
        values = [row.get(entry) for entry in entries]
        return None if values.count(None) == len(values) else nest_entries(values, found.shape)

    def get_value(self, found: FoundColumn, row: int) -> Any:
        """Return the value of a key, with "inf" as a number where one is due; WrongType where its record is none."""
        flat, name, record = self.flat[row], found.dotted, found.place.record
        if record in flat:
            raise WrongType(f"{record!r} must be an object, not {shorten(flat[record], 40)}.")
        value = flat.get(name)
        if found.shape and name not in flat:
            value = self._nest(flat, [f"{name}{entry}" for entry in list_entries(found.shape)], found)
        return convert_infinities(value) if found.place.field.kind == "number" else value

    def list_column(self, name: str) -> list[Any]:
        """Return the values of a key, or of a dotted one in its record."""
        return [row[name] if name in row else flat.get(name) for row, flat in zip(self.given, self.flat, strict=True)]

    def format_row(self, row: int) -> bytes:
        """Return the line."""
        return self.lines[row]


class JsonLinesSource(TextSource):
    """A file of JSON objects, one a line; the columns that other formats get are those of the first rows."""

    format = "jsonl"
    grows = True

    def __init__(self, source: Source, batch_rows: int | None = None) -> None:
        """Read the first rows."""
        super().__init__(source, batch_rows)
        self.path = None if source.size is None else source.path
        self._waiting: list[Chunk] = []
        self._chunks = self._read_chunks()
        self.first = JsonChunk(0)
        for chunk in islice(self._chunks, _LOOKED_AT):
            assert isinstance(chunk, JsonChunk)
            self._waiting.append(chunk)
            if chunk.rows or any(not isinstance(each.raw, bytes) for each in chunk.refused):
                self.first = chunk  # the pieces of a long line are to be read before what follows
                break
        self.columns = _list_keys(self.first.given)
        flat = _list_keys(self.first.flat)
        names = dict.fromkeys([*flat, *(name.partition("[")[0] for name in flat)])
        self.paths: Mapping[Path, Any] = {(name,): None for name in names}

    def chunks(self, needed: Sequence[str]) -> Iterator[Chunk]:
        """Yield the rows in order."""
        while self._waiting:
            yield self._waiting.pop(0)
        yield from self._chunks

    def find_integers(self) -> set[str]:
        """Return the keys that hold integers in every row, for which a file is read once more; none of a pipe."""
        flat = self.first.flat
        names = {name for name in _list_keys(flat) if _are_integers(flat, name)}
        if self.path is None or not names:
            return set()
        with Source(self.path) as again:
            for chunk in JsonLinesSource(again).chunks(()):
                assert isinstance(chunk, JsonChunk)
                names = {name for name in names if _are_integers(chunk.flat, name)}
        return names

    def check_column(self, where: str, found: FoundColumn) -> None:
        """Every key may hold anything, row by row."""

    def list_leaves(self, kept: Sequence[str]) -> list[str]:
        """Return the keys that are kept, those of `prev` and `curr` under their whole names."""
        return [name for name in _list_keys(self.first.flat) if name in kept or name.partition(".")[0] in kept]

    def _parse(self, first: int, lines: list[bytes], done: int, *, last: bool) -> Chunk:
        chunk = JsonChunk(done)
        given = _parse_plain(lines)
        if given is None:
            self._parse_each(first, lines, chunk)
        else:
            chunk.numbers, chunk.lines, chunk.given = range(first, first + len(lines)), lines, given
            keys = set().union(*given)
            chunk.flat = given if keys.isdisjoint(RECORDS) else [flatten_records(row) for row in given]
        return chunk

    def _parse_each(self, first: int, lines: list[bytes], chunk: JsonChunk) -> None:
        numbers = []
        for number, line in enumerate(lines, start=first):
            if not line.strip():
                continue
            try:
                if len(line) > limits.LONGEST_LINE:
                    raise explain_length()
                row = parse_json_row(line.decode())
                flat = _flatten(row)
            except UnicodeDecodeError as error:
                problem = InputError(f"byte {error.start + 1} of the line is not UTF-8.")
                chunk.refused.append(Refused(number, line.rstrip(b"\r"), problem))
            except InputError as error:
                chunk.refused.append(Refused(number, line.rstrip(b"\r"), error))
            else:
                numbers.append(number)
                chunk.lines.append(line)
                chunk.given.append(row)
                chunk.flat.append(flat)
        chunk.numbers = numbers


def _flatten(row: Row) -> Row:
    flat = flatten_records(row)
    for name in flat:
        whole, bracket, _ = name.partition("[")
        if bracket and whole in flat:
            raise InputError(f"{whole!r} is given both as a list and entry by entry.")
    return flat


def _parse_plain(lines: list[bytes]) -> list[Row] | None:
    """Return the rows of lines that need no second look; None where one does.

    A key that is there twice shows in the number of quotes: a dict has lost one of the two.
    """
    block = b"\n".join(lines)
    if b"\\" in block or max(map(len, lines), default=0) > limits.LONGEST_LINE:
        return None
    try:
        rows = []
        for line in block.decode().split("\n") if lines else ():
            row, end = _scan(line, 0)
            if end != len(line) and line[end:].strip():
                return None
            rows.append(row)
    except (ValueError, StopIteration, RecursionError):
        return None
    if not all(type(row) is dict for row in rows):
        return None
    strings = sum(map(len, rows))
    quotes = block.count(b'"')
    if quotes != 2 * strings and quotes != 2 * sum(map(_count_strings, rows)):
        return None
    keys = set().union(*rows)
    twice = any(name.partition(mark)[0] in keys for name in keys for mark in ".[" if mark in name)
    return None if twice else rows


def _count_strings(value: Any) -> int:
    if type(value) is dict:
        return len(value) + sum(map(_count_strings, value.values()))
    if type(value) is list:
        return sum(map(_count_strings, value))
    return type(value) is str


def _are_integers(rows: Iterable[Row], name: str) -> bool:
    return {type(row.get(name)) for row in rows} <= {int, type(None)}


def _list_keys(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(key for row in rows for key in row))


class JsonLinesSink:
    """A file of JSON lines to be written: a line as it was, with the new columns behind its own."""

    def __init__(self, file: BinaryIO, kept: Sequence[str], new: Sequence[str], source: JsonLinesSource | None) -> None:
        """Write to `file`; with a `source`, its lines stay as they are."""
        self._file = file
        self._kept, self._new = kept, new
        self._source = source
        self._template = ", ".join(f"{json.dumps(name)}: %s" for name in new)

    def write(self, chunk: Chunk, added: Mapping[str, Any], ok: Any) -> None:
        """Write some rows with their new columns."""
        texts = (self._template % cells for cells in zip(*format_columns(added, ok, "null"), strict=True))
        if self._source is not None and isinstance(chunk, JsonChunk):
            self._refuse_taken(chunk)
            old: Iterable[bytes] = chunk.lines
        else:
            columns = [chunk.list_column(name) for name in self._kept]
            rows = zip(*columns, strict=True) if columns else [()] * chunk.rows
            old = (encode_row(dict(zip(self._kept, row, strict=True))).encode() for row in rows)
        self._file.writelines(_splice(old, texts))

    def _refuse_taken(self, chunk: JsonChunk) -> None:
        for name in sorted(set(self._new) & set().union(*chunk.given)):
            source = self._source.name if self._source else ""
            raise FileError(
                f"{source}: a line already has {name!r}; set a prefix for the new columns with prefix= (--prefix)."
            )

    def close(self) -> None:
        """There is nothing to end the file with."""

    def abandon(self) -> None:
        """There is nothing to let go of."""


def _splice(lines: Iterable[bytes], texts: Iterable[str]) -> Iterator[bytes]:
    for line, text in zip(lines, texts, strict=True):
        head = line.rstrip()[:-1].rstrip()
        yield head + (b"" if head.endswith(b"{") else b", ") + text.encode() + b"}\n"
