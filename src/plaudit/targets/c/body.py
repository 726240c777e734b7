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
from plaudit.targets.c.spelling import CategoryItem, format_constant, name_type
from plaudit.targets.compiled import Layout
from plaudit.targets.emit import Code, Spelling, emit
from plaudit.targets.inputs import InputColumn, list_columns
from plaudit.targets.states import list_state_outputs


class Check(NamedTuple):
    """A condition that a row must meet, and the message for a row that does not."""

    test: str
    """The condition in C; false where the row is bad."""
    status: str
    """The end of a status' name, or an expression in parentheses that gives the status."""
    text: str
    field: str = ""
    """The input or state that failed, by its whole name; empty if a term failed."""
    term: str = ""
    culprits: tuple[tuple[str, str], ...] = ()
    """Terms that may be to blame, each with the condition that it is not; the first is."""
    entries: int = 0
    """How many entries of a vector are tested in a loop, one after the other as `each`; 0 for a single value."""


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


def write_body(program: Program, spelling: Spelling, *, prefix: str, dtype: str, guard: bool) -> Body:
    """Return the parts of the function for a Program, whose parameters may be left open."""
    program = _mark_categories(program)
    exact = dtype == "float64" and not program.params
    known = analyse_program(program, ranges=guard) if exact else StaticAnalysis()
    layout, states = Layout.of(program, clamped=False), list_state_outputs(program)
    ranges = program.ranges if guard else ()
    code = emit(program, [each.node for each in ranges], spelling)
    first, code.lines = code.lines, []
    guards = [each for each in program.value_guards if each.node not in known.holds]
    entries = [at for each in states for at in each]
    roots = [*layout.roots, *entries, *(each.node for each in guards)]
    code = emit(program, roots, spelling, code, defined=known.defined - _find_positions(program))
    writer = _CheckWriter(program, code, spelling, prefix)
    checks = writer.write_ranges(ranges, first)
    later = [writer.write_value(each) for each in guards]
    outputs = [code.texts[root] for root in layout.roots]
    after = [[code.texts[at] for at in each] for each in states]
    everything = [*first, *code.lines, *outputs, *(t for each in after for t in each)]
    everything += [text for check in (*checks, *later) for text in (check.test, check.status)]
    used = set(re.findall(r"\b[xpt]\d+\b", "\n".join(everything)))
    types = _find_types(program, dtype)
    return Body(
        [_format_table(name, table, dtype) for name, table in code.tables.items() if name in used],
        sorted(used - code.tables.keys(), key=lambda name: (name[0], int(name[1:]))),
        _declare(first, types),
        checks,
        _declare(code.lines, types),
        later,
        layout,
        outputs,
        after,
    )


def _mark_categories(program: Program) -> Program:
    """Return a Program with categories as C has them: integers, each equal to itself, as compilers know."""
    kinds = infer_kinds(program.nodes, program.inputs, program.params)

    def mark(node: n.Node) -> n.Node:
        if isinstance(node, n.Item) and kinds[node.index] not in (NUMBER, FLAG):
            return CategoryItem(node.table, node.index)
        if isinstance(node, n.Eq | n.Ne) and node.left == node.right and kinds[node.left] not in (NUMBER, FLAG):
            return n.Const(isinstance(node, n.Eq))
        return node

    return replace(program, nodes=tuple(map(mark, program.nodes)))


def _find_positions(program: Program) -> frozenset[int]:
    """Return the tables that hold the position of each category: an `int` must not stand for the number."""
    return frozenset(at for at, node in enumerate(program.nodes) if isinstance(node, CategoryItem))


def _find_types(program: Program, dtype: str) -> list[str]:
    kinds = infer_kinds(program.nodes, program.inputs, program.params)
    return [{NUMBER: name_type(dtype), FLAG: "bool"}.get(kind, "int") for kind in kinds]


def _declare(lines: Sequence[str], types: Sequence[str]) -> list[str]:
    return [f"const {types[int(line[1 : line.index(' ')])]} {line};" for line in lines]


def _format_table(name: str, table: Sequence[float | bool], dtype: str) -> str:
    kind = "bool" if isinstance(table[0], bool) else name_type(dtype)
    entries = ", ".join(format_constant(entry, dtype) for entry in table)
    return f"static const {kind} {name}[{len(table)}] = {{{entries}}};"


class _CheckWriter:
    """Writes the conditions of one Program, with the messages for failures."""

    def __init__(self, program: Program, code: Code, spelling: Spelling, prefix: str) -> None:
        self.program = program
        self.code = code
        self.spelling = spelling
        self.prefix = prefix
        self._reads = {name: f"x{at}" for at, name in enumerate(program.inputs)}

    def write_ranges(self, guards: Sequence[Guard], lines: Sequence[str]) -> list[Check]:
        """Return the checks that inputs lie in their declared sets; entries of a vector are tested in a loop."""
        columns = {column.slots[0].name: column for column in list_columns(self.program)}
        looped: set[str] = set()
        found = []
        for guard in guards:
            column = columns.get(guard.where)
            if column is not None and self._is_whole(column) and not lines:
                check, read = self.write_range(guard), self._reads[guard.where]
                test, status = (re.sub(rf"\b{read}\b", "each", text) for text in (check.test, check.status))
                found.append(check._replace(test=test, status=status, entries=len(column.slots)))
                looped |= {slot.name for slot in column.slots}
            elif guard.where not in looped:
                found.append(self.write_range(guard))
        return found

    def _is_whole(self, column: InputColumn) -> bool:
        """Return whether all entries of a vector are read, at every step."""
        names = {slot.name for slot in column.slots}
        return len(names) > 1 and not column.picked and not names & self.program.terminal

    def write_range(self, guard: Guard) -> Check:
        """Return the check that an input lies in its declared set."""
        name, field = guard.where, self.program.inputs[guard.where]
        test, read = self.code.texts[guard.node], self._reads[name]
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

    def write_value(self, guard: Guard) -> Check:
        """Return the check that an operation is inside its domain, that a state keeps its range, or the like."""
        program, test = self.program, self.code.texts[guard.node]
        line = f" ({guard.line.strip()})" if guard.line else ""
        if guard.where in program.outputs and guard.where != "total":
            state = guard.where.removeprefix("curr.")
            field = program.states[state.partition("[")[0]].field
            after = self.code.texts[program.outputs[guard.where]]
            said = f"state '{field.name}': after this step it is outside its declared range "
            said += _format_range(field.low, field.high)
            return Check(test, f"({self.prefix}_judge_({after}))", said, field=f"prev.{state}")
        if guard.where == "total":
            said = "the score of a term, or the total, is not finite"
            return Check(test, "OUTSIDE_DOMAIN", said, culprits=self._list_culprits())
        if guard.where in program.terms or guard.where in program.states:
            term = guard.where if guard.where in program.terms else ""
            field_name = "" if term else program.states[guard.where].list_names("prev")[0]
            said = f"{self._find_owner(guard.where)} {guard.why}{line}"
            return Check(test, "OUTSIDE_DOMAIN", said, field=field_name, term=term)
        return Check(test, "OUT_OF_RANGE", f"the row {guard.why}{line}")

    def _find_owner(self, name: str) -> str:
        if name in self.program.states:
            return f"the update of state '{name}'"
        kind = "term" if name not in self.program.adjustments else "the adjustment"
        return f"{kind} '{name}'"

    def _list_culprits(self) -> tuple[tuple[str, str], ...]:
        """Return each term whose score may not be finite, with the test that it is."""
        program = self.program
        finite = self.spelling.operations[n.IsFinite]
        scores = {term: self.code.texts[program.outputs[f"{term}.score"]] for term in program.terms}
        return tuple(
            (term, finite.format(score))
            for term, score in scores.items()
            if term not in program.adjustments and score.startswith(("v", "x"))  # anything else is a constant
        )


def _format_range(low: float | None, high: float | None) -> str:
    return f"[{'-inf' if low is None else f'{low:g}'}, {'inf' if high is None else f'{high:g}'}]"
