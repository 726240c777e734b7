"""The `c` target: a reward as one header of C99, which C++ takes too, and the program that tests it."""

from plaudit.targets.c.harness import write_harness
from plaudit.targets.c.reward import CReward

__all__ = ["CReward", "write_harness"]
