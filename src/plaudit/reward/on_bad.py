"""What is done about inputs that cannot be scored: three words, with one meaning wherever rewards are given.

`"raise"` an error; `"mask"`: no reward, never a 0, and counted; `"clip"`: hold numbers within their declared ranges,
and raise for anything else.
"""

from typing import get_args

from plaudit.errors import DefinitionError, did_you_mean
from plaudit.reward.reward import Reward
from plaudit.targets import OnBad


def apply_on_bad(reward: Reward, on_bad: str) -> Reward:
    """Return the reward to score with: with "clip" the one that holds numbers within their ranges."""
    validate_on_bad(on_bad)
    return reward.with_clipped_inputs() if on_bad == "clip" else reward


def validate_on_bad(on_bad: str) -> None:
    """Refuse a word that is not one of the three."""
    known = get_args(OnBad)
    if on_bad not in known:
        raise DefinitionError(f"on_bad={on_bad!r} is not one of {', '.join(known)}.{did_you_mean(str(on_bad), known)}")
