"""Rows that cannot be scored: told by line number, kept as they were, never dropped."""

import base64
import json
from collections.abc import Callable, Iterable
from typing import TextIO

from plaudit.cli.errors import message
from plaudit.errors import InputError

TOLD = 10
"""How many bad rows are told in full; the others are counted, and kept like these."""


class BadRows:
    """Where bad rows go: one JSON object each, with `line`, `kind`, `error` and the `row` as it was.

    A row that is no UTF-8 text, or longer than any row should be, is kept in base64 as `row_base64`.
    """

    def __init__(self, file: TextIO, tell: Callable[[str], None], *, told: int = TOLD) -> None:
        """Write to `file`, and `tell` the first ones."""
        self.count = 0
        self._file = file
        self._tell = tell
        self._told = told

    def keep(self, line: int, raw: bytes, error: InputError) -> None:
        """Keep one line."""
        try:
            row = {"row": raw.rstrip(b"\r\n").decode()}
        except UnicodeDecodeError:
            row = {"row_base64": base64.b64encode(raw.rstrip(b"\r\n")).decode()}
        self._file.write(json.dumps({**self._noted(line, error), **row}) + "\n")

    def keep_long(self, line: int, pieces: Iterable[bytes], error: InputError) -> None:
        """Keep a line that comes in pieces, all but the last a multiple of three bytes long."""
        start = json.dumps({**self._noted(line, error), "row_base64": ""})
        self._file.write(start[:-2])
        for piece in pieces:
            self._file.write(base64.b64encode(piece).decode())
        self._file.write('"}\n')

    def _noted(self, line: int, error: InputError) -> dict[str, int | str]:
        self.count += 1
        if self.count <= self._told:
            text = message(error).replace("\n", "\n    ")
            self._tell(f"line {line}: {text}")
        elif self.count == self._told + 1 > 1:
            self._tell("…")
        return {"line": line, "kind": type(error).__name__, "error": message(error)}
