"""Laps of states: steps that end where they began, and what they earn."""

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from plaudit.checks.aims import cuts, numbers_to_try
from plaudit.checks.domain import Row, choices, plain_name, plain_values, rest
from plaudit.checks.lint.actions import tied
from plaudit.checks.rows import as_column
from plaudit.checks.subject import Subject, state_fields
from plaudit.errors import DefinitionError
from plaudit.language.field import Field

MOST_STATES = 64
MOST_CHOICES = 32
MOST_EDGES = 60_000
LONGEST = 12
"""How many steps a lap may have where there are more states than that many: of few states, every lap is looked at."""
PLAIN = 1e-12
"""What a lap loses for each field that it moves, so that of equal laps the plainest is told."""
LEAST = 1e-9
"""What a lap must earn to count as more than nothing."""


@dataclass(frozen=True, slots=True)
class Lap:
    """A lap that pays: the states in order, what is chosen in each step, and what the steps earn together."""

    states: tuple[Row, ...]
    chosen: tuple[Row, ...]
    gain: float

    @property
    def mean(self) -> float:
        """What a step of it earns."""
        return self.gain / len(self.states)


def row_of(subject: Subject, before: Row, after: Row, chosen: Row) -> Row:
    """Return the row of a step from one state to another, events at rest."""
    ends = {f"prev.{name}": value for name, value in before.items()}
    ends |= {f"curr.{name}": value for name, value in after.items()} | dict(after)
    return {**subject.quiet, **{k: v for k, v in {**ends, **chosen}.items() if k in subject.fields}}


@dataclass(frozen=True)
class Graph:
    """Some states of a reward and what a step from each to each other earns at best.

    Fields that only rise or fall stay as they are: a lap does not bring them back, and their price is told apart.
    """

    subject: Subject

    @cached_property
    def states(self) -> list[Row]:
        """The states that are looked at: every combination of what can be counted, and the edges of numbers."""
        fields = state_fields(self.subject)
        still = {name: rest(field) for name, field in fields.items()}
        moving = {name: field for name, field in fields.items() if field.monotone is None}
        counted = {name: choices(field) for name, field in moving.items() if choices(field)}
        found = [still]
        if np.prod([len(values) for values in counted.values()] or [1]) <= MOST_STATES:
            found += [{**still, **dict(zip(counted, values, strict=True))} for values in product(*counted.values())]
        else:
            found += [{**still, name: value} for name, values in counted.items() for value in values]
        limit = min(int((MOST_EDGES / len(self.options)) ** 0.5), 3 * MOST_STATES)
        numbers = {name: field for name, field in moving.items() if name not in counted}
        each = max(4, (limit - len(found)) // max(1, len(numbers)))
        for name, field in numbers.items():
            found += [{**still, name: value} for value in plain_values(field, self._places.get(name, ()))[:each]]
        return list({tuple(state.items()): state for state in found}.values())[: max(limit, 2)]

    @cached_property
    def _places(self) -> dict[str, tuple[float, ...]]:
        places: dict[str, tuple[float, ...]] = {}
        for name, at in cuts(self.subject.program).items():
            plain = plain_name(name)
            places[plain] = tuple(sorted({*places.get(plain, ()), *at}))
        return places

    @cached_property
    def options(self) -> list[Row]:
        """What can be chosen in a step: actions, and what a fact ties to them."""
        subject = self.subject
        action = subject.reward.action
        follow = tied(subject, action) if action is not None else set[str]()
        names = [name for name, field in subject.fields.items() if subject.role(field) == "action" or name in follow]
        places = cuts(subject.program)
        values = [
            _few(choices(subject.fields[name]) or numbers_to_try(subject.fields[name], places[name])) for name in names
        ]
        rows = [dict(zip(names, each, strict=True)) for each in product(*values)]
        return rows[:MOST_CHOICES] or [{}]

    @cached_property
    def weights(self) -> tuple[np.ndarray, np.ndarray]:
        """What the best step from each state to each other earns, and which option that is; -inf where none leads."""
        size = len(self.states)
        pairs = [(before, after, option) for before in self.states for after in self.states for option in self.options]
        rows = [row_of(self.subject, *pair) for pair in pairs]
        columns = {name: _column(rows, name, field) for name, field in self.subject.program.inputs.items()}
        scores = self._compiled(columns)
        earned = np.where(scores.ok, scores.total, -np.inf) + np.where(self._allowed(columns), 0.0, -np.inf)
        table = earned.reshape(size, size, len(self.options))
        return table.max(axis=2), table.argmax(axis=2)

    @cached_property
    def _compiled(self) -> Any:
        return self.subject.reward.compile("numpy", on_bad="mask", guard="facts")

    def _allowed(self, columns: dict[str, np.ndarray]) -> np.ndarray:
        """Return which steps change each field as it is declared to change."""
        allowed = np.ones(len(next(iter(columns.values()))), dtype=bool)
        for before, after in self.subject.ends():
            field = self.subject.fields[before]
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


def _few(values: tuple[float, ...], most: int = 12) -> tuple[float, ...]:
    """Return at most so many of the values, the ends among them."""
    if len(values) <= most:
        return values
    kept = {round(at * (len(values) - 1) / (most - 1)) for at in range(most)}
    return tuple(values[at] for at in sorted(kept))


def _column(rows: list[Row], name: str, field: Field) -> np.ndarray:
    return as_column(np.array([row.get(name, 0.0) for row in rows]), field)
