"""The rule about stated preferences: what the author prefers, the reward must prefer too."""

from collections.abc import Iterator, Mapping
from typing import Any

from plaudit.checks.domain import Row, position
from plaudit.checks.examination import Examination, number
from plaudit.checks.finding import Finding, Step, Undecided
from plaudit.checks.question import Question
from plaudit.language import nodes as n
from plaudit.reward.prefer import Preference


def order_inversion(examination: Examination) -> Iterator[Finding | Undecided]:
    """Find preferences that the reward contradicts for some values of what they leave free."""
    for preference in examination.reward.prefer:
        question = Question()
        better, worse = (_sum(examination, question, rows) for rows in (preference.better, preference.over))
        flag = question.compare(question.minus(worse, better), n.Ge, question.number(0.0))
        row = examination.solver.example(question, flag)
        if row is None:
            yield examination.undecided("order-inversion", "total", f"whether {_reason(preference)} always holds")
        elif isinstance(row, dict):
            yield _told(examination, preference, row)


def _sum(examination: Examination, question: Question, rows: tuple[Mapping[str, Any], ...]) -> int:
    discount = examination.reward.discount or 1.0
    totals = []
    for at, row in enumerate(rows):
        copy = examination.subject.row(question, names=_names(examination, at), fixed=_fixed(examination, row))
        totals.append(question.times(discount**at, copy["total"]))
    return question.plus(*totals)


def _names(examination: Examination, at: int) -> dict[str, str]:
    return {name: f"{name}, step {at}" for name in examination.subject.fields}


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
    for label, rows in (("preferred", preference.better), ("not preferred", preference.over)):
        total = 0.0
        for at, given in enumerate(rows):
            free = {name: row[f"{name}, step {at}"] for name in subject.fields if f"{name}, step {at}" in row}
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
