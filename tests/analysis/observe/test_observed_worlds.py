"""Small environments that are played as `observe` plays them: what looks like a law of theirs and is none is not told."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from plaudit.analysis import observe


class World(gymnasium.Env):
    """One number that is shown, moved by an action from -1 to 1."""

    action_space = spaces.Box(-1, 1, (1,), np.float32)
    observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float64)
    limit = 80

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.steps, self.info = self.begin(), 0, {}
        return np.array([self.x]), {}

    def step(self, action):
        self.steps += 1
        over = bool(self.move(float(action[0])))
        return np.array([self.x]), 0.0, over, self.steps >= self.limit and not over, self.info


class Late(World):
    """An action counts three steps later."""

    def begin(self):
        self.queue = [0.0] * 3
        return self.np_random.normal()

    def move(self, action):
        self.queue.append(action)
        self.x += 0.3 * self.queue.pop(0)


class Laps(World):
    """A lap counts from each visit of one side to the next of the other, as often as one likes."""

    limit = 150

    def begin(self):
        self.armed = True
        return 0.0

    def move(self, action):
        self.x = min(max(self.x + 0.15 * action, -2.5), 2.5)
        lap = self.armed and self.x > 1
        self.armed = (self.armed and not lap) or self.x < -1
        self.info = {"lap": lap}


class Growing(World):
    """Grows a bit more or less, and is over after 50 steps, however much that was."""

    def begin(self):
        return 0.0

    def move(self, action):
        self.x += 0.1 + 0.05 * self.np_random.random()
        return self.steps >= 50


class Warming(World):
    """Warms up to 20 degrees, and would cool down from above, which is never reached."""

    limit = 60

    def begin(self):
        return self.np_random.uniform(-10, 0)

    def move(self, action):
        self.x += 0.01 * (20 - self.x) + 0.05 * action


class Tripping(World):
    """Is over in the second step below 0.3, wherever that is."""

    limit = 10_000

    def begin(self):
        self.low = 0
        return 1.0

    def move(self, action):
        self.x = min(self.x + 0.05 * action, 1.2)
        self.low += self.x < 0.3
        return self.low > 1


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_what_earlier_actions_set_in_motion_is_not_kept_by_doing_nothing(seed):
    assert observe(Late, seed=seed).task.still == ()


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))])
def test_what_nothing_else_was_tried_for_is_no_limit_of_an_event(seed):
    assert observe(Laps, seed=seed).task.events["lap"].at_most is None


def test_ends_after_a_number_of_steps_are_not_at_a_threshold_of_what_grows_with_them():
    task = observe(Growing).task
    assert (list(task.ends), task.horizon) == (["timeout"], 50)
    assert task.monotone == {"obs": "up"}


def test_what_slows_down_the_further_it_gets_may_turn_around_beyond():
    assert observe(Warming).task.monotone == {}


@pytest.mark.parametrize("seed", [4, pytest.param(6, marks=pytest.mark.slow)])
def test_ends_that_are_as_common_just_within_a_threshold_are_not_due_to_it(seed):
    assert list(observe(Tripping, seed=seed).task.ends) == []
