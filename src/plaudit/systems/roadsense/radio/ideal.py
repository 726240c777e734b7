"""A radio that loses nothing, delays nothing and blurs nothing."""

from collections.abc import Mapping

import numpy as np

from plaudit.systems.roadsense.world import CarState


class IdealRadio:
    """Every car hears every other at once and exactly."""

    def reset(self, rng: np.random.Generator) -> None:
        """Do nothing: there is nothing to forget, and no chance."""

    def exchange(self, now: float, cars: Mapping[str, CarState], ego: str) -> dict[str, CarState]:
        """Return what every car but `ego` is doing now."""
        heard = dict(cars)
        heard.pop(ego, None)
        return heard
