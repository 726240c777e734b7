"""Policies that need no training: a short script, and dice. What a trained one has to beat."""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from plaudit.systems.hackmatrix.arrays.bitboard import MOVES, Board
from plaudit.systems.hackmatrix.boards.placing import standing
from plaudit.systems.hackmatrix.pathfinding import step_towards
from plaudit.systems.hackmatrix.rules import DIRECTIONS, NO_BLOCK, SIZE
from plaudit.systems.hackmatrix.state import EnvState

Array = jax.Array


def scripted_action(state: EnvState) -> Array:
    """Return the script's action: shoot in the first direction that has a target, else go to the exit the short way.

    >>> scripted_action(EnvState()).item()
    0
    """
    walls = Board.of(state.grid.block_kind != NO_BLOCK)
    here = Board.at(state.player.row, state.player.col)
    enemies, transmissions = standing(state.enemies), standing(state.transmissions)
    targets = [_sees(move, here, enemies | transmissions, walls) for move in MOVES]
    door = Board.at(state.exit_row, state.exit_col)
    towards = step_towards(door, here, ~walls | door)
    steps = [(move(here) & towards).any() for move in MOVES]
    legal = [(move(here) & (~walls | enemies)).any() for move in MOVES]
    wishes = jnp.stack([*targets, *steps, *legal])  # the first of them that holds
    return (jnp.argmax(wishes) % len(MOVES)).astype(jnp.int32)


def _sees(move: Callable[[Board], Board], here: Board, things: Board, walls: Board) -> Array:
    """Return whether a shot would hit something: one sees as far as the first block, and what stands on it."""
    seen: Array = jnp.bool_(False)
    clear, front = jnp.bool_(True), here
    for _ in range(SIZE - 1):
        front = move(front)
        seen |= clear & (front & things).any()
        clear &= ~(front & walls).any()
    return seen


def random_action(key: Array, mask: Array) -> Array:
    """Return one of the legal actions, each as likely."""
    return jax.random.categorical(key, jnp.where(mask, 0.0, -jnp.inf)).astype(jnp.int32)


def random_direction(key: Array, mask: Array) -> Array:
    """Return one of the legal directions, each as likely."""
    return random_action(key, mask[: len(DIRECTIONS)])
