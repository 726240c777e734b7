"""Functions and literals of JavaScript. Text of a reward appears only in literals of `format_json`."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from plaudit.language import nodes as n
from plaudit.language.program import Program
from plaudit.targets.emit import INFIX, Spelling, emit
from plaudit.targets.inputs import list_columns
from plaudit.targets.javascript.lookups import find_choices, write_lookups

_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def format_json(value: Any) -> str:
    r"""Return plain data as a literal of ASCII, the same in JavaScript, in TypeScript and inside a script of HTML.

    >>> print(format_json(["</script>", "<!--", "\u2028"]))
    ["\u003c/script\u003e", "\u003c!--", "\u2028"]
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False)
    for character, escaped in _ESCAPES.items():  # outside strings JSON has none of them
        text = text.replace(character, escaped)
    return text


def format_number(value: float | bool) -> str:
    """Return a constant.

    >>> format_number(-100), format_number(True), format_number(float("inf"))
    ('(-100.0)', 'true', 'Infinity')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "(-Infinity)"
    text = repr(float(value))
    return f"({text})" if text.startswith("-") else text


def format_object(values: Mapping[str, str]) -> str:
    """Return an object with code for each value; a key `__proto__` is one like any other where it is computed."""
    return "{" + ", ".join(f"[{format_json(name)}]: {text}" for name, text in values.items()) + "}"


def _format_domain(domain: n.Domain) -> str:
    tests = []
    if domain.low != -math.inf or domain.open_low:
        tests.append(f"{{0}} {'>' if domain.open_low else '>='} {format_number(domain.low)}")
    if domain.high != math.inf or domain.open_high:
        tests.append(f"{{0}} {'<' if domain.open_high else '<='} {format_number(domain.high)}")
    return " && ".join(tests)


_OWN_FUNCTIONS: Mapping[type[n.Node], str] = {
    n.Floor: "roundDown",
    n.Ceil: "roundUp",
    n.Round: "roundHalfToEven",
    n.Sign: "findSign",
    n.Power: "raiseTo",
}
"""Functions of runtime.js, where JavaScript's own differ from Python's."""


def _format_call(kind: type[n.Node], *, safe: bool) -> str:
    """Return a call of the function of that kind; if `safe`, of a harmless argument outside the domain."""
    name = _OWN_FUNCTIONS.get(kind) or f"Math.{n.split_function(kind)[1]}"
    arguments = n.format_slots(kind)
    if safe and kind.domain is not None:
        arguments = f"{_format_domain(kind.domain)} ? {{0}} : {format_number(kind.harmless)}"
    return f"{name}({arguments})"


SPELLING = Spelling(
    operations={
        **{kind: _format_call(kind, safe=True) for kind in n.FUNCTIONS},
        **INFIX,
        n.Not: "(!{0})",
        n.Number: "({0} ? 1.0 : 0.0)",
        n.IsInf: "(Math.abs({0}) === Infinity)",
        n.IsFinite: f"({_format_domain(n.FINITE)})",
        n.Div: "({0} / ({1} !== 0.0 ? {1} : 1.0))",
        n.FloorDiv: "divideDown({0}, {1} !== 0.0 ? {1} : 1.0)",
        n.Mod: "takeModulo({0}, {1} !== 0.0 ? {1} : 1.0)",
        n.Min: "({1} < {0} ? {1} : {0})",
        n.Max: "({1} > {0} ? {1} : {0})",
        n.Eq: "({0} === {1})",
        n.Ne: "({0} !== {1})",
        n.And: "({0} && {1})",
        n.Or: "({0} || {1})",
        n.Select: "({0} ? {1} : {2})",
        n.Clip: "({0} < {1} ? {1} : {0} > {2} ? {2} : {0})",
        n.Item: "{table}[{0} >= 0 && {0} <= {last} ? Math.trunc({0}) : 0]",
    },
    defined={
        **{kind: f"({_format_domain(kind.domain)})" for kind in n.FUNCTIONS if kind.domain is not None},
        **dict.fromkeys((n.Div, n.FloorDiv, n.Mod), "({1} !== 0.0)"),
        n.Item: "({0} >= 0 && {0} <= {last} && {0} === Math.trunc({0}))",
    },
    constant=format_number,
    plain={
        **{kind: _format_call(kind, safe=False) for kind in n.FUNCTIONS if kind.partial},
        n.Div: "({0} / {1})",
        n.FloorDiv: "divideDown({0}, {1})",
        n.Mod: "takeModulo({0}, {1})",
        n.Item: "{table}[{0}]",
    },
    cheap=(n.Lt, n.Le, n.Gt, n.Ge, n.Eq, n.Ne),
)
"""One row at a time: a branch that is not taken costs nothing."""

BRANCHLESS = replace(SPELLING, operations={**SPELLING.operations, n.And: "({0} & {1})", n.Or: "({0} | {1})"})
"""The same, with flags that may be 0 and 1."""


def write_kernel(
    name: str, program: Program, roots: Sequence[int], guards: Sequence[int], *, defined: frozenset[int] = frozenset()
) -> str:
    """Return the function that scores rows of columns, and returns how many of them are bad.

    Partial operations in `defined` are known to be inside their domain. All tests of a row are joined by `&`, without
    a branch: a processor would guess wrong in one row of a few.
    """
    code = emit(program, guards, BRANCHLESS, defined=defined)
    tests = " & ".join(dict.fromkeys(code.texts[guard] for guard in guards)) or "true"
    lookups = write_lookups(program, find_choices(program, roots), code, BRANCHLESS)
    code = emit(program, roots, SPELLING, code, defined=defined)
    return _format_function(
        name,
        ["columns", "p", "outputs", "ok", "rows"],
        [
            *(f"const c{k} = columns[{k}];" for k in range(len(list_columns(program)))),
            *(f"const o{k} = outputs[{k}];" for k in range(len(roots))),
            *_read_knobs(program),
            *_write_tables(code.tables),
            *lookups,
            "let bad = 0;",
            "for (let row = 0; row < rows; row++) {",
            *(f"  {line}" for line in _read_inputs(program, "row")),
            *(f"  const {line};" for line in code.lines),
            *(f"  o{k}[row] = {code.texts[root]};" for k, root in enumerate(roots)),
            f"  const fine = ({tests}) | 0;",
            "  ok[row] = fine;",
            "  bad += 1 - fine;",
            "}",
            "return bad;",
        ],
    )


def write_evaluator(name: str, program: Program, roots: Mapping[str, Sequence[int]]) -> str:
    """Return the function from one row to lists of values, by what they are called."""
    code = emit(program, [at for ats in roots.values() for at in ats], SPELLING)
    lists = [f"{part}: [{', '.join(code.texts[at] for at in ats)}]" for part, ats in roots.items()]
    lines = [
        *(f"const c{k} = x.subarray(STARTS[{k}]);" for k in range(len(list_columns(program)))),
        *_read_inputs(program, "0"),
        *_read_knobs(program),
        *_write_tables(code.tables),
        *(f"const {line};" for line in code.lines),
        f"return {{{', '.join(lists)}}};",
    ]
    return _format_function(name, ["x", "p"], lines)


def _format_function(name: str, arguments: Sequence[str], lines: Sequence[str]) -> str:
    return "\n".join([f"function {name}({', '.join(arguments)}) {{", *(f"  {line}" for line in lines), "}", ""])


def _read_inputs(program: Program, row: str) -> list[str]:
    """Return the lines that read each input from its column; the entries of a vector stand side by side."""
    names = {name: at for at, name in enumerate(program.inputs)}
    lines = []
    for k, column in enumerate(list_columns(program)):
        size = max(len(column.slots[0].field.entries), 1)
        for slot in column.slots:
            place = row if size == 1 else f"{row} * {size} + {slot.entry}"
            flag = " !== 0" if slot.field.kind == "flag" else ""
            lines.append(f"const x{names[slot.name]} = c{k}[{place}]{flag};")
    return lines


def _read_knobs(program: Program) -> list[str]:
    values = program.params.values()
    return [f"const p{k} = p[{k}]{' !== 0' if isinstance(value, bool) else ''};" for k, value in enumerate(values)]


def _write_tables(tables: Mapping[str, Sequence[float | bool]]) -> list[str]:
    return [f"const {name} = [{', '.join(map(format_number, table))}];" for name, table in tables.items()]
