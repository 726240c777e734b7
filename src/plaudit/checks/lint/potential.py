"""Whether a term is potential-based: a difference of one function of the state, after and before (Ng et al. 1999)."""

from collections.abc import Iterator
from itertools import product

from plaudit.checks.ask import value_of
from plaudit.checks.domain import Row, choices, plain_name, plain_values, rest
from plaudit.checks.examination import Examination, number
from plaudit.checks.finding import Finding, Step, Undecided
from plaudit.checks.question import Question
from plaudit.checks.subject import Subject, state_fields
from plaudit.language.program import Program

TRIANGLE = (("s", "t"), ("t", "u"), ("u", "s"))
"""Three steps that end where they began."""


def moves(subject: Subject, before: str, after: str, *, chosen: str = "") -> dict[str, str]:
    """Return the names of a step's inputs when it leads from the state `before` to the state `after`."""
    names = {}
    for name, field in subject.fields.items():
        plain = plain_name(name)
        if subject.role(field) == "state":
            names[name] = f"{before if name.startswith('prev.') else after}.{plain}"
        elif chosen:
            names[name] = f"{plain}, {chosen}"
    return names


def potential_based(examination: Examination, term: str) -> Row | bool | None:
    """Return False if the term is potential-based, a row that shows that it is not, or None if that is not decided.

    With discount 1, three steps in a triangle add up to 0; with a smaller one, what a step from s to t pays follows
    from what standing at s and at t pays.
    """
    subject = Subject(examination.reward.only(term))
    discount = examination.reward.discount or 1.0
    question = Question()

    def paid(before: str, after: str) -> int:
        names = moves(subject, before, after, chosen=f"{before}{after}")
        return subject.row(question, names=names, fixed=subject.quiet)[f"{term}.score"]

    if discount == 1:
        residue = question.plus(*(paid(*step) for step in TRIANGLE))
    else:
        moved, there, here = (paid(*step) for step in (("s", "t"), ("t", "t"), ("s", "s")))
        # F(s, t)(d - 1) = d F(t, t) - F(s, s), with d - 1 not worked out: 0.99 - 1 is no short decimal as a float
        residue = question.minus(question.times(discount, question.minus(moved, there)), question.minus(moved, here))
    size = question.distance(residue, question.number(0.0))
    return _there_and_back(subject, question.program(size)) or examination.solver.above(question, size)


def _there_and_back(subject: Subject, program: Program) -> Row | None:
    """Return a witness that people can follow, if there is one: a single field goes to another value and back."""
    still = {name: rest(field) for name, field in program.inputs.items()}
    for plain, field in state_fields(subject).items():
        values = choices(field) or plain_values(field)
        for here, there in product(values[:8], repeat=2):
            ends = {f"s.{plain}": here, f"t.{plain}": there, f"u.{plain}": here}
            row = still | {name: value for name, value in ends.items() if name in program.inputs}
            if here != there and value_of(program, row) > 1e-9:
                return row
    return None


def shaping_terms(examination: Examination) -> dict[str, Row | bool | None]:
    """Return for each term that compares before and after whether it is potential-based, as `potential_based` says.

    True stands for a term that reads what only rises or falls: no three steps bring that back.
    """
    if "shaping" not in examination.known:
        examination.known["shaping"] = {
            term.name: _rises(examination.subject, term.name) or potential_based(examination, term.name)
            for term in examination.reward.terms
            if not term.terminal
            and any(name.startswith("prev.") for name in examination.subject.reads_score[term.name])
        }
    found: dict[str, Row | bool | None] = examination.known["shaping"]
    return found


def _rises(subject: Subject, term: str) -> bool:
    return any(subject.fields[name].monotone is not None for name in subject.reads_score[term])


def not_potential_based(examination: Examination) -> Iterator[Finding | Undecided]:
    """Find terms that are meant to shape and are not potential-based."""
    discount = examination.reward.discount
    for term, answer in shaping_terms(examination).items():
        if examination.subject.terms[term].kind != "shaping" or isinstance(answer, bool):
            continue
        if not isinstance(answer, dict):
            yield examination.undecided("not-potential-based", term, "whether it is potential-based")
            continue
        what = (
            "three steps that end where they began do not add up to 0"
            if (discount or 1) == 1
            else (
                f"it is not {number(discount or 1)} times a potential after the step less the same potential before it"
            )
        )
        yield examination.finding(
            "not-potential-based",
            term,
            f"{term!r} is declared shaping and is not potential-based: {what}.",
            "Pay the difference of one function of the state, both ways: discount * f(curr) - f(prev).",
            witness=_steps(examination, term, answer),
            facts=examination.subject.about(*examination.subject.reads[term]),
        )


def _steps(examination: Examination, term: str, answer: Row) -> tuple[Step, ...]:
    subject = examination.subject
    steps = TRIANGLE if (examination.reward.discount or 1) == 1 else (("s", "t"), ("s", "s"), ("t", "t"))
    told = []
    for before, after in steps:
        names = moves(subject, before, after, chosen=f"{before}{after}")
        row = {name: answer[own] for name, own in names.items() if own in answer} | subject.quiet
        scores = subject.scores(row)
        note = "" if scores is None else f"{term} adds {number(float(scores.values[term]))}"
        told.append(subject.step(row, note, only=subject.reads[term]))
    return tuple(told)
