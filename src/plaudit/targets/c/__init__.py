"""The `c` target: a reward as one header of C99, which C++ takes too."""

from plaudit.targets.c.reward import CReward

__all__ = ["CReward"]
