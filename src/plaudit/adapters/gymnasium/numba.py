"""The numba target for a fixed number of environments: the same columns at every step, taken as they are."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plaudit.language.field import LARGEST_INTEGER, Field
from plaudit.language.program import Program
from plaudit.targets.dtypes import widen_array
from plaudit.targets.numba import NumbaReward

Dtypes = frozenset[np.dtype[Any]]

_NARROW = np.dtype(np.float32)
_FLOATS: Dtypes = frozenset({_NARROW, np.dtype(np.float64)})
_SHORT: Dtypes = frozenset(map(np.dtype, (np.int8, np.int16, np.int32, np.uint8, np.uint16, np.uint32)))
_LONG: Dtypes = frozenset(map(np.dtype, (np.int64, np.uint64)))
_BOOL: Dtypes = frozenset({np.dtype(np.bool_)})


class NumbaBatch(NumbaReward):
    """A reward whose columns need no looking up, where they are plain arrays of a usual kind."""

    def __init__(self, program: Program, count: int) -> None:
        """Prepare `program` for `count` rows; it is compiled at the first step."""
        super().__init__(program, on_bad="mask", parallel=False)
        self._shape = (count,)
        self._plain = not any("." in name or "[" in name for name in program.inputs)
        self._dtypes = [(name, field, _find_dtypes(field)) for name, field in program.inputs.items()]
        first: dict[int, int] = {}
        for term, root in enumerate(self.layout.values):
            first.setdefault(root, term)
        self._again = [(term, first[root]) for term, root in enumerate(self.layout.values) if first[root] != term]
        """Terms that are the same as an earlier one, which is computed once."""
        self._outputs = [(first.get(root), np.empty(count)) for root in range(1, len(self.layout.roots))]
        """The term that each output is the value of; scores, which nobody asks for, go to an array of their own."""
        self._ok = np.empty(count, np.bool_)

    def take_columns(self, fields: Mapping[str, Any]) -> list[NDArray[Any]] | None:
        """Return the columns of `fields` in order, or None where they have to be converted."""
        if not self._plain or len(fields) != len(self._dtypes):
            return None
        found = []
        for name, field, dtypes in self._dtypes:
            column = fields.get(name)
            if type(column) is not np.ndarray or column.shape != self._shape or column.dtype not in dtypes:
                return None
            found.append(widen_array(column, field) if column.dtype == _NARROW else column)  # Numba would stay narrow
        return found

    def write(self, columns: Sequence[NDArray[Any]], total: NDArray[Any], block: NDArray[Any]) -> NDArray[np.bool_]:
        """Write the totals, and a row of `block` for each term; return which rows count."""
        outputs = [unread if term is None else block[term] for term, unread in self._outputs]
        self._default[1](len(total), *columns, total, *outputs, self._ok)
        for term, first in self._again:
            block[term] = block[first]
        return self._ok

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the Program, not the generated code."""
        return NumbaBatch, (self.program, *self._shape)


def _find_dtypes(field: Field) -> Dtypes:
    """Return which arrays a column of `field` may be, so that a float holds every number that its range allows."""
    if field.kind == "flag":
        return _BOOL
    if field.kind == "category":
        return _SHORT | _LONG
    held = field.outside == "raise" and all(v is not None and abs(v) < LARGEST_INTEGER for v in (field.low, field.high))
    return _FLOATS | _SHORT | _LONG if held else _FLOATS | _SHORT
