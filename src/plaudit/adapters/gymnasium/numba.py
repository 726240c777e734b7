"""The numba target for a fixed number of environments: the same columns at every step, without conversion."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plaudit.language.field import LARGEST_INTEGER, RECORDS, Field
from plaudit.language.program import Program
from plaudit.targets.dtypes import widen_array
from plaudit.targets.inputs import InputColumn, list_columns
from plaudit.targets.numba import NumbaReward

Dtypes = frozenset[np.dtype[Any]]

_NARROW = np.dtype(np.float32)
_FLOATS: Dtypes = frozenset({_NARROW, np.dtype(np.float64)})
_SHORT: Dtypes = frozenset(map(np.dtype, (np.int8, np.int16, np.int32, np.uint8, np.uint16, np.uint32)))
_LONG: Dtypes = frozenset(map(np.dtype, (np.int64, np.uint64)))
_BOOL: Dtypes = frozenset({np.dtype(np.bool_)})


class NumbaBatch(NumbaReward):
    """A reward that takes columns directly if they are plain arrays of a supported dtype."""

    def __init__(self, program: Program, count: int) -> None:
        """Prepare `program` for `count` rows; it is compiled at the first step."""
        super().__init__(program, on_bad="mask", parallel=False)
        self._shape = (count,)
        self._rows = np.uint64(0), np.uint64(count)
        self._columns = [
            _Column(column, _find_dtypes(column.slots[0].field), count, _find_state(program, column))
            for column in list_columns(program)
        ]
        self._given = sum(column.state is None for column in self._columns)
        plain = not program.states and not any("." in name or "[" in name for name in program.inputs)
        self._plain = [(column.name, column.field, column.dtypes) for column in self._columns] if plain else []
        first: dict[int, int] = {}
        for term, root in enumerate(self.layout.values):
            first.setdefault(root, term)
        self._again = [(term, first[root]) for term, root in enumerate(self.layout.values) if first[root] != term]
        """Terms that equal an earlier one, which is computed once."""
        self._outputs = [(first.get(root), np.empty(count)) for root in range(1, len(self.layout.roots))]
        """The term of each output; scores, which are not needed, go to a separate array."""
        self._ok = np.empty(count, np.bool_)

    def take_columns(self, fields: Mapping[str, Any], states: Sequence[NDArray[Any]] = ()) -> list[NDArray[Any]] | None:
        """Return the columns of `fields` and of `states` before a step, in order; None if they need conversion."""
        if self._plain:
            return self._take_plain(fields)
        if not fields.keys().isdisjoint(RECORDS):
            fields = _flatten_records(fields)
        if len(fields) != self._given:
            return None
        found: list[NDArray[Any]] = []
        for column in self._columns:
            if column.state is not None:
                found += column.split(states[column.state])
                continue
            array = fields.get(column.name)
            if type(array) is not np.ndarray or array.shape != column.shape or array.dtype not in column.dtypes:
                return None
            if array.dtype == _NARROW or column.of_numbers:  # Numba would stay narrow
                array = widen_array(array, column.field)
            found += [array] if column.single else column.split(array.reshape(len(array), -1).T)
        return found

    def _take_plain(self, fields: Mapping[str, Any]) -> list[NDArray[Any]] | None:
        """Return the columns of a reward that reads single values of the current step only."""
        if len(fields) != len(self._plain):
            return None
        found = []
        for name, field, dtypes in self._plain:
            column = fields.get(name)
            if type(column) is not np.ndarray or column.shape != self._shape or column.dtype not in dtypes:
                return None
            found.append(widen_array(column, field) if column.dtype == _NARROW else column)  # Numba would stay narrow
        return found

    def write(
        self,
        columns: Sequence[NDArray[Any]],
        total: NDArray[Any],
        block: NDArray[Any],
        states: Sequence[NDArray[Any]] = (),
    ) -> NDArray[np.bool_]:
        """Write the totals, a row of `block` for each term, and the `states` after it; return which rows are valid."""
        outputs = [unread if term is None else block[term] for term, unread in self._outputs]
        loop = self._stepping if states else self._default
        loop.run(*self._rows, *columns, total, *outputs, *states, self._ok)
        for term, first in self._again:
            block[term] = block[first]
        return self._ok

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the Program, not the generated code."""
        return NumbaBatch, (self.program, *self._shape)


class _Column:
    """The requirements on a column that is taken without conversion."""

    def __init__(self, column: InputColumn, dtypes: Dtypes, count: int, state: int | None) -> None:
        slot = column.slots[0]
        self.name, self.field, self.dtypes, self.state = column.name, slot.field, dtypes, state
        self.shape = (count, *slot.field.shape)
        self.single = slot.entry is None
        self.of_numbers = not self.single and slot.field.kind == "number"
        self._whole = column.whole
        self._entries = [slot.entry for slot in column.slots if slot.entry is not None]
        self._picked = column.picked

    def split(self, entries: NDArray[Any]) -> list[NDArray[Any]]:
        """Return an array with entries first as the generated code takes it: whole, or single entries."""
        if self.single or not self._whole:
            return [np.ascontiguousarray(entries[entry]) for entry in self._entries or [0]]
        return [np.ascontiguousarray(entries[self._picked] if self._picked else entries)]


def _find_state(program: Program, column: InputColumn) -> int | None:
    """Return which of the states a column is, if it is one."""
    key = column.slots[0].key
    return list(program.states).index(key) if key in program.states else None


def _flatten_records(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return columns with those of `prev` and `curr` under their full names if these are mappings."""
    flat = {name: value for name, value in fields.items() if name not in RECORDS}
    for record in RECORDS:
        part = fields.get(record, {})
        if not isinstance(part, Mapping):
            return {}
        flat |= {f"{record}.{name}": value for name, value in part.items()}
    return flat


def _find_dtypes(field: Field) -> Dtypes:
    """Return the dtypes that a column of `field` may have, so that a float represents every number in its range."""
    if field.kind == "flag":
        return _BOOL
    if field.kind == "category":
        return _SHORT | _LONG
    held = field.outside == "raise" and all(v is not None and abs(v) < LARGEST_INTEGER for v in (field.low, field.high))
    return _FLOATS | _SHORT | _LONG if held else _FLOATS | _SHORT
