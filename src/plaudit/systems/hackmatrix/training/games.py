"""The game as PPO plays it: many games at once, seen from the player, and policies to compare with."""

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from plaudit.reward.reward import Reward
from plaudit.systems.hackmatrix.arrays.bitboard import MOVES, Board
from plaudit.systems.hackmatrix.board_generation import new_game, renew
from plaudit.systems.hackmatrix.calculate import measure_inputs
from plaudit.systems.hackmatrix.entity_lists import find_occupied_cells
from plaudit.systems.hackmatrix.env import Info, action_mask, auto_reset_step, observe, step
from plaudit.systems.hackmatrix.features import GRID_FEATURES, OBSERVATION_SIZE, PLAYER_FEATURES
from plaudit.systems.hackmatrix.pathfinding import find_step_towards
from plaudit.systems.hackmatrix.rules import ACTIONS, DIRECTIONS, NO_BLOCK, PROGRAMS, SIZE, Rules
from plaudit.systems.hackmatrix.state import EnvState
from plaudit.systems.hackmatrix.training.config import View
from plaudit.systems.hackmatrix.training.evaluation import Policy
from plaudit.systems.hackmatrix.training.ppo import Environment, Outcome, Params, States

Array = jax.Array

_RULES = Rules.reference()

_NUMBERS = len(PLAYER_FEATURES) + len(PROGRAMS)
_ZERO, _ONE = OBSERVATION_SIZE, OBSERVATION_SIZE + 1
"""Where two constants stand, behind the observation."""
_THINGS = tuple(at for at, name in enumerate(GRID_FEATURES) if name not in PROGRAMS)
_PROGRAMS = tuple(GRID_FEATURES.index(name) for name in PROGRAMS)
_REACH = range(1 - SIZE, SIZE)
_CROSS = ((0, 0), *DIRECTIONS)
"""The cells that a siphon reaches."""


@lru_cache(maxsize=8)
def build_games(reward: Reward, *, view: View = "player", max_steps: int | None = None) -> Environment:
    """Return the game as PPO plays it, under the reference rules and paid by `reward`."""
    seen: Callable[[Array], Array] = center_on_player if view == "player" else lambda observation: observation
    paid: dict[str, Any] = {"rules": _RULES, "reward": reward}
    one_step = (
        partial(_step_and_truncate, max_steps=max_steps, **paid) if max_steps else partial(_step_and_renew, **paid)
    )
    return Environment(
        actions=ACTIONS,
        terms=tuple(term.name for term in reward.terms),
        reset=lambda key, count: jax.vmap(new_game)(jax.random.split(key, count)),
        observe=lambda states: seen(jax.vmap(observe)(states).flat()),
        mask=jax.vmap(action_mask),
        step=_vmap_step(one_step),
        advance=_vmap_step(partial(_advance, **paid)),
    )


def _vmap_step(one_step: Any) -> Any:
    """Return a step of all games, each with a key of its own."""

    def steps(key: Array, states: States, actions: Array) -> tuple[States, Outcome]:
        after, outcome = jax.vmap(one_step)(jax.random.split(key, len(actions)), states, actions)
        return after, outcome

    return steps


def _step_and_renew(key: Array, state: EnvState, action: Array, **paid: Any) -> tuple[EnvState, Outcome]:
    _, after, earned, terminated, truncated, info = auto_reset_step(key, state, action, **paid)
    return after, _build_outcome(earned, terminated, truncated, info)


def _advance(key: Array, state: EnvState, action: Array, **paid: Any) -> tuple[EnvState, Outcome]:
    _, after, earned, terminated, truncated, info = step(key, state, action, **paid)
    inputs = measure_inputs(after, info["stage_completed"], info["won"], info["died"], action, rules=_RULES)
    return after, _build_outcome(earned, terminated, truncated, info)._replace(inputs=inputs, board=state.snapshot())


def _step_and_truncate(
    key: Array, state: EnvState, action: Array, max_steps: int, **paid: Any
) -> tuple[EnvState, Outcome]:
    """Play a step as `_step_and_renew` does, and keep the state in which an episode was cut off."""
    stepping, beginning = jax.random.split(key)
    _, after, earned, terminated, _, info = step(stepping, state, action, **paid)
    truncated = (after.steps >= max_steps) & ~terminated
    outcome = _build_outcome(earned, terminated, truncated, info)._replace(final=after)
    return renew(beginning, after, stage_over=jnp.bool_(False), game_over=outcome.ended), outcome


def _build_outcome(earned: Array, terminated: Array, truncated: Array, info: Info) -> Outcome:
    terms = jnp.stack(list(info["reward_components"].values()))
    return Outcome(earned, terminated, truncated, terms, info["stage"], info["won"])


def center_on_player(observation: Array) -> Array:
    """Return flat observations, in the last axis, with the player in the middle.

    Its own numbers and programs come first; then, for each of the 11 × 11 cells around it, whether the board is there
    and what lies on it; then the programs of the blocks within reach of a siphon. What matters most in the game is
    relative: an enemy in line, a block beside, the exit up and to the left. On a board with fixed cells a network
    has to learn that again for each of the 36 cells the player can be on. Nothing is added that the observation does
    not say, and nothing is left out but the programs of blocks too far away to be siphoned.

    >>> center_on_player(jnp.zeros(1545)).shape
    (2568,)
    """
    row, col = (jnp.round(observation[..., at] * (SIZE - 1)).astype(jnp.int32) for at in range(2))
    constants = jnp.broadcast_to(jnp.array([0, 1], observation.dtype), (*observation.shape[:-1], 2))
    source = jnp.asarray(_find_all_sources())[row * SIZE + col]
    return jnp.take_along_axis(jnp.concatenate([observation, constants], axis=-1), source, axis=-1)


@lru_cache(maxsize=1)
def _find_all_sources() -> np.ndarray[Any, np.dtype[np.int32]]:
    """Return, for each cell that the player can be on, where each number of its view stands in the observation."""
    return np.array([_find_sources(row, col) for row in range(SIZE) for col in range(SIZE)], np.int32)


def _find_sources(row: int, col: int) -> list[int]:
    def cell(up: int, right: int, features: tuple[int, ...], *before: int) -> list[int]:
        inside = 0 <= row + up < SIZE and 0 <= col + right < SIZE
        start = _NUMBERS + ((row + up) * SIZE + col + right) * len(GRID_FEATURES)
        seen = [start + feature if inside else _ZERO for feature in features]
        return [*(there if inside else _ZERO for there in before), *seen]

    things = [number for up in _REACH for right in _REACH for number in cell(up, right, _THINGS, _ONE)]
    programs = [number for up, right in _CROSS for number in cell(up, right, _PROGRAMS)]
    return [*range(_NUMBERS), *things, *programs]


def choose_scripted_action(state: EnvState) -> Array:
    """Return the script's action: shoot in the first direction that has a target, else go to the exit the short way.

    >>> choose_scripted_action(EnvState()).item()
    0
    """
    walls = Board.of(state.grid.block_kind != NO_BLOCK)
    here = Board.at(state.player.row, state.player.col)
    enemies, transmissions = find_occupied_cells(state.enemies), find_occupied_cells(state.transmissions)
    targets = [_has_target(move, here, enemies | transmissions, walls) for move in MOVES]
    exit = Board.at(state.exit_row, state.exit_col)
    towards = find_step_towards(exit, here, ~walls | exit)
    steps = [(move(here) & towards).any() for move in MOVES]
    legal = [(move(here) & (~walls | enemies)).any() for move in MOVES]
    wishes = jnp.stack([*targets, *steps, *legal])  # the first of them that holds
    return (jnp.argmax(wishes) % len(MOVES)).astype(jnp.int32)


def _has_target(move: Callable[[Board], Board], here: Board, things: Board, walls: Board) -> Array:
    """Return whether a shot would hit something: one sees as far as the first block, and what stands on it."""
    seen: Array = jnp.bool_(False)
    clear, front = jnp.bool_(True), here
    for _ in range(SIZE - 1):
        front = move(front)
        seen |= clear & (front & things).any()
        clear &= ~(front & walls).any()
    return seen


def choose_random_action(key: Array, mask: Array) -> Array:
    """Return one of the legal actions, each as likely."""
    return jax.random.categorical(key, jnp.where(mask, 0.0, -jnp.inf)).astype(jnp.int32)


def choose_random_direction(key: Array, mask: Array) -> Array:
    """Return one of the legal directions, each as likely."""
    return choose_random_action(key, mask[: len(DIRECTIONS)])


def _choose_by_script(params: Params, key: Array, states: States, observation: Array, mask: Array) -> Array:
    return jax.vmap(choose_scripted_action)(states)


def _choose_at_random(params: Params, key: Array, states: States, observation: Array, mask: Array) -> Array:
    return jax.vmap(choose_random_action)(jax.random.split(key, len(mask)), mask)


def _walk_at_random(params: Params, key: Array, states: States, observation: Array, mask: Array) -> Array:
    return jax.vmap(choose_random_direction)(jax.random.split(key, len(mask)), mask)


BASELINES: Mapping[str, Policy] = {
    "script": _choose_by_script,
    "random walk": _walk_at_random,
    "random": _choose_at_random,
}
"""Policies that need no training, the best first."""
