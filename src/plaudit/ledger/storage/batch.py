"""Recording a batch: scored by an array target, written as a few large blocks."""

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from plaudit.errors import LedgerError, ShapeMismatch, TargetError, did_you_mean
from plaudit.ledger.context import (
    NAMES,
    Scope,
    encode_context,
    to_microseconds,
    validate_episode,
    validate_integer,
    validate_string,
)
from plaudit.ledger.storage.codec import (
    FEWEST,
    FLOAT,
    Block,
    NotFaithful,
    PackedRecord,
    RecordLayout,
    Rows,
    encode_column,
    encode_contexts,
    encode_times,
    find_fitting,
)
from plaudit.ledger.storage.computation import LIBRARIES, Computation, restore_columns
from plaudit.ledger.storage.writer import BlockWriter
from plaudit.targets.array import gather
from plaudit.targets.compiled import convert_scores
from plaudit.targets.dtypes import name_dtype
from plaudit.targets.inputs import collect_columns as named_columns
from plaudit.targets.inputs import find_dtypes
from plaudit.targets.numpy import convert_column

_PARTS = ("key", "run", "episode", "step", "phase", "decision_class", "actor", "context", "at")
_VALIDATORS: dict[str, Callable[[Any], Any]] = {name: partial(validate_string, name) for name in _PARTS} | {
    "episode": validate_episode,
    "step": partial(validate_integer, "step"),
    "context": lambda value: None if value is None else encode_context(value),
    "at": lambda value: None if value is None else to_microseconds(value),
}
"""By part of a context, the function from a value to what is stored of it; InputError if it cannot be."""


def write_batch(
    writer: BlockWriter,
    layout: RecordLayout,
    columns: Mapping[str, Any],
    context: Mapping[str, Any],
    target: str = "numpy",
) -> list[int]:
    """Score `columns` with a target, record every row and return the numbers of the records."""
    inputs, outputs, target = score_batch(layout, columns, target)
    parts = _validate_context(context, len(inputs))
    now = writer.now()
    if parts["key"] is not None:
        if isinstance(parts["key"], str) and len(inputs) > 1:
            raise LedgerError("one key cannot name many records; pass a list of keys, one per row.")
        return writer.write(list(_build_records(layout, inputs, outputs, parts, now, target)))
    return writer.write_blocks(list(_build_blocks(layout, inputs, outputs, parts, now, target, writer.segments)))


def score_batch(layout: RecordLayout, columns: Mapping[str, Any], target: str = "numpy") -> tuple[Rows, Rows, str]:
    """Return a batch and its scores as rows, and what computed them; the first bad row raises."""
    reward = layout.scored
    if target not in ("numpy", *LIBRARIES):
        raise TargetError(f"a batch is scored by numpy, {' or '.join(LIBRARIES)}, not {target!r:.60}.")
    given = {name: _take_to_host(column) for name, column in reward.encode(columns).items()}
    dtypes = find_dtypes(reward.program, given)
    scores = reward.compile(target)(given)
    shapes = tuple(scores.total.shape)
    if len(shapes) != 1:
        raise ShapeMismatch(f"reward {reward.name!r}: a batch must have one axis, but this one has the shape {shapes}.")
    computation = Computation(target, name_dtype(scores.total.dtype), dtypes)
    plain = {name: _to_numpy(column) for name, column in given.items()} if target != "numpy" else given
    rows = collect_inputs(layout, plain, shapes[0])
    if "bfloat16" in dict(dtypes).values():  # which NumPy has not, and so has not counted as bounds
        restored = restore_columns(reward.program, layout.split_columns(rows), dtypes)
        rows = layout.stack_columns(list(restored.values()), shapes[0])
    outputs = layout.stack_scores(convert_scores(scores, _to_numpy), shapes[0])
    return rows, outputs, computation.format(reward.program)


def _take_to_host(column: Any) -> Any:
    """Return a column of PyTorch as one that NumPy can read, and any other as it is."""
    return column.detach().cpu() if hasattr(column, "detach") else column


def _to_numpy(column: Any) -> Any:
    """Return a column of any library as one of NumPy; bfloat16, which NumPy has not, as float32."""
    if name_dtype(getattr(column, "dtype", "")) != "bfloat16":
        return np.asarray(column)
    return np.asarray(column.float() if hasattr(column, "float") else column.astype("float32"))


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
        if name not in _PARTS:
            near = did_you_mean(name, _PARTS)
            raise LedgerError(f"a record has no {name!r} in its context.{near} There are: {', '.join(_PARTS)}.")
    parts: dict[str, Any] = dict.fromkeys(_PARTS)
    for name, value in context.items():
        column = _as_column(name, value)
        if column is None:
            parts[name] = _VALIDATORS[name](value)
            continue
        if len(column) != count:
            raise ShapeMismatch(f"{name} has {len(column)} entries, but the batch has {count} rows.")
        check = _VALIDATORS[name]
        known: dict[Any, Any] = {}
        if name in ("key", *NAMES) and all(type(v) is str for v in column):
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
    layout: RecordLayout, inputs: Rows, outputs: Rows, parts: Mapping[str, Any], now: int, target: str
) -> Iterator[PackedRecord]:
    packed = [(rows.tobytes(), 8 * rows.shape[1]) for rows in (inputs, outputs)]
    for at in range(len(inputs)):
        sides = [data[at * width : (at + 1) * width] for data, width in packed]
        scope = Scope(*(_pick(parts[name], at) for name in NAMES))
        moment = _pick(parts["at"], at)
        rest = (_pick(parts[name], at) for name in ("key", "episode", "step", "context"))
        yield PackedRecord(layout, target, scope, now if moment is None else moment, *rest, *sides)


def _build_blocks(
    layout: RecordLayout,
    inputs: Rows,
    outputs: Rows,
    parts: Mapping[str, Any],
    now: int,
    target: str,
    segments: Any,
) -> Iterator[Block]:
    """Yield the batch as blocks, a new one wherever the scope changes; where many share one, in `segments`."""
    for first, last in _find_scopes(parts, len(inputs)):
        if segments is not None and last - first >= FEWEST:
            with suppress(NotFaithful):
                yield from _store(segments, layout, target, inputs, outputs, parts, now, first, last)
                continue
        for start, end in _find_runs(layout, parts, first, last):
            part = _slice(parts, start, end, now)
            yield Block(
                layout,
                target,
                part.scope,
                end - start,
                min(part.ats),
                max(part.ats),
                inputs[start:end].astype(FLOAT, copy=False).tobytes(),
                outputs[start:end].astype(FLOAT, copy=False).tobytes(),
                encode_times(part.ats),
                None,
                encode_column(part.episodes),
                encode_column(part.steps),
                encode_contexts(part.contexts),
                moments=struct.pack(f"<{end - start}q", *part.ats),
            )


class _Slice(NamedTuple):
    """What is said of some rows of a batch, an entry each."""

    scope: Scope
    ats: Sequence[int]
    episodes: Sequence[str | None]
    steps: Sequence[int | None]
    contexts: Sequence[str | None]


def _slice(parts: Mapping[str, Any], start: int, end: int, now: int) -> _Slice:
    listed = {k: v[start:end] if isinstance(v, list) else [v] * (end - start) for k, v in parts.items()}
    scope = Scope(*(listed[name][0] for name in NAMES))
    ats = [now if at is None else at for at in listed["at"]]
    return _Slice(scope, ats, listed["episode"], listed["step"], listed["context"])


def _store(
    segments: Any,
    layout: RecordLayout,
    target: str,
    inputs: Rows,
    outputs: Rows,
    parts: Mapping[str, Any],
    now: int,
    first: int,
    last: int,
) -> Iterator[Block]:
    """Write rows of one scope to segments, and yield their blocks."""
    from plaudit.ledger.storage.record_table import describe_records
    from plaudit.ledger.storage.segments import MOST, ROWS

    def split(start: int, end: int) -> Iterator[Any]:
        for low in range(start, end, ROWS):
            high = min(low + ROWS, end)
            part = _slice(parts, low, high, now)
            context = describe_records(part.ats, [None] * (high - low), part.episodes, part.steps, part.contexts)
            yield context, inputs[low:high], outputs[low:high]

    scope = _slice(parts, first, first + 1, now).scope
    computed = target.partition(" ")[0] == "numpy"
    for start in range(first, last, MOST):
        rows = split(start, min(start + MOST, last))
        yield from segments.store(layout, target, scope, rows, computed=computed)


def _find_scopes(parts: Mapping[str, Any], count: int) -> Iterator[tuple[int, int]]:
    """Yield where the scope begins and ends to be the same."""
    columns = [parts[name] for name in NAMES if isinstance(parts[name], list)]
    changes = {at for column in columns for at in range(1, count) if column[at] != column[at - 1]}
    starts = [0, *sorted(changes)] if count else []
    yield from zip(starts, [*starts[1:], count], strict=False)


def _find_runs(layout: RecordLayout, parts: Mapping[str, Any], start: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield where blocks that the database holds begin and end: no longer than they may be."""
    texts = [parts[name] for name in ("episode", "context") if isinstance(parts[name], list)]
    while start < last:
        end = min(start + layout.most_records, last)
        if texts:
            end = start + find_fitting(*(column[start:end] for column in texts))
        yield start, end
        start = end
