"""Policies that go on with what they do for a while: these get further from the start than chance does."""

import math
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from plaudit.analysis.probe.policies import Act, find_action_limits, skip_to_allowed

LONGEST_HOLD = 20
"""Steps for which an action is held at most."""
IDLING = 0.25
"""The share of holds in which nothing is done."""
SHORTEST_WAVE, LONGEST_WAVE = 8.0, 80.0
"""Steps of a wave, from and to."""


@dataclass(frozen=True)
class Held:
    """Any action, held for a few steps, then another one; now and then doing nothing, to see what goes on by itself."""

    space: spaces.Space[Any]
    idle: Any = None
    name: str = "held actions"

    def start(self, seed: int) -> Act:
        """Return what decides: the same for a seed."""
        generator = np.random.default_rng([seed, 3])  # not the environment's own
        self.space.seed(int(generator.integers(2**31)))
        space, left, action = self.space, 0, None

        def act(observation: Any, allowed: Any) -> Any:
            nonlocal left, action
            if left == 0:
                left, action = int(generator.integers(2, LONGEST_HOLD + 1)), space.sample()
                action = self.idle if self.idle is not None and generator.random() < IDLING else action
            left -= 1
            return skip_to_allowed(action, allowed)

        return act


@dataclass(frozen=True)
class Wave:
    """Every part of an action as a slow sine, each with its own strength, period and phase."""

    space: spaces.Box
    name: str = "waves"

    def start(self, seed: int) -> Act:
        """Return what decides: the same for a seed."""
        generator = np.random.default_rng([seed, 4])
        low, high = find_action_limits(self.space)
        middle, half = (low + high) / 2, (high - low) / 2 * generator.uniform(0.1, 1.0, low.shape)
        periods = np.exp(generator.uniform(math.log(SHORTEST_WAVE), math.log(LONGEST_WAVE), low.shape))
        phase = generator.uniform(0, 2 * np.pi, low.shape)
        at, whole, dtype = 0, self.space.dtype.kind in "iu", self.space.dtype

        def act(observation: Any, allowed: Any) -> Any:
            nonlocal at
            action = middle + half * np.sin(2 * np.pi * at / periods + phase)
            at += 1
            return (action.round() if whole else action).astype(dtype)

        return act


def list_smooth_policies(space: spaces.Space[Any], idle: Any = None) -> list[Held | Wave]:
    """Return the policies that go on with what they do; a choice of a few is idle at times anyway."""
    own = deepcopy(space)  # which can be seeded again for each episode
    held = Held(own, None if isinstance(space, spaces.Discrete) else idle)
    return [held, Wave(space)] if isinstance(space, spaces.Box) else [held]
