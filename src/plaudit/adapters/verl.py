"""verl: a reward as the function of `reward.custom_reward_function`.

verl asks for one sample at a time, by a function that is awaited if it is async and else runs in a thread. It has no
samples without a reward: what a function returns trains the policy. verl itself is not imported.
"""

from collections.abc import Callable, Mapping
from typing import Any

from plaudit.adapters.components import list_components
from plaudit.adapters.rollouts import list_parts, raise_unscored, require_single
from plaudit.errors import DefinitionError
from plaudit.llm.scored import Scored
from plaudit.llm.scoring import Scoring

__all__ = ["compute_score"]

_TAKEN = ("score", "reward")
"""Names under which verl keeps the total itself."""
_STEP = "max_global_steps"
"""Under which name `extra_info` has the trainer's step at which the policy was last updated that wrote a sample."""


def compute_score(scoring: Scoring) -> Callable[..., Any]:
    """Return a reward as a function for verl.

    It returns `score`, the total, and the value of each term by name, which verl keeps as `reward_extra_info`: it
    reports them in validation, writes them with the rollouts, and takes them as `algorithm.gdpo_reward_keys`.

    verl cannot leave out a sample, so an error, and a feature that raises `Abstained`, end the training; only
    `reward_manager.name=rate_limited` goes on, with a reward of 0. To pay for failures as you choose, catch them in the
    feature and return an input that says so.

    Schedules follow the step of the policy, `max_global_steps`, which verl's agent loop adds to `extra_info`.

    Args:
        scoring: The reward and its features; parts of a sample are `completion`, `answer`, which is verl's
            `ground_truth`, `data_source`, and all in `extra_info`.

    Returns:
        A function of (data_source, solution_str, ground_truth, extra_info, **more); async if features wait for
        something, or samples are recorded.

    Raises:
        DefinitionError: It may leave samples without a reward (`on_bad="mask"` or `applies=`), a feature needs a group
            or a batch, or a term has a name that verl uses.

    >>> from plaudit import Field, Reward, term
    >>> from plaudit.llm import Scoring, feature
    >>> @feature
    ... def right(text, answer):
    ...     return text == answer
    >>> @term(weight=2.0)
    ... def correct(right):
    ...     return 1 if right else 0
    >>> sums = Reward("sums", version="1", terms=[correct], fields=[Field("right", flag=True)])
    >>> score = compute_score(Scoring(sums, [right]))
    >>> score(data_source="sums", solution_str="4", ground_truth="4")
    {'score': 2.0, 'correct': 2.0}
    """
    require_single(scoring, "verl")
    if scoring.masks or scoring.applies_to_some:
        given = "on_bad='mask'" if scoring.masks else "applies="
        raise DefinitionError(
            f"{given} leaves samples without a reward, and verl has none: it would train on a number. Choose "
            "on_bad='raise', and catch what may fail in the feature: return an input that says so, and a term that "
            "reads it."
        )
    for name in _TAKEN:
        if name in list_components(scoring.reward):
            raise DefinitionError(f"verl keeps the total as {name!r}: give the term {name!r} another name.")

    def score(
        data_source: Any, solution_str: str, ground_truth: Any, extra_info: Mapping[str, Any] | None = None, **more: Any
    ) -> dict[str, float | None]:
        sample = _build_sample(data_source, solution_str, ground_truth, extra_info, more)
        return _read(scoring.score([sample], step=_find_step(extra_info)))

    async def score_async(
        data_source: Any, solution_str: str, ground_truth: Any, extra_info: Mapping[str, Any] | None = None, **more: Any
    ) -> dict[str, float | None]:
        sample = _build_sample(data_source, solution_str, ground_truth, extra_info, more)
        return _read(await scoring.score_async([sample], step=_find_step(extra_info)))

    return score_async if scoring.needs_loop else score


def _build_sample(
    data_source: Any, solution: str, truth: Any, extra: Mapping[str, Any] | None, more: Mapping[str, Any]
) -> dict[str, Any]:
    named = {"completion": solution, "ground_truth": truth, "data_source": data_source}
    return {"answer": truth, **more, **(extra or {}), **named}


def _find_step(extra: Mapping[str, Any] | None) -> int | None:
    step = (extra or {}).get(_STEP)
    return step if type(step) is int else None  # of an engine that was never updated, None


def _read(scored: Scored) -> dict[str, float | None]:
    if scored.totals[0] is None:
        raise_unscored(scored)
    return {"score": scored.totals[0], **{name: values[0] for name, values in list_parts(scored).items()}}
