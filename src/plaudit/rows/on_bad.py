"""How inputs that cannot be scored are treated. The three options mean the same everywhere.

`"raise"`: raise an error. `"mask"`: no reward (never a 0), and count the row. `"clip"`: clip numbers to their declared
ranges, and raise for anything else.
"""

from typing import get_args

from plaudit.errors import DefinitionError, TooManyMasked, did_you_mean
from plaudit.reward.reward import Reward
from plaudit.targets import OnBad

MAX_MASKED = 0.5
"""The default for the share that may be masked."""
_FEWEST = 10
"""A share of fewer samples is not checked: the first sample alone could be all of them."""


def apply_on_bad(reward: Reward, on_bad: str) -> Reward:
    """Return the reward to score with: with "clip", one that clips numbers to their ranges."""
    validate_on_bad(on_bad)
    return reward._with_clipped_inputs() if on_bad == "clip" else reward


def validate_on_bad(on_bad: str) -> None:
    """Refuse an option that is not one of the three."""
    known = get_args(OnBad)
    if on_bad not in known:
        raise DefinitionError(f"on_bad={on_bad!r} is not one of {', '.join(known)}.{did_you_mean(str(on_bad), known)}")


class MaskCount:
    """Count what "mask" left without a reward, and raise when its share exceeds `max_masked`.

    The share is taken of each batch, unless `per_batch` is False, and of everything so far, both from ten samples on.
    `fate` says what became of those that are counted.

    >>> count = MaskCount("sums", 0.5)
    >>> count.add(1, 8, "OutOfRange: ...")
    >>> count.masked, count.seen
    (1, 8)
    """

    def __init__(
        self,
        reward: str,
        max_masked: float = MAX_MASKED,
        *,
        unit: str = "samples",
        per_batch: bool = True,
        fate: str = "could not be scored",
    ) -> None:
        try:
            is_share = 0 < max_masked <= 1
        except TypeError:
            is_share = False
        if not is_share:
            raise DefinitionError(f"max_masked={max_masked!r} must be a fraction above 0 and at most 1.")
        self.masked = 0
        self.seen = 0
        self._reward, self._limit, self._unit, self._per_batch = reward, max_masked, unit, per_batch
        self._first, self._fate = "", fate

    def add(self, masked: int, seen: int, reason: str = "") -> None:
        """Count a batch; `reason` says why its first masked sample has no reward.

        Raises:
            TooManyMasked: More than `max_masked` of the batch, or of everything so far, is masked.
        """
        self.masked += masked
        self.seen += seen
        self._first = self._first or reason
        if self._per_batch:
            self._check(masked, seen, reason, self._unit)
        self._check(self.masked, self.seen, self._first, f"{self._unit} so far")

    def _check(self, masked: int, seen: int, reason: str, unit: str) -> None:
        if seen >= _FEWEST and masked / seen > self._limit:
            raise TooManyMasked(
                f"reward {self._reward!r}: {masked} of {seen} {unit} {self._fate}, which is more than "
                f"max_masked={self._limit}. The first: {reason}\n"
                "Fix what makes them fail, or raise max_masked; max_masked=1 allows any number."
            )
