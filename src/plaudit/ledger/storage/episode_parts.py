"""What the episodes of a block add up to, so that episodes are listed without opening blocks.

An episode lies in one block or in many, and a block holds one episode or many: an `EpisodePart` is what the two share.
All of it follows from the block. Sums are rounded once, whatever the machine, so that `verify` can compare every bit.
"""

import json
import math
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plaudit.ledger.context import encode_context
from plaudit.ledger.storage.summary import parse_column

ENDS = ("terminated", "truncated")
"""How an episode can end. The context of a step says so, and where one says both, the first holds."""
_MARK = re.compile(f'"({"|".join(ENDS)})":true')
"""How a context says so; within a string its quotation marks would be escaped."""
MOST_PARTS = 512
"""Episodes of a block that rows are kept of; a block has at most 4,096 records, so that there are few of each then."""
MASKED = "masked"
"""Under which name the context of a step without a score says why it has none."""
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
    """How many there are; of a re-scoring, those that have a new score."""
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

    A block of one record has none: it says everything itself, and single records are written as fast as before. Nor has
    one of very many episodes, as of a thousand environments at once: to open it takes no longer than to read its rows.
    """
    if count == 1 or episodes is None:
        return []
    return split_episodes(count, earliest, job, times, episodes, steps, contexts, outputs, most=MOST_PARTS)


def split_episodes(
    count: int,
    earliest: int,
    job: int | None,
    times: str | None,
    episodes: str,
    steps: str | None,
    contexts: str | None,
    outputs: bytes,
    *,
    most: int | None = None,
) -> list[EpisodePart]:
    """Return what a block has of each episode, also of one record; nothing where it has more episodes than `most`."""
    names: Sequence[str | None] = parse_column(episodes)
    if count == 1:
        return _describe_record(earliest, job, names[0], steps, contexts, outputs)
    known = [name for name in dict.fromkeys(names) if name is not None]
    if most is not None and len(known) > most:
        return []
    scores = np.frombuffer(outputs, "<f8").reshape(count, -1)
    codes = _number_names(names, known, count)
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
    pack = struct.Struct(f"<{len(sums) - 1}d").pack
    rows = zip(
        firsts.tolist(),
        lasts.tolist(),
        [known[code] for code in codes[firsts].tolist()],
        (ends - starts).tolist(),
        *_find_times(times, earliest, order, starts),
        *_find_steps(steps, count, order, starts, spans),
        _find_ends(contexts, count, order, spans),
        sums[0],
        [pack(*each) for each in zip(*sums[1:], strict=True)] if len(sums) > 1 else [b""] * len(spans),
        strict=True,
    )
    return [EpisodePart(*row) for row in rows]


def _describe_record(
    at: int, job: int | None, episode: str | None, steps: str | None, contexts: str | None, outputs: bytes
) -> list[EpisodePart]:
    """Return what a block of one record has of its episode; nothing where there is none, or no new score."""
    scores = struct.unpack(f"<{len(outputs) // 8}d", outputs)
    if math.isnan(scores[0]):
        if job is not None:
            return []
        scores = (0.0,) * len(scores)
    if episode is None:
        return []
    step = None if steps is None else json.loads(steps)[0]
    end = None if contexts is None else find_end(json.loads(contexts)[0])
    values = scores[2::2]
    return [EpisodePart(0, 0, episode, 1, at, at, step, step, end, scores[0], struct.pack(f"<{len(values)}d", *values))]


def add_up(numbers: Sequence[float]) -> float:
    """Return a sum that is rounded once, in whatever order; infinite where it is too large for a float."""
    try:
        return math.fsum(numbers)
    except OverflowError:
        return math.fsum(number * 2.0**-64 for number in numbers) * 2.0**64
    except ValueError:  # sums that were too large, of both signs
        return math.nan


def _number_names(names: Sequence[str | None], known: Sequence[str], count: int) -> NDArray[np.intp]:
    """Return for each record which of the `known` episodes it has: -1 for none."""
    numbers: dict[str | None, int] = {None: -1} | {name: at for at, name in enumerate(known)}
    codes = np.fromiter(map(numbers.__getitem__, names), np.intp, len(names))
    return np.repeat(codes, count) if len(codes) == 1 else codes


def _list_columns(scores: NDArray[np.float64], order: NDArray[np.intp]) -> list[list[float]]:
    """Return the totals and the values of each term; its scores stand between them. What has none adds nothing."""
    chosen = scores[order]
    chosen[np.isnan(chosen[:, 0])] = 0.0
    return [chosen[:, at].tolist() for at in (0, *range(2, scores.shape[1], 2))]


def _find_times(
    times: str | None, earliest: int, order: NDArray[np.intp], starts: NDArray[np.intp]
) -> tuple[list[int], list[int]]:
    if times is None:
        return [earliest] * len(starts), [earliest] * len(starts)
    moments = (np.array(json.loads(times), np.int64) + earliest)[order]
    return np.minimum.reduceat(moments, starts).tolist(), np.maximum.reduceat(moments, starts).tolist()


def _find_steps(
    steps: str | None,
    count: int,
    order: NDArray[np.intp],
    starts: NDArray[np.intp],
    spans: Sequence[tuple[int, int]],
) -> tuple[list[int | None], list[int | None]]:
    """Return the lowest and the highest step of each episode; None where no record has one."""
    if steps is None:
        return [None] * len(spans), [None] * len(spans)
    listed: Sequence[int | None] = parse_column(steps)
    if len(listed) == 1:
        return [*listed] * len(spans), [*listed] * len(spans)
    if "null" not in steps:
        ordered = np.array(listed, np.int64)[order]
        return np.minimum.reduceat(ordered, starts).tolist(), np.maximum.reduceat(ordered, starts).tolist()
    groups = [[step for at in order[a:b].tolist() if (step := listed[at]) is not None] for a, b in spans]
    return [min(group, default=None) for group in groups], [max(group, default=None) for group in groups]


def _find_ends(
    contexts: str | None, count: int, order: NDArray[np.intp], spans: Sequence[tuple[int, int]]
) -> list[str | None]:
    found: list[str | None] = [None] * len(spans)
    if contexts is None:
        return found
    spanned = np.full(count, -1)
    for number, (start, end) in enumerate(spans):
        spanned[order[start:end]] = number
    for at, how in list_ends(contexts, count):
        number = int(spanned[at])
        if number >= 0 and (found[number] is None or how == ENDS[0]):
            found[number] = how
    return found


def list_ends(contexts: str | None, count: int) -> Iterator[tuple[int, str]]:
    """Yield the records of a block that end an episode, and how."""
    if contexts is None or not _MARK.search(contexts):  # sooner searched than read
        return
    if contexts.count("},{") + 1 == contexts.count("{") == count > 1:  # none is nested, and so none need be read
        at = seen = 0
        for mark in _MARK.finditer(contexts):
            at += contexts.count("},{", seen, mark.start())
            seen = mark.start()
            yield at, mark[1]
        return
    listed: list[Any] = json.loads(contexts)
    for at, context in enumerate(listed * count if len(listed) == 1 else listed):
        if how := find_end(context):
            yield at, how


def find_original_reward(context: Any) -> float | None:
    """Return what the environment itself paid, where the context of a record says so."""
    said: Any = context.get(ORIGINAL_REWARD) if isinstance(context, dict) else None
    return float(said) if type(said) in (int, float) or said in ("nan", "inf", "-inf") else None


def find_masked(context: Any) -> str | None:
    """Return why a step could not be scored, where the context of its record says so."""
    said: Any = context.get(MASKED) if isinstance(context, dict) else None
    return said if isinstance(said, str) else None


def find_end(context: Any) -> str | None:
    """Return how an episode ends with a record that has this context; None where it does not."""
    if type(context) is not dict:
        return None
    return next((end for end in ENDS if context.get(end) is True), None)


# -- what environments said of a step ----------------------------------------------------------------------------------


def encode_outcomes(
    originals: Sequence[Any] | NDArray[Any],
    terminated: Sequence[Any] | NDArray[np.bool_],
    truncated: Sequence[Any] | NDArray[np.bool_],
    about: Mapping[int, Mapping[str, Any]] = MappingProxyType({}),
) -> str:
    """Return what environments said of steps as a column of contexts: their own reward, and how an episode ended.

    Numbers that are not finite are strings, since JSON has none such; an own reward that is not a number at all is
    null. `about` is what else the contexts of some steps say, by position.
    """
    said = _encode_numbers(originals)
    for end, flags in zip(ENDS, (terminated, truncated), strict=True):
        for at in np.flatnonzero(np.asarray(flags, np.bool_)).tolist():
            said[at] += f',"{end}":true'
    for at, more in about.items():
        said[at] += f",{encode_context(_spell_out(more))[1:-1]}"
    if said.count(said[0]) == len(said):
        said = said[:1]
    begin = f'{{"{ORIGINAL_REWARD}":'
    return f"[{begin}{f'}},{begin}'.join(said)}}}]"


def _spell_out(said: Any) -> Any:
    """Return what a context says with numbers that are not finite as strings."""
    if isinstance(said, Mapping):
        return {name: _spell_out(each) for name, each in said.items()}
    if isinstance(said, list):
        return [_spell_out(each) for each in said]
    return str(said) if isinstance(said, float) and not math.isfinite(said) else said


def _encode_numbers(given: Sequence[Any] | NDArray[Any]) -> list[str]:
    """Return what environments paid as JSON, one text each."""
    try:
        numbers = np.asarray(given, np.float64).reshape(len(given))
    except (TypeError, ValueError, OverflowError):
        return [_encode_number(to_number(each)) for each in given]
    if np.isfinite(numbers).all():
        return str(numbers.tolist())[1:-1].split(", ")
    return [_encode_number(to_number(each)) for each in given]


def _encode_number(number: float | None) -> str:
    if number is None:
        return "null"
    return repr(number) if math.isfinite(number) else f'"{number}"'


def to_number(given: Any) -> float | None:
    """Return what an environment paid as a number; None where it is none."""
    if given is None:  # which NumPy takes for NaN
        return None
    try:
        return float(np.asarray(given, np.float64).reshape(()))
    except (TypeError, ValueError, OverflowError):
        return None
