"""The rule about stated preferences: what the author prefers, the reward must prefer too."""

from collections.abc import Iterator, Mapping
from typing import Any

from plaudit.checks.domain import Row, position
from plaudit.checks.examination import Examination, number
from plaudit.checks.finding import Finding, Step, Undecided
from plaudit.checks.lint.actions import tied
from plaudit.checks.question import Question
from plaudit.language import nodes as n
from plaudit.reward.prefer import Preference

SIDES = {"better": "preferred", "over": "not preferred"}


def order_inversion(examination: Examination) -> Iterator[Finding | Undecided]:
    """Find preferences that the reward contradicts for some values of what they leave free."""
    for preference in examination.reward.prefer:
        question = Question()
        gain = question.minus(*(_sum(examination, question, preference, side) for side in SIDES))
        row = examination.solver.example(question, question.compare(gain, n.Le, question.number(0.0)))
        if row is None:
            yield examination.undecided("order-inversion", "total", f"whether {_reason(preference)} always holds")
        elif isinstance(row, dict):
            yield _told(examination, preference, row)
        elif examination.solver.example(question, question.compare(gain, n.Gt, question.number(0.0))) is False:
            yield Undecided("order-inversion", "total", f"{_reason(preference)} is about steps that facts rule out")


def _sum(examination: Examination, question: Question, preference: Preference, side: str) -> int:
    discount = examination.reward.discount or 1.0
    totals = []
    for at, row in enumerate(getattr(preference, side)):
        names = _names(examination, preference, side, at)
        copy = examination.subject.row(question, names=names, fixed=_fixed(examination, row))
        totals.append(question.times(discount**at, copy["total"]))
    return question.plus(*totals)


def _names(examination: Examination, preference: Preference, side: str, at: int) -> dict[str, str]:
    """Return the names of a step's inputs: what is left open is the same on both sides.

    Only what a fact ties to an input that the two sides give differently follows that input.
    """
    subject = examination.subject
    given = [dict(rows[at]) if at < len(rows) else {} for rows in (preference.better, preference.over)]
    different = [name for name in {**given[0], **given[1]} if given[0].get(name) != given[1].get(name)]
    follow = {each for name in different for each in tied(subject, name)}
    return {name: f"{name}, step {at}{f' {side}' if name in follow else ''}" for name in subject.fields}


def _fixed(examination: Examination, row: Mapping[str, Any]) -> Row:
    fields = examination.subject.fields
    return {name: position(fields[name], value) for name, value in row.items()}


def _reason(preference: Preference) -> str:
    return f"the preference {preference.because!r}" if preference.because else "a stated preference"


def _told(examination: Examination, preference: Preference, row: Row) -> Finding:
    subject = examination.subject
    discount = examination.reward.discount or 1.0
    steps: list[Step] = []
    sums = []
    for side, label in SIDES.items():
        total = 0.0
        for at, given in enumerate(getattr(preference, side)):
            names = _names(examination, preference, side, at)
            free = {name: row[own] for name, own in names.items() if own in row}
            step = subject.step({**free, **_fixed(examination, given)}, label)
            steps.append(step)
            total += discount**at * (step.total or 0.0)
        sums.append(total)
    because = f" ({preference.because})" if preference.because else ""
    how = "the same as" if sums[0] == sums[1] else "less than"
    return examination.finding(
        "order-inversion",
        "total",
        f"what is preferred{because} earns {number(sums[0])}, {how} what it is preferred to: {number(sums[1])}.",
        "Change weights or terms until the preferred one earns more, or correct the preference.",
        witness=tuple(steps),
        facts=subject.about(*subject.reads["total"]),
    )
