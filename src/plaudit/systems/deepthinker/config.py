"""How raw measurements become penalties: the scales they are put on and the caps they stop at."""

import math
from dataclasses import dataclass, fields
from numbers import Real
from pathlib import Path
from typing import Any, Literal, Self

from plaudit.errors import DefinitionError, UnknownParameter, did_you_mean
from plaudit.reward import overrides


@dataclass(frozen=True, kw_only=True)
class RewardConfig:
    """The settings of the penalties, given in code or by a TOML file and nowhere else.

    >>> RewardConfig(max_tokens=50_000).MAX_COST_PENALTY
    0.3
    """

    max_tokens: float = 100_000
    """Tokens at which the cost is 1, on a logarithmic scale."""
    per_event: float = 0.1
    """What one alignment event adds to the alignment penalty."""
    latency_share: float = 0.0
    """How much of the cost is latency rather than tokens, from 0 to 1."""
    max_latency_ms: float = 60_000
    """Milliseconds at which the latency is 1, on a logarithmic scale."""
    time_mode: Literal["usage", "overrun"] = "usage"
    """Whether the time penalty is the share of the budget used, or only what goes beyond the budget."""
    MAX_COST_PENALTY: float = 0.3
    MAX_ALIGNMENT_PENALTY: float = 0.4
    MAX_TIME_PENALTY: float = 0.3

    def __post_init__(self) -> None:
        """Refuse settings that no penalty can be computed with."""
        validate_number("max_tokens", self.max_tokens, low=1)
        validate_number("per_event", self.per_event)
        validate_number("latency_share", self.latency_share, high=1)
        validate_number("max_latency_ms", self.max_latency_ms, low=1)
        for name in ("MAX_COST_PENALTY", "MAX_ALIGNMENT_PENALTY", "MAX_TIME_PENALTY"):
            validate_number(name, getattr(self, name))
        if self.time_mode not in ("usage", "overrun"):
            raise DefinitionError(f"time_mode = {self.time_mode!r} must be 'usage' or 'overrun'.")

    @classmethod
    def from_toml(cls, path: str | Path) -> Self:
        """Return the settings in the TOML file at `path`; those it leaves out keep their defaults."""
        settings = overrides.load_overrides(path)
        known = [field.name for field in fields(cls)]
        for name in settings:
            if name not in known:
                raise UnknownParameter(
                    f"{path} sets {name!r}, which is none of {', '.join(known)}.{did_you_mean(name, known)}"
                )
        return cls(**settings)


def validate_number(name: str, value: Any, *, low: float = 0.0, high: float = math.inf) -> None:
    """Raise DefinitionError unless the setting `name` is a finite number from `low` to `high`."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or not low <= value <= high:
        span = f"{low:g} up" if math.isinf(high) else f"{low:g} to {high:g}"
        raise DefinitionError(f"{name} = {value!r} must be a finite number from {span}.")
