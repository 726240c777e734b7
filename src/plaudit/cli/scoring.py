"""Score a file row by row, in memory that does not grow with it; rows that cannot be scored are kept as they were."""

import base64
import csv
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, TextIO

from plaudit.cli._support.errors import format_error
from plaudit.cli.score_files import WriteScores, open_scores
from plaudit.cli.streams import Source
from plaudit.errors import FileError, InputError, UnusableFile, WrongType, did_you_mean, shorten
from plaudit.language.codec import find_doubled
from plaudit.language.field import Kind
from plaudit.plugins.options import explain_missing
from plaudit.reward.row_files import Format, TextFormat, strip_mark
from plaudit.reward.rows import Row, RowLayout, parse_bool, parse_json_row, parse_number
from plaudit.targets.inputs import find_default
from plaudit.targets.python import PythonReward
from plaudit.targets.python import Row as Outputs

Reader = Callable[[str], Row | None]
"""From a line to the inputs of a step; None where the line is blank."""


def build_json_reader(layout: RowLayout) -> Reader:
    """Return a reader of JSON objects, flat (`{"prev.phase": …}`) or nested (`{"prev": {"phase": …}}`)."""
    arrange = layout.arrange
    checked = False

    def read(line: str) -> Row | None:
        nonlocal checked
        if line.isspace():
            return None
        row = parse_json_row(line)
        if not checked:
            layout.check(row)
            checked = True
        return arrange(row)

    return read


def build_csv_reader(layout: RowLayout, header: str) -> Reader:
    """Return a reader of lines of cells under the columns of `header`; an empty cell is an absent value."""
    names = [name.strip() for name in _split_cells(header)]
    _check_header(layout, names)
    columns = [
        (at, name, _CONVERT[layout.inputs[name].field.kind]) for at, name in enumerate(names) if name in layout.inputs
    ]
    width = len(names)

    def read(line: str) -> Row | None:
        if line.isspace():
            return None
        cells = _split_cells(line)
        if len(cells) != width:
            raise InputError(f"the row has {_count_cells(len(cells))}, the header {width}.")
        try:
            row = {name: convert(cells[at]) for at, name, convert in columns if cells[at]}
        except ValueError:
            raise explain_refusal(cells) from None
        return layout.arrange(row)

    def explain_refusal(cells: Sequence[str]) -> InputError:
        for at, name, convert in columns:
            try:
                convert(cells[at] or "0")
            except ValueError:
                needed = "a number" if convert is parse_number else "true, false, 1 or 0"
                given = shorten(cells[at], 40)
                return WrongType(f"reward {layout.reward.name!r}, field {name!r}: {given} is not {needed}.")
        raise AssertionError("every cell can be converted")

    return read


def _check_header(layout: RowLayout, names: Sequence[str]) -> None:
    if "" in names and not layout.ignore_extra:
        raise UnusableFile(f"column {names.index('') + 1} of the header has no name.")
    doubled = find_doubled(filter(None, names))
    if doubled is not None:
        raise UnusableFile(f"the header has the column {shorten(doubled, 40)} twice.")
    layout.check(names)
    given = set(names)
    for name, place in layout.inputs.items():
        if name not in given and find_default(layout.reward.program, place, False) is None:
            near = did_you_mean(name, names)
            if place.key in layout.reward.states:
                near = " It is a state that the reward carries; reward.score_episodes computes it from whole episodes."
            raise UnusableFile(f"the header has no column {name!r}, which reward {layout.reward.name!r} needs.{near}")


def _split_cells(line: str) -> list[str]:
    """Return the cells of one line; a quote that is not closed ends with its line, not with the file."""
    line = line.rstrip("\r\n")
    if '"' not in line:
        return line.split(",")
    try:
        return next(csv.reader([line], strict=True))
    except csv.Error as error:
        raise InputError(f"this is not a line of CSV: {error}.") from None


def _count_cells(cells: int) -> str:
    return "1 cell" if cells == 1 else f"{cells} cells"


_CONVERT: dict[Kind, Callable[[str], Any]] = {"number": parse_number, "flag": parse_bool, "category": str}


LONGEST_LINE = 3 << 19
"""1.5 MiB: what is longer is no row. A multiple of three, so that base64 can be written piece by piece."""
TICK = 4_096
"""Lines between two movements of the progress bar."""

SHOWN = 10
"""How many bad rows are shown in full; the others are counted, and kept like these."""

Progress = Callable[[int, int | None], None]
"""Called with how many bytes, or rows of Parquet, have been read, and how many there are where that is known."""
Run = Callable[[Row], Outputs]
"""From the inputs of a step to the numbers that a reward makes of them."""


class BadRows:
    """Where bad rows go: one JSON object each, with `line`, `kind`, `error` and the `row` as it was.

    A row that is no UTF-8 text, or longer than any row should be, is kept in base64 as `row_base64`.
    """

    def __init__(self, file: TextIO, show: Callable[[str], None], *, shown: int = SHOWN, unit: str = "line") -> None:
        """Write to `file`, and `show` the first ones; `unit` is what their numbers count."""
        self.count = 0
        self._file = file
        self._show = show
        self._shown = shown
        self._unit = unit

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
            self._show(f"{self._unit} {line}: {text}")
        elif self.count == self._shown + 1 > 1:
            self._show("…")
        return {"line": line, "kind": type(error).__name__, "error": format_error(error)}


def score_rows(
    layout: RowLayout,
    source: Source,
    rows: Format,
    output: TextIO,
    written: Format,
    bad: BadRows,
    progress: Progress | None,
) -> int:
    """Write the scores of every good row of `source` to `output`, keep the others, and return how many were good."""
    compiled: PythonReward = layout.reward.compile("python")
    with open_scores(output, compiled, written) as write:
        if rows == "parquet":
            return _score_parquet(layout, source, compiled.run, write, bad, progress)
        return _score_lines(layout, source, rows, compiled.run, write, bad, progress)


def _score_parquet(
    layout: RowLayout, source: Source, run: Run, write: WriteScores, bad: BadRows, progress: Progress | None
) -> int:
    if source.path is None or source.size is None:
        raise FileError(f"{source.name} cannot be read as Parquet, which begins at its end; save it in a file.")
    with explain_missing("reading Parquet", "data"):
        from plaudit.ledger.dataset.parquet_rows import read_rows
    good = 0
    for number, row in enumerate(read_rows(layout, source.path, progress), start=1):
        try:
            write(number, run(layout.arrange(row)))
            good += 1
        except InputError as error:
            bad.keep(number, json.dumps(row, default=str).encode(), error)
    return good


def _score_lines(
    layout: RowLayout,
    source: Source,
    rows: TextFormat,
    run: Run,
    write: WriteScores,
    bad: BadRows,
    progress: Progress | None,
) -> int:
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
            write(number, outputs)
            good += 1
        except UnicodeDecodeError as error:
            bad.keep(number, raw, InputError(f"byte {error.start + 1} of the line is not UTF-8."))
        except InputError as error:
            bad.keep(number, raw, error)
        except FileError as error:
            raise UnusableFile(f"{source.name}, line {number}: {error}") from None
    return good


def _read_lines(
    source: Source, bad: BadRows, progress: Progress | None, *, headed: bool
) -> Iterator[tuple[int, bytes]]:
    """Yield each line with its number; one that is too long for memory is kept aside as it is read."""
    readline = source.file.readline
    number = done = 0
    while raw := readline(LONGEST_LINE):
        number += 1
        done += len(raw)
        if number == 1:
            raw = strip_mark(source.name, raw)
        if progress and not number % TICK:
            progress(done, source.size)
        if len(raw) < LONGEST_LINE or raw.endswith(b"\n"):
            yield number, raw
        elif number == 1 and headed:
            raise UnusableFile(f"{source.name} is not CSV: its first line is longer than {LONGEST_LINE:,} bytes.")
        else:
            rest = iter(lambda: readline(LONGEST_LINE), b"")
            problem = InputError(f"the line is longer than {LONGEST_LINE:,} bytes.")
            bad.keep_long(number, chain([raw], _read_to_line_end(rest)), problem)
    if progress:
        progress(done, source.size)


def _read_to_line_end(pieces: Iterator[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        if piece.endswith(b"\n"):
            yield piece.rstrip(b"\r\n")
            return
        yield piece


def _read_header(layout: RowLayout, source: Source, lines: Iterator[tuple[int, bytes]]) -> Reader:
    _, raw = next(lines, (1, b""))
    if not raw.strip():
        raise UnusableFile(f"{source.name} is empty; a CSV file begins with the names of its columns.")
    try:
        return build_csv_reader(layout, raw.decode())
    except UnicodeDecodeError as error:
        raise UnusableFile(f"{source.name}, line 1: byte {error.start + 1} is not UTF-8.") from None
    except (FileError, InputError) as error:
        raise UnusableFile(f"{source.name}, line 1: {error}") from None
