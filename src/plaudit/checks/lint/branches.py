"""Rules about the branches of a term: one that no step can reach, and zones that claim the same values."""

from collections.abc import Iterator
from itertools import pairwise

from plaudit.checks.aims import cuts
from plaudit.checks.domain import Row, rest
from plaudit.checks.examination import Examination, number
from plaudit.checks.finding import Finding, Place, Undecided
from plaudit.checks.places import Marked, marked
from plaudit.checks.question import Question
from plaudit.language import nodes as n
from plaudit.language.interval import Interval
from plaudit.language.intervals import within
from plaudit.language.program import Program, reachable

MOST_TOLD = 5
"""So many branches of a term are told one by one; of more, how many there are."""


def unreachable_branch(examination: Examination) -> Iterator[Finding | Undecided]:
    """Find branches that no step can reach, given the declared ranges and facts."""
    for term in examination.reward.terms:
        read = marked(examination.reward, term)
        if read is None:
            continue
        never: list[Place] = []
        inputs: set[str] = set()
        for places in _lines(read).values():
            answers = [_reached(examination, read, at) for at in places]
            if any(isinstance(answer, dict) for answer in answers):
                continue
            place = read.place(places[0])
            if None in answers:
                what = f"whether line {place.line} is ever reached"
                yield examination.undecided("unreachable-branch", term.name, what)
                continue
            never.append(place)
            inputs |= _inputs(read.program, read.program.outputs[f"reached {places[0]}"])
        facts = examination.subject.about(*inputs)
        for told, place in enumerate(never[:MOST_TOLD]):
            more = len(never) - MOST_TOLD if told == MOST_TOLD - 1 else 0
            yield _unreachable(examination, term.name, place, facts, more)


def _lines(read: Marked) -> dict[tuple[str, int, int, str], list[int]]:
    """Return the marks of each place: a helper that is called twice has each of its places twice."""
    lines: dict[tuple[str, int, int, str], list[int]] = {}
    for at, mark in enumerate(read.marks):
        if mark.test is None:
            lines.setdefault((mark.file, mark.line, mark.column, mark.text), []).append(at)
    return lines


def _unreachable(examination: Examination, term: str, place: Place, facts: tuple[str, ...], more: int) -> Finding:
    given = " and facts" if facts else ""
    others = f" The same is true of {more} other places in it." if more > 0 else ""
    return examination.finding(
        "unreachable-branch",
        term,
        f"{term!r} never gets to `{place.text}`: no step within the declared ranges{given} leads there.{others}",
        "Correct the condition, or drop the branch: what stands there is never paid.",
        place=place,
        facts=facts,
    )


def _reached(examination: Examination, read: Marked, at: int) -> Row | bool | None:
    question = Question()
    copy = question.copy(read.program)
    examination.subject.given(question)
    return examination.solver.example(question, copy[f"reached {at}"])


def _inputs(program: Program, at: int) -> set[str]:
    nodes = program.nodes
    return {node.name for each in reachable(nodes, [at]) if isinstance(node := nodes[each], n.Input)}


def zone_overlap(examination: Examination) -> Iterator[Finding | Undecided]:
    """Find a test of a range (`15 <= x < 40`) part of which an earlier test has already taken."""
    for term in examination.reward.terms:
        read = marked(examination.reward, term)
        for at, mark in enumerate(read.marks if read is not None else ()):
            if read is None or mark.test is None:
                continue
            program = read.program
            test, reached = program.outputs[f"test {at}"], program.outputs[f"reached {at}"]
            names = _inputs(program, test)
            apart = len(names) != 1 or not _inputs(program, reached) <= names
            if apart or not _two_sided(program, test) or not _after_others(program, reached):
                continue
            (name,) = names
            taken = [
                x
                for x in _middles(program, name)
                if _true(program, test, name, x) and not _true(program, reached, name, x)
            ]
            if taken:
                place = read.place(at)
                yield examination.finding(
                    "zone-overlap",
                    term.name,
                    f"`{place.text.rstrip(':')}` in {term.name!r} claims {name} = {number(taken[0])}, which "
                    "an earlier test has already taken.",
                    "Let the zones touch: begin each where the one before it ends.",
                    witness=(examination.subject.step({name: taken[0]}, only=frozenset([name])),),
                    place=place,
                )


def _after_others(program: Program, reached: int) -> bool:
    """Return whether a place is reached wherever none of the tests before it holds: it is not inside another `if`."""
    match program.nodes[reached]:
        case n.And(left, right):
            return _after_others(program, left) and _after_others(program, right)
        case n.Not() | n.Const():
            return True
    return False


def _two_sided(program: Program, test: int) -> bool:
    match program.nodes[test]:
        case n.And(left, right):
            sides = (program.nodes[left], program.nodes[right])
            return all(isinstance(side, n.Lt | n.Le | n.Gt | n.Ge) for side in sides)
    return False


def _middles(program: Program, name: str) -> list[float]:
    """Return a value inside each stretch between two values that the input is compared with."""
    places = list(cuts(program)[name])
    if not places:
        return []
    ends = [places[0] - 1, *places, places[-1] + 1]
    middles = [(a + b) / 2 for a, b in pairwise(ends)]
    return [x for x in middles if program.inputs[name].holds(x)]


def _true(program: Program, at: int, name: str, value: float) -> bool:
    row = {each: rest(field) for each, field in program.inputs.items()} | {name: value}
    return within(program, {each: Interval(x, x) for each, x in row.items()})[at].low == 1
