"""Rules about pay that goes on: for staying where one is, and for events that may happen again and again."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from plaudit.checks.finding import Severity, Step
from plaudit.checks.formats.plain import format_number
from plaudit.checks.model import RewardModel, find_tied_inputs, name_step_inputs
from plaudit.checks.rules.potential import classify_shaping_terms
from plaudit.checks.rules.registry import CheckContext, Found, rule
from plaudit.checks.solver.boxes import Maximum
from plaudit.checks.solver.breakpoints import find_breakpoints
from plaudit.checks.solver.question import Impossible, Question, Unknown, Witness
from plaudit.checks.solver.ranges import NumericRow, is_unlimited, value_at_rest
from plaudit.language import nodes as n
from plaudit.language.schedule import Schedule

MOST_STRETCHES = 8
MOST_SHOWN = 4
"""Of so many events a witness shows the steps."""


@rule(
    "pays-for-staying",
    severity="advice",
    why="An agent that is paid for staying where it is has a reason never to finish.",
)
def find_pay_for_staying(context: CheckContext) -> Found:
    """Find states that pay in every step in which nothing happens."""
    lasting = drop_shaping(context)
    if lasting is None:
        return
    question = Question()
    pay = add_standing_step(lasting, question)
    best = maximise_pay(context, question, pay)
    if best.bound <= 1e-9:
        return
    if best.row is None or best.value <= 1e-9:
        yield context.undecided("total")
        return
    most = _format_pay(best.value, "up to ")
    better, severity = _compare_with_end(context, best.value)
    stretches = list(_find_stretches(context, lasting))
    where = "; ".join(text for text, _, _ in stretches)
    model = context.model
    yield context.finding(
        "total",
        f"a step that leaves everything as it is pays {most}, for ever{f' ({where})' if where else ''}.{better}",
        "If finishing is what you want, make a step cost something or let the end pay more than waiting; if staying "
        "alive is the task, allow this with that reason.",
        severity=severity,
        witness=(
            model.build_step(read_standing_row(model, row), text, plain=not any(model.step_ends()))
            for text, row, _ in stretches or [("nothing happens", best.row, best.value)]
        ),
        facts=model.facts_about(*model.reads["total"]),
    )


def _compare_with_end(context: CheckContext, pay: float) -> tuple[str, Severity]:
    """Return what an ending pays that competes with staying, and how grave it is that staying pays more."""
    best = bound_best_end(context)
    if best <= 0 or is_unlimited(best) or is_unlimited(pay):
        return "", "advice"
    discount = context.reward.discount
    if discount is not None and discount < 1:
        forever = pay / (1 - discount)
        if forever <= best:
            return (
                f" That is worth {format_number(forever)} at most, less than an end that pays {format_number(best)}.",
                "advice",
            )
        return (
            f" That is worth {format_number(forever)}, more than the best end, which pays {format_number(best)}.",
            "warning",
        )
    steps = math.ceil(best / pay)
    return (
        f" After {format_number(steps)} steps it has out-earned the best end, which pays {format_number(best)}.",
        "warning",
    )


def _find_stretches(context: CheckContext, model: RewardModel) -> Iterator[tuple[str, NumericRow, float]]:
    """Yield each stretch of a state field in which staying pays: what it pays there, with a row."""
    question = Question()
    whole = question.program(add_standing_step(model, question))
    breakpoints = {name: at for name, at in find_breakpoints(whole).items() if at and name.startswith("s.")}
    if not breakpoints:
        return
    name = max(breakpoints, key=lambda each: len(breakpoints[each]))
    field = whole.inputs[name]
    ends = [-math.inf, *breakpoints[name], math.inf]
    found: list[tuple[float, float, Maximum]] = []
    for low, high in pairwise(ends):
        question = Question()
        asked = add_standing_step(model, question)
        at = question.input(name, field)
        question.require(question.compare(at, n.Gt, question.number(low)))
        question.require(question.compare(at, n.Lt, question.number(high)))
        answer = maximise_pay(context, question, asked)
        if answer.row is not None and answer.value > 1e-9:
            if found and found[-1][2].value == answer.value and found[-1][1] == low:
                found[-1] = (found[-1][0], high, answer)
            else:
                found.append((low, high, answer))
    for low, high, answer in found[:MOST_STRETCHES]:
        assert answer.row is not None
        plain = name.removeprefix("s.")
        if math.isinf(low) or (field.low is not None and low <= field.low):
            text = f"{plain} below {format_number(high)}" if math.isfinite(high) else f"any {plain}"
        else:
            text = (
                f"{plain} beyond {format_number(low)}"
                if math.isinf(high)
                else f"{plain} from {format_number(low)} to {format_number(high)}"
            )
        yield f"{text}: {_format_pay(answer.value)} a step", answer.row, answer.value


@rule(
    "pays-per-event",
    severity="advice",
    why="What pays whenever it happens can be worth more, repeated, than finishing.",
)
def find_pay_per_event(context: CheckContext) -> Found:
    """Find events whose pay, repeated, is worth more than the best end."""
    end = bound_best_end(context)
    lasting = drop_shaping(context)
    if lasting is None or end <= 1e-9 or is_unlimited(end):
        return
    discount = context.reward.discount or 1.0
    found: list[PaidEvent] = []
    for field, inputs in _list_events(lasting).items():
        match _find_event_pay(context, lasting, field, inputs):
            case Unknown(reason):
                yield context.undecided("total", f"what a step pays in which {field!r} happens", reason=reason)
            case PaidEvent() as paid if discount >= 1 or paid.pay > end * (1 - discount):
                found.append(paid)
    if not found:
        return
    found.sort(key=lambda each: -each.pay)
    model = context.model
    first, *others = found
    parts = [f"{first.field!r} pays {_format_pay(first.pay, 'up to ')} a step"]
    parts += [f"{each.field!r} {_format_pay(each.pay, 'up to ')}" for each in others]
    listed = f"{', '.join(parts[:-1])} and {parts[-1]}" if others else parts[0]
    yield context.finding(
        "total",
        f"{listed}, again and again while nothing else changes. {_compare_event_with_end(first, end, discount)}",
        "Pay for it once (the environment keeps what was already paid for), or let the end pay more than it can add up "
        'to. If it is not an event, declare role="state"; if it cannot happen again and again, declare the fact that '
        "says so, or allow this with that reason.",
        witness=(step for each in found[:MOST_SHOWN] for step in _event_steps(model, each)),
        facts=model.facts_about(*model.reads["total"]),
    )


@dataclass(frozen=True, slots=True)
class PaidEvent:
    """An event, the most that a step with it pays, and that step."""

    field: str
    pay: float
    row: NumericRow
    happening: frozenset[str]
    """The inputs that are at rest where it does not happen."""


def _list_events(model: RewardModel) -> dict[str, frozenset[str]]:
    """Return the inputs of each event that can change the total and does not follow from the action."""
    action = model.reward.action
    found: dict[str, frozenset[str]] = {}
    for name in sorted(model.reads["total"] - {"terminal"} - model.program.counters, key=list(model.fields).index):
        field = model.fields[name]
        if model.role(field) == "event" and not (action is not None and name in find_tied_inputs(model, action)):
            found[field.name] = found.get(field.name, frozenset()) | {name}
    return found


def _find_event_pay(
    context: CheckContext, model: RewardModel, field: str, inputs: frozenset[str]
) -> PaidEvent | Impossible | Unknown:
    """Return what an event pays in a step that leaves all else as it is; Impossible if nothing.

    If it never pays by itself, other events may happen with it that a fact ties to it.
    """
    alone = _maximise_event_pay(context, model, field, inputs, inputs)
    together = frozenset(
        other for name in inputs for other in find_tied_inputs(model, name) if other in model.resting_events
    )
    happening = (inputs | together) - {"terminal"}
    if alone != Impossible() or happening == inputs:
        return alone
    return _maximise_event_pay(context, model, field, inputs, happening)


def _maximise_event_pay(
    context: CheckContext, model: RewardModel, field: str, inputs: frozenset[str], happening: frozenset[str]
) -> PaidEvent | Impossible | Unknown:
    question = Question()
    pay, less = add_standing_step(model, question, happening=happening), add_standing_step(model, question)
    question.require(question.compare(question.minus(pay, less), n.Gt, question.number(1e-9)))
    fields = {name: model.fields[name] for name in sorted(inputs)}
    happens = [
        question.compare(question.input(name, each), n.Ne, question.input(name, each, value_at_rest(each)))
        for name, each in fields.items()
    ]
    question.require(question.builder.any(happens))
    best = maximise_pay(context, question, pay)
    if best.bound <= 1e-9:
        return Impossible()
    if best.row is None or best.value <= 1e-9:
        return Unknown(context.solver.explain_unknown())
    return PaidEvent(field, best.value, best.row, happening)


def _compare_event_with_end(paid: PaidEvent, end: float, discount: float) -> str:
    """Return how the event compares with the best end."""
    against = f"the best end, which pays {format_number(end)}"
    if is_unlimited(paid.pay):
        return f"One such step can out-earn {against}."
    if discount < 1:
        worth = format_number(paid.pay / (1 - discount))
        return (
            f"For ever {paid.field!r} is worth {worth} at a discount of {format_number(discount)}, more than {against}."
        )
    steps = math.floor(end / paid.pay + 1e-9) + 1
    return f"After {format_number(steps)} such step{'s' * (steps > 1)} {paid.field!r} has out-earned {against}."


def _event_steps(model: RewardModel, paid: PaidEvent) -> Iterator[Step]:
    """Yield the step in which it happens, and the same step without it."""
    row = read_standing_row(model, paid.row)
    yield model.build_step(row, f"with {paid.field}")
    yield model.build_step({**row, **{name: model.resting_events[name] for name in paid.happening}}, "without")


def drop_shaping(context: CheckContext) -> RewardModel | None:
    """Return the reward without its potential-based terms, which pay nothing in the long run, and without its end.

    None where nothing else is left of it.
    """
    shaping = classify_shaping_terms(context)
    gate = context.reward.gate is not None  # what a gate multiplies is no difference of potentials any more
    kept = [
        term.name
        for term in context.reward.terms
        if not term.terminal and (shaping.get(term.name) != Impossible() or (gate and term.gated))
    ]
    return RewardModel(context.reward.only(*kept)) if kept else None


def add_standing_step(model: RewardModel, question: Question, *, happening: frozenset[str] = frozenset()) -> int:
    """Add a step that changes nothing to a question, and return the position of what it pays.

    Nothing happens in it but what the action brings about, and perhaps the events `happening`.
    """
    action = model.reward.action
    free = frozenset(find_tied_inputs(model, action)) if action is not None else frozenset[str]()
    names = name_step_inputs(model, "s", "s")
    still = {name: value for name, value in model.resting_events.items() if name not in free | happening}
    return model.add_row(question, names=names, fixed=still, carried=True)["total"]


def read_standing_row(model: RewardModel, row: NumericRow) -> NumericRow:
    """Return the inputs of a step that stays, from the answer to a question about it."""
    names = name_step_inputs(model, "s", "s")
    return {name: row[names.get(name, name)] for name in model.fields if names.get(name, name) in row} | {
        name: value for name, value in model.resting_events.items() if name not in row
    }


def maximise_pay(context: CheckContext, question: Question, pay: int) -> Maximum:
    """Return the most that a step pays; where that has no bound, with a row that people can read."""
    best = context.solver.maximise(question, pay)
    if is_unlimited(best.value) and isinstance(answer := context.solver.find_above(question, pay), Witness):
        return replace(best, row=answer.row)
    return best


def bound_best_end(context: CheckContext) -> float:
    """Return the most that the terminal terms, or an override at the end, can pay; 0 where they cannot pay."""
    ends = (term for term in context.reward.terms if term.terminal and term.weight != 0)
    best = sum(max(0.0, context.span(f"{term.name}.value").high) for term in ends)
    final = [each.value for each in context.reward.override if "terminal" in each.condition.reads]
    return max([best, *(each.span[1] if isinstance(each, Schedule) else each for each in final)])


def _format_pay(pay: float, prefix: str = "") -> str:
    return "as much as you like" if is_unlimited(pay) else f"{prefix}{format_number(pay)}"
