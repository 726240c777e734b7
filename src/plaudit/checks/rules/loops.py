"""The rule about loops: a cycle of states that pays although nothing was gained.

Potential-based terms are left out first: they take back whatever they pay on the way. A cycle is looked for among the
edges of the declared ranges, which finds nearly all of them; z3 then finds the others or proves that there are none.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from plaudit.checks.finding import Finding, Step
from plaudit.checks.formats.plain import format_exactly, format_number
from plaudit.checks.model import RewardModel, find_state_fields, name_step_inputs
from plaudit.checks.rules.goals import is_goal_reached
from plaudit.checks.rules.potential import classify_shaping_terms
from plaudit.checks.rules.registry import CheckContext, Found, rule
from plaudit.checks.rules.staying import LEAST, Lap, add_standing_step, build_row, drop_shaping
from plaudit.checks.solver.boxes import is_close, maximise
from plaudit.checks.solver.question import Impossible, Question, Unknown, Witness
from plaudit.checks.solver.ranges import NumericRow, declared_range, decode_value, is_unlimited, strip_step_end
from plaudit.checks.solver.solver import SLACK
from plaudit.language import nodes as n
from plaudit.language.field import Field

LENGTHS = (2, 3)
"""How many steps a lap has that z3 is asked about."""


@rule(
    "loop-that-pays",
    severity="warning",
    why="An agent can repeat a cycle forever and collect reward without making progress.",
    uses=("roles", "goal", "rates", "monotone", "max_change"),
    claims="cycle",
)
def find_paying_loops(context: CheckContext) -> Found:
    """Find laps whose rewards add up to more than 0, and to more than standing still in any of their states."""
    model = _find_moving_terms(context)
    if model is None:
        return
    laps = find_laps(context)
    for lap in laps:
        if not _is_kept_in_goal(context, lap):
            yield _describe_lap(context, model, lap)
    if laps or _gains_nothing(context, model):
        return
    for length in LENGTHS:
        match _find_lap(context, model, length):
            case Lap() as lap:
                yield _describe_lap(context, model, lap)
                return
            case Unknown(reason):
                yield context.undecided("total", f"whether a {length}-step cycle pays", reason=reason)


def _is_kept_in_goal(context: CheckContext, lap: Lap) -> bool:
    """Return whether a lap never leaves the goal, which goes on: that is what is wanted."""
    if context.reward._bound.goal is None or context.reward.task.goal_ends:
        return False
    return all(is_goal_reached(context, build_row(context.model, *step)) for step in lap.steps)


def _find_moving_terms(context: CheckContext) -> RewardModel | None:
    """Return the reward without what a lap pays back; None where nothing is paid for the way."""
    if not any(name.startswith("prev.") for name in context.model.program.inputs):
        return None  # what is paid for being somewhere is paid for standing there as well
    model = drop_shaping(context)
    if model is None or not any(term in classify_shaping_terms(context) for term in model.terms):
        return None
    return model


def find_laps(context: CheckContext) -> list[Lap]:
    """Return the shortest lap that pays and, if it is another, the one that pays most a step."""
    model = _find_moving_terms(context)
    if model is None:
        return []
    from plaudit.checks.rules.state_graph import StateGraph  # with NumPy, which listing the rules does not load

    return context.recall(
        "laps",
        lambda: [simplify_lap(context.model, model, lap) for lap in StateGraph(model, context.solver.deadline).laps()],
    )


def simplify_lap(whole: RewardModel, model: RewardModel, lap: Lap) -> Lap:
    """Return a lap in numbers that a person would write, which earns nearly as much."""
    rows = [build_row(whole, *step) for step in lap.steps]

    def pays(found: Sequence[NumericRow]) -> bool:
        gain = sum(model.measure_total(row) for row in found)
        return gain >= least and gain > len(found) * max(model.measure_total(_stand(row)) for row in found) + LEAST

    margin = lap.gain - len(rows) * max(_bound_standing(model, state) for state in lap.states)
    least = lap.gain - min(SLACK * abs(lap.gain), margin / 2)
    plain = whole.simplify_rows(rows, pays)
    new = {
        (strip_step_end(name), value): other[name]
        for row, other in zip(rows, plain, strict=True)
        for name, value in row.items()
    }
    states, chosen = (
        tuple({name: new.get((name, value), value) for name, value in row.items()} for row in part)
        for part in (lap.states, lap.chosen)
    )
    if (states, chosen) == (lap.states, lap.chosen):
        return lap
    made = Lap(states, chosen, 0.0)
    gain = sum(_score_step(model, *step) for step in made.steps)
    best = max(_bound_standing(model, state) for state in states)
    return replace(made, gain=gain) if gain > len(states) * best + LEAST else lap


def _gains_nothing(context: CheckContext, model: RewardModel) -> bool:
    """Return whether it is proved that no step pays more than standing, with the same choice, where it leads.

    Then no lap of any length pays more than standing in the best of its states.
    """
    if model.carried or model.reward._composed:
        return False
    question = Question()
    moving = _hold_monotone(model, name_step_inputs(model, "s", "t", chosen="chosen"))
    standing = _hold_monotone(model, name_step_inputs(model, "t", "t", chosen="chosen"))
    step = model.add_row(question, names=moving, fixed=model.resting_events)
    stand = question.copy(model.program, standing, model.resting_events, scored=False)
    facts = question.copy(model.reward._bound.facts_program, standing, model.resting_events, scored=False)
    flags = [*stand.guards, *facts.guards, *(facts[fact] for fact in model.reward._bound.facts_program.outputs)]
    if context.solver.find_example(question, question.negate(question.all(flags))) != Impossible():
        return False  # it may be impossible to stand there
    gains = [question.minus(step[f"{term}.value"], stand[f"{term}.value"]) for term in model.terms]
    return context.solver.maximise(question, question.plus(*gains)).bound <= LEAST


def _find_lap(context: CheckContext, model: RewardModel, length: int) -> Lap | Impossible | Unknown:
    question = Question()
    names = [f"s{at}" for at in range(length)]
    steps = list(zip(names, [*names[1:], names[0]], strict=True))
    paid = []
    for at, (before, after) in enumerate(steps):
        ends = _hold_monotone(model, name_step_inputs(model, before, after, chosen=f"step {at}"))
        paid.append(model.add_row(question, names=ends, fixed=model.resting_events, carried=True)["total"])
    gain = question.plus(*paid)
    for at, name in enumerate(names):
        ends = _hold_monotone(model, name_step_inputs(model, name, name, chosen=f"step {at}"))
        stand = question.times(length, model.add_row(question, names=ends, fixed=model.resting_events)["total"])
        question.require(question.compare(gain, n.Gt, stand))
    match context.solver.find_above(question, gain, LEAST):
        case Witness(row):
            lap = simplify_lap(context.model, model, _read_lap(model, names, row, length))
            best = max(_bound_standing(model, state) for state in lap.states)
            return lap if lap.gain > length * best + LEAST else Unknown(context.solver.explain_unknown())
        case answer:
            return answer


def _hold_monotone(model: RewardModel, names: dict[str, str]) -> dict[str, str]:
    """Return the names of a step in which fields that only rise or fall stay as they are."""
    fixed = {}
    for name, own in names.items():
        stays = model.role(model.fields[name]) == "state" and model.fields[name].monotone is not None
        fixed[name] = own.partition(".")[2] if stays else own
    return fixed


def _read_lap(model: RewardModel, names: list[str], row: NumericRow, length: int) -> Lap:
    fields = find_state_fields(model)
    states = tuple({each: row.get(f"{name}.{each}", row.get(each, 0.0)) for each in fields} for name in names)
    suffixes = [f", step {at}" for at in range(length)]
    counted = {name: row[name] for name in model.program.counters if name in row}
    chosen = tuple({**counted, **{k.removesuffix(e): v for k, v in row.items() if k.endswith(e)}} for e in suffixes)
    gain = sum(_score_step(model, *step) for step in zip(states, [*states[1:], states[0]], chosen, strict=True))
    return Lap(states, chosen, gain)


def _score_step(model: RewardModel, before: NumericRow, after: NumericRow, chosen: NumericRow) -> float:
    return model.measure_total(build_row(model, before, after, chosen))


def _stand(row: NumericRow) -> NumericRow:
    """Return the step that stays where another one leads."""
    ends = {name: name.removeprefix("prev.") for name in row if name.startswith("prev.")}
    return {**row, **{name: row.get(f"curr.{plain}", row.get(plain, row[name])) for name, plain in ends.items()}}


def _bound_standing(model: RewardModel, state: Mapping[str, float]) -> float:
    question = Question()
    asked = add_standing_step(model, question)
    for name, value in state.items():
        if f"s.{name}" in question.inputs:
            field = question.inputs[f"s.{name}"]
            same = question.compare(question.input(f"s.{name}", field), n.Eq, question.input("", field, value))
            question.require(same)
    return maximise(question.program(asked)).bound


def _describe_lap(context: CheckContext, model: RewardModel, lap: Lap) -> Finding:
    fields = find_state_fields(model)
    prices = dict(_find_prices(model, lap))
    read = [name for name in model.fields if strip_step_end(name) in {*lap.moved, *prices}]
    steps = list(list_lap_steps(context, lap, read))
    earned = math.fsum(step.total or 0.0 for step in steps)
    apart = "" if is_close(earned, lap.gain) else ", not counting potential-based terms"
    return context.finding(
        _blame_term(model, lap.steps),
        f"a {len(lap.states)}-step cycle ({describe_way(model, lap)}) earns {format_number(lap.gain)} every time around"
        f"{_format_prices(prices, fields)}{apart}.",
        "Charge for the way back what the way there paid (a potential-based difference), pay for each state only once "
        "(let the environment keep a high-water mark), or make a step cost more than it can earn.",
        witness=steps,
        facts=model.facts_about(*read),
    )


def describe_way(model: RewardModel, lap: Lap) -> str:
    """Return a lap as people say it: "phase: planning → coding → planning"."""
    fields = find_state_fields(model)
    states = [*lap.states, lap.states[0]]
    values = (
        " ".join(format_exactly(decode_value(fields[name], state[name])) for name in lap.moved) for state in states
    )
    return f"{', '.join(lap.moved)}: {' → '.join(values)}"


def list_lap_steps(context: CheckContext, lap: Lap, read: Iterable[str]) -> Iterator[Step]:
    """Yield the steps of a lap as the whole reward scores them; what they `read` matters."""
    for before, after, chosen in lap.steps:
        yield context.model.build_step(build_row(context.model, before, after, chosen), only=frozenset(read))


def _blame_term(model: RewardModel, steps: list[tuple[NumericRow, NumericRow, NumericRow]]) -> str:
    earned: dict[str, float] = {}
    for step in steps:
        scores = model.score(build_row(model, *step))
        for term, value in scores.values.items() if scores is not None else ():
            earned[term] = earned.get(term, 0.0) + float(value)
    return max(model.terms, key=lambda term: earned.get(term, 0.0))


def _find_prices(model: RewardModel, lap: Lap) -> Iterator[tuple[str, float]]:
    """Yield each field that only rises or falls, with the change in a lap at which it no longer pays."""
    for name, field in find_state_fields(model).items():
        if field.monotone is None or f"prev.{name}" not in model.fields:
            continue
        room = (
            declared_range(field).high - lap.states[0][name]
            if field.monotone == "up"
            else lap.states[0][name] - declared_range(field).low
        )
        if _still_pays(model, lap, name, room):
            continue  # whatever it costs
        low, high = 0.0, min(1.0, room)
        while _still_pays(model, lap, name, high):
            low, high = high, min(high * 2, room)
        if is_unlimited(high):
            continue
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (middle, high) if _still_pays(model, lap, name, middle) else (low, middle)
        yield name, high


def _still_pays(model: RewardModel, lap: Lap, name: str, change: float) -> bool:
    """Return whether a lap still pays in whose first step a field rises or falls by `change`."""
    before, after, chosen = lap.states[0], lap.states[1], lap.chosen[0]
    sign = 1.0 if find_state_fields(model)[name].monotone == "up" else -1.0
    dearer = _score_step(model, before, {**after, name: before[name] + sign * change}, chosen)
    return lap.gain - _score_step(model, before, after, chosen) + dearer > LEAST


def _format_prices(prices: Mapping[str, float], fields: Mapping[str, Field]) -> str:
    if not prices:
        return ""
    parts = []
    for name, price in prices.items():
        unit = fields[name].unit
        parts.append(
            f"fewer than {format_number(price)} {unit}" if unit else f"less than {format_number(price)} of {name}"
        )
    return f", as long as it costs {' and '.join(parts)}"
