"""A whole run, scored again with other knobs while somebody turns them; nothing is written."""

import json
import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from plaudit.errors import InputError
from plaudit.ledger.ledger import Ledger
from plaudit.ledger.returns import EpisodeReturns
from plaudit.ledger.scored import ScoredBatch
from plaudit.reward.reward import Reward

MOST_EPISODES = 500
"""How many episodes of the ranking are told: those that moved furthest."""
_LONGEST = 64 * 1024


class Unwanted(Exception):
    """Nobody waits for the outcome any more."""


class Runs(Protocol):
    """What knows the runs of ledgers."""

    def find_run(self, source: str, run: str) -> tuple[Ledger, dict[str, Any], Reward]:
        """Return the ledger of a run, what chooses its records, and the reward that paid in it last."""


def parse_settings(text: str) -> dict[str, Any]:
    """Return the values of knobs, weights and clamps from JSON; InputError where it holds anything else.

    >>> parse_settings('{"comfort.weight": 2}')
    {'comfort.weight': 2}
    """
    if len(text) > _LONGEST:
        raise InputError(f"the settings are longer than {_LONGEST:,} characters.")
    try:
        found = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InputError('the settings must be a JSON object of finite numbers, as in {"comfort.weight": 2}.')
    return found


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


def rescore_run(
    library: Runs, source: str, run: str, settings: dict[str, Any], *, is_wanted: Callable[[], bool]
) -> dict[str, Any]:
    """Return what a run would have earned with other settings: by episode, by term, and how its ranking changes.

    Raises:
        Unwanted: `is_wanted` has become false in the middle of it.
        PlauditError: There is no such run, or its reward has no such knob.
    """
    ledger, query, reward = library.find_run(source, run)
    outcome = _Outcome()
    for batch in ledger.score_history(reward, reward.with_params(settings), **query):
        if not is_wanted():
            raise Unwanted
        outcome.add(batch)
    return outcome.to_dict()


class _Outcome:
    """Two scorings of the same steps, fed in batches; it grows with the episodes and not with the steps."""

    def __init__(self) -> None:
        self._returns = EpisodeReturns()
        self._terms: dict[str, list[float]] = {}
        self._steps = self._changed = self._flipped = self._bad = 0

    def add(self, batch: ScoredBatch) -> None:
        before, after = batch.scores
        if batch.episodes is not None:
            self._returns.add(batch.episodes, before.total, after.total)
        both = ~(np.isnan(before.total) | np.isnan(after.total))
        self._steps += len(both)
        self._bad += len(both) - int(both.sum())
        self._changed += int(np.count_nonzero((before.total != after.total) & both))
        self._flipped += int(np.count_nonzero(np.sign(before.total) * np.sign(after.total) < 0))
        for at, scores in enumerate((before, after)):
            for name, column in scores.values.items():
                self._terms.setdefault(name, [0.0, 0.0])[at] += float(column.sum(where=both))

    def to_dict(self) -> dict[str, Any]:
        returns = self._returns
        old, new, (rank_old, rank_new) = returns.old, returns.new, returns.ranks
        moved = np.argsort(-np.abs(rank_new - rank_old), kind="stable")
        keys = returns.keys
        return {
            "steps": self._steps,
            "changed": self._changed,
            "flipped": self._flipped,
            "not_scored": self._bad,
            "episodes": len(old),
            "return": {"before": _mean(old), "after": _mean(new)},
            "rank_correlation": returns.rank_correlation,
            "moved": int(np.count_nonzero(rank_old != rank_new)),
            "ranking": [
                {
                    "episode": keys[at][2],
                    "actor": keys[at][1],
                    "before": _number(old[at]),
                    "after": _number(new[at]),
                    "rank_before": float(rank_old[at]),
                    "rank_after": float(rank_new[at]),
                }
                for at in moved[:MOST_EPISODES].tolist()
            ],
            "terms": {
                name: {"before": _number(was), "after": _number(now)} for name, (was, now) in self._terms.items()
            },
        }


def _mean(values: Any) -> float | str | None:
    return _number(values.mean()) if len(values) else None


def _number(value: Any) -> float | str:
    """Return a number as a document holds it: JSON has none that is not finite."""
    return float(value) if math.isfinite(value) else str(float(value))
