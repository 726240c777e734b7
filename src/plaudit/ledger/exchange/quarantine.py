"""Quarantined records: imported records that do not recompute."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, insert, select

from plaudit.ledger.context import to_datetime
from plaudit.ledger.storage.chain import CHAINED
from plaudit.ledger.storage.schema import quarantine
from plaudit.ledger.storage.sources import build_lookup, look_up
from plaudit.ledger.storage.store import Store

_COLUMNS = ("digest", "source", "at", "file", "line", "reason", "record")
_ADD = insert(quarantine).values({name: bindparam(name) for name in _COLUMNS})
_FIND = build_lookup(select(*(quarantine.c[name] for name in CHAINED["quarantine"])), quarantine.c.digest)
_PAGE = 500


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A record that was not taken in, and why."""

    id: int
    source: str
    """Where it says that it was first recorded."""
    at: datetime
    """When it was brought, in UTC."""
    file: str
    line: int
    reason: str
    record: Mapping[str, Any]
    """The record as the file has it."""

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data for JSON."""
        plain = {name: getattr(self, name) for name in self.__slots__}
        return {**plain, "at": self.at.isoformat().replace("+00:00", "Z")}


@dataclass(frozen=True, slots=True)
class Refused:
    """A record of a file that is not to be taken in."""

    source: str
    line: int
    reason: str
    record: Mapping[str, Any]

    @property
    def content(self) -> str:
        """The record as JSON."""
        return json.dumps(self.record)

    @property
    def digest(self) -> str:
        """What it is found by: the same record is kept once, whatever file brings it."""
        return hashlib.sha256(self.content.encode()).hexdigest()


def add_quarantined(store: Store, cursor: Any, file: str, refused: Sequence[Refused]) -> int:
    """Keep records apart, inside a transaction; return how many of them were not kept already."""
    new = {each.digest: each for each in refused}
    for _, digest, *_ in look_up(store.backend, cursor, _FIND, list(new)):
        del new[digest]
    now, statement = store.writer.now(), store.backend.render(_ADD)
    for digest, each in new.items():
        cursor.execute(statement, (digest, each.source, now, file, each.line, each.reason, each.content))
    store.writer.chain_rows(cursor, "quarantine", sorted(look_up(store.backend, cursor, _FIND, list(new))))
    return len(new)


def list_quarantined(store: Store, after: int) -> Iterator[Quarantined]:
    """Yield the quarantined records with a number above `after`, in order of arrival."""
    while True:
        with store.backend.snapshot() as connection:
            rows = connection.execute(
                select(quarantine).where(quarantine.c.id > after).order_by(quarantine.c.id).limit(_PAGE)
            ).all()
        for row in rows:
            at, record = to_datetime(row.at), json.loads(row.record)
            yield Quarantined(row.id, row.source, at, row.file, row.line, row.reason, record)
        if len(rows) < _PAGE:
            return
        after = rows[-1].id
