"""The reward of one phase of a research agent, with everything that went into it."""

from plaudit.systems.deepthinker.config import RewardConfig
from plaudit.systems.deepthinker.reward_signal import VERSIONS, RewardSignal, episode, reward, tuned, version
from plaudit.systems.deepthinker.reward_weights import RewardWeights

__all__ = [
    "VERSIONS",
    "RewardConfig",
    "RewardSignal",
    "RewardWeights",
    "episode",
    "reward",
    "tuned",
    "version",
]
