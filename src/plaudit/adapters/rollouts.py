"""What the adapters of trainers of language models share."""

from plaudit.adapters.components import CLAMP, list_components
from plaudit.errors import DefinitionError
from plaudit.llm.scored import Scored
from plaudit.llm.scoring import Scoring


def require_scoring(scoring: Scoring) -> None:
    """Refuse what is not a Scoring."""
    if not isinstance(scoring, Scoring):
        raise DefinitionError(f"{scoring!r:.60} is not a Scoring: write Scoring(reward, features).")


def require_single(scoring: Scoring, framework: str) -> None:
    """Refuse features of many samples where a framework hands over one at a time."""
    require_scoring(scoring)
    for each in scoring.features.ordered:
        if each.scope != "sample":
            raise DefinitionError(
                f"feature {each.name!r} needs a {each.scope}, but {framework} scores one sample at a time. Score the "
                f"{each.scope} yourself with Scoring.score, or use TRL."
            )


def list_parts(scored: Scored) -> dict[str, list[float | None]]:
    """Return the value of each term by sample; if the total has a clamp, its effect comes last: they add up."""
    parts = dict(scored.values)
    if scored.rewards and CLAMP in list_components(scored.rewards[0]):
        rows = zip(scored.totals, *scored.values.values(), strict=True)
        parts[CLAMP] = [None if row[0] is None else row[0] - sum(filter(None, row[1:])) for row in rows]
    return parts
