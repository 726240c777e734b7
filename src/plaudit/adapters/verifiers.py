"""verifiers: a reward as rubric functions, or as the reward of a task; whole, or a term each.

verifiers looks at the names of a function's parameters and passes what they name: `prompt`, `completion`, `answer`,
`state`, `info` in a `Rubric`; `task`, `trace`, `runtime` in a `Task`. Nothing of verifiers is imported.

A rollout that cannot be scored is left out by an exception, never by NaN or None:

- `Task` (`verifiers.v1`, all there is from 0.4 on): any exception becomes a `TaskError` in `trace.errors`, and
  `trace.ok` is False. NaN is recorded as a reward.
- `Rubric` (up to 0.3.1, where it also is `verifiers.legacy`): an exception, and None, is logged and becomes 0.0. NaN
  makes every advantage of the group NaN. No type of exception is treated otherwise. A rollout is known as failed by
  `state["error"]` (since 0.1.9), which verifiers' own judges set and prime-rl asks for: so it is set here.
"""

import inspect
from collections.abc import Callable, MutableMapping
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

from plaudit.adapters.components import CLAMP, list_weights, split_total
from plaudit.adapters.samples import Features, Scorer
from plaudit.reward.reward import Reward
from plaudit.reward.signal import Signal
from plaudit.rows.on_bad import MAX_MASKED
from plaudit.targets import OnBad

__all__ = ["rubric_func", "rubric_funcs", "task_reward"]


class RubricFuncs(NamedTuple):
    """One function a term, and their weights: `Rubric(funcs=funcs, weights=weights)`."""

    funcs: list["RubricFunc"]
    weights: list[float]


def rubric_func(
    reward: Reward,
    features: Features,
    *,
    name: str | None = None,
    on_bad: OnBad = "raise",
    max_masked: float = MAX_MASKED,
) -> "RubricFunc":
    """Return `reward` as one function for a `Rubric`, which records it under `name`, the reward's own unless given.

    `features`, plain or async, gives the reward's inputs and names what it needs of a rollout. Where it raises, or
    gives inputs that cannot be scored, the error is raised and is the rollout's `state["error"]`: a `Rubric` records
    0.0 and goes on, and a trainer leaves out rollouts that failed. With `on_bad="mask"` such rollouts are counted, in
    `masked`, and logged as well; as long as more than `max_masked` of ten or more rollouts could not be scored, every
    rollout fails. `"clip"` holds numbers within their declared ranges.
    """
    scorer = Scorer(reward, features, on_bad=on_bad, max_masked=max_masked, allow_async=True)
    return RubricFunc(scorer, name or reward.name, attrgetter("total"))


def rubric_funcs(
    reward: Reward, features: Features, *, on_bad: OnBad = "raise", max_masked: float = MAX_MASKED
) -> RubricFuncs:
    """Return a function for each term, with the weights under which they add up to the reward.

    Each gives its term's score, held within the term's clamps. Where the total has a clamp, one more function,
    `total.clamp`, gives what that adds. `features` is asked once for each of them: keep what is slow in `state`.
    `on_bad` and `max_masked` are as for `rubric_func`; each function counts for itself.
    """
    funcs, weights = [], list_weights(reward)
    for name in weights:
        scorer = Scorer(reward, features, on_bad=on_bad, max_masked=max_masked, allow_async=True)
        funcs.append(RubricFunc(scorer, name, _read_clamp if name == CLAMP else partial(_read_term, name)))
    return RubricFuncs(funcs, list(weights.values()))


def task_reward(
    reward: Reward,
    features: Features,
    *,
    name: str | None = None,
    on_bad: OnBad = "raise",
    max_masked: float = MAX_MASKED,
) -> "RubricFunc":
    """Return `reward` as the reward of a `Task`: what each term adds, by its name, which verifiers records and sums.

    `class Sums(vf.Task): quality = vf.reward(task_reward(reward, features))`; `features` names `task`, `trace`. A
    rollout that cannot be scored fails with a `TaskError`; `on_bad` and `max_masked` are as for `rubric_func`.
    """
    scorer = Scorer(reward, features, on_bad=on_bad, max_masked=max_masked, allow_async=True)
    return RubricFunc(scorer, name or reward.name, split_total)


class RubricFunc:
    """What verifiers calls: async, named, with the parameters of `features`, and the state of a rollout."""

    def __init__(self, scorer: Scorer, name: str, read: Callable[[Signal], Any]) -> None:
        """Keep what scores a rollout, and what is read off its signal."""
        self.__name__ = name
        self.__signature__ = _add_state(scorer.features.signature)
        self._scorer = scorer
        self._read = read

    @property
    def masked(self) -> int:
        """How many rollouts `on_bad="mask"` left without a reward because they could not be scored."""
        return self._scorer.masking.masked

    async def __call__(self, **sample: Any) -> Any:
        """Return the reward of a rollout, or its part."""
        try:
            return await self._score(sample)
        except Exception as error:
            state = sample.get("state")
            if isinstance(state, MutableMapping) and state.get("error") is None:
                state["error"] = error
            raise

    async def _score(self, sample: dict[str, Any]) -> Any:
        self._scorer.features.require(sample)
        try:
            fields = self._scorer.features(sample)
            if inspect.isawaitable(fields):
                fields = await fields
            found = self._read(self._scorer.score(fields))
        except Exception as error:
            if self._scorer.masks:
                self._scorer.masking.add([error], 1)
            raise
        self._scorer.masking.add([], 1)
        return found


def _add_state(signature: inspect.Signature) -> inspect.Signature:
    """Return what verifiers is to pass: what the features name, and `state`, to say that scoring failed."""
    parameters = list(signature.parameters.values())
    if "state" not in signature.parameters and all(each.kind is not each.VAR_KEYWORD for each in parameters):
        parameters.append(inspect.Parameter("state", inspect.Parameter.KEYWORD_ONLY, default=None))
    return signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty)


def _read_term(term: str, signal: Signal) -> float:
    return signal[term].clamped


def _read_clamp(signal: Signal) -> float:
    return split_total(signal)[CLAMP]
