"""Score a file line by line, in memory that does not grow with it."""

import codecs
from collections.abc import Callable, Iterator
from itertools import chain
from math import isfinite
from operator import itemgetter
from typing import TextIO

from plaudit.cli.score.bad import BadRows
from plaudit.cli.score.files import Format, Source
from plaudit.cli.score.rows import Reader, csv_rows, json_rows
from plaudit.cli.score.shape import Shape
from plaudit.errors import DefinitionError, FileError, InputError, NotFinite, WrongType
from plaudit.targets.python import PythonReward
from plaudit.targets.python import Row as Outputs

LONGEST_LINE = 3 << 19
"""1.5 MiB: what is longer is no row. A multiple of three, so that base64 can be written piece by piece."""
TICK = 4_096
"""Lines between two movements of the progress bar."""

Progress = Callable[[int], None]
"""Told how many bytes have been read."""


def score_lines(
    shape: Shape, source: Source, rows: Format, output: TextIO, written: Format, bad: BadRows, progress: Progress
) -> int:
    """Write the scores of every good row of `source` to `output`, keep the others, and return how many were good."""
    compiled: PythonReward = shape.reward.compile("python")
    header, text = _writer(compiled, written)
    run, write = compiled.run, output.write
    write(header)
    lines = _lines(source, bad, progress, headed=rows == "csv")
    read = json_rows(shape) if rows == "jsonl" else _csv_reader(shape, source, lines)
    good = 0
    for number, raw in lines:
        try:
            row = read(raw.decode())
            if row is None:
                continue
            try:
                outputs = run(row)
            except WrongType:
                outputs = run(shape.infinite(row))
            write(text(number, outputs))
            good += 1
        except UnicodeDecodeError as error:
            bad.keep(number, raw, InputError(f"byte {error.start + 1} of the line is not UTF-8."))
        except InputError as error:
            bad.keep(number, raw, error)
        except FileError as error:
            raise FileError(f"{source.name}, line {number}: {error}") from None
    return good


def _lines(source: Source, bad: BadRows, progress: Progress, *, headed: bool) -> Iterator[tuple[int, bytes]]:
    """Yield each line with its number; one that is too long for memory is kept aside as it is read."""
    readline = source.file.readline
    number = done = 0
    while raw := readline(LONGEST_LINE):
        number += 1
        done += len(raw)
        if number == 1:
            raw = _without_mark(source, raw)
        if not number % TICK:
            progress(done)
        if len(raw) < LONGEST_LINE or raw.endswith(b"\n"):
            yield number, raw
        elif number == 1 and headed:
            raise FileError(f"{source.name} is not CSV: its first line is longer than {LONGEST_LINE:,} bytes.")
        else:
            rest = iter(lambda: readline(LONGEST_LINE), b"")
            problem = InputError(f"the line is longer than {LONGEST_LINE:,} bytes.")
            bad.keep_long(number, chain([raw], _to_line_end(rest)), problem)
    progress(done)


def _without_mark(source: Source, raw: bytes) -> bytes:
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise FileError(f"{source.name} is UTF-16 text; save it as UTF-8.")
    return raw.removeprefix(codecs.BOM_UTF8)


def _to_line_end(pieces: Iterator[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        if piece.endswith(b"\n"):
            yield piece.rstrip(b"\r\n")
            return
        yield piece


def _csv_reader(shape: Shape, source: Source, lines: Iterator[tuple[int, bytes]]) -> Reader:
    _, raw = next(lines, (1, b""))
    if not raw.strip():
        raise FileError(f"{source.name} is empty; a CSV file begins with the names of its columns.")
    try:
        return csv_rows(shape, raw.decode())
    except UnicodeDecodeError as error:
        raise FileError(f"{source.name}, line 1: byte {error.start + 1} is not UTF-8.") from None
    except (FileError, InputError) as error:
        raise FileError(f"{source.name}, line 1: {error}") from None


def _writer(compiled: PythonReward, written: Format) -> tuple[str, Callable[[int, Outputs], str]]:
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

    def text(number: int, outputs: Outputs) -> str:
        if not all(map(isfinite, outputs)):
            name = compiled.program.name
            raise NotFinite(f"reward {name!r}: the total or a value is beyond what a float can hold.")
        return template % (number, *pick(tuple(map(repr, outputs))))  # an output of two names is written once

    return header, text
