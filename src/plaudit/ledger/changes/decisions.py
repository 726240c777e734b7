"""Decisions that flip between two sets of totals: by the sign of a reward, and by which candidate is best."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


class Classes(NamedTuple):
    """Decision classes of a batch in a compact form: distinct labels, and for each row the position of its own."""

    labels: Sequence[Any]
    codes: NDArray[Any]


def classes_of(given: Any, rows: int) -> Classes:
    """Return decision classes given as one for all rows, a column of them, or `Classes`.

    >>> classes_of(["route", None, "route"], 3).labels
    ['route', None]
    """
    if isinstance(given, Classes):
        return given
    if given is None or isinstance(given, str | int | float):
        return Classes([given], np.zeros(rows, np.intp))
    positions: dict[Any, int] = {}
    plain = given.tolist() if hasattr(given, "tolist") else given
    codes = np.fromiter((positions.setdefault(label, len(positions)) for label in plain), np.intp)
    return Classes(list(positions), codes)


@dataclass(slots=True)
class Flips:
    """What happened to the decisions of one class."""

    records: int = 0
    to_rewarded: int = 0
    """Punished before (below 0), rewarded now (above 0)."""
    to_punished: int = 0
    """Rewarded before, punished now."""
    decisions: int = 0
    """Decisions with several candidates on record."""
    best_changed: int = 0
    """Those of them where no candidate that was best is best now."""

    @property
    def flipped(self) -> int:
        """Records whose reward changed its sign."""
        return self.to_rewarded + self.to_punished


class Candidates(NamedTuple):
    """One decision so far: its class, how many candidates, the best total of each set, whether one has both."""

    decision: Any
    label: Any
    size: int
    old: float
    new: float
    same: bool

    def goes_on_in(self, other: "Candidates") -> bool:
        """Return whether `other` has more candidates for this decision."""
        return self.decision is not None and bool(self.decision == other.decision)

    def joined(self, other: "Candidates") -> "Candidates":
        """Return this decision with more of its candidates."""
        old, new = max(self.old, other.old), max(self.new, other.new)
        same = any(part.same and part.old == old and part.new == new for part in (self, other))
        return Candidates(self.decision, self.label, self.size + other.size, old, new, same)


def candidates(decision: NDArray[Any], classes: Classes, old: Numbers, new: Numbers) -> list[Candidates]:
    """Return the decisions of a batch in order; the candidates of one follow one another, and None is no decision."""
    if not len(decision):
        return []
    alone = np.array([one is None for one in decision]) if decision.dtype == object else np.zeros(len(decision), bool)
    first = np.flatnonzero(np.r_[True, decision[1:] != decision[:-1]] | alone)
    counts = np.diff(np.r_[first, len(decision)])
    best_old, best_new = np.maximum.reduceat(old, first), np.maximum.reduceat(new, first)
    both = (old == np.repeat(best_old, counts)) & (new == np.repeat(best_new, counts))
    same = np.logical_or.reduceat(both, first)
    codes = classes.codes[first]
    return [
        Candidates(decision[at], classes.labels[code], int(count), float(was), float(now), bool(one))
        for at, code, count, was, now, one in zip(first, codes, counts, best_old, best_new, same, strict=True)
    ]
