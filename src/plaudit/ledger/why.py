"""Why a reward was what it was: one record, from its inputs to its total."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from plaudit.errors import NotInLedger
from plaudit.ledger.blocks.shelf import Shelf
from plaudit.ledger.choice import Choice
from plaudit.ledger.history import History
from plaudit.ledger.places.place import Place
from plaudit.ledger.places.schema import writers
from plaudit.ledger.record import Record

_CONTEXT = ("run", "episode", "step", "phase", "decision_class", "actor", "key", "context")


@dataclass(frozen=True, slots=True)
class Why:
    """A record explained; `print` it."""

    record: Record
    host: str
    process: int
    made_with: str

    def __str__(self) -> str:
        """Return when and where it was recorded, the context, each term from score to value, and the inputs."""
        record = self.record
        given = {name: getattr(record, name) for name in _CONTEXT}
        shown = ", ".join(f"{name}={value!r:.200}" for name, value in given.items() if value is not None)
        stamp = record.at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        lines = [
            f"record {record.id}, {stamp}, written by process {self.process} on {self.host}",
            *([f"where: {shown}"] if shown else []),
            *([f"re-scores record {record.origin} (job {record.job})"] if record.origin is not None else []),
            f"formula {record.signal.fingerprint[:12]}, computed by the {record.target} target",
            "",
            record.signal.explain(),
        ]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain data for JSON."""
        about = {"host": self.host, "process": self.process, "made_with": self.made_with}
        return {**self.record.to_dict(), "recorded_by": about}


def find(place: Place, shelf: Shelf, record: int | str) -> Record:
    """Return the record with a number or a key; NotInLedger if there is none."""
    choice = Choice.of({"key" if isinstance(record, str) else "id": record})
    for found in History(place, shelf, choice):
        return found
    what = f"the key {record!r}" if isinstance(record, str) else f"the number {record}"
    raise NotInLedger(f"{place.name} has no record with {what}.")


def explained(place: Place, record: Record) -> Why:
    """Return a record with what is known of its writer."""
    with place.reading() as connection:
        row = connection.execute(select(writers).where(writers.c.id == record.writer)).one()
    return Why(record, row.host, row.process, row.made_with)
