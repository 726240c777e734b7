"""How raw measurements become penalties: the scales they are put on and the caps they stop at."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal, Self

from plaudit.errors import (
    DefinitionError,
    MissingField,
    UnknownInput,
    UnknownParameter,
    WrongType,
    did_you_mean,
    shorten,
)
from plaudit.language.field import to_float
from plaudit.reward.variants import load_overrides


@dataclass(frozen=True)
class SettingsBase:
    """Settings that are written to plain data and read back exactly."""

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain data for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the settings that `to_dict` gave.

        Raises:
            InputError: A key is missing or unknown.
            DefinitionError: A value cannot be used.
        """
        return cls(**match_keys(data, [each.name for each in fields(cls)], f"a {cls.__name__}"))


@dataclass(frozen=True, kw_only=True)
class RewardConfig(SettingsBase):
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
        parse_settings(self, "max_tokens", "max_latency_ms", low=1)
        parse_settings(self, "latency_share", high=1)
        parse_settings(self, "per_event", "MAX_COST_PENALTY", "MAX_ALIGNMENT_PENALTY", "MAX_TIME_PENALTY")
        if self.time_mode not in ("usage", "overrun"):
            raise DefinitionError(f"time_mode = {self.time_mode!r} must be 'usage' or 'overrun'.")

    @classmethod
    def from_toml(cls, path: str | Path) -> Self:
        """Load settings from a TOML file; those it omits keep their defaults.

        Args:
            path: The file.

        Returns:
            The settings.

        Raises:
            UnknownParameter: The file has an unknown setting.
        """
        settings = load_overrides(path)
        known = [field.name for field in fields(cls)]
        for name in settings:
            if name not in known:
                raise UnknownParameter(
                    f"{path} sets {name!r}, which is not one of {', '.join(known)}.{did_you_mean(name, known)}"
                )
        return cls(**settings)


def parse_settings(settings: Any, *names: str, low: float = 0.0, high: float = math.inf) -> None:
    """Make each of these settings a plain number; raise DefinitionError unless it is finite, from `low` to `high`."""
    for name in names:
        value = getattr(settings, name)
        number = to_float(value)
        if number is None or not math.isfinite(number) or not low <= number <= high:
            span = f"of {low:g} or more" if math.isinf(high) else f"from {low:g} to {high:g}"
            raise DefinitionError(f"{name} = {shorten(value)} must be a finite number {span}.")
        if type(value) not in (int, float):
            object.__setattr__(settings, name, number)


def match_keys(data: Any, names: Iterable[str], what: str) -> dict[str, Any]:
    """Return `data` as a dict; raise InputError unless it is a mapping with exactly these keys."""
    if not isinstance(data, Mapping):
        raise WrongType(f"{what} must come from a mapping, not from {data!r:.60}.")
    wanted = list(names)
    for name in data:
        if name not in wanted:
            near = did_you_mean(str(name), wanted)
            raise UnknownInput(f"{what} has no {name!r:.60}; its keys are {', '.join(wanted)}.{near}")
    missing = [name for name in wanted if name not in data]
    if missing:
        raise MissingField(f"{what} also needs {', '.join(map(repr, missing))}: every key is required.")
    return dict(data)
