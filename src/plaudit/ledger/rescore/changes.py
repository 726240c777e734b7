"""What changed between two sets of totals of the same rows, fed in batches.

Memory does not grow with the rows, only with the episodes that they belong to.
"""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plaudit.errors import ShapeMismatch
from plaudit.frames import Tabular
from plaudit.html import build_heading, build_note, build_table, join
from plaudit.ledger.rescore.rounding import Rounding
from plaudit.ledger.summary.ranks import Reservoir, correlate_ranks
from plaudit.ledger.summary.returns import Classes, EpisodeReturns
from plaudit.terminal import escape_controls, format_table

if TYPE_CHECKING:
    from plaudit.plots.axes import Axes

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

    def merge(self, other: "Spread") -> None:
        """Add what was counted of other numbers."""
        self.count += other.count
        self.total += other.total
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)

    def to_dict(self) -> dict[str, float | None]:
        """Return mean, min and max."""
        return {
            "mean": self.mean,
            "min": self.low if self.count else None,
            "max": self.high if self.count else None,
        }


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

    def continues_in(self, other: "Candidates") -> bool:
        """Return whether `other` has more candidates for this decision."""
        return self.decision is not None and bool(self.decision == other.decision)

    def join(self, other: "Candidates") -> "Candidates":
        """Return this decision with more of its candidates."""
        old, new = max(self.old, other.old), max(self.new, other.new)
        same = any(part.same and part.old == old and part.new == new for part in (self, other))
        return Candidates(self.decision, self.label, self.size + other.size, old, new, same)


@dataclass(slots=True)
class Changes(Tabular):
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
    rounding: Rounding = field(default_factory=Rounding)
    """Which totals changed by rounding alone, where one was computed in a narrower dtype than the other."""
    episodes: EpisodeReturns = field(default_factory=EpisodeReturns)
    """The returns of the episodes that rows were said to belong to."""
    first: int = 0
    """The position of the first row, where others come before it: which rows are sampled depends on it."""
    sample: Reservoir = field(init=False, repr=False, compare=False)
    ends: list[Candidates] = field(default_factory=list, init=False, repr=False, compare=False)
    """The first and the last decision, which rows before or after these may go on with."""

    def __post_init__(self) -> None:
        """Make an empty sample."""
        self.sample = Reservoir(self.ranked_at_most, seed=self.seed)

    def add(
        self,
        old: ArrayLike,
        new: ArrayLike,
        decision_class: Any = None,
        decision: ArrayLike | None = None,
        *,
        episode: Classes | None = None,
        step: ArrayLike | None = None,
    ) -> None:
        """Add a batch of totals, old and new of the same rows.

        `decision_class` is a label for all of them, or one each. `decision` tells candidates for the same decision by
        an identity that they share; they follow one another, within a batch and from one to the next. `episode` says
        which run, actor and episode each row belongs to, and `step` which step of it it is, NaN where nobody knows.
        """
        before, after = np.asarray(old, np.float64).reshape(-1), np.asarray(new, np.float64).reshape(-1)
        classes = encode_classes(decision_class, len(before))
        identities = None if decision is None else np.asarray(decision).reshape(-1)
        lengths = {len(before), len(after), len(classes.codes), len(before if identities is None else identities)}
        if len(lengths) > 1:
            raise ShapeMismatch(f"totals, decision classes and decisions differ in length: {sorted(lengths)}.")
        if episode is not None:
            self.episodes.add(episode, before, after, None if step is None else np.asarray(step, np.float64))
        had, has = ~np.isnan(before), ~np.isnan(after)
        both = had & has
        positions = np.arange(self.first, self.first + len(both))
        self.first += len(both)
        if not both.all():
            self._count_bad(had, has)
            before, after = before[both], after[both]
            classes = Classes(classes.labels, classes.codes[both])
            identities = None if identities is None else identities[both]
            positions = positions[both]
        self._compare(before, after)
        self.sample.add(before, after, positions)
        self._count_flips(before, after, classes)
        if identities is not None:
            self._count_decisions(group_candidates(identities, classes, before, after))

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

    def merge(self, later: "Changes") -> None:
        """Add what was counted of rows that come after these; counts, extremes and the sample are those of the whole.

        Means and returns are too, but for the last digits: the rounding of a sum depends on its order.
        """
        for name in ("records", "unchanged", "lost", "gained", "without"):
            setattr(self, name, getattr(self, name) + getattr(later, name))
        for name in ("old", "new", "difference", "rounding", "episodes"):
            getattr(self, name).merge(getattr(later, name))
        for label, flips in later.flips.items():
            found = self._find_flips(label)
            for name, count in _flips_to_dict(flips).items():
                setattr(found, name, getattr(found, name) + count)
        self._count_decisions([*later.ends])
        positions, (old, new) = later.sample.settle()
        self.sample.add(old, new, positions)

    def _count_flips(self, before: Numbers, after: Numbers, classes: Classes) -> None:
        up, down = (before < 0) & (after > 0), (before > 0) & (after < 0)
        size = len(classes.labels)
        counts = [np.bincount(classes.codes[rows], minlength=size) for rows in (slice(None), up, down)]
        first = np.full(size, len(before))
        first[classes.codes[::-1]] = np.arange(len(before))[::-1]  # of several rows of a class the first is set last
        for at in np.argsort(first)[: np.count_nonzero(counts[0])].tolist():
            found = self._find_flips(classes.labels[at])
            found.records += int(counts[0][at])
            found.to_rewarded += int(counts[1][at])
            found.to_punished += int(counts[2][at])

    def _find_flips(self, label: Any) -> Flips:
        if label not in self.flips and len(self.flips) >= MOST_CLASSES:
            label = FURTHER
        return self.flips.setdefault(label, Flips())

    def _count_decisions(self, groups: list[Candidates]) -> None:
        if not groups:
            return
        if self.ends and self.ends[-1].continues_in(groups[0]):
            groups[0] = self.ends.pop().join(groups[0])
        groups = [*self.ends, *groups]
        for group in groups[1:-1]:
            _count_decision(self._find_flips(group.label), group)
        self.ends = [groups[0], groups[-1]] if len(groups) > 1 else groups

    @property
    def by_class(self) -> dict[Any, Flips]:
        """`flips`, with the first and the last decision, whose candidates may still go on, counted too."""
        found = {label: Flips(**_flips_to_dict(flips)) for label, flips in self.flips.items()}
        for group in self.ends:
            _count_decision(found[group.label if group.label in found else FURTHER], group)
        return found

    @property
    def rank_correlation(self) -> float | None:
        """Spearman's correlation of old and new totals; None where one of them does not vary."""
        return correlate_ranks(*self.sample.pairs)

    @property
    def ranked(self) -> int:
        """How many pairs the rank correlation comes from: all `records`, or a uniform sample of them."""
        return int(self.sample.pairs.shape[1])

    @property
    def flipped(self) -> int:
        """Records whose reward changed its sign, over all classes."""
        return sum(flips.flipped for flips in self.flips.values())

    def plot(self, *, names: tuple[str, str] = ("old", "new"), ax: "Axes | None" = None) -> "Axes":
        """Draw the returns of episodes now over those before; the totals of steps where there are no episodes.

        Args:
            names: What the two sides are called.
            ax: The matplotlib axes; a new figure if omitted.

        Raises:
            InputError: Nothing was compared.
            MissingExtra: matplotlib is not installed.
        """
        from plaudit.plots.versions import plot_pairs

        returns = self.episodes
        if len(returns.old):
            return plot_pairs(returns.old, returns.new, names=names, ax=ax)
        old, new = self.sample.pairs
        return plot_pairs(old, new, names=names, what="total", of="step", among=self.records, ax=ax)

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
            "decision_classes": [{"decision_class": k, **_flips_to_dict(flips)} for k, flips in self.by_class.items()],
            "rounding": self.rounding.to_dict(),
            "episodes": self.episodes.to_dict() if len(self.episodes) else None,
        }

    def to_columns(self) -> dict[str, list[Any]]:
        """Return what happened to the decisions of each class, a row a class."""
        found = self.by_class
        counts = {name: [getattr(flips, name) for flips in found.values()] for name in Flips.__slots__}
        return {"decision_class": list(found), **counts}

    def __str__(self) -> str:
        """Return a table that a person can read."""
        if not self.records:
            return escape_controls(_format_head(self))
        parts = [_format_head(self), format_table(self._list_spreads()), _format_ranks(self), *self.episodes.describe()]
        told = [str(self.rounding)] if str(self.rounding) else []
        return escape_controls("\n".join([*parts, format_table(self._list_flips()), *told]))

    def format_rollouts(self) -> str:
        """Return a table of rollouts, each of which is an episode of one step."""
        parts = [_format_head(self)]
        if self.records:
            parts += [format_table(self._list_spreads()), _format_ranks(self, "rollouts")]
        return escape_controls("\n".join(parts))

    def _repr_html_(self) -> str:
        if not self.records:
            return build_heading(_format_head(self))
        (*heads,), *spreads = self._list_spreads()
        (*titles,), *flips = self._list_flips()
        notes = (_format_ranks(self), *self.episodes.describe(), str(self.rounding))
        return join(
            build_heading(_format_head(self)),
            build_table(heads, spreads, right=heads[1:]),
            *(build_note(each) for each in notes if each),
            build_table(titles, flips, right=titles[1:]),
        )

    def render_rollouts(self) -> str:
        """Return `format_rollouts` as HTML."""
        if not self.records:
            return build_heading(_format_head(self))
        (*heads,), *spreads = self._list_spreads()
        table, note = build_table(heads, spreads, right=heads[1:]), build_note(_format_ranks(self, "rollouts"))
        return join(build_heading(_format_head(self)), table, note)

    def _list_spreads(self) -> list[tuple[str, ...]]:
        """Return the rows of a table of the totals, the headers first."""
        spreads = [spread.to_dict() for spread in (self.old, self.new, self.difference)]
        rows = [(part, *(_format_number(spread[part]) for spread in spreads)) for part in ("mean", "min", "max")]
        return [("", "old", "new", "difference"), *rows]

    def _list_flips(self) -> list[tuple[str, ...]]:
        """Return the rows of a table of decision classes, the headers first."""
        decided = any(flips.decisions for flips in self.by_class.values())
        heads = ["decision class", "records", "now rewarded", "now punished"]
        flipped: list[tuple[str, ...]] = [(*heads, "decisions", "best changed") if decided else tuple(heads)]
        for label, flips in self.by_class.items():
            cells = ["-" if label is None else str(label)]
            counts = [flips.records, flips.to_rewarded, flips.to_punished]
            counts += [flips.decisions, flips.best_changed] if decided else []
            flipped.append((*cells, *(f"{count:,}" for count in counts)))
        return flipped


def encode_classes(given: Any, rows: int) -> Classes:
    """Return decision classes given as one for all rows, a column of them, or `Classes`.

    >>> encode_classes(["route", None, "route"], 3).labels
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


def group_candidates(decision: NDArray[Any], classes: Classes, old: Numbers, new: Numbers) -> list[Candidates]:
    """Return the decisions of a batch in order; the candidates of one follow one another, and None is no decision.

    Those with a single candidate decide nothing and are left out, but for the first and the last, which may go on.
    """
    if not len(decision):
        return []
    alone = np.array([one is None for one in decision]) if decision.dtype == object else np.zeros(len(decision), bool)
    first = np.flatnonzero(np.r_[True, decision[1:] != decision[:-1]] | alone)
    counts = np.diff(np.r_[first, len(decision)])
    best_old, best_new = np.maximum.reduceat(old, first), np.maximum.reduceat(new, first)
    both = (old == np.repeat(best_old, counts)) & (new == np.repeat(best_new, counts))
    same = np.logical_or.reduceat(both, first)
    kept = np.flatnonzero(counts > 1)
    kept = np.unique(np.r_[0, kept, len(first) - 1])
    codes = classes.codes[first]
    parts = (each[kept] for each in (first, codes, counts, best_old, best_new, same))
    return [
        Candidates(decision[at], classes.labels[code], int(count), float(was), float(now), bool(one))
        for at, code, count, was, now, one in zip(*parts, strict=True)
    ]


def _count_decision(flips: Flips, group: Candidates) -> None:
    """Count one decision; with a single candidate there is nothing to decide."""
    if group.size > 1:
        flips.decisions += 1
        flips.best_changed += not group.same


def _flips_to_dict(flips: Flips) -> dict[str, int]:
    return {name: getattr(flips, name) for name in Flips.__slots__}


def _format_head(changes: Changes) -> str:
    text = f"{changes.records:,} totals compared, {changes.unchanged:,} of them bit-identical."
    counts = (
        (changes.lost, "scored only before"),
        (changes.gained, "scored only now"),
        (changes.without, "never scored"),
    )
    others = ", ".join(f"{count:,} {when}" for count, when in counts if count)
    return f"{text} Others: {others}." if others else text


def _format_ranks(changes: Changes, of: str = "steps") -> str:
    value = changes.rank_correlation
    if value is None:
        return f"Rank correlation of {of}: undefined, because one of the two sides is constant."
    part = "" if changes.ranked == changes.records else f", of a sample of {changes.ranked:,}"
    return f"Rank correlation of {of} (Spearman): {value:z.6f}{part}"


def _format_number(value: float | None) -> str:
    return "-" if value is None else f"{value:z.6g}"
