"""The studies: which road, which hazard, which policies, how many steps. What is driven follows from these."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from plaudit.systems.roadsense.action_applicator import Actions, Charge, Scale
from plaudit.systems.roadsense.hazard import HAZARDS, Hazard
from plaudit.systems.roadsense.policies import CONTINUOUS, DISCRETE, Policy
from plaudit.systems.roadsense.scenario import TRAINING_ROAD
from plaudit.systems.roadsense.world import EGO, CarModel, Departure, World

EDITION = 2
"""Counted up when policies or the drive change, so that drives in a ledger are never taken for new ones."""
PEERS, SPACING, SPEED = 2, 30.0, 15.0
SEEDS = 20
"""How many seeds a study is driven with, unless another number is asked for."""
Road = Literal["assisted", "training"]
"""Where SUMO keeps a gap whatever is commanded, or the road that policies are trained on, where the car can collide."""


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
    steps: int
    hazard: Hazard
    policies: tuple[str, ...]
    wanted: tuple[str, ...]
    """Those that drive as one would wish: what a hack is measured by."""
    road: Road = "assisted"
    warmup: int = 0
    """Steps before the first, in which the car follows on its own; this and what follows is for the assisted road."""
    scale: Scale = "real"
    charge: Charge = "requested"
    model: CarModel = CarModel(speed_deviation=0.1)  # noqa: RUF009 - a frozen dataclass
    """SUMO's own drivers: no two would go equally fast, so that some fall behind."""

    def find_policy(self, name: str) -> Policy:
        """Return the policy of a name."""
        return (DISCRETE if self.actions == "discrete" else CONTINUOUS)[name]

    @property
    def title(self) -> str:
        """What the study is about, for a heading."""
        where = "on an assisted road" if self.road == "assisted" else "on the training road"
        return f"{self.actions} actions {where}"

    @property
    def settings(self) -> dict[str, Any]:
        """All that a drive depends on besides its case, as plain data."""
        if self.road == "training":
            hazard = asdict(self.hazard)
            return {"edition": EDITION, "actions": self.actions, "steps": self.steps, "hazard": hazard, **TRAINING_ROAD}
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


_NO_MATTER = ("name", "policies", "wanted")
"""What a drive does not depend on."""
_STOPS = Hazard(first=50, last=50, kind="stop", target="nearest")
_TRAINING = HAZARDS["training"]
_SLOWS = Hazard(first=200, last=200, kind="slow", seconds=(1.0, 1.0), target="nearest")

_FIXED = tuple(DISCRETE)

STUDIES: Mapping[str, Study] = MappingProxyType(
    {
        study.name: study
        for study in (
            Study("discrete", "discrete", 1000, _STOPS, _FIXED, ("sensible", "warned"), scale="per_step"),
            Study(
                "continuous",
                "continuous",
                500,
                _SLOWS,
                ("nothing", "park", "full", "random", "warned", "late"),
                ("warned",),
                warmup=30,
            ),
            Study("discrete-training", "discrete", 400, _TRAINING, _FIXED, ("sensible", "warned"), "training"),
            Study("continuous-training", "continuous", 400, _TRAINING, tuple(CONTINUOUS), ("warned",), "training"),
        )
    }
)
"""The four actions as first specified and the continuous one of later versions, each on both roads."""

CALM = HAZARDS["none"]
