"""The steps that earned least, or most: by their totals, or by what one term paid."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select

from plaudit.errors import InputError, NotInLedger, did_you_mean
from plaudit.ledger.backends.backend import report_damage
from plaudit.ledger.context import validate_integer
from plaudit.ledger.search import BlockSearch, Found, Positions, read_values
from plaudit.ledger.storage.schema import blocks, summaries
from plaudit.ledger.storage.segment_rows import LOCATED
from plaudit.ledger.storage.sizes import limit_size
from plaudit.ledger.storage.specs import read_terms
from plaudit.ledger.storage.store import Store

_TOGETHER = 16
"""Blocks to open at a time, those first in which the lowest, or the highest, totals are."""
_READ = (*LOCATED, blocks.c.outputs)
_LOAD = select(*map(limit_size, _READ))
_STREAMED = {"yield_per": 10_000}


def rank_records(store: Store, search: BlockSearch, count: int, *, term: str | None, lowest: bool) -> list[int]:
    """Return the numbers of the records with the lowest totals, or the highest, the most extreme first.

    By a `term`, of the records whose reward has it; of equals, the earliest. Where whole blocks are chosen, totals are
    looked for only in those blocks that can have such; values of a term, in all of them.
    """
    count, sign = check_count(count), 1.0 if lowest else -1.0
    columns = _find_columns(store, term)
    values, numbers = np.empty(0), np.empty(0, np.int64)
    for found, bound in _read_promising(store, search, sign) if term is None and search.by_block else _read_all(search):
        if len(values) == count and (bound, found.row.first) > (values[-1], numbers[-1]):
            break
        with report_damage(store.backend.name, f"the block of record {found.row.first}"):
            more, positions = _read_column(found, columns.get(found.row.spec))
        values, numbers = np.append(values, sign * more), np.append(numbers, found.row.first + positions)
        order = np.lexsort((numbers, values))[:count]
        values, numbers = values[order], numbers[order]
    return [int(number) for number in numbers]


def check_count(count: int) -> int:
    """Return how many are asked for; InputError where that is none."""
    found = validate_integer("count", count) or 0
    if found < 1:
        raise InputError(f"count={found} must be at least 1.")
    return found


def check_term(term: str, known: tuple[str, ...]) -> None:
    """Raise NotInLedger where no reward has a term of this name."""
    if term not in known:
        raise NotInLedger(f"no reward has a term {term!r}.{did_you_mean(term, known)} There are: {', '.join(known)}.")


def _find_columns(store: Store, term: str | None) -> dict[int, int]:
    """Return where in the outputs of each reward the total is, or the values of a term."""
    with store.backend.snapshot() as connection:
        listed = read_terms(connection)
    if term is None:
        return dict.fromkeys(listed, 0)
    check_term(term, tuple(dict.fromkeys(name for each in listed.values() for name in each.terms)))
    return {spec: 1 + each.terms.index(term) for spec, each in listed.items() if term in each.terms}


def _read_all(search: BlockSearch) -> Iterator[tuple[Found, float]]:
    """Yield every block; what a record in the next ones may have is not known."""
    for found in search.read(_READ):
        yield found, -np.inf


def _read_promising(store: Store, search: BlockSearch, sign: float) -> Iterator[tuple[Found, float]]:
    """Yield blocks, those first that have the most extreme totals, and what no record in the next ones goes beyond.

    Of blocks that have the same, the earliest are first.
    """
    extreme = summaries.c.low if sign > 0 else summaries.c.high
    with store.backend.snapshot() as connection:  # one view: blocks may be merged meanwhile
        statement = search.where(select(blocks.c.first, extreme), connection)
        bounds: dict[int, float] = {
            first: -np.inf if bound is None else sign * bound
            for first, bound in connection.execute(statement, execution_options=_STREAMED)
        }
        order = sorted(bounds, key=lambda first: (bounds[first], first))
        for start in range(0, len(order), _TOGETHER):
            wanted = _LOAD.where(blocks.c.first.in_(order[start : start + _TOGETHER]))
            rows = store.segments.hydrate_all(connection.execute(wanted))
            for row in sorted(rows, key=lambda row: (bounds[row.first], row.first)):
                yield Found(row, None), bounds[row.first]


def _read_column(found: Found, column: int | None) -> tuple[NDArray[np.float64], Positions]:
    """Return the numbers of one column, and the positions that they are at; what was refused has none."""
    if column is None:
        return np.empty(0), np.empty(0, np.intp)
    values = read_values(found.row)[:, column]
    positions = np.arange(len(values)) if found.chosen is None else found.chosen
    positions = positions[~np.isnan(values[positions])]
    return values[positions], positions
