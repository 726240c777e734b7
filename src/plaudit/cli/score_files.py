"""Files of scores: a row for each that was scored, with its line, the total, and each term's value and score."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import isfinite
from operator import itemgetter
from typing import TextIO

from plaudit.errors import NotFinite
from plaudit.plugins.options import explain_missing
from plaudit.reward.row_files import Format
from plaudit.targets.columns import LINE, name_columns
from plaudit.targets.python import PythonReward
from plaudit.targets.python import Row as Outputs

WriteScores = Callable[[int, Outputs], None]
"""Takes the number of a row and what a compiled reward computed for it."""


@contextmanager
def open_scores(file: TextIO, compiled: PythonReward, written: Format) -> Iterator[WriteScores]:
    """Yield what writes the scores of a row to `file`; they are complete when this is left without an error."""
    layout = compiled.layout
    pick = itemgetter(layout.total, *layout.values, *layout.scores)
    names = [LINE, *name_columns(compiled.program.terms, compiled.program.inputs).values()]
    if written == "parquet":
        with explain_missing("writing Parquet", "data"):
            from plaudit.ledger.dataset.parquet_rows import NumberSink
        sink = NumberSink(file.buffer, names[:1], names[1:])

        def write(number: int, outputs: Outputs) -> None:
            _check_finite(compiled, outputs)
            sink.write((number, *pick(outputs)))

        try:
            yield write
            sink.close()
        finally:
            sink.abandon()
        return
    # Names of terms are plain identifiers: they need no quotes and hold no %.
    cells = [f'"{name}": %s' if written == "jsonl" else "%s" for name in names]
    template = f"{{{', '.join(cells)}}}\n" if written == "jsonl" else f"{','.join(cells)}\n"
    if written == "csv":
        file.write(",".join(names) + "\n")

    def write_text(number: int, outputs: Outputs) -> None:
        _check_finite(compiled, outputs)
        file.write(template % (number, *pick(tuple(map(repr, outputs)))))  # an output of two names is written once

    yield write_text


def _check_finite(compiled: PythonReward, outputs: Outputs) -> None:
    if not all(map(isfinite, outputs)):
        raise NotFinite(f"reward {compiled.program.name!r}: the total or a value is beyond what a float can hold.")
