"""Shared by rules about continuing pay: steps that change nothing, places to stay, cycles, what they add up to."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from plaudit.checks.formats.plain import format_exactly, format_number, format_place
from plaudit.checks.model import RewardModel, find_tied_inputs, name_step_inputs
from plaudit.checks.rules.potential import classify_shaping_terms
from plaudit.checks.rules.registry import CheckContext
from plaudit.checks.rules.units import is_per_time
from plaudit.checks.solver.boxes import Maximum, evaluate, is_close
from plaudit.checks.solver.breakpoints import find_breakpoints
from plaudit.checks.solver.question import Impossible, Question, Unknown, Witness
from plaudit.checks.solver.ranges import (
    HUGE,
    NumericRow,
    decode_value,
    is_unlimited,
    strip_step_end,
    value_at_rest,
)
from plaudit.checks.solver.solver import simplify_maximum
from plaudit.language import nodes as n
from plaudit.language.field import Field
from plaudit.language.program import Program
from plaudit.language.schedule import Schedule
from plaudit.reward.reward import Reward
from plaudit.reward.term import Term

LEAST = 1e-9
"""What a step, or a lap, must pay to count as more than nothing."""
TOLERANCE = 1e-6
"""By how much one thing must be worth more than another, relative to it, to count as more."""
WANTED_SHARE = 0.01
"""What is wanted may pay this share less than the best place to stay and still be the best."""
MOST_STRETCHES = 8
MOST_NAMED = 3
"""At most this many states of a place are named."""
NOWHERE = ("everything at rest", "any state")
"""What stands for a place where no state is worth naming, and where the pay depends on nothing that could be named."""


def count_steps(reward: Reward) -> float | None:
    """Return the (discounted) number of steps in an episode; None if neither discount nor horizon is declared.

    >>> from plaudit import Task, term
    >>> @term
    ... def alive():
    ...     return 1
    >>> count_steps(Reward("r", version="1", terms=[alive], fields=[], task=Task(discount=0.5, horizon=3)))
    1.75
    """
    discount, horizon = reward.task.discount or 1.0, reward.task.horizon
    if discount >= 1:
        return None if horizon is None else float(horizon)
    seen = 1.0 if horizon is None else 1 - discount**horizon
    return seen / (1 - discount)


def describe_horizon(reward: Reward) -> str:
    """Return over how long something adds up, as people say it."""
    parts = (
        []
        if reward.task.horizon is None
        else [f"over {format_number(reward.task.horizon)} step{'s' * (reward.task.horizon != 1)}"]
    )
    if reward.task.discount is not None and reward.task.discount < 1:
        parts += [] if parts else ["over an infinite horizon"]
        parts += [f"at discount {format_number(reward.task.discount)}"]
    return " ".join(parts)


def describe_worth(context: CheckContext, pay: float) -> str:
    """Return what a pay in every step adds up to, in words; empty if that is not known."""
    steps = count_steps(context.reward)
    if steps is None or is_unlimited(pay):
        return ""
    return f"{format_number(pay * steps)} {describe_horizon(context.reward)}"


def drop_shaping(context: CheckContext) -> RewardModel | None:
    """Return the reward without its potential-based terms, which pay nothing in the long run, and without its end.

    None where nothing else is left of it.
    """
    kept = [term.name for term in _list_unshaped(context) if not term.terminal]
    return context.recall("lasting", lambda: _select_terms(context, kept)) if kept else None


def drop_potentials(context: CheckContext) -> RewardModel:
    """Return the reward without its potential-based terms, which favour no way over another."""
    kept = [term.name for term in _list_unshaped(context)]
    return _select_terms(context, kept) if kept else context.model


def _list_unshaped(context: CheckContext) -> list[Term]:
    shaping = classify_shaping_terms(context)
    gate = context.reward.gate is not None  # what a gate multiplies is no difference of potentials any more
    return [term for term in context.reward.terms if shaping.get(term.name) != Impossible() or (gate and term.gated)]


def _select_terms(context: CheckContext, terms: list[str]) -> RewardModel:
    whole = len(terms) == len(context.reward.terms)
    return context.model if whole else RewardModel(context.reward.select_terms(*terms))


def _find_stopped(model: RewardModel) -> frozenset[str]:
    """Return the fields that are 0 in a step that stays: those of `find_paces`.

    By its unit a field is one only where another state would move with it: a speed alone can be kept up forever.
    """
    bound, paces = model.reward._bound, find_paces(model)
    inputs = {**bound.goal_program.inputs, **model.fields}
    others = [bound.view(each) for each in inputs.values() if each.kind == "number" and each.name not in paces]
    if any(model.role(field) == "state" for field in others):
        return paces
    return paces & {each.rate for each in model.reward.task.rates.values()}


def find_paces(model: RewardModel) -> frozenset[str]:
    """Return the fields that are kept up and not stayed at: the rate of another one, or so much of a unit per time."""
    inputs = {**model.reward._bound.goal_program.inputs, **model.fields}
    rates = {each.rate for each in model.reward.task.rates.values()}
    return frozenset(
        field.name
        for field in inputs.values()
        if field.kind == "number" and (field.name in rates or (field.holds(0.0) and is_per_time(field.unit)))
    )


def add_standing_step(
    model: RewardModel,
    question: Question,
    *,
    happening: frozenset[str] = frozenset(),
    outside_goal: bool = False,
    inside_goal: bool = False,
    moving: frozenset[str] = frozenset(),
) -> int:
    """Add a step that changes nothing to a question, and return the position of what it pays.

    Nothing happens in it but what the action brings about, and perhaps the events `happening`. How fast something goes
    is 0 in it, but for fields that are `moving`: who keeps up a speed does not stay.
    """
    action, reward = model.reward.action, model.reward
    free = frozenset(find_tied_inputs(model, action)) if action is not None else frozenset[str]()
    names = name_step_inputs(model, "s", "s")
    happening |= {name for name, field in model.fields.items() if field.name in moving}
    still = {name: value for name, value in model.resting_events.items() if name not in free | happening}
    if outside_goal or reward.task.ends:
        still |= dict.fromkeys(_list_finishing_flags(model, outside_goal), 0.0)
    speeds = _find_stopped(model) - moving
    for name, field in model.fields.items():
        if field.name in speeds:
            speed = question.input(names.get(name, name), field, still.get(name))
            question.require(question.compare(speed, n.Eq, question.number(0.0)))
    for name, program in reward._bound.end_programs.items():  # what ends the episode is not stayed in
        own = {each: f"s.{strip_step_end(each)}" for each in program.inputs}
        question.require(question.negate(question.copy(program, {**own, **names}, still)[name]))
    if (outside_goal or inside_goal) and reward._bound.goal is not None:
        own = {name: f"s.{strip_step_end(name)}" for name in reward._bound.goal_program.inputs}
        goal = question.copy(reward._bound.goal_program, {**own, **names}, still)[reward._bound.goal.name]
        question.require(goal if inside_goal else question.negate(goal))
    return model.add_row(question, names=names, fixed=still, carried=True)["total"]


def _list_finishing_flags(model: RewardModel, outside_goal: bool) -> list[str]:
    """Return the flags that end the episode when they are set: those of ends and, where it ends, of the goal."""
    reward = model.reward
    goal = reward._bound.goal_program.inputs.values() if outside_goal and reward.task.goal_ends else ()
    last = {field.name for field in goal if field.kind == "flag"} | {*reward.task.ends}
    fields = {name: field for name, field in model.fields.items() if field.kind == "flag" and field.name in last}
    return [name for name, field in fields.items() if model.role(field) != "state"]


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


def maximise_plainly(context: CheckContext, question: Question, pay: int) -> Maximum:
    """Return nearly the most that a step pays, with a row of numbers that a person would write."""
    return simplify_maximum(question.program(pay), maximise_pay(context, question, pay))


def maximise_pace(
    context: CheckContext, paces: frozenset[str], *, outside_goal: bool
) -> tuple[float, NumericRow] | None:
    """Return what keeping up some speeds pays at most in a step, and that step; None where that has no bound."""
    model, question = drop_shaping(context), Question()
    if model is None or not paces:
        return None
    best = maximise_plainly(
        context, question, add_standing_step(model, question, moving=paces, outside_goal=outside_goal)
    )
    if best.row is None or is_unlimited(best.value):
        return None
    return best.value, read_standing_row(context.model, best.row)


def find_best_end(context: CheckContext) -> Maximum | None:
    """Return what the terminal terms add at most, with a row; None where there are none."""
    return context.recall("best end", lambda: _find_best_end(context))


def select_end(context: CheckContext) -> RewardModel | None:
    """Return the reward of its terminal terms alone; None where there are none."""
    terms = [term.name for term in context.reward.terms if term.terminal and term.weight != 0]
    return context.recall("end", lambda: RewardModel(context.reward.select_terms(*terms)) if terms else None)


def _find_best_end(context: CheckContext) -> Maximum | None:
    model, question = select_end(context), Question()
    if model is None:
        return None
    paid = model.add_row(question, fixed={"terminal": 1.0})["total"]
    return maximise_plainly(context, question, paid)


def bound_best_end(context: CheckContext) -> float:
    """Return the most that the terminal terms, or an override at the end, can pay; 0 where they cannot pay."""
    best = find_best_end(context)
    final = [each.value for each in context.reward.override if "terminal" in each.condition.reads]
    paid = [each.span[1] if isinstance(each, Schedule) else each for each in final]
    return max([0.0, *paid, *([] if best is None else [best.bound])])


def has_end(context: CheckContext) -> bool:
    """Return whether an end is paid, or costs."""
    final = any("terminal" in each.condition.reads for each in context.reward.override)
    return final or select_end(context) is not None


def format_pay(pay: float, prefix: str = "") -> str:
    """Return what a step pays; an unbounded amount has no number."""
    return "an unbounded amount" if is_unlimited(pay) else f"{prefix}{format_number(pay)}"


@dataclass(frozen=True, slots=True)
class Lap:
    """A lap that pays: the states in order, what is chosen in each step, and what the steps earn together."""

    states: tuple[NumericRow, ...]
    chosen: tuple[NumericRow, ...]
    gain: float

    @property
    def steps(self) -> list[tuple[NumericRow, NumericRow, NumericRow]]:
        """Where each step begins, where it leads, and what is chosen in it."""
        return list(zip(self.states, [*self.states[1:], self.states[0]], self.chosen, strict=True))

    @property
    def moved(self) -> list[str]:
        """The fields that it changes."""
        return [name for name in self.states[0] if len({state[name] for state in self.states}) > 1]

    @property
    def mean(self) -> float:
        """What a step of it earns."""
        return self.gain / len(self.states)


def build_row(model: RewardModel, before: NumericRow, after: NumericRow, chosen: NumericRow) -> NumericRow:
    """Return the row of a step from one state to another, events at rest."""
    ends = {f"prev.{name}": value for name, value in before.items()}
    ends |= {f"curr.{name}": value for name, value in after.items()} | dict(after)
    return {**model.resting_events, **{k: v for k, v in {**ends, **chosen}.items() if k in model.fields}}


@dataclass(frozen=True, slots=True)
class Stay:
    """A place to stay, or a stretch of places, and what a step there pays."""

    pay: float
    bound: float
    """No step there pays more."""
    row: NumericRow
    """One such step, as an answer to the question of `add_standing_step`."""
    where: str
    throughout: bool = False
    """Whether `where` is a stretch in which every place pays the same."""


def find_stays(context: CheckContext, *, outside_goal: bool = False) -> list[Stay] | Unknown:
    """Return the best place to stay and the stretches that pay throughout, the best first; none if nothing lasts."""
    return context.recall(f"stays {outside_goal}", lambda: _find_stays(context, outside_goal))


def _find_stays(context: CheckContext, outside_goal: bool) -> list[Stay] | Unknown:
    model = drop_shaping(context)
    if model is None:
        return []
    question = Question()
    pay = add_standing_step(model, question, outside_goal=outside_goal)
    best = maximise_pay(context, question, pay)
    if not best.possible:
        return []  # no step leaves everything as it is
    if best.row is None or (best.bound > LEAST >= best.value):
        return Unknown(context.solver.explain_unknown())
    program = question.program(pay)
    best = simplify_maximum(program, best)
    assert best.row is not None
    if context.model.score(read_standing_row(context.model, best.row)) is None:
        return Unknown(context.solver.explain_unknown())
    stretches = sorted(_find_stretches(context, program), key=lambda stay: -stay.pay)
    if stretches and is_close(stretches[0].pay, best.value):
        return stretches[:MOST_STRETCHES]
    place = Stay(best.value, best.bound, best.row, describe_place(model, best.row))
    return [place, *stretches[:MOST_STRETCHES]]


def is_staying_wanted(context: CheckContext) -> bool:
    """Return whether the wanted place to stay pays most: objectives at their best and, if it goes on, the goal.

    Where the goal ends the episode, staying is not what is wanted.
    """
    reward, model = context.reward, drop_shaping(context)
    goal = reward._bound.goal is not None
    if model is None or (goal and reward.task.goal_ends):
        return False
    wished = {name: field for name, field in model.fields.items() if field.is_wished and not name.startswith("prev.")}
    if not wished and not goal:
        return False  # no objective is declared
    question = Question()
    pay = add_standing_step(model, question, inside_goal=goal)
    names = name_step_inputs(model, "s", "s")
    for name, field in wished.items():
        at = question.input(names.get(name, name), field)
        question.require(question.same(at, question.input("", field, model.find_good_value(name))))
    anywhere, there = Question(), context.solver.maximise(question, pay)
    best = context.solver.maximise(anywhere, add_standing_step(model, anywhere))
    return there.row is not None and there.value >= best.bound - WANTED_SHARE * abs(best.bound)


def describe_place(model: RewardModel, row: NumericRow) -> str:
    """Return the states of a step that stays as people say them: "distance 20 m". Of many, those not at rest."""
    names = name_step_inputs(model, "s", "s")
    known = {names[each]: field for each, field in model.fields.items() if names.get(each, "") in row}
    moved = {name: field for name, field in known.items() if row[name] != value_at_rest(field)}
    shown = known if len(known) <= MOST_NAMED else moved
    parts = [f"{name.removeprefix('s.')} {format_state(field, row[name])}" for name, field in shown.items()]
    more = [f"{len(parts) - MOST_NAMED} more"] if len(parts) > MOST_NAMED else []
    others = [model.fields[name] for name in model.reads["total"]]
    resting = known or any(each.kind == "number" and model.role(each) == "event" for each in others)
    return ", ".join([*parts[:MOST_NAMED], *more]) or NOWHERE[not resting]


def describe_row(model: RewardModel, row: NumericRow) -> str:
    """Return what is not at rest in a step, as people say it: "cells_left 1 → 0, left true"."""
    said: dict[str, str] = {}
    for name in model.fields:
        plain, field = strip_step_end(name), model.fields[name]
        ends = [row[each] for each in (f"prev.{plain}", f"curr.{plain}", plain) if each in row]
        if plain != "terminal" and any(value != value_at_rest(field) for value in ends):
            values = ends[:1] if len(set(ends)) == 1 else ends
            said[plain] = f"{plain} {' → '.join(format_state(field, value) for value in values)}"
    parts = list(said.values())
    more = [f"{len(parts) - MOST_NAMED} more"] if len(parts) > MOST_NAMED else []
    return ", ".join([*parts[:MOST_NAMED], *more]) or "everything at rest"


def format_state(field: Field, value: float) -> str:
    """Return a value of a state as people say it: "20 m", "coding", "true"."""
    known = decode_value(field, value)
    unit = f" {field.unit}" if field.unit and isinstance(known, float) else ""
    return f"{format_exactly(known)}{unit}"


def _find_stretches(context: CheckContext, program: Program) -> Iterator[Stay]:
    """Yield each stretch of the state with most zones in which every place pays the same, and more than nothing."""
    breakpoints = {name: at for name, at in find_breakpoints(program).items() if name.startswith("s.")}
    counts = sorted(map(len, breakpoints.values()), reverse=True)
    if not counts or counts[0] == 0 or counts.count(counts[0]) > 1:
        return  # no state has zones, or several have as many
    name = max(breakpoints, key=lambda each: len(breakpoints[each]))
    field = program.inputs[name]
    found: list[tuple[float, float, Maximum]] = []
    for low, high in pairwise((-math.inf, *breakpoints[name], math.inf)):
        answer = _find_constant_pay(context, program, name, (low, high))
        if answer is None:
            continue
        last = found[-1] if found else None
        if last and last[1] == low and is_close(last[2].value, answer.value) and _pays_at(program, answer, name, low):
            found[-1] = last[0], high, answer
        else:
            found.append((low, high, answer))
    for low, high, answer in found:
        assert answer.row is not None
        yield Stay(
            answer.value, answer.bound, answer.row, _describe_stretch(field, name.removeprefix("s."), low, high), True
        )


def _pays_at(program: Program, answer: Maximum, name: str, at: float) -> bool:
    return answer.row is not None and is_close(evaluate(program, {**answer.row, name: at}), answer.value)


def _find_constant_pay(context: CheckContext, program: Program, name: str, ends: tuple[float, float]) -> Maximum | None:
    """Return what a step pays between two values of an input, if it is the same at all of them and not nothing."""
    low, high = ends

    def ask(fixed: NumericRow) -> tuple[Question, int, int]:
        question = Question()
        copy = question.copy(program, fixed=fixed)
        at = question.input(name, program.inputs[name])
        question.require(question.compare(at, n.Gt, question.number(low)))
        question.require(question.compare(at, n.Lt, question.number(high)))
        return question, copy["asked"], copy["given"]

    question, pay, given = ask({})
    question.require(given)
    best = maximise_pay(context, question, pay)
    if best.row is None or best.value <= LEAST or is_unlimited(best.value):
        return None
    best = simplify_maximum(question.program(pay), best)
    question, pay, given = ask({each: value for each, value in (best.row or {}).items() if each != name})
    least = context.solver.minimise(question, question.builder.simplify(n.Select(given, pay, question.number(-HUGE))))
    return best if is_close(least.bound, best.value) else None


def _describe_stretch(field: Field, name: str, low: float, high: float) -> str:
    """Return a stretch as people say it: "distance beyond 40 m"."""
    unit = f" {field.unit}" if field.unit else ""
    above = math.isfinite(low) and (field.low is None or low > field.low)
    below = math.isfinite(high) and (field.high is None or high < field.high)
    if above and below:
        return f"{name} from {format_place(low)} to {format_place(high)}{unit}"
    if above:
        return f"{name} beyond {format_place(low)}{unit}"
    return f"{name} below {format_place(high)}{unit}" if below else f"any {name}"
