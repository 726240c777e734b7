"""Records: a signal and its context, to be recorded, as it was recorded, explained, and many of them in a page."""

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime
from typing import Any

import numpy as np

from plaudit.html import Markup, build_heading, build_note, join
from plaudit.ledger.backends.backend import report_damage
from plaudit.ledger.context import to_datetime
from plaudit.ledger.storage.codec import RecordLayout, Rows, decode_column
from plaudit.ledger.storage.episode_parts import find_end, find_lost_terms, find_masked, find_original_reward
from plaudit.ledger.storage.segment_rows import SegmentRow
from plaudit.ledger.storage.texts import FOUND, LEFT_OUT, TEXTS
from plaudit.reward.signal import Signal
from plaudit.terminal import escape_controls

EXPORT_FORMAT = 1
"""The format of exported files."""


@dataclass(slots=True, unsafe_hash=True)
class Entry:
    """A signal with its context, for `Ledger.record_many`; the fields are the arguments of `Ledger.record`.

    >>> from plaudit import Field, Reward, term
    >>> @term
    ... def gain(delta): return delta
    >>> reward = Reward("gain", version="1", terms=[gain], fields=[Field("delta")])
    >>> entry = Entry(reward.score(delta=0.5), run="night-3", step=41)
    >>> entry.run, entry.step, entry.signal.total
    ('night-3', 41, 0.5)
    """

    signal: Signal
    _: KW_ONLY
    key: str | None = None
    run: str | None = None
    episode: str | int | None = None
    step: int | None = None
    phase: str | None = None
    decision_class: str | None = None
    actor: str | None = None
    context: Any = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """A recorded signal with its context. `at` is the time by its writer's clock, in UTC.

    Example:
        ```python
        for record in ledger.history(run="night-3"):
            print(record.id, record.step, record.total, record.signal.values)
        ```
    """

    id: int
    key: str | None
    signal: Signal
    at: datetime
    run: str | None
    episode: str | None
    step: int | None
    phase: str | None
    decision_class: str | None
    actor: str | None
    context: Any
    target: str
    """The target that computed it: `python`, or `numpy` for a batch; then the dtypes narrower than float64.

    `numpy float32` where all inputs were float32, `numpy float32:action` where one was, `torch/float32 float32` where
    PyTorch computed in float32 too.
    """
    writer: int
    seq: int
    """Its position among the records of its writer."""
    origin: int | None
    """The original record, if it was re-scored."""
    job: int | None
    """The job of the re-scoring, if any."""
    sample_rate: float | None = None
    """With which probability its episode was recorded; None where all were."""

    @property
    def total(self) -> float:
        """The reward of the step."""
        return self.signal.total

    @property
    def original_reward(self) -> float | None:
        """The environment's own reward, if its wrapper recorded it."""
        return find_original_reward(self.context)

    @property
    def masked(self) -> str | None:
        """Why the step could not be scored; its total is NaN then."""
        return find_masked(self.context)

    @property
    def ended(self) -> str | None:
        """How the episode ended with this step, "terminated" or "truncated"; otherwise None."""
        return find_end(self.context)

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain data for JSON.

        Returns:
            The fields by name; the signal is a dictionary and the time an ISO string.
        """
        plain = {name: getattr(self, name) for name in self.__slots__}
        if self.sample_rate is None:
            del plain["sample_rate"]
        return {**plain, "signal": self.signal.to_dict(), "at": self.at.isoformat().replace("+00:00", "Z")}


_LONGEST_TEXT = 10_000
"""Characters of a text that an explanation shows."""


@dataclass(frozen=True, slots=True)
class Why:
    """A record explained; print it."""

    record: Record
    host: str
    process: int
    made_with: str
    texts: Mapping[str, str | None] = field(default_factory=dict)
    """What was recorded of prompts, completions and judges, by name; None for a text that was forgotten."""

    def __str__(self) -> str:
        """Return the explanation as text."""
        return escape_controls("\n".join([*self._lines(), "", self.record.signal.explain(), *self.format_texts()]))

    def format_texts(self) -> list[str]:
        """Return its texts to print, each after its name and an empty line; of a long one, the beginning and the end.

        Returns:
            The texts.
        """
        return [
            f"\n{name}: forgotten" if text is None else f"\n{name}:\n{_shorten_text(text)}"
            for name, text in self.list_texts()
        ]

    def list_texts(self) -> list[tuple[str, str | None]]:
        """Return the parts of its texts: prompt, completion, what judges said.

        Returns:
            Each part with its name; None for a text that was forgotten.
        """
        inputs = self.record.signal.inputs
        return [part for name, text in self.texts.items() for part in _split_text(name, text, inputs)]

    def _repr_html_(self) -> str:
        first, *others = self._lines()
        return join(build_heading(first), *map(build_note, others), Markup(self.record.signal._repr_html_()))

    def _lines(self) -> list[str]:
        record = self.record
        given = {name: getattr(record, name) for name in _CONTEXT}
        if self.texts:
            given["context"] = {name: said for name, said in record.context.items() if name != TEXTS}
        shown = ", ".join(f"{name}={value!r:.200}" for name, value in given.items() if value is not None)
        stamp = record.at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return [
            f"record {record.id}, {stamp}, written by process {self.process} on {self.host}",
            *([f"where: {shown}"] if shown else []),
            *([f"re-scores record {record.origin} (job {record.job})"] if record.origin is not None else []),
            f"formula {record.signal.fingerprint[:12]}, computed by the {record.target} target",
            *([f"not scored: {record.masked}"] if record.masked else []),
            *([f"scored without {lost}"] if (lost := find_lost_terms(record.context)) else []),
            *([f"its episode is one of a sample: rate {record.sample_rate:g}"] if record.sample_rate else []),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain data for JSON."""
        about = {"host": self.host, "process": self.process, "made_with": self.made_with}
        said = {"texts": dict(self.texts)} if self.texts else {}
        return {**self.record.to_dict(), "recorded_by": about, **said}


def _shorten_text(text: str) -> str:
    """Return a text, without its middle if it is long."""
    left = len(text) - _LONGEST_TEXT
    if left <= 0:
        return text
    half = _LONGEST_TEXT // 2
    note = f"[… {left:,} characters are left out; `plaudit ledger why --json` prints them …]"
    return f"{text[:half]}\n{note}\n{text[-half:]}"


def _split_text(name: str, text: str | None, inputs: Collection[str]) -> Iterator[tuple[str, str | None]]:
    """Yield the parts of a text with their names: of JSON, its entries and messages; None where it was forgotten.

    What features found is shown where it is no input, which is shown already.
    """
    try:
        found = None if text is None else json.loads(text)
    except ValueError:
        found = text
    if isinstance(found, dict) and isinstance(values := found.get(FOUND), dict):
        found = {key: value for key, value in found.items() if key != LEFT_OUT}
        found = {**found, FOUND: {f"{each}, found": json.dumps(values[each]) for each in values if each not in inputs}}
    yield from _split_part(name, found)


def _split_part(name: str, part: Any) -> Iterator[tuple[str, str | None]]:
    if isinstance(part, dict) and part and "role" not in part and next(iter(part))[:1] != "$":
        for each, value in part.items():
            yield from _split_part(each, value)
    elif isinstance(part, list) and part and all(isinstance(each, dict) and "role" in each for each in part):
        for message in part:
            yield from _split_part(f"{name}, {message['role']}", message.get("content") or "")
            for key in (each for each in message if each not in ("role", "content")):
                yield from _split_part(f"{name}, {message['role']}, {key}", message[key])
    elif part not in ({}, []):
        yield name, part if isinstance(part, str) or part is None else json.dumps(part)


_CONTEXT = ("run", "episode", "step", "phase", "decision_class", "actor", "key", "context")


@dataclass(frozen=True, slots=True)
class Page:
    """A block as it was read, with those of its records that were chosen."""

    ledger: str
    row: Any
    chosen: "np.ndarray[Any, np.dtype[np.intp]] | None"
    """Positions of the chosen records; None for all."""
    layout: RecordLayout

    @property
    def inputs(self) -> Rows:
        """The inputs of all its records."""
        if isinstance(self.row, SegmentRow):
            return self.row.input_rows
        return self.layout.decode_inputs(self.row.inputs, self.row.records)

    @property
    def outputs(self) -> Rows:
        """The outputs of all its records."""
        if isinstance(self.row, SegmentRow):
            return self.row.output_rows
        return self.layout.decode_outputs(self.row.outputs, self.row.records)

    def report_damage(self) -> AbstractContextManager[None]:
        """Raise LedgerBroken where reading the block fails as only damaged ones do."""
        return report_damage(self.ledger, f"the block of record {self.row.first}")

    def holds(self, record: int) -> bool:
        """Return whether it has the record with a number, chosen or not."""
        return bool(self.row.first <= record < self.row.first + self.row.records)

    def positions(self) -> "np.ndarray[Any, np.dtype[np.intp]]":
        """Return the positions of the chosen records."""
        return np.arange(self.row.records) if self.chosen is None else self.chosen


def read_records(page: Page) -> list[Record]:
    """Return the chosen records of a page; LedgerBroken where it is damaged."""
    with page.report_damage():
        return list(_read_records(page))


def _read_records(page: Page) -> Iterator[Record]:
    row, layout, count = page.row, page.layout, page.row.records
    about = (row.run, row.phase, row.decision_class, row.actor, row.target, row.writer, row.job, row.sample_rate)
    columns = (row.times, row.keys, row.episodes, row.steps, row.contexts, row.picked)
    if count == 1:
        one = [None if column is None else json.loads(column)[0] for column in columns]
        yield _build_record(row, 0, one, layout.unpack(row.inputs, row.outputs), about)
        return
    lists = [list(decode_column(column, count)) for column in columns]
    inputs, outputs = page.inputs, page.outputs
    for at in page.positions().tolist():
        signal = layout.build_signal(inputs[at].tolist(), outputs[at].tolist())
        yield _build_record(row, at, [listed[at] for listed in lists], signal, about)


def _build_record(row: Any, at: int, entry: list[Any], signal: Signal, about: tuple[Any, ...]) -> Record:
    time, key, episode, step, context, picked = entry
    run, phase, decision_class, actor, target, writer, job, rate = about
    origin = None if row.origin is None else row.origin + (at if picked is None else picked)
    when = to_datetime(row.earliest + (time or 0))
    where = (run, episode, step, phase, decision_class, actor, context)
    return Record(row.first + at, key, signal, when, *where, target, writer, row.seq + at, origin, job, rate)
