"""What random words say: each number below a bound as often as the others, and orders without gaps."""

import jax.numpy as jnp
import numpy as np

from hackmatrix_model.layouts import as_drawn
from plaudit.systems.hackmatrix.arrays.draws import below, word

WORDS = np.random.default_rng(0).integers(0, 2**32, 2000, dtype=np.uint32)


def test_number_and_rest_are_the_product_of_word_and_bound():
    for bound in (1, 2, 3, 7, 9, 10, 20, 31, 32, 65535):
        number, rest = below(jnp.asarray(WORDS), bound)
        product = WORDS.astype(np.uint64) * np.uint64(bound)
        assert (number == (product >> np.uint64(32)).astype(np.int32)).all()
        assert (rest == (product & np.uint64(0xFFFFFFFF)).astype(np.uint32)).all()


def test_words_of_near_seeds_and_numbers_are_uniform_and_independent():
    first, second, number = np.meshgrid(*[np.arange(32, dtype=np.uint32)] * 3, indexing="ij")
    words = np.asarray(word((jnp.asarray(first), jnp.asarray(second)), jnp.asarray(number)))
    for shift in (0, 8, 16, 24):
        parts = words >> shift & 0xFF
        assert as_drawn(np.bincount(parts.ravel(), minlength=256).tolist())
        for axis in range(3):  # one word and the next: of a sequence, of two seeds
            along = np.moveaxis(parts >> 4, axis, 0)
            pairs = (along[:-1] << 4 | along[1:]).ravel()
            assert as_drawn(np.bincount(pairs, minlength=256).tolist())


def test_words_of_one_seed_are_its_own_and_differ():
    seed = jnp.asarray(WORDS[:2])
    words = word(seed, jnp.arange(5000))
    assert len(set(words.tolist())) == 5000
    assert word(seed, 4321) == words[4321]
