"""What happens after the player's turn: transmissions hatch, enemies act, new transmissions appear."""

import jax
import jax.numpy as jnp

from plaudit.systems.hackmatrix.arrays.bitboard import Board
from plaudit.systems.hackmatrix.arrays.fields import NOBODY, pack, unpack
from plaudit.systems.hackmatrix.boards.placing import place, standing
from plaudit.systems.hackmatrix.lists import appended, cells_of, full_hp, in_use, kept
from plaudit.systems.hackmatrix.rules import GLITCH, NO_BLOCK, SIZE, SLOTS, VIRUS
from plaudit.systems.hackmatrix.state import Enemies, EnvState, Transmissions
from plaudit.systems.hackmatrix.turns.enemy_moves import Turn, visit_all

Array = jax.Array


def enemy_turn(seeds: Array, state: EnvState, when: Array) -> EnvState:
    """Return the state after the enemies' turn, where `when` holds; STEP, when it is armed, is used up instead.

    `seeds` are two pairs of random words: for the order of the enemies, and for the cells of new transmissions.
    """
    runs = when & ~state.step_active
    state = state.replace(step_active=state.step_active & ~when, turn=state.turn + runs)
    state = _hatched(state, runs)
    state = _acted(seeds[0], state, runs)
    state = _joined(seeds[1], state, runs)
    enemies = state.enemies
    rested = enemies.replace(
        disabled=jnp.where(runs, jnp.maximum(enemies.disabled - 1, 0), enemies.disabled),
        stunned=enemies.stunned & ~runs,
    )
    state = state.replace(enemies=rested)
    return state.replace(history=state.history.pushed(state.snapshot(), runs))


def _hatched(state: EnvState, runs: Array) -> EnvState:
    """Let the transmissions whose time has come become enemies, which do nothing in this turn."""
    waiting = state.transmissions
    hatch = runs & (waiting.turns <= 1)
    eggs = kept(waiting, hatch)
    new = in_use(eggs)
    born = Enemies(
        count=eggs.count,
        type=eggs.type,
        row=eggs.row,
        col=eggs.col,
        hp=jnp.where(new, full_hp(eggs.type), 0).astype(jnp.int8),
        disabled=new.astype(jnp.int8),
        stunned=jnp.zeros(SLOTS, bool),
        from_siphon=eggs.from_siphon,
        from_task=eggs.from_task,
    )
    left: Transmissions = kept(waiting, ~hatch)
    left = left.replace(turns=jnp.where(runs & in_use(left), left.turns - 1, left.turns))
    return state.replace(enemies=appended(state.enemies, born), transmissions=left)


def _acted(seed: Array, state: EnvState, runs: Array) -> EnvState:
    """Let every enemy attack or move, in a random order; a virus twice."""
    enemies, player = state.enemies, state.player
    used = in_use(enemies)
    may = runs & used & (enemies.disabled == 0) & ~enemies.stunned
    cells, attacks = visit_all(
        Turn(
            seed=(seed[0], seed[1]),
            cells=pack(jnp.where(used, cells_of(enemies), NOBODY)),
            may_act=Board.of(may),
            may_again=Board.of(may & (enemies.type == VIRUS)),
            glitches=Board.of(used & (enemies.type == GLITCH)),
            player=Board.at(player.row, player.col),
            walls=Board.of(state.grid.block_kind != NO_BLOCK),
            enemies=standing(enemies),
            transmissions=standing(state.transmissions),
        )
    )
    cell = jnp.where(used, unpack(cells), 0)
    walked = enemies.replace(row=(cell // SIZE).astype(jnp.int8), col=(cell % SIZE).astype(jnp.int8))
    return state.replace(enemies=walked, player=player.replace(hp=jnp.maximum(player.hp - attacks, 0)))


def _joined(seed: Array, state: EnvState, runs: Array) -> EnvState:
    """Place a transmission when the scheduled time has come, and all that siphoning released."""
    due = runs & ~state.calm & (state.interval > 0) & (state.turn >= state.next_task)
    released = jnp.where(runs, state.pending, 0)
    placed = place(seed, state, tasks=due.astype(jnp.int32), siphons=released, plain=jnp.int32(0))
    return state.replace(
        transmissions=placed,
        next_task=jnp.where(due, state.turn + state.interval, state.next_task),
        pending=state.pending - released,
    )
