"""Recording a batch: scored by the NumPy target, written as a few large blocks."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from plaudit.errors import LedgerError, ShapeMismatch, did_you_mean
from plaudit.ledger.context import VALIDATORS, Scope
from plaudit.ledger.storage.codec import (
    FLOAT,
    MAX_RECORDS,
    Block,
    PackedRecord,
    RecordLayout,
    Rows,
    encode_column,
    encode_contexts,
    encode_times,
)
from plaudit.ledger.storage.writer import BlockWriter
from plaudit.targets.array import gather
from plaudit.targets.inputs import collect_columns as named_columns
from plaudit.targets.numpy import convert_column


def write_batch(
    writer: BlockWriter, layout: RecordLayout, columns: Mapping[str, Any], context: Mapping[str, Any]
) -> list[int]:
    """Score `columns`, record every row and return the numbers of the records."""
    inputs, outputs = score_batch(layout, columns)
    parts = _validate_context(context, len(inputs))
    now = writer.now()
    if parts["key"] is not None:
        if isinstance(parts["key"], str) and len(inputs) > 1:
            raise LedgerError("one key cannot name many records; give a column of keys, one a row.")
        return writer.write(list(_build_records(layout, inputs, outputs, parts, now)))
    return writer.write_blocks(list(_build_blocks(layout, inputs, outputs, parts, now)))


def build_step_blocks(
    layout: RecordLayout,
    scope: Scope,
    inputs: Rows,
    outputs: Rows,
    *,
    times: list[int],
    episodes: list[int],
    steps: list[int],
) -> Iterator[Block]:
    """Yield steps that were scored as blocks; `times` are microseconds since 1970."""
    names = {episode: str(episode) for episode in set(episodes)}
    place = {"at": times, "episode": [names[episode] for episode in episodes], "step": steps}
    parts = {**dict.fromkeys(VALIDATORS), **scope._asdict(), **place}
    return _build_blocks(layout, inputs, outputs, parts, times[0])


def score_batch(layout: RecordLayout, columns: Mapping[str, Any]) -> tuple[Rows, Rows]:
    """Return a batch and its scores as rows; the first bad row raises."""
    reward = layout.scored
    encoded = reward.encode(columns)
    scores = reward.compile("numpy")(encoded)
    shapes = np.shape(scores.total)
    if len(shapes) != 1:
        raise ShapeMismatch(f"reward {reward.name!r}: a batch has one axis, and this one has the shape {shapes}.")
    return collect_inputs(layout, encoded, shapes[0]), layout.stack_scores(scores, shapes[0])


def collect_inputs(layout: RecordLayout, columns: Mapping[str, Any], count: int) -> Rows:
    """Return the inputs of a batch as rows, with what stands in for those not given."""
    program = layout.scored.program

    def as_array(name: str, field: Any, value: Any) -> tuple[Any, Any]:
        return convert_column(program.name, name, field, value)

    arguments, _, _ = gather(program, named_columns(program, columns), as_array)
    return layout.stack_columns(arguments, count)


def _validate_context(context: Mapping[str, Any], count: int) -> dict[str, Any]:
    """Return each part of the context, checked: one value, or a list of one a row."""
    for name in context:
        if name not in VALIDATORS:
            near = did_you_mean(name, VALIDATORS)
            raise LedgerError(f"a record has no {name!r} in its context.{near} There are: {', '.join(VALIDATORS)}.")
    parts: dict[str, Any] = dict.fromkeys(VALIDATORS)
    for name, value in context.items():
        column = _as_column(name, value)
        if column is None:
            parts[name] = VALIDATORS[name](value)
            continue
        if len(column) != count:
            raise ShapeMismatch(f"{name} has {len(column)} entries, and the batch has {count} rows.")
        check = VALIDATORS[name]
        known: dict[Any, Any] = {}
        if name in ("key", *Scope._fields) and all(type(v) is str for v in column):
            parts[name] = [known[v] if v in known else known.setdefault(v, check(v)) for v in column]
        else:  # 1, 1.0 and True are equal, and not the same
            parts[name] = [check(v) for v in column]
    return parts


def _as_column(name: str, value: Any) -> Sequence[Any] | None:
    """Return a part of the context as one entry a row, or None where it is one value for all."""
    if hasattr(value, "tolist") and getattr(value, "shape", None):  # an array, a tensor, a Series or its index
        listed: list[Any] = value.tolist()
        return listed
    if isinstance(value, list | tuple | range):  # one context for all is a mapping
        return value
    return None


def _pick(part: Any, at: int) -> Any:
    return part[at] if isinstance(part, list) else part


def _build_records(
    layout: RecordLayout, inputs: Rows, outputs: Rows, parts: Mapping[str, Any], now: int
) -> Iterator[PackedRecord]:
    packed = [(rows.tobytes(), 8 * rows.shape[1]) for rows in (inputs, outputs)]
    for at in range(len(inputs)):
        sides = [data[at * width : (at + 1) * width] for data, width in packed]
        scope = Scope(*(_pick(parts[name], at) for name in Scope._fields))
        moment = _pick(parts["at"], at)
        rest = (_pick(parts[name], at) for name in ("key", "episode", "step", "context"))
        yield PackedRecord(layout, "numpy", scope, now if moment is None else moment, *rest, *sides)


def _build_blocks(
    layout: RecordLayout, inputs: Rows, outputs: Rows, parts: Mapping[str, Any], now: int
) -> Iterator[Block]:
    """Yield the batch as blocks, a new one wherever the scope changes."""
    for start, end in _find_runs([parts[name] for name in Scope._fields], len(inputs)):
        count = end - start
        slices = {k: v[start:end] if isinstance(v, list) else [v] for k, v in parts.items()}
        ats = [now if at is None else at for at in slices["at"]]
        yield Block(
            layout,
            "numpy",
            Scope(*(slices[name][0] for name in Scope._fields)),
            count,
            min(ats),
            max(ats),
            inputs[start:end].astype(FLOAT, copy=False).tobytes(),
            outputs[start:end].astype(FLOAT, copy=False).tobytes(),
            encode_times(ats),
            None,
            encode_column(slices["episode"]),
            encode_column(slices["step"]),
            encode_contexts(slices["context"]),
        )


def _find_runs(columns: Sequence[Any], count: int) -> Iterator[tuple[int, int]]:
    """Yield where blocks begin and end: no longer than they may be, and never across a change in `columns`."""
    varying = [column for column in columns if isinstance(column, list)]
    start = 0
    while start < count:
        end = min(start + MAX_RECORDS, count)
        for column in varying:
            first = column[start]
            end = next((at for at in range(start + 1, end) if column[at] != first), end)
        yield start, end
        start = end
