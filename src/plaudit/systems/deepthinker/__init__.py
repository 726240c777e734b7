"""The reward of one phase of a research agent, with everything that went into it."""

from plaudit.systems.deepthinker.config import RewardConfig
from plaudit.systems.deepthinker.reward_signal import RewardSignal, episode, reward, tuned
from plaudit.systems.deepthinker.reward_store import RewardRecord, RewardStore
from plaudit.systems.deepthinker.reward_weights import RewardWeights
from plaudit.systems.deepthinker.versions import VERSIONS, version

__all__ = [
    "VERSIONS",
    "RewardConfig",
    "RewardRecord",
    "RewardSignal",
    "RewardStore",
    "RewardWeights",
    "episode",
    "reward",
    "tuned",
    "version",
]
