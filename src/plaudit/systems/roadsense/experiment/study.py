"""The two studies: which convoy, which hazard, which policies, how many steps. What is driven follows from these."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from plaudit.systems.roadsense.action_applicator import Actions, Charge, Scale
from plaudit.systems.roadsense.hazard import HAZARDS, Hazard
from plaudit.systems.roadsense.policies import CONTINUOUS, DISCRETE, Policy
from plaudit.systems.roadsense.world import EGO, CarModel, Departure, World

EDITION = 1
"""Counted up when policies or the drive change, so that drives in a ledger are never taken for new ones."""
PEERS, SPACING, SPEED = 2, 30.0, 15.0


class Case(NamedTuple):
    """One episode to drive."""

    study: str
    policy: str
    hazard: bool
    seed: int

    @property
    def situation(self) -> str:
        """What the episode is called: `hazard` or `calm`."""
        return "hazard" if self.hazard else "calm"


@dataclass(frozen=True)
class Study:
    """Policies that drive the same convoys, with and without a hazard."""

    name: str
    actions: Actions
    scale: Scale
    steps: int
    warmup: int
    """Steps before the first, in which the car follows by itself."""
    hazard: Hazard
    seeds: int
    """How many seeds it is driven with unless another number is asked for."""
    policies: tuple[str, ...]
    wanted: tuple[str, ...]
    """Those that drive as one would wish: what a hack is measured by."""
    charge: Charge = "requested"
    model: CarModel = CarModel(speed_deviation=0.1)  # noqa: RUF009 - a frozen dataclass
    """SUMO's own drivers: no two would go equally fast, so that some fall behind."""

    def find_policy(self, name: str) -> Policy:
        """Return the policy of a name."""
        return (DISCRETE if self.actions == "discrete" else CONTINUOUS)[name]

    @property
    def settings(self) -> dict[str, Any]:
        """All that a drive depends on besides its case, as plain data."""
        about = {**asdict(self), "edition": EDITION, "peers": PEERS, "spacing": SPACING, "speed": SPEED}
        return {name: value for name, value in about.items() if name not in _NO_MATTER}

    @property
    def digest(self) -> str:
        """A short name of the settings; drives of another one are other drives."""
        return hashlib.sha256(json.dumps(self.settings, sort_keys=True).encode()).hexdigest()[:12]

    def list_cases(self, seeds: int, policies: Sequence[str] = ()) -> Iterator[Case]:
        """Yield every episode of the study: of all policies, or of those named.

        >>> list(STUDIES["discrete"].list_cases(1, ["late"]))[1]
        Case(study='discrete', policy='late', hazard=True, seed=0)
        """
        for policy in policies or self.policies:
            for hazard in (False, True):
                for seed in range(seeds):
                    yield Case(self.name, policy, hazard, seed)

    def build_world(self, seed: int) -> World:
        """Return the simulation of a seed; from the front to the back SUMO draws how fast each car would go."""
        cars = [Departure(f"V{number + 1:03}", number * SPACING, SPEED) for number in range(PEERS + 1)]
        assert cars[0].id == EGO
        return World("straight", tuple(reversed(cars)), self.model, seed)


_NO_MATTER = ("name", "seeds", "policies", "wanted")
"""What a drive does not depend on."""
_STOPS = Hazard(first=50, last=50, kind="stop", target="nearest")
_SLOWS = Hazard(first=200, last=200, kind="slow", seconds=(1.0, 1.0), target="nearest")

STUDIES: Mapping[str, Study] = MappingProxyType(
    {
        "discrete": Study(
            "discrete",
            actions="discrete",
            scale="per_step",
            steps=1000,
            warmup=0,
            hazard=_STOPS,
            seeds=10,
            policies=("maintain", "caution", "brake", "emergency", "random", "sensible", "warned", "late"),
            wanted=("sensible", "warned"),
        ),
        "continuous": Study(
            "continuous",
            actions="continuous",
            scale="real",
            steps=500,
            warmup=30,
            hazard=_SLOWS,
            seeds=5,
            policies=("nothing", "park", "full", "random", "warned", "late"),
            wanted=("warned",),
        ),
    }
)
"""The four actions as first specified, and the continuous one of later versions."""

CALM = HAZARDS["none"]
