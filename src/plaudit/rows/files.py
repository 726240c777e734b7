"""Files of rows opened by their format: to read, and to write with new columns."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, TypeVar

from plaudit.errors import FileError, MissingExtra
from plaudit.rows.addresses import find_local_path
from plaudit.rows.chunks import Chunk, RowSource
from plaudit.rows.csv_files import CsvSink, CsvSource
from plaudit.rows.jsonl_files import JsonLinesSink, JsonLinesSource
from plaudit.rows.streams import Format, Output, Source

if TYPE_CHECKING:
    from plaudit.rows.parquet_files import TableRows

T = TypeVar("T")


class Sink(Protocol):
    """A file of rows to be written."""

    def write(self, chunk: Chunk, added: Mapping[str, Any], ok: Any) -> None:
        """Write some rows with their new columns; where `ok` is false these are absent."""

    def close(self) -> None:
        """Write what ends the file."""

    def abandon(self) -> None:
        """Let go of the file without finishing it."""


def open_rows(
    path: str,
    kind: Format,
    batch_rows: int | None = None,
    groups: range | None = None,
    table: "TableRows | None" = None,
) -> RowSource:
    """Return a file or an object to be read, of Parquet perhaps some row groups, or one of a `table`.

    `-` is standard input.

    Raises:
        FileError: It cannot be read.
        UnusableFile: It is not what its format says, or has a column twice.
        MissingExtra: It is Parquet, and pyarrow is not installed.
    """
    with explain_missing_arrow("reading Parquet"):
        if kind == "parquet":
            from plaudit.rows.parquet_files import ParquetSource

            if find_local_path(path) is not None:
                with Source(path) as source:
                    if source.path is None or source.size is None:
                        name = source.name
                        raise FileError(f"{name} cannot be read as Parquet from a stream; save it to a file.")
            return ParquetSource(path, batch_rows, groups, table)
    source = Source(path)
    try:
        return (CsvSource if kind == "csv" else JsonLinesSource)(source, batch_rows)
    except BaseException:
        source.close()
        raise


def open_sink(
    kind: Format, output: Output, source: RowSource, kept: Sequence[str] | None, new: Sequence[str], inputs: Any
) -> Sink:
    """Return a file to be written: the columns of `source` that are `kept`, all if None, and the `new` ones.

    The last of the new ones says whether a row could be scored; the `inputs` are the columns that a reward reads.
    """
    names = source.columns if kept is None else kept
    file: BinaryIO = output.file.buffer  # a stream of text has its bytes beneath
    if kind == "csv":
        whole = source if isinstance(source, CsvSource) and kept is None else None
        return CsvSink(file, source.list_leaves(names), new, whole)
    if kind == "jsonl":
        lines = source if isinstance(source, JsonLinesSource) and kept is None else None
        return JsonLinesSink(file, names, new, lines)
    with explain_missing_arrow("writing Parquet"):
        import pyarrow as pa

        from plaudit.rows.parquet_files import ParquetSink, ParquetSource
        from plaudit.rows.typed_text import TypedText
    where = output.path or file
    added = [pa.field(name, pa.float64()) for name in new[:-1]] + [pa.field(new[-1], pa.bool_())]
    if isinstance(source, ParquetSource):
        old, codecs = source.schema, source.codecs() | dict.fromkeys(new, "snappy")
        words = [name for name in source.dictionaries() if name not in new]
        schema = pa.schema([*map(old.field, names), *added], metadata=old.metadata)
        return ParquetSink(where, schema, compression=codecs, words=words)
    typed = TypedText(source, inputs)
    return ParquetSink(where, pa.schema([*((name, typed.find_type(name)) for name in names), *added]), typed.build)


@contextmanager
def explain_missing_arrow(what: str) -> Iterator[None]:
    """Say which extra brings pyarrow where that is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "pyarrow":
            raise
        raise MissingExtra(f"{what} needs pyarrow. Install it: pip install 'plaudit[data]'") from None


def read_ahead(items: Iterator[T]) -> Iterator[T]:
    """Yield what `items` yields, which are made in another thread, one before it is asked for."""
    end = object()
    with ThreadPoolExecutor(1, "plaudit-reader") as reader:
        coming: Future[Any] = reader.submit(next, items, end)
        while (item := coming.result()) is not end:
            coming = reader.submit(next, items, end)
            yield item


@contextmanager
def write_behind(work: Callable[..., None]) -> Iterator[Callable[..., None]]:
    """Yield a function that does `work` in another thread; it waits for the call before the last, and raises for it."""
    with ThreadPoolExecutor(1, "plaudit-writer") as writer:
        pending: list[Future[None]] = []

        def hand_over(*arguments: Any) -> None:
            while len(pending) > 1:
                pending.pop(0).result()
            pending.append(writer.submit(work, *arguments))

        yield hand_over
        for last in pending:
            last.result()
