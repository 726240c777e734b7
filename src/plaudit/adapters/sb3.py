"""Stable-Baselines3: a callback that logs what each term of the reward gave."""

from collections import deque
from collections.abc import Mapping
from typing import Any

from plaudit.adapters.components import (
    COMPONENTS,
    EPISODE_COMPONENTS,
    Profile,
    average,
    find_profile,
    missing_components,
)
from plaudit.errors import MissingExtra

try:
    from stable_baselines3.common.callbacks import BaseCallback
except ModuleNotFoundError as error:
    raise MissingExtra(f"the callback needs {error.name}. Install it: pip install 'plaudit[sb3]'") from None

Components = Mapping[str, float]


class RewardTermsCallback(BaseCallback):
    """Logs a curve for each term of the reward that environments wrapped in a `RewardWrapper` are paid by.

    `profile` names the curves: "isaac" draws the mean sums of the same last episodes that `rollout/ep_rew_mean` is
    about, and "trl" the mean of all steps since the last time.
    """

    def __init__(self, profile: str | Profile = "isaac", *, verbose: int = 0) -> None:
        """Choose the names of the curves."""
        super().__init__(verbose)
        self.profile = find_profile(profile)
        self._sums: list[dict[str, float]] = []
        self._episodes: deque[Components] = deque()

    def _on_training_start(self) -> None:
        if not self._sums or self.model.num_timesteps == 0:
            self._sums = [{} for _ in range(self.training_env.num_envs)]
            self._episodes = deque(maxlen=self.model._stats_window_size)

    def _on_step(self) -> bool:
        steps: list[Components] = [_read_components(info) for info in self.locals["infos"]]
        if self.profile.over == "step":
            for tag, value in self.profile.tags(_average_all(steps)).items():
                self.logger.record_mean(tag, value)
            return True
        ended = [self._add_step(env, components) for env, components in enumerate(steps)]
        if any(ended):  # before the next dump, so that it is about the episodes that SB3's own means are about
            for tag, value in self.profile.tags(_average_all(self._episodes)).items():
                self.logger.record(tag, value)
        return True

    def _add_step(self, env: int, components: Components) -> bool:
        """Add a step to the sums of its episode, and return whether that ended."""
        sums = self._sums[env]
        for name, value in components.items():
            sums[name] = sums.get(name, 0.0) + value
        ended = bool(self.locals["dones"][env])
        if ended:
            self._episodes.append(self.locals["infos"][env].get(EPISODE_COMPONENTS, sums))
            self._sums[env] = {}
        return ended


def _read_components(info: Mapping[str, Any]) -> Components:
    if COMPONENTS not in info:
        raise missing_components(COMPONENTS)
    components: Components = info[COMPONENTS]
    return components


def _average_all(many: Any) -> dict[str, float]:
    """Return the mean of each component; one that is not there gave 0."""
    names = dict.fromkeys(name for each in many for name in each)
    return average({name: [each.get(name, 0.0) for each in many] for name in names})
