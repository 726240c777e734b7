"""Files of JSON lines: appended to without ever leaving half a line behind, and read row by row."""

import json
import math
import os
import stat
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, Self

from plaudit.atomic import sync_folder
from plaudit.errors import FileError, InputError, LedgerBroken, LedgerError, PlauditError
from plaudit.file_lock import hold_lock
from plaudit.ledger.jsonl.encoding import decode, describe_problem, encode

__all__ = ["Fsync", "JsonLines", "Lines", "read_lines"]

Fsync = Literal["always", "never"] | float

_BLOCK = 65_536


class JsonLines:
    """A file of JSON lines to append to, by any number of threads and processes at once.

    A line is written by one call while the file is locked. What cannot be written whole is taken back, so that the
    file ends in a whole line whenever nobody is writing; what a crash tore is cut off, and `dropped` has its bytes.

    `fsync` says when `append` may return: "always" (the default) when the line is on the disk; "never" when the
    operating system has it, so that a crash of the process loses nothing and a loss of power may; a number of seconds
    does the same and asks the disk at the first append after that long, at `sync` and at `close`.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "rows.jsonl")
    >>> with JsonLines(path) as lines:
    ...     lines.append({"step": 2})
    >>> list(read_lines(path))
    [{'step': 2}]
    """

    def __init__(self, path: str | os.PathLike[str], *, fsync: Fsync = "always", timeout: float = 30.0) -> None:
        """Open the file at `path` or create it; `timeout` is how long to wait for another process that is writing."""
        self.path = os.fspath(path)
        self.fsync = _validate_policy(fsync)
        self.timeout = timeout
        self.dropped = b""
        self._broken = ""
        self._file = -1
        self._open()

    @property
    def durable(self) -> bool:
        """Whether every line appended here is on the disk."""
        return not self._unsynced and not self._broken

    def append(self, row: Mapping[str, Any]) -> None:
        """Write one row; if that fails, the file is as it was."""
        self.extend([row])

    def extend(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write several rows, all of them or none; the disk is asked once."""
        lines = [f"{encode(row)}\n".encode("ascii") for row in rows]
        with self._exclusive():
            with hold_lock(self._file, self.path, self.timeout):
                self._check_in_place()
                self._write_lines(lines)
            self._unsynced |= bool(lines)
            if self._unsynced and self._is_due():
                self._sync()

    def sync(self) -> None:
        """Return when everything appended so far is on the disk, whatever the policy."""
        with self._exclusive():
            if self._unsynced:
                self._sync()

    def close(self) -> None:
        """Close the file; unless the policy is "never", everything appended is on the disk by then."""
        if self._file < 0:
            return
        try:
            if self._unsynced and self.fsync != "never" and not self._broken and os.getpid() == self._process:
                self.sync()
        finally:
            self._close_file()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        """Close a file that nobody closed."""
        if getattr(self, "_file", -1) >= 0:
            self._close_file()

    # -- opening ----------------------------------------------------------------------------------------------------

    def _open(self) -> None:
        """Open the file for this process, creating it where it is not there, and mend its end."""
        self._process = os.getpid()
        self._mutex = threading.Lock()
        self._unsynced = False
        self._synced = time.monotonic()
        self._end = -1
        flags = os.O_RDWR | os.O_APPEND | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        try:
            self._file = os.open(self.path, flags | os.O_CREAT, 0o666)
            if not stat.S_ISREG(os.fstat(self._file).st_mode):
                raise FileError(f"{self.path} cannot be opened: it is not a regular file.")
            sync_folder(Path(self.path).parent)  # it may be new, or its creator may have died before doing this
            with hold_lock(self._file, self.path, self.timeout):
                self._mend()
        except BaseException as error:
            self._close_file()
            if isinstance(error, OSError | ValueError) and not isinstance(error, PlauditError):
                raise self._build_error(error, "opened") from None
            raise

    def _close_file(self) -> None:
        """Close what is open."""
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)

    def _mend(self) -> int:
        """Return where the file ends, after cutting off a torn last line that a crash left there."""
        size = os.fstat(self._file).st_size
        if size in (0, self._end):
            return size
        start = self._line_start(size)
        tail = self._read(start, size)
        if not tail:
            return size
        try:
            decode(tail)
        except (UnicodeDecodeError, json.JSONDecodeError):
            self._check_lines(start)
            os.ftruncate(self._file, start)
            self.dropped += tail
            return start
        except ValueError as error:
            raise LedgerError(f"{self.path}, last line: {describe_problem(error)}. Mend or remove the line.") from None
        self._write(b"\n")  # only the newline is missing
        return size + 1

    def _check_lines(self, end: int) -> None:
        """Refuse to cut what was never a file of JSON lines: the line before must be a row."""
        before = self._read(self._line_start(end - 1), end) if end else b"{}"
        first = self._read(0, 1)
        try:
            if first not in (b"{", b"\0"):
                raise ValueError(f"it begins with {first!r}")
            if before.strip():
                decode(before)
        except ValueError as error:
            raise LedgerError(
                f"{self.path} is not a file of JSON lines: {describe_problem(error)}. It is left as it is."
            ) from None

    def _line_start(self, end: int) -> int:
        """Return where the line that ends before `end` begins."""
        while end > 0:
            begin = max(0, end - _BLOCK)
            at = self._read(begin, end).rfind(b"\n")
            if at >= 0:
                return begin + at + 1
            end = begin
        return 0

    def _read(self, begin: int, end: int) -> bytes:
        """Return the bytes from `begin` to `end`."""
        os.lseek(self._file, begin, os.SEEK_SET)
        parts = []
        while begin < end and (part := os.read(self._file, end - begin)):
            parts.append(part)
            begin += len(part)
        return b"".join(parts)

    # -- writing ----------------------------------------------------------------------------------------------------

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        """Let one thread at a time use the file; a process that was forked opens it for itself."""
        if self._file < 0:
            raise LedgerError(f"{self.path} is closed; open it again.")
        if os.getpid() != self._process:  # a lock is shared with the parent's descriptor, and so excludes nobody
            self._close_file()
            self._open()
        with self._mutex:
            if self._broken:
                raise LedgerBroken(f"{self._broken} Open it again.")
            yield

    def _check_in_place(self) -> None:
        """Refuse to append to a file that nobody will find under its name again."""
        try:
            there = os.path.samestat(os.stat(self.path), os.fstat(self._file))
        except OSError:
            there = False
        if not there:
            self._broken = f"{self.path} was removed or replaced while it was open; nothing more is written."
            raise LedgerBroken(f"{self._broken} Open it again.")

    def _write_lines(self, lines: list[bytes]) -> None:
        """Write all of `lines`, or none."""
        try:
            start = self._mend()
            try:
                for line in lines:
                    self._write(line)
            except BaseException:
                self._take_back(start)
                raise
            self._end = start + sum(map(len, lines))
        except PlauditError:
            raise
        except OSError as error:
            raise self._build_error(error, "written") from None

    def _write(self, line: bytes) -> None:
        """Write all of `line`: a full disk takes a part of it without complaint, and refuses only the next."""
        while line:
            line = line[os.write(self._file, line) :]

    def _take_back(self, start: int) -> None:
        """Cut off what was begun; where not even that works, nothing more is written."""
        try:
            os.ftruncate(self._file, start)
            self._end = start
        except OSError as error:
            self._broken = f"{self.path} may end in half a line: it could not be taken back ({error.strerror})."
            raise LedgerBroken(f"{self._broken} Open it again.") from None

    def _is_due(self) -> bool:
        """Return whether the disk must have everything now."""
        if isinstance(self.fsync, str):
            return self.fsync == "always"
        return time.monotonic() - self._synced >= self.fsync

    def _sync(self) -> None:
        """Return when the disk has everything; after one failure nothing more is believed.

        The kernel forgets what it could not write, and the next call would succeed without having written it.
        """
        try:
            getattr(os, "fdatasync", os.fsync)(self._file)
        except OSError as error:
            since = "the last append" if self.fsync == "always" else "what was appended since the last time"
            self._broken = f"{self.path}: the disk failed to keep {since} ({error.strerror}); it may be lost."
            raise LedgerBroken(f"{self._broken} Open it again.") from None
        self._synced = time.monotonic()
        self._unsynced = False

    def _build_error(self, error: OSError | ValueError, what: str) -> FileError:
        return FileError(f"{self.path} cannot be {what}: {getattr(error, 'strerror', None) or error}")


def _validate_policy(fsync: object) -> Fsync:
    if fsync in ("always", "never"):
        return fsync
    if isinstance(fsync, bool) or not isinstance(fsync, int | float) or not 0 <= fsync < math.inf:
        raise InputError(f'fsync={fsync!r}: say "always", "never" or a number of seconds.')
    return float(fsync)


class Lines(Iterator[dict[str, Any]]):
    """The rows of a file of JSON lines, one after the other; `read_lines` makes it.

    `number` is the line of the row that came last. `dropped` holds, once the rows are exhausted, the bytes of a last
    line that was torn off in the middle; it is empty where the file ends as it should.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open the file at `path`."""
        self.path = os.fspath(path)
        self.number = 0
        self.dropped = b""
        try:
            self._file = open(path, "rb")  # noqa: SIM115 - it is closed at the end of the rows
        except OSError as error:
            raise FileError(f"{self.path} cannot be read: {error.strerror or error}") from None

    def __next__(self) -> dict[str, Any]:
        """Return the next row; LedgerError names file and line of one that cannot be read."""
        while line := self._read_line():
            self.number += 1
            if not line.strip():
                continue
            try:
                return decode(line)
            except (UnicodeDecodeError, json.JSONDecodeError) as error:
                if line.endswith(b"\n"):
                    raise self._build_line_error(error) from None
                self.dropped = line
            except ValueError as error:
                raise self._build_line_error(error) from None
        self.close()
        raise StopIteration

    def _read_line(self) -> bytes:
        """Return the next line with its newline; nothing at the end."""
        try:
            return b"" if self._file.closed else self._file.readline()
        except OSError as error:
            raise FileError(f"{self.path}, line {self.number + 1} cannot be read: {error.strerror or error}") from None

    def _build_line_error(self, error: ValueError) -> LedgerError:
        return LedgerError(
            f"{self.path}, line {self.number}: {describe_problem(error)}. Rows before it are sound; mend or remove the "
            "line."
        )

    def close(self) -> None:
        """Stop reading."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        """Close the file of rows that nobody read to the end."""
        if hasattr(self, "_file"):
            self.close()


def read_lines(path: str | os.PathLike[str]) -> Lines:
    """Return the rows of the JSON lines at `path`, read as they are asked for.

    A torn last line ends them, and `dropped` has its bytes. Any other line that cannot be read is a LedgerError that
    names file and line. Windows line ends, empty lines and a missing last newline are no mistakes.
    """
    return Lines(path)
