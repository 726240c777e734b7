"""Files of rows: their formats by name, how they begin, and how numbers are written in text."""

import codecs
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import NDArray

from plaudit.errors import FileError, UnusableFile

TextFormat = Literal["csv", "jsonl"]
Format = TextFormat | Literal["parquet"]
FORMATS: tuple[Format, ...] = ("jsonl", "csv", "parquet")
SUFFIXES: dict[str, Format] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}


def find_format(path: str) -> Format | None:
    """Return the format of a file by the ending of its name; None where that does not say.

    >>> find_format("rows.PARQUET"), find_format("runs/rows.ndjson"), find_format("rows.log")
    ('parquet', 'jsonl', None)
    """
    return SUFFIXES.get(Path(path).suffix.lower())


def strip_mark(name: str, start: bytes) -> bytes:
    """Return the start of a text file without the mark that says UTF-8; a file of UTF-16 is an error."""
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise UnusableFile(f"{name} is UTF-16 text; save it as UTF-8.")
    return start.removeprefix(codecs.BOM_UTF8)


def read_status(file: str | Path | IO[str] | IO[bytes]) -> os.stat_result | None:
    """Return the status of a file, by its name or as it is open; None where there is no such file."""
    try:
        return os.stat(file if isinstance(file, str | Path) else file.fileno())
    except OSError:  # also for what is no real file, as under a test runner
        return None


def refuse_overlap(name: str, target: os.stat_result | None, source: os.stat_result | None) -> None:
    """Refuse to write to `target`, called `name`, where it is the regular file that the rows are read from."""
    if target and source and stat.S_ISREG(source.st_mode) and os.path.samestat(target, source):
        raise FileError(f"{name} is the file that the rows come from; write to another one.")


def format_columns(added: Mapping[str, Any], ok: Any, nothing: str) -> list[list[str]]:
    """Return numbers and flags of rows as text, column by column; numbers of rows that are not `ok` as `nothing`."""
    bad = [] if ok is None or ok.all() else np.flatnonzero(~ok).tolist()
    columns = []
    for column in added.values():
        if column.dtype == np.bool_:
            columns.append(np.where(column, "true", "false").tolist())
            continue
        texts = _format_numbers(column)
        for at in bad:
            texts[at] = nothing
        columns.append(texts)
    return columns


def _format_numbers(column: NDArray[np.float64]) -> list[str]:
    bits, places = np.unique(column.view(np.int64), return_inverse=True)  # rewards often are few distinct numbers
    if len(bits) > len(column) // 2:
        return list(map(repr, column.tolist()))
    texts = list(map(repr, bits.view(np.float64).tolist()))
    return [texts[at] for at in places.tolist()]
