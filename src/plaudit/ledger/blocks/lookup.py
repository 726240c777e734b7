"""Finding one record by its number."""

import json
from typing import Any

from sqlalchemy import bindparam, func, select

from plaudit.errors import NotInLedger
from plaudit.ledger.blocks.block import entries
from plaudit.ledger.places.place import Place
from plaudit.ledger.places.schema import blocks, scopes, specs

_SPEC = ("name", "version", "part", "fingerprint", "domain")
_SCOPE = ("run", "phase", "decision_class", "actor")
_COLUMNS = ("episodes", "steps", "contexts", "inputs", "outputs")
_other = blocks.alias()
_holder = select(func.max(_other.c.first)).where(_other.c.first <= bindparam("wanted"))
_FIND = (
    select(
        blocks.c.first,
        blocks.c.records,
        *(specs.c[name] for name in _SPEC),
        *(scopes.c[name] for name in _SCOPE),
        *(blocks.c[name] for name in _COLUMNS),
    )
    .join(specs, specs.c.id == blocks.c.spec)
    .join(scopes, scopes.c.id == blocks.c.scope)
    .where(blocks.c.first == _holder.scalar_subquery())
)


def content_of(place: Place, cursor: Any, number: int) -> tuple[Any, ...]:
    """Return what makes a record what it is: its reward, scope, episode, step, context, inputs and outputs."""
    row = cursor.execute(place.text(_FIND), (number,)).fetchone()
    if row is None or row[0] + row[1] <= number:
        raise NotInLedger(f"{place.name} has no record {number}.")
    first, count = row[0], row[1]
    *texts, inputs, outputs = row[-len(_COLUMNS) :]
    at = number - first
    episode, step, context = (list(entries(column, count))[at] for column in texts)
    sides = (bytes(side) for side in (inputs, outputs))
    rows = tuple(side[at * len(side) // count : (at + 1) * len(side) // count] for side in sides)
    told = None if context is None else json.dumps(context, sort_keys=True)
    return (*row[2 : -len(_COLUMNS)], episode, step, told, *rows)
