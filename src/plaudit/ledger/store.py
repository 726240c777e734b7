"""The ledger: every reward remembered, explained, recomputable, re-scorable."""

import atexit
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from plaudit.errors import FileError, LedgerError, WrongType
from plaudit.ledger import batch
from plaudit.ledger.blocks.block import Row
from plaudit.ledger.blocks.pen import Pen
from plaudit.ledger.blocks.shelf import Shelf
from plaudit.ledger.blocks.specs import StoredReward
from plaudit.ledger.choice import Choice
from plaudit.ledger.exchange.backup import backup
from plaudit.ledger.exchange.export import export
from plaudit.ledger.exchange.importing import import_file
from plaudit.ledger.history import History
from plaudit.ledger.jsonl.text import compact
from plaudit.ledger.places.place import Place
from plaudit.ledger.places.sqlite import SqliteFile
from plaudit.ledger.places.upgrade import upgrade
from plaudit.ledger.record import Entry, Record, episode_text, microseconds, text, whole
from plaudit.ledger.rescoring.jobs import Job, listed
from plaudit.ledger.rescoring.rescore import Plan, Rescoring, plan, rescore
from plaudit.ledger.stats import Head, Stats, stats
from plaudit.ledger.verification.verify import Verification, verify
from plaudit.ledger.why import Why, explained, find
from plaudit.ledger.writer import BufferedWriter
from plaudit.reward.reward import Reward
from plaudit.reward.signal import Signal

Progress = Callable[[int, int], None]
"""Told now and then how much is done, and of how much."""


class Ledger:
    """A durable, append-only store of signals with their context.

    `Ledger("rewards.db")` keeps them in a SQLite file, `Ledger("postgresql://user@host/database")` on a server that
    many machines write to. Threads may share one; a forked process gets connections of its own.
    """

    def __init__(
        self,
        where: str | os.PathLike[str],
        *,
        read_only: bool = False,
        timeout: float = 30.0,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        """Open a ledger, making it if it is not there; one with older tables is backed up and upgraded.

        `timeout` is how many seconds to wait for another writer or for the server; `clock` is what dates records.
        """
        self._where = where
        self._options = (read_only, timeout)
        self._clock = clock
        self._turn = threading.RLock()
        self._writers: weakref.WeakSet[BufferedWriter] = weakref.WeakSet()
        self._before_close: list[Callable[[], None]] = []
        self._open()
        _OPEN.add(self)

    def _open(self) -> None:
        read_only, timeout = self._options
        self.place: Place = _place(self._where, read_only=read_only, timeout=timeout)
        try:
            upgrade(self.place)
        except BaseException:
            self.place.close()
            raise
        self.shelf = Shelf(self.place)
        self._pen = Pen(self.place, self._clock)
        self._process = os.getpid()
        self._closed = False
        weakref.finalize(self, _abandoned, self.place, self._process)

    @property
    def pen(self) -> Pen:
        """What writes; a process that was forked gets one of its own."""
        self.place.check_open()
        if self._process != os.getpid():
            self._open()
        return self._pen

    def _forked(self) -> None:
        """Let go of what the parent of this process has open; what is needed is opened when it is."""
        self._turn = threading.RLock()
        if not self._closed:
            self.place.forget()

    # -- recording --------------------------------------------------------------------------------------------------

    def record(
        self,
        signal: Signal,
        *,
        key: str | None = None,
        run: str | None = None,
        episode: str | int | None = None,
        step: int | None = None,
        phase: str | None = None,
        decision_class: str | None = None,
        actor: str | None = None,
        context: Any = None,
        at: datetime | None = None,
    ) -> int:
        """Record a signal and return the record's number, once it is durable.

        `key` makes it idempotent: a key that is there already keeps its record, and if that one's content differs it
        is a KeyConflict. `context` is anything JSON can hold.
        """
        with self._turn:
            row = self.row(signal, key, run, episode, step, phase, decision_class, actor, context, at)
            return self.pen.write_rows((row,))[0]

    def record_many(self, entries: Iterable[Entry | Signal]) -> list[int]:
        """Record many signals in one transaction: all of them or, where one cannot be, none."""
        if isinstance(entries, Signal | Entry):
            raise WrongType("record_many takes many signals, and this is one; record takes one.")
        return self.write_rows([self.row_of(entry) for entry in entries])

    def write_rows(self, rows: Sequence[Row]) -> list[int]:
        """Write records that are ready, in one transaction."""
        with self._turn:
            return self.pen.write_rows(rows)

    def record_batch(self, reward: Reward, columns: Mapping[str, Any], **context: Any) -> list[int]:
        """Score a batch of columns and record every row, in one transaction; return their numbers.

        `columns` are what `reward.compile("numpy")` takes. Of the context (`key`, `run`, `episode`, `step`, `phase`,
        `decision_class`, `actor`, `context`, `at`) each part is one value for all rows, or a list or array of them.
        """
        with self._turn:
            pen = self.pen
            return batch.record(pen, self.shelf.shape(reward), columns, context)

    def writer(self, *, max_records: int = 1000, max_delay: float = 0.01) -> BufferedWriter:
        """Return a writer that gathers records and commits them together, for rates that single commits cannot reach.

        It commits when `max_records` wait or the first has waited `max_delay` seconds. Each record gets a receipt that
        says whether it is buffered or durable.
        """
        self.place.check_open()
        made = BufferedWriter(self, max_records=max_records, max_delay=max_delay)
        self._writers.add(made)
        return made

    def before_close(self, flush: Callable[[], None]) -> None:
        """Call `flush` before the ledger closes: for those who gather what they record and write it now and then."""
        self._before_close.append(flush)

    def row_of(self, entry: Entry | Signal) -> Row:
        """Return an entry, or a signal without a context, ready to be written."""
        if isinstance(entry, Signal):
            return self.row(entry, None, None, None, None, None, None, None, None, None)
        if not isinstance(entry, Entry):
            raise WrongType(f"{entry!r:.60} is neither a Signal nor an Entry.")
        e = entry
        return self.row(e.signal, e.key, e.run, e.episode, e.step, e.phase, e.decision_class, e.actor, e.context, e.at)

    def row(
        self,
        signal: Signal,
        key: str | None,
        run: str | None,
        episode: str | int | None,
        step: int | None,
        phase: str | None,
        decision_class: str | None,
        actor: str | None,
        context: Any,
        at: datetime | None,
    ) -> Row:
        """Return a signal and its context, checked and ready to be written."""
        shape, pack = self.shelf.packing(signal)
        inputs, outputs = pack(signal)
        return Row(
            shape,
            "python",
            self.shelf.scope((run, phase, decision_class, actor)),
            self._pen.now() if at is None else microseconds(at),
            text("key", key),
            episode_text(episode),
            whole("step", step),
            None if context is None else compact(context, "context"),
            inputs,
            outputs,
        )

    def register(self, reward: Reward) -> None:
        """Store a reward before anything of it is recorded; VersionConflict if its label means another formula."""
        with self._turn:
            self.pen.register(self.shelf.shape(reward))

    # -- reading ----------------------------------------------------------------------------------------------------

    def rewards(self) -> list[StoredReward]:
        """Return every reward that was recorded or registered, oldest first."""
        with self.place.reading() as connection:
            shapes = self.shelf.read(connection)
        seen = {shape.identity[:2] + shape.identity[3:]: shape.reward for shape in shapes.values()}
        return [StoredReward(*identity, reward) for identity, reward in seen.items()]

    def history(self, **choice: Any) -> History:
        """Return the records chosen, oldest first: iterate over it, or take `.arrow()`, `.count()`, `.first()`.

        Choose by `reward`, `version`, `run`, `episode`, `step`, `phase`, `decision_class`, `actor`, `key`, `since`
        (inclusive), `until` (exclusive; datetimes without a zone are local), `id`, `after` (a record's number) and
        `job` (the records of a re-scoring; without it, only what was recorded). Nothing beyond a page is in memory.
        """
        return History(self.place, self.shelf, Choice.of(choice))

    def __getitem__(self, record: int | str) -> Record:
        """Return the record with a number or a key; NotInLedger if there is none."""
        return find(self.place, self.shelf, record)

    def why(self, record: int | str) -> Why:
        """Return how the record with this number or key came about: context, inputs, every term, the total."""
        return explained(self.place, self[record])

    def verify(self, *, heads: Iterable[Head] = (), progress: Progress | None = None) -> Verification:
        """Recompute every record from its stored reward and inputs, and check sums and checksums.

        `heads` are ends of chains that `stats().heads` gave earlier and that were kept elsewhere: a ledger in which one
        of them no longer occurs was rewritten, checksums and all.
        """
        return verify(self.place, heads, progress)

    def stats(self) -> Stats:
        """Return how much of what is in the ledger."""
        return stats(self.place, self.shelf)

    # -- whole ledgers ----------------------------------------------------------------------------------------------

    def rescore(self, reward: Reward, *, progress: Progress | None = None, **choice: Any) -> Rescoring:
        """Score recorded inputs with another reward; the new scores are new records, tied to the old ones.

        Call it again after an interruption and it goes on where it stopped: no record is scored twice.
        """
        with self._turn:
            return rescore(self, reward, Choice.of(choice), progress)

    def plan_rescore(self, reward: Reward, **choice: Any) -> Plan:
        """Return how many records `rescore` would score, and which lack an input that the reward needs."""
        return plan(self, reward, Choice.of(choice))

    def jobs(self) -> list[Job]:
        """Return every re-scoring, oldest first; `history(job=…)` takes the number of one."""
        return listed(self.place)

    def backup(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Copy the ledger as it is now into a SQLite file, while others write."""
        return backup(self.place, path, overwrite=overwrite)

    def compact(self) -> None:
        """Give back the space that nothing needs."""
        with self._turn:
            self.place.check_open()
            self.place.compact()

    def export(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,
        overwrite: bool = False,
        progress: Progress | None = None,
        **choice: Any,
    ) -> int:
        """Write the records chosen to a JSONL or Parquet file, by its ending, and return how many there are."""
        history = self.history(**choice)
        return export(self.place, history, path, format=format, overwrite=overwrite, progress=progress)

    def import_file(self, path: str | os.PathLike[str], *, progress: Progress | None = None) -> int:
        """Take in a file that `export` wrote, all of it or nothing, and return how many records were added.

        A record that is here already, because it was taken in before or was recorded here, is not added again.
        """
        with self._turn:
            return import_file(self, path, progress)

    # -- the end ----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Make durable what is buffered and close every connection; closing twice is no error."""
        try:
            for flush in (*self._before_close, *(writer.close for writer in list(self._writers))):
                flush()
        finally:
            with self._turn:
                if not self._closed:
                    self._closed = True
                    if self._process == os.getpid():
                        self.place.close()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle where it is kept: another process opens it for itself."""
        return _reopened, (os.fspath(self._where), *self._options, self._clock)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Ledger({self.place.name!r})"


def _reopened(where: str, read_only: bool, timeout: float, clock: Callable[[], datetime] | None) -> Ledger:
    """Return a ledger that was opened in another process, opened in this one."""
    return Ledger(where, read_only=read_only, timeout=timeout, clock=clock)


def _abandoned(place: Place, process: int) -> None:
    """Close what a ledger that nobody closed had open; a forked process has let go of it already."""
    if process == os.getpid() and not place.closed:
        place.close()


_OPEN: weakref.WeakSet[Ledger] = weakref.WeakSet()
_held: list[Ledger] = []


def _before_fork() -> None:
    """Wait until no thread writes: a connection cannot be let go of in the middle of a transaction."""
    ledgers = sorted(_OPEN, key=id)
    for ledger in ledgers:
        ledger._turn.acquire()
    _held.extend(ledgers)


def _after_fork_in_parent() -> None:
    while _held:
        _held.pop()._turn.release()


def _after_fork_in_child() -> None:
    while _held:
        _held.pop()._forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)


@atexit.register
def _at_exit() -> None:
    """Make durable what is buffered when a program ends without closing its ledgers."""
    for ledger in list(_OPEN):
        ledger.close()


def _place(where: str | os.PathLike[str], *, read_only: bool, timeout: float) -> Place:
    try:
        address = os.fspath(Path(where)) if not isinstance(where, str) else where
    except TypeError:
        raise WrongType(f"{where!r:.60} is no place for a ledger; give a path or a postgresql:// address.") from None
    if address in ("", ":memory:"):
        raise FileError(f"a ledger is kept in a file, and {address!r} names none; for a while, take one in a tempfile.")
    if "://" not in address:
        return SqliteFile(where, read_only=read_only, timeout=timeout)
    if not address.startswith(("postgresql://", "postgres://", "postgresql+psycopg://")):
        scheme = address.partition("://")[0]
        path = address.removeprefix("sqlite:///")
        hint = f" Write the path alone: Ledger({path!r})." if scheme == "sqlite" else ""
        raise LedgerError(f"a ledger is a file or postgresql://…; {scheme}:// is neither.{hint}")
    from plaudit.ledger.places.postgres import PostgresDatabase

    return PostgresDatabase(address.replace("postgres://", "postgresql://", 1), read_only=read_only, timeout=timeout)
