"""The task of a driver in a convoy, shared by all versions of the reward."""

from collections.abc import Sequence
from typing import Any

from plaudit import Field, Task, prefer
from plaudit.systems.roadsense.fields import (
    ACTION,
    BRAKE,
    CLOSING_RATE,
    COLLISION,
    DECELERATION,
    DISTANCE,
    EGO_SPEED,
    FRESH_BRAKING,
    PEER_BRAKING,
    PEER_WARNED_EVER,
    WARNED_EVER,
    WARNED_FADING,
    WARNED_NOW,
    brakes,
    fresh_warning_is_full,
)

HORIZON = 1000
"""The most steps of an episode."""

_CLOSE = {"distance": 8.0, "closing_rate": 5.0, "ego_speed": 15.0, "collision": False}
_ROOM = {"distance": 30.0, "closing_rate": 5.0, "ego_speed": 15.0, "braking_received": 1, "peer_braking": True}
_PARKED = {"distance": 100.0, "closing_rate": 0.0, "ego_speed": 0.0, "collision": False}

CLOSING = prefer(
    {**_CLOSE, "deceleration": BRAKE[3], "action": 3},
    over={**_CLOSE, "deceleration": BRAKE[0], "action": 0},
    because="at 8 m, and closing, braking is better than doing nothing",
)
PARKED = prefer(
    {**_CLOSE, "distance": 30.0, "deceleration": BRAKE[2], "action": 2},
    over={**_PARKED, "deceleration": BRAKE[0], "action": 0},
    because="braking while there is room is better than standing parked far behind",
)
REACTION = prefer(
    {**_ROOM, "deceleration": 1.0},
    over={**_ROOM, "deceleration": -1.0},
    because="on a warning, braking is better than speeding up",
)
"""What a version is to prefer that hears warnings."""

task = Task(
    "roadsense",
    prefer=[CLOSING, PARKED],
    ends={"collision": "bad"},
    horizon=HORIZON,
    fields=[
        *(DISTANCE, DECELERATION, ACTION, CLOSING_RATE, EGO_SPEED),
        *(PEER_BRAKING, FRESH_BRAKING, COLLISION, WARNED_NOW),
    ],
    states=["distance", "closing_rate", "ego_speed"],
    events=["peer_braking", "fresh_braking", "collision"],
    facts=[brakes, fresh_warning_is_full],
    doc="Follow the convoy: keep a safe gap, brake for warnings, and do not fall behind.",
)
"""What holds of every version."""

# How an environment remembers a warning is part of what can happen.
_HAPPENS: dict[str, Any] = {"events": [*task.events, "braking_received"]}
_STAYS: dict[str, Any] = {"states": [*task.states, "braking_received"]}
_LATCHES: dict[str, Any] = {**_STAYS, "monotone": {"braking_received": "up"}}
_WARNINGS: dict[Field, dict[str, Any]] = {
    PEER_BRAKING: {},
    WARNED_NOW: _HAPPENS,
    WARNED_EVER: _LATCHES,
    PEER_WARNED_EVER: _LATCHES,
    WARNED_FADING: _STAYS,
}


def find_task(fields: Sequence[Field]) -> Task:
    """Return the task of a version that reads these fields: with what a warning is, where it hears one."""
    warnings = [_WARNINGS[each] for each in fields if each in _WARNINGS]
    changes = {part: value for each in warnings for part, value in each.items()}
    return task.evolve(prefer=[*task.prefer, REACTION], **changes) if warnings else task
