"""Reading a file of JSON lines row by row: faithfully, or with an error that names the line."""

import json
import os
import stat
from collections.abc import Iterator
from typing import Any, Self

from plaudit.errors import FileError, LedgerError
from plaudit.ledger.jsonl.encoding import LONGEST_LINE, decode, describe_problem
from plaudit.ledger.jsonl.unfinished import find_end, read_between

_BLOCK = 65_536


class Lines(Iterator[dict[str, Any]]):
    """The rows of a file of JSON lines, one after the other; `read_lines` makes it.

    `number` is the line of the row that came last. `dropped` holds, once the rows are exhausted, the bytes of a last
    line that was torn off in the middle, or of several that were to be written together and are not all there; it is
    empty where the file ends as it should.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open the file at `path`."""
        self.path = os.fspath(path)
        self.number = 0
        self.dropped = b""
        try:
            self._file = open(path, "rb", buffering=0)  # noqa: SIM115 - it is closed at the end of the rows
        except OSError as error:
            raise FileError(f"{self.path} cannot be read: {error.strerror or error}") from None
        self._regular = stat.S_ISREG(os.fstat(self._file.fileno()).st_mode)
        self._lines = self._split_lines()

    def __next__(self) -> dict[str, Any]:
        """Return the next row; LedgerError names file and line of one that cannot be read."""
        for line in self._lines:
            self.number += 1
            if not line.strip():
                continue
            try:
                return decode(line)
            except (UnicodeDecodeError, json.JSONDecodeError) as error:
                if line.endswith(b"\n"):
                    raise self._build_line_error(error) from None
                self.dropped = line + self.dropped
            except ValueError as error:
                raise self._build_line_error(error) from None
        self.close()
        raise StopIteration

    def _split_lines(self) -> Iterator[bytes]:
        """Yield each line with its newline; the last may have none."""
        pieces: list[bytes] = []
        length = 0
        for block in self._read_blocks():
            *whole, rest = block.split(b"\n")
            for end in whole:
                pieces.append(end)
                yield b"%b\n" % b"".join(pieces)
                pieces, length = [], 0
            pieces.append(rest)
            length += len(rest)
            if length > LONGEST_LINE:
                raise LedgerError(
                    f"{self.path}, line {self.number + 1}: a line is longer than {LONGEST_LINE >> 20} MiB; this is not "
                    "a file of JSON lines, or it is damaged there."
                )
        if length:
            yield b"".join(pieces)

    def _read_blocks(self) -> Iterator[bytes]:
        """Yield the finished part of the file piece by piece; what is finished meanwhile too."""
        file = self._file.fileno()
        at = end = 0
        try:
            while not self._regular and (block := os.read(file, _BLOCK)):  # a pipe
                yield block
            while self._regular and (at < end or at < (end := find_end(file))):
                block = read_between(file, at, min(at + _BLOCK, end))
                if not block:
                    break
                at += len(block)
                yield block
            if self._regular:
                self.dropped = read_between(file, at, os.fstat(file).st_size)
        except OSError as error:
            raise FileError(f"{self.path}, line {self.number + 1} cannot be read: {error.strerror or error}") from None

    def _build_line_error(self, error: ValueError) -> LedgerError:
        return LedgerError(
            f"{self.path}, line {self.number}: {describe_problem(error)}. Rows before it are sound; mend or remove the "
            "line."
        )

    def close(self) -> None:
        """Stop reading."""
        self._lines = iter(())
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

    A torn last line ends them, and so do lines that were to be written together and are not all there; `dropped` has
    the bytes. Any other line that cannot be read is a LedgerError that names file and line. Windows line ends, empty
    lines and a missing last newline are no mistakes.
    """
    return Lines(path)
