"""What holds in every game, over long random play, and that what is random has the distribution of the rules."""

import itertools
import math
import random
from collections import Counter
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest
from scipy.stats import chisquare

from plaudit.systems.hackmatrix.env import auto_reset_step
from plaudit.systems.hackmatrix.plain.board_generation import find_line_of_fire
from plaudit.systems.hackmatrix.plain.cells import PLACES
from plaudit.systems.hackmatrix.plain.enemy_turn import move_enemies
from plaudit.systems.hackmatrix.plain.state import Block, Cell, Enemy, Player, State, Transmission
from plaudit.systems.hackmatrix.rules import ACTION_NAMES, ACTIONS, ENEMIES, VIRUS, action_of
from plaudit.systems.hackmatrix.state import EnvState, History
from support.hackmatrix_model.examples import COMPONENTS, game_of
from support.hackmatrix_model.layouts import board_faults
from support.hackmatrix_model.random_games import random_game
from support.hackmatrix_model.states import games_of, states_of
from support.hackmatrix_model.steps import (
    BATCH,
    begin_all,
    begin_anew,
    choose_all,
    look_at_all,
    masked,
    script_all,
    step_all,
)

MAX_STEPS = 60
UNLIKELY = 1e-4


class Play(NamedTuple):
    """Long random play, by step and game; of a step that ended a game, `after` is the next one's beginning."""

    before: EnvState
    after: EnvState
    mask: np.ndarray
    action: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    info: dict[str, Any]

    @property
    def ended(self) -> np.ndarray:
        return self.terminated | self.truncated


def step_and_begin_anew(seed: int, states: EnvState, actions: np.ndarray) -> tuple[Any, ...]:
    """Take a step in each game of a batch, and begin another one in place of each that is over."""
    after, reward, terminated, _, info, *_ = step_all(seed, states, actions)
    truncated = (after.steps >= MAX_STEPS) & ~terminated
    return begin_anew(seed, after, terminated | truncated), reward, terminated, truncated, info


def auto_reset(seed: int, states: EnvState, actions: np.ndarray) -> tuple[Any, ...]:
    """Do the same by `auto_reset_step`, which is a program of its own."""
    keys = jax.random.split(jax.random.key(seed), BATCH)
    _, after, *rest = jax.device_get(_auto_reset_all(keys, states, actions))
    return look_at_all(after), *rest


@jax.jit
@jax.vmap
def _auto_reset_all(key: Any, state: EnvState, action: Any) -> Any:
    return auto_reset_step(key, state, action, max_steps=MAX_STEPS)


@pytest.fixture(
    scope="module",
    params=[(step_and_begin_anew, 80), pytest.param((auto_reset, 800), marks=pytest.mark.slow)],
    ids=["80 steps", "auto_reset_step"],
)
def play(request) -> Play:
    """Return the play of a batch of games; half of them mostly follow a script, and so get further."""
    take_step, steps = request.param
    chance, lanes = np.random.default_rng(0), np.arange(BATCH)
    states = begin_all(0)
    rich = states.replace(
        owned=np.ones_like(states.owned),
        player=states.player.replace(credits=states.player.credits + 30, energy=states.player.energy + 30),
    )
    position, seen = look_at_all(choose_all(lanes % 4 == 1, rich, states)), []
    for number in range(steps):
        states, mask = position.state, position.mask
        at_random = [chance.choice(np.flatnonzero(each)) for each in mask]
        follows = (lanes % 2 == 0) & (chance.random(BATCH) < 0.7)
        actions = np.where(follows, script_all(states), at_random).astype(np.int32)
        position, *rest = take_step(number, states, actions)
        seen.append((states.replace(history=None), mask, actions, *rest))
    before, *others = jax.tree.map(lambda *leaves: np.stack(leaves), *seen)
    last = position.state.replace(history=None)
    return Play(before, jax.tree.map(lambda all_, end: np.concatenate([all_[1:], end[None]]), before, last), *others)


def cells_of(entries: Any) -> np.ndarray:
    """Return on how many entries of a list each cell is, by step and game."""
    used = np.arange(entries.row.shape[-1]) < entries.count[..., None]
    numbers = np.where(used, entries.row * 6 + entries.col, 36)
    return (numbers[..., None] == np.arange(36)).sum(axis=-2)


def player_cell(states: EnvState) -> np.ndarray:
    return (states.player.row * 6 + states.player.col)[..., None] == np.arange(36)


def blocks_of(states: EnvState) -> np.ndarray:
    return (states.grid.block_kind > 0).reshape(*states.stage.shape, 36)


def test_the_components_add_up_to_the_reward(play):
    components = play.info["reward_components"]
    assert components.keys() == set(COMPONENTS)
    total = sum(components[name].astype(np.float64) for name in COMPONENTS)
    np.testing.assert_allclose(play.reward, total, rtol=1e-6, atol=1e-5)
    assert play.reward.dtype == np.float32


def test_no_masked_action_is_illegal(play, record_property):
    assert not play.info["illegal"].any()
    assert np.take_along_axis(play.mask, play.action[..., None], axis=-1).all()
    assert play.mask.any(axis=-1).all()
    record_property("counted", ("steps in long play", dict(Counter(ACTION_NAMES[each] for each in play.action.flat))))


def test_exactly_the_actions_outside_the_mask_are_illegal():
    chance = random.Random(8)
    games = [random_game(chance) for _ in range(BATCH // 2)] * 2
    states, masks = states_of(games), masked(games)
    for first in range(0, ACTIONS, 2):
        actions = np.repeat([first, first + 1], BATCH // 2)
        after, reward, terminated, _, info, *_ = step_all(3, states, actions)
        illegal = np.array([action not in mask for action, mask in zip(actions, masks, strict=True)])
        np.testing.assert_array_equal(info["illegal"], illegal)
        assert terminated[illegal].all()
        assert not reward[illegal].any()
        assert not changed(states, after, illegal)


def changed(before: EnvState, after: EnvState, lanes: np.ndarray) -> list[str]:
    """Return what of the game, seen as its bits, is not as it was; what the reward remembers is no part of it."""
    pairs = zip(jax.tree_util.tree_leaves_with_path(before), jax.tree.leaves(after), strict=True)
    differs = [
        jax.tree_util.keystr(path) for (path, old), new in pairs if (np.asarray(old) != np.asarray(new))[lanes].any()
    ]
    return [name for name in differs if not name.startswith((".before", ".steps"))]


@pytest.mark.parametrize("number", [-1, 28, 1000])
def test_a_number_that_is_no_action_is_illegal(number):
    states = states_of([State()] * BATCH)
    after, reward, terminated, _, info, *_ = step_all(3, states, [number] * BATCH)
    assert terminated.all()
    assert info["illegal"].all()
    assert not reward.any()
    assert games_of(after) == games_of(states)


def test_a_cell_holds_credits_or_energy_but_not_both(play):
    grid = play.before.grid
    assert not ((grid.credits > 0) & (grid.energy > 0)).any()
    assert (grid.credits.min(), grid.credits.max()) == (0, 3)
    assert (grid.energy.min(), grid.energy.max()) == (0, 3)


def test_every_new_board_is_one_that_the_rules_allow(play, record_property):
    fresh = play.info["stage_completed"] & ~play.info["won"] | play.ended
    where = np.argwhere(fresh)
    several = where[:: max(1, len(where) // 400)]
    picked = jax.tree.map(lambda leaf: leaf[several[:, 0], several[:, 1]], play.after)
    empty = jax.tree.map(lambda leaf: np.broadcast_to(np.asarray(leaf), (len(several), *leaf.shape)), History())
    for game in games_of(picked.replace(history=empty)):
        assert not board_faults(game, [each.place for each in [*game.enemies, *game.transmissions]]), game
        assert (game.turn, game.interval, game.next_task) == (0, 13 - game.stage, 13 - game.stage)
    record_property("counted", ("new boards in long play", {"looked at": len(several), "made": int(fresh.sum())}))


def test_nothing_appears_on_the_player_an_enemy_another_transmission_or_a_block(play):
    goes_on = ~play.ended
    coming = cells_of(play.after.transmissions)
    assert coming.max() == 1
    assert not ((coming > 0) & blocks_of(play.after)).any()
    new = (coming > 0) & (cells_of(play.before.transmissions) == 0) & goes_on[..., None]
    assert not (new & (player_cell(play.after) | (cells_of(play.after.enemies) > 0))).any()
    assert new.sum() > 250


def test_no_enemy_walks_onto_another_a_transmission_or_the_player(play):
    before, after = play.before.enemies, play.after.enemies
    slots = np.arange(36)
    hatched = ((play.before.transmissions.turns <= 1) & (slots < play.before.transmissions.count[..., None])).sum(
        axis=-1
    )
    wait = action_of("WAIT")
    nobody_left = after.count == before.count + hatched  # so slots are those of the same enemies
    turn = (play.after.turn == play.before.turn + 1) & ((play.action < 5) | (play.action == wait))
    walks = turn & nobody_left & ~play.ended
    there = slots < before.count[..., None]
    moved = there & walks[..., None] & ((before.row != after.row) | (before.col != after.col))
    cell = after.row * 6 + after.col
    taken = cells_of(after) + cells_of(play.after.transmissions) + player_cell(play.after)
    assert moved.sum() > 250
    assert (np.take_along_axis(taken, cell.astype(int), axis=-1)[moved] == 1).all()  # the enemy itself
    far = np.abs(before.row - after.row) + np.abs(before.col - after.col)
    assert (far[moved] <= np.where(before.type[moved] == VIRUS, 2, 1)).all()


def test_hit_points_stay_between_none_and_three(play):
    assert play.before.player.hp.min() == 1
    assert play.before.player.hp.max() == 3
    assert play.after.player.hp.min() >= 1  # whoever died plays a new game


def test_a_game_that_is_over_is_followed_by_a_new_one(play):
    after = jax.tree.map(lambda leaf: leaf[play.ended], play.after)
    assert len(after.stage) > play.action.shape[1]
    assert set(after.stage.tolist()) == {1}
    assert set(after.turn.tolist()) == {0}
    assert set(after.steps.tolist()) == {0}
    assert not after.owned.any()
    assert not after.enemies.count.any()
    assert set(after.transmissions.count.tolist()) == {1}
    bonus = {
        tuple(map(int, each))
        for each in zip(after.player.credits, after.player.energy, after.player.data_siphons, strict=True)
    }
    assert bonus == {(10, 0, 0), (0, 11, 0), (0, 0, 1)}


def test_a_game_ends_by_victory_by_death_or_after_its_last_step(play):
    np.testing.assert_array_equal(play.terminated, play.info["died"] | play.info["won"])
    np.testing.assert_array_equal(play.truncated, (play.before.steps == MAX_STEPS - 1) & ~play.terminated)
    assert play.truncated.any()
    assert play.info["died"].any()


def test_the_stage_rises_by_one_when_it_is_completed(play):
    goes_on = ~play.ended
    rises = (play.after.stage - play.before.stage)[goes_on]
    np.testing.assert_array_equal(rises, play.info["stage_completed"][goes_on])
    np.testing.assert_array_equal(play.info["stage"], play.before.stage)
    assert play.before.stage.max() >= 4


@pytest.fixture(params=[1, pytest.param(8, marks=pytest.mark.slow)])
def times(request) -> int:
    """Return how many times as many draws are made as a quick test makes."""
    return request.param


def drawn(game: State, action: str, batches: int) -> EnvState:
    """Return the states after the same step of the same game, with many different draws."""
    states = states_of([game] * BATCH)
    actions = [action_of(action)] * BATCH
    found = [step_all(1000 + number, states, actions)[0] for number in range(batches)]
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *found)


def assert_likely(found: Counter, expected: dict[Any, float]) -> None:
    """Fail when what was found is unlikely to have been drawn with the expected weights."""
    assert found.keys() <= expected.keys(), found.keys() - expected.keys()
    total = found.total() / sum(expected.values())
    result = chisquare([found[each] for each in expected], [weight * total for weight in expected.values()])
    assert result.pvalue > UNLIKELY, (found, expected)


def crowded(player: tuple[int, int], blocks: list[tuple[int, int]], *enemies: tuple[str, int, int]) -> State:
    """Return a game in which what enemies do depends on their order; WAIT is at hand, and no task is near."""
    game = State(player=Player(*player, energy=1), owned={"WAIT"}, next_task=100)
    for place in blocks:
        game.cells[place] = Cell(block=Block(points=1, spawn=1))
    game.enemies = [Enemy(*each) for each in enemies]
    return game


CROWDS = {
    "three enemies, six outcomes": crowded(
        (1, 2),
        [
            (0, 5),
            (1, 0),
            (1, 1),
            (1, 4),
            (2, 0),
            (2, 2),
            (2, 5),
            (3, 1),
            (3, 2),
            (3, 4),
            (4, 1),
            (4, 5),
            (5, 1),
            (5, 4),
        ],
        ("daemon", 4, 2),
        ("daemon", 5, 3),
        ("daemon", 5, 2),
    ),
    "four enemies": crowded(
        (0, 0),
        [(0, 2), (0, 5), (1, 3), (2, 3), (3, 0), (4, 3), (5, 3)],
        ("daemon", 4, 4),
        ("daemon", 2, 5),
        ("daemon", 4, 5),
        ("daemon", 3, 5),
    ),
    "three viruses, which move twice": crowded(
        (0, 0),
        [
            (0, 1),
            (0, 3),
            (0, 5),
            (1, 0),
            (1, 1),
            (1, 5),
            (2, 3),
            (2, 4),
            (3, 3),
            (3, 5),
            (4, 0),
            (4, 5),
            (5, 0),
            (5, 1),
        ],
        ("virus", 3, 1),
        ("virus", 2, 0),
        ("virus", 3, 0),
    ),
    "two viruses and a daemon": crowded(
        (2, 5),
        [
            (0, 3),
            (1, 0),
            (1, 2),
            (1, 3),
            (2, 0),
            (2, 2),
            (2, 3),
            (3, 0),
            (3, 1),
            (3, 2),
            (3, 3),
            (4, 0),
            (4, 4),
            (4, 5),
            (5, 4),
        ],
        ("virus", 5, 3),
        ("virus", 4, 3),
        ("daemon", 5, 2),
    ),
}


def weigh_outcomes(game: State) -> dict[Any, float]:
    """Return how likely each outcome of the enemies' moves is, if whoever is left is visited next with equal chances."""
    weights: dict[Any, float] = {}
    choices: list[list[int]] = [[]]
    while choices:
        given, bounds = choices.pop(), []

        def choose(bound: int, given: list[int] = given, bounds: list[int] = bounds) -> int:
            bounds.append(bound)
            return given[len(bounds) - 1] if len(bounds) <= len(given) else 0

        acted = game.copy()
        move_enemies(acted, choose)
        for at in range(len(given), len(bounds)):  # those that were not given are to be tried otherwise too
            choices += [[*given, *[0] * (at - len(given)), other] for other in range(1, bounds[at])]
        outcome = tuple(enemy.place for enemy in acted.enemies)
        weights[outcome] = weights.get(outcome, 0.0) + 1 / math.prod(bounds)
    assert sum(weights.values()) == pytest.approx(1)
    return weights


@pytest.mark.parametrize("name", CROWDS)
def test_every_order_of_visits_is_as_likely_in_each_round(name, times):
    game = CROWDS[name]
    expected = weigh_outcomes(game)
    enemies = drawn(game, "WAIT", batches=8 * times).enemies
    count = len(game.enemies)
    rows, cols = enemies.row[:, :count].tolist(), enemies.col[:, :count].tolist()
    assert len(expected) >= 6
    assert_likely(Counter(tuple(zip(*each, strict=True)) for each in zip(rows, cols, strict=True)), expected)


def test_warp_leads_to_every_enemy_and_transmission_alike(times):
    game = State(player=Player(credits=2, energy=2), owned={"WARP"})
    game.enemies = [Enemy("daemon", 2, 2, 3), Enemy("virus", 3, 1, 2), Enemy("glitch", 1, 4, 2)]
    game.transmissions = [Transmission("virus", 4, 4), Transmission("virus", 5, 0)]
    player = drawn(game, "WARP", batches=8 * times).player
    places = [each.place for each in [*game.enemies, *game.transmissions]]
    assert_likely(Counter(zip(player.row.tolist(), player.col.tolist(), strict=True)), dict.fromkeys(places, 1))


def test_poly_makes_any_other_type_of_each_enemy_alike(times):
    game = State(player=Player(credits=1, energy=1), owned={"POLY"})
    game.enemies = [Enemy(kind, 2, col, 2) for col, kind in enumerate(ENEMIES)]
    enemies = drawn(game, "POLY", batches=16 * times).enemies
    others = [[number for number in range(4) if number != kind] for kind in range(4)]
    expected = dict.fromkeys(itertools.product(*others), 1)
    assert_likely(Counter(map(tuple, enemies.type[:, :4].tolist())), expected)


def test_a_scheduled_task_appears_on_every_eligible_cell_alike_as_any_type(times):
    game = game_of({"turn": 11, "player": {"row": 2, "col": 2, "energy": 1}, "owned": ["wait"]})
    for place in [(2, 4), (4, 4), (3, 0), (1, 1)]:
        game.cells[place] = Cell(block=Block(points=1, spawn=1))
    hidden = set(PLACES) - game.blocks - find_line_of_fire((2, 2), game.blocks) - {(2, 2)}
    expected = dict.fromkeys(itertools.product(sorted(hidden), range(4)), 1)
    coming = drawn(game, "WAIT", batches=16 * times).transmissions
    assert set(coming.count.tolist()) == {1}
    found = zip(coming.row[:, 0].tolist(), coming.col[:, 0].tolist(), coming.type[:, 0].tolist(), strict=True)
    assert_likely(Counter(((row, col), kind) for row, col, kind in found), expected)


@pytest.mark.parametrize("out_of_fire", [True, False])
def test_what_a_siphon_releases_appears_on_every_eligible_cell_alike(out_of_fire, times):
    free = [(3, 3), (3, 5), (5, 3), (5, 5)] if out_of_fire else [(0, 1), (0, 2), (1, 0)]
    game = State(player=Player(energy=1), owned={"WAIT"}, pending=3, next_task=100)
    for place in PLACES:
        if place not in free and place != (0, 0):
            game.cells[place] = Cell(block=Block(points=1, spawn=1))
    expected = dict.fromkeys(itertools.permutations(free, 3), 1)
    coming = drawn(game, "WAIT", batches=8 * times).transmissions
    found = zip(coming.row[:, :3].tolist(), coming.col[:, :3].tolist(), strict=True)
    assert_likely(Counter(tuple(zip(rows, cols, strict=True)) for rows, cols in found), expected)
