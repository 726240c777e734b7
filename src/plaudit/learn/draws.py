"""Random numbers as a function of a key: the same key, the same numbers, on every machine and in any order."""

import math
from hashlib import sha256
from operator import index
from typing import Any

from plaudit.errors import WrongType

MASK = (1 << 64) - 1
KEYED, COUNTED, DRAWN = 0x9E3779B97F4A7C15, 0xD1342543DE82EF95, 0xAF251AF3B0F025B5
"""What a key, the number of a decision and the number of a draw are multiplied with: odd, and of no pattern."""
FINISHED = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
"""The multipliers of SplitMix64's finishing step."""


def parse_key(key: Any) -> int:
    """Return a key as a plain int, whichever kind of integer it is."""
    try:
        return index(key)
    except TypeError:
        raise WrongType(f"key={key!r:.60} is not an integer; derive_key(seed, name) makes one of a name.") from None


def derive_key(seed: int, name: str) -> int:
    """Return a key that belongs to a seed and a name, such as the id of a decision.

    >>> derive_key(7, "a") == derive_key(7, "a"), derive_key(7, "a") == derive_key(8, "a")
    (True, False)
    """
    return int.from_bytes(sha256(f"{seed}/{name}".encode()).digest()[:6])


def draw_uniform(key: int, number: int, draw: int = 0) -> float:
    """Return a number from 0 up to 1 that belongs to a key, the number of a decision, and which draw of it this is.

    It is the finishing step of SplitMix64 (Steele, Lea and Flood, 2014) over a counter.

    >>> draw_uniform(7, 0) == draw_uniform(7, 0), draw_uniform(7, 0) == draw_uniform(7, 1)
    (True, False)
    """
    z = (key * KEYED + number * COUNTED + draw * DRAWN + 1) & MASK
    z = ((z ^ (z >> 30)) * FINISHED[0]) & MASK
    z = ((z ^ (z >> 27)) * FINISHED[1]) & MASK
    return ((z ^ (z >> 31)) >> 11) * 2.0**-53


def draw_normals(key: int, number: int, count: int) -> list[float]:
    """Return `count` numbers from a standard normal distribution, by the method of Box and Muller.

    >>> len(draw_normals(7, 0, 3))
    3
    """
    drawn: list[float] = []
    for at in range(0, count, 2):
        length = math.sqrt(-2.0 * math.log(1.0 - draw_uniform(key, number, at + 1)))
        angle = 2.0 * math.pi * draw_uniform(key, number, at + 2)
        drawn += (length * math.cos(angle), length * math.sin(angle))
    return drawn[:count]
