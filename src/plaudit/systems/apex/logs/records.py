"""The record of an episode: a row for each step and one for its end, written as JSON lines."""

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from plaudit.drafts import Draft
from plaudit.errors import FileError, InputError
from plaudit.ledger.jsonl.text import encode
from plaudit.systems.apex.logs.rows import RewardRow
from plaudit.systems.apex.reward import RewardAccumulator


def reward_rows(
    states: Iterable[Mapping[str, Any]],
    success: bool | None = None,
    *,
    detector: str = "explicit",
    extras: bool = False,
) -> Iterator[dict[str, Any]]:
    """Yield the record of every step of an episode, then that of its end.

    A step has the number of the state it reaches, counted from 1, so the first is step 2; the end has the
    number after the last. Where `success` is not given, the last state decides. With `extras` a row names the detector.

    >>> [row["r_step"] for row in reward_rows([{}, {"phase": "coding"}, {"phase": "testing"}], success=True)]
    [0.0, 0.3, 1.0]
    """
    accumulator = RewardAccumulator(detector)
    states = iter(states)
    last = next(states, None)
    if last is None:
        raise InputError("reward 'apex': an episode needs at least one state.")
    step = 1
    for step, state in enumerate(states, start=2):
        try:
            signal = accumulator.signal(last, state)
        except InputError as error:
            error.add_note(f"in the step to state {step}")
            raise
        yield RewardRow.from_signal(step, signal, detector=detector).to_dict(extras=extras)
        last = state
    end = accumulator.reward.final(success=all_tests_pass(last) if success is None else success)
    yield RewardRow.from_signal(step + 1, end, detector=detector).to_dict(extras=extras)


def write_rewards(path: str | os.PathLike[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write `rows` to `path`, one JSON object a line; where that fails, what was there before stays."""
    with Draft(path) as draft:
        for row in rows:
            put_row(draft, row)
        draft.commit()


def put_row(draft: Draft, row: Mapping[str, Any]) -> None:
    """Write a row to a file that is not complete yet; FileError where the disk refuses it."""
    line = encode(row) + "\n"
    try:
        draft.file.write(line)
    except OSError as error:
        raise FileError(f"{draft.name} cannot be written: {error.strerror or error}") from None


def all_tests_pass(state: Mapping[str, Any]) -> bool:
    """Return whether `state` ends an episode well: a pass rate of 1, give or take a rounding error.

    >>> all_tests_pass({"test_pass_rate": 0.1 + 0.2 + 0.7})
    True
    """
    return bool(state.get("test_pass_rate", 0.0) >= 1 - 1e-9)
