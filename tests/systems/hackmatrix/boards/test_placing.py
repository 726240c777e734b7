"""Where transmissions appear: uniformly on free cells out of the line of fire, then in it, then nowhere."""

from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hackmatrix_model.boards import entry, random_states
from hackmatrix_model.layouts import PLACES, as_drawn, in_line_of_fire
from plaudit.systems.hackmatrix.arrays.bitboard import Board
from plaudit.systems.hackmatrix.boards.placing import line_of_fire, place
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


def seeds(seed, count):
    return jax.random.bits(jax.random.key(seed), (count, 2), jnp.uint32)


@jax.jit
def placed(seeds, states, tasks, siphons, plain):
    return jax.vmap(lambda seed, *given: place(seed, given[0], tasks=given[1], siphons=given[2], plain=given[3]))(
        seeds, states, tasks, siphons, plain
    )


@jax.jit
def _placed_often(state, tasks, siphons, plain):
    return jax.vmap(lambda seed: place(seed, state, tasks=tasks, siphons=siphons, plain=plain))(seeds(1, 20_000))


def placed_often(state, *, tasks=0, siphons=0, plain=0):
    """Return what 20,000 draws give, each for itself."""
    return jax.device_get(_placed_often(state, tasks, siphons, plain))


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
    states = jax.device_get(random_states(300, seed=1))
    each = [entry(states, at) for at in range(300)]
    behind = [shields_of(state) for state in each]
    seen = np.asarray(
        jax.jit(jax.vmap(lambda player, shields: line_of_fire(Board.at(*player), Board.of(shields)).cells()))(
            (states.player.row, states.player.col),
            jnp.asarray([[cell in shields for cell in PLACES] for shields in behind]),
        )
    )
    for at, (state, shields) in enumerate(zip(each, behind, strict=True)):
        player = int(state.player.row), int(state.player.col)
        wanted = {cell for cell in PLACES if cell != player and in_line_of_fire(player, cell, shields)}
        assert {cell for cell in PLACES if seen[at][cell] and cell != player} == wanted


def test_transmissions_take_free_cells_out_of_the_line_of_fire_first():
    rng = np.random.default_rng(2)
    states = random_states(400, seed=2)
    asked = [jnp.asarray(rng.integers(0, most + 1, 400)) for most in (1, 36, 8)]
    after = placed(seeds(2, 400), states, *asked)
    after, states = jax.device_get((after, states))
    for at, (tasks, siphons, plain) in enumerate(zip(*jax.device_get(asked), strict=True)):
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


CROWDED = EnvState(
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
"""Free and hidden: (0, 0), (0, 1), (5, 5). Free and in line: (3, 2), and (2, 0), which the transmission does not hide."""


def test_cells_are_uniform_without_repeats_and_types_uniform():
    entries = placed_often(CROWDED, tasks=1, siphons=2, plain=9)
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


def test_one_environment_gets_what_it_gets_in_a_batch_and_a_batch_is_one_kernel_on_a_gpu():
    states, given = random_states(40, seed=4), seeds(4, 40)
    asked = jnp.arange(40) % 2, jnp.arange(40), jnp.full(40, 3)
    batch = placed(given, states, *asked)
    for at in (0, 7, 39):
        alone = jax.jit(place)(
            given[at], entry(states, at), tasks=asked[0][at], siphons=asked[1][at], plain=asked[2][at]
        )
        assert all(map(np.array_equal, jax.tree.leaves(entry(batch, at)), jax.tree.leaves(alone)))
    lowered = placed.trace(given, states, *asked).lower(lowering_platforms=("cuda",))
    assert lowered.as_text().count("xla.gpu.triton") == 1
