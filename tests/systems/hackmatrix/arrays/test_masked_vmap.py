"""Work for the few environments in need: the same as for each alone, under whatever transformation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from plaudit.systems.hackmatrix.arrays.masked_vmap import masked_vmap

RNG = np.random.default_rng(0)


def work(row):
    number, pair = row
    return jnp.concatenate([number[None] + 1, pair * number])


worked = masked_vmap(work)


def batch(*shape, share):
    needed = jnp.asarray(RNG.random(shape) < share)
    return needed, (jnp.asarray(RNG.integers(0, 99, shape)), jnp.asarray(RNG.integers(0, 99, (*shape, 2))))


def expected(needed, row):
    number, pair = (np.asarray(leaf) for leaf in row)
    computed = np.concatenate([number[..., None] + 1, pair * number[..., None]], axis=-1)
    return np.where(np.asarray(needed)[..., None], computed, 0)


@pytest.mark.parametrize("lanes", [1, 33, 1025])
def test_lanes_in_need_are_computed_and_the_others_are_zero(lanes):
    compute = jax.jit(jax.vmap(worked))
    for share in (0.0, 0.03, 0.5, 1.0):
        needed, row = batch(lanes, share=share)
        assert (compute(needed, row) == expected(needed, row)).all()


@pytest.mark.parametrize("needed", [False, True])
def test_one_environment_needs_no_vmap(needed):
    row = (jnp.int32(4), jnp.array([2, 3]))
    assert worked(jnp.bool_(needed), row).tolist() == ([5, 8, 12] if needed else [0, 0, 0])


def test_vmaps_nest():
    needed, row = batch(3, 5, 40, share=0.2)
    wanted = expected(needed, row)
    assert (jax.jit(jax.vmap(jax.jit(jax.vmap(jax.vmap(jax.jit(worked))))))(needed, row) == wanted).all()


def test_flag_or_row_may_be_shared_by_the_lanes():
    needed, row = batch(40, share=0.3)
    one = jax.tree.map(lambda leaf: leaf[0], row)
    repeated = jax.tree.map(lambda leaf: np.broadcast_to(leaf, (40, *leaf.shape)), one)
    assert (jax.jit(jax.vmap(worked, in_axes=(None, 0)))(True, row) == expected(np.ones(40, bool), row)).all()
    mixed = jax.jit(jax.vmap(worked, in_axes=(0, (0, None))))(needed, (row[0], one[1]))
    assert (mixed == expected(needed, (row[0], repeated[1]))).all()


def test_vmap_of_scan_and_scan_of_vmap_agree():
    needed, row = batch(6, 50, share=0.3)  # steps, lanes
    wanted = expected(needed, row).sum(axis=0)
    start = jnp.zeros(3, jnp.int32)

    def walk(needed, row):
        return jax.lax.scan(lambda total, each: (total + worked(*each), None), start, (needed, row))[0]

    def walk_all(needed, row):
        each_step = jax.vmap(lambda total, needed, row: total + worked(needed, row))
        return jax.lax.scan(
            lambda totals, each: (each_step(totals, *each), None), jnp.zeros((50, 3), jnp.int32), (needed, row)
        )[0]

    assert (jax.jit(jax.vmap(walk, in_axes=1))(needed, row) == wanted).all()
    assert (jax.jit(walk_all)(needed, row) == wanted).all()
