"""What the wrappers of one environment and of many share: what a step is paid for, and under which names it is told."""

import inspect
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, Literal, get_args

import numpy as np

from plaudit.adapters.samples import components
from plaudit.errors import DefinitionError, WrongType, did_you_mean
from plaudit.reward.reward import Reward

Features = Callable[[Any, Any, Any, dict[str, Any]], Mapping[str, Any]]
"""From (obs, action, next_obs, info) to the reward's inputs by name."""

Mode = Literal["replace", "add"]

COMPONENTS = "reward_components"
EPISODE = "episode_reward_components"
OWN = "original_reward"
OWN_COMPONENTS = "original_reward_components"
"""Where components that the environment itself gives are kept."""

ORIGINAL = "original.reward"
"""The component that the environment's own reward is, where it is added to; no term can be called this."""


class Scoring:
    """A reward, the function that reads its inputs off a step, and what becomes of the environment's own reward."""

    def __init__(self, reward: Reward, features: Features, mode: str) -> None:
        """Keep them; DefinitionError where one is not what it should be."""
        if not isinstance(reward, Reward):
            raise DefinitionError(f"{reward!r:.60} is not a Reward.")
        if not callable(features) or inspect.iscoroutinefunction(features):  # type: ignore[redundant-expr]
            wanted = "a plain function of (obs, action, next_obs, info) to the reward's inputs"
            raise DefinitionError(f"features={features!r:.60} is not {wanted}.")
        if mode not in get_args(Mode):
            known = get_args(Mode)
            raise DefinitionError(f"mode={mode!r} is not one of {', '.join(known)}.{did_you_mean(str(mode), known)}")
        self.reward = reward
        self.features = features
        self.adds = mode == "add"
        self.components = (*components(reward), *((ORIGINAL,) if self.adds else ()))
        self._ends = "terminal" in reward.inputs

    def fields(self, obs: Any, action: Any, next_obs: Any, info: dict[str, Any], terminated: Any) -> Mapping[str, Any]:
        """Return what the features give for a step; the end of an episode is known without them."""
        fields = self.features(obs, action, next_obs, info)
        if not isinstance(fields, Mapping):
            raise WrongType(f"the features of reward {self.reward.name!r} must be a mapping, not {fields!r:.60}")
        if self._ends and "terminal" not in fields:
            return {**fields, "terminal": terminated}
        return fields


def told(info: Mapping[str, Any], **ours: Any) -> dict[str, Any]:
    """Return `info` with what a wrapper has to tell; components that were there already are kept under another name.

    The environment's dictionary is left alone: it may be the same one at every step.
    """
    if COMPONENTS not in info:
        return {**info, **ours}
    kept = {f"{_}{OWN_COMPONENTS}": info[f"{_}{COMPONENTS}"] for _ in ("", "_") if f"{_}{COMPONENTS}" in info}
    return {**info, **kept, **ours}


def copied(obs: Any) -> Any:
    """Return an observation that nobody else holds: environments may write over the one they gave."""
    if isinstance(obs, np.ndarray) and obs.dtype.kind != "O":
        return obs.copy()
    if type(obs) is dict:
        return {name: copied(part) for name, part in obs.items()}
    if type(obs) is tuple:
        return tuple(map(copied, obs))
    return deepcopy(obs)
