"""A reward as JavaScript: an ES module that needs nothing else, and declarations for TypeScript."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib.resources import files
from typing import Any, NoReturn

from plaudit.errors import TargetError
from plaudit.language.program import Guard, Program
from plaudit.language.shapes import list_entries
from plaudit.language.static import analyse_program, list_open_guards
from plaudit.targets.compiled import About, Compiled, Layout
from plaudit.targets.diagnose import find_owner
from plaudit.targets.inputs import InputColumn, format_range, list_columns
from plaudit.targets.javascript.declarations import format_declarations
from plaudit.targets.javascript.writing import format_json, format_number, format_object, write_evaluator, write_kernel
from plaudit.targets.states import list_state_outputs

_HOLDS = {"number": "numbers", "flag": "bools", "category": "positions of a category"}


class JavaScriptReward(Compiled):
    """A reward compiled to JavaScript; it is text, and runs nothing itself.

    `module` is an ES module: `score(row, knobs)` for one row, `scoreBatch(columns, knobs, out)` for typed arrays, and
    `name`, `version`, `fingerprint`, `defaults` (the knobs) and `docs` (the terms' docstrings). `declarations` are its
    types for TypeScript. With `on_bad="mask"` a bad row is NaN, unless a call asks for an error: `{onBad: "raise"}`.
    """

    def __init__(
        self, program: Program, *, guard: bool = True, on_bad: str = "raise", about: About | None = None
    ) -> None:
        """Compile `program`; without `guard`, declared ranges are not checked."""
        super().__init__(program, guard=guard, on_bad=on_bad, about=about)
        self.about = about or About(program.name)
        _ = self.module  # what JavaScript cannot express is refused now

    @cached_property
    def module(self) -> str:
        """The text of the module."""
        program = self.program
        constants = {
            "COLUMNS": [_describe_column(program, column) for column in list_columns(program)],
            "SHOWN": list(program.inputs),
            "KNOB_VECTORS": [
                [knob, {"shape": shape, "entries": list_entries(shape)}]
                for knob, shape in program.vector_params.items()
            ],
            "GUARDS": [
                *(_describe_guard(program, guard, is_range=True) for guard in (program.ranges if self.guard else ())),
                *(_describe_guard(program, guard, is_range=False) for guard in program.value_guards),
            ],
            "TERMS": program.terms,
            "ADJUSTMENTS": program.adjustments,
            "CARRIED": [
                {"name": name, "shape": carried.field.shape, "reset": carried.reset}
                for name, carried in program.states.items()
            ],
            "ON_BAD": self.on_bad,
        }
        docs = {term: format_json(self.about.docs.get(term, "")) for term in program.terms}
        knobs = {knob: format_number(value) for knob, value in program.params.items()}
        parts = [
            "// A reward of plaudit, as an ES module. It was generated: change the reward, and export it again.",
            f"export const name = {format_json(program.name)};",
            f"export const version = {format_json(self.about.version)};",
            f"export const fingerprint = {format_json(self.about.fingerprint)};",
            f"export const defaults = Object.freeze({format_object(knobs)});",
            f"export const docs = Object.freeze({format_object(docs)});",
            "",
            *(f"const {constant} = {format_json(value)};" for constant, value in constants.items()),
            "",
            *self._write_kernels(),
            write_evaluator("diagnose", program, self._list_diagnosed()),
            files(__package__).joinpath("runtime.js").read_text(encoding="utf-8"),
        ]
        if program.states:
            entries = [at for each in list_state_outputs(program) for at in each]
            parts += [write_evaluator("carry", program, {"entries": entries}), "export { initialState, step };\n"]
        return "\n".join(parts)

    @cached_property
    def declarations(self) -> str:
        """The types of the module, for TypeScript: a file of the same name that ends in .d.ts."""
        return format_declarations(self.program)

    @cached_property
    def _guards(self) -> tuple[Guard, ...]:
        return self.program.guards(ranges=self.guard)

    def _list_diagnosed(self) -> Mapping[str, list[int]]:
        """Return what an error asks for: the conditions, the scores of terms, and states after the step."""
        outputs = self.program.outputs
        return {
            "held": [guard.node for guard in self._guards],
            "scores": [outputs[f"{term}.score"] for term in self.program.terms],
            "states": [outputs[name] for name in _list_state_names(self.program)],
        }

    def _write_kernels(self) -> list[str]:
        """Return the code that scores with the declared knobs, which are constants in it, and with any others."""
        bound = self.program.bind()
        guards = list_open_guards(bound, ranges=self.guard)
        fixed = _write_kernel("FIXED", bound, guards, analyse_program(bound, ranges=self.guard).defined)
        if not self.program.params:
            return [fixed, "const GENERAL = FIXED;\n"]
        return [fixed, _write_kernel("GENERAL", self.program, [guard.node for guard in self._guards])]

    def step(self, inputs: Any, state: Any, *, reset: Any = None, params: Any = None) -> NoReturn:
        """Refuse: the module carries states, and Python runs no module."""
        raise TargetError("JavaScript runs elsewhere: call step(row, state) of the module.")

    def __repr__(self) -> str:
        return f"JavaScriptReward({self.program.name}@{self.about.version})"


def _write_kernel(name: str, program: Program, guards: Sequence[int], defined: frozenset[int] = frozenset()) -> str:
    """Return a kernel, and how its outputs are put together as scores and taken apart again."""
    layout = Layout.of(program, clamped=False)
    values, scores = (
        format_object({term: f"outputs[{at}]" for term, at in zip(layout.terms, ats, strict=True)})
        for ats in (layout.values, layout.scores)
    )
    return "\n".join(
        [
            write_kernel(f"run{name.title()}", program, layout.roots, guards, defined=defined),
            f"const {name} = {{",
            f"  run: run{name.title()},",
            f"  outputs: {len(layout.roots)},",
            f"  arrange: (outputs, ok) => ({{total: outputs[0], values: {values}, scores: {scores}, ok}}),",
            f"  takeApart: (out) => [{', '.join(map(_format_place, layout.names))}],",
            "};\n",
        ]
    )


def _format_place(output: str) -> str:
    """Return where scores hold an output."""
    if output == "total":
        return "out.total"
    term, _, part = output.rpartition(".")
    return f"out.{part}s[{format_json(term)}]"


def _list_state_names(program: Program) -> list[str]:
    return [name for carried in program.states.values() for name in carried.list_names("curr")]


def _describe_column(program: Program, column: InputColumn) -> dict[str, Any]:
    slot, field = column.slots[0], column.slots[0].field
    declared = [field.low, field.high, *field.numbers] if field.outside != "allow" else []
    return {
        "name": column.name,
        "key": slot.key,
        "kind": field.kind,
        "holds": _HOLDS[field.kind],
        "shape": field.shape,
        "size": max(len(field.entries), 1),
        "entries": field.entries,
        "labels": field.labels,
        "other": field.other,
        "missing": field.missing,
        "rest": field.at_rest,
        "allowed": ", ".join(f"{number:g}" for number in field.numbers),
        "range": format_range(field) + (f" {field.unit}" if field.unit else ""),
        "declared": [number for number in declared if number is not None],
        "slots": [
            {
                "name": each.name,
                "entry": each.entry,
                "terminal": each.name in program.terminal,
                "counter": each.name in program.counters,
            }
            for each in column.slots
        ],
    }


def _describe_guard(program: Program, guard: Guard, *, is_range: bool) -> dict[str, Any]:
    """Return what to say when a condition does not hold, as `RowDiagnosis` says it."""
    where = guard.where
    described: dict[str, Any] = {"where": where, "why": guard.why, "line": guard.line}
    described |= {"input": where if is_range else None, "owner": None, "state": None}
    if is_range:
        return described
    if where in program.outputs and where != "total":
        name = where.removeprefix("curr.")
        field = program.states[name.partition("[")[0]].field
        at = _list_state_names(program).index(where)
        return described | {"state": {"name": name, "at": at, "range": format_range(field)}}
    if where == "total":
        return described | {"owner": ""}
    if where in (*program.terms, *program.states):
        return described | {"owner": f"{find_owner(program, where)} of "}
    return described
