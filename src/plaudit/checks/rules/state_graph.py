"""A graph of states: some states of a reward, what a step from each to each other earns at best, and laps that pay.

The states are those at the edges of the declared ranges and at the breakpoints of the reward: nearly every lap that
pays leads through them.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice, product
from typing import Any

import numpy as np

from plaudit.checks.model import RewardModel, find_state_fields, find_tied_inputs
from plaudit.checks.rules.staying import LEAST, Lap
from plaudit.checks.solver.boxes import evaluate
from plaudit.checks.solver.breakpoints import find_breakpoints, list_numbers_to_try, to_column
from plaudit.checks.solver.deadline import NEVER, Deadline
from plaudit.checks.solver.question import Question
from plaudit.checks.solver.ranges import NumericRow, list_choices, list_plain_values, strip_step_end, value_at_rest
from plaudit.errors import DefinitionError
from plaudit.language import nodes as n
from plaudit.language.field import Field
from plaudit.reward.declared import find_fact_inputs
from plaudit.targets.compiled import Scores

MOST_STATES = 64
MOST_CHOICES = 32
MOST_TRIED = 2_000
"""How many combinations of a large choice are looked at to find those that facts allow."""
MOST_EDGES = 60_000
MOST_ROWS = 4096
"""This many steps are scored at once."""
LONGEST = 12
"""How many steps a lap may have where there are more states than that many: of few states, every lap is looked at."""
PLAIN = 1e-12
"""What a lap loses for each field that it moves, so that of equal laps the plainest is shown."""


@dataclass(frozen=True)
class StateGraph:
    """Some states of a reward and what a step from each to each other earns at best.

    Fields that only rise or fall stay as they are: a lap does not bring them back, and their price is given apart.
    """

    model: RewardModel
    deadline: Deadline = NEVER
    """When to stop looking for longer laps."""

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
        programs = (model.program, model.reward._bound.facts_program)
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
        facts = self.model.reward._bound.facts_program
        question = Question()
        copy = question.copy(facts, scored=False)
        flags = [copy[fact] for fact in facts.outputs if find_fact_inputs(facts, fact).keys() <= set(names)]
        program = question.program(question.builder.simplify(n.Number(question.all(flags))))
        return lambda row: evaluate(program, {name: row[name] for name in program.inputs}) == 1

    @cached_property
    def weights(self) -> tuple[np.ndarray, np.ndarray]:
        """What the best step from each state to each other earns, and which option that is; -inf where none leads."""
        size, options = len(self.states), len(self.options)
        block = max(1, MOST_ROWS // (size * options))  # so many states at once: memory stays flat
        best, chosen = np.full((size, size), -np.inf), np.zeros((size, size), dtype=int)
        for first in range(0, size, block):
            if self.deadline.passed:
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
            if self.deadline.passed:
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
    """Return at most that many of the values, including the ends."""
    if len(values) <= most:
        return values
    kept = {round(at * (len(values) - 1) / (most - 1)) for at in range(most)}
    return tuple(values[at] for at in sorted(kept))
