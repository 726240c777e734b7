"""Lines of a text file in blocks, numbered, in memory that does not grow with a line."""

import codecs
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from plaudit.errors import FileError, UnusableFile, explain_unreadable
from plaudit.rows.objects import ObjectReader

LONGEST_LINE = 3 << 19
"""1.5 MiB: what is longer is not a row."""
BLOCK = 1 << 17


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines without their newlines; `first` is the number of the first, and `done` the bytes read so far."""

    first: int
    lines: list[bytes]
    done: int
    long: Iterable[bytes] = ()
    """The pieces of the line after them, where that is too long for memory."""


def read_lines(file: BinaryIO | ObjectReader, name: str, longest: int) -> Iterator[tuple[int, bytes | None]]:
    """Yield the lines of a file with their numbers; None, and no more, for one of more than `longest` bytes."""
    for block in read_blocks(file, name, longest):
        for number, line in enumerate(block.lines, start=block.first):
            yield number, line if len(line) <= longest else None
            if len(line) > longest:
                return
        if block.long:
            yield block.first + len(block.lines), None
            return


def read_blocks(file: BinaryIO | ObjectReader, name: str, longest: int | None = None) -> Iterator[Block]:
    """Yield the lines of a file; FileError where it cannot be read on.

    The pieces of a long line are read before the next block is asked for, or passed over.
    """
    pieces, number = _Pieces(file, name), 1
    held: list[bytes] = []
    for piece in pieces:
        whole, newline, rest = piece.rpartition(b"\n")
        lines = b"".join([*held, whole]).split(b"\n") if newline else []
        held = [rest] if newline else [*held, rest]
        if sum(map(len, held)) > (longest or LONGEST_LINE):
            long = pieces.read_long(held)
            yield Block(number, lines, pieces.done, long)
            for _ in long:
                pass
            number += len(lines) + 1
            held = []
        elif lines:
            yield Block(number, lines, pieces.done)
            number += len(lines)
    if any(held):
        yield Block(number, [b"".join(held)], pieces.done)


class _Pieces(Iterator[bytes]):
    """A file piece by piece; `done` counts their bytes."""

    def __init__(self, file: BinaryIO | ObjectReader, name: str) -> None:
        self._file, self._name = file, name
        self.done, self._rest = 0, b""

    def __next__(self) -> bytes:
        piece, self._rest = self._rest, b""
        if piece:
            return piece
        try:
            piece = self._file.read(BLOCK)
        except FileError:
            raise
        except OSError as error:
            raise explain_unreadable(Path(self._name), error) from None
        if not piece:
            raise StopIteration
        self.done += len(piece)
        return piece if self.done > len(piece) else _strip_mark(self._name, piece)

    def read_long(self, held: list[bytes]) -> Iterator[bytes]:
        """Yield the pieces of one line without its line end, starting with those `held`."""
        yield from held
        for piece in self:
            last, newline, self._rest = piece.partition(b"\n")
            yield last
            if newline:
                return


def _strip_mark(name: str, start: bytes) -> bytes:
    """Return the start of a text file without the mark that says UTF-8; a file of UTF-16 is an error."""
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise UnusableFile(f"{name} is UTF-16 text; save it as UTF-8.")
    return start.removeprefix(codecs.BOM_UTF8)
