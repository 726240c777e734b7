"""What is true of every step of the convoy, whatever the policy does."""

from plaudit import fact

BRAKE = (0.0, 0.5, 2.0, 4.5)
"""How hard each action brakes, in m/s²: Maintain, Caution, Brake, Emergency."""


@fact
def brakes(action: int, deceleration: float) -> bool:
    """Each action brakes at its own rate: 0, 0.5, 2 or 4.5 m/s²."""
    return deceleration == BRAKE[action]
