"""The `numba` target: the very code of the `python` target, compiled to machine code and run on every core."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numba
import numpy as np

from plaudit.language import nodes as n
from plaudit.language.program import PYTHON_OPERATIONS, Program
from plaudit.language.static import list_open_guards
from plaudit.targets.array import gather
from plaudit.targets.compiled import Compiled, Layout, Scores
from plaudit.targets.diagnose import diagnose_first_bad
from plaudit.targets.emit import SCALAR, SCALAR_NAMES, build_function, emit
from plaudit.targets.inputs import collect_columns
from plaudit.targets.numpy import allocate_buffers, convert_column

_OWN = [kind for kind in n.FUNCTIONS if n.split_function(kind)[0] == "plaudit"]
_NAMES = {
    **SCALAR_NAMES,
    **{n.split_function(kind)[1]: numba.njit(PYTHON_OPERATIONS[kind]) for kind in _OWN},
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
    "numba": numba,
}
"""As in Python, but for rounding: Numba's own returns 64-bit integers, which overflow."""


class NumbaReward(Compiled):
    """A reward compiled to machine code: columns in, `Scores` of columns out, bit for bit what Python gives."""

    def __init__(self, program: Program, *, guard: bool = True, on_bad: str = "raise", parallel: bool = True) -> None:
        """Compile `program` on the first call; without `guard`, declared ranges are not checked."""
        super().__init__(program, guard=guard, on_bad=on_bad, parallel=parallel)
        self.parallel = parallel
        self.layout = Layout.of(program.bind(), clamped=False)

    def __call__(
        self, inputs: Any, params: Mapping[str, float | bool] | None = None, *, out: Scores | None = None
    ) -> Scores:
        """Return the scores of a batch; `out`, scores of an earlier call of this shape, is written over."""
        name = self.program.name
        arguments, exact, shape = gather(
            self.program, collect_columns(self.program, inputs), lambda *c: convert_column(name, *c)
        )
        size = int(np.prod(shape, dtype=np.int64))
        layout, loop = self._default if params is None else self._general
        numbers = [] if params is None else list(self.program.fill_params(params).values())
        outputs, ok = allocate_buffers(layout, size, shape, out)
        flat = [
            np.broadcast_to(array, shape).reshape(-1) if array.shape else np.full(size, array) for array in arguments
        ]
        loop(size, *flat, *numbers, *outputs, ok)
        for condition in exact.values():
            fine = np.broadcast_to(condition, shape).reshape(-1)
            ok &= fine
            for output in outputs:
                output[~fine] = np.nan
        if self.on_bad == "raise" and not ok.all():
            bound = self.program.bind(params)
            raise diagnose_first_bad(bound, flat, int(np.flatnonzero(~ok)[0]), guard=self.guard, exact=exact)
        return layout.to_scores([output.reshape(shape) for output in outputs], ok.reshape(shape))

    @cached_property
    def _default(self) -> tuple[Layout, Any]:
        return self._build_loop(self.program.bind())

    @cached_property
    def _general(self) -> tuple[Layout, Any]:
        """The loop that takes parameters as further arguments, made when first needed."""
        return self._build_loop(self.program)

    def _build_loop(self, program: Program) -> tuple[Layout, Any]:
        """Return a compiled loop over rows: inputs, parameters, outputs and `ok` as arrays."""
        layout = Layout.of(program, clamped=False)
        guards = list_open_guards(program, ranges=self.guard)
        code = emit(program, [*layout.roots, *guards], SCALAR)
        inputs = [f"x{i}" for i in range(len(program.inputs))]
        outputs = [f"o{i}" for i in range(len(layout.roots))]
        reads = [
            f"x{i} = a{i}[i]" if field.kind == "flag" else f"x{i} = float(a{i}[i])"
            for i, field in enumerate(program.inputs.values())
        ]
        fine = " and ".join(code.texts[at] for at in guards) or "True"
        writes = [f"{o}[i] = {code.texts[root]}" for o, root in zip(outputs, layout.roots, strict=True)]
        masks = [f"{o}[i] = nan" for o in outputs]
        body = [*reads, *code.lines, f"if {fine}:", *_indent([*writes, "ok[i] = True"])]
        body += ["else:", *_indent([*masks, "ok[i] = False"])] if guards else []
        arguments = ["size", *(f"a{i}" for i in range(len(inputs))), *(f"p{i}" for i in range(len(program.params)))]
        lines = ["for i in numba.prange(size):", *_indent(body)]
        tables = {name: np.asarray(table) for name, table in code.tables.items()}
        made = build_function("loop", [*arguments, *outputs, "ok"], lines, {**_NAMES, **tables})
        return layout, numba.njit(made, parallel=self.parallel, error_model="numpy", nogil=True)


def _indent(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]
