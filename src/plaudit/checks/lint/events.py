"""The rule about events: what is paid whenever it happens, and may happen again and again."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from plaudit.checks.domain import Row, rest, unlimited
from plaudit.checks.examination import Examination, number
from plaudit.checks.finding import Finding, Step, Undecided
from plaudit.checks.lint.actions import tied
from plaudit.checks.lint.ends import best_end
from plaudit.checks.lint.staying import highest_pay, lasting, standing, stayed
from plaudit.checks.question import Question
from plaudit.checks.subject import Subject
from plaudit.language import nodes as n

MOST_SHOWN = 4
"""Of so many events a witness shows the steps."""


@dataclass(frozen=True, slots=True)
class Paid:
    """An event, the most that a step with it pays, and that step."""

    field: str
    pay: float
    row: Row
    happening: frozenset[str]
    """The inputs that are at rest where it does not happen."""


def pays_per_event(examination: Examination) -> Iterator[Finding | Undecided]:
    """Find events whose pay, repeated, is worth more than the best end."""
    end = best_end(examination)
    lasts = lasting(examination)
    if lasts is None or end <= 1e-9 or unlimited(end):
        return
    discount = examination.reward.discount or 1.0
    found: list[Paid] = []
    for field, inputs in _events(lasts).items():
        paid = _paid(examination, lasts, field, inputs)
        if paid is None:
            yield examination.undecided("pays-per-event", "total", f"what a step pays in which {field!r} happens")
        elif isinstance(paid, Paid) and (discount >= 1 or paid.pay > end * (1 - discount)):
            found.append(paid)
    if not found:
        return
    found.sort(key=lambda each: -each.pay)
    subject = examination.subject
    first, *others = found
    told = [f"{first.field!r} pays {_told(first.pay)} a step"]
    told += [f"{each.field!r} {_told(each.pay)}" for each in others]
    listed = f"{', '.join(told[:-1])} and {told[-1]}" if others else told[0]
    yield examination.finding(
        "pays-per-event",
        "total",
        f"{listed}, again and again while nothing else changes. {_out_earns(first, end, discount)}",
        "Pay for it once (the environment keeps what was already paid for), or let the end pay more than it can add up "
        'to. If it is not an event, declare role="state"; if it cannot happen again and again, declare the fact that '
        "says so, or allow this with that reason.",
        witness=tuple(step for each in found[:MOST_SHOWN] for step in _steps(subject, each)),
        facts=subject.about(*subject.reads["total"]),
    )


def _events(subject: Subject) -> dict[str, frozenset[str]]:
    """Return the inputs of each event that can change the total and does not follow from the action."""
    action = subject.reward.action
    found: dict[str, frozenset[str]] = {}
    for name in sorted(subject.reads["total"] - {"terminal"}, key=list(subject.fields).index):
        field = subject.fields[name]
        if subject.role(field) == "event" and not (action is not None and name in tied(subject, action)):
            found[field.name] = found.get(field.name, frozenset()) | {name}
    return found


def _paid(examination: Examination, subject: Subject, field: str, inputs: frozenset[str]) -> Paid | bool | None:
    """Return what an event pays in a step that leaves all else as it is; False if nothing, None if undecided.

    If it never pays by itself, other events may happen with it that a fact ties to it.
    """
    alone = _paid_with(examination, subject, field, inputs, inputs)
    together = frozenset(other for name in inputs for other in tied(subject, name) if other in subject.quiet)
    happening = (inputs | together) - {"terminal"}
    if alone is not False or happening == inputs:
        return alone
    return _paid_with(examination, subject, field, inputs, happening)


def _paid_with(
    examination: Examination, subject: Subject, field: str, inputs: frozenset[str], happening: frozenset[str]
) -> Paid | bool | None:
    question = Question()
    pay, less = standing(subject, question, happening=happening), standing(subject, question)
    question.require(question.compare(question.minus(pay, less), n.Gt, question.number(1e-9)))
    fields = {name: subject.fields[name] for name in sorted(inputs)}
    happens = [
        question.compare(question.input(name, each), n.Ne, question.input(name, each, rest(each)))
        for name, each in fields.items()
    ]
    question.require(question.builder.any(happens))
    best = highest_pay(examination, question, pay)
    if best.bound <= 1e-9:
        return False
    if best.row is None or best.value <= 1e-9:
        return None
    return Paid(field, best.value, best.row, happening)


def _told(pay: float) -> str:
    return "as much as you like" if unlimited(pay) else f"up to {number(pay)}"


def _out_earns(paid: Paid, end: float, discount: float) -> str:
    """Return how the event compares with the best end."""
    against = f"the best end, which pays {number(end)}"
    if unlimited(paid.pay):
        return f"One such step can out-earn {against}."
    if discount < 1:
        worth = number(paid.pay / (1 - discount))
        return f"For ever {paid.field!r} is worth {worth} at a discount of {number(discount)}, more than {against}."
    steps = math.floor(end / paid.pay + 1e-9) + 1
    return f"After {number(steps)} such step{'s' * (steps > 1)} {paid.field!r} has out-earned {against}."


def _steps(subject: Subject, paid: Paid) -> Iterator[Step]:
    """Yield the step in which it happens, and the same step without it."""
    row = stayed(subject, paid.row)
    yield subject.step(row, f"with {paid.field}")
    yield subject.step({**row, **{name: subject.quiet[name] for name in paid.happening}}, "without")
