"""LunarLander's own reward, and a bonus for every leg on the ground."""

from plaudit import Field, Reward, Task, term


@term
def flight(original_reward):
    """What the environment pays itself."""
    return original_reward


@term(weight=5.0)
def legs(left, right):
    """A leg on the ground is a good sign."""
    return (1.0 if left else 0.0) + (1.0 if right else 0.0)


def has_landed(landed):
    """It came to rest, in one piece."""
    return landed


landing = Reward(
    "landing",
    version="1",
    terms=[flight, legs],
    fields=[
        Field("original_reward", low=-200, high=200),
        Field("left", flag=True),
        Field("right", flag=True),
        Field("landed", flag=True),
    ],
    task=Task(goal=has_landed),
)


def features(obs, action, next_obs, info, env):
    """Return what the reward reads of a step."""
    landed = not env.lander.awake and not env.game_over
    return {"left": next_obs[6] > 0.5, "right": next_obs[7] > 0.5, "landed": landed}
