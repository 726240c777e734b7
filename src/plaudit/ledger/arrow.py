"""Records as Arrow batches: a column for each part of the context, each input and each output."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from plaudit.errors import LedgerError, MissingExtra
from plaudit.language.field import Field
from plaudit.ledger.context import Scope, encode_context
from plaudit.ledger.record import Page
from plaudit.ledger.storage.codec import RecordLayout, decode_column
from plaudit.targets.columns import name_columns

try:
    import pyarrow as pa
except ImportError as error:
    raise MissingExtra("Arrow and Parquet need pyarrow. Install it: pip install 'plaudit[data]'") from error

LABEL = b"plaudit.reward"
"""Under which metadata a schema says whose records they are."""

_CONTEXT = {
    "record.id": pa.int64(),
    "record.at": pa.timestamp("us", tz="UTC"),
    "record.key": pa.string(),
    "record.run": pa.string(),
    "record.episode": pa.string(),
    "record.step": pa.int64(),
    "record.phase": pa.string(),
    "record.decision_class": pa.string(),
    "record.actor": pa.string(),
    "record.sample_rate": pa.float64(),
    "record.context": pa.string(),
    "record.target": pa.string(),
    "record.origin": pa.int64(),
}


def build_schema(layout: RecordLayout) -> pa.Schema:
    """Return the columns of a reward's records: context under `record.`, then inputs, the total and the terms."""
    program = layout.scored.program
    inputs = {name: _choose_type(field) for name, field in program.inputs.items()}
    outputs = dict.fromkeys(name_columns(program.terms, program.inputs).values(), pa.float64())
    label = f"{layout.reward.name}@{layout.reward.version} {layout.part}"
    about = {LABEL: label.encode(), b"plaudit.spec": layout.reward.to_json().encode()}
    return pa.schema([*_CONTEXT.items(), *inputs.items(), *outputs.items()], metadata=about)


def _choose_type(field: Field) -> pa.DataType:
    kinds = {"number": pa.float64(), "flag": pa.bool_(), "category": pa.dictionary(pa.int32(), pa.string())}
    return pa.int64() if field.is_integer else kinds[field.kind]


def build_batches(pages: Iterable[Page], rows: int) -> Iterator[pa.RecordBatch]:
    """Yield pages as batches of about `rows` records of one reward each."""
    waiting: list[Page] = []
    count = 0
    for page in pages:
        if waiting and (page.layout is not waiting[0].layout or count >= rows):
            yield _build_batch(waiting)
            waiting, count = [], 0
        waiting.append(page)
        count += len(page.positions())
    if waiting:
        yield _build_batch(waiting)


def build_table(batches: Iterable[pa.RecordBatch]) -> pa.Table | None:
    """Return batches of one reward as a table, None where there are none; LedgerError where they are of several."""
    listed: list[pa.RecordBatch] = []
    for batch in batches:
        about = batch.schema.metadata
        if listed and about[LABEL] != listed[0].schema.metadata[LABEL]:
            labels = " and ".join(each[LABEL].decode() for each in (listed[0].schema.metadata, about))
            raise LedgerError(
                f"these records belong to several rewards ({labels}), which have different columns. Choose one with "
                "reward= and version=, or use arrow(), whose batches hold one reward each."
            )
        listed.append(batch.replace_schema_metadata((listed[0] if listed else batch).schema.metadata))
    return pa.Table.from_batches(listed) if listed else None


def _build_batch(pages: list[Page]) -> pa.RecordBatch:
    """Return pages of one reward as a batch; LedgerBroken where one is damaged."""
    with pages[0].report_damage():
        return _fill_batch(pages)


def _fill_batch(pages: list[Page]) -> pa.RecordBatch:
    layout = pages[0].layout
    wanted = build_schema(layout)
    context: dict[str, Any] = {name: [] for name in _CONTEXT}
    for page in pages:
        _extend_columns(context, page)
    arrays = [pa.array(context[name], kind) for name, kind in _CONTEXT.items()]
    inputs = np.concatenate([page.inputs[page.positions()] for page in pages])
    outputs = np.concatenate([page.outputs[page.positions()] for page in pages])
    columns, gaps = layout.split_columns(inputs), layout.find_gaps(inputs)
    for name, field in layout.scored.program.inputs.items():
        array = pa.array(columns[name], mask=gaps.get(name))
        if field.kind == "category":
            arrays.append(pa.DictionaryArray.from_arrays(array.cast(pa.int32()), pa.array(field.labels)))
        else:
            arrays.append(array.cast(_choose_type(field)))  # a number that is not whole is none of an integer's
    stored = json.loads(layout.outputs)
    for output in name_columns(layout.scored.program.terms, layout.scored.program.inputs):
        arrays.append(pa.array(np.ascontiguousarray(outputs[:, stored.index(output)])))
    return pa.RecordBatch.from_arrays(arrays, schema=wanted)


def _extend_columns(columns: dict[str, list[Any]], page: Page) -> None:
    row, at = page.row, page.positions().tolist()

    def chosen(column: str | None) -> list[Any]:
        found = list(decode_column(column, row.records))
        return [found[position] for position in at]

    columns["record.id"] += [row.first + position for position in at]
    columns["record.at"] += [row.earliest + (time or 0) for time in chosen(row.times)]
    columns["record.key"] += chosen(row.keys)
    columns["record.episode"] += chosen(row.episodes)
    columns["record.step"] += chosen(row.steps)
    columns["record.context"] += [None if each is None else encode_context(each) for each in chosen(row.contexts)]
    for name in (*Scope._fields, "target"):
        columns[f"record.{name}"] += [getattr(row, name)] * len(at)
    picked = chosen(row.picked) if row.picked is not None else at
    columns["record.origin"] += [None if row.origin is None else row.origin + position for position in picked]
