"""Episodes: what each of them earned, by term, how long it was and how it ended.

They are listed from sums that were made when their blocks were written: a million records of an episode cost no more
than ten.
"""

import heapq
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, overload

from sqlalchemy import Connection, Select, case, select

from plaudit.errors import LedgerError
from plaudit.frames import Tabular
from plaudit.ledger.backends.backend import report_damage
from plaudit.ledger.context import to_datetime
from plaudit.ledger.query import Query
from plaudit.ledger.ranking import check_count, check_term
from plaudit.ledger.search import BlockSearch
from plaudit.ledger.storage.episode_parts import ENDS, EpisodePart, add_up, split_episodes
from plaudit.ledger.storage.schema import blocks, episode_parts, scopes
from plaudit.ledger.storage.specs import RewardTerms, read_terms
from plaudit.ledger.storage.store import Store

_OPENED = ("earliest", "job", "times", "episodes", "steps", "contexts", "outputs")
"""What of a block, besides the number of its records, its parts of episodes follow from."""
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
    """How many steps it has; what `reward.final` paid for its end is no step."""
    terms: Mapping[str, float]
    """The sum of each term's values."""
    ended: str | None
    """"terminated" or "truncated"; None where no record says how, as of an episode that is still running."""
    first_step: int | None
    last_step: int | None
    began: datetime
    latest: datetime
    """When its last record was made."""
    first_record: int
    """The number of its first record: `ledger.why` takes it."""
    last_record: int

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

    @property
    def term_names(self) -> tuple[str, ...]:
        """The terms of all their rewards."""
        return tuple(dict.fromkeys(term for each in self for term in each.terms))

    def worst(self, count: int = 10, *, term: str | None = None) -> "Episodes":
        """Return those that earned least, the worst first; by one `term`, those that have it."""
        return Episodes(heapq.nsmallest(check_count(count), self._with_term(term), key=_build_key(term)))

    def best(self, count: int = 10, *, term: str | None = None) -> "Episodes":
        """Return those that earned most, the best first; by one `term`, those that have it."""
        return Episodes(heapq.nlargest(check_count(count), self._with_term(term), key=_build_key(term)))

    def _with_term(self, term: str | None) -> Sequence[Episode]:
        if term is None or not self:
            return self._listed
        check_term(term, self.term_names)
        return [each for each in self if term in each.terms]

    def to_columns(self) -> dict[str, list[Any]]:
        """Return a column for each part of an episode and for each term: None where its reward has no such term."""
        plain = [name for name in Episode.__slots__ if name != "terms"]
        columns = {name: [getattr(each, name) for each in self] for name in plain}
        paid = {term: [each.terms.get(term) for each in self] for term in self.term_names}
        return columns | {f"{term}.value" if term in plain else term: column for term, column in paid.items()}


def _build_key(term: str | None) -> Any:
    return (lambda each: each.total) if term is None else (lambda each: each.terms[term])


# -- listing -----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Tally:
    """An episode that is being put together out of its parts."""

    first_record: int = 2**63
    last_record: int = 0
    earliest: int = 2**63
    latest: int = -(2**63)
    steps: list[int] = field(default_factory=list)
    length: int = 0
    ends: set[str | None] = field(default_factory=set)
    totals: list[float] = field(default_factory=list)
    terms: dict[str, list[float]] = field(default_factory=dict)

    def add(self, first: int, spec: RewardTerms, part: EpisodePart) -> None:
        self.first_record = min(self.first_record, first + part.position)
        self.last_record = max(self.last_record, first + part.last)
        self.earliest, self.latest = min(self.earliest, part.earliest), max(self.latest, part.latest)
        self.steps += [step for step in (part.step_low, part.step_high) if step is not None]
        self.length += part.records if spec.part == "whole" else 0
        self.ends.add("terminated" if spec.part == "final" and part.ended is None else part.ended)
        self.totals.append(part.total)
        for term, value in zip(spec.terms, struct.unpack(f"<{len(spec.terms)}d", part.terms), strict=True):
            self.terms.setdefault(term, []).append(value)

    def finish(self, run: str | None, actor: str | None, episode: str, reward: str, version: str) -> Episode:
        return Episode(
            run,
            actor,
            episode,
            reward,
            version,
            add_up(self.totals),
            self.length,
            {term: add_up(values) for term, values in self.terms.items()},
            next((end for end in ENDS if end in self.ends), None),
            min(self.steps, default=None),
            max(self.steps, default=None),
            to_datetime(self.earliest),
            to_datetime(self.latest),
            self.first_record,
            self.last_record,
        )


def list_episodes(store: Store, query: Query) -> Episodes:
    """Return the episodes that the records of a query are of, those records added up.

    `since` and `until` choose by when an episode began.
    """
    for name in _NOT_CHOSEN_BY:
        if getattr(query, name) is not None:
            raise LedgerError(f"episodes cannot be chosen by {name!r}; choose records with history().")
    whole = replace(query, since=None, until=None)  # or an episode would lack what lies outside
    tallies: dict[tuple[str | None, str | None, str, str, str], _Tally] = {}
    with report_damage(store.backend.name, "what is kept of an episode"), store.backend.snapshot() as connection:
        rewards = read_terms(connection)
        for block, part in _read_parts(store, connection, whole):
            if query.episode is None or part.episode == query.episode:
                spec = rewards[block.spec]
                key = (block.run, block.actor, part.episode, spec.reward, spec.version)
                if key not in tallies:
                    tallies[key] = _Tally()
                tallies[key].add(block.first, spec, part)
    found = [tally.finish(*key) for key, tally in tallies.items()]
    return Episodes(each for each in sorted(found, key=lambda each: each.first_record) if _began_within(each, query))


_ABOUT = (blocks.c.first, blocks.c.records, blocks.c.spec, blocks.c.origin, scopes.c.run, scopes.c.actor)
_LOCATED = blocks.join(scopes, scopes.c.id == blocks.c.scope)


def _began_within(episode: Episode, query: Query) -> bool:
    return (query.since is None or episode.began >= to_datetime(query.since)) and (
        query.until is None or episode.began < to_datetime(query.until)
    )


def _read_parts(store: Store, connection: Connection, query: Query) -> Iterator[tuple[Any, EpisodePart]]:
    """Yield blocks with what they have of episodes, in order; a re-scoring ends as the blocks say that it scored."""
    chosen = BlockSearch(store, query).where(select(blocks.c.first), connection)
    ends = {} if query.job is None else dict(_read_ends(connection, query.job))
    unsplit: list[int] = []
    for row in connection.execute(_build_statement(chosen), execution_options=_STREAMED):
        if row.position is not None:
            part = EpisodePart(*row[-len(EpisodePart._fields) :])
            end = part.ended or ends.get((row.origin, part.episode))
            yield row, part._replace(ended=end, terms=bytes(part.terms))
        elif row.records == 1:
            yield from _split(row, ends)
        else:  # nothing is kept of it, as of a block of a re-scoring that refused every record
            unsplit.append(row.first)
    whole = select(*_ABOUT, *(blocks.c[name] for name in _OPENED)).select_from(_LOCATED)
    for first in unsplit:
        for row in connection.execute(whole.where(blocks.c.first == first)):
            yield from _split(row, ends)


def _split(row: Any, ends: Mapping[tuple[int, str], str]) -> Iterator[tuple[Any, EpisodePart]]:
    """Yield a block that was opened with what it has of each episode."""
    for part in split_episodes(row.records, *(row._mapping[name] for name in _OPENED)):
        yield row, part._replace(ended=part.ended or ends.get((row.origin, part.episode)))


def _build_statement(chosen: Select[Any]) -> Select[Any]:
    """Return what reads the parts of the chosen blocks; of a block of one record, the record itself."""
    single = [case((blocks.c.records == 1, blocks.c[name])).label(name) for name in _OPENED]
    parts: list[Any] = [episode_parts.c[name] for name in EpisodePart._fields]
    parts[2:] = [column.label(f"part_{column.name}") for column in parts[2:]]
    return (
        select(*_ABOUT, *single, *parts)
        .select_from(_LOCATED.outerjoin(episode_parts, episode_parts.c.first == blocks.c.first))
        .where(blocks.c.first.in_(chosen), blocks.c.episodes.is_not(None))
        .order_by(blocks.c.first, episode_parts.c.position)
    )


def _read_ends(connection: Connection, job: int) -> Iterator[tuple[tuple[int, str], str]]:
    """Yield how episodes ended in the blocks that a re-scoring scored, by block and episode."""
    scored = select(blocks.c.origin).where(blocks.c.job == job)
    kept = select(episode_parts.c.first, episode_parts.c.episode, episode_parts.c.ended)
    for row in connection.execute(kept.where(episode_parts.c.first.in_(scored), episode_parts.c.ended.is_not(None))):
        yield (row.first, row.episode), row.ended
    single = select(*_ABOUT, *(blocks.c[name] for name in _OPENED)).select_from(_LOCATED)
    single = single.where(blocks.c.first.in_(scored), blocks.c.records == 1, blocks.c.contexts.is_not(None))
    for row in connection.execute(single.where(blocks.c.episodes.is_not(None)), execution_options=_STREAMED):
        for _, part in _split(row, {}):
            if part.ended is not None:
                yield (row.first, part.episode), part.ended
