"""The environments on which a policy is trained and evaluated: the later convoy, with collisions that are real."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv, VecNormalize

from plaudit.reward.reward import Reward
from plaudit.systems.roadsense.env import RoadSenseEnv
from plaudit.systems.roadsense.hazard import HAZARDS, Hazard
from plaudit.systems.roadsense.scenario import TRAINING_ROAD
from plaudit.systems.roadsense.training.config import Config

LIMIT = 500
"""Steps after which an evaluated episode is cut off."""
INFO_KEYS = ("step", "collision", "hazard_injected", "reward_components", "episode_reward_components")
"""What a run wants to know of a step."""


class BriefInfo(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Says of each step only what a run wants to know: Stable-Baselines3 copies all of it, every time."""

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Drive for 0.1 s."""
        observation, paid, terminated, truncated, info = self.env.step(action)
        return observation, paid, terminated, truncated, {name: info[name] for name in INFO_KEYS if name in info}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        return self.env.reset(seed=seed, options=options)[0], {}


def build_env(
    reward: Reward, config: Config, *, hazard: str | Hazard = "evaluation", limit: int = LIMIT
) -> RoadSenseEnv:
    """Return the road of a run, on a SUMO in a process of its own; it draws every episode."""
    return RoadSenseEnv(
        reward=reward,
        actions=config.actions,
        radio=config.radio,
        hazard=hazard,
        limit=limit,
        binding="process",
        **TRAINING_ROAD,
    )


@contextmanager
def open_envs(reward: Reward, config: Config) -> Iterator[VecEnv]:
    """Yield the environments that a run is trained on, side by side; they are closed at the end, whatever happens."""
    hazard = replace(HAZARDS["training"], probability=config.hazards)
    made: list[RoadSenseEnv] = []

    def make() -> gymnasium.Env[Any, Any]:
        made.append(build_env(reward, config, hazard=hazard, limit=config.limit))
        return BriefInfo(made[-1])

    try:
        plain = DummyVecEnv([make] * config.envs)
        yield VecNormalize(plain, norm_obs=False, gamma=config.gamma) if config.normalise else plain
    finally:
        for each in made:
            each.close()


def derive_seed(config: Config, update: int) -> int:
    """Return what the episodes that begin after an update depend on."""
    return int(np.random.SeedSequence([config.seed, update]).generate_state(1)[0])
