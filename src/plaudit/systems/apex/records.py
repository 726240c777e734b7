"""The record of an episode: a row for each step and one for its end, written as JSON lines."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from plaudit.drafts import Draft
from plaudit.errors import InputError
from plaudit.systems.apex.reward import RewardAccumulator


def reward_rows(
    states: Iterable[Mapping[str, Any]], success: bool | None = None, *, detector: str = "explicit"
) -> Iterator[dict[str, Any]]:
    """Yield the record of every step of an episode, then that of its end.

    A step has the number of the state it reaches, counted from 1, so the first is step 2; the end has the
    number after the last. Where `success` is not given, the last state decides.

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
        yield _row(step, {each.name: each.score for each in signal.terms}, signal.total)
        last = state
    bonus = accumulator.final_bonus(all_tests_pass(last) if success is None else success)
    yield _row(step + 1, {}, bonus) | {"terminal": True}


def write_rewards(path: str | os.PathLike[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write `rows` to `path`, one JSON object a line; where that fails, what was there before stays."""
    with Draft(path) as draft:
        draft.file.writelines(json.dumps(row, allow_nan=False) + "\n" for row in rows)
        draft.commit()


def all_tests_pass(state: Mapping[str, Any]) -> bool:
    """Return whether `state` ends an episode well: a pass rate of 1, give or take a rounding error.

    >>> all_tests_pass({"test_pass_rate": 0.1 + 0.2 + 0.7})
    True
    """
    return bool(state.get("test_pass_rate", 0.0) >= 1 - 1e-9)


def _row(step: int, changes: Mapping[str, float], earned: float) -> dict[str, Any]:
    """Return the record of `step`: the score of each term in `changes`, 0 where it has none, and what was earned."""
    tokens = changes.get("token_cost", 0.0)
    return {
        "step": step,
        "delta_pass_rate": changes.get("test_improvement", 0.0),
        "delta_tokens": int(tokens) if tokens.is_integer() else tokens,
        "phase_advance": bool(changes.get("phase_advance")),
        "switch_committed": bool(changes.get("switch_cost")),
        "r_step": earned,
    }
