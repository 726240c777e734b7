"""Files that are read line by line, and files that appear only when they are complete."""

import contextlib
import io
import os
import shutil
import stat
import sys
from pathlib import Path
from secrets import token_hex
from typing import IO, BinaryIO, Literal, Self, TextIO

from plaudit.cli.errors import unreadable
from plaudit.errors import DefinitionError, FileError

Format = Literal["jsonl", "csv"]
STANDARD = "-"
SUFFIXES: dict[str, Format] = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv"}


def format_of(path: str, chosen: Format | None) -> Format:
    """Return how a file is written: by its ending, or as `chosen` where that does not say.

    >>> format_of("rows.csv", None), format_of("-", None), format_of("rows.log", "csv")
    ('csv', 'jsonl', 'csv')
    """
    found = chosen if path == STANDARD else SUFFIXES.get(Path(path).suffix.lower(), chosen)
    if found is None and path != STANDARD:
        raise DefinitionError(f"{path} ends in neither .jsonl nor .csv; say which it is with --format.")
    return found or "jsonl"


class Source:
    """A file of rows, or standard input; `size` is None where nobody knows it."""

    def __init__(self, path: str) -> None:
        """Open the file at `path`."""
        self.name = "standard input" if path == STANDARD else path
        self.file: BinaryIO = sys.stdin.buffer if path == STANDARD else _opened(path)
        self.status = _status(self.file)
        self.size = self.status.st_size if self.status and stat.S_ISREG(self.status.st_mode) else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self.file is not sys.stdin.buffer:
            self.file.close()


def _opened(path: str) -> BinaryIO:
    try:
        return open(path, "rb")
    except OSError as error:
        raise unreadable(Path(path), error) from None


def _status(file: IO[str] | IO[bytes]) -> os.stat_result | None:
    try:
        return os.fstat(file.fileno())
    except OSError:  # no real file, as under a test runner
        return None


class Draft:
    """A file to be. `commit` puts it under its name in one move; leaving without that leaves nothing behind.

    Standard output, a pipe and a device have no name to be put under: they are written to as they are.
    """

    def __init__(self, path: str) -> None:
        """Open a draft beside the file that it will become."""
        self.name = "standard output" if path == STANDARD else path
        self.target: Path | None = None
        self._draft: Path | None = None
        try:
            self.file = _standard_output() if path == STANDARD else self._open(Path(os.path.realpath(path)))
        except FileError:
            raise
        except OSError as error:
            raise self._failure(error.strerror or str(error)) from None

    def _open(self, target: Path) -> TextIO:
        if target.is_dir():
            raise FileError(f"{self.name} is a directory; name a file in it.")
        if not target.parent.is_dir():
            raise self._failure(f"there is no folder {target.parent}")
        if target.exists() and not target.is_file():
            return target.open("w", encoding="utf-8", newline="\n")
        if target.exists() and not os.access(target, os.W_OK):
            raise self._failure("Permission denied")
        draft = target.with_name(f".{target.name}.{token_hex(4)}.part")
        file = draft.open("x", encoding="utf-8", newline="\n")
        self.target, self._draft = target, draft
        if target.exists():
            shutil.copymode(target, draft)
        return file

    def _failure(self, reason: str) -> FileError:
        return FileError(f"{self.name} cannot be written: {reason}")

    @property
    def appears(self) -> bool:
        """Whether this is a file under a name, and no stream."""
        return self.target is not None

    def replaces(self, status: os.stat_result | None) -> bool:
        """Return whether this will overwrite the file that has this status."""
        if status is None or not stat.S_ISREG(status.st_mode):
            return False
        if self.target is not None:
            return self.target.exists() and os.path.samestat(self.target.stat(), status)
        mine = _status(self.file)
        return mine is not None and os.path.samestat(mine, status)

    def commit(self) -> None:
        """Finish writing and put the file under its name."""
        try:
            self.file.flush()
            if self._draft is not None and self.target is not None:
                os.fsync(self.file.fileno())
                self.file.close()
                self._draft.replace(self.target)
                self._draft = None
        except BrokenPipeError:
            raise
        except OSError as error:
            raise self._failure(error.strerror or str(error)) from None

    def discard(self) -> None:
        """Leave nothing behind; what was committed stays."""
        if self.file is not sys.stdout:
            with contextlib.suppress(OSError):  # what does not fit any more was to be thrown away
                self.file.close()
        if self._draft is not None:
            self._draft.unlink(missing_ok=True)
            self._draft = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.discard()


def _standard_output() -> TextIO:
    """Return standard output, set to UTF-8 and plain line ends whatever the terminal's encoding."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    return sys.stdout
