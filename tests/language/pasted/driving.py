"""Vehicles: a tram whose terms are weighted by a config, and a kart with what it logs."""

import logging
from typing import cast

import numpy as np

from support.pasted import Pasted, flags, make, numbers, on_rows

logger = logging.getLogger(__name__)


def rescale(v: float, x, y) -> float:
    """Move v from the range x to the range y."""
    return (v - x[0]) / (x[1] - x[0]) * (y[1] - y[0]) + y[0]


class Tram:
    def _reward(self, action) -> float:
        """
        What the terms give, weighted as configured; trams off their rails get nothing.
        :param action: what the driver did last
        """
        rewards = self._rewards(action)
        reward = sum(self.config.get(name, 0) * reward for name, reward in rewards.items())
        if self.config["normalize_reward"]:
            most = self.config["punctual_reward"] + self.config["smooth_reward"]
            reward = rescale(reward, [self.config["bump_reward"], most], [0, 1])
        reward *= rewards["on_rails_reward"]
        return reward

    def _rewards(self, action) -> dict:
        progress = self.tram.speed * np.cos(self.tram.slope)
        punctual = rescale(progress, self.config["reward_speed_range"], [0, 1])
        return {
            "bump_reward": float(self.tram.bumped),
            "smooth_reward": 1 - self.tram.jerk / max(self.config["worst_jerk"] - 1, 1),
            "punctual_reward": np.clip(punctual, 0, 1),
            "on_rails_reward": float(self.tram.on_rails),
        }


def kart_reward(obs, info, lap_share_before):
    """Share of the lap that was driven, less what tyres and walls cost."""
    gained = info["lap_share"] - lap_share_before
    if gained < -0.5:  # over the line
        gained += 1.0
    reward = 50.0 * gained - 0.02 * abs(obs["wheel_angle"]) * cast(float, obs["speed"])
    if info["hit"]:
        logger.debug("hit at %.2f of the lap", info["lap_share"])
        info["metrics"] = {"hits": 1}
        reward -= 8.0
    elif min(obs["ranges"]) < 0.2:
        reward -= 0.5
    return float(reward)


CONFIG = {
    "bump_reward": -1,
    "smooth_reward": 0.2,
    "punctual_reward": 0.5,
    "reward_speed_range": [5, 15],
    "normalize_reward": True,
    "worst_jerk": 4,
}

PASTED = [
    Pasted(
        function=Tram._reward,
        name="tram",
        shared={"config": CONFIG},
        fields=[
            *numbers(0, 20, speed=()),
            *numbers(-0.5, 0.5, slope=()),
            *numbers(0, 3, jerk=()),
            *flags(bumped=(), on_rails=()),
        ],
        original=on_rows(lambda row: make(Tram, row, config=CONFIG, tram=row)._reward(1)),
    ),
    Pasted(
        function=kart_reward,
        fields=[
            *numbers(0, 1, lap_share=(), lap_share_before=()),
            *numbers(0, 3, wheel_angle=(), ranges=8),
            *numbers(0, 20, speed=()),
            *flags(hit=()),
        ],
        original=on_rows(lambda row: kart_reward(vars(row), vars(row), row.lap_share_before)),
    ),
]
