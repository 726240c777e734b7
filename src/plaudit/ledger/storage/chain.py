"""Chains of checksums: what was written, in order, so that a change of anything shows in everything after it.

A writer's chain runs over its records, whatever blocks they lie in: merging blocks changes no head. The chain of a
small table (rewards, re-scorings, imports, writers) runs over its rows. Neither is a signature: a program can compute
a chain anew. But SQL alone cannot, and so the end of a chain cannot be set back by copying what is in the database.
"""

import hashlib
import json
import struct
from array import array
from collections.abc import Iterable, Sequence
from json import JSONDecoder
from typing import Any, Protocol, Self

import numpy as np

from plaudit.ledger.storage.decisions import is_packed, unpack_contexts

STRETCH = 4096
"""Records after which the stream begins anew, at the end of a block, from the head so far; damage ends there."""
EMPTY = bytes(32)
"""The head of a table without rows."""
CHAINED = {
    "specs": ("id", "name", "version", "part", "fingerprint", "domain", "spec", "inputs", "outputs"),
    "jobs": ("id", "digest", "spec", "filters", "started"),
    "imported": ("record", "source"),
    "quarantine": ("id", "digest", "source", "at", "file", "line", "reason", "record"),
    "forgotten": ("id", "digest", "at"),
    "writers": ("id", "token", "opened", "host", "process", "made_with"),
}
"""The tables whose rows are chained, and what of a row; the first column is the order in which rows were added."""

_NUMBER = struct.Struct("<q").pack
_RUN = struct.Struct("<qq").pack
_HEAD = struct.Struct("<8q").pack
_scan = JSONDecoder().raw_decode


class Columns(Protocol):
    """What a block says of its records besides their numbers, as it is stored."""

    @property
    def earliest(self) -> int: ...  # noqa: D102
    @property
    def latest(self) -> int: ...  # noqa: D102
    @property
    def times(self) -> str | None: ...  # noqa: D102
    @property
    def keys(self) -> str | None: ...  # noqa: D102
    @property
    def episodes(self) -> str | None: ...  # noqa: D102
    @property
    def steps(self) -> str | None: ...  # noqa: D102
    @property
    def contexts(self) -> str | None: ...  # noqa: D102
    @property
    def inputs(self) -> bytes: ...  # noqa: D102
    @property
    def outputs(self) -> bytes: ...  # noqa: D102


class RecordChain:
    """The chain of one writer over its records: a stream for each column, and a head over the ends of all of them."""

    __slots__ = (
        "_common",
        "_commons",
        "_first",
        "_length",
        "_numbers",
        "_runs",
        "_runs_digest",
        "_since",
        "_texts",
        "head",
        "records",
    )

    def __init__(self, head: bytes, records: int = 0) -> None:
        """Begin after `records` records, which ended in `head`."""
        self.records = records
        self._restart(head)

    def _restart(self, head: bytes) -> None:
        self.head = head
        self._since = 0
        self._runs = hashlib.sha256(head)
        self._runs_digest = b""
        self._common, self._commons = b"", 0
        self._first, self._length = 0, 0
        self._numbers = (hashlib.sha256(), hashlib.sha256(), hashlib.sha256())
        self._texts = (_Entries(", "), _Entries(", "), _Entries(", "), _Entries(","))

    def extend(self, common: bytes, first: int, count: int, columns: Columns, moments: bytes | None = None) -> bytes:
        """Take in a block of `count` records and return the head after the last of them.

        `common` is what all of them share, `first` the number of the first; `moments` are their times, if they are at
        hand, and empty where `common` holds them.
        """
        if common != self._common:
            self._end_common()
            self._common, self._commons = common, 0
        self._commons += count
        if first != self._first + self._length:
            self._end_numbers()
            self._first, self._length = first, 0
        self._length += count
        inputs, outputs, times = self._numbers
        inputs.update(columns.inputs)
        outputs.update(columns.outputs)
        times.update(encode_moments(columns, count) if moments is None else moments)
        keys, episodes, steps, contexts = self._texts  # one by one: a loop over the four takes twice as long
        if columns.keys is None:
            keys.nulls += count
        else:
            keys.add(columns.keys, count)
        if columns.episodes is None:
            episodes.nulls += count
        else:
            episodes.add(columns.episodes, count)
        if columns.steps is None:
            steps.nulls += count
        else:
            steps.add(columns.steps, count)
        if columns.contexts is None:
            contexts.nulls += count
        else:
            contexts.add(columns.contexts, count)
        self.records += count
        self._since += count
        self.head = self._compute_head()
        if self._since >= STRETCH:
            self._restart(self.head)
        return self.head

    def extend_digest(self, common: bytes, first: int, count: int, digest: bytes) -> bytes:
        """Take in `count` records of which a segment has the columns; the stream begins anew after them."""
        text = b"%b%b%b%b" % (self.head, _RUN(first, count), digest, common)
        self.records += count
        self._restart(hashlib.sha256(b"segment\0%b" % text).digest())
        return self.head

    def _compute_head(self) -> bytes:
        if not self._runs_digest:
            self._runs_digest = self._runs.digest()
        inputs, outputs, times = self._numbers
        keys, episodes, steps, contexts = self._texts
        counts = (self.records, self._first, self._length, self._commons)
        text = b"%b%b%b%b%b%b%b%b%b%b" % (
            self._runs_digest,
            _HEAD(*counts, keys.nulls, episodes.nulls, steps.nulls, contexts.nulls),
            inputs.digest(),
            outputs.digest(),
            times.digest(),
            keys.digest or keys.update_digest(),
            episodes.digest or episodes.update_digest(),
            steps.digest or steps.update_digest(),
            contexts.digest or contexts.update_digest(),
            self._common,
        )
        return hashlib.sha256(text).digest()

    def _end_common(self) -> None:
        if self._commons:
            self._runs.update(b"c%b%b" % (_RUN(self._commons, len(self._common)), self._common))
            self._runs_digest = b""

    def _end_numbers(self) -> None:
        if self._length:
            self._runs.update(b"n%b" % _RUN(self._first, self._length))
            self._runs_digest = b""

    @property
    def begins_anew(self) -> bool:
        """Whether the stream begins with the next block."""
        return self._since == 0

    def copy(self) -> Self:
        """Return a chain that goes on from here by itself."""
        made = self.__class__.__new__(self.__class__)
        for name in self.__slots__:
            setattr(made, name, getattr(self, name))
        made._runs = self._runs.copy()
        made._numbers = tuple(stream.copy() for stream in self._numbers)  # type: ignore[assignment]
        made._texts = tuple(stream.copy() for stream in self._texts)  # type: ignore[assignment]
        return made


class _Entries:
    """The stream of a column of JSON entries: the same, however blocks cut it and whether one entry stands for all."""

    __slots__ = ("_hash", "_separator", "digest", "nulls")

    def __init__(self, separator: str) -> None:
        self._separator = separator
        self._hash: Any = None
        self.digest = EMPTY
        """The digest of everything so far; empty where it is to be computed."""
        self.nulls = 0
        """Records without an entry, since the last that has one."""

    def add(self, column: str, count: int) -> None:
        """Take in a column of `count` records, as it is stored."""
        if not (column.startswith("[") and column.endswith("]")):
            raise ValueError("a column is no list")
        if count > 1 and is_packed(column):
            self._feed(json.dumps(unpack_contexts(column, count), separators=(",", ":"))[1:-1] + self._separator)
        elif "null" in column:
            self._add_each(split_column(column, count, self._separator))
        elif count > 1 and _scan(column, 1)[1] == len(column) - 1:  # one for all
            self._feed((column[1:-1] + self._separator) * count)
        else:
            self._feed(column[1:-1] + self._separator)

    def _add_each(self, entries: Iterable[str | None]) -> None:
        for entry in entries:
            if entry is None:
                self.nulls += 1
            else:
                self._feed(entry + self._separator)

    def _feed(self, text: str) -> None:
        if self._hash is None:
            self._hash = hashlib.sha256()
        if self.nulls:
            self._hash.update(b"\0%d\0" % self.nulls)  # JSON holds no NUL
            self.nulls = 0
        self._hash.update(text.encode())
        self.digest = b""

    def update_digest(self) -> bytes:
        """Compute the digest of everything so far and return it."""
        self.digest = self._hash.digest()
        return self.digest

    def copy(self) -> Self:
        """Return a stream that goes on from here by itself."""
        made = self.__class__(self._separator)
        made._hash = None if self._hash is None else self._hash.copy()
        made.digest, made.nulls = self.digest, self.nulls
        return made


def encode_moments(columns: Columns, count: int) -> bytes:
    """Return when each record of a block was made; ValueError where the block says otherwise of itself."""
    if columns.times is None:
        if columns.latest != columns.earliest:
            raise ValueError("the times of a block are not what it says they are")
        return _NUMBER(columns.earliest) * count
    after = np.frombuffer(array("q", json.loads(columns.times)), np.int64)
    if len(after) != count or after.min() != 0 or columns.earliest + int(after.max()) != columns.latest:
        raise ValueError("the times of a block are not what it says they are")
    return (after + columns.earliest).astype("<i8", copy=False).tobytes()


def split_column(column: str | None, count: int, separator: str = ", ") -> list[str | None]:
    """Return the entries of a column, each as JSON or None, one a record."""
    if column is None:
        return [None] * count
    found = unpack_contexts(column, count) if is_packed(column) else json.loads(column)
    separators = (",", ":") if separator == "," else None
    texts = [None if entry is None else json.dumps(entry, separators=separators) for entry in found]
    return texts * count if len(texts) == 1 else texts


# -- beginnings and ends -----------------------------------------------------------------------------------------------


def start_chain(token: str, opened: int, host: str, process: int, made_with: str) -> bytes:
    """Return the head of a writer that has written nothing: who writes."""
    return hashlib.sha256("\0".join((token, str(opened), host, str(process), made_with)).encode()).digest()


def close_chain(token: str, records: int, head: bytes) -> bytes:
    """Return what a writer's row says besides the head: it shows that the head was not copied from an earlier block.

    BLAKE2 is what neither SQLite nor PostgreSQL has a function for.
    """
    return hashlib.blake2b(b"%b\0%d\0%b" % (token.encode(), records, head), digest_size=32).digest()


# -- small tables ----------------------------------------------------------------------------------------------------


def extend_rows(head: bytes, rows: Iterable[Sequence[Any]]) -> bytes:
    """Return the head of a table after more rows."""
    for row in rows:
        head = hashlib.sha256(head + json.dumps(list(row)).encode()).digest()
    return head


def seal_row(row: Sequence[Any]) -> bytes:
    """Return what a row that may change says of itself."""
    return hashlib.blake2b(json.dumps(list(row)).encode(), digest_size=32).digest()
