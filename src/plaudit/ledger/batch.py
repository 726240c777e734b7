"""Recording a batch: scored by the NumPy target, written as a few large blocks."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from plaudit.errors import LedgerError, ShapeMismatch, did_you_mean
from plaudit.ledger.blocks.block import LARGEST, Block, Row, contexts_text, listed, times_text
from plaudit.ledger.blocks.pen import Pen
from plaudit.ledger.blocks.shape import FLOAT, Rows, Shape
from plaudit.ledger.jsonl.text import compact
from plaudit.ledger.record import Scope, episode_text, microseconds, text, whole
from plaudit.targets.array import gather
from plaudit.targets.numpy import convert
from plaudit.targets.rows import columns as named_columns

_PARTS: dict[str, Callable[[Any], Any]] = {
    "key": lambda value: text("key", value),
    "run": lambda value: text("run", value),
    "episode": episode_text,
    "step": lambda value: whole("step", value),
    "phase": lambda value: text("phase", value),
    "decision_class": lambda value: text("decision_class", value),
    "actor": lambda value: text("actor", value),
    "context": lambda value: None if value is None else compact(value, "context"),
    "at": lambda value: None if value is None else microseconds(value),
}


def record(pen: Pen, shape: Shape, columns: Mapping[str, Any], context: Mapping[str, Any]) -> list[int]:
    """Score `columns`, record every row and return the numbers of the records."""
    inputs, outputs = scored(shape, columns)
    parts = _parts(context, len(inputs))
    now = pen.now()
    if parts["key"] is not None:
        if isinstance(parts["key"], str) and len(inputs) > 1:
            raise LedgerError("one key cannot name many records; give a column of keys, one a row.")
        return pen.write_rows(list(_rows(shape, inputs, outputs, parts, now)))
    return pen.write_blocks(list(_blocks(shape, inputs, outputs, parts, now)))


def scored(shape: Shape, columns: Mapping[str, Any]) -> tuple[Rows, Rows]:
    """Return a batch and its scores as rows; the first bad row raises."""
    reward = shape.scored
    encoded = reward.encode(columns)
    scores = reward.compile("numpy")(encoded)
    shapes = np.shape(scores.total)
    if len(shapes) != 1:
        raise ShapeMismatch(f"reward {reward.name!r}: a batch has one axis, and this one has the shape {shapes}.")
    return arguments_of(shape, encoded, shapes[0]), shape.scores_to_rows(scores, shapes[0])


def arguments_of(shape: Shape, columns: Mapping[str, Any], count: int) -> Rows:
    """Return the inputs of a batch as rows, with what stands in for those not given."""
    program = shape.scored.program

    def as_array(name: str, field: Any, value: Any) -> tuple[Any, Any]:
        return convert(program.name, name, field, value)

    arguments, _, _ = gather(program, named_columns(program, columns), as_array)
    return shape.columns_to_rows(arguments, count)


def _parts(context: Mapping[str, Any], count: int) -> dict[str, Any]:
    """Return each part of the context, checked: one value, or a list of one a row."""
    for name in context:
        if name not in _PARTS:
            near = did_you_mean(name, _PARTS)
            raise LedgerError(f"a record has no {name!r} in its context.{near} There are: {', '.join(_PARTS)}.")
    parts: dict[str, Any] = dict.fromkeys(_PARTS)
    for name, value in context.items():
        column = _column(name, value)
        if column is None:
            parts[name] = _PARTS[name](value)
            continue
        if len(column) != count:
            raise ShapeMismatch(f"{name} has {len(column)} entries, and the batch has {count} rows.")
        check = _PARTS[name]
        known: dict[Any, Any] = {}
        if name in ("key", *Scope._fields) and all(type(v) is str for v in column):
            parts[name] = [known[v] if v in known else known.setdefault(v, check(v)) for v in column]
        else:  # 1, 1.0 and True are equal, and not the same
            parts[name] = [check(v) for v in column]
    return parts


def _column(name: str, value: Any) -> Sequence[Any] | None:
    """Return a part of the context as one entry a row, or None where it is one value for all."""
    if hasattr(value, "tolist") and getattr(value, "shape", None):  # an array, a tensor, a Series or its index
        listed: list[Any] = value.tolist()
        return listed
    if isinstance(value, list | tuple | range):  # one context for all is a mapping
        return value
    return None


def _entry(part: Any, at: int) -> Any:
    return part[at] if isinstance(part, list) else part


def _rows(shape: Shape, inputs: Rows, outputs: Rows, parts: Mapping[str, Any], now: int) -> Iterator[Row]:
    packed = [(rows.tobytes(), 8 * rows.shape[1]) for rows in (inputs, outputs)]
    for at in range(len(inputs)):
        sides = [data[at * width : (at + 1) * width] for data, width in packed]
        scope = Scope(*(_entry(parts[name], at) for name in Scope._fields))
        moment = _entry(parts["at"], at)
        rest = (_entry(parts[name], at) for name in ("key", "episode", "step", "context"))
        yield Row(shape, "numpy", scope, now if moment is None else moment, *rest, *sides)


def _blocks(shape: Shape, inputs: Rows, outputs: Rows, parts: Mapping[str, Any], now: int) -> Iterator[Block]:
    """Yield the batch as blocks, a new one wherever the scope changes."""
    for start, end in _runs([parts[name] for name in Scope._fields], len(inputs)):
        count = end - start
        slices = {k: v[start:end] if isinstance(v, list) else [v] for k, v in parts.items()}
        ats = [now if at is None else at for at in slices["at"]]
        yield Block(
            shape,
            "numpy",
            Scope(*(slices[name][0] for name in Scope._fields)),
            count,
            min(ats),
            max(ats),
            inputs[start:end].astype(FLOAT, copy=False).tobytes(),
            outputs[start:end].astype(FLOAT, copy=False).tobytes(),
            times_text(ats),
            None,
            listed(slices["episode"]),
            listed(slices["step"]),
            contexts_text(slices["context"]),
        )


def _runs(columns: Sequence[Any], count: int) -> Iterator[tuple[int, int]]:
    """Yield where blocks begin and end: no longer than they may be, and never across a change in `columns`."""
    varying = [column for column in columns if isinstance(column, list)]
    start = 0
    while start < count:
        end = min(start + LARGEST, count)
        for column in varying:
            first = column[start]
            end = next((at for at in range(start + 1, end) if column[at] != first), end)
        yield start, end
        start = end
