"""The function of a reward in C: what it reads, the checks of a row, the formula, and what it writes.

Locals are x0, x1 … for inputs, p0, p1 … for knobs, v0, v1 … for values that are read repeatedly, t0, t1 … for tables.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from plaudit.language import nodes as n
from plaudit.language.kinds import FLAG, NUMBER, infer_kinds
from plaudit.language.program import Guard, Program
from plaudit.language.static import StaticAnalysis, analyse_program
from plaudit.targets.c.writing import format_number
from plaudit.targets.compiled import FLOATS, Layout
from plaudit.targets.emit import Code, Spelling, emit
from plaudit.targets.states import list_state_outputs

_NAMES: dict[type[n.Node], str] = {n.Abs: "fabs", n.Round: "rint"}
"""What C calls a function that has another name in Python."""
_OWN: dict[type[n.Node], str] = {n.Sign: "sign", n.Power: "power"}
"""Functions that the header brings itself."""


class CategoryItem(n.Item):
    """An entry of a table at the position of a category, which is an `int` in C."""

    __slots__ = ()


class Check(NamedTuple):
    """A condition that a row must meet, and what is said of a row that does not."""

    test: str
    """The condition in C; false where the row is bad."""
    status: str
    """The end of a status' name, or an expression in parentheses that gives the status."""
    text: str
    field: str = ""
    """The input or state that is to blame, by its whole name; empty where a term is."""
    term: str = ""


@dataclass(frozen=True, slots=True)
class Body:
    """The parts of the function, in order."""

    tables: list[str]
    reads: list[str]
    """The names of inputs, `x0` …, and of knobs, `p0` …, that the rest reads."""
    first: list[str]
    ranges: list[Check]
    formula: list[str]
    checks: list[Check]
    layout: Layout
    outputs: list[str]
    """The expression of each output of the layout."""
    states: list[list[str]]
    """What each state is after the step, entry by entry."""


def write_body(program: Program, *, prefix: str, dtype: str, guard: bool) -> Body:
    """Return the parts of the function for a Program, of which parameters may be left open."""
    program = _mark_categories(program)
    exact = dtype == "float64" and not program.params
    known = analyse_program(program, ranges=guard) if exact else StaticAnalysis()
    spelling = build_spelling(prefix, dtype)
    layout, states = Layout.of(program, clamped=False), list_state_outputs(program)
    ranges = program.ranges if guard else ()
    code = emit(program, [each.node for each in ranges], spelling)
    first, code.lines = code.lines, []
    guards = [each for each in program.value_guards if each.node not in known.holds]
    entries = [at for each in states for at in each]
    roots = [*layout.roots, *entries, *(each.node for each in guards)]
    code = emit(program, roots, spelling, code, defined=known.defined - _find_positions(program))
    writer = _CheckWriter(program, code, prefix, dtype)
    checks = [writer.write_range(each) for each in ranges]
    later = [check for each in guards for check in writer.write_value(each)]
    outputs = [code.texts[root] for root in layout.roots]
    after = [[code.texts[at] for at in each] for each in states]
    everything = [*first, *code.lines, *outputs, *(t for each in after for t in each)]
    everything += [text for check in (*checks, *later) for text in (check.test, check.status)]
    used = set(re.findall(r"\b[xpt]\d+\b", "\n".join(everything)))
    types = _find_types(program, dtype)
    return Body(
        [_format_table(name, table, dtype) for name, table in code.tables.items() if name in used],
        sorted(used - code.tables.keys(), key=lambda name: int(name[1:])),
        _declare(first, types),
        checks,
        _declare(code.lines, types),
        later,
        layout,
        outputs,
        after,
    )


def _mark_categories(program: Program) -> Program:
    """Return the Program with tables that are read at a category marked as such."""
    kinds = infer_kinds(program.nodes, program.inputs, program.params)
    nodes = tuple(
        CategoryItem(node.table, node.index)
        if isinstance(node, n.Item) and kinds[node.index] not in (NUMBER, FLAG)
        else node
        for node in program.nodes
    )
    return replace(program, nodes=nodes)


def _find_positions(program: Program) -> frozenset[int]:
    """Return the tables that hold the position of each category: an `int` must not stand for the number."""
    return frozenset(at for at, node in enumerate(program.nodes) if isinstance(node, CategoryItem))


def _find_types(program: Program, dtype: str) -> list[str]:
    """Return the type of each node in C."""
    kinds = infer_kinds(program.nodes, program.inputs, program.params)
    return [{NUMBER: name_type(dtype), FLAG: "bool"}.get(kind, "int") for kind in kinds]


def name_type(dtype: str) -> str:
    """Return what C calls a type of float."""
    return "float" if dtype == "float32" else "double"


def _declare(lines: Sequence[str], types: Sequence[str]) -> list[str]:
    return [f"const {types[int(line[1 : line.index(' ')])]} {line};" for line in lines]


def _format_table(name: str, table: Sequence[float | bool], dtype: str) -> str:
    kind = "bool" if isinstance(table[0], bool) else name_type(dtype)
    entries = ", ".join(_format_constant(entry, dtype) for entry in table)
    return f"static const {kind} {name}[{len(table)}] = {{{entries}}};"


def _format_constant(value: float | bool, dtype: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return format_number(value, dtype)


class _CheckWriter:
    """Writes the conditions of one Program, with what is said where they fail."""

    def __init__(self, program: Program, code: Code, prefix: str, dtype: str) -> None:
        self.program = program
        self.code = code
        self.prefix = prefix
        self.dtype = dtype

    def write_range(self, guard: Guard) -> Check:
        """Return the check that an input lies in its declared set."""
        name, field = guard.where, self.program.inputs[guard.where]
        test, read = self.code.texts[guard.node], f"x{list(self.program.inputs).index(name)}"
        what = "state" if field.name in self.program.states else "field"
        column = name.partition("[")[0]
        if field.kind == "category":
            return Check(test, "UNKNOWN_CATEGORY", f"{what} '{column}': not one of its categories", field=name)
        if field.numbers:
            listed = ", ".join(f"{number:g}" for number in field.numbers)
            p = self.prefix
            status = f"({read} == {read} ? {p}_OUT_OF_RANGE : {p}_NOT_FINITE)"
            return Check(test, status, f"{what} '{column}': not one of {listed}", field=name)
        unit = f" {field.unit}" if field.unit else ""
        low, high = (None, None) if field.outside != "raise" else (field.low, field.high)
        said = f"{what} '{column}': not a finite number, or outside its declared range {_format_range(low, high)}{unit}"
        return Check(test, f"({self.prefix}_judge_({read}))", said, field=name)

    def write_value(self, guard: Guard) -> list[Check]:
        """Return the check that an operation is inside its domain, that a state keeps its range, or the like."""
        program, test = self.program, self.code.texts[guard.node]
        line = f" ({guard.line.strip()})" if guard.line else ""
        if guard.where in program.outputs and guard.where != "total":
            state = guard.where.removeprefix("curr.")
            field = program.states[state.partition("[")[0]].field
            after = self.code.texts[program.outputs[guard.where]]
            said = f"state '{field.name}': after this step it is outside its declared range "
            said += _format_range(field.low, field.high)
            return [Check(test, f"({self.prefix}_judge_({after}))", said, field=f"prev.{state}")]
        if guard.where == "total":
            return [*self._blame_terms(test), Check(test, "OUTSIDE_DOMAIN", f"the total {guard.why}")]
        if guard.where in program.terms or guard.where in program.states:
            term = guard.where if guard.where in program.terms else ""
            field_name = "" if term else program.states[guard.where].list_names("prev")[0]
            said = f"{self._find_owner(guard.where)} {guard.why}{line}"
            return [Check(test, "OUTSIDE_DOMAIN", said, field=field_name, term=term)]
        return [Check(test, "OUT_OF_RANGE", f"the row {guard.why}{line}")]

    def _find_owner(self, name: str) -> str:
        if name in self.program.states:
            return f"the update of state '{name}'"
        kind = "term" if name not in self.program.adjustments else "the adjustment"
        return f"{kind} '{name}'"

    def _blame_terms(self, total: str) -> list[Check]:
        """Return checks that find the term whose score is not finite, where the total is not."""
        program = self.program
        found = []
        for term in program.terms:
            score = program.outputs[f"{term}.score"]
            if term not in program.adjustments and self.code.texts[score].startswith(("v", "x")):
                fine = build_spelling(self.prefix, self.dtype).operations[n.IsFinite].format(self.code.texts[score])
                said = f"term '{term}' scores a number that is not finite"
                found.append(Check(f"({total} || {fine})", "OUTSIDE_DOMAIN", said, term=term))
        return found


def _format_range(low: float | None, high: float | None) -> str:
    return f"[{'-inf' if low is None else f'{low:g}'}, {'inf' if high is None else f'{high:g}'}]"


def _format_domain(domain: n.Domain, dtype: str) -> str:
    """Return the test that {0} is inside a domain, written so that NaN fails."""
    below, above = ("<" if end else "<=" for end in (domain.open_low, domain.open_high))
    high = FLOATS[dtype].exponent if domain.high == n.LARGEST_EXPONENT else domain.high
    low_end, high_end = format_number(domain.low, dtype), format_number(high, dtype)
    tests = [] if domain.low == -float("inf") and not domain.open_low else [f"{low_end} {below} {{0}}"]
    tests += [] if high == float("inf") and not domain.open_high else [f"{{0}} {above} {high_end}"]
    return " && ".join(tests)


def build_spelling(prefix: str, dtype: str) -> Spelling:
    """Return how each operation is written in C; every one is total, as everywhere."""
    f = "f" if dtype == "float32" else ""
    zero, one = format_number(0.0, dtype), format_number(1.0, dtype)

    def call(kind: type[n.Node], arguments: str) -> str:
        if kind in _OWN:
            return f"{prefix}_{_OWN[kind]}_({arguments})"
        made = f"{_NAMES.get(kind, n.split_function(kind)[1])}{f}({arguments})"
        return f"({made} + {zero})" if kind in (n.Floor, n.Ceil, n.Round) else made  # Python has no integer -0

    def apply(kind: type[n.Node]) -> str:
        if kind.domain is None:
            return call(kind, n.format_slots(kind))
        return call(kind, f"({_format_domain(kind.domain, dtype)}) ? {{0}} : {format_number(kind.harmless, dtype)}")

    inside = "{0} >= 0 && {0} <= {last}"
    divisor = f"({{1}} != {zero} ? {{1}} : {one})"
    tables: dict[type[n.Node], str] = {
        n.Item: f"{{table}}[{inside} ? (int){{0}} : 0]",
        CategoryItem: f"{{table}}[{inside} ? {{0}} : 0]",
    }
    return Spelling(
        operations={
            **{kind: apply(kind) for kind in n.FUNCTIONS},
            n.Neg: "(-{0})",
            n.Not: "(!{0})",
            n.Number: f"({{0}} ? {one} : {zero})",
            n.IsInf: f"(fabs{f}({{0}}) == {format_number(float('inf'), dtype)})",
            n.IsFinite: f"({_format_domain(n.FINITE, dtype)})",
            n.Add: "({0} + {1})",
            n.Sub: "({0} - {1})",
            n.Mul: "({0} * {1})",
            n.Div: f"({{0}} / {divisor})",
            n.FloorDiv: f"{prefix}_floor_div_({{0}}, {divisor})",
            n.Mod: f"{prefix}_mod_({{0}}, {divisor})",
            n.Min: "({1} < {0} ? {1} : {0})",
            n.Max: "({1} > {0} ? {1} : {0})",
            n.Lt: "({0} < {1})",
            n.Le: "({0} <= {1})",
            n.Gt: "({0} > {1})",
            n.Ge: "({0} >= {1})",
            n.Eq: "({0} == {1})",
            n.Ne: "({0} != {1})",
            n.And: "({0} && {1})",
            n.Or: "({0} || {1})",
            n.Select: "({0} ? {1} : {2})",
            n.Clip: "({0} < {1} ? {1} : {0} > {2} ? {2} : {0})",
            **tables,
        },
        defined={
            **{kind: f"({_format_domain(kind.domain, dtype)})" for kind in n.FUNCTIONS if kind.domain is not None},
            **dict.fromkeys((n.Div, n.FloorDiv, n.Mod), f"({{1}} != {zero})"),
            n.Item: f"({inside} && floor{f}({{0}}) == {{0}})",
            CategoryItem: f"({inside})",
        },
        constant=lambda value: _format_constant(value, dtype),
        plain={
            **{kind: call(kind, "{0}") for kind in n.FUNCTIONS if kind.partial},
            n.Div: "({0} / {1})",
            n.FloorDiv: f"{prefix}_floor_div_({{0}}, {{1}})",
            n.Mod: f"{prefix}_mod_({{0}}, {{1}})",
            n.Item: "{table}[(int){0}]",
            CategoryItem: "{table}[{0}]",
        },
        cheap=(n.Lt, n.Le, n.Gt, n.Ge, n.Eq, n.Ne),
    )


HELPERS = {
    n.Sign: """\
static inline {real} {prefix}_sign_({real} x)
{{
    return x > {zero} ? {one} : x < {zero} ? -{one} : x == {zero} ? {zero} : x;
}}""",
    n.Power: """\
static inline {real} {prefix}_power_({real} base, {real} exponent)
{{
    return base > {zero} || (base == {zero} && exponent > {zero}) ? pow{f}(base, exponent) : {one};
}}""",
    n.Mod: """\
/* a % b with the sign of b, as Python has it. */
static inline {real} {prefix}_mod_({real} a, {real} b)
{{
    const {real} rest = fmod{f}(a, b);
    if (rest == {zero})
        return copysign{f}({zero}, b);
    return (b < {zero}) != (rest < {zero}) ? rest + b : rest;
}}""",
    n.FloorDiv: """\
/* a // b, rounded down as Python does it. */
static inline {real} {prefix}_floor_div_({real} a, {real} b)
{{
    const {real} rest = fmod{f}(a, b);
    {real} quotient = (a - rest) / b, whole;
    if (rest != {zero} && (b < {zero}) != (rest < {zero}))
        quotient -= {one};
    if (quotient == {zero})
        return copysign{f}({zero}, a / b);
    whole = floor{f}(quotient);
    return quotient - whole > {half} ? whole + {one} : whole;
}}""",
}
"""Functions that the header brings where the reward uses them."""


def write_helpers(program: Program, prefix: str, dtype: str) -> list[str]:
    """Return the functions that a Program needs and C does not have."""
    used = {type(node) for node in program.nodes}
    numbers = {name: format_number(value, dtype) for name, value in (("zero", 0.0), ("one", 1.0), ("half", 0.5))}
    f = "f" if dtype == "float32" else ""
    return [
        text.format(prefix=prefix, real=name_type(dtype), f=f, **numbers)
        for kind, text in HELPERS.items()
        if kind in used
    ]
