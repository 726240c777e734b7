"""Values of a document: JSON holds neither NaN nor infinity, which are written as "nan", "inf" and "-inf"."""

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

Document = dict[str, Any]


def to_plain(value: Any) -> Any:
    """Return a value as JSON stores it; anything that is not data becomes text.

    >>> to_plain({"x": (1.0, float("-inf")), "at": None})
    {'x': [1.0, '-inf'], 'at': None}
    """
    if isinstance(value, np.generic):
        value = value.item()
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case Mapping():
            return {str(name): to_plain(each) for name, each in value.items()}
        case np.ndarray():
            return to_column(value)
        case list() | tuple() | set() | frozenset():
            return [to_plain(each) for each in value]
    return str(value)


def to_column(values: NDArray[Any]) -> list[Any]:
    """Return a column of numbers or bools as a list."""
    listed: list[Any] = values.tolist()
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        return [value if math.isfinite(value) else str(value) for value in listed]
    return listed


def to_column_with_gaps(values: NDArray[Any], known: NDArray[np.bool_]) -> list[Any]:
    """Return a column with None at missing values."""
    return [value if there else None for value, there in zip(to_column(values), known.tolist(), strict=True)]


def format_time(moment: datetime) -> str:
    """Return a time as documents write it."""
    return moment.isoformat().replace("+00:00", "Z")
