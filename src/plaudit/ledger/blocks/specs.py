"""Rewards in a ledger: each stored once, a version label tied to one formula for good."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, bindparam, insert, select

from plaudit.errors import LedgerBroken, SpecError, VersionConflict
from plaudit.language.field import Field
from plaudit.ledger.blocks.shape import Shape
from plaudit.ledger.places.place import Place
from plaudit.ledger.places.schema import labels, specs
from plaudit.reward.reward import Reward

_IDENTITY = ("name", "version", "part", "fingerprint", "domain")
_ADD = insert(specs).values({name: bindparam(name) for name in (*_IDENTITY, "spec", "inputs", "outputs")})
_FIND = select(specs.c.id).where(*(specs.c[name] == bindparam(name) for name in _IDENTITY))
_TIED = select(labels.c.fingerprint).where(labels.c.name == bindparam("name"), labels.c.version == bindparam("version"))
_TIE = insert(labels).values({name: bindparam(name) for name in ("name", "version", "fingerprint")})
_STORED = select(specs.c.spec).where(*(specs.c[name] == bindparam(name) for name in ("name", "version", "fingerprint")))


@dataclass(frozen=True, slots=True)
class StoredReward:
    """A reward that a ledger knows."""

    name: str
    version: str
    fingerprint: str
    domain_fingerprint: str
    reward: Reward


def stored(place: Place, cursor: Any, shape: Shape) -> int:
    """Return the number of a reward in the ledger, adding it if it is new; VersionConflict if its label is taken."""
    name, version, part, fingerprint, domain = shape.identity
    row = cursor.execute(place.text(_FIND), (name, version, part, fingerprint, domain)).fetchone()
    if row:
        return int(row[0])
    tied = cursor.execute(place.text(_TIED), (name, version)).fetchone()
    if tied is None:
        cursor.execute(place.text(_TIE), (name, version, fingerprint))
    elif tied[0] != fingerprint:
        text = cursor.execute(place.text(_STORED), (name, version, tied[0])).fetchone()
        raise conflict(place.name, shape.reward, None if text is None else Reward.from_json(text[0]))
    values = (*shape.identity, shape.reward.to_json(), shape.inputs, shape.outputs)
    cursor.execute(place.text(_ADD), values)
    row = cursor.execute(place.text(_FIND), (name, version, part, fingerprint, domain)).fetchone()
    return int(row[0])


def conflict(place: str, new: Reward, old: Reward | None) -> VersionConflict:
    """Return the error for a label that stands for another formula, with what differs."""
    shown = "" if old is None else "".join(f"\n  {line}" for line in differences(old, new))
    return VersionConflict(
        f"{place}: the label {new.name}@{new.version} is tied to another formula "
        f"({'' if old is None else old.fingerprint[:12]} there, {new.fingerprint[:12]} here).{shown}\n"
        f"Give the changed reward a label of its own: reward.with_version(...)."
    )


def differences(old: Reward, new: Reward) -> Iterator[str]:
    """Yield what differs between two formulas: parameters, terms, inputs."""
    for name in dict.fromkeys((*old.params, *new.params)):
        before, after = old.params.get(name), new.params.get(name)
        if before != after:
            yield f"{name}: {_shown(before)} → {_shown(after)}"
    texts = [{term.name: reward.only(term.name).source() for term in reward.terms} for reward in (old, new)]
    for name in dict.fromkeys((*texts[0], *texts[1])):
        if name not in texts[1]:
            yield f"term {name}: removed"
        elif name not in texts[0]:
            yield f"term {name}: added"
        elif texts[0][name] != texts[1][name] and not _only_numbers(old, new, name):
            yield f"term {name}: its formula differs"
    if [term.name for term in old.terms] != [term.name for term in new.terms] and texts[0].keys() == texts[1].keys():
        yield "the order of the terms differs"
    for name, field in old.program.inputs.items():
        now = new.program.inputs.get(name)
        if now is not None and (field.kind, field.labels) != (now.kind, now.labels):
            yield f"{name}: {_kind(field)} → {_kind(now)}"
    if old.inputs != new.inputs:
        yield f"inputs: {', '.join(old.inputs)} → {', '.join(new.inputs)}"


def _only_numbers(old: Reward, new: Reward, term: str) -> bool:
    """Return whether a term differs in parameters alone."""
    parts = [reward.only(term) for reward in (old, new)]
    return parts[0].program.nodes == parts[1].program.nodes and parts[0].params != parts[1].params


def _kind(field: Field) -> str:
    return f"{field.kind} of {', '.join(field.labels)}" if field.labels else f"a {field.kind}"


def _shown(value: float | bool | None) -> str:
    return "(none)" if value is None else f"{value:g}"


def loaded(place: Place, row: Row[Any]) -> Shape:
    """Return the shape of a reward's row in the ledger; LedgerBroken if it is not what it was."""
    try:
        shape = Shape(Reward.from_json(row.spec), row.part)
    except SpecError as error:
        raise LedgerBroken(f"{place.name}: the stored reward {row.name}@{row.version} is damaged: {error}") from None
    said = (row.name, row.version, row.part, row.fingerprint, row.domain, row.inputs, row.outputs)
    if (*shape.identity, shape.inputs, shape.outputs) != said:
        raise LedgerBroken(f"{place.name}: the stored reward {row.name}@{row.version} does not have its fingerprint.")
    return shape


def listing(connection: Connection) -> list[Row[Any]]:
    """Return every row of rewards, oldest first."""
    return list(connection.execute(select(specs).order_by(specs.c.id)))
