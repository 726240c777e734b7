"""What the adapters of trainers of language models share."""

from collections.abc import Collection
from typing import Any, NoReturn

from plaudit.adapters.components import CLAMP, list_components
from plaudit.errors import DefinitionError
from plaudit.llm.scored import Scored
from plaudit.llm.scoring import Scoring


def require_scoring(scoring: Scoring) -> None:
    """Refuse what is not a Scoring."""
    if not isinstance(scoring, Scoring):
        raise DefinitionError(f"{scoring!r:.60} is not a Scoring: write Scoring(reward, features).")


def require_single(scoring: Scoring, framework: str) -> None:
    """Refuse a scoring of many samples where a framework hands over one at a time."""
    if (reason := explain_company(scoring)) is not None:
        raise DefinitionError(
            f"{reason}, but {framework} scores one sample at a time. Score several yourself with Scoring.score, or use "
            "TRL or a verifiers Rubric."
        )


def require_counters(scoring: Scoring, framework: str) -> None:
    """Refuse a schedule whose step no feature returns, where a framework does not hand over that of the trainer."""
    for name, schedule in scoring.reward._schedules.items():
        if schedule.counter in scoring.open_counters:
            raise DefinitionError(
                f"reward {scoring.reward.name!r}: {name} follows {schedule.counter!r}, and {framework} does not say at "
                f"which step the trainer is. Add a feature called {schedule.counter!r} that reads it from where your "
                "trainer has it, such as a file that it writes; or fix the number for each phase of the training, "
                f"reward.with_params({{{name!r}: 0.5}}), under a version of its own."
            )


def explain_company(scoring: Scoring) -> str | None:
    """Return why samples have to be scored together; None if each can be scored on its own."""
    require_scoring(scoring)
    for each in scoring.features.ordered:
        if each.scope != "sample":
            return f"feature {each.name!r} needs a {each.scope}"
    return "on_lost_term='group' needs a group" if scoring.needs_groups else None


def raise_unscored(scored: Scored, at: int = 0) -> NoReturn:
    """Raise why a sample has no reward."""
    raise scored.errors[at]


def list_parts(scored: Scored) -> dict[str, list[float | None]]:
    """Return the value of each term by sample; if the total has a clamp, its effect comes last: they add up."""
    parts = dict(scored.values)
    if scored.rewards and CLAMP in list_components(scored.rewards[0]):
        rows = zip(scored.totals, *scored.values.values(), strict=True)
        parts[CLAMP] = [None if row[0] is None else row[0] - sum(filter(None, row[1:])) for row in rows]
    return parts


def list_scores(scored: Scored, names: Collection[str]) -> dict[str, list[float | None]]:
    """Return the clamped score of each term by sample, None where it has none, and what the clamp of the total adds."""
    signals = [scored.build_signal(at) for at in range(len(scored.samples))]
    found = {
        name: [signal[name].clamped if signal is not None and name in signal.values else None for signal in signals]
        for name in names
        if name != CLAMP
    }
    return found | ({CLAMP: list_parts(scored).get(CLAMP, [])} if CLAMP in names else {})


def to_plain(value: Any) -> Any:
    """Return a model of pydantic as a dictionary without what is None, also in a list; anything else as it is."""
    if isinstance(value, list):
        return [to_plain(each) for each in value]
    return value.model_dump(exclude_none=True) if hasattr(value, "model_dump") else value


def build_call(name: str, arguments: Any, call_id: str | None = None) -> dict[str, Any]:
    """Return a tool call as chat templates have it."""
    call = {"type": "function", "function": {"name": name, "arguments": arguments}}
    return call if call_id is None else {"id": call_id, **call}
