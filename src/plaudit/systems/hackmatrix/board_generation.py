"""New games and new stages: what lies where on the board, drawn for those environments of a batch that need it."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from plaudit.systems.hackmatrix.arrays.bitboard import Board
from plaudit.systems.hackmatrix.arrays.fused import fused
from plaudit.systems.hackmatrix.arrays.masked_vmap import masked_vmap
from plaudit.systems.hackmatrix.arrays.words import (
    Words,
    draw_below,
    draw_word,
    make_empty_slots,
    read_slot,
    write_slot,
)
from plaudit.systems.hackmatrix.entity_lists import find_occupied_cells
from plaudit.systems.hackmatrix.placement import PlacementRequest, append_drawn, draw_layout, draw_transmissions
from plaudit.systems.hackmatrix.plain.draws import (
    CONTENTS,
    CORNERS_AND_COUNTS,
    LAYOUT,
    NEW_TRANSMISSIONS,
    PROGRAM_BLOCKS,
)
from plaudit.systems.hackmatrix.rules import (
    BONUS_CREDITS,
    BONUS_ENERGY,
    BONUS_SIPHONS,
    CELLS,
    CORNERS,
    DATA,
    FEWEST_BLOCKS,
    MOST_BLOCKS,
    NO_BLOCK,
    PROGRAM,
    PROGRAM_SPAWN,
    PROGRAMS,
    QUESTION,
    SIZE,
    STAGES,
)
from plaudit.systems.hackmatrix.state import EnvState, Grid, Player, Transmissions

Array = jax.Array

_IS_CORNER = np.array([[(row, col) in CORNERS for col in range(SIZE)] for row in range(SIZE)])


def new_game(key: Array) -> EnvState:
    """Return the start of a game.

    >>> new_game(jax.random.key(0)).player.hp.item()
    3
    """
    return renew(key, EnvState(), stage_over=False, game_over=True)


def new_stage(key: Array, state: EnvState) -> EnvState:
    """Return a state on the board of its stage, new; its player stands on a corner, `stage` and `interval` are set."""
    return renew(key, state, stage_over=True, game_over=False)


def renew(key: Array, state: EnvState, *, stage_over: Any, game_over: Any) -> EnvState:
    """Return a state on a new stage where `stage_over`, at the start of a new game where `game_over`, else as it is.

    Both are what `new_stage` and `new_game` return for the key, but for the old snapshots, which stay in the ring
    uncounted. Under `vmap` only the environments that need a board have one generated.
    """
    result: EnvState = _renew(key, state, jnp.asarray(stage_over), jnp.asarray(game_over))
    return result


@jax.jit
def _renew(key: Array, state: EnvState, stage_over: Array, game_over: Array) -> EnvState:
    needed = stage_over | game_over
    begun = _begin_where_over(state, game_over)
    draft = _draft_board(needed, _request_board(key, begun, game_over))
    return _apply_draft(begun, draft, needed, game_over)


def _begin_where_over(state: EnvState, game_over: Array) -> EnvState:
    """Return what a game starts with where one is over: no enemies, no programs, all numbers at their first values."""
    first = EnvState(history=state.history)  # the snapshots are large, and stay

    def choose(new: Array, old: Array) -> Array:
        return old if new is old else jnp.where(game_over, new, old)

    begun: EnvState = jax.tree.map(choose, first, state)
    return begun


class _BoardRequest(NamedTuple):
    """What a new board depends on."""

    seed: Array
    game_over: Array
    player: Array
    stage: Array
    enemies: Board
    transmissions: Board


def _request_board(key: Array, state: EnvState, game_over: Array) -> _BoardRequest:
    return _BoardRequest(
        seed=jax.random.bits(key, (2,), jnp.uint32),  # words, whatever kind of key it is
        game_over=game_over,
        player=state.player.row * SIZE + state.player.col,
        stage=state.stage,
        enemies=find_occupied_cells(state.enemies),
        transmissions=find_occupied_cells(state.transmissions),
    )


# A draft is a new board in 41 short words, so that it is written for an environment at once: a word for each cell,
# four for the new transmissions, a byte each, and one for their number, the corners and the bonus. A cell's word is
#   block   bits 0–4 points or program, 5–8 transmissions released, 9 data, 10 question, 11 set
#   open    bits 12–13 amount, 14 energy rather than credits
_HALVES = STAGES // 2
"""How many short words the new transmissions are; none are drafted where no board is needed."""
_SPAWN = np.array(PROGRAM_SPAWN, np.int32)
_HALF = CELLS // 2
_EARLIER = tuple(
    np.array([(1 << min(max(cell - first, 0), _HALF)) - 1 for cell in range(CELLS)], np.uint32) for first in (0, _HALF)
)
"""The cells before each one, as the words of a board."""
_EVERY_PROGRAM = (1 << min(len(PROGRAMS), _HALF)) - 1, (1 << max(len(PROGRAMS) - _HALF, 0)) - 1
"""The set of all programs, as if they were cells."""


@masked_vmap
def _draft_board(wanted: _BoardRequest) -> Array:
    drawn_corner, rest = draw_below(_derive_seed(wanted.seed, CORNERS_AND_COUNTS)[0], 4)
    bonus, rest = draw_below(rest, 3)
    further, rest = draw_below(rest, 3)
    count, _ = draw_below(rest, MOST_BLOCKS - FEWEST_BLOCKS + 1)
    corner = jnp.where(wanted.game_over, drawn_corner, _find_corner(wanted.player))
    exit = (corner + 1 + further) % 4

    player, exit_cell = (Board.cell(_find_corner_cell(number)) for number in (corner, exit))
    taken = wanted.enemies | wanted.transmissions
    blocks = draw_layout(_derive_seed(wanted.seed, LAYOUT), FEWEST_BLOCKS + count, exit_cell, taken)
    words = draw_word(_derive_seed(wanted.seed, CONTENTS), jnp.arange(CELLS))
    coin, rest = draw_below(words, 2)
    with_program = blocks & Board.of(coin == 0)
    programs, new, placed = _deal(
        _Dealing(
            seed=_derive_seed(wanted.seed, PROGRAM_BLOCKS),
            programs=with_program.size(),
            drawing=PlacementRequest(
                seed=_derive_seed(wanted.seed, NEW_TRANSMISSIONS),
                player=player,
                blocks=blocks,
                enemies=wanted.enemies,
                transmissions=wanted.transmissions,
                requested=jnp.minimum(wanted.stage, STAGES),
            ),
        )
    )
    dealt = read_slot(programs, _count_before(with_program))
    contents = _draw_contents(coin, rest, dealt, blocks, exit_cell)
    halves = [half for both in new for half in (both & 0xFFFF, both >> 16)]
    last = exit | corner << 2 | bonus << 4 | placed << 6
    return jnp.concatenate([contents, jnp.stack(halves), last[None]]).astype(jnp.uint16)


def _derive_seed(seed: Array, part: int) -> tuple[Array, Array]:
    return draw_word(seed, 2 * part), draw_word(seed, 2 * part + 1)


class _Dealing(NamedTuple):
    """What the programs and the transmissions of a new board depend on."""

    seed: tuple[Array, Array]
    programs: Array
    """How many there are."""
    drawing: PlacementRequest


@fused
def _deal(dealing: _Dealing) -> tuple[Words, Words, Array]:
    """Return different programs, the new transmissions, and how many these are."""
    seed, programs, drawing = dealing

    def goes_on(carried: tuple[Array, Board, Words]) -> Array:
        return carried[0] < jnp.max(programs)

    def deal(carried: tuple[Array, Board, Words]) -> tuple[Array, Board, Words]:
        number, left, words = carried
        nth, _ = draw_below(draw_word(seed, number), len(PROGRAMS) - number)
        program = left.nth(nth)
        return number + 1, left & ~Board.cell(program), write_slot(words, number, program, number < programs)

    none = jnp.zeros_like(drawing.player.lower)
    every = Board(none + _EVERY_PROGRAM[0], none + _EVERY_PROGRAM[1])
    _, _, words = jax.lax.while_loop(goes_on, deal, (jnp.int32(0), every, make_empty_slots(MOST_BLOCKS, none)))
    return words, *draw_transmissions(drawing, STAGES)


def _draw_contents(coin: Array, rest: Array, program: Array, blocks: Board, exit: Board) -> Array:
    """Return what lies on each cell, as in a draft; `program` is the one of each cell, should it have one."""
    is_block, is_exit = blocks.cells().reshape(CELLS), exit.cells().reshape(CELLS)
    tenth, other = draw_below(rest, 10)
    ninth, _ = draw_below(other, 9)
    twentieth, _ = draw_below(rest, 20)  # what lies on a block and beside it is never both used
    data = ninth + 1 | (ninth + 1) << 5 | 1 << 9
    code = program | jnp.asarray(_SPAWN)[program] << 5
    block = jnp.where(coin == 1, data, code) | (tenth == 0) << 10 | 1 << 11
    amount = 1 + (twentieth >= 9) + (twentieth >= 18)
    return jnp.where(is_block, block, jnp.where(is_exit, 0, amount << 12 | coin << 14))


def _count_before(board: Board) -> Array:
    return Board(board.lower & _EARLIER[0], board.upper & _EARLIER[1]).size()


def _find_corner(cell: Array) -> Array:
    return 2 * (cell // SIZE >= SIZE // 2) + (cell % SIZE >= SIZE // 2)


def _find_corner_cell(corner: Array) -> Array:
    return corner // 2 * (CELLS - SIZE) + corner % 2 * (SIZE - 1)


def _apply_draft(state: EnvState, draft: Array, needed: Array, game_over: Array) -> EnvState:
    last = draft[-1].astype(jnp.int32)
    exit, corner = _find_corner_cell(last & 3), _find_corner_cell(last >> 2 & 3)
    player = _place_player(state.player, corner, last >> 4 & 3, game_over)

    def choose(new: Any, old: Any) -> Any:
        return jax.tree.map(lambda new, old: jnp.where(needed, new, old), new, old)

    return state.replace(
        player=player,
        grid=choose(_unpack_grid(draft[:CELLS], exit, corner), state.grid),
        transmissions=_append_transmissions(state.transmissions, draft[CELLS : CELLS + _HALVES], last >> 6),
        turn=choose(0, state.turn),
        show=choose(False, state.show),
        calm=choose(False, state.calm),
        step_active=choose(False, state.step_active),
        atk_uses=choose(0, state.atk_uses),
        exit_row=choose(exit // SIZE, state.exit_row),
        exit_col=choose(exit % SIZE, state.exit_col),
        next_task=choose(state.interval, state.next_task),
        history=state.history.replace(count=choose(0, state.history.count)),
        before=state.before.replace(
            credits=jnp.where(game_over, player.credits, state.before.credits),
            energy=jnp.where(game_over, player.energy, state.before.energy),
        ),
    )


def _place_player(player: Player, corner: Array, bonus: Array, game_over: Array) -> Player:
    return player.replace(
        row=jnp.where(game_over, corner // SIZE, player.row),
        col=jnp.where(game_over, corner % SIZE, player.col),
        credits=jnp.where(game_over & (bonus == 0), BONUS_CREDITS, player.credits),
        energy=jnp.where(game_over & (bonus == 1), BONUS_ENERGY, player.energy),
        data_siphons=jnp.where(game_over & (bonus == 2), BONUS_SIPHONS, player.data_siphons),
    )


def _unpack_grid(cells: Array, exit: Array, corner: Array) -> Grid:
    code = cells.reshape(SIZE, SIZE)
    number = jnp.arange(CELLS).reshape(SIZE, SIZE)
    value, spawn = (code & 31).astype(jnp.int8), (code >> 5 & 15).astype(jnp.int8)
    is_block, is_data, is_question = (code >> bit & 1 != 0 for bit in (11, 9, 10))
    kind = jnp.where(is_question, QUESTION, jnp.where(is_data, DATA, PROGRAM))
    amount, is_energy = (code >> 12 & 3).astype(jnp.int8), code >> 14 != 0
    return Grid(
        block_kind=jnp.where(is_block, kind, NO_BLOCK).astype(jnp.int8),
        block_is_data=is_data,
        block_points=jnp.where(is_data, value, 0),
        block_program=jnp.where(is_block & ~is_data, value, -1),
        block_spawn=spawn,
        credits=jnp.where(is_energy, 0, amount),
        energy=jnp.where(is_energy, amount, 0),
        data_siphon=jnp.asarray(_IS_CORNER) & (number != exit) & (number != corner),
        exit=number == exit,
    )


def _append_transmissions(entries: Transmissions, halves: Array, placed: Array) -> Transmissions:
    both = halves.astype(jnp.uint32)
    new = tuple(both[at] | both[at + 1] << 16 for at in range(0, _HALVES, 2))
    return append_drawn(entries, new, placed, tasks=jnp.int32(0), siphons=jnp.int32(0))
