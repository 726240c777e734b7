"""Chunks of rows, as readers hand them on: columns to score and to keep, and the lines that are not rows."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from plaudit.errors import InputError
from plaudit.rows import lines
from plaudit.rows.columns import FoundColumn, Path, Refused, Values
from plaudit.rows.lines import read_blocks
from plaudit.rows.streams import Format, Identity, Source

Numbers = NDArray[np.float64]


class Chunk(ABC):
    """Some rows of a file, in order."""

    done: int
    """How far the reader has come, in the unit of its `total`."""
    numbers: Sequence[int]
    """The line of each row, or its number, from 1 on."""
    refused: list[Refused]
    """Lines between the rows that are not rows."""
    lines: Sequence[bytes] | None = None
    """The rows as they were written, in a text file."""

    @property
    @abstractmethod
    def rows(self) -> int:
        """How many there are."""

    @abstractmethod
    def read(self, found: FoundColumn) -> Values:
        """Return a column as a compiled reward takes it."""

    @abstractmethod
    def get_value(self, found: FoundColumn, row: int) -> Any:
        """Return one value as `reward.score` takes it, None where it is absent; WrongType where it cannot be read."""

    @abstractmethod
    def list_column(self, name: str) -> list[Any]:
        """Return a column that is kept, by its dotted name, as Python's values."""

    @abstractmethod
    def format_row(self, row: int) -> bytes:
        """Return a row as a bad one is kept."""

    def encode_labels(self, name: str) -> tuple[list[Any], NDArray[np.intp]]:
        """Return the distinct values of a column, None at the end, and the position of each row's own."""
        positions: dict[Any, int] = {}
        codes = [positions.setdefault(value, len(positions)) for value in self.list_column(name)]
        return [*positions, None], np.array(codes, np.intp)

    def read_numbers(self, name: str) -> Numbers | None:
        """Return a column of numbers, NaN where one is absent; None where it holds anything else."""
        try:
            given = self.list_column(name)
            return np.array([np.nan if value is None else float(value) for value in given], np.float64)
        except (TypeError, ValueError, OverflowError):
            return None


class RowSource(ABC):
    """A file of rows."""

    format: ClassVar[Format]
    unit: ClassVar[str] = "line"
    grows: ClassVar[bool] = False
    """Whether later rows may have columns that the first ones do not have."""
    name: str
    total: int | None
    """Bytes, or rows of Parquet; None where that is not known."""
    rows: int | None = None
    before: int = 0
    """Rows of the file before the first that is read."""
    columns: Sequence[str]
    """The columns that can be kept."""
    paths: Mapping[Path, Any]
    """Where inputs may lie, with the Arrow type where there is one."""
    identity: Identity | None
    """What tells the file from others."""

    @abstractmethod
    def chunks(self, needed: Sequence[str]) -> Iterator[Chunk]:
        """Yield the rows in order, with the needed columns."""

    def may_hold(self, column: str, values: Sequence[Any]) -> bool:
        """Return whether a column may have one of some values; False where that is known without reading rows."""
        return True

    @abstractmethod
    def check_column(self, where: str, found: FoundColumn) -> None:
        """Raise WrongType where a column cannot hold what a reward reads; `where` begins the message."""

    @abstractmethod
    def close(self) -> None:
        """Stop reading."""

    @abstractmethod
    def list_leaves(self, kept: Sequence[str]) -> list[str]:
        """Return the columns that CSV has for those that are kept: of a struct, one for each child."""


class TextSource(RowSource):
    """A text file of rows, which may be a pipe."""

    def __init__(self, source: Source, batch_rows: int | None) -> None:
        """Read from `source`, at most `batch_rows` rows at a time."""
        self.name, self.total, self.identity = source.name, source.size, source.identity
        self._source = source
        self._blocks = read_blocks(source.file, source.name)
        self._batch_rows = batch_rows

    def close(self) -> None:
        """Stop reading."""
        self._source.close()

    @abstractmethod
    def _parse(self, first: int, lines: list[bytes], done: int, *, last: bool) -> Chunk:
        """Return the rows of some lines; `first` is the number of the first line."""

    def _read_chunks(self) -> Iterator[Chunk]:
        number, done = 1, 0
        for block in self._blocks:
            found, first, done = block.lines, block.first, block.done
            step = self._batch_rows or max(len(found), 1)
            for at in range(0, len(found), step):
                yield self._parse(first + at, found[at : at + step], done, last=False)
            number = first + len(found)
            if block.long:
                chunk = self._parse(number, [], done, last=True)
                chunk.refused.append(Refused(number, block.long, explain_length()))
                yield chunk
        yield self._parse(number, [], done, last=True)


def explain_length() -> InputError:
    """Return the error for a line that is too long."""
    return InputError(f"the line is longer than {lines.LONGEST_LINE:,} bytes.")
