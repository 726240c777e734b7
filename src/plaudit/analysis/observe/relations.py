"""Relations between numbers that held in every step: one follows from others, sums and norms are constant, an order."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plaudit.analysis.observe.equations import SHAPES, Equation, Part, Shape, Table, find_noise
from plaudit.analysis.observe.rounding import list_shorter
from plaudit.analysis.observe.steps import Numbers, Steps
from plaudit.reward.task import Seen

FEWEST = 300
"""Steps in which a relation could have failed: if none did, it fails in less than 1 % of them (rule of three)."""
FEWEST_VALUES = 20
"""Different values from which a factor is believed whatever its digits; of fewer, only a round one."""
FEWEST_OF_VALUE = 30
MOST_PARTS = 5
FEWEST_EQUAL = 30
"""Steps in which two ordered fields were equal, so that the order looks like a limit and not like a distance."""
FEWEST_EPISODES = 5


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
    found, free = [], []
    for y in names:
        copy = None if y in table.actions else _find_copy(table, y, free)
        if copy is None:
            free.append(y)
        else:
            found.append(copy)
    return found, free


def _find_copy(table: Table, y: str, others: Sequence[str]) -> tuple[Equation, float] | None:
    for x in others:
        for shape, apply in SHAPES.items():
            if shape == "size" and table.columns[x].min() >= 0:
                continue
            line = _fit_line(apply(table.fresh[x]), table.fresh[y])
            if line is None:
                continue
            equation = Equation((Part(1.0, y), Part(-line[0], x, shape)), line[1])
            if (rest := table.measure_rest(equation)) is not None:
                return equation, rest
    return None


def _fit_line(base: Numbers, target: Numbers) -> tuple[float, float] | None:
    """Return a slope and an offset that fit every row, round ones if possible."""
    centred = base - base.mean()
    aside = target - target.mean()
    weight, other = float(centred @ centred), float(aside @ aside)
    if not weight or not other or abs(float(centred @ aside)) < (1 - 1e-5) * math.sqrt(weight * other):
        return None

    def fits(slope: float, offset: float) -> bool:
        return bool((np.abs(target - slope * base - offset) <= find_noise(target, slope * base, offset)).all())

    slope = float(centred @ aside) / weight
    if not fits(slope, float(np.median(target - slope * base))):
        return None
    slope = next(each for each in list_shorter(slope) if fits(each, float(np.median(target - each * base))))
    exact = float(np.median(target - slope * base))
    offset = next(each for each in (0.0, *list_shorter(exact)) if fits(slope, each))
    return (slope, offset) if _is_believable(base, slope, offset) else None


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
    found, basis = [], []
    for y in names:
        equation = None if y in table.actions else _fit_sum(table, y, basis, "plain")
        rest = None if equation is None else table.measure_rest(equation)
        if equation is None or rest is None:
            basis.append(y)
        else:
            found.append((equation, rest))
    return found, basis


def _find_norms(table: Table, names: Sequence[str]) -> list[tuple[Equation, float]]:
    """Return the sums of squares that are constant, such as those of a sine and a cosine."""
    found, basis = [], []
    for y in names:
        if y in table.actions or len(np.unique(np.abs(table.fresh[y]))) < FEWEST_VALUES:
            continue
        equation = _fit_sum(table, y, basis, "square")
        rest = None if equation is None else table.measure_rest(equation)
        if equation is None or rest is None or any(part.weight != 1 for part in equation.parts):
            basis.append(y)
        else:
            found.append((equation, rest))
    return found


def _fit_sum(table: Table, y: str, basis: Sequence[str], shape: Shape) -> Equation | None:
    """Return the sum of a few fields with round weights that `y` is in every step."""
    apply = SHAPES[shape]
    target = apply(table.fresh[y])
    columns = [apply(table.fresh[name]) for name in basis]
    used = [at for at, column in enumerate(columns) if column.std() > 0]
    if not used or not target.std():
        return None
    weights = _solve([columns[at] for at in used], target)
    used = [
        at for at, weight in zip(used, weights, strict=True) if abs(weight) * columns[at].std() > 1e-3 * target.std()
    ]
    if not 1 <= len(used) < MOST_PARTS or (shape == "plain" and len(used) < 2):
        return None
    chosen = [columns[at] for at in used]
    exact = _solve(chosen, target)
    rounded = [float(f"{weight:.3g}") for weight in exact]
    if any(abs(weight - short) > 1e-4 * abs(short) for weight, short in zip(exact, rounded, strict=True)):
        return None
    if any(_count_unusual(column) < FEWEST for column in (target, *chosen)):
        return None
    rest = target - sum(weight * column for weight, column in zip(rounded, chosen, strict=True))
    middle = float(np.median(rest))
    noise = find_noise(target, *chosen, middle)
    total = next((each for each in (0.0, *list_shorter(middle)) if (np.abs(rest - each) <= noise).all()), None)
    if total is None:
        return None
    return Equation(
        (Part(1.0, y, shape), *(Part(-w, basis[at], shape) for w, at in zip(rounded, used, strict=True))), total
    )


def _solve(columns: Sequence[Numbers], target: Numbers) -> Numbers:
    """Return the weights of columns whose sum is nearest to `target`, up to a constant."""
    scales = np.array([column.std() for column in columns])
    matrix = np.column_stack([(column - column.mean()) / scale for column, scale in zip(columns, scales, strict=True)])
    weights, *_ = np.linalg.lstsq(matrix, target - target.mean(), rcond=1e-9)
    return np.asarray(weights / scales)


def _count_unusual(column: Numbers) -> int:
    """Return in how many rows a column is not at its most common value."""
    _, counts = np.unique(column, return_counts=True)
    return int(counts.sum() - counts.max())


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
