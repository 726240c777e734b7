"""Where blocks stand: on uniform choices of cells, of which exactly the playable ones are taken."""

from collections import Counter
from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import binomtest, chi2_contingency

from hackmatrix_model.boards import entry
from hackmatrix_model.layouts import CORNERS, PLACES, as_drawn, connected, siphonable
from plaudit.systems.hackmatrix.arrays.bitboard import Board
from plaudit.systems.hackmatrix.boards.layouts import ATTEMPTS, Wanted, attempt, eligible_cells, is_valid, layout

NONE = Board(jnp.uint32(0), jnp.uint32(0))
INNER = [place for place in PLACES if place not in CORNERS]

# How many of all choices of 5, 6, … 11 of the 32 cells will do, counted one by one.
CHOICES = (201_376, 906_192, 3_365_856, 10_518_300, 28_048_800, 64_512_240, 129_024_480)
VALID_EXIT_AT_START = (176_144, 712_660, 2_241_588, 5_438_096, 9_984_124, 13_519_898, 13_115_536)
VALID_EXIT_ELSEWHERE = (169_840, 675_112, 2_077_678, 4_912_880, 8_773_982, 11_577_468, 11_016_302)


def number(place):
    return 6 * place[0] + place[1]


def board(places):
    cells = np.zeros((6, 6), bool)
    for place in places:
        cells[place] = True
    return Board.of(jnp.asarray(cells))


def places_of(boards):
    """Return, for each of many sets, the places in it."""
    bits = np.asarray(boards.lower).astype(np.uint64) | np.asarray(boards.upper).astype(np.uint64) << np.uint64(18)
    return [frozenset(place for place in PLACES if int(word) >> number(place) & 1) for word in bits]


check = jax.jit(jax.vmap(lambda cells, exit: is_valid(Board.of(cells), exit), in_axes=(0, None)))


def attempts(seed, numbers, count, exit_, taken):
    """Return attempts by their numbers: the boards, and which of them will do."""
    wanted = Wanted(seed, count, exit_, eligible_cells(taken))
    blocks = jax.vmap(attempt, in_axes=(None, 0))(wanted, numbers)
    return blocks, jax.vmap(is_valid, in_axes=(0, None))(blocks, exit_)


def seeds(seed, count):
    words = jax.random.bits(jax.random.key(seed), (2, count), jnp.uint32)
    return words[0], words[1]


@jax.jit
def tried(seed, count, exit_, taken):
    """Return 4,000 attempts, 40 of each of 100 seeds: the boards, and which of them will do."""
    some = jax.vmap(lambda seed: attempts(seed, jnp.arange(40), count, exit_, taken))(seeds(seed, 100))
    return jax.tree.map(lambda leaf: leaf.reshape(-1), some)


@jax.jit
def layouts(seed, count, exit_, taken):
    """Return 12,000 layouts, and all the attempts of the first of them."""
    given = seeds(seed, 12_000)
    some = jax.vmap(lambda seed: attempts(seed, jnp.arange(ATTEMPTS), count, exit_, taken))(
        jax.tree.map(lambda words: words[:40], given)
    )
    return jax.vmap(layout, in_axes=(0, None, None, None))(given, count, exit_, taken), some


def is_playable(blocks, exit_):
    return connected(blocks, exit_) and siphonable(blocks)


@pytest.mark.parametrize("exit_", CORNERS)
def test_layout_is_valid_when_a_walk_over_the_board_says_so(exit_):
    rng = np.random.default_rng(number(exit_))
    blocks = [{INNER[at] for at in rng.permutation(32)[: rng.integers(0, 14)]} for _ in range(1500)]
    cells = jnp.asarray([[place in each for place in PLACES] for each in blocks])
    valid = check(cells, board([exit_]))
    assert valid.tolist() == [is_playable(each, exit_) for each in blocks]
    assert 200 < sum(valid.tolist()) < 1300


def test_only_an_exit_at_the_start_may_be_the_one_way_between_two_parts():
    cut_off = {(0, 4), (1, 4), (2, 5)}  # (0, 5) leads to (1, 5) and nowhere else
    assert not is_valid(board(cut_off), NONE)
    through_start = {(1, 1), (2, 0)}  # (1, 0) is reached through (0, 0) only
    assert is_valid(board(through_start), board([(0, 0)]))
    through_corner = {(1, 4), (2, 5)}  # (1, 5) is reached through (0, 5) only
    assert is_valid(board(through_corner), NONE)
    assert not is_valid(board(through_corner), board([(0, 5)]))


def test_longest_way_of_a_layout_is_walked_to_its_end():
    winding = {PLACES[at] for at in (2, 6, 8, 10, 14, 16, 19, 22, 26, 27)}  # 23 steps from (0, 0) to the last cell
    assert is_playable(winding, (0, 0))
    assert is_valid(board(winding), board([(0, 0)]))


@pytest.mark.parametrize("count", range(5, 12))
def test_attempts_are_choices_of_so_many_eligible_cells(count):
    taken = {(1, 1), (2, 3), (0, 0), (5, 2), (4, 4)}
    blocks, _ = tried(count, count, NONE, board(taken))
    for each in places_of(blocks):
        assert len(each) == count
        assert not each & (taken | set(CORNERS))


@pytest.mark.parametrize("count", range(5, 12))
@pytest.mark.parametrize("exit_", CORNERS)
def test_as_many_attempts_succeed_as_there_are_valid_layouts(count, exit_):
    valid = VALID_EXIT_AT_START if exit_ == (0, 0) else VALID_EXIT_ELSEWHERE
    _, fits = tried(100 * count + number(exit_), count, board([exit_]), NONE)
    assert binomtest(int(fits.sum()), 4000, valid[count - 5] / CHOICES[count - 5]).pvalue > 1e-4


def test_all_valid_layouts_are_equally_likely():
    eligible = [(0, 3), (0, 4), (1, 4), (1, 5), (2, 2), (2, 3), (2, 5), (3, 2), (3, 3), (4, 1), (5, 1)]
    taken = board(set(INNER) - set(eligible))
    valid = [frozenset(each) for each in combinations(eligible, 6) if is_playable(set(each), (0, 5))]
    drawn = Counter(places_of(layouts(5, 6, board([(0, 5)]), taken)[0]))
    assert set(drawn) == set(valid)
    assert 50 < len(valid) < 400
    assert as_drawn(list(drawn.values()))


def test_cells_hold_a_block_as_often_as_in_layouts_drawn_cell_by_cell():
    rng, mine, plain = np.random.default_rng(6), np.zeros(36), np.zeros(36)
    for each in places_of(layouts(6, 5, board([(5, 5)]), NONE)[0]):
        mine[[number(place) for place in each]] += 1
    for _ in range(6000):
        blocks: set = set()
        while not blocks or not is_playable(blocks, (5, 5)):
            blocks = {INNER[at] for at in rng.permutation(32)[:5]}
        plain[[number(place) for place in blocks]] += 1
    inner = [number(place) for place in INNER]
    assert mine.sum() == 5 * 12_000
    assert mine[[number(corner) for corner in CORNERS]].sum() == 0
    assert chi2_contingency([mine[inner], plain[inner]]).pvalue > 1e-4


def test_first_attempt_that_will_do_is_the_layout():
    for count in (5, 11):
        chosen, (boards, fits) = layouts(7, count, board([(5, 0)]), NONE)
        firsts = [each.index(True) for each in fits.tolist()]
        for at, blocks in enumerate(places_of(chosen)[:40]):
            assert blocks == places_of(entry(boards, at))[firsts[at]]
        assert count == 5 or max(firsts) >= 25


@pytest.mark.parametrize("cells", [{(0, 4), (1, 5), (3, 3), (3, 1), (4, 2)}, {(2, 2), (3, 3), (4, 4), (1, 3)}, set()])
def test_stage_has_no_blocks_when_no_layout_is_valid_or_cells_are_too_few(cells):
    taken = board(set(PLACES) - cells)
    assert set(places_of(layouts(8, 5, board([(0, 0)]), taken)[0])) == {frozenset()}


def test_layouts_of_a_batch_are_one_kernel_on_a_gpu():
    lowered = layouts.trace(0, 5, board([(0, 5)]), NONE).lower(lowering_platforms=("cuda",))
    assert lowered.as_text().count("xla.gpu.triton") == 1
