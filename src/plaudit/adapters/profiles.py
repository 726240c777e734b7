"""Under which names the terms of a reward are drawn as curves, and what a point of such a curve is."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from plaudit.errors import DefinitionError, MissingField, did_you_mean


@dataclass(frozen=True, slots=True)
class Profile:
    """How curves are named: `term` has a `{}` for the term's name, and `total` is the sum of what stands there.

    A point is the mean of sums over an "episode", or of what a "step" gave.
    """

    term: str
    total: str
    over: Literal["episode", "step"]

    def tags(self, components: Mapping[str, float]) -> dict[str, float]:
        """Return what is drawn, by its name: every component, and their sum.

        >>> ISAAC.tags({"upright": 180.0, "effort": -5.0})
        {'Episode_Reward/upright': 180.0, 'Episode_Reward/effort': -5.0, 'Train/mean_reward': 175.0}
        """
        return {self.term.format(name): v for name, v in components.items()} | {self.total: sum(components.values())}


ISAAC = Profile("Episode_Reward/{}", "Train/mean_reward", "episode")
"""As Isaac Lab names them; it divides the sums by the longest episode in seconds besides, and we do not."""

TRL = Profile("rewards/{}/mean", "reward", "step")
"""As TRL names them."""

PROFILES = {"isaac": ISAAC, "trl": TRL}


def profile(name: str | Profile) -> Profile:
    """Return a profile by its name, or one of your own as it is."""
    if isinstance(name, Profile):
        return name
    if name not in PROFILES:
        near = did_you_mean(str(name), PROFILES)
        raise DefinitionError(f"there is no profile {name!r}.{near} Profiles: {', '.join(PROFILES)}.")
    return PROFILES[name]


def averaged(components: Mapping[str, Any], which: Any = None) -> dict[str, float]:
    """Return the mean of each component over environments, those of a mask where it is given; a number is its own.

    Masks that Gymnasium puts beside each component are left out.

    >>> averaged({"upright": np.array([1.0, 3.0, 9.0]), "effort": -0.5}, np.array([True, True, False]))
    {'upright': 2.0, 'effort': -0.5}
    """
    numbers = {name: value for name, value in components.items() if name[:1] != "_" or name[1:] not in components}
    return {name: float(np.mean(_chosen(np.asarray(value), which))) for name, value in numbers.items()}


def _chosen(values: Any, which: Any) -> Any:
    return values if which is None or not values.shape else values[np.asarray(which)]


def not_told(key: str) -> MissingField:
    """Return the error for an `info` without components."""
    return MissingField(
        f"info has no {key!r}: wrap the environment in plaudit.adapters.gymnasium.RewardWrapper, within all others."
    )
