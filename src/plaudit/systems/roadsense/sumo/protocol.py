"""What may be commanded of a car, by name, as calls of SUMO's API."""

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any

from plaudit.errors import InputError

Command = tuple[Any, ...]
"""`("speed", car, v)`, `("slow_down", car, v, seconds)` or `("speed_mode", car, bits)`."""

COMMAND_NUMBERS: dict[str, tuple[type, ...]] = {"speed": (float,), "slow_down": (float, float), "speed_mode": (int,)}
"""What follows the car in each command."""


def map_commands(vehicle: Any) -> dict[str, Callable[..., None]]:
    """Return the call for every command; `vehicle` is the vehicle domain of libsumo or of a TraCI connection.

    `("speed", car, v)` holds a speed and, below 0, releases the car to its car-following; `("slow_down", car, v,
    seconds)` goes there evenly; `("speed_mode", car, bits)` chooses what the car checks (see `speed_mode`).
    """
    return {"speed": vehicle.setSpeed, "slow_down": vehicle.slowDown, "speed_mode": vehicle.setSpeedMode}


def apply_commands(calls: Mapping[str, Callable[..., None]], commands: Sequence[Command]) -> None:
    """Carry the commands out, one after the other."""
    try:
        for name, car, number, *more in commands:
            if not isfinite(number):  # SUMO would take a NaN, and do nothing
                raise ValueError
            calls[name](car, number, *more)
    except (KeyError, TypeError, ValueError):  # numbers that SUMO does not take, such as NumPy's; or no command at all
        for name, *arguments in normalise_commands(commands):
            calls[name](*arguments)


def normalise_commands(commands: Sequence[Command]) -> list[Command]:
    """Return the commands in Python's own numbers, which cross to another process.

    >>> import numpy as np
    >>> normalise_commands([("speed", "V001", np.float64(12.5))])
    [('speed', 'V001', 12.5)]
    """
    return [_normalise_command(command) for command in commands]


def _normalise_command(command: Command) -> Command:
    try:
        name, car, *given = command
        numbers = [kind(number) for kind, number in zip(COMMAND_NUMBERS[name], given, strict=True)]
        if not all(map(isfinite, numbers)):
            raise ValueError
        return name, str(car), *numbers
    except (KeyError, TypeError, ValueError):
        raise InputError(
            f'{command!r} is not a command. They are ("speed", car, m/s), ("slow_down", car, m/s, seconds) and'
            ' ("speed_mode", car, bits)'
        ) from None
