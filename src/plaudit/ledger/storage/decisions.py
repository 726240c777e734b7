"""The contexts of decisions, kept in columns: evaluation reads millions of them without parsing each.

Where all contexts of a block hold a decision, and say the same things in the same order, the block keeps them as one
object with a column in the place of each value: `[{"packed": {"decision":{"action":["stay","star"],…}}}]`. Columns of
floats, and of equally long lists of floats, are float64 in base64. What is chained, read and exported is the JSON that
was recorded: the columns give it back to the character.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plaudit.ledger.storage.episode_parts import ENDS

Column = list[Any] | NDArray[np.float64]
"""A value a record; floats, and rows of them, are arrays."""

_START = '[{"packed": '
"""How such columns begin; contexts are written without spaces, and so none looks like this."""
_FLOAT = np.dtype("<f8")
_scan = json.JSONDecoder().raw_decode


def is_packed(contexts: str) -> bool:
    """Return whether a block keeps its contexts in columns."""
    return contexts.startswith(_START)


def pack_contexts(contexts: str) -> str:
    """Return the contexts of a block as they are stored, in columns where that can be.

    >>> pack_contexts('[{"decision":{"action":"a","x":[1.0]}},{"decision":{"action":"b","x":[0.5]}}]')
    '[{"packed": {"decision":{"action":["a","b"],"x":{"float64":"AAAAAAAA8D8AAAAAAADgPw==","width":1}}}}]'
    """
    first, end = _scan(contexts, 1)
    decision = first.get("decision") if isinstance(first, dict) else None
    if end == len(contexts) - 1 or not isinstance(decision, dict) or "action" not in decision:  # or it is the only one
        return contexts
    columns = _split(json.loads(contexts))
    decisions = None if columns is None else _split(columns["decision"])
    if columns is None or decisions is None or any(end in columns for end in ENDS):  # ends are looked for in the text
        return contexts
    encoded = {name: _encode(values) for name, values in columns.items() if name != "decision"}
    whole = {name: encoded.get(name) for name in columns}
    whole["decision"] = {name: _encode(values) for name, values in decisions.items()}
    return f"{_START}{json.dumps(whole, separators=(',', ':'))}}}]"


def read_columns(contexts: str, count: int) -> dict[str, Any]:
    """Return the contexts of a block that keeps them in columns: a `Column` for each value, decisions apart."""
    (found,) = json.loads(contexts)
    packed = found["packed"]
    decisions = {name: _decode(column, count) for name, column in packed["decision"].items()}
    return {name: decisions if name == "decision" else _decode(column, count) for name, column in packed.items()}


def unpack_contexts(contexts: str, count: int) -> list[Any]:
    """Return the contexts of a block that keeps them in columns, one a record; ValueError where there are others."""
    columns = read_columns(contexts, count)
    return _join(columns | {"decision": _join(columns["decision"])})


def _split(rows: Sequence[Any]) -> dict[str, Sequence[Any]] | None:
    """Return objects as columns; None where they have other keys than the first, or are no objects."""
    keys = [*rows[0]]
    if not all(type(row) is dict and [*row] == keys for row in rows):
        return None
    return dict(zip(keys, zip(*(row.values() for row in rows), strict=True), strict=True))


def _join(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    listed = [column.tolist() if isinstance(column, np.ndarray) else column for column in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*listed, strict=True)]


def _encode(values: Sequence[Any]) -> Any:
    lists = type(values[0]) is list and all(type(each) is list and len(each) == len(values[0]) for each in values)
    numbers = list(chain.from_iterable(values)) if lists else values
    if {*map(type, numbers)} != {float}:  # 1 and 1.0 are not the same
        return values
    packed = {"float64": b64encode(np.array(numbers, _FLOAT).tobytes()).decode()}
    return {**packed, "width": len(values[0])} if lists else packed


def _decode(column: Any, count: int) -> Column:
    found: Column = column
    if not isinstance(column, list):
        numbers = np.frombuffer(b64decode(column["float64"], validate=True), _FLOAT)
        found = numbers.reshape(-1, column["width"]) if "width" in column else numbers
    if len(found) != count:
        raise ValueError(f"a column of contexts has {len(found)} entries for {count} records")
    return found
