"""Rows of a file scored again in the narrower dtype of its columns, to tell which totals changed by rounding alone."""

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from plaudit.ledger.rescore.rounding import Rounding
from plaudit.rows.arrow import find_entry_type, find_narrow_dtype
from plaudit.rows.scoring import Scored, Scoring
from plaudit.targets.dtypes import estimate_rounding

Numbers = NDArray[np.float64]


def find_old_dtype(scoring: Scoring, totals: pa.DataType | None) -> str | None:
    """Return the dtype, narrower than float64, that old totals were computed in; None where they were not.

    It is that of the column of `totals`; without one, that of the columns that hold floats, if all are narrow.
    """
    if totals is not None:
        return find_narrow_dtype(totals)
    kinds = [find_entry_type(one.type) for one in scoring.found if one.place.field.kind == "number"]
    found = {find_narrow_dtype(kind) for kind in kinds if not pa.types.is_integer(kind)}
    return None if None in found else max(filter(None, found), default=None, key=["float16", "float32"].index)


class NarrowScorer:
    """Scores rows in a narrower dtype: with the new reward and, where old totals are a reward's, with that."""

    def __init__(self, dtype: str, new: Scoring, old: Scoring | None) -> None:
        """Score in `dtype` what `new` and `old` score in float64."""
        self._dtype, self._new, self._old = dtype, new, old

    @cached_property
    def _compiled(self) -> list[Any]:
        rewards = [scoring.reward for scoring in (self._new, self._old) if scoring is not None]
        return [reward.compile("numpy", on_bad="mask", dtype=self._dtype) for reward in rewards]

    def compare(
        self, rounding: Rounding, before: Numbers, after: Numbers, scored: list[Scored], *, file: str, first: int
    ) -> None:
        """Note the rows of `file`, from the number `first` on, whose totals differ in float64 and not in the dtype."""
        totals = [
            np.broadcast_to(compiled(each.columns).total, len(after))
            for compiled, each in zip(self._compiled, scored, strict=True)
        ]
        again, old = totals[0], totals[1] if self._old is not None else before
        alone = (after != before) & (again == old) & np.isfinite(after) & np.isfinite(before)
        if alone.any():
            program, name = self._new.reward.program, Path(file).name
            columns = [column for column in scored[0].columns.values() if column.dtype.kind == "f"]
            numbers = np.column_stack([after, again, *(column.reshape(len(after), -1) for column in columns)])
            room = estimate_rounding(program, self._dtype, numbers)
            rounding.add(lambda at: f"row {first + at:,} of {name}", alone, after - before, room)
