"""New games and stages: what every board holds to, and how often each of the things on it comes."""

from collections import Counter
from functools import cache

import jax
import numpy as np
import pytest

from plaudit.systems.hackmatrix.board_generation import new_game, new_stage, renew
from plaudit.systems.hackmatrix.rules import DATA, PROGRAM, PROGRAM_SPAWN, QUESTION
from plaudit.systems.hackmatrix.state import Enemies, Enemy, EnvState, Player, Transmission, Transmissions
from support.hackmatrix_model.boards import entry
from support.hackmatrix_model.layouts import CORNERS, PLACES, as_drawn, connected, in_line_of_fire, siphonable

BATCH = 2048
AT_ONCE = 512
"""So many are computed at once, with the same inner program as the 64 of other tests."""
SOME = 50
"""As many are looked at cell by cell."""

ALL, NONE = np.ones(BATCH, bool), np.zeros(BATCH, bool)


@cache
def split_keys():
    return jax.random.split(jax.random.key(0), BATCH)


@jax.jit
@jax.vmap
def renewed(key, state, stage_over, game_over):
    return renew(key, state, stage_over=stage_over, game_over=game_over)


def all_renewed(*given):
    """Return what is renewed of a whole batch."""
    parts = [
        jax.device_get(renewed(*jax.tree.map(lambda leaf: leaf[start : start + AT_ONCE], given)))  # noqa: B023
        for start in range(0, BATCH, AT_ONCE)
    ]
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)


@pytest.fixture(scope="module")
def before():
    """Stages 2 to 8 completed, with some enemies and transmissions left on each."""
    return survivors()


@pytest.fixture(scope="module")
def stages(before):
    return all_renewed(split_keys(), before, ALL, NONE)


@pytest.fixture(scope="module")
def games(before):
    return all_renewed(split_keys(), before, NONE, ALL)


def survivors(count=BATCH):
    rng = np.random.default_rng(0)

    def slots(length, low, high, dtype=np.int8):
        return np.where(np.arange(36) < length[:, None], rng.integers(low, high, (count, 36)), 0).astype(dtype)

    def whole(value):
        return np.broadcast_to(np.asarray(value), (count, *np.shape(value))).copy()

    enemies, waiting = rng.integers(0, 13, count).astype(np.int32), rng.integers(0, 7, count).astype(np.int32)
    corner, stage = rng.integers(0, 4, count), rng.integers(2, 9, count).astype(np.int32)
    state = jax.tree.map(whole, EnvState(turn=9, show=True, calm=True, step_active=True, atk_uses=2, pending=4))
    grid = state.grid.replace(siphoned=rng.random((count, 6, 6)) < 0.2, siphon_center=rng.random((count, 6, 6)) < 0.1)
    return state.replace(
        player=state.player.replace(
            row=(corner // 2 * 5).astype(np.int32), col=(corner % 2 * 5).astype(np.int32), score=whole(np.int32(7))
        ),
        grid=grid,
        stage=stage,
        interval=13 - stage,
        owned=rng.random((count, 23)) < 0.3,
        enemies=state.enemies.replace(
            count=enemies,
            row=slots(enemies, 0, 6),
            col=slots(enemies, 0, 6),
            hp=slots(enemies, 1, 3),
            disabled=slots(enemies, 0, 2),
        ),
        transmissions=state.transmissions.replace(
            count=waiting,
            row=slots(waiting, 0, 6),
            col=slots(waiting, 0, 6),
            type=slots(waiting, 0, 4),
            turns=slots(waiting, 1, 5, np.int32),
            from_task=slots(waiting, 0, 2, bool),
        ),
        history=state.history.replace(count=whole(np.int32(3))),
    )


def standing(entries):
    count = int(entries.count)
    return list(zip(entries.row[:count].tolist(), entries.col[:count].tolist(), strict=True))


def check_board(state, *, left=(), waiting=()):
    """Assert what holds for every board; `left` are the enemies there were, `waiting` the transmissions."""
    grid = state.grid
    player, exit_ = (int(state.player.row), int(state.player.col)), (int(state.exit_row), int(state.exit_col))
    blocks = {cell for cell in PLACES if grid.block_kind[cell]}
    assert player in CORNERS
    assert exit_ in CORNERS
    assert [cell for cell in PLACES if grid.exit[cell]] == [exit_] != [player]
    assert {cell for cell in PLACES if grid.data_siphon[cell]} == set(CORNERS) - {player, exit_}
    assert not grid.siphoned.any()
    assert not grid.siphon_center.any()

    assert len(blocks) == 0 or 5 <= len(blocks) <= 11
    assert not blocks & {*CORNERS, *left, *waiting}
    assert connected(blocks, exit_)
    assert siphonable(blocks)

    programs = [int(grid.block_program[cell]) for cell in blocks if not grid.block_is_data[cell]]
    assert len(set(programs)) == len(programs)
    for cell in PLACES:
        kind, is_data = grid.block_kind[cell], grid.block_is_data[cell]
        points, program, spawn = grid.block_points[cell], grid.block_program[cell], grid.block_spawn[cell]
        resources = [int(grid.credits[cell]), int(grid.energy[cell])]
        if cell not in blocks:
            assert (is_data, points, program, spawn) == (False, 0, -1, 0)
        elif is_data:
            assert kind in (DATA, QUESTION)
            assert 1 <= points <= 9
            assert (program, spawn) == (-1, points)
        else:
            assert kind in (PROGRAM, QUESTION)
            assert 0 <= program <= 22
            assert (points, spawn) == (0, PROGRAM_SPAWN[program])
        if cell in blocks or cell == exit_:
            assert resources == [0, 0]
        else:
            assert 0 in resources
            assert 1 <= sum(resources) <= 3

    new = standing(state.transmissions)[len(waiting) :]
    shields = blocks | set(left)
    free = set(PLACES) - {player, *shields, *waiting}
    hidden = {cell for cell in free if not in_line_of_fire(player, cell, shields)}
    assert len(set(new)) == len(new) == min(int(state.stage), len(free))
    assert set(new) <= (hidden if len(hidden) >= len(new) else free)


def test_every_new_game_has_a_board_by_the_rules(games):
    for at in range(SOME):
        check_board(entry(games, at))


def test_new_game_starts_with_nothing_but_one_bonus(games):
    player = games.player
    bonus = zip(player.credits.tolist(), player.energy.tolist(), player.data_siphons.tolist(), strict=True)
    assert set(bonus) == {(10, 0, 0), (0, 11, 0), (0, 0, 1)}
    for name, value in {"hp": 3, "score": 0, "attack": 1}.items():
        assert (getattr(player, name) == value).all(), name
    for name, value in {"stage": 1, "turn": 0, "interval": 12, "next_task": 12, "pending": 0, "atk_uses": 0}.items():
        assert (getattr(games, name) == value).all(), name
    for name in ("owned", "show", "calm", "step_active"):
        assert not getattr(games, name).any(), name
    assert not any(leaf.any() for leaf in jax.tree.leaves(games.enemies))
    assert (games.transmissions.count == 1).all()
    assert not games.history.count.any()
    for name in ("score", "hp", "credits", "energy"):
        assert (getattr(games.before, name) == getattr(player, name)).all(), name


def test_all_leaves_keep_their_types(games, stages):
    wanted = [(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(EnvState())]
    for states in (games, stages):
        assert [(leaf.shape[1:], leaf.dtype) for leaf in jax.tree.leaves(states)] == wanted


def test_every_new_stage_has_a_board_by_the_rules_that_leaves_room_for_survivors(before, stages):
    for at in range(SOME):
        old = entry(before, at)
        check_board(entry(stages, at), left=standing(old.enemies), waiting=standing(old.transmissions))


def test_new_stage_keeps_all_but_the_board_the_clock_and_what_ends_with_a_stage(before, stages):
    after = stages
    for name in ("player", "enemies", "stage", "owned", "interval", "pending", "before"):
        for leaf, old in zip(
            jax.tree.leaves(getattr(after, name)), jax.tree.leaves(getattr(before, name)), strict=True
        ):
            assert (leaf == old).all(), name
    for name in ("turn", "show", "calm", "step_active", "atk_uses"):
        assert not getattr(after, name).any(), name
    assert (after.next_task == before.interval).all()
    assert not after.history.count.any()
    old = np.arange(36) < before.transmissions.count[:, None]
    new = (np.arange(36) < after.transmissions.count[:, None]) & ~old
    for leaf, kept in zip(jax.tree.leaves(after.transmissions), jax.tree.leaves(before.transmissions), strict=True):
        if leaf.ndim > 1:
            assert (leaf == kept)[old].all()
            assert not leaf[~old & ~new].any()
    assert (after.transmissions.turns[new] == 1).all()
    assert not (after.transmissions.from_siphon | after.transmissions.from_task)[new].any()


def test_corner_exit_and_bonus_are_uniform_and_independent(games):
    player = games.player
    bonus = np.argmax([player.credits, player.energy, player.data_siphons], axis=0)
    drawn = np.stack([player.row, player.col, games.exit_row, games.exit_col, bonus], axis=1).tolist()
    seen = Counter(map(tuple, drawn))
    assert len(seen) == 4 * 3 * 3
    assert as_drawn(list(seen.values()))


def test_exit_of_a_later_stage_is_uniform_over_the_other_corners(stages):
    player = stages.player
    corners = np.stack([player.row, player.col, stages.exit_row, stages.exit_col], axis=1).tolist()
    seen = Counter(map(tuple, corners))
    assert len(seen) == 4 * 3
    assert as_drawn(list(seen.values()))


def test_number_of_blocks_is_uniform(games):
    counts = (games.grid.block_kind > 0).sum(axis=(1, 2))
    assert (counts == 0).sum() <= 5  # some games in 100,000: 11 blocks, and none of 100 attempts will do
    assert as_drawn([int((counts == number).sum()) for number in range(5, 12)])


def test_half_of_the_blocks_hold_data_and_a_tenth_are_hidden(games):
    grid = games.grid
    block = grid.block_kind > 0
    seen = Counter(zip(grid.block_is_data[block].tolist(), (grid.block_kind == QUESTION)[block].tolist(), strict=True))
    assert as_drawn([seen[True, True], seen[True, False], seen[False, True], seen[False, False]], [1, 9, 1, 9])


def test_points_are_uniform_hidden_or_not(games):
    grid = games.grid
    data = (grid.block_kind > 0) & grid.block_is_data
    for hidden in (False, True):
        points = grid.block_points[data & ((grid.block_kind == QUESTION) == hidden)]
        assert as_drawn([int((points == number).sum()) for number in range(1, 10)])


def test_programs_are_uniform_and_so_are_pairs_of_them(games):
    programs = [
        [program for program in row if program >= 0] for row in games.grid.block_program.reshape(-1, 36).tolist()
    ]
    single = Counter(program for each in programs for program in each)
    assert as_drawn([single[program] for program in range(23)])
    pairs = Counter(tuple(each[:2]) for each in programs if len(each) > 1)
    assert as_drawn([pairs[first, second] for first in range(23) for second in range(23) if first != second])


def test_amounts_and_types_of_resources_come_as_often_as_the_rules_say(games):
    grid = games.grid
    for amounts in (grid.credits, grid.energy):
        assert as_drawn([int((amounts == amount).sum()) for amount in (1, 2, 3)], [0.45, 0.45, 0.10])
    assert as_drawn([int((grid.credits > 0).sum()), int((grid.energy > 0).sum())])


def test_what_lies_on_one_cell_says_nothing_of_the_next(games):
    grid = games.grid
    open_cells = (grid.credits > 0) | (grid.energy > 0)
    for first, second in (((2, 2), (2, 3)), ((0, 2), (0, 3)), ((3, 3), (4, 3))):
        both = open_cells[:, *first] & open_cells[:, *second]
        kinds = Counter(
            zip((grid.energy[:, *first] > 0)[both].tolist(), (grid.energy[:, *second] > 0)[both].tolist(), strict=True)
        )
        assert as_drawn(list(kinds.values()))


def test_types_of_transmissions_are_uniform(games, stages):
    first = games.transmissions.type[:, 0]
    assert as_drawn([int((first == kind).sum()) for kind in range(4)])
    last = stages.transmissions.type[np.arange(BATCH), stages.transmissions.count - 1]
    assert as_drawn([int((last == kind).sum()) for kind in range(4)])


def test_transmission_of_a_new_game_is_on_any_hidden_free_cell(games):
    seen, expected = np.zeros(36), np.zeros(36)
    for at in range(SOME):
        state = entry(games, at)
        player = int(state.player.row), int(state.player.col)
        blocks = {cell for cell in PLACES if state.grid.block_kind[cell]}
        hidden = [
            cell for cell in PLACES if cell not in {player, *blocks} and not in_line_of_fire(player, cell, blocks)
        ]
        for row, col in hidden:
            expected[6 * row + col] += 1 / len(hidden)
        seen[6 * state.transmissions.row[0] + state.transmissions.col[0]] += 1
    assert as_drawn(seen.tolist(), expected.tolist())


def assert_equal(got, wanted):
    for (path, leaf), other in zip(jax.tree_util.tree_leaves_with_path(got), jax.tree.leaves(wanted), strict=True):
        name = jax.tree_util.keystr(path)
        assert "history" in name or (np.asarray(leaf) == np.asarray(other)).all(), name
    assert (np.asarray(got.history.count) == np.asarray(wanted.history.count)).all()


def test_lanes_of_a_batch_get_what_each_would_get_alone(before, stages, games):
    rng = np.random.default_rng(3)
    stage_over, game_over = rng.random(BATCH) < 0.1, rng.random(BATCH) < 0.05
    got = all_renewed(split_keys(), before, stage_over, game_over)

    def chosen(game, stage, old):
        first, second = (flags.reshape(-1, *[1] * (old.ndim - 1)) for flags in (game_over, stage_over))
        return np.where(first, game, np.where(second, stage, old))

    assert_equal(got, jax.tree.map(chosen, games, stages, before))
    for at in np.flatnonzero(game_over)[:5].tolist():
        assert_equal(entry(got, at), new_game(split_keys()[at]))
    for at in np.flatnonzero(stage_over & ~game_over)[:5].tolist():
        assert_equal(entry(got, at), new_stage(split_keys()[at], entry(before, at)))


def test_old_keys_are_keys(before, stages):
    got = new_stage(jax.random.key_data(split_keys()[3]), entry(before, 3))
    assert_equal(got, entry(stages, 3))


@pytest.mark.slow  # a program of its own, for what every function of `masked_vmap` does
def test_vmaps_nest(before, stages):
    few, wanted = (
        jax.tree.map(lambda leaf: leaf[:36].reshape(3, 12, *leaf.shape[1:]), each) for each in (before, stages)
    )
    got = jax.jit(jax.vmap(jax.vmap(new_stage)))(split_keys()[:36].reshape(3, 12), few)
    assert_equal(got, wanted)


def test_crowd_leaves_no_room_for_blocks_or_transmissions():
    cells = [cell for cell in PLACES if cell not in {(0, 0), (2, 2), (3, 3), (5, 5)}]
    crowd = EnvState(
        player=Player(row=0, col=0),
        enemies=Enemies.of(*(Enemy("daemon", *cell) for cell in cells)),
        transmissions=Transmissions.of(Transmission("virus", 3, 3, turns=4)),
        stage=7,
    )
    after = new_stage(jax.random.key(5), crowd)
    assert not after.grid.block_kind.any()
    assert after.enemies.count == 32
    assert set(standing(after.transmissions)) == {(3, 3), (2, 2), (5, 5)}
