"""The rule about staying: a state that pays for ever, and whether anything better competes with it."""

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from plaudit.checks.aims import cuts
from plaudit.checks.boxes import Highest
from plaudit.checks.domain import Row, unlimited
from plaudit.checks.examination import Examination, number
from plaudit.checks.finding import Finding, Severity, Undecided
from plaudit.checks.lint.actions import tied
from plaudit.checks.lint.ends import best_end
from plaudit.checks.lint.potential import moves, shaping_terms
from plaudit.checks.question import Question
from plaudit.checks.subject import Subject
from plaudit.language import nodes as n

MOST_STRETCHES = 8


def lasting(examination: Examination) -> Subject | None:
    """Return the reward without its potential-based terms, which pay nothing in the long run, and without its end.

    None where nothing else is left of it.
    """
    shaping = shaping_terms(examination)
    kept = [t.name for t in examination.reward.terms if not t.terminal and shaping.get(t.name) is not False]
    return Subject(examination.reward.only(*kept)) if kept else None


def standing(subject: Subject, question: Question, *, happening: frozenset[str] = frozenset()) -> int:
    """Add a step that changes nothing to a question, and return the position of what it pays.

    Nothing happens in it but what the action brings about, and perhaps the events `happening`.
    """
    action = subject.reward.action
    free = frozenset(tied(subject, action)) if action is not None else frozenset[str]()
    names = moves(subject, "s", "s")
    still = {name: value for name, value in subject.quiet.items() if name not in free | happening}
    return subject.row(question, names=names, fixed=still)["total"]


def pays_for_staying(examination: Examination) -> Iterator[Finding | Undecided]:
    """Find states that pay in every step in which nothing happens."""
    lasts = lasting(examination)
    if lasts is None:
        return
    question = Question()
    pay = standing(lasts, question)
    best = highest_pay(examination, question, pay)
    if best.bound <= 1e-9:
        return
    if best.row is None or best.value <= 1e-9:
        yield examination.undecided("pays-for-staying", "total")
        return
    most = _told(best.value, "up to ")
    better, severity = _competing(examination, best.value)
    stretches = list(_stretches(examination, lasts))
    where = "; ".join(text for text, _, _ in stretches)
    subject = examination.subject
    yield examination.finding(
        "pays-for-staying",
        "total",
        f"a step that leaves everything as it is pays {most}, for ever{f' ({where})' if where else ''}.{better}",
        "If finishing is what you want, make a step cost something or let the end pay more than waiting; if staying "
        "alive is the task, allow this with that reason.",
        severity=severity,
        witness=tuple(
            subject.step(stayed(subject, row), text, plain=not any(subject.ends()))
            for text, row, _ in stretches or [("nothing happens", best.row, best.value)]
        ),
        facts=subject.about(*subject.reads["total"]),
    )


def highest_pay(examination: Examination, question: Question, pay: int) -> Highest:
    """Return the most that a step pays; where that has no bound, with a row that people can read."""
    best = examination.solver.highest(question, pay)
    row = examination.solver.above(question, pay) if unlimited(best.value) else None
    return replace(best, row=row) if isinstance(row, dict) else best


def _told(pay: float, prefix: str = "") -> str:
    return "as much as you like" if unlimited(pay) else f"{prefix}{number(pay)}"


def stayed(subject: Subject, row: Row) -> Row:
    """Return the inputs of a step that stays, from the answer to a question about it."""
    names = moves(subject, "s", "s")
    return {name: row[names.get(name, name)] for name in subject.fields if names.get(name, name) in row} | {
        name: value for name, value in subject.quiet.items() if name not in row
    }


def _competing(examination: Examination, pay: float) -> tuple[str, Severity]:
    """Return what an ending pays that competes with staying, and how grave it is that staying pays more."""
    best = best_end(examination)
    if best <= 0 or unlimited(best) or unlimited(pay):
        return "", "advice"
    discount = examination.reward.discount
    if discount is not None and discount < 1:
        forever = pay / (1 - discount)
        if forever <= best:
            return f" That is worth {number(forever)} at most, less than an end that pays {number(best)}.", "advice"
        return f" That is worth {number(forever)}, more than the best end, which pays {number(best)}.", "warning"
    steps = math.ceil(best / pay)
    return f" After {number(steps)} steps it has out-earned the best end, which pays {number(best)}.", "warning"


def _stretches(examination: Examination, subject: Subject) -> Iterator[tuple[str, Row, float]]:
    """Yield each stretch of a state field in which staying pays: what it pays there, with a row."""
    question = Question()
    whole = question.program(standing(subject, question))
    places = {name: at for name, at in cuts(whole).items() if at and name.startswith("s.")}
    if not places:
        return
    name = max(places, key=lambda each: len(places[each]))
    field = whole.inputs[name]
    ends = [-math.inf, *places[name], math.inf]
    found: list[tuple[float, float, Highest]] = []
    for low, high in pairwise(ends):
        question = Question()
        asked = standing(subject, question)
        at = question.input(name, field)
        question.require(question.compare(at, n.Gt, question.number(low)))
        question.require(question.compare(at, n.Lt, question.number(high)))
        answer = highest_pay(examination, question, asked)
        if answer.row is not None and answer.value > 1e-9:
            if found and found[-1][2].value == answer.value and found[-1][1] == low:
                found[-1] = (found[-1][0], high, answer)
            else:
                found.append((low, high, answer))
    for low, high, answer in found[:MOST_STRETCHES]:
        assert answer.row is not None
        plain = name.removeprefix("s.")
        if math.isinf(low) or (field.low is not None and low <= field.low):
            text = f"{plain} below {number(high)}" if math.isfinite(high) else f"any {plain}"
        else:
            text = (
                f"{plain} beyond {number(low)}" if math.isinf(high) else f"{plain} from {number(low)} to {number(high)}"
            )
        yield f"{text}: {_told(answer.value)} a step", answer.row, answer.value
