"""Score a file line by line, in memory that does not grow with it; rows that cannot be scored are kept as they were."""

import base64
import codecs
import json
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from math import isfinite
from operator import itemgetter
from typing import TextIO

from plaudit.cli.errors import format_error
from plaudit.cli.row_reader import Reader, RowLayout, build_csv_reader, build_json_reader
from plaudit.cli.streams import Format, Source
from plaudit.errors import DefinitionError, FileError, InputError, NotFinite, WrongType
from plaudit.targets.python import PythonReward
from plaudit.targets.python import Row as Outputs

LONGEST_LINE = 3 << 19
"""1.5 MiB: what is longer is no row. A multiple of three, so that base64 can be written piece by piece."""
TICK = 4_096
"""Lines between two movements of the progress bar."""

SHOWN = 10
"""How many bad rows are shown in full; the others are counted, and kept like these."""

Progress = Callable[[int], None]
"""Called with how many bytes have been read."""


class BadRows:
    """Where bad rows go: one JSON object each, with `line`, `kind`, `error` and the `row` as it was.

    A row that is no UTF-8 text, or longer than any row should be, is kept in base64 as `row_base64`.
    """

    def __init__(self, file: TextIO, show: Callable[[str], None], *, shown: int = SHOWN) -> None:
        """Write to `file`, and `show` the first ones."""
        self.count = 0
        self._file = file
        self._show = show
        self._shown = shown

    def keep(self, line: int, raw: bytes, error: InputError) -> None:
        """Keep one line."""
        try:
            row = {"row": raw.rstrip(b"\r\n").decode()}
        except UnicodeDecodeError:
            row = {"row_base64": base64.b64encode(raw.rstrip(b"\r\n")).decode()}
        self._file.write(json.dumps({**self._describe(line, error), **row}) + "\n")

    def keep_long(self, line: int, pieces: Iterable[bytes], error: InputError) -> None:
        """Keep a line that comes in pieces, all but the last a multiple of three bytes long."""
        start = json.dumps({**self._describe(line, error), "row_base64": ""})
        self._file.write(start[:-2])
        for piece in pieces:
            self._file.write(base64.b64encode(piece).decode())
        self._file.write('"}\n')

    def _describe(self, line: int, error: InputError) -> dict[str, int | str]:
        self.count += 1
        if self.count <= self._shown:
            text = format_error(error).replace("\n", "\n    ")
            self._show(f"line {line}: {text}")
        elif self.count == self._shown + 1 > 1:
            self._show("…")
        return {"line": line, "kind": type(error).__name__, "error": format_error(error)}


def score_lines(
    layout: RowLayout, source: Source, rows: Format, output: TextIO, written: Format, bad: BadRows, progress: Progress
) -> int:
    """Write the scores of every good row of `source` to `output`, keep the others, and return how many were good."""
    compiled: PythonReward = layout.reward.compile("python")
    header, format_row = _build_writer(compiled, written)
    run, write = compiled.run, output.write
    write(header)
    lines = _read_lines(source, bad, progress, headed=rows == "csv")
    read = build_json_reader(layout) if rows == "jsonl" else _read_header(layout, source, lines)
    good = 0
    for number, raw in lines:
        try:
            row = read(raw.decode())
            if row is None:
                continue
            try:
                outputs = run(row)
            except WrongType:
                outputs = run(layout.arrange_infinite(row))
            write(format_row(number, outputs))
            good += 1
        except UnicodeDecodeError as error:
            bad.keep(number, raw, InputError(f"byte {error.start + 1} of the line is not UTF-8."))
        except InputError as error:
            bad.keep(number, raw, error)
        except FileError as error:
            raise FileError(f"{source.name}, line {number}: {error}") from None
    return good


def _read_lines(source: Source, bad: BadRows, progress: Progress, *, headed: bool) -> Iterator[tuple[int, bytes]]:
    """Yield each line with its number; one that is too long for memory is kept aside as it is read."""
    readline = source.file.readline
    number = done = 0
    while raw := readline(LONGEST_LINE):
        number += 1
        done += len(raw)
        if number == 1:
            raw = _strip_mark(source, raw)
        if not number % TICK:
            progress(done)
        if len(raw) < LONGEST_LINE or raw.endswith(b"\n"):
            yield number, raw
        elif number == 1 and headed:
            raise FileError(f"{source.name} is not CSV: its first line is longer than {LONGEST_LINE:,} bytes.")
        else:
            rest = iter(lambda: readline(LONGEST_LINE), b"")
            problem = InputError(f"the line is longer than {LONGEST_LINE:,} bytes.")
            bad.keep_long(number, chain([raw], _read_to_line_end(rest)), problem)
    progress(done)


def _strip_mark(source: Source, raw: bytes) -> bytes:
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise FileError(f"{source.name} is UTF-16 text; save it as UTF-8.")
    return raw.removeprefix(codecs.BOM_UTF8)


def _read_to_line_end(pieces: Iterator[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        if piece.endswith(b"\n"):
            yield piece.rstrip(b"\r\n")
            return
        yield piece


def _read_header(layout: RowLayout, source: Source, lines: Iterator[tuple[int, bytes]]) -> Reader:
    _, raw = next(lines, (1, b""))
    if not raw.strip():
        raise FileError(f"{source.name} is empty; a CSV file begins with the names of its columns.")
    try:
        return build_csv_reader(layout, raw.decode())
    except UnicodeDecodeError as error:
        raise FileError(f"{source.name}, line 1: byte {error.start + 1} is not UTF-8.") from None
    except (FileError, InputError) as error:
        raise FileError(f"{source.name}, line 1: {error}") from None


def _build_writer(compiled: PythonReward, written: Format) -> tuple[str, Callable[[int, Outputs], str]]:
    """Return what a file of scores begins with, and the function that writes one row of it."""
    layout = compiled.layout
    # Names of terms are plain identifiers: they need no quotes and hold no %.
    numbers = ", ".join(f'"{term}": %s' for term in layout.terms)
    if written == "csv":
        if "line" in layout.terms:
            raise DefinitionError("a term is called 'line', like the column of line numbers; write .jsonl instead.")
        header = ",".join(["line", "total", *layout.terms]) + "\n"
        template = ",".join(["%s"] * (2 + len(layout.terms))) + "\n"
        pick = itemgetter(layout.total, *layout.values)
    else:
        header = ""
        template = f'{{"line": %s, "total": %s, "values": {{{numbers}}}, "scores": {{{numbers}}}}}\n'
        pick = itemgetter(layout.total, *(*layout.values, *layout.scores))

    def format_row(number: int, outputs: Outputs) -> str:
        if not all(map(isfinite, outputs)):
            name = compiled.program.name
            raise NotFinite(f"reward {name!r}: the total or a value is beyond what a float can hold.")
        return template % (number, *pick(tuple(map(repr, outputs))))  # an output of two names is written once

    return header, format_row
