"""Reads what blocks have of each episode as columns: see storage/parts.py."""

import json
import math
import struct
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, Select, case, or_, select
from sqlalchemy.engine import Dialect

from plaudit.ledger.backends.backend import read_bytes
from plaudit.ledger.storage.episode_parts import ENDS, find_end
from plaudit.ledger.storage.groups import Integers, Numbers
from plaudit.ledger.storage.order import find_place
from plaudit.ledger.storage.parts import LARGEST, get_part_type, pack_record, parse_number, unpack_parts
from plaudit.ledger.storage.schema import blocks, scopes, summaries
from plaudit.ledger.storage.sizes import limit_size
from plaudit.ledger.storage.specs import RewardTerms, read_terms

_STREAMED = {"yield_per": 100}
_FIELDS = ("records", "end", "earliest", "latest", "step_low", "step_high")
_SINGLE = ("earliest", "job", "episodes", "steps", "contexts", "outputs")
"""The columns of a block of one record that say everything of its episode."""

Owner = tuple[str | None, str | None]
"""A run and an actor."""


class Parts(NamedTuple):
    """Parts of episodes, those of one reward after those of another."""

    columns: Mapping[str, Integers]
    """An entry a part: those of its type but the sums, its `reward`, `owner`, `rate`, `block`, that one's `origin` and
    its `place` in the history, by which those are ordered before their numbers.

    `episode` is a number of `EpisodeNames`, `first` and `last` are numbers of records.
    """
    paid: Sequence[tuple[RewardTerms, Numbers]]
    """The sums of each reward's parts: of the totals, and of the values of each term."""


class EpisodeNames:
    """Names of episodes as integers: those that are integers stay what they are, others are numbered above them."""

    def __init__(self) -> None:
        """Know no name yet."""
        self._numbers: dict[str, int] = {}

    def find(self, name: str) -> int:
        """Return the number of a name, which may be new."""
        number = parse_number(name)
        return self._numbers.setdefault(name, LARGEST + len(self._numbers)) if number is None else number

    def spell(self, numbers: Integers) -> list[str]:
        """Return the names of numbers."""
        names = list(self._numbers)
        return [str(each) if each < LARGEST else names[each - LARGEST] for each in numbers.tolist()]


@dataclass(slots=True)
class _Collected:
    """Parts of one reward, while they are read."""

    rows: list[bytes] = field(default_factory=list)
    blocks: list[tuple[int, ...]] = field(default_factory=list)
    """How many parts each block has, its number, that of its origin, its owner, sample rate, place in the history."""
    named: list[tuple[int, int, Integers]] = field(default_factory=list)
    """From where to where parts have names that are listed, and the numbers of these."""
    count: int = 0


class PartReader:
    """Reads parts; runs, actors and names of episodes have the same numbers in all that it reads."""

    def __init__(self, connection: Connection, episode: str | None) -> None:
        """Read the parts of one `episode`, or of all."""
        self._connection, self._episode = connection, episode
        self._rewards = read_terms(connection)
        self.names = EpisodeNames()
        self.owners: dict[Owner, int] = {}
        self.rates: dict[float | None, int] = {}

    def read(self, chosen: Select[Any]) -> Parts:
        """Return the parts of the chosen blocks."""
        found: defaultdict[int, _Collected] = defaultdict(_Collected)
        statement = _build_statement(chosen, self._connection.dialect)
        with self._connection.execute(statement, execution_options=_STREAMED) as rows:
            for row in rows:
                self._collect(row, found[row.spec])
        made = [self._build(self._rewards[spec], each, at) for at, (spec, each) in enumerate(found.items())]
        columns = [columns for columns, _ in made]
        names = columns[0] if made else ("episode",)
        joined = {name: np.concatenate([np.empty(0, np.int64), *(each[name] for each in columns)]) for name in names}
        return Parts(joined, [paid for _, paid in made])

    def _collect(self, row: Any, found: _Collected) -> None:
        if row.parts is not None:
            rows, count, names = unpack_parts(read_bytes(row.parts), len(self._rewards[row.spec].terms))
            if names is not None:
                numbers = np.array([self.names.find(name) for name in names], np.int64)
                found.named.append((found.count, found.count + count, numbers))
        elif row.records == 1:
            rows = self._describe_record(*row[-len(_SINGLE) :])
            count = 1 if rows else 0
        else:
            raise ValueError(f"the block of record {row.first} has no episode sums")
        owner = self.owners.setdefault((row.run, row.actor), len(self.owners))
        found.rows.append(rows)
        rate = self.rates.setdefault(row.sample_rate, len(self.rates))
        found.blocks.append((count, row.first, row.origin or 0, owner, rate, row.place_in_history))
        found.count += count

    def _describe_record(
        self, at: int, job: int | None, episodes: str, steps: str | None, contexts: str | None, outputs: bytes
    ) -> bytes:
        """Return what a block of one record has of its episode, as a row; nothing where there is no new score."""
        scores = struct.unpack(f"<{len(outputs) // 8}d", outputs)
        if job is not None and math.isnan(scores[0]):
            return b""
        end = None if contexts is None else find_end(json.loads(contexts)[0])
        return pack_record(
            self.names.find(json.loads(episodes)[0]),
            at,
            None if steps is None else json.loads(steps)[0],
            0 if end is None else 1 + ENDS.index(end),
            (scores[0], *scores[2::2]),
        )

    def _build(
        self, reward: RewardTerms, found: _Collected, at: int
    ) -> tuple[dict[str, Integers], tuple[RewardTerms, Numbers]]:
        """Return the columns of one reward's parts, and their sums."""
        rows = np.frombuffer(b"".join(found.rows), get_part_type(len(reward.terms)))
        counts, *about = np.array(found.blocks, np.int64).T
        block, origin, owner, rate, place = (np.repeat(each, counts) for each in about)
        episode = rows["episode"].copy()
        for start, end, numbers in found.named:
            episode[start:end] = numbers[episode[start:end]]
        columns = {name: rows[name].astype(np.int64) for name in _FIELDS}
        columns |= {"first": block + rows["position"], "last": block + rows["last"], "reward": np.full(len(rows), at)}
        columns |= {"block": block, "origin": origin, "owner": owner, "rate": rate, "episode": episode, "place": place}
        sums = rows["sums"]
        if self._episode is not None:
            chosen = episode == self.names.find(self._episode)
            columns, sums = {name: column[chosen] for name, column in columns.items()}, sums[chosen]
        return columns, (reward, sums)


def _build_statement(chosen: Select[Any], dialect: Dialect) -> Select[Any]:
    """Return what reads the parts of the chosen blocks; of a block of one record, the record itself."""
    single = [case((blocks.c.records == 1, limit_size(blocks.c[name]))).label(f"block_{name}") for name in _SINGLE]
    about = (blocks.c.first, blocks.c.spec, blocks.c.origin, blocks.c.records)
    shared = (scopes.c.run, scopes.c.actor, scopes.c.sample_rate)
    located = blocks.join(scopes, scopes.c.id == blocks.c.scope)
    return (
        select(*about, *shared, find_place(dialect).label("place_in_history"), limit_size(summaries.c.parts), *single)
        .select_from(located.outerjoin(summaries, summaries.c.first == blocks.c.first))
        .where(blocks.c.first.in_(chosen), or_(summaries.c.parts.is_not(None), blocks.c.episodes.is_not(None)))
        .order_by(blocks.c.first)
    )
