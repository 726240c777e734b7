"""What rows are read from and scores are written to: files of three formats, standard input and output, pipes."""

import contextlib
import io
import os
import stat
import sys
from pathlib import Path
from typing import IO, BinaryIO, Literal, Self, TextIO

from plaudit.atomic import AtomicFile, build_write_error
from plaudit.errors import DefinitionError, FileError, explain_unreadable

STANDARD = "-"
Format = Literal["csv", "jsonl", "parquet"]
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


def choose_format(path: str, chosen: Format | None) -> Format:
    """Return how a file is written: by its ending, or as `chosen` where that does not say.

    >>> choose_format("rows.csv", None), choose_format("-", None), choose_format("rows.log", "csv")
    ('csv', 'jsonl', 'csv')
    """
    if path == STANDARD:
        return chosen or "jsonl"
    found = find_format(path) or chosen
    if found is None:
        raise DefinitionError(f"{path} does not end in .jsonl, .csv or .parquet; set format= (--format).")
    return found


def read_status(file: str | Path | IO[str] | IO[bytes]) -> os.stat_result | None:
    """Return the status of a file, by its name or as it is open; None where there is no such file."""
    try:
        return os.stat(file if isinstance(file, str | Path) else file.fileno())
    except OSError:  # also for what is no real file, as under a test runner
        return None


def refuse_overlap(name: str, target: os.stat_result | None, source: os.stat_result | None) -> None:
    """Refuse to write to `target`, called `name`, where it is the regular file that the rows are read from."""
    if target and source and stat.S_ISREG(source.st_mode) and os.path.samestat(target, source):
        raise FileError(f"{name} is the input file; write to a different file.")


class Source:
    """A file of rows, or standard input; `size` is None if it is unknown."""

    def __init__(self, path: str) -> None:
        """Open the file at `path`."""
        self.name = "standard input" if path == STANDARD else path
        self.path = None if path == STANDARD else path
        self.file: BinaryIO = sys.stdin.buffer if path == STANDARD else _open_source(path)
        self.status = read_status(self.file)
        self.size = self.status.st_size if self.status and stat.S_ISREG(self.status.st_mode) else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; standard input stays open."""
        if self.file is not sys.stdin.buffer:
            self.file.close()


def _open_source(path: str) -> BinaryIO:
    try:
        return open(path, "rb")
    except OSError as error:
        raise explain_unreadable(Path(path), error) from None


class Output:
    """Where a command writes: a draft of a file, or a stream that has no name to be put under.

    Standard output, a pipe and a device are written to as they are.
    """

    def __init__(self, path: str) -> None:
        """Open what `path` names."""
        self.name = "standard output" if path == STANDARD else path
        self._draft = AtomicFile(path) if path != STANDARD and _is_file_or_new(path) else None
        self.file: TextIO = self._draft.file if self._draft else _open_stream(path)

    @property
    def target(self) -> Path | None:
        """The file that this becomes; None for a stream."""
        return self._draft.target if self._draft else None

    @property
    def path(self) -> str | None:
        """Where the bytes of that file are until then; None for a stream."""
        return os.fspath(self._draft.path) if self._draft else None

    @property
    def status(self) -> os.stat_result | None:
        """The status of what will be overwritten; None where there is nothing."""
        return read_status(self.target or self.file)

    def commit(self) -> None:
        """Finish writing and, where it becomes a file, put it under its name."""
        if self._draft is not None:
            self._draft.commit()
            return
        try:
            self.file.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise build_write_error(self.name, error) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._draft is not None:
            self._draft.discard()
        elif self.file is not sys.stdout:
            with contextlib.suppress(OSError):  # what does not fit any more was to be thrown away
                self.file.close()


def _is_file_or_new(path: str) -> bool:
    target = Path(path)
    return target.is_file() or target.is_dir() or not target.exists()


def _open_stream(path: str) -> TextIO:
    if path == STANDARD:
        return _prepare_standard_output()
    try:
        return Path(path).open("w", encoding="utf-8", newline="\n")
    except OSError as error:
        raise build_write_error(path, error) from None


def _prepare_standard_output() -> TextIO:
    """Return standard output, set to UTF-8 and plain line ends, independent of the terminal's encoding."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    return sys.stdout
