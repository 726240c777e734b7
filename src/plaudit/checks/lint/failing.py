"""Rules about rows that cannot be scored, and totals without bound."""

import math
from collections.abc import Iterator

from plaudit.checks.domain import NEAR, Row, unlimited
from plaudit.checks.examination import Examination
from plaudit.checks.finding import Finding, Place, Step, Undecided
from plaudit.checks.question import Question
from plaudit.language import nodes as n
from plaudit.language.program import Guard, reachable


def cannot_be_scored(examination: Examination) -> Iterator[Finding | Undecided]:
    """Find rows inside the declared ranges that divide by zero, take the logarithm of 0, and the like."""
    subject = examination.subject
    program = subject.program
    told: set[tuple[str, str]] = set()
    for guard in program.domain:
        if (guard.where, guard.line) in told:
            continue
        read = {
            node.name for at in reachable(program.nodes, [guard.node]) if isinstance(node := program.nodes[at], n.Input)
        }
        question = Question()
        copy = subject.row(question, scored=False)
        if isinstance(program.nodes[guard.node], n.IsFinite):  # of what grows without bound `unbounded` tells
            open_ends = {name: program.inputs[name] for name in sorted(read) if program.inputs[name].infinite}
            far = [question.builder.add(n.IsInf(question.input(*each))) for each in open_ends.items()]
            question.require(question.builder.any(far))
        row = examination.solver.example(question, question.never(copy.at(guard.node)))
        code = "may-divide-by-zero" if "zero" in guard.why else "not-a-number"
        if row is None:
            yield examination.undecided(code, guard.where, f"whether it ever {guard.why}")
        elif isinstance(row, dict):
            told.add((guard.where, guard.line))
            yield examination.finding(
                code,
                guard.where,
                f"{guard.where!r} {guard.why} for inputs that the declared ranges allow.",
                "Guard the operation with a condition, or tighten the range of the field: low=, high= or a fact.",
                witness=(subject.step(row, "cannot be scored", only=frozenset(read), plain=True),),
                place=_place(guard, subject.where(guard.where)),
                facts=subject.about(*read),
            )


def _place(guard: Guard, term: Place | None) -> Place | None:
    """Return the line that a guard names: 'rewards.py, line 12:  return a / b'."""
    head, _, text = guard.line.partition(":  ")
    line = head.rpartition("line ")[2]
    return Place(term.file, int(line), text) if term is not None and line.isdecimal() else term


def _witness(examination: Examination, word: str, row: Row) -> Step:
    """Return a step whose total is far out: where the best row overflows, another one."""
    subject = examination.subject
    step = subject.step(_readable(row), plain=True)
    if step.total is None:
        question = Question()
        total = subject.row(question)["total"]
        asked = total if word == "high" else question.builder.simplified(n.Neg(total))
        other = examination.solver.above(question, asked, NEAR)
        step = subject.step(other, plain=True) if isinstance(other, dict) else step
    return step


def _readable(row: Row) -> Row:
    """Return a row in which what has no bound is merely large."""
    return {
        name: math.copysign(NEAR, value) if unlimited(value) and math.isfinite(value) else value
        for name, value in row.items()
    }


def unbounded(examination: Examination) -> Iterator[Finding | Undecided]:
    """Find totals that no declared range keeps finite."""
    subject = examination.subject
    span = examination.span("total")
    if not span.exact and (math.isinf(span.low) or math.isinf(span.high)):
        span = examination.span("total", tight=True)
    for end, word, row in ((span.high, "high", span.highest), (-span.low, "low", span.lowest)):
        if end != math.inf:
            continue
        open_ended = sorted(
            {
                field.name
                for name in subject.reads["total"]
                if (field := subject.program.inputs[name]).kind == "number" and not field.numbers
                if field.low is None or (field.high is None and not field.infinite)
            }
        )
        verb = "has" if len(open_ended) == 1 else "have"
        why = (
            f"because of {', '.join(open_ended)}, which {verb} no declared range on one side"
            if open_ended
            else "though every field has a declared range"
        )
        exact = row is not None or bool(open_ended)
        if not exact:
            yield examination.undecided("unbounded", "total", f"how {word} the total can get")
            continue
        yield examination.finding(
            "unbounded",
            "total",
            f"the total can get as {word} as you like, {why}.",
            "Declare low= and high= of the fields, or clamp the term or the total.",
            severity="advice" if open_ended else "warning",
            witness=() if row is None else (_witness(examination, word, row),),
            facts=subject.about(*subject.reads["total"]),
        )
