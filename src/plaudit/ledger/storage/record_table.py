"""Records as an Arrow table, as Parquet files hold them: a column for each part of the context, each input and value.

Scores before clamps and weights are not kept: the reward gives them again from the inputs, bit for bit. Those that it
might not are columns of their own: of functions that machines round differently, of JAX and PyTorch, and where the
sign of a zero differs between targets.
"""

import hashlib
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from plaudit.language.program import find_reachable
from plaudit.ledger.context import NAMES, Scope
from plaudit.ledger.storage.codec import FLOAT, NotFaithful, RecordLayout, Rows
from plaudit.ledger.storage.computation import LIBRARIES, Computation
from plaudit.ledger.storage.episode_parts import (
    ENDS,
    ORIGINAL_REWARD,
    encode_outcomes,
    find_end,
    find_original_reward,
)
from plaudit.ledger.storage.parts import pack_parts, parse_number
from plaudit.ledger.storage.recompute import get_recomputer
from plaudit.ledger.storage.steps import Steps
from plaudit.ledger.storage.summary import summarize
from plaudit.targets.columns import name_columns
from plaudit.targets.dtypes import find_rounded
from plaudit.targets.inputs import list_slots

Integers = NDArray[np.int64]

SPEC, PART, TARGET = b"plaudit.spec", b"plaudit.part", b"plaudit.target"
"""Under which a file says whose records it has, and what computed them: it can be read without the ledger."""
_WORDS = pa.dictionary(pa.int32(), pa.string())
_CONTEXT = {
    "time": pa.timestamp("us", tz="UTC"),
    "run": _WORDS,
    "phase": _WORDS,
    "decision_class": _WORDS,
    "actor": _WORDS,
    "sample_rate": pa.float64(),
    "episode": _WORDS,
    "step": pa.int64(),
    "key": pa.string(),
    "end": _WORDS,
    "original_reward": pa.float64(),
    "context": pa.string(),
}
_PLAIN = re.compile(r'\{"original_reward":(-?[0-9][0-9.e+-]*)(?:,"(terminated|truncated)":true)?\}')
"""A context that two columns say whole."""


@dataclass(frozen=True, slots=True)
class Context:
    """What is said of records besides their numbers, a column each, as Arrow has them."""

    times: Integers
    """In microseconds since 1970, UTC."""
    episodes: pa.Array
    steps: pa.Array
    keys: pa.Array
    ends: pa.Array
    originals: pa.Array
    contexts: pa.Array
    """Whole contexts as JSON, of records of which the two columns before do not say everything."""


class RecordTable:
    """The table of the records of one reward that one target computed."""

    def __init__(self, layout: RecordLayout, target: str) -> None:
        """Find the columns."""
        self.layout, self.target = layout, target
        program = layout.scored.program
        computation = get_recomputer(layout).parse(target)
        self._again = get_recomputer(layout)
        dtypes = dict(computation.inputs)
        self._narrow = {
            slot.name: dtype
            for slot in list_slots(program)
            if slot.field.kind == "number" and (dtype := dtypes.get(slot.name) or dtypes.get(slot.column)) is not None
        }
        columns = name_columns(program.terms, program.inputs)
        self.outputs = [columns[name] for name in json.loads(layout.outputs)]
        """The columns of the outputs, in order; those of scores may be absent."""
        taken = {*program.inputs, *self.outputs}
        self.names = {name: f"record.{name}" if name in taken else name for name in _CONTEXT}
        """The columns of the context: with `record.` before where an input or a term has the name."""
        self.kept_scores = _find_inexact(layout, computation)
        """The terms, by position, whose scores are always kept."""

    # -- to a table ----------------------------------------------------------------------------------------------------

    def build(self, scope: Scope, context: Context, inputs: Rows, outputs: Rows, *, computed: bool) -> pa.Table:
        """Return records as a table; `computed` says that the NumPy target gave the outputs in this process.

        Raises:
            NotFaithful: The inputs are not of the dtypes that the target says they came in.
        """
        count = len(inputs)
        columns: dict[str, pa.Array] = {
            "time": pa.array(context.times).cast(_CONTEXT["time"]),
            **{name: _repeat(getattr(scope, name), count) for name in NAMES},
            "episode": context.episodes,
            "step": context.steps,
            "key": context.keys,
            "end": context.ends,
            "original_reward": context.originals,
            "context": context.contexts,
        }
        if scope.sample_rate is not None:
            columns["sample_rate"] = pa.repeat(scope.sample_rate, count)
        named = {self.names[name]: columns[name] for name in _CONTEXT if name in columns}
        return pa.table({**named, **self._build_inputs(inputs), **self._build_outputs(inputs, outputs, computed)})

    def describe(self) -> dict[bytes, bytes]:
        """Return what a file says of its records: whose they are, and what computed them."""
        layout = self.layout
        return {SPEC: layout.reward.to_json().encode(), PART: layout.part.encode(), TARGET: self.target.encode()}

    def list_types(self) -> dict[str, pa.DataType]:
        """Return the columns that every file of these records has, with their types."""
        kinds = {"flag": pa.bool_(), "category": _WORDS}
        narrow = dict.fromkeys(self._narrow, pa.float32())
        inputs = self.layout.scored.program.inputs.items()
        kept = [name for at, name in enumerate(self.outputs) if at % 2 == 0 or at // 2 in self.kept_scores]
        return {
            **{self.names[name]: kind for name, kind in _CONTEXT.items()},
            **{name: kinds.get(field.kind) or narrow.get(name, pa.float64()) for name, field in inputs},
            **dict.fromkeys(kept, pa.float64()),
        }

    def _build_inputs(self, rows: Rows) -> dict[str, pa.Array]:
        found: dict[str, pa.Array] = {}
        for at, (name, field) in enumerate(self.layout.scored.program.inputs.items()):
            column = rows[:, at]
            unknown = np.isnan(column)
            mask = unknown if unknown.any() else None
            if field.kind == "flag":
                found[name] = pa.array(column == 1, mask=mask)
            elif field.kind == "category":
                codes = pa.array(np.where(unknown, 0, column).astype(np.int32), mask=mask)
                found[name] = pa.DictionaryArray.from_arrays(codes, pa.array(field.labels, pa.string()))
            elif name in self._narrow:
                narrow = column.astype(np.float32)
                if not _is_same(self._widen(name, narrow), column):
                    raise NotFaithful(f"{name} is not of the dtype that it came in")
                found[name] = pa.array(narrow, mask=mask)
            else:
                found[name] = pa.array(np.ascontiguousarray(column), mask=mask)
        return found

    def _build_outputs(self, inputs: Rows, outputs: Rows, computed: bool) -> dict[str, pa.Array]:
        all_kept = len(self.kept_scores) == len(self.outputs) // 2
        again = outputs if computed or all_kept else self._again.run_numpy(inputs)
        found: dict[str, pa.Array] = {}
        for at, name in enumerate(self.outputs):
            column = outputs[:, at]
            recomputes = at % 2 == 1 and at // 2 not in self.kept_scores
            if recomputes and (again is outputs or _is_same(again[:, at], column)):
                continue
            unknown = np.isnan(column)
            found[name] = pa.array(np.ascontiguousarray(column), mask=unknown if unknown.any() else None)
        return found

    def _widen(self, name: str, narrow: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return a narrow column as it was recorded: numbers that counted as a bound as that bound."""
        wide = narrow.astype(np.float64)
        field = self.layout.scored.program.inputs[name]
        for near, number in find_rounded(field, self._narrow[name]).items():
            wide[wide == near] = number
        return wide

    def digest(self, table: pa.Table) -> bytes:
        """Return the digest of records; what all of a block share, the chain has besides."""
        shared = {self.names[name] for name in Scope._fields}
        return digest_table(table, [name for name in table.column_names if name not in shared])

    def summarize(self, table: pa.Table) -> tuple[Any, ...]:
        """Return what the catalogue says of the records of a block: its row in `summaries`, besides its number."""
        count = len(table)
        times = np.asarray(table.column(self.names["time"]).cast(pa.int64()))
        values = self.read_values(table)
        names, codes = _list_names(table.column(self.names["episode"]).combine_chunks())
        steps = table.column(self.names["step"]).combine_chunks()
        bounds = pc.min_max(steps).as_py()
        summary = summarize(
            *(count, int(times.min()), int(times.max()), None),
            json.dumps(names) if names else None,
            None if bounds["min"] is None else json.dumps([bounds["min"], bounds["max"]]),
            np.ascontiguousarray(values[:, 0]).tobytes(),
        )
        ends, originals, contexts = (table.column(self.names[name]) for name in ("end", "original_reward", "context"))
        ended = [np.asarray(pc.fill_null(pc.equal(ends.cast(pa.string()), end), False)) for end in ENDS]
        said = pc.any(pc.match_substring(contexts, f'"{ORIGINAL_REWARD}":')).as_py()
        telling = int(originals.null_count < count or ends.null_count < count or bool(said))
        if not names:
            return *summary, telling, None
        numbers = [number for name in names if (number := parse_number(name)) is not None]
        named = len(numbers) < len(names)
        numbered = {} if bounds["min"] is None else {"steps": np.asarray(steps.fill_null(0))}
        if numbered and steps.null_count:
            numbered["stepped"] = np.asarray(steps.is_valid())
        parts = pack_parts(
            codes if named else np.where(codes < 0, 0, np.array(numbers, np.int64)[codes]),
            list(values.T),
            times=times,
            names=names if named else None,
            chosen=codes >= 0,
            **numbered,
            ends=(ended[0] + 2 * (ended[1] & ~ended[0])).astype(np.int8) if ends.null_count < count else None,
        )
        return *summary, telling, parts

    # -- and back ------------------------------------------------------------------------------------------------------

    def list_inputs(self) -> list[str]:
        """Return the columns of the inputs."""
        return list(self.layout.scored.program.inputs)

    def list_values(self) -> list[str]:
        """Return the columns of the total and of the values of terms."""
        return [self.outputs[0], *self.outputs[2::2]]

    def read_inputs(self, table: pa.Table) -> Rows:
        """Return the inputs as rows."""
        rows = np.empty((len(table), self.layout.width), FLOAT)
        for at, (name, field) in enumerate(self.layout.scored.program.inputs.items()):
            column = table.column(name).combine_chunks()
            if field.kind == "flag":
                rows[:, at] = _to_floats(column.cast(pa.uint8()))
            elif field.kind == "category":
                rows[:, at] = _to_positions(column, field.labels)
            elif name in self._narrow:
                rows[:, at] = self._widen(name, _to_numpy(column, np.float32))
            else:
                rows[:, at] = _to_floats(column)
        return rows

    def read_values(self, table: pa.Table) -> Rows:
        """Return the totals and the values of terms as rows."""
        return np.column_stack([_to_floats(table.column(name).combine_chunks()) for name in self.list_values()])

    def read_outputs(self, table: pa.Table, inputs: Rows | None = None) -> Rows:
        """Return the outputs as rows; scores that are not kept are computed from the inputs."""
        rows = np.empty((len(table), self.layout.breadth), FLOAT)
        absent = [at for at, name in enumerate(self.outputs) if name not in table.column_names]
        for at, name in enumerate(self.outputs):
            if at not in absent:
                rows[:, at] = _to_floats(table.column(name).combine_chunks())
        if absent:
            rows[:, absent] = self._again.run_numpy(self.read_inputs(table) if inputs is None else inputs)[:, absent]
            rows[np.isnan(rows[:, 0])] = np.nan
        return rows

    def read_contexts(self, table: pa.Table) -> str | None:
        """Return the contexts as a block has them."""
        originals, ends, texts = (table.column(self.names[name]) for name in ("original_reward", "end", "context"))
        if originals.null_count == texts.null_count == len(table):
            return None
        said = ends.combine_chunks().cast(pa.string())
        terminated, truncated = (np.asarray(pc.fill_null(pc.equal(said, end), False)) for end in ENDS)
        paid = _to_floats(originals.combine_chunks())
        if not originals.null_count and texts.null_count == len(table):
            return encode_outcomes(paid, terminated, truncated)
        listed = texts.to_pylist()
        known = np.asarray(originals.is_valid())
        for at in range(len(table)):
            if listed[at] is None and known[at]:
                one = slice(at, at + 1)
                listed[at] = encode_outcomes(paid[one], terminated[one], truncated[one])[1:-1]
        if listed.count(listed[0]) == len(listed):
            return None if listed[0] is None else f"[{listed[0]}]"
        return f"[{','.join('null' if text is None else text for text in listed)}]"


@lru_cache(256)
def get_table(layout: RecordLayout, target: str) -> RecordTable:
    """Return the one table of a layout and a target."""
    return RecordTable(layout, target)


def _find_inexact(layout: RecordLayout, computation: Computation) -> frozenset[int]:
    """Return the terms, by position, whose scores another machine may round differently."""
    program = layout.scored.program
    names = json.loads(layout.outputs)[1::2]
    if computation.target in LIBRARIES:
        return frozenset(range(len(names)))
    return frozenset(
        at
        for at, name in enumerate(names)
        if any(program.nodes[node].inexact for node in find_reachable(program.nodes, [program.outputs[name]]))
    )


def _list_names(episodes: pa.Array) -> tuple[list[str], NDArray[np.int64]]:
    """Return the episodes of records in the order in which they first occur, and which one each has: -1 for none."""
    codes = np.asarray(episodes.indices.fill_null(-1).to_numpy(zero_copy_only=False), np.int64)
    known, firsts = np.unique(codes, return_index=True)
    order = [at for at in known[np.argsort(firsts)].tolist() if at >= 0]
    places = np.full(len(episodes.dictionary) + 1, -1)  # the last one is for -1
    places[order] = np.arange(len(order))
    words = episodes.dictionary.to_pylist()
    return [words[at] for at in order], places[codes]


# -- what is said of records, in columns -------------------------------------------------------------------------------


def describe_steps(steps: Steps, about: Mapping[int, Mapping[str, Any]]) -> Context:
    """Return what is known of the steps of environments; `about` is what else the contexts of some say."""
    count = len(steps.steps)
    said = build_outcomes(steps.originals, steps.terminated, steps.truncated, about)
    keys = pa.nulls(count, pa.string())
    return Context(steps.times // 1000, build_words(steps.episodes, count), pa.array(steps.steps), keys, *said)


def describe_records(
    times: Sequence[int] | Integers,
    keys: Sequence[str | None],
    episodes: Sequence[str | None],
    steps: Sequence[int | None],
    contexts: Sequence[str | None],
) -> Context:
    """Return what is known of records, an entry each; contexts are JSON."""
    ends, paid, whole = split_contexts(contexts)
    words = pa.array(episodes, pa.string()).dictionary_encode()
    numbers = pa.array(steps, pa.int64())
    return Context(np.array(times, np.int64), words, numbers, pa.array(keys, pa.string()), ends, paid, whole)


def build_outcomes(
    originals: Sequence[Any] | NDArray[Any],
    terminated: NDArray[np.bool_],
    truncated: NDArray[np.bool_],
    about: Mapping[int, Mapping[str, Any]],
) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Return what environments said of steps as the columns `end`, `original_reward` and `context`."""
    codes = np.where(terminated, 0, np.where(truncated, 1, -1)).astype(np.int32)
    ends = pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), pa.array(ENDS))
    if isinstance(originals, np.ndarray) and originals.dtype.kind == "f":
        paid, odd = pa.array(originals, pa.float64(), from_pandas=False), set()
    else:
        paid = pa.array([None if each is None else float(each) for each in originals], pa.float64())
        odd = {at for at, each in enumerate(originals) if each is None}
    whole = odd | set(about) | set(np.flatnonzero(terminated & truncated).tolist())
    if not whole:
        return ends, paid, pa.nulls(len(codes), pa.string())
    texts: list[str | None] = [None] * len(codes)
    for at in whole:
        said = {0: about[at]} if at in about else {}
        texts[at] = encode_outcomes([originals[at]], [terminated[at]], [truncated[at]], said)[1:-1]
    return ends, paid, pa.array(texts, pa.string())


def split_contexts(texts: Sequence[str | None]) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Return contexts, JSON or None each, as the columns `end`, `original_reward` and `context`."""
    ends: list[str | None] = []
    paid: list[float | None] = []
    whole: list[str | None] = []
    for text in texts:
        plain = None if text is None else _PLAIN.fullmatch(text)
        if plain is not None and repr(float(plain[1])) == plain[1]:
            ends.append(plain[2])
            paid.append(float(plain[1]))
            whole.append(None)
            continue
        said = None if text is None else json.loads(text)
        ends.append(find_end(said))
        paid.append(find_original_reward(said))
        whole.append(text)
    words = pa.array(ends, pa.string()).dictionary_encode()
    return words, pa.array(paid, pa.float64()), pa.array(whole, pa.string())


def build_words(values: Sequence[str | None] | Integers | str | None, count: int) -> pa.Array:
    """Return names, one a record or one for all, as a column; numbers become their decimal text."""
    if isinstance(values, np.ndarray):
        distinct, codes = np.unique(values, return_inverse=True)
        return pa.DictionaryArray.from_arrays(
            pa.array(codes.astype(np.int32)), pa.array(list(map(str, distinct.tolist())))
        )
    if values is None or isinstance(values, str):
        return _repeat(values, count)
    return pa.array(values, pa.string()).dictionary_encode()


def _repeat(value: str | None, count: int) -> pa.Array:
    if value is None:
        return pa.nulls(count, _WORDS)
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int32)), pa.array([value]))


# -- digests -----------------------------------------------------------------------------------------------------------


def digest_table(table: pa.Table, names: Collection[str]) -> bytes:
    """Return the digest of these columns of a table, however a file is cut, compressed and encoded."""
    digest = hashlib.blake2b(str(len(table)).encode(), digest_size=32)
    for name in sorted(names):
        column = table.column(name)
        whole = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
        digest.update(f"\0{name}\0".encode())
        for part in _list_bytes(whole):
            digest.update(part)
    return digest.digest()


def _list_bytes(column: pa.Array) -> Iterator[bytes | memoryview]:
    """Yield the values of a column as bytes: texts with their lengths, nulls as zeros and which they are."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(pa.string())
    if column.null_count:
        yield np.packbits(np.asarray(column.is_valid())).tobytes()
    if column.null_count == len(column):
        return
    if pa.types.is_string(column.type):
        column = column.fill_null("")
        yield np.asarray(pc.binary_length(column)).tobytes()
        start, end = (int(np.frombuffer(column.buffers()[1], np.int32)[column.offset + at]) for at in (0, len(column)))
        yield memoryview(column.buffers()[2])[start:end] if end > start else b""
    elif pa.types.is_boolean(column.type):
        yield np.packbits(np.asarray(column.fill_null(False))).tobytes()
    elif pa.types.is_floating(column.type):
        yield np.ascontiguousarray(column.fill_null(0.0).to_numpy()).data
    else:
        yield np.ascontiguousarray(column.cast(pa.int64()).fill_null(0).to_numpy()).data


def _is_same(one: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    """Return whether two columns agree in every bit; all NaN are one."""
    same = np.ascontiguousarray(one).view(np.int64) == np.ascontiguousarray(other).view(np.int64)
    return bool((same | (np.isnan(one) & np.isnan(other))).all())


def _to_numpy(column: pa.Array, dtype: Any) -> NDArray[Any]:
    found = (column.fill_null(float("nan")) if column.null_count else column).to_numpy(zero_copy_only=False)
    made: NDArray[Any] = np.asarray(found, dtype)
    return made


def _to_floats(column: pa.Array) -> NDArray[np.float64]:
    if not pa.types.is_floating(column.type):
        column = column.cast(pa.float64())
    return _to_numpy(column, np.float64)


def _to_positions(column: pa.Array, labels: Sequence[str]) -> NDArray[np.float64]:
    """Return words as positions in `labels`; NaN where there is none."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    places = {label: float(at) for at, label in enumerate(labels)}
    known = np.array([places[word] for word in column.dictionary.to_pylist()] or [np.nan])
    codes = np.asarray(column.indices.fill_null(-1).to_numpy(zero_copy_only=False))
    return np.where(codes < 0, np.nan, known[codes])
