"""The `numba` target: the very code of the `python` target, compiled to machine code and run on every core.

What was compiled is kept in the user's cache folder, by what it was compiled from, and taken from there by the next
process.
"""

import contextlib
import math
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
from numba.core.caching import FunctionCache

from plaudit.atomic import AtomicFile
from plaudit.caching import make_private_folder
from plaudit.errors import FileError
from plaudit.language import nodes as n
from plaudit.language.program import PYTHON_OPERATIONS, Carried, Program
from plaudit.language.static import list_open_guards
from plaudit.targets.array import gather_columns
from plaudit.targets.compiled import Layout, Scores
from plaudit.targets.diagnose import diagnose_first_bad
from plaudit.targets.emit import SCALAR_NAMES, build_function, format_function
from plaudit.targets.inputs import collect_columns
from plaudit.targets.loops import LoopWriter, indent
from plaudit.targets.numpy import allocate_buffers, convert_column, pick
from plaudit.targets.roll import roll
from plaudit.targets.states import SteppingReward, list_state_outputs

_OWN = [kind for kind in n.FUNCTIONS if n.split_function(kind)[0] == "plaudit"]
_NAMES = {
    **SCALAR_NAMES,
    **{n.split_function(kind)[1]: numba.njit(PYTHON_OPERATIONS[kind]) for kind in _OWN},
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
    "range": range,
    "__name__": __name__,  # a module that Numba can import
}
"""As in Python, but for rounding, as Numba's own returns 64-bit integers, which overflow; and for powers."""


@numba.njit
def _raise_to_power(base: float, exponent: float) -> float:
    """Return `plaudit.language.program.power`; here an overflow is no error."""
    return math.pow(base, exponent) if base > 0 or (base == 0 and exponent > 0) else 1.0


_NAMES["pow"] = _raise_to_power


ROWS_A_THREAD = 8_192
"""Rows that are worth a thread of their own."""


class Loop(NamedTuple):
    """A compiled loop over rows, and what it writes."""

    layout: Layout
    run: Any
    states: tuple[Carried, ...]


class NumbaReward(SteppingReward):
    """A reward compiled to machine code: columns in, `Scores` of columns out, bit for bit what Python gives."""

    library = np

    def __init__(
        self,
        program: Program,
        *,
        guard: bool = True,
        on_bad: str = "raise",
        parallel: bool = True,
        cache: bool = True,
    ) -> None:
        """Compile `program` on the first call; without `guard`, declared ranges are not checked."""
        super().__init__(program, guard=guard, on_bad=on_bad, parallel=parallel, cache=cache)
        self.parallel = parallel
        self.cache = cache
        self.layout = Layout.of(program.bind(), clamped=False)

    def __call__(
        self, inputs: Any, params: Mapping[str, float | bool] | None = None, *, out: Scores | None = None
    ) -> Scores:
        """Return the scores of a batch; `out`, scores of an earlier call of this shape, is written over."""
        return self._score(self._default if params is None else self._general, inputs, params, out)[0]

    def _score(
        self, made: Loop, inputs: Any, params: Mapping[str, float | bool] | None, out: Scores | None = None
    ) -> tuple[Scores, list[Any]]:
        """Return the scores of a batch, and the states after it where `made` computes them, their entries first."""
        name = self.program.name
        given = collect_columns(self.program, inputs)
        found = gather_columns(self.program, given, lambda *c: convert_column(name, *c), np, pick)
        shape, exact = found.shape, found.exact
        size = int(np.prod(shape, dtype=np.int64))
        layout, loop, carried = made
        numbers = [] if params is None else list(self.program.fill_params(params).values())
        outputs, ok = allocate_buffers(layout, size, shape, out)
        states = [np.empty((len(each.reset), size), type(each.reset[0])) for each in carried]
        columns = [_spread(array, shape, size) for array in found.arguments]
        arrays = (*columns, *numbers, *outputs, *states, ok)
        threads = min(numba.get_num_threads(), size // ROWS_A_THREAD) if self.parallel else 1
        _run_on_threads(threads, size, lambda start, end: loop(np.uint64(start), np.uint64(end), *arrays))
        for condition in exact.values():
            fine = np.broadcast_to(condition, shape).reshape(-1)
            ok &= fine
            for output in outputs:
                output[~fine] = np.nan
        if self.on_bad == "raise" and not ok.all():
            bound, bad = self.program.bind(params), int(np.flatnonzero(~ok)[0])
            raise diagnose_first_bad(bound, found.list_entries(), bad, guard=self.guard, exact=exact)
        whole = [state.reshape((len(state), *shape)) for state in states]
        return layout.to_scores([output.reshape(shape) for output in outputs], ok.reshape(shape)), whole

    @staticmethod
    def _convert_state(value: Any, flag: bool) -> Any:
        return np.asarray(value)

    @cached_property
    def _default(self) -> Loop:
        return self._build(self.program.bind())

    def _build(self, program: Program, *, states: bool = False) -> Loop:
        """Return a compiled loop over rows from a start to an end: inputs, parameters, outputs, states and `ok`."""
        layout = Layout.of(program, clamped=False)
        carried = list_state_outputs(program) if states else ()
        entries = [at for each in carried for at in each]
        rolled = roll(program, [*layout.roots, *entries], list_open_guards(program, ranges=self.guard))
        written = LoopWriter(program, rolled)
        code = written.code
        outputs = [f"o{i}" for i in range(len(layout.roots))]
        fine = " and ".join(written.tests) or "True"
        texts = [code.texts[root] for root in rolled.roots]
        writes = [f"{o}[i] = {text}" for o, text in zip(outputs, texts[: len(outputs)], strict=True)]
        targets = [f"s{k}[{j}, i]" for k, each in enumerate(carried) for j in range(len(each))]
        writes += [f"{target} = {text}" for target, text in zip(targets, texts[len(outputs) :], strict=True)]
        masks = [f"{o}[i] = nan" for o in outputs]
        body = [*written.reads, *code.lines, f"if {fine}:", *indent([*writes, "ok[i] = True"])]
        body += ["else:", *indent([*masks, "ok[i] = False"])] if written.tests else []
        arguments = ["start", "end", *written.columns, *(f"p{i}" for i in range(len(program.params)))]
        lines = ["for i in range(start, end):", *indent(body)]  # unsigned: no index from the end is thought of
        tables = {name: np.asarray(table) for name, table in (code.tables | written.vectors).items()}
        results = [*outputs, *(f"s{k}" for k in range(len(carried))), "ok"]
        compiled = _compile_loop([*arguments, *results], lines, tables, keep=self.cache)
        return Loop(layout, compiled, tuple(program.states.values()) if states else ())


def _compile_loop(arguments: list[str], lines: list[str], tables: Mapping[str, Any], *, keep: bool) -> Any:
    """Return a function that Numba compiles at its first call, or has compiled in a process before."""
    path = _write_source(format_function("loop", arguments, lines), tables) if keep else None
    made = build_function("loop", arguments, lines, {**_NAMES, **tables}, path=path)
    compiled = numba.njit(made, error_model="numpy", nogil=True)
    if path is not None:
        compiled._cache = _KeptCode(compiled.py_func)  # type: ignore[no-untyped-call]
    return compiled


def _write_source(text: str, tables: Mapping[str, Any]) -> Path | None:
    """Return a file with the text, named after all that its machine code depends on; None where there is no place.

    Numba keeps machine code beside it, for each type of processor and version of Python.
    """
    folder = make_private_folder("numba")
    if folder is None:
        return None
    values = sorted((name, table.dtype.str, table.tolist()) for name, table in tables.items())
    parts = (text, repr(values), numba.__version__, np.__version__, Path(__file__).read_text(encoding="utf-8"))
    path = folder / f"{sha256(repr(parts).encode()).hexdigest()}.py"
    if path.is_file():
        return path
    try:
        with AtomicFile(path) as file:
            file.file.write(text)
            file.commit()
    except (FileError, OSError):
        return None
    return path


class _KeptCode(FunctionCache):
    """Machine code on disk; where it cannot be read or written, the function is compiled as if there were none."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return what was compiled for a signature, or None."""
        try:
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except Exception:  # a damaged file can fail in any way
            with contextlib.suppress(OSError):
                self.flush()  # type: ignore[no-untyped-call]
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled for a signature."""
        with contextlib.suppress(OSError):
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]


def _run_on_threads(threads: int, size: int, run: Callable[[int, int], object]) -> None:
    """Run a loop over all rows, a part of them on each thread."""
    if threads < 2:
        run(0, size)
        return
    bounds = [size * thread // threads for thread in range(threads + 1)]
    for _ in _get_pool().map(run, bounds, bounds[1:]):
        pass


@cache
def _get_pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(numba.get_num_threads(), "plaudit-numba")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_get_pool.cache_clear)  # threads do not live on in a child


def _spread(array: Any, shape: tuple[int, ...], size: int) -> Any:
    """Return a column for every row, and of a vector with its entries first, read-only as all of them.

    Numba compiles a loop again for arrays that can be written to.
    """
    column: Any
    if array.ndim > len(shape):
        column = np.broadcast_to(array, (len(array), *shape)).reshape(len(array), size)  # as it lies: Numba adapts
    else:
        column = np.broadcast_to(array, shape).reshape(-1) if array.shape else np.full(size, array)
    column.flags.writeable = False
    return column
