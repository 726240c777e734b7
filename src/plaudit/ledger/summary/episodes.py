"""Episodes: what each of them earned, by term, how long it was and how it ended.

They are listed from sums that were made when their blocks were written: a million records of an episode cost no more
than ten.
"""

import heapq
import struct
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, overload

from sqlalchemy import ColumnElement, Connection, Select, case, exists, false, or_, select

from plaudit.errors import LedgerError
from plaudit.frames import Tabular
from plaudit.html import MOST_ROWS, build_heading, build_name, build_table, join
from plaudit.ledger.backends.backend import report_damage
from plaudit.ledger.context import to_datetime
from plaudit.ledger.query import Query
from plaudit.ledger.ranking import check_count, check_term
from plaudit.ledger.search import BlockSearch
from plaudit.ledger.storage.episode_parts import ENDS, ORIGINAL_REWARD, EpisodePart, add_up, split_episodes
from plaudit.ledger.storage.order import find_place, list_order
from plaudit.ledger.storage.schema import blocks, episode_parts, scopes, specs
from plaudit.ledger.storage.sizes import limit_size
from plaudit.ledger.storage.specs import RewardTerms, read_terms
from plaudit.ledger.storage.store import Store
from plaudit.terminal import format_count

if TYPE_CHECKING:
    from plaudit.plots.axes import Axes

EpisodeKey = tuple[str | None, str | None, str]
"""The run, the actor and the episode."""
CHOSEN_BY = ("reward", "version", "run", "actor", "episode")
"""What whole episodes can be chosen by, whatever records of them are asked for."""
_MOST_RUNS = 7
"""How many runs a picture tells apart."""
_MOST_SCOPES = 500
"""Scopes that are asked about at a time."""
_STREAMED = {"yield_per": 5000}
_NOT_CHOSEN_BY = ("step", "key", "after", "id")


@dataclass(frozen=True, slots=True)
class Episode:
    """What a reward paid in one episode: of one run and actor, as far as it is recorded."""

    run: str | None
    actor: str | None
    episode: str
    reward: str
    version: str
    total: float
    """Its return: the sum of the totals of its records."""
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

    Of a re-scoring, also whether all its records have a new score.
    """

    def to_dict(self) -> dict[str, Any]:
        """Return the episode as plain data for JSON."""
        plain = {name: getattr(self, name) for name in self.__slots__}
        times = {name: plain[name].isoformat().replace("+00:00", "Z") for name in ("began", "latest")}
        return {**plain, **times, "terms": dict(self.terms)}


class Episodes(Sequence[Episode], Tabular):
    """Episodes in the order in which they began, as they were when they were asked for."""

    def __init__(self, listed: Iterable[Episode]) -> None:
        """Keep them."""
        self._listed = tuple(listed)

    @property
    def finished(self) -> "Episodes":
        """Those that count as returns; the others have no end yet, or were cut off when their process ended."""
        return Episodes(each for each in self if each.finished)

    def __len__(self) -> int:
        return len(self._listed)

    @overload
    def __getitem__(self, at: int) -> Episode: ...
    @overload
    def __getitem__(self, at: slice) -> "Episodes": ...
    def __getitem__(self, at: int | slice) -> "Episode | Episodes":
        return Episodes(self._listed[at]) if isinstance(at, slice) else self._listed[at]

    def __repr__(self) -> str:
        return f"Episodes({len(self)})"

    def _repr_html_(self) -> str:
        terms = self.term_names
        rows = [
            (
                *(each.run, each.actor, each.episode, f"{each.reward}@{each.version}", f"{each.length:,}"),
                *(each.ended if each.finished else "unfinished", each.total),
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
        return tuple(dict.fromkeys(term for each in self for term in each.terms))

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
        totals = [each.total for each in whole]
        if terms:
            columns = {name: [each.terms.get(name) for each in whole] for name in whole.term_names}
            return plot_terms(columns, totals, window=window, ax=ax)
        several = len({(each.reward, each.version) for each in whole}) > 1
        runs: defaultdict[str, list[float]] = defaultdict(list)
        for each in whole:
            run = each.run or "no run"
            runs[f"{run}, {each.reward}@{each.version}" if several else run].append(each.total)
        return plot_returns(runs if len(runs) <= _MOST_RUNS else {"all runs": totals}, window=window, ax=ax)

    def worst(self, count: int = 10, *, term: str | None = None) -> "Episodes":
        """Return the finished ones that earned least, the worst first; by one `term`, those that have it."""
        return Episodes(heapq.nsmallest(check_count(count), self._with_term(term), key=_build_key(term)))

    def best(self, count: int = 10, *, term: str | None = None) -> "Episodes":
        """Return the finished ones that earned most, the best first; by one `term`, those that have it."""
        return Episodes(heapq.nlargest(check_count(count), self._with_term(term), key=_build_key(term)))

    def _with_term(self, term: str | None) -> Sequence[Episode]:
        if term is not None and self:
            check_term(term, self.term_names)
        return [each for each in self if each.finished and (term is None or term in each.terms)]

    def to_columns(self) -> dict[str, list[Any]]:
        """Return a column for each part of an episode and for each term: None where its reward has no such term."""
        plain = [name for name in Episode.__slots__ if name != "terms"]
        columns = {name: [getattr(each, name) for each in self] for name in plain}
        paid = {term: [each.terms.get(term) for each in self] for term in self.term_names}
        return columns | {f"{term}.value" if term in plain else term: column for term, column in paid.items()}


def _build_key(term: str | None) -> Any:
    return (lambda each: each.total) if term is None else (lambda each: each.terms[term])


# -- listing -----------------------------------------------------------------------------------------------------------


class _Tally:
    """An episode that is being put together out of its parts."""

    __slots__ = ("ends", "firsts", "lasts", "length", "paid", "steps", "times", "totals")

    def __init__(self) -> None:
        self.firsts: list[tuple[int, int]] = []
        """The places of records in the history: on a server, the transaction before the number."""
        self.lasts: list[tuple[int, int]] = []
        self.times: list[int] = []
        self.steps: list[int] = []
        self.length = 0
        self.ends: set[str | None] = set()
        self.totals: list[float] = []
        self.paid: dict[tuple[str, ...], list[tuple[float, ...]]] = {}

    @property
    def has_end(self) -> bool:
        """Whether a record says how it ended."""
        return self.ends != {None}

    def add(self, place: int, first: int, spec: RewardTerms, part: EpisodePart, ended: str | None) -> None:
        position, last, _, records, earliest, latest, step_low, step_high, _, total, terms = part
        self.firsts.append((place, first + position))
        self.lasts.append((place, first + last))
        self.times += (earliest, latest)
        if step_low is not None and step_high is not None:
            self.steps += (step_low, step_high)
        if spec.part == "final":
            ended = ended or "terminated"
        else:
            self.length += records
        self.ends.add(ended)
        self.totals.append(total)
        self.paid.setdefault(spec.terms, []).append(struct.unpack(f"<{len(spec.terms)}d", terms))

    def finish(
        self, run: str | None, actor: str | None, episode: str, reward: str, version: str, *, finished: bool
    ) -> Episode:
        values: dict[str, list[float]] = {}
        for terms, rows in self.paid.items():
            for term, column in zip(terms, zip(*rows, strict=True), strict=True):
                values.setdefault(term, []).extend(column)
        return Episode(
            run,
            actor,
            episode,
            reward,
            version,
            add_up(self.totals),
            self.length,
            {term: add_up(column) for term, column in values.items()},
            next((end for end in ENDS if end in self.ends), None),
            min(self.steps, default=None),
            max(self.steps, default=None),
            to_datetime(min(self.times)),
            to_datetime(max(self.times)),
            min(self.firsts)[1],
            max(self.lasts)[1],
            finished,
        )


def list_episodes(store: Store, query: Query) -> Episodes:
    """Return the episodes that the records of a query are of, those records added up.

    `since` and `until` choose by when an episode began.
    """
    for name in _NOT_CHOSEN_BY:
        if getattr(query, name) is not None:
            raise LedgerError(f"episodes cannot be chosen by {name!r}; choose records with history().")
    whole = replace(query, since=None, until=None)  # or an episode would lack what lies outside
    tallies: defaultdict[tuple[str | None, str | None, str, str, str], _Tally] = defaultdict(_Tally)
    with report_damage(store.backend.name, "what is kept of an episode"), store.backend.snapshot() as connection:
        rewards = read_terms(connection)
        chosen = BlockSearch(store, whole).where(select(blocks.c.first), connection)
        origins = BlockSearch(store, whole).where(select(blocks.c.origin), connection)
        sources = {} if query.job is None else _read_sources(connection, origins)
        partial: set[EpisodeKey] = set()
        for (first, number, origin, run, actor, place), part in _read_parts(connection, chosen):
            if query.episode is None or part.episode == query.episode:
                spec = rewards[number]
                _, source = sources.pop((origin, part.episode), (None, part))
                tally = tallies[run, actor, part.episode, spec.reward, spec.version]
                tally.add(place, first, spec, part, part.ended or source.ended)
                if part.records < source.records:
                    partial.add((run, actor, part.episode))
        partial.update(key for key, _ in sources.values())
        open_ended = {key for key, tally in tallies.items() if not tally.has_end}
        telling = _find_telling(connection, {key[:2] for key in open_ended})
    if open_ended and (query.phase is not None or query.decision_class is not None):  # the end may be in another one
        elsewhere = list_episodes(store, replace(query, phase=None, decision_class=None))
        ended = {(each.run, each.actor, each.episode) for each in elsewhere if each.finished}
        open_ended = {key for key in open_ended if key[:3] not in ended}
    unfinished = {key for key in tallies if key[:3] in partial or (key in open_ended and key[:2] in telling)}
    ordered = sorted(tallies.items(), key=lambda item: min(item[1].firsts))
    found = (tally.finish(*key, finished=key not in unfinished) for key, tally in ordered)
    return Episodes(each for each in found if _began_within(each, query))


def find_unfinished(listed: Iterable[Episode]) -> frozenset[EpisodeKey]:
    """Return the run, actor and name of the episodes that have no end, and so count as no return."""
    return frozenset((each.run, each.actor, each.episode) for each in listed if not each.finished)


def _find_telling(connection: Connection, actors: Collection[tuple[Any, ...]]) -> set[tuple[Any, ...]]:
    """Return those of some runs and actors whose records say how episodes end, as all of a wrapper's do."""
    marks = f'"{ORIGINAL_REWARD}":', *(f'"{end}":true' for end in ENDS)
    final = blocks.c.spec.in_(select(specs.c.id).where(specs.c.part == "final"))
    said = or_(final, *(blocks.c.contexts.like(f"%{mark}%") for mark in marks))
    tells = exists(select(blocks.c.first).where(blocks.c.scope == scopes.c.id, said))
    runs = {run for run, _ in actors}
    listed = select(scopes.c.id, scopes.c.run, scopes.c.actor)
    if len(runs) < _MOST_SCOPES:
        named = [scopes.c.run.in_(runs - {None})] if runs - {None} else []
        listed = listed.where(or_(false(), *named, *([scopes.c.run.is_(None)] if None in runs else [])))
    ordered = [number for number, *of in connection.execute(listed) if tuple(of) in actors]
    found: set[tuple[Any, ...]] = set()
    for start in range(0, len(ordered), _MOST_SCOPES):
        some = scopes.c.id.in_(ordered[start : start + _MOST_SCOPES])
        rows = connection.execute(select(scopes.c.run, scopes.c.actor).where(some, tells))
        found.update(tuple(row) for row in rows)
    return found


def _began_within(episode: Episode, query: Query) -> bool:
    return (query.since is None or episode.began >= to_datetime(query.since)) and (
        query.until is None or episode.began < to_datetime(query.until)
    )


def _read_sources(
    connection: Connection, origins: Select[Any]
) -> dict[tuple[int | None, str], tuple[EpisodeKey, EpisodePart]]:
    """Return what was re-scored, by block and episode.

    The blocks of a re-scoring have no contexts, and leave out what has no new score.
    """
    found = _read_parts(connection, origins)
    return {(first, part.episode): ((run, actor, part.episode), part) for (first, _, _, run, actor, _), part in found}


_ABOUT = (blocks.c.first, blocks.c.spec, blocks.c.origin, scopes.c.run, scopes.c.actor)
_OPENED = [
    limit_size(blocks.c[name])
    for name in ("records", "earliest", "job", "times", "episodes", "steps", "contexts", "outputs")
]
"""What the parts of a block follow from: what `split_episodes` takes."""
_OPEN = len(_ABOUT) + 1
"""Where in a row the columns begin that a block is opened with: after what is known of it, and its place."""
_PART = _OPEN + len(_OPENED)
"""Where in a row a part begins."""
_LOCATED = blocks.join(scopes, scopes.c.id == blocks.c.scope)

Parts = Iterator[tuple[Any, EpisodePart]]
"""What is known of a block (`_ABOUT`), its place in the history, and what it has of an episode."""


def _read_parts(connection: Connection, chosen: Select[Any]) -> Parts:
    """Yield what the chosen blocks have of episodes; those of which nothing is kept are opened, the large ones last."""
    large: list[int] = []
    about = (*_ABOUT, find_place(connection.dialect).label("place"))
    statement = _build_statement(about, chosen).order_by(*list_order(connection.dialect), episode_parts.c.position)
    with connection.execute(statement, execution_options=_STREAMED) as rows:
        for row in rows:
            if row[_PART] is not None:
                yield row[:_OPEN], EpisodePart._make(row[_PART:])
            elif row.records == 1:
                yield from _open(row)
            else:
                large.append(row[0])
    for first in large:
        statement = select(*about, *_OPENED).select_from(_LOCATED).where(blocks.c.first == first)
        yield from _open(connection.execute(statement).one())


def _open(row: Any) -> Parts:
    for part in split_episodes(*row[_OPEN:_PART]):
        yield row[:_OPEN], part


def _build_statement(about: Sequence[ColumnElement[Any]], chosen: Select[Any]) -> Select[Any]:
    """Return what reads the parts of the chosen blocks; of a block of one record, the record itself."""
    single = [case((blocks.c.records == 1, column)).label(f"block_{column.name}") for column in _OPENED[1:]]
    return (
        select(*about, blocks.c.records, *single, *(episode_parts.c[name] for name in EpisodePart._fields))
        .select_from(_LOCATED.outerjoin(episode_parts, episode_parts.c.first == blocks.c.first))
        .where(blocks.c.first.in_(chosen), blocks.c.episodes.is_not(None))
    )
