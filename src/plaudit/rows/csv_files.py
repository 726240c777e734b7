"""CSV: cells under a header, each kept as it was written."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from operator import add
from typing import Any, BinaryIO

from plaudit.errors import FileError, InputError, UnusableFile, WrongType, shorten
from plaudit.language.codec import find_doubled
from plaudit.rows import lines as limits
from plaudit.rows.chunks import Chunk, TextSource, explain_length
from plaudit.rows.columns import FoundColumn, Path, Refused, Values, convert_cells, format_columns
from plaudit.rows.lines import Block
from plaudit.rows.row import parse_bool, parse_number
from plaudit.rows.streams import Source

_OPEN_QUOTE = "unexpected end of data"
_SPECIAL = frozenset('",\r\n')


class CsvChunk(Chunk):
    """Rows of CSV; an empty cell is an absent value."""

    def __init__(self, names: Mapping[str, int], done: int) -> None:
        self.done = done
        self.numbers: Sequence[int] = []
        self.lines: list[bytes] = []
        self.refused: list[Refused] = []
        self.columns: Sequence[Sequence[str]] = [()] * len(names)
        self._names = names

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(self.lines)

    def read(self, found: FoundColumn) -> Values:
        """Return a column as a compiled reward takes it."""
        return convert_cells(self.columns[self._names[found.path[0]]], found.place.field)

    def get_value(self, found: FoundColumn, row: int) -> Any:
        """Return what a cell holds."""
        cell, field = self.columns[self._names[found.path[0]]][row], found.place.field
        if not cell or field.kind == "category":
            return cell or None
        try:
            return parse_number(cell) if field.kind == "number" else parse_bool(cell)
        except ValueError:
            needed = "a number" if field.kind == "number" else "true, false, 1 or 0"
            raise WrongType(f"field {found.name!r}: {shorten(cell, 40)} is not {needed}.") from None

    def list_column(self, name: str) -> list[Any]:
        """Return the cells of a column."""
        return [cell or None for cell in self.columns[self._names[name]]]

    def format_row(self, row: int) -> bytes:
        """Return the line."""
        return self.lines[row]


class CsvSource(TextSource):
    """A CSV file with a header; a quoted cell may hold line breaks."""

    format = "csv"

    def __init__(self, source: Source, batch_rows: int | None = None) -> None:
        """Read the header."""
        super().__init__(source, batch_rows)
        block = next(self._blocks, Block(1, [b""], 0))
        if not block.lines or len(block.lines[0]) > limits.LONGEST_LINE:
            longest = limits.LONGEST_LINE
            raise UnusableFile(f"{self.name} is not CSV: its first line is longer than {longest:,} bytes.")
        self.header = block.lines[0].rstrip(b"\r")
        self.columns = self._parse_header()
        self.paths: Mapping[Path, Any] = {(name,): None for name in self.columns}
        self._places = {name: at for at, name in enumerate(self.columns)}
        self._first: Block | None = Block(2, block.lines[1:], block.done, block.long)
        self._open: list[bytes] = []
        """Lines of a row whose quoted cell goes on."""

    def _parse_header(self) -> list[str]:
        if not self.header.strip():
            raise UnusableFile(f"{self.name} is empty; a CSV file starts with a line of column names.")
        try:
            names = [name.strip() for name in _split_cells(self.header.decode())]
        except UnicodeDecodeError as error:
            raise UnusableFile(f"{self.name}, line 1: byte {error.start + 1} is not UTF-8.") from None
        except csv.Error as error:
            raise UnusableFile(f"{self.name}, line 1: not a valid line of CSV: {error}.") from None
        doubled = find_doubled(filter(None, names))
        if doubled is not None:
            raise UnusableFile(f"{self.name} has the column {shorten(doubled, 40)} twice.")
        return names

    def chunks(self, needed: Sequence[str]) -> Iterator[Chunk]:
        """Yield the rows in order."""
        if self._first is not None:
            self._blocks, self._first = _prepend(self._first, self._blocks), None
        return self._read_chunks()

    def check_column(self, where: str, found: FoundColumn) -> None:
        """Refuse a vector, for which CSV has no form."""
        if found.shape:
            first, second, *_ = *found.place.field.entries, ""
            raise WrongType(
                f"{where}: CSV has no vectors; use one column each for {found.name}{first}, {found.name}{second} …"
            )

    def list_leaves(self, kept: Sequence[str]) -> list[str]:
        """Return the columns that are kept."""
        return list(kept)

    def _parse(self, first: int, lines: list[bytes], done: int, *, last: bool) -> Chunk:
        first -= len(self._open)
        lines, self._open = [*self._open, *lines], []
        chunk = CsvChunk(self._places, done)
        columns = self._split_plain(lines)
        if columns is None:
            cells = self._split_each(first, lines, chunk, last=last)
            chunk.columns = list(zip(*cells, strict=True)) or chunk.columns
        elif lines:
            chunk.numbers, chunk.lines, chunk.columns = range(first, first + len(lines)), lines, columns
        return chunk

    def _split_plain(self, lines: list[bytes]) -> list[list[str]] | None:
        """Return the cells of lines that need no second look, column by column; None where one does."""
        block, width = b"\n".join(lines), len(self.columns)
        if b'"' in block or b"\r" in block or max(map(len, lines), default=0) > limits.LONGEST_LINE:
            return None
        if not {line.count(b",") for line in lines} <= {width - 1} or (width == 1 and not all(map(bytes.strip, lines))):
            return None
        try:
            cells = block.decode().replace("\n", ",").split(",")
        except UnicodeDecodeError:
            return None
        return [cells[at::width] for at in range(width)]

    def _split_each(self, first: int, lines: list[bytes], chunk: CsvChunk, *, last: bool) -> list[list[str]]:
        cells, numbers = [], []
        at = 0
        while at < len(lines):
            number, raw, end = first + at, lines[at], at + 1
            at += 1
            if not raw.strip():
                continue
            try:
                row, end = self._split_row(lines, at - 1, last=last)
                if row is None:
                    self._open = lines[at - 1 :]
                    break
                cells.append(row)
                numbers.append(number)
                chunk.lines.append(b"\n".join(lines[at - 1 : end]).rstrip(b"\r"))
                at = end
            except InputError as error:
                chunk.refused.append(Refused(number, raw.rstrip(b"\r"), error))
        chunk.numbers = numbers
        return cells

    def _split_row(self, lines: list[bytes], at: int, *, last: bool) -> tuple[list[str] | None, int]:
        """Return the cells of a row, and where the next begins; None where its lines are not all there."""
        end = at + 1
        raw = lines[at]
        while True:
            if len(raw) > limits.LONGEST_LINE:
                raise explain_length() if end == at + 1 else _explain_csv(_OPEN_QUOTE)
            try:
                cells = _split_cells(raw.decode().rstrip("\r"))
                break
            except UnicodeDecodeError as error:
                raise InputError(f"byte {error.start + 1} of the line is not UTF-8.") from None
            except csv.Error as error:
                if str(error) != _OPEN_QUOTE:
                    raise _explain_csv(str(error)) from None
            closing = next((n for n in range(end, len(lines)) if lines[n].count(b'"') % 2), None)
            if closing is None:
                if last or sum(map(len, lines[at:])) > limits.LONGEST_LINE:
                    raise _explain_csv(_OPEN_QUOTE)
                return None, at
            end = closing + 1
            raw = b"\n".join(lines[at:end])
        if len(cells) != len(self.columns):
            counted = "1 cell" if len(cells) == 1 else f"{len(cells)} cells"
            raise InputError(f"the row has {counted}, but the header has {len(self.columns)}.")
        return cells, end


def _prepend(first: Block, rest: Iterator[Block]) -> Iterator[Block]:
    yield first
    yield from rest


def _explain_csv(problem: str) -> InputError:
    return InputError(f"not a valid line of CSV: {problem}.")


def _split_cells(line: str) -> list[str]:
    return next(csv.reader([f"{part}\n" for part in line.split("\n")], strict=True)) if '"' in line else line.split(",")


class CsvSink:
    """A CSV file to be written: a line as it was, with the new columns behind its own."""

    def __init__(self, file: BinaryIO, leaves: Sequence[str], new: Sequence[str], source: CsvSource | None) -> None:
        """Write the header to `file`; with a `source`, its lines stay as they are."""
        self._file = file
        self._leaves, self._new = leaves, new
        self._whole = source is not None
        names = ",".join(map(_format_cell, [*(() if source else leaves), *new]))
        file.write(b",".join([*([source.header] if source else []), names.encode()]) + b"\n")

    def write(self, chunk: Chunk, added: Mapping[str, Any], ok: Any) -> None:
        """Write some rows with their new columns."""
        new = format_columns(added, ok, "")
        if self._whole and chunk.lines is not None:
            cells = "\n".join(map(",".join, zip(repeat("", chunk.rows), *new, strict=True))).encode().split(b"\n")
            self._file.write(b"\n".join(map(add, chunk.lines, cells)) + b"\n")
            return
        old = [[_format_cell(value, name) for value in chunk.list_column(name)] for name in self._leaves]
        self._file.write("".join(f"{','.join(row)}\n" for row in zip(*old, *new, strict=True)).encode())

    def close(self) -> None:
        """There is nothing to end the file with."""

    def abandon(self) -> None:
        """There is nothing to let go of."""


def _format_cell(value: Any, name: str = "") -> str:
    if isinstance(value, str):
        return f'"{value.replace(chr(34), chr(34) * 2)}"' if not value or not _SPECIAL.isdisjoint(value) else value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | dict):
        raise FileError(
            f"CSV cannot hold the lists in the column {name!r}; write .parquet or .jsonl, or leave the column out with "
            "keep= (--keep)."
        )
    return "" if value is None else str(value)
