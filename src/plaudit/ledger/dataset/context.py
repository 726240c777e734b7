"""Where the rows of a data set belong: run, actor, episode and step, in columns named as in an exported ledger."""

from typing import TYPE_CHECKING, Any

import numpy as np

from plaudit.rows.chunks import Chunk, RowSource

if TYPE_CHECKING:
    from plaudit.ledger.summary.returns import Classes, Numbers

_EPISODE = ("run", "actor", "episode")


def find_context(source: RowSource) -> list[str]:
    """Return the columns that say where a row belongs; none where no column tells episodes apart."""
    found = [name for name in (*_EPISODE, "step") if name in source.columns and not _is_nested(source, name)]
    return found if "episode" in found else []


def _is_nested(source: RowSource, name: str) -> bool:
    return getattr(source.paths.get((name,)), "num_fields", 0) > 0


def read_episodes(chunk: Chunk, source: RowSource) -> "Classes | None":
    """Return run, actor and episode of each row as one label; None where no column tells episodes apart."""
    from plaudit.ledger.summary.returns import Classes

    names = find_context(source)
    if not names:
        return None
    parts = [read_classes(chunk, name) if name in names else None for name in _EPISODE]
    whole = np.zeros(chunk.rows, np.int64)
    for part in parts:
        if part is not None:
            whole = whole * len(part.labels) + part.codes
    _, firsts, codes = np.unique(whole, return_index=True, return_inverse=True)
    labels = [tuple(None if part is None else _read_label(part, at) for part in parts) for at in firsts]
    return Classes(labels, codes)


def _read_label(part: "Classes", row: int) -> Any:
    label = part.labels[part.codes[row]]
    return None if label != label else label  # NaN names nothing


def read_steps(chunk: Chunk, source: RowSource) -> "Numbers | None":
    """Return the step that each row is of its episode, NaN where there is none; None where no column numbers them."""
    return chunk.read_numbers("step") if "step" in find_context(source) else None


def read_classes(chunk: Chunk, name: str) -> "Classes":
    """Return a column of decision classes as labels and positions."""
    from plaudit.ledger.summary.returns import Classes

    return Classes(*chunk.encode_labels(name))
