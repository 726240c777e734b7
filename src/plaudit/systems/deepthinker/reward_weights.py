"""How much each component counts."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from plaudit.systems.deepthinker.config import match_keys, parse_settings


@dataclass(frozen=True)
class RewardWeights:
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

    def to_dict(self) -> dict[str, float]:
        """Return the weights as plain data for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the weights that `to_dict` gave.

        Raises:
            InputError: A key is missing or unknown.
            DefinitionError: A weight is negative or not a number.
        """
        return cls(**match_keys(data, [each.name for each in fields(cls)], "a RewardWeights"))
