"""Relations between numbers that held in every step: one follows from others, sums and norms are constant, an order."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plaudit.analysis.observe.equations import SHAPES, Equation, Part, Shape, Table, find_noise
from plaudit.analysis.observe.rounding import list_shorter
from plaudit.analysis.observe.steps import Numbers, Steps
from plaudit.reward.task.statements import Seen

FEWEST = 300
"""Steps in which a relation could have failed: if none did, it fails in less than 1 % of them (rule of three)."""
FEWEST_VALUES = 20
"""Different values from which a factor is believed whatever its digits; of fewer, only a round one."""
FEWEST_OF_VALUE = 30
MOST_PARTS = 5
FEWEST_EQUAL = 30
"""Steps in which two ordered fields were equal, so that the order looks like a limit and not like a distance."""
FEWEST_EPISODES = 5
SAMPLE = 1000
"""Rows that a sum is looked for in, before it is tested on all of them."""


@dataclass(frozen=True)
class Relation:
    """A function in the language of terms that was true of every step."""

    name: str
    text: str
    fields: tuple[str, ...]
    seen: Seen


def make_relation(name: str, fields: Sequence[str], text: str, count: int) -> Relation:
    """Return a relation that was seen in `count` steps, all that there were."""
    return Relation(name, f"def {name}({', '.join(fields)}):\n    return {text}\n", tuple(fields), Seen(count, count))


def find_relations(steps: Steps, actions: tuple[str, ...]) -> list[Relation]:
    """Return the relations between fields of numbers, none of which follows from another."""
    if steps.fresh.sum() < FEWEST:
        return []
    table = Table(steps, actions)
    copies, free = _find_copies(table, table.sort())
    sums, free = _find_sums(table, free)
    norms = _find_norms(table, free)
    found = [
        make_relation(_name(equation), sorted(equation.fields), table.write(equation, rest), len(steps))
        for equation, rest in (*copies, *sums, *norms)
    ]
    return [*found, *_find_orders(table, free, [set(each.fields) for each in found])]


def _name(equation: Equation) -> str:
    first, *others = equation.parts
    if equation.is_plain_sum:
        return f"{'norm' if first.shape == 'square' else 'sum'}_of_{'_'.join(sorted(equation.fields))}"
    if [-part.weight for part in others] == [first.weight] and not equation.total and others[0].shape == "plain":
        return f"{first.field}_is_{others[0].field}"
    bases = [part.field if part.shape == "plain" else f"{part.shape}_of_{part.field}" for part in others]
    return f"{first.field}_from_{'_'.join(bases)}"


# ---- one field is another one, its size or its square, but for a factor and an offset


def _find_copies(table: Table, names: Sequence[str]) -> tuple[list[tuple[Equation, float]], list[str]]:
    """Return the equations of two fields, and the fields that are not determined by another."""
    found: dict[str, tuple[Equation, float]] = {}
    for y in names:
        others = [x for x in names if x != y and x not in found]
        if y not in table.actions and (copy := _find_copy(table, y, others, ("size", "square"))) is not None:
            found[y] = copy
    free: list[str] = []
    for y in names:
        if y in found:
            continue
        copy = None if y in table.actions else _find_copy(table, y, free, ("plain",))
        if copy is None:
            free.append(y)
        else:
            found[y] = copy
    return list(found.values()), free


def _find_copy(table: Table, y: str, others: Sequence[str], shapes: Sequence[Shape]) -> tuple[Equation, float] | None:
    for x in others:
        for shape in shapes:
            if shape == "size" and table.columns[x].min() >= 0:
                continue
            if shape == "square" and _count_sizes(table.fresh[x]) < 3:  # a square of 0 and 1 is the number itself
                continue
            line = _fit_line(SHAPES[shape](table.fresh[x]), table.fresh[y])
            if line is None:
                continue
            equation = Equation((Part(1.0, y), Part(-line[0], x, shape)), line[1])
            if (rest := table.measure_rest(equation)) is not None:
                return equation, rest
    return None


def _fit_line(base: Numbers, target: Numbers) -> tuple[float, float] | None:
    """Return a slope and an offset that fit every row, round ones if possible."""
    every = max(1, len(base) // SAMPLE)
    if not _is_line(base[::every], target[::every]):
        return None

    def fits(slope: float, offset: float) -> bool:
        return bool((np.abs(target - slope * base - offset) <= find_noise(target, slope * base, offset)).all())

    centred = base - base.mean()
    slope = float((centred * (target - target.mean())).sum()) / float((centred * centred).sum())
    if not fits(slope, float(np.median(target - slope * base))):
        return None
    slope = next(each for each in list_shorter(slope) if fits(each, float(np.median(target - each * base))))
    exact = float(np.median(target - slope * base))
    offset = next(each for each in (0.0, *list_shorter(exact)) if fits(slope, each))
    return (slope, offset) if _is_believable(base, slope, offset) else None


def _is_line(base: Numbers, target: Numbers) -> bool:
    """Return whether two columns are correlated but for rounding."""
    base, target = base - base.mean(), target - target.mean()
    sizes = math.sqrt(float((base * base).sum()) * float((target * target).sum()))
    return sizes > 0 and abs(float((base * target).sum())) >= (1 - 1e-5) * sizes


def _is_believable(base: Numbers, slope: float, offset: float) -> bool:
    """Return whether enough was seen; of a few values, each often, and a line that somebody would write down."""
    values, counts = np.unique(base, return_counts=True)
    if counts.sum() - counts.max() < FEWEST:
        return False
    if len(values) >= FEWEST_VALUES:
        return True
    if (counts < FEWEST_OF_VALUE).any() or any(float(f"{each:.2g}") != each for each in (slope, offset)):
        return False
    return len(values) > 2 or (slope, offset) == (1.0, 0.0)  # any two values lie on a line


# ---- sums and norms


def _find_sums(table: Table, names: Sequence[str]) -> tuple[list[tuple[Equation, float]], list[str]]:
    """Return the equations of three fields and more, and the fields that none of them determines."""
    search = _SumSearch(table, [name for name in names if _count_unusual(table.fresh[name]) >= FEWEST], "plain")
    found, determined = search.run()
    return found, [name for name in names if name not in determined]


def _find_norms(table: Table, names: Sequence[str]) -> list[tuple[Equation, float]]:
    """Return the sums of squares that are constant, such as those of a sine and a cosine."""
    usable = [name for name in names if name not in table.actions and _count_sizes(table.fresh[name]) >= FEWEST_VALUES]
    return _SumSearch(table, usable, "square").run()[0]


class _SumSearch:
    """The search for fields that are sums of a few others with round weights."""

    def __init__(self, table: Table, names: Sequence[str], shape: Shape) -> None:
        self._table, self._names, self._shape = table, names, shape
        self._columns = [SHAPES[shape](table.fresh[name]) for name in names]
        every = max(1, len(table.steps) // SAMPLE)
        sample = [column[::every] for column in self._columns]
        self._scales = np.array([column.std() for column in sample])
        self._varies = self._scales > 0
        scaled = [(c - c.mean()) / (scale or 1.0) for c, scale in zip(sample, self._scales, strict=True)]
        matrix = np.array(scaled) if scaled else np.zeros((0, 1))
        self._correlations = matrix @ matrix.T / matrix.shape[1]

    def run(self) -> tuple[list[tuple[Equation, float]], set[str]]:
        """Return the sums that hold, and the fields that they determine; none is determined by one that follows."""
        found: list[tuple[Equation, float]] = []
        basis: list[int] = []
        determined: set[str] = set()
        for y, name in enumerate(self._names):
            equation = None if name in self._table.actions or not self._varies[y] else self._fit(y, basis)
            rest = None if equation is None else self._table.measure_rest(equation)
            if equation is not None and rest is not None:
                found.append((equation, rest))
                determined.add(name)
            elif self._varies[y]:
                basis.append(y)
        return found, determined

    def _fit(self, y: int, basis: Sequence[int]) -> Equation | None:
        parts = self._choose(y, basis)
        if not 1 <= len(parts) < MOST_PARTS or (self._shape == "plain" and len(parts) < 2):
            return None
        target, columns = self._columns[y], [self._columns[at] for at in parts]
        matrix = np.column_stack(columns)
        exact, *_ = np.linalg.lstsq(matrix - matrix.mean(axis=0), target - target.mean(), rcond=None)
        weights = [float(f"{weight:.3g}") for weight in exact]
        if any(abs(weight - short) > 1e-4 * abs(short) for weight, short in zip(exact, weights, strict=True)):
            return None
        if self._shape == "square" and set(weights) != {-1.0}:
            return None
        rest = target - matrix @ np.array(weights)
        middle = float(np.median(rest))
        noise = find_noise(target, *columns, middle)
        total = next((each for each in (0.0, *list_shorter(middle)) if (np.abs(rest - each) <= noise).all()), None)
        if total is None:
            return None
        others = [Part(-w, self._names[at], self._shape) for w, at in zip(weights, parts, strict=True)]
        return Equation((Part(1.0, self._names[y], self._shape), *others), total)

    def _choose(self, y: int, basis: Sequence[int]) -> list[int]:
        """Return the columns that count in the sum nearest to a column, by a sample; none unless it is near."""
        if not basis:
            return []
        among, towards = self._correlations[np.ix_(basis, basis)], self._correlations[basis, y]
        weights, *_ = np.linalg.lstsq(among, towards, rcond=1e-9)
        if 1 - float(weights @ towards) > 1e-5:
            return []
        return [at for at, weight in zip(basis, weights, strict=True) if abs(weight) > 1e-3]


def _count_unusual(column: Numbers) -> int:
    """Return in how many rows a column is not at its most common value."""
    _, counts = np.unique(column, return_counts=True)
    return int(counts.sum() - counts.max())


def _count_sizes(column: Numbers) -> int:
    return len(np.unique(np.abs(column)))


# ---- order


def _find_orders(table: Table, names: Sequence[str], related: Sequence[set[str]]) -> list[Relation]:
    """Return `x <= y` where the two often meet, and would often be the other way around by chance."""
    free = [name for name in names if name not in table.actions]
    pairs = [
        (x, y)
        for x in free
        for y in free
        if x != y and not any({x, y} <= fields for fields in related) and _is_ordered(table, x, y)
    ]
    return [
        make_relation(f"{x}_at_most_{y}", (x, y), f"{x} <= {y}", len(table.steps))
        for x, y in pairs
        if not any((x, z) in pairs and (z, y) in pairs for z in free)
    ]


def _is_ordered(table: Table, x: str, y: str) -> bool:
    gap = table.columns[y] - table.columns[x]
    if gap.min() < 0 or ({x, y} <= table.starts.keys() and (table.starts[y] < table.starts[x]).any()):
        return False
    fresh = table.steps.fresh
    equal = (gap == 0) & fresh
    if equal.sum() < FEWEST_EQUAL or table.steps.count_episodes(equal) < FEWEST_EPISODES:
        return False
    if (gap > 0)[fresh].sum() < FEWEST or len(np.unique(table.columns[x][equal])) < 3:
        return False
    above = np.sort(table.fresh[y])
    return bool((np.searchsorted(above, table.fresh[x], side="left") / len(above)).sum() >= FEWEST)
