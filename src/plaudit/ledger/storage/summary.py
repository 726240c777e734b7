"""What is known of a block without opening it: where its steps, episodes and times lie, and what its totals add up to.

Which blocks may hold a step is a question about intervals: each block has a lowest and a highest one. A B-tree finds
them by a single number an interval, its fork: of the numbers in it the one that a power of two divides most often. An
interval that holds a point has as its fork one of the 64 nodes on the way to that point in the tree of all numbers, so
64 look-ups find them all (Kriegel, Pötke and Seidl: Managing Intervals Efficiently in Object-Relational Databases,
VLDB 2000).
"""

import json
import math
import re
import struct
import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

_NUMBERED = re.compile(r"(?:.*[^0-9A-Za-z])?[A-Za-z]*([0-9]{1,18})", re.DOTALL)
"""Names such as 17, ep17, night-3/ep-17: those that follow one another lie side by side."""
_UNPACK_ONE = struct.Struct("<d").unpack_from


class Summary(NamedTuple):
    """The row of a block in the table `summaries`, besides its number."""

    time_fork: int
    step_fork: int | None
    step_low: int | None
    step_high: int | None
    episode_fork: int | None
    episode_low: int | None
    episode_high: int | None
    total: float | None
    """The sum of its totals, rounded once; None where some have none, as of re-scorings, and where it overflows."""
    low: float | None
    high: float | None


def summarize(
    count: int,
    earliest: int,
    latest: int,
    job: int | None,
    episodes: str | None,
    steps: str | None,
    outputs: bytes,
) -> Summary:
    """Return the summary of a block, given as its row has it."""
    time = latest if earliest == latest else find_fork(earliest, latest)
    places = (*_find_steps(steps), *_find_episodes(episodes))
    if count == 1 and job is None:
        total = _UNPACK_ONE(outputs)[0]
        return Summary(time, *places, *(total if total == total else None,) * 3)
    return Summary(time, *places, *((None, None, None) if job is not None else _add_totals(outputs, count)))


@lru_cache(maxsize=4)
def parse_column(text: str) -> tuple[Any, ...]:
    """Return the entries of a column: a block that is written has its columns read for several summaries."""
    return tuple(json.loads(text))


def _find_steps(column: str | None) -> tuple[int | None, int | None, int | None]:
    """Return fork, lowest and highest of the steps of a block."""
    if column is None:
        return None, None, None
    if "," not in column:
        step = int(column[1:-1])
        return step, step, step
    found: Sequence[Any] = parse_column(column)
    if "null" in column:
        found = [step for step in found if step is not None]
    low, high = min(found), max(found)
    return find_fork(low, high), low, high


def _find_episodes(column: str | None) -> tuple[int | None, int | None, int | None]:
    """Return fork, lowest and highest of the numbers of a block's episodes."""
    if column is None:
        return None, None, None
    if column.count('"') == 2 and column[1] == column[-2] == '"' and "\\" not in column:
        only = number_episode(column[2:-2])
        return only, only, only
    names = set(parse_column(column))
    names.discard(None)
    found = [number_episode(name) for name in names]
    low, high = min(found), max(found)
    return low if low == high else find_fork(low, high), low, high


def _add_totals(outputs: bytes, count: int) -> tuple[float | None, float | None, float | None]:
    """Return the sum of the totals in a block, the lowest and the highest."""
    totals = np.frombuffer(outputs, "<f8").reshape(count, -1)[:, 0]
    try:
        total = math.fsum(totals.tolist())
    except OverflowError:
        return None, None, None
    return (total, float(totals.min()), float(totals.max())) if total == total else (None, None, None)


def number_episode(name: str) -> int:
    """Return a number for an episode's name: the one it ends in, or one made of its characters.

    >>> number_episode("17"), number_episode("night-3/ep17"), number_episode("5f0c-9b1e77")
    (17, 17, 3737844783)
    """
    if len(name) < 19 and name.isdigit() and name.isascii():
        return int(name)
    found = _NUMBERED.fullmatch(name)
    return int(found[1]) if found else zlib.crc32(name.encode())


def find_fork(low: int, high: int) -> int:
    """Return of the integers from `low` to `high` the one that a power of two divides most often.

    >>> find_fork(5, 5), find_fork(5, 7), find_fork(5, 100), find_fork(-3, 9)
    (5, 6, 64, 0)
    """
    if low <= 0 <= high:
        return 0
    bits = ((low - 1) ^ high).bit_length() - 1
    return high >> bits << bits


def list_forks(point: int) -> list[int]:
    """Return the forks that an interval with this point in it can have, those below 64 bits.

    >>> [fork for fork in list_forks(5) if fork < 20]
    [0, 5, 6, 4, 8, 16]
    """
    return [0, *((point >> (level + 1) << (level + 1)) | (1 << level) for level in range(63))]
