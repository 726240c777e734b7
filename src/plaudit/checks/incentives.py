"""The behaviors that a reward pays most for, best paid first, and a one-sentence summary.

Nothing is computed twice: the rules and the incentives read the same answers.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from plaudit.checks.bounds import open_end
from plaudit.checks.finding import Incentive, IncentiveKind
from plaudit.checks.formats.plain import format_number
from plaudit.checks.formats.text import format_incentive_pay
from plaudit.checks.model import RewardModel, refuse_contradiction
from plaudit.checks.rules.ends import find_bad_end, is_ended
from plaudit.checks.rules.events import PaidEvent, list_paid_events
from plaudit.checks.rules.goals import encode_idle
from plaudit.checks.rules.loops import describe_way, find_laps, list_lap_steps
from plaudit.checks.rules.registry import CheckContext
from plaudit.checks.rules.staying import (
    LEAST,
    NOWHERE,
    count_steps,
    describe_row,
    describe_worth,
    drop_potentials,
    find_best_end,
    find_paces,
    find_stays,
    maximise_pace,
    maximise_plainly,
    read_standing_row,
)
from plaudit.checks.solver.boxes import is_close
from plaudit.checks.solver.deadline import Deadline
from plaudit.checks.solver.question import Question, Unknown
from plaudit.checks.solver.ranges import NumericRow, encode_value, is_unlimited, strip_step_end
from plaudit.checks.solver.solver import SLACK, Solver, TimeIsUp
from plaudit.errors import DefinitionError
from plaudit.reward.reward import Reward
from plaudit.reward.task.task import Task

MOST_STAYS, MOST_EVENTS = 3, 2
"""At most this many places and events are listed."""
LASTING: tuple[IncentiveKind, ...] = ("stay", "lap", "pace", "idle")
"""What pays in each step for as long as it is done."""


def incentives(
    reward: Reward, *, task: Task | None = None, timeout: float = 60.0, z3: bool = True
) -> tuple[Incentive, ...]:
    """List the behaviors that a reward pays most for, best paid first.

    These are places to stay, a cycle, a speed, the goal, ends, events and doing nothing.

    Args:
        reward: The reward to examine.
        task: The task to use. Statements that only the reward's own task has are kept.
        timeout: Approximate time limit in seconds. With less time, bounds are less tight and behaviors may be missing.
        z3: Whether the solver z3 may be used.

    Returns:
        The behaviors, each with a witness that was scored.

    Raises:
        DefinitionError: The facts of the reward contradict one another, or `reward` is not a Reward.

    >>> from plaudit import Field, Task, term
    >>> @term
    ... def back(distance):
    ...     return 0.5 if distance > 40 else 0.0
    >>> follow = Reward("follow", version="1", terms=[back], fields=[Field("distance", low=0, high=200, unit="m")])
    >>> [stay] = incentives(follow, task=Task(states=["distance"]))
    >>> stay.kind, stay.where, stay.pay, stay.witness[0].inputs
    ('stay', 'distance beyond 40 m', 0.5, {'distance': 200.0})
    """
    if not isinstance(reward, Reward):
        raise DefinitionError(f"incentives takes a Reward, not a {type(reward).__name__}")
    reward = reward._join_task(task)
    context = CheckContext(RewardModel(reward), Solver(Deadline.after(timeout), z3))
    refuse_contradiction(context.model, context.solver, "has no incentives")
    return tuple(list_incentives(context))


def list_incentives(context: CheckContext) -> list[Incentive]:
    """Return the behaviors, best paid first, each with a witness that was run; unknown ones are left out.

    The best single step is listed only if nothing else is, or there is no state to stay in: a step that cannot be
    repeated says little.
    """
    found: list[Incentive] = []
    with suppress(TimeIsUp):
        for find in (
            _list_stays,
            _find_best_lap,
            _find_best_pace,
            _find_goal,
            _list_ends,
            _list_events,
            _find_idle_pay,
        ):
            found += find(context)
        if all(each.kind in ("idle", "bad end") or each.where in NOWHERE for each in found):
            found += (
                each for each in _find_best_step(context) if each.pay > max((e.pay for e in found), default=-math.inf)
            )
    if any(each.kind == "goal" for each in found) and context.reward.task.goal_ends:
        found = [each for each in found if each.kind != "end"]  # the goal is the end that is wanted
    counted = (replace(each, value=_count_value(context, each)) for each in found)
    return sorted(counted, key=lambda each: (-each.value, each.kind != "goal", -each.pay))


def _count_value(context: CheckContext, incentive: Incentive) -> float:
    """Return what it adds up to in an episode; what potential-based terms pay for lasting is paid on any way."""
    if incentive.kind == "event":
        return incentive.value
    goes_on = incentive.kind in LASTING or (incentive.kind == "goal" and not context.reward.task.goal_ends)
    pay = _leave_out_potentials(context, incentive) if incentive.kind in ("stay", "pace", "idle") else incentive.pay
    if not goes_on or pay == 0:
        return pay
    steps = count_steps(context.reward)
    return math.copysign(math.inf, pay) if steps is None else pay * steps


def _leave_out_potentials(context: CheckContext, incentive: Incentive) -> float:
    paid, inputs = drop_potentials(context), incentive.witness[0].inputs
    if paid is context.model or math.isinf(incentive.pay):
        return incentive.pay
    scores = paid.score({name: encode_value(field, inputs[name]) for name, field in paid.fields.items()})
    return incentive.pay if scores is None else float(scores.total)


def summarise_incentives(incentives: Sequence[Incentive]) -> str:
    """Return the best-paid behavior in a sentence; empty if it is not known."""
    if not incentives:
        return ""
    best, goal = incentives[0], next((each for each in incentives if each.kind == "goal"), None)
    where = f" ({best.where})" if best.where else ""
    adds_up = f", {best.worth}" if best.worth else ""
    other = "" if goal is None or goal is best else f"; the goal pays {format_incentive_pay(goal)}"
    told = f"An agent earns the most by {_DOES[best.kind]}{where}: {format_incentive_pay(best)}{adds_up}{other}."
    repeated = [each for each in incentives if each.kind == "event" and not each.worth and each is not best]
    open_ended = [each for each in repeated if goal is not None and each.pay < goal.pay / 2]
    if open_ended:
        event = open_ended[0]
        told += f" In addition, {event.where} pays {format_incentive_pay(event)} it happens, with no declared limit."
    return told


_DOES: Mapping[IncentiveKind, str] = {
    "step": "taking the best single step",
    "stay": "staying put",
    "lap": "repeating a cycle",
    "pace": "keeping up a speed",
    "goal": "reaching the goal",
    "end": "ending the episode",
    "bad end": "ending the episode badly",
    "event": "triggering an event",
    "idle": "doing nothing",
}


def _find_best_step(context: CheckContext) -> Iterator[Incentive]:
    question, copy = context.model.any_step
    yield from _describe_best(context, "step", question, copy["total"])


def _describe_best(context: CheckContext, kind: IncentiveKind, question: Question, paid: int) -> Iterator[Incentive]:
    """Yield the step that pays most, in numbers that a person would write."""
    best = maximise_plainly(context, question, paid)
    if best.row is None:
        return
    row = {**best.row, **context.model.complete_row(best.row)}
    step = context.model.build_step(row)
    if step.total is not None:
        pay = math.inf if is_unlimited(best.value) else step.total
        yield Incentive(kind, pay, describe_row(context.model, row), (step,), open_end(max(best.bound, pay)))


def _list_stays(context: CheckContext) -> Iterator[Incentive]:
    reward, model = context.reward, context.model
    stays = find_stays(context, outside_goal=reward._bound.goal is not None and reward.task.goal_ends)
    known = [] if isinstance(stays, Unknown) else stays
    for stay in [each for each in known if each.pay > LEAST][:MOST_STAYS] or known[:1]:
        step = model.build_step(read_standing_row(model, stay.row), "stay")
        if step.total is None:
            continue
        pay = math.inf if is_unlimited(stay.pay) else step.total
        bound = pay if is_close(stay.pay, stay.bound) else max(pay, stay.bound)
        yield Incentive("stay", pay, stay.where, (step,), open_end(bound), describe_worth(context, pay))


def _find_best_lap(context: CheckContext) -> Iterator[Incentive]:
    lap = max(find_laps(context), key=lambda each: each.mean, default=None)
    if lap is not None:
        read = [name for name in context.model.fields if strip_step_end(name) in lap.moved]
        where, steps = describe_way(context.model, lap).replace(":", "", 1), tuple(list_lap_steps(context, lap, read))
        mean = math.fsum(step.total or 0.0 for step in steps) / len(steps)
        yield Incentive("lap", mean, where, steps, mean, describe_worth(context, mean))


def _find_best_pace(context: CheckContext) -> Iterator[Incentive]:
    """Yield the speed that pays most to keep up."""
    model, paces = context.model, find_paces(context.model)
    best = maximise_pace(context, paces, outside_goal=context.reward.task.goal_ends)
    if best is None:
        return
    _, row = best
    rest = dict.fromkeys(row, 0.0) | model.resting_events
    kept = {name: row[name] for name in row if model.fields[name].name in paces and row[name] != rest[name]}
    step = model.build_step(row, "keeping it up")
    if kept and step.total is not None:
        where = describe_row(model, kept)
        yield Incentive("pace", step.total, where, (step,), step.total, describe_worth(context, step.total))


def _find_goal(context: CheckContext) -> Iterator[Incentive]:
    reward = context.reward
    if reward._bound.goal is None:
        return
    question = Question()
    paid = context.model.add_row(question)["total"]
    question.require(question.copy(reward._bound.goal_program)[reward._bound.goal.name])
    for each in _describe_best(context, "goal", question, paid):
        yield replace(each, where="" if each.where == NOWHERE[0] else each.where)


def _list_ends(context: CheckContext) -> Iterator[Incentive]:
    best, bad = find_best_end(context), find_bad_end(context)
    if best is not None and best.row is not None:
        rows = [{**best.row, "terminal": 1.0}, {**best.row, "terminal": 0.0}]
        yield from _describe_end(context, "end", rows, best.value, best.bound)
    if bad is not None and (bad.name or (best is not None and not is_close(-bad.price, best.value))):
        rows = [{**bad.row, "terminal": 1.0}, bad.going_on or {**bad.row, "terminal": 0.0}]
        for each in _describe_end(context, "bad end", rows, -bad.price, -bad.price, bad.name):
            yield replace(each, where=bad.name if bad.name and each.where == NOWHERE[0] else each.where)


def _describe_end(
    context: CheckContext, kind: IncentiveKind, rows: list[NumericRow], value: float, bound: float, name: str = ""
) -> Iterator[Incentive]:
    """Yield what a step earns more for ending the episode than if it went on."""
    model = context.model

    def ends(rows: Sequence[NumericRow]) -> list[bool]:
        return [is_ended(context, name, row) for row in rows]

    def adds(rows: Sequence[NumericRow]) -> float:
        totals = [step.total for step in map(model.build_step, rows)]
        return math.nan if totals[0] is None or totals[1] is None else totals[0] - totals[1]

    paid = adds(rows)
    ended = ends(rows)
    rows = model.simplify_rows(
        rows, lambda found: abs(adds(found) - paid) <= SLACK * abs(paid) and ends(found) == ended
    )
    pay = value if is_unlimited(value) else adds(rows)
    if not math.isnan(pay):
        steps = tuple(map(model.build_step, rows, ("the end", "going on")))
        at_most = pay if is_close(value, bound) else max(pay, bound)
        yield Incentive(kind, open_end(pay), describe_row(model, rows[0]), steps, open_end(at_most))


def _list_events(context: CheckContext) -> Iterator[Incentive]:
    """Yield the events that pay, with what they add up to where it is said how often they can happen.

    What the goal reads, and what ends the episode, does not happen again.
    """
    bound = context.reward._bound
    last = {field.name for field in bound.goal_program.inputs.values()} | {*context.reward.task.ends}
    last |= find_paces(context.model)  # speeds are listed as such
    paid = [each for each in list_paid_events(context) if isinstance(each, PaidEvent) and each.field not in last]
    for event in sorted(paid, key=lambda each: -each.pay)[:MOST_EVENTS]:
        steps = tuple(event.list_steps(context.model))
        if is_unlimited(event.pay) or steps[0].total is None:
            continue
        pay, worth = steps[0].total, ""
        if event.times is not None:
            worth = f"{format_number(pay * event.times)} in total, {event.describe_times()}"
        row, fields = read_standing_row(context.model, event.row), context.model.fields
        where = describe_row(context.model, {name: row[name] for name in row if fields[name].name == event.field})
        yield Incentive("event", pay, where, steps, pay, worth, pay * (event.times or 1.0))


def _find_idle_pay(context: CheckContext) -> Iterator[Incentive]:
    """Yield what a step of doing nothing pays, as it is declared; one that reaches the goal is not idle."""
    idle = encode_idle(context)
    step = None if idle is None else context.model.build_step(idle, "idle")
    if step is not None and step.total is not None:
        yield Incentive("idle", step.total, "", (step,), step.total, describe_worth(context, step.total))
