"""Random numbers as JAX and the compiled game draw them, in plain integers: the same seed makes the same game.

`Key`, `make_key`, `fold_in`, `split` and `draw_bits` are what `jax.random` has under these names (Threefry-2x32 with 20
rounds, Salmon et al. 2011, in JAX's partitionable order); the rest is `arrays/words.py`.
"""

from collections.abc import Callable

Key = tuple[int, int]
Seed = tuple[int, int]
"""Two random words of 32 bits, from which one part of the game draws all it needs."""

LAYOUT, PROGRAM_BLOCKS, NEW_TRANSMISSIONS, CONTENTS, CORNERS_AND_COUNTS = range(5)
"""The parts of a new board, each with a seed of its own."""

MIX_STRIDE = 0x9E3779B9
MIX_FACTORS = (0x85EBCA6B, 0xC2B2AE35)
"""The constants of `draw_word`: Appleby's finalizer of MurmurHash3, and the golden ratio between two numbers."""

_WORD = 0xFFFFFFFF
_PARITY = 0x1BD11BDA
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def make_key(seed: int) -> Key:
    """Return `jax.random.key(seed)` for a seed below 2³²."""
    return 0, seed


def fold_in(key: Key, number: int) -> Key:
    """Return `jax.random.fold_in(key, number)`."""
    return _encrypt(key, number)


def split(key: Key, at: int) -> Key:
    """Return `jax.random.split(key, …)[at]`."""
    return _encrypt(key, at)


def draw_bits(key: Key, at: int) -> int:
    """Return `jax.random.bits(key, (…,), jnp.uint32)[at]`."""
    high, low = _encrypt(key, at)
    return high ^ low


def draw_seed(key: Key, at: int) -> Seed:
    """Return the pair of words with a number, of those that a key gives."""
    return draw_bits(key, 2 * at), draw_bits(key, 2 * at + 1)


def _encrypt(key: Key, counter: int) -> tuple[int, int]:
    schedule = (*key, key[0] ^ key[1] ^ _PARITY)
    high, low = schedule[0], (counter + schedule[1]) & _WORD
    for round_ in range(5):
        for bits in _ROTATIONS[round_ % 2]:
            high = (high + low) & _WORD
            low = ((low << bits | low >> (32 - bits)) & _WORD) ^ high
        high = (high + schedule[(round_ + 1) % 3]) & _WORD
        low = (low + schedule[(round_ + 2) % 3] + round_ + 1) & _WORD
    return high, low


def derive_seed(seed: Seed, part: int) -> Seed:
    """Return the seed of a part of a new board."""
    return draw_word(seed, 2 * part), draw_word(seed, 2 * part + 1)


def draw_word(seed: Seed, number: int) -> int:
    """Return a random word of 32 bits, the one with a number of the sequence that a seed begins."""
    return _mix(_mix((seed[0] + number * MIX_STRIDE) & _WORD) ^ seed[1])


def _mix(word: int) -> int:
    word = (word ^ word >> 16) * MIX_FACTORS[0] & _WORD
    word = (word ^ word >> 13) * MIX_FACTORS[1] & _WORD
    return word ^ word >> 16


def draw_below(word: int, bound: int) -> tuple[int, int]:
    """Return a number in 0 … bound - 1 from a uniform word of 32 bits, and a word for one more draw.

    >>> draw_below(0xC0000001, 4)
    (3, 4)
    """
    product = word * bound
    return product >> 32, product & _WORD


Choose = Callable[[int], int]
"""Returns a number from 0 to below the one given; the next draw of a sequence each time."""


def make_chooser(seed: Seed) -> Choose:
    """Return what draws from the sequence of a seed, one word a draw."""
    number = -1

    def choose(bound: int) -> int:
        nonlocal number
        number += 1
        return draw_below(draw_word(seed, number), bound)[0]

    return choose
