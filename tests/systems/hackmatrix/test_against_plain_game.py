"""The two engines side by side: the compiled game and the plain one, from the same states with the same keys."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import jax
import numpy as np
import pytest

from plaudit.systems.hackmatrix.plain import draws
from plaudit.systems.hackmatrix.plain.board_generation import new_game
from plaudit.systems.hackmatrix.plain.legality import find_allowed
from plaudit.systems.hackmatrix.plain.observation import observe
from plaudit.systems.hackmatrix.plain.state import Block, Cell, Enemy, Player, State, Transmission
from plaudit.systems.hackmatrix.plain.step import Step, compile_scoring, step
from plaudit.systems.hackmatrix.playing.game import Game
from plaudit.systems.hackmatrix.rewards import reward
from plaudit.systems.hackmatrix.rules import ACTION_NAMES, ACTIONS, PROGRAMS, STAGES, Rules, action_of
from plaudit.systems.hackmatrix.state import EnvState
from support.hackmatrix_model.examples import COMPONENTS
from support.hackmatrix_model.random_games import random_game
from support.hackmatrix_model.states import BATCH, games_of, states_of
from support.hackmatrix_model.steps import Batch, begin_all, begin_anew, look_at_all, step_all

REFERENCE = Rules.reference()
ENDS_THE_TURN = {*range(5), action_of("WAIT")}
ENDS = ("won", "died", "illegal", "stage_completed")
FLAGS = ("stage", *ENDS)

score = compile_scoring(reward)


def key_of(seed: int, lane: int) -> draws.Key:
    """Return the key with which a game of a batch takes a step, or begins."""
    return draws.split(draws.fold_in(draws.make_key(seed), 0), lane)


def differences(expected: Any, got: Any, where: str = "state") -> list[str]:
    """Return where two states differ, a line each."""
    if expected == got:
        return []
    if type(expected) is type(got):
        if hasattr(expected, "__dataclass_fields__"):
            pairs = [
                (f".{each.name}", getattr(expected, each.name), getattr(got, each.name)) for each in fields(expected)
            ]
            return [line for name, mine, its in pairs for line in differences(mine, its, where + name)]
        if isinstance(expected, dict) and expected.keys() == got.keys():
            return [line for key in expected for line in differences(expected[key], got[key], f"{where}[{key}]")]
        if isinstance(expected, list) and len(expected) == len(got):
            pairs = enumerate(zip(expected, got, strict=True))
            return [line for index, (mine, its) in pairs for line in differences(mine, its, f"{where}[{index}]")]
    return [f"{where}: plain {expected!r}, compiled {got!r}"]


def compare(plain: list[Step], compiled: Batch, note: Callable[[int], str]) -> None:
    """Fail where a batch of steps of the compiled game differs from the same steps of the plain one; states apart."""
    for name in FLAGS:
        check(name, [getattr(each, name) for each in plain], compiled.info[name], note)
    ended = [each.won or each.died or each.illegal for each in plain]
    check("terminated", ended, compiled.terminated, note)
    check("truncated", [False] * len(plain), compiled.truncated, note)
    paid = [score(each) for each in plain]
    within = np.where([each.won for each in plain], 1e-3, 1e-5)
    check("reward", [total for total, _ in paid], compiled.reward, note, within=within)
    assert compiled.info["reward_components"].keys() == set(COMPONENTS)
    for name, column in compiled.info["reward_components"].items():
        check(name, [components[name] for _, components in paid], column, note, within=within)
    compare_seen([each.state for each in plain], compiled.mask, compiled.observation, note)


def compare_seen(plain: list[State], mask: Any, observation: Any, note: Callable[[int], str]) -> None:
    """Fail where the mask or the observation differs, which are the same to the last bit."""
    check("mask", [find_allowed(game) for game in plain], mask, note)
    seen = [observe(game) for game in plain]
    for name, its in observation._asdict().items():
        mine = np.stack([getattr(each, name) for each in seen])
        assert mine.dtype == its.dtype
        check(name, mine, its, note)


def check(name: str, plain: Any, compiled: Any, note: Callable[[int], str], *, within: Any = 0.0) -> None:
    """Fail where two columns differ, in the words of the first game in which they do."""
    mine, its = np.asarray(plain), np.asarray(compiled)
    differs = mine != its if mine.dtype == bool else np.abs(mine - its) > within
    if differs.any():
        lane, *where = np.argwhere(differs)[0].tolist()
        at = (lane, *where)
        pytest.fail(f"{note(lane)}\n{name}{where or ''}: plain {mine[at]}, compiled {its[at]}")


def choose(allowed: list[int], counts: Counter, chance: random.Random) -> int:
    """Return a number of an action: now and then any at all, else one that is allowed, and of these a rare one."""
    if chance.random() < 0.01:
        return chance.randrange(ACTIONS)
    ending = [action for action in allowed if action in ENDS_THE_TURN]
    options = ending if ending and chance.random() < 0.6 else allowed
    return min(chance.sample(options, len(options)), key=counts.__getitem__)


RICH, LATE = np.arange(BATCH) % 2 == 0, np.arange(BATCH) % 8 == 3
"""Players that have all programs and much to spend, and those that begin on the last stage."""


def equip(game: State, lane: int) -> State:
    """Return a new game with what its player has more than others."""
    if RICH[lane]:
        game.owned |= set(PROGRAMS)
        game.player.credits += 40
        game.player.energy += 40
        game.player.data_siphons += 2
    if LATE[lane]:
        game.stage = STAGES
    return game


def equip_all(states: EnvState, new: np.ndarray) -> EnvState:
    """Return a batch in which the players of new games have the same."""
    rich, player = new & RICH, states.player
    return states.replace(
        owned=states.owned | rich[:, None],
        stage=np.where(new & LATE, STAGES, states.stage),
        player=player.replace(
            credits=player.credits + 40 * rich,
            energy=player.energy + 40 * rich,
            data_siphons=player.data_siphons + 2 * rich,
        ),
    )


@pytest.mark.parametrize("steps", [60, pytest.param(3_200, marks=pytest.mark.slow)])
def test_the_engines_play_the_same_games(steps, record_property):
    """Each engine goes on from its own state, so what differs in one step is there in all that follow."""
    counts, ends, chance = Counter(), Counter(), random.Random(steps)
    everyone = np.ones(BATCH, bool)
    plain = [equip(new_game(key_of(0, lane)), lane) for lane in range(BATCH)]
    states = equip_all(begin_all(0), everyone)
    for number in range(1, steps + 1):
        actions = [choose(np.flatnonzero(find_allowed(game)).tolist(), counts, chance) for game in plain]
        counts.update(actions)
        compiled = step_all(number, states, actions)
        taken = [step(key_of(number, lane), plain[lane], action) for lane, action in enumerate(actions)]
        compare(taken, compiled, lambda lane: f"step {number}: {ACTION_NAMES[actions[lane]]} on {plain[lane]}")  # noqa: B023
        for name in ENDS:
            ends[name] += sum(getattr(each, name) for each in taken)
        plain, states, over = [each.state for each in taken], compiled.state, compiled.terminated
        if over.any():
            states = equip_all(begin_anew(number, states, over).state, over)
            for lane in np.flatnonzero(over).tolist():
                plain[lane] = equip(new_game(key_of(number, lane)), lane)
        if number % 20 == 0:
            assert not differences(plain, games_of(states))
    assert set(counts) == set(range(ACTIONS))
    assert all(ends[name] for name in ENDS), ends
    record_property("counted", ("steps in play", {ACTION_NAMES[action]: count for action, count in counts.items()}))


@pytest.mark.parametrize(
    ("rules", "batches"),
    [
        pytest.param(REFERENCE, 2, id="reference"),
        pytest.param(Rules.seed(), 2, id="seed", marks=pytest.mark.slow),  # another program
        pytest.param(REFERENCE, 64, id="many, reference", marks=pytest.mark.slow),
        pytest.param(Rules.seed(), 16, id="many, seed", marks=pytest.mark.slow),
    ],
)
def test_a_step_from_any_state_is_the_same_on_both_engines(rules, batches, record_property):
    chance, counts = random.Random(batches), Counter()
    for number in range(batches):
        games = [random_game(chance) for _ in range(BATCH)]
        states = states_of(games)
        seen = look_at_all(states)
        compare_seen(games, seen.mask, seen.observation, lambda lane: f"{games[lane]}")  # noqa: B023
        actions = []
        for mask in seen.mask:
            actions.append(choose(np.flatnonzero(mask).tolist() or list(range(ACTIONS)), counts, chance))
            counts[actions[-1]] += 1
        compiled = step_all(number, states, actions, rules=rules)
        taken = [step(key_of(number, lane), games[lane], action, rules=rules) for lane, action in enumerate(actions)]
        compare(taken, compiled, lambda lane: f"{ACTION_NAMES[actions[lane]]} on {games[lane]}")  # noqa: B023
        assert not differences([each.state for each in taken], games_of(compiled.state))
    record_property("counted", ("steps from random states", {ACTION_NAMES[each]: n for each, n in counts.items()}))


@pytest.mark.parametrize("stage", [1, 5])
def test_a_game_of_a_seed_begins_alike_on_both_engines(stage):
    for seed in (0, 7, 2**32 - 1):
        key = jax.random.key(np.uint32(seed))
        first = jax.random.key_data(jax.random.fold_in(key, 3)).tolist()
        assert tuple(first) == draws.fold_in(draws.make_key(seed), 3)
        game = Game(seed, stage=stage)
        assert (game.state.stage, game.state.turn, len(game.state.transmissions)) == (stage, 0, stage)
        again = new_game(draws.make_key(seed), stage=stage)
        assert game.state == again


def test_new_games_are_the_same_on_both_engines():
    assert [new_game(key_of(5, lane)) for lane in range(BATCH)] == games_of(begin_all(5))


def test_a_warp_to_ones_own_cell_on_the_exit_completes_the_stage_and_a_shot_from_there_does_not():
    warps = State(player=Player(5, 5, credits=2, energy=2), owned={"WARP"}, enemies=[Enemy("glitch", 5, 5)])
    shoots = State(player=Player(5, 5), enemies=[Enemy("glitch", 5, 1)])
    games, actions = [warps, shoots] * (BATCH // 2), [action_of("WARP"), action_of("LEFT")] * (BATCH // 2)
    taken = [step(key_of(0, lane), *each) for lane, each in enumerate(zip(games, actions, strict=True))]
    compare(taken, step_all(0, states_of(games), actions), lambda lane: f"{games[lane]}")
    assert [each.stage_completed for each in taken[:2]] == [True, False]


def test_an_enemy_that_leaves_a_transmission_does_not_open_its_cell_to_others():
    game = State(player=Player(energy=1), owned={"WAIT"})
    for col in range(6):
        game.cells[1, col] = Cell(block=Block(points=1, spawn=1))
    game.enemies = [Enemy("daemon", 0, 2), Enemy("daemon", 0, 3)]
    game.transmissions = [Transmission("virus", 0, 2, turns=5)]
    after = games_of(step_all(0, states_of([game] * BATCH), [action_of("WAIT")] * BATCH).state)
    after += [step(key_of(0, lane), game, action_of("WAIT")).state for lane in range(BATCH)]
    for each in after:
        assert [enemy.place for enemy in each.enemies] == [(0, 1), (0, 4)]
