"""Relations between numbers that held in every step: equal but for a factor, constant sums and norms, and order."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from plaudit.analysis.observe.rounding import list_shorter, write_number
from plaudit.analysis.observe.steps import DOUBLE_PRECISION, SINGLE_PRECISION, Numbers, Steps
from plaudit.reward.task import Seen

FEWEST = 300
"""Steps in which a relation could have failed: with none that did, it fails in less than 1 % of them (rule of three)."""
FEWEST_VALUES = 20
"""Different values from which a factor is believed whatever its digits; of fewer, only a round one."""
FEWEST_OF_VALUE = 30
ROUNDINGS = 16
MOST_TERMS = 4
FEWEST_EQUAL = 30
"""Steps in which two ordered fields were equal, so that the order looks like a limit and not like a distance."""


@dataclass(frozen=True)
class Relation:
    """A function in the language of terms that was true of every step."""

    name: str
    text: str
    fields: tuple[str, ...]
    seen: Seen


def find_relations(steps: Steps, actions: tuple[str, ...]) -> list[Relation]:
    """Return the relations between fields of numbers, none of which follows from another."""
    if (steps.fresh).sum() < FEWEST:
        return []
    view = _View(steps, actions)
    found: list[Relation] = []
    free = _find_copies(view, found)
    free = _find_sums(view, free, found)
    _find_norms(view, free, found)
    _find_orders(view, free, found)
    return found


class _View:
    """Columns of numbers over the steps, and over what episodes began with."""

    def __init__(self, steps: Steps, actions: tuple[str, ...]) -> None:
        self.steps, self.actions = steps, actions
        self.columns = dict(steps.changing)
        self.starts: dict[str, Numbers] = {}
        for name in self.columns:
            before, known = steps.find_before(name)
            if known[steps.starts].all() and name not in actions:
                self.starts[name] = before[steps.starts].astype(np.float64)

    def evaluate(self, names: Sequence[str], function: Callable[..., Numbers]) -> Numbers:
        """Return what a function of fields is in every step, and where all are known at every beginning."""
        made = function(*(self.columns[name] for name in names))
        if all(name in self.starts for name in names):
            made = np.concatenate((made, function(*(self.starts[name] for name in names))))
        return made

    def say(self, name: str, names: Sequence[str], text: str) -> Relation:
        written = f"def {name}({', '.join(names)}):\n    return {text}\n"
        return Relation(name, written, tuple(names), Seen(len(self.steps), len(self.steps)))


def _find_noise(*parts: Numbers | float) -> Numbers:
    """Return how far rounding alone may take the sum of `parts`."""
    total: Numbers = sum((np.abs(part) for part in parts), start=np.zeros(1))
    return ROUNDINGS * (SINGLE_PRECISION * total + DOUBLE_PRECISION * total.max())


def _write_equal(view: _View, names: Sequence[str], left: str, right: str, rest: Numbers) -> str:
    """Return the comparison: exact where it was, else within some rounding errors."""
    if not rest.any() and all(view.steps.is_whole[name] for name in names):
        return f"{left} == {right}"
    scale = max(float(np.abs(view.columns[name]).max()) for name in names)
    slack = 10.0 ** math.ceil(math.log10(4 * max(float(np.abs(rest).max()), DOUBLE_PRECISION * scale)))
    right = f"({right})" if "+" in right or "-" in right.lstrip("-") else right
    return f"abs({left} - {right}) <= {float(f'{slack:.1g}')!r}"


# ---- one field is another one but for a factor and an offset


def _find_copies(view: _View, found: list[Relation]) -> list[str]:
    """Add `y == a * x + b`, with `abs(x)` and `x * x` in the place of x; return the fields that are not determined."""
    names = sorted(view.columns, key=lambda name: (name not in view.actions, name))
    fresh = view.steps.fresh
    free: list[str] = []
    for y in names:
        copy = None
        if y not in view.actions:
            copy = next((made for x in free if (made := _fit_copy(view, y, x, fresh)) is not None), None)
        if copy is None:
            free.append(y)
        else:
            found.append(copy)
    return free


_SHAPES: Mapping[str, tuple[Callable[[Numbers], Numbers], str]] = {
    "": (lambda x: x, "{}"),
    "size_of_": (np.abs, "abs({})"),
    "square_of_": (np.square, "{0} * {0}"),
}


def _fit_copy(view: _View, y: str, x: str, fresh: Numbers) -> Relation | None:
    for shape, (apply, written) in _SHAPES.items():
        if shape and not (view.columns[x].min() < 0 < view.columns[x].max() or shape == "square_of_"):
            continue
        base, target = apply(view.columns[x])[fresh], view.columns[y][fresh]
        line = _fit_line(base, target)
        if line is None:
            continue
        slope, offset = line

        def rest(b: Numbers, t: Numbers, slope: float = slope, offset: float = offset) -> Numbers:
            return t - slope * b - offset

        def compare(x_column: Numbers, y_column: Numbers, apply=apply, rest=rest) -> Numbers:  # type: ignore[no-untyped-def]
            left = rest(apply(x_column), y_column)
            return np.where(np.abs(left) <= _find_noise(y_column, slope * apply(x_column), offset), left, np.nan)

        left = view.evaluate((x, y), compare)
        if np.isnan(left).any():
            continue
        right = _write_line(written.format(x), slope, offset)
        name = f"{y}_is_{x}" if not shape and (slope, offset) == (1.0, 0.0) else f"{y}_from_{shape}{x}"
        return view.say(name, (x, y), _write_equal(view, (x, y), y, right, left))
    return None


def _fit_line(base: Numbers, target: Numbers) -> tuple[float, float] | None:
    """Return a slope and an offset that fit every row, round ones if possible."""
    values, counts = np.unique(base, return_counts=True)
    varied = len(values) >= FEWEST_VALUES
    if len(values) < 2 or (not varied and (counts >= FEWEST_OF_VALUE).sum() < min(len(values), 3)):
        return None
    centred = base - base.mean()
    if not (weight := float(centred @ centred)):
        return None
    slope = float(centred @ (target - target.mean())) / weight
    if not slope or not math.isfinite(slope):
        return None

    def fits(slope: float, offset: float) -> bool:
        return bool((np.abs(target - slope * base - offset) <= _find_noise(target, slope * base, offset)).all())

    offset = float(np.median(target - slope * base))
    if not fits(slope, offset):
        return None
    slope = next(each for each in list_shorter(slope) if fits(each, float(np.median(target - each * base))))
    exact = float(np.median(target - slope * base))
    offset = 0.0 if fits(slope, 0.0) else next(each for each in list_shorter(exact) if fits(slope, each))
    if not varied and not (_is_plain(slope) and _is_plain(offset)):
        return None
    if len(values) == 2 and (slope, offset) != (1.0, 0.0):  # any two values lie on a line
        return None
    return slope, offset


def _is_plain(value: float) -> bool:
    """Return whether a number has at most two digits."""
    return float(f"{value:.2g}") == value


def _write_line(base: str, slope: float, offset: float) -> str:
    written = base if slope == 1 else f"-{base}" if slope == -1 else f"{write_number(slope)} * {base}"
    if slope == -1 and "*" in base:
        written = f"-({base})"
    if offset:
        written += f" {'+' if offset > 0 else '-'} {write_number(abs(offset))}"
    return written


# ---- sums


def _find_sums(view: _View, free: list[str], found: list[Relation]) -> list[str]:
    """Add the sums that are constant, or another field; return the fields that none of them determines."""
    basis: list[str] = []
    for y in sorted(free, key=lambda name: (name not in view.actions, name)):
        weights = None if y in view.actions else _fit_sum(view, y, basis, np.asarray)
        if weights is None:
            basis.append(y)
            continue
        offset, terms = weights
        names = (*terms, y)

        def rest(*columns: Numbers, terms=terms, offset=offset) -> Numbers:  # type: ignore[no-untyped-def]
            made = columns[-1] - offset - sum(w * c for w, c in zip(terms.values(), columns, strict=False))
            return np.where(np.abs(made) <= _find_noise(*columns, offset), made, np.nan)

        left = view.evaluate(names, rest)
        if np.isnan(left).any():
            basis.append(y)
            continue
        if all(weight == -1 for weight in terms.values()):
            text = _write_equal(view, names, " + ".join(sorted(names)), write_number(offset), left)
            found.append(view.say(f"sum_of_{'_'.join(sorted(names))}", sorted(names), text))
        else:
            text = _write_equal(view, names, y, _write_sum(terms, offset), left)
            found.append(view.say(f"{y}_from_{'_'.join(terms)}", names, text))
    return basis


def _fit_sum(
    view: _View, y: str, basis: Sequence[str], apply: Callable[[Numbers], Numbers]
) -> tuple[float, dict[str, float]] | None:
    """Return the offset and the weights of the fields whose sum is `y` in every step, where they are few and round."""
    fresh = view.steps.fresh
    target = apply(view.columns[y][fresh])
    matrix = np.column_stack([apply(view.columns[name][fresh]) for name in basis]) if basis else None
    if matrix is None or len(basis) < 2:
        return None
    scales = matrix.std(axis=0)
    usable = scales > 0
    names = [name for name, use in zip(basis, usable, strict=True) if use]
    matrix, scales = matrix[:, usable], scales[usable]
    centred = (matrix - matrix.mean(axis=0)) / scales
    weights, *_ = np.linalg.lstsq(centred, target - target.mean(), rcond=1e-9)
    large = np.abs(weights) > 1e-3 * target.std()
    if not 2 <= large.sum() <= MOST_TERMS:
        return None
    kept = matrix[:, large]
    if len(np.unique(np.round(kept / scales[large], 6), axis=0)) < FEWEST_VALUES:
        return None
    weights, *_ = np.linalg.lstsq((kept - kept.mean(axis=0)) / scales[large], target - target.mean(), rcond=None)
    exact = weights / scales[large]
    rounded = [float(f"{weight:.3g}") for weight in exact]
    if any(abs(weight - short) > 1e-4 * abs(short) for weight, short in zip(exact, rounded, strict=True)):
        return None
    rest = target - kept @ np.array(rounded)
    offset = float(np.median(rest))
    noise = _find_noise(target, *(w * c for w, c in zip(rounded, kept.T, strict=True)), offset)
    if (np.abs(rest - offset) > noise).any():
        return None
    offset = next((s for s in (0.0, *list_shorter(offset)) if (np.abs(rest - s) <= noise).all()), offset)
    return offset, dict(zip([n for n, use in zip(names, large, strict=True) if use], rounded, strict=True))


def _write_sum(terms: Mapping[str, float], offset: float) -> str:
    parts = [f"{'-' if w < 0 else '+'} {_write_line(name, abs(w), 0.0)}" for name, w in terms.items()]
    if offset:
        parts.append(f"{'-' if offset < 0 else '+'} {write_number(abs(offset))}")
    written = " ".join(parts)
    return written[2:] if written.startswith("+ ") else f"-{written[2:]}"


def _find_norms(view: _View, free: Sequence[str], found: list[Relation]) -> None:
    """Add the sums of squares that are constant, such as those of a sine and a cosine."""
    usable = [n for n in free if n not in view.actions and len(np.unique(np.abs(view.columns[n]))) >= FEWEST_VALUES]
    pairs = [(x, y) for at, x in enumerate(usable) for y in usable[at + 1 :]]
    for x, y in pairs:
        squares = view.evaluate((x, y), lambda a, b: a * a + b * b)
        middle = float(np.median(squares))
        if middle <= 0 or np.ptp(squares) > 1e-4 * middle:
            continue
        total = next(
            s for s in list_shorter(middle) if (np.abs(squares - s) <= _find_noise(squares)).all() or s == middle
        )
        rest = squares - total
        if (np.abs(rest) <= _find_noise(squares)).all():
            text = _write_equal(view, (x, y), f"{x} * {x} + {y} * {y}", write_number(total), rest)
            found.append(view.say(f"norm_of_{x}_{y}", (x, y), text))


# ---- order


def _find_orders(view: _View, free: Sequence[str], found: list[Relation]) -> None:
    """Add `x <= y` where the two often meet and would often be the other way around by chance."""
    names = [name for name in free if name not in view.actions]
    related = [set(relation.fields) for relation in found]
    pairs = [
        (x, y)
        for x in names
        for y in names
        if x != y and not any({x, y} <= fields for fields in related) and _is_ordered(view, x, y)
    ]
    for x, y in pairs:
        if not any((x, z) in pairs and (z, y) in pairs for z in names):
            found.append(view.say(f"{x}_at_most_{y}", (x, y), f"{x} <= {y}"))


def _is_ordered(view: _View, x: str, y: str) -> bool:
    gap = view.columns[y] - view.columns[x]
    if gap.min() < 0 or view.evaluate((x, y), lambda a, b: b - a).min() < 0:
        return False
    fresh = view.steps.fresh
    equal = (gap == 0) & fresh
    if equal.sum() < FEWEST_EQUAL or view.steps.count_episodes(equal) < 5 or (gap > 0)[fresh].sum() < FEWEST:
        return False
    if len(np.unique(view.columns[x][equal])) < 3:
        return False
    above = np.sort(view.columns[y][fresh])
    chance = np.searchsorted(above, view.columns[x][fresh], side="left") / len(above)
    return bool(chance.sum() >= FEWEST)
