"""Words: what is packed comes back, and each number below a bound is drawn as often as the others."""

import jax
import jax.numpy as jnp
import numpy as np

from plaudit.systems.hackmatrix.arrays.words import (
    NOBODY,
    draw_below,
    draw_word,
    is_repeated,
    make_empty_slots,
    pack_slots,
    read_slot,
    unpack_slots,
    write_slot,
)
from support.hackmatrix_model.layouts import as_drawn

LISTS = np.random.default_rng(0).integers(0, 40, (500, 36))


def test_what_is_packed_comes_back():
    assert (jax.vmap(lambda numbers: unpack_slots(pack_slots(numbers)))(LISTS) == LISTS).all()


def test_every_slot_is_read_as_it_was_written():
    slots, values = np.arange(500) % 36, np.arange(500) % 250
    places = np.arange(500)

    @jax.vmap
    def changed(numbers, slot, value, when):
        words = write_slot(pack_slots(numbers), slot, value, when)
        return unpack_slots(words), read_slot(words, slot)

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
    assert (jax.vmap(lambda numbers, value: is_repeated(pack_slots(numbers), value))(LISTS, values) == wanted).all()
    assert 0 < wanted.sum() < 500


def test_a_new_list_holds_nobody():
    words = make_empty_slots(11, jnp.zeros(3, jnp.uint32))
    assert len(words) == 3
    assert (read_slot(words, jnp.array([0, 5, 10])) == NOBODY).all()


WORDS = np.random.default_rng(0).integers(0, 2**32, 2000, dtype=np.uint32)


def test_number_and_rest_are_the_product_of_word_and_bound():
    for bound in (1, 2, 3, 7, 9, 10, 20, 31, 32, 65535):
        number, rest = draw_below(jnp.asarray(WORDS), bound)
        product = WORDS.astype(np.uint64) * np.uint64(bound)
        assert (number == (product >> np.uint64(32)).astype(np.int32)).all()
        assert (rest == (product & np.uint64(0xFFFFFFFF)).astype(np.uint32)).all()


def test_words_of_near_seeds_and_numbers_are_uniform_and_independent():
    first, second, number = np.meshgrid(*[np.arange(32, dtype=np.uint32)] * 3, indexing="ij")
    words = np.asarray(draw_word((jnp.asarray(first), jnp.asarray(second)), jnp.asarray(number)))
    for shift in (0, 8, 16, 24):
        parts = words >> shift & 0xFF
        assert as_drawn(np.bincount(parts.ravel(), minlength=256).tolist())
        for axis in range(3):  # one word and the next: of a sequence, of two seeds
            along = np.moveaxis(parts >> 4, axis, 0)
            pairs = (along[:-1] << 4 | along[1:]).ravel()
            assert as_drawn(np.bincount(pairs, minlength=256).tolist())


def test_words_of_one_seed_are_its_own_and_differ():
    seed = jnp.asarray(WORDS[:2])
    words = draw_word(seed, jnp.arange(5000))
    assert len(set(words.tolist())) == 5000
    assert draw_word(seed, 4321) == words[4321]
