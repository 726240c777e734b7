"""Blocks: records written in one go, of one reward and one scope, chained by a checksum to the block before."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from json.encoder import encode_basestring_ascii as quoted
from typing import Any, NamedTuple

from plaudit.ledger.blocks.shape import Shape
from plaudit.ledger.record import Scope

LARGEST = 4096
"""Records in a block at most, so that one of them can be read without much of the rest."""


_TEXT = "\0".join(["%s"] * 13)  # formatting in one go is the quickest way to write a checksum's text


class Row(NamedTuple):
    """One record, ready to be written."""

    shape: Shape
    target: str
    scope: Scope
    at: int
    key: str | None
    episode: str | None
    step: int | None
    context: str | None
    inputs: bytes
    outputs: bytes


@dataclass(slots=True)
class Block:
    """Records, ready to be written: what differs among them as JSON, their numbers as bytes."""

    shape: Shape
    target: str
    scope: Scope
    count: int
    earliest: int
    latest: int
    inputs: bytes
    outputs: bytes
    times: str | None = None
    keys: str | None = None
    episodes: str | None = None
    steps: str | None = None
    contexts: str | None = None
    job: tuple[int, str] | None = None
    """The number and the digest of the re-scoring, if it is one."""
    origin: int | None = None
    picked: str | None = None

    def text(self, first: int, seq: int) -> bytes:
        """Return what is checksummed besides the scope and the numbers."""
        job = self.job[1] if self.job else None
        numbers = (first, self.count, seq, self.earliest, self.latest, self.origin)
        return block_text(numbers, (job, self.picked, self.times, self.keys, self.episodes, self.steps, self.contexts))


def block_text(numbers: tuple[int | None, ...], texts: tuple[str | None, ...]) -> bytes:
    """Return what is checksummed of one block besides its scope and its rows: six numbers and seven texts."""
    return (_TEXT % (*numbers, *texts)).encode()


def common_text(token: str, shape: Shape, target: str, scope: Scope) -> bytes:
    """Return what is checksummed of every block of a writer, reward and scope."""
    shared = ["" if part is None else f"={part}" for part in scope]
    return "\0".join((token, *shape.identity, target, *shared, "")).encode()


def beginning(token: str, opened: int, host: str, process: int, made_with: str) -> bytes:
    """Return what the first block of a writer is chained to: who writes."""
    return hashlib.sha256("\0".join((token, str(opened), host, str(process), made_with)).encode()).digest()


def chained(head: bytes, common: bytes, text: bytes, inputs: bytes, outputs: bytes) -> bytes:
    """Return the checksum of a block: over the one before it, what it says and its numbers."""
    return hashlib.sha256(b"%b%b%b\0%b%b" % (head, common, text, inputs, outputs)).digest()


def block_of_one(row: Row) -> Block:
    """Return the block of a single record."""
    shape, target, scope, at, key, episode, step, context, inputs, outputs = row
    return Block(
        shape,
        target,
        scope,
        1,
        at,
        at,
        inputs,
        outputs,
        None,
        None if key is None else f"[{quoted(key)}]",
        None if episode is None else f"[{quoted(episode)}]",
        None if step is None else f"[{step}]",
        None if context is None else f"[{context}]",
    )


def blocks_of(rows: Sequence[Row]) -> Iterator[Block]:
    """Yield rows as blocks, in order: those that follow one another and share reward, target and scope are together."""
    if len(rows) == 1:
        yield block_of_one(rows[0])
        return
    for (shape, target, scope), group in groupby(rows, key=lambda row: (row.shape, row.target, row.scope)):
        members = list(group)
        for start in range(0, len(members), LARGEST):
            part = members[start : start + LARGEST]
            ats = [row.at for row in part]
            contexts = [row.context for row in part]
            yield Block(
                shape,
                target,
                scope,
                len(part),
                min(ats),
                max(ats),
                b"".join([row.inputs for row in part]),
                b"".join([row.outputs for row in part]),
                times_text(ats),
                None if all(row.key is None for row in part) else json.dumps([row.key for row in part]),
                listed([row.episode for row in part]),
                listed([row.step for row in part]),
                contexts_text(contexts),
            )


def times_text(ats: Sequence[int]) -> str | None:
    """Return how many microseconds after the first each moment is, as JSON; None where all are the same."""
    earliest = min(ats)
    return json.dumps([at - earliest for at in ats]) if max(ats) > earliest else None


def listed(values: Sequence[Any]) -> str | None:
    """Return one entry a record as JSON; one entry where all are the same, None where there are none."""
    first = values[0]
    if all(value == first for value in values):
        return None if first is None else json.dumps([first])
    return json.dumps(values)


def contexts_text(texts: Sequence[str | None]) -> str | None:
    """Return contexts that are JSON already as one list."""
    first = texts[0]
    if all(text == first for text in texts):
        return None if first is None else f"[{first}]"
    return f"[{','.join('null' if text is None else text for text in texts)}]"


def entries(column: str | None, count: int, parse: Callable[[str], Any] = json.loads) -> Iterable[Any]:
    """Return the entries of a column that `listed` wrote, one a record."""
    if column is None:
        return (None,) * count
    found: list[Any] = parse(column)
    return found * count if len(found) == 1 else found
