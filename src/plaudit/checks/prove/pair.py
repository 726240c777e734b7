"""Two rewards side by side on the same inputs."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from plaudit.checks.domain import Row, as_inputs, near, rest
from plaudit.checks.prove.proof import Difference
from plaudit.checks.prove.rounding import rounding
from plaudit.checks.question import Copy, Question
from plaudit.checks.rows import aimed_columns
from plaudit.checks.subject import Subject
from plaudit.errors import DefinitionError, InputError
from plaudit.language.field import Field
from plaudit.reward.reward import Reward
from plaudit.targets.scores import Scores

FAR = 1e9
"""How far a field without a declared range is followed: near the largest float rounding outweighs everything."""


@dataclass(frozen=True)
class Pair:
    """Two rewards that read the same fields."""

    sides: tuple[Subject, Subject]
    renamed: Mapping[str, str]
    """Inputs of the second that the first one calls otherwise: `distance`, which is `curr.distance` there."""
    facts: bool

    @classmethod
    def of(cls, left: Reward, right: Reward, *, facts: bool) -> "Pair":
        """Return the pair; DefinitionError where the two do not read the same kinds of things."""
        known, other = left.program.inputs, right.program.inputs
        renamed = {name: f"curr.{name}" for name in other if name not in known and f"curr.{name}" in known}
        for name, field in other.items():
            mine = known.get(renamed.get(name, name))
            if mine is not None and (mine.kind, mine.labels) != (field.kind, field.labels):
                raise DefinitionError(
                    f"the two cannot be compared: {name!r} is a {mine.kind} {_listed(mine)}in {left.name!r} and a "
                    f"{field.kind} {_listed(field)}in {right.name!r}"
                )
        return cls((Subject(left), Subject(right)), renamed, facts)

    @property
    def names(self) -> tuple[str, str]:
        """What the two are called."""
        one, other = (f"{side.reward.name}@{side.reward.version}" for side in self.sides)
        return one, other

    @cached_property
    def fields(self) -> dict[str, Field]:
        """Every input and what it can be: as the first one declares it, or the second where the first has none."""
        theirs = {self.renamed.get(name, name): field for name, field in self.sides[1].program.inputs.items()}
        declared = {**theirs, **self.sides[0].program.inputs}
        return {name: near(field, FAR) for name, field in declared.items()}

    @property
    def terms(self) -> list[str]:
        """Terms that both have."""
        return [name for name in self.sides[0].terms if name in self.sides[1].terms]

    @property
    def missing(self) -> tuple[str, ...]:
        """Terms that only one of them has."""
        one, other = (set(side.terms) for side in self.sides)
        return tuple(sorted(one ^ other))

    @property
    def clamped(self) -> bool:
        """Whether the total of either is clamped."""
        ends = [end for side in self.sides for end in (side.reward.low, side.reward.high)]
        return any(end is not None for end in ends)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is to be said about the declared ranges."""
        own = self.sides[0].program.inputs
        theirs = {self.renamed.get(name, name): field for name, field in self.sides[1].program.inputs.items()}
        differing = [name for name in own if name in theirs and _range(own[name]) != _range(theirs[name])]
        limited = {field.name: field for field in {**theirs, **own}.values() if near(field, FAR) != field}
        remarks = []
        for name, field in sorted(limited.items()):
            end = " and at infinity" if field.infinite else ", for no range is declared"
            remarks.append(f"{name}: compared up to {FAR:g}{end}.")
        if differing:
            remarks.append(
                f"{', '.join(differing)}: the declared ranges differ, and those of {self.names[0]} were used."
            )
        return tuple(remarks)

    def question(self, *, scored: int | None = None) -> tuple[Question, tuple[Copy, Copy]]:
        """Return a question with both in it; both can be scored, or only the one at position `scored` need be."""
        question = Question()
        for name, field in self.fields.items():  # first come, first declared
            question.inputs[name] = field
        copies = tuple(
            question.copy(side.program, self.renamed if at else {}, scored=scored is None or scored == at)
            for at, side in enumerate(self.sides)
        )
        if self.facts:
            self.sides[0].given(question)
        return question, (copies[0], copies[1])

    def rounding(self, output: str) -> float:
        """Return how far an output of the two can be apart by rounding alone, where both take the same branches."""
        return sum(errors[output] for errors in self._errors)

    @cached_property
    def _errors(self) -> list[dict[str, float]]:
        return [rounding(replace(side.program, inputs=self._inputs(at))) for at, side in enumerate(self.sides)]

    def _inputs(self, at: int) -> dict[str, Field]:
        names = self.renamed if at else {}
        return {name: self.fields[names.get(name, name)] for name in self.sides[at].program.inputs}

    def scored(self, row: Row, name: str) -> tuple[float | None, float | None]:
        """Return what each of the two really makes of a row: of a term, or in total."""
        left, right = (self._side(at, row, name) for at in (0, 1))
        return left, right

    def _side(self, at: int, row: Row, name: str) -> float | None:
        side, names = self.sides[at], self.renamed if at else {}
        own = {each: row.get(names.get(each, each), rest(field)) for each, field in side.program.inputs.items()}
        try:
            scores = self._compiled[at](as_inputs(own, side.program.inputs))
        except InputError:
            return None
        return float(scores.total if name == "total" else scores.values[name])

    @cached_property
    def _compiled(self) -> list[Callable[[Any], Scores]]:
        return [side.reward.compile("python", guard=False) for side in self.sides]

    def tested(self, examples: int, tolerance: float) -> tuple[int, Difference | None]:
        """Compare the two on rows aimed at their boundaries: how many were compared, and one that differs."""
        columns = aimed_columns(self.fields, [side.program for side in self.sides], examples)
        totals = []
        for at, side in enumerate(self.sides):
            names = self.renamed if at else {}
            own = {name: columns[names.get(name, name)] for name in side.program.inputs}
            totals.append(side.reward.compile("numpy", on_bad="mask", guard=False)(own).total)
        size = np.broadcast_to(np.abs(totals[0] - totals[1]), (examples,))
        scale = np.maximum(1.0, np.abs(totals[0]))
        worst = int(np.nanargmax(size / scale)) if not np.isnan(size).all() else 0
        compared = int((~np.isnan(size)).sum())
        if not size[worst] > max(tolerance, 1e-9 * scale.max() if math.isinf(tolerance) else tolerance):
            return compared, None
        row: dict[str, Any] = {name: float(column[worst]) for name, column in columns.items()}
        return compared, Difference("total", as_inputs(row, self.fields), *self.scored(row, "total"))


def _listed(field: Field) -> str:
    return f"({', '.join(field.labels)}) " if field.labels else ""


def _range(field: Field) -> tuple[Any, ...]:
    return field.low, field.high, field.values, field.infinite, field.outside
