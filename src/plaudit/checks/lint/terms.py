"""Rules about what a term can be worth: dead, drowned by another, or of the wrong sign."""

from collections.abc import Iterator

from plaudit.checks.boxes import close
from plaudit.checks.domain import unlimited
from plaudit.checks.examination import Examination, number
from plaudit.checks.finding import Finding, Undecided
from plaudit.reward.term import Term

SHARE = 0.01
"""A term whose largest value is below this share of another's is drowned by it."""


def dead_term(examination: Examination) -> Iterator[Finding | Undecided]:
    """Find terms that read something and are the same whatever they read."""
    subject = examination.subject
    for term in examination.reward.terms:
        if term.weight == 0 or not term.reads:
            continue  # recorded on purpose, or a plain price per step
        span = examination.span(f"{term.name}.value")
        if not span.exact and close(span.least, span.most):
            span = examination.span(f"{term.name}.value", tight=True)
        if not close(span.low, span.high) or span.lowest is None:
            if not span.exact and close(span.least, span.most):
                yield examination.undecided("dead-term", term.name, "whether it is ever anything else")
            continue
        yield examination.finding(
            "dead-term",
            term.name,
            f"{term.name!r} adds {number(span.ends[0])} to every reward, whatever {', '.join(term.reads)} "
            f"{'is' if len(term.reads) == 1 else 'are'}.",
            "Correct the expression or the declared ranges, or drop the term.",
            witness=(subject.step(span.lowest, only=subject.reads[term.name] or None, plain=True),),
            facts=subject.about(*subject.reads[term.name]),
        )


def dominated_term(examination: Examination) -> Iterator[Finding | Undecided]:
    """Find terms whose whole range is below 1 % of another's."""
    spans = {term.name: examination.span(f"{term.name}.value") for term in examination.reward.terms}
    reached = {name: max(abs(span.least), abs(span.most)) for name, span in spans.items()}
    finite = {name: size for name, size in reached.items() if not unlimited(size)}
    largest = max(finite, key=lambda name: finite[name], default=None)
    sizes = {name: max(abs(span.low), abs(span.high)) for name, span in spans.items()}
    drowned = {name: size for name, size in sizes.items() if largest and 0 < size < SHARE * finite[largest]}
    if largest is None or not drowned:
        return
    listed = ", ".join(f"{name} ({number(size)})" for name, size in drowned.items())
    yield examination.finding(
        "dominated-term",
        largest,
        f"{largest!r} can be {number(finite[largest])}, more than a hundred times what these can be at most: {listed}.",
        f"Raise their weights or lower that of {largest!r}, unless it is paid so rarely that they rule in between.",
    )


def wrong_sign(examination: Examination) -> Iterator[Finding | Undecided]:
    """Find penalties that can pay, and bonuses that only ever cost."""
    for term in examination.reward.terms:
        if term.weight == 0:
            continue
        penalty = term.kind == "penalty" or (term.kind is None and term.weight < 0)
        if penalty:
            yield from _paying(examination, term)
        elif term.kind == "bonus":
            yield from _costing(examination, term)


def _paying(examination: Examination, term: Term) -> Iterator[Finding | Undecided]:
    subject, span = examination.subject, examination.span(f"{term.name}.value")
    if span.high > 0 and span.most <= 0:
        span = examination.span(f"{term.name}.value", tight=True)
    if span.high <= 0 or close(span.high, 0.0):
        return
    row = span.highest
    scores = None if row is None else subject.scores(row)
    if row is None or scores is None or not float(scores.values[term.name]) > 0:
        yield examination.undecided("wrong-sign", term.name, "whether this penalty can pay")
        return
    paid = float(scores.values[term.name])
    declared = "declared a penalty" if term.kind == "penalty" else f"a penalty, for its weight is {number(term.weight)}"
    yield examination.finding(
        "wrong-sign",
        term.name,
        f"{term.name!r} is {declared}, and it can raise the total: by {number(paid)} here.",
        "Turn the sign of the score or of the weight, clamp the score with low=0, or declare the range or fact that "
        "rules this out.",
        witness=(subject.step(row, f"{term.name} adds {number(paid)}", only=subject.reads[term.name], plain=True),),
        facts=subject.about(*subject.reads[term.name]),
    )


def _costing(examination: Examination, term: Term) -> Iterator[Finding | Undecided]:
    subject, span = examination.subject, examination.span(f"{term.name}.value")
    if span.high > 0 or span.low >= 0 or span.lowest is None:
        return
    yield examination.finding(
        "wrong-sign",
        term.name,
        f"{term.name!r} is declared a bonus, and it never raises the total: at best it adds {number(span.high)}.",
        "Turn the sign of the score or of the weight.",
        witness=(
            subject.step(
                span.lowest, f"{term.name} adds {number(span.low)}", only=subject.reads[term.name], plain=True
            ),
        ),
        facts=subject.about(*subject.reads[term.name]),
    )
