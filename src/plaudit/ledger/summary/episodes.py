"""Episodes: what each of them earned, by term, how long it was and how it ended."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from plaudit.frames import Tabular
from plaudit.html import MOST_ROWS, build_heading, build_name, build_table, join
from plaudit.ledger.context import to_datetime, to_microseconds
from plaudit.ledger.ranking import check_count, check_term
from plaudit.terminal import format_count

if TYPE_CHECKING:
    from plaudit.plots.axes import Axes

EpisodeKey = tuple[str | None, str | None, str]
"""The run, the actor and the episode."""
CHOSEN_BY = ("reward", "version", "run", "actor", "episode")
"""What whole episodes can be chosen by, whatever records of them are asked for."""
_MOST_RUNS = 7
"""How many runs a picture tells apart."""


@dataclass(frozen=True, slots=True)
class Episode:
    """What a reward paid in one episode: of one run and actor, as far as it is recorded."""

    run: str | None
    actor: str | None
    episode: str
    reward: str
    version: str
    total: float
    """Its return: the sum of the totals of its records; NaN where none of them has a total."""
    length: int
    """How many steps it has; what `reward.score_terminal` paid for its end is no step."""
    terms: Mapping[str, float]
    """The sum of each term's values."""
    ended: str | None
    """"terminated" or "truncated"; None if no record says how, as for an episode that is still running."""
    first_step: int | None
    last_step: int | None
    began: datetime
    latest: datetime
    """When its last record was made."""
    first_record: int
    """The number of its first record: `ledger.why` takes it."""
    last_record: int
    finished: bool = True
    """Whether it counts as a return: it has an end, or no record of its run and actor says how any episode ended.

    Of a re-scoring, also whether all its records have a new score. An episode without a score never counts.
    """
    sample_rate: float | None = None
    """With which probability it was recorded: it stands for 1/rate episodes. None where all were."""

    @property
    def is_scored(self) -> bool:
        """Whether any of its records has a total; those of a masked rollout, or of an abstention, have none."""
        return self.total == self.total

    def to_dict(self) -> dict[str, Any]:
        """Return the episode as plain data for JSON; the total is None where it has no score."""
        plain = {name: getattr(self, name) for name in self.__slots__}
        plain["total"] = self.total if self.is_scored else None
        if self.sample_rate is None:
            del plain["sample_rate"]
        times = {name: plain[name].isoformat().replace("+00:00", "Z") for name in ("began", "latest")}
        return {**plain, **times, "terms": dict(self.terms)}


class Label(NamedTuple):
    """A reward that paid episodes."""

    reward: str
    version: str
    terms: tuple[str, ...]


_OBJECTS = ("run", "actor", "episode", "ended", "first_step", "last_step", "sample_rate")


@lru_cache(maxsize=16)
def get_row_type(terms: int) -> np.dtype[Any]:
    """Return the type of an episode as a row of an array, where there are so many terms.

    `label` is the place of a `Label`, `rank` where in the history it began; times are in microseconds since 1970; `has`
    is which terms the episode has.
    """
    parts = [
        *((name, object) for name in _OBJECTS),
        *((name, "i8") for name in ("label", "length", "began", "latest", "first_record", "last_record", "rank")),
        *(("total", "f8"), ("finished", "?"), ("paid", "f8", (terms,)), ("has", "?", (terms,))),
    ]
    return np.dtype(parts)


class EpisodeArray(NamedTuple):
    """Episodes as an array, without an object for each."""

    rows: NDArray[Any]
    """Of the type that `get_row_type` returns."""
    labels: Sequence[Label]
    terms: Sequence[str]
    """The columns of `paid` and `has`."""


class Episodes(Sequence[Episode], Tabular):
    """Episodes in the order in which they began, as they were when they were asked for."""

    def __init__(self, listed: Iterable[Episode]) -> None:
        """Keep them."""
        self._made = tuple(listed)  # as the property of this name would make them of an array

    @classmethod
    def from_array(cls, rows: NDArray[Any], labels: Sequence[Label], terms: Sequence[str]) -> "Episodes":
        """Return episodes given as the parts of an `EpisodeArray`: objects are made when they are asked for."""
        made = cls.__new__(cls)
        made._array = EpisodeArray(rows, labels, terms)
        return made

    @cached_property
    def _array(self) -> EpisodeArray:
        terms = tuple(dict.fromkeys(term for each in self._made for term in each.terms))
        labels: dict[Label, int] = {}
        rows = np.empty(len(self._made), get_row_type(len(terms)))
        for row, each in zip(rows, self._made, strict=True):
            for name in (*_OBJECTS, "length", "total", "finished"):
                row[name] = getattr(each, name)
            row["first_record"], row["last_record"] = each.first_record, each.last_record
            row["began"], row["latest"] = to_microseconds(each.began), to_microseconds(each.latest)
            row["label"] = labels.setdefault(Label(each.reward, each.version, tuple(each.terms)), len(labels))
            row["paid"] = [each.terms.get(term, 0.0) for term in terms]
            row["has"] = [term in each.terms for term in terms]
        return EpisodeArray(rows, tuple(labels), terms)

    @cached_property
    def _made(self) -> tuple[Episode, ...]:
        rows, labels, terms = self._array
        places = [[(term, terms.index(term)) for term in label.terms] for label in labels]
        plain = [name for name in rows.dtype.names or () if name not in ("paid", "has")]
        made = []
        for row, paid, has in zip(*(rows[name].tolist() for name in (plain, "paid", "has")), strict=True):
            run, actor, name, end, low, high, rate, label, length, began, latest, first, last, _, total, finished = row
            sums = {term: paid[at] for term, at in places[label] if has[at]}
            paid_by = labels[label].reward, labels[label].version
            times = to_datetime(began), to_datetime(latest)
            about = run, actor, name, *paid_by, total, length, sums, end, low, high, *times, first, last, finished
            made.append(Episode(*about, rate))
        return tuple(made)

    def _choose(self, chosen: Any) -> "Episodes":
        return self.from_array(self._array.rows[chosen], self._array.labels, self._array.terms)

    @property
    def finished(self) -> "Episodes":
        """Those that count as returns; the others are unfinished or have no score."""
        return self._choose(self._array.rows["finished"])

    @property
    def unfinished(self) -> "Episodes":
        """Those that have no end yet, or were cut off when their process ended."""
        return self._choose(~self._array.rows["finished"] & ~np.isnan(self._array.rows["total"]))

    def __len__(self) -> int:
        return len(self._made if "_made" in self.__dict__ else self._array.rows)

    @overload
    def __getitem__(self, at: int) -> Episode: ...
    @overload
    def __getitem__(self, at: slice) -> "Episodes": ...
    def __getitem__(self, at: int | slice) -> "Episode | Episodes":
        if isinstance(at, slice):
            return self._choose(at)
        return self._made[at] if "_made" in self.__dict__ else self._choose([at])._made[0]

    def __iter__(self) -> Iterator[Episode]:
        return iter(self._made)

    def __repr__(self) -> str:
        return f"Episodes({len(self)})"

    def _repr_html_(self) -> str:
        terms = self.term_names
        rows = [
            (
                *(each.run, each.actor, each.episode, f"{each.reward}@{each.version}", f"{each.length:,}"),
                *(describe_end(each), each.total if each.is_scored else None),
                *map(each.terms.get, terms),
            )
            for each in self[:MOST_ROWS]
        ]
        headers = ("run", "actor", "episode", "reward", "steps", "ended", "return", *map(build_name, terms))
        table = build_table(headers, rows, right=("steps", *headers[6:]), count=len(self))
        return join(build_heading(format_count(len(self), "episode")), table if rows else None)

    @property
    def term_names(self) -> tuple[str, ...]:
        """The terms of all their rewards."""
        has = self._array.rows["has"]
        firsts: Any = np.unique(has.argmax(axis=0)[has.any(axis=0)]) if len(has) else []  # where each comes first
        return tuple(dict.fromkeys(term for each in self._choose(firsts) for term in each.terms))

    def select_column(self, name: str) -> list[Any]:
        """Return one of their parts, `terms` excepted, of each: sooner than of one after another."""
        if name in ("reward", "version"):
            listed = [getattr(label, name) for label in self._array.labels]
            return [listed[at] for at in self._array.rows["label"].tolist()]
        column: list[Any] = self._array.rows[name].tolist()
        return list(map(to_datetime, column)) if name in ("began", "latest") else column

    def _select_term(self, term: str) -> list[float | None]:
        at = self._array.terms.index(term)
        paid, has = (self._array.rows[name][:, at].tolist() for name in ("paid", "has"))
        return [value if there else None for value, there in zip(paid, has, strict=True)]

    def plot(self, *, terms: bool = False, window: int | None = None, ax: "Axes | None" = None) -> "Axes":
        """Draw what each finished episode earned, in the order in which they began, and the moving mean of that.

        Args:
            terms: Whether to draw what each term paid; else the returns, a colour for each run and version.
            window: Episodes per moving mean; a fiftieth of all if omitted.
            ax: The matplotlib axes; a new figure if omitted.

        Raises:
            InputError: There are no finished episodes.
            MissingExtra: matplotlib is not installed.
        """
        from plaudit.plots.training import plot_returns, plot_terms

        whole = self.finished
        totals = whole.select_column("total")
        if terms:
            columns = {name: whole._select_term(name) for name in whole.term_names}
            return plot_terms(columns, totals, window=window, ax=ax)
        named = [run or "no run" for run in whole.select_column("run")]
        labels = list(map("{}@{}".format, whole.select_column("reward"), whole.select_column("version")))
        if len(set(labels)) > 1:
            named = list(map("{}, {}".format, named, labels))
        runs: dict[str, list[float]] = {name: [] for name in dict.fromkeys(named)}
        for name, total in zip(named, totals, strict=True):
            runs[name].append(total)
        return plot_returns(runs if len(runs) <= _MOST_RUNS else {"all runs": totals}, window=window, ax=ax)

    def worst(self, count: int = 10, *, term: str | None = None) -> "Episodes":
        """Return the finished ones that earned least, the worst first; by one `term`, those that have it."""
        return self._rank(count, term, 1.0)

    def best(self, count: int = 10, *, term: str | None = None) -> "Episodes":
        """Return the finished ones that earned most, the best first; by one `term`, those that have it."""
        return self._rank(count, term, -1.0)

    def _rank(self, count: int, term: str | None, sign: float) -> "Episodes":
        count, rows = check_count(count), self._array.rows
        chosen, paid = rows["finished"], rows["total"]
        if term is not None and len(self):
            check_term(term, self.term_names)
            at = self._array.terms.index(term)
            chosen, paid = chosen & rows["has"][:, at], rows["paid"][:, at]
        places = np.flatnonzero(chosen)
        return self._choose(places[np.argsort(sign * paid[places], kind="stable")[:count]])

    def to_columns(self) -> dict[str, list[Any]]:
        """Return a column for each part of an episode and for each term: None where its reward has no such term."""
        columns = {name: self.select_column(name) for name in Episode.__slots__ if name != "terms"}
        if columns["sample_rate"].count(None) == len(self):
            del columns["sample_rate"]
        terms = {f"{term}.value" if term in columns else term: self._select_term(term) for term in self.term_names}
        return columns | terms


def describe_end(each: Episode) -> str | None:
    """Return how an episode ended, for a table."""
    if not each.is_scored:
        return "not scored"
    return each.ended if each.finished else "unfinished"


def list_keys(listed: Episodes) -> list[EpisodeKey]:
    """Return the run, actor and name of each episode."""
    return list(zip(*map(listed.select_column, ("run", "actor", "episode")), strict=True))


def find_unfinished(listed: Episodes) -> frozenset[EpisodeKey]:
    """Return the run, actor and name of the episodes that have no end, and so count as no return."""
    return frozenset(list_keys(listed.unfinished))
