"""Runs, and what their rewards are like by run, actor, term …: tables for people who look for something odd."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from sqlalchemy import func, select

from plaudit.errors import LedgerError, did_you_mean
from plaudit.ledger.backends.backend import report_damage
from plaudit.ledger.context import NAMES, to_datetime
from plaudit.ledger.history import History
from plaudit.ledger.query import Query
from plaudit.ledger.search import BlockSearch, read_values
from plaudit.ledger.storage.order import list_order
from plaudit.ledger.storage.schema import blocks, scopes, specs
from plaudit.ledger.storage.specs import read_terms
from plaudit.ledger.storage.store import Store
from plaudit.ledger.summary.listing import list_episodes
from plaudit.ledger.totals import Tally, Totals

GROUPS = ("reward", *NAMES, "term")
"""What totals can be grouped by."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a reward paid in one run."""

    run: str | None
    reward: str
    version: str
    records: int
    episodes: int
    """How many are finished."""
    unfinished: int
    """How many more have no end, and count as no return."""
    returns: Totals
    """What the returns of the finished ones are like."""
    began: datetime
    latest: datetime
    """When its last record was made."""
    estimated_records: float | None = None
    """An estimate of how many steps it took, where a sample of its episodes is recorded; None where all are."""

    @property
    def estimated_episodes(self) -> float | None:
        """An estimate of how many episodes were finished, where a sample is recorded; None where all are."""
        return self.returns.estimated

    def to_dict(self) -> dict[str, Any]:
        """Return the run as plain data for JSON; estimates only where a sample is recorded."""
        plain = {name: getattr(self, name) for name in self.__slots__}
        if self.estimated_records is None:
            del plain["estimated_records"]
        else:
            plain["estimated_episodes"] = self.estimated_episodes
        times = {name: plain[name].isoformat().replace("+00:00", "Z") for name in ("began", "latest")}
        returns = {name: getattr(self.returns, name) for name in ("mean", "low", "high")}
        return {**plain, **times, "returns": returns if self.episodes else None}


def list_runs(store: Store, query: Query) -> list[Run]:
    """Return the runs of a ledger, one for each reward that paid in it, in the order in which they began."""
    allowed = ("reward", "version", "job", *NAMES)
    for name in query.to_dict():
        if name not in allowed:
            raise LedgerError(f"runs cannot be chosen by {name!r}. Choose by: {', '.join(allowed)}.")
    listed = list_episodes(store, query)
    columns = map(listed.select_column, ("run", "reward", "version", "sample_rate", "finished", "total"))
    totals: defaultdict[tuple[Any, ...], list[float]] = defaultdict(list)
    unfinished: Counter[tuple[Any, ...]] = Counter()
    for *of, finished, total in zip(*columns, strict=True):
        if finished or total != total:  # NaN, of one without a score, counts as masked
            totals[tuple(of)].append(total)
        else:
            unfinished[tuple(of[:3])] += 1
    returns: defaultdict[tuple[Any, ...], Tally] = defaultdict(Tally)
    for (*of, rate), each in totals.items():
        returns[tuple(of)].add(np.array(each), rate=rate)
    key = (scopes.c.run, specs.c.name, specs.c.version)
    weighed = func.sum(blocks.c.records / func.coalesce(scopes.c.sample_rate, 1.0))
    counted = (func.sum(blocks.c.records), func.min(blocks.c.earliest), func.max(blocks.c.latest), weighed)
    with report_damage(store.backend.name, "a block"), store.backend.snapshot() as connection:
        chosen = BlockSearch(store, query).where(select(blocks.c.first), connection)
        joined = blocks.join(scopes, scopes.c.id == blocks.c.scope).join(specs, specs.c.id == blocks.c.spec)
        statement = select(*key, *counted).select_from(joined).where(blocks.c.first.in_(chosen)).group_by(*key)
        rows = connection.execute(statement.order_by(*map(func.min, list_order(connection.dialect)))).all()
        return [_build_run(row, returns[tuple(row[:3])], unfinished[tuple(row[:3])]) for row in rows]


def _build_run(row: Any, returns: Tally, unfinished: int) -> Run:
    run, reward, version, records, earliest, latest, count = row
    times = to_datetime(earliest), to_datetime(latest)
    estimated = None if count == records else float(count)
    return Run(run, reward, version, int(records), returns.records, unfinished, returns.finish(), *times, estimated)


def group_totals(store: Store, query: Query, by: Sequence[str]) -> dict[tuple[str | None, ...], Totals]:
    """Return what totals are like for each run, actor …, or with "term" the values of each term."""
    for name in by:
        if name not in GROUPS:
            hint = " Use episodes() to list what each episode earned." if name == "episode" else ""
            near = did_you_mean(name, GROUPS)
            raise LedgerError(f"totals cannot be grouped by {name!r}.{near or hint} Group by: {', '.join(GROUPS)}.")
    if not by:
        raise LedgerError(f"name at least one group for totals: {', '.join(GROUPS)}.")
    by_term = "term" in by
    found: defaultdict[tuple[str | None, ...], Tally] = defaultdict(Tally)
    with report_damage(store.backend.name, "a row"):
        tallies = _tally_terms(store, query) if by_term else History(store, query).tally_totals(*_BLOCK)
        with store.backend.snapshot() as connection:
            rewards = read_terms(connection)
            parts = {row.id: row._mapping for row in connection.execute(select(scopes))}
        for (spec, scope, *term), tally in tallies.items():
            label = f"{rewards[spec].reward}@{rewards[spec].version}"
            about = {**parts[scope], "reward": label, "term": rewards[spec].terms[term[0]] if term else None}
            found[tuple(about[name] for name in by)].join(tally, rate=parts[scope]["sample_rate"])
    return {key: tally.finish() for key, tally in found.items() if tally.records or tally.masked}


_BLOCK = (blocks.c.spec, blocks.c.scope)


def _tally_terms(store: Store, query: Query) -> dict[tuple[Any, ...], Tally]:
    """Return the values of each term added up, by reward, scope and the term's place in the reward."""
    found: defaultdict[tuple[Any, ...], Tally] = defaultdict(Tally)
    for row, chosen in BlockSearch(store, query).read((blocks.c.outputs, *_BLOCK)):
        with report_damage(store.backend.name, f"the block of record {row.first}"):
            values = read_values(row)[:, 1:]
        for at, column in enumerate((values if chosen is None else values[chosen]).T):
            found[row.spec, row.scope, at].add(column)
    return found
