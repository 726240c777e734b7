"""Rewards in a ledger: each stored once, a version label tied to one formula for good, and all of them kept at hand."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, bindparam, insert, select

from plaudit.errors import LedgerBroken, LedgerError, NotInLedger, SpecError, VersionConflict, WrongType, shorten
from plaudit.language.field import Field
from plaudit.language.schedule import Schedule
from plaudit.ledger.backends.backend import Backend
from plaudit.ledger.storage.codec import RecordLayout
from plaudit.ledger.storage.schema import labels, specs
from plaudit.reward.lower import Function
from plaudit.reward.reward import Reward
from plaudit.reward.signal import Frame, Signal
from plaudit.reward.term import Term

IDENTITY = ("name", "version", "part", "fingerprint", "domain")
"""The columns that tell one stored reward from another."""
_TOGETHER = 500
"""Rewards to read at a time."""
_ADD = insert(specs).values({name: bindparam(name) for name in (*IDENTITY, "spec", "inputs", "outputs")})
_FIND = select(specs.c.id).where(*(specs.c[name] == bindparam(name) for name in IDENTITY))
_LIST = select(specs).order_by(specs.c.id)
_TIED = select(labels.c.fingerprint).where(labels.c.name == bindparam("name"), labels.c.version == bindparam("version"))
_TIE = insert(labels).values({name: bindparam(name) for name in ("name", "version", "fingerprint")})
ChainRows = Callable[[Any, str, Sequence[tuple[Any, ...]]], None]
"""Called with a cursor, the name of a table and the rows that were added to it."""
_READ = select(specs.c.spec).where(*(specs.c[name] == bindparam(name) for name in ("name", "version", "fingerprint")))


@dataclass(frozen=True, slots=True)
class StoredReward:
    """A reward that a ledger knows."""

    name: str
    version: str
    fingerprint: str
    domain_fingerprint: str
    reward: Reward


class RewardTerms(NamedTuple):
    """The label and the terms of a stored reward, known without loading it."""

    reward: str
    version: str
    part: str
    terms: tuple[str, ...]


def read_terms(connection: Connection) -> dict[int, RewardTerms]:
    """Return the label and the terms of every reward, by its number."""
    columns = (specs.c.id, specs.c.name, specs.c.version, specs.c.part, specs.c.outputs)
    return {
        row.id: RewardTerms(
            row.name,
            row.version,
            row.part,
            tuple(name.removesuffix(".value") for name in json.loads(row.outputs)[2::2]),
        )
        for row in connection.execute(select(*columns))
    }


class SpecCache:
    """The rewards of a ledger kept at hand: their layouts, found by reward, by signal and by number."""

    def __init__(self, backend: Backend) -> None:
        """Begin with nothing."""
        self._backend = backend
        self._layouts: dict[tuple[str, ...], RecordLayout] = {}
        self.by_frame: dict[Frame, RecordLayout] = {}
        """Layouts by what the signals of a reward share, of those found before."""
        self._from_data: dict[tuple[Any, ...], RecordLayout] = {}
        self._stored: dict[int, RecordLayout] = {}

    def get_layout(self, reward: Reward, part: str = "whole") -> RecordLayout:
        """Return the one layout of a reward."""
        if not isinstance(reward, Reward):
            raise LedgerError(f"{shorten(reward)} is not a Reward.")
        layout = RecordLayout(reward, part)
        return self._layouts.setdefault(layout.identity, layout)

    def find_layout(self, signal: Signal) -> RecordLayout:
        """Return the layout of a signal; NotInLedger where it was read from data and its reward is not known."""
        if not isinstance(signal, Signal):
            raise WrongType(
                f"{shorten(signal)} is not a Signal: score a step with reward.score(...). Entries go to record_many."
            )
        frame = signal.frame
        if frame.source is not None:
            return self.by_frame.setdefault(frame, self.get_layout(frame.source, frame.part))
        same = (frame.reward, frame.version, frame.fingerprint, frame.domain_fingerprint, frame.terms)
        if same not in self._from_data:  # each signal read from data has a frame of its own
            self._from_data[same] = self._search(frame)
        return self._from_data[same]

    def _search(self, frame: Frame) -> RecordLayout:
        for layout in self._list_layouts(frame):
            found = (frame.reward, frame.version, layout.part, frame.fingerprint, frame.domain_fingerprint)
            if layout.identity == found and layout.scored.program.terms == frame.terms:
                return layout
        raise NotInLedger(
            f"{self._backend.name} does not know {frame.reward}@{frame.version} ({frame.fingerprint[:12]}), the reward "
            "of a signal that was read from data. Register it first: ledger.register(reward)."
        )

    def _list_layouts(self, frame: Frame) -> list[RecordLayout]:
        """Return the layouts that are known or stored with a signal's label, those of terminal terms alone too."""
        with self._backend.snapshot() as connection:
            chosen = specs.c.name == frame.reward, specs.c.version == frame.version
            numbers = connection.execute(select(specs.c.id).where(*chosen).order_by(specs.c.id)).scalars().all()
            stored = self.read(connection, numbers).values()
        rewards = {layout.identity: layout for layout in [*self._layouts.values(), *stored]}
        finals = [
            self.get_layout(layout.reward, "final")
            for layout in rewards.values()
            if layout.part == "whole" and any(term.terminal for term in layout.reward.terms)
        ]
        return [*rewards.values(), *finals]

    def read(self, connection: Connection, numbers: Iterable[int]) -> dict[int, RecordLayout]:
        """Return the layouts of the rewards with these numbers; those not read before are read."""
        wanted = dict.fromkeys(numbers)
        new = [number for number in wanted if number not in self._stored]
        for start in range(0, len(new), _TOGETHER):
            part = specs.c.id.in_(new[start : start + _TOGETHER])
            rows = connection.execute(select(specs).where(part)).all()
            for row in rows:  # all are read: a damaged one would leave the view of the ledger open
                self._stored[row.id] = load_spec(self._backend, row)
        for number in wanted:
            if number not in self._stored:
                raise LedgerBroken(
                    f"{self._backend.name}: it is damaged: reward {number} is missing; verify the ledger."
                )
        return {number: self._stored[number] for number in wanted}

    def read_all(self, connection: Connection) -> list[RecordLayout]:
        """Return the layout of every reward in the ledger, oldest first."""
        numbers = connection.execute(select(specs.c.id).order_by(specs.c.id)).scalars()
        return list(self.read(connection, numbers).values())


def store_spec(backend: Backend, cursor: Any, layout: RecordLayout, chain_rows: ChainRows) -> int:
    """Return the number of a reward in the ledger, adding it if it is new; VersionConflict if its label is taken."""
    name, version, part, fingerprint, domain = layout.identity
    row = cursor.execute(backend.render(_FIND), layout.identity).fetchone()
    if row is None:
        backend.take_turn(cursor)
        row = cursor.execute(backend.render(_FIND), layout.identity).fetchone()  # another writer may have been quicker
    if row:
        return int(row[0])
    tied = cursor.execute(backend.render(_TIED), (name, version)).fetchone()
    if tied is None:
        cursor.execute(backend.render(_TIE), (name, version, fingerprint))
    elif tied[0] != fingerprint:
        text = cursor.execute(backend.render(_READ), (name, version, tied[0])).fetchone()
        raise build_conflict(backend.name, layout.reward, None if text is None else Reward.from_json(text[0]))
    values = (*layout.identity, layout.reward.to_json(), layout.inputs, layout.outputs)
    cursor.execute(backend.render(_ADD), values)
    row = cursor.execute(backend.render(_FIND), (name, version, part, fingerprint, domain)).fetchone()
    chain_rows(cursor, "specs", [(int(row[0]), *values)])
    return int(row[0])


def build_conflict(ledger: str, new: Reward, old: Reward | None) -> VersionConflict:
    """Return the error for a label that stands for another formula, with what differs."""
    shown = "" if old is None else "".join(f"\n  {line}" for line in describe_differences(old, new))
    advice = "Give the changed reward a new label: reward.with_version(...), or --label on the command line."
    if old is not None and old.fingerprint == new._with_clipped_inputs().fingerprint:
        advice = f"The one in the ledger clips numbers: use on_bad='clip' (--on-bad clip) here too.\nOr: {advice}"
    elif old is not None and new.fingerprint == old._with_clipped_inputs().fingerprint:
        advice = f"The one in the ledger does not clip numbers: use another on_bad (--on-bad) here.\nOr: {advice}"
    return VersionConflict(
        f"{ledger}: the label {new.name}@{new.version} belongs to another formula "
        f"({'' if old is None else old.fingerprint[:12]} in the ledger, {new.fingerprint[:12]} here).{shown}\n{advice}"
    )


def describe_differences(old: Reward, new: Reward) -> Iterator[str]:
    """Yield what differs between two formulas: parameters, terms, inputs."""
    values = [collect_numbers(reward) for reward in (old, new)]
    for name in dict.fromkeys((*values[0], *values[1])):
        was, now = (each.get(name) for each in values)
        if was != now:
            yield f"{name}: {_format_value(was)} → {_format_value(now)}"
    before, after = ({each.name: each for each in reward._functions} for reward in (old, new))
    for name in dict.fromkeys((*before, *after)):
        what = f"term {name}" if isinstance(after.get(name, before.get(name)), Term) else name
        if name not in after:
            yield f"{what}: removed"
        elif name not in before:
            yield f"{what}: added"
        elif old._formula.only([name]).nodes != new._formula.only([name]).nodes:
            yield f"{what}: its formula differs"
        elif find_place(before[name]) != find_place(after[name]):
            yield f"{what}: {find_place(before[name])} → {find_place(after[name])}"
    if before.keys() == after.keys() and [*before] != [*after]:
        yield "the order of the terms differs"
    if old._composition.scale_param != new._composition.scale_param:
        yield f"scale: {old._composition.scale_param or '(none)'} → {new._composition.scale_param or '(none)'}"
    for name, field in old.program.inputs.items():
        other = new.program.inputs.get(name)
        if other is not None and (field.kind, field.labels) != (other.kind, other.labels):
            yield f"{name}: {_format_kind(field)} → {_format_kind(other)}"
    if old.inputs != new.inputs:
        yield f"inputs: {', '.join(old.inputs)} → {', '.join(new.inputs)}"


def find_place(function: Function) -> str:
    """Return where in the composition of a total a term stands."""
    if not isinstance(function, Term) or (function.gated and not function.after_clamp):
        return "gated"
    return "after the clamp" if function.after_clamp else "outside the gate"


def _format_kind(field: Field) -> str:
    return f"{field.kind} of {', '.join(field.labels)}" if field.labels else f"a {field.kind}"


def collect_numbers(reward: Reward) -> dict[str, float | Schedule]:
    """Return every parameter by dotted name, schedules whole."""
    parts = tuple(f"{name}." for name in reward._schedules)
    plain = {name: value for name, value in reward.params.items() if not name.startswith(parts)}
    return {**plain, **reward._schedules}


def _format_value(value: float | Schedule | None) -> str:
    return "(none)" if value is None else str(value) if isinstance(value, Schedule) else f"{value:g}"


def load_spec(backend: Backend, row: Row[Any]) -> RecordLayout:
    """Return the layout of a reward's row in the ledger; LedgerBroken if it is not what it was."""
    try:
        layout = _parse_layout(row.spec, row.part)
    except SpecError as error:
        raise LedgerBroken(f"{backend.name}: the stored reward {row.name}@{row.version} is damaged: {error}") from None
    said = (row.name, row.version, row.part, row.fingerprint, row.domain, row.inputs, row.outputs)
    if (*layout.identity, layout.inputs, layout.outputs) != said:
        raise LedgerBroken(f"{backend.name}: the stored reward {row.name}@{row.version} does not have its fingerprint.")
    return layout


@lru_cache(256)
def _parse_layout(spec: str, part: str) -> RecordLayout:
    """Return the one layout of a stored reward, whichever ledger it is read from: what it compiles is compiled once."""
    return RecordLayout(Reward.from_json(spec), part)


def list_specs(connection: Connection) -> list[Row[Any]]:
    """Return every row of rewards, oldest first."""
    return list(connection.execute(_LIST))
