"""What changed between two sets of totals of the same rows, fed in batches, in memory that does not grow with them."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plaudit.errors import ShapeMismatch
from plaudit.ledger.changes.decisions import Candidates, Classes, Flips, candidates, classes_of
from plaudit.ledger.changes.ranks import Reservoir, rank_correlation
from plaudit.ledger.wording import table

RANKED = 1_000_000
"""Pairs up to which the rank correlation is exact; beyond, it is that of a uniform sample of so many."""
MOST_CLASSES = 10_000
"""Decision classes that are told apart; records of further ones are counted together."""
FURTHER = "(further classes)"

Numbers = NDArray[np.float64]


@dataclass(slots=True)
class Spread:
    """Mean, lowest and highest of numbers that arrive in batches."""

    count: int = 0
    total: float = 0.0
    low: float = math.inf
    high: float = -math.inf

    @property
    def mean(self) -> float | None:
        """The mean; None of nothing."""
        return self.total / self.count if self.count else None

    def add(self, numbers: Numbers) -> None:
        """Add a batch."""
        if len(numbers):
            self.count += len(numbers)
            self.total += float(numbers.sum())
            self.low, self.high = min(self.low, float(numbers.min())), max(self.high, float(numbers.max()))

    def to_dict(self) -> dict[str, float | None]:
        """Return mean, min and max."""
        return {
            "mean": self.mean,
            "min": self.low if self.count else None,
            "max": self.high if self.count else None,
        }


@dataclass(slots=True)
class Changes:
    """How old and new totals of the same rows compare.

    A row that has no total on one side (NaN, because it is bad) is counted in `lost`, `gained` or `without`, and in
    nothing else. A decision flips when its reward changes its sign, rewarded (above 0) to punished (below 0) or back.

    >>> changes = Changes()
    >>> changes.add([1.0, -2.0, 0.5], [1.0, 3.0, -0.5], ["route", "stop", "stop"])
    >>> changes.unchanged, changes.flips["stop"].flipped, changes.rank_correlation
    (1, 2, -0.5)
    """

    ranked_at_most: int = RANKED
    seed: int = 0
    records: int = 0
    """Rows that have both totals."""
    unchanged: int = 0
    """Those of them whose totals are equal bit for bit."""
    lost: int = 0
    """Rows that had a total and have none now."""
    gained: int = 0
    """Rows that had none and have one now."""
    without: int = 0
    """Rows that have no total on either side."""
    old: Spread = field(default_factory=Spread)
    new: Spread = field(default_factory=Spread)
    difference: Spread = field(default_factory=Spread)
    flips: dict[Any, Flips] = field(default_factory=dict)
    """By decision class; under None where none was given."""
    _sample: Reservoir = field(init=False, repr=False, compare=False)
    _open: Candidates | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Make an empty sample."""
        self._sample = Reservoir(self.ranked_at_most, seed=self.seed)

    def add(
        self, old: ArrayLike, new: ArrayLike, decision_class: Any = None, decision: ArrayLike | None = None
    ) -> None:
        """Add a batch of totals, old and new of the same rows.

        `decision_class` is a label for all of them, or one each. `decision` tells candidates for the same decision by
        an identity that they share; they follow one another, within a batch and from one to the next.
        """
        before, after = np.asarray(old, np.float64).reshape(-1), np.asarray(new, np.float64).reshape(-1)
        classes = classes_of(decision_class, len(before))
        identities = None if decision is None else np.asarray(decision).reshape(-1)
        lengths = {len(before), len(after), len(classes.codes), len(before if identities is None else identities)}
        if len(lengths) > 1:
            raise ShapeMismatch(f"totals, decision classes and decisions differ in length: {sorted(lengths)}.")
        had, has = ~np.isnan(before), ~np.isnan(after)
        both = had & has
        if not both.all():
            self._count_bad(had, has)
            before, after = before[both], after[both]
            classes = Classes(classes.labels, classes.codes[both])
            identities = None if identities is None else identities[both]
        self._compare(before, after)
        self._count_flips(before, after, classes)
        if identities is not None:
            self._weigh(candidates(identities, classes, before, after))

    def _count_bad(self, had: NDArray[np.bool_], has: NDArray[np.bool_]) -> None:
        self.lost += int((had & ~has).sum())
        self.gained += int((~had & has).sum())
        self.without += int((~had & ~has).sum())

    def _compare(self, before: Numbers, after: Numbers) -> None:
        self.records += len(before)
        self.unchanged += int((before.view(np.int64) == after.view(np.int64)).sum())
        self.old.add(before)
        self.new.add(after)
        with np.errstate(invalid="ignore"):  # two infinities
            self.difference.add(after - before)
        self._sample.add(before, after)

    def _count_flips(self, before: Numbers, after: Numbers, classes: Classes) -> None:
        up, down = (before < 0) & (after > 0), (before > 0) & (after < 0)
        size = len(classes.labels)
        counts = [np.bincount(classes.codes[rows], minlength=size) for rows in (slice(None), up, down)]
        for label, records, rewarded, punished in zip(classes.labels, *counts, strict=True):
            if records:
                found = self._of(label)
                found.records += int(records)
                found.to_rewarded += int(rewarded)
                found.to_punished += int(punished)

    def _of(self, label: Any) -> Flips:
        if label not in self.flips and len(self.flips) >= MOST_CLASSES:
            label = FURTHER
        return self.flips.setdefault(label, Flips())

    def _weigh(self, groups: list[Candidates]) -> None:
        if groups and self._open is not None and self._open.goes_on_in(groups[0]):
            groups[0] = self._open.joined(groups[0])
        elif groups and self._open is not None:
            groups.insert(0, self._open)
        if groups:
            self._open = groups.pop()
        for group in groups:
            _weighed(self._of(group.label), group)

    @property
    def by_class(self) -> dict[Any, Flips]:
        """`flips`, with the decision that came last, whose candidates may still go on, counted too."""
        found = {label: Flips(**_plain(flips)) for label, flips in self.flips.items()}
        if self._open is not None:
            _weighed(found[self._open.label if self._open.label in found else FURTHER], self._open)
        return found

    @property
    def rank_correlation(self) -> float | None:
        """Spearman's correlation of old and new totals; None where one of them does not vary."""
        return rank_correlation(*self._sample.pairs)

    @property
    def ranked(self) -> int:
        """How many pairs the rank correlation comes from: all `records`, or a uniform sample of them."""
        return int(self._sample.pairs.shape[1])

    @property
    def flipped(self) -> int:
        """Records whose reward changed its sign, over all classes."""
        return sum(flips.flipped for flips in self.flips.values())

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data for JSON."""
        return {
            "records": self.records,
            "unchanged": self.unchanged,
            "lost": self.lost,
            "gained": self.gained,
            "without": self.without,
            "old": self.old.to_dict(),
            "new": self.new.to_dict(),
            "difference": self.difference.to_dict(),
            "rank_correlation": self.rank_correlation,
            "ranked": self.ranked,
            "flipped": self.flipped,
            "decision_classes": [{"decision_class": k, **_plain(flips)} for k, flips in self.by_class.items()],
        }

    def __str__(self) -> str:
        """Return a table that a person can read."""
        rows: list[tuple[str, ...]] = [("", "old", "new", "difference")]
        spreads = [spread.to_dict() for spread in (self.old, self.new, self.difference)]
        rows += [(part, *(_number(spread[part]) for spread in spreads)) for part in ("mean", "min", "max")]
        parts = [_head(self), table(rows), _rank_line(self)]
        decided = any(flips.decisions for flips in self.by_class.values())
        heads = ["decision class", "records", "now rewarded", "now punished"]
        flipped: list[tuple[str, ...]] = [(*heads, "decisions", "best changed") if decided else tuple(heads)]
        for label, flips in self.by_class.items():
            cells = ["-" if label is None else str(label)]
            counts = [flips.records, flips.to_rewarded, flips.to_punished]
            counts += [flips.decisions, flips.best_changed] if decided else []
            flipped.append((*cells, *(f"{count:,}" for count in counts)))
        return "\n".join([*parts, table(flipped)] if self.records else parts[:1])


def _weighed(flips: Flips, group: Candidates) -> None:
    """Count one decision; with a single candidate there is nothing to decide."""
    if group.size > 1:
        flips.decisions += 1
        flips.best_changed += not group.same


def _plain(flips: Flips) -> dict[str, int]:
    return {name: getattr(flips, name) for name in Flips.__slots__}


def _head(changes: Changes) -> str:
    text = f"{changes.records:,} totals compared, {changes.unchanged:,} of them unchanged to the bit."
    counts = (
        (changes.lost, "with a total before only"),
        (changes.gained, "with one now only"),
        (changes.without, "without any"),
    )
    others = ", ".join(f"{count:,} {when}" for count, when in counts if count)
    return f"{text} Others: {others}." if others else text


def _rank_line(changes: Changes) -> str:
    value = changes.rank_correlation
    if value is None:
        return "Rank correlation: none, for one of the two does not vary."
    part = "" if changes.ranked == changes.records else f", of a sample of {changes.ranked:,}"
    return f"Rank correlation (Spearman): {value:.6f}{part}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"
