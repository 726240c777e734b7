"""How much of what is in a ledger."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select

from plaudit.html import Markup, build_element, build_heading, build_name, build_note, build_table, join
from plaudit.ledger.backends.backend import report_damage, require_type
from plaudit.ledger.context import to_datetime
from plaudit.ledger.heads import Head, LedgerHead, read_head
from plaudit.ledger.history import History, read_rates
from plaudit.ledger.query import Query
from plaudit.ledger.storage.schema import blocks, jobs, quarantine, scopes, specs
from plaudit.ledger.storage.store import Store
from plaudit.ledger.totals import Tally, Totals
from plaudit.terminal import escape_controls, format_count, format_table

_LABEL = (specs.c.id, specs.c.name, specs.c.version)
_NUMBERS = ("records", "mean", "low", "high")
_LISTED = 20
"""Decision classes and writers that `str` lists; those with the most records, and the latest."""


@dataclass(frozen=True, slots=True)
class Stats:
    """How much of what is in a ledger."""

    ledger: str
    bytes: int
    records: int
    rescored: int
    jobs: int
    first: datetime | None
    last: datetime | None
    rewards: Mapping[str, Totals]
    decision_classes: Mapping[str, Totals]
    head: LedgerHead
    """Where every chain of the ledger ends: to be kept elsewhere, for `verify`."""
    quarantined: int = 0
    """Quarantined records; no other number includes them."""

    @property
    def heads(self) -> tuple[Head, ...]:
        """Where the chain of each writer ends."""
        return self.head.writers

    def __str__(self) -> str:
        """Return tables that a person can read; of checksums the first digits, which `heads` has in full."""
        tables = [_format_totals("reward", self.rewards), _format_totals("decision class", self.decision_classes)]
        tables += [self._format_writers(), f"head of the ledger: {self.head.digest}"] if self.heads else []
        return escape_controls("\n\n".join(["\n".join(self._lines()), *filter(None, tables)]))

    def _repr_html_(self) -> str:
        first, *others = self._lines()
        tables = [_build_totals("reward", self.rewards), _build_totals("decision class", self.decision_classes)]
        head = build_note("head of the ledger: ", build_element("code", self.head.digest)) if self.heads else None
        return join(build_heading(first), *map(build_note, others), *tables, head)

    def _lines(self) -> list[str]:
        parts = [f"{self.ledger}: {format_count(self.records, 'record')}, {self.bytes:,} bytes"]
        if self.first is not None and self.last is not None:
            parts.append(f"from {_format_time(self.first)} to {_format_time(self.last)}")
        if masked := sum(totals.masked for totals in self.rewards.values()):
            parts.append(f"{masked:,} of them masked: they have no score")
        if self.jobs:
            parts.append(f"{format_count(self.rescored, 'new score')} from {format_count(self.jobs, 're-scoring')}")
        if self.quarantined:
            parts.append(f"{format_count(self.quarantined, 'record')} in quarantine")
        return parts

    def _format_writers(self) -> str:
        rows: list[tuple[str, ...]] = [("writer", "host", "process", "opened", "records", "chain ends in")]
        for head in self.heads[-_LISTED:]:
            opened = head.opened.isoformat(timespec="seconds").replace("+00:00", "Z")
            number, process = str(head.writer), str(head.process)
            rows.append((number, head.host, process, opened, f"{head.records:,}", f"{head.checksum[:16]}…"))
        return format_table(rows) + _format_rest(len(self.heads), "earlier writer")

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data for JSON."""
        counts = ("ledger", "bytes", "records", "rescored", "jobs", "quarantined")
        return {
            **{name: getattr(self, name) for name in counts},
            "first": _format_time(self.first),
            "last": _format_time(self.last),
            "rewards": {name: totals.to_dict() for name, totals in self.rewards.items()},
            "decision_classes": {name: totals.to_dict() for name, totals in self.decision_classes.items()},
            **self.head.to_dict(),
        }


def _format_totals(title: str, found: Mapping[str, Totals]) -> str:
    """Return a table of those with the most records; nothing where there are none."""
    rows = [(title, *_NUMBERS), *_list_totals(found)[:_LISTED]]
    return format_table(rows) + _format_rest(len(found), "other") if found else ""


def _build_totals(title: str, found: Mapping[str, Totals]) -> Markup | None:
    rows = [(build_name(name), *numbers) for name, *numbers in _list_totals(found)]
    return build_table((title, *_NUMBERS), rows, right=_NUMBERS, most=_LISTED) if found else None


def _list_totals(found: Mapping[str, Totals]) -> list[tuple[str, ...]]:
    """Return the cells of each row, those with the most records first."""
    return [(name, *each.format_cells()) for name, each in sorted(found.items(), key=lambda pair: -pair[1].records)]


def _format_rest(count: int, noun: str) -> str:
    return f"\n… and {format_count(count - _LISTED, noun)}" if count > _LISTED else ""


def _format_time(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat().replace("+00:00", "Z")


def compute_stats(store: Store) -> Stats:
    """Return how much of what is in a ledger."""
    with report_damage(store.backend.name, "a row"):
        return _compute_stats(store)


def _compute_stats(store: Store) -> Stats:
    rewards: defaultdict[str, Tally] = defaultdict(Tally)
    classes: defaultdict[str, Tally] = defaultdict(Tally)
    tallies = History(store, Query()).tally_totals(blocks.c.spec, blocks.c.scope)
    with store.backend.snapshot() as connection:
        earliest, latest = connection.execute(select(func.min(blocks.c.earliest), func.max(blocks.c.latest))).one()
        rescored = connection.execute(select(func.sum(blocks.c.records)).where(blocks.c.job.is_not(None))).scalar()
        count = connection.execute(select(func.count()).select_from(jobs)).scalar_one()
        apart = connection.execute(select(func.count()).select_from(quarantine)).scalar_one()
        head = read_head(connection)
        names = {row.id: f"{row.name}@{row.version}" for row in connection.execute(select(*_LABEL))}
        found = {row.id: row.decision_class for row in connection.execute(select(scopes.c.id, scopes.c.decision_class))}
        rates = read_rates(connection)
    require_type(str, *found.values())
    for (spec, scope), tally in tallies.items():
        rewards[names[spec]].join(tally, rate=rates.get(scope))
        if found[scope] is not None:
            classes[found[scope]].join(tally, rate=rates.get(scope))
    return Stats(
        store.backend.name,
        store.backend.size(),
        sum(tally.records + tally.masked for tally in rewards.values()),
        int(rescored or 0),
        int(count),
        None if earliest is None else to_datetime(earliest),
        None if latest is None else to_datetime(latest),
        {name: tally.finish() for name, tally in rewards.items()},
        {name: tally.finish() for name, tally in classes.items()},
        head,
        int(apart),
    )
