"""What the steps of an update paid, and what the episodes that ended in it came to."""

from math import fsum
from typing import Any

from stable_baselines3.common.callbacks import BaseCallback


class Episodes(BaseCallback):
    """Counts what steps pay and the episodes that end: their return, how long they were, and how they ended."""

    def __init__(self) -> None:
        super().__init__()
        self._steps = 0
        self._paid: list[float] = []
        self._ended: list[dict[str, Any]] = []

    def _on_step(self) -> bool:
        for done, info in zip(self.locals["dones"], self.locals["infos"], strict=True):
            self._steps += 1
            self._paid += info["reward_components"].values()
            if done:
                self._ended.append(info)
        return True

    def figures(self) -> dict[str, Any]:
        """Return what a step paid in the mean, the number of episodes and their means.

        Rewards are as the environment pays them, before they are scaled for the network. Where no episode ended,
        their means are no numbers.
        """
        count = len(self._ended)

        def mean(values: list[float]) -> float:
            return fsum(values) / count if count else float("nan")

        return {
            "reward": fsum(self._paid) / max(1, self._steps),
            "episodes": count,
            "return": mean([fsum(info["episode_reward_components"].values()) for info in self._ended]),
            "length": mean([info["step"] for info in self._ended]),
            "collision_rate": mean([info["collision"] for info in self._ended]),
            "hazard_rate": mean([info["hazard_injected"] for info in self._ended]),
        }
