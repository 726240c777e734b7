"""verifiers: a reward as rubric functions, or as the reward of a task; as a whole, or one function per term.

verifiers passes the arguments that a function's parameters name: `prompt`, `completion`, `answer`, `state`, `info` in a
`Rubric`; `task`, `trace`, `runtime` in a `Task`. verifiers itself is not imported.

A rollout that cannot be scored is left out by an exception, never by NaN or None:

- `Task` (`verifiers.v1`, the only way from 0.4 on): any exception becomes a `TaskError` in `trace.errors`, and
  `trace.ok` is False. NaN is recorded as a reward.
- `Rubric` (up to 0.3.1, where it is also `verifiers.legacy`): an exception or None is logged and becomes 0.0, whatever
  its type. NaN makes every advantage of the group NaN. A failed rollout is marked by `state["error"]` (since 0.1.9),
  which verifiers' own judges set and prime-rl reads; so it is set here too.
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
    """One function per term, and their weights: `Rubric(funcs=funcs, weights=weights)`."""

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
    """Return a reward as one function for a `Rubric`.

    Args:
        reward: The reward.
        features: A function, plain or async, that returns the reward's inputs. Its parameters name what it needs of a
            rollout: `prompt`, `completion`, `answer`, `state`, `info`.
        name: Name to record under; the reward's own name if omitted.
        on_bad: What to do with a rollout whose features raise or that cannot be scored. "raise": raise the error and
            set it as `state["error"]`; the `Rubric` records 0.0, and a trainer leaves out failed rollouts. "mask": also
            count it in `masked` and log it. "clip": clip numbers to their declared ranges.
        max_masked: With "mask", every rollout fails while more than this share of ten or more cannot be scored.

    Returns:
        An async function for `Rubric(funcs=[...])`.

    Raises:
        DefinitionError: An argument is invalid.

    >>> import asyncio
    >>> from plaudit import Field, Reward, term
    >>> @term
    ... def right(answer):
    ...     return 1 if answer else 0
    >>> sums = Reward("sums", version="1", terms=[right], fields=[Field("answer", flag=True)])
    >>> func = rubric_func(sums, lambda completion, answer: {"answer": completion == answer})
    >>> asyncio.run(func(completion="4", answer="4"))
    1.0
    """
    scorer = Scorer(reward, features, on_bad=on_bad, max_masked=max_masked, allow_async=True)
    return RubricFunc(scorer, name or reward.name, attrgetter("total"))


def rubric_funcs(
    reward: Reward, features: Features, *, on_bad: OnBad = "raise", max_masked: float = MAX_MASKED
) -> RubricFuncs:
    """Return one function per term for a `Rubric`, and their weights.

    Each function returns the clamped score of its term; weighted, they add up to the reward. If the total has a clamp,
    a function `total.clamp` returns its effect. `features` is called once per function: cache slow results in `state`.

    Args:
        reward: The reward.
        features: As for `rubric_func`.
        on_bad: As for `rubric_func`; each function counts on its own.
        max_masked: As for `rubric_func`.

    Returns:
        The functions and their weights.

    Raises:
        DefinitionError: An argument is invalid, or a weight follows a schedule.

    >>> from plaudit import Field, Reward, term
    >>> @term(weight=2.0)
    ... def right(answer):
    ...     return 1 if answer else 0
    >>> sums = Reward("sums", version="1", terms=[right], fields=[Field("answer", flag=True)])
    >>> funcs, weights = rubric_funcs(sums, lambda completion, answer: {"answer": completion == answer})
    >>> [func.__name__ for func in funcs], weights
    (['right'], [2.0])
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
    """Return a reward for a `Task`: the value of each term by name, which verifiers records and sums.

    Args:
        reward: The reward.
        features: A function, plain or async, that returns the reward's inputs. Its parameters name what it needs of a
            rollout: `task`, `trace`, `runtime`.
        name: Name of the function; the reward's own name if omitted.
        on_bad: As for `rubric_func`; a rollout that cannot be scored fails with a `TaskError`.
        max_masked: As for `rubric_func`.

    Returns:
        An async function for `vf.reward`.

    Raises:
        DefinitionError: An argument is invalid.

    Example:
        ```python
        class Sums(vf.Task):
            quality = vf.reward(task_reward(reward, features))
        ```
    """
    scorer = Scorer(reward, features, on_bad=on_bad, max_masked=max_masked, allow_async=True)
    return RubricFunc(scorer, name or reward.name, split_total)


class RubricFunc:
    """The async function that verifiers calls; it has the parameters of `features`, and `state`."""

    def __init__(self, scorer: Scorer, name: str, read: Callable[[Signal], Any]) -> None:
        """Keep the scorer, and the function that reads a result from a signal."""
        self.__name__ = name
        self.__signature__ = _add_state(scorer.features.signature)
        self._scorer = scorer
        self._read = read

    @property
    def masked(self) -> int:
        """Number of rollouts that could not be scored, with `on_bad="mask"`."""
        return self._scorer.masking.masked

    async def __call__(self, **sample: Any) -> Any:
        """Return the reward of a rollout, or one part of it."""
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
    """Return the signature of the features with `state` added, to report that scoring failed."""
    parameters = list(signature.parameters.values())
    if "state" not in signature.parameters and all(each.kind is not each.VAR_KEYWORD for each in parameters):
        parameters.append(inspect.Parameter("state", inspect.Parameter.KEYWORD_ONLY, default=None))
    return signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty)


def _read_term(term: str, signal: Signal) -> float:
    return signal[term].clamped


def _read_clamp(signal: Signal) -> float:
    return split_total(signal)[CLAMP]
