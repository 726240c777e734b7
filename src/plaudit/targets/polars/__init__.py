"""The `polars` target: a reward as expressions, eager, lazy and streaming, with the numbers that Python gives."""

from plaudit.targets.polars.reward import PolarsReward

__all__ = ["PolarsReward"]
