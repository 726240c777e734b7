"""The jitted reward on an accelerator, against a plain copy of as many bytes, and against sums in as many arrays.

The sums read every column and write arrays of the same types as the reward: what XLA makes of a kernel with that many
arrays, whatever it computes.

`python bench/gpu.py [rows]`: needs JAX and NumPy alone, and runs from a checkout without installing it.
"""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

import jax
import jax.numpy as jnp
from timing import QUICK, size

from plaudit.systems import hackmatrix, roadsense

CALLS, ROUNDS = (1, 1) if QUICK else (10, 10)
GUARDS = (True,) if QUICK else (False, True)


def timed(work, *arguments) -> float:
    """Return the best time of a call over several rounds of calls queued one after another, as in training."""
    jax.block_until_ready(work(*arguments))
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(CALLS):
            out = work(*arguments)
        jax.block_until_ready(out)
        best = min(best, (time.perf_counter() - start) / CALLS)
    return best


def size_of(tree) -> int:
    """Return the bytes of every array in a tree."""
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree_util.tree_leaves(tree))


def write_sums(columns, kinds) -> list[jax.Array]:
    """Return an array of each kind, all different, of the sum of the columns."""
    total = sum(column.astype(jnp.float32) for column in columns.values())
    return [total > at if kind == jnp.bool_ else (total + at).astype(kind) for at, kind in enumerate(kinds)]


def report(name: str, reward, columns, rows: int) -> None:
    for guard in GUARDS:
        compiled = reward.compile("jax", guard=guard)
        contents = {"total and values": lambda inputs, run=compiled: run(inputs)[:2], "and scores, ok": compiled}
        for content, work in contents.items():
            score = jax.jit(work)
            moved = size_of(columns) + size_of(score(columns))
            seconds = timed(score, columns)
            half = jnp.zeros(moved // 8, jnp.float32)
            copy = timed(jax.jit(lambda x: x + 1), half)
            rate, peak = moved / seconds / 1e9, size_of(half) * 2 / copy / 1e9
            kinds = [leaf.dtype for leaf in jax.tree_util.tree_leaves(score(columns))]
            alike = timed(jax.jit(lambda inputs, kinds=kinds: write_sums(inputs, kinds)), columns)
            label = f"{name}, {'guarded' if guard else 'no guard'}, {content}"
            shares = f"{rate / peak:4.0%} of a copy  {alike / seconds:4.0%} of sums"
            print(f"{label:46} {rows / seconds / 1e9:6.1f} G rows/s  {rate:5,.0f} GB/s  {shares}")


def main(rows: int) -> None:
    print(f"{jax.devices()[0].device_kind}, jax {jax.__version__}, {rows:,} transitions, float32")
    keys = jax.random.split(jax.random.key(0), 32)
    report(
        "roadsense",
        roadsense.reward,
        {
            "distance": jax.random.uniform(keys[0], (rows,), maxval=60.0),
            "deceleration": jax.random.uniform(keys[1], (rows,), minval=-6.0, maxval=6.0),
            "action": jax.random.randint(keys[2], (rows,), 0, 4, dtype=jnp.int8),
        },
        rows,
    )
    few = rows // 4  # twenty columns in, thirty-one out
    columns = {}
    for key, (name, field) in zip(keys, hackmatrix.reward.program.inputs.items(), strict=False):
        if field.kind == "flag":
            columns[name] = jax.random.bernoulli(key, 0.1, (few,))
        elif field.numbers:
            low, high = int(min(field.numbers)), int(max(field.numbers))
            columns[name] = jax.random.randint(key, (few,), low, high + 1, dtype=jnp.int8)
        else:
            columns[name] = jnp.floor(jax.random.uniform(key, (few,), maxval=field.high))
    report("hackmatrix", hackmatrix.reward, columns, few)


if __name__ == "__main__":
    main(size(64_000_000, quick=1_000))
