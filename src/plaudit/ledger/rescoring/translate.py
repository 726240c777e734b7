"""From the inputs one reward recorded to those another one reads."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from plaudit.ledger.batch import arguments_of
from plaudit.ledger.blocks.shape import Rows, Shape
from plaudit.ledger.blocks.shelf import Shelf
from plaudit.ledger.verification.recompute import Recomputer
from plaudit.targets.numpy import NumpyReward
from plaudit.targets.rows import default_of, places


@dataclass(frozen=True, eq=False)
class Translation:
    """A way from stored rows of `source` to rows and scores of `shape`."""

    source: Shape
    shape: Shape

    @cached_property
    def _compiled(self) -> NumpyReward:
        return NumpyReward(self.shape.scored.program, on_bad="mask")

    def score(self, rows: Rows) -> tuple[Rows, Rows]:
        """Return the inputs and outputs of recorded rows under the other reward; NaN where it refuses a row."""
        given = Recomputer(self.source).columns(rows)
        old, new = self.source.scored.program.inputs, self.shape.scored.program.inputs
        taken: dict[str, Any] = {}
        for name, field in new.items():
            if name not in given:
                continue
            column = given[name]
            if field.kind == "category" and old[name].labels != field.labels:
                known = {label: at for at, label in enumerate(field.labels)}
                column = np.asarray([known.get(label, -1) for label in old[name].labels])[column]
            taken[name] = column
        scores = self._compiled(taken)
        inputs = arguments_of(self.shape, taken, len(rows))
        return inputs, self.shape.scores_to_rows(scores, len(rows))


def translation(shelf: Shelf, source: Shape, shape: Shape) -> "Translation | tuple[str, ...]":
    """Return how recorded rows become rows of another reward, or the inputs that they lack."""
    if source.part == "final":
        if not any(term.terminal for term in shape.reward.terms):
            return ("a terminal term",)
        shape = shelf.shape(shape.reward, "final")
    old, program = source.scored.program.inputs, shape.scored.program
    lacking = []
    for place in places(program):
        if place.name in old:
            if old[place.name].kind != place.field.kind:
                lacking.append(f"{place.name} (a {place.field.kind}, not a {old[place.name].kind})")
        elif default_of(program, place, False) is None:
            lacking.append(place.name)
    return tuple(lacking) or Translation(source, shape)
