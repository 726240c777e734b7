"""verifiers: a reward as rubric functions, or as the reward of a task; as a whole, or one function per term.

A `Rubric` (up to 0.3.1, where it is also `verifiers.legacy`) passes the parts of a rollout that a function's parameters
name; a `Task` (`verifiers.v1`, the only way from 0.4 on) passes `task`, `trace` and `runtime`. verifiers itself is not
imported.

A rollout without a reward is left out by an exception, never by NaN or None:

- `Task`: any exception becomes a `TaskError` in `trace.errors`, and `trace.ok` is False. NaN is recorded as a reward.
- `Rubric`: an exception or None is logged and becomes 0.0, whatever its type. NaN makes every advantage of the group
  NaN. A failed rollout is marked by `state["error"]` (since 0.1.9), which verifiers' own judges set and prime-rl reads;
  so it is set here too.
"""

import asyncio
import weakref
from collections.abc import Collection, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, Signature
from typing import Any, NamedTuple

from plaudit.adapters.components import list_weights
from plaudit.adapters.rollouts import (
    build_call,
    explain_company,
    list_parts,
    list_scores,
    raise_unscored,
    require_counters,
    require_single,
    to_plain,
)
from plaudit.llm.scored import Scored
from plaudit.llm.scoring import Scoring

__all__ = ["rubric_func", "rubric_funcs", "task_reward"]

_GROUP = ("prompts", "completions", "answers", "states", "tasks", "infos")
"""What a `Rubric` passes to a function of a group, which it tells by these names."""


class RubricFuncs(NamedTuple):
    """One function per term, and their weights: `Rubric(funcs=funcs, weights=weights)`."""

    funcs: list["RubricFunc | GroupFunc"]
    weights: list[float]


def rubric_func(scoring: Scoring, *, name: str | None = None) -> "RubricFunc | GroupFunc":
    """Return a reward as one function for a `Rubric`.

    A rollout that cannot be scored, or to which a feature gives no reward, has its error in `state["error"]`; the
    `Rubric` records 0.0, and a trainer leaves out failed rollouts. With features of a group, all rollouts of a prompt
    are scored together, as verifiers' own functions of a group are; `Rubric.score_rollout` then refuses.

    Args:
        scoring: The reward and its features; parts of a sample are `prompt`, `completion`, `answer`, `state`, `info`,
            `task` and the columns of the data set.
        name: Name to record under; the reward's own name if omitted.

    Returns:
        An async function for `Rubric(funcs=[...])`.

    Raises:
        DefinitionError: An argument is invalid, or a schedule needs a step that no feature returns.

    >>> import asyncio
    >>> from plaudit import Field, Reward, term
    >>> from plaudit.llm import Scoring, feature
    >>> @feature
    ... def right(text, answer):
    ...     return text == answer
    >>> @term
    ... def correct(right):
    ...     return 1 if right else 0
    >>> sums = Reward("sums", version="1", terms=[correct], fields=[Field("right", flag=True)])
    >>> func = rubric_func(Scoring(sums, [right]))
    >>> asyncio.run(func(completion="4", answer="4"))
    1.0
    """
    return _make_funcs(scoring, None, [name or scoring.reward.name])[0]


def rubric_funcs(scoring: Scoring) -> RubricFuncs:
    """Return one function per term for a `Rubric`, and their weights.

    Each function returns the clamped score of its term; weighted, they add up to the reward. If the total has a clamp,
    a function `total.clamp` returns its effect. A rollout is scored once for all functions.

    Args:
        scoring: As for `rubric_func`.

    Returns:
        The functions and their weights.

    Raises:
        DefinitionError: An argument is invalid, a weight follows a schedule, or another number does and no feature
            returns the step.

    >>> from plaudit import Field, Reward, term
    >>> from plaudit.llm import Scoring, feature
    >>> @feature
    ... def right(text, answer):
    ...     return text == answer
    >>> @term(weight=2.0)
    ... def correct(right):
    ...     return 1 if right else 0
    >>> sums = Reward("sums", version="1", terms=[correct], fields=[Field("right", flag=True)])
    >>> funcs, weights = rubric_funcs(Scoring(sums, [right]))
    >>> [func.__name__ for func in funcs], weights
    (['correct'], [2.0])
    """
    explain_company(scoring)
    weights = list_weights(scoring.reward)
    return RubricFuncs(_make_funcs(scoring, tuple(weights), list(weights)), list(weights.values()))


def task_reward(scoring: Scoring, *, name: str | None = None) -> "TaskReward":
    """Return a reward for a `Task`: the value of each term by name, which verifiers records and sums.

    A rollout that cannot be scored, or to which a feature gives no reward, fails with a `TaskError`.

    Args:
        scoring: The reward and its features; parts of a sample are `prompt`, `completion`, the fields of the task's
            data such as `answer`, and `task`, `trace` and `runtime`.
        name: Name of the function; the reward's own name if omitted.

    Returns:
        An async function for `vf.reward`.

    Raises:
        DefinitionError: An argument is invalid, a feature needs a group or a batch, or a schedule a step that no
            feature returns.

    Example:
        ```python
        class Sums(vf.Task):
            quality = vf.reward(task_reward(Scoring(sums, [right])))
        ```
    """
    require_single(scoring, "a verifiers Task")
    require_counters(scoring, "verifiers")
    return TaskReward(scoring, name or scoring.reward.name)


class TaskReward:
    """The async function that a `Task` calls."""

    def __init__(self, scoring: Scoring, name: str) -> None:
        """Keep the scoring and the name."""
        self.__name__ = name
        self.__signature__ = _build_signature(scoring)
        self._scoring = scoring

    @property
    def masked(self) -> int:
        """Number of rollouts that could not be scored, with `on_bad="mask"`."""
        return self._scoring.masked

    async def __call__(self, **parts: Any) -> dict[str, float | None]:
        """Return the value of each term."""
        scored = await self._scoring.score_async([_build_sample(self._scoring, parts)])
        if scored.totals[0] is None:
            raise_unscored(scored)
        return {term: values[0] for term, values in list_parts(scored).items()}


class RubricFunc:
    """The async function that a `Rubric` calls for a rollout: the total, or one term."""

    def __init__(self, rollouts: "_Rollouts", name: str) -> None:
        """Keep what scores rollouts, shared by all functions, and the name."""
        self.__name__ = name
        self.__signature__ = _build_signature(rollouts.scoring)
        self._rollouts = rollouts

    @property
    def masked(self) -> int:
        """Number of rollouts that could not be scored, with `on_bad="mask"`."""
        return self._rollouts.scoring.masked

    async def __call__(self, **parts: Any) -> float:
        """Return the reward of a rollout, or the score of one term."""
        state = parts.get("state")
        sample = _build_sample(self._rollouts.scoring, parts)
        try:
            scored = await self._rollouts.score_once(self.__name__, parts.get("trace") or state, [sample])
            if scored.totals[0] is None:
                raise_unscored(scored)
        except Exception as error:
            _mark(state, error)
            raise
        return self._rollouts.read(self.__name__, scored)[0]


class GroupFunc:
    """The async function that a `Rubric` calls for all rollouts of a prompt: the totals, or the scores of one term."""

    def __init__(self, rollouts: "_Rollouts", name: str) -> None:
        """Keep what scores rollouts, shared by all functions, and the name."""
        self.__name__ = name
        self.__signature__ = Signature([Parameter(each, Parameter.KEYWORD_ONLY, default=()) for each in _GROUP])
        self._rollouts = rollouts

    @property
    def masked(self) -> int:
        """Number of rollouts that could not be scored, with `on_bad="mask"`."""
        return self._rollouts.scoring.masked

    async def __call__(self, *, states: Sequence[MutableMapping[str, Any]], **columns: Sequence[Any]) -> list[float]:
        """Return a number for each rollout; 0.0 for one without a reward, whose state says why."""
        columns = {name: columns[name] for name in _GROUP if name in columns}
        rows = [{name.removesuffix("s"): column[at] for name, column in columns.items()} for at in range(len(states))]
        rows = [_read_columns(state) | row | {"state": state} for state, row in zip(states, rows, strict=True)]
        samples = [_build_sample(self._rollouts.scoring, row) for row in rows]
        try:
            scored = await self._rollouts.score_once(self.__name__, states[0] if states else None, samples)
        except Exception as error:
            for state in states:
                _mark(state, error)
            raise
        for at, reason in scored.errors.items():
            _mark(states[at], reason)
        return self._rollouts.read(self.__name__, scored)


@dataclass(slots=True)
class _Run:
    """A rollout that is being scored, or was, and the functions that have not read it."""

    task: "asyncio.Task[Scored]"
    readers: set[str]
    rollout: Any
    """What it is told by; a weak reference where that is possible."""
    waiting: int = 0
    """How many functions wait for it now."""

    async def wait(self) -> Scored:
        """Return what comes of it; the last function that is cancelled while it waits ends the scoring."""
        self.waiting += 1
        try:
            return await asyncio.shield(self.task)
        except asyncio.CancelledError:
            if self.waiting == 1 and not self.task.done():
                self.task.cancel()
                await asyncio.wait({self.task})
            raise
        finally:
            self.waiting -= 1

    @property
    def was_cancelled(self) -> bool:
        """Whether nobody waited for it any more, so that it is begun again for who comes now."""
        return self.task.cancelled() or (self.task.cancelling() > 0 and not self.task.done())

    def is_of(self, rollout: Any) -> bool:
        own = self.rollout() if isinstance(self.rollout, weakref.ref) else self.rollout
        return own is rollout and self.task.get_loop() is asyncio.get_running_loop()


class _Rollouts:
    """Scores rollouts; what several functions read is kept until each has read it once."""

    def __init__(self, scoring: Scoring, terms: Collection[str] | None) -> None:
        self.scoring, self._terms = scoring, terms
        self._runs: dict[int, _Run] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {"scoring": self.scoring, "_terms": self._terms, "_runs": {}}

    async def score_once(self, reader: str, rollout: Any, samples: Sequence[Mapping[str, Any]]) -> Scored:
        """Score a rollout, or wait for the function that began to."""
        if self._terms is None or rollout is None:
            return await self.scoring.score_async(samples, groups=[0] * len(samples))
        key = id(rollout)
        run = self._runs.get(key)
        if run is None or reader not in run.readers or not run.is_of(rollout) or run.was_cancelled:
            work = self.scoring.score_async(samples, groups=[0] * len(samples))
            run = _Run(asyncio.create_task(work), set(self._terms), self._refer(rollout))
            self._runs[key] = run
        run.readers.discard(reader)
        if not run.readers:
            del self._runs[key]
        return await run.wait()

    def _refer(self, rollout: Any) -> Any:
        """Return a reference that forgets the run of a rollout that is gone."""
        runs, key = self._runs, id(rollout)
        try:
            return weakref.ref(rollout, lambda _: runs.pop(key, None))
        except TypeError:  # a plain dictionary
            return rollout

    def read(self, reader: str, scored: Scored) -> list[float]:
        """Return the numbers that a function gives to verifiers, which takes no None."""
        found = scored.totals if self._terms is None else list_scores(scored, [reader])[reader]
        return [0.0 if each is None else each for each in found]


def _make_funcs(
    scoring: Scoring, terms: Collection[str] | None, names: Sequence[str]
) -> list["RubricFunc | GroupFunc"]:
    kind = RubricFunc if explain_company(scoring) is None else GroupFunc
    require_counters(scoring, "verifiers")
    rollouts = _Rollouts(scoring, terms)
    return [kind(rollouts, name) for name in names]


def _build_signature(scoring: Scoring) -> Signature:
    """Return a signature that asks for everything; a task that has no runtime leaves out a function that needs one."""
    parameters = [Parameter(name, Parameter.KEYWORD_ONLY, default=None) for name in ("state", "task", "trace")]
    if scoring.reads("runtime"):
        needed = any("runtime" in each.needs for each in scoring.features.ordered)
        default = Parameter.empty if needed else None
        parameters.append(Parameter("runtime", Parameter.KEYWORD_ONLY, default=default))
    return Signature([*parameters, Parameter("more", Parameter.VAR_KEYWORD)])


def _build_sample(scoring: Scoring, parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of a rollout; the state, which holds all others too, only where a feature reads it."""
    if parts.get("trace") is None:
        return {name: part for name, part in parts.items() if name != "state" or scoring.reads("state")}
    return {**_read_data(parts["task"]), "completion": _list_replies(parts["trace"]), **parts}


def _read_data(task: Any) -> dict[str, Any]:
    """Return the data of a task: fields that it was given, and those that verifiers itself does not have."""
    kinds = [kind for kind in type(task).__mro__ if kind.__module__.startswith("verifiers.")]
    known = getattr(kinds[0], "model_fields", {}) if kinds else {}
    names = [name for name in getattr(type(task), "model_fields", {}) if name not in known]
    return {name: to_plain(getattr(task, name)) for name in {**dict.fromkeys(names), **_given(task)}}


def _given(task: Any) -> dict[str, None]:
    return dict.fromkeys(sorted(getattr(task, "model_fields_set", ())))


def _list_replies(trace: Any) -> list[dict[str, Any]]:
    """Return what the model wrote in a trace, as messages like those of other trainers."""
    replies = [to_plain(message) for message in getattr(trace, "assistant_messages", ())]
    for reply in replies:
        if calls := reply.get("tool_calls"):
            reply["tool_calls"] = [build_call(call["name"], call["arguments"], call["id"]) for call in calls]
    return replies


def _read_columns(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of the data set, which a `Rubric` does not pass to functions of a group."""
    given = state.get("input")
    return dict(given) if isinstance(given, Mapping) else {}


def _mark(state: Any, error: Exception) -> None:
    """Say in a state that its rollout failed, unless it failed before."""
    if isinstance(state, MutableMapping) and state.get("error") is None:
        state["error"] = error
