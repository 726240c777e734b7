"""Work that only a few environments of a batch need: done for those, a bounded number of them at a time."""

from collections.abc import Callable
from functools import partial
from math import isqrt
from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap

Array = jax.Array

SHARE = 16
"""A batch has room for one in so many of its environments at a time, and at least for `FEWEST`."""
FEWEST = 32


def masked_vmap(function: Callable[[Any], Array]) -> Callable[[Array, Any], Array]:
    """Return `function` with a flag before its argument: what it returns where the flag is true, and zeros elsewhere.

    Under `vmap`, nested or not, the environments whose flag is true are gathered and only they are computed. The
    argument is a tree of arrays; random keys in it have to be plain words.

    >>> squares = masked_vmap(lambda number: number * number)
    >>> jax.vmap(squares)(jnp.array([True, False, True]), jnp.array([3, 4, 5])).tolist()
    [9, 0, 25]
    """
    traced = jax.jit(function)  # once, for its shape and for its work

    @custom_vmap
    def one(needed: Array, row: Any) -> Array:
        result = jax.eval_shape(traced, row)
        out: Array = jax.lax.cond(needed, traced, lambda row: jnp.zeros(result.shape, result.dtype), row)
        return out

    @custom_vmap
    def batch(needed: Array, rows: Any) -> Array:
        return _compute_needed(traced, needed, rows)

    @one.def_vmap
    def many(size: int, batched: Any, needed: Array, rows: Any) -> tuple[Array, bool]:
        return batch(*_repeat_shared(size, batched, (needed, rows))), True

    @batch.def_vmap
    def nested(size: int, batched: Any, needed: Array, rows: Any) -> tuple[Array, bool]:
        whole = _repeat_shared(size, batched, (needed, rows))
        out = batch(*jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), whole))
        return out.reshape(size, -1, *out.shape[1:]), True

    return lambda needed, row: one(*jax.tree.map(jnp.asarray, (needed, row)))


def _repeat_shared(size: int, batched: Any, given: Any) -> Any:
    """Return what was given with an axis for the environments also where they share it."""
    return jax.tree.map(
        lambda leaf, is_batched: leaf if is_batched else jnp.broadcast_to(leaf, (size, *leaf.shape)),
        given,
        tuple(batched),
    )


def _compute_needed(function: Callable[[Any], Array], needed: Array, rows: Any) -> Array:
    """Return the function of each row in need, by turns of as many as there is room for; no turn when none is."""
    count = needed.size
    room = min(count, max(FEWEST, count // SHARE))
    order, total = _find_needed(needed, length=-(-count // room) * room)
    result = jax.eval_shape(lambda rows: function(jax.tree.map(lambda leaf: leaf[0], rows)), rows)

    def turn(carried: tuple[Array, Array]) -> tuple[Array, Array]:
        done, out = carried
        chosen = jax.lax.dynamic_slice(order, (done,), (room,))
        some = jax.tree.map(lambda leaf: leaf.at[chosen].get(mode="clip"), rows)
        write = partial(out.at[chosen].set, mode="drop", unique_indices=True, indices_are_sorted=True)
        return done + room, write(jax.vmap(function)(some))

    start = jnp.int32(0), jnp.zeros((count, *result.shape), result.dtype)
    return jax.lax.while_loop(lambda carried: carried[0] < total, turn, start)[1]


def _find_needed(needed: Array, *, length: int) -> tuple[Array, Array]:
    """Return the numbers of the environments in need, rising, then numbers beyond them all; and how many are in need.

    They are laid out as a square and counted along and across it: three small kernels, where a running sum over
    all of them would be dozens on a GPU.
    """
    count = needed.size
    side = isqrt(count - 1) + 1
    square = jnp.pad(needed, (0, side * side - count)).reshape(side, side)
    places = jnp.arange(side)
    earlier = places[:, None] < places
    along = (square[:, :, None] & earlier).sum(axis=1, dtype=jnp.int32)
    counts = square.sum(axis=1, dtype=jnp.int32)
    above = jnp.where(earlier, counts[:, None], 0).sum(axis=0)
    position = jnp.where(square, above[:, None] + along, length).reshape(-1)
    beyond = count + jnp.arange(length, dtype=jnp.int32)
    numbers = jnp.arange(side * side, dtype=jnp.int32)
    return beyond.at[position].set(numbers, mode="drop"), counts.sum()
