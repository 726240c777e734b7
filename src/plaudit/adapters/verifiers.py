"""verifiers: a reward as rubric functions, or as the reward of a task; whole, or a term each.

verifiers looks at the names of a function's parameters and passes what they name: `prompt`, `completion`, `answer`,
`state`, `info` in a `Rubric`; `task`, `trace`, `runtime` in a `Task`. Nothing of verifiers is imported.
"""

import inspect
import math
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

from plaudit.adapters.components import CLAMP, list_weights, split_total
from plaudit.adapters.samples import Features, Scorer, log_masked
from plaudit.reward.reward import Reward
from plaudit.reward.signal import Signal


class RubricFuncs(NamedTuple):
    """One function a term, and their weights: `Rubric(funcs=funcs, weights=weights)`."""

    funcs: list["RubricFunc"]
    weights: list[float]


def rubric_func(reward: Reward, features: Features, *, name: str | None = None, on_bad: str = "raise") -> "RubricFunc":
    """Return `reward` as one function for a `Rubric`, which records it under `name`, the reward's own unless given.

    `features`, plain or async, gives the reward's inputs and names what it needs of a rollout. A `Rubric` logs an
    exception and goes on with a reward of 0.0; `on_bad="mask"` gives NaN where `features` raises or gives inputs that
    cannot be scored, so that it looks like no reward that was earned, and `masked` counts. `"clip"` holds numbers
    within their declared ranges.
    """
    scorer = Scorer(reward, features, on_bad=on_bad, allow_async=True)
    return RubricFunc(scorer, name or reward.name, attrgetter("total"))


def rubric_funcs(reward: Reward, features: Features, *, on_bad: str = "raise") -> RubricFuncs:
    """Return a function for each term, with the weights under which they add up to the reward.

    Each gives its term's score, held within the term's clamps. Where the total has a clamp, one more function,
    `total.clamp`, gives what that adds. `features` is asked once for each of them: keep what is slow in `state`.
    """
    scorer = Scorer(reward, features, on_bad=on_bad, allow_async=True)
    weights = list_weights(reward)
    readers = {name: _read_clamp if name == CLAMP else partial(_read_term, name) for name in weights}
    funcs = [RubricFunc(scorer, name, read) for name, read in readers.items()]
    return RubricFuncs(funcs, list(weights.values()))


def task_reward(reward: Reward, features: Features, *, name: str | None = None) -> "RubricFunc":
    """Return `reward` as the reward of a `Task`: what each term adds, by its name, which verifiers records and sums.

    `class Sums(vf.Task): quality = vf.reward(task_reward(reward, features))`; `features` names `task`, `trace`.
    """
    return RubricFunc(Scorer(reward, features, allow_async=True), name or reward.name, split_total)


class RubricFunc:
    """What verifiers calls: async, named, with the parameters of `features`."""

    def __init__(self, scorer: Scorer, name: str, read: Callable[[Signal], Any]) -> None:
        """Keep what scores a rollout, and what is read off its signal."""
        self.__name__ = name
        self.__signature__ = scorer.features.signature.replace(return_annotation=inspect.Signature.empty)
        self._scorer = scorer
        self._read = read
        self.masked = 0
        """How many rollouts were given NaN because they could not be scored."""

    async def __call__(self, **sample: Any) -> Any:
        """Return the reward of a rollout, or its part."""
        self._scorer.features.require(sample)
        try:
            fields = self._scorer.features(sample)
            if inspect.isawaitable(fields):
                fields = await fields
            return self._read(self._scorer.score(fields))
        except Exception as error:
            if not self._scorer.masks:
                raise
            self.masked += 1
            log_masked(self.__name__, [error], 1)
            return math.nan


def _read_term(term: str, signal: Signal) -> float:
    return signal[term].clamped


def _read_clamp(signal: Signal) -> float:
    return split_total(signal)[CLAMP]
