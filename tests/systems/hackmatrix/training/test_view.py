"""The board around the player: the same things, at their distance from the player."""

import numpy as np
import pytest

from hackmatrix_model.toy import jax, jnp
from plaudit.systems.hackmatrix.observation import GRID_FEATURES, PLAYER_FEATURES, observe
from plaudit.systems.hackmatrix.rules import PROGRAMS
from plaudit.systems.hackmatrix.state import Enemies, Enemy, EnvState, Grid, Player, data_block, program_block
from plaudit.systems.hackmatrix.training.view import around_player

NUMBERS = len(PLAYER_FEATURES) + len(PROGRAMS)
THINGS = ["there", *(name for name in GRID_FEATURES if name not in PROGRAMS)]


def seen(state):
    """Return a view of a state: the player's numbers, the cells around it by feature, the programs within reach."""
    view = np.asarray(around_player(observe(state).flat()))
    cells = view[NUMBERS : NUMBERS + 121 * len(THINGS)].reshape(11, 11, len(THINGS))
    programs = view[NUMBERS + 121 * len(THINGS) :].reshape(5, len(PROGRAMS))
    return view[:NUMBERS], {name: cells[..., at] for at, name in enumerate(THINGS)}, programs


@pytest.mark.parametrize(("row", "col"), [(0, 0), (5, 5), (2, 4), (3, 0)])
def test_everything_is_as_far_away_as_it_is(row, col):
    state = EnvState(
        player=Player(row=row, col=col),
        grid=Grid.of({(1, 2): data_block(9), (4, 1): {"credits": 3}}, exit=(5, 0)),
        enemies=Enemies.of(Enemy("daemon", 4, 3)),
    )
    _, cells, _ = seen(state)
    for name, at in {"daemon": (4, 3), "data_block": (1, 2), "credits": (4, 1), "exit": (5, 0)}.items():
        assert np.argwhere(cells[name]).tolist() == [[5 + at[0] - row, 5 + at[1] - col]]
    assert cells["there"].sum() == 36
    assert cells["there"][5, 5] == 1
    assert cells["there"][5 - row : 11 - row, 5 - col : 11 - col].all()


def test_the_players_own_numbers_stay():
    state = EnvState(player=Player(row=3, col=1, hp=2, credits=7), stage=4)
    numbers, _, _ = seen(state)
    np.testing.assert_array_equal(numbers, np.asarray(observe(state).flat())[:NUMBERS])


def test_programs_are_seen_where_a_siphon_reaches_them():
    blocks = {(2, 2): "WAIT", (1, 1): "PUSH", (0, 1): "HACK", (5, 5): "CALM"}
    state = EnvState(
        player=Player(row=1, col=2), grid=Grid.of({at: program_block(name) for at, name in blocks.items()})
    )
    _, cells, programs = seen(state)
    assert [(int(at), PROGRAMS[slot]) for at, slot in np.argwhere(programs)] == [(1, "WAIT"), (3, "PUSH")]
    assert cells["program_block"].sum() == 4


def test_views_are_the_same_one_by_one_and_in_bfloat16():
    players = [(row, col) for row in range(6) for col in range(6)]
    states = [EnvState(player=Player(row=row, col=col)) for row, col in players]
    flat = jnp.stack([observe(state).flat() for state in states])
    together = around_player(flat)
    np.testing.assert_array_equal(together, jnp.stack([around_player(each) for each in flat]))
    np.testing.assert_array_equal(around_player(flat.astype(jnp.bfloat16)), together.astype(jnp.bfloat16))
    assert jax.jit(around_player)(flat).shape == (36, 33 + 121 * 20 + 5 * 23)
