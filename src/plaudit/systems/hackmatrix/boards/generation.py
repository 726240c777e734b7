"""New games and new stages: what lies where on the board, drawn for those environments of a batch that need it."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from plaudit.systems.hackmatrix.arrays.bitboard import Board
from plaudit.systems.hackmatrix.arrays.draws import below, word
from plaudit.systems.hackmatrix.arrays.fields import Words, empty, read, written
from plaudit.systems.hackmatrix.arrays.lanes import where_needed
from plaudit.systems.hackmatrix.arrays.one_kernel import one_kernel
from plaudit.systems.hackmatrix.boards.layouts import FEWEST_BLOCKS, MOST_BLOCKS, layout
from plaudit.systems.hackmatrix.boards.placing import Drawing, draw, standing, with_new
from plaudit.systems.hackmatrix.rules import (
    CELLS,
    CORNERS,
    DATA,
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

BONUS_CREDITS, BONUS_ENERGY, BONUS_SIPHONS = 10, 11, 1
"""One of these is what a game starts with."""

_IS_CORNER = np.array([[(row, col) in CORNERS for col in range(SIZE)] for row in range(SIZE)])


def new_game(key: Array) -> EnvState:
    """Return the start of a game.

    >>> new_game(jax.random.key(0)).player.hp.item()
    3
    """
    return renewed(key, EnvState(), stage_over=False, game_over=True)


def new_stage(key: Array, state: EnvState) -> EnvState:
    """Return a state on the board of its stage, new; its player stands on a corner, `stage` and `interval` are set."""
    return renewed(key, state, stage_over=True, game_over=False)


def renewed(key: Array, state: EnvState, *, stage_over: Any, game_over: Any) -> EnvState:
    """Return a state on a new stage where `stage_over`, at the start of a new game where `game_over`, else as it is.

    Both are what `new_stage` and `new_game` return for the key, but for the old snapshots, which stay in the ring
    uncounted. Under `vmap` only the environments that need a board have one generated.
    """
    result: EnvState = _renewed(key, state, jnp.asarray(stage_over), jnp.asarray(game_over))
    return result


@jax.jit
def _renewed(key: Array, state: EnvState, stage_over: Array, game_over: Array) -> EnvState:
    needed = stage_over | game_over
    begun = _begun(state, game_over)
    draft = _drafted(needed, _wanted(key, begun, game_over))
    return _applied(begun, draft, needed, game_over)


def _begun(state: EnvState, game_over: Array) -> EnvState:
    """Return what a game starts with where one is over: no enemies, no programs, all numbers at their first values."""
    first = EnvState(history=state.history)  # the snapshots are large, and stay

    def chosen(new: Array, old: Array) -> Array:
        return old if new is old else jnp.where(game_over, new, old)

    begun: EnvState = jax.tree.map(chosen, first, state)
    return begun


class _Wanted(NamedTuple):
    """What a new board depends on."""

    seed: Array
    game_over: Array
    player: Array
    stage: Array
    enemies: Board
    transmissions: Board


def _wanted(key: Array, state: EnvState, game_over: Array) -> _Wanted:
    return _Wanted(
        seed=jax.random.bits(key, (2,), jnp.uint32),  # words, whatever kind of key it is
        game_over=game_over,
        player=state.player.row * SIZE + state.player.col,
        stage=state.stage,
        enemies=standing(state.enemies),
        transmissions=standing(state.transmissions),
    )


# A draft is a new board in 41 short words, so that it is written for an environment at once: a word for each cell,
# four for the new transmissions, a byte each, and one for their number, the corners and the bonus. A cell's word is
#   block   bits 0–4 points or program, 5–8 transmissions released, 9 data, 10 question, 11 set
#   open    bits 12–13 amount, 14 energy rather than credits
_LAYOUT, _PROGRAMS, _TRANSMISSIONS, _CONTENTS, _FEW = range(5)
"""The parts of a draft, each with a seed of its own."""
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


@where_needed
def _drafted(wanted: _Wanted) -> Array:
    """Return the draft of a new board."""
    drawn_corner, rest = below(_part(wanted.seed, _FEW)[0], 4)
    bonus, rest = below(rest, 3)
    further, rest = below(rest, 3)
    count, _ = below(rest, MOST_BLOCKS - FEWEST_BLOCKS + 1)
    corner = jnp.where(wanted.game_over, drawn_corner, _corner(wanted.player))
    exit = (corner + 1 + further) % 4

    player, exit_cell = (Board.cell(_cell(number)) for number in (corner, exit))
    taken = wanted.enemies | wanted.transmissions
    blocks = layout(_part(wanted.seed, _LAYOUT), FEWEST_BLOCKS + count, exit_cell, taken)
    words = word(_part(wanted.seed, _CONTENTS), jnp.arange(CELLS))
    coin, rest = below(words, 2)
    with_program = blocks & Board.of(coin == 0)
    programs, new, placed = _dealt(
        _Dealing(
            seed=_part(wanted.seed, _PROGRAMS),
            programs=with_program.size(),
            drawing=Drawing(
                seed=_part(wanted.seed, _TRANSMISSIONS),
                player=player,
                blocks=blocks,
                enemies=wanted.enemies,
                transmissions=wanted.transmissions,
                asked=jnp.minimum(wanted.stage, STAGES),
            ),
        )
    )
    dealt = read(programs, _turns(with_program))
    contents = _contents(coin, rest, dealt, blocks, exit_cell)
    halves = [half for both in new for half in (both & 0xFFFF, both >> 16)]
    last = exit | corner << 2 | bonus << 4 | placed << 6
    return jnp.concatenate([contents, jnp.stack(halves), last[None]]).astype(jnp.uint16)


def _part(seed: Array, part: int) -> tuple[Array, Array]:
    """Return the seed of a part of a draft."""
    return word(seed, 2 * part), word(seed, 2 * part + 1)


class _Dealing(NamedTuple):
    """What the programs and the transmissions of a new board depend on."""

    seed: tuple[Array, Array]
    programs: Array
    """How many there are."""
    drawing: Drawing


@one_kernel
def _dealt(dealing: _Dealing) -> tuple[Words, Words, Array]:
    """Return different programs, the new transmissions, and how many these are."""
    seed, programs, drawing = dealing

    def goes_on(carried: tuple[Array, Board, Words]) -> Array:
        return carried[0] < jnp.max(programs)

    def deal(carried: tuple[Array, Board, Words]) -> tuple[Array, Board, Words]:
        number, left, words = carried
        nth, _ = below(word(seed, number), len(PROGRAMS) - number)
        program = left.nth(nth)
        return number + 1, left & ~Board.cell(program), written(words, number, program, number < programs)

    none = jnp.zeros_like(drawing.player.lower)
    every = Board(none + _EVERY_PROGRAM[0], none + _EVERY_PROGRAM[1])
    _, _, words = jax.lax.while_loop(goes_on, deal, (jnp.int32(0), every, empty(MOST_BLOCKS, none)))
    return words, *draw(drawing, STAGES)


def _contents(coin: Array, rest: Array, program: Array, blocks: Board, exit: Board) -> Array:
    """Return what lies on each cell, as in a draft; `program` is the one of each cell, should it have one."""
    is_block, is_exit = blocks.cells().reshape(CELLS), exit.cells().reshape(CELLS)
    tenth, other = below(rest, 10)
    ninth, _ = below(other, 9)
    twentieth, _ = below(rest, 20)  # what lies on a block and beside it is never both used
    data = ninth + 1 | (ninth + 1) << 5 | 1 << 9
    code = program | jnp.asarray(_SPAWN)[program] << 5
    block = jnp.where(coin == 1, data, code) | (tenth == 0) << 10 | 1 << 11
    amount = 1 + (twentieth >= 9) + (twentieth >= 18)
    return jnp.where(is_block, block, jnp.where(is_exit, 0, amount << 12 | coin << 14))


def _turns(board: Board) -> Array:
    """Return for each cell how many of a set come before it."""
    return Board(board.lower & _EARLIER[0], board.upper & _EARLIER[1]).size()


def _corner(cell: Array) -> Array:
    """Return which of the corners, in their order, a cell is."""
    return 2 * (cell // SIZE >= SIZE // 2) + (cell % SIZE >= SIZE // 2)


def _cell(corner: Array) -> Array:
    """Return the number of a corner's cell."""
    return corner // 2 * (CELLS - SIZE) + corner % 2 * (SIZE - 1)


def _applied(state: EnvState, draft: Array, needed: Array, game_over: Array) -> EnvState:
    """Return the state with a drafted board where one was needed."""
    last = draft[-1].astype(jnp.int32)
    exit, corner = _cell(last & 3), _cell(last >> 2 & 3)
    player = _player(state.player, corner, last >> 4 & 3, game_over)

    def chosen(new: Any, old: Any) -> Any:
        return jax.tree.map(lambda new, old: jnp.where(needed, new, old), new, old)

    return state.replace(
        player=player,
        grid=chosen(_grid(draft[:CELLS], exit, corner), state.grid),
        transmissions=_transmissions(state.transmissions, draft[CELLS : CELLS + _HALVES], last >> 6),
        turn=chosen(0, state.turn),
        show=chosen(False, state.show),
        calm=chosen(False, state.calm),
        step_active=chosen(False, state.step_active),
        atk_uses=chosen(0, state.atk_uses),
        exit_row=chosen(exit // SIZE, state.exit_row),
        exit_col=chosen(exit % SIZE, state.exit_col),
        next_task=chosen(state.interval, state.next_task),
        history=state.history.replace(count=chosen(0, state.history.count)),
        before=state.before.replace(
            credits=jnp.where(game_over, player.credits, state.before.credits),
            energy=jnp.where(game_over, player.energy, state.before.energy),
        ),
    )


def _player(player: Player, corner: Array, bonus: Array, game_over: Array) -> Player:
    return player.replace(
        row=jnp.where(game_over, corner // SIZE, player.row),
        col=jnp.where(game_over, corner % SIZE, player.col),
        credits=jnp.where(game_over & (bonus == 0), BONUS_CREDITS, player.credits),
        energy=jnp.where(game_over & (bonus == 1), BONUS_ENERGY, player.energy),
        data_siphons=jnp.where(game_over & (bonus == 2), BONUS_SIPHONS, player.data_siphons),
    )


def _grid(cells: Array, exit: Array, corner: Array) -> Grid:
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


def _transmissions(entries: Transmissions, halves: Array, placed: Array) -> Transmissions:
    both = halves.astype(jnp.uint32)
    new = tuple(both[at] | both[at + 1] << 16 for at in range(0, _HALVES, 2))
    return with_new(entries, new, placed, tasks=jnp.int32(0), siphons=jnp.int32(0))
