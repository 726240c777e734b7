"""What a picture shows of one step."""

from collections.abc import Mapping
from typing import NamedTuple

from plaudit.systems.roadsense.measured import Measured
from plaudit.systems.roadsense.world import CarState


class Frame(NamedTuple):
    """One step of a drive: where the cars truly are, what was measured, and what it earned."""

    step: int
    cars: Mapping[str, CarState]
    measured: Measured
    terms: Mapping[str, float]
    """What each term of the reward paid in this step."""
    total: float
    hazard: str | None = None
    """The car that was told to brake, from that step on."""
    heard: frozenset[str] = frozenset()
    """Whose messages the ego heard in this step."""
