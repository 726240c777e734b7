"""What a picture shows: one step of a drive, and the distances at which the reward changes its mind."""

from collections.abc import Mapping
from typing import NamedTuple

from plaudit import Reward
from plaudit.systems.roadsense.measurement import Measurement
from plaudit.systems.roadsense.world import CarState


class Frame(NamedTuple):
    """One step of a drive: where the cars truly are, what was measured, and what it earned."""

    step: int
    cars: Mapping[str, CarState]
    measured: Measurement
    terms: Mapping[str, float]
    """What each term of the reward paid in this step."""
    total: float
    hazard: str | None = None
    """The car that the hazard befell, from that step on."""
    heard: frozenset[str] = frozenset()
    """Whose messages the ego heard in this step."""


class Zones(NamedTuple):
    """Where the zones of a reward begin and end, in meters to the car ahead."""

    collision: float = 5.0
    """Nearer than this is a collision."""
    unsafe: float = 15.0
    """Nearer than this is unsafe."""
    safe_from: float = 20.0
    safe_to: float = 40.0
    """Beyond this is far."""


ZONES = Zones()
"""Those of R0."""

_KNOBS = ("collision_dist", "unsafe_dist", "safe_dist_min", "safe_dist_max")


def find_zones(reward: Reward) -> Zones | None:
    """Return the zones of a version of the convoy reward, or None for a reward without them.

    >>> from plaudit.systems.roadsense.versions import version
    >>> find_zones(version("R8"))
    Zones(collision=5.0, unsafe=10.0, safe_from=20.0, safe_to=35.0)
    """
    params = reward.params
    names = [f"safety.{knob}" if f"safety.{knob}" in params else knob for knob in _KNOBS]
    if not all(name in params for name in names):
        return None
    return Zones(*(float(params[name]) for name in names))
