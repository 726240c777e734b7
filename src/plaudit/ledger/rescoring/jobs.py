"""The re-scorings of a ledger."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select

from plaudit.ledger.places.place import Place
from plaudit.ledger.places.schema import blocks, jobs, specs
from plaudit.ledger.record import moment


@dataclass(frozen=True, slots=True)
class Job:
    """A re-scoring: `ledger.history(job=job.id)` are its records."""

    id: int
    reward: str
    version: str
    chosen: Mapping[str, Any]
    """Which records were to be scored; empty for all."""
    records: int
    started: datetime
    finished: datetime | None
    """None where it was interrupted; calling `rescore` again goes on with it."""


def listed(place: Place) -> list[Job]:
    """Return every re-scoring, oldest first."""
    count = func.coalesce(func.sum(blocks.c.records), 0).label("records")
    statement = (
        select(jobs, specs.c.name, specs.c.version, count)
        .join(specs, specs.c.id == jobs.c.spec)
        .outerjoin(blocks, blocks.c.job == jobs.c.id)
        .group_by(jobs.c.id, specs.c.name, specs.c.version)
        .order_by(jobs.c.id)
    )
    with place.reading() as connection:
        return [
            Job(
                row.id,
                row.name,
                row.version,
                json.loads(row.filters),
                int(row.records),
                moment(row.started),
                None if row.finished is None else moment(row.finished),
            )
            for row in connection.execute(statement)
        ]
