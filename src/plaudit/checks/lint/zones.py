"""Rules about the edges of zones: a value that falls between two of them, and how far the score jumps."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from plaudit.checks.aims import cuts, numbers_to_try
from plaudit.checks.ask import value_of
from plaudit.checks.domain import Row, choices, rest
from plaudit.checks.examination import Examination, number
from plaudit.checks.finding import Finding, Step, Undecided
from plaudit.checks.question import Question
from plaudit.language import nodes as n
from plaudit.language.program import Program

ORDERED = (n.Lt, n.Le, n.Gt, n.Ge)
MOST_SETTINGS = 12
"""How many settings of the other inputs an edge is looked at in."""


@dataclass(frozen=True, slots=True)
class Edge:
    """What a score does at one value of an input: just below it, at it, just above it."""

    input: str
    at: float
    row: Row
    below: float
    here: float
    above: float
    named: bool
    """Whether a test names this very value: `x == 5`."""

    @property
    def jump(self) -> float:
        """How far the score changes from one side to the other; what a value alone does is a gap, not a jump."""
        if self.alone:
            return abs(self.below - self.above)
        return max(abs(self.below - self.here), abs(self.above - self.here), abs(self.below - self.above))

    @property
    def alone(self) -> bool:
        """Whether the value stands apart from both of its sides; 0 between two signs is meant to, and what is named."""
        if self.named or (self.at == 0 and self.here == (self.below + self.above) / 2):
            return False
        least = 1e-6 * max(1.0, abs(self.here))
        return abs(self.here - self.below) > least and abs(self.here - self.above) > least


def zone_gap(examination: Examination) -> Iterator[Finding | Undecided]:
    """Find a single value between two zones that neither of them takes."""
    for term in examination.reward.terms:
        told: set[tuple[str, float]] = set()
        for edge in _edges(examination, term.name):
            if not edge.alone or (edge.input, edge.at) in told:
                continue
            told.add((edge.input, edge.at))
            yield examination.finding(
                "zone-gap",
                term.name,
                f"{term.name!r} is {number(edge.here)} at {edge.input} = {number(edge.at)} alone: {number(edge.below)} "
                f"just below it and {number(edge.above)} just above.",
                "One of the two zones should take this value: write <= or >= for < or >.",
                witness=_around(examination, edge),
            )


def jump(examination: Examination) -> Iterator[Finding | Undecided]:
    """Find the largest jump of each term."""
    for term in examination.reward.terms:
        if term.weight == 0:
            continue
        edges = [edge for edge in _edges(examination, term.name) if edge.jump > 1e-6 * max(1.0, abs(edge.here))]
        if not edges:
            continue
        worst = max(edges, key=lambda edge: edge.jump)
        places = sorted({(edge.input, edge.at) for edge in edges} - {(worst.input, worst.at)})
        more = f" It jumps in {len(places)} other place{'s' * (len(places) > 1)} too." if places else ""
        yield examination.finding(
            "jump",
            term.name,
            f"the score of {term.name!r} jumps by {number(worst.jump)} at {worst.input} = {number(worst.at)}: from "
            f"{number(worst.below)} just below to {number(worst.above)} just above.{more}",
            "A slope between the two would tell an agent which way is better; keep the jump where the edge is real.",
            witness=_around(examination, worst),
        )


def _around(examination: Examination, edge: Edge) -> tuple[Step, ...]:
    subject = examination.subject
    shown = frozenset({edge.input, *edge.row})
    beside = (
        (math.nextafter(edge.at, -math.inf), "just below"),
        (edge.at, "here"),
        (math.nextafter(edge.at, math.inf), "just above"),
    )
    return tuple(subject.step({**edge.row, edge.input: x}, note, only=shown) for x, note in beside)


def _edges(examination: Examination, term: str) -> list[Edge]:
    """Return what the score of a term does wherever an input crosses a value that it is compared with."""
    known: dict[str, list[Edge]] = examination.known.setdefault("edges", {})
    if term not in known:
        known[term] = _crossed(examination, term)
    return known[term]


def _crossed(examination: Examination, term: str) -> list[Edge]:
    question = Question()
    copy = examination.subject.row(question)
    program = question.program(copy[f"{term}.score"])
    found: list[Edge] = []
    named = cuts(program, comparing=(n.Eq, n.Ne))
    everywhere = cuts(program)
    for name, places in cuts(program, comparing=ORDERED).items():
        settings = _settings(program, name, everywhere) if places and not examination.solver.late else []
        for at in places:
            sides = (math.nextafter(at, -math.inf), at, math.nextafter(at, math.inf))
            if not all(program.inputs[name].holds(x) for x in sides):
                continue
            for row in settings:
                below, here, above = (value_of(program, {**row, name: x}) for x in sides)
                if math.isfinite(below + here + above):
                    others = {each: value for each, value in row.items() if each != name}
                    found.append(Edge(name, at, others, below, here, above, at in named[name]))
    return found


def _settings(program: Program, name: str, places: Mapping[str, tuple[float, ...]]) -> list[Row]:
    """Return some settings of the other inputs: at rest, and each combination of what they choose between."""
    still = {each: rest(field) for each, field in program.inputs.items()}
    options: Mapping[str, tuple[float, ...]] = {
        each: choices(field) or numbers_to_try(field, places[each])[:: max(1, len(places[each]) // 2)]
        for each, field in program.inputs.items()
        if each != name
    }
    rows = [still]
    for values in product(*options.values()):
        if len(rows) >= MOST_SETTINGS:
            break
        rows.append({**still, **dict(zip(options, values, strict=True))})
    return rows
