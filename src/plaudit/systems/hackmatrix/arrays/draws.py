"""What random words say: further words, and numbers below a bound."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Array = jax.Array


def word(seed: Array | tuple[Array, Array], number: Any) -> Array:
    """Return a random word of 32 bits, the one with a number of the sequence that a seed of two words begins.

    A mixer rather than a generator (Appleby's finalizer of MurmurHash3, once for each word of the seed), so that it is
    arithmetic inside of other arithmetic. The seeds are JAX's.
    """
    return _mixed(_mixed(seed[0] + jnp.asarray(number).astype(jnp.uint32) * np.uint32(0x9E3779B9)) ^ seed[1])


def _mixed(word: Array) -> Array:
    word = (word ^ word >> 16) * np.uint32(0x85EBCA6B)
    word = (word ^ word >> 13) * np.uint32(0xC2B2AE35)
    return word ^ word >> 16


def below(word: Array, bound: Any) -> tuple[Array, Array]:
    """Return a number in 0 … bound - 1 from a uniform word of 32 bits, and a word for one more draw.

    Together they are the product of word and bound, its upper 32 bits and its lower ones. So a word serves several
    draws as long as the product of their bounds is small beside 2³². `bound` is below 2¹⁶.

    >>> number, rest = below(jnp.uint32(0xC0000001), 4)
    >>> number.item(), rest.item()
    (3, 4)
    """
    bound = jnp.asarray(bound, jnp.uint32)
    upper = (word >> 16) * bound + ((word & 0xFFFF) * bound >> 16)
    return (upper >> 16).astype(jnp.int32), word * bound
