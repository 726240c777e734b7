"""Which convoys an environment begins with: how many cars, how far apart, on which road."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from plaudit.errors import DefinitionError
from plaudit.systems.roadsense.validate import find_named, is_integer, is_number
from plaudit.systems.roadsense.world import CarModel, Departure, World

MOST_PEERS = 8
"""How many cars ahead an observation has room for."""
SEEDS = 2**31 - 1
"""SUMO takes seeds below this."""


@dataclass(frozen=True)
class Scenario:
    """A convoy at its start: the driven car behind, its peers before it at equal distances.

    >>> [car.id for car in Scenario(peers=2).build_world(seed=1).cars]
    ['V001', 'V002', 'V003']
    """

    peers: int = 2
    spacing: float = 30.0
    """Metres between two front bumpers."""
    speed: float = 15.0
    network: str = "straight"
    model: CarModel = field(default_factory=CarModel)

    def __post_init__(self) -> None:
        if not isinstance(self.model, CarModel):
            raise DefinitionError(f"model={self.model!r:.60} must be a CarModel.")
        if not isinstance(self.network, str):
            raise DefinitionError(f"network={self.network!r:.60} must be a name, or the path of a network as a string.")
        if not is_integer(self.peers) or not 1 <= self.peers <= MOST_PEERS:
            raise DefinitionError(f"peers={self.peers!r} must be an integer from 1 to {MOST_PEERS}.")
        if not is_number(self.spacing) or not self.model.length < self.spacing < float("inf"):
            raise DefinitionError(f"spacing={self.spacing!r} must exceed the length of a car, {self.model.length:g} m.")
        if not is_number(self.speed) or not 0 <= self.speed <= self.model.max_speed:
            raise DefinitionError(f"speed={self.speed!r} must be from 0 to {self.model.max_speed:g} m/s.")

    @property
    def ids(self) -> tuple[str, ...]:
        """The names of all cars, the driven one first and then from the nearest to the farthest."""
        return tuple(f"V{number:03}" for number in range(1, self.peers + 2))

    def build_world(self, seed: int) -> World:
        """Build the simulation of this scenario.

        Args:
            seed: The random seed of SUMO.

        Returns:
            The world.
        """
        cars = (Departure(name, at * self.spacing, self.speed) for at, name in enumerate(self.ids))
        return World(self.network, tuple(cars), self.model, seed)

    def sample(self, rng: np.random.Generator, *, peers: int | None = None, drop: float = 0.4) -> "Scenario":
        """Draw a random convoy around this one: how its drivers drive, and the number of peers.

        Fewer peers drive farther apart, from 25 m for five to 50 m for one.

        Args:
            rng: The random generator.
            peers: The number of peers; None to draw it.
            drop: The probability that a peer is absent; at least one is present.

        Returns:
            The scenario.
        """
        factor, sigma, decel, tau = (float(rng.uniform(*each)) for each in _DRIVERS)
        there = max(1, int((rng.random(self.peers) >= drop).sum())) if peers is None else peers
        model = replace(self.model, speed_factor=factor, sigma=sigma, decel=decel, tau=tau)
        return replace(self, peers=there, spacing=choose_spacing(there), model=model)


_DRIVERS = ((0.8, 1.2), (0.0, 0.5), (3.5, 5.5), (0.5, 1.5))
"""From where to where speed factor, sigma, decel and tau are drawn."""


def choose_spacing(peers: int) -> float:
    """Return the meters between so many peers: 50 m for one, 25 m for five or more, in steps of 5 m.

    >>> [choose_spacing(peers) for peers in (1, 2, 3, 4, 5)]
    [50.0, 40.0, 35.0, 30.0, 25.0]
    """
    between = 50.0 - 25.0 * (min(peers, 5) - 1) / 4
    return between // 5 * 5


SCENARIOS: Mapping[str, Scenario] = MappingProxyType(
    {
        "early": Scenario(),
        "late": Scenario(peers=5, spacing=25.0, speed=2.0, network="curved", model=CarModel(decel=5.0, sigma=0.0)),
    }
)
"""The convoy that R0 was made for, and that of the later versions."""

TRAINING_ROAD: Mapping[str, Any] = MappingProxyType(
    {"scenario": "late", "observation": "dict", "assist": False, "hold_after": 3, "warmup": 30, "randomise": True}
)
"""The road that policies are trained on, as arguments of `RoadSenseEnv`. Nobody brakes for the policy: what it asks for
is done, and from three steps after the hazard on the car no longer follows on its own."""


def find_scenario(given: Any) -> Scenario:
    """Return a scenario, or the one that goes by a name."""
    return find_named("scenario", given, Scenario, SCENARIOS)
