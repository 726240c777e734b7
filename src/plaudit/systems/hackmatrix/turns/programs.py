"""What the programs do to enemies and transmissions; each is a set of those it touches."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from plaudit.systems.hackmatrix.arrays.bitboard import Board, ring
from plaudit.systems.hackmatrix.arrays.fused import fused
from plaudit.systems.hackmatrix.arrays.words import NOBODY, Words, draw_below, draw_word, pack_slots, read_slot
from plaudit.systems.hackmatrix.entity_lists import find_cells, find_first, get_full_hp, is_in_use
from plaudit.systems.hackmatrix.pathfinding import manhattan_distance
from plaudit.systems.hackmatrix.rules import DAEMON, ENEMIES, NO_BLOCK, SIZE, SLOTS, VIRUS
from plaudit.systems.hackmatrix.state import Enemies, EnvState, Player, Transmissions

Array = jax.Array


def find_hit(state: EnvState, did: dict[str, Array]) -> Array:
    """Return the enemies that a program hits."""
    enemies, at = state.enemies, find_cells(state.enemies)
    blocks, siphoned = Board.of(state.grid.block_kind != NO_BLOCK), Board.of(state.grid.siphoned)
    return is_in_use(enemies) & (
        (did["DEBUG"] & blocks.has(at))
        | (did["ROW"] & (enemies.row == state.player.row))
        | (did["COL"] & (enemies.col == state.player.col))
        | (did["HACK"] & siphoned.has(at))
        | (did["ANTI-V"] & (enemies.type == VIRUS))
    )


def find_bombed(state: EnvState, when: Array) -> tuple[Array, Array]:
    """Return the nearest daemon, and the enemies around it."""
    enemies, at, used = state.enemies, find_cells(state.enemies), is_in_use(state.enemies)
    here = state.player.row * SIZE + state.player.col
    daemon = used & (enemies.type == DAEMON) & when
    away = jnp.where(daemon, manhattan_distance(at, here), 2 * SIZE)
    target = find_first(daemon & (away == away.min()))
    around = ring(Board.union(Board.cell(at), target))
    return target, used & around.has(at)


class Removal(NamedTuple):
    """What CRASH or WARP removes, and how many kills that is: one a cell and list, unless its first is task-born."""

    enemies: Array
    transmissions: Array
    kills: Array


def find_removal(state: EnvState, enemies: Board, transmissions: Board) -> Removal:
    """Return the enemies and the transmissions on sets of cells."""
    foes, foes_killed = _find_on(state.enemies, enemies)
    waiting, waiting_killed = _find_on(state.transmissions, transmissions)
    return Removal(foes, waiting, foes_killed + waiting_killed)


def _find_on(entries: Enemies | Transmissions, where: Board) -> tuple[Array, Array]:
    on = is_in_use(entries) & where.has(find_cells(entries))
    kills: Array = _count_kills((pack_slots(jnp.where(on, find_cells(entries), NOBODY)), Board.of(entries.from_task)))
    return on, kills


@fused
def _count_kills(cells_and_tasks: tuple[Words, Board]) -> Array:
    """Return how many cells there are whose first slot is not task-born."""
    cells, tasks = cells_and_tasks

    def step(slot: Array, carried: tuple[Board, Array]) -> tuple[Board, Array]:
        seen, found = carried
        cell = read_slot(cells, slot)
        here = Board.cell(jnp.where(cell == NOBODY, -1, cell))
        return seen | here, found + ((here & ~seen).any() & ~tasks.has(slot))

    nothing = tasks & ~tasks, jnp.zeros_like(tasks.lower, dtype=jnp.int32)
    found: Array
    _, found = jax.lax.fori_loop(0, SLOTS, step, nothing)
    return found


def draw_warp_target(seed: Array, state: EnvState) -> tuple[Array, Array]:
    """Return the cell of a random enemy or transmission, and whether it is an enemy's."""
    enemies = state.enemies.count
    drawn, _ = draw_below(draw_word(seed, 0), enemies + state.transmissions.count)
    slots = jnp.arange(SLOTS)
    of_enemy = jnp.where(slots == drawn, find_cells(state.enemies), 0).sum()
    of_transmission = jnp.where(slots == drawn - enemies, find_cells(state.transmissions), 0).sum()
    return jnp.where(drawn < enemies, of_enemy, of_transmission), drawn < enemies


def draw_changed_types(seed: Array, enemies: Enemies) -> tuple[Array, Array]:
    """Return another type for each enemy, and its hit points then: the damage it has taken stays, to 0 at most."""
    other, _ = draw_below(draw_word(seed, jnp.arange(SLOTS)), len(ENEMIES) - 1)
    kind = (enemies.type + 1 + other) % len(ENEMIES)
    hp = enemies.hp + get_full_hp(kind) - get_full_hp(enemies.type)
    return kind.astype(jnp.int8), jnp.maximum(hp, 0).astype(jnp.int8)


def shove(player: Player, enemies: Enemies, *, pull: Array) -> tuple[Array, Array]:
    """Return the rows and columns of the enemies after each has gone one cell from the player, or to it.

    An enemy stays where another, before it in the list, has just gone.
    """
    row, col = enemies.row.astype(jnp.int32), enemies.col.astype(jnp.int32)
    turn = jnp.where(pull, -1, 1)
    over, beside = turn * jnp.sign(row - player.row), turn * jnp.sign(col - player.col)
    best_row, best_col, best = row, col, jnp.full(row.shape, -4 * SIZE)  # no wish yet
    for rows, cols, there in ((over, beside, True), (over, 0, over != 0), (0, beside, beside != 0)):
        to_row, to_col = row + rows, col + cols
        away = jnp.abs(to_row - player.row) + jnp.abs(to_col - player.col)
        on_board = (to_row >= 0) & (to_row < SIZE) & (to_col >= 0) & (to_col < SIZE)
        better = there & on_board & ~(pull & (away == 0)) & (turn * away > best)
        best_row, best_col = jnp.where(better, to_row, best_row), jnp.where(better, to_col, best_col)
        best = jnp.where(better, turn * away, best)
    wishes = pack_slots(jnp.where(is_in_use(enemies) & (best > -4 * SIZE), best_row * SIZE + best_col, NOBODY))
    goes = Board(*_find_first_to_wish(wishes)).cells().reshape(SLOTS)
    return jnp.where(goes, best_row, row).astype(jnp.int8), jnp.where(goes, best_col, col).astype(jnp.int8)


@fused
def _find_first_to_wish(wishes: Words) -> Board:
    """Return the slots whose wish no slot before them has."""

    def step(slot: Array, carried: tuple[Board, Board]) -> tuple[Board, Board]:
        taken, goes = carried
        cell = read_slot(wishes, slot)
        wish = Board.cell(jnp.where(cell == NOBODY, -1, cell)) & ~taken
        return taken | wish, goes | Board.cell(jnp.where(wish.any(), slot, -1))

    nothing = Board(jnp.zeros_like(wishes[0]), jnp.zeros_like(wishes[0]))
    goes: Board
    _, goes = jax.lax.fori_loop(0, SLOTS, step, (nothing, nothing))
    return goes
