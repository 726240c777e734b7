"""A large JSON object, read member by member, and one list in it entry by entry."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from plaudit.adapters.logs.log import BadRow
from plaudit.errors import FileError, explain_unreadable

_FIRST = 1 << 20
"""Characters to read at once; twice as many where an entry is longer."""
_SPACE = re.compile(r"[ \t\n\r]*")
_decode = json.JSONDecoder().raw_decode


class _Broken(Exception):
    """The text is not JSON, or ends too early."""


def read_members(path: Path, listed: str) -> Iterator[tuple[str, Any]]:
    """Yield each member of the object that a file holds; of the one called `listed`, each entry on its own.

    Where an entry cannot be read, as where the file ends too early, a BadRow is the last.
    """
    try:
        with path.open(encoding="utf-8") as file:
            text = _Text(file)
            text.expect("{")
            while text.peek() != "}":
                name = text.decode()
                text.expect(":")
                if name == listed and text.peek() == "[":
                    for entry in _read_entries(text, path):
                        yield name, entry
                        if isinstance(entry, BadRow):
                            return
                else:
                    yield name, text.decode()
                if text.peek() != "}":
                    text.expect(",")
    except _Broken as error:
        raise FileError(f"{path} is not whole JSON: {error}.") from None
    except UnicodeDecodeError as error:
        raise FileError(f"{path} is not UTF-8: {error}.") from None
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise explain_unreadable(path, error) from None


def _read_entries(text: "_Text", path: Path) -> Iterator[Any]:
    number = 1
    try:
        text.expect("[")
        while text.peek() != "]":
            yield text.decode()
            number += 1
            if text.peek() != "]":
                text.expect(",")
        text.expect("]")
    except _Broken as error:
        yield BadRow(str(path), number, f"{error}; what follows was not read")


class _Text:
    """What is in memory of a file of JSON, and where in it the next value begins."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._held, self._at, self._ended = "", 0, False

    def peek(self) -> str:
        """Return the next character that is not space."""
        while True:
            found = _SPACE.match(self._held, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._held):
                return self._held[self._at]
            self._read_on()

    def expect(self, mark: str) -> None:
        """Pass over a character."""
        if self.peek() != mark:
            raise _Broken(f"there is {self.peek()!r} where {mark!r} should be")
        self._at += 1

    def decode(self) -> Any:
        """Return the next value."""
        self.peek()
        while True:
            try:
                value, end = _decode(self._held, self._at)
            except json.JSONDecodeError as error:
                if self._ended:
                    raise _Broken(error.msg if error.pos < len(self._held) else "the file ends too early") from None
                end = len(self._held)
            except RecursionError:
                raise _Broken("it is nested too deeply") from None
            if end < len(self._held) or self._ended:
                self._at = end
                return value
            self._read_on()  # a number may go on

    def _read_on(self) -> None:
        if self._ended:
            raise _Broken("the file ends too early")
        self._held = self._held[self._at :]
        self._at = 0
        more = self._file.read(max(_FIRST, len(self._held)))
        self._held += more
        self._ended = not more
