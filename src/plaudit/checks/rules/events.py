"""The rule about events: what one pays, how often it can happen, and what that adds up to."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from plaudit.checks.finding import Finding, Severity, Step
from plaudit.checks.formats.plain import format_apart, format_number
from plaudit.checks.model import RewardModel, find_tied_inputs
from plaudit.checks.rules.registry import CheckContext, Found, rule
from plaudit.checks.rules.staying import (
    LEAST,
    add_standing_step,
    bound_best_end,
    count_steps,
    describe_horizon,
    drop_shaping,
    format_pay,
    maximise_plainly,
    read_standing_row,
)
from plaudit.checks.solver.question import Impossible, Question, Unknown
from plaudit.checks.solver.ranges import NumericRow, is_unlimited, value_at_rest
from plaudit.language import nodes as n

MOST_SHOWN = 4
"""A witness shows the steps of this many events."""


@dataclass(frozen=True, slots=True)
class PaidEvent:
    """An event, the most that a step with it pays, and that step."""

    field: str
    pay: float
    row: NumericRow
    happening: frozenset[str]
    """The inputs that are at rest where it does not happen."""
    rest: float = 0.0
    """What the same step pays without it."""
    times: float | None = None
    """How often it can happen in an episode; None if that is not declared."""
    once_in: float | None = None
    """How many steps lie between one time and the next; None if it does not come back, or that is not declared."""

    @property
    def net(self) -> float:
        """What one time pays, less what the steps cost that are spent waiting for the next."""
        return self.pay + ((self.once_in or 1.0) - 1.0) * min(0.0, self.rest)

    @property
    def worth(self) -> float | None:
        """What it adds up to in an episode; None if no limit is declared."""
        return None if self.times is None else self.net * self.times

    @property
    def is_counted(self) -> bool:
        """Whether it is known how often it happens."""
        return self.times is not None or self.once_in is not None

    def list_steps(self, model: RewardModel) -> Iterator[Step]:
        """Yield the step in which it happens, and the same step without it."""
        row = read_standing_row(model, self.row)
        yield model.build_step(row, f"with {self.field}")
        yield model.build_step({**row, **{name: model.resting_events[name] for name in self.happening}}, "without")

    def describe_times(self) -> str:
        """Return how often it can happen, and what is paid for waiting, in words."""
        if self.once_in is None:
            return "at most once" if self.times == 1 else f"at most {format_number(self.times)} times"
        if self.once_in <= 1:
            return "in every step"
        whole = self.once_in == round(self.once_in)
        how = f"every {format_number(self.once_in)} steps" if whole else f"in {100 / self.once_in:.3g}% of steps"
        return f"{how} (each other step costs {format_number(-self.rest)})" if self.rest < -LEAST else how


@rule(
    "pays-per-event",
    severity="advice",
    why="Repeating an event that pays every time can earn more than finishing.",
    uses=("roles", "events", "horizon", "discount"),
)
def find_pay_per_event(context: CheckContext) -> Found:
    """Find events whose pay, repeated as often as it can be, is worth more than the best end.

    It is a warning where it is said, or was seen, that they come back.
    """
    end = bound_best_end(context)
    if end <= LEAST or is_unlimited(end):
        return
    discount = context.reward.task.discount or 1.0
    found: list[PaidEvent] = []
    for each in list_paid_events(context):
        if isinstance(each, UnknownEvent):
            yield context.undecided("total", f"what a step with {each.field!r} pays", reason=each.reason)
        elif each.worth is not None and not is_unlimited(each.pay):
            found += [each] if each.worth > end else []
        elif each.net > LEAST and (discount >= 1 or each.net > end * (1 - discount)):
            found.append(each)
    found.sort(key=lambda each: (each.once_in is None, -each.pay))
    counted = [each for each in found if each.is_counted and not is_unlimited(each.pay)]
    yield from (_describe_counted(context, each, end) for each in counted)
    others = [each for each in found if each not in counted]
    if others:
        yield _describe_others(context, others, end, discount)


def _describe_counted(context: CheckContext, paid: PaidEvent, end: float) -> Finding:
    """Return that an event of which it is known how often it happens adds up to more than the best end."""
    if paid.worth is None:
        needed = math.floor(end / paid.net + LEAST) + 1
        price = format_number(end)
        more = f". After {format_number(needed)} times it has earned more than the best end, which pays {price}."
    else:
        worth, price = format_apart(paid.worth, end)
        over = f" {describe_horizon(context.reward)}" if paid.once_in is not None else " in total"
        more = f": {worth}{over}, more than the best end, which pays {price}."
    severity: Severity = "advice" if paid.once_in is None else "warning"
    return _build_finding(
        context,
        f"{paid.field!r} pays {format_pay(paid.pay, 'up to ')} and can happen {paid.describe_times()}{more}",
        "Pay for it only once (let the environment remember what was already paid for), or let the end pay more than "
        "the event can add up to.",
        [paid],
        severity,
    )


def _describe_others(context: CheckContext, found: list[PaidEvent], end: float, discount: float) -> Finding:
    """Return that events without a declared limit can add up to more than the best end."""
    first, *others = found
    parts = [f"{first.field!r} pays {format_pay(first.pay, 'up to ')} a step"]
    parts += [f"{each.field!r} {format_pay(each.pay, 'up to ')}" for each in others]
    listed = f"{', '.join(parts[:-1])} and {parts[-1]}" if others else parts[0]
    return _build_finding(
        context,
        f"{listed}, over and over while nothing else changes. {_compare_with_end(first, end, discount)}",
        "Pay for it only once (let the environment remember what was already paid for), or let the end pay more than "
        f"the event can add up to. Say how often it can happen with Task(events={{{first.field!r}: 3}}), or list it in "
        "the task's states.",
        found,
        "advice",
    )


def _build_finding(
    context: CheckContext, message: str, advice: str, found: list[PaidEvent], severity: Severity
) -> Finding:
    model = context.model
    return context.finding(
        "total",
        message,
        advice,
        severity=severity,
        witness=(step for each in found[:MOST_SHOWN] for step in each.list_steps(model)),
        facts=model.facts_about(*model.reads["total"]),
    )


def _compare_with_end(paid: PaidEvent, end: float, discount: float) -> str:
    against = f"the best end, which pays {format_number(end)}"
    if is_unlimited(paid.pay):
        return f"One such step can earn more than {against}."
    if discount < 1:
        worth, price = format_apart(paid.pay / (1 - discount), end)
        return (
            f"Repeated forever, {paid.field!r} is worth {worth} at discount {format_number(discount)}, more than the "
            f"best end, which pays {price}."
        )
    steps = math.floor(end / paid.pay + 1e-9) + 1
    return f"After {format_number(steps)} such step{'s' * (steps > 1)}, {paid.field!r} has earned more than {against}."


@dataclass(frozen=True, slots=True)
class UnknownEvent:
    """An event for which it is not known whether it pays."""

    field: str
    reason: str


def list_paid_events(context: CheckContext) -> list[PaidEvent | UnknownEvent]:
    """Return the events that pay, each with how often it can happen."""
    return context.recall("paid events", lambda: list(_list_paid_events(context)))


def _list_paid_events(context: CheckContext) -> Iterator[PaidEvent | UnknownEvent]:
    lasting = drop_shaping(context)
    if lasting is None:
        return
    for field, inputs in _list_events(lasting).items():
        match _find_event_pay(context, lasting, field, inputs):
            case Unknown(reason):
                yield UnknownEvent(field, reason)
            case PaidEvent() as paid:
                yield paid


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

    If it never pays alone, other events may happen with it that a fact ties to it.
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
    outside = context.reward.task.goal_ends  # who reaches the goal does not repeat anything
    pay = add_standing_step(model, question, happening=happening, outside_goal=outside)
    less = add_standing_step(model, question, outside_goal=outside)
    question.require(question.compare(question.minus(pay, less), n.Gt, question.number(LEAST)))
    fields = {name: model.fields[name] for name in sorted(inputs)}
    happens = [
        question.compare(question.input(name, each), n.Ne, question.input(name, each, value_at_rest(each)))
        for name, each in fields.items()
    ]
    question.require(question.builder.any(happens))
    best = maximise_plainly(context, question, pay)
    if best.bound <= LEAST:
        return Impossible()
    if best.row is None or best.value <= LEAST:
        return Unknown(context.solver.explain_unknown())
    row = read_standing_row(model, best.row)
    scores = model.score(row)  # inputs that do not matter to the pay are at rest there
    paid = best.value if scores is None or is_unlimited(best.value) else float(scores.total)
    if paid <= LEAST:
        return Impossible()
    without = model.score({**row, **{name: model.resting_events[name] for name in happening}})
    rest = 0.0 if without is None else float(without.total)
    return PaidEvent(field, paid, best.row, happening, rest, *_count_times(context, field))


def _count_times(context: CheckContext, field: str) -> tuple[float | None, float | None]:
    """Return how often an event can happen in an episode, and how many steps lie between; None where unknown.

    A share of steps that was seen in play is the least that an agent can have.
    """
    said, steps = context.reward.task.events.get(field), count_steps(context.reward)
    if said is None:
        return (1.0 if context.reward.task.horizon == 1 else None), None
    between = float(said.renews) if said.renews is not None else None if said.rate is None else 1 / said.rate
    times = None if between is None or steps is None else steps / between
    if said.at_most is not None and (times is None or said.at_most <= times):
        return float(said.at_most), None
    return times, between
