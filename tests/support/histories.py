"""Histories made by hand: whole episodes, recorded in one go, for tests of what an audit makes of them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from plaudit import Ledger, Reward

Columns = Mapping[str, Any]


def record_episodes(
    ledger: Ledger,
    reward: Reward,
    episodes: Sequence[Columns],
    *,
    run: str | None = "night",
    ends: str | None = "terminated",
    original: Sequence[Any] | None = None,
    together: int = 0,
    **context: Any,
) -> None:
    """Record episodes, each a mapping from inputs to columns; `ends` says how they end, None that nothing says so.

    `original` are what the environment paid for the steps of each; `together` so many environments take turns.
    """
    lengths = [len(next(iter(each.values()))) for each in episodes]
    columns = {name: np.concatenate([np.asarray(each[name]) for each in episodes]) for name in episodes[0]}
    numbers = np.repeat(np.arange(len(episodes)), lengths)
    steps = np.concatenate([np.arange(length) for length in lengths])
    said: list[dict[str, Any]] = [{} for _ in range(len(steps))]
    if original is not None:
        for each, paid in zip(said, np.concatenate([np.asarray(part) for part in original]).tolist(), strict=True):
            each["original_reward"] = paid
    if ends is not None:
        for last in (np.cumsum(lengths) - 1).tolist():
            said[last][ends] = True
    order = np.lexsort((numbers, steps, numbers // together)) if together else np.arange(len(steps))
    ledger.record_batch(
        reward,
        {name: column[order] for name, column in columns.items()},
        run=run,
        episode=numbers[order].tolist(),
        step=steps[order].tolist(),
        context=[said[at] or None for at in order.tolist()],
        **context,
    )
