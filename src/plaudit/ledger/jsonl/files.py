"""Appending to files of JSON lines, without ever leaving half a line or half a batch behind."""

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
from plaudit.ledger.jsonl.unfinished import find_end, find_line_start, format_mark, read_between

Fsync = Literal["always", "never"] | float
_FLAGS = os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class JsonLines:
    """A file of JSON lines to append to, by any number of threads and processes at once.

    A line is written by one call while the file is locked. What cannot be written whole is taken back, so that the
    file ends in a whole line whenever nobody is writing; what a crash tore is cut off, and `dropped` has its bytes.
    Several lines at once are marked as unfinished until all of them are there.

    `fsync` says when `append` may return: "always" (the default) when the line is on the disk; "never" when the
    operating system has it, so that a crash of the process loses nothing and a loss of power may; a number of seconds
    does the same and asks the disk at the first append after that long, at `sync` and at `close`.

    >>> import tempfile
    >>> from plaudit.ledger.jsonl import read_lines
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
        """Write several rows, all of them or none, whatever happens in between."""
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
        try:
            self._file = os.open(self.path, _FLAGS | os.O_APPEND | os.O_CREAT, 0o666)
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
        """Return where the file ends, after cutting off a torn line or an unfinished batch that a crash left there."""
        size = os.fstat(self._file).st_size
        if size in (0, self._end):
            return size
        end = find_end(self._file)
        if end < size:
            return self._cut(end, size)
        start = find_line_start(self._file, size)
        tail = read_between(self._file, start, size)
        if not tail:
            return size
        try:
            decode(tail)
        except (UnicodeDecodeError, json.JSONDecodeError):
            return self._cut(start, size)
        except ValueError as error:
            raise LedgerError(f"{self.path}, last line: {describe_problem(error)}. Mend or remove the line.") from None
        self._write(b"\n")  # only the newline is missing
        return size + 1

    def _cut(self, end: int, size: int) -> int:
        """Cut off what was not finished, keep its bytes, and return where the file ends now."""
        tail = read_between(self._file, end, size)
        self._check_lines(end)
        os.ftruncate(self._file, end)
        self.dropped += tail
        return end

    def _check_lines(self, end: int) -> None:
        """Refuse to cut what was never a file of JSON lines: the line before must be a row."""
        before = read_between(self._file, find_line_start(self._file, end - 1), end) if end else b"{}"
        first = read_between(self._file, 0, 1)
        try:
            if first not in (b"{", b"\0"):
                raise ValueError(f"it begins with {first!r}")
            if before.strip():
                decode(before)
        except ValueError as error:
            raise LedgerError(
                f"{self.path} is not a file of JSON lines: {describe_problem(error)}. It is left as it is."
            ) from None

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
                if len(lines) > 1:
                    self._write_batch(start, b"".join(lines))
                else:
                    self._write(b"".join(lines))
            except BaseException:
                self._take_back(start)
                raise
            self._end = start + sum(map(len, lines))
        except PlauditError:
            raise
        except OSError as error:
            raise self._build_error(error, "written") from None

    def _write(self, line: bytes) -> None:
        """Write all of `line` at the end of the file."""
        _write_whole(self._file, line)

    def _write_batch(self, start: int, lines: bytes) -> None:
        """Write several lines behind a mark that says that they are not finished, then take the mark away.

        Until then nobody reads them, and whoever writes next cuts them off. Where the policy is "always", the disk has
        each step before the next begins, so that this holds after a loss of power too.
        """
        end = start + len(lines)
        file = os.open(self.path, _FLAGS)  # the other one writes at the end of the file, wherever that is
        try:
            if not os.path.samestat(os.fstat(file), os.fstat(self._file)):
                raise FileError(f"{self.path} was replaced in this moment; nothing was written. Open it again.")
            for at, part in ((end, format_mark(start)), (start, lines)):
                os.lseek(file, at, os.SEEK_SET)
                _write_whole(file, part)
                if self.fsync == "always":
                    self._sync()
            os.ftruncate(file, end)
        finally:
            os.close(file)

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


def _write_whole(file: int, data: bytes) -> None:
    """Write all of `data`: a full disk takes a part of it without complaint, and refuses only the next."""
    left = memoryview(data)
    while left:
        left = left[os.write(file, left) :]


def _validate_policy(fsync: object) -> Fsync:
    if fsync in ("always", "never"):
        return fsync
    if isinstance(fsync, bool) or not isinstance(fsync, int | float) or not 0 <= fsync < math.inf:
        raise InputError(f'fsync={fsync!r}: say "always", "never" or a number of seconds.')
    return float(fsync)
