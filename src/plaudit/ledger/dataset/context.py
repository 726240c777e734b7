"""Where the rows of a data set belong: run, actor, episode and step, in columns named as in an exported ledger."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from plaudit.ledger.dataset.arrow import to_numpy
from plaudit.ledger.summary.returns import Classes, Numbers

_EPISODE = ("run", "actor", "episode")


def find_context(schema: pa.Schema) -> list[str]:
    """Return the columns that say where a row belongs; none where no column tells episodes apart."""
    found = [name for name in (*_EPISODE, "step") if name in schema.names and not _is_nested(schema.field(name).type)]
    return found if "episode" in found else []


def _is_nested(kind: pa.DataType) -> bool:
    return bool(pa.types.is_nested(kind))


def read_episodes(batch: pa.RecordBatch) -> Classes | None:
    """Return run, actor and episode of each row as one label; None where no column tells episodes apart."""
    names = find_context(batch.schema)
    if not names:
        return None
    parts = [read_classes(batch.column(name)) if name in names else None for name in _EPISODE]
    whole = np.zeros(batch.num_rows, np.int64)
    for part in parts:
        if part is not None:
            whole = whole * len(part.labels) + part.codes
    _, firsts, codes = np.unique(whole, return_index=True, return_inverse=True)
    labels = [tuple(None if part is None else _read_label(part, at) for part in parts) for at in firsts]
    return Classes(labels, codes)


def _read_label(part: Classes, row: int) -> Any:
    label = part.labels[part.codes[row]]
    return None if label != label else label  # NaN names nothing


def read_steps(batch: pa.RecordBatch) -> Numbers | None:
    """Return the step that each row is of its episode, NaN where there is none; None where no column numbers them."""
    if "step" not in find_context(batch.schema):
        return None
    try:
        return np.asarray(to_numpy(batch.column("step").cast(pa.float64()).fill_null(float("nan"))), np.float64)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # names or times: they number nothing
        return None


def read_classes(column: pa.Array) -> Classes:
    """Return a column of decision classes as labels and positions."""
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    labels: Sequence[Any] = [*encoded.dictionary.to_pylist(), None]
    codes = to_numpy(encoded.indices.cast(pa.int64()).fill_null(len(labels) - 1))
    return Classes(labels, codes)
