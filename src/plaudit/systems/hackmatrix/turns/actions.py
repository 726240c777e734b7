"""The player's turn: what an action changes before the enemies' turn."""

from dataclasses import fields
from typing import NamedTuple

import jax
import jax.numpy as jnp

from plaudit.systems.hackmatrix.arrays.bitboard import Board, around, ring
from plaudit.systems.hackmatrix.entity_lists import find_first, is_in_use, keep_where
from plaudit.systems.hackmatrix.rules import (
    ACTION_NAMES,
    ACTION_PROGRAM_START,
    ACTION_SIPHON,
    DATA,
    DELAYED_TURNS,
    DIRECTIONS,
    EXCHANGED_ENERGY,
    MAX_HP,
    NO_BLOCK,
    POSTPONED_TURNS,
    PROGRAM,
    PROGRAM_CREDITS,
    PROGRAM_ENERGY,
    PROGRAMS,
    SHORTEST_INTERVAL,
    SIZE,
    STAGES,
)
from plaudit.systems.hackmatrix.state import EnvState, Grid, Player
from plaudit.systems.hackmatrix.turns.programs import (
    draw_changed_types,
    draw_warp_target,
    find_bombed,
    find_hit,
    find_removal,
    shove,
)

Array = jax.Array

NOTHING = -1
"""An action that changes nothing and does not end the turn: what an illegal one is replaced by."""


class ActionResult(NamedTuple):
    """What an action came to."""

    state: EnvState
    at_exit: Array
    """The exit was reached."""
    ends_turn: Array
    """It is the enemies' turn, unless the exit was reached."""


class Target(NamedTuple):
    """What a shot hits: at most one slot is true."""

    enemy: Array
    transmission: Array

    def any(self) -> Array:
        """Return whether something is hit."""
        return self.enemy.any() | self.transmission.any()


@jax.jit  # traced once for all programs with a step in them
def act(seed: Array, state: EnvState, action: Array) -> ActionResult:
    """Return the state after the player's part of a step; `action` is legal, or `NOTHING`.

    `seed` is two random words.
    """
    did = {name: action == number for number, name in enumerate(ACTION_NAMES)}
    state = _pay(_undo(state, did["UNDO"]), action)
    target = find_target(state, action)
    warped_to, onto_enemy = draw_warp_target(seed, state)
    goes = _Departure(
        walks=(action >= 0) & (action < ACTION_SIPHON) & ~target.any(),
        warps_on_enemy=did["WARP"] & onto_enemy,
        warps_on_transmission=did["WARP"] & ~onto_enemy,
        warped_to=warped_to,
    )
    harmed = _harm(seed, state, did, target, goes)
    moved, at_exit = _move(harmed, action, goes)
    acted = siphon(_adjust_numbers(moved, did), did["SIPHON"])
    return ActionResult(acted, at_exit, ends_turn=(action >= 0) & (action <= ACTION_SIPHON) | did["WAIT"])


class _Departure(NamedTuple):
    """How the player leaves its cell, if it does."""

    walks: Array
    warps_on_enemy: Array
    warps_on_transmission: Array
    warped_to: Array


def _undo(state: EnvState, when: Array) -> EnvState:
    """Go back to the newest snapshot; its credits are from before UNDO was paid for."""
    back = jax.tree.map(lambda new, old: jnp.where(when, new, old), state.history.latest(), state.snapshot())
    restored = {each.name: getattr(back, each.name) for each in fields(back)}
    return state.replace(**restored, history=state.history.pop(when))


def _pay(state: EnvState, action: Array) -> EnvState:
    slot = action - ACTION_PROGRAM_START
    charged = (slot == jnp.arange(len(PROGRAMS))) & (slot != PROGRAMS.index("UNDO"))
    player = state.player
    credits = player.credits - jnp.where(charged, jnp.array(PROGRAM_CREDITS), 0).sum()
    energy = player.energy - jnp.where(charged, jnp.array(PROGRAM_ENERGY), 0).sum()
    return state.replace(player=player.replace(credits=credits, energy=energy))


def _harm(seed: Array, state: EnvState, did: dict[str, Array], target: Target, goes: _Departure) -> EnvState:
    """Hit, destroy, change and move enemies and transmissions, and count the kills."""
    enemies, transmissions, player = state.enemies, state.transmissions, state.player
    bomb, splashed = find_bombed(state, did["D_BOM"])
    hits = find_hit(state, did) | target.enemy | splashed
    damage = jnp.where(did["ANTI-V"] | did["D_BOM"], 1, player.attack)
    kind, hp = draw_changed_types(seed, enemies)
    hp = jnp.where(did["POLY"], hp, jnp.where(hits, jnp.maximum(enemies.hp - damage, 0), enemies.hp).astype(jnp.int8))
    dead = bomb | ((hits | did["POLY"]) & is_in_use(enemies) & (hp == 0))
    near, there = ring(Board.at(player.row, player.col)).when(did["CRASH"]), Board.cell(goes.warped_to)
    gone = find_removal(state, near | there.when(goes.warps_on_enemy), near | there.when(goes.warps_on_transmission))
    kills = (
        gone.kills
        + (dead & ~enemies.from_task).sum(dtype=jnp.int32)
        + (target.transmission & ~transmissions.from_task).sum(dtype=jnp.int32)
    )
    row, col = shove(player, enemies, pull=did["PULL"])
    shoves = did["PUSH"] | did["PULL"]
    left = enemies.replace(
        type=jnp.where(did["POLY"] & is_in_use(enemies), kind, enemies.type),
        row=jnp.where(shoves, row, enemies.row),
        col=jnp.where(shoves, col, enemies.col),
        hp=hp,
        stunned=enemies.stunned | hits,
    )
    waiting = transmissions.replace(turns=transmissions.turns + DELAYED_TURNS * did["DELAY"])
    return state.replace(
        enemies=keep_where(left, ~(dead | gone.enemies)),
        transmissions=keep_where(waiting, ~(target.transmission | gone.transmissions)),
        grid=_clear_blocks(state.grid, near.cells()),
        before=state.before.replace(kills=kills),
    )


def _clear_blocks(grid: Grid, where: Array) -> Grid:
    return grid.replace(
        block_kind=jnp.where(where, NO_BLOCK, grid.block_kind).astype(jnp.int8),
        block_is_data=grid.block_is_data & ~where,
        block_points=jnp.where(where, 0, grid.block_points),
        block_program=jnp.where(where, -1, grid.block_program),
        block_spawn=jnp.where(where, 0, grid.block_spawn),
    )


def _move(state: EnvState, action: Array, goes: _Departure) -> tuple[EnvState, Array]:
    """Walk or warp; only a walk picks up what lies there."""
    player, grid = state.player, state.grid
    over, beside = get_stride(action)
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


def _adjust_numbers(state: EnvState, did: dict[str, Array]) -> EnvState:
    player, grid = state.player, state.grid
    reduced = did["REDUC"] & (grid.block_kind != NO_BLOCK) & ~grid.siphoned
    return state.replace(
        player=player.replace(
            hp=jnp.where(did["RESET"], MAX_HP, player.hp),
            energy=player.energy + EXCHANGED_ENERGY * did["EXCH"],
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


def find_target(state: EnvState, direction: Array) -> Target:
    """Return what the first cell in a line holds that holds something; a block ends the line, and what is on it is hit.

    A transmission is hit before an enemy on the same cell.
    """
    row, col = jnp.indices((SIZE, SIZE))
    block = _measure_range(state.player, direction, row, col, state.grid.block_kind != NO_BLOCK).min()
    enemy = _measure_range(state.player, direction, state.enemies.row, state.enemies.col, is_in_use(state.enemies))
    waiting = state.transmissions
    transmission = _measure_range(state.player, direction, waiting.row, waiting.col, is_in_use(waiting))
    nearest = jnp.minimum(jnp.minimum(enemy.min(), transmission.min()), block)
    at_transmission = (transmission == nearest) & (nearest < SIZE)
    at_enemy = (enemy == nearest) & (nearest < SIZE) & ~at_transmission.any()
    return Target(find_first(at_enemy), find_first(at_transmission))


def _measure_range(player: Player, direction: Array, row: Array, col: Array, there: Array) -> Array:
    """Return how far along a direction things are, `SIZE` for what is not there or not in line."""
    over, beside = get_stride(direction)
    rows, cols = row.astype(jnp.int32) - player.row, col.astype(jnp.int32) - player.col
    along, off = rows * over + cols * beside, rows * beside + cols * over
    return jnp.where(there & (off == 0) & (along > 0), along, SIZE)


def siphon(state: EnvState, when: Array) -> EnvState:
    """Return the state after siphoning from where the player stands, where `when` holds."""
    player, grid = state.player, state.grid
    here = Board.at(player.row, player.col)
    cross = (here | around(here)).cells() & ~grid.siphoned & when
    block, data = grid.block_kind != NO_BLOCK, grid.block_is_data
    opened, bare = cross & block, cross & ~block
    programs = jnp.where(opened & ~data, grid.block_program, -1).reshape(-1)

    def take(layer: Array, where: Array) -> Array:
        return jnp.where(where, layer, 0).sum(dtype=jnp.int32)

    return state.replace(
        player=player.replace(
            score=player.score + take(grid.block_points, opened & data),
            credits=player.credits + take(grid.credits, bare),
            energy=player.energy + take(grid.energy, bare),
            data_siphons=player.data_siphons - when,
        ),
        grid=grid.replace(
            block_kind=jnp.where(opened, jnp.where(data, DATA, PROGRAM), grid.block_kind).astype(jnp.int8),
            block_spawn=jnp.where(opened, 0, grid.block_spawn),
            credits=jnp.where(bare, 0, grid.credits),
            energy=jnp.where(bare, 0, grid.energy),
            siphoned=grid.siphoned | cross,
            siphon_center=grid.siphon_center | (here.cells() & when),
        ),
        owned=state.owned | (programs == jnp.arange(len(PROGRAMS))[:, None]).any(axis=1),
        pending=state.pending + take(grid.block_spawn, opened),
        interval=jnp.where(when, jnp.maximum(SHORTEST_INTERVAL, state.interval - 1), state.interval),
        next_task=state.next_task + POSTPONED_TURNS * when,
    )


def get_stride(direction: Array) -> tuple[Array, Array]:
    """Return the row and column step of a direction, 0 and 0 for what is none."""
    row, col = (sum(jnp.where(direction == n, step[axis], 0) for n, step in enumerate(DIRECTIONS)) for axis in (0, 1))
    return jnp.asarray(row), jnp.asarray(col)
