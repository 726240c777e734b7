"""Steps of the environment against the rules in plain loops, from games of all kinds and in play."""

import random
from collections import Counter

import numpy as np
import pytest

from plaudit.systems.hackmatrix.rules import Rules
from support.hackmatrix_model.following import Following, Impossible, differences
from support.hackmatrix_model.game import ACTIONS, DIRECTIONS, Block, Enemy, Game, Player, Transmission
from support.hackmatrix_model.play import legal_actions, step
from support.hackmatrix_model.random_games import random_game
from support.hackmatrix_model.seen import observed
from support.hackmatrix_model.steps import (
    BATCH,
    Stepped,
    begin_all,
    choose_all,
    games_at,
    look_at_all,
    masked,
    observations,
    stepped,
    taken,
)

ENDS_THE_TURN = {*DIRECTIONS, "siphon", "wait"}


def faults(game: Game, action: str, result: Stepped, *, rules: Rules) -> list[str]:
    """Return in what a step of the environment differs from the rules, whatever was drawn."""
    try:
        expected, happened = step(game, action, Following(result.game), rules=rules)
    except Impossible as reason:
        return [f"impossible: {reason}"]
    told = differences(expected, result.game, "game")
    told += differences(happened.done, result.terminated, "terminated")
    told += differences(False, result.truncated, "truncated")
    flags = {
        "stage": game.stage,
        "stage_completed": happened.stage_completed,
        "won": happened.won,
        "died": happened.died,
        "illegal": not happened.legal,
    }
    told += differences(flags, {flag: result.info[flag] for flag in flags}, "info")
    near = 1e-3 if happened.won else 1e-5
    if result.components != pytest.approx(happened.reward, rel=0, abs=near):
        told += differences(happened.reward, result.components, "reward")
    if result.reward != pytest.approx(happened.total, rel=0, abs=near):
        told += differences(happened.total, result.reward, "total")
    return told + differences(legal_actions(expected), result.mask, "mask")


def report(game: Game, action: str, told: list[str]) -> str:
    return "\n".join([f"{action} on {game}", *told])


def chosen(game: Game, counts: Counter, chance: random.Random) -> str:
    """Return an action for a game: mostly a legal one, of those the one that was seldom chosen, often one that ends the turn."""
    if chance.random() < 0.05:
        return chance.choice(ACTIONS)
    legal = legal_actions(game) or ACTIONS
    ending = [action for action in legal if action in ENDS_THE_TURN]
    options = ending if ending and chance.random() < 0.4 else legal
    return min(chance.sample(options, len(options)), key=counts.__getitem__)


@pytest.mark.parametrize(
    ("rules", "batches"),
    [
        pytest.param(Rules.reference(), 2, id="reference"),
        pytest.param(Rules.seed(), 1, id="seed"),
        pytest.param(Rules.reference(), 64, id="many, reference", marks=pytest.mark.slow),
        pytest.param(Rules.seed(), 16, id="many, seed", marks=pytest.mark.slow),
    ],
)
def test_a_step_from_any_game_is_one_that_the_rules_allow(rules, batches, record_property):
    chance, counts = random.Random(batches), Counter()
    games = [random_game(chance) for _ in range(batches * BATCH)]
    actions = []
    for game in games:
        actions.append(chosen(game, counts, chance))
        counts[actions[-1]] += 1
    results = stepped(games, actions, rules=rules, seed=batches)
    for game, action, result in zip(games, actions, results, strict=True):
        told = faults(game, action, result, rules=rules)
        assert not told, report(game, action, told)
    record_property("counted", ("steps from random games", dict(counts)))


def test_an_enemy_that_leaves_a_transmission_does_not_open_its_cell_to_others():
    game = Game(player=Player(energy=1), owned={"wait"})
    for col in range(6):
        game.cells[1, col].block = Block("data", "data", 1, None, 1)
    game.enemies = [Enemy("daemon", 0, 2, 3), Enemy("daemon", 0, 3, 3)]
    game.transmissions = [Transmission("virus", 0, 2, turns=5)]
    for result in stepped([game] * BATCH, ["wait"] * BATCH):
        assert [enemy.place for enemy in result.game.enemies] == [(0, 1), (0, 4)]


def test_the_mask_of_any_game_is_that_of_the_rules():
    chance = random.Random(3)
    games = [random_game(chance) for _ in range(2 * BATCH)]
    for game, mask in zip(games, masked(games), strict=True):
        assert mask == legal_actions(game), game


def test_the_observation_of_any_game_is_that_of_the_rules():
    chance = random.Random(4)
    games = [random_game(chance) for _ in range(2 * BATCH)]
    seen = observations(games)
    for index, game in enumerate(games):
        player, programs, told = observed(game)
        grid = np.zeros((6, 6, 42))
        for where, value in told.items():
            grid[where] = value
        np.testing.assert_allclose(seen.player[index], player, atol=1e-6, err_msg=f"{game}")
        np.testing.assert_array_equal(seen.programs[index], programs, err_msg=f"{game}")
        np.testing.assert_allclose(seen.grid[index], grid, atol=1e-6, err_msg=f"{game}")


def equipped(states):
    """Return games of which half have all programs and much to spend."""
    rich = np.arange(BATCH) % 2 == 0
    plenty = np.where(rich, np.int32(40), np.int32(0))
    player = states.player
    return states.replace(
        owned=states.owned | rich[:, None],
        player=player.replace(
            credits=player.credits + plenty,
            energy=player.energy + plenty,
            data_siphons=player.data_siphons + rich,
        ),
    )


@pytest.mark.parametrize(("steps", "share"), [(16, 4), pytest.param(64, 1, marks=pytest.mark.slow)])
def test_play_from_a_new_game_follows_the_rules(steps, share, record_property):
    """One of so many games is compared after each step, another one each time."""
    counts, chance = Counter(), random.Random(1)
    states = equipped(begin_all(1))
    for number in range(steps):
        masks = look_at_all(states).mask
        actions = [
            min(chance.sample(legal, len(legal)), key=counts.__getitem__)
            if chance.random() < 0.3
            else chance.choice(legal)
            for legal in ([ACTIONS[each] for each in np.flatnonzero(mask)] for mask in masks)
        ]
        lanes = np.arange(number % share, BATCH, share)
        games = games_at(states, lanes)
        states, ended, results = taken(states, actions, seed=number, lanes=lanes)
        for index, game, result in zip(lanes, games, results, strict=True):
            action = actions[index]
            counts[action] += 1
            told = faults(game, action, result, rules=Rules.reference())
            assert not told, report(game, action, told)
        if ended.any():
            states = choose_all(ended, equipped(begin_all(100 + number)), states)
    record_property("counted", ("steps in play", dict(counts)))
