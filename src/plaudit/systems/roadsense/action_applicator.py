"""What an action does to the car: the speed it commands, and the deceleration that came of it."""

import math
from typing import Any, Literal, Protocol, get_args

from plaudit.errors import DefinitionError, NotFinite, OutOfRange, WrongType
from plaudit.systems.roadsense.fields import BRAKE
from plaudit.systems.roadsense.world import STEP

Actions = Literal["discrete", "continuous"]
Scale = Literal["real", "per_step"]
Charge = Literal["achieved", "requested"]

HARDEST = 8.0
"""How hard the continuous action 1 brakes, in m/s²."""
RELEASE = 0.02
"""A continuous action up to this lets the car follow on its own."""
DIGITS = 9
"""Differences of speeds carry rounding errors; beyond these decimals 4.5 m/s² would be harsh in one step of two."""
RELEASED = -1.0
"""The commanded speed that commands nothing."""


class Vehicle(Protocol):
    """A car that can be driven for one step."""

    @property
    def speed(self) -> float:
        """How fast it goes, in m/s."""

    def drive(self, speed: float) -> float:
        """Command a speed for one step, or nothing if it is negative, and return the speed after the step."""


class ActionApplicator:
    """Applies actions to a car and returns its actual deceleration in m/s².

    The actions Maintain, Caution, Brake and Emergency command 0, 0.5, 2.0 and 4.5 m/s². A continuous action, from 0 to
    1, commands up to 8 m/s²; near 0 the car follows on its own.

    `scale="per_step"` takes the four numbers as the speed to lose in a step of 0.1 s, ten times as much, which the car
    cannot do: all three brake alike. `charge="requested"` returns the requested value instead of the actual one, in the
    unit it was commanded in: with `scale="per_step"` that is a speed in m/s, not a deceleration.

    Example:
        braking = ActionApplicator(vehicle)
        deceleration = braking.apply(2)
    """

    def __init__(
        self, vehicle: Vehicle, *, actions: Actions = "discrete", scale: Scale = "real", charge: Charge = "achieved"
    ) -> None:
        for name, given, known in (("actions", actions, Actions), ("scale", scale, Scale), ("charge", charge, Charge)):
            if given not in get_args(known):
                raise DefinitionError(f"{name}={given!r} must be {' or '.join(map(repr, get_args(known)))}.")
        if actions == "continuous" and scale == "per_step":
            raise DefinitionError("scale='per_step' is for the four actions; continuous ones are in m/s².")
        self._vehicle, self._charge = vehicle, charge
        self._discrete = actions == "discrete"
        self._drops = BRAKE if scale == "per_step" else tuple(brake * STEP for brake in BRAKE)
        self._unit = 1.0 if scale == "per_step" else STEP
        self.holding = False
        """Whether a continuous action next to 0 holds the speed instead of letting the car follow on its own."""

    def apply(self, action: Any) -> float:
        """Drive one step.

        Args:
            action: The action.

        Returns:
            The deceleration in m/s²; 0 if the car followed on its own.
        """
        if self._discrete:
            return self._brake(self._drops[self.validate(action)])
        level = self.validate(action)
        if level > RELEASE:
            return self._brake(HARDEST * level * STEP)
        if self.holding:
            return self._brake(0.0)
        self._vehicle.drive(RELEASED)
        return 0.0

    def validate(self, action: Any) -> Any:
        """Check an action.

        Args:
            action: The action, as a number or an array of one.

        Returns:
            The action as a plain number.
        """
        return _parse_choice(action) if self._discrete else _parse_level(action)

    def _brake(self, drop: float) -> float:
        before = self._vehicle.speed
        wanted = max(0.0, before - drop)
        after = self._vehicle.drive(wanted)
        braked = (before - after) / STEP if self._charge == "achieved" else (before - wanted) / self._unit
        return round(braked, DIGITS)


def _unpack(action: Any) -> Any:
    """Return the one number of an array or a tensor; anything else as it is."""
    try:
        return action.item() if hasattr(action, "item") else action
    except (ValueError, RuntimeError):  # of NumPy and of PyTorch, where there is not exactly one
        return action


def _parse_choice(action: Any) -> int:
    if type(action) is int and 0 <= action < len(BRAKE):
        return action
    whole = _unpack(action)
    if isinstance(whole, bool) or not isinstance(whole, int | float) or whole != whole // 1:
        raise WrongType(f"action {action!r:.60} must be an integer from 0 to {len(BRAKE) - 1}.")
    if not 0 <= whole < len(BRAKE):
        raise OutOfRange(f"action {whole!r:.60} must be 0 (Maintain), 1 (Caution), 2 (Brake) or 3 (Emergency).")
    return int(whole)


def _parse_level(action: Any) -> float:
    """Return how hard a continuous action brakes, from 0 to 1."""
    try:
        level = _unpack(action)
        if isinstance(level, list | tuple) and len(level) == 1:
            (level,) = level
        if isinstance(level, bool | str | bytes):
            raise TypeError
        level = float(level)
    except OverflowError:  # an integer that no float can hold
        level = math.inf
    except (TypeError, ValueError):
        raise WrongType(f"action {action!r:.60} must be one number from 0 to 1.") from None
    if not math.isfinite(level):
        raise NotFinite(f"action {level!r} must be a number from 0 to 1.")
    if not 0.0 <= level <= 1.0:
        raise OutOfRange(f"action {level!r} must be from 0 (follow) to 1 (brake at {HARDEST:g} m/s²).")
    return level
