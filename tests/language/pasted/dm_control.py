"""Tasks of a physics engine whose rewards are products of tolerances."""

import numpy as np

from language.pasted import libraries as rewards
from support.pasted import Pasted, make, numbers, on_rows

_HEAD_HEIGHT = 1.1
_CLOSE = 0.05


class Ostrich:
    """A bird that runs in a plane."""

    def __init__(self, pace, random=None):
        self._pace = pace
        self._random = random

    def get_reward(self, physics):
        """Returns a reward to the agent."""
        tall = rewards.tolerance(physics.head_height(), bounds=(_HEAD_HEIGHT, float("inf")), margin=_HEAD_HEIGHT / 3)
        proud = 0.5 + 0.5 * physics.neck_upright()
        posture = 0.7 * tall + 0.3 * proud
        if self._pace == 0:
            return posture
        else:
            running = rewards.tolerance(
                physics.forward_speed(),
                bounds=(self._pace, float("inf")),
                margin=self._pace,
                value_at_margin=0,
                sigmoid="linear",
            )
            return posture * (0.25 + 0.75 * running)


class Seesaw:
    def _weigh(self, physics, sparse):
        if sparse:
            flat = rewards.tolerance(physics.tilt_cosine(), (0.98, 1)).prod()
            return flat * rewards.tolerance(physics.ball_offset(), (-0.1, 0.1))
        else:
            flat = (physics.tilt_cosine() + 1) / 2
            middle = 0.5 + 0.5 * rewards.tolerance(physics.ball_offset(), margin=1)
            gentle = rewards.tolerance(physics.control(), margin=1, value_at_margin=0, sigmoid="quadratic")[0]
            slow = rewards.tolerance(physics.tilt_speed(), margin=4).min()
            return flat.mean() * middle * (3 + gentle) / 4 * (1 + slow) / 2

    def get_reward(self, physics):
        return self._weigh(physics, sparse=False)


class Tongs:
    def _is_near(self, gap):
        return rewards.tolerance(gap, (0, _CLOSE), 3 * _CLOSE)

    def _holds(self, physics):
        width = np.linalg.norm(physics.upper_tip - physics.lower_tip)
        return self._is_near(abs(width - 0.1))

    def get_reward(self, physics):
        left = np.linalg.norm(physics.coal_pos[[0, 2]] - physics.hearth_pos[[0, 2]])
        return max(self._holds(physics) / 4, self._is_near(left))


class Eel:
    def get_reward(self, physics):
        """Returns a smooth reward."""
        prey_size = 0.08
        gap = np.hypot(physics.mouth[0] - physics.prey[0], physics.mouth[1] - physics.prey[1])
        return rewards.tolerance(gap, bounds=(0, prey_size), margin=4 * prey_size, sigmoid="long_tail")


class _Physics:
    """A physics engine, made of a row: what is asked for is a method."""

    def __init__(self, row):
        self._row = row

    def __getattr__(self, name):
        return lambda: getattr(self._row, name)


PASTED = [
    Pasted(
        function=Ostrich.get_reward,
        name="ostrich",
        shared={"_pace": 1.0},
        fields=numbers(-1, 2, head_height=(), neck_upright=(), forward_speed=()),
        original=on_rows(lambda row: Ostrich(1.0).get_reward(_Physics(row))),
    ),
    Pasted(
        function=Seesaw.get_reward,
        name="seesaw",
        fields=numbers(-1, 1, ball_offset=(), tilt_cosine=1, control=1, tilt_speed=1),
        original=on_rows(lambda row: make(Seesaw, row).get_reward(_Physics(row))),
    ),
    Pasted(
        function=Tongs.get_reward,
        name="tongs",
        fields=numbers(-0.1, 0.1, upper_tip=3, lower_tip=3, coal_pos=3, hearth_pos=3),
        original=on_rows(lambda row: make(Tongs, row).get_reward(row)),
    ),
    Pasted(
        function=Eel.get_reward,
        name="eel",
        fields=numbers(-0.3, 0.3, mouth=2, prey=2),
        original=on_rows(lambda row: Eel().get_reward(row)),
    ),
]
