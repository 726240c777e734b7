"""Rules about how an episode ends."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product

from plaudit.checks.finding import Finding, Severity
from plaudit.checks.formats.plain import format_number
from plaudit.checks.model import RewardModel
from plaudit.checks.rules.goals import add_goal, bound_goal, is_goal_reached, maximise_where
from plaudit.checks.rules.registry import CheckContext, Found, rule
from plaudit.checks.rules.staying import (
    LEAST,
    add_standing_step,
    bound_best_end,
    count_steps,
    describe_horizon,
    drop_potentials,
    drop_shaping,
    read_standing_row,
    select_end,
)
from plaudit.checks.solver.boxes import Maximum, evaluate
from plaudit.checks.solver.breakpoints import find_breakpoints
from plaudit.checks.solver.question import Question
from plaudit.checks.solver.ranges import NumericRow, encode_value, is_unlimited, list_choices, value_at_rest
from plaudit.language import nodes as n

MOST_STEPS = 100
"""An end that costs more than this many steps is not cheap, if nothing says how long the future is."""
MOST_KINDS = 64
"""At most this many kinds of ends are distinguished."""
SOON = 0.2
"""A goal that must be reached within this share of the steps that count, or else the bad end is better, is far."""
AMPLE = 2.0
"""A goal is near enough if giving up is worse even for an agent that takes this many times the steps it needs."""
NEARLY = 0.01
"""What a witness in plain numbers may cost more, as a share."""


@rule(
    "cheap-end",
    severity="advice",
    why="If every step costs, an agent may learn to end the episode early and badly.",
    uses=("roles", "goal", "horizon", "discount", "idle"),
    claims="end",
)
def find_cheap_ends(context: CheckContext) -> Found:
    """Find bad ends that are cheaper than going on: everywhere, for an idle agent, or in one zone of a state."""
    lasting = drop_shaping(context)
    end = None if lasting is None else find_bad_end(context)
    if lasting is None or end is None:
        return
    question = Question()
    best = context.solver.maximise(question, add_standing_step(lasting, question, outside_goal=_goal_ends(context)))
    cost = -best.bound
    idle = _find_idle_cost(context) if end.name else None
    if cost > LEAST and best.row is not None:
        going_on = Cost("each step that changes nothing", cost, read_standing_row(context.model, best.row))
        if idle is not None and idle.cost > cost:
            going_on = replace(idle, cheapest=cost)
        if cheaper := _compare_costs(context, going_on, end):
            yield _describe_cheap_end(context, going_on, end, cheaper)
    elif best.value < -LEAST:
        yield context.undecided("total", "whether every step costs")
    elif idle is not None and idle.cost > LEAST and (cheaper := _compare_costs(context, idle, end)):
        yield _describe_cheap_end(context, idle, end, cheaper)
    else:
        yield from _find_cheap_end_of_zone(context, lasting, end)


def _goal_ends(context: CheckContext) -> bool:
    return context.reward._bound.goal is not None and context.reward.task.goal_ends


@dataclass(frozen=True, slots=True)
class BadEnd:
    """A kind of end that is not what is wanted: what it costs more than going on for a step, and a row."""

    price: float
    row: NumericRow
    best: float = 0.0
    """The most that the step of a good end, or of the goal, is worth; -inf where there is neither."""
    name: str = ""
    """Its name, if the task declares it bad."""
    adds: bool = True
    """Whether `best` comes on top of what a step costs: terminal terms are bounded alone, the goal as a whole step."""
    going_on: NumericRow | None = None
    """The same step without the end, where it was declared."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What going on costs in each step, how that is said, and a row."""

    who: str
    cost: float
    row: NumericRow
    cheapest: float | None = None
    """What a step costs where it costs least, if that is less: on the way there it costs something in between."""

    @property
    def on_the_way(self) -> float:
        """What a step costs on the way from here to where it costs least."""
        return self.cost if self.cheapest is None else (self.cost + self.cheapest) / 2


def _find_idle_cost(context: CheckContext) -> Cost | None:
    """Return what an idle agent pays in each step; None where it is not said what that meets."""
    idle, model = context.reward._bound.idle, drop_potentials(context)
    if idle is None or context.reward.states:
        return None
    row = {name: encode_value(model.fields[name], value) for name, value in idle.items() if name in model.fields}
    scores = model.score(row)
    return None if scores is None else Cost("each step of doing nothing", -float(scores.total), row, 0.0)


def _compare_costs(context: CheckContext, going_on: Cost, end: BadEnd) -> str | None:
    """Return by how much giving up is cheaper; None where it is not. The step that ends costs as any other does."""
    cost, steps = going_on.cost, count_steps(context.reward)
    free = end.price <= LEAST and not end.name  # it is not declared bad: it must beat the best end as well
    gain = max(0.0, end.best) if free else 0.0
    if steps is not None:
        whole = cost * steps
        if whole <= (cost + end.price + gain) * (1 + LEAST) + LEAST:
            return None
        if end.name and _count_worthwhile(context, going_on, end) >= steps:
            return None  # an agent that can reach the goal at all is better off reaching it
        long, _, discounted = describe_horizon(context.reward).partition(" at ")
        return (
            f"less than going on {long}, which costs {format_number(whole)}{f' at {discounted}' if discounted else ''}"
        )
    needed = math.floor((end.price + gain) / cost + LEAST) + 1
    if needed > MOST_STEPS or (end.name and not _is_far(context, going_on, end)):
        return None
    return f"less than {'one more step' if needed == 1 else f'{needed} more steps'}"


def _count_worthwhile(context: CheckContext, going_on: Cost, end: BadEnd) -> float:
    """Return within how many steps the goal, or the best end, must be reached to be no worse than giving up now."""
    cost, discount = going_on.on_the_way, context.reward.task.discount or 1.0
    last = end.best - (cost if end.adds else 0.0)
    give_up = -going_on.cost - end.price
    if discount >= 1:
        return max(0.0, 1 + (last - give_up) / cost)
    forever = cost / (1 - discount)  # k - 1 steps and the last one: discount**(k - 1) * (last + forever) - forever
    if give_up <= -forever:
        return math.inf
    if last + forever <= 0:
        return 0.0
    return max(0.0, 1 + math.log((give_up + forever) / (last + forever)) / math.log(discount))


def _is_far(context: CheckContext, going_on: Cost, end: BadEnd) -> bool:
    """Return whether the goal may be too far away, where nothing says how long the future is."""
    within, least = _count_worthwhile(context, going_on, end), _count_least_steps(context)
    return within <= MOST_STEPS * (1 + LEAST) or (least is not None and within < AMPLE * least)


def _describe_cheap_end(context: CheckContext, going_on: Cost, end: BadEnd, cheaper: str) -> Finding:
    model = context.model
    rows = [going_on.row, {**going_on.row, **end.row}]
    if model.score(rows[1]) is None:
        rows[1] = end.row
    begun, ended = map(model.measure_total, rows)

    def is_as_cheap(found: Sequence[NumericRow]) -> bool:
        here, there = map(model.measure_total, found)
        return begun * (1 + NEARLY) <= here <= begun and abs(there - ended) <= NEARLY * abs(ended)

    rows = model.simplify_rows(rows, is_as_cheap)
    costs = f"costs {format_number(end.price)}" if end.price > LEAST else "costs nothing extra"
    costs = f"pays {format_number(-end.price)}" if end.price < -LEAST else costs
    which = f"the bad end {end.name!r} {costs}" if end.name else f"there is an end that {costs}"
    return context.finding(
        "total",
        f"an agent may give up: {going_on.who} costs {'' if end.name else 'at least '}{format_number(going_on.cost)}, "
        f"and {which}, {cheaper}.{_describe_break_even(context, going_on, end)}",
        "Make the bad end cost more than the steps that it saves, make a step cheaper, or pay for progress toward a "
        "good end. If giving up can be right, allow this finding with that reason.",
        witness=map(model.build_step, rows, ("going on", "the end")),
        severity=_judge(context, going_on, end),
        facts=model.facts_about(*model.reads["total"]),
    )


def _describe_break_even(context: CheckContext, going_on: Cost, end: BadEnd) -> str:
    """Return within how many steps finishing is worth it, in a sentence; nothing where there is nothing to finish."""
    within = _count_worthwhile(context, going_on, end)
    if not math.isfinite(end.best) or is_unlimited(end.best) or not math.isfinite(within):
        return ""
    what = f"{'The best end' if end.adds else 'The goal'}, worth at most {format_number(end.best)},"
    whole = math.ceil(within * (1 - LEAST) - LEAST) - 1  # one more, and giving up is as good
    if whole < 1:
        return f" {what} is never better than giving up."
    least = _count_least_steps(context)
    takes = "" if least is None else f", and it takes at least {format_number(math.ceil(least - LEAST))}"
    steps = "one step" if whole == 1 else f"{format_number(whole)} steps"
    return f" {what} is worth pursuing only within {'' if going_on.cheapest is None else 'about '}{steps}{takes}."


def _judge(context: CheckContext, going_on: Cost, end: BadEnd) -> Severity:
    """Return the severity of a cheap end: a warning if the good end is better only when it is very near."""
    steps, least = count_steps(context.reward), _count_least_steps(context)
    if end.best <= -math.inf:
        return "advice"
    within = _count_worthwhile(context, going_on, end)
    if end.name and least is not None:
        return "warning" if within < AMPLE * least else "advice"
    if steps is None:
        return "warning" if end.name and within <= 1 else "advice"
    return "warning" if within <= SOON * steps * (1 + LEAST) else "advice"


def _count_least_steps(context: CheckContext) -> float | None:
    """Return how many steps the goal takes at least, from where an episode begins; None where nothing says so.

    How far a field moves in a step is declared, or was seen.
    """
    task, bound = context.reward.task, context.reward._bound
    if bound.goal is None:
        return None
    found = []
    for name, field in bound.goal_program.inputs.items():
        start, most = task.start.get(field.name), task.max_change.get(field.name)
        if most is None and context.steps is not None:
            most = context.steps.find_largest_change(field)
        if start is None or not most or field.kind != "number" or field.shape or name.startswith("prev."):
            continue
        question = Question()
        reached = add_goal(context, question)
        ends = [float(each) for each in (start if isinstance(start, list | tuple) else (start,))]
        ways = [question.distance(question.input(name, field), question.number(each)) for each in ends]
        nearest = [
            maximise_where(context, question, question.builder.simplify(n.Neg(each)), reached).bound for each in ways
        ]
        found.append(-max(nearest) / most)
    return max((each for each in found if math.isfinite(each) and each > 0), default=None)


def find_bad_end(context: CheckContext) -> BadEnd | None:
    """Return the cheapest kind of end that is not what is wanted; None if there is none.

    That is an end that costs, or that pays nothing where another one is paid for. Kinds differ in what can be counted,
    flags and categories. One that can also pay is bad only where no other is, and one in which nothing happened counts
    for nothing only where no other is bad. Where the task says which ends are bad, it is the cheapest of those; where
    no term asks how it ended either, facts say which ends there are.
    """
    return context.recall("bad end", lambda: _find_bad_end(context))


def _find_bad_end(context: CheckContext) -> BadEnd | None:
    declared = list(_list_declared_ends(context))
    if declared:
        return min(declared, key=lambda each: each.price)
    model = select_end(context)
    if model is None:
        return _find_end_by_facts(context)
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


def _list_declared_ends(context: CheckContext) -> Iterator[BadEnd]:
    """Yield the ends that the task calls bad, each as it is had for the least: all else as an idle agent meets it."""
    model, bound = drop_potentials(context), context.reward._bound
    worth, adds = _bound_finish(context)
    for name, end in context.reward.task.ends.items():
        if end.sign != "bad":
            continue
        program = bound.end_programs.get(name)
        read = set(program.inputs) if program is not None else {name}
        begun = {
            each: value for each, value in _list_beginning(context, model).items() if each not in model.program.counters
        }
        still = {each: value for each, value in begun.items() if each not in read}
        ending = {**still, **({"terminal": 1.0} if "terminal" in model.fields else {})}
        question = Question()
        if program is not None:
            question.require(question.copy(program, fixed=ending)[name])
        elif name in model.fields:
            ending[name] = 1.0
        total = model.add_row(question, fixed=ending)["total"]
        best = context.solver.maximise(question, total)
        going_on = {**still, **({name: 0.0} if name in model.fields else {})}
        if program is not None:
            going_on = _find_going_on(context, model, name, (begun, still)) or going_on
        scores = model.score(going_on)
        if best.row is None or is_unlimited(best.value) or scores is None:
            continue
        row = {each: value for each, value in {**best.row, **ending}.items() if each in read or each == "terminal"}
        yield BadEnd(
            float(scores.total) - best.value, {**still, **row}, worth, name, adds, model.complete_row(going_on)
        )


def _find_going_on(
    context: CheckContext, model: RewardModel, end: str, rows: Sequence[NumericRow]
) -> NumericRow | None:
    """Return the first of some rows, each with what it leaves open at its best, outside the end and the goal."""
    goal = context.reward._bound.goal is not None
    for fixed in rows:
        question = Question()
        ended = question.copy(context.reward._bound.end_programs[end], fixed=fixed)[end]
        total = model.add_row(question, fixed=fixed)["total"]
        over = [ended, *([add_goal(context, question, fixed=fixed)] if goal else [])]
        best = maximise_where(context, question, total, question.negate(question.builder.any(over)))
        if best.row is not None:
            return {**best.row, **fixed}
    return None


def is_ended(context: CheckContext, end: str, row: NumericRow) -> bool:
    """Return whether the condition of an end is true of a row, if it has one; what the row leaves out is at rest."""
    program, question = context.reward._bound.end_programs.get(end), Question()
    if program is None:
        return False
    asked = question.program(question.builder.simplify(n.Number(question.copy(program)[end])))
    whole = {name: row.get(name, value_at_rest(field)) for name, field in asked.inputs.items()}
    return evaluate(asked, whole) == 1


def _list_beginning(context: CheckContext, model: RewardModel) -> NumericRow:
    """Return a row as an episode begins: as it is said, or else as an idle agent meets it."""
    start, idle = context.reward.task.start, context.reward._bound.idle or {}
    found = {}
    for name, field in model.fields.items():
        begins = start.get(field.name)
        if isinstance(begins, list | tuple) and len(begins) == 2 and not field.shape:
            begins = begins[0] if field.kind != "number" else (begins[0] + begins[1]) / 2
        plain = begins is not None and not field.shape and not isinstance(begins, list | tuple)
        said = begins if plain else idle.get(name)
        found[name] = value_at_rest(field) if said is None else encode_value(field, said)
    return found


def _bound_finish(context: CheckContext) -> tuple[float, bool]:
    """Return what there is to finish for, as `BadEnd` holds it: the goal where it ends the episode, or the best end."""
    worth = bound_goal(context) if context.reward.task.goal_ends else None
    if worth is not None:
        return worth, False
    best = bound_best_end(context)
    return (best if best > 0 else -math.inf), True


def _find_end_by_facts(context: CheckContext) -> BadEnd | None:
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
    return BadEnd(max(0.0, -cheapest.value), row, -math.inf if worth is None else worth, adds=False)


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
    """Yield the costliest zone of a state in which going on costs more than the end."""
    if end.price <= LEAST:
        return  # where some step is free, an end for nothing saves nothing
    dear = replace(end, best=math.inf)
    zones = [zone for zone in _list_costly_zones(context, lasting) if _compare_costs(context, zone, dear)]
    if zones:
        worst = max(zones, key=lambda zone: zone.cost)
        yield _describe_cheap_end(context, worst, dear, _compare_costs(context, worst, dear) or "")


def _list_costly_zones(context: CheckContext, model: RewardModel) -> Iterator[Cost]:
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
                where = _format_stretch(name.removeprefix("s."), low, high)
                row = read_standing_row(context.model, best.row)
                yield Cost(f"with {where}, each step that changes nothing", -best.bound, row)


def _format_stretch(name: str, low: float, high: float) -> str:
    """Return a stretch of a state in words.

    >>> _format_stretch("distance", 5.0, 15.0), _format_stretch("distance", 40.0, math.inf)
    ('distance between 5 and 15', 'distance beyond 40')
    """
    if math.isinf(low):
        return f"{name} below {format_number(high)}"
    if math.isinf(high):
        return f"{name} beyond {format_number(low)}"
    return f"{name} between {format_number(low)} and {format_number(high)}"
