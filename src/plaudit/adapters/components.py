"""What a total is made of, and the names of its components in `info` and in curves."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from plaudit.errors import DefinitionError, MissingField, did_you_mean
from plaudit.reward.reward import Reward
from plaudit.reward.signal import Signal

CLAMP = "total.clamp"
"""What the clamp of a total adds to the sum of the terms; no term can be called this."""
COMPONENTS = "reward_components"
"""Where the `info` of a wrapped environment tells what each term of a step added."""
EPISODE_COMPONENTS = "episode_reward_components"
"""Where it tells the sums over an episode that ended."""
WEIGHTS = "reward_weights"
"""Where it tells the weights that follow a schedule, as they were in the step."""
MASKED_STEPS, CLIPPED_STEPS = "masked_steps", "clipped_steps"
"""Where it tells how many steps so far could not be scored, or had numbers that were held within their ranges."""


def has_clamp(reward: Reward) -> bool:
    """Return whether the terms may add up to something else than the total, and no adjustment says how much."""
    return not reward._composed and (reward.low is not None or reward.high is not None)


def list_components(reward: Reward) -> tuple[str, ...]:
    """Return what a total is made of: the terms, its adjustments and, where it has only a clamp, what that adds."""
    return (*reward.program.terms, *((CLAMP,) if has_clamp(reward) else ()))


def list_weights(reward: Reward) -> dict[str, float]:
    """Return the weight of each component, under which clamped scores add up to the total.

    Raises:
        DefinitionError: A weight follows a schedule, so that it is not the same in every step.
    """
    weights = dict(zip(reward.program.terms, reward._frame.weights, strict=True))
    for name, weight in weights.items():
        if callable(weight):
            raise DefinitionError(
                f"reward {reward.name!r}: the weight of {name!r} follows a schedule, and functions with fixed weights "
                "are asked for; use the reward as one function."
            )
    return {name: weight for name, weight in weights.items() if not callable(weight)} | (
        {CLAMP: 1.0} if has_clamp(reward) else {}
    )


def split_total(signal: Signal) -> dict[str, float]:
    """Return what each term adds to the total; where that has a clamp, what the clamp adds comes last.

    The keys are the same for all signals of a reward, 0.0 for terms that `score_terminal` leaves out, and the
    values add up to the total. Of a signal that was read from data, only the terms that it has are known.
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
    """How curves are named: `term` has a `{}` for the term's name, and `total` is the sum of what stands there.

    A point is the mean of sums over an "episode", or of what a "step" gave.
    """

    term: str
    total: str
    over: Literal["episode", "step"]
    weight: str = "Reward_Weight/{}"
    """Has a `{}` for the name of a term whose weight follows a schedule."""

    def tags(self, components: Mapping[str, float]) -> dict[str, float]:
        """Return what is drawn, by its name: every component, and their sum.

        >>> ISAAC.tags({"upright": 180.0, "effort": -5.0})
        {'Episode_Reward/upright': 180.0, 'Episode_Reward/effort': -5.0, 'Train/mean_reward': 175.0}
        """
        return {self.term.format(name): v for name, v in components.items()} | {self.total: sum(components.values())}


ISAAC = Profile("Episode_Reward/{}", "Train/mean_reward", "episode")
"""As Isaac Lab names them; it divides the sums by the longest episode in seconds besides, and we do not."""
TRL = Profile("rewards/{}/mean", "reward", "step", "rewards/{}/weight")
"""As TRL names them."""
PROFILES = {"isaac": ISAAC, "trl": TRL}


def find_profile(name: str | Profile) -> Profile:
    """Return a profile by its name, or one of your own as it is."""
    if isinstance(name, Profile):
        return name
    if name not in PROFILES:
        near = did_you_mean(str(name), PROFILES)
        raise DefinitionError(f"there is no profile {name!r}.{near} Profiles: {', '.join(PROFILES)}.")
    return PROFILES[name]


def average(components: Mapping[str, Any], which: Any = None) -> dict[str, float]:
    """Return the mean of each component over environments, those of a mask where it is given; a number is its own.

    Masks that Gymnasium puts beside each component are left out.

    >>> average({"upright": np.array([1.0, 3.0, 9.0]), "effort": -0.5}, np.array([True, True, False]))
    {'upright': 2.0, 'effort': -0.5}
    """
    numbers = {name: value for name, value in components.items() if name[:1] != "_" or name[1:] not in components}
    return {name: float(np.mean(_select(np.asarray(value), which))) for name, value in numbers.items()}


def _select(values: Any, which: Any) -> Any:
    """Return the values of some environments, all of them without a mask; a single number as it is."""
    return values if which is None or not values.shape else values[np.asarray(which)]


def missing_components(key: str) -> MissingField:
    """Return the error for an `info` without components."""
    return MissingField(
        f"info has no {key!r}: wrap the environment in plaudit.adapters.gymnasium.RewardWrapper, within all others."
    )
