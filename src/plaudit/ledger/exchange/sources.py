"""Where a record was first recorded: what tells it from every other, in whatever ledger it has come to lie."""

from collections.abc import Iterable, Iterator

from sqlalchemy import func, select

from plaudit.ledger.history import History, records
from plaudit.ledger.places.place import Place
from plaudit.ledger.places.schema import imported, writers
from plaudit.ledger.record import Record

_TOGETHER = 500


def sourced(place: Place, history: History) -> Iterator[tuple[str, Record]]:
    """Yield records, each with its source."""
    with place.reading() as connection:
        any_imported = connection.execute(select(func.count()).select_from(imported)).scalar_one() > 0
    tokens: dict[int, str] = {}
    for page in history.pages():
        row = page.row
        known: dict[int, str] = {}
        if any_imported or row.writer not in tokens:
            with place.reading() as connection:
                tokens = {each.id: each.token for each in connection.execute(select(writers.c.id, writers.c.token))}
                inside = imported.c.record.between(row.first, row.first + row.records - 1)
                known = {each.record: each.source for each in connection.execute(select(imported).where(inside))}
        for record in records(page):
            own = f"{tokens[row.writer]}/{row.seq}/{record.id - row.first}"
            yield known.get(record.id, own), record


def known_sources(place: Place, sources: Iterable[str]) -> set[str]:
    """Return which of these records a ledger has: those it was the first to record, and those it took in."""
    wanted = list(sources)
    with place.reading() as connection:
        own = {token for (token,) in connection.execute(select(writers.c.token))}
        found = {source for source in wanted if source.partition("/")[0] in own}
        for start in range(0, len(wanted), _TOGETHER):
            part = select(imported.c.source).where(imported.c.source.in_(wanted[start : start + _TOGETHER]))
            found |= {source for (source,) in connection.execute(part)}
    return found
