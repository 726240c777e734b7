"""The native rewards of standard environments, and what is wanted there: `python examples/probes/standard.py`."""

import sys

from plaudit import Field, Reward, Task, term
from plaudit.analysis import probe


@term
def native(original_reward):
    """What the environment pays itself."""
    return original_reward


def build(name, low, high, *fields, **wanted):
    """Return the native reward of an environment, and what is wanted there."""
    paid = Field("original_reward", low=low, high=high)
    return Reward(name, version="native", terms=[native], fields=[paid, *fields], task=Task(**wanted))


def is_over(terminated):
    """The episode ended by itself."""
    return terminated


def has_won(original_reward):
    """The environment paid for the goal."""
    return original_reward > 0


OVER = Field("terminated", flag=True)
UPRIGHT = Field("upright", low=-1.1, high=1.1)

STANDARD = {
    "CartPole-v1": (
        build("cart-pole", 0, 1, Field("angle", low=-1, high=1), aim={"angle": 0}),
        lambda obs, action, next_obs, info: {"angle": next_obs[2]},
    ),
    "MountainCar-v0": (build("mountain-car", -1, 0, OVER, goal=is_over), None),
    "Acrobot-v1": (build("acrobot", -1, 0, OVER, goal=is_over), None),
    "Pendulum-v1": (
        build("pendulum", -20, 0, UPRIGHT, better={"upright": "high"}),
        lambda obs, action, next_obs, info: {"upright": next_obs[0]},
    ),
    "FrozenLake-v1": (build("frozen-lake", 0, 1, goal=has_won), None),
}

if __name__ == "__main__":
    for env, (reward, features) in STANDARD.items():
        print(probe(env, reward, features, steps=int(sys.argv[1]) if sys.argv[1:] else 100_000), end="\n\n")
