"""Environments of Gymnasium: costs as methods, healthy ranges as properties, goals, and a config of their own."""

from dataclasses import dataclass

import numpy as np

from support.pasted import Pasted, flags, make, numbers, on_batch, on_rows


class Kangaroo:
    def effort_cost(self, action):
        effort_cost = self._effort_weight * np.mean(np.abs(action) ** 3)
        return effort_cost

    def _get_rew(self, hop_speed: float, action):
        speed_reward = self._speed_weight * np.tanh(hop_speed)
        effort = self.effort_cost(action)

        reward = speed_reward - effort

        reward_info = {
            "reward_speed": speed_reward,
            "reward_effort": -effort,
        }
        return reward, reward_info


class Giant:
    @property
    def stands(self):
        lowest, highest = self._hip_range
        stands = lowest < self.qpos[2] < highest
        return stands

    @property
    def standing_reward(self):
        return self.stands * self._standing_reward

    @property
    def impact_cost(self):
        impact = self._impact_weight * np.sum(np.abs(self.cfrc_ext))
        least, most = self._impact_range
        return np.clip(impact, least, most)

    def _get_rew(self, x_velocity: float, action):
        gains = 1.5 * x_velocity + self.standing_reward
        costs = 0.2 * np.abs(action).sum() + self.impact_cost
        return gains - costs


@dataclass(frozen=True)
class ShovelConfig:
    near: float = 0.4
    far: float = 1.2
    push: float = 0.05


SHOVEL = ShovelConfig()


def shovel_reward(action, blade, heap, pit):
    config = SHOVEL
    to_heap = np.linalg.norm(heap - blade)
    to_pit = np.linalg.norm(heap - pit)
    return -config.near * to_heap - config.far * to_pit**2 - config.push * np.abs(action).sum()


def gap_between(goal_a, goal_b):
    assert goal_a.shape == goal_b.shape
    return np.abs(goal_a - goal_b).max(axis=-1)


class Stamp:
    def compute_reward(self, achieved_goal, desired_goal, info):
        # largest miss on any axis
        gap = gap_between(achieved_goal, desired_goal)
        if self.reward_type == "sparse":
            return -(gap > self.close_enough).astype(np.float32)
        else:
            return -gap


def fold_angle(x):
    return (x + np.pi) % (2 * np.pi) - np.pi


STRONGEST = 1.5


def metronome_cost(th, thdot, u):
    u = np.clip(u, -STRONGEST, STRONGEST)[0]
    return -(abs(fold_angle(th - 0.5)) + 0.05 * (thdot - 1.0) ** 2 + 0.002 * u**2)


def strain(action, weight=0.1, norm=None):
    """Return the strain, of the kind that is asked for."""
    if norm is None:
        return weight * np.sum(np.square(action))
    return weight * np.linalg.norm(action, ord=norm)


def docking_score(state, thrust, yaw_thrust, docked):
    score = (
        -50 * np.sqrt(state[0] * state[0] + state[1] * state[1])
        - 20 * (abs(state[2]) + abs(state[3]))
        - 30 * abs(state[4]) ** 1.5
        + 5 * state[5]
    )
    score -= thrust * 0.2 + yaw_thrust * 0.1
    if docked or abs(state[0]) >= 1.0:
        score = 100 if docked else -100
    return score


KANGAROO = {"_effort_weight": 0.1, "_speed_weight": 2.0}
GIANT = {
    "_hip_range": (1.0, 2.0),
    "_standing_reward": 3.0,
    "_impact_weight": 4e-4,
    "_impact_range": (-np.inf, 10.0),
}


def _stamp(row):
    made = make(Stamp, row, reward_type="sparse", close_enough=0.05)
    return made.compute_reward(row.achieved_goal, row.desired_goal, {})


PASTED = [
    Pasted(
        function=Kangaroo._get_rew,
        name="kangaroo",
        part=0,
        shared=KANGAROO,
        fields=numbers(-2, 2, hop_speed=()) + numbers(-1, 1, action=4),
        original=on_rows(lambda row: make(Kangaroo, row, **KANGAROO)._get_rew(row.hop_speed, row.action)[0]),
    ),
    Pasted(
        function=Giant._get_rew,
        name="giant",
        shared=GIANT,
        fields=[
            *numbers(-2, 2, x_velocity=()),
            *numbers(-1, 1, action=4),
            *numbers(0, 3, qpos=3),
            *numbers(-3000, 3000, cfrc_ext=(3, 6)),
        ],
        original=on_rows(lambda row: make(Giant, row, **GIANT)._get_rew(row.x_velocity, row.action)),
    ),
    Pasted(
        function=shovel_reward,
        fields=numbers(-1, 1, action=4, blade=3, heap=3, pit=3),
        original=on_rows(lambda row: shovel_reward(row.action, row.blade, row.heap, row.pit)),
    ),
    Pasted(
        function=Stamp.compute_reward,
        name="stamp",
        batched=True,
        fields=numbers(-0.05, 0.05, achieved_goal=3, desired_goal=3),
        shared={"reward_type": "sparse", "close_enough": 0.05},
        original=on_batch(_stamp),
    ),
    Pasted(
        function=metronome_cost,
        fields=numbers(-7, 7, th=(), thdot=()) + numbers(-3, 3, u=1),
        original=on_rows(lambda row: metronome_cost(row.th, row.thdot, row.u)),
    ),
    Pasted(
        function=strain,
        fields=numbers(-1, 1, action=4),
        original=on_rows(lambda row: strain(row.action)),
    ),
    Pasted(
        function=docking_score,
        fields=numbers(-1.2, 1.2, state=6, thrust=(), yaw_thrust=()) + flags(docked=()),
        original=on_rows(lambda row: docking_score(row.state, row.thrust, row.yaw_thrust, row.docked)),
    ),
]
