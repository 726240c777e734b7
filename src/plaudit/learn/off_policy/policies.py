"""Policies to evaluate: functions from rows of features to rows of probabilities, with named columns."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from plaudit.errors import DefinitionError, NotEvaluable, NotFinite, OutOfRange, ShapeMismatch, did_you_mean
from plaudit.learn.bandits import Learner
from plaudit.learn.off_policy.log import LoggedDecisions
from plaudit.learn.ridge import Numbers
from plaudit.learn.router import Router

Policy = Callable[[Numbers], Any]
"""From (n, d) contexts to (n, K) probabilities; (n, 0) contexts where the log has none."""

_ROUNDING = 1e-6
"""By how much probabilities may miss their sum of 1."""
UNSUPPORTED = 0.01
"""How often, at most, a policy may take actions that nobody logged: so much hardly moves an estimate."""


@dataclass(frozen=True)
class NamedPolicy:
    """A policy with a name and named columns; `from_function` and the like return one.

    >>> policy = always("stay")
    >>> policy.name, policy.actions
    ('always stay', ('stay',))
    """

    name: str
    actions: tuple[str, ...]
    """The action of each column; other actions are never taken."""
    function: Policy
    features: int | None = None
    """The number of features it reads; None for any number."""

    def __call__(self, contexts: Numbers) -> Numbers:
        """Return how likely each action is in each context."""
        if self.features is not None and contexts.shape[1] != self.features:
            raise ShapeMismatch(
                f"policy {self.name} reads {self.features} features, but the log has {contexts.shape[1]}: it was made "
                "for different decisions."
            )
        return np.asarray(self.function(contexts), np.float64)


def from_function(function: Policy, actions: Sequence[str], name: str | None = None) -> NamedPolicy:
    """Turn a function into a policy.

    Args:
        function: From rows of features to rows of probabilities.
        actions: The action of each column.
        name: The name in reports; the function's own name if omitted.

    Returns:
        The policy.

    >>> from_function(lambda contexts: np.full((len(contexts), 2), 0.5), ("stay", "star"), "a coin").name
    'a coin'
    """
    return NamedPolicy(name or find_name(function), tuple(actions), function)


@dataclass(frozen=True)
class Uniform:
    """The policy that takes every action equally often; `uniform()` returns one.

    >>> uniform(("stay", "star")).actions
    ('stay', 'star')
    """

    actions: tuple[str, ...] | None = None
    name: str = "uniform"

    def among(self, logged: tuple[str, ...]) -> "Uniform":
        """Set the actions to choose from, unless they were named.

        Args:
            logged: The actions in the log.

        Returns:
            A policy with actions.
        """
        return self if self.actions else Uniform(logged)

    def __call__(self, contexts: Numbers) -> Numbers:
        """Return how likely each action is in each context."""
        if not self.actions:
            raise DefinitionError("uniform() has no actions to choose from: name them.")
        return np.full((len(contexts), len(self.actions)), 1.0 / len(self.actions))


def uniform(actions: Sequence[str] | None = None) -> Uniform:
    """Return the policy that takes every action equally often.

    Args:
        actions: The actions; all that were logged if omitted.

    Returns:
        The policy.

    >>> uniform(("stay", "star"))(np.empty((1, 0)))
    array([[0.5, 0.5]])
    """
    return Uniform(None if actions is None else tuple(actions))


def always(action: str) -> NamedPolicy:
    """Return the policy that always takes the same action.

    Args:
        action: The action.

    Returns:
        The policy.

    >>> always("stay").actions
    ('stay',)
    """
    return from_function(lambda contexts: np.ones((len(contexts), 1)), (action,), f"always {action}")


def from_learner(learner: Learner, state: Any, name: str = "learner") -> NamedPolicy:
    """Turn a learner and its state into a policy: what it would choose if it learned nothing more.

    Args:
        learner: The learner.
        state: Its state.
        name: The name in reports.

    Returns:
        The policy.

    >>> from plaudit.learn import epsilon_greedy
    >>> bandit = epsilon_greedy(("stay", "star"))
    >>> from_learner(bandit, bandit.init())(np.empty((1, 0))).tolist()
    [[0.9, 0.1]]
    """
    features = len(learner.features) or None
    return NamedPolicy(name, learner.actions, lambda contexts: learner.probabilities(state, contexts), features)


def from_file(path: str | os.PathLike[str]) -> NamedPolicy:
    """Load a saved learner or router as a policy.

    Args:
        path: A file that `plaudit.learn.save` wrote.

    Returns:
        The policy.

    Raises:
        NotEvaluable: A router still follows its fallback rule, which is not in the file.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from plaudit.learn import epsilon_greedy, save
    >>> bandit = epsilon_greedy(("stay", "star"))
    >>> file = Path(tempfile.mkdtemp(), "bandit.json")
    >>> save(file, bandit, bandit.init())
    >>> from_file(file).actions
    ('stay', 'star')
    """
    from plaudit.learn.saving import load

    found = load(path)
    if isinstance(found.learner, Router) and not found.learner.ready(found.state):
        raise NotEvaluable(
            f"the router in {os.fspath(path)} follows its fallback rule until it has {found.learner.minimum} "
            "records, and it "
            f"has {sum(found.state.pulls)}. The rule is not saved in the file: evaluate from_learner(router, state) "
            "instead."
        )
    return from_learner(found.learner, found.state, os.fspath(path))


def find_name(policy: Policy) -> str:
    """Return what to call a policy."""
    name = getattr(policy, "name", None) or getattr(policy, "__name__", None)
    return str(name) if name and name != "<lambda>" else "the policy"


def compute_probabilities(policy: Policy, log: LoggedDecisions, actions: Sequence[str] | None) -> Numbers:
    """Return how likely `policy` makes each of the log's actions, a row for each decision."""
    if not callable(policy):
        raise DefinitionError(f"{policy!r:.60} is not a policy: pass a function from contexts to probabilities.")
    if isinstance(policy, Uniform):
        policy = policy.among(log.actions)
    names, label = getattr(policy, "actions", None) or actions, find_name(policy)
    if names is None:
        raise DefinitionError(
            f"{label} does not name the action of each column: pass actions=(…) in column order, or "
            "name them with from_function(function, actions)."
        )
    contexts = np.empty((len(log), 0)) if log.contexts is None else log.contexts
    likely = np.asarray(policy(contexts), np.float64)
    _validate_probabilities(likely, (len(log), len(names)), label)
    return _align_columns(likely, tuple(names), log, label)


def _validate_probabilities(likely: Numbers, shape: tuple[int, int], label: str) -> None:
    if likely.shape != shape:
        raise ShapeMismatch(
            f"{label} gives probabilities of the shape {likely.shape}; {shape[0]} decisions among {shape[1]} "
            f"actions need {shape}."
        )
    sums = likely.sum(axis=1)
    fine = np.abs(sums - 1.0) <= _ROUNDING
    if fine.all() and likely.min() >= 0:
        return
    if not np.isfinite(sums).all():
        row = int((~np.isfinite(sums)).argmax())
        raise NotFinite(f"{label} gives {likely[row].tolist()!r:.80} for decision {row}: not finite numbers.")
    row = int((~fine | (likely < 0).any(axis=1)).argmax())
    raise OutOfRange(
        f"{label} gives {likely[row].tolist()!r:.80} for decision {row}; probabilities must be from 0 to 1 "
        "and sum to 1."
    )


def _align_columns(likely: Numbers, names: tuple[str, ...], log: LoggedDecisions, label: str) -> Numbers:
    """Return the columns in the log's order; what nobody logged must hardly ever be taken."""
    counts = np.bincount(log.chosen, minlength=len(log.actions))
    logged = {name for name, count in zip(log.actions, counts.tolist(), strict=True) if count}
    unseen = {name: float(likely[:, at].mean()) for at, name in enumerate(names) if name not in logged}
    if sum(unseen.values()) > UNSUPPORTED:
        worst = max(unseen, key=lambda name: unseen[name])
        raise NotEvaluable(
            f"{label} takes {worst!r} in {unseen[worst]:.1%} of the decisions, but the log never did: "
            f"its reward is unknown.{did_you_mean(worst, sorted(logged))} Logged actions: {', '.join(sorted(logged))}."
        )
    if names == log.actions:
        return likely
    found = np.zeros((len(log), len(log.actions)))
    for at, name in enumerate(names):
        if name in log.actions:
            found[:, log.actions.index(name)] = likely[:, at]
    return found
