"""What `verify` checks besides blocks: that labels, scopes, re-scorings and keys are what they were."""

import hashlib
import json
from collections.abc import Iterator, Mapping

from sqlalchemy import Connection, func, select

from plaudit.ledger.blocks.shape import Shape
from plaudit.ledger.places.schema import jobs, keys, labels, powers, scopes
from plaudit.ledger.record import Scope


def scope_digest(scope: Scope) -> str:
    """Return what a scope is found by."""
    return hashlib.sha256(json.dumps(scope).encode()).hexdigest()


def job_digest(shape: Shape, chosen: str) -> str:
    """Return what a re-scoring is found by: the reward and the choice of records, as JSON."""
    return hashlib.sha256("\0".join((*shape.identity, chosen)).encode()).hexdigest()


def differences(connection: Connection, shapes: Mapping[int, Shape], keyed: int) -> Iterator[tuple[str, str]]:
    """Yield kind and text of what is wrong with the small tables; `keyed` is how many records have keys."""
    yield from _labels(connection, shapes)
    yield from _scopes(connection)
    yield from _jobs(connection, shapes)
    found = connection.execute(select(func.count()).select_from(keys)).scalar_one()
    if found != keyed:
        yield "key", f"{found:,} keys are kept, and {keyed:,} records have one"
    if [(row.exponent, row.value) for row in connection.execute(select(powers).order_by(powers.c.exponent))] != [
        (exponent, 2.0 ** (max(exponent, 1) - 1075)) for exponent in range(2047)
    ]:
        yield "edited", "the powers of two, with which `readable` shows numbers, are not what they were"


def _labels(connection: Connection, shapes: Mapping[int, Shape]) -> Iterator[tuple[str, str]]:
    tied = {(row.name, row.version): row.fingerprint for row in connection.execute(select(labels))}
    wanted = {shape.identity[:2]: shape.identity[3] for shape in shapes.values()}
    for label in tied.keys() | wanted.keys():
        if tied.get(label) != wanted.get(label):
            yield "reward", f"the label {'@'.join(label)} is not tied to the formula that it was recorded with"


def _scopes(connection: Connection) -> Iterator[tuple[str, str]]:
    for row in connection.execute(select(scopes)):
        if scope_digest(Scope(row.run, row.phase, row.decision_class, row.actor)) != row.digest:
            yield "edited", f"scope {row.id} (run, phase, decision class, actor) is not what it was"


def _jobs(connection: Connection, shapes: Mapping[int, Shape]) -> Iterator[tuple[str, str]]:
    for row in connection.execute(select(jobs)):
        shape = shapes.get(row.spec)
        if shape is None or job_digest(shape, row.filters) != row.digest:
            yield "edited", f"re-scoring {row.id} is not what it was: its reward or its choice of records is another"
