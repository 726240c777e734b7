"""Inspect: a reward as a scorer, so that an evaluation and a training judge a sample alike."""

import importlib
from collections.abc import Sequence
from typing import Any

from plaudit.adapters.rollouts import build_call, list_parts, require_counters, require_single
from plaudit.errors import Abstained, MissingExtra
from plaudit.llm.sample import Sample
from plaudit.llm.scoring import Scoring, describe_error

__all__ = ["scorer"]

TOTAL = "total"
"""The key of the total; no term can have this name."""


def scorer(scoring: Scoring, *, name: str | None = None) -> Any:
    """Return a reward as a scorer of Inspect.

    A score has the total under `total` and the value of each term under its name; Inspect reports mean and standard
    error of each. Its metadata has the inputs of the reward, what judges said, and the fingerprints of the reward and
    its features. With `on_bad="mask"`, a sample that cannot be scored is unscored, as is one to which a feature gives
    no reward: metrics leave it out.

    Args:
        scoring: The reward and its features; parts of a sample are `prompt`, `completion`, `answer`, which is the
            target, the metadata of the sample, and Inspect's `state`.
        name: Name of the scorer; the reward's own name if omitted.

    Returns:
        A scorer for `Task(scorer=...)`.

    Raises:
        MissingExtra: inspect-ai is not installed.
        DefinitionError: A feature needs a group or a batch, a schedule a step that no feature returns, or a term is
            called `total`.

    Example:
        ```python
        task = Task(dataset=samples, solver=generate(), scorer=scorer(Scoring(sums, [right])))
        ```
    """
    require_single(scoring, "Inspect")
    require_counters(scoring, "Inspect")
    library = _import_scorer()
    identity = {
        "reward": f"{scoring.reward.name}@{scoring.reward.version}",
        "reward_fingerprint": scoring.reward.fingerprint,
        "features": scoring.fingerprints,
    }

    async def score(state: Any, target: Any) -> Any:
        sample = _build_sample(scoring, state, target)
        scored = await scoring.score_async([sample])
        about = {**identity, "answers": scored.answers.get(0, {})}
        if scored.totals[0] is None:
            error = scored.errors[0]
            reason = "abstained" if isinstance(error, Abstained) else "scoring_failed"
            return library.Score.unscored(reason=reason, explanation=describe_error(error), metadata=about)
        value = {TOTAL: scored.totals[0], **{term: values[0] for term, values in list_parts(scored).items()}}
        return library.Score(value=value, answer=sample.text, metadata={**about, "inputs": scored.inputs[0]})

    register = library.scorer(metrics={"*": [library.mean(), library.stderr()]}, name=name or scoring.reward.name)
    return register(lambda: score)()


def _build_sample(scoring: Scoring, state: Any, target: Any) -> Sample:
    given = state.input if isinstance(state.input, str) else [_read_message(each) for each in state.input]
    parts = {"answer": target.text, **(state.metadata or {}), "prompt": given, "completion": _list_replies(state)}
    return Sample({**parts, "target": target.text, **({"state": state} if scoring.reads("state") else {})})


def _list_replies(state: Any) -> list[dict[str, Any]]:
    """Return what the model wrote, and what tools answered; messages of the input, such as examples, are left out."""
    written = [each.source == "generate" for each in state.messages]
    if any(written):
        return [_read_message(each) for each in state.messages[written.index(True) :]]
    return [_read_message(each.message) for each in state.output.choices]


def _read_message(message: Any) -> dict[str, Any]:
    """Return a message as trainers have it: reasoning apart, and tool calls as chat templates have them."""
    found: dict[str, Any] = {"role": message.role}
    parts: Sequence[Any] = [] if isinstance(message.content, str) else message.content
    thoughts = [part.reasoning for part in parts if part.type == "reasoning"]
    rest = [part.model_dump(exclude_none=True) for part in parts if part.type != "reasoning"]
    found["content"] = rest if parts else message.content
    if thoughts:
        found["reasoning_content"] = "\n".join(thoughts)
    if calls := getattr(message, "tool_calls", None):
        found["tool_calls"] = [build_call(call.function, call.arguments, call.id) for call in calls]
    return found


def _import_scorer() -> Any:
    try:
        return importlib.import_module("inspect_ai.scorer")
    except ModuleNotFoundError as error:
        raise MissingExtra(f"an Inspect scorer needs {error.name}. Install it: pip install inspect-ai") from None
