"""From the schema of a frame to one expression: inputs, conditions, terms, and an error for a row that is bad."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import polars as pl

from plaudit.errors import InputError
from plaudit.language import nodes as n
from plaudit.language.intervals import bound_nodes
from plaudit.language.program import Program
from plaudit.language.static import analyse_program
from plaudit.targets.columns import OK
from plaudit.targets.inputs import list_slots
from plaudit.targets.polars.columns import Columns, ReadInput, Schema
from plaudit.targets.polars.operations import CHEAPEST, Cell, Layers, Writer, join_tests
from plaudit.targets.python import PythonReward

EVERYTHING = ""
"""Every output at once."""
NO_PREDECESSOR = "no predecessor"
MOST_FIELDS = 32
"""Inputs that may be fields: to plan a query over many fields takes long, over many columns it does not."""


class Planner:
    """Writes the outputs of one Program as expressions over the columns of any frame."""

    def __init__(self, program: Program, columns: Columns, names: Mapping[str, str], *, raises: bool) -> None:
        self._program = program
        self._bound = program.bind()
        self._columns = columns
        self._names = names
        self._raises = raises

    def plan(self, output: str, schema: Schema) -> pl.Expr:
        """Return an output, or a struct of all of them, as an expression over columns of this schema."""
        layers = Layers()
        read = self._columns.read(schema)
        inputs = self._name_inputs(read, layers)
        wanted = [] if output == OK else [output] if output else [*self._names]
        roots = [self._bound.outputs[name] for name in wanted]
        found, conditions = self._write(roots, read, inputs, layers)
        follows = self._write_follows(schema, inputs, layers)
        fine = layers.add("fine", join_tests(conditions))
        ok = layers.add("ok", join_tests([fine, *follows])) if follows else fine
        if self._raises and output != OK:
            ok = layers.add("checked", self._raise_where_bad(read, ok, fine, follows))
        if output == OK:
            return layers.build().struct.field("ok" if follows else "fine")
        numbers: dict[int, Cell] = {}
        for at, cell in zip(roots, found, strict=True):
            if at not in numbers:  # a score is often the value too
                masked = Cell(pl.when(ok.expr).then(cell.expr), max(ok.layer, cell.layer))
                numbers[at] = layers.add(f"o{len(numbers)}", masked)
        if output:
            return layers.build().struct.field("o0")
        named = {self._names[name]: numbers[at] for name, at in zip(wanted, roots, strict=True)} | {OK: ok}
        if self._columns.keys:
            named[NO_PREDECESSOR] = layers.add("first", _deny(follows))
        return layers.build().struct.eval([cell.expr.alias(name) for name, cell in named.items()])

    def _write(
        self, roots: Sequence[int], read: Mapping[str, ReadInput], inputs: Mapping[str, Cell], layers: Layers
    ) -> tuple[list[Cell], list[Cell]]:
        """Return outputs, and what must hold for a row to count."""
        bound, guard = self._bound, self._columns.guard
        tests = self._write_tests(read, inputs, layers)
        if guard:
            ranges = [each.node for each in bound.ranges if bound.inputs[each.where].kind != "category"]
            tests += Writer(bound, bound_nodes(bound, ranges=False, looked_up=True), "g").write(ranges, inputs, layers)
        holds = analyse_program(bound, ranges=guard, looked_up=True).holds
        guards = [each.node for each in bound.value_guards if each.node not in holds]
        known = bound_nodes(bound, ranges=guard, looked_up=True)
        cells = Writer(bound, known, "v").write([*roots, *guards], inputs, layers)
        return cells[: len(roots)], tests + cells[len(roots) :]

    def _name_inputs(self, read: Mapping[str, ReadInput], layers: Layers) -> dict[str, Cell]:
        """Return the inputs; those that take much and are read often, or are found in the row before, as fields."""
        given = (found.raw for found in read.values() if found.raw is not None)
        layers.add("rows", Cell(next(given, pl.repeat(True, pl.len()))))  # what says how many there are
        nodes = self._bound.nodes
        uses = Counter(at for node in nodes for at in n.operands(node))
        often = {node.name: uses[at] for at, node in enumerate(nodes) if isinstance(node, n.Input)}
        inputs = {}
        for at, slot in enumerate(list_slots(self._bound)):
            found = read[slot.name]
            inputs[slot.name] = Cell(found.value, 0, found.size)
            shared = found.size * (often.get(slot.name, 0) - 1) > CHEAPEST and len(read) <= MOST_FIELDS
            if shared or self._columns.is_row_before(slot):
                inputs[slot.name] = layers.add(f"x{at}", inputs[slot.name])
            if self._columns.is_row_before(slot) and found.raw is not None:  # a window cannot stand in upper layers
                found.raw = layers.add(f"r{at}", Cell(found.raw)).expr
        return inputs

    def _write_tests(self, read: Mapping[str, ReadInput], inputs: Mapping[str, Cell], layers: Layers) -> list[Cell]:
        """Return the conditions on columns; what only terminal terms read is tested only where the episode ends."""
        found: dict[str, Cell] = {}
        for slot in list_slots(self._bound):
            for what, test in read[slot.name].tests.items():
                if what not in found:
                    held = Cell(test)
                    if self._columns.is_row_before(slot):
                        held = layers.add(f"t{len(found)}", held)
                    found[what] = _unless_goes_on(held, inputs) if slot.name in self._bound.terminal else held
        return list(found.values())

    def _write_follows(self, schema: Schema, inputs: Mapping[str, Cell], layers: Layers) -> list[Cell]:
        """Return the condition that a row has a predecessor, if it needs one."""
        if not self._columns.keys:
            return []
        follows = self._columns.write_follows(schema)
        before = [slot.name for slot in list_slots(self._bound) if self._columns.is_row_before(slot)]
        if not before:
            return []
        held = layers.add("follows", Cell(follows))
        return [_unless_goes_on(held, inputs) if self._bound.terminal.issuperset(before) else held]

    def _raise_where_bad(self, read: Mapping[str, ReadInput], ok: Cell, fine: Cell, follows: Sequence[Cell]) -> Cell:
        """Return `ok`, or an error where a row does not count though it has a predecessor, if it needs one."""
        good = fine.expr if not follows else fine.expr | ~follows[0].expr
        given = {found.column: found.raw for found in read.values() if found.raw is not None}
        check = partial(raise_where_bad, self._explain, tuple(given))
        columns = [ok.expr, good, *given.values()]
        checked = pl.map_batches(columns, check, return_dtype=pl.Boolean, is_elementwise=True)
        return Cell(checked, max(cell.layer for cell in (ok, fine, *follows)))

    @cached_property
    def _explain(self) -> PythonReward:
        return PythonReward(self._program, guard=self._columns.guard)


def _unless_goes_on(test: Cell, inputs: Mapping[str, Cell]) -> Cell:
    """Return a test that holds before the end of an episode too."""
    return Cell(~inputs["terminal"].expr | test.expr, max(test.layer, inputs["terminal"].layer))


def _deny(tests: Sequence[Cell]) -> Cell:
    """Return whether some test fails; false where there is none."""
    joined = join_tests(tests)
    return Cell(~joined.expr, joined.layer)


def raise_where_bad(explain: PythonReward, names: Sequence[str], columns: Sequence[pl.Series]) -> pl.Series:
    """Return the first of some columns, or raise the error that Python raises for the first row that is not good.

    The second column says which are good; the others are what was given, under `names`.
    """
    ok, good, *given = columns
    if good.all():
        return ok
    first = int((~good).arg_max() or 0)
    explain({name: _to_python(column, first) for name, column in zip(names, given, strict=True)})
    raise InputError(
        f"reward {explain.program.name!r}: a row cannot be scored. on_bad='mask' shows which: its `ok` is false."
    )


def _to_python(column: pl.Series, row: int) -> Any:
    """Return the value of a row; a narrow float as NumPy has it, so that it keeps its dtype."""
    value = column[row]
    if isinstance(value, pl.Series):
        return [_to_python(value, at) for at in range(len(value))]
    if value is not None and column.dtype in (pl.Float32, pl.Float16):
        return column.slice(row, 1).to_numpy()[0]
    return value
