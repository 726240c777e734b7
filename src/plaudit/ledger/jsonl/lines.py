"""Reading a file of JSON lines, row by row: faithfully, or with an error that names file and line."""

import json
import os
from collections.abc import Iterator
from typing import Any, Self

from plaudit.errors import FileError, LedgerError
from plaudit.ledger.jsonl.text import decode, reason


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
        while line := self._line():
            self.number += 1
            if not line.strip():
                continue
            try:
                return decode(line)
            except (UnicodeDecodeError, json.JSONDecodeError) as error:
                if line.endswith(b"\n"):
                    raise self._bad(error) from None
                self.dropped = line
            except ValueError as error:
                raise self._bad(error) from None
        self.close()
        raise StopIteration

    def _line(self) -> bytes:
        """Return the next line with its newline; nothing at the end."""
        try:
            return b"" if self._file.closed else self._file.readline()
        except OSError as error:
            raise FileError(f"{self.path}, line {self.number + 1} cannot be read: {error.strerror or error}") from None

    def _bad(self, error: ValueError) -> LedgerError:
        return LedgerError(
            f"{self.path}, line {self.number}: {reason(error)}. Rows before it are sound; mend or remove the line."
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
