"""The `numpy` target: a batch of columns in chunks that stay in the cache, float64, bit for bit what Python gives.

With `dtype="float32"` or `"float16"` it computes as JAX and PyTorch do where their columns have that dtype.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plaudit.errors import TargetError
from plaudit.language.field import LARGEST_INTEGER, Field
from plaudit.language.program import Program
from plaudit.targets.array import (
    DEFINED,
    OPERATIONS,
    Gathered,
    Generated,
    collect_names,
    gather,
    gather_columns,
    generate,
    make_dtype_error,
    to_array,
)
from plaudit.targets.compiled import FLOATS, Layout, Scores
from plaudit.targets.diagnose import diagnose_first_bad
from plaudit.targets.dtypes import widen_array
from plaudit.targets.emit import Spelling, build_function, emit, format_literal
from plaudit.targets.inputs import collect_columns, list_columns
from plaudit.targets.states import SteppingReward

CHUNK = 16_384
"""Numbers at a time: 128 KiB a column, so that intermediate results stay in the cache."""
FEWEST_ROWS = 1024
"""Rows at a time at least, however many entries a vector has: fewer are not worth the calls."""

_DTYPES = ("float64", "float32", "float16")

Array = NDArray[Any]


def take(table: Array, index: Array) -> Array:
    """Return the entries of a table at positions that are integers."""
    picked: Array = table[np.asarray(index).astype(np.intp)]
    return picked


def is_integer(column: Array) -> Any:
    """Return whether each entry is an integer."""
    return True if np.asarray(column).dtype.kind in "iub" else column == np.floor(column)


def add_entries(vector: Array) -> Array:
    """Return the sum of all entries, left to right."""
    if vector.flags.c_contiguous and vector.shape[-1] > 1:
        summed: Array = np.add.reduce(vector, axis=0)  # row by row; any other layout is added in pairs
        return summed
    return add_onto(vector[0], vector[1:])


def add_onto(start: Array, vector: Array) -> Array:
    """Return `start` and on it all entries, left to right."""
    return reduce(np.add, vector, start)


def find_smallest(vector: Array) -> Array:
    """Return the smallest entry, the first of those that are equal."""
    return reduce(lambda least, entry: np.where(entry < least, entry, least), vector[1:], vector[0])


def find_largest(vector: Array) -> Array:
    """Return the largest entry, the first of those that are equal."""
    return reduce(lambda most, entry: np.where(entry > most, entry, most), vector[1:], vector[0])


def pick(vector: Array, entries: list[int]) -> Array:
    """Return some entries of a vector."""
    picked: Array = vector[entries]
    return picked


NAMES = collect_names(np, {"take": take, "is_integer": is_integer, "pick": pick, "still": lambda column: column})
NAMES |= {f.__name__: f for f in (add_entries, add_onto, find_smallest, find_largest)}


class NumpyReward(SteppingReward):
    """A reward compiled to NumPy: columns in, `Scores` of columns out."""

    library = np

    def __init__(
        self,
        program: Program,
        *,
        guard: bool | str = True,
        on_bad: str = "raise",
        chunk: int = CHUNK,
        dtype: str = "float64",
    ) -> None:
        """Compile `program`; without `guard`, declared ranges are not checked.

        It computes in `dtype`; scores are float64 all the same.
        """
        super().__init__(program, guard=guard, on_bad=on_bad, chunk=chunk, dtype=dtype)
        if chunk < 1:
            raise TargetError(f"chunk={chunk} must be at least 1")
        if dtype not in _DTYPES:
            raise TargetError(f"dtype={dtype!r:.60} is not one of {', '.join(_DTYPES)}")
        self._dtype, self._limits = np.dtype(dtype), FLOATS[dtype]
        self._wide = dtype == "float64"
        widest = max((len(column.slots) for column in list_columns(program)), default=1)
        self.chunk = max(chunk // widest, min(chunk, FEWEST_ROWS))
        self._bound = program.bind()
        self._fixed: dict[int, list[Any]] = {}
        self._default = self._build(self._bound)

    def __call__(
        self, inputs: Any, params: Mapping[str, float | bool] | None = None, *, out: Scores | None = None
    ) -> Scores:
        """Return the scores of a batch; `out`, scores of an earlier call of this shape, is written over."""
        return self._score(self._default if params is None else self._general, inputs, params, out)[0]

    def _score(
        self, made: Generated, inputs: Any, params: Mapping[str, float | bool] | None, out: Scores | None = None
    ) -> tuple[Scores, list[Array]]:
        """Return the scores of a batch, and the states after it where `made` computes them, their entries first."""
        given = collect_columns(self.program, inputs)
        found = gather_columns(self.program, given, self._convert, np, pick)
        shape, exact = found.shape, found.exact
        fixed = self._get_fixed(made) if params is None else self._list_fixed(made, self.program.fill_params(params))
        size = int(np.prod(shape, dtype=np.int64))
        columns = [_flatten_batch(array, len(shape)) for array in found.arguments]
        checks = [condition.reshape(-1) if condition.shape else condition for condition in exact.values()]
        outputs, ok = allocate_buffers(made.layout, size, shape, out)
        states = [np.empty((len(carried.reset), size), type(carried.reset[0])) for carried in made.states]
        for start in range(0, size, self.chunk):
            rows = slice(start, min(start + self.chunk, size))
            with np.errstate(all="ignore"):
                *results, fine, parts = made.function(*(_take_rows(column, rows) for column in columns), *fixed)
            for condition in () if self.plain else checks:
                fine = fine & (condition[rows] if condition.shape else condition)
            for output, result in zip(outputs, results, strict=True):
                output[rows] = result
            for state, part in zip(states, parts, strict=True):
                _write_parts(state[:, rows], part)
            ok[rows] = fine
            if not self.plain and not np.all(fine):
                self._handle_bad(found, outputs, ok, rows, params, exact)
        shaped = [output.reshape(shape) for output in outputs]
        whole = [state.reshape((len(state), *shape)) for state in states]
        return made.layout.to_scores(shaped, ok.reshape(shape)), whole

    @property
    def function(self) -> Callable[..., tuple[Any, ...]]:
        """The bare generated function, which nothing is checked, cut into chunks or copied for.

        It takes the columns that `list_columns` lists, converted already: a vector whole, its entries first, where it
        is `whole`, otherwise each entry. It returns the outputs of the layout, the total first, then `ok` (True where
        no row can be bad), then the states.
        """
        fixed = self._get_fixed(self._default)
        return lambda *columns: self._default.function(*columns, *fixed)

    def _get_fixed(self, made: Generated) -> list[Any]:
        """Return what code with its own parameters takes besides columns; it is made once."""
        if id(made) not in self._fixed:
            self._fixed[id(made)] = self._list_fixed(made, {})
        return self._fixed[id(made)]

    def _list_fixed(self, made: Generated, numbers: Mapping[str, Any]) -> list[Any]:
        """Return what generated code takes besides columns, in the dtype that it computes in."""
        units = (0.0, 1.0, self._limits.exponent)
        if self._wide:
            vectors = [np.asarray(vector.list_values(numbers))[:, None] for vector in made.vectors]
            return [*numbers.values(), *made.constants, *vectors, *map(np.asarray, made.tables), *units]

        def fit(values: Sequence[Any]) -> Array:
            flags = isinstance(values[0], bool)
            return np.asarray([self._limits.fit(value) for value in values], np.bool_ if flags else self._dtype)

        single = [fit([value])[0] for value in (*numbers.values(), *made.constants)]
        vectors = [fit(vector.list_values(numbers))[:, None] for vector in made.vectors]
        zero, one, exponent = units
        return [*single, *vectors, *map(fit, made.tables), *fit([zero, one]), exponent]

    def _handle_bad(
        self,
        found: Gathered,
        outputs: Sequence[Array],
        ok: Array,
        rows: slice,
        params: Mapping[str, float | bool] | None,
        exact: Mapping[str, Array],
    ) -> None:
        """Raise for the first bad row of a chunk, or mask all of them."""
        bad = np.flatnonzero(~ok[rows])
        if self.on_bad == "raise":
            bound = self._bound if params is None else self.program.bind(params)
            raise diagnose_first_bad(
                bound, found.list_entries(), rows.start + int(bad[0]), guard=self.guard, exact=exact
            )
        for output in outputs:
            output[rows][bad] = np.nan

    def _build(self, program: Program, *, states: bool = False) -> Generated:
        return generate(
            program, guard=self.guard, names=NAMES, inline=self._wide, smooth=False, states=states, plain=self.plain
        )

    @staticmethod
    def _convert_state(value: Any, flag: bool) -> Array:
        return np.asarray(value)

    def _convert(self, name: str, field: Field, value: Any) -> tuple[Array, Array | None]:
        column, exact = convert_column(self.program.name, name, field, value)
        if self._wide or field.kind != "number":
            return column, exact
        with np.errstate(over="ignore"):
            narrow = column.astype(self._dtype)
        if np.asarray(value).dtype.kind in "iu":
            exact = np.abs(column) <= self._limits.integer
        return narrow, exact


def _write_parts(state: Array, parts: Sequence[tuple[int, Any]]) -> None:
    """Write what generated code computed of a state, entries first."""
    start = 0
    for size, part in parts:
        state[start : start + size] = part
        start += size


def _flatten_batch(array: Array, rank: int) -> Array:
    """Return a column with one axis for the batch: two for a vector, whose entries come first; one value as it is."""
    if array.ndim > rank:
        return array.reshape(len(array), -1)
    return array.reshape(-1) if array.shape else array


def _take_rows(column: Array, rows: slice) -> Array:
    """Return some rows of a column; of a vector so that each entry's rows are side by side."""
    if column.ndim == 2:
        return np.ascontiguousarray(column[:, rows] if column.shape[1] > 1 else column)
    return column[rows] if column.shape else column


def convert_column(reward: str, name: str, field: Field, value: Any) -> tuple[Array, Array | None]:
    """Return a column as float64, flags or positions, and where it was exact; None where it always is."""
    if isinstance(value, str) and field.kind == "category" and value in field.labels:
        return np.asarray(field.labels.index(value)), None  # a default
    column = to_array(reward, name, field, value)
    kind = column.dtype.kind
    if column.size == 0 and kind == "f":
        return column.astype({"number": np.float64, "flag": np.bool_, "category": np.intp}[field.kind]), None
    if field.kind == "category":
        if kind not in "iu":
            raise make_dtype_error(reward, name, field, column.dtype)
        return column, None
    if field.kind == "flag":
        if kind == "b":
            return column, None
        if kind not in "iuf":
            raise make_dtype_error(reward, name, field, column.dtype)
        return column != 0, (column == 0) | (column == 1)
    if kind == "f":
        return widen_array(column, field), None
    if kind not in "iu":
        raise make_dtype_error(reward, name, field, column.dtype)
    exact = None if column.dtype.itemsize < 8 else (column <= LARGEST_INTEGER) & (column >= -LARGEST_INTEGER)
    return column.astype(np.float64), exact


def allocate_buffers(
    layout: Layout, size: int, shape: tuple[int, ...], out: Scores | None
) -> tuple[list[Array], Array]:
    """Return flat arrays to write outputs and `ok` to: new ones, or those of `out`."""
    if out is None:
        return [np.empty(size) for _ in layout.roots], np.empty(size, np.bool_)
    given: dict[int, Array] = {layout.total: out.total}
    for part, ats in ((out.values, layout.values), (out.scores, layout.scores)):
        given |= {at: part[term] for term, at in zip(layout.terms, ats, strict=True)}
    arrays = [given[at] for at in range(len(layout.roots))]
    for at, array in enumerate(arrays):  # outputs that shared an array, and differ under other parameters
        if any(array is earlier for earlier in arrays[:at]):
            arrays[at] = np.empty(shape)
    if any(array.shape != shape or array.dtype != np.float64 for array in arrays):
        raise ValueError(f"out= holds arrays of shape {out.total.shape}; this batch has shape {shape}")
    return [array.reshape(-1) for array in arrays], out.ok.reshape(-1)


class ReasonCounter:
    """Counts the reasons for which rows of one Program are bad; what it needs to find out is generated once."""

    def __init__(self, program: Program) -> None:
        self.program = program
        bound = program.bind()
        self._guards = bound.guards()
        roots = [guard.node for guard in self._guards]
        code = emit(bound, roots, Spelling(OPERATIONS, DEFINED, format_literal))
        self._tables = [np.asarray(table) for table in code.tables.values()]
        names = [*(f"x{i}" for i in range(len(program.inputs))), *code.tables, "zero", "one", "largest_exponent"]
        held = "".join(f"{code.texts[root]}, " for root in roots)
        self._holds = build_function("holds", names, [*code.lines, f"return ({held})"], NAMES)

    def __call__(self, inputs: Mapping[str, Any]) -> Counter[str]:
        """Return how many of these rows, all of them bad, are so for which reason."""
        name = self.program.name
        arguments, exact, shape = gather(
            self.program, collect_columns(self.program, inputs), lambda *c: convert_column(name, *c)
        )
        left = np.ones(shape, bool)
        found: Counter[str] = Counter()
        for column, fine in exact.items():
            _count_reason(
                found, f"{column} is not a number or bool that a float holds exactly", left, ~np.asarray(fine)
            )
        for argument, (column, field) in zip(arguments, self.program.inputs.items(), strict=True):
            if field.kind == "number" and column not in self.program.terminal:
                _count_reason(found, f"{column} is NaN", left, np.isnan(argument))
        with np.errstate(all="ignore"):
            holds = self._holds(*arguments, *self._tables, 0.0, 1.0, FLOATS["float64"].exponent)
        for guard, held in zip(self._guards, holds, strict=True):
            _count_reason(found, f"{guard.where} {guard.why}", left, np.logical_not(held))
        _count_reason(found, "another reason", left, True)
        return found


def _count_reason(found: Counter[str], reason: str, left: Any, rows: Any) -> None:
    """Count the rows that are left and bad for a reason; they are left no more."""
    hit = left & rows
    number = int(np.count_nonzero(hit))
    if number:
        found[reason] += number
        left &= ~hit
