"""Policies that need no training, against what they reached on another implementation of the same rules."""

import random
from functools import cache
from typing import NamedTuple

import jax
import numpy as np
import pytest
from scipy.stats import chi2_contingency

from plaudit.systems import hackmatrix
from plaudit.systems.hackmatrix.plain.actions import find_target
from plaudit.systems.hackmatrix.plain.cells import add, find_path
from plaudit.systems.hackmatrix.plain.legality import is_allowed
from plaudit.systems.hackmatrix.rules import DIRECTIONS
from support.hackmatrix_model.episodes import play_episodes
from support.hackmatrix_model.random_games import random_game
from support.hackmatrix_model.states import states_of
from support.hackmatrix_model.steps import BATCH, script_all

BATCHES = [1, pytest.param(32, marks=pytest.mark.slow)]
"""How many batches of episodes are played, one after the other."""
POLICIES = [*(pytest.param(name, marks=pytest.mark.slow) for name in ("any action", "any direction")), "script"]
"""Each is compiled into a program of its own."""
RARE = ("program_waste",)
"""Components of which a few hundred episodes say nothing."""


class Baseline(NamedTuple):
    """What a policy reached, as it was measured on a plain model of the rules."""

    policy: str
    episodes: int
    mean_return: float
    deviation: float
    mean_steps: float
    stages: dict[int, int]
    breakdown: dict[str, float]


BASELINES = {
    "any action": Baseline(
        "random",
        episodes=2000,
        mean_return=-3.33,
        deviation=3.91,
        mean_steps=43.4,
        stages={1: 1648, 2: 324, 3: 27, 4: 1},
        breakdown={
            "step_penalty": -0.43,
            "stage_completion": 0.21,
            "score_gain": 0.47,
            "kills": 0.45,
            "data_siphon": 0.34,
            "distance_shaping": 0.89,
            "death_penalty": -0.10,
            "resource_gain": 0.14,
            "resource_holding": 0.02,
            "damage_penalty": -3.12,
            "hp_recovery": 0.12,
            "siphon_quality": -0.04,
            "program_waste": -0.001,
            "siphon_death_penalty": -2.26,
        },
    ),
    "any direction": Baseline(
        "random walk",
        episodes=2000,
        mean_return=-1.49,
        deviation=1.09,
        mean_steps=54.1,
        stages={1: 1540, 2: 417, 3: 42, 4: 1},
        breakdown={},
    ),
    "script": Baseline(
        "script",
        episodes=1000,
        mean_return=4.10,
        deviation=5.09,
        mean_steps=45.7,
        stages={2: 103, 3: 311, 4: 359, 5: 184, 6: 39, 7: 4},
        breakdown={
            "step_penalty": -0.46,
            "stage_completion": 7.77,
            "kills": 2.10,
            "data_siphon": 0.13,
            "distance_shaping": 1.25,
            "death_penalty": -3.89,
            "resource_holding": 0.19,
            "damage_penalty": -4.09,
            "hp_recovery": 1.09,
        },
    ),
}


class Episodes(NamedTuple):
    """Finished episodes, an entry each."""

    returns: np.ndarray
    steps: np.ndarray
    stages: np.ndarray
    components: dict[str, np.ndarray]


@cache
def played(name: str, batches: int) -> Episodes:
    """Return so many batches of episodes of a policy."""
    each = [play_episodes(BASELINES[name].policy, seed).sums for seed in range(batches)]
    sums = jax.tree.map(lambda *parts: np.concatenate(parts), *each)
    components = {term.name: sums.terms[:, at] for at, term in enumerate(hackmatrix.reward.terms)}
    return Episodes(sums.returns, sums.length, sums.stage, components)


def apart(ours: np.ndarray, mean: float, count: int) -> float:
    """Return how far our mean is from another's, in deviations of what sampling makes of such a difference."""
    return abs(ours.mean() - mean) / (ours.std() * np.sqrt(1 / len(ours) + 1 / count))


@pytest.mark.parametrize("batches", BATCHES)
@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_gets_as_far_as_it_did_elsewhere(name, batches, record_property):
    told, found = BASELINES[name], played(name, batches)
    assert len(found.returns) == batches * BATCH
    assert apart(found.returns, told.mean_return, told.episodes) < 4
    assert apart(found.steps, told.mean_steps, told.episodes) < 4
    near = 0.15 * max(1, 512 / len(found.returns)) ** 0.5  # half the episodes say it less exactly
    assert found.returns.std() == pytest.approx(told.deviation, rel=near)
    record_property("counted", ("episodes of untrained policies", {name: len(found.returns)}))


@pytest.mark.parametrize("batches", BATCHES)
@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_ends_on_the_stages_it_did_elsewhere(name, batches):
    told, found = BASELINES[name], played(name, batches)
    last = max(stage for stage, count in told.stages.items() if count > 10)  # the rare ones count as this one
    ours = [(np.minimum(found.stages, last) == stage).sum() for stage in told.stages if stage <= last]
    theirs = [
        sum(n for stage, n in told.stages.items() if min(stage, last) == each)
        for each in range(min(told.stages), last + 1)
    ]
    assert found.stages.min() >= min(told.stages)
    assert chi2_contingency([ours, theirs]).pvalue > 1e-4


@pytest.mark.parametrize("batches", BATCHES)
@pytest.mark.parametrize(
    ("name", "component"),
    [
        pytest.param(name, component, marks=pytest.mark.slow if name != "script" else ())
        for name, told in BASELINES.items()
        for component in told.breakdown
    ],
)
def test_a_policy_is_paid_for_the_same_things_as_elsewhere(name, component, batches):
    told, ours = BASELINES[name], played(name, batches).components[component]
    rounded = 0.005 if component != "program_waste" else 0.0005
    off = abs(ours.mean() - told.breakdown[component]) - rounded
    rarely = abs(told.breakdown[component]) if component in RARE else 0.0  # the variance of what pays up to 1, rarely
    spread = np.sqrt(max(ours.var(), rarely))
    assert off < 4 * spread * np.sqrt(1 / len(ours) + 1 / told.episodes)


def scripted(game):
    """Return what the script does: shoot at the first target in line, else walk to the exit; None where it cannot."""
    for direction in range(len(DIRECTIONS)):
        if find_target(game, direction):
            return direction
    path = find_path(game.player.place, game.exit, game.blocks - {game.exit})
    return path and next(at for at, stride in enumerate(DIRECTIONS) if add(game.player.place, stride) == path[0])


def test_the_script_does_what_its_description_says():
    chance = random.Random(9)
    games = [random_game(chance) for _ in range(2 * BATCH)]
    actions = np.concatenate([script_all(states_of(games[at : at + BATCH])) for at in (0, BATCH)])
    asked = 0
    for game, action in zip(games, actions, strict=True):
        wanted = scripted(game)
        if wanted is not None and is_allowed(game, wanted):
            assert action == wanted, game
            asked += 1
    assert asked > BATCH
