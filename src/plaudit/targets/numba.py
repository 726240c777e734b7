"""The `numba` target: the very code of the `python` target, compiled to machine code and run on every core."""

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numba
import numpy as np

from plaudit.language import nodes as n
from plaudit.language.program import PYTHON_OPERATIONS, Carried, Program, find_reachable
from plaudit.language.static import list_open_guards
from plaudit.targets.array import gather_columns
from plaudit.targets.compiled import Compiled, Layout, Scores
from plaudit.targets.diagnose import diagnose_first_bad
from plaudit.targets.emit import SCALAR, SCALAR_NAMES, Code, build_function, emit
from plaudit.targets.inputs import collect_columns, find_places, list_columns
from plaudit.targets.numpy import allocate_buffers, convert_column, convert_state, pick
from plaudit.targets.roll import (
    REDUCTIONS,
    AllTrue,
    AnyTrue,
    Constants,
    Entries,
    Largest,
    Params,
    Rolled,
    Smallest,
    Sum,
    SumOnto,
    roll,
)
from plaudit.targets.states import carry, join_state, list_state_outputs, start_episodes

_OWN = [kind for kind in n.FUNCTIONS if n.split_function(kind)[0] == "plaudit"]
_NAMES = {
    **SCALAR_NAMES,
    **{n.split_function(kind)[1]: numba.njit(PYTHON_OPERATIONS[kind]) for kind in _OWN},
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
    "numba": numba,
}
"""As in Python, but for rounding, as Numba's own returns 64-bit integers, which overflow; and for powers."""


@numba.njit
def _raise_to_power(base: float, exponent: float) -> float:
    """Return `plaudit.language.program.power`; here an overflow is no error."""
    return math.pow(base, exponent) if base > 0 or (base == 0 and exponent > 0) else 1.0


_NAMES["pow"] = _raise_to_power


class Loop(NamedTuple):
    """A compiled loop over rows, and what it writes."""

    layout: Layout
    run: Any
    states: tuple[Carried, ...]


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
        return self._score(self._default if params is None else self._general, inputs, params, out)[0]

    def step(
        self, inputs: Any, state: Mapping[str, Any], *, reset: Any = None, params: Mapping[str, Any] | None = None
    ) -> tuple[Scores, dict[str, Any]]:
        """Return the scores of a step, and the state after it, as `Compiled.step` says."""
        before = start_episodes(self.program, state, reset, np, convert_state)
        made = self._stepping if params is None else self._general_stepping
        scores, computed = self._score(made, join_state(self.program, inputs, before), params)
        return scores, carry(self.program, computed, before, scores.ok, np)

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
        columns = (_spread(array, shape, size) for array in found.arguments)
        loop(size, *columns, *numbers, *outputs, *states, ok)
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

    @cached_property
    def _default(self) -> Loop:
        return self._build_loop(self.program.bind())

    @cached_property
    def _general(self) -> Loop:
        """The loop that takes parameters as further arguments, made when first needed."""
        return self._build_loop(self.program)

    @cached_property
    def _stepping(self) -> Loop:
        """The loop that computes states too, made when first needed."""
        return self._build_loop(self.program.bind(), states=True)

    @cached_property
    def _general_stepping(self) -> Loop:
        return self._build_loop(self.program, states=True)

    def _build_loop(self, program: Program, *, states: bool = False) -> Loop:
        """Return a compiled loop over rows: inputs, parameters, outputs, states and `ok` as arrays."""
        layout = Layout.of(program, clamped=False)
        carried = list_state_outputs(program) if states else ()
        entries = [at for each in carried for at in each]
        rolled = roll(program, [*layout.roots, *entries], list_open_guards(program, ranges=self.guard))
        written = _LoopWriter(program, rolled)
        code = written.code
        outputs = [f"o{i}" for i in range(len(layout.roots))]
        fine = " and ".join(written.tests) or "True"
        texts = [code.texts[root] for root in rolled.roots]
        writes = [f"{o}[i] = {text}" for o, text in zip(outputs, texts[: len(outputs)], strict=True)]
        targets = [f"s{k}[{j}, i]" for k, each in enumerate(carried) for j in range(len(each))]
        writes += [f"{target} = {text}" for target, text in zip(targets, texts[len(outputs) :], strict=True)]
        masks = [f"{o}[i] = nan" for o in outputs]
        body = [*written.reads, *code.lines, f"if {fine}:", *_indent([*writes, "ok[i] = True"])]
        body += ["else:", *_indent([*masks, "ok[i] = False"])] if written.tests else []
        arguments = ["size", *written.columns, *(f"p{i}" for i in range(len(program.params)))]
        lines = ["for i in numba.prange(size):", *_indent(body)]
        tables = {name: np.asarray(table) for name, table in (code.tables | written.vectors).items()}
        results = [*outputs, *(f"s{k}" for k in range(len(carried))), "ok"]
        made = build_function("loop", [*arguments, *results], lines, {**_NAMES, **tables})
        compiled = numba.njit(made, parallel=self.parallel, error_model="numpy", nogil=True)
        return Loop(layout, compiled, tuple(program.states.values()) if states else ())


class _LoopWriter:
    """Writes rolled nodes for one row, `i`: scalars as Python does, and a loop over `j` for each reduction."""

    def __init__(self, program: Program, rolled: Rolled) -> None:
        self.program = replace(program, nodes=rolled.nodes)
        self.rolled = rolled
        self.code = Code()
        self.columns: list[str] = []
        self.reads: list[str] = []
        self.vectors: dict[str, tuple[Any, ...]] = {}
        self._is_vector = rolled.find_vectors()
        self._name_inputs()
        for at, node in enumerate(rolled.nodes):
            if isinstance(node, REDUCTIONS):
                self._write_reduction(at, node)
        self.tests: list[str] = []
        for test in rolled.conditions:
            if len(test.sources) > 1:
                self._write_loop(f"t{test.node}", "True", test.node, "{0} and {1}")
                self.tests.append(f"t{test.node}")
        single = [test.node for test in rolled.conditions if len(test.sources) == 1]
        emit(self.program, [*rolled.roots, *single], SCALAR, self.code)
        self.tests += [self.code.texts[at] for at in single]

    def _name_inputs(self) -> None:
        """Give columns, inputs, constants and parameters their texts, those of vectors for the entry `j`."""
        names, places = list(self.program.inputs), find_places(self.program)
        for column in list_columns(self.program):
            if column.whole:
                self.columns.append(f"a{places[column.slots[0].name][0]}")
                continue
            for slot in column.slots:
                at = names.index(slot.name)
                self.columns.append(f"a{at}")
                self.reads.append(f"x{at} = a{at}[i]" if slot.field.kind == "flag" else f"x{at} = float(a{at}[i])")
        params = {name: f"p{i}" for i, name in enumerate(self.program.params)}
        for at, node in enumerate(self.rolled.nodes):
            match node:
                case n.Input(name) if name in places:
                    self.code.texts[at] = "a{}[{}, i]".format(*places[name])
                case Entries(entries):
                    array, picked = f"a{places[entries[0]][0]}", [places[name][1] for name in entries]
                    first, whole = picked[0], picked == list(range(picked[0], picked[0] + len(picked)))
                    index = (f"j + {first}" if first else "j") if whole else f"{self._keep(tuple(picked))}[j]"
                    self.code.texts[at] = f"{array}[{index}, i]"
                case Constants(values):
                    self.code.texts[at] = f"{self._keep(values)}[j]"
                case Params(joined):
                    self.code.texts[at] = f"({', '.join(params[name] for name in joined)})[j]"

    def _keep(self, values: tuple[Any, ...]) -> str:
        known = {repr(kept): name for name, kept in self.vectors.items()}
        name = known.get(repr(values), f"k{len(self.vectors)}")
        self.vectors[name] = values
        return name

    def _write_reduction(self, at: int, node: n.Node) -> None:
        """Write the loop of one reduction."""
        match node:
            case SumOnto(start, vector):
                emit(self.program, [start], SCALAR, self.code)
                self._write_loop(f"r{at}", self.code.texts[start], vector, "{0} + {1}")
            case AllTrue(vector) | AnyTrue(vector):
                word = "and" if isinstance(node, AllTrue) else "or"
                self._write_loop(f"r{at}", repr(word == "and"), vector, f"{{0}} {word} {{1}}")
            case Sum(vector) | Smallest(vector) | Largest(vector):
                template = "{0} + {1}" if isinstance(node, Sum) else SCALAR.operations[_ONE_BY_ONE[type(node)]]
                self._write_loop(f"r{at}", "", vector, template)
        self.code.texts[at] = f"r{at}"

    def _write_loop(self, name: str, start: str, vector: int, template: str) -> None:
        """Write lines after which `name` is what `template` makes of `start`, or of the first entry, and the others."""
        nodes = self.rolled.nodes
        inside = [at for at in find_reachable(nodes, [vector]) if at in self._is_vector]
        outside = {operand for at in inside for operand in n.operands(nodes[at])} - self._is_vector
        emit(self.program, sorted(outside), SCALAR, self.code)
        for at in outside:
            if not self.code.texts[at].isidentifier() and not isinstance(nodes[at], n.Const):
                self.code.lines.append(f"s{at} = {self.code.texts[at]}")
                self.code.texts[at] = f"s{at}"
        body = Code(texts=dict(self.code.texts), tables=self.code.tables, table_names=self.code.table_names)
        emit(self.program, [vector], SCALAR, body)
        entry = body.texts[vector]
        count = self.rolled.count_entries(vector)
        if not start:
            self.code.lines += ["j = 0", *body.lines, f"{name} = {entry}"]
        else:
            self.code.lines.append(f"{name} = {start}")
        self.code.lines.append(f"for j in range({0 if start else 1}, {count}):")
        self.code.lines += _indent([*body.lines, f"e = {entry}", f"{name} = {template.format(name, 'e')}"])


_ONE_BY_ONE: dict[type[n.Node], type[n.Node]] = {Smallest: n.Min, Largest: n.Max}


def _spread(array: Any, shape: tuple[int, ...], size: int) -> Any:
    """Return a column for every row, and of a vector with its entries first."""
    if array.ndim > len(shape):
        return np.ascontiguousarray(np.broadcast_to(array, (len(array), *shape))).reshape(len(array), size)
    return np.broadcast_to(array, shape).reshape(-1) if array.shape else np.full(size, array)


def _indent(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]
