"""Tasks of an arm with a gripper: a peg, a hatch, a button and a cord, with fuzzy products."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from language.pasted import libraries as reward_utils
from support.pasted import Pasted, make, numbers, on_rows


class Peg:
    HOLE_RADIUS: float = 0.05

    @property
    def tcp_center(self) -> npt.NDArray[Any]:
        """Midway between the fingers."""
        return 0.5 * (self.finger_right + self.finger_left)

    def _pinch_reward(self, action, peg_pos, peg_radius, reach=0.05, lenient=False):
        if lenient and reach <= 0:
            raise ValueError("A lenient pinch needs some reach.")
        aside = np.abs(self.finger_right[1] - peg_pos[1])
        around = reward_utils.tolerance(aside, bounds=(peg_radius, 0.06), margin=0.12, sigmoid="long_tail")
        slack = np.linalg.norm(self.peg_start[[0, 2]] - self.tcp_start[[0, 2]]) - reach
        above = reward_utils.tolerance(
            np.linalg.norm(self.tcp_center[[0, 2]] - peg_pos[[0, 2]]),
            bounds=(0, reach),
            margin=np.abs(slack) + 0.1,
            sigmoid="long_tail",
        )
        closed = min(max(0, action[-1]), 1.0)
        pinch = reward_utils.hamacher_product(around, above)
        if lenient:
            return 0.5 * (pinch + (closed if pinch > 0.9 else 0.0))
        return reward_utils.hamacher_product(pinch, closed)

    def compute_reward(self, action: npt.NDArray[Any], obs: npt.NDArray[np.float64]) -> tuple[float, float, float]:
        peg = obs[4:7]
        opened = obs[3]
        to_hole = float(np.linalg.norm(peg - self._target_pos))
        to_peg = float(np.linalg.norm(self.tcp_center - peg))
        placed = reward_utils.tolerance(to_hole, bounds=(0, self.HOLE_RADIUS), margin=0.5, sigmoid="long_tail")
        held = self._pinch_reward(action, peg, 0.02, lenient=True)
        reward = reward_utils.hamacher_product(held, placed)

        if to_peg < 0.2 and opened > 0:
            reward += 1.0 + 4.0 * placed
        if to_hole < self.HOLE_RADIUS:
            reward = 10.0
        return reward, to_peg, to_hole


class Hatch:
    @staticmethod
    def _grip_share(actions: npt.NDArray[Any]) -> float:
        return float((np.clip(actions[3], -1, 1) + 1.0) / 2.0)

    @staticmethod
    def _approach_and_swing(obs, angle: float) -> tuple[float, float]:
        hand = obs[:3]
        handle = obs[4:7] + np.array([0, 0.03, 0.01])
        aside = np.linalg.norm(hand[:2] - handle[:2])
        # stay above a cone around the handle
        if aside <= 0.1:
            cone = 0.0
        else:
            cone = 0.5 * np.sqrt(aside - 0.1)
        clear = (
            1.0
            if hand[2] >= cone
            else reward_utils.tolerance(
                cone - hand[2],
                bounds=(0.0, 0.02),
                margin=cone / 3.0 if cone > 0.03 else 0.01,
                sigmoid="long_tail",
            )
        )
        near = reward_utils.tolerance(np.linalg.norm(hand - handle), bounds=(0, 0.06), margin=0.4, sigmoid="gaussian")
        swung = 0.3 * float(angle < -np.pi / 60.0) + 0.7 * reward_utils.tolerance(
            angle + np.pi / 2.0,
            bounds=(0, 0.4),
            margin=np.pi / 4.0,
            sigmoid="gaussian",
        )
        return reward_utils.hamacher_product(clear, near), swung

    def compute_reward(self, actions, obs):
        assert self._target_pos is not None, "There is no target before the first reset."
        steps = self._approach_and_swing(obs, self.hatch_joint)
        grip = self._grip_share(actions)
        reward = sum([3.0 * reward_utils.hamacher_product(steps[0], grip), 7.0 * steps[1]])
        # open is open
        if abs(obs[4] - self._target_pos[0]) <= 0.08:
            reward = 10.0
        return reward


class Button:
    def compute_reward(self, act, obs):
        _DEPTH = 0.04
        gap = np.linalg.norm(obs[:3] - self._target_pos)
        start = np.linalg.norm(self.hand_start - self._target_pos)
        pressed = reward_utils.tolerance(gap, bounds=(0, _DEPTH), margin=start, sigmoid="long_tail")
        return [10 * pressed, gap, pressed]


class Cord:
    def compute_reward(self, act, obs):
        """The old one: take hold, and then pull."""
        knot = obs[4:7]
        reach = np.linalg.norm(knot - obs[:3])
        left = np.abs(knot[1] - self._target_pos[1])
        a, b = 500, 0.02
        pull = 0
        if reach < 0.5:
            pull = a * (self.cord_length - left) + a * np.exp(-(left**2) / b)
            pull = max(pull, 0)
        return [pull - 2 * reach, reach, left]


FIELDS = {
    each.name: each
    for each in [
        *numbers(-0.2, 0.2, _target_pos=3, finger_right=3, finger_left=3, peg_start=3, tcp_start=3, hand_start=3),
        *numbers(-0.3, 0.3, obs=7),
        *numbers(-1.5, 0.5, hatch_joint=()),
        *numbers(-1, 1, action=4, actions=4),
    ]
}


def _pasted(name, kind, fields, call, **options):
    return Pasted(
        function=kind.compute_reward,
        name=name,
        fields=[FIELDS[each] for each in fields.split()],
        original=on_rows(call),
        **options,
    )


PASTED = [
    _pasted(
        "peg",
        Peg,
        "action obs _target_pos finger_right finger_left peg_start tcp_start",
        lambda row: make(Peg, row).compute_reward(row.action, row.obs)[0],
        part=0,
    ),
    _pasted(
        "hatch",
        Hatch,
        "actions obs _target_pos hatch_joint",
        lambda row: make(Hatch, row).compute_reward(row.actions, row.obs),
    ),
    _pasted(
        "button",
        Button,
        "obs _target_pos hand_start",
        lambda row: make(Button, row).compute_reward(None, row.obs)[0],
        part=0,
    ),
    _pasted(
        "cord",
        Cord,
        "obs _target_pos",
        lambda row: make(Cord, row, cord_length=0.2).compute_reward(None, row.obs)[0],
        part=0,
        shared={"cord_length": 0.2},
    ),
]
