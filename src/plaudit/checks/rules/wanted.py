"""Rules about what is said of fields: `better` and `aim`, against what the reward pays for them."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from plaudit.checks.finding import Finding
from plaudit.checks.formats.plain import format_exactly, format_number
from plaudit.checks.model import RewardModel
from plaudit.checks.rules.registry import ROUGH, CheckContext, Found, rule
from plaudit.checks.solver.boxes import maximise
from plaudit.checks.solver.direction import find_direction
from plaudit.checks.solver.parts import describe_shape
from plaudit.checks.solver.question import Impossible, Question, Unknown, Witness
from plaudit.checks.solver.ranges import NumericRow, declared_range, decode_value, limit_range, value_at_rest
from plaudit.checks.solver.solver import limit_ranges
from plaudit.language import nodes as n
from plaudit.reward.declared import find_fact_inputs
from plaudit.reward.task.bound import TaskField

LEAST_SHARE = 0.01
"""What a worse value earns more must be at least this share of what a better one can earn more.

Fields without a range have one here: beyond it both may earn without end, of which nothing is a share.
"""
LEAST_GAIN = 1e-6
KEPT = 0.5
"""What a witness with few digits must earn more, as a share of what the worst one does."""
MANY = 1_000
"""How many boxes are cut to compare two values of a field."""


@rule(
    "wrong-way",
    severity="warning",
    why="Of two steps that are otherwise the same the worse one is paid more.",
    uses=("better", "aim"),
)
def find_wrong_ways(context: CheckContext) -> Found:
    """Find fields whose worse values earn more, all else equal."""
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
    severity="warning",
    why="What is said to matter and nothing pays for will not be learnt.",
    uses=("better", "aim"),
)
def find_unpriced_fields(context: CheckContext) -> Found:
    """Find fields of which it is said what is better, and of which nothing that is paid for depends."""
    model = context.model
    paid = {model.fields[name].name for name in find_paid_inputs(context)}
    for field in list_wanted_fields(context):
        if field.name in paid or _is_tied(model, field, paid):
            continue
        values = [_format_value(field, value) for value in _pick_two_values(field)]
        still = {name: value_at_rest(each) for name, each in model.program.inputs.items()}
        yield context.finding(
            "total",
            f"{_describe_wish(field)}, and nothing pays for it: no term reads {field.name!r}.",
            "Give it a term, or a fact that says how what is paid for depends on it; if it is a wish for people alone, "
            "take it out of the task.",
            witness=(model.build_step(still, f"{field.name} {value}") for value in values),
            about=(field.name,),
        )


def list_wanted_fields(context: CheckContext) -> list[TaskField]:
    """Return the fields of which it is said what is better."""
    return [each for each in context.reward._bound.fields.values() if each.better is not None or each.aim is not None]


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
    """Return the inputs that are a field after the step; an entry of a vector by itself."""
    return [
        name for name in model.reads["total"] if model.fields[name].name == field.name and not name.startswith("prev.")
    ]


def find_wrong_way(context: CheckContext, field: TaskField, name: str) -> Finding | Impossible | Unknown:
    """Return how a worse value of an input earns more than a better one.

    All else is equal; only where facts leave a single value for it, what they tie to it may differ too.
    """
    if field.better is not None:
        direction = find_direction(context.model.program, "total", name)
        if direction in (0, 1 if field.better == "high" else -1):
            return Impossible()
    answer = _compare_values(context, field, name, frozenset())
    tied = _find_tied(context.model, name)
    if answer == Impossible() and tied and not _can_differ(context, name):
        return _compare_values(context, field, name, tied)
    return answer


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
    context: CheckContext, field: TaskField, name: str, tied: frozenset[str]
) -> Finding | Impossible | Unknown:
    question = Question()
    free = {name, *tied}
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
            return _describe_wrong_way(context, field, name, [_take_side(row, free, label) for label in labels])
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


def _describe_wrong_way(
    context: CheckContext, field: TaskField, name: str, rows: Sequence[NumericRow]
) -> Finding | Impossible:
    model = context.model
    least = KEPT * _measure_gain(model, rows)
    rows = model.simplify_rows(rows, lambda found: _is_wrong_way(model, field, name, found, least))
    worse, better = model.build_step(rows[0], "worse"), model.build_step(rows[1], "better")
    if worse.total is None or better.total is None or worse.total <= better.total:
        return Impossible()  # floats do not bear out what was computed of the rationals
    values = [_format_value(field, row[name]) for row in rows]
    return context.finding(
        next(iter(_list_guilty_terms(context, name, rows)), "total"),
        f"{_describe_wish(field)}, and {name} {values[0]} earns {format_number(worse.total - better.total)} more than "
        f"{name} {values[1]}, all else equal.",
        "Turn the sign of what pays for it, or give it a weight that the other terms do not outweigh; if it is not "
        "better all else equal, say with prefer(...) when it is.",
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
        return f"{field.name!r} is to be {format_number(field.aim)}"
    if field.kind == "flag":
        return f"{field.name!r} is better {'true' if field.better == 'high' else 'false'}"
    return f"{field.name!r} is better {field.better}"


def _pick_two_values(field: TaskField) -> tuple[float, float]:
    low, high = declared_range(limit_range(field))
    if field.aim is not None:
        return max((low, high), key=lambda value: abs(value - (field.aim or 0.0))), field.aim
    return (low, high) if field.better == "high" else (high, low)


def _format_value(field: TaskField, value: float) -> str:
    return format_exactly(decode_value(field, value))
