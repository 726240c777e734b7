"""JSON Lines logs that survive a crash."""

import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

from plaudit.atomic import sync_folder
from plaudit.errors import FileError, InputError, LedgerError, NotFinite, PlauditError, WrongType, shorten
from plaudit.file_lock import hold_lock
from plaudit.language.codec import build_object

__all__ = ["append_line", "mend_lines", "read_lines"]

LONGEST_LINE = 64 << 20
"""Bytes of a line at most: what is longer is not a row, and would be held in memory to the end of the file."""
_DEEPEST = 200
"""How deeply a value may be nested: far less than readers of JSON can take, whatever calls them."""
_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def append_line(
    path: str | os.PathLike[str], row: Mapping[str, Any], *, fsync: bool = True, timeout: float = 30
) -> bytes:
    """Append a row to a JSON Lines file, created if necessary; threads and processes can append at the same time.

    The row is on disk when this returns; with `fsync=False` only the operating system has it. If it cannot be written
    whole, the file stays unchanged.

    Args:
        path: The file.
        row: A mapping that JSON can represent exactly.
        fsync: Wait for the disk.
        timeout: Seconds to wait for other writers.

    Returns:
        The torn last line that was cut off first, as `mend_lines` does; usually empty.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "rows.jsonl")
    >>> append_line(path, {"step": 2})
    b''
    >>> list(read_lines(path))
    [{'step': 2}]
    """
    line = f"{encode(row)}\n".encode("ascii")
    with _open_locked(os.fspath(path), timeout) as file:
        dropped = _mend(file, os.fspath(path))
        size = os.fstat(file).st_size
        try:
            _write_whole(file, line)
            if fsync:
                getattr(os, "fdatasync", os.fsync)(file)
        except BaseException:
            os.ftruncate(file, size)
            raise
    return dropped


def mend_lines(path: str | os.PathLike[str], *, timeout: float = 30) -> bytes:
    """Cut off the incomplete last line that a crash left in a file.

    Args:
        path: The file.
        timeout: Seconds to wait for other writers.

    Returns:
        What was cut off; empty if the file ends with a whole line.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "rows.jsonl")
    >>> _ = path.write_text('{"st')
    >>> mend_lines(path)
    b'{"st'
    """
    with _open_locked(os.fspath(path), timeout) as file:
        return _mend(file, os.fspath(path))


@contextmanager
def _open_locked(path: str, timeout: float) -> Iterator[int]:
    """Open a file, creating it where it is not there, and keep other writers out; what fails is a FileError."""
    file = -1
    try:
        file = os.open(path, _FLAGS, 0o666)
        if not os.fstat(file).st_size:  # it may be new: its name is durable before its first line is
            sync_folder(Path(path).parent)
        with hold_lock(file, path, timeout):
            if not os.path.samestat(os.stat(path), os.fstat(file)):
                raise FileError(f"{path} was replaced just now; nothing was written. Try again.")
            yield file
    except (OSError, ValueError) as error:
        if isinstance(error, PlauditError):
            raise
        raise FileError(f"{path} cannot be written: {getattr(error, 'strerror', None) or error}") from None
    finally:
        if file >= 0:
            os.close(file)


def _mend(file: int, path: str) -> bytes:
    """Let a file end in a whole line; return what was cut off for that."""
    size = os.fstat(file).st_size
    tail = _read_line(file, size)
    start = size - len(tail)
    try:
        if tail:
            decode(tail)
            _write_whole(file, b"\n")  # only that is missing
        return b""
    except NotJson as error:
        before = _read_line(file, start - 1).strip() if start else b""
        known = False
        with suppress(ValueError):
            known = tail.startswith((b"{", b"\0")) and decode(before or b"{}") is not None
        if not known:
            raise LedgerError(f"{path} is not a JSON Lines file: {error}. It was left unchanged.") from None
        os.ftruncate(file, start)
        return tail
    except ValueError as error:
        raise LedgerError(f"{path}, last line: {error}. Fix or remove the line.") from None


def _read_line(file: int, end: int) -> bytes:
    """Return what stands before the byte `end`, after the last newline."""
    length = 1
    while True:
        begin = max(0, end - length)
        os.lseek(file, begin, os.SEEK_SET)
        found = os.read(file, end - begin)
        newline = found.rfind(b"\n")
        if newline >= 0 or begin == 0:
            return found[newline + 1 :]
        length = max(1 << 16, 2 * length)


def _write_whole(file: int, data: bytes) -> None:
    """Write all of `data`: a full disk takes a part of it without complaint, and refuses only the next."""
    left = memoryview(data)
    while left:
        left = left[os.write(file, left) :]


class Lines(Iterator[dict[str, Any]]):
    """The rows of a file; `number` is the line of the last one, and `dropped` has the bytes of a torn last line."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open the file at `path`."""
        self.path = os.fspath(path)
        self.number = 0
        self.dropped = b""
        self._rows = self._read()
        next(self._rows)  # which opens it

    def __next__(self) -> dict[str, Any]:
        """Return the next row."""
        return next(self._rows)

    def _read(self) -> Iterator[dict[str, Any]]:
        try:
            with open(self.path, "rb") as file:
                yield {}
                while line := file.readline(LONGEST_LINE + 1):
                    self.number += 1
                    try:
                        if len(line) > LONGEST_LINE:
                            raise ValueError(f"it is longer than {LONGEST_LINE >> 20} MiB")
                        if not line.isspace():
                            yield decode(line)
                    except ValueError as error:
                        if line.endswith(b"\n") or not isinstance(error, NotJson):
                            what = f"{self.path}, line {self.number}: {error}. "
                            raise LedgerError(f"{what}Rows before it are intact; fix or remove the line.") from None
                        self.dropped = line
        except OSError as error:
            raise FileError(f"{self.path} cannot be read: {error.strerror or error}") from None


def read_lines(path: str | os.PathLike[str]) -> Lines:
    """Read the rows of a JSON Lines file, one at a time.

    A torn last line ends the file. Any other unreadable line is a LedgerError that names the file and the line. Windows
    line endings, empty lines and a missing last newline are fine.

    Args:
        path: The file.

    Returns:
        An iterator over the rows. Its `number` is the current line, its `dropped` the bytes of a torn last line.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "rows.jsonl")
    >>> _ = append_line(path, {"step": 1})
    >>> with path.open("a") as file:
    ...     _ = file.write('{"st')
    >>> lines = read_lines(path)
    >>> list(lines), lines.dropped
    ([{'step': 1}], b'{"st')
    """
    return Lines(path)


def encode(row: Mapping[str, Any]) -> str:
    """Return a row as one line of JSON without its newline; InputError where reading it would give another row."""
    if not isinstance(row, Mapping):
        raise WrongType(f"a JSON line must be an object, not a {type(row).__name__}: pass a mapping.")
    text = dump_plain(row, "the row", (", ", ": "))
    if len(text) >= LONGEST_LINE:
        raise InputError(f"the row is longer than {LONGEST_LINE >> 20} MiB, the longest line that can be read back.")
    return text


def dump_plain(value: Any, what: str, separators: tuple[str, str]) -> str:
    """Return a value as JSON; InputError, which calls it `what`, where reading that would give another value."""
    plain = _to_plain(value, what)
    try:
        text = json.dumps(plain, allow_nan=False, separators=separators)
    except ValueError as error:
        raise InputError(f"{what} has no JSON form: {error}.") from None  # a number of very many digits
    if "\\ud" in text and json.loads(text) != plain:
        raise InputError(f"{what} contains two lone surrogates side by side, which JSON would join.")
    return text


def _to_plain(value: Any, where: str, depth: int = 0) -> Any:
    """Return a value of which JSON has every part; an InputError says which part it has not."""
    if depth > _DEEPEST:
        raise InputError(f"{where:.40}… is nested too deeply: more than {_DEEPEST} levels, or it contains itself.")
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise NotFinite(f"{where} is {value}, which JSON cannot hold; write it as a string or leave it out.")
        return value
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise WrongType(f"{where} has the key {shorten(key)}; JSON keys must be strings.")
        return {key: _to_plain(part, f"{where:.200}[{shorten(key)}]", depth + 1) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_to_plain(part, f"{where:.200}[{at}]", depth + 1) for at, part in enumerate(value)]
    if type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0:
        return _to_plain(value.item(), where, depth + 1)
    hint = " Its tolist() has one." if hasattr(value, "tolist") else ""
    raise WrongType(f"{where} is a {type(value).__name__}, which JSON cannot represent.{hint}")


class NotJson(ValueError):
    """A line is not JSON, or only a part of it."""


def decode(text: str | bytes) -> dict[str, Any]:
    """Return the object that a line of JSON holds; ValueError where it holds none, or one that cannot be trusted.

    A key that is there twice, NaN, Infinity, numbers beyond a double and anything that is not an object are refused.
    """
    try:
        row = json.loads(
            text if isinstance(text, str) else text.decode(),
            object_pairs_hook=_build_unique,
            parse_constant=_refuse_constant,
            parse_float=_parse_finite,
        )
    except UnicodeDecodeError as error:
        raise NotJson(f"this is not UTF-8 (byte {error.start + 1})") from None
    except json.JSONDecodeError as error:
        raise NotJson(f"this is not JSON ({error.msg} at character {error.pos + 1})") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(row, dict):
        raise ValueError(f"it is not an object but {text[:40]!r}")
    return row


def _build_unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return build_object(pairs, lambda key: ValueError(f"the key {key!r} appears twice"))


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")


def _parse_finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:40]} is too large for a double")
    return number
