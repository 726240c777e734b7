"""What the versions of the convoy reward read, and what is true of every step, whatever the policy does."""

from plaudit import Field, fact

BRAKE = (0.0, 0.5, 2.0, 4.5)
"""How hard each action brakes, in m/s²: Maintain, Caution, Brake, Emergency."""

DISTANCE = Field(
    "distance",
    unit="m",
    low=0,
    infinite=True,
    doc="Distance to the nearest car ahead; inf where there is none.",
)
DECELERATION = Field(
    "deceleration", unit="m/s^2", low=-15, high=15, doc="How hard the car brakes; negative where it speeds up."
)
ACTION = Field("action", values=(0, 1, 2, 3), doc="0 Maintain, 1 Caution, 2 Brake, 3 Emergency.")
CLOSING_RATE = Field("closing_rate", unit="m/s", low=-60, high=60, doc="Own speed less that of the nearest car ahead.")
EGO_SPEED = Field("ego_speed", unit="m/s", low=0, high=60, doc="Own speed.")
PEER_BRAKING = Field(
    "peer_braking", flag=True, doc="Some peer that is heard brakes at 0.5 m/s² or more, or stands still."
)
FRESH_BRAKING = Field(
    "fresh_braking", flag=True, doc="A peer that is heard in this very step brakes at 2.5 m/s² or more."
)
COLLISION = Field("collision", flag=True, doc="The car ahead was hit, in truth: the episode ends with this step.")

# What an environment remembers of a warning (a car ahead brakes at 2.5 m/s² or more): one field, filled in
# four ways.
WARNED_NOW = Field("braking_received", values=(0, 1), doc="1 in a step in which the hazard's own warning arrives.")
WARNED_EVER = Field("braking_received", values=(0, 1), doc="1 from the hazard's first warning on.")
PEER_WARNED_EVER = Field("braking_received", values=(0, 1), doc="1 from the first warning of any peer on.")
WARNED_FADING = Field("braking_received", low=0, high=1, doc="1 when a peer in front warns, then × 0.95 in every step.")


@fact
def brakes(action: int, deceleration: float) -> bool:
    """Each action brakes at its own rate: 0, 0.5, 2 or 4.5 m/s²."""
    return deceleration == BRAKE[action]


@fact
def fresh_warning_is_full(fresh_braking: bool, braking_received: float) -> bool:
    """A peer in front that brakes in this very step is a warning of full strength."""
    return not fresh_braking or braking_received == 1.0
