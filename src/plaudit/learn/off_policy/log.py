"""Logged decisions as columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plaudit.errors import (
    DefinitionError,
    NotEvaluable,
    NotFinite,
    OutOfRange,
    ShapeMismatch,
    UnknownCategory,
    WrongType,
)
from plaudit.learn.ridge import Numbers
from plaudit.learn.validate import unknown_action

Codes = NDArray[np.intp]

_UNEXPLORED = (
    "every decision was logged with probability 1, so the log says nothing about other actions. "
    "Log the decisions of a policy that explores, such as linucb or epsilon_ridge."
)


@dataclass(frozen=True, eq=False)
class LoggedDecisions:
    """Logged decisions in order, one row each.

    >>> log = LoggedDecisions(("stay", "star"), ["star", "stay", "star"], [0.5, 0.5, 0.25], [1.0, 0.0, 2.0])
    >>> len(log), log.chosen.tolist(), log.features
    (3, [1, 0, 1], 0)
    """

    actions: tuple[str, ...]
    """The actions."""
    chosen: Codes
    """The chosen actions: positions in `actions`, or names."""
    probabilities: Numbers
    """The probability of each chosen action at that time."""
    rewards: Numbers
    contexts: Numbers | None = None
    """The features, one row per decision; None without features."""
    episodes: Codes | None = None
    """The episode of each decision, as a number or a string; None if decisions are independent."""

    def __post_init__(self) -> None:
        """Turn the columns into arrays and refuse what can carry no estimate."""
        keep = object.__setattr__
        keep(self, "actions", _parse_actions(self.actions))
        keep(self, "chosen", _parse_chosen(self.chosen, self.actions))
        if not len(self.chosen):
            raise NotEvaluable("the log has no decisions.")
        keep(self, "probabilities", _parse_column("probabilities", self.probabilities, len(self)))
        keep(self, "rewards", _parse_column("rewards", self.rewards, len(self)))
        if self.contexts is not None:
            keep(self, "contexts", _parse_contexts(self.contexts, len(self)))
        if self.episodes is not None:
            keep(self, "episodes", _parse_episodes(self.episodes, len(self)))
        _check_probabilities(self.probabilities)
        _check_finite("rewards", self.rewards)

    def __len__(self) -> int:
        """Return how many decisions there are."""
        return len(self.chosen)

    @property
    def features(self) -> int:
        """The number of features."""
        return 0 if self.contexts is None else self.contexts.shape[1]


def _parse_actions(actions: Any) -> tuple[str, ...]:
    names = (actions,) if isinstance(actions, str) else tuple(actions)
    if not names or not all(isinstance(name, str) and name for name in names):
        raise DefinitionError(f"actions={actions!r:.80} must be names.")
    if len(set(names)) != len(names):
        raise DefinitionError(f"actions={actions!r:.80} contains a name twice.")
    return names


def _parse_chosen(chosen: Any, actions: Sequence[str]) -> Codes:
    """Return positions in `actions` for positions or names."""
    given = np.asarray(chosen)
    if given.ndim != 1:
        raise ShapeMismatch(f"chosen has the shape {given.shape}; pass a single column with one action per decision.")
    if not given.size:
        return np.empty(0, np.intp)
    if given.dtype.kind in "UO":
        known = {name: at for at, name in enumerate(actions)}
        for row, name in enumerate(given.tolist()):
            if name not in known:
                raise unknown_action(name, actions, f"decision {row}: ")
        return np.fromiter((known[name] for name in given.tolist()), np.intp, len(given))
    if given.dtype.kind not in "iu":
        raise WrongType(f"chosen holds {given.dtype} numbers; it takes the names of actions or their positions.")
    if given.min() < 0 or given.max() >= len(actions):
        row = int(np.flatnonzero((given < 0) | (given >= len(actions)))[0])
        raise UnknownCategory(f"decision {row}: there is no action {given[row]}, only 0 to {len(actions) - 1}.")
    return given.astype(np.intp, copy=False)


def _parse_column(name: str, values: Any, count: int) -> Numbers:
    if isinstance(values, Sequence) and any(value is None for value in values):
        values = [np.nan if value is None else value for value in values]
    try:
        column = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise WrongType(f"{name} must be numbers.") from None
    if column.shape != (count,):
        raise ShapeMismatch(f"{name} has the shape {column.shape}, and there are {count} decisions.")
    return column


def _parse_contexts(values: Any, count: int) -> Numbers:
    try:
        rows = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise ShapeMismatch("contexts must be rows of numbers, all of the same length.") from None
    if rows.ndim != 2 or len(rows) != count:
        raise ShapeMismatch(f"contexts have the shape {rows.shape}; {count} decisions need as many rows of features.")
    _check_finite("contexts", rows)
    return rows


def _parse_episodes(values: Any, count: int) -> Codes:
    given = np.asarray(values)
    if given.shape != (count,):
        raise ShapeMismatch(f"episodes has the shape {given.shape}, and there are {count} decisions.")
    if given.dtype.kind == "O":
        given = given.astype(str)
    return np.unique(given, return_inverse=True)[1].astype(np.intp, copy=False)


def _check_finite(name: str, values: Numbers) -> None:
    fine = np.isfinite(values)
    if not fine.all():
        row = int(np.argwhere(~fine)[0][0])
        raise NotFinite(f"decision {row}: {name} has {values[row].tolist()!r:.80}, which is not a finite number.")


def _check_probabilities(probabilities: Numbers) -> None:
    missing = np.isnan(probabilities)
    if missing.any():
        raise NotEvaluable(
            f"{missing.sum():,} of {len(missing):,} decisions have no probability, the first of them decision "
            f"{int(missing.argmax())}. They cannot be weighted without it: log decisions whose learner "
            "reports it (Decision.probability)."
        )
    outside = (probabilities <= 0) | (probabilities > 1)
    if outside.any():
        row = int(outside.argmax())
        raise OutOfRange(
            f"decision {row}: its probability is {probabilities[row].item()!r}; the probability of a chosen action "
            "is above "
            "0 and at most 1."
        )
    if (probabilities == 1).all():
        raise NotEvaluable(_UNEXPLORED)
