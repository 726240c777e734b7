"""What the end of an episode pays, as far as terminal terms declare it."""

from collections.abc import Iterator
from itertools import product

from plaudit.checks.domain import Row, choices, unlimited
from plaudit.checks.examination import Examination
from plaudit.checks.question import Question
from plaudit.checks.subject import Subject

MOST_KINDS = 64
"""So many kinds of ends are told apart."""


def best_end(examination: Examination) -> float:
    """Return the most that the terminal terms can pay; 0 where they cannot pay."""
    ends = (term for term in examination.reward.terms if term.terminal and term.weight != 0)
    return sum(max(0.0, examination.span(f"{term.name}.value").high) for term in ends)


def cheapest_bad_end(examination: Examination) -> tuple[float, Row] | None:
    """Return the price of the cheapest kind of end that costs, at its dearest, and a row; None if there is none.

    Kinds differ in what can be counted, flags and categories. One that can also pay is bad only where no other is.
    """
    terms = [term.name for term in examination.reward.terms if term.terminal and term.weight != 0]
    if not terms:
        return None
    subject = Subject(examination.reward.only(*terms))
    bad: dict[bool, list[tuple[float, Row]]] = {True: [], False: []}
    for kind in _kinds(subject):
        question = Question()
        paid = subject.row(question, fixed=kind)["total"]
        low, high = examination.solver.lowest(question, paid), examination.solver.highest(question, paid)
        if low.row is not None and low.value < -1e-9 and not unlimited(low.value):
            bad[high.bound <= 1e-9].append((-low.value, {**low.row, **kind}))
    return min(bad[True] or bad[False], key=lambda each: each[0], default=None)


def _kinds(subject: Subject) -> Iterator[Row]:
    """Yield each kind of end: a value for every input that has only a few."""
    options: dict[str, tuple[float, ...]] = {"terminal": (1.0,)}
    count = 1
    for name in sorted(subject.reads["total"] - {"terminal"}):
        values = choices(subject.fields[name])
        if values and count * len(values) <= MOST_KINDS:
            options[name] = values
            count *= len(values)
    for combination in product(*options.values()):
        yield dict(zip(options, combination, strict=True))
