"""What goes into a simulator and what comes out: a road, the cars that set out on it, and each car after a step."""

from dataclasses import dataclass, field
from typing import NamedTuple

EGO = "V001"
"""The car that the policy drives, behind all others."""
STEP = 0.1
"""Seconds of a step."""
COLLISION = 5.0
"""Nearer to the car ahead than this, front bumper to front bumper, is a collision: cars are 5 m long."""
STALE = 500.0
"""From this age on, in milliseconds, a message counts for nothing."""


class CarState(NamedTuple):
    """The state of a car: position of its front bumper in meters, m/s, m/s², and degrees clockwise from north.

    It is the truth of a step, or the content of a message, which is older.

    >>> CarState(x=0.0, y=50.0, speed=9.0, acceleration=-5.0, heading=0.0, age=50.0).speed
    9.0
    """

    x: float
    y: float
    speed: float
    acceleration: float
    heading: float
    age: float = 0.0
    """Milliseconds since it was so."""
    hops: int = 0
    """By how many transmissions it is known: 1 where the car itself was heard."""


def is_fresh(message: CarState) -> bool:
    """Return whether a message is fresh enough to count: younger than half a second.

    >>> [is_fresh(CarState(0.0, 30.0, 15.0, 0.0, 0.0, age=age)) for age in (499.9, 500.0)]
    [True, False]
    """
    return message.age < STALE


class Departure(NamedTuple):
    """A car at the start: where its front bumper is, in meters from the start of the road, and how fast it goes."""

    id: str
    position: float
    speed: float


@dataclass(frozen=True)
class CarModel:
    """The car-following model of all cars that are not commanded (Krauss).

    >>> CarModel(sigma=0.0).decel
    4.5
    """

    accel: float = 2.6
    decel: float = 4.5
    sigma: float = 0.5
    """How imperfectly they hold their speed, from 0 to 1."""
    tau: float = 1.0
    """The gap that they want to the car ahead, in seconds."""
    length: float = 5.0
    min_gap: float = 2.5
    max_speed: float = 50.0
    speed_factor: float = 1.0
    """How fast they would go, as a share of the limit."""
    speed_deviation: float = 0.0
    """How much that share differs from car to car: the standard deviation from which SUMO draws it."""


@dataclass(frozen=True)
class World:
    """One simulation from its start: the same world gives the same drive to the bit."""

    network: str
    """`straight`, `curved`, or the path of a SUMO network of your own with a single way through it."""
    cars: tuple[Departure, ...]
    model: CarModel = field(default_factory=CarModel)
    seed: int = 0
