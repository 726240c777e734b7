"""Rules about what is said of fields: `better` and `aim`, against what the reward pays for them."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from plaudit.checks.finding import Finding, Severity
from plaudit.checks.formats.plain import format_apart, format_exactly, format_number
from plaudit.checks.model import RewardModel
from plaudit.checks.rules.registry import ROUGH, CheckContext, Found, rule
from plaudit.checks.rules.staying import describe_row
from plaudit.checks.solver.boxes import compile_question, maximise
from plaudit.checks.solver.breakpoints import find_breakpoints
from plaudit.checks.solver.direction import find_direction
from plaudit.checks.solver.parts import describe_shape
from plaudit.checks.solver.question import Impossible, Question, Unknown, Witness
from plaudit.checks.solver.ranges import (
    NumericRow,
    declared_range,
    decode_value,
    limit_range,
    list_choices,
    list_plain_values,
    strip_step_end,
    value_at_rest,
)
from plaudit.checks.solver.solver import limit_ranges, simplify_row
from plaudit.language import nodes as n
from plaudit.language.field import Field
from plaudit.reward.declared import find_fact_inputs
from plaudit.reward.task.bound import TaskField

if TYPE_CHECKING:
    from plaudit.checks.seen_steps import PaidHalf

LEAST_SHARE = 0.01
"""What a worse value earns more must be at least this share of what a better one can earn more.

Fields without a range have one here: beyond it both may earn without end, of which nothing is a share.
"""
CLEAR_SHARE = 0.05
"""The same where it is a warning."""
LEAST_GAIN = 1e-6
CLEAR_HARM = 0.3
"""By how many standard deviations better paid steps must leave a field worse."""
KEPT = 0.5
"""What a witness with few digits must earn more, as a share of what the worst one does."""
MANY = 1_000
"""How many boxes are cut to compare two values of a field."""
GRID = 20
"""In how many parts the range of a field is cut to see how its pay goes."""


@rule(
    "wrong-way",
    severity="warning",
    why="Of two otherwise equal steps, the worse one earns more.",
    uses=("better", "aim"),
)
def find_wrong_ways(context: CheckContext) -> Found:
    """Find fields whose worse values earn more, all else equal.

    With everything else good it is a warning: other objectives at their best, the rest as while idle. Anywhere
    else it is advice, and so is pay that rises up to some value short of the best: that may be meant.
    """
    for field in list_wanted_fields(context):
        for name in _list_inputs_after(context.model, field):
            match find_wrong_way(context, field, name):
                case Unknown(reason):
                    yield context.undecided("total", f"whether a worse {name} can earn more", reason=reason)
                case Finding() as finding:
                    yield finding
                    break  # of a vector one entry says it


@rule(
    "unpriced",
    severity="advice",
    why="An agent does not learn to care about a field that no term pays for.",
    uses=("better", "aim"),
    claims=None,
)
def find_unpriced_fields(context: CheckContext) -> Found:
    """Find fields of which it is said what is better, and of which nothing that is paid for depends.

    It is a warning where facts, or steps that happened, show that what is paid for makes them worse, and where the goal
    is not paid for either.
    """
    model = context.model
    paid = {model.fields[name].name for name in find_paid_inputs(context)}
    for field in list_wanted_fields(context):
        if field.name in paid:
            continue
        if _is_tied(model, field, paid):
            yield from _find_paid_harm(context, field)
            continue
        if (seen := _find_seen_harm(context, field)) is not None:
            yield seen
            continue
        values = [_format_value(field, value) for value in _pick_two_values(field)]
        still = {name: value_at_rest(each) for name, each in model.program.inputs.items()}
        nothing = _is_nothing_wanted_paid(context, paid)
        besides = " Nothing pays for the goal either." if nothing else ""
        yield context.finding(
            "total",
            f"{_describe_wish(field)}, but an agent will ignore it: no term reads {field.name!r}.{besides}",
            "Give it a term, or a fact that ties it to something that is paid for. If only people care about it, take "
            "it out of the task.",
            severity="warning" if nothing else None,
            witness=(model.build_step(still, f"{field.name} {value}") for value in values),
            about=(field.name,),
        )
        if nothing:
            return  # one says it of all


def _is_nothing_wanted_paid(context: CheckContext, paid: set[str]) -> bool:
    """Return whether there is a goal, and neither it nor any objective has to do with anything that is paid for."""
    model, bound = context.model, context.reward._bound
    wanted = list_wanted_fields(context) + [bound.view(field) for field in bound.goal_program.inputs.values()]
    return bound.goal is not None and not any(each.name in paid or _is_tied(model, each, paid) for each in wanted)


def _find_paid_harm(context: CheckContext, field: TaskField) -> Found:
    """Yield that facts tie a field to what is paid for, so that the better paid step leaves it worse."""
    model = context.model
    for name in (each for each, known in model.fields.items() if known.name == field.name):
        if name.startswith("prev.") or not isinstance(pair := _compare_values(context, field, name, tied=True), Pair):
            continue
        rows = pair.worse, pair.better
        values = _format_pair(field, *(row[name] for row in rows))
        worse, better = (model.build_step(row, f"{name} {value}") for row, value in zip(rows, values, strict=True))
        if worse.total is None or better.total is None or worse.total <= better.total:
            continue
        yield context.finding(
            "total",
            f"{_describe_wish(field)}, but an agent is paid to make it worse: a step with {name} {values[0]} earns "
            f"{format_number(worse.total - better.total)} more than one with {name} {values[1]}, and nothing pays for "
            "it.",
            f"Give {field.name!r} a term of its own that outweighs the terms that make it worse.",
            severity="warning",
            witness=(worse, better),
            facts=model.facts_about(name),
            about=(field.name,),
        )
        return


def _find_seen_harm(context: CheckContext, field: TaskField) -> Finding | None:
    """Return that, of steps that happened, those that are paid better leave a field clearly worse."""
    if context.steps is None or field.shape:
        return None
    model = context.model
    found = context.steps.compare_paid(model, field)
    if found is None:
        return None
    paid, unpaid = found
    better = -1.0 if field.aim is not None or field.better == "low" else 1.0
    if better * (paid.mean - unpaid.mean) >= 0 or abs(paid.mean - unpaid.mean) < CLEAR_HARM * paid.spread:
        return None
    return context.finding(
        "total",
        f"{_describe_wish(field)}, but nothing pays for it, and better-paid steps leave it worse: in "
        f"{len(context.steps):,} observed steps, {_describe_halves(field, paid, unpaid)}.",
        f"Give {field.name!r} a term of its own that outweighs the terms that make it worse.",
        severity="warning",
        witness=(model.build_step(each.row, each.note) for each in (paid, unpaid)),
        about=(field.name,),
    )


def _describe_halves(field: TaskField, paid: "PaidHalf", unpaid: "PaidHalf") -> str:
    """Return what a field was in better paid steps and in the others."""
    if field.kind == "flag":
        return f"{field.name} is true in {paid.mean:.1%} of the better-paid ones and in {unpaid.mean:.1%} of the others"
    what = field.name if field.aim is None else f"its distance from {format_number(field.aim)}"
    verb = "changes by" if paid.change else "is"
    means = f"{verb} {format_number(paid.mean)} on average in the better-paid ones and"
    return f"{what} {means} {'by ' if paid.change else ''}{format_number(unpaid.mean)} in the others"


def list_wanted_fields(context: CheckContext) -> list[TaskField]:
    """Return the fields of which it is said what is better."""
    return [each for each in context.reward._bound.fields.values() if each.is_wished]


def find_paid_inputs(context: CheckContext) -> set[str]:
    """Return the inputs that a weight other than 0, the gate or an override gives a part in the total."""
    model = context.model
    terms = [term.name for term in context.reward.terms if term.weight != 0]
    above = [each.name for each in context.reward._composition.functions]
    return {name for term in terms for name in model.reads_score[term]} | {
        name for function in above for name in model.reads_result(function)
    }


def _is_tied(model: RewardModel, field: TaskField, paid: set[str]) -> bool:
    program = model.reward._bound.facts_program
    groups = [{each.name for each in find_fact_inputs(program, fact).values()} for fact in program.outputs]
    reached = {field.name}
    while more := {name for group in groups if group & reached for name in group} - reached:
        reached |= more
    return bool(reached & paid)


def _list_inputs_after(model: RewardModel, field: TaskField) -> list[str]:
    """Return the inputs that are a field after the step; each entry of a vector separately."""
    return [
        name for name in model.reads["total"] if model.fields[name].name == field.name and not name.startswith("prev.")
    ]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two rows that differ in one field, and what depends on it: the worse one, which earns more, and the better."""

    worse: NumericRow
    better: NumericRow
    good: bool = False
    """Whether everything else is as it is wanted."""
    peak: bool = False
    """Whether pay rises from the worst value up to `worse`, and falls from there to the best."""


def find_wrong_way(context: CheckContext, field: TaskField, name: str) -> Finding | Impossible | Unknown:
    """Return how a worse value of an input earns more than a better one.

    All else is equal; only where facts leave a single value for it, what they tie to it may differ too.
    """
    if field.better is not None:
        direction = find_direction(context.model.program, "total", name)
        if direction in (0, 1 if field.better == "high" else -1):
            return Impossible()
    found = _compare_in_good_company(context, field, name) or _compare_values(context, field, name)
    if found == Impossible() and _find_tied(context.model, name) and not _can_differ(context, name):
        found = _compare_values(context, field, name, tied=True)
    return _describe_wrong_way(context, field, name, found) if isinstance(found, Pair) else found


def _compare_in_good_company(context: CheckContext, field: TaskField, name: str) -> Pair | None:
    """Return two values of which the worse earns more with everything else good; None where none does."""
    model = context.model
    question = Question()
    program = question.program(model.add_row(question)["total"])
    if name not in program.inputs:
        return None
    good = {each: model.find_good_value(each) for each in program.inputs}
    ask = compile_question(limit_ranges(program))
    values = _list_values(program.inputs[name], find_breakpoints(program)[name], good[name])
    for ordered in _order_by_wish(field, values):
        pays = {value: pay for value in ordered if (pay := ask({**good, name: value})) > -float("inf")}
        if pair := _find_fall(pays, field.better is not None):
            worse, better, peak = pair
            return Pair({**good, name: worse}, {**good, name: better}, good=True, peak=peak)
    return None


def _list_values(field: Field, breakpoints: Sequence[float], rest: float) -> list[float]:
    """Return values of an input in order: its ends, where the reward compares it, and some at even distances."""
    if choices := list_choices(field):
        return [*choices]
    low, high = declared_range(limit_range(field))
    even = [low + (high - low) * at / GRID for at in range(GRID + 1)]
    return sorted({*even, rest, *list_plain_values(field, tuple(breakpoints))})


def _order_by_wish(field: TaskField, values: Sequence[float]) -> Iterator[list[float]]:
    """Yield values from the worst to the best; each side of an aim separately, as each may have its own price."""
    if field.aim is not None:
        yield [value for value in values if value <= field.aim]
        yield [value for value in reversed(values) if value >= field.aim]
    else:
        yield list(values) if field.better == "high" else list(reversed(values))


def _find_fall(pays: dict[float, float], may_peak: bool) -> tuple[float, float, bool] | None:
    """Return the values between which pay falls most on the way to the best one, and whether it only rose before."""
    if len(pays) < 2:
        return None
    reach = max(pays.values()) - min(pays.values())
    least = max(LEAST_GAIN, CLEAR_SHARE * reach)
    best: tuple[float, float, float] | None = None
    top = next(iter(pays))
    for value, pay in pays.items():
        if pay > pays[top]:
            top = value
        elif pays[top] - pay > max(least, best[0] if best else 0.0):
            best = pays[top] - pay, top, value
    if best is None:
        return None
    _, worse, better = best
    order = list(pays)
    before, after = order[: order.index(worse) + 1], order[order.index(worse) :]
    rises = all(pays[b] >= pays[a] - least for a, b in pairwise(before))
    falls = all(pays[b] <= pays[a] + least for a, b in pairwise(after))
    return worse, better, may_peak and rises and falls and pays[worse] - pays[order[0]] > least


def _find_tied(model: RewardModel, name: str) -> frozenset[str]:
    program = model.reward._bound.facts_program
    groups = [set(find_fact_inputs(program, fact)) for fact in program.outputs]
    return frozenset(each for group in groups if name in group for each in group) - {name, "terminal"}


def _can_differ(context: CheckContext, name: str) -> bool:
    question = Question()
    for label in ("worse", "better"):
        context.model.add_row(question, names={name: f"{name}, {label}"})
    field = context.model.fields[name]
    one, other = (question.input(f"{name}, {label}", field) for label in ("worse", "better"))
    different = question.negate(question.same(one, other))
    return isinstance(context.solver.find_example(question, different), Witness)


def _compare_values(
    context: CheckContext, field: TaskField, name: str, *, tied: bool = False
) -> Pair | Impossible | Unknown:
    """Return two rows that are the same but for one input, and perhaps what is tied to it, in any circumstances."""
    question = Question()
    free = {name, *(_find_tied(context.model, name) if tied else ())}
    labels = ("worse", "better")
    worse, better = (
        context.model.add_row(question, names={each: f"{each}, {label}" for each in free}) for label in labels
    )
    _require_worse(question, field, *(question.input(f"{name}, {label}", field) for label in labels))
    gain = _subtract(question, worse["total"], better["total"])
    if (alike := describe_shape(question.program(gain))) in context.known.setdefault("alike", set()):
        return Impossible()  # another entry of the same vector was asked about, and the reward treats them alike
    deadline = context.solver.deadline
    usual = maximise(limit_ranges(question.program(question.builder.simplify(n.Neg(gain)))), deadline)
    least = max(LEAST_GAIN, LEAST_SHARE * usual.value if usual.row is not None else 0.0)
    answer = context.solver.find_above(question, gain, least)
    if isinstance(answer, Unknown) and not deadline.passed:  # what nearly agrees takes many boxes to tell apart
        boxed = replace(context.solver, boxes=MANY, quick=True).find_above(question, gain, least)
        answer = answer if isinstance(boxed, Unknown) else boxed
    match answer:
        case Witness(row):
            best = maximise(limit_ranges(question.program(gain)), deadline, most=ROUGH)
            row = best.row if best.row is not None and best.value > least else row
            row = row if tied else row | simplify_row(question.program(gain), row)
            return Pair(_take_side(row, free, "worse"), _take_side(row, free, "better"), good=tied)
        case Impossible():
            context.known["alike"].add(alike)
    return answer


def _subtract(question: Question, left: int, right: int) -> int:
    """Return the difference of two nodes that compute alike: whatever is the same on both sides drops out of it."""
    if left == right:
        return question.number(0.0)
    match question.builder.nodes[left], question.builder.nodes[right]:
        case n.Add(a, b), n.Add(c, d):
            return question.plus(_subtract(question, a, c), _subtract(question, b, d))
        case n.Sub(a, b), n.Sub(c, d):
            return question.plus(_subtract(question, a, c), _subtract(question, d, b))
        case n.Mul(a, b), n.Mul(c, d) if b == d:
            return question.builder.simplify(n.Mul(_subtract(question, a, c), b))
        case n.Mul(a, b), n.Mul(c, d) if a == c:
            return question.builder.simplify(n.Mul(a, _subtract(question, b, d)))
        case n.Select(a, b, c), n.Select(d, e, f) if a == d:
            branches = _subtract(question, b, e), _subtract(question, c, f)
            return question.builder.simplify(n.Select(a, *branches))
    return question.minus(left, right)


def _require_worse(question: Question, field: TaskField, worse: int, better: int) -> None:
    if field.kind == "flag":
        low, high = (better, worse) if field.better == "low" else (worse, better)
        question.require(question.all([high, question.negate(low)]))
        return
    if field.aim is not None:
        aim = question.number(field.aim)
        over, under = n.Ge, n.Le  # on one side of the aim: too little and too much may have prices of their own
        sides = [[question.compare(each, how, aim) for each in (worse, better)] for how in (over, under)]
        question.require(question.builder.any(map(question.all, sides)))
        worse, better = question.distance(worse, aim), question.distance(better, aim)
    how = n.Lt if field.better == "high" else n.Gt
    question.require(question.compare(worse, how, better))


def _take_side(row: NumericRow, free: set[str], label: str) -> NumericRow:
    own = {name: row[f"{name}, {label}"] for name in free if f"{name}, {label}" in row}
    return {name: value for name, value in row.items() if ", " not in name} | own


def _describe_wrong_way(context: CheckContext, field: TaskField, name: str, pair: Pair) -> Finding | Impossible:
    model, rows = context.model, [pair.worse, pair.better]
    least = KEPT * _measure_gain(model, rows)
    rows = model.simplify_rows(rows, lambda found: _is_wrong_way(model, field, name, found, least))
    worse, better = model.build_step(rows[0], "worse"), model.build_step(rows[1], "better")
    if worse.total is None or better.total is None or worse.total <= better.total:
        return Impossible()  # floats do not bear out what was computed of the rationals
    values = _format_pair(field, *(row[name] for row in rows))
    gain = format_number(worse.total - better.total)
    severity: Severity = "warning" if pair.good and not pair.peak else "advice"
    if pair.peak:
        message = (
            f"an agent earns the most at {name} {values[0]}, with everything else as wanted: {gain} more than at "
            f"{values[1]}, although {_describe_wish(field)}."
        )
        advice = (
            f"If you want {values[0]}, say so: aim={{{field.name!r}: {values[0]}}}. Otherwise let the reward keep "
            f"rising up to {values[1]}."
        )
    else:
        others = {each: value for each, value in rows[0].items() if strip_step_end(each) != strip_step_end(name)}
        where = ", all else equal" if pair.good else f" with {describe_row(model, others)}"
        message = (
            f"an agent earns {gain} more at {name} {values[0]} than at {name} {values[1]}{where}, although "
            f"{_describe_wish(field)}."
        )
        advice = (
            "Flip the sign of the term that pays for it, or give it a weight that the other terms do not outweigh. If "
            "it is better only in some situations, say in which with prefer(...)."
        )
    return context.finding(
        next(iter(_list_guilty_terms(context, name, rows)), "total"),
        message,
        advice,
        severity=severity,
        witness=(worse, better),
        facts=model.facts_about(name),
    )


def _is_wrong_way(model: RewardModel, field: TaskField, name: str, rows: Sequence[NumericRow], least: float) -> bool:
    """Return whether the first of two rows is worse than the second, and earns at least that much more."""
    aim, values = field.aim, [row[name] for row in rows]
    if aim is not None:
        if min(values) < aim < max(values):
            return False
        values = [-abs(value - aim) for value in values]
    worse = values[0] > values[1] if field.better == "low" else values[0] < values[1]
    return worse and _measure_gain(model, rows) >= least


def _measure_gain(model: RewardModel, rows: Sequence[NumericRow]) -> float:
    scores = [model.score(row) for row in rows]
    return -math.inf if scores[0] is None or scores[1] is None else float(scores[0].total) - float(scores[1].total)


def _list_guilty_terms(context: CheckContext, name: str, rows: Sequence[NumericRow]) -> Iterator[str]:
    """Yield the term that pays most more for the first of two rows."""
    scores = [context.model.score(row) for row in rows]
    if scores[0] is None or scores[1] is None:
        return
    more = {term: float(value) - float(scores[1].values[term]) for term, value in scores[0].values.items()}
    readers = [term for term in context.model.terms if name in context.model.reads_score[term]]
    yield from sorted(readers, key=lambda term: -more[term])[:1]


def _describe_wish(field: TaskField) -> str:
    if field.aim is not None:
        return f"{field.name!r} should be {format_number(field.aim)}"
    if field.kind == "flag":
        return f"{field.name!r} is better {'true' if field.better == 'high' else 'false'}"
    return f"{field.name!r} is better {field.better}"


def _pick_two_values(field: TaskField) -> tuple[float, float]:
    low, high = declared_range(limit_range(field))
    if field.aim is not None:
        return max((low, high), key=lambda value: abs(value - (field.aim or 0.0))), field.aim
    return (low, high) if field.better == "high" else (high, low)


def _format_pair(field: TaskField, worse: float, better: float) -> tuple[str, str]:
    """Return two values of a field, with as many digits as it takes to tell them apart."""
    return (
        format_apart(worse, better)
        if field.kind == "number"
        else (_format_value(field, worse), _format_value(field, better))
    )


def _format_value(field: TaskField, value: float) -> str:
    return format_exactly(decode_value(field, value))
