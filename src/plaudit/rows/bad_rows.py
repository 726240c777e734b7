"""Where bad rows go: shown with their lines, and kept as they were with their errors."""

import base64
import json
import sys
from collections.abc import Callable, Iterable
from typing import Self, TextIO

from plaudit.errors import FileError, InputError
from plaudit.rows import lines
from plaudit.rows.streams import Identity, Output, refuse_overlap
from plaudit.terminal import escape_controls

SHOWN = 10
"""How many bad rows are shown in full; the others are counted, and kept like these."""


class BadRows:
    """Bad rows, one JSON object each, with `line`, `kind`, `error` and the `row` as it was.

    A row that is not UTF-8 text, or longer than any row should be, is kept in base64 as `row_base64`.
    """

    def __init__(self, path: str | None, show: Callable[[str], None] | None = None, *, even_empty: bool = True) -> None:
        """Keep them in the file at `path`, also if there are none, and `show` the first; without it, on stderr."""
        self.count = 0
        self.path = path
        self._output: Output | None = None
        self._file: TextIO = sys.stderr
        self._show = None if path is None else show
        self._even_empty = even_empty

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._output is not None:
            self._output.__exit__(*error)

    def open(self, output: Output, source: Identity | None) -> None:
        """Open the file; FileError where it is that of the scores, or of the rows, whose identity is `source`."""
        if self.path is None:
            return
        self._output = Output(self.path)
        self._file = self._output.file
        refuse_overlap(self._output.name, self._output.identity, source)
        if self._output.target is not None and self._output.target == output.target:
            raise FileError(
                f"{self.path} cannot hold both the scores and the bad rows; choose another file with --bad."
            )

    def keep(self, unit: str, number: int, raw: bytes | Iterable[bytes], error: InputError) -> None:
        """Keep one row; `number` counts in `unit`s. One that is too long for memory comes in pieces."""
        self.count += 1
        text = escape_controls(str(error))
        if self._show is not None and self.count <= SHOWN + 1:
            self._show("…" if self.count > SHOWN else f"{unit} {number}: {text}".replace("\n", "\n    "))
        about = {"line": number, "kind": type(error).__name__, "error": text}
        if isinstance(raw, bytes) and len(raw) <= lines.LONGEST_LINE:
            try:
                self._file.write(json.dumps({**about, "row": raw.decode()}) + "\n")
                return
            except UnicodeDecodeError:
                pass
        self._file.write(json.dumps({**about, "row_base64": ""})[:-2])
        rest = b""
        for piece in [raw] if isinstance(raw, bytes) else raw:
            whole = rest + piece
            end = len(whole) - len(whole) % 3
            self._file.write(base64.b64encode(whole[:end]).decode())
            rest = whole[end:]
        self._file.write(base64.b64encode(rest).decode() + '"}\n')

    def commit(self) -> None:
        """Put the file under its name."""
        if self._output is not None and (self.count or self._even_empty):
            self._output.commit()
