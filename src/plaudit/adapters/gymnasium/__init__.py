"""Gymnasium: a wrapper that gives an environment, or many at once, a plaudit reward."""

from plaudit.errors import MissingExtra

try:
    from plaudit.adapters.gymnasium.single import RewardWrapper
    from plaudit.adapters.gymnasium.vector import VectorRewardWrapper
except ModuleNotFoundError as error:
    if (error.name or "plaudit").partition(".")[0] == "plaudit":
        raise
    raise MissingExtra(f"the wrappers need {error.name}. Install it: pip install 'plaudit[gym]'") from None

__all__ = ["RewardWrapper", "VectorRewardWrapper"]
