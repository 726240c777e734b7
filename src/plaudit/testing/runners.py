"""Ways to run a compiled reward on a batch: with columns, row by row, or with arrays of a library."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal, NamedTuple

import numpy as np

from plaudit.targets.compiled import Scores, convert_scores
from plaudit.testing.batches import Batch
from plaudit.testing.rows import as_inputs

Bits = Literal["always", "exact", "never"]
"""When numbers must equal Python's to the bit: always, if every operation is exactly rounded, or never."""
Run = Callable[[Any, Batch], Scores]
"""Takes the result of `reward.compile` and a batch; returns the scores of its rows as arrays."""


def run_columns(compiled: Any, batch: Batch) -> Scores:
    """Call a compiled reward with the columns of a batch.

    Args:
        compiled: The result of `reward.compile`.
        batch: The rows to score.

    Returns:
        The scores of the rows, as NumPy arrays.

    Example:
        check_target("mine", run=run_columns)
    """
    return convert_scores(_call(compiled, batch.columns, batch), np.asarray)


def run_rows(compiled: Any, batch: Batch) -> Scores:
    """Call a compiled reward with each row in turn, including None and unknown strings.

    Args:
        compiled: The result of `reward.compile`.
        batch: The rows to score.

    Returns:
        The scores of the rows, as NumPy arrays.

    >>> from plaudit.testing import check_target
    >>> check_target("python", run=run_rows, laws=["comparisons"]).laws[0].outcome
    'kept'
    """
    return join_rows(batch, [_call(compiled, as_inputs(row), batch) for row in batch.rows])


def join_rows(batch: Batch, found: list[Scores]) -> Scores:
    """Join the scores of single rows into those of a batch.

    Args:
        batch: The rows that were scored.
        found: The scores of each row, in order.

    Returns:
        The scores of the batch, as NumPy arrays.

    Example:
        def run(compiled, batch):
            return join_rows(batch, [compiled(row) for row in batch.rows])
    """
    terms = batch.reward.program.terms
    return Scores(
        np.array([one.total for one in found]),
        {term: np.array([one.values[term] for one in found]) for term in terms},
        {term: np.array([one.scores[term] for one in found]) for term in terms},
        np.array([one.ok for one in found], bool),
    )


JAX_ROWS = 320
"""Batches are padded with their own rows to a multiple of this: JAX compiles every operation for every length.

The longest batch of a law other than the random one has 300 rows."""


def run_jax(compiled: Any, batch: Batch) -> Scores:
    """Call a compiled reward with JAX arrays, in float64 if the batch is."""
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
    """How a target of plaudit is checked by default."""

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
