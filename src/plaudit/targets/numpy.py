"""The `numpy` target: a batch of columns in chunks that stay in the cache, float64, bit for bit what Python gives."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plaudit.errors import TargetError
from plaudit.language.field import LARGEST_WHOLE, Field
from plaudit.language.program import Program
from plaudit.targets.array import FUNCTIONS, Generated, as_array, first_bad, gather, generate, wrong_dtype
from plaudit.targets.compiled import Compiled
from plaudit.targets.floats import FLOATS
from plaudit.targets.layout import Layout
from plaudit.targets.rows import columns
from plaudit.targets.scores import Scores

CHUNK = 16_384
"""Rows at a time: 128 KiB a column, so that intermediate results stay in the cache."""

Array = NDArray[Any]


def take(table: Array, index: Array) -> Array:
    """Return the entries of a table at positions that are whole numbers."""
    picked: Array = table[np.asarray(index).astype(np.intp)]
    return picked


def whole(column: Array) -> Any:
    """Return whether each entry is a whole number."""
    return True if np.asarray(column).dtype.kind in "iub" else column == np.floor(column)


NAMES: dict[str, Any] = {name: getattr(np, name) for name in FUNCTIONS} | {"take": take, "whole": whole}


class NumpyReward(Compiled):
    """A reward compiled to NumPy: columns in, `Scores` of columns out."""

    def __init__(self, program: Program, *, guard: bool = True, on_bad: str = "raise", chunk: int = CHUNK) -> None:
        """Compile `program`; without `guard`, declared ranges are not checked."""
        super().__init__(program, guard=guard, on_bad=on_bad, chunk=chunk)
        if chunk < 1:
            raise TargetError(f"chunk={chunk} must be at least 1")
        self.chunk = chunk
        self._bound = program.bound()
        self._default = generate(self._bound, guard=guard, names=NAMES, inline=True)

    def __call__(
        self, inputs: Any, params: Mapping[str, float | bool] | None = None, *, out: Scores | None = None
    ) -> Scores:
        """Return the scores of a batch; `out`, scores of an earlier call of this shape, is written over."""
        arguments, exact, shape = gather(self.program, columns(self.program, inputs), self._convert)
        made = self._default if params is None else self._general
        numbers = [] if params is None else list(self.program.values(params).values())
        tables = [np.asarray(table) for table in made.tables]
        fixed = [*numbers, *made.constants, *tables, 0.0, 1.0, FLOATS["float64"].exponent]
        size = int(np.prod(shape, dtype=np.int64))
        flat = [array.reshape(-1) if array.shape else array for array in arguments]
        checks = [condition.reshape(-1) if condition.shape else condition for condition in exact.values()]
        outputs, ok = buffers(made.layout, size, shape, out)
        for start in range(0, size, self.chunk):
            rows = slice(start, min(start + self.chunk, size))
            with np.errstate(all="ignore"):
                *results, fine = made.function(*(a[rows] if a.shape else a for a in flat), *fixed)
            for condition in checks:
                fine = fine & (condition[rows] if condition.shape else condition)
            for output, result in zip(outputs, results, strict=True):
                output[rows] = result
            ok[rows] = fine
            if not np.all(fine):
                self._bad(flat, outputs, ok, rows, params, exact)
        shaped = [output.reshape(shape) for output in outputs]
        return made.layout.named(shaped, ok.reshape(shape))

    def _bad(
        self,
        flat: Sequence[Array],
        outputs: Sequence[Array],
        ok: Array,
        rows: slice,
        params: Mapping[str, float | bool] | None,
        exact: Mapping[str, Array],
    ) -> None:
        """Raise for the first bad row of a chunk, or mask all of them."""
        bad = np.flatnonzero(~ok[rows])
        if self.on_bad == "raise":
            bound = self._bound if params is None else self.program.bound(params)
            raise first_bad(bound, flat, rows.start + int(bad[0]), guard=self.guard, exact=exact)
        for output in outputs:
            output[rows][bad] = np.nan

    @cached_property
    def _general(self) -> Generated:
        """The function that takes parameters as further arguments, made when first needed."""
        return generate(self.program, guard=self.guard, names=NAMES, inline=True)

    def _convert(self, name: str, field: Field, value: Any) -> tuple[Array, Array | None]:
        return convert(self.program.name, name, field, value)


def convert(reward: str, name: str, field: Field, value: Any) -> tuple[Array, Array | None]:
    """Return a column as float64, flags or positions, and where it was exact; None where it always is."""
    if isinstance(value, str) and field.kind == "category" and value in field.labels:
        return np.asarray(field.labels.index(value)), None  # a default
    column = as_array(reward, name, field, value)
    kind = column.dtype.kind
    if column.size == 0 and kind == "f":
        return column.astype({"number": np.float64, "flag": np.bool_, "category": np.intp}[field.kind]), None
    if field.kind == "category":
        if kind not in "iu":
            raise wrong_dtype(reward, name, field, column.dtype)
        return column, None
    if field.kind == "flag":
        if kind == "b":
            return column, None
        if kind not in "iuf":
            raise wrong_dtype(reward, name, field, column.dtype)
        return column != 0, (column == 0) | (column == 1)
    if kind == "f":
        return column.astype(np.float64, copy=False), None
    if kind not in "iu":
        raise wrong_dtype(reward, name, field, column.dtype)
    exact = None if column.dtype.itemsize < 8 else (column <= LARGEST_WHOLE) & (column >= -LARGEST_WHOLE)
    return column.astype(np.float64), exact


def buffers(layout: Layout, size: int, shape: tuple[int, ...], out: Scores | None) -> tuple[list[Array], Array]:
    """Return flat arrays to write outputs and `ok` to: new ones, or those of `out`."""
    if out is None:
        return [np.empty(size) for _ in layout.roots], np.empty(size, np.bool_)
    places: dict[int, Array] = {layout.total: out.total}
    for part, ats in ((out.values, layout.values), (out.scores, layout.scores)):
        places |= {at: part[term] for term, at in zip(layout.terms, ats, strict=True)}
    arrays = [places[at] for at in range(len(layout.roots))]
    for at, array in enumerate(arrays):  # outputs that shared an array, and differ under other parameters
        if any(array is earlier for earlier in arrays[:at]):
            arrays[at] = np.empty(shape)
    if any(array.shape != shape or array.dtype != np.float64 for array in arrays):
        raise ValueError(f"out= holds arrays of shape {out.total.shape}; this batch has shape {shape}")
    return [array.reshape(-1) for array in arrays], out.ok.reshape(-1)
