"""The rule about an idle life: it must not be worth as much as the goal."""

from plaudit.checks.finding import Severity
from plaudit.checks.formats.plain import format_number
from plaudit.checks.rules.goals import bound_goal, drop_potentials, is_goal_reached
from plaudit.checks.rules.horizon import TOLERANCE, count_steps, describe_horizon
from plaudit.checks.rules.registry import CheckContext, Found, rule
from plaudit.checks.rules.staying import bound_best_end
from plaudit.checks.solver.question import Question
from plaudit.checks.solver.ranges import NumericRow, encode_value, is_unlimited

IDLE_SHARE = 0.5
"""Doing nothing that is worth more than this share of the best goal or end is worth a word."""


@rule("idle-floor", severity="warning", why="Where doing nothing is worth as much as the goal, nothing is learnt.")
def find_idle_floor(context: CheckContext) -> Found:
    """Find an idle life that is worth as much as the best goal or end, or a large share of it."""
    steps, idle = count_steps(context.reward), _encode_idle(context)
    best = _bound_best_outcome(context)
    scores = None if idle is None else drop_potentials(context).score(idle)
    if steps is None or idle is None or scores is None or best is None:
        return
    pay = float(scores.total)
    worth = pay * steps
    if worth >= best - TOLERANCE * max(1.0, abs(best)):
        how = "at least as much as"
        severity: Severity = "warning"
    elif worth > 0 and worth > IDLE_SHARE * best * (1 + TOLERANCE):
        how, severity = f"more than {IDLE_SHARE:.0%} of", "advice"
    else:
        return
    outcome = "the goal" if context.reward.goal is not None else "the best end"
    yield context.finding(
        "total",
        f"doing nothing pays {format_number(pay)} a step: {format_number(worth)} {describe_horizon(context.reward)}, "
        f"{how} {outcome}, which is worth {format_number(best)} at most.",
        "Let the goal or the end pay more than waiting does, or pay less for merely being there; if surviving is the "
        "task, allow this with that reason.",
        witness=(context.model.build_step(idle, "doing nothing"),),
        severity=severity,
    )


def _encode_idle(context: CheckContext) -> NumericRow | None:
    """Return the idle step; None where none is declared, where states are carried, and where it reaches the goal."""
    reward = context.reward
    if reward.idle is None or reward.states:
        return None
    row = {name: encode_value(reward._known_inputs[name], value) for name, value in reward.idle.items()}
    if reward.goal is not None and is_goal_reached(context, row):
        return None
    return {name: value for name, value in row.items() if name in context.model.fields}


def _bound_best_outcome(context: CheckContext) -> float | None:
    """Return the most that the goal, or the best end, can be worth; None where there is neither."""
    found = [each for each in (bound_goal(context), _bound_best_end(context)) if each is not None]
    if context.reward.goal is not None and bound_goal(context) is None:
        return None
    return max(found, default=None)


def _bound_best_end(context: CheckContext) -> float | None:
    """Return the most that an end can pay; None where no end is paid for, and surviving is all there is."""
    if bound_best_end(context) <= 0:
        return None
    question = Question()
    best = context.solver.maximise(question, context.model.add_row(question, fixed={"terminal": 1.0})["total"])
    return best.bound if best.possible and not is_unlimited(best.bound) else None
