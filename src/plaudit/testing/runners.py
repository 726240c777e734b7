"""How a compiled reward is run on a batch: columns in for most targets, row by row, or as arrays of a library."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal, NamedTuple

import numpy as np

from plaudit.targets.compiled import Scores, convert_scores
from plaudit.testing.batches import Batch
from plaudit.testing.rows import as_inputs

Bits = Literal["always", "exact", "never"]
"""Where numbers must be Python's to the bit: always, where every operation is exactly rounded, never."""
Run = Callable[[Any, Batch], Scores]
"""Takes what `reward.compile` returned and a batch; returns the scores of its rows as arrays."""


def run_columns(compiled: Any, batch: Batch) -> Scores:
    """Call a compiled reward with the columns of a batch."""
    return convert_scores(_call(compiled, batch.columns, batch), np.asarray)


def run_rows(compiled: Any, batch: Batch) -> Scores:
    """Call a compiled reward with one row after the other, each as it came: None and unknown strings in it."""
    return join_rows(batch, [_call(compiled, as_inputs(row), batch) for row in batch.rows])


def join_rows(batch: Batch, found: list[Scores]) -> Scores:
    """Return the scores of rows as those of a batch."""
    terms = batch.reward.program.terms
    return Scores(
        np.array([one.total for one in found]),
        {term: np.array([one.values[term] for one in found]) for term in terms},
        {term: np.array([one.scores[term] for one in found]) for term in terms},
        np.array([one.ok for one in found], bool),
    )


JAX_ROWS = 320
"""Batches are filled up with their own rows to a multiple of this: JAX compiles every operation for every length.

The longest batch of a law that is no random one has 300 rows."""


def run_jax(compiled: Any, batch: Batch) -> Scores:
    """Call a compiled reward with arrays of JAX, in float64 where the batch is."""
    import jax

    with _widen(jax) if batch.dtype is np.float64 else nullcontext():
        count = len(batch.rows)
        order = np.arange(count + -count % JAX_ROWS) % max(count, 1)
        columns = {name: jax.numpy.asarray(column[order]) for name, column in batch.columns.items()}
        return convert_scores(_call(compiled, columns, batch), lambda each: np.asarray(each)[..., :count])


def _widen(jax: Any) -> AbstractContextManager[Any]:
    made: AbstractContextManager[Any] = (
        jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64()
    )
    return made


def run_torch(compiled: Any, batch: Batch) -> Scores:
    """Call a compiled reward with tensors."""
    import torch

    columns = {name: torch.as_tensor(np.array(column)) for name, column in batch.columns.items()}
    return convert_scores(_call(compiled, columns, batch), lambda each: np.asarray(each.detach().cpu()))


def _call(compiled: Any, inputs: Mapping[str, Any], batch: Batch) -> Scores:
    found: Scores = compiled(inputs) if batch.params is None else compiled(inputs, batch.params)
    return found


class Running(NamedTuple):
    """How a target of plaudit's is checked unless told otherwise."""

    run: Run
    bits: Bits = "exact"
    options: Mapping[str, Any] = {}


OURS = {
    "python": Running(run_rows, "always"),
    "numpy": Running(run_columns),
    "numba": Running(run_columns, options={"parallel": False}),  # compiled twice as fast
    "jax": Running(run_jax, "never"),
    "torch": Running(run_torch, "never"),
}
