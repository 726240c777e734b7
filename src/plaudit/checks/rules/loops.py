"""The rule about loops: a lap of states that pays although nothing was gained.

Potential-based terms are left out first: whatever they pay on the way they take back. A lap is looked for among the
edges of the declared ranges, which finds nearly all there are; z3 then finds the others or proves that there are none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice, product
from time import monotonic
from typing import TYPE_CHECKING, Any

from plaudit.checks.finding import Finding, Step
from plaudit.checks.formats.plain import format_number
from plaudit.checks.model import RewardModel, find_state_fields, find_tied_inputs, name_step_inputs
from plaudit.checks.rules.potential import classify_shaping_terms
from plaudit.checks.rules.registry import CheckContext, Found, rule
from plaudit.checks.rules.staying import add_standing_step, drop_shaping
from plaudit.checks.solver.boxes import evaluate, maximise
from plaudit.checks.solver.breakpoints import find_breakpoints, list_numbers_to_try, to_column
from plaudit.checks.solver.question import Impossible, Question, Unknown, Witness
from plaudit.checks.solver.ranges import (
    NumericRow,
    declared_range,
    decode_value,
    list_choices,
    list_plain_values,
    strip_step_end,
    value_at_rest,
)
from plaudit.errors import DefinitionError
from plaudit.language import nodes as n
from plaudit.language.field import Field
from plaudit.reward.declared import find_fact_inputs
from plaudit.targets.compiled import Scores

if TYPE_CHECKING:
    import numpy as np  # whoever lists the rules loads no NumPy

LENGTHS = (2, 3)
"""How many steps a lap has that z3 is asked about."""
MOST_STATES = 64
MOST_CHOICES = 32
MOST_TRIED = 2_000
"""How many combinations of a large choice are looked at to find those that facts allow."""
MOST_EDGES = 60_000
MOST_ROWS = 4096
"""So many steps are scored at once."""
LONGEST = 12
"""How many steps a lap may have where there are more states than that many: of few states, every lap is looked at."""
PLAIN = 1e-12
"""What a lap loses for each field that it moves, so that of equal laps the plainest is shown."""
LEAST = 1e-9
"""What a lap must earn to count as more than nothing."""


@rule(
    "loop-that-pays",
    severity="warning",
    why="An agent can go round for ever and be paid for it without getting anywhere.",
)
def find_paying_loops(context: CheckContext) -> Found:
    """Find laps whose rewards add up to more than 0, and to more than standing still in any of their states."""
    model = _find_moving_terms(context)
    if model is None:
        return
    laps = find_laps(context)
    for lap in laps:
        yield _describe_lap(context, model, lap)
    if laps or _gains_nothing(context, model):
        return
    for length in LENGTHS:
        match _find_lap(context, model, length):
            case Lap() as lap:
                yield _describe_lap(context, model, lap)
                return
            case Unknown(reason):
                yield context.undecided("total", f"whether a lap of {length} states pays", reason=reason)


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
    return [] if model is None else context.recall("laps", lambda: StateGraph(model, context.solver.until).laps())


def _gains_nothing(context: CheckContext, model: RewardModel) -> bool:
    """Return whether it is proved that no step pays more than standing, with the same choice, where it leads.

    Then no lap of any length pays more than standing in the best of its states.
    """
    if model.carried or model.reward.composed:
        return False
    question = Question()
    moving = _hold_monotone(model, name_step_inputs(model, "s", "t", chosen="chosen"))
    standing = _hold_monotone(model, name_step_inputs(model, "t", "t", chosen="chosen"))
    step = model.add_row(question, names=moving, fixed=model.resting_events)
    stand = question.copy(model.program, standing, model.resting_events, scored=False)
    facts = question.copy(model.reward.facts_program, standing, model.resting_events, scored=False)
    flags = [*stand.guards, *facts.guards, *(facts[fact] for fact in model.reward.facts_program.outputs)]
    if context.solver.find_example(question, question.negate(question.all(flags))) != Impossible():
        return False  # it may be that nobody can stand there
    gains = [question.minus(step[f"{term}.value"], stand[f"{term}.value"]) for term in model.terms]
    return context.solver.maximise(question, question.plus(*gains)).bound <= LEAST


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


@dataclass(frozen=True)
class StateGraph:
    """Some states of a reward and what a step from each to each other earns at best.

    Fields that only rise or fall stay as they are: a lap does not bring them back, and their price is given apart.
    """

    model: RewardModel
    until: float = math.inf
    """When to stop looking for longer laps, by `time.monotonic`."""

    @cached_property
    def states(self) -> list[NumericRow]:
        """The states that are looked at: every combination of what can be counted, and the edges of numbers."""
        fields = find_state_fields(self.model)
        still = {name: value_at_rest(field) for name, field in fields.items()}
        moving = {name: field for name, field in fields.items() if field.monotone is None}
        counted = {name: list_choices(field) for name, field in moving.items() if list_choices(field)}
        found = [still]
        if math.prod(len(values) for values in counted.values()) <= MOST_STATES:
            found += [{**still, **dict(zip(counted, values, strict=True))} for values in product(*counted.values())]
        else:
            found += [{**still, name: value} for name, values in counted.items() for value in values]
        limit = min(int((MOST_EDGES / len(self.options)) ** 0.5), 3 * MOST_STATES)
        numbers = {name: field for name, field in moving.items() if name not in counted}
        each = max(4, (limit - len(found)) // max(1, len(numbers)))
        for name, field in numbers.items():
            found += [
                {**still, name: value} for value in list_plain_values(field, self._breakpoints.get(name, ()))[:each]
            ]
        return list({tuple(state.items()): state for state in found}.values())[: max(limit, 2)]

    @cached_property
    def _breakpoints(self) -> dict[str, tuple[float, ...]]:
        breakpoints: dict[str, tuple[float, ...]] = {}
        for name, at in find_breakpoints(self.model.program).items():
            plain = strip_step_end(name)
            breakpoints[plain] = tuple(sorted({*breakpoints.get(plain, ()), *at}))
        return breakpoints

    @cached_property
    def options(self) -> list[NumericRow]:
        """What can be chosen in a step: actions, and what a fact ties to them.

        Every combination where there are few. Of more, only some are ever made: those that people would try first, and
        then combinations that facts allow.
        """
        model = self.model
        action = model.reward.action
        follow = find_tied_inputs(model, action) if action is not None else set[str]()
        names = [name for name, field in model.fields.items() if model.role(field) == "action" or name in follow]
        programs = (model.program, model.reward.facts_program)
        breakpoints = [find_breakpoints(program) for program in programs]
        values = {}
        for name in names:
            places = sorted({at for each in breakpoints for at in each.get(name, ())})
            field = model.fields[name]
            values[name] = _thin_out(list_choices(field) or list_numbers_to_try(field, places))
        every = (dict(zip(names, each, strict=True)) for each in product(*values.values()))
        if math.prod(map(len, values.values())) <= MOST_CHOICES:
            return list(every)
        still = {name: value_at_rest(model.fields[name]) for name in names}
        rows = islice(chain(_list_plain_options(still, values), every), MOST_TRIED)
        is_allowed = self._facts_about(names)
        distinct = {tuple(row.values()): row for row in rows if is_allowed(row)}
        return list(islice(distinct.values(), MOST_CHOICES)) or [{}]

    def _facts_about(self, names: list[str]) -> Callable[[NumericRow], bool]:
        """Return whether a choice keeps the facts that read nothing else."""
        facts = self.model.reward.facts_program
        question = Question()
        copy = question.copy(facts, scored=False)
        flags = [copy[fact] for fact in facts.outputs if find_fact_inputs(facts, fact).keys() <= set(names)]
        program = question.program(question.builder.simplify(n.Number(question.all(flags))))
        return lambda row: evaluate(program, {name: row[name] for name in program.inputs}) == 1

    @cached_property
    def weights(self) -> tuple[np.ndarray, np.ndarray]:
        """What the best step from each state to each other earns, and which option that is; -inf where none leads."""
        import numpy as np

        size, options = len(self.states), len(self.options)
        block = max(1, MOST_ROWS // (size * options))  # so many states at once: memory stays flat
        best, chosen = np.full((size, size), -np.inf), np.zeros((size, size), dtype=int)
        for first in range(0, size, block):
            if monotonic() > self.until:
                break
            here = range(first, min(first + block, size))
            columns = {name: self._build_column(name, field, here) for name, field in self.model.program.inputs.items()}
            scores, carried = self._score(columns, here)
            allowed = self._allowed(columns) & carried
            earned = np.where(scores.ok, scores.total, -np.inf) + np.where(allowed, 0.0, -np.inf)
            table = earned.reshape(len(here), size, options)
            best[here.start : here.stop], chosen[here.start : here.stop] = table.max(axis=2), table.argmax(axis=2)
        return best, chosen

    def _score(self, columns: dict[str, np.ndarray], here: range) -> tuple[Scores, np.ndarray]:
        """Return what each step earns, and whether it takes the states that are carried to where it leads."""
        import numpy as np

        led = np.ones(len(next(iter(columns.values()))), dtype=bool)
        if not self.model.carried:
            return self._compiled(columns), led
        states = self.model.program.states
        before = {
            name: np.stack(
                [self._build_column(each, state.field, here) for each in state.list_names("prev")], -1
            ).reshape(-1, *state.field.shape)
            for name, state in states.items()
        }
        measured = {
            name: column for name, column in columns.items() if name.partition(".")[2].partition("[")[0] not in states
        }
        scores, after = self._compiled.step(measured, before)
        for name, state in states.items():
            entries = after[name].reshape(len(led), -1).T
            for entry, computed in zip(state.list_names("curr"), entries, strict=True):
                led &= np.abs(computed * 1.0 - self._build_column(entry, state.field, here)) <= LEAST
        return scores, led

    def _build_column(self, name: str, field: Field, here: range) -> np.ndarray:
        """Return one input of every step: from each state that is `here` to each other, with each option."""
        import numpy as np

        size, options, plain = len(self.states), len(self.options), strip_step_end(name)
        if name in self.options[0]:
            values = np.tile([option[name] for option in self.options], len(here) * size)
        elif plain in self.states[0]:
            ends = np.array([state[plain] for state in self.states])
            values = (
                np.repeat(ends[here.start : here.stop], size * options)
                if name.startswith("prev.")
                else np.tile(np.repeat(ends, options), len(here))
            )
        else:
            still = value_at_rest(field) if name in self.model.program.counters else 0.0
            values = np.full(len(here) * size * options, self.model.resting_events.get(name, still))
        return to_column(values, field)

    @cached_property
    def _compiled(self) -> Any:
        return self.model.reward.compile("numpy", on_bad="mask", guard="facts")

    def _allowed(self, columns: dict[str, np.ndarray]) -> np.ndarray:
        """Return which steps change each field as it is declared to change."""
        import numpy as np

        allowed = np.ones(len(next(iter(columns.values()))), dtype=bool)
        for before, after in self.model.step_ends():
            field = self.model.fields[before]
            if field.step is not None and before in columns and after in columns:
                allowed &= np.abs(columns[after] - columns[before]) <= field.step
        return allowed

    def laps(self) -> list[Lap]:
        """Return the shortest lap that pays and, if it is another, the one that pays most a step.

        None are looked for where a fact reads what a row does not hold.
        """
        import numpy as np

        try:
            weights, chosen = self.weights
        except DefinitionError:
            return []
        size = len(self.states)
        standing = np.maximum(np.diag(weights), 0.0)
        spare = weights - standing[:, None]  # a step that pays no more than standing where it began gains nothing
        spare -= PLAIN * self._changes
        np.fill_diagonal(spare, -np.inf)
        best = spare.copy()
        through: list[np.ndarray] = []
        found: list[Lap] = []
        for length in range(2, (size if size <= MOST_STATES else LONGEST) + 1):
            if monotonic() > self.until:
                break
            ways = best[:, :, None] + spare[None, :, :]
            through.append(ways.argmax(axis=1))
            best = ways.max(axis=1)
            start = int(np.diag(best).argmax())
            if not best[start, start] > LEAST:
                continue
            lap = self._lap(start, length, through, weights, chosen, standing)
            if lap is not None and (not found or lap.mean > found[-1].mean + LEAST):
                found.append(lap)
        return found[:1] + ([found[-1]] if len(found) > 1 else [])

    @cached_property
    def _changes(self) -> np.ndarray:
        """How many fields a step from each state to each other changes."""
        import numpy as np

        values = np.array([list(state.values()) for state in self.states])
        return np.asarray((values[:, None, :] != values[None, :, :]).sum(axis=2), dtype=float)

    def _lap(
        self,
        start: int,
        length: int,
        through: list[np.ndarray],
        weights: np.ndarray,
        chosen: np.ndarray,
        standing: np.ndarray,
    ) -> Lap | None:
        order = [start]
        for way in reversed(through):
            order.append(int(way[start, order[-1]]))
        order = order[::-1]  # the states in the order they are visited, the last one the start again
        order = [start, *order[:-1]]
        steps = list(zip(order, [*order[1:], order[0]], strict=True))
        gain = float(sum(weights[step] for step in steps))
        if len(set(order)) < length or gain <= LEAST or gain <= length * max(standing[at] for at in order) + LEAST:
            return None
        options = tuple(self.options[int(chosen[step])] for step in steps)
        return Lap(tuple(self.states[at] for at in order), options, gain)


def _list_plain_options(still: NumericRow, values: Mapping[str, tuple[float, ...]]) -> Iterator[NumericRow]:
    """Yield the choices that people would try first: at rest, all at one end, a single one at an end or in between."""
    yield still
    for end in (0, -1):
        yield {name: each[end] for name, each in values.items()}
    for at in dict.fromkeys((-1, 0, *range(max(map(len, values.values()))))):
        for name, each in values.items():
            if at < len(each):
                yield {**still, name: each[at]}


def _thin_out(values: tuple[float, ...], most: int = 12) -> tuple[float, ...]:
    """Return at most so many of the values, the ends among them."""
    if len(values) <= most:
        return values
    kept = {round(at * (len(values) - 1) / (most - 1)) for at in range(most)}
    return tuple(values[at] for at in sorted(kept))


def _find_lap(context: CheckContext, model: RewardModel, length: int) -> Lap | Impossible | Unknown:
    """Return a lap that the solver found."""
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
            lap = _read_lap(model, names, row, length)
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
    scores = model.score(build_row(model, before, after, chosen))
    return -math.inf if scores is None else float(scores.total)


def _bound_standing(model: RewardModel, state: Mapping[str, float]) -> float:
    """Return the most that standing in a state can pay."""
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
    return context.finding(
        _blame_term(model, lap.steps),
        f"a lap of {len(lap.states)} steps ({describe_way(model, lap)}) earns {format_number(lap.gain)}"
        f"{_format_prices(prices, fields)}, time after time, and ends where it began.",
        "Pay the way back what the way there earned (a potential-based difference), pay each state once (a high-water "
        "mark that the environment keeps), or let a step cost more than it can earn.",
        witness=list_lap_steps(context, lap, read),
        facts=model.facts_about(*read),
    )


def describe_way(model: RewardModel, lap: Lap) -> str:
    """Return a lap as people say it: "phase: planning → coding → planning"."""
    fields = find_state_fields(model)
    states = [*lap.states, lap.states[0]]
    values = (" ".join(_format_state_value(fields[name], state[name]) for name in lap.moved) for state in states)
    return f"{', '.join(lap.moved)}: {' → '.join(values)}"


def list_lap_steps(context: CheckContext, lap: Lap, read: Iterable[str]) -> Iterator[Step]:
    """Yield the steps of a lap as the whole reward scores them; what they `read` matters."""
    for before, after, chosen in lap.steps:
        yield context.model.build_step(build_row(context.model, before, after, chosen), only=frozenset(read))


def _blame_term(model: RewardModel, steps: list[tuple[NumericRow, NumericRow, NumericRow]]) -> str:
    """Return the term that earns most on a lap."""
    earned: dict[str, float] = {}
    for step in steps:
        scores = model.score(build_row(model, *step))
        for term, value in scores.values.items() if scores is not None else ():
            earned[term] = earned.get(term, 0.0) + float(value)
    return max(model.terms, key=lambda term: earned.get(term, 0.0))


def _format_state_value(field: Field, value: float) -> str:
    known = decode_value(field, value)
    if isinstance(known, bool):
        return str(known).lower()
    return format_number(known) if isinstance(known, float) else str(known)


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
    return f" as long as it costs {' and '.join(parts)}"
