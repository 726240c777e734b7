"""The reward of a phase by version: as specified, and repaired."""

from plaudit import Field, Reward, term
from plaudit.systems.deepthinker.config import RewardConfig
from plaudit.systems.deepthinker.reward_signal import consistency, grounding, reward, score
from plaudit.systems.deepthinker.reward_weights import RewardWeights
from plaudit.systems.versions import checked_label


@term(weight=-RewardWeights.cost_weight, high=1.0, kind="penalty", name="cost")
def cost_of_budget(
    cost_tokens: float,
    cost_latency_ms: float,
    *,
    max_tokens: float = RewardConfig.max_tokens,
    latency_share: float = 0.2,
    max_latency_ms: float = RewardConfig.max_latency_ms,
) -> float:
    """Spend tokens and the time the models take, in proportion: 1 is the whole budget."""
    return (1 - latency_share) * (cost_tokens / max_tokens) + latency_share * (cost_latency_ms / max_latency_ms)


@term(weight=-RewardWeights.alignment_weight, high=1.0, kind="penalty", name="alignment")
def alignment_of_events(alignment_events: float, *, per_event: float = RewardConfig.per_event) -> float:
    """Drift from what was asked: 1 is ten events."""
    return per_event * alignment_events


@term(weight=-RewardWeights.time_weight, high=1.0, kind="penalty", name="time")
def time_of_budget(time_budget_used_pct: float) -> float:
    """Use the time budget: 1 is all of it."""
    return time_budget_used_pct


def _measured(name: str, high: float) -> Field:
    """Return a measurement with the range that is meant; more counts as `high`, where its term has reached 1 anyway."""
    seed = reward.fields[name]
    return Field(name, low=0, high=high, outside="clip", unit=seed.unit, doc=seed.doc)


rescaled = Reward(
    reward.name,
    version="rescaled",
    terms=[score, consistency, grounding, cost_of_budget, alignment_of_events, time_of_budget],
    fields=[
        *(reward.fields[name] for name in ("score_delta", "consistency_delta", "grounding_delta")),
        _measured("cost_tokens", 1.5 * RewardConfig.max_tokens),
        _measured("cost_latency_ms", 1.5 * RewardConfig.max_latency_ms),
        _measured("alignment_events", 15),
        _measured("time_budget_used_pct", 1.5),
    ],
    doc="1.0.0 repaired: costs grow in proportion up to the whole budget, and no clamp stands out of reach.",
)

_REWARDS = {each.version: each for each in (reward, rescaled)}

VERSIONS = tuple(_REWARDS)
"""The versions of the formula, the default first."""


def version(label: str) -> Reward:
    """Return the reward of the version `label`.

    >>> version("1.0.0").name
    'deepthinker'
    """
    return _REWARDS[checked_label("deepthinker", label, VERSIONS)]
