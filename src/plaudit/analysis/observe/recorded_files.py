"""Recorded steps in a file of rows: Parquet, CSV or JSON lines, an export of a ledger among them."""

import json
import math
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plaudit.analysis.observe.columns import build_column
from plaudit.analysis.observe.recorded import Progress, RecordedSteps, name_policy
from plaudit.analysis.observe.transitions import Mask, Transitions
from plaudit.errors import InputError, UnusableFile
from plaudit.ledger.storage.episode_parts import ENDS, find_end
from plaudit.rows.chunks import RowSource
from plaudit.rows.files import open_rows
from plaudit.rows.row import parse_bool, parse_number
from plaudit.rows.streams import choose_format

_CONTEXT = ("run", "actor", "episode", "step", "policy", "context")
"""What a row says of itself besides fields; in an export of a ledger, behind `record.`."""


def read_file(path: str, *, action: str, idle: Any, progress: Progress) -> Transitions:
    """Return the steps in a file of rows."""
    source = open_rows(path, choose_format(path, None))
    try:
        columns, names = _read_columns(source, progress)
    finally:
        source.close()
    context = {part: columns.pop(f"record.{part}" if names else part, None) for part in _CONTEXT}
    ends = {end: columns.pop(end, None) for end in (*ENDS, "end")}
    if names:
        columns = {name: values for name, values in columns.items() if name in names}
    rows = len(next(iter(columns.values()), ()))
    if not rows:
        raise InputError(f"{source.name} has no steps to learn from.")
    terminated, truncated = _read_ends(source.name, ends, context["context"], rows)
    if context["episode"] is None and not (terminated | truncated).any():
        raise InputError(
            f"{source.name} does not show which episode a step belongs to: add a column 'episode', or one of "
            "'terminated', 'truncated' and 'end' that marks where episodes end."
        )
    keys = list(zip(*(context[part] or [None] * rows for part in ("run", "actor", "episode")), strict=True))
    positions: dict[Any, int] = {}
    codes = np.array([positions.setdefault(key, len(positions)) for key in keys], np.intp)
    built = {name: build_column(name, values, what=f"{source.name} has ") for name, values in columns.items()}
    absent = [name for name, column in built.items() if column is None]
    steps = RecordedSteps(
        {name: column for name, column in built.items() if column is not None},
        list(positions),
        codes,
        _read_numbers(source.name, context["step"], rows),
        terminated,
        truncated,
        np.array([name_policy(each) for each in context["policy"] or context["actor"] or [None] * rows]),
        np.zeros(rows, bool),
    )
    notes = [f"without {', '.join(absent)} (missing in some steps)"] if absent else []
    return steps.arrange(os.path.basename(source.name), action=action, idle=idle, declared={}, notes=notes)


def _read_columns(source: RowSource, progress: Progress) -> tuple[dict[str, list[Any]], set[str]]:
    """Return every column as values, and those that are fields where the file is an export of a ledger, which says."""
    names = [".".join(path) for path in source.paths]
    if "plaudit_ledger" in names:
        raise InputError(
            f"{source.name} is an export of a whole ledger: import it with `plaudit ledger import` and observe "
            "that ledger, or export .parquet or .csv."
        )
    names = [name for name in names if not any(other.startswith((f"{name}[", f"{name}.")) for other in names)]
    columns: dict[str, list[Any]] = {name: [] for name in names if name}
    for chunk in source.chunks(source.columns):
        for line in chunk.refused:
            raise UnusableFile(f"{source.name}, {source.unit} {line.number}: {line.error}")
        for name, values in columns.items():
            values += chunk.list_column(name)
        if progress is not None and source.total:
            progress(min(chunk.done, source.total), source.total)
    if source.format == "csv":
        columns = {name: _parse_cells(values) for name, values in columns.items()}
    exported = names[: names.index("total")] if "record.id" in names and "total" in names else []
    return columns, {name for name in exported if not name.startswith("record.")}


def _parse_cells(cells: list[Any]) -> list[Any]:
    """Return what cells hold: numbers, bools where all are true or false, or strings."""
    known = [cell for cell in cells if cell is not None]
    if {cell.strip().lower() for cell in known} <= {"true", "false"}:
        return [None if cell is None else parse_bool(cell) for cell in cells]
    try:
        return [None if cell is None else parse_number(cell) for cell in cells]
    except ValueError:
        return cells


def _read_ends(
    name: str, given: Mapping[str, list[Any] | None], contexts: list[Any] | None, rows: int
) -> tuple[Mask, Mask]:
    flags = {end: np.zeros(rows, bool) for end in ENDS}
    for end in ENDS:
        for at, value in enumerate(given[end] or ()):
            if value not in (0, 1, None):
                raise InputError(f"{name}: {end!r} is {value!r:.40} in row {at + 1}; it must be true or false.")
            flags[end][at] = bool(value)
    for at, value in enumerate(given["end"] or ()):
        if value not in (*ENDS, None, ""):
            words = " or ".join(map(repr, ENDS))
            raise InputError(f"{name}: 'end' is {value!r:.40} in row {at + 1}; it must be {words}, or empty.")
        if value:
            flags[value][at] = True
    for at, value in enumerate(contexts or ()):
        if value and (how := find_end(_parse_context(value))):
            flags[how][at] = True
    return flags["terminated"], flags["truncated"]


def _parse_context(text: Any) -> Any:
    try:
        return json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return None


def _read_numbers(name: str, given: list[Any] | None, rows: int) -> NDArray[np.float64]:
    try:
        return np.array([math.nan if value is None else float(value) for value in given or [None] * rows])
    except (TypeError, ValueError):
        raise InputError(f"{name}: the column 'step' must hold step numbers.") from None
