"""What every version of the convoy reward is to prefer, said once and stated of each by the fields that it reads."""

from collections.abc import Collection, Iterator, Mapping

from plaudit import Preference, prefer
from plaudit.systems.roadsense.fields import BRAKE

Step = Mapping[str, float | bool]

_CLOSE = {"distance": 8.0, "closing_rate": 5.0, "ego_speed": 15.0, "collision": False}
_ROOM = {"distance": 30.0, "closing_rate": 5.0, "ego_speed": 15.0, "braking_received": 1, "peer_braking": True}
_PARKED = {"distance": 100.0, "closing_rate": 0.0, "ego_speed": 0.0, "collision": False}

PREFERENCES: tuple[tuple[Step, Step, str], ...] = (
    (
        {**_CLOSE, "deceleration": BRAKE[3], "action": 3},
        {**_CLOSE, "deceleration": BRAKE[0], "action": 0},
        "at 8 m, and closing, braking is better than doing nothing",
    ),
    (
        {**_CLOSE, "distance": 30.0, "deceleration": BRAKE[2], "action": 2},
        {**_PARKED, "deceleration": BRAKE[0], "action": 0},
        "who brakes while there is room is better off than who stands parked far behind",
    ),
)
"""What is better, what is worse, and why; of each side a version reads a part."""

REACTION = (
    {**_ROOM, "deceleration": 1.0},
    {**_ROOM, "deceleration": -1.0},
    "on a warning, braking is better than speeding up",
)
"""What versions are to prefer that pay for the reaction to a warning."""


def list_preferences(fields: Collection[str]) -> Iterator[Preference]:
    """Yield what a version with these fields is to prefer."""
    warned = "braking_received" in fields or "peer_braking" in fields
    for better, worse, because in (*PREFERENCES, *((REACTION,) if warned else ())):
        yield prefer(_keep(better, fields), over=_keep(worse, fields), because=because)


def _keep(step: Step, fields: Collection[str]) -> Step:
    return {name: value for name, value in step.items() if name in fields}
