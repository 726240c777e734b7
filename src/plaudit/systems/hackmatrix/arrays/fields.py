"""A number below 256 for each slot of a list, four to a word: arithmetic reaches them where no array can be indexed."""

import jax
import jax.numpy as jnp
import numpy as np

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


def pack(numbers: Array) -> Words:
    """Return the numbers of all slots as words.

    >>> unpack(pack(jnp.arange(36)))[-3:].tolist()
    [33, 34, 35]
    """
    fields = numbers.astype(jnp.uint32).reshape(_WORDS, _IN_WORD)
    words = fields[:, 0] | fields[:, 1] << 8 | fields[:, 2] << 16 | fields[:, 3] << 24
    return tuple(words[number] for number in range(_WORDS))


def unpack(words: Words) -> Array:
    """Return the numbers that `pack` packed."""
    shifts = 8 * jnp.arange(_IN_WORD, dtype=jnp.uint32)
    return ((jnp.stack(words)[:, None] >> shifts) & 0xFF).reshape(-1).astype(jnp.int32)


def empty(size: int, like: Array) -> Words:
    """Return words with room for `size` slots, none of them in use; one list an entry of `like`."""
    return (jnp.full_like(like, 0xFFFFFFFF, dtype=jnp.uint32),) * -(-size // _IN_WORD)


def read(words: Words, slot: Array) -> Array:
    """Return the number of a slot; arithmetic also for slots beyond the ends, where it is any number."""
    word = words[0]
    for number, other in enumerate(words[1:], start=1):
        word = jnp.where(_word(slot) == number, other, word)
    return ((word >> _shift(slot)) & 0xFF).astype(jnp.int32)


def written(words: Words, slot: Array, value: Array, when: Array) -> Words:
    """Return the words with another number for a slot, where `when` holds."""
    field, put = np.uint32(0xFF) << _shift(slot), value.astype(jnp.uint32) << _shift(slot)
    return tuple(
        jnp.where(when & (_word(slot) == number), (word & ~field) | put, word) for number, word in enumerate(words)
    )


def repeated(words: Words, value: Array) -> Array:
    """Return whether more than one slot has a number: a field is 0 when neither its high bit nor a carry is set."""
    copies = value.astype(jnp.uint32) * _ONES
    once = more = jnp.zeros_like(words[0], dtype=bool)
    for word in words:
        differs = word ^ copies
        equal = ~(((differs & _REST) + _REST) | differs) & _HIGH
        more |= ((equal & (equal - 1)) != 0) | (once & (equal != 0))
        once |= equal != 0
    return more


def _word(slot: Array) -> Array:
    return jax.lax.div(slot, np.int32(_IN_WORD))


def _shift(slot: Array) -> Array:
    return (jax.lax.rem(slot, np.int32(_IN_WORD)) * 8).astype(jnp.uint32)
