"""Shortest ways: the worked distances, random boards against the plain game, and the longest way there is."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from plaudit.systems.hackmatrix.arrays.bitboard import Board
from plaudit.systems.hackmatrix.pathfinding import (
    bfs_distance,
    find_exit_distance,
    find_step_towards,
    manhattan_distance,
)
from plaudit.systems.hackmatrix.plain.cells import NEIGHBOURS, find_path
from plaudit.systems.hackmatrix.rules import Rules
from plaudit.systems.hackmatrix.state import EnvState, Grid, Player, data_block
from support.hackmatrix_model.examples import examples, state_of

COUNT = 3_000
RNG = np.random.default_rng(0)
BLOCKS = RNG.random((COUNT, 6, 6)) < RNG.random((COUNT, 1, 1)) * 0.7
STARTS, TARGETS = RNG.integers(0, 6, (2, COUNT, 2))

find = jax.jit(bfs_distance)


def path(blocked, start, target):
    """Return the cells of the first shortest way of the plain game; None when there is none."""
    return [] if start == target else find_path(start, target, set(map(tuple, np.argwhere(blocked))) - {target})


def distances(state, *, rules):
    walls = Board.of(state.grid.block_kind != 0)
    return find_exit_distance(
        walls, state.player.row, state.player.col, state.exit_row, state.exit_col, rules=rules
    ).item()  # fmt: skip


@pytest.mark.parametrize("example", examples()["distances"], ids=lambda example: example["title"])
def test_an_example_of_the_rules_is_as_far_as_they_say(example):
    state = state_of(example["state"])
    player = state.player
    found = find(state.grid.block_kind != 0, player.row, player.col, state.exit_row, state.exit_col).item()
    assert found == (-1 if example["distance"] is None else example["distance"])


def test_distances_are_those_of_a_search_with_a_queue():
    found = jax.jit(jax.vmap(bfs_distance))(BLOCKS, *STARTS.T, *TARGETS.T)
    ways = [path(*each) for each in zip(BLOCKS, map(tuple, STARTS), map(tuple, TARGETS), strict=True)]
    assert found.tolist() == [-1 if way is None else len(way) for way in ways]
    assert min(found) == -1
    assert max(found) > 12


def test_a_step_towards_a_cell_is_the_first_of_the_first_shortest_way():
    def step(blocks, start, target):
        goal = Board.at(*target)
        return find_step_towards(goal, Board.at(*start), ~Board.of(blocks) | goal).cells()

    found = np.asarray(jax.jit(jax.vmap(step))(BLOCKS, STARTS, TARGETS))
    for at, (blocked, start, target) in enumerate(zip(BLOCKS, map(tuple, STARTS), map(tuple, TARGETS), strict=True)):
        if start != target:  # there is a step only to another cell
            way = path(blocked, start, target)
            assert np.argwhere(found[at]).tolist() == ([] if way is None else [list(way[0])]), f"board {at}"


def longest_way_without_shortcuts():
    """Return the cells of a longest way of which no two are neighbours unless one follows the other.

    Every shortest way is one. By symmetry it is enough to begin in one eighth of the board.
    """
    best = []

    def go_on(way, closed):
        nonlocal best
        best = max(best, way, key=len)
        near = NEIGHBOURS[way[-1]]
        for place in near:
            if place not in closed:
                go_on([*way, place], closed | {*near, place})

    for row in range(3):
        for col in range(row, 3):
            go_on([(row, col)], {(row, col)})
    return best


def test_the_longest_shortest_way_has_23_steps():
    way = longest_way_without_shortcuts()
    assert len(way) - 1 == 23
    blocks = np.ones((6, 6), bool)
    blocks[tuple(np.transpose(way))] = False
    for start, target in ((way[0], way[-1]), (way[-1], way[0])):
        assert find(blocks, *start, *target) == 23
        first = find_step_towards(Board.at(*target), Board.at(*start), ~Board.of(jnp.asarray(blocks)))
        assert np.argwhere(first.cells()).tolist() == [list(way[1] if start == way[0] else way[-2])]


@pytest.mark.parametrize(("rules", "expected"), [(Rules.seed(), 10), (Rules.reference(), 0)], ids=["seed", "reference"])
def test_where_no_way_leads_the_rules_say_how_far_the_exit_is(rules, expected):
    sealed = Grid.of({(1, col): data_block(1) for col in range(6)})
    assert distances(EnvState(grid=sealed), rules=rules) == expected
    gap = Grid.of({(1, col): data_block(1) for col in range(5)})
    assert distances(EnvState(grid=gap), rules=rules) == 10


def test_siphoned_blocks_are_in_the_way_as_well():
    wall = Grid.of({(3, col): data_block(1, siphoned=True) for col in range(1, 6)})
    assert distances(EnvState(player=Player(row=2, col=3), grid=wall), rules=Rules.seed()) == 11


def test_neither_the_cell_one_stands_on_nor_the_target_is_asked_for_a_block():
    blocks = np.zeros((6, 6), bool)
    blocks[0, 0] = blocks[5, 5] = True
    assert find(blocks, 0, 0, 5, 5) == 10
    assert find(blocks, 5, 5, 5, 5) == 0


def test_the_direct_distance_counts_rows_and_columns():
    cells = np.array(list(np.ndindex(6, 6)))
    expected = np.abs(cells[:, None] - cells[None]).sum(axis=-1)
    np.testing.assert_array_equal(manhattan_distance(jnp.arange(36)[:, None], jnp.arange(36)), expected)
