"""Fixed policies, some sensible, some not, to test which of them a reward pays best."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from plaudit.systems.roadsense.action_applicator import HARDEST
from plaudit.systems.roadsense.fields import BRAKE
from plaudit.systems.roadsense.measurement import Measurement

MAINTAIN, CAUTION, BRAKES, EMERGENCY = range(len(BRAKE))
"""The four actions."""
TOO_CLOSE, CLOSE = 15.0, 20.0
"""Below the first R0 calls a distance unsafe, from the second on safe, in meters."""
RELEASED = 0.0
"""The continuous action at which the car follows on its own."""
PARKING = 0.8
"""How hard a car brakes to come to a stand unnoticed, in m/s²; at 0.5, the threshold of later versions, it is free."""
FIRM = 4.0
"""How hard a car brakes that was warned, in m/s²."""


class PolicyInput(NamedTuple):
    """What a policy decides by: the step before as it was measured, how many steps were made, and chance."""

    measured: Measurement
    step: int
    rng: np.random.Generator
    observation: Any = None
    """What a trained network sees; None where fixed policies drive."""


Policy = Callable[[PolicyInput], Any]
"""From what is seen to one of the four actions, or to a continuous one from 0 to 1."""


def do_always(action: float) -> Policy:
    """Return the policy that looks at nothing and always does the same.

    >>> do_always(1)(None)
    1
    """
    return lambda seen: action


def brake_by_distance(too_close: float, close: float, otherwise: float) -> Policy:
    """Return the policy that brakes by how near the next car is: the closer, the harder."""

    def policy(seen: PolicyInput) -> float:
        distance = seen.measured.distance
        if distance < TOO_CLOSE:
            return too_close
        return close if distance < CLOSE else otherwise

    return policy


def brake_when_warned(braking: float, otherwise: float) -> Policy:
    """Return the policy that brakes while a peer ahead warns and, once warned, whenever the gap closes."""

    def policy(seen: PolicyInput) -> float:
        measured = seen.measured
        closes = measured.peer_warned_ever > 0 and measured.closing_rate > 0
        return braking if measured.fresh_braking or closes else otherwise

    return policy


def brake_when_late(braking: float, otherwise: float) -> Policy:
    """Return the policy that brakes when the next car is too close already and comes closer."""

    def policy(seen: PolicyInput) -> float:
        measured = seen.measured
        return braking if measured.distance < TOO_CLOSE and measured.closing_rate > 0 else otherwise

    return policy


def _draw_action(seen: PolicyInput) -> float:
    return int(seen.rng.integers(len(BRAKE)))


def _draw_level(seen: PolicyInput) -> float:
    return float(seen.rng.random())


def to_level(deceleration: float) -> float:
    """Return the continuous action that brakes at a deceleration in m/s².

    >>> to_level(4.0)
    0.5
    """
    return deceleration / HARDEST


DISCRETE: Mapping[str, Policy] = MappingProxyType(
    {
        "maintain": do_always(MAINTAIN),
        "caution": do_always(CAUTION),
        "brake": do_always(BRAKES),
        "emergency": do_always(EMERGENCY),
        "random": _draw_action,
        "sensible": brake_by_distance(EMERGENCY, BRAKES, MAINTAIN),
        "warned": brake_when_warned(BRAKES, MAINTAIN),
        "late": brake_when_late(EMERGENCY, MAINTAIN),
    }
)
"""Policies of the four actions. The first four look at nothing."""

CONTINUOUS: Mapping[str, Policy] = MappingProxyType(
    {
        "nothing": do_always(RELEASED),
        "park": do_always(to_level(PARKING)),
        "full": do_always(1.0),
        "random": _draw_level,
        "sensible": brake_by_distance(to_level(BRAKE[EMERGENCY]), to_level(BRAKE[BRAKES]), RELEASED),
        "warned": brake_when_warned(to_level(FIRM), RELEASED),
        "late": brake_when_late(1.0, RELEASED),
    }
)
"""Policies of the continuous action. The first three look at nothing."""

PARKING_POLICIES = frozenset({"caution", "brake", "emergency", "park", "full", "random"})
"""Policies that look at nothing and brake until the car stands still."""
IDLE_POLICIES = frozenset({"maintain", "nothing"})
"""Policies that look at nothing and never brake."""
