"""Files of rows: the formats that they are written in, how they begin, and that nobody writes over what is read."""

import codecs
import os
import stat
from pathlib import Path
from typing import IO, Literal

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
