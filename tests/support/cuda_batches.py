"""Rewards as CUDA, compiled as C++ and run on batches: the row function is the one that the kernels call."""

import ctypes

import numpy as np

from plaudit import Scores
from support.c_compilers import compile_text

DTYPES = {"double": np.float64, "float": np.float32, "bool": np.bool_, "int": np.int32}
LOOP = """
extern "C" void run(const {prefix}_batch *batch);
extern "C" void run(const {prefix}_batch *batch) {{ {prefix}_score_rows(batch); (void){prefix}_explain(0); }}
"""


class CudaFunction:
    """A reward that was compiled as CUDA, called on arrays by the names of a batch."""

    def __init__(self, made, *, language="g++", flags=("-O1",)):
        self.made = made
        text = made.header + LOOP.format(prefix=made.prefix)
        library = compile_text(text, language=language, flags=("-shared", "-fPIC", *flags))
        self._run = ctypes.CDLL(str(library)).run
        self._run.restype = None

    def __call__(self, arrays, *, rows):
        """Score the rows: what is in `arrays` is read, written, or both."""
        batch = np.array(self.made.describe_batch(arrays, rows=rows), np.int64)
        self._run(ctypes.c_void_p(batch.ctypes.data))

    def score(self, columns, *, params=None):
        """Return the scores of a batch of columns; states are read as other columns are."""
        rows = len(next(iter(columns.values()))) if columns else 1
        arrays = convert_columns(self.made, columns)
        if params is not None and self.made.bound.params:
            arrays["knobs"] = np.frombuffer(self.made.pack_knobs(params), np.uint8)
        arrays |= empty_outputs(self.made, rows)
        self(arrays, rows=rows)
        terms = self.made.program.terms
        values, scores = ({term: arrays[f"out.{part}.{term}"] for term in terms} for part in ("values", "scores"))
        return Scores(arrays["out.total"], values, scores, arrays["out.ok"])


def convert_columns(made, columns):
    """Return the columns of a batch as the arrays that a header reads."""
    kinds = {array.name: array.kind for array in made.arrays}
    found = {}
    for name, column in columns.items():
        state = f"state.{name.removeprefix('prev.')}"
        place = state if name.startswith("prev.") and state in kinds else f"in.{name}"
        found[place] = np.ascontiguousarray(column).astype(DTYPES[kinds[place]])
    return found


def empty_outputs(made, rows):
    """Return an array for every output, filled with what no kernel writes."""
    outputs = [array for array in made.arrays if array.name.startswith("out.")]
    return {array.name: np.full(rows, array.kind != "bool" and -7, DTYPES[array.kind]) for array in outputs}
