"""Archiving by itself: a ledger with a lake sends its records there when enough have gathered, and when it closes."""

import warnings
from contextlib import suppress
from threading import Thread
from typing import Any

from sqlalchemy import func, select

from plaudit.errors import PlauditError
from plaudit.ledger.lake.archive import archive
from plaudit.ledger.lake.delta import check_installed
from plaudit.ledger.storage.lake_files import parse_lake
from plaudit.ledger.storage.schema import segments
from plaudit.ledger.storage.store import Store

ENOUGH = 1 << 16
"""Records that are worth archiving."""
_WAITING = select(func.coalesce(func.sum(segments.c.records), 0)).where(segments.c.path.not_like("%://%"))
_PENDING = select(func.count()).select_from(segments).where(segments.c.lake.is_not(None))


class Archiver:
    """Sends records to a lake from a thread of its own, one at a time.

    Records are durable before: what fails is tried again with the next records, a warning says so at the next write,
    and closing the ledger raises where the lake does not take them.
    """

    def __init__(self, store: Store, lake: str, turn: Any) -> None:
        """Keep the store, and what is held while it is written to."""
        check_installed()
        self._store, self._lake, self._turn = store, parse_lake(lake), turn
        self._begun = 0
        """How many records this process had written when archiving began the last time."""
        self._thread: Thread | None = None
        self._failure: Exception | None = None

    def archive_if_due(self) -> None:
        """Begin to archive where enough was recorded; warn where that failed."""
        failure, self._failure = self._failure or self._store.backend.segments.refused, None
        self._store.backend.segments.refused = None
        if failure is not None:
            told = f"{failure} All records are durable here; archiving will be retried."
            with suppress(RuntimeWarning):  # as an error it would say that nothing was recorded
                warnings.warn(told, RuntimeWarning, stacklevel=2)
        busy = self._thread is not None and self._thread.is_alive()
        if not busy and self._store.writer.recorded - self._begun >= ENOUGH:
            self._begun = self._store.writer.recorded
            self._thread = Thread(target=self._run, name="plaudit-archive", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        try:
            self._archive()
        except Exception as error:
            self._failure = error

    def close(self) -> None:
        """Wait for what is under way, and archive the rest where that is enough.

        Raises:
            PlauditError: The lake did not take it.
        """
        if self._thread is not None:
            self._thread.join()
        if self._is_due():
            try:
                self._archive()
            except PlauditError as error:
                name = self._store.backend.name
                told = f"{error} All records are durable in {name}: run `plaudit ledger archive` when the lake answers."
                raise type(error)(told) from error

    def _is_due(self) -> bool:
        if self._failure is not None or self._store.writer.recorded - self._begun >= ENOUGH:
            return True
        with self._store.backend.snapshot() as connection:
            return bool(
                connection.execute(_WAITING).scalar_one() >= ENOUGH or connection.execute(_PENDING).scalar_one()
            )

    def _archive(self) -> None:
        segments = self._store.backend.segments
        archive(self._store, self._lake, turn=self._turn, move=segments.is_local)
