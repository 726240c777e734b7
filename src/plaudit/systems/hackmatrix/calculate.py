"""What a step earns, by the state after it and what that state remembers of the time before."""

from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp

from plaudit.errors import UnknownField
from plaudit.language.static import analyse_program
from plaudit.reward.reward import Reward
from plaudit.systems.hackmatrix import rewards
from plaudit.systems.hackmatrix.arrays.bitboard import Board
from plaudit.systems.hackmatrix.arrays.masked_vmap import masked_vmap
from plaudit.systems.hackmatrix.entity_lists import is_in_use
from plaudit.systems.hackmatrix.pathfinding import find_exit_distance
from plaudit.systems.hackmatrix.rules import ACTION_SIPHON, NO_BLOCK, STAGES, Rules
from plaudit.systems.hackmatrix.siphon_quality import check_siphon_optimality
from plaudit.systems.hackmatrix.state import Before, EnvState, Grid, Player
from plaudit.systems.hackmatrix.validation import (
    validate_action,
    validate_bool,
    validate_reward,
    validate_rules,
    validate_state,
)
from plaudit.targets import compile_program

Array = jax.Array

_SEED = Rules.seed()


def calculate_reward(
    state: EnvState,
    stage_completed: Array | bool,
    game_won: Array | bool,
    player_died: Array | bool,
    action: Array | int,
    *,
    rules: Rules = _SEED,
    reward: Reward = rewards.reward,
) -> tuple[Array, dict[str, Array]]:
    """Compute the reward of a step.

    Args:
        state: The state after the step. After a completed stage it is on the next stage, unless the game is won.
        stage_completed: Whether the step completed a stage.
        game_won: Whether it won the game.
        player_died: Whether the player died.
        action: The action.
        rules: The rules that measure distances and siphons.
        reward: The reward to score with.

    Returns:
        The total, and each component by name, in the order in which they are summed.

    >>> state = EnvState(before=Before(exit_distance=11))
    >>> total, parts = calculate_reward(state, False, False, False, 0)
    >>> round(total.item(), 2), round(parts["distance_shaping"].item(), 2)
    (0.04, 0.05)
    """
    flags = {"stage_completed": stage_completed, "game_won": game_won, "player_died": player_died}
    happened = [validate_bool(name, flag) for name, flag in flags.items()]
    scoring = _compile_scoring(validate_reward(reward), validate_rules(rules))
    total, parts = scoring(validate_state(state), *happened, validate_action(action))
    return total, parts


def remember(state: EnvState, action: Array | int, *, rules: Rules = _SEED) -> EnvState:
    """Store the values before an action in the state, for the reward to compare with.

    Kills and pickups of the action are not known yet, and are 0.

    Args:
        state: The state before the action.
        action: The action.
        rules: The rules that measure distances and siphons.

    Returns:
        The state with its `before` filled in.

    Example:
        state = remember(state, action)
        after = play(state, action)  # your own game
        total, parts = calculate_reward(after, False, False, False, action)
    """
    before = _measure_before(validate_state(state), validate_action(action), rules=rules)
    return state.replace(before=before)


@lru_cache(maxsize=16)
def _compile_missed(rules: Rules) -> Any:
    """Return the function that tells what a siphon misses, 0 and 0 where there is none, which is nearly everywhere."""

    def find_missed(parts: tuple[Player, Grid, Array]) -> Array:
        player, grid, owned = parts
        quality = check_siphon_optimality(EnvState(player=player, grid=grid, owned=owned), rules=rules)
        return jnp.stack([quality.missed_credits, quality.missed_energy])

    return masked_vmap(find_missed)


def measure_exit_distance(state: EnvState, *, rules: Rules = _SEED) -> Array:
    """Return how far the exit is for the player."""
    player, walls = state.player, Board.of(state.grid.block_kind != NO_BLOCK)
    return find_exit_distance(walls, player.row, player.col, state.exit_row, state.exit_col, rules=rules)


def measure_inputs(
    state: EnvState, stage_completed: Array, game_won: Array, player_died: Array, action: Array, *, rules: Rules
) -> dict[str, Array]:
    """Return what the reward reads of a step, by the names of its inputs."""
    player, before = state.player, state.before
    now = measure_exit_distance(state, rules=rules)
    unknown = jnp.where(stage_completed, 0, now)  # no change, which on completing a stage means none was left
    distance = jnp.where(before.exit_distance < 0, unknown, before.exit_distance)
    stage = state.stage - (stage_completed & ~game_won)
    numbers = {
        **{f"prev.{name}": getattr(before, name) for name in ("score", "hp", "credits", "energy")},
        **{f"curr.{name}": getattr(player, name) for name in ("score", "hp", "credits", "energy")},
        "prev.exit_distance": distance,
        "curr.exit_distance": now,
        "stage": jnp.clip(stage, 1, STAGES),
        "action": action,
        "kills": before.kills,
        "missed_credits": before.missed_credits,
        "missed_energy": before.missed_energy,
    }
    flags = {
        "picked_up": before.picked_up,
        "stage_completed": stage_completed,
        "won": game_won,
        "died": player_died,
        "siphon_death": _has_siphon_enemy_beside(state),
    }
    return {name: number.astype(jnp.float32) for name, number in numbers.items()} | flags


def _has_siphon_enemy_beside(state: EnvState) -> Array:
    """Return whether an enemy that a siphon let in stands next to the player, not diagonally."""
    enemies, player = state.enemies, state.player
    away = jnp.abs(enemies.row - player.row) + jnp.abs(enemies.col - player.col)
    return (is_in_use(enemies) & enemies.from_siphon & (away == 1)).any()


@partial(jax.jit, static_argnames="rules")
def _measure_before(state: EnvState, action: Array, rules: Rules) -> Before:
    player = state.player
    siphons = (action == ACTION_SIPHON) & (player.data_siphons > 0)
    missed = _compile_missed(validate_rules(rules))(siphons, (player, state.grid, state.owned))
    return Before(
        score=player.score,
        hp=player.hp,
        credits=player.credits,
        energy=player.energy,
        exit_distance=measure_exit_distance(state, rules=rules),
        missed_credits=missed[0],
        missed_energy=missed[1],
    )


@lru_cache(maxsize=64)
def _compile_scoring(reward: Reward, rules: Rules) -> Any:
    """Return the function that scores a step, compiled once for a reward.

    A game that goes beyond the ranges which the reward declares still has a reward. What is sure within them is not
    tested either: each component would have to wait for the total, to know whether that is finite.
    """
    program = reward.program.bind()
    sure = analyse_program(program).holds
    open_to_doubt = tuple(guard for guard in program.value_guards if guard.node not in sure)
    compiled = compile_program(replace(program, value_guards=open_to_doubt), "jax", guard=False)

    def score(state: EnvState, *happened: Array) -> tuple[Array, dict[str, Array]]:
        inputs = measure_inputs(state, *happened, rules=rules)
        for name in compiled.inputs:
            if name not in inputs:
                raise UnknownField(
                    f"reward {reward.name!r} reads {name!r}, which the game does not measure. "
                    f"It measures: {', '.join(sorted(inputs))}."
                )
        scores = compiled({name: inputs[name] for name in compiled.inputs})
        return scores.total, scores.values

    return jax.jit(score)
