"""Lines of a text file in blocks, numbered, in memory that does not grow with a line."""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import BinaryIO

from plaudit.rows.formats import strip_mark

LONGEST_LINE = 3 << 19
"""1.5 MiB: what is longer is not a row."""
BLOCK = 1 << 17
_MARK = re.compile(rb"\0unfinished batch from byte (\d{20})\Z")
_MARK_SIZE = 48


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines without their newlines; `first` is the number of the first, and `done` the bytes read so far."""

    first: int
    lines: list[bytes]
    done: int
    long: Iterable[bytes] = ()
    """The pieces of the line after them, where that is too long for memory."""


def read_blocks(file: BinaryIO, name: str) -> Iterator[Block]:
    """Yield the lines of a file; rows that `JsonLines.extend` never finished are not among them.

    The pieces of a long line are read before the next block is asked for, or passed over.
    """
    end = _find_end(file)
    number, done, rest = 1, 0, b""
    started = False
    while piece := file.read(BLOCK if end is None else min(BLOCK, end - done)):
        done += len(piece)
        if not started:
            rest, piece, started = b"", strip_mark(name, piece), True
        *lines, rest = (rest + piece).split(b"\n")
        if len(rest) <= LONGEST_LINE:
            if lines:
                yield Block(number, lines, done)
                number += len(lines)
            continue
        pieces = _LongLine(file, rest, end, done)
        yield Block(number, lines, done, pieces)
        for _ in pieces:
            pass
        number += len(lines) + 1
        done, rest = pieces.done, pieces.rest
    if rest:
        yield Block(number, rest.removesuffix(b"\n").split(b"\n"), done)


class _LongLine(Iterator[bytes]):
    """The pieces of one line, without its end; `rest` is what was read after it."""

    def __init__(self, file: BinaryIO, start: bytes, end: int | None, done: int) -> None:
        self.done, self.rest = done, b""
        self._pieces = chain([start], self._read(file, end))

    def _read(self, file: BinaryIO, end: int | None) -> Iterator[bytes]:
        while piece := file.read(BLOCK if end is None else min(BLOCK, end - self.done)):
            self.done += len(piece)
            last, newline, self.rest = piece.partition(b"\n")
            yield last
            if newline:
                return

    def __next__(self) -> bytes:
        return next(self._pieces)


def _find_end(file: BinaryIO) -> int | None:
    """Return where lines begin that were to be written together and are not all there; None where there are none."""
    if not file.seekable():
        return None
    start = file.tell()
    size = file.seek(0, os.SEEK_END)
    file.seek(max(start, size - _MARK_SIZE))
    marked = _MARK.search(file.read(_MARK_SIZE))
    file.seek(start)
    return int(marked[1]) - start if marked and int(marked[1]) <= size else None
