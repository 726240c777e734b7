"""What rows are read from and scores are written to: files and objects of three formats, standard streams, pipes."""

import contextlib
import glob
import io
import os
import stat
import sys
from pathlib import Path
from typing import IO, BinaryIO, Literal, Self, TextIO

from plaudit.atomic import AtomicFile, build_write_error
from plaudit.errors import DefinitionError, FileError, explain_unreadable
from plaudit.rows.addresses import find_local_path, is_address
from plaudit.rows.objects import ObjectDraft, ObjectReader, find_object

STANDARD = "-"
Format = Literal["csv", "jsonl", "parquet"]
Identity = tuple[int, int] | str
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


def is_data_set(text: str) -> bool:
    """Return whether an argument names rows rather than a ledger: object storage, a file of rows, a folder, a pattern.

    >>> is_data_set("steps.parquet"), is_data_set("s3://bucket/steps"), is_data_set("rewards.db")
    (True, True, False)
    """
    if "://" in text and not is_address(text):
        return False
    local = find_local_path(text)
    if local is None:
        return True
    path = Path(local)
    return find_format(local) is not None or path.is_dir() or (glob.has_magic(local) and not path.exists())


def find_identity(file: str | Path | IO[str] | IO[bytes]) -> Identity | None:
    """Return what tells a regular file, or an object, from any other; None where there is no such file."""
    if isinstance(file, str) and find_local_path(file) is None:
        return file if find_object(file).is_file else None
    try:
        status = os.stat(file if isinstance(file, str | Path) else file.fileno())
    except (OSError, AttributeError):  # also for what is no real file, as under a test runner
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None


def refuse_overlap(name: str, target: Identity | None, source: Identity | None) -> None:
    """Refuse to write to `target`, called `name`, where it is the file that the rows are read from."""
    if target is not None and target == source:
        raise FileError(f"{name} is the input file; write to a different file.")


class Source:
    """A file or an object of rows, or standard input; `size` is None if it is unknown."""

    def __init__(self, path: str) -> None:
        """Open the file at `path`."""
        self.name = "standard input" if path == STANDARD else path
        self.path = None if path == STANDARD else path
        self.file: BinaryIO | ObjectReader = sys.stdin.buffer if path == STANDARD else _open_source(path)
        self.identity: Identity | None
        self.size: int | None
        if isinstance(self.file, ObjectReader):
            self.identity, self.size = path, self.file.size
        else:
            self.identity = find_identity(self.file)
            self.size = None if self.identity is None else os.fstat(self.file.fileno()).st_size

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; standard input stays open."""
        if self.file is not sys.stdin.buffer:
            self.file.close()


def _open_source(path: str) -> BinaryIO | ObjectReader:
    local = find_local_path(path)
    if local is None:
        return ObjectReader(path)
    try:
        return open(local, "rb")
    except OSError as error:
        raise explain_unreadable(Path(local), error) from None


class Output:
    """Where a command writes: a draft of a file or an object, or a stream that has no name to be put under.

    Standard output, a pipe and a device are written to as they are.
    """

    def __init__(self, path: str) -> None:
        """Open what `path` names."""
        self.name = "standard output" if path == STANDARD else path
        local = find_local_path(path)
        self._draft: AtomicFile | ObjectDraft | None = None
        if local is None:
            self._draft = ObjectDraft(path)
        elif path != STANDARD and _is_file_or_new(local):
            self._draft = AtomicFile(local)
        self.file: TextIO = self._draft.file if self._draft else _open_stream(local or path)

    @property
    def target(self) -> str | None:
        """The path or the address that this becomes; None for a stream."""
        if isinstance(self._draft, AtomicFile):
            return os.fspath(self._draft.target)
        return None if self._draft is None else self.name

    @property
    def path(self) -> str | None:
        """Where the bytes of that file are until then; None for a stream."""
        return os.fspath(self._draft.path) if self._draft else None

    @property
    def identity(self) -> Identity | None:
        """What tells the file that will be overwritten from others; None where there is none."""
        return find_identity(self.target or self.file)

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
