"""Rolled nodes as the code of one row: scalars as Python writes them, and a loop over entries for each reduction."""

from dataclasses import replace
from typing import Any

from plaudit.language import nodes as n
from plaudit.language.program import Program, find_reachable
from plaudit.targets.emit import SCALAR, Code, emit
from plaudit.targets.inputs import find_places, list_columns
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
)


class LoopWriter:
    """Writes rolled nodes for one row, `i`: scalars as Python does, and a loop over `j` for each reduction."""

    def __init__(self, program: Program, rolled: Rolled) -> None:
        self.program = replace(program, nodes=rolled.nodes)
        self.rolled = rolled
        self.code = Code()
        self.columns: list[str] = []
        self.reads: list[str] = []
        self.vectors: dict[str, tuple[Any, ...]] = {}
        self._scalars = frozenset(range(len(rolled.nodes))) - rolled.find_vectors()
        self._defined = rolled.find_safe_divisions()
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
        emit(self.program, [*rolled.roots, *single], SCALAR, self.code, defined=self._defined)
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
        match node:
            case SumOnto(start, vector):
                emit(self.program, [start], SCALAR, self.code, defined=self._defined)
                self._write_loop(f"r{at}", self.code.texts[start], vector, "{0} + {1}")
            case AllTrue(vector) | AnyTrue(vector):
                word = "and" if isinstance(node, AllTrue) else "or"
                self._write_loop(f"r{at}", repr(word == "and"), vector, f"{{0}} {word} {{1}}")
            case Sum(vector):
                self._write_loop(f"r{at}", "-0.0", vector, "{0} + {1}")  # the one number that changes no other
            case Smallest(vector) | Largest(vector):
                self._write_loop(f"r{at}", "", vector, SCALAR.operations[_ONE_BY_ONE[type(node)]])
        self.code.texts[at] = f"r{at}"

    def _write_loop(self, name: str, start: str, vector: int, template: str) -> None:
        """Write lines after which `name` is what `template` makes of `start`, or of the first entry, and the others."""
        nodes = self.rolled.nodes
        inside = list(find_reachable(nodes, [vector], self._scalars))  # a scalar may come of another vector
        outside = {operand for at in inside for operand in n.operands(nodes[at])} & self._scalars
        emit(self.program, sorted(outside), SCALAR, self.code, defined=self._defined)
        for at in outside:
            if not self.code.texts[at].isidentifier() and not isinstance(nodes[at], n.Const):
                self.code.lines.append(f"u{at} = {self.code.texts[at]}")
                self.code.texts[at] = f"u{at}"
        body = Code(texts=dict(self.code.texts), tables=self.code.tables, table_names=self.code.table_names)
        emit(self.program, [vector], SCALAR, body, defined=self._defined)
        entry = body.texts[vector]
        count = _count_entries([nodes[at] for at in inside])
        if not start:
            self.code.lines += ["j = 0", *body.lines, f"{name} = {entry}"]
        else:
            self.code.lines.append(f"{name} = {start}")
        self.code.lines.append(f"for j in range({0 if start else 1}, {count}):")
        self.code.lines += indent([*body.lines, f"e = {entry}", f"{name} = {template.format(name, 'e')}"])


def _count_entries(nodes: list[n.Node]) -> int:
    for node in nodes:
        match node:
            case Entries(given) | Params(given) | Constants(given):
                return len(given)
    raise AssertionError("this is not a vector")


_ONE_BY_ONE: dict[type[n.Node], type[n.Node]] = {Smallest: n.Min, Largest: n.Max}


def indent(lines: list[str]) -> list[str]:
    """Return lines one level further in."""
    return [f"    {line}" for line in lines]
