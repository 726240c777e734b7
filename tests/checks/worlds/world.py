"""What a world of the corpus consists of."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium

from plaudit import Reward, Task


@dataclass(frozen=True)
class World:
    """A small simulator, what is wanted in it, and a sound and a flawed reward for that."""

    name: str
    story: str
    """What is wanted, then what an agent does instead under the flawed reward."""
    make: Callable[[], gymnasium.Env[Any, Any]]
    features: Callable[..., Mapping[str, Any]]
    """From (obs, action, next_obs, info) to the inputs of both rewards, and of the goal and the wishes of the task."""
    task: Task
    sound: Reward
    flawed: Reward
    good: Callable[[Any], Any]
    """A policy, from an observation to an action, that does what is wanted."""
    hack: Callable[[Any], Any]
    """A policy that earns more than `good` under the flawed reward, and serves the task worse."""
