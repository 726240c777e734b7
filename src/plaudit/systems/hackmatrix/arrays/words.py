"""Words of 32 bits: lists of small numbers packed four to a word, and random draws."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from plaudit.systems.hackmatrix.plain.draws import MIX_FACTORS, MIX_STRIDE
from plaudit.systems.hackmatrix.rules import SLOTS

Array = jax.Array
Words = tuple[Array, ...]

_IN_WORD = 4
_WORDS = SLOTS // _IN_WORD
NOBODY = 255
"""What a slot holds that is not in use."""
_ONES = np.uint32(0x01010101)
_HIGH = np.uint32(0x80808080)
_REST = np.uint32(0x7F7F7F7F)


def pack_slots(numbers: Array) -> Words:
    """Return the numbers of all slots as words.

    >>> unpack_slots(pack_slots(jnp.arange(36)))[-3:].tolist()
    [33, 34, 35]
    """
    fields = numbers.astype(jnp.uint32).reshape(_WORDS, _IN_WORD)
    words = fields[:, 0] | fields[:, 1] << 8 | fields[:, 2] << 16 | fields[:, 3] << 24
    return tuple(words[number] for number in range(_WORDS))


def unpack_slots(words: Words) -> Array:
    """Return the numbers that `pack_slots` packed."""
    shifts = 8 * jnp.arange(_IN_WORD, dtype=jnp.uint32)
    return ((jnp.stack(words)[:, None] >> shifts) & 0xFF).reshape(-1).astype(jnp.int32)


def make_empty_slots(size: int, like: Array) -> Words:
    """Return words with room for `size` slots, none of them in use; one list an entry of `like`."""
    return (jnp.full_like(like, 0xFFFFFFFF, dtype=jnp.uint32),) * -(-size // _IN_WORD)


def read_slot(words: Words, slot: Array) -> Array:
    """Return the number of a slot; arithmetic also for slots beyond the ends, where it is any number."""
    word = words[0]
    for number, other in enumerate(words[1:], start=1):
        word = jnp.where(_find_word(slot) == number, other, word)
    return ((word >> _find_shift(slot)) & 0xFF).astype(jnp.int32)


def write_slot(words: Words, slot: Array, value: Array, when: Array) -> Words:
    """Return the words with another number for a slot, where `when` holds."""
    field, put = np.uint32(0xFF) << _find_shift(slot), value.astype(jnp.uint32) << _find_shift(slot)
    return tuple(
        jnp.where(when & (_find_word(slot) == number), (word & ~field) | put, word) for number, word in enumerate(words)
    )


def is_repeated(words: Words, value: Array) -> Array:
    """Return whether more than one slot has a number: a field is 0 when neither its high bit nor a carry is set."""
    copies = value.astype(jnp.uint32) * _ONES
    once = more = jnp.zeros_like(words[0], dtype=bool)
    for word in words:
        differs = word ^ copies
        equal = ~(((differs & _REST) + _REST) | differs) & _HIGH
        more |= ((equal & (equal - 1)) != 0) | (once & (equal != 0))
        once |= equal != 0
    return more


def _find_word(slot: Array) -> Array:
    return jax.lax.div(slot, np.int32(_IN_WORD))


def _find_shift(slot: Array) -> Array:
    return (jax.lax.rem(slot, np.int32(_IN_WORD)) * 8).astype(jnp.uint32)


def draw_word(seed: Array | tuple[Array, Array], number: Any) -> Array:
    """Return a random word of 32 bits, the one with a number of the sequence that a seed of two words begins.

    A mixer rather than a generator (Appleby's finalizer of MurmurHash3, once for each word of the seed), so that it is
    arithmetic inside of other arithmetic. The seeds are JAX's.
    """
    return _mix(_mix(seed[0] + jnp.asarray(number).astype(jnp.uint32) * np.uint32(MIX_STRIDE)) ^ seed[1])


def _mix(word: Array) -> Array:
    word = (word ^ word >> 16) * np.uint32(MIX_FACTORS[0])
    word = (word ^ word >> 13) * np.uint32(MIX_FACTORS[1])
    return word ^ word >> 16


def draw_below(word: Array, bound: Any) -> tuple[Array, Array]:
    """Return a number in 0 … bound - 1 from a uniform word of 32 bits, and a word for one more draw.

    Together they are the product of word and bound, its upper 32 bits and its lower ones. So a word serves several
    draws as long as the product of their bounds is small beside 2³². `bound` is below 2¹⁶.

    >>> number, rest = draw_below(jnp.uint32(0xC0000001), 4)
    >>> number.item(), rest.item()
    (3, 4)
    """
    bound = jnp.asarray(bound, jnp.uint32)
    upper = (word >> 16) * bound + ((word & 0xFFFF) * bound >> 16)
    return (upper >> 16).astype(jnp.int32), word * bound
