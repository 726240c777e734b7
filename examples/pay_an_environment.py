"""Use your reward in a Gymnasium environment and see the value of each term.

Run it: `python examples/pay_an_environment.py`. Needs `pip install 'plaudit[gym]'`.
"""

import gymnasium

from plaudit import Field, Reward, term
from plaudit.adapters.gymnasium import RewardWrapper


@term
def upright(angle, *, limit=0.2095):
    """1 if the pole is upright, 0 if it falls."""
    return 1.0 - abs(angle) / limit


@term(weight=-0.1)
def drift(position):
    """Stay in the middle."""
    return position * position


balance = Reward(
    "balance",
    version="1",
    terms=[upright, drift],
    fields=[Field("angle", unit="rad", low=-1, high=1), Field("position", unit="m", low=-5, high=5)],
)


def features(obs, action, next_obs, info):
    """Return the inputs of the reward, for one environment or many at once."""
    return {"angle": next_obs[..., 2], "position": next_obs[..., 0]}


env = RewardWrapper(gymnasium.make("CartPole-v1"), balance, features)
policies = {
    "push left": lambda obs: 0,
    "at random": lambda obs: env.action_space.sample(),
    "against the fall": lambda obs: int(obs[2] + obs[3] > 0),
}
env.action_space.seed(0)
for name, policy in policies.items():
    obs, _ = env.reset(seed=0)
    steps, paid, over = 0, 0.0, False
    while not over:
        obs, reward, terminated, truncated, info = env.step(policy(obs))
        steps, paid, over = steps + 1, paid + reward, terminated or truncated
    terms = {term: round(float(value), 2) for term, value in info["episode_reward_components"].items()}
    print(f"{name:17} {steps:4} steps, return {paid:7.2f}: {terms}")
env.close()
