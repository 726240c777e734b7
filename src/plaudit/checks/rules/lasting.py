"""Rules about pay that goes on: for staying where one is, and for events that may happen again and again."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from plaudit.checks.finding import Severity, Step
from plaudit.checks.formats.plain import format_apart, format_number
from plaudit.checks.model import RewardModel, find_tied_inputs
from plaudit.checks.rules.registry import CheckContext, Found, rule
from plaudit.checks.rules.staying import (
    LEAST,
    add_standing_step,
    bound_best_end,
    count_steps,
    describe_worth,
    drop_shaping,
    find_stays,
    format_pay,
    has_end,
    maximise_pay,
    read_standing_row,
)
from plaudit.checks.solver.boxes import is_close
from plaudit.checks.solver.question import Impossible, Question, Unknown
from plaudit.checks.solver.ranges import NumericRow, is_unlimited, value_at_rest
from plaudit.checks.solver.solver import simplify_maximum
from plaudit.language import nodes as n

MOST_SHOWN = 4
"""Of so many events a witness shows the steps."""


@rule(
    "pays-for-staying",
    severity="advice",
    why="An agent that is paid for staying where it is has a reason never to finish.",
    uses=("roles", "goal", "horizon", "discount", "rates"),
)
def find_pay_for_staying(context: CheckContext) -> Found:
    """Find states that pay in every step in which nothing happens, where something else is to be done.

    Where no end, goal, idle step or horizon is declared nobody can tell whether staying is the task: what staying pays
    is then among the incentives and no finding.
    """
    reward = context.reward
    bound = reward._bound
    if not has_end(context) and bound.goal is None and bound.idle is None and reward.task.horizon is None:
        return
    match find_stays(context, outside_goal=reward._bound.goal is not None):
        case Unknown():
            yield context.undecided("total")
        case [best, *_] as stays if best.pay > LEAST:
            better, severity = _compare_with_end(context, best.pay)
            paying = [stay for stay in stays if stay.pay > LEAST]
            where = "; ".join(f"{each.where}: {format_pay(each.pay)} a step" for each in paying if each.throughout)
            model = context.model
            steps = [model.build_step(read_standing_row(model, stay.row), stay.where) for stay in paying]
            whole = is_unlimited(best.pay) or is_close(steps[0].total or 0.0, best.pay)
            apart = "" if whole else ", potential-based terms left out"
            yield context.finding(
                "total",
                f"a step that leaves everything as it is pays {format_pay(best.pay, 'up to ')}{apart}, for ever"
                f"{f' ({where})' if where else ''}.{better}",
                "If finishing is what you want, make a step cost something or let the end pay more than waiting; if "
                "staying alive is the task, allow this with that reason.",
                severity=severity,
                witness=steps,
                facts=model.facts_about(*model.reads["total"]),
            )


def _compare_with_end(context: CheckContext, pay: float) -> tuple[str, Severity]:
    """Return what an ending pays that competes with staying, and how grave it is that staying pays as much."""
    best, steps = bound_best_end(context), count_steps(context.reward)
    if best <= 0 or is_unlimited(best) or is_unlimited(pay):
        over = describe_worth(context, pay)
        return f" That is worth {over}." if over else "", "advice"
    if steps is None:
        needed = math.ceil(best / pay - LEAST)
        return (
            f" After {format_number(needed)} steps it has out-earned the best end, which pays {format_number(best)}.",
            "warning",
        )
    worth = pay * steps
    shown, price = format_apart(worth, best)
    if is_close(worth, best):
        return f" That is worth {shown}, as much as the best end.", "warning"
    if worth < best:
        return f" That is worth {shown} at most, less than an end that pays {price}.", "advice"
    return f" That is worth {shown}, more than the best end, which pays {price}.", "warning"


@rule(
    "pays-per-event",
    severity="advice",
    why="What pays whenever it happens can be worth more, repeated, than finishing.",
    uses=("roles", "horizon", "discount"),
)
def find_pay_per_event(context: CheckContext) -> Found:
    """Find events whose pay, repeated, is worth more than the best end."""
    end = bound_best_end(context)
    lasting = drop_shaping(context)
    if lasting is None or end <= 1e-9 or is_unlimited(end):
        return
    discount = context.reward.task.discount or 1.0
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
    parts = [f"{first.field!r} pays {format_pay(first.pay, 'up to ')} a step"]
    parts += [f"{each.field!r} {format_pay(each.pay, 'up to ')}" for each in others]
    listed = f"{', '.join(parts[:-1])} and {parts[-1]}" if others else parts[0]
    yield context.finding(
        "total",
        f"{listed}, again and again while nothing else changes. {_compare_event_with_end(first, end, discount)}",
        "Pay for it once (the environment keeps what was already paid for), or let the end pay more than it can add up "
        "to. If it is not an event, list it among the states of the task; if it cannot happen again and again, declare "
        "the fact that says so, or allow this with that reason.",
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
    best = simplify_maximum(question.program(pay), maximise_pay(context, question, pay))
    if best.bound <= 1e-9:
        return Impossible()
    if best.row is None or best.value <= 1e-9:
        return Unknown(context.solver.explain_unknown())
    scores = model.score(read_standing_row(model, best.row))  # inputs that do not matter to the pay are at rest there
    paid = best.value if scores is None or is_unlimited(best.value) else float(scores.total)
    return PaidEvent(field, paid, best.row, happening) if paid > LEAST else Impossible()


def _compare_event_with_end(paid: PaidEvent, end: float, discount: float) -> str:
    against = f"the best end, which pays {format_number(end)}"
    if is_unlimited(paid.pay):
        return f"One such step can out-earn {against}."
    if discount < 1:
        worth, price = format_apart(paid.pay / (1 - discount), end)
        return (
            f"For ever {paid.field!r} is worth {worth} at a discount of {format_number(discount)}, more than the best "
            f"end, which pays {price}."
        )
    steps = math.floor(end / paid.pay + 1e-9) + 1
    return f"After {format_number(steps)} such step{'s' * (steps > 1)} {paid.field!r} has out-earned {against}."


def _event_steps(model: RewardModel, paid: PaidEvent) -> Iterator[Step]:
    """Yield the step in which it happens, and the same step without it."""
    row = read_standing_row(model, paid.row)
    yield model.build_step(row, f"with {paid.field}")
    yield model.build_step({**row, **{name: model.resting_events[name] for name in paid.happening}}, "without")
