"""Terms plotted over their inputs: a curve over one number, a map over two, with the zones between conditions."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plaudit.checks.finding import Finding
from plaudit.checks.solver.ranges import encode_value
from plaudit.language import nodes as n
from plaudit.language.field import Field
from plaudit.language.program import find_reachable
from plaudit.page.documents.paths import RewardPaths, TermPaths
from plaudit.page.documents.values import Document, to_column, to_plain
from plaudit.reward.reward import Reward
from plaudit.reward.term import Term

POINTS = 401
"""Of a curve, besides those on both sides of each jump."""
SIDE = 41
"""Of a map, along each side."""
MOST_ZONES = 40

Numbers = NDArray[np.float64]


class Curves:
    """The terms of a reward, scored along their inputs; every other input is held at rest."""

    def __init__(self, reward: Reward, paths: RewardPaths) -> None:
        """Compile the reward for arrays."""
        self._reward = reward
        self._paths = paths
        self._fields = reward.program.inputs
        self._compiled = reward.compile("numpy", on_bad="mask")

    def draw(self, term: Term) -> Document | None:
        """Return the curve or the map of a term; None if it reads no number, or more than two."""
        read = self._list_read(term)
        drawn = [name for name in read if self._fields[name].kind == "number"]
        if len(drawn) not in (1, 2) or len(read) > len(drawn) + 2:
            return None
        held = {name: self._fields[name].at_rest for name in read if name not in drawn}
        return self._draw_line(term, drawn[0], held) if len(drawn) == 1 else self._draw_map(term, drawn, held)

    def place_witnesses(self, term: Term, findings: Sequence[Finding]) -> list[Document]:
        """Return the positions of witnesses of findings on the curve or map of a term."""
        drawn = [name for name in self._list_read(term) if self._fields[name].kind == "number"]
        if len(drawn) not in (1, 2):
            return []
        shown = [
            (at, finding, step)
            for at, finding in enumerate(findings)
            if finding.term in (term.name, "total")
            for step in finding.witness
            if all(name in step.inputs for name in drawn)
        ]
        if not shown:
            return []
        rows = {
            name: [step.inputs.get(name, self._fields[name].at_rest) for *_, step in shown] for name in self._fields
        }
        columns = {
            name: np.array([encode_value(self._fields[name], value) for value in column], np.float64)
            for name, column in rows.items()
        }
        values = to_column(self._score(term, columns, len(shown)))
        return [
            {
                "x": to_plain(step.inputs[drawn[0]]),
                "y": value if len(drawn) == 1 else to_plain(step.inputs[drawn[1]]),
                "value": value,
                "code": finding.code,
                "finding": at,
            }
            for (at, finding, step), value in zip(shown, values, strict=True)
        ]

    def _list_read(self, term: Term) -> list[str]:
        """Return the inputs that the score of a term depends on, except the end of the episode."""
        program = self._reward.program
        nodes = (program.nodes[at] for at in find_reachable(program.nodes, [program.outputs[f"{term.name}.score"]]))
        return [node.name for node in nodes if isinstance(node, n.Input) and node.name != "terminal"]

    def _list_numbers(self, term: Term) -> list[float]:
        """Return the knobs that the score of a term depends on, shared ones too, and its constants."""
        program = self._reward.program
        read = find_reachable(program.nodes, [program.outputs[f"{term.name}.score"]])
        nodes = [program.nodes[at] for at in read]
        knobs = [program.params[node.name] for node in nodes if isinstance(node, n.Param)]
        return [*map(float, knobs), *(float(node.value) for node in nodes if isinstance(node, n.Const))]

    def _draw_line(self, term: Term, name: str, held: Mapping[str, Any]) -> Document:
        field = self._fields[name]
        paths = self._paths.terms[term.name]
        x = self._choose_grid(term, field, POINTS)
        edges = self._find_edges(term.name, name, held, x) if not field.numbers else []
        x = np.unique(np.concatenate([x, *edges])) if edges else x
        return {
            "kind": "line",
            "input": name,
            "unit": field.unit,
            "x": to_column(x),
            "y": to_column(self._score(term, self._fill({name: x}, held, len(x)), len(x))),
            "zones": self._list_zones(paths, term.name, name, held, x),
            "held": to_plain(held),
        }

    def _draw_map(self, term: Term, drawn: Sequence[str], held: Mapping[str, Any]) -> Document:
        x, y = (self._choose_grid(term, self._fields[name], SIDE) for name in drawn)
        across, along = np.meshgrid(x, y)
        columns = self._fill({drawn[0]: across.ravel(), drawn[1]: along.ravel()}, held, across.size)
        z = self._score(term, columns, across.size).reshape(across.shape)
        return {
            "kind": "heat",
            "x_input": drawn[0],
            "y_input": drawn[1],
            "x_unit": self._fields[drawn[0]].unit,
            "y_unit": self._fields[drawn[1]].unit,
            "x": to_column(x),
            "y": to_column(y),
            "z": [to_column(row) for row in z],
            "held": to_plain(held),
        }

    def _choose_grid(self, term: Term, field: Field, points: int) -> Numbers:
        """Return numbers over the declared range, or if there is none, over the range of the term's knobs."""
        if field.numbers:
            return np.array(sorted(field.numbers)[:points], np.float64)
        numbers = self._list_numbers(term)
        reach = 1.5 * max((abs(number) for number in numbers if math.isfinite(number)), default=0.0)
        low = field.low if field.low is not None else min(-(reach or 1.0), (field.high or 0.0) - 1.0)
        high = field.high if field.high is not None else max(reach or 1.0, low + 1.0)
        return np.linspace(low, high, points)

    def _fill(self, given: Mapping[str, Numbers], held: Mapping[str, Any], count: int) -> dict[str, Numbers]:
        values = {name: held.get(name, field.at_rest) for name, field in self._fields.items()}
        rest = {name: encode_value(self._fields[name], value) for name, value in values.items()}
        return {name: given[name] if name in given else np.full(count, rest[name]) for name in self._fields}

    def _score(self, term: Term, columns: Mapping[str, Numbers], count: int) -> Numbers:
        with np.errstate(all="ignore"):
            found = self._compiled(self._convert(columns, end=term.terminal)).values[term.name]
        return np.broadcast_to(np.asarray(found, np.float64), count)

    def _convert(self, columns: Mapping[str, Numbers], *, end: bool) -> dict[str, NDArray[Any]]:
        """Return columns as the compiled reward takes them; a terminal term is drawn at the end of an episode."""
        kinds = {name: field.kind for name, field in self._fields.items()}
        types = {"flag": np.bool_, "category": np.intp, "number": np.float64}
        found: dict[str, NDArray[Any]] = {name: column.astype(types[kinds[name]]) for name, column in columns.items()}
        return found | ({"terminal": np.ones_like(found["terminal"])} if end and "terminal" in found else {})

    # -- zones -----------------------------------------------------------------------------------------------------

    def _find_cases(self, term: str, name: str, held: Mapping[str, Any], x: Numbers) -> NDArray[np.intp]:
        columns = self._convert(self._fill({name: x}, held, len(x)), end=False)
        return self._paths.find_cases(columns, len(x))[term]

    def _find_edges(self, term: str, name: str, held: Mapping[str, Any], x: Numbers) -> list[Numbers]:
        """Return the two numbers on either side of each change of case, as close as numbers can be."""
        cases = self._find_cases(term, name, held, x)
        at = np.flatnonzero(np.diff(cases))[:MOST_ZONES]
        low, high, left = x[at], x[at + 1], cases[at]
        for _ in range(60):
            if not len(at):
                break
            middle = low + (high - low) / 2
            same = self._find_cases(term, name, held, middle) == left
            low, high = np.where(same, middle, low), np.where(same, high, middle)
        return [low, high]

    def _list_zones(
        self, paths: TermPaths, term: str, name: str, held: Mapping[str, Any], x: Numbers
    ) -> list[Document]:
        if not paths.conditions:
            return []
        cases = self._find_cases(term, name, held, x)
        starts = np.concatenate([[0], np.flatnonzero(np.diff(cases)) + 1])
        ends = np.concatenate([starts[1:] - 1, [len(x) - 1]])
        return [
            {"from": float(x[start]), "to": float(x[end]), "label": paths.name_case(int(cases[start]))}
            for start, end in list(zip(starts, ends, strict=True))[:MOST_ZONES]
        ]
