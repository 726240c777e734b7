"""The player's turn: what an action changes before the enemies' turn."""

from dataclasses import fields
from typing import NamedTuple

import jax
import jax.numpy as jnp

from plaudit.systems.hackmatrix.arrays.bitboard import Board, ring
from plaudit.systems.hackmatrix.lists import in_use, kept
from plaudit.systems.hackmatrix.rules import (
    ACTION_NAMES,
    ACTION_PROGRAM_START,
    ACTION_SIPHON,
    MAX_HP,
    NO_BLOCK,
    PROGRAM_CREDITS,
    PROGRAM_ENERGY,
    PROGRAMS,
    SIZE,
    STAGES,
)
from plaudit.systems.hackmatrix.state import EnvState, Grid
from plaudit.systems.hackmatrix.turns.programs import bombed, changed, hit, shoved, warp_target, wiped
from plaudit.systems.hackmatrix.turns.shots import Aim, aim, stride
from plaudit.systems.hackmatrix.turns.siphoning import siphoned

Array = jax.Array

NOTHING = -1
"""An action that changes nothing and does not end the turn: what an illegal one is replaced by."""
EXCHANGED = 4
DELAYED = 3


class Acted(NamedTuple):
    """What an action came to."""

    state: EnvState
    at_exit: Array
    """The exit was reached."""
    ends_turn: Array
    """It is the enemies' turn, unless the exit was reached."""


def act(seed: Array, state: EnvState, action: Array) -> Acted:
    """Return the state after the player's part of a step; `action` is legal, or `NOTHING`.

    `seed` is two random words.
    """
    did = {name: action == number for number, name in enumerate(ACTION_NAMES)}
    state = _paid(_undone(state, did["UNDO"]), action)
    target = aim(state, action)
    warped_to, onto_enemy = warp_target(seed, state)
    goes = _Goes(
        walks=(action >= 0) & (action < ACTION_SIPHON) & ~target.any(),
        warps_on_enemy=did["WARP"] & onto_enemy,
        warps_on_transmission=did["WARP"] & ~onto_enemy,
        warped_to=warped_to,
    )
    harmed = _harmed(seed, state, did, target, goes)
    moved, at_exit = _moved(harmed, action, goes)
    acted = siphoned(_adjusted(moved, did), did["SIPHON"])
    return Acted(acted, at_exit, ends_turn=(action >= 0) & (action <= ACTION_SIPHON) | did["WAIT"])


class _Goes(NamedTuple):
    """How the player leaves its cell, if it does."""

    walks: Array
    warps_on_enemy: Array
    warps_on_transmission: Array
    warped_to: Array


def _undone(state: EnvState, when: Array) -> EnvState:
    """Go back to the newest snapshot; its credits are from before UNDO was paid for."""
    back = jax.tree.map(lambda new, old: jnp.where(when, new, old), state.history.latest(), state.snapshot())
    restored = {each.name: getattr(back, each.name) for each in fields(back)}
    return state.replace(**restored, history=state.history.popped(when))


def _paid(state: EnvState, action: Array) -> EnvState:
    slot = action - ACTION_PROGRAM_START
    charged = (slot == jnp.arange(len(PROGRAMS))) & (slot != PROGRAMS.index("UNDO"))
    player = state.player
    credits = player.credits - jnp.where(charged, jnp.array(PROGRAM_CREDITS), 0).sum()
    energy = player.energy - jnp.where(charged, jnp.array(PROGRAM_ENERGY), 0).sum()
    return state.replace(player=player.replace(credits=credits, energy=energy))


def _harmed(seed: Array, state: EnvState, did: dict[str, Array], target: Aim, goes: _Goes) -> EnvState:
    """Hit, destroy, change and move enemies and transmissions, and count the kills."""
    enemies, transmissions, player = state.enemies, state.transmissions, state.player
    bomb, splashed = bombed(state, did["D_BOM"])
    hits = hit(state, did) | target.enemy | splashed
    damage = jnp.where(did["ANTI-V"] | did["D_BOM"], 1, player.attack)
    kind, hp = changed(seed, enemies)
    hp = jnp.where(did["POLY"], hp, jnp.where(hits, jnp.maximum(enemies.hp - damage, 0), enemies.hp).astype(jnp.int8))
    dead = bomb | ((hits | did["POLY"]) & in_use(enemies) & (hp == 0))
    near, there = ring(Board.at(player.row, player.col)).when(did["CRASH"]), Board.cell(goes.warped_to)
    gone = wiped(state, near | there.when(goes.warps_on_enemy), near | there.when(goes.warps_on_transmission))
    kills = (
        gone.kills
        + (dead & ~enemies.from_task).sum(dtype=jnp.int32)
        + (target.transmission & ~transmissions.from_task).sum(dtype=jnp.int32)
    )
    row, col = shoved(player, enemies, pull=did["PULL"])
    shoves = did["PUSH"] | did["PULL"]
    left = enemies.replace(
        type=jnp.where(did["POLY"] & in_use(enemies), kind, enemies.type),
        row=jnp.where(shoves, row, enemies.row),
        col=jnp.where(shoves, col, enemies.col),
        hp=hp,
        stunned=enemies.stunned | hits,
    )
    waiting = transmissions.replace(turns=transmissions.turns + DELAYED * did["DELAY"])
    return state.replace(
        enemies=kept(left, ~(dead | gone.enemies)),
        transmissions=kept(waiting, ~(target.transmission | gone.transmissions)),
        grid=_cleared(state.grid, near.cells()),
        before=state.before.replace(kills=kills),
    )


def _cleared(grid: Grid, where: Array) -> Grid:
    """Remove blocks."""
    return grid.replace(
        block_kind=jnp.where(where, NO_BLOCK, grid.block_kind).astype(jnp.int8),
        block_is_data=grid.block_is_data & ~where,
        block_points=jnp.where(where, 0, grid.block_points),
        block_program=jnp.where(where, -1, grid.block_program),
        block_spawn=jnp.where(where, 0, grid.block_spawn),
    )


def _moved(state: EnvState, action: Array, goes: _Goes) -> tuple[EnvState, Array]:
    """Walk or warp; only a walk picks up what lies there."""
    player, grid = state.player, state.grid
    over, beside = stride(action)
    warps = goes.warps_on_enemy | goes.warps_on_transmission
    row = jnp.where(warps, goes.warped_to // SIZE, player.row + over * goes.walks)
    col = jnp.where(warps, goes.warped_to % SIZE, player.col + beside * goes.walks)
    found = grid.data_siphon & Board.at(row, col).cells() & goes.walks
    picked_up = found.any()
    at_exit = (goes.walks | warps) & (row == state.exit_row) & (col == state.exit_col)
    moved = state.replace(
        player=player.replace(row=row, col=col, data_siphons=player.data_siphons + picked_up),
        grid=grid.replace(data_siphon=grid.data_siphon & ~found),
        before=state.before.replace(picked_up=picked_up),
    )
    return moved, at_exit


def _adjusted(state: EnvState, did: dict[str, Array]) -> EnvState:
    """Run the programs that change numbers and switches."""
    player, grid = state.player, state.grid
    reduced = did["REDUC"] & (grid.block_kind != NO_BLOCK) & ~grid.siphoned
    return state.replace(
        player=player.replace(
            hp=jnp.where(did["RESET"], MAX_HP, player.hp),
            energy=player.energy + EXCHANGED * did["EXCH"],
            data_siphons=player.data_siphons + did["SIPH+"],
            score=player.score + (STAGES - state.stage) * did["SCORE"],
            attack=player.attack + did["ATK+"],
        ),
        grid=grid.replace(block_spawn=jnp.where(reduced, jnp.maximum(grid.block_spawn - 1, 0), grid.block_spawn)),
        show=state.show | did["SHOW"],
        calm=state.calm | did["CALM"],
        step_active=state.step_active | did["STEP"],
        atk_uses=state.atk_uses + did["ATK+"],
    )
