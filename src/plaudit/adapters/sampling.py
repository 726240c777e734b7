"""Sampling by episode: each is recorded whole or not at all, by a hash that knows nothing of what happens in it.

The hash is a few integer operations on the seed, the environment and how many episodes it has begun. NumPy, JAX and
PyTorch compute the same, so that a device and the host choose the same episodes, and a device keeps counts alone.
"""

from collections.abc import Callable
from hashlib import blake2b
from math import ceil, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_MASK = 0xFFFFFFFF
_ROUNDS = ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1))
"""Shifts and factors of the last step of MurmurHash3, which spreads every bit over all 32."""
_DEVIATIONS = 8
"""A sum of independent draws is as many standard deviations above its mean less often than once in 10^14."""


class EpisodeSample(NamedTuple):
    """Which episodes are recorded: a share `rate` of them, chosen by `salt`."""

    rate: float
    salt: int

    @classmethod
    def draw(cls, rate: float, seed: int, *writer: object) -> "EpisodeSample":
        """Return the sample of a writer: two with the same seed choose different episodes."""
        digest = blake2b(repr((seed, *writer)).encode(), digest_size=4).digest()
        return cls(rate, int.from_bytes(digest, "little"))

    def choose(self, envs: Any, begun: Any, word: Callable[[int], Any] = int) -> Any:
        """Return which environments record their episode, of which each has begun `begun` before.

        `envs` and `begun` are arrays of 64 bits, or of 32 without a sign; `word` turns constants into what they take.
        """
        mask = word(_MASK)
        mixed = _scramble((envs + word(self.salt)) & mask, word, mask)
        mixed = _scramble((mixed + begun * word(0x9E3779B1)) & mask, word, mask)
        return mixed < word(min(_MASK, round(self.rate * 2**32)))

    def estimate_capacity(self, envs: int) -> int:
        """Return how many of the environments record at once at most, by chance that never comes true."""
        mean = self.rate * envs
        return min(envs, ceil(mean + _DEVIATIONS * sqrt(mean) + 2 * _DEVIATIONS))


def _scramble(mixed: Any, word: Callable[[int], Any], mask: Any) -> Any:
    for shift, factor in _ROUNDS:
        mixed = ((mixed ^ (mixed >> word(shift))) * word(factor)) & mask
    return mixed


class SampledEpisodes:
    """The environments of one writer: how many episodes each has begun, and which of them it records."""

    def __init__(self, sample: EpisodeSample, envs: int) -> None:
        """Let each environment begin its first episode."""
        self._sample, self._envs = sample, np.arange(envs)
        self._begun = np.zeros(envs, np.int64)
        self._stepped = np.zeros(envs, np.bool_)
        self.recorded: NDArray[np.bool_] = sample.choose(self._envs, self._begun)

    def step(self, which: Any) -> Any:
        """Let some environments take a step, and return which of these are to be recorded."""
        self._stepped[which] = True
        return self.recorded[which]

    def begin(self, which: Any) -> None:
        """Let some environments begin another episode; one without steps does not count."""
        which = np.atleast_1d(which)
        self._begun[which] += self._stepped[which]
        self._stepped[which] = False
        self.recorded[which] = self._sample.choose(self._envs[which], self._begun[which])
