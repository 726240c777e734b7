import jax
import jax.numpy as jnp
import numpy as np

from plaudit.systems.hackmatrix.arrays.fields import NOBODY, empty, pack, read, repeated, unpack, written

LISTS = np.random.default_rng(0).integers(0, 40, (500, 36))


def test_what_is_packed_comes_back():
    assert (jax.vmap(lambda numbers: unpack(pack(numbers)))(LISTS) == LISTS).all()


def test_every_slot_is_read_as_it_was_written():
    slots, values = np.arange(500) % 36, np.arange(500) % 250
    places = np.arange(500)

    @jax.vmap
    def changed(numbers, slot, value, when):
        words = written(pack(numbers), slot, value, when)
        return unpack(words), read(words, slot)

    after, found = changed(jnp.asarray(LISTS), slots, values, jnp.ones(500, bool))
    wanted = LISTS.copy()
    wanted[places, slots] = values
    assert (after == wanted).all()
    assert (found == values).all()
    same, _ = changed(jnp.asarray(LISTS), slots, values, jnp.zeros(500, bool))
    assert (same == LISTS).all()


def test_a_number_is_repeated_when_two_slots_have_it():
    values = np.arange(500) % 40
    wanted = (values[:, None] == LISTS).sum(axis=1) > 1
    assert (jax.vmap(lambda numbers, value: repeated(pack(numbers), value))(LISTS, values) == wanted).all()
    assert 0 < wanted.sum() < 500


def test_a_new_list_holds_nobody():
    words = empty(11, jnp.zeros(3, jnp.uint32))
    assert len(words) == 3
    assert (read(words, jnp.array([0, 5, 10])) == NOBODY).all()
