"""Where blocks stand and transmissions appear: on uniform choices of cells, of which exactly the allowed ones are taken."""

from collections import Counter
from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import binomtest, chi2_contingency

from plaudit.systems.hackmatrix.arrays.bitboard import Board
from plaudit.systems.hackmatrix.placement import (
    LayoutRequest,
    draw_attempt,
    draw_layout,
    find_eligible_cells,
    find_line_of_fire,
    is_valid_layout,
    place_transmissions,
)
from plaudit.systems.hackmatrix.rules import LAYOUT_ATTEMPTS
from plaudit.systems.hackmatrix.state import (
    Enemies,
    Enemy,
    EnvState,
    Grid,
    Player,
    Transmission,
    Transmissions,
    data_block,
)
from support.hackmatrix_model.boards import entry, random_states
from support.hackmatrix_model.layouts import CORNERS, PLACES, as_drawn, connected, in_line_of_fire, siphonable

SOME = 200
INNER = [place for place in PLACES if place not in CORNERS]

# How many of all choices of 5, 6, … 11 of the 32 cells will do, counted one by one.
CHOICES = (201_376, 906_192, 3_365_856, 10_518_300, 28_048_800, 64_512_240, 129_024_480)
VALID_EXIT_AT_START = (176_144, 712_660, 2_241_588, 5_438_096, 9_984_124, 13_519_898, 13_115_536)
VALID_EXIT_ELSEWHERE = (169_840, 675_112, 2_077_678, 4_912_880, 8_773_982, 11_577_468, 11_016_302)


def number(place):
    return 6 * place[0] + place[1]


def word_of(places):
    """Return a set of places as bits, that of a place by its number."""
    return sum(1 << number(place) for place in places)


def board(places):
    word = word_of(places)
    return Board(np.uint32(word & (1 << 18) - 1), np.uint32(word >> 18))


NONE = board([])


def words_of(boards):
    """Return many sets as their bits."""
    return np.asarray(boards.lower).astype(np.uint64) | np.asarray(boards.upper).astype(np.uint64) << np.uint64(18)


def cells_of(words):
    """Return which cells are in each of many sets."""
    return (words[:, None] >> np.arange(36, dtype=np.uint64) & np.uint64(1)).astype(bool)


check = jax.jit(jax.vmap(is_valid_layout, in_axes=(0, None)))


def attempts(seed, numbers, count, exit_, taken):
    """Return attempts by their numbers: the boards, and which of them will do."""
    wanted = LayoutRequest(seed, count, exit_, find_eligible_cells(taken))
    blocks = jax.vmap(draw_attempt, in_axes=(None, 0))(wanted, numbers)
    return blocks, jax.vmap(is_valid_layout, in_axes=(0, None))(blocks, exit_)


def seed_pairs(seed, count):
    words = jax.random.bits(jax.random.key(seed), (2, count), jnp.uint32)
    return words[0], words[1]


@jax.jit
def tried(seed, count, exit_, taken):
    """Return 4,000 attempts, 40 of each of 100 seeds: the boards, and which of them will do."""
    some = jax.vmap(lambda seed: attempts(seed, jnp.arange(40), count, exit_, taken))(seed_pairs(seed, 100))
    return jax.tree.map(lambda leaf: leaf.reshape(-1), some)


@jax.jit
def layouts(seed, count, exit_, taken):
    """Return 1,000 layouts, and all the attempts of the first of them."""
    given = seed_pairs(seed, 1_000)
    some = jax.vmap(lambda seed: attempts(seed, jnp.arange(LAYOUT_ATTEMPTS), count, exit_, taken))(
        jax.tree.map(lambda words: words[:40], given)
    )
    return jax.vmap(draw_layout, in_axes=(0, None, None, None))(given, count, exit_, taken), some


def many_layouts(seeds, *given):
    """Return 1,000 layouts for each seed, as bits."""
    return np.concatenate([words_of(layouts(seed, *given)[0]) for seed in seeds])


def is_playable(blocks, exit_):
    return connected(blocks, exit_) and siphonable(blocks)


def is_valid(layouts, *exits):
    """Return which of up to `SOME` layouts are valid; they are checked together, always as many."""
    boards = [board(each) for each in [*layouts, *[set()] * (SOME - len(layouts))]]
    return check(jax.tree.map(lambda *words: np.stack(words), *boards), board(exits)).tolist()[: len(layouts)]


@pytest.mark.parametrize("exit_", CORNERS)
def test_layout_is_valid_when_a_walk_over_the_board_says_so(exit_):
    rng = np.random.default_rng(number(exit_))
    blocks = [{INNER[at] for at in rng.permutation(32)[: rng.integers(0, 14)]} for _ in range(SOME)]
    valid = is_valid(blocks, exit_)
    assert valid == [is_playable(each, exit_) for each in blocks]
    assert 0.14 < np.mean(valid) < 0.86


def test_only_an_exit_at_the_start_may_be_the_one_way_between_two_parts():
    cut_off = {(0, 4), (1, 4), (2, 5)}  # (0, 5) leads to (1, 5) and nowhere else
    through_start = {(1, 1), (2, 0)}  # (1, 0) is reached through (0, 0) only
    through_corner = {(1, 4), (2, 5)}  # (1, 5) is reached through (0, 5) only
    assert is_valid([cut_off, through_corner]) == [False, True]
    assert is_valid([through_start], (0, 0)) == [True]
    assert is_valid([through_corner], (0, 5)) == [False]


def test_longest_way_of_a_layout_is_walked_to_its_end():
    winding = {PLACES[at] for at in (2, 6, 8, 10, 14, 16, 19, 22, 26, 27)}  # 23 steps from (0, 0) to the last cell
    assert is_playable(winding, (0, 0))
    assert is_valid([winding], (0, 0)) == [True]


@pytest.mark.parametrize("count", range(5, 12))
def test_attempts_are_choices_of_so_many_eligible_cells(count):
    taken = {(1, 1), (2, 3), (0, 0), (5, 2), (4, 4)}
    blocks, _ = tried(count, count, NONE, board(taken))
    cells = cells_of(words_of(blocks))
    assert (cells.sum(axis=1) == count).all()
    assert not cells[:, [number(place) for place in taken | set(CORNERS)]].any()


@pytest.mark.parametrize("count", range(5, 12))
@pytest.mark.parametrize("exit_", CORNERS)
def test_as_many_attempts_succeed_as_there_are_valid_layouts(count, exit_):
    valid = VALID_EXIT_AT_START if exit_ == (0, 0) else VALID_EXIT_ELSEWHERE
    _, fits = tried(100 * count + number(exit_), count, board([exit_]), NONE)
    assert binomtest(int(fits.sum()), 4000, valid[count - 5] / CHOICES[count - 5]).pvalue > 1e-4


def test_all_valid_layouts_are_equally_likely():
    eligible = [(0, 3), (0, 4), (1, 4), (1, 5), (2, 2), (2, 3), (2, 5), (3, 2), (3, 3), (4, 1), (5, 1)]
    taken = board(set(INNER) - set(eligible))
    valid = [word_of(each) for each in combinations(eligible, 6) if is_playable(set(each), (0, 5))]
    drawn = Counter(many_layouts(range(5, 10), 6, board([(0, 5)]), taken).tolist())
    assert set(drawn) == set(valid)
    assert 50 < len(valid) < 400
    assert as_drawn(list(drawn.values()))


def test_cells_hold_a_block_as_often_as_in_layouts_drawn_cell_by_cell():
    rng, plain = np.random.default_rng(6), np.zeros(36)
    mine = cells_of(many_layouts(range(6, 8), 5, board([(5, 5)]), NONE)).sum(axis=0)
    for _ in range(2_000):
        blocks: set = set()
        while not blocks or not is_playable(blocks, (5, 5)):
            blocks = {INNER[at] for at in rng.permutation(32)[:5]}
        plain[[number(place) for place in blocks]] += 1
    inner = [number(place) for place in INNER]
    assert mine.sum() == 5 * 2_000
    assert mine[[number(corner) for corner in CORNERS]].sum() == 0
    assert chi2_contingency([mine[inner], plain[inner]]).pvalue > 1e-4


def test_first_attempt_that_will_do_is_the_layout():
    for count in (5, 11):
        chosen, (boards, fits) = layouts(7, count, board([(5, 0)]), NONE)
        firsts = np.argmax(fits, axis=1)
        assert np.asarray(fits).any(axis=1).all()
        assert words_of(chosen)[:40].tolist() == words_of(boards)[np.arange(40), firsts].tolist()
        assert count == 5 or max(firsts) >= 25


@pytest.mark.parametrize("cells", [{(0, 4), (1, 5), (3, 3), (3, 1), (4, 2)}, {(2, 2), (3, 3), (4, 4), (1, 3)}, set()])
def test_stage_has_no_blocks_when_no_layout_is_valid_or_cells_are_too_few(cells):
    taken = board(set(PLACES) - cells)
    assert not words_of(layouts(8, 5, board([(0, 0)]), taken)[0]).any()


@pytest.fixture
def count_kernels(monkeypatch):
    """Return how many kernels a graphics card would have of what a jitted function does, which is traced anew."""

    def count(jitted, *given):
        monkeypatch.setattr("plaudit.systems.hackmatrix.arrays.fused.has_gpu", lambda: True)
        lowered = jax.jit(lambda *given: jitted.__wrapped__(*given)).trace(*given).lower(lowering_platforms=("cuda",))
        return lowered.as_text().count("xla.gpu.triton")

    return count


def test_layouts_of_a_batch_are_one_kernel_on_a_gpu(count_kernels):
    assert count_kernels(layouts, 0, 5, board([(0, 5)]), NONE) == 1


def seeds(seed, count):
    return np.random.default_rng(seed).integers(0, 2**32, (count, 2), dtype=np.uint32)


@jax.jit
def placed(seeds, states, tasks, siphons, plain):
    return jax.vmap(
        lambda seed, *given: place_transmissions(seed, given[0], tasks=given[1], siphons=given[2], plain=given[3])
    )(seeds, states, tasks, siphons, plain)


@jax.jit
def _placed_often(seeds, state, tasks, siphons, plain):
    return jax.vmap(lambda seed: place_transmissions(seed, state, tasks=tasks, siphons=siphons, plain=plain))(seeds)


def placed_often(state, *, tasks=0, siphons=0, plain=0):
    """Return what 2,000 draws give, each for itself."""
    return jax.device_get(_placed_often(seeds(1, 2_000), state, tasks, siphons, plain))


def standing(entries):
    count = int(entries.count)
    return list(zip(entries.row[:count].tolist(), entries.col[:count].tolist(), strict=True))


def shields_of(state):
    blocks = {cell for cell in PLACES if state.grid.block_kind[cell]}
    return blocks | set(standing(state.enemies))


def free_of(state):
    """Return the free cells out of the line of fire, and those in it."""
    player, shields = (int(state.player.row), int(state.player.col)), shields_of(state)
    free = [cell for cell in PLACES if cell not in {player, *shields, *standing(state.transmissions)}]
    seen = {cell for cell in free if in_line_of_fire(player, cell, shields)}
    return set(free) - seen, seen


def test_line_of_fire_ends_at_the_first_enemy_or_block():
    states = random_states(300, seed=1)
    each = [entry(states, at) for at in range(300)]
    behind = [shields_of(state) for state in each]
    seen = np.asarray(
        jax.jit(jax.vmap(lambda player, shields: find_line_of_fire(Board.at(*player), Board.of(shields)).cells()))(
            (states.player.row, states.player.col),
            np.array([[cell in shields for cell in PLACES] for shields in behind]),
        )
    )
    for at, (state, shields) in enumerate(zip(each, behind, strict=True)):
        player = int(state.player.row), int(state.player.col)
        wanted = {cell for cell in PLACES if cell != player and in_line_of_fire(player, cell, shields)}
        assert {cell for cell in PLACES if seen[at][cell] and cell != player} == wanted


def test_transmissions_take_free_cells_out_of_the_line_of_fire_first():
    rng = np.random.default_rng(2)
    states = random_states(SOME, seed=2)
    asked = [rng.integers(0, most + 1, SOME) for most in (1, 36, 8)]
    after = jax.device_get(placed(seeds(2, SOME), states, *asked))
    for at, (tasks, siphons, plain) in enumerate(zip(*asked, strict=True)):
        state, entries = entry(states, at), entry(after, at)
        hidden, seen = free_of(state)
        old = int(state.transmissions.count)
        total = min(tasks + siphons + plain, len(hidden) + len(seen), 36 - old)
        new = standing(entries)[old:]
        assert entries.count == old + total
        assert len(set(new)) == len(new) == total
        assert set(new[: len(hidden)]) <= hidden
        assert set(new[len(hidden) :]) <= seen
        flags = list(zip(entries.from_task.tolist(), entries.from_siphon.tolist(), strict=True))[old:]
        wanted = [(True, False)] * tasks + [(False, True)] * siphons + [(False, False)] * plain
        assert flags[:total] == wanted[:total]
        assert (entries.turns[old : old + total] == 1).all()
        for leaf, before in zip(jax.tree.leaves(entries), jax.tree.leaves(state.transmissions), strict=True):
            assert leaf.dtype == before.dtype
            if leaf.ndim:
                assert (leaf[:old] == before[:old]).all()
                assert (leaf[old + total :] == 0).all()


def make_crowded_board():
    """Free and hidden: (0, 0), (0, 1), (5, 5). Free and in line: (3, 2), and (2, 0), which the transmission does not hide."""
    return EnvState(
        player=Player(row=2, col=2),
        grid=Grid.of(
            {
                (r, c): data_block(3)
                for r, c in PLACES
                if (r, c) not in {(0, 0), (0, 1), (2, 0), (2, 1), (2, 2), (3, 2), (5, 5)}
            }
        ),
        transmissions=Transmissions.of(Transmission("virus", 2, 1, turns=4)),
    )


def test_cells_are_uniform_without_repeats_and_types_uniform():
    entries = placed_often(make_crowded_board(), tasks=1, siphons=2, plain=9)
    assert (entries.count == 6).all()
    cells = [tuple(row) for row in (entries.row * 6 + entries.col)[:, 1:6].tolist()]
    orders = Counter(cells)
    assert {frozenset(order[:3]) for order in orders} == {frozenset({0, 1, 35})}
    assert {frozenset(order[3:]) for order in orders} == {frozenset({12, 20})}
    assert len(orders) == 6 * 2
    assert as_drawn(list(orders.values()))
    for slot in range(1, 6):
        kinds = Counter(zip(entries.type[:, slot].tolist(), [order[slot - 1] for order in cells], strict=True))
        assert len(kinds) == 4 * (3 if slot <= 3 else 2)
        assert as_drawn(list(kinds.values()))


def test_cell_is_uniform_over_a_board_with_an_enemy_in_the_way():
    state = EnvState(player=Player(row=0, col=0), enemies=Enemies.of(Enemy("daemon", 0, 2)))
    hidden, seen = free_of(state)
    assert seen == {(0, 1), *((row, 0) for row in range(1, 6))}
    entries = placed_often(state, plain=1)
    counts = Counter(zip(entries.row[:, 0].tolist(), entries.col[:, 0].tolist(), strict=True))
    assert set(counts) == hidden
    assert as_drawn(list(counts.values()))


@pytest.mark.parametrize("asked", ["tasks", "siphons", "plain"])
def test_nothing_is_placed_on_a_full_board_or_beyond_the_last_slot(asked):
    full = EnvState(grid=Grid.of({cell: data_block(1) for cell in PLACES}))
    stacked = EnvState(transmissions=Transmissions.of(*[Transmission("virus", 3, 3)] * 36))
    for state in (full, stacked):
        entries = placed_often(state, **{asked: 5})
        for leaf, before in zip(jax.tree.leaves(entries), jax.tree.leaves(state.transmissions), strict=True):
            assert (leaf == before).all()


def test_one_environment_gets_what_it_gets_in_a_batch_and_a_batch_is_one_kernel_on_a_gpu(count_kernels):
    states, given = random_states(SOME, seed=4), seeds(4, SOME)
    asked = np.arange(SOME) % 2, np.arange(SOME) % 40, np.full(SOME, 3)
    batch = jax.device_get(placed(given, states, *asked))
    for at in (0, 7, 39):
        alone = jax.jit(place_transmissions)(
            given[at], entry(states, at), tasks=asked[0][at], siphons=asked[1][at], plain=asked[2][at]
        )
        assert all(map(np.array_equal, jax.tree.leaves(entry(batch, at)), jax.tree.leaves(alone)))
    assert count_kernels(placed, given, states, *asked) == 1
