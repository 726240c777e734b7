"""How the contexts of records tell of episodes: how one ends, and what its environment paid; and the parts of a block.

The parts of a block follow from its columns: see parts.py.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plaudit.ledger.context import encode_context
from plaudit.ledger.storage.parts import pack_parts, parse_number
from plaudit.ledger.storage.summary import parse_column

ENDS = ("terminated", "truncated")
"""How an episode can end. The context of a step says so, and where one says both, the first holds."""
_MARK = re.compile(f'"({"|".join(ENDS)})":true')
"""How a context says so; within a string its quotation marks would be escaped."""
MASKED = "masked"
"""Under which name the context of a step without a score says why it has none."""
LOST_TERMS = "lost_terms"
"""Under which name the context of a step that was scored without some terms says which, and why."""
ORIGINAL_REWARD = "original_reward"
"""Under which name the context of a step has what the environment itself paid."""


def summarize_episodes(
    count: int,
    earliest: int,
    job: int | None,
    times: str | None,
    episodes: str | None,
    steps: str | None,
    contexts: str | None,
    outputs: bytes,
) -> tuple[int, bytes | None]:
    """Return what a block, given as its own row has it, says of episodes: columns of the table `summaries`.

    These are whether it is `telling`, and its `parts`. A block of one record has none: it says everything itself, and
    single records are written as fast as before.
    """
    ends = list(list_ends(contexts, count))
    telling = int(bool(ends) or (contexts is not None and f'"{ORIGINAL_REWARD}":' in contexts))
    if count == 1 or episodes is None:
        return telling, None
    listed: Sequence[str | None] = parse_column(episodes)
    names = [name for name in dict.fromkeys(listed) if name is not None]
    numbers = [number for name in names if (number := parse_number(name)) is not None]
    named = len(numbers) < len(names)
    codes: dict[str | None, int] = dict(zip(names, range(len(names)) if named else numbers, strict=True))
    scores = np.frombuffer(outputs, "<f8").reshape(count, -1)
    chosen = _spread([name is not None for name in listed], count, np.bool_)
    parts = pack_parts(
        _spread([codes.get(name, 0) for name in listed], count, np.int64),
        [scores[:, at] for at in (0, *range(2, scores.shape[1], 2))],
        times=earliest + (np.zeros(count, np.int64) if times is None else np.array(json.loads(times), np.int64)),
        names=names if named else None,
        chosen=chosen if job is None else chosen & ~np.isnan(scores[:, 0]),  # what was refused has no new score
        **_read_steps(steps, count),
        ends=_mark_ends(ends, count) if ends else None,
    )
    return telling, parts


def _spread(entries: Sequence[Any], count: int, kind: type[np.generic]) -> NDArray[Any]:
    """Return one entry a record as an array; a single entry stands for all."""
    return np.broadcast_to(np.array(entries, kind), count)


def _read_steps(steps: str | None, count: int) -> dict[str, NDArray[Any]]:
    if steps is None:
        return {}
    listed: Sequence[int | None] = parse_column(steps)
    if "null" not in steps:
        return {"steps": _spread(listed, count, np.int64)}
    known = {"stepped": _spread([step is not None for step in listed], count, np.bool_)}
    return {"steps": _spread([step or 0 for step in listed], count, np.int64), **known}


def _mark_ends(ends: Sequence[tuple[int, str]], count: int) -> NDArray[np.int8]:
    marks = np.zeros(count, np.int8)
    for at, how in ends:  # a step can say both
        marks[at] = min(1 + ENDS.index(how), marks[at] or len(ENDS))
    return marks


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


def find_lost_terms(context: Any) -> str | None:
    """Return without which terms a step was scored and why, where the context of its record says so."""
    said: Any = context.get(LOST_TERMS) if isinstance(context, dict) else None
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
