"""Rules about behaviors that ignore the goal, or go far beyond it."""

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
from plaudit.language.program import Program
from plaudit.reward.task.bound import TaskField

UNTOUCHED_SHARE = 0.5
"""Behavior that ignores the goal is reported if it is worth this share of the best behavior that reaches it."""
DWARFS = 10.0
"""Pay beyond the edge of the goal that is this many times the pay at the edge dwarfs it."""
JUST_INSIDE = 0.001
"""How far inside an edge that is not part of the goal the goal begins, as a share of the way to the best value."""
LARGE = 1e6


@rule(
    "goal-untouched",
    severity="advice",
    why="An agent that earns well while ignoring the goal may never find it.",
    uses=("roles", "goal", "horizon", "discount", "rates"),
)
def find_untouched_goals(context: CheckContext) -> Found:
    """Find behavior that leaves the inputs of the goal as they start and is worth about as much as the goal.

    Behavior that is worth more is reported by goal-not-best.
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
        f"an agent that ignores the goal {goal.name!r} and leaves its inputs as they start earns "
        f"{format_number(best.value * steps)} {describe_horizon(context.reward)}, {share:.0%} of the most that the "
        f"goal is worth, {format_number(worth)}.",
        "Pay more for the goal or for progress toward it, or less for everything else.",
        witness=(model.build_step(read_standing_row(model, best.row), "ignoring the goal"),),
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
    why="If the reward keeps rising far beyond the goal, the agent overshoots the goal.",
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
    row = best.row
    for name, each in bound.goal_program.inputs.items():
        own, field = f"s.{strip_step_end(name)}", bound.view(each)
        if field.kind != "number" or own not in row or _is_wanted(field, row[own]):
            continue
        edge = _find_edge(bound.goal_program, name, row[own])
        at_edge = None if edge is None else _maximise_at_edge(context, own, edge, row[own])
        if edge is None or at_edge is None or at_edge.row is None or not _dwarfs(context, best, at_edge):
            continue
        steps = (
            model.build_step(read_standing_row(model, at_edge.row), "at the edge of the goal"),
            model.build_step(read_standing_row(model, row), "beyond it"),
        )
        far, near = format_state(field, row[own]), format_state(field, at_edge.row[own])
        where = "where staying" if at_edge.row[own] == edge else f"and staying at {near}"
        endless = is_unlimited(best.value)
        most = "far beyond it pays an unbounded amount" if endless else f"at {far} pays {format_number(best.value)}"
        yield context.finding(
            "total",
            f"an agent is paid to overshoot the goal {bound.goal.name!r}: it begins at {strip_step_end(name)} "
            f"{format_state(field, edge)}, {where} pays {format_number(at_edge.value)} a step, but staying {most}.",
            "Let the reward level off at the goal, with min(...) or high=. If more is better, say so in the task: "
            f"better={{{field.name!r}: {'high' if best.row[own] > edge else 'low'!r}}}.",
            witness=steps,
            about=(field.name,),
            facts=model.facts_about(*model.reads["total"]),
        )
        return


def _find_edge(goal: Program, name: str, best: float) -> float | None:
    """Return the edge of the goal that lies nearest to the best value; None where the goal has another one beyond it.

    What is best between two edges, as in a band around a target, is not beyond the goal.
    """
    edges = find_breakpoints(goal).get(name, ())
    beyond = bool(edges) and (best > max(edges) or best < min(edges))
    return min(edges, key=lambda each: abs(each - best)) if beyond else None


def _maximise_at_edge(context: CheckContext, name: str, edge: float, best: float) -> Maximum | None:
    """Return the most that staying at the edge of the goal pays; a little inside where the edge itself is outside."""
    inside = edge + JUST_INSIDE * (max(-LARGE, min(best, LARGE)) - edge)
    tries = (maximise_stay(context, inside=True, fixed={name: at}) for at in (edge, inside))
    return next((each for each in tries if each.row is not None), None)


def _dwarfs(context: CheckContext, best: Maximum, at_edge: Maximum) -> bool:
    """Return whether pay beyond the edge is many times the pay at it, and the rise many times that up to it."""
    question = Question()
    pay = add_standing_step(drop_potentials(context), question, outside_goal=True)
    lowest = context.solver.minimise(question, pay).value
    rise = best.value - at_edge.value
    return best.value >= DWARFS * max(at_edge.value, 0.0) and rise >= DWARFS * max(LEAST, at_edge.value - lowest)


def _is_wanted(field: TaskField, value: float) -> bool:
    """Return whether the task wants what lies beyond the edge of the goal."""
    return field.better is not None or (field.aim is not None and math.isclose(field.aim, value, abs_tol=LEAST))
