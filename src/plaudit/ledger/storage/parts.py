"""What a block has of each episode, packed into bytes, so that episodes are listed without opening blocks.

An episode lies in one block or in many, and a block holds one episode or many: a part is what the two share. All of it
follows from the block, to the last bit. The bytes are, little-endian:

- the header: the version of this format (uint8), whether episodes are named (uint8), how many terms the reward has
  (uint16), how many parts there are (uint32), and the CRC-32 of everything else (uint32);
- a row per part, as `get_part_type` has it; its last numbers are the sums of the totals and of each term's values;
- where episodes are named, a JSON list of their names, in which `episode` is a position. Else `episode` is the name
  itself, an integer, as those of environments are.
"""

import json
import re
import struct
import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plaudit.ledger.storage.groups import Groups, Integers, Numbers

VERSION = 1
NO_STEP = np.iinfo(np.int64)
"""Of a part without steps, the lowest step is the highest number of 64 bits, and the highest step the lowest."""
_HEADER = struct.Struct("<BBHI")
_CHECKSUM = struct.Struct("<I")
_START = _HEADER.size + _CHECKSUM.size
_INTEGER = re.compile("0|-?[1-9][0-9]{0,17}")
LARGEST = 10**18
"""Names are integers only where they are smaller than this, besides the sign."""
_FIELDS = ("position", "last", "records"), ("earliest", "latest", "step_low", "step_high", "episode")


@lru_cache(maxsize=256)
def get_part_type(terms: int) -> np.dtype[Any]:
    """Return the type of a part of a reward with so many terms.

    `position` and `last` are the places of its first and last record in the block, from 0; `end` is 0 where no record
    says how the episode ended, else 1 more than a place in `ENDS`; times are microseconds since 1970.
    """
    short, long = ([(name, kind) for name in names] for names, kind in zip(_FIELDS, ("<u4", "<i8"), strict=True))
    return np.dtype([*short, ("end", "<u4"), *long, ("sums", "<f8", (1 + terms,))])


def pack_parts(
    episodes: Integers,
    columns: Sequence[Numbers],
    *,
    times: Integers,
    names: Sequence[str] | None = None,
    chosen: NDArray[np.bool_] | None = None,
    steps: Integers | None = None,
    stepped: NDArray[np.bool_] | None = None,
    ends: NDArray[np.int8] | None = None,
) -> bytes:
    """Return what records have of each episode.

    Args:
        episodes: The episode of each record: an integer, or a position in `names`.
        columns: The totals, then the values of each term; a record whose total is NaN adds nothing to any
            sum, and the sums of an episode that has no others are NaN.
        times: When each record was made, in microseconds since 1970.
        names: The names of the episodes, each different, where they are not integers.
        chosen: Which records belong to an episode; all if omitted. Of a re-scoring, those that have a score.
        steps: The step of each record, where there are any.
        stepped: Which records have a step; all if omitted.
        ends: How an episode ends with each record: 0 not at all, else 1 more than a place in `ENDS`.
    """
    if names is None and len(episodes) and max(-int(episodes.min()), int(episodes.max())) >= LARGEST:
        numbers, episodes = np.unique(episodes, return_inverse=True)
        names = list(map(str, numbers.tolist()))
    groups = Groups(episodes, None if chosen is None else np.flatnonzero(chosen))
    parts = np.empty(len(groups), get_part_type(len(columns) - 1))
    parts["position"], parts["last"], parts["records"] = groups.firsts, groups.lasts, groups.sizes
    parts["earliest"], parts["latest"] = groups.find_bounds(times)
    parts["step_low"], parts["step_high"] = NO_STEP.max, NO_STEP.min
    if steps is not None:
        bounds = (
            (steps,) if stepped is None else [np.where(stepped, steps, each) for each in (NO_STEP.max, NO_STEP.min)]
        )
        parts["step_low"], parts["step_high"] = groups.find_bounds(*bounds)
    parts["end"] = 0 if ends is None else find_ends(groups, ends)
    parts["episode"] = groups.codes
    parts["sums"] = groups.add_up(columns, np.isnan(columns[0])).T
    listed = b"" if names is None else json.dumps(names).encode()
    header = _HEADER.pack(VERSION, names is not None, len(columns) - 1, len(parts))
    content = parts.tobytes() + listed
    return header + _CHECKSUM.pack(zlib.crc32(content, zlib.crc32(header))) + content


class PackedParts(NamedTuple):
    """The parts of a block as they were read."""

    rows: bytes
    """As `get_part_type` has them, one after another."""
    length: int
    """How many there are."""
    names: Sequence[str] | None


def unpack_parts(packed: bytes, terms: int) -> PackedParts:
    """Return the parts of a block of a reward with so many terms; ValueError where a ledger has not written them."""
    if len(packed) < _START or packed[0] != VERSION:
        raise ValueError(f"these are not episode sums of version {VERSION}")
    _, named, wide, count = _HEADER.unpack_from(packed)
    end = _START + count * get_part_type(terms).itemsize
    (checksum,) = _CHECKSUM.unpack_from(packed, _HEADER.size)
    if checksum != zlib.crc32(packed[_START:], zlib.crc32(packed[: _HEADER.size])):
        raise ValueError("the checksum of its episode sums does not match")
    if wide != terms or (len(packed) < end if named else len(packed) != end):
        raise ValueError(f"{len(packed)} bytes of episode sums are not {count} of {terms} terms")
    return PackedParts(packed[_START:end], count, json.loads(packed[end:]) if named else None)


def find_ends(groups: Groups, ends: NDArray[np.integer]) -> Integers:
    """Return how each group ends: 1, if any of its `ends` is, else 2, if any is, else 0."""
    first, _ = groups.find_bounds(np.where(ends == 0, 3, ends))
    return np.where(first == 3, 0, first)


def pack_record(episode: int, at: int, step: int | None, end: int, paid: Sequence[float]) -> bytes:
    """Return the part of a block of one record, as a row: of its total and the values of its terms."""
    steps = (NO_STEP.max, NO_STEP.min) if step is None else (step, step)
    return struct.pack(f"<4I5q{len(paid)}d", 0, 0, 1, end, at, at, *steps, episode, *paid)


def parse_number(name: str) -> int | None:
    """Return the integer that an episode is called by; None where it has another name.

    >>> parse_number("17"), parse_number("-3"), parse_number("017"), parse_number("ep17")
    (17, -3, None, None)
    """
    return int(name) if _INTEGER.fullmatch(name) else None
