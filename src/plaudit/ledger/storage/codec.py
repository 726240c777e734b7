"""How records lie in a ledger: their numbers packed row after row, in blocks that checksums chain together."""

import hashlib
import json
import math
import struct
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from itertools import accumulate, groupby
from json.encoder import encode_basestring_ascii as quote_string
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plaudit.language.program import Program
from plaudit.ledger.context import (
    Scope,
    encode_context,
    to_microseconds,
    validate_episode,
    validate_integer,
    validate_scope,
    validate_string,
)
from plaudit.ledger.storage.computation import Computation
from plaudit.ledger.storage.decisions import is_packed, unpack_contexts
from plaudit.reward.reward import Reward
from plaudit.reward.signal import Frame, Signal
from plaudit.targets.compiled import Scores

FLOAT = np.dtype("<f8")
INLINE_RECORDS = 4096
"""Records in a block at most that the database holds, so that one of them can be read without much of the rest."""
MAX_RECORDS = 16_384
"""Records in any block at most: one of a segment is a row group."""
FEWEST = 4096
"""Records that are worth a segment: fewer are kept in the database until `compact` moves them."""
MAX_NUMBERS = 32 << 20
"""Bytes of the inputs or the outputs of a block at most, but for a block of one record."""
MAX_TEXT = 8 << 20
"""Characters of the keys, the episodes or the contexts of a block at most, but for a block of one record.

JSON makes up to twelve characters of one: this keeps every value far below what a database is asked for.
"""

Rows = NDArray[np.float64]
Gaps = dict[str, NDArray[np.bool_]]
"""Inputs that some rows do not have, by name, each with which rows these are."""

Limit = float | Callable[[Sequence[Any]], float] | None
"""An end of a clamp; a function of the inputs where it follows a schedule."""
Packer = Callable[[Signal], tuple[bytes, bytes]]
"""From a signal to the bytes of its inputs and of its outputs."""


@dataclass(frozen=True, eq=False)
class RecordLayout:
    """The rows of a reward: inputs as numbers in order; the total, then score and value of each term."""

    reward: Reward
    part: str = "whole"
    """"final" for the terminal terms alone."""

    @cached_property
    def scored(self) -> Reward:
        """The reward that computes these rows: the whole one, or its terminal terms."""
        return self.reward if self.part == "whole" else self.reward._final

    @cached_property
    def identity(self) -> tuple[str, str, str, str, str]:
        """Name, version, part and both fingerprints."""
        reward = self.reward
        return reward.name, reward.version, self.part, reward.fingerprint, reward.domain_fingerprint

    @cached_property
    def inputs(self) -> str:
        """The inputs in order, as JSON."""
        fields = self.scored.program.inputs.items()
        return json.dumps([{"name": n, "kind": f.kind, "labels": list(f.labels)} for n, f in fields])

    @cached_property
    def outputs(self) -> str:
        """The outputs in order, as JSON."""
        terms = self.scored.program.terms
        return json.dumps(["total", *(f"{term}.{part}" for term in terms for part in ("score", "value"))])

    @cached_property
    def width(self) -> int:
        """How many numbers go in."""
        return len(self.scored.inputs)

    @cached_property
    def breadth(self) -> int:
        """How many numbers come out."""
        return 1 + 2 * len(self.scored.program.terms)

    @cached_property
    def most_records(self) -> int:
        """How many records a block may hold."""
        return max(1, min(INLINE_RECORDS, MAX_NUMBERS // (8 * max(self.width, self.breadth))))

    # -- from signals and scores to bytes ---------------------------------------------------------------------------

    def pack(
        self,
        signal: Signal,
        clock: Callable[[], int],
        key: str | None,
        scope: tuple[Any, ...],
        episode: str | int | None,
        step: int | None,
        context: Any,
        at: datetime | None,
    ) -> "PackedRecord":
        """Return a signal and its context ready to be written; InputError where no database could keep a part.

        `clock` gives the moment, in microseconds, of a record that happened at none; `scope` is run, phase, decision
        class and actor. No context is made of the parts, which would take a tenth of the time of recording.
        """
        frame = signal._frame
        pack, target = self._packers.get(frame) or self._find_packer(frame)
        inputs, outputs = pack(signal)
        try:
            shared = validate_scope(*scope)
        except TypeError:  # a part that cannot be looked up is no string, which is said here
            shared = validate_scope.__wrapped__(*scope)
        return PackedRecord(
            self,
            target,
            shared,
            clock() if at is None else to_microseconds(at),
            None if key is None else validate_string("key", key),
            None if episode is None else validate_episode(episode),
            None if step is None else validate_integer("step", step),
            None if context is None else encode_context(context),
            inputs,
            outputs,
        )

    def is_own_frame(self, frame: Frame) -> bool:
        """Return whether a reward of this process made the signals with this frame, so that they need no check."""
        if frame is self.scored._frame:
            return True
        if frame.source is None:
            return False
        own = frame.source if frame.part == "whole" else frame.source._final  # a copy, perhaps, which scores likewise
        return frame is own._frame or frame is own._narrow_frames.get(frame.dtypes)

    @cached_property
    def _packers(self) -> dict[Frame, tuple[Packer, str]]:
        return {}

    @cached_property
    def _data_packers(self) -> dict[tuple[Any, ...], tuple[Packer, str]]:
        return {}

    def _find_packer(self, frame: Frame) -> tuple[Packer, str]:
        """Return how signals with this frame are packed, and what computed them."""
        if frame.source is not None:
            target = Computation("python", inputs=frame.dtypes).format(self.scored.program)
            return self._packers.setdefault(frame, (self._build_packer(frame), target))
        order = frame.inputs, frame.scores, frame.values  # each signal read from data has a frame of its own
        if order not in self._data_packers:
            self._data_packers[order] = self._build_packer(frame), "python"
        return self._data_packers[order]

    def _build_packer(self, frame: Frame) -> Packer:
        """Return the function from a signal with this frame to the bytes of its inputs and outputs."""
        pairs = zip(frame.scores, frame.values, strict=True)
        pick = itemgetter(0, *(at for pair in pairs for at in pair))
        pack_inputs, pack_outputs = (struct.Struct(f"<{size}d").pack for size in (self.width, self.breadth))
        if frame.source is not None:
            return lambda signal: (pack_inputs(*signal._inputs), pack_outputs(*pick(signal._outputs)))
        read = self.scored._compiled.convert_row  # inputs by name, as they were given

        def pack(signal: Signal) -> tuple[bytes, bytes]:
            masked = math.isnan(signal.total)
            absent = dict.fromkeys(self.scored.inputs, math.nan) if masked else {}  # no stand-in for what was bad
            row = read({**absent, **signal.inputs}, lenient=masked)
            return pack_inputs(*row), pack_outputs(*pick(signal.outputs))

        return pack

    def stack_columns(self, columns: list[Any], count: int) -> Rows:
        """Return columns side by side: row after row, as a block holds them."""
        rows = np.empty((count, len(columns)), FLOAT)
        for at, column in enumerate(columns):
            rows[:, at] = column
        rows[np.isnan(rows)] = np.nan  # of all that there are, one: bytes are compared
        return rows

    def stack_scores(self, scores: Scores, count: int) -> Rows:
        """Return a batch of scores as a block holds them."""
        terms = self.scored.program.terms
        parts = [scores.total, *(part[term] for term in terms for part in (scores.scores, scores.values))]
        return self.stack_columns(parts, count)

    # -- from bytes to signals ----------------------------------------------------------------------------------

    @cached_property
    def frame(self) -> Frame:
        """What the signals of stored rows share: their outputs stand as they are stored, clamped scores after."""
        own = self.scored._frame
        terms, adjustments = self.scored.terms, self.scored.program.adjustments
        scores = tuple(1 + 2 * at for at in range(len(terms) + len(adjustments)))
        clamps = [at for at, term in enumerate(terms) if term.low is not None or term.high is not None]
        clamped = [self.breadth + clamps.index(at) if at in clamps else scores[at] for at in range(len(terms))]
        clamped += [at + 1 for at in scores[len(terms) :]]  # of an adjustment, the amount
        return replace(own, scores=scores, values=tuple(at + 1 for at in scores), clamped=tuple(clamped))

    @cached_property
    def _clamps(self) -> list[tuple[int, Limit, Limit]]:
        terms = enumerate(self.scored.terms)
        place = self.scored._place_number
        return [
            (1 + 2 * at, *(None if end is None else place(end) for end in (t.low, t.high)))  # type: ignore[misc]
            for at, t in terms
            if t.low is not None or t.high is not None
        ]

    @cached_property
    def _flags(self) -> tuple[int, ...]:
        fields = self.scored.program.inputs.values()
        return tuple(at for at, field in enumerate(fields) if field.kind == "flag")

    def build_signal(self, inputs: list[float], outputs: list[float]) -> Signal:
        """Return the signal of one stored row."""
        for at in self._flags:
            inputs[at] = bool(inputs[at]) if inputs[at] == inputs[at] else inputs[at]
        for at, *limits in self._clamps:
            score = outputs[at]
            low, high = (limit(inputs) if callable(limit) else limit for limit in limits)
            low_bound = score if low is None else max(score, low)
            outputs.append(low_bound if high is None else min(low_bound, high))
        return Signal(self.frame, tuple(inputs), tuple(outputs))

    @cached_property
    def _unpack_inputs(self) -> Callable[[bytes], tuple[float, ...]]:
        return struct.Struct(f"<{self.width}d").unpack

    @cached_property
    def _unpack_outputs(self) -> Callable[[bytes], tuple[float, ...]]:
        return struct.Struct(f"<{self.breadth}d").unpack

    def unpack(self, inputs: bytes, outputs: bytes) -> Signal:
        """Return the signal of a block of one row."""
        return self.build_signal(list(self._unpack_inputs(inputs)), list(self._unpack_outputs(outputs)))

    def fits(self, inputs: bytes | None, outputs: bytes | None, count: int) -> bool:
        """Return whether a block holds as many bytes as `count` rows have; None is more than any have."""
        if inputs is None or outputs is None:
            return False
        return len(inputs) == 8 * count * self.width and len(outputs) == 8 * count * self.breadth

    def decode_inputs(self, inputs: bytes, count: int) -> Rows:
        """Return the inputs of `count` records; a reward may read nothing, and then there are no bytes."""
        return np.frombuffer(inputs, FLOAT).reshape(count, self.width)

    def decode_outputs(self, outputs: bytes, count: int) -> Rows:
        """Return the outputs of `count` records."""
        return np.frombuffer(outputs, FLOAT).reshape(count, self.breadth)

    def split_columns(self, rows: Rows) -> dict[str, NDArray[np.generic]]:
        """Return the inputs of stored rows as the columns that the NumPy target takes.

        A flag that is not known is False there, and a category the first: `find_gaps` says where.
        """
        found: dict[str, NDArray[np.generic]] = {}
        for at, (name, field) in enumerate(self.scored.program.inputs.items()):
            column = rows[:, at]
            if field.kind == "flag":
                found[name] = (column != 0) & (column == column)
            elif field.kind == "category":
                found[name] = np.where(column == column, column, 0.0).astype(np.intp)
            else:
                found[name] = np.ascontiguousarray(column)
        return found

    def find_gaps(self, rows: Rows) -> Gaps:
        """Return the inputs that some of the stored rows do not have, each with which rows these are."""
        unknown = np.isnan(rows)
        if not unknown.any():
            return {}
        return {name: unknown[:, at] for at, name in enumerate(self.scored.inputs) if unknown[:, at].any()}


def find_needed(program: Program, gaps: Gaps, terminal: Any) -> Gaps:
    """Return those of `gaps` that a reward reads; what only the end reads it needs only where that is `terminal`."""
    needed = {name: rows & terminal if name in program.terminal else rows for name, rows in gaps.items()}
    return {name: rows for name, rows in needed.items() if rows.any()}


class PackedRecord(NamedTuple):
    """One record, ready to be written."""

    layout: RecordLayout
    target: str
    scope: Scope
    at: int
    key: str | None
    episode: str | None
    step: int | None
    context: str | None
    inputs: bytes
    outputs: bytes


_KIND = itemgetter(0, 1, 2)
"""What the records of a block share: layout, target and scope."""
_TEXTS = attrgetter("key", "episode", "context")


class NotFaithful(Exception):
    """A segment would not give records back to the bit: they are kept in the database."""


class Stored(NamedTuple):
    """Where the columns of a block lie that is written to a segment, and what is known of it."""

    file: Any
    """The `SegmentFile`."""
    place: int
    digest: bytes
    summary: tuple[Any, ...]


@dataclass(slots=True)
class Block:
    """Records, ready to be written: what differs among them as JSON, their numbers as bytes."""

    layout: RecordLayout
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

    stored: Stored | None = None
    """Where its columns lie, if not in itself."""
    moments: bytes | None = None
    """When each record was made, where that is at hand, as the chain takes it."""


def format_origin(token: str, layout: RecordLayout, target: str, scope: Scope) -> bytes:
    """Return what is checksummed of every block of a writer, reward and scope."""
    shared = ["" if part is None else f"={part}" for part in scope.list_given()]
    return "\0".join((token, *layout.identity, target, *shared, "")).encode()


def format_job(digest: str, origin: int | None, picked: str | None, times: tuple[int, int, str | None]) -> bytes:
    """Return what the records of a block of a re-scoring share besides; such blocks are never merged."""
    return json.dumps([digest, origin, picked, *times]).encode()


def build_block(record: PackedRecord) -> Block:
    """Return the block of a single record."""
    layout, target, scope, at, key, episode, step, context, inputs, outputs = record
    return Block(
        layout,
        target,
        scope,
        1,
        at,
        at,
        inputs,
        outputs,
        None,
        None if key is None else f"[{quote_string(key)}]",
        None if episode is None else f"[{quote_string(episode)}]",
        None if step is None else f"[{step}]",
        None if context is None else f"[{context}]",
    )


def build_blocks(records: Sequence[PackedRecord]) -> Iterator[Block]:
    """Yield records as blocks, in order: those that follow one another share one if reward, target and scope agree."""
    if len(records) == 1:
        yield build_block(records[0])
        return
    for (layout, target, scope), group in groupby(records, key=_KIND):
        members = list(group)
        start = 0
        while start < len(members):
            part = members[start : start + layout.most_records]
            part = part[: find_fitting(*zip(*map(_TEXTS, part), strict=True))]
            start += len(part)
            _, _, _, ats, keys, episodes, steps, contexts, inputs, outputs = zip(*part, strict=True)
            yield Block(
                layout,
                target,
                scope,
                len(part),
                min(ats),
                max(ats),
                b"".join(inputs),
                b"".join(outputs),
                encode_times(ats),
                None if keys.count(None) == len(keys) else json.dumps(keys),
                encode_column(episodes),
                encode_column(steps),
                encode_contexts(contexts),
                moments=struct.pack(f"<{len(ats)}q", *ats),
            )


def find_fitting(*columns: Sequence[str | None]) -> int:
    """Return how many records, of which each column has a text, a block can begin with."""
    fitting = len(columns[0])
    for column in columns:
        lengths = [0 if text is None else len(text) for text in column[:fitting]]
        if max(lengths) * fitting > MAX_TEXT and column.count(column[0]) < len(column):  # one may stand for all
            fitting = max(1, bisect_right(list(accumulate(lengths)), MAX_TEXT))
    return fitting


def encode_times(ats: Sequence[int]) -> str | None:
    """Return how many microseconds after the first each moment is, as JSON; None where all are the same."""
    earliest = min(ats)
    return json.dumps([at - earliest for at in ats]) if max(ats) > earliest else None


def encode_column(values: Sequence[Any]) -> str | None:
    """Return one entry a record as JSON; one entry where all are the same, None where there are none."""
    first = values[0]
    if values.count(first) == len(values):
        return None if first is None else json.dumps([first])
    return json.dumps(values)


def encode_contexts(texts: Sequence[str | None]) -> str | None:
    """Return contexts that are JSON already as one list."""
    first = texts[0]
    if texts.count(first) == len(texts):
        return None if first is None else f"[{first}]"
    return f"[{','.join('null' if text is None else text for text in texts)}]"


def check_count(count: object) -> None:
    """Raise ValueError where no block has so many records."""
    if not isinstance(count, int) or not 0 < count <= MAX_RECORDS:
        raise ValueError(f"it says it holds {count!r:.40} records")


def decode_column(column: str | None, count: int) -> Iterable[Any]:
    """Return the entries of a column that `encode_column` wrote; ValueError where no block has so many records."""
    check_count(count)
    if column is None:
        return (None,) * count
    if is_packed(column):
        return unpack_contexts(column, count)
    found: list[Any] = json.loads(column)
    return found * count if len(found) == 1 else found


def digest_scope(scope: Scope) -> str:
    """Return what a scope is found by."""
    return hashlib.sha256(json.dumps(scope.list_given()).encode()).hexdigest()


def digest_job(layout: RecordLayout, chosen: str) -> str:
    """Return what a re-scoring is found by: the reward and the choice of records, as JSON."""
    return hashlib.sha256("\0".join((*layout.identity, chosen)).encode()).hexdigest()
