"""Rules about how an episode ends."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

from plaudit.checks.finding import Finding, Severity
from plaudit.checks.formats.plain import format_number
from plaudit.checks.model import RewardModel
from plaudit.checks.rules.goals import add_goal, bound_goal, is_goal_reached, maximise_where
from plaudit.checks.rules.registry import CheckContext, Found, rule
from plaudit.checks.rules.staying import (
    add_standing_step,
    bound_best_end,
    count_steps,
    describe_horizon,
    drop_potentials,
    drop_shaping,
    read_standing_row,
    select_end,
)
from plaudit.checks.solver.boxes import Maximum
from plaudit.checks.solver.breakpoints import find_breakpoints
from plaudit.checks.solver.question import Question
from plaudit.checks.solver.ranges import NumericRow, is_unlimited, list_choices, value_at_rest
from plaudit.language import nodes as n

MOST_STEPS = 100
"""An end that is dearer than so many steps is not cheap, where nothing says how long the future is."""
MOST_KINDS = 64
"""So many kinds of ends are distinguished."""
SOON = 0.1
"""A good end that must be reached within this share of the steps that count, or else the bad one is better, is far."""
LEAST = 1e-9
NEARLY = 0.01
"""What a witness in plain numbers may cost more, as a share."""


@rule(
    "cheap-end",
    severity="advice",
    why="Where every step costs, an agent may learn to end the episode badly and soon.",
    uses=("roles", "goal", "horizon", "discount"),
)
def find_cheap_ends(context: CheckContext) -> Found:
    """Find bad ends that are cheaper than going on, everywhere or in one zone of a state."""
    lasting = drop_shaping(context)
    end = None if lasting is None else find_bad_end(context)
    if lasting is None or end is None:
        return
    question = Question()
    best = context.solver.maximise(question, add_standing_step(lasting, question))
    cost = -best.bound
    if cost > LEAST:
        if best.row is not None and (cheaper := _compare_costs(context, cost, end)):
            going_on = read_standing_row(context.model, best.row)
            yield _describe_cheap_end(context, f"every step that leaves everything as it is costs at least "
                                      f"{format_number(cost)}", cost, end, cheaper, going_on)  # fmt: skip
    elif best.value < -LEAST:
        yield context.undecided("total", "whether every step costs")
    else:
        yield from _find_cheap_end_of_zone(context, lasting, end)


@dataclass(frozen=True, slots=True)
class BadEnd:
    """A kind of end that is not what is wanted: what it costs more than going on for a step, and a row."""

    price: float
    row: NumericRow
    best: float = 0.0
    """The most that a good end, or the goal, is worth."""


def _compare_costs(context: CheckContext, cost: float, end: BadEnd) -> str | None:
    """Return by how much giving up is cheaper; None where it is not. The step that ends costs as any other does."""
    steps = count_steps(context.reward)
    free = end.price <= LEAST  # who ends for nothing must not be better off for going on to the best end
    gain = max(0.0, end.best) if free else 0.0
    if steps is not None:
        whole = cost * steps
        if whole <= (cost + end.price + gain) * (1 + LEAST) + LEAST:
            return None
        long, _, discounted = describe_horizon(context.reward).partition(" at ")
        return (
            f"less than going on {long}, which costs {format_number(whole)}{f' at {discounted}' if discounted else ''}"
        )
    needed = math.floor((end.price + gain) / cost + LEAST) + 1
    return f"less than {'one more step' if needed == 1 else f'{needed} more steps'}" if needed <= MOST_STEPS else None


def _describe_cheap_end(
    context: CheckContext, every_step: str, cost: float, end: BadEnd, cheaper: str, going_on: NumericRow
) -> Finding:
    model = context.model
    rows = [going_on, {**going_on, **end.row}]
    if model.score(rows[1]) is None:
        rows[1] = end.row
    went_on, ended = (_measure_total(model, row) for row in rows)

    def is_as_cheap(found: Sequence[NumericRow]) -> bool:
        here, there = (_measure_total(model, row) for row in found)
        return cost <= -here <= (1 + NEARLY) * -went_on and abs(there - ended) <= NEARLY * abs(ended)

    rows = model.simplify_rows(rows, is_as_cheap)
    costs = f"costs {format_number(end.price)}" if end.price > LEAST else "costs nothing more"
    return context.finding(
        "total",
        f"{every_step}, and there is an end that {costs}: {cheaper}.",
        "Let the bad end cost more than the steps that it saves, make a step cheaper, or pay for coming closer to a "
        "good end; if giving up may be right, allow this with that reason.",
        witness=map(model.build_step, rows, ("going on", "the end")),
        severity=_judge(context, cost, end),
        facts=model.facts_about(*model.reads["total"]),
    )


def _measure_total(model: RewardModel, row: NumericRow) -> float:
    scores = model.score(row)
    return math.nan if scores is None else float(scores.total)


def _judge(context: CheckContext, cost: float, end: BadEnd) -> Severity:
    """Return how grave a cheap end is: a warning where the good end is better only if it is very near."""
    steps = count_steps(context.reward)
    if steps is None or end.best <= -math.inf:
        return "advice"
    return "warning" if (end.best + end.price) / cost <= SOON * steps * (1 + LEAST) else "advice"


def find_bad_end(context: CheckContext) -> BadEnd | None:
    """Return the cheapest kind of end that is not what is wanted; None if there is none.

    That is an end that costs, or that pays nothing where another one is paid for. Kinds differ in what can be counted,
    flags and categories. One that can also pay is bad only where no other is, and one in which nothing happened counts
    for nothing only where no other is bad. Where no term asks how it ended, facts say which ends there are.
    """
    return context.recall("bad end", lambda: _find_bad_end(context))


def _find_bad_end(context: CheckContext) -> BadEnd | None:
    model = select_end(context)
    if model is None:
        return _find_declared_end(context)
    best = bound_best_end(context)
    bad: dict[str, list[BadEnd]] = {"costs": [], "may pay": [], "free": []}
    for kind in _list_kinds(model):
        low, high = _bound_kind(context, model, kind)
        row = {**(low.row or {}), **kind}
        if low.row is None or is_unlimited(low.value) or _reaches_goal(context, row):
            continue
        if low.value < -LEAST:
            bad["costs" if high.bound <= LEAST else "may pay"].append(BadEnd(-low.value, row, best))
        elif high.bound <= LEAST < best and not is_unlimited(best):
            happens = any(
                value != value_at_rest(model.fields[name]) for name, value in kind.items() if name != "terminal"
            )
            bad["costs" if happens else "free"].append(BadEnd(0.0, row, best))
    return min(bad["costs"] or bad["may pay"] or bad["free"], key=lambda each: each.price, default=None)


def _find_declared_end(context: CheckContext) -> BadEnd | None:
    """Return the cheapest end outside the goal that facts tell of; None where they tell of none."""
    if "terminal" not in context.reward._bound.facts_program.inputs:
        return None
    paid = drop_potentials(context)
    question = Question()
    total = paid.add_row(question, fixed={"terminal": 1.0})["total"]
    context.model.require_facts(question, fixed={"terminal": 1.0})
    outside = question.builder.const(True)
    if context.reward._bound.goal is not None:
        outside = question.negate(add_goal(context, question, fixed={"terminal": 1.0}))
    cheapest = maximise_where(context, question, total, question.all([*question.given, outside]))
    if cheapest.row is None or is_unlimited(cheapest.value):
        return None
    worth = bound_goal(context)
    row = {**cheapest.row, "terminal": 1.0}
    return BadEnd(max(0.0, -cheapest.value), row, -math.inf if worth is None else worth)


def _reaches_goal(context: CheckContext, row: NumericRow) -> bool:
    return context.reward._bound.goal is not None and is_goal_reached(context, row)


def _bound_kind(context: CheckContext, model: RewardModel, kind: NumericRow) -> tuple[Maximum, Maximum]:
    question = Question()
    paid = model.add_row(question, fixed=kind)["total"]
    return context.solver.minimise(question, paid), context.solver.maximise(question, paid)


def _list_kinds(model: RewardModel) -> Iterator[NumericRow]:
    """Yield each kind of end: a value for every input that has only a few."""
    options: dict[str, tuple[float, ...]] = {"terminal": (1.0,)}
    count = 1
    for name in sorted(model.reads["total"] - {"terminal"}):
        values = list_choices(model.fields[name])
        if values and count * len(values) <= MOST_KINDS:
            options[name] = values
            count *= len(values)
    for combination in product(*options.values()):
        yield dict(zip(options, combination, strict=True))


def _find_cheap_end_of_zone(context: CheckContext, lasting: RewardModel, end: BadEnd) -> Iterator[Finding]:
    """Yield the costliest zone of a state in which going on is dearer than the end."""
    if end.price <= LEAST:
        return  # where some step is free, an end for nothing saves nothing
    zones = [zone for zone in _list_costly_zones(context, lasting) if _compare_costs(context, zone.cost, end)]
    if not zones:
        return
    worst = max(zones, key=lambda zone: zone.cost)
    every_step = f"{worst.text} every step that leaves everything as it is costs at least {format_number(worst.cost)}"
    cheaper = _compare_costs(context, worst.cost, end) or ""
    row = read_standing_row(context.model, worst.row)
    yield _describe_cheap_end(context, every_step, worst.cost, BadEnd(end.price, end.row, math.inf), cheaper, row)


@dataclass(frozen=True, slots=True)
class Zone:
    """A stretch of a state in which every step that stays costs: where, how much at least, and a row."""

    text: str
    cost: float
    row: NumericRow


def _list_costly_zones(context: CheckContext, model: RewardModel) -> Iterator[Zone]:
    """Yield the stretches between the places at which the reward compares a state where staying always costs."""
    question = Question()
    whole = question.program(add_standing_step(model, question))
    breakpoints = {name: at for name, at in find_breakpoints(whole).items() if at and name.startswith("s.")}
    alike = {(whole.inputs[name].name, places): name for name, places in reversed(breakpoints.items())}
    for (_, places), name in reversed(alike.items()):  # entries of a vector that are compared alike are one
        field = whole.inputs[name]
        for low, high in pairwise([-math.inf, *places, math.inf]):
            question = Question()
            asked = add_standing_step(model, question)
            at = question.input(name, field)
            question.require(question.compare(at, n.Gt, question.number(low)))
            question.require(question.compare(at, n.Lt, question.number(high)))
            best = context.solver.maximise(question, asked)
            if best.row is not None and best.bound < -LEAST:
                yield Zone(_format_stretch(name.removeprefix("s."), low, high), -best.bound, best.row)


def _format_stretch(name: str, low: float, high: float) -> str:
    """Return a stretch of a state as a sentence begins.

    >>> _format_stretch("distance", 5.0, 15.0), _format_stretch("distance", 40.0, math.inf)
    ('between 5 and 15 of distance', 'beyond 40 of distance')
    """
    if math.isinf(low):
        return f"below {format_number(high)} of {name}"
    if math.isinf(high):
        return f"beyond {format_number(low)} of {name}"
    return f"between {format_number(low)} and {format_number(high)} of {name}"
