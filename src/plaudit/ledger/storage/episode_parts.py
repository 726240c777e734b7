"""What the episodes of a block add up to, so that episodes are listed without opening blocks.

An episode lies in one block or in many, and a block holds one episode or many: an `EpisodePart` is what the two share.
All of it follows from the block. Sums are rounded once, whatever the machine, so that `verify` can compare every bit.
"""

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

ENDS = ("terminated", "truncated")
"""How an episode can end. The context of a step says so, and where one says both, the first holds."""
ORIGINAL_REWARD = "original_reward"
"""Under which name the context of a step has what the environment itself paid."""


class EpisodePart(NamedTuple):
    """A row of the table `episode_parts`, besides the number of its block."""

    position: int
    """Where in the block its first record is, from 0."""
    last: int
    """Where its last record is."""
    episode: str
    records: int
    """How many there are; of a re-scoring, those that have a score."""
    earliest: int
    latest: int
    step_low: int | None
    step_high: int | None
    ended: str | None
    """One of `ENDS`; None where no record says how the episode ended."""
    total: float
    terms: bytes
    """The sum of each term's values, in the order of the reward's outputs: float64, little-endian."""


def summarize_episodes(
    count: int,
    earliest: int,
    job: int | None,
    times: str | None,
    episodes: str | None,
    steps: str | None,
    contexts: str | None,
    outputs: bytes,
) -> list[EpisodePart]:
    """Return the rows of a block, given as its own row has it.

    A block of one record has none: it says everything itself, and single records are written as fast as before.
    """
    if count == 1 or episodes is None:
        return []
    return split_episodes(count, earliest, job, times, episodes, steps, contexts, outputs)


def split_episodes(
    count: int,
    earliest: int,
    job: int | None,
    times: str | None,
    episodes: str,
    steps: str | None,
    contexts: str | None,
    outputs: bytes,
) -> list[EpisodePart]:
    """Return what a block has of each episode, also of one record."""
    scores = np.frombuffer(outputs, "<f8").reshape(count, -1)
    names, codes = _number_names(json.loads(episodes), count)
    wanted = codes >= 0
    if job is not None:
        wanted &= ~np.isnan(scores[:, 0])  # what the new reward refused has no score
    order = np.flatnonzero(wanted)
    order = order[np.argsort(codes[order], kind="stable")]
    if not len(order):
        return []
    starts = np.concatenate(([0], np.flatnonzero(np.diff(codes[order])) + 1))
    ends = np.concatenate((starts[1:], [len(order)]))
    spans = list(zip(starts.tolist(), ends.tolist(), strict=True))
    firsts, lasts = order[starts], order[ends - 1]
    sums = [[add_up(column[a:b]) for a, b in spans] for column in _list_columns(scores, order)]
    rows = zip(
        firsts.tolist(),
        lasts.tolist(),
        [names[code] for code in codes[firsts].tolist()],
        (ends - starts).tolist(),
        *_find_times(times, earliest, order, starts),
        *_find_steps(steps, count, order, spans),
        _find_ends(contexts, count, order, spans),
        sums[0],
        [np.array(each, "<f8").tobytes() for each in zip(*sums[1:], strict=True)] or [b""] * len(spans),
        strict=True,
    )
    return [EpisodePart(*row) for row in rows]


def add_up(numbers: Iterable[float]) -> float:
    """Return a sum that is rounded once, in whatever order; infinite where it is too large for a float."""
    listed = list(numbers)
    try:
        return math.fsum(listed)
    except OverflowError:
        return math.fsum(number * 2.0**-64 for number in listed) * 2.0**64
    except ValueError:  # sums that were too large, of both signs
        return math.nan


def _number_names(names: Sequence[str | None], count: int) -> tuple[list[str], NDArray[np.intp]]:
    """Return the names of episodes and, for each record, which it has: -1 for none."""
    if len(names) == 1:
        names = [*names] * count
    found: dict[str, int] = {}
    codes = [-1 if name is None else found.setdefault(name, len(found)) for name in names]
    return list(found), np.array(codes, np.intp)


def _list_columns(scores: NDArray[np.float64], order: NDArray[np.intp]) -> list[list[float]]:
    """Return the totals and the values of each term; its scores stand between them."""
    chosen = scores[order]
    return [chosen[:, at].tolist() for at in (0, *range(2, scores.shape[1], 2))]


def _find_times(
    times: str | None, earliest: int, order: NDArray[np.intp], starts: NDArray[np.intp]
) -> tuple[list[int], list[int]]:
    """Return the earliest and the latest moment of each episode."""
    if times is None:
        return [earliest] * len(starts), [earliest] * len(starts)
    moments = (np.array(json.loads(times), np.int64) + earliest)[order]
    return np.minimum.reduceat(moments, starts).tolist(), np.maximum.reduceat(moments, starts).tolist()


def _find_steps(
    steps: str | None, count: int, order: NDArray[np.intp], spans: Sequence[tuple[int, int]]
) -> tuple[list[int | None], list[int | None]]:
    """Return the lowest and the highest step of each episode; None where no record has one."""
    if steps is None:
        return [None] * len(spans), [None] * len(spans)
    listed: list[int | None] = json.loads(steps)
    if len(listed) == 1:
        listed = listed * count
    ordered = [listed[at] for at in order.tolist()]
    groups = [[step for step in ordered[a:b] if step is not None] for a, b in spans]
    return [min(group, default=None) for group in groups], [max(group, default=None) for group in groups]


def _find_ends(
    contexts: str | None, count: int, order: NDArray[np.intp], spans: Sequence[tuple[int, int]]
) -> list[str | None]:
    """Return how each episode ended."""
    if contexts is None or not any(
        f'"{end}":true' in contexts for end in ENDS
    ):  # searching is sooner done than reading
        return [None] * len(spans)
    listed: list[Any] = json.loads(contexts)
    if len(listed) == 1:
        listed = listed * count
    ends = [find_end(listed[at]) for at in order.tolist()]
    groups = [set(ends[a:b]) for a, b in spans]
    return [next((end for end in ENDS if end in group), None) for group in groups]


def find_end(context: Any) -> str | None:
    """Return how an episode ends with a record that has this context; None where it does not."""
    if type(context) is not dict:
        return None
    return next((end for end in ENDS if context.get(end) is True), None)
