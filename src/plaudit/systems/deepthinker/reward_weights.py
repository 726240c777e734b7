"""How much each component counts."""

from dataclasses import dataclass, fields

from plaudit.systems.deepthinker.config import SettingsBase, parse_settings


@dataclass(frozen=True)
class RewardWeights(SettingsBase):
    """Six weights, none negative: a penalty is subtracted by the formula, so its weight is positive too.

    >>> RewardWeights(cost_weight=0.2).score_weight
    0.3
    """

    score_weight: float = 0.3
    consistency_weight: float = 0.2
    grounding_weight: float = 0.2
    cost_weight: float = 0.1
    alignment_weight: float = 0.1
    time_weight: float = 0.1

    def __post_init__(self) -> None:
        """Refuse a weight that is negative or not a number."""
        parse_settings(self, *(each.name for each in fields(self)))
