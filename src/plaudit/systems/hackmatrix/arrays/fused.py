"""A function of numbers that a graphics card runs over a whole batch as one kernel."""

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap

_BLOCK = 32
"""Environments that go step by step together: the fewest a card can, since each group waits for its slowest."""


def fused(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function of a tree of numbers that under `vmap` on a GPU is a single kernel, and itself elsewhere.

    XLA makes several kernels of each turn of a loop, and starting them takes longer than what they do; here the loop
    is inside of the kernel. The function may do arithmetic and loops, and use no array but its arguments.

    >>> jax.vmap(fused(lambda pair: pair[0] + pair[1]))((jnp.arange(3), jnp.arange(3))).tolist()
    [0, 2, 4]
    """
    traced = jax.jit(function)  # once for all batches

    @custom_vmap
    def run(tree: Any) -> Any:
        return traced(tree)

    @run.def_vmap
    def batch(size: int, batched: Any, tree: Any) -> tuple[Any, Any]:
        full = jax.tree.map(
            lambda leaf, is_batched: leaf if is_batched else jnp.broadcast_to(leaf, (size, *leaf.shape)),
            tree,
            batched[0],
        )
        plain = jax.vmap(traced)
        result = (
            jax.lax.platform_dependent(full, cuda=lambda tree: _run_kernel(traced, size, tree), default=plain)
            if has_gpu()
            else plain(full)  # building the kernel takes a fifth of the time in which a step is traced
        )
        return result, jax.tree.map(lambda _: True, result)

    return run


@cache
def has_gpu() -> bool:
    """Return whether JAX has a graphics card to run kernels on."""
    try:
        return bool(jax.devices("cuda"))
    except RuntimeError:
        return False


def any_environment(flags: jax.Array) -> jax.Array:
    """Return whether a flag holds for any environment of a block, or for the only one: when a loop goes on."""
    return jnp.max(flags.astype(jnp.int32)) > 0  # Triton has no reduction of flags


def _shape_like(size: int, array: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct((size,), array.dtype)  # type: ignore[no-untyped-call]


def _run_kernel(function: Callable[[Any], Any], size: int, tree: Any) -> Any:
    from jax.experimental import pallas
    from jax.experimental.pallas import triton

    leaves, inner = jax.tree.flatten(tree)
    padded = -(-size // _BLOCK) * _BLOCK
    leaves = [jnp.pad(leaf, (0, padded - size), mode="edge") for leaf in leaves]
    blocks = jax.tree.unflatten(inner, [_shape_like(_BLOCK, leaf) for leaf in leaves])
    results, outer = jax.tree.flatten(jax.eval_shape(function, blocks))

    def kernel(*references: Any) -> None:
        inputs = [reference[...] for reference in references[: len(leaves)]]
        outputs = jax.tree.leaves(function(jax.tree.unflatten(inner, inputs)))
        for reference, output in zip(references[len(leaves) :], outputs, strict=True):
            reference[...] = output

    lanes = pallas.BlockSpec((_BLOCK,), lambda number: (number,))
    out = pallas.pallas_call(
        kernel,
        out_shape=[_shape_like(padded, result) for result in results],
        grid=(padded // _BLOCK,),
        in_specs=[lanes] * len(leaves),
        out_specs=[lanes] * len(results),
        compiler_params=triton.CompilerParams(num_warps=1),
    )(*leaves)
    return jax.tree.unflatten(outer, [each[:size] for each in out])
