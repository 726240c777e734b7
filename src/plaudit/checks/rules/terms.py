"""Rules about what a term can be worth: dead, drowned, of the wrong sign; and gates and overrides without effect."""

import math
from collections.abc import Mapping, Sequence

from plaudit.checks.formats.plain import format_number
from plaudit.checks.model import RewardModel
from plaudit.checks.rules.registry import CheckContext, Found, rule
from plaudit.checks.solver.boxes import is_close
from plaudit.checks.solver.question import Impossible, Question, Unknown
from plaudit.checks.solver.ranges import NumericRow, is_unlimited
from plaudit.language import nodes as n
from plaudit.language.parameters import Number
from plaudit.language.schedule import Schedule
from plaudit.reward.lower import Function
from plaudit.reward.term import Term

KEPT = 0.9
"""What a witness in plain numbers shows of what a term can add, as a share."""
LEAST = 1e-9
SHARE = 0.01
"""A term whose largest value is below this share of another's is drowned by it."""
FAINT = 1e-4
"""The same where a stated objective depends on it, and it is a warning."""


@rule("dead-term", severity="warning", why="A term with the same value for every input teaches nothing.", always=True)
def find_dead_terms(context: CheckContext) -> Found:
    """Find terms that read something and are the same whatever they read."""
    for term in context.reward.terms:
        if term.weight != 0 and term.reads:  # else it is recorded on purpose, or a plain price per step
            yield from _find_constant(
                context,
                term,
                f"{term.name}.value",
                f"{term.name!r} adds {{}} to every reward",
                "Correct the expression or the declared ranges, or drop the term.",
            )


def _find_constant(context: CheckContext, owner: Function, output: str, what: str, advice: str) -> Found:
    """Find that an output is one number, which is told in `what`, whatever its owner reads."""
    model, span = context.model, context.span(output)
    if not span.exact and is_close(span.least, span.most):
        span = context.span(output, tight=True)
    if is_close(span.low, span.high) and span.lowest is not None:
        read = model.reads[owner.name] if owner.name in model.terms else model.reads_result(owner.name)
        (row,) = model.simplify_rows([span.lowest], lambda rows: model.score(rows[0]) is not None)
        given = f"{', '.join(owner.reads)} {'is' if len(owner.reads) == 1 else 'are'}"
        yield context.finding(
            owner.name,
            f"{what.format(format_number(span.ends[0]))}, whatever {given}.",
            advice,
            witness=(model.build_step(row, only=read or None),),
            facts=model.facts_about(*read),
        )
    elif not span.exact and is_close(span.least, span.most):
        yield context.undecided(owner.name, "whether it ever has another value")


@rule(
    "dominated-term",
    severity="note",
    why="A term a hundred times smaller than another is lost in the noise.",
    claims=None,
)
def find_dominated_terms(context: CheckContext) -> Found:
    """Find terms whose whole range is below 1 % of another's."""
    spans = {term.name: context.span(f"{term.name}.value") for term in context.reward.terms}
    reached = {name: max(abs(span.least), abs(span.most)) for name, span in spans.items()}
    finite = {name: size for name, size in reached.items() if not is_unlimited(size)}
    largest = max(finite, key=lambda name: finite[name], default=None)
    sizes = {name: max(abs(span.low), abs(span.high)) for name, span in spans.items()}
    drowned = {name: size for name, size in sizes.items() if largest and 0 < size < SHARE * finite[largest]}
    if largest is None or not drowned:
        return
    listed = ", ".join(f"{name} ({format_number(size)})" for name, size in drowned.items())
    yield context.finding(
        largest,
        f"{largest!r} can be {format_number(finite[largest])}, more than a hundred times the maximum of {listed}.",
        f"Raise the smaller weights or lower that of {largest!r}, unless it is paid so rarely that the others decide "
        "most steps.",
        severity="warning" if _drowns_a_wish(context, largest, drowned, finite[largest]) else None,
    )


def _drowns_a_wish(context: CheckContext, largest: str, drowned: Mapping[str, float], size: float) -> bool:
    """Return whether what a field is wanted for is priced by a drowned term alone, and by next to nothing.

    A term that is paid only at an end, or when something happens, drowns nothing in between.
    """
    model = context.model
    read = model.reads_score[largest]
    if any(model.role(model.fields[name]) == "event" for name in read):  # `terminal` is one of them
        return False
    faint = {name for name, most in drowned.items() if most < FAINT * size}
    for field in context.reward._bound.fields.values():
        readers = {
            term for term, names in model.reads_score.items() if any(model.fields[n].name == field.name for n in names)
        }
        if field.is_wished and readers and readers <= faint:
            return True
    return False


@rule(
    "wrong-sign",
    severity="warning",
    why="A penalty that pays, or a bonus that costs, teaches the opposite of what you meant.",
)
def find_wrong_signs(context: CheckContext) -> Found:
    """Find penalties that can pay, and bonuses that only ever cost."""
    for term in context.reward.terms:
        if term.weight == 0:
            continue
        penalty = term.kind == "penalty" or (term.kind is None and _is_negative(term.weight))
        if penalty:
            yield from _find_paying_penalty(context, term)
        elif term.kind == "bonus":
            yield from _find_costing_bonus(context.forget_seen(), term)


def _is_negative(weight: Number) -> bool:
    """Return whether a weight makes a penalty; of a schedule, at every count."""
    least, most = weight.span if isinstance(weight, Schedule) else (weight, weight)
    return least < 0 and most <= 0


def _find_paying_penalty(context: CheckContext, term: Term) -> Found:
    model, span = context.model, context.span(f"{term.name}.value")
    if span.high > 0 and span.most <= 0:
        span = context.span(f"{term.name}.value", tight=True)
    if span.high <= 0 or is_close(span.high, 0.0):
        return
    row = span.highest
    scores = None if row is None else model.score(row)
    if row is None or scores is None or not float(scores.values[term.name]) > 0:
        yield context.undecided(term.name, "whether this penalty can pay")
        return
    row, paid = _simplify_value(model, term.name, row, float(scores.values[term.name]))
    guessed = term.kind is None and any(name.startswith("prev.") for name in model.reads_score[term.name])
    weight = str(term.weight) if isinstance(term.weight, Schedule) else format_number(term.weight)
    declared = "declared a penalty" if term.kind == "penalty" else f"a penalty (its weight is {weight})"
    yield context.finding(
        term.name,
        f"{term.name!r} is {declared} but can raise the total: by {format_number(paid)} here.",
        "Flip the sign of the score or of the weight, clamp the score with low=0, or declare the range or fact that "
        "rules this out.",
        severity="advice" if guessed else None,  # a difference costs one way and pays the other
        witness=(model.build_step(row, f"{term.name} adds {format_number(paid)}", only=model.reads[term.name]),),
        facts=model.facts_about(*model.reads[term.name]),
    )


def _find_costing_bonus(context: CheckContext, term: Term) -> Found:
    model, span = context.model, context.span(f"{term.name}.value")
    if span.high > 0 or span.least > -LEAST or span.lowest is None:
        return
    row, cost = _simplify_value(model, term.name, span.lowest, span.least)
    yield context.finding(
        term.name,
        f"{term.name!r} is declared a bonus but never raises the total: at best it adds {format_number(span.high)}.",
        "Flip the sign of the score or of the weight.",
        witness=(model.build_step(row, f"{term.name} adds {format_number(cost)}", only=model.reads[term.name]),),
        facts=model.facts_about(*model.reads[term.name]),
    )


def _simplify_value(model: RewardModel, term: str, row: NumericRow, value: float) -> tuple[NumericRow, float]:
    """Return a row in plain numbers to which a term adds nearly as much, and what it adds."""

    def measure(rows: Sequence[NumericRow]) -> float:
        scores = model.score(rows[0])
        return math.nan if scores is None else float(scores.values[term])

    far = is_unlimited(value) or any(map(is_unlimited, row.values()))
    sign, least = math.copysign(1, value), min(1.0, KEPT * abs(value)) if far else KEPT * abs(value)
    (row,) = model.simplify_rows([row], lambda rows: sign * measure(rows) >= least)
    return row, measure([row])


@rule(
    "dead-gate",
    severity="warning",
    why="A gate with the same value for every input is a hidden constant factor.",
    always=True,
)
def find_dead_gates(context: CheckContext) -> Found:
    """Find a gate that reads something and is the same whatever it reads."""
    gate = context.reward.gate
    if gate is not None and gate.reads:
        advice = "Correct the condition or the declared ranges, or replace the gate by a fixed factor: scale=."
        yield from _find_constant(context, gate, "gate.score", "the gate is {} in every step", advice)


@rule(
    "dead-override",
    severity="warning",
    why="An override that never applies does nothing; one that always applies silences every term.",
    always=True,
)
def find_dead_overrides(context: CheckContext) -> Found:
    """Find overrides whose condition no step can meet, or every step meets."""
    model = context.model
    for each in context.reward.override:
        if not each.condition.reads:
            continue
        facts = model.facts_about(*model.reads_result(each.name))
        for holds, what, advice in (
            (
                True,
                "never applies: no possible step meets its condition",
                "Correct the condition or the declared ranges.",
            ),
            (False, "always applies: the total is the same in every step", "Correct the condition, or drop the terms."),
        ):
            question = Question()
            flag = question.compare(model.add_row(question)[f"{each.name}.score"], n.Eq, question.number(float(holds)))
            match context.solver.find_example(question, flag):
                case Unknown(reason):
                    word = "ever" if holds else "always"
                    yield context.undecided(each.name, f"whether {each.name!r} {word} applies", reason=reason)
                case Impossible():
                    yield context.finding(each.name, f"the override {each.name!r} {what}.", advice, facts=facts)
                    break
