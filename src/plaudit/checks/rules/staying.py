"""What rules about staying are built on: a step that leaves everything as it is, and what pay that goes on is worth."""

from dataclasses import replace

from plaudit.checks.formats.plain import format_number
from plaudit.checks.model import RewardModel, find_tied_inputs, name_step_inputs
from plaudit.checks.rules.horizon import count_steps, describe_horizon
from plaudit.checks.rules.potential import classify_shaping_terms
from plaudit.checks.rules.registry import CheckContext
from plaudit.checks.solver.boxes import Maximum
from plaudit.checks.solver.plain import simplify_maximum
from plaudit.checks.solver.question import Impossible, Question, Witness
from plaudit.checks.solver.ranges import NumericRow, is_unlimited, strip_step_end
from plaudit.language import nodes as n
from plaudit.language.schedule import Schedule

LEAST = 1e-9
"""What a step must pay to count as more than nothing."""


def describe_worth(context: CheckContext, pay: float) -> str:
    """Return what a pay in every step is worth in all, in words; empty where nobody can tell."""
    steps = count_steps(context.reward)
    if steps is None or is_unlimited(pay):
        return ""
    return f"{format_number(pay * steps)} {describe_horizon(context.reward)}"


def drop_shaping(context: CheckContext) -> RewardModel | None:
    """Return the reward without its potential-based terms, which pay nothing in the long run, and without its end.

    None where nothing else is left of it.
    """
    return context.recall("lasting", lambda: _drop_shaping(context))


def _drop_shaping(context: CheckContext) -> RewardModel | None:
    shaping = classify_shaping_terms(context)
    gate = context.reward.gate is not None  # what a gate multiplies is no difference of potentials any more
    kept = [
        term.name
        for term in context.reward.terms
        if not term.terminal and (shaping.get(term.name) != Impossible() or (gate and term.gated))
    ]
    return RewardModel(context.reward.select_terms(*kept)) if kept else None


def add_standing_step(
    model: RewardModel, question: Question, *, happening: frozenset[str] = frozenset(), outside_goal: bool = False
) -> int:
    """Add a step that changes nothing to a question, and return the position of what it pays.

    Nothing happens in it but what the action brings about, and perhaps the events `happening`. What is declared to be
    the rate of a field is 0 in it.
    """
    action, reward = model.reward.action, model.reward
    free = frozenset(find_tied_inputs(model, action)) if action is not None else frozenset[str]()
    names = name_step_inputs(model, "s", "s")
    still = {name: value for name, value in model.resting_events.items() if name not in free | happening}
    rates = {field.rate for field in reward.fields.values() if field.rate is not None}
    for name, field in model.fields.items():
        if field.name in rates:
            rate = question.input(names.get(name, name), field, still.get(name))
            question.require(question.compare(rate, n.Eq, question.number(0.0)))
    if outside_goal and reward.goal is not None:
        own = {name: f"s.{strip_step_end(name)}" for name in reward._goal_program.inputs}
        goal = question.copy(reward._goal_program, {**own, **names}, still)
        question.require(question.negate(goal[reward.goal.name]))
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


def find_best_end(context: CheckContext) -> Maximum | None:
    """Return what the terminal terms add at most, with a row; None where there are none."""
    return context.recall("best end", lambda: _find_best_end(context))


def _find_best_end(context: CheckContext) -> Maximum | None:
    terms = [term.name for term in context.reward.terms if term.terminal and term.weight != 0]
    if not terms:
        return None
    model, question = RewardModel(context.reward.select_terms(*terms)), Question()
    paid = model.add_row(question, fixed={"terminal": 1.0})["total"]
    return simplify_maximum(question.program(paid), maximise_pay(context, question, paid))


def bound_best_end(context: CheckContext) -> float:
    """Return the most that the terminal terms, or an override at the end, can pay; 0 where they cannot pay."""
    best = find_best_end(context)
    final = [each.value for each in context.reward.override if "terminal" in each.condition.reads]
    paid = [each.span[1] if isinstance(each, Schedule) else each for each in final]
    return max([0.0, *paid, *([] if best is None else [best.bound])])


def has_end(context: CheckContext) -> bool:
    """Return whether an end is paid, or costs."""
    return any(term.terminal and term.weight != 0 for term in context.reward.terms) or any(
        "terminal" in each.condition.reads for each in context.reward.override
    )


def format_pay(pay: float, prefix: str = "") -> str:
    """Return what a step pays; what has no bound is no number."""
    return "as much as you like" if is_unlimited(pay) else f"{prefix}{format_number(pay)}"
