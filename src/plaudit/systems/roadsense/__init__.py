"""The reward of a car that follows a convoy and hears its warnings over the radio."""

from plaudit.systems.roadsense.drive import episode
from plaudit.systems.roadsense.reward_calculator import RewardCalculator
from plaudit.systems.roadsense.versions import VERSIONS, reward, version

__all__ = ["VERSIONS", "RewardCalculator", "episode", "reward", "version"]
