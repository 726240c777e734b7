"""CSV: every column is text, so that what is kept is kept as it was written."""

import codecs
import csv
import io
import os
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.csv as arrow_csv

from plaudit.errors import UnusableFile
from plaudit.ledger.dataset.arrow import Chunk, translate_read_errors
from plaudit.reward.row_files import strip_mark

_BLOCK = 4 << 20


class CsvSource:
    """A CSV file with a header; an empty cell is an absent value, a quoted empty one is an empty text."""

    texts = True
    rows = None

    def __init__(self, path: str) -> None:
        """Read the header of the file at `path`."""
        self.name = path
        self.unreadable = 0
        with translate_read_errors(path):
            self.total = os.path.getsize(path)
            self._names = _read_header(path)
        self.schema = pa.schema([(name, pa.string()) for name in self._names])

    def chunks(self, needed: Sequence[str], batch_rows: int | None) -> Iterator[Chunk]:
        """Yield the rows in order; a line with too few or too many cells is counted, and left out."""
        with translate_read_errors(self.name), _Utf8File(io.FileIO(self.name)) as file:
            reader = arrow_csv.open_csv(
                file,
                read_options=arrow_csv.ReadOptions(block_size=_BLOCK),
                parse_options=arrow_csv.ParseOptions(newlines_in_values=True, invalid_row_handler=self._skip_row),
                convert_options=arrow_csv.ConvertOptions(
                    check_utf8=False,  # the file does
                    column_types={name: pa.string() for name in self._names},
                    include_columns=list(needed),
                    strings_can_be_null=True,
                    null_values=[""],
                    quoted_strings_can_be_null=False,
                ),
            )
            for whole in reader:
                for start in range(0, whole.num_rows, batch_rows or max(whole.num_rows, 1)):
                    yield Chunk(whole.slice(start, batch_rows), min(file.tell(), self.total))

    def _skip_row(self, row: arrow_csv.InvalidRow) -> str:
        self.unreadable += 1
        return "skip"


class _Utf8File(io.BufferedReader):
    """A file that is read in blocks and names the first line that is not UTF-8; Arrow would not say where it is."""

    def __init__(self, file: io.FileIO) -> None:
        """Read `file` from its beginning."""
        super().__init__(file)
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._line = 1

    def read(self, size: int | None = -1, /) -> bytes:
        """Return the next bytes; UnusableFile where they are no text."""
        block = super().read(size)
        try:
            self._decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            line = self._line + error.object.count(b"\n", 0, error.start)
            raise _build_encoding_error(str(self.name), line) from None
        self._line += block.count(b"\n")
        return block


def _read_header(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            strip_mark(path, bytes(file.buffer.read(3)))
            file.seek(0)
            names = next(csv.reader(file, strict=True), None)
        "".join(names or ()).encode()  # what was escaped cannot be
    except UnicodeEncodeError:
        raise _build_encoding_error(path, 1) from None
    except csv.Error as error:
        raise UnusableFile(f"{path} is not CSV: its header cannot be read ({error}).") from None
    if not names:
        raise UnusableFile(f"{path} is empty; a CSV file begins with the names of its columns.")
    return names


def _build_encoding_error(path: str, line: int) -> UnusableFile:
    return UnusableFile(f"{path}, line {line}: this is not UTF-8; save the file as UTF-8.")
