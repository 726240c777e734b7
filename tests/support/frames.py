"""Frames of Polars: columns or rows in, NumPy arrays of scores out."""

import numpy as np
import pytest

from plaudit import Scores
from plaudit.targets.columns import name_columns
from plaudit.targets.inputs import list_slots
from support.strategies import BAD

ENGINES = ("in-memory", "streaming")


def as_frame(reward, columns):
    """Return columns as array targets take them, positions of categories as the strings they stand for."""
    import polars as pl

    labels = {slot.column: slot.field.labels for slot in list_slots(reward.program)}
    size = max((len(array) for array in columns.values()), default=1)
    found = {name: np.broadcast_to(array, (size, *np.shape(array)[1:])) for name, array in columns.items()}
    return pl.DataFrame({name: _series(labels.get(name), array) for name, array in found.items()}, height=size)


def _series(labels, array):
    if labels:
        return [labels[at] if 0 <= at < len(labels) else BAD for at in array]
    return np.ascontiguousarray(array)


def score_frame(reward, frame, *, engine="in-memory", params=None, **options):
    """Return the scores of a frame; null is NaN."""
    pytest.importorskip("polars", reason="needs plaudit[polars]")
    reward = reward.with_params(params) if params else reward
    compiled = reward.compile("polars", **options)
    return as_scores(reward, compiled.select(frame.lazy()).collect(engine=engine))


def as_scores(reward, found):
    """Return the columns of a result as the `Scores` of a batch."""
    names = name_columns(reward.program.terms, reward.program.inputs)

    def column(name):
        return found[names[name]].fill_null(float("nan")).to_numpy()

    return Scores(
        column("total"),
        {term: column(f"{term}.value") for term in reward.program.terms},
        {term: column(f"{term}.score") for term in reward.program.terms},
        found["ok"].to_numpy(),
    )


def to_frame(reward, rows):
    """Return rows, dicts from input to Python value, as a frame: vectors as lists, absent values as null."""
    import polars as pl

    kinds = {slot.column: slot.field for slot in list_slots(reward.program)}
    dtypes = {"number": pl.Float64, "flag": pl.Boolean, "category": pl.String}
    found = {}
    for name, field in kinds.items():
        dtype = dtypes[field.kind]
        for _ in field.shape:
            dtype = pl.List(dtype)
        found[name] = pl.Series([row[name] for row in rows], dtype=dtype, strict=True)
    return pl.DataFrame(found)
