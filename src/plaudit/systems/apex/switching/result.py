"""What became of a request to switch the topology: one type from the engine to the log."""

from collections.abc import Mapping
from dataclasses import dataclass, field

REFUSALS = ("unknown_topology", "in_flight", "cooldown", "dwell")
"""Why a switch does not begin; any other reason stands for one that was called off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchResult:
    """What became of a request to switch: committed, called off, or refused before it began.

    >>> result = SwitchResult(requested="flat", previous="star", topology="star", epoch=0, reason="dwell")
    >>> result.accepted, result.committed
    (False, False)
    """

    requested: str
    """The topology that was asked for."""
    previous: str
    """The topology before."""
    topology: str
    """The topology afterwards."""
    epoch: int
    """The epoch afterwards."""
    accepted: bool = False
    """Whether the engine took it up."""
    committed: bool = False
    """Whether the topology asked for is now active."""
    reason: str | None = None
    """Why it is not; None where it is.

    Refused: one of `REFUSALS`. Called off: "quiesce_timeout", "cancelled", "error".
    """
    elapsed_ms: float = 0.0
    phase_ms: Mapping[str, float] = field(default_factory=dict, hash=False)
    """How long each phase took that it went through: "prepare", "quiesce", then "commit" or "abort"."""
    migrated: int = 0
    """How many messages were moved back from the next epoch into the active one, when it was called off."""
    dropped_by_reason: Mapping[str, int] = field(default_factory=dict, hash=False)
    """How many messages were given up meanwhile; only age does that ("expired", "max_attempts"), never the switch."""
    switch_count: int = 0
    """How many switches the engine has committed by now."""
    abort_count: int = 0
    """How many it has called off by now."""
