"""Heads: where the chains of a ledger end. Kept elsewhere, they show later whether the past was rewritten."""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from plaudit.errors import SpecError, WrongType
from plaudit.ledger.backends.backend import read_bytes, require_type
from plaudit.ledger.context import to_datetime
from plaudit.ledger.storage.schema import table_heads, writers

_WRITERS = select(writers).order_by(writers.c.id)
_TABLES = select(table_heads).order_by(table_heads.c.name)


@dataclass(frozen=True, slots=True)
class Head:
    """Where a writer's chain ends."""

    writer: int
    host: str
    process: int
    opened: datetime
    records: int
    checksum: str

    def to_dict(self) -> dict[str, Any]:
        """Return the head as plain data for JSON."""
        opened = self.opened.isoformat().replace("+00:00", "Z")
        return {**{name: getattr(self, name) for name in self.__slots__}, "opened": opened}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Head":
        """Return the head that `to_dict` wrote; SpecError where it wrote no such thing."""
        try:
            bytes.fromhex(data["checksum"])
            return cls(**{**data, "opened": datetime.fromisoformat(data["opened"])})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise SpecError(f"this is not the head of a ledger's chain: {type(error).__name__}: {error}") from None


@dataclass(frozen=True, slots=True)
class TableHead:
    """Where the chain of a small table ends: rewards, re-scorings, imports, writers."""

    rows: int
    checksum: str


@dataclass(frozen=True, slots=True)
class LedgerHead:
    """Where every chain of a ledger ends, and one digest of all of it.

    It shows later that what was there is still there, however much was added since.
    """

    writers: tuple[Head, ...]
    tables: Mapping[str, TableHead]
    signature: bytes | None = field(default=None, compare=False)
    """Of `digest`, where the ledger that published the head signs."""

    @property
    def records(self) -> int:
        """How many records there are."""
        return sum(head.records for head in self.writers)

    @property
    def digest(self) -> str:
        """The head of the ledger: a digest of the heads of all writers and tables."""
        ends = [[head.writer, head.records, head.checksum] for head in self.writers]
        tables = [[name, head.rows, head.checksum] for name, head in self.tables.items()]
        return hashlib.sha256(json.dumps([sorted(ends), sorted(tables)]).encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Return the head as plain data for JSON."""
        tables = {name: {"rows": head.rows, "checksum": head.checksum} for name, head in self.tables.items()}
        signed = {} if self.signature is None else {"signature": self.signature.hex()}
        return {"head": self.digest, "heads": [head.to_dict() for head in self.writers], "tables": tables, **signed}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "LedgerHead":
        """Return the head that `to_dict` wrote, alone or among other things; SpecError where it wrote no such thing."""
        try:
            tables = {name: TableHead(int(each["rows"]), each["checksum"]) for name, each in data["tables"].items()}
            for each in tables.values():
                bytes.fromhex(each.checksum)
            signature = bytes.fromhex(data["signature"]) if "signature" in data else None
            found = cls(tuple(map(Head.from_dict, data["heads"])), tables, signature)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            if isinstance(error, SpecError):
                raise
            raise SpecError(f"this is not the head of a ledger: {type(error).__name__}: {error}") from None
        if "head" in data and data["head"] != found.digest:
            raise SpecError("this head of a ledger was changed after it was written: its digest does not match")
        return found


def read_head(connection: Connection) -> LedgerHead:
    """Return where every chain of a ledger ends, in one view of it; one of UNREADABLE where a row is damaged."""
    heads, tables = [], {}
    for row in connection.execute(_WRITERS):
        require_type(str, row.host)
        require_type(int, row.process, row.records)
        heads.append(
            Head(row.id, row.host, row.process, to_datetime(row.opened), row.records, read_bytes(row.head).hex())
        )
    for row in connection.execute(_TABLES):
        require_type(int, row.rows)
        tables[row.name] = TableHead(row.rows, read_bytes(row.head).hex())
    return LedgerHead(tuple(heads), tables)


def collect_heads(kept: Iterable[Head | LedgerHead]) -> tuple[list[Head], list[tuple[str, TableHead]]]:
    """Return the heads of writers and of tables in what was kept, each once."""
    writers: dict[Head, None] = {}
    tables: dict[tuple[str, TableHead], None] = {}
    for each in kept:
        if isinstance(each, Head):
            writers[each] = None
        else:
            writers.update(dict.fromkeys(each.writers))
            tables.update(dict.fromkeys(each.tables.items()))
    return list(writers), list(tables)


def list_heads(kept: Any) -> Iterator[Head | LedgerHead]:
    """Yield what was kept: a head of a ledger, or many heads of either kind, as they are or as their JSON."""
    if isinstance(kept, str | bytes | os.PathLike) or not isinstance(kept, Iterable | LedgerHead):
        raise WrongType(
            f"heads={kept!r:.60} must be what stats().head or stats().heads returned: a head, a list of heads, or "
            "their JSON."
        )
    for each in [kept] if isinstance(kept, LedgerHead | Mapping) else kept:
        if isinstance(each, Head | LedgerHead):
            yield each
        else:
            yield LedgerHead.from_dict(each) if isinstance(each, Mapping) and "heads" in each else Head.from_dict(each)
