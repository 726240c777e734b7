"""The components of a total, and their names in `info` and in curves."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from plaudit.errors import DefinitionError, MissingField, did_you_mean
from plaudit.reward.reward import Reward
from plaudit.reward.signal import Signal

CLAMP = "total.clamp"
"""The difference that the clamp of a total makes to the sum of the terms; no term can have this name."""
COMPONENTS = "reward_components"
"""Key in the `info` of a wrapped environment: the value of each term in the step."""
EPISODE_COMPONENTS = "episode_reward_components"
"""Key: the sum of each term over an episode that ended."""
WEIGHTS = "reward_weights"
"""Key: the current weights that follow a schedule."""
MASKED_STEPS, CLIPPED_STEPS = "masked_steps", "clipped_steps"
"""Keys: the number of steps so far that could not be scored, or had numbers clipped to their ranges."""


def has_clamp(reward: Reward) -> bool:
    """Return whether a clamp, and no adjustment, may make the total differ from the sum of the terms."""
    return not reward._composed and (reward.low is not None or reward.high is not None)


def list_components(reward: Reward) -> tuple[str, ...]:
    """Return the components of a total: the terms, its adjustments, and for a total with only a clamp, the clamp."""
    return (*reward.program.terms, *((CLAMP,) if has_clamp(reward) else ()))


def list_weights(reward: Reward) -> dict[str, float]:
    """Return the weight of each component; clamped scores times weights add up to the total.

    Raises:
        DefinitionError: A weight follows a schedule, so it changes from step to step.
    """
    weights = dict(zip(reward.program.terms, reward._frame.weights, strict=True))
    for name, weight in weights.items():
        if callable(weight):
            raise DefinitionError(
                f"reward {reward.name!r}: the weight of {name!r} follows a schedule, but a function per term needs a "
                "fixed weight. Use the reward as one function."
            )
    return {name: weight for name, weight in weights.items() if not callable(weight)} | (
        {CLAMP: 1.0} if has_clamp(reward) else {}
    )


def split_total(signal: Signal) -> dict[str, float]:
    """Return the value of each term; if the total has a clamp, its effect comes last.

    All signals of a reward have the same keys, with 0.0 for terms that `score_terminal` leaves out, and the values add
    up to the total. A signal that was read from data has only the terms that it contains.
    """
    values, reward = signal.values, signal.frame.source
    rest = signal.total - sum(values.values())
    if reward is not None:
        values = {name: values.get(name, 0.0) for name in reward.program.terms}
    rounding = 1e-12 * sum(map(abs, values.values()))  # of adjustments, which are differences
    if has_clamp(reward) if reward is not None else abs(rest) > rounding:
        values[CLAMP] = rest
    return values


@dataclass(frozen=True, slots=True)
class Profile:
    """The names of curves: `term` has a `{}` for the term's name, and `total` is the name of their sum.

    A point is the mean of sums over an "episode", or of values of a "step".
    """

    term: str
    total: str
    over: Literal["episode", "step"]
    weight: str = "Reward_Weight/{}"
    """Name of a weight that follows a schedule; `{}` is the term's name."""

    def tags(self, components: Mapping[str, float]) -> dict[str, float]:
        """Return every component and their sum under the names of this profile.

        >>> ISAAC.tags({"upright": 180.0, "effort": -5.0})
        {'Episode_Reward/upright': 180.0, 'Episode_Reward/effort': -5.0, 'Train/mean_reward': 175.0}
        """
        return {self.term.format(name): v for name, v in components.items()} | {self.total: sum(components.values())}


ISAAC = Profile("Episode_Reward/{}", "Train/mean_reward", "episode")
"""Names of Isaac Lab, which also divides the sums by the maximum episode length in seconds; plaudit does not."""
TRL = Profile("rewards/{}/mean", "reward", "step", "rewards/{}/weight")
"""Names of TRL."""
PROFILES = {"isaac": ISAAC, "trl": TRL}


def find_profile(name: str | Profile) -> Profile:
    """Return a profile by its name, or a custom one as it is."""
    if isinstance(name, Profile):
        return name
    if name not in PROFILES:
        near = did_you_mean(str(name), PROFILES)
        raise DefinitionError(f"there is no profile {name!r}.{near} Profiles: {', '.join(PROFILES)}.")
    return PROFILES[name]


def average(components: Mapping[str, Any], which: Any = None) -> dict[str, float]:
    """Return the mean of each component over environments, or over those in a mask; a number stays as it is.

    The masks that Gymnasium adds for each component are left out.

    >>> average({"upright": np.array([1.0, 3.0, 9.0]), "effort": -0.5}, np.array([True, True, False]))
    {'upright': 2.0, 'effort': -0.5}
    """
    numbers = {name: value for name, value in components.items() if name[:1] != "_" or name[1:] not in components}
    return {name: float(np.mean(_select(np.asarray(value), which))) for name, value in numbers.items()}


def _select(values: Any, which: Any) -> Any:
    """Return the values of the environments in a mask, or all; a single number stays as it is."""
    return values if which is None or not values.shape else values[np.asarray(which)]


def missing_components(key: str) -> MissingField:
    """Return the error for an `info` without components."""
    return MissingField(
        f"info has no {key!r}: wrap the environment in plaudit.adapters.gymnasium.RewardWrapper, inside all other "
        "wrappers."
    )
