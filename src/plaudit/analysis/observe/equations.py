"""Equations between numbers: weighted sums of fields, their sizes or squares, that were constant in every step."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from plaudit.analysis.observe.rounding import write_number
from plaudit.analysis.observe.steps import DOUBLE_PRECISION, SINGLE_PRECISION, Numbers, Steps

ROUNDINGS = 16
"""How many roundings of a number separate the two sides of an equation."""
Shape: TypeAlias = Literal["plain", "size", "square"]
SHAPES: Mapping[Shape, Callable[[Numbers], Numbers]] = {"plain": np.asarray, "size": np.abs, "square": np.square}
_WRITTEN: Mapping[Shape, str] = {"plain": "{0}", "size": "abs({0})", "square": "{0} * {0}"}


@dataclass(frozen=True)
class Part:
    """A field, its size or its square, times a weight."""

    weight: float
    field: str
    shape: Shape = "plain"

    def compute(self, columns: Mapping[str, Numbers]) -> Numbers:
        """Return the values."""
        return self.weight * SHAPES[self.shape](columns[self.field])

    def write(self, weight: float) -> str:
        """Return the part in the language of terms, with another weight."""
        base = _WRITTEN[self.shape].format(self.field)
        return base if weight == 1 else f"{write_number(weight)} * {base}"


@dataclass(frozen=True)
class Equation:
    """That the sum of `parts` is `total`."""

    parts: tuple[Part, ...]
    total: float

    @property
    def is_plain_sum(self) -> bool:
        """Whether all parts count alike."""
        return len({part.weight for part in self.parts}) == 1

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that it reads."""
        return tuple(part.field for part in self.parts)

    def compute_rest(self, columns: Mapping[str, Numbers]) -> Numbers | None:
        """Return by how much the two sides differ in each row; None where that is more than rounding explains."""
        values = [part.compute(columns) for part in self.parts]
        rest: Numbers = sum(values, start=np.full(1, -self.total))
        return rest if (np.abs(rest) <= find_noise(*values, self.total)).all() else None

    def write(self, *, slack: float) -> str:
        """Return the comparison: exact without `slack`; solved for the first field unless it is a plain sum."""
        if self.is_plain_sum:
            left, right = " + ".join(sorted(part.write(1.0) for part in self.parts)), write_number(self.total)
        else:
            first, *others = self.parts
            left = first.write(1.0)
            signed = [(-part.weight / first.weight, part) for part in others]
            right = "".join(f" {'-' if w < 0 else '+'} {part.write(abs(w))}" for w, part in signed)
            right = right.removeprefix(" + ") if right.startswith(" + ") else f"-{right[3:]}"
            if total := self.total / first.weight:
                right += f" {'-' if total < 0 else '+'} {write_number(abs(total))}"
        if not slack:
            return f"{left} == {right}"
        right = f"({right})" if " " in right or right.startswith("-") else right
        return f"abs({left} - {right}) <= {slack!r}"


def find_noise(*parts: Numbers | float) -> Numbers:
    """Return how far rounding alone may take the sum of `parts`."""
    size: Numbers = sum((np.abs(part) for part in parts), start=np.zeros(1))
    return np.asarray(ROUNDINGS * (SINGLE_PRECISION * size + DOUBLE_PRECISION * size.max()))


class Table:
    """The numbers that vary, over the steps, and over what episodes began with."""

    def __init__(self, steps: Steps, actions: tuple[str, ...]) -> None:
        self.steps, self.actions = steps, actions
        self.columns = steps.changing
        self.fresh = {name: column[steps.fresh] for name, column in steps.changing.items()}
        self.starts: dict[str, Numbers] = {}
        for name in self.columns:
            before, known = steps.find_before(name)
            if known[steps.starts].all() and name not in actions:
                self.starts[name] = before[steps.starts].astype(np.float64)

    def sort(self) -> list[str]:
        """Return the names of the columns: actions first, which are never explained by what follows from them."""
        return sorted(self.columns, key=lambda name: (name not in self.actions, name))

    def measure_rest(self, equation: Equation) -> float | None:
        """Return by how much the two sides of an equation differ at most; None where it does not hold."""
        rests = [equation.compute_rest(self.columns)]
        if all(name in self.starts for name in equation.fields):
            rests.append(equation.compute_rest(self.starts))
        found = [rest for rest in rests if rest is not None]
        return max(float(np.abs(rest).max()) for rest in found) if len(found) == len(rests) else None

    def write(self, equation: Equation, rest: float) -> str:
        """Return an equation that holds up to `rest` in the language of terms."""
        if rest == 0 and all(self.steps.is_whole[name] for name in equation.fields):
            return equation.write(slack=0.0)
        size = max(float(np.abs(part.compute(self.columns)).max()) for part in equation.parts)
        precision = max(self.steps.precision[name] for name in equation.fields)
        least = max(4 * rest, ROUNDINGS * max(precision, DOUBLE_PRECISION) * size)
        return equation.write(slack=float(f"1e{math.ceil(math.log10(least))}"))
