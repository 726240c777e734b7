"""Rows of a data set in a temporary ledger, so that they can be audited like recorded steps."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from plaudit.errors import InputError, UnusableFile
from plaudit.ledger.dataset.sources import Part, list_parts
from plaudit.ledger.ledger import Ledger
from plaudit.ledger.storage.episode_parts import ENDS
from plaudit.reward.reward import Reward
from plaudit.rows.addresses import resolve_address
from plaudit.rows.chunks import Chunk, RowSource
from plaudit.rows.files import open_rows
from plaudit.rows.row import parse_bool
from plaudit.rows.scoring import Scoring
from plaudit.rows.streams import choose_format
from plaudit.terminal import format_count

_TEXTS = ("run", "actor", "phase", "decision_class")
_CONTEXT = (*_TEXTS, "episode", "step")


@contextmanager
def record_rows(
    reward: Reward, source: str, progress: Callable[[int, int], None] | None = None
) -> Iterator[tuple[Ledger, list[str]]]:
    """Yield a ledger of the rows of a data set, scored by `reward`, and remarks on rows that are not in it.

    Columns named as in an exported ledger (`run`, `actor`, `episode`, `step`, `terminated` …) say where a row belongs.

    Raises:
        MissingField: A column that the reward reads is missing.
        UnusableFile: No row can be scored.
        FileError: The data set cannot be read.
    """
    where = resolve_address(source)
    parts = list_parts(where) or [Part(where, where)]
    files = [open_rows(part.path, choose_format(part.path, None), table=part.table) for part in parts]
    total, done = sum(file.total or 0 for file in files), 0
    recorded = bad = unreadable = 0
    with TemporaryDirectory(prefix="plaudit-") as folder, Ledger(Path(folder, "rows.db")) as ledger:
        for file in files:
            scoring = Scoring(reward, file)
            names = [name for name in (*_CONTEXT, *ENDS) if name in file.columns]
            needed = dict.fromkeys([*names, *(one.dotted for one in scoring.found)])
            for chunk in file.chunks(list(needed)):
                unreadable += len(chunk.refused)
                if chunk.rows:
                    scored = scoring(chunk)
                    if scored.ok.any():
                        columns = {name: column[scored.ok] for name, column in scored.columns.items()}
                        context = _read_context(file, chunk, names, scored.ok)
                        recorded += len(ledger.record_batch(reward, columns, **context))
                if progress is not None and total:
                    progress(done + chunk.done, total)
            file.close()
            done, bad = done + (file.total or 0), bad + scoring.bad
        if not recorded:
            raise UnusableFile(f"{source} has no row that {reward.name}@{reward.version} can score.")
        remarks = [f"Left out: {format_count(bad, 'row')} that cannot be scored."] if bad else []
        remarks += [f"Left out: {format_count(unreadable, 'line')} that cannot be read as rows."] if unreadable else []
        yield ledger, remarks


def _read_context(file: RowSource, chunk: Chunk, names: list[str], ok: Any) -> dict[str, Any]:
    """Return where the rows belong and how episodes end."""
    given: Mapping[str, list[Any]] = {
        name: [value for value, kept in zip(chunk.list_column(name), ok, strict=True) if kept] for name in names
    }
    context: dict[str, Any] = {}
    for name in names:
        if name in _TEXTS:
            context[name] = [None if _is_absent(value) else str(value) for value in given[name]]
        elif name == "episode":
            context[name] = [None if _is_absent(value) else _plain(value) for value in given[name]]
        elif name == "step":
            context[name] = [None if _is_absent(value) else _read_step(file, value) for value in given[name]]
    if ends := [name for name in ENDS if name in names]:
        rows = zip(*(given[name] for name in ends), strict=True)
        marks = [{name: True for name, value in zip(ends, row, strict=True) if _is_true(file, value)} for row in rows]
        context["context"] = [mark or None for mark in marks]
    return context


def _is_absent(value: Any) -> bool:
    return value is None or value != value


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _read_step(file: RowSource, value: Any) -> int:
    try:
        return int(np.float64(value))
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{file.name}: the column 'step' must hold step numbers, not {value!r:.40}.") from None


def _is_true(file: RowSource, value: Any) -> bool:
    try:
        return bool(parse_bool(value) if isinstance(value, str) else value)
    except ValueError:
        raise InputError(f"{file.name}: {value!r:.40} must be true or false.") from None
