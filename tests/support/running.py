"""One batch of columns through any target, and NumPy arrays back."""

from contextlib import contextmanager
from importlib.util import find_spec

import numpy as np
import pytest

from plaudit import Scores
from plaudit.targets.compiled import convert_scores
from plaudit.targets.inputs import list_slots
from plaudit.testing.rows import as_inputs
from plaudit.testing.runners import JAX_ROWS
from support.frames import as_frame, score_frame
from support.strategies import BAD

TARGETS = ("python", "numpy", "numba", "jax", "torch")
"""Targets that are called."""
BATCHES = TARGETS[1:]
SCORING = (*TARGETS, "polars")
"""Targets that `scored` takes."""
GRADIENTS = ("jax", "torch")
EXTRAS = {"numba": "fast", "jax": "jax", "torch": "torch", "polars": "polars"}


def need(target):
    """Return the library of a target; skip the test, loudly, where it is not installed."""
    if target in EXTRAS:
        return pytest.importorskip(target, reason=f"needs plaudit[{EXTRAS[target]}]")
    return np


def mark_numba_slow(targets):
    """Return targets for `parametrize`, with Numba in `make soak` only: it takes a second to compile a case."""
    return [pytest.param(each, marks=pytest.mark.slow if each == "numba" else ()) for each in targets]


def installed(target):
    """Return whether the library of a target is there."""
    return target not in EXTRAS or find_spec(target) is not None


@contextmanager
def wide(target):
    """Let JAX have float64 for a while."""
    if target != "jax":
        yield
        return
    jax = need("jax")
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        yield


def options(target):
    """Return what keeps a target quick in a test: Numba compiles twice as fast for one core."""
    return {"parallel": False} if target == "numba" else {}


def given(target, columns):
    """Return columns as arrays of the target's own."""
    library = need(target)
    if target == "jax":
        return {name: library.numpy.asarray(array) for name, array in columns.items()}
    if target == "torch":
        return {name: library.as_tensor(np.array(array)) for name, array in columns.items()}
    return columns


def scored(reward, target, columns, *, params=None, **settings):
    """Return the scores of a batch on `target`, as NumPy arrays; bad rows are masked unless told otherwise."""
    settings = {"on_bad": "mask", **options(target), **settings}
    need(target)
    if target == "python":
        return by_row(reward, columns, params=params, **settings)
    columns = {name: np.asarray(array) for name, array in columns.items()}
    if target == "polars":
        return score_frame(reward, as_frame(reward, columns), params=params, **settings)
    double = any(array.dtype == np.float64 for array in columns.values())
    compiled = reward.compile(target, **settings)
    with wide(target if double else ""):
        if target != "jax" or (rows := count_rows(reward, columns)) is None:
            return plain(compiled(given(target, columns), params))
        filled = {name: np.resize(array, (JAX_ROWS, *array.shape[1:])) for name, array in columns.items()}
        return convert_scores(compiled(filled, params), lambda part: np.asarray(part)[:rows])


def count_rows(reward, columns):
    """Return how many rows columns have, up to `JAX_ROWS`; None where they have more, or no or several batch axes."""
    axes = {slot.column: len(slot.field.shape) for slot in list_slots(reward.program)}
    shapes = {array.shape[: array.ndim - axes.get(name, 0)] for name, array in columns.items()}
    (shape,) = shapes if len(shapes) == 1 else ((),)
    return shape[0] if len(shape) == 1 and 0 < shape[0] <= JAX_ROWS else None


def by_row(reward, columns, *, params=None, **settings):
    """Return the scores of a batch on the `python` target, one row after the other."""
    compiled = reward.compile("python", **settings)
    columns = {name: np.asarray(array) for name, array in columns.items()}
    labels = {place.column: place.field.labels for place in list_slots(reward.program)}
    size = max((len(array) for array in columns.values()), default=1)
    found = [
        compiled(as_inputs({name: _cell(labels.get(name), array[i]) for name, array in columns.items()}), params)
        for i in range(size)
    ]
    terms = reward.program.terms
    return Scores(
        np.array([one.total for one in found]),
        {term: np.array([one.values[term] for one in found]) for term in terms},
        {term: np.array([one.scores[term] for one in found]) for term in terms},
        np.array([one.ok for one in found]),
    )


def _cell(labels, value):
    if labels:
        return labels[value] if 0 <= value < len(labels) else BAD
    return tuple(value.tolist()) if value.ndim else value.item()


def plain(scores):
    """Return scores as NumPy arrays."""

    def array(value):
        return value.detach().cpu().numpy() if hasattr(value, "detach") else np.asarray(value)

    values = {name: array(value) for name, value in scores.values.items()}
    return Scores(array(scores.total), values, {k: array(v) for k, v in scores.scores.items()}, array(scores.ok))
