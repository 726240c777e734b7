"""Texts of records: kept apart, so that they can be forgotten while checksums, scores and contexts stay whole.

The context of a record names a text by its digest, which the chain of checksums covers. The digest is over a random
salt too, which goes with the text: nobody can find out later whether a guess is what was forgotten.
"""

import hashlib
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, delete, insert, select

from plaudit.ledger.backends.backend import Backend, read_bytes
from plaudit.ledger.storage.chain import CHAINED
from plaudit.ledger.storage.schema import forgotten, texts
from plaudit.ledger.storage.sources import build_lookup, look_up

TEXTS = "texts"
"""Under which name the context of a record names its texts."""
FEATURES = "features"
"""The text that says how a rollout was read, which many records share and nobody needs to forget."""
ID_KEY = "id_key"
"""The text that ids of the texts of a run are made with. It goes with the first text of the run that is forgotten."""
FOUND = "found"
"""Under which name a text or a context says what features found."""
LEFT_OUT = "left_out"
"""Under which name the text of a rollout says which parts of its sample are no plain data."""
FORGET_TOGETHER = 2000
"""Texts to forget in one transaction."""
_NAME = re.compile('"text:([0-9a-f]{64})"')
_SHORT = 256
"""Bytes that are not worth compressing."""
_PLAIN, _COMPRESSED = b"p", b"z"
_ADD = insert(texts).values({name: bindparam(name) for name in ("digest", "salt", "content")}).inline()
_READ = build_lookup(select(texts.c.digest, texts.c.salt, texts.c.content), texts.c.digest)
_KNOWN = build_lookup(select(texts.c.digest), texts.c.digest)
_FORGET = delete(texts).where(texts.c.digest == bindparam("wanted"))
_NOTE = insert(forgotten).values(digest=bindparam("digest"), at=bindparam("at"))
_NOTED = build_lookup(select(*(forgotten.c[name] for name in CHAINED["forgotten"])), forgotten.c.digest)


class StoredText(NamedTuple):
    """A text as a ledger keeps it."""

    digest: str
    salt: bytes
    content: bytes

    @property
    def name(self) -> str:
        """How the context of a record names it."""
        return f"text:{self.digest}"


def seal_text(text: str, *, salt: bytes | None = None) -> StoredText:
    """Return any string, half characters too, as a ledger keeps it; with an empty salt, the same text is kept once."""
    plain = text.encode("utf-8", "surrogatepass")
    salt = os.urandom(16) if salt is None else salt
    packed = zlib.compress(plain, 1) if len(plain) > _SHORT else plain
    content = _COMPRESSED + packed if len(packed) < len(plain) else _PLAIN + plain
    return StoredText(hashlib.sha256(salt + plain).hexdigest(), salt, content)


def open_text(salt: Any, content: Any, digest: str) -> str:
    """Return a text that a ledger kept; ValueError where it is not the one that was recorded."""
    mark, packed = read_bytes(content)[:1], read_bytes(content)[1:]
    try:
        plain = zlib.decompress(packed) if mark == _COMPRESSED else packed
    except zlib.error as error:
        raise ValueError(f"it cannot be read: {error}") from None
    if mark not in (_PLAIN, _COMPRESSED) or hashlib.sha256(read_bytes(salt) + plain).hexdigest() != digest:
        raise ValueError("it was changed after being written")
    return plain.decode("utf-8", "surrogatepass")


def add_texts(backend: Backend, cursor: Any, new: Iterable[StoredText]) -> None:
    """Add texts inside a transaction; one that is there, or was forgotten, stays as it is."""
    rows = list(new)
    gone = {row[1] for row in look_up(backend, cursor, _NOTED, [row.digest for row in rows])}
    statement = f"{backend.render(_ADD)} ON CONFLICT DO NOTHING"
    cursor.executemany(statement, [tuple(row) for row in rows if row.digest not in gone])


def list_named(contexts: str | None) -> list[str]:
    """Return the digests of the texts that contexts name, given as JSON."""
    if contexts is None or '"text:' not in contexts:
        return []
    return list(dict.fromkeys(_NAME.findall(contexts)))


def name_texts(context: Any) -> dict[str, str]:
    """Return the digests of the texts of a record by their names in its context."""
    named = context.get(TEXTS) if isinstance(context, Mapping) else None
    if not isinstance(named, Mapping):
        return {}
    found = {name: _NAME.fullmatch(f'"{value}"') for name, value in named.items() if isinstance(value, str)}
    return {name: match[1] for name, match in found.items() if match is not None}


def read_texts(backend: Backend, cursor: Any, digests: Sequence[str]) -> dict[str, str]:
    """Return texts by digest, without those that were forgotten; ValueError where one was changed."""
    rows = look_up(backend, cursor, _READ, list(dict.fromkeys(digests)))
    return {digest: open_text(salt, content, digest) for digest, salt, content in rows}


def export_texts(backend: Backend, cursor: Any, digests: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield texts as plain data for another ledger, and the digests of those that were forgotten."""
    rows = {row[0]: row[1:] for row in look_up(backend, cursor, _READ, list(digests))}
    for digest in digests:
        if digest in rows:
            salt, content = rows[digest]
            yield {"salt": read_bytes(salt).hex(), "text": open_text(salt, content, digest)}
        else:
            yield {"forgotten": digest}


def import_text(given: Mapping[str, Any]) -> StoredText | str:
    """Return a text of an export, or the digest of one that was forgotten there."""
    if "forgotten" in given:
        return bytes.fromhex(given["forgotten"]).hex()
    return seal_text(str(given["text"]), salt=bytes.fromhex(given["salt"]))


def forget_texts(
    backend: Backend, cursor: Any, digests: Sequence[str], now: int, *, known: bool = True
) -> list[tuple[Any, ...]]:
    """Remove texts inside a transaction, and note which; return the rows that the chain of these notes goes on with.

    With `known`, only texts that are there are noted; without, also those that never were, and were not noted yet.
    """
    there = [row[0] for row in look_up(backend, cursor, _KNOWN, list(dict.fromkeys(digests)))]
    if not known:
        noted = {row[1] for row in look_up(backend, cursor, _NOTED, digests)}
        there = [digest for digest in dict.fromkeys(digests) if digest not in noted]
    for digest in there:
        cursor.execute(backend.render(_FORGET), (digest,))
        cursor.execute(backend.render(_NOTE), (digest, now))
    return sorted(look_up(backend, cursor, _NOTED, there))


def find_missing(backend: Backend, cursor: Any, digests: Sequence[str]) -> list[str]:
    """Return those of the digests whose texts are neither there nor noted as forgotten."""
    there = {row[0] for row in look_up(backend, cursor, _KNOWN, list(digests))}
    rest = [digest for digest in digests if digest not in there]
    noted = {row[1] for row in look_up(backend, cursor, _NOTED, rest)} if rest else set()
    return [digest for digest in rest if digest not in noted]


def find_changed(connection: Connection) -> Iterator[str]:
    """Yield what is wrong with texts that are there."""
    rows = connection.execution_options(stream_results=True).execute(select(texts).order_by(texts.c.digest))
    for digest, salt, content in rows:
        try:
            open_text(salt, content, digest)
        except ValueError as error:
            yield f"the text {digest[:16]}…: {error}"
