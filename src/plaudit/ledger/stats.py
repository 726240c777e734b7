"""How much of what is in a ledger."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select

from plaudit.errors import SpecError
from plaudit.ledger.context import to_datetime
from plaudit.ledger.history import History
from plaudit.ledger.query import Query
from plaudit.ledger.storage.schema import blocks, jobs, scopes, specs, writers
from plaudit.ledger.storage.store import Store
from plaudit.ledger.totals import Tally, Totals
from plaudit.terminal import format_count, format_table

_LABEL = (specs.c.id, specs.c.name, specs.c.version)
_LISTED = 20
"""Decision classes and writers that `str` lists; those with the most records, and the latest."""


@dataclass(frozen=True, slots=True)
class Head:
    """Where a writer's chain ends: kept elsewhere, it shows later whether the past was rewritten."""

    writer: int
    host: str
    process: int
    opened: datetime
    records: int
    checksum: str

    def to_dict(self) -> dict[str, Any]:
        """Return the head as plain data for JSON."""
        return {**{name: getattr(self, name) for name in self.__slots__}, "opened": _format_time(self.opened)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Head":
        """Return the head that `to_dict` wrote; SpecError where it wrote no such thing."""
        try:
            bytes.fromhex(data["checksum"])
            return cls(**{**data, "opened": datetime.fromisoformat(data["opened"])})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise SpecError(f"this is no head of a ledger's chain: {type(error).__name__}: {error}") from None


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
    heads: tuple[Head, ...]

    def __str__(self) -> str:
        """Return tables that a person can read; of checksums the first digits, which `heads` has in full."""
        parts = [f"{self.ledger}: {format_count(self.records, 'record')}, {self.bytes:,} bytes"]
        if self.first is not None and self.last is not None:
            parts.append(f"from {_format_time(self.first)} to {_format_time(self.last)}")
        if self.jobs:
            parts.append(f"{format_count(self.rescored, 'new score')} of {format_count(self.jobs, 're-scoring')}")
        tables = [_format_totals("reward", self.rewards), _format_totals("decision class", self.decision_classes)]
        return "\n\n".join(["\n".join(parts), *filter(None, tables), *([self._format_writers()] if self.heads else [])])

    def _format_writers(self) -> str:
        rows: list[tuple[str, ...]] = [("writer", "host", "process", "opened", "records", "chain ends in")]
        for head in self.heads[-_LISTED:]:
            opened = head.opened.isoformat(timespec="seconds").replace("+00:00", "Z")
            number, process = str(head.writer), str(head.process)
            rows.append((number, head.host, process, opened, f"{head.records:,}", f"{head.checksum[:16]}…"))
        return format_table(rows) + _format_rest(len(self.heads), "earlier writer")

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data for JSON."""
        counts = ("ledger", "bytes", "records", "rescored", "jobs")
        heads = [head.to_dict() for head in self.heads]
        return {
            **{name: getattr(self, name) for name in counts},
            "first": _format_time(self.first),
            "last": _format_time(self.last),
            "rewards": {name: totals.to_dict() for name, totals in self.rewards.items()},
            "decision_classes": {name: totals.to_dict() for name, totals in self.decision_classes.items()},
            "heads": heads,
        }


def _format_totals(title: str, found: Mapping[str, Totals]) -> str:
    """Return a table of those with the most records; nothing where there are none."""
    rows: list[tuple[str, ...]] = [(title, "records", "mean", "low", "high")]
    for name, totals in sorted(found.items(), key=lambda each: -each[1].records)[:_LISTED]:
        rows.append((name, f"{totals.records:,}", *(f"{n:.6g}" for n in (totals.mean, totals.low, totals.high))))
    return format_table(rows) + _format_rest(len(found), "other") if found else ""


def _format_rest(count: int, noun: str) -> str:
    return f"\n… and {format_count(count - _LISTED, noun)}" if count > _LISTED else ""


def _format_time(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat().replace("+00:00", "Z")


def compute_stats(store: Store) -> Stats:
    """Return how much of what is in a ledger."""
    rewards: defaultdict[str, Tally] = defaultdict(Tally)
    classes: defaultdict[str, Tally] = defaultdict(Tally)
    tallies = History(store, Query()).tally_totals(blocks.c.spec, blocks.c.scope)
    with store.backend.snapshot() as connection:
        earliest, latest = connection.execute(select(func.min(blocks.c.earliest), func.max(blocks.c.latest))).one()
        rescored = connection.execute(select(func.sum(blocks.c.records)).where(blocks.c.job.is_not(None))).scalar()
        count = connection.execute(select(func.count()).select_from(jobs)).scalar_one()
        names = {row.id: f"{row.name}@{row.version}" for row in connection.execute(select(*_LABEL))}
        found = {row.id: row.decision_class for row in connection.execute(select(scopes.c.id, scopes.c.decision_class))}
        heads = [
            Head(row.id, row.host, row.process, to_datetime(row.opened), row.records, bytes(row.head).hex())
            for row in connection.execute(select(writers).order_by(writers.c.id))
        ]
    for (spec, scope), tally in tallies.items():
        rewards[names[spec]].join(tally)
        if found[scope] is not None:
            classes[found[scope]].join(tally)
    return Stats(
        store.backend.name,
        store.backend.size(),
        sum(tally.records for tally in rewards.values()),
        int(rescored or 0),
        int(count),
        None if earliest is None else to_datetime(earliest),
        None if latest is None else to_datetime(latest),
        {name: tally.finish() for name, tally in rewards.items()},
        {name: tally.finish() for name, tally in classes.items()},
        tuple(heads),
    )
