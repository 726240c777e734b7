"""The rule about shaping: it is potential-based, a difference of one function of the state (Ng et al. 1999)."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from plaudit.checks.finding import Finding, Step
from plaudit.checks.formats.plain import format_number
from plaudit.checks.model import RewardModel, find_state_fields, name_step_inputs
from plaudit.checks.rules.registry import CheckContext, Found, rule
from plaudit.checks.solver.boxes import evaluate
from plaudit.checks.solver.question import Question, SolverAnswer, Unknown, Witness
from plaudit.checks.solver.ranges import NumericRow, list_choices, list_plain_values, value_at_rest
from plaudit.language.program import Program

TRIANGLE = (("s", "t"), ("t", "u"), ("u", "s"))
"""A 3-step cycle."""
LEAST = 1e-6
"""What must be left over in a witness, relative to what its steps score."""


@rule(
    "not-potential-based",
    severity="note",
    why="Shaping that is not potential-based can change which policy is best.",
    uses=("discount",),
    claims=None,
)
def find_unpotential_shaping(context: CheckContext) -> Found:
    """Find terms that are meant to shape and are not potential-based."""
    for term, answer in classify_shaping_terms(context).items():
        if context.model.terms[term].kind != "shaping":
            continue
        match answer:
            case Unknown(reason):
                yield context.undecided(term, "whether it is potential-based", reason=reason)
            case Witness(row):
                yield _describe_residue(context, term, row)


def _describe_residue(context: CheckContext, term: str, row: NumericRow) -> Finding:
    discount = context.reward.task.discount or 1.0
    what = "a 3-step cycle does not add up to 0"
    if discount != 1:
        factor = format_number(discount)
        what = f"it is not {factor} times a potential after the step minus the same potential before it"
    return context.finding(
        term,
        f"{term!r} is declared shaping but is not potential-based: {what}.",
        "Pay the difference of one function of the state in both directions: discount * f(curr) - f(prev).",
        witness=_build_steps(context, term, row),
        facts=context.model.facts_about(*context.model.reads[term]),
    )


def _build_steps(context: CheckContext, term: str, answer: NumericRow) -> Iterator[Step]:
    model, discount = context.model, context.reward.task.discount or 1.0
    rows = []
    for before, after in TRIANGLE if discount == 1 else (("s", "t"), ("s", "s"), ("t", "t")):
        names = name_step_inputs(model, before, after, chosen=f"{before}{after}")
        rows.append({name: answer[own] for name, own in names.items() if own in answer} | model.resting_events)

    def score(found: Sequence[NumericRow]) -> list[float]:
        scores = [model.score(row) for row in found]
        return [math.nan if each is None else float(each.scores[term]) for each in scores]

    def leaves_residue(found: Sequence[NumericRow]) -> bool:
        moved, here, there = scores = score(found)
        left = sum(scores) if discount == 1 else discount * (moved - there) - (moved - here)
        return abs(left) > LEAST * max(1.0, *map(abs, scores))

    for row in model.simplify_rows(rows, leaves_residue):
        found = model.score(row)
        note = "" if found is None else f"{term} adds {format_number(float(found.values[term]))}"
        yield model.build_step(row, note, only=model.reads[term])


@dataclass(frozen=True, slots=True)
class OneWay:
    """A term reads what only rises or falls: no three steps bring that back."""


def classify_shaping_terms(context: CheckContext) -> dict[str, SolverAnswer | OneWay]:
    """Return for each term that compares before and after what shows that it is not potential-based."""
    return context.recall("shaping", lambda: dict(_classify_terms(context)))


def _classify_terms(context: CheckContext) -> Iterator[tuple[str, SolverAnswer | OneWay]]:
    model = context.model
    for name, read in model.reads_score.items():
        if not model.terms[name].terminal and any(each.startswith("prev.") for each in read):
            one_way = any(model.fields[each].monotone is not None for each in read)
            yield name, OneWay() if one_way else find_potential_residue(context, name)


def find_potential_residue(context: CheckContext, term: str) -> SolverAnswer:
    """Return a row that shows that a term is not potential-based; Impossible where it is.

    With discount 1, three steps in a triangle add up to 0; with a smaller one, what a step from s to t pays follows
    from what standing at s and at t pays.
    """
    model = RewardModel(context.reward.select_terms(term))
    discount = context.reward.task.discount or 1.0
    question = Question()

    def paid(before: str, after: str) -> int:
        names = name_step_inputs(model, before, after, chosen=f"{before}{after}")
        return model.add_row(question, names=names, fixed=model.resting_events)[f"{term}.score"]

    if discount == 1:
        residue = question.plus(*(paid(*step) for step in TRIANGLE))
    else:
        moved, there, here = (paid(*step) for step in (("s", "t"), ("t", "t"), ("s", "s")))
        # F(s, t)(d - 1) = d F(t, t) - F(s, s), with d - 1 not worked out: 0.99 - 1 is no short decimal as a float
        residue = question.minus(question.times(discount, question.minus(moved, there)), question.minus(moved, here))
    size = question.distance(residue, question.number(0.0))
    row = _try_there_and_back(model, question.program(size))
    return Witness(row) if row is not None else context.solver.find_above(question, size)


def _try_there_and_back(model: RewardModel, program: Program) -> NumericRow | None:
    """Return a witness that people can follow, if there is one: a single field goes to another value and back."""
    still = {name: value_at_rest(field) for name, field in program.inputs.items()}
    for plain, field in find_state_fields(model).items():
        values = list_choices(field) or list_plain_values(field)
        for here, there in product(values[:8], repeat=2):
            ends = {f"s.{plain}": here, f"t.{plain}": there, f"u.{plain}": here}
            row = still | {name: value for name, value in ends.items() if name in program.inputs}
            if here != there and evaluate(program, row) > 1e-9:
                return row
    return None
