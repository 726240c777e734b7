"""A car that follows a convoy and hears its warnings over the radio: its reward, and the road it drives on.

The reward needs nothing but the core. `RoadSenseEnv` needs Gymnasium and SUMO, and is imported when first asked for.
"""

import typing

from plaudit.errors import MissingExtra
from plaudit.systems.roadsense.action_applicator import ActionApplicator
from plaudit.systems.roadsense.errors import SimulatorError
from plaudit.systems.roadsense.hazard import HAZARDS, Hazard
from plaudit.systems.roadsense.measurement import Measurement
from plaudit.systems.roadsense.observation_builder import ObservationBuilder
from plaudit.systems.roadsense.pictures.step_picture import draw_step
from plaudit.systems.roadsense.radio import PARAMETERS as RADIOS
from plaudit.systems.roadsense.radio import RadioParameters
from plaudit.systems.roadsense.reward_calculator import RewardCalculator
from plaudit.systems.roadsense.scenario import SCENARIOS, Scenario
from plaudit.systems.roadsense.versions import VERSIONS, episode, reward, version
from plaudit.systems.roadsense.world import CarModel, CarState

if typing.TYPE_CHECKING:
    from plaudit.systems.roadsense.env import RoadSenseEnv

__all__ = [
    "HAZARDS",
    "RADIOS",
    "SCENARIOS",
    "VERSIONS",
    "ActionApplicator",
    "CarModel",
    "CarState",
    "Hazard",
    "Measurement",
    "ObservationBuilder",
    "RadioParameters",
    "RewardCalculator",
    "RoadSenseEnv",
    "Scenario",
    "SimulatorError",
    "draw_step",
    "episode",
    "reward",
    "version",
]


def __getattr__(name: str) -> typing.Any:
    """Import the environment when it is first asked for."""
    if name != "RoadSenseEnv":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from plaudit.systems.roadsense.env import RoadSenseEnv
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "gymnasium":
            raise
        raise MissingExtra("the convoy on the road needs gymnasium. Install it: pip install 'plaudit[sumo]'") from None
    return RoadSenseEnv


def __dir__() -> list[str]:
    """Return the public names, the environment too."""
    return [*__all__, *(name for name in globals() if name.startswith("__"))]
