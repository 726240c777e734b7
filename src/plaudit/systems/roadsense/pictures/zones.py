"""The distances at which the reward changes its mind."""

from typing import NamedTuple

from plaudit import Reward


class Zones(NamedTuple):
    """Where the zones of a reward begin and end, in metres to the car ahead."""

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


def zones_of(reward: Reward) -> Zones | None:
    """Return the zones of a version of the convoy reward, or None for a reward without them.

    >>> from plaudit.systems.roadsense.versions import version
    >>> zones_of(version("R8"))
    Zones(collision=5.0, unsafe=10.0, safe_from=20.0, safe_to=35.0)
    """
    params = reward.params
    names = [f"safety.{knob}" if f"safety.{knob}" in params else knob for knob in _KNOBS]
    if not all(name in params for name in names):
        return None
    return Zones(*(float(params[name]) for name in names))
