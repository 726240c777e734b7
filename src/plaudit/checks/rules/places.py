"""Places to stay: where a step that leaves everything as it is pays, and how much."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from plaudit.checks.formats.plain import format_number, format_value
from plaudit.checks.model import RewardModel, name_step_inputs
from plaudit.checks.rules.registry import CheckContext
from plaudit.checks.rules.staying import LEAST, add_standing_step, drop_shaping, maximise_pay
from plaudit.checks.solver.boxes import Maximum, evaluate, is_close
from plaudit.checks.solver.breakpoints import find_breakpoints
from plaudit.checks.solver.plain import simplify_maximum
from plaudit.checks.solver.question import Question, Unknown
from plaudit.checks.solver.ranges import (
    HUGE,
    NumericRow,
    decode_value,
    is_plain,
    is_unlimited,
    strip_step_end,
    value_at_rest,
)
from plaudit.language import nodes as n
from plaudit.language.field import Field
from plaudit.language.program import Program

MOST_STRETCHES = 8
MOST_NAMED = 3
"""Of a place so many states are named."""


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
    stretches = sorted(_find_stretches(context, program), key=lambda stay: -stay.pay)
    if stretches and is_close(stretches[0].pay, best.value):
        return stretches[:MOST_STRETCHES]
    place = Stay(best.value, best.bound, best.row, describe_place(model, best.row))
    return [place, *stretches[:MOST_STRETCHES]]


def describe_place(model: RewardModel, row: NumericRow) -> str:
    """Return the states of a step that stays as people say them: "distance 20 m". Of many, those not at rest."""
    names = name_step_inputs(model, "s", "s")
    known = {names[each]: field for each, field in model.fields.items() if names.get(each, "") in row}
    moved = {name: field for name, field in known.items() if row[name] != value_at_rest(field)}
    shown = known if len(known) <= MOST_NAMED else moved
    parts = [f"{name.removeprefix('s.')} {format_state(field, row[name])}" for name, field in shown.items()]
    more = [f"{len(parts) - MOST_NAMED} more"] if len(parts) > MOST_NAMED else []
    return ", ".join([*parts[:MOST_NAMED], *more]) or ("everything at rest" if known else "any state")


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
    if isinstance(known, bool):
        return str(known).lower()
    unit = f" {field.unit}" if field.unit else ""
    return (
        f"{format_number(known) if is_plain(known) else format_value(known)}{unit}"
        if isinstance(known, float)
        else str(known)
    )


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


def _describe_moved(program: Program, row: NumericRow) -> Iterator[str]:
    """Yield the states that are not at rest, as people say them."""
    for name, value in row.items():
        if value != value_at_rest(program.inputs[name]):
            yield f"{name.removeprefix('s.')} {format_state(program.inputs[name], value)}"


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
        return f"{name} from {format_number(low)} to {format_number(high)}{unit}"
    if above:
        return f"{name} beyond {format_number(low)}{unit}"
    return f"{name} below {format_number(high)}{unit}" if below else f"any {name}"
