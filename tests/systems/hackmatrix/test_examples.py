"""The worked examples of the rules, on the environment and on the plain rules it is compared with."""

from functools import cache
from typing import Any

import numpy as np
import pytest

from plaudit.systems.hackmatrix.pathfinding import bfs_distance
from plaudit.systems.hackmatrix.plain.cells import count_steps
from plaudit.systems.hackmatrix.plain.draws import make_key
from plaudit.systems.hackmatrix.plain.legality import find_allowed
from plaudit.systems.hackmatrix.plain.observation import observe
from plaudit.systems.hackmatrix.plain.state import State
from plaudit.systems.hackmatrix.plain.step import compile_scoring, step
from plaudit.systems.hackmatrix.rewards import reward as standard
from plaudit.systems.hackmatrix.rules import (
    ACTION_NAMES,
    PROGRAM_CREDITS,
    PROGRAM_ENERGY,
    PROGRAM_SPAWN,
    PROGRAMS,
    Rules,
)
from support.hackmatrix_model.examples import examples, game_of, seen, state_of
from support.hackmatrix_model.steps import masked, observations, stepped

TRANSITIONS = examples()["transitions"]
STEPS = [(example["id"], number) for example in TRANSITIONS for number in range(len(example["steps"]))]
NAMES = [name if not number else f"{name}, step {number + 1}" for name, number in STEPS]

DIFFERENT_BY_SEED = {("E10", "distance_shaping"): 0.05, ("E39", "siphon_quality"): -0.075}
"""What the specification pays otherwise: the direct distance without a path, and any cell with equal values."""


COMPILED = [
    pytest.param(Rules.reference(), id="reference"),
    pytest.param(Rules.seed(), id="seed", marks=pytest.mark.slow),
]
"""Each is compiled into a program of its own."""


@cache
def take_all(rules: Rules) -> dict[tuple[str, int], tuple[State, Any]]:
    """Return, by example and number of the step, the game before a step and what the environment did."""
    games = {example["id"]: game_of(example["state"]) for example in TRANSITIONS}
    found = {}
    for number in range(max(len(example["steps"]) for example in TRANSITIONS)):
        now = [example for example in TRANSITIONS if len(example["steps"]) > number]
        before = [games[example["id"]] for example in now]
        actions = [example["steps"][number]["action"] for example in now]
        for example, game, result in zip(now, before, stepped(before, actions, rules=rules, seed=number), strict=True):
            found[example["id"], number] = (game, result)
            games[example["id"]] = result.game
    return found


def _told(name: str, number: int, rules: Rules) -> tuple[dict[str, Any], dict[str, float]]:
    """Return a step of an example, and the reward it pays under some rules."""
    told = next(example for example in TRANSITIONS if example["id"] == name)["steps"][number]
    extra = DIFFERENT_BY_SEED if rules == Rules.seed() else {}
    return told, {key: value + extra.get((name, key), 0.0) for key, value in told["reward"].items()}


def _close(told: float, reward: dict[str, float]) -> Any:
    return pytest.approx(told, rel=0, abs=1e-3 if reward["victory"] else 1e-5)


@pytest.mark.parametrize("rules", COMPILED)
@pytest.mark.parametrize(("name", "number"), STEPS, ids=NAMES)
def test_an_example_pays_what_the_rules_say(name, number, rules):
    _, result = take_all(rules)[name, number]
    _, reward = _told(name, number, rules)
    assert result.components == {key: _close(value, reward) for key, value in reward.items()}
    assert result.reward == _close(sum(reward.values()), reward)


@pytest.mark.parametrize("rules", COMPILED)
@pytest.mark.parametrize(("name", "number"), STEPS, ids=NAMES)
def test_an_example_ends_as_the_rules_say(name, number, rules):
    _, result = take_all(rules)[name, number]
    told, _ = _told(name, number, rules)
    assert (result.terminated, result.truncated) == (told["done"], False)
    flags = {"illegal": not told["legal"], "stage_completed": told["stage_complete"]}
    flags |= {"won": told["won"], "died": told["died"]}
    assert {flag: result.info[flag] for flag in flags} == flags


@pytest.mark.parametrize(("name", "number"), STEPS, ids=NAMES)
def test_an_example_leaves_the_state_the_rules_say(name, number):
    before, result = take_all(Rules.reference())[name, number]
    told, _ = _told(name, number, Rules.reference())
    assert {what: seen(result.game, what) for what in told["after"]} == told["after"]
    assert result.info["stage"] == before.stage
    if not told["legal"]:
        assert result.game == before
        assert set(result.components.values()) == {0.0}


@pytest.mark.parametrize("rules", [Rules.reference(), Rules.seed()], ids=["reference", "seed"])
@pytest.mark.parametrize("example", TRANSITIONS, ids=[example["id"] for example in TRANSITIONS])
def test_the_plain_rules_agree_with_an_example(example, rules):
    game = game_of(example["state"])
    for number, told in enumerate(example["steps"]):
        _, reward = _told(example["id"], number, rules)
        taken = step(make_key(number), game, told["action"], rules=rules)
        game = taken.state
        assert compile_scoring(standard)(taken)[1] == pytest.approx(reward, rel=0, abs=1e-9)
        flags = (not taken.illegal, taken.stage_completed, taken.won, taken.died)
        assert flags == (told["legal"], told["stage_complete"], told["won"], told["died"])
        assert {what: seen(game, what) for what in told["after"]} == told["after"]


def test_the_examples_are_all_there():
    assert len(TRANSITIONS) == 79
    assert len(STEPS) == 86
    assert [len(examples()[kind]) for kind in ("masks", "observations", "distances")] == [6, 4, 5]


def test_actions_and_programs_are_numbered_as_the_rules_number_them():
    assert [name.lower() for name in ACTION_NAMES] == list(examples()["actions"].values())
    columns = zip(PROGRAMS, PROGRAM_CREDITS, PROGRAM_ENERGY, PROGRAM_SPAWN, strict=True)
    ours = [(slot, slot + 5, name.lower(), *numbers) for slot, (name, *numbers) in enumerate(columns)]
    assert ours == [tuple(row.values()) for row in examples()["program_table"]]


@pytest.mark.parametrize("example", examples()["masks"], ids=lambda example: example["title"])
def test_a_mask_is_what_the_rules_say(example):
    game = game_of(example["state"])
    assert masked([game]) == [example["legal_indices"]]
    assert np.flatnonzero(find_allowed(game)).tolist() == example["legal_indices"]


@pytest.mark.parametrize("example", examples()["distances"], ids=lambda example: example["title"])
def test_a_distance_is_what_the_rules_say(example):
    state = state_of(example["state"])
    player = state.player
    found = bfs_distance(state.grid.block_kind > 0, player.row, player.col, state.exit_row, state.exit_col)
    assert found == (-1 if example["distance"] is None else example["distance"])
    game = game_of(example["state"])
    assert count_steps(game.player.place, game.exit, game.blocks) == example["distance"]


def told_grid(nonzero: Any) -> np.ndarray:
    grid = np.zeros((6, 6, 42))
    for row, col, feature, value in nonzero:
        grid[row, col, feature] = value
    return grid


@pytest.mark.parametrize("example", examples()["observations"], ids=lambda example: example["title"])
def test_an_observation_is_what_the_rules_say(example):
    game = game_of(example["state"])
    seen_now = observations([game])
    assert [leaf.dtype.name for leaf in seen_now] == ["float32", "int32", "float32"]
    np.testing.assert_allclose(seen_now.player[0], example["player"], atol=1e-6)
    assert np.flatnonzero(seen_now.programs[0]).tolist() == example["programs_owned_slots"]
    np.testing.assert_allclose(seen_now.grid[0], told_grid(example["grid_nonzero"]), atol=1e-6)
    plain = observe(game)
    for name, its in seen_now._asdict().items():
        np.testing.assert_array_equal(getattr(plain, name), its[0])
