"""States made by hand: what can be given, and what is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from plaudit.errors import InputError, OutOfRange, ShapeMismatch, UnknownCategory, UnknownField, WrongType
from plaudit.systems.hackmatrix.pytree_fields import pack_fields, unpack_fields
from plaudit.systems.hackmatrix.state import (
    Before,
    Enemies,
    Enemy,
    EnvState,
    Grid,
    Player,
    Transmission,
    Transmissions,
    data_block,
    program_block,
)


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: Player(hp=2.5), WrongType, "Player(hp=…) must be integers, not float64"),
        (lambda: Player(hp="a"), WrongType, "not 'a'"),
        (lambda: Player(hp=None), WrongType, "not None"),
        (lambda: Player(hp=jnp.float32(2)), WrongType, "float32"),
        (lambda: Player(credits=2**40), OutOfRange, "credits"),
        (lambda: Player(row=9), OutOfRange, "from 0 to 5"),
        (lambda: Player(hp=7), OutOfRange, "Player(hp=…) must be from 0 to 3, not 7"),
        (lambda: Player(hp=jnp.int32(-1)), OutOfRange, "from 0 to 3, not -1"),
        (lambda: Player().replace(hp=jnp.arange(5)), OutOfRange, "from 0 to 3, not 0 to 4"),
        (lambda: EnvState(stage=12), OutOfRange, "EnvState(stage=…) must be from 1 to 9, not 12"),
        (lambda: EnvState(stage=jnp.int32(0)), OutOfRange, "from 1 to 9, not 0"),
        (lambda: EnvState(exit_row=2, exit_col=3), OutOfRange, "the exit is (2, 3); it must be a corner: (0, 0)"),
        (lambda: EnvState().replace(exit_row=jnp.int32(4)), OutOfRange, "the exit is (4, 5); it must be a corner"),
        (lambda: EnvState(grid=Grid(exit=np.eye(6, k=2, dtype=bool))), OutOfRange, "the exit is (0, 2)"),
        (lambda: Grid.of({}, exit=(2, 3)), OutOfRange, "Grid.of(exit=(2, 3)) must be a corner"),
        (lambda: Grid(block_kind=np.zeros((5, 5), np.int8)), ShapeMismatch, "(6, 6), not (5, 5)"),
        (lambda: Grid(block_kind=jnp.zeros((6, 6))), WrongType, "float32"),
        (lambda: Grid.of({(0, 0): {"credits": 16}}), OutOfRange, "from 0 to 15"),
        (lambda: Grid.of({(0, 0): data_block(40)}), OutOfRange, "block_points"),
        (lambda: Grid.of({(0, -1): {"energy": 1}}), OutOfRange, "cell (0, -1) is off the board"),
        (lambda: Grid.of({(0, 0): {"creditz": 1}}), UnknownField, "Did you mean 'credits'?"),
        (lambda: program_block("PUSHH"), UnknownCategory, "Did you mean 'PUSH'?"),
        (lambda: Enemies.of(Enemy("virus", 7, 7)), OutOfRange, "row"),
        (lambda: Enemies.of(Enemy("worm", 0, 0)), UnknownCategory, "virus, daemon, glitch, cryptog"),
        (lambda: Enemies.of(*[Enemy("virus", 0, 0)] * 37), OutOfRange, "room for 36"),
        (lambda: EnvState(player=3), WrongType, "it must be a Player"),
        (lambda: EnvState(exit_row=0, exit_col=0, grid=Grid.of({}, exit=(0, 5))), OutOfRange, "elsewhere"),
    ],
)
def test_what_cannot_be_part_of_a_state_is_refused_with_the_reason(make, error, says):
    with pytest.raises(error) as caught:
        make()
    assert says in str(caught.value)
    assert isinstance(caught.value, InputError | UnknownField)


def test_numbers_lists_and_arrays_of_other_whole_dtypes_are_taken():
    for given in (2, np.int64(2), np.array(2), jnp.int8(2), jnp.int32(2)):
        assert Player(hp=given).hp.dtype == jnp.int32
        assert Player(hp=given).hp == 2
    owned = [False] * 22 + [True]
    assert EnvState(owned=owned).owned.dtype == bool
    assert EnvState(owned=True).owned.all()


def test_the_exit_is_where_the_board_has_it_and_the_board_has_it_where_it_is_said_to_be():
    by_board = EnvState(grid=Grid.of({}, exit=(0, 5)))
    assert (by_board.exit_row, by_board.exit_col) == (0, 5)
    said = EnvState(exit_row=5, exit_col=0)
    assert said.grid.exit[5, 0]
    assert said.grid.exit.sum() == 1
    both = EnvState(exit_row=0, exit_col=5, grid=Grid.of({}, exit=(0, 5)))
    assert (both.exit_row, both.exit_col) == (0, 5)


def test_numbers_that_are_not_known_yet_are_not_checked():
    made = jax.jit(lambda number: EnvState(player=Player(hp=number), stage=number, exit_row=number, exit_col=number))
    assert made(7).stage == 7


def test_what_was_before_is_what_is_now_unless_it_is_given():
    state = EnvState(player=Player(credits=7, hp=2))
    assert (state.before.credits, state.before.hp, state.before.exit_distance) == (7, 2, -1)
    assert EnvState(player=Player(credits=7), before=Before(credits=1)).before.credits == 1


def test_a_part_survives_packing():
    enemies = Enemies.of(Enemy("daemon", 5, 4, hp=1, stunned=True, from_task=True), Enemy("glitch", 0, 5, disabled=1))
    transmissions = Transmissions.of(Transmission("cryptog", 3, 2, turns=1000, from_siphon=True))
    grid = Grid.of({(2, 2): data_block(9, question=True), (1, 1): program_block("HACK"), (0, 5): {"data_siphon": True}})
    for part in (enemies, transmissions):
        again = unpack_fields(type(part), pack_fields(part), count=part.count)
        assert all(jax.tree.leaves(jax.tree.map(lambda a, b: bool((a == b).all()) and a.dtype == b.dtype, part, again)))
    again = unpack_fields(Grid, pack_fields(grid))
    assert all(jax.tree.leaves(jax.tree.map(lambda a, b: bool((a == b).all()) and a.dtype == b.dtype, grid, again)))


def test_undo_can_go_back_to_eight_snapshots_and_to_no_more():
    state = EnvState()
    for turn in range(10):
        state = state.replace(turn=turn)
        state = state.replace(history=state.history.push(state.snapshot(), jnp.bool_(True)))
    found = []
    for _ in range(8):
        assert state.history.count > 0
        found.append(state.history.latest().turn.item())
        state = state.replace(history=state.history.pop(jnp.bool_(True)))
    assert found == [9, 8, 7, 6, 5, 4, 3, 2]
    assert state.history.count == 0


def test_a_state_is_shown_in_a_line_and_is_equal_to_itself_alone():
    state = EnvState(stage=3)
    assert "stage=3" in repr(state)
    assert len(repr(state)) < 400
    assert state != EnvState(stage=3)
    assert {state: 1}[state] == 1
