"""Rules about lives that leave the goal aside, or go far beyond it."""

import math

from plaudit.checks.formats.plain import format_number
from plaudit.checks.model import name_step_inputs
from plaudit.checks.rules.goals import add_goal, bound_goal, maximise_stay
from plaudit.checks.rules.registry import CheckContext, Found, rule
from plaudit.checks.rules.staying import (
    LEAST,
    TOLERANCE,
    add_standing_step,
    count_steps,
    describe_horizon,
    drop_potentials,
    format_state,
    read_standing_row,
)
from plaudit.checks.solver.boxes import Maximum
from plaudit.checks.solver.breakpoints import find_breakpoints
from plaudit.checks.solver.question import Question
from plaudit.checks.solver.ranges import encode_value, is_unlimited, strip_step_end
from plaudit.language import nodes as n
from plaudit.reward.task.bound import TaskField

UNTOUCHED_SHARE = 0.5
"""A life that leaves the goal aside and is worth this share of the best life with the goal is worth a word."""
DWARFS = 10.0
"""Pay beyond the edge of the goal that is this many times the pay at the edge dwarfs it."""


@rule(
    "goal-untouched",
    severity="advice",
    why="An agent that is paid well for leaving the goal aside may never find it.",
    uses=("roles", "goal", "horizon", "discount", "rates"),
)
def find_untouched_goals(context: CheckContext) -> Found:
    """Find a life that leaves everything the goal reads as it was at the start, and is worth about as much as the goal.

    One that is worth more is the business of goal-not-best.
    """
    steps, worth = count_steps(context.reward), bound_goal(context)
    if steps is None or worth is None or worth <= LEAST:
        return
    best = _maximise_untouched(context)
    if best is None or best.row is None or is_unlimited(best.value):
        return
    share = best.value * steps / worth
    if not UNTOUCHED_SHARE * (1 + TOLERANCE) < share <= 1 + TOLERANCE:
        return
    model, goal = context.model, context.reward._bound.goal
    assert goal is not None
    yield context.finding(
        "total",
        f"leaving everything that the goal {goal.name!r} reads as it is at the start is worth "
        f"{format_number(best.value * steps)} {describe_horizon(context.reward)}, {share:.0%} of what the goal is at "
        f"most, {format_number(worth)}.",
        "Pay more for the goal, or for coming closer to it, or less for everything else.",
        witness=(model.build_step(read_standing_row(model, best.row), "leaving the goal aside"),),
        facts=model.facts_about(*model.reads["total"]),
    )


def _maximise_untouched(context: CheckContext) -> Maximum | None:
    """Return the most that a step pays that leaves what the goal reads as at the start; None where that is not said."""
    task, bound = context.reward.task, context.reward._bound
    read = {field.name for name, field in bound.goal_program.inputs.items() if name != "terminal"}
    begun = {name: task.start.get(name, task.idle.get(name)) for name in read}
    if not read or any(value is None for value in begun.values()):
        return None
    question = Question()
    pay = add_standing_step(drop_potentials(context), question)
    names = name_step_inputs(context.model, "s", "s")
    question.require(question.negate(add_goal(context, question, names, context.model.resting_events)))
    for name, field in question.inputs.copy().items():
        if field.name not in read or field.shape:
            continue
        begins = begun[field.name]
        ends = begins if isinstance(begins, list | tuple) else (begins, begins)
        at = question.input(name, field)
        if field.kind == "number":
            low, high = (question.number(encode_value(field, each)) for each in ends)
            question.require(question.all([question.compare(at, n.Ge, low), question.compare(at, n.Le, high)]))
        else:
            question.require(question.same(at, question.input("", field, encode_value(field, ends[0]))))
    return context.solver.maximise(question, pay)


@rule(
    "overshoot",
    severity="warning",
    why="Where pay goes on rising far beyond the goal, the goal is passed and not kept.",
    uses=("roles", "goal", "better", "aim"),
)
def find_overshoots(context: CheckContext) -> Found:
    """Find a goal that goes on, and a field that pays far more beyond the goal's edge than at it.

    Where the task says that more of it is better, it is what is wanted.
    """
    bound, model = context.reward._bound, context.model
    if bound.goal is None or context.reward.task.goal_ends:
        return
    best = maximise_stay(context, inside=True)
    if best.row is None or best.value <= LEAST:
        return
    row, edges = best.row, find_breakpoints(bound.goal_program)
    for name, each in bound.goal_program.inputs.items():
        own, field = f"s.{strip_step_end(name)}", bound.view(each)
        if field.kind != "number" or not edges.get(name) or own not in row or _is_wanted(field, row[own]):
            continue
        edge = min(edges[name], key=lambda place: abs(place - row[own]))
        at_edge = maximise_stay(context, inside=True, fixed={own: edge})
        if at_edge.row is None or best.value < DWARFS * max(at_edge.value, 0.0) or at_edge.value >= best.value:
            continue
        far = format_state(field, row[own]) if math.isfinite(row[own]) else "far beyond"
        yield context.finding(
            "total",
            f"the goal {bound.goal.name!r} begins at {strip_step_end(name)} {format_state(field, edge)}, where staying "
            f"pays {format_number(at_edge.value)} a step, and {far} pays {format_number(best.value)}.",
            "Let pay level off where the goal is reached, with min(...) or high=; if more is better, say so in the "
            f"task: better={{{field.name!r}: ...}}.",
            witness=(
                model.build_step(read_standing_row(model, at_edge.row), "at the edge of the goal"),
                model.build_step(read_standing_row(model, best.row), "beyond it"),
            ),
            about=(field.name,),
            facts=model.facts_about(*model.reads["total"]),
        )
        return


def _is_wanted(field: TaskField, value: float) -> bool:
    """Return whether the task wants what lies beyond the edge of the goal."""
    return field.better is not None or (field.aim is not None and math.isclose(field.aim, value, abs_tol=LEAST))
