"""Rules about what is declared: ranges that are missing, fields and knobs without effect, constants that changed."""

import math
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from plaudit.checks.examination import Examination
from plaudit.checks.finding import Finding, Undecided
from plaudit.checks.question import Question
from plaudit.checks.rows import can_matter
from plaudit.checks.subject import Subject
from plaudit.language import nodes as n
from plaudit.language.source import Source, current


def missing_range(examination: Examination) -> Iterator[Finding | Undecided]:
    """Find numbers that nobody said how large they can be."""
    without = {
        field.name: [
            end for end in ("low", "high") if getattr(field, end) is None and not (end == "high" and field.infinite)
        ]
        for field in examination.reward.fields.values()
        if field.kind == "number" and not field.numbers
    }
    open_ended = [f"{name} ({' and '.join(ends)})" for name, ends in without.items() if ends]
    if open_ended:
        yield examination.finding(
            "missing-range",
            "total",
            f"no range is declared for {', '.join(open_ended)}.",
            "Declare low= and high=, as far as the world sets them; the proofs get stronger for it.",
        )


def unused_field(examination: Examination) -> Iterator[Finding | Undecided]:
    """Find fields that a term reads and that cannot change the total."""
    subject = examination.subject
    weighed = {name for term in examination.reward.terms if term.weight != 0 for name in subject.reads_score[term.name]}
    by_field: dict[str, set[str]] = {}
    for name in weighed:
        by_field.setdefault(subject.program.inputs[name].name, set()).add(name)
    by_field.pop("terminal", None)
    for field in sorted(by_field):
        readers = [term.name for term in examination.reward.terms if subject.reads_score[term.name] & by_field[field]]
        part = Subject(examination.reward.only(*readers))
        if can_matter(part, by_field[field]):
            continue
        question = Question()
        other = {name: f"{name}, otherwise" for name in by_field[field]}
        this, that = part.row(question), part.row(question, names=other)
        row = examination.solver.above(question, question.distance(this["total"], that["total"]))
        if row is None:
            yield examination.undecided("unused-field", "total", f"whether {field} can change the total")
        elif row is False:
            yield examination.finding(
                "unused-field",
                "total",
                f"{field!r} is read and cannot change the total.",
                "Drop the field, or give its part of the expression a weight.",
            )


def unused_knob(examination: Examination) -> Iterator[Finding | Undecided]:
    """Find knobs that no expression uses."""
    program = examination.reward.program
    used = {node.name for node in program.nodes if isinstance(node, n.Param)}
    for name in examination.reward.params:
        if name in used:
            continue
        term = name.partition(".")[0] if "." in name else "total"
        yield examination.finding(
            "unused-knob", term, f"the knob {name!r} changes nothing: its term does not use it.", "Use it or drop it."
        )


def changed_since_read(examination: Examination) -> Iterator[Finding | Undecided]:
    """Find functions whose constants or helpers were given another value after the reward was made."""
    for term in examination.reward.terms:
        for name, before, after in _changes(term.source) if term.source is not None else ():
            yield examination.finding(
                "changed-since-read",
                term.name,
                f"{name} was {before} when {term.name!r} was read and is {after} now: the function computes something "
                "else than the reward.",
                "Make the reward after its constants have their values, or make the constant a knob.",
            )


def _changes(source: Source) -> Iterator[tuple[str, str, str]]:
    for name, before in source.known.items():
        if not isinstance(name, str):
            continue
        with suppress(KeyError):  # a name that is gone changes nothing
            after = current(source.function, name)
            if after is not before and not (type(after) is type(before) and _equal(after, before)):
                yield name, f"{before!r:.60}", f"{after!r:.60}"
    for helper in source.helpers.values():
        yield from _changes(helper)


def _equal(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return left == right or (math.isnan(left) and math.isnan(right))
    return bool(np.array_equal(left, right)) if isinstance(left, np.ndarray) else bool(left == right)
