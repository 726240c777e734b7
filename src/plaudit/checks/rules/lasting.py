"""Rules about pay that goes on: for staying where one is, and bonuses that are meant to fade and do not."""

import math
from dataclasses import replace

from plaudit.checks.finding import Severity
from plaudit.checks.formats.plain import format_apart, format_number
from plaudit.checks.model import RewardModel
from plaudit.checks.rules.goals import bound_goal, bound_goal_over, maximise_stay
from plaudit.checks.rules.registry import CheckContext, Found, rule
from plaudit.checks.rules.staying import (
    LEAST,
    NOWHERE,
    add_standing_step,
    bound_best_end,
    count_steps,
    describe_place,
    describe_worth,
    find_stays,
    format_pay,
    has_end,
    is_staying_wanted,
    maximise_pay,
    maximise_plainly,
    read_standing_row,
)
from plaudit.checks.solver.boxes import is_close
from plaudit.checks.solver.question import Question, Unknown
from plaudit.checks.solver.ranges import declared_range, is_unlimited, limit_range
from plaudit.language import nodes as n
from plaudit.language.schedule import Schedule
from plaudit.reward.term import Term

FADED = 0.25
"""A bonus fades if at most this share of it is left when what counts up, or down, has gone all the way."""


@rule(
    "pays-for-staying",
    severity="advice",
    why="An agent that earns reward by staying put has a reason never to finish.",
    uses=("roles", "goal", "horizon", "discount", "rates"),
    claims="stay",
)
def find_pay_for_staying(context: CheckContext) -> Found:
    """Find states that pay in every step in which nothing happens, where something else is to be done.

    If nothing says that there is anything to finish, or the best place to stay is the wanted one, the pay for staying
    is an incentive and not a finding.
    """
    if not _may_finish(context) or is_staying_wanted(context) or _pays_to_go_on(context):
        return
    match find_stays(context, outside_goal=context.reward._bound.goal is not None):
        case Unknown():
            yield context.undecided("total")
        case [best, *_] as stays if best.pay > LEAST:
            better, severity = _compare_with_end(context, best.pay)
            paying = [stay for stay in stays if stay.pay > LEAST]
            where = "; ".join(f"{each.where}: {format_pay(each.pay)} a step" for each in paying if each.throughout)
            model = context.model
            steps = [model.build_step(read_standing_row(model, stay.row), stay.where) for stay in paying]
            whole = is_unlimited(best.pay) or is_close(steps[0].total or 0.0, best.pay)
            apart = "" if whole else ", not counting potential-based terms"
            yield context.finding(
                "total",
                f"an agent can stay put and earn {format_pay(best.pay, 'up to ')} a step forever"
                f"{f' ({where})' if where else ''}{apart}.{better}",
                "If the agent should finish, make a step cost something or let the end pay more than waiting. If "
                "staying alive is the task, allow this finding with that reason.",
                severity=severity,
                witness=steps,
                facts=model.facts_about(*model.reads["total"]),
            )


def _may_finish(context: CheckContext) -> bool:
    """Return whether anything says that there is more to do than to stay: an end, a goal, a limit, an idle agent."""
    task, bound = context.reward.task, context.reward._bound
    said = bound.goal is not None or bound.idle is not None or task.horizon is not None or bool(task.ends)
    return said or has_end(context)


def _pays_to_go_on(context: CheckContext) -> bool:
    """Return whether a goal that goes on, and is no place to stay, pays more a step than any place outside it."""
    if context.reward._bound.goal is None or context.reward.task.goal_ends:
        return False
    goal, inside = bound_goal_over(context, 1.0), maximise_stay(context, inside=True)
    return goal is not None and not inside.possible and goal > maximise_stay(context, inside=False).bound


def _compare_with_end(context: CheckContext, pay: float) -> tuple[str, Severity]:
    """Return what the ending that competes with staying pays, and the severity if staying pays as much."""
    ends = context.reward.task.goal_ends  # else what the goal is worth goes on too
    goal = bound_goal(context) if ends else None
    best, steps = max(bound_best_end(context), goal or 0.0), count_steps(context.reward)
    what = "the goal" if goal is not None and best == goal else "the best end"
    if best <= 0 or is_unlimited(best) or is_unlimited(pay):
        over = describe_worth(context, pay)
        return f" That adds up to {over}." if over else "", "advice"
    if steps is None:
        needed = math.ceil(best / pay - LEAST)
        return (
            f" After {format_number(needed)} steps it has earned more than {what}, which pays {format_number(best)}.",
            "warning",
        )
    worth = pay * steps
    shown, price = format_apart(worth, best)
    if is_close(worth, best):
        return f" That adds up to {shown}, as much as {what}.", "warning"
    if worth < best:
        return f" That adds up to at most {shown}, less than {what}, which pays {price}.", "advice"
    return f" That adds up to {shown}, more than {what}, which pays {price}.", "warning"


@rule(
    "bonus-never-fades",
    severity="warning",
    why="A novelty bonus that keeps paying in known states replaces the task.",
    uses=("roles", "monotone"),
)
def find_lasting_bonuses(context: CheckContext) -> Found:
    """Find terms that should fade (kind="intrinsic") and keep paying an agent that stays somewhere.

    It is advice if it is not declared whether their inputs persist: they may be counts.
    """
    for term in context.reward.terms:
        if term.kind != "intrinsic" or term.terminal or _fades_by_weight(term):
            continue
        model, question = RewardModel(context.reward.select_terms(term.name)), Question()
        pay = add_standing_step(model, question)
        best = maximise_plainly(context, question, pay)
        for name, field in question.inputs.copy().items():
            if way := context.reward.task.monotone.get(field.name):  # what counts up while one stays goes all the way
                reach = declared_range(limit_range(field))
                end = question.number(reach.high if way == "up" else reach.low)
                question.require(question.compare(question.input(name, field), n.Eq, end))
        left = maximise_pay(context, question, pay)
        if best.row is None or left.row is None or left.value <= max(LEAST, FADED * best.value):
            continue
        place = describe_place(model, left.row)
        where = "in which nothing happens" if place in NOWHERE else f"spent at {place}"
        found = context.finding(
            term.name,
            f"{term.name!r} never fades: an agent earns {format_pay(left.value)} from it in every step {where}.",
            "Make it shrink with every visit, or pay for the first visit only. If it reads a count that only rises, "
            "say so in the task: monotone={'visits': 'up'}.",
            witness=(context.model.build_step(read_standing_row(context.model, left.row), "staying"),),
            facts=model.facts_about(*model.reads["total"]),
        )
        yield found if found.basis != "default" else replace(found, severity="advice")


def _fades_by_weight(term: Term) -> bool:
    """Return whether the weight of a term is 0, or a schedule that takes most of it away."""
    if not isinstance(term.weight, Schedule):
        return term.weight == 0
    left = abs(term.weight(max(term.weight.corners)))
    return left <= FADED * max(map(abs, term.weight.span))
