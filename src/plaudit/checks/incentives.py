"""What an agent that knows nothing but a reward has a reason to do: the best step, stay, lap and end.

Nothing here is worked out anew: the rules and the incentives read the same answers.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress

from plaudit.checks.bounds import open_end
from plaudit.checks.finding import Incentive, IncentiveKind
from plaudit.checks.model import RewardModel, refuse_contradiction
from plaudit.checks.rules.ends import find_bad_end
from plaudit.checks.rules.loops import describe_way, find_laps, list_lap_steps
from plaudit.checks.rules.registry import CheckContext
from plaudit.checks.rules.staying import (
    describe_row,
    describe_worth,
    find_best_end,
    find_stays,
    maximise_pay,
    read_standing_row,
)
from plaudit.checks.solver.boxes import is_close
from plaudit.checks.solver.deadline import Deadline
from plaudit.checks.solver.question import Question, Unknown
from plaudit.checks.solver.ranges import NumericRow, encode_value, is_unlimited, strip_step_end
from plaudit.checks.solver.solver import SLACK, Solver, TimeIsUp, simplify_maximum
from plaudit.errors import DefinitionError
from plaudit.reward.reward import Reward
from plaudit.reward.task.task import Task


def incentives(
    reward: Reward, *, task: Task | None = None, timeout: float = 60.0, z3: bool = True
) -> tuple[Incentive, ...]:
    """Return what `reward` pays most for: a single step, a place to stay, a lap, an end, and doing nothing.

    Args:
        reward: The reward to look at.
        task: What is wanted and what can happen; what only the reward's own task says is kept.
        timeout: About the most seconds for all of them. What is not settled in its share of the time is bounded less
            tightly, and what is not found by then is left out.
        z3: Whether z3 may be used.

    Raises:
        DefinitionError: The facts of the reward contradict one another, or this is no reward.

    >>> from plaudit import Field, Task, term
    >>> @term
    ... def back(distance):
    ...     return 0.5 if distance > 40 else 0.0
    >>> follow = Reward("follow", version="1", terms=[back], fields=[Field("distance", low=0, high=200, unit="m")])
    >>> [step, stay] = incentives(follow, task=Task(states=["distance"]))
    >>> stay.kind, stay.where, stay.pay, stay.witness[0].inputs
    ('stay', 'distance beyond 40 m', 0.5, {'distance': 200.0})
    """
    if not isinstance(reward, Reward):
        raise DefinitionError(f"incentives takes a Reward, and this is a {type(reward).__name__}")
    reward = reward._join_task(task)
    context = CheckContext(RewardModel(reward), Solver(Deadline.after(timeout), z3))
    refuse_contradiction(context.model, context.solver, "pays for nothing")
    return tuple(list_incentives(context))


def list_incentives(context: CheckContext) -> Iterator[Incentive]:
    """Yield what pays most, each with a witness that was run; what nobody can tell is left out."""
    finders = (_find_best_step, _list_stays, _find_best_lap, _find_goal, _list_ends, _find_idle_pay)
    with suppress(TimeIsUp):
        for find in finders:
            yield from find(context)


def _find_best_step(context: CheckContext) -> Iterator[Incentive]:
    question, copy = context.model.any_step
    yield from _describe_best(context, "step", question, copy["total"])


def _describe_best(context: CheckContext, kind: IncentiveKind, question: Question, paid: int) -> Iterator[Incentive]:
    """Yield the step that pays most, in numbers that a person would write."""
    best = simplify_maximum(question.program(paid), maximise_pay(context, question, paid))
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
    for stay in () if isinstance(stays, Unknown) else stays:
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


def _find_goal(context: CheckContext) -> Iterator[Incentive]:
    reward = context.reward
    if reward._bound.goal is None:
        return
    question = Question()
    paid = context.model.add_row(question)["total"]
    question.require(question.copy(reward._bound.goal_program)[reward._bound.goal.name])
    yield from _describe_best(context, "goal", question, paid)


def _list_ends(context: CheckContext) -> Iterator[Incentive]:
    best, bad = find_best_end(context), find_bad_end(context)
    if best is not None and best.row is not None:
        yield from _describe_end(context, "end", best.row, best.value, best.bound)
    if bad is not None and best is not None and not is_close(-bad.price, best.value):
        yield from _describe_end(context, "bad end", bad.row, -bad.price, -bad.price)


def _describe_end(
    context: CheckContext, kind: IncentiveKind, row: NumericRow, value: float, bound: float
) -> Iterator[Incentive]:
    """Yield what a step earns more for ending the episode than if it went on."""
    model = context.model

    def adds(rows: Sequence[NumericRow]) -> float:
        totals = [step.total for step in map(model.build_step, rows)]
        return math.nan if totals[0] is None or totals[1] is None else totals[0] - totals[1]

    rows: list[NumericRow] = [{**row, "terminal": 1.0}, {**row, "terminal": 0.0}]
    paid = adds(rows)
    rows = model.simplify_rows(rows, lambda found: abs(adds(found) - paid) <= SLACK * abs(paid))
    pay = value if is_unlimited(value) else adds(rows)
    if not math.isnan(pay):
        steps = tuple(map(model.build_step, rows, ("the end", "going on")))
        at_most = pay if is_close(value, bound) else max(pay, bound)
        yield Incentive(kind, open_end(pay), describe_row(model, rows[0]), steps, open_end(at_most))


def _find_idle_pay(context: CheckContext) -> Iterator[Incentive]:
    """Yield what a step of doing nothing pays, as it is declared."""
    model, idle = context.model, context.reward._bound.idle
    if idle is None:
        return
    fields = model.fields
    step = model.build_step({name: encode_value(fields[name], idle[name]) for name in idle if name in fields}, "idle")
    if step.total is not None:
        yield Incentive("idle", step.total, "", (step,), step.total, describe_worth(context, step.total))
