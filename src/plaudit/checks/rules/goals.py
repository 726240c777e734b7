"""Rules about the goal: that it can be reached and seen, and that neither idling nor anything else is worth more."""

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from plaudit.checks.finding import Severity
from plaudit.checks.formats.plain import format_number
from plaudit.checks.model import RewardModel, find_tied_inputs, locate_source, name_step_inputs
from plaudit.checks.rules.registry import CheckContext, Found, rule
from plaudit.checks.rules.staying import (
    TOLERANCE,
    add_standing_step,
    bound_best_end,
    count_steps,
    describe_horizon,
    drop_potentials,
    maximise_pay,
)
from plaudit.checks.solver.boxes import Maximum, compile_question, evaluate
from plaudit.checks.solver.question import Impossible, Question, Unknown, Witness
from plaudit.checks.solver.ranges import (
    NumericRow,
    encode_value,
    is_unlimited,
    strip_step_end,
    value_at_rest,
)
from plaudit.language import nodes as n

if TYPE_CHECKING:
    from plaudit.checks.seen_steps import Mask, SeenSteps

IDLE_SHARE = 0.5
"""Doing nothing is reported if it is worth more than this share of the best goal or end."""
MOST_BEYOND = 10
"""An episode this many times longer than the effective horizon has an end that the agent does not see."""


@rule(
    "unreachable-goal",
    severity="warning",
    why="A goal that no step can reach says nothing about the reward.",
    uses=("goal",),
    always=True,
)
def find_unreachable_goals(context: CheckContext) -> Found:
    """Find a goal that is true of no step that facts allow."""
    goal = context.reward._bound.goal
    if goal is None:
        return
    question = Question()
    context.model.require_facts(question)
    match context.solver.find_example(question, add_goal(context, question)):
        case Unknown(reason):
            yield context.undecided("total", f"whether the goal {goal.name!r} can be reached", reason=reason)
        case Impossible():
            yield context.finding(
                "total",
                f"an agent can never reach the goal {goal.name!r}: no step within the declared ranges and facts makes "
                "it true.",
                "Correct the goal, or the range or fact that is wrong.",
                place=locate_source(goal.source),
                facts=tuple(fact.name for fact in context.reward._bound.facts),
            )


def bound_goal(context: CheckContext) -> float | None:
    """Return the most that reaching the goal, and what follows it, can be worth; None where that is not known.

    Nothing follows where the goal ends the episode. Otherwise the best is to stay in it, or to reach it in every step
    where one cannot stay.
    """
    steps, known = count_steps(context.reward), context.reward._bound.goal is not None
    return context.recall("goal", lambda: bound_goal_over(context, steps) if known else None)


def bound_goal_over(context: CheckContext, steps: float | None) -> float | None:
    """Return the most that the goal can be worth over some steps; None where that has no bound."""
    paid = drop_potentials(context)
    question = Question()
    once = paid.add_row(question)["total"]
    context.model.require_facts(question)
    best = maximise_where(context, question, once, add_goal(context, question))
    if not best.possible or is_unlimited(best.bound):
        return None
    if context.reward.task.goal_ends:
        worth = best.bound + _bound_progress(context)
        return None if is_unlimited(worth) else worth
    if steps is None:
        return None
    stay = maximise_stay(context, inside=True)
    after = stay.bound if stay.possible else best.bound
    return None if is_unlimited(after) else best.bound + (steps - 1) * after


def _bound_progress(context: CheckContext) -> float:
    """Return the most that potential-based terms add up to on the way from the start to the goal, without discount.

    With one, staying where one is pays for the same potential, and they favour nothing.
    """
    kept, task = {term.name for term in drop_potentials(context).reward.terms}, context.reward.task
    dropped = [term.name for term in context.reward.terms if term.name not in kept]
    if not dropped or (task.discount or 1.0) < 1:
        return 0.0
    model, question = RewardModel(context.reward.select_terms(*dropped)), Question()
    total = question.copy(model.program)["total"]  # the way is longer than a step, and facts are about those
    for name, start in task.start.items():
        if (field := model.fields.get(f"prev.{name}")) is not None and field.kind == "number" and not field.shape:
            low, *_, high = start if isinstance(start, list | tuple) else (start, start)
            before = question.input(f"prev.{name}", field)
            question.require(question.compare(before, n.Ge, question.number(float(low))))
            question.require(question.compare(before, n.Le, question.number(float(high))))
    return max(0.0, maximise_where(context, question, total, add_goal(context, question)).bound)


def maximise_where(context: CheckContext, question: Question, asked: int, condition: int) -> Maximum:
    """Return how high `asked` can be where `condition` is true, with a row of both.

    A question leaves out whatever has nothing to do with what is asked; here the condition counts all the same.
    """
    question.require(condition)
    answer = context.solver.find_example(question, condition)
    if answer == Impossible():
        return Maximum(-math.inf, None)
    best = maximise_pay(context, question, asked)
    row = None if best.row is None or not isinstance(answer, Witness) else {**answer.row, **best.row}
    return replace(best, row=row)


def maximise_stay(context: CheckContext, *, inside: bool, fixed: NumericRow | None = None) -> Maximum:
    """Return the most that a step pays that changes nothing, inside the goal or outside it; states may be `fixed`.

    How fast something goes is 0 in it, also where only the goal reads that.
    """
    question = Question()
    pay = add_standing_step(drop_potentials(context), question, outside_goal=not inside)
    names = name_step_inputs(context.model, "s", "s")
    action = context.reward.action
    free = find_tied_inputs(context.model, action) if action is not None else set[str]()
    still = {name: value for name, value in context.model.resting_events.items() if name not in free}
    goal = add_goal(context, question, names, still)
    conditions = [goal if inside else question.negate(goal)]
    rates = {each.rate for each in context.reward.task.rates.values()}
    for name, field in question.inputs.copy().items():
        if field.name in rates:
            conditions.append(question.compare(question.input(name, field), n.Eq, question.number(0.0)))
    for name, value in (fixed or {}).items():
        at = question.input(name, question.inputs[name])
        conditions.append(question.compare(at, n.Eq, question.number(value)))
    return maximise_where(context, question, pay, question.all(conditions))


def add_goal(
    context: CheckContext,
    question: Question,
    names: dict[str, str] | None = None,
    fixed: NumericRow | None = None,
) -> int:
    """Return the position of whether the goal is reached in a row of a question; what only it reads is as it likes."""
    program, goal = context.reward._bound.goal_program, context.reward._bound.goal
    assert goal is not None
    own = {name: f"s.{strip_step_end(name)}" for name in program.inputs} if names else {}
    copy = question.copy(program, {**own, **(names or {})}, fixed)
    return copy[goal.name]


def find_goal_rows(context: CheckContext, seen: "SeenSteps") -> "Mask | None":
    """Return the steps that happened in which the goal is reached; None where they lack something that it reads."""
    program, goal = context.reward._bound.goal_program, context.reward._bound.goal
    columns = {name: seen.find_column(name, field) for name, field in program.inputs.items()}
    if goal is None or any(each is None for each in columns.values()):
        return None
    at = program.outputs[goal.name]
    ask = compile_question(replace(program, outputs={"given": at, "asked": at}))
    lists = [each[0].tolist() for each in columns.values() if each is not None]
    return seen.make_mask(ask(dict(zip(columns, row, strict=True))) == 1.0 for row in zip(*lists, strict=True))


def is_goal_reached(context: CheckContext, row: NumericRow) -> bool:
    """Return whether the goal is true of a row; what the row leaves out is at rest."""
    question = Question()
    reached = add_goal(context, question)
    program = question.program(question.builder.simplify(n.Number(reached)))
    whole = {name: row.get(name, value_at_rest(field)) for name, field in program.inputs.items()}
    return evaluate(program, whole) == 1


@rule(
    "idle-floor",
    severity="warning",
    why="If doing nothing earns as much as the goal, the agent has nothing to learn.",
    uses=("goal", "horizon", "discount", "idle"),
)
def find_idle_floor(context: CheckContext) -> Found:
    """Find idling that is worth as much as the best goal or end, or a large share of it.

    Where there is neither, no step may pay more than an idle one that leaves an objective unmet.
    """
    steps, idle = count_steps(context.reward), encode_idle(context)
    best = _bound_best_outcome(context)
    scores = None if idle is None else drop_potentials(context).score(idle)
    if idle is None or scores is None:
        return
    pay = float(scores.total)
    if best is None and context.reward._bound.goal is None:
        yield from _find_best_idling(context, idle, pay)
    if steps is None or best is None:
        return
    worth = pay * steps
    if worth >= best - TOLERANCE * max(1.0, abs(best)):
        how = "at least as much as"
        severity: Severity = "warning"
    elif worth > 0 and worth > IDLE_SHARE * best * (1 + TOLERANCE):
        how, severity = f"more than {IDLE_SHARE:.0%} of", "advice"
    else:
        return
    outcome = "the goal" if context.reward._bound.goal is not None else "the best end"
    yield context.finding(
        "total",
        f"doing nothing pays {format_number(pay)} a step: {format_number(worth)} {describe_horizon(context.reward)}, "
        f"{how} {outcome}, which is worth at most {format_number(best)}.",
        "Let the goal or the end pay more than waiting, or pay less for merely being there. If surviving is the task, "
        "allow this finding with that reason.",
        witness=(context.model.build_step(idle, "doing nothing"),),
        severity=severity,
    )


def _find_best_idling(context: CheckContext, idle: NumericRow, pay: float) -> Found:
    """Yield that no step pays more than doing nothing, though something is wanted that doing nothing does not bring."""
    model, bound = context.model, context.reward._bound
    wished = [field for field in bound.fields.values() if field.is_wished]
    whole = {**{name: encode_value(bound.known_inputs[name], value) for name, value in (bound.idle or {}).items()}}
    left = [
        field.name
        for field in wished
        for name, each in bound.known_inputs.items()
        if each.name == field.name and not name.startswith("prev.")
        if name in whole and whole[name] != model.find_good_value(name, field)
        if not (field.better == "low" and whole[name] == 0)  # of what goes both ways, little is wanted
    ]
    question, copy = model.any_step
    if not left or pay < context.solver.maximise(question, copy["total"]).bound - TOLERANCE * max(1.0, abs(pay)):
        return
    yield context.finding(
        "total",
        f"doing nothing pays {format_number(pay)} a step, and no step pays more, although it leaves {left[0]!r} short "
        "of what the task wants.",
        f"Pay for {left[0]!r}, or make doing nothing cost something.",
        witness=(model.build_step(idle, "doing nothing"),),
    )


def encode_idle(context: CheckContext) -> NumericRow | None:
    """Return the idle step; None where none is declared, where states are carried, and where it reaches the goal."""
    reward = context.reward
    if reward._bound.idle is None or reward.states:
        return None
    row = {name: encode_value(reward._bound.known_inputs[name], value) for name, value in reward._bound.idle.items()}
    if reward._bound.goal is not None and is_goal_reached(context, row):
        return None
    return {name: value for name, value in row.items() if name in context.model.fields}


def _bound_best_outcome(context: CheckContext) -> float | None:
    """Return the most that the goal, or the best end, can be worth; None where there is neither."""
    found = [each for each in (bound_goal(context), _bound_best_end(context)) if each is not None]
    if context.reward._bound.goal is not None and bound_goal(context) is None:
        return None
    return max(found, default=None)


def _bound_best_end(context: CheckContext) -> float | None:
    """Return the most that an end can pay; None where no end is paid for, and surviving is all there is."""
    if bound_best_end(context) <= 0:
        return None
    question = Question()
    best = context.solver.maximise(question, context.model.add_row(question, fixed={"terminal": 1.0})["total"])
    return best.bound if best.possible and not is_unlimited(best.bound) else None


@rule(
    "short-sighted",
    severity="advice",
    why="An agent ignores rewards that lie beyond its effective horizon.",
    uses=("discount", "horizon"),
)
def find_short_sight(context: CheckContext) -> Found:
    """Find a discount that sees only a small part of an episode at whose end there is something to be had."""
    discount, horizon = context.reward.task.discount, context.reward.task.horizon
    reached = context.reward._bound.goal is not None and context.reward.task.goal_ends
    ends = reached or any(term.terminal and term.weight != 0 for term in context.reward.terms)
    if discount is None or horizon is None or discount >= 1 or not ends:
        return
    seen, left = 1 / (1 - discount), discount**horizon
    if horizon > MOST_BEYOND * seen * (1 + TOLERANCE):
        yield context.finding(
            "total",
            f"an agent looks about {format_number(round(seen))} steps ahead (discount {format_number(discount)}), but "
            f"an episode has {format_number(horizon)}: at the first step, a reward in the last one counts "
            f"{_format_share(left)}.",
            f"Raise the discount toward {format_number(1 - 1 / horizon)}, shorten the episode, or pay for progress.",
        )


def _format_share(left: float) -> str:
    """Return how much something still counts.

    >>> _format_share(0.00023), _format_share(2e-46)
    ('0.0002 times as much', 'less than a millionth as much')
    """
    return "less than a millionth as much" if left < 1e-6 else f"{format_number(float(f'{left:.1g}'))} times as much"
