"""The ledger: record, explain, verify and re-score rewards."""

import _thread
import atexit
import os
import re
import sys
import threading
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from plaudit.errors import InputError, LedgerBusy, MissingExtra, WrongType, shorten
from plaudit.ledger.backends.backend import Backend, report_damage
from plaudit.ledger.claims import Claim, Claims
from plaudit.ledger.context import to_microseconds
from plaudit.ledger.exchange.export import backup, export
from plaudit.ledger.exchange.imports import import_file
from plaudit.ledger.exchange.quarantine import Quarantined, Refused, add_quarantined, list_quarantined
from plaudit.ledger.heads import Head, LedgerHead, read_head
from plaudit.ledger.history import History, explain_records, find_record, find_records
from plaudit.ledger.query import Query
from plaudit.ledger.record import Entry, Record, Why
from plaudit.ledger.rescore.rescore import (
    Job,
    Plan,
    Reading,
    Rescoring,
    list_job_contexts,
    list_jobs,
    plan_rescore,
    rescore,
)
from plaudit.ledger.rescore.scored import ScoredBatch, score_history
from plaudit.ledger.storage.batch import write_batch
from plaudit.ledger.storage.buffer import WriteBuffer
from plaudit.ledger.storage.codec import Block, PackedRecord
from plaudit.ledger.storage.merge import merge_blocks, merge_written
from plaudit.ledger.storage.recompute import check_recomputes
from plaudit.ledger.storage.signing import SignatureChecker, Signer
from plaudit.ledger.storage.specs import StoredReward
from plaudit.ledger.storage.store import Store, open_store
from plaudit.ledger.storage.texts import (
    FEATURES,
    FORGET_TOGETHER,
    ID_KEY,
    StoredText,
    add_texts,
    forget_texts,
    name_texts,
    read_texts,
)
from plaudit.ledger.storage.writer import find_keys
from plaudit.ledger.summary.episodes import Episodes
from plaudit.ledger.summary.listing import list_episodes
from plaudit.ledger.summary.runs import Run, group_totals, list_runs
from plaudit.ledger.summary.stats import Stats, compute_stats
from plaudit.ledger.totals import Totals
from plaudit.ledger.verify.publish import Destination, Publisher, build_head_reward, build_sender
from plaudit.ledger.verify.result import Verification
from plaudit.ledger.verify.verify import verify
from plaudit.reward.reward import Reward
from plaudit.reward.signal import Signal

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

    from plaudit.ledger.lake.archive import Archived
    from plaudit.ledger.lake.background import Archiver

Progress = Callable[[int, int], None]
"""Called with the amount done and the total amount."""


class Ledger:
    """A durable, append-only store of signals with their context.

    `Ledger("rewards.db")` is a SQLite file; `Ledger("postgresql://user@host/database")` is a server that many machines
    write to. Threads can share a ledger, and a forked process gets its own connections.

    >>> import tempfile
    >>> from plaudit import Field, Reward, term
    >>> @term
    ... def gain(delta): return delta
    >>> reward = Reward("gain", version="1", terms=[gain], fields=[Field("delta", low=-1, high=1)])
    >>> with Ledger(Path(tempfile.mkdtemp(), "rewards.db")) as ledger:
    ...     number = ledger.record(reward.score(delta=0.5), run="night-3", step=41)
    ...     ledger[number].total, ledger.history(run="night-3").count(), ledger.verify().ok
    (0.5, 1, True)
    """

    def __init__(
        self,
        where: str | os.PathLike[str],
        *,
        read_only: bool = False,
        timeout: float = 30.0,
        clock: Callable[[], datetime] | None = None,
        sign_with: "str | os.PathLike[str] | Ed25519PrivateKey | None" = None,
        publish: "Destination | Ledger | None" = None,
        publish_every: int = 10_000,
        lake: str | os.PathLike[str] | None = None,
    ) -> None:
        """Open a ledger and create it if necessary; one with older tables is backed up and upgraded.

        Args:
            where: A path, or the address of a PostgreSQL database.
            read_only: Open for reading only; the ledger must exist.
            timeout: Seconds to wait for another writer or for the server.
            clock: Returns the time for new records; the system clock if omitted.
            sign_with: An Ed25519 private key, or the path of a PEM file with one. It signs every head; check the
                signatures with `verify(public_key=)`.
            publish: Where to send the head of the ledger, every `publish_every` records and on close: a file (one line
                is appended), a command as a list (reads it from stdin), a function, or another ledger.
            publish_every: Number of records by this process between two published heads.
            lake: An address (s3://, gs://, file://) where records are archived as they gather, and on close; see
                `archive`. A ledger on a server writes many records at once there directly.

        Raises:
            FileError: The file cannot be opened or created.
            LedgerError: It is not a ledger. LedgerTooNew if a newer plaudit wrote it.
        """
        self._where = where
        self._options = (read_only, timeout)
        self._clock = clock
        self._sign_with = sign_with
        self._publishing = publish._record_head if isinstance(publish, Ledger) else publish, publish_every
        self._lake = None if lake is None else os.fspath(lake)
        self._lock = threading.RLock()
        self._buffers: weakref.WeakSet[WriteBuffer] = weakref.WeakSet()
        self._steps: WriteBuffer | None = None
        self._open()
        _OPEN.add(self)

    def _open(self) -> None:
        read_only, timeout = self._options
        signer = None if self._sign_with is None else Signer(self._sign_with)
        destination, every = self._publishing
        send = None if destination is None else build_sender(destination)
        lake = self._lake
        self._store = open_store(
            self._where, read_only=read_only, timeout=timeout, clock=self._clock, signer=signer, lake=lake
        )
        self._publisher: Publisher | None = None
        self._archiver: Archiver | None = None
        try:
            if send is not None:
                if isinstance(destination, str | os.PathLike):
                    self._store.backend.check_not_own(destination)
                self._publisher = Publisher(self._store, send, every)
            if lake is not None and not read_only:
                self._archiver = _load_lake(self._store).Archiver(self._store, lake, self._lock)
        except BaseException:
            self._store.backend.close()
            raise
        self._store.writer.after_write = _build_after_write(self._store, self._publisher, self._archiver)
        self._claims = Claims(self._store)
        self._process = os.getpid()
        self._closed = False
        weakref.finalize(self, _close_abandoned, self._store.backend, self._process).atexit = False  # `_at_exit` does
        _close_with_process(self._process)

    @property
    def name(self) -> str:
        """The path, or the address without its password."""
        return self._store.backend.name

    def size(self) -> int:
        """Return the size of the ledger, without what lies in a lake.

        Returns:
            The size in bytes.
        """
        segments = self._store.backend.segments
        return self._store.backend.size() + (0 if segments is None else segments.size())

    def check_in_place(self) -> None:
        """Raise LedgerBroken if the file was moved, removed or replaced since it was opened; a server has none."""
        self._store.backend.check_in_place()

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
        """Record a signal; it is durable when this returns.

        Args:
            signal: The result of `reward.score`.
            key: Makes recording idempotent: repeating a key with the same content returns the existing record.
            run: The run, or mission.
            episode: The episode in the run.
            step: The step in the episode.
            phase: The phase of the run.
            decision_class: The kind of decision.
            actor: Who decided, such as the agent or the environment's number.
            context: Any JSON value.
            at: When it happened: now if omitted, local time if it has no zone.

        Returns:
            The number of the record.

        Raises:
            InputError: A part of the context cannot be stored.
            KeyConflict: The key names a record with different content.
            VersionConflict: The reward's label belongs to another formula.
            LedgerError: The signal was read from data, and its numbers do not recompute.
        """
        scope = run, phase, decision_class, actor
        with self._lock:
            packed = self._pack(signal, key, scope, episode, step, context, at)
            return self._reopen_if_forked().writer.write((packed,))[0]

    def record_many(self, entries: Iterable[Entry | Signal]) -> list[int]:
        """Record several signals in one transaction: all of them, or none if one cannot be recorded.

        Args:
            entries: Signals, or an `Entry` for each signal that has a context.

        Returns:
            The numbers of the records, in order.

        Raises:
            WrongType: An entry is neither a Signal nor an Entry. Also the errors of `record`.
        """
        if isinstance(entries, Signal | Entry) or not isinstance(entries, Iterable):
            raise WrongType(f"record_many takes several signals, not {shorten(entries)}; use record for one.")
        return self._write([self._pack_entry(entry) for entry in entries])

    def record_batch(
        self, reward: Reward, columns: Mapping[str, Any], *, target: str = "numpy", **context: Any
    ) -> list[int]:
        """Score a batch of columns and record every row in one transaction.

        Args:
            reward: The reward to score with.
            columns: The columns, as for `reward.compile(target)`.
            target: What scores them: "numpy" in float64; "jax" or "torch" in the dtype of the columns.
            **context: As for `record`; each part is one value for all rows, or a list or array with one per row.

        Returns:
            The numbers of the records, in order.

        Raises:
            InputError: A row cannot be scored, or a part of its context cannot be stored.
            LedgerError: `context` has an unknown part.
            TargetError: The target does not exist. MissingExtra if it is not installed.
        """
        with self._lock:
            store = self._reopen_if_forked()
            return write_batch(store.writer, store.specs.get_layout(reward), columns, context, target)

    def writer(self, *, max_records: int = 1000, max_delay: float = 0.01) -> WriteBuffer:
        """Return a writer that gathers records and commits them together, faster than one commit per record.

        It commits when `max_records` are waiting, or when the first has waited `max_delay` seconds. Each record gets a
        `Receipt` that says whether it is buffered or durable.

        Args:
            max_records: How many records may wait.
            max_delay: How many seconds a record may wait.

        Returns:
            The writer, a context manager that commits the rest when it closes.
        """
        return self._open_buffer(max_records=max_records, max_delay=max_delay)

    def _open_buffer(self, **options: Any) -> WriteBuffer:
        made = WriteBuffer(self._open_store, self._pack, self._write, self._write_blocks, **options)
        self._buffers.add(made)
        return made

    def register(self, reward: Reward) -> None:
        """Store a reward before recording anything with it; VersionConflict if its label belongs to another formula.

        Args:
            reward: The reward.
        """
        with self._lock:
            store = self._reopen_if_forked()
            store.writer.register(store.specs.get_layout(reward))

    def _pack_entry(self, entry: Entry | Signal) -> PackedRecord:
        if isinstance(entry, Signal):
            entry = Entry(entry)
        if not isinstance(entry, Entry):
            raise WrongType(f"{shorten(entry)} is neither a Signal nor an Entry.")
        scope = entry.run, entry.phase, entry.decision_class, entry.actor
        return self._pack(entry.signal, entry.key, scope, entry.episode, entry.step, entry.context, entry.at)

    def _pack(self, signal: Signal, *about: Any) -> PackedRecord:
        """Return a record ready to be written; `about` is what its layout's `pack` takes.

        Raises:
            LedgerError: The signal was read from data, and its numbers are not what its reward computes.
        """
        specs, now = self._store.specs, self._store.writer.now
        known = specs.by_frame.get(signal._frame) if type(signal) is Signal else None
        layout = known or specs.find_layout(signal)
        packed = layout.pack(signal, now, *about)
        return packed if layout.is_own_frame(signal._frame) else check_recomputes(packed)

    def _write(self, records: Sequence[PackedRecord]) -> list[int]:
        with self._lock:
            return self._reopen_if_forked().writer.write(records)

    def _buffer_steps(self, flush_every: float) -> WriteBuffer:
        """Return the one buffer of steps, in which none waits longer than this many seconds."""
        with self._lock:
            if self._steps is None:
                self._steps = self._open_buffer(clock=self._clock)
            self._steps.flush_within(flush_every)
            return self._steps

    def _claim_actor(self, run: str | None, actor: str | None, prefix: str = "env") -> tuple[Claims, Claim, int]:
        """Return the claim of a live writer on an actor of a run, those who keep it, and the actor's last episode."""
        with self._lock:
            self._reopen_if_forked()
            claim = self._claims.take(run, actor, prefix)
        try:
            if self._steps is not None:
                self._steps.flush()  # steps of an earlier writer, which may wait
            return self._claims, claim, self._claims.find_last_episode(claim)
        except BaseException:
            self._claims.abandon(claim)
            raise

    def _release_actor(self, claim: Claim) -> None:
        """Let others have an actor; where somebody else is writing for too long, with the next claim."""
        with self._lock:
            if not self._closed and self._process == os.getpid():
                try:
                    self._claims.release(claim)
                except LedgerBusy:
                    self._claims.abandon(claim)

    def _open_store(self) -> Store:
        with self._lock:
            return self._reopen_if_forked()

    def _write_with_texts(self, records: Sequence[PackedRecord], texts: Sequence[StoredText]) -> list[int]:
        """Write records and the texts that their contexts name in one transaction."""
        with self._lock:
            store = self._reopen_if_forked()

            def work(cursor: Any) -> list[int]:
                add_texts(store.backend, cursor, texts)
                return store.writer.insert(cursor, records)

            return store.writer.transact(work)

    def _pack_and_write(self, pack: Callable[[], tuple[Sequence[PackedRecord], Sequence[StoredText]]]) -> list[int]:
        """Write records and texts that depend on what is in the ledger; nobody else does so meanwhile."""
        with self._lock:
            store = self._reopen_if_forked()

            def work(cursor: Any) -> list[int]:
                store.backend.take_turn(cursor)
                records, texts = pack()
                add_texts(store.backend, cursor, texts)
                return store.writer.insert(cursor, records)

            return store.writer.transact(work)

    def _find_keys(self, keys: Sequence[str]) -> set[str]:
        """Return those of the keys that records have."""
        with self._store.backend.snapshot() as connection:
            return find_keys(self._store.backend, connection.connection.cursor(), keys)

    def _quarantine(self, file: str, refused: Sequence[Refused]) -> int:
        """Keep what an import could not read, and return how much of it was not kept already."""
        with self._lock:
            store = self._reopen_if_forked()

            def work(cursor: Any) -> int:
                store.backend.take_turn(cursor, rising=True)
                return add_quarantined(store, cursor, file, refused)

            return store.writer.transact(work)

    def _write_blocks(self, blocks: Sequence[Block]) -> None:
        with self._lock:
            self._reopen_if_forked().writer.write_blocks(blocks)

    def _record_head(self, head: Mapping[str, Any]) -> None:
        signal = build_head_reward().score(records=float(head["records"]))
        self.record(signal, run=head["ledger"], context=head)

    # -- reading ----------------------------------------------------------------------------------------------------

    def rewards(self) -> list[StoredReward]:
        """List every reward that was recorded or registered, oldest first.

        Returns:
            Name, version, fingerprint and the reward itself, for each.
        """
        with self._store.backend.snapshot() as connection:
            layouts = self._store.specs.read_all(connection)
        seen = {layout.identity[:2] + layout.identity[3:]: layout.reward for layout in layouts}
        return [StoredReward(*identity, reward) for identity, reward in seen.items()]

    def history(self, **query: Any) -> History:
        """Select records, oldest first, and stream them: only one page is in memory at a time.

        Args:
            **query: Select by `reward`, `version`, `run`, `episode`, `step`, `phase`, `decision_class`, `actor`, `key`,
                `since` (inclusive), `until` (exclusive; datetimes without a zone are local), `id`, `after` (a record's
                number: only records after it before which no other can appear anymore, for a reader that comes back
                for more and begins with 0) and `job` (the records of a re-scoring; without it, only original records).

        Returns:
            The records: iterate over them, or call `.count()`, `.first()`, `.totals()`, `.last(20)`, `.arrow()` …

        Raises:
            LedgerError: Records cannot be selected by this name.
            InputError: No record can have this value.
        """
        return History(self._store, Query.parse(query), self)

    def episodes(self, **query: Any) -> Episodes:
        """List the episodes, in the order they began, with the return and the length of each.

        An episode belongs to one run, one actor and one reward. Records without an episode are in none.

        Args:
            **query: Select by `reward`, `version`, `run`, `episode`, `actor`, `since` and `until` (when an episode
                began) and `job` (returns by a re-scoring). `phase` and `decision_class` restrict which records are
                added up.

        Returns:
            The episodes: a sequence with `.best(10)`, `.worst(10)` and `.to_pandas()`.

        Raises:
            LedgerError: Episodes cannot be selected by this name.
            InputError: No record can have this value.
        """
        return list_episodes(self._store, Query.parse(query))

    def runs(self, **query: Any) -> list[Run]:
        """List the runs, in the order they began, with their records, episodes and returns.

        Args:
            **query: Select by `reward`, `version`, `run`, `phase`, `decision_class`, `actor` and `job`.

        Returns:
            The runs. A run that used several rewards is listed once per reward.
        """
        return list_runs(self._store, Query.parse(query))

    def totals(self, *by: str, **query: Any) -> dict[tuple[str | None, ...], Totals]:
        """Group records and summarize their totals, or the values of each term.

        Args:
            *by: One or more of "reward", "run", "phase", "decision_class", "actor" and "term". "term" summarizes the
                values of each term, which reads all records.
            **query: Which records; see `history`. All of them if omitted.

        Returns:
            Totals by group: `totals("run", "term")` has keys such as ("night-3", "comfort").

        Raises:
            LedgerError: Records cannot be grouped by this name.
        """
        return group_totals(self._store, Query.parse(query), by)

    def __getitem__(self, record: int | str) -> Record:
        """Return the record with this number or key; NotInLedger if it does not exist."""
        return find_record(self._store, record)

    def why(self, record: int | str) -> Why:
        """Explain a record: when and where it was recorded, its context, its inputs, every term and the total.

        Args:
            record: A number or a key.

        Returns:
            The explanation; print it.

        Raises:
            NotInLedger: The record does not exist.
        """
        return self._explain([self[record]])[0]

    def _explain_many(self, numbers: Collection[int]) -> list[Why]:
        """Return what `why` says of records with these numbers, in order; a page that has several is decoded once."""
        return self._explain(find_records(self._store, numbers))

    def _explain(self, records: Sequence[Record]) -> list[Why]:
        found = []
        listed = self._read_texts_of([record.context for record in records])
        for why, texts in zip(explain_records(self._store, records), listed, strict=True):
            shown = {name: text for name, text in texts.items() if name not in (FEATURES, ID_KEY)}
            found.append(replace(why, texts=shown))
        return found

    def read_texts(self, record: int | str | Record) -> dict[str, str | None]:
        """Return the texts that were recorded with a record, such as a prompt and what a model wrote.

        Args:
            record: A number, a key or a record.

        Returns:
            The texts by name; None for one that was forgotten.

        Raises:
            NotInLedger: The record does not exist.
            LedgerBroken: A text was changed after being written.
        """
        (found,) = self._read_texts_of([(record if isinstance(record, Record) else self[record]).context])
        return found

    def _read_texts_of(self, contexts: Sequence[Any]) -> list[dict[str, str | None]]:
        """Return the texts that each context of a record names, by name."""
        named = [name_texts(context) for context in contexts]
        wanted = [digest for each in named for digest in each.values()]
        backend = self._store.backend
        with backend.snapshot() as connection, report_damage(backend.name, "a text"):
            found = read_texts(backend, connection.connection.cursor(), wanted) if wanted else {}
        return [{name: found.get(digest) for name, digest in each.items()} for each in named]

    def forget(self, **chosen: Any) -> int:
        """Remove the texts of records for good: prompts, completions and answers of judges.

        Scores, contexts and checksums stay as they are, and `verify` finds the ledger whole. A prompt goes for all its
        completions. What ids of prompts are made with goes too, so that no guess can be checked: processes that begin
        later make other ids. Backups, exports and copies that were made before keep their texts.

        Args:
            **chosen: Which records, as for `history`; at least one choice.

        Returns:
            How many texts were removed.

        Raises:
            InputError: Nothing was chosen.
        """
        if not any(value is not None for value in chosen.values()):
            raise InputError("forget needs to know what: run=, until=, key= or another choice of records.")
        wanted: dict[str, None] = {}
        keys: set[str | None] = set()
        for record in self.history(**chosen):
            named = name_texts(record.context)
            keys.add(named.get(ID_KEY))
            wanted.update(dict.fromkeys(digest for name, digest in named.items() if name != FEATURES))
        for context in list_job_contexts(self._store) if wanted else ():  # what judges said when asked again
            named = name_texts(context)
            if not wanted.keys().isdisjoint(named.values()):
                wanted.update(dict.fromkeys(digest for name, digest in named.items() if name != FEATURES))
        with self._lock:
            store = self._reopen_if_forked()
            store.backend.check_writable()
            removed: list[str] = []
            for start in range(0, len(wanted), FORGET_TOGETHER):
                part = list(wanted)[start : start + FORGET_TOGETHER]

                def work(cursor: Any, part: Sequence[str] = part) -> list[str]:
                    store.backend.take_turn(cursor)
                    rows = forget_texts(store.backend, cursor, part, store.writer.now())
                    store.writer.chain_rows(cursor, "forgotten", rows)
                    return [row[1] for row in rows]

                removed += store.writer.transact(work)
            if removed:
                store.backend.compact()  # which writes the file without them
            return sum(digest not in keys for digest in removed)

    def verify(
        self,
        *,
        heads: LedgerHead | Iterable[Head | LedgerHead] = (),
        public_key: "str | os.PathLike[str] | Ed25519PublicKey | None" = None,
        progress: Progress | None = None,
    ) -> Verification:
        """Recompute every record from its stored reward and inputs, and check sums and checksums.

        Args:
            heads: Heads of this ledger that were kept elsewhere: what `head()` returned, or several of them. A head
                that no longer occurs means that the ledger was rewritten, checksums included.
            public_key: An Ed25519 public key, or the path of a PEM file with one. Every head must be signed with its
                private key.
            progress: Called with the number of records done and the number in total.

        Returns:
            The problems that were found; `ok` if there are none.
        """
        checker = None if public_key is None else SignatureChecker(public_key)
        return verify(self._store, heads, checker, progress)

    def head(self) -> LedgerHead:
        """Return the head of the ledger: a digest of the ends of all chains. Keep it elsewhere, for `verify(heads=)`.

        Returns:
            The head.
        """
        backend = self._store.backend
        with backend.snapshot() as connection, report_damage(backend.name, "a chain"):
            return read_head(connection)

    def stats(self) -> Stats:
        """Count what the ledger contains: records, rewards, decision classes, writers.

        Returns:
            The counts; print them.
        """
        return compute_stats(self._store)

    # -- whole ledgers ----------------------------------------------------------------------------------------------

    def rescore(
        self, reward: Reward, /, *, as_recorded: bool = False, progress: Progress | None = None, **query: Any
    ) -> Rescoring:
        """Score recorded inputs with another reward; each new score is a new record that refers to the old one.

        Call it again after an interruption to resume: no record is scored twice.

        Args:
            reward: The reward to score with.
            as_recorded: Score records that JAX or PyTorch scored with the same target and dtype again; otherwise
                everything is computed in float64.
            progress: Called with the number of records done and the number in total.
            **query: Which records; see `history`. All of them if omitted.

        Returns:
            The number of the job, how many records were scored, and how the new totals differ from the old ones.

        Raises:
            MissingField: No selected record has every input that the reward needs.
            MissingExtra: `as_recorded` needs a target that is not installed.
        """
        with self._lock:
            store = self._reopen_if_forked()
            return rescore(store, reward, Query.parse(query), progress, as_recorded=as_recorded)

    def _rescore_read(self, reward: Reward, reading: Reading, progress: Progress | None, **query: Any) -> Rescoring:
        """Score records with inputs that are read again from what else was recorded of them."""
        with self._lock:
            return rescore(self._reopen_if_forked(), reward, Query.parse(query), progress, reading=reading)

    def plan_rescore(self, reward: Reward, /, *, as_recorded: bool = False, **query: Any) -> Plan:
        """Count the records that `rescore` would score, without writing anything.

        Args:
            reward: The reward to score with.
            as_recorded: As for `rescore`.
            **query: Which records; see `history`. All of them if omitted.

        Returns:
            How many records can be scored, how many are scored already, and which inputs the rest lack.
        """
        return plan_rescore(self._store, reward, Query.parse(query), as_recorded=as_recorded)

    def score_history(self, *rewards: Reward, **query: Any) -> Iterator[ScoredBatch]:
        """Score recorded steps with other rewards, in batches of arrays, without writing anything.

        Records that lack an input of one of the rewards are skipped; `plan_rescore` counts them. Everything is computed
        in float64.

        Args:
            *rewards: The rewards to score with.
            **query: Which records; see `history`. All of them if omitted.

        Yields:
            A batch of records with the scores of each reward.
        """
        return score_history(self._store, rewards, Query.parse(query))

    def jobs(self) -> list[Job]:
        """List every re-scoring, oldest first.

        Returns:
            The jobs; pass the number of one to `history(job=…)`.
        """
        return list_jobs(self._store)

    def backup(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Copy the ledger as it is now into a SQLite file, while others keep writing.

        Args:
            path: The file to write.
            overwrite: Replace an existing file.

        Returns:
            The path.

        Raises:
            FileError: The file cannot be written, or it exists and `overwrite` is false.
        """
        return backup(self._store, path, overwrite=overwrite)

    def compact(self) -> int:
        """Merge small blocks, move records into Parquet segments, join small segments, and free unused space.

        Records that were written one by one are then read and verified as fast as those written in bulk. Numbers, keys,
        heads and exports do not change, and nothing is lost if the process is killed halfway. Without pyarrow, and on
        a server, records stay in the database.

        Returns:
            By how many the number of blocks shrank.
        """
        with self._lock:
            store = self._reopen_if_forked()
            store.backend.check_writable()
            merged = merge_blocks(store)
            if store.writer.segments is not None:
                from plaudit.ledger.storage.moving import move_blocks

                move_blocks(store)
            store.backend.compact()
            return merged

    def archive(
        self,
        to: str | os.PathLike[str] | None = None,
        *,
        older: datetime | timedelta | None = None,
        progress: Progress | None = None,
    ) -> "Archived":
        """Move records to a lake: Parquet files in object storage, listed in Delta Lake tables that other engines read.

        The ledger goes on reading them as one with the rest. Each file is checked before it is copied and after, and
        only then removed here. Call it again after an interruption: nothing is lost, and nothing is there twice.

        Args:
            to: An address (s3://, gs://, file://) or a folder; the ledger's own `lake` if omitted.
            older: Only records made before this time, or longer ago than this. All if omitted.
            progress: Called with the number of records done and in total.

        Returns:
            How many records and files were moved.

        Raises:
            FileError: The storage cannot be used, or a table of something else is there.
            LedgerBroken: A file is damaged; the others were moved.
            MissingExtra: deltalake is not installed.
        """
        place = self._lake if to is None else to
        if place is None:
            raise InputError("archive needs an address: archive('s3://bucket/runs'), or Ledger(..., lake=...).")
        store = self._open_store()
        if isinstance(older, timedelta):
            older = (datetime.now(UTC) if self._clock is None else self._clock()) - older
        before = None if older is None else to_microseconds(older)
        done: Archived = _load_lake(store).archive(store, place, before=before, progress=progress, turn=self._lock)
        return done

    def export(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,
        overwrite: bool = False,
        progress: Progress | None = None,
        **query: Any,
    ) -> int:
        """Write records to a JSONL, CSV or Parquet file.

        Args:
            path: The file. It appears only when it is complete.
            format: "jsonl", "csv" or "parquet"; from the ending of the path if omitted.
            overwrite: Replace an existing file.
            progress: Called with the number of records done and the number in total.
            **query: Which records; see `history`. All of them if omitted.

        Returns:
            The number of records written.

        Raises:
            FileError: The file cannot be written, or it exists and `overwrite` is false.
            LedgerError: The format is unknown, or CSV or Parquet would hold the records of several rewards, or none.
        """
        history = self.history(**query)
        return export(self._store, history, path, format=format, overwrite=overwrite, progress=progress)

    def import_file(
        self, path: str | os.PathLike[str], *, quarantine: bool = False, progress: Progress | None = None
    ) -> int:
        """Import a JSONL file that `export` wrote: all of it, or nothing.

        A record that is already in the ledger is not added again; its content must be the same.

        Args:
            path: The file.
            quarantine: Quarantine records that do not recompute, instead of raising an error; `quarantined` lists them.
            progress: Called with the number of records done and the number in total.

        Returns:
            The number of records added.

        Raises:
            FileError: The file cannot be read.
            LedgerError: The file was not written by `export` or was changed since; or a record differs from the one in
                the ledger, or does not recompute.
        """
        with self._lock:
            return import_file(self._reopen_if_forked(), path, quarantine=quarantine, progress=progress).added

    def quarantined(self, *, after: int = 0) -> Iterator[Quarantined]:
        """List the records that imports quarantined, in order of arrival. Nothing else reads them.

        Args:
            after: Only records with a higher number than this.

        Yields:
            A record with the reason.
        """
        return list_quarantined(self._store, after)

    # -- the end ----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Write what is buffered and close every connection; closing twice is fine."""
        with ExitStack() as stack:  # each of these happens, whatever the others raise
            stack.callback(self._close_store)
            if self._archiver is not None:
                stack.callback(self._close_archiver)
            for buffer in list(self._buffers):
                stack.callback(buffer.close)

    def _close_archiver(self) -> None:
        if self._archiver is not None and not self._closed and self._process == os.getpid():
            self._archiver.close()

    def _close_store(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
            if self._process != os.getpid():
                return
            try:
                merge_written(self._store, closing=True)
                if self._publisher is not None:
                    self._publisher.close()
            finally:
                self._store.backend.close()

    def _reopen_if_forked(self) -> Store:
        """Return the open store to write to; a process that was forked gets one of its own."""
        if self._store.backend.closed:
            self._store.backend.check_open()
        if self._process != os.getpid():
            self._open()
        return self._store

    def _drop_connections(self) -> None:
        """Let go of what the parent of this process has open; what is needed is opened when it is."""
        self._lock = threading.RLock()
        for buffer in list(self._buffers):
            buffer.begin_process()
        if not self._closed:
            self._store.backend.drop_connections()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle where it is kept: another process opens it for itself."""
        more = self._clock, self._sign_with, *self._publishing, self._lake
        return _reopen, (os.fspath(self._where), *self._options, *more)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Ledger({self.name!r})"


def _reopen(
    where: str,
    read_only: bool,
    timeout: float,
    clock: Callable[[], datetime] | None,
    sign_with: Any,
    publish: Destination | None,
    publish_every: int,
    lake: str | None,
) -> Ledger:
    """Return a ledger that was opened in another process, opened in this one."""
    more: dict[str, Any] = {"sign_with": sign_with, "publish": publish, "publish_every": publish_every, "lake": lake}
    return Ledger(where, read_only=read_only, timeout=timeout, clock=clock, **more)


def _load_lake(store: Store) -> Any:
    """Return the module of archiving; MissingExtra where what it needs is not installed."""
    if store.backend.segments is None:
        raise MissingExtra("a lake needs pyarrow and deltalake. Install them: pip install 'plaudit[lake]'")
    from plaudit.ledger.lake import background

    return background


def _build_after_write(store: Store, publisher: Publisher | None, archiver: "Archiver | None") -> Callable[[], None]:
    """Return what is called when a transaction is durable; it does not hold on to the ledger, which may be dropped."""

    def merge_and_publish() -> None:
        if store.writer.whole_stretches:
            merge_written(store)
        if publisher is not None:
            publisher.publish_if_due()
        if archiver is not None:
            archiver.archive_if_due()

    return merge_and_publish


def _close_abandoned(backend: Backend, process: int) -> None:
    """Close what a ledger that nobody closed had open; a forked process has let go of it already.

    The collector of garbage may strike while this very thread writes to the same file by another ledger: then another
    thread waits for that.
    """
    if process != os.getpid() or backend.closed:
        return
    if backend.is_being_written():
        _thread.start_new_thread(backend.close, ())  # no lock: whoever was interrupted may hold it
    else:
        backend.close()


_OPEN: weakref.WeakSet[Ledger] = weakref.WeakSet()
_held: list[Ledger] = []


def _before_fork() -> None:
    """Wait until no thread writes: a connection cannot be let go of in the middle of a transaction."""
    waiting = list(_OPEN)
    while waiting:
        ledger = waiting.pop()
        if ledger._lock.acquire(timeout=0.05):
            _held.append(ledger)
        elif _is_abandoned(ledger._lock):
            ledger._lock = threading.RLock()
            waiting.append(ledger)
        else:  # whoever has it may want one of those held here, to publish a head in it
            waiting += [*_held, ledger]
            _after_fork_in_parent()


def _is_abandoned(lock: threading.RLock) -> bool:
    """Return whether the thread that holds a lock has ended: it will never be released."""
    owner = re.search(r"owner=(\d+)", repr(lock))
    return owner is not None and int(owner[1]) not in {0, *sys._current_frames()}


def _after_fork_in_parent() -> None:
    while _held:
        _held.pop()._lock.release()


def _after_fork_in_child() -> None:
    while _held:
        _held.pop()._drop_connections()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)


@atexit.register
def _at_exit() -> None:
    """Make durable what is buffered when a program ends without closing its ledgers."""
    with ExitStack() as stack:
        for ledger in list(_OPEN):
            stack.callback(ledger.close)


@cache  # once a process
def _close_with_process(process: int) -> None:
    """Do so too at the end of a process that multiprocessing started, which calls no function of atexit."""
    processes = sys.modules.get("multiprocessing.process")
    if processes is not None and processes.parent_process() is not None:
        from multiprocessing.util import Finalize

        Finalize(None, _at_exit, exitpriority=0)
