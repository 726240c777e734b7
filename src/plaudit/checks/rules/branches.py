"""Rules about branches and the zones they cut: out of reach, overlapping, with a gap between them, with a jump."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, product

from plaudit.checks.branches import MarkedTerm, list_places, mark_branches
from plaudit.checks.finding import Step
from plaudit.checks.formats.plain import format_number, format_place, format_value, is_short
from plaudit.checks.rules.registry import CheckContext, Found, rule
from plaudit.checks.solver.boxes import evaluate, is_close
from plaudit.checks.solver.breakpoints import find_breakpoints, list_numbers_to_try
from plaudit.checks.solver.plainer import simplify_numbers
from plaudit.checks.solver.question import Question, SolverAnswer, Unknown, Witness, list_inputs
from plaudit.checks.solver.ranges import NumericRow, list_choices, value_at_rest
from plaudit.language import nodes as n
from plaudit.language.intervals import Interval, bound_nodes_within
from plaudit.language.program import Program
from plaudit.language.reading.source import SourceLine
from plaudit.reward.lower import Function

MOST_LISTED = 5
"""At most this many branches of a term are listed one by one; the others are counted."""
ORDERED = (n.Lt, n.Le, n.Gt, n.Ge)
NEARLY = 0.01
"""How much of a jump, or of a score, may be lost for a witness with few digits."""
MOST_SETTINGS = 12
"""How many settings of the other inputs an edge is looked at in."""


@dataclass(frozen=True, slots=True)
class Edge:
    """What a score does at one value of an input: just below it, at it, just above it."""

    input: str
    at: float
    row: NumericRow
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


@rule(
    "unreachable-branch",
    severity="warning",
    why="A branch that no step reaches has no effect on the reward.",
    always=True,
)
def find_unreachable_branches(context: CheckContext) -> Found:
    """Find branches that no step can reach, given the declared ranges and facts."""
    for term in context.reward._functions:
        read = _recall_branches(context, term)
        if read is None:
            continue
        never: list[SourceLine] = []
        inputs: set[str] = set()
        for marks in read.group_places():
            answers = [_find_step_that_reaches(context, read, at) for at in marks]
            if any(isinstance(answer, Witness) for answer in answers):
                continue
            place = read.locate(marks[0])
            unknown = next((answer for answer in answers if isinstance(answer, Unknown)), None)
            if unknown is not None:
                what = f"whether line {place.line} is ever reached"
                yield context.undecided(term.name, what, reason=unknown.reason)
                continue
            never.append(place)
            inputs |= list_inputs(read.program.nodes, read.program.outputs[f"reached {marks[0]}"])
        facts = context.model.facts_about(*inputs)
        given = " and facts" if facts else ""
        for place, others in list_places(never, MOST_LISTED):
            yield context.finding(
                term.name,
                f"{term.name!r} never reaches `{place.text}`: no step within the declared ranges{given} leads there."
                f"{others}",
                "Correct the condition, or drop the branch: it never takes effect.",
                place=place,
                facts=facts,
            )


def _find_step_that_reaches(context: CheckContext, read: MarkedTerm, at: int) -> SolverAnswer:
    question = Question()
    copy = question.copy(read.program)
    context.model.require_facts(question)
    return context.solver.find_example(question, copy[f"reached {at}"])


@rule(
    "zone-overlap",
    severity="advice",
    why="Two zones claim the same values, and only the first one gets them.",
    claims=None,
)
def find_zone_overlaps(context: CheckContext) -> Found:
    """Find a test of a range (`15 <= x < 40`) part of which an earlier test has already taken."""
    for term in context.reward.terms:
        read = _recall_branches(context, term)
        for at, mark in enumerate(read.marks if read is not None else ()):
            if read is None or mark.test is None:
                continue
            program = read.program
            test, reached = program.outputs[f"test {at}"], program.outputs[f"reached {at}"]
            names = list_inputs(program.nodes, test)
            apart = len(names) != 1 or not list_inputs(program.nodes, reached) <= names
            if apart or not _is_two_sided(program, test) or not _follows_other_tests(program, reached):
                continue
            (name,) = names
            taken = [x for x in _list_middles(program, name) if _is_taken(program, test, reached, {name: x})]
            if taken:
                place = read.locate(at)
                row = simplify_numbers({name: taken[0]}, program.inputs, partial(_is_taken, program, test, reached))
                yield context.finding(
                    term.name,
                    f"`{place.text.rstrip(':')}` in {term.name!r} claims {name} = {format_value(row[name])}, which "
                    "an earlier test has already taken.",
                    "Begin each zone where the one before it ends.",
                    witness=(context.model.build_step(row, only=frozenset([name])),),
                    place=place,
                )


def _follows_other_tests(program: Program, reached: int) -> bool:
    """Return whether a place is reached wherever none of the tests before it holds: it is not inside another `if`."""
    match program.nodes[reached]:
        case n.And(left, right):
            return _follows_other_tests(program, left) and _follows_other_tests(program, right)
        case n.Not() | n.Const():
            return True
    return False


def _is_two_sided(program: Program, test: int) -> bool:
    match program.nodes[test]:
        case n.And(left, right):
            sides = (program.nodes[left], program.nodes[right])
            return all(isinstance(side, n.Lt | n.Le | n.Gt | n.Ge) for side in sides)
    return False


def _list_middles(program: Program, name: str) -> list[float]:
    """Return a value inside each stretch between two values that the input is compared with."""
    breakpoints = list(find_breakpoints(program)[name])
    if not breakpoints:
        return []
    ends = [breakpoints[0] - 1, *breakpoints, breakpoints[-1] + 1]
    middles = [(a + b) / 2 for a, b in pairwise(ends)]
    return [x for x in middles if program.inputs[name].holds(x)]


def _is_taken(program: Program, test: int, reached: int, given: Mapping[str, float]) -> bool:
    """Return whether a test is true of a row that does not get to it."""
    row = {each: value_at_rest(field) for each, field in program.inputs.items()} | dict(given)
    found = bound_nodes_within(program, {each: Interval(x, x) for each, x in row.items()})
    return found[test].low == 1 and found[reached].low != 1


@rule(
    "zone-gap",
    severity="warning",
    why="A single value between two zones falls into neither: a wrong `<` or `<=`.",
    claims=None,
)
def find_zone_gaps(context: CheckContext) -> Found:
    """Find a single value between two zones that neither of them takes."""
    for term in context.reward.terms:
        reported: set[tuple[str, float]] = set()
        for edge in _find_edges(context, term.name):
            if not edge.alone or not is_short(edge.at) or (edge.input, edge.at) in reported:
                continue
            reported.add((edge.input, edge.at))
            yield context.finding(
                term.name,
                f"{term.name!r} is {format_number(edge.here)} at exactly {edge.input} = {format_place(edge.at)}, but "
                f"{format_number(edge.below)} just below it and {format_number(edge.above)} just above.",
                "Let one of the two zones include this value: write <= or >= instead of < or >.",
                witness=_steps_around(context, term.name, edge),
            )


@rule(
    "jump",
    severity="note",
    why="At a jump, a tiny change in an input changes the reward by a lot.",
    claims=None,
)
def find_jumps(context: CheckContext) -> Found:
    """Find the largest jump of each term."""
    for term in context.reward.terms:
        if term.weight == 0:
            continue
        edges = [edge for edge in _find_edges(context, term.name) if edge.jump > 1e-6 * max(1.0, abs(edge.here))]
        if not edges:
            continue
        worst = max(edges, key=lambda edge: edge.jump)
        places = sorted({(edge.input, edge.at) for edge in edges} - {(worst.input, worst.at)})
        more = f" It also jumps in {len(places)} other place{'s' * (len(places) > 1)}." if places else ""
        yield context.finding(
            term.name,
            f"the score of {term.name!r} jumps by {format_number(worst.jump)} at {worst.input} = "
            f"{format_place(worst.at)}: from {format_number(worst.below)} just below to {format_number(worst.above)} "
            f"just above.{more}",
            "A slope between the two would show an agent which way is better. Keep the jump if the edge is real.",
            witness=_steps_around(context, term.name, worst),
        )


def _recall_branches(context: CheckContext, term: Function) -> MarkedTerm | None:
    return context.recall(f"branches of {term.name}", lambda: mark_branches(context.reward, term))


def _steps_around(context: CheckContext, term: str, edge: Edge) -> tuple[Step, ...]:
    """Return a step on either side of an edge, and one at it where people can write that number."""
    shown = frozenset({edge.input, *edge.row})
    places = {
        "just below": _step_aside(context, term, edge, -1, edge.below),
        "here": edge.at,
        "just above": _step_aside(context, term, edge, 1, edge.above),
    }
    notes = [note for note, x in places.items() if note != "here" or is_short(x)]
    rows = [{**edge.row, edge.input: places[note]} for note in notes]
    scores = [_score_term(context, term, row) for row in rows]

    def is_same(found: Sequence[NumericRow]) -> bool:
        return all(map(is_close, scores, (_score_term(context, term, row) for row in found)))

    rows = context.model.simplify_rows(rows, is_same, keep=[edge.input])
    return tuple(context.model.build_step(row, note, only=shown) for row, note in zip(rows, notes, strict=True))


def _score_term(context: CheckContext, term: str, row: NumericRow) -> float:
    scores = context.model.score(row)
    return math.nan if scores is None else float(scores.scores[term])


def _step_aside(context: CheckContext, term: str, edge: Edge, side: int, score: float) -> float:
    """Return a number beside an edge, as far from it as it may be for few digits: the score there is as said."""
    field = context.model.fields[edge.input]
    size = abs(edge.at) or (1.0 if field.low is None or field.high is None else field.high - field.low)
    first = 3 - math.floor(math.log10(size))
    for digits in range(first, first + 6):
        x = round(edge.at + side * 10.0**-digits, digits)
        found = _score_term(context, term, {**edge.row, edge.input: x}) if field.holds(x) else math.nan
        if x != edge.at and abs(found - score) <= NEARLY * max(edge.jump, abs(score)):
            return x
    return math.nextafter(edge.at, side * math.inf)


def _find_edges(context: CheckContext, term: str) -> list[Edge]:
    """Return what the score of a term does wherever an input crosses a value that it is compared with."""
    known: dict[str, list[Edge]] = context.known.setdefault("edges", {})
    if term not in known:
        known[term] = _cross_edges(context, term)
    return known[term]


def _cross_edges(context: CheckContext, term: str) -> list[Edge]:
    context.solver.check_clock()
    question, copy = context.model.any_step
    program = question.program(copy[f"{term}.score"])
    found: list[Edge] = []
    named = find_breakpoints(program, comparing=(n.Eq, n.Ne))
    everywhere = find_breakpoints(program)
    for name, breakpoints in find_breakpoints(program, comparing=ORDERED).items():
        if name in context.model.unread_counters:
            continue  # a schedule is meant to change what is paid
        settings = _list_settings(program, name, everywhere) if breakpoints else []
        for at in breakpoints:
            sides = (math.nextafter(at, -math.inf), at, math.nextafter(at, math.inf))
            if not all(program.inputs[name].holds(x) for x in sides):
                continue
            for row in settings:
                below, here, above = (evaluate(program, {**row, name: x}) for x in sides)
                if math.isfinite(below + here + above):
                    others = {each: value for each, value in row.items() if each != name}
                    found.append(Edge(name, at, others, below, here, above, at in named[name]))
    return found


def _list_settings(program: Program, name: str, breakpoints: Mapping[str, tuple[float, ...]]) -> list[NumericRow]:
    """Return some settings of the other inputs: at rest, and each combination of what they choose between."""
    still = {each: value_at_rest(field) for each, field in program.inputs.items()}
    options: Mapping[str, tuple[float, ...]] = {
        each: list_choices(field)
        or list_numbers_to_try(field, breakpoints[each])[:: max(1, len(breakpoints[each]) // 2)]
        for each, field in program.inputs.items()
        if each != name
    }
    rows = [still]
    for values in product(*options.values()):
        if len(rows) >= MOST_SETTINGS:
            break
        rows.append({**still, **dict(zip(options, values, strict=True))})
    return rows
