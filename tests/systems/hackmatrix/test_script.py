"""Policies that need no training."""

import numpy as np
import pytest

from running import need

jax = need("jax")
jnp = jax.numpy

from plaudit.systems.hackmatrix.rules import ACTION_NAMES  # noqa: E402  # after the library that it needs
from plaudit.systems.hackmatrix.script import random_action, random_direction, scripted_action  # noqa: E402
from plaudit.systems.hackmatrix.state import (  # noqa: E402
    Enemies,
    Enemy,
    EnvState,
    Grid,
    Player,
    Transmission,
    Transmissions,
    data_block,
)

scripted = jax.jit(scripted_action)


def said(state):
    return ACTION_NAMES[int(scripted(state))]


def at(row, col, *enemies, transmissions=(), blocks=(), exit=(5, 5)):
    return EnvState(
        player=Player(row=row, col=col),
        enemies=Enemies.of(*(Enemy("virus", *cell) for cell in enemies)),
        transmissions=Transmissions.of(*(Transmission("virus", *cell) for cell in transmissions)),
        grid=Grid.of({cell: data_block(1) for cell in blocks}, exit=exit),
        exit_row=exit[0],
        exit_col=exit[1],
    )


@pytest.mark.parametrize(
    ("state", "action"),
    [
        (at(0, 0), "UP"),
        (at(5, 0), "RIGHT"),
        (at(5, 5, exit=(0, 5)), "DOWN"),
        (at(5, 5, exit=(5, 0)), "LEFT"),
        (at(0, 0, (0, 4)), "RIGHT"),
        (at(2, 2, (2, 0), (2, 5)), "LEFT"),
        (at(2, 2, (0, 2), (2, 0)), "DOWN"),
        (at(2, 2, transmissions=[(0, 2)]), "DOWN"),
        (at(2, 2, (3, 3)), "UP"),  # in no line
        (at(2, 2, (2, 5), blocks=[(2, 4)]), "UP"),  # behind a block
        (at(2, 2, (2, 4), blocks=[(2, 4)]), "RIGHT"),  # on the first block in line
        (at(2, 2, (2, 3), blocks=[(2, 3)]), "RIGHT"),  # on a block beside the player
        (at(0, 0, blocks=[(1, 0)]), "RIGHT"),
        (at(0, 0, blocks=[(2, 0), (1, 1), (0, 3), (2, 1)]), "RIGHT"),  # the short way round
        (at(4, 5, blocks=[(5, 4)]), "UP"),
    ],
)
def test_the_script_shoots_what_it_sees_and_else_goes_to_the_exit(state, action):
    assert said(state) == action


def test_where_no_way_leads_to_the_exit_the_script_moves_all_the_same():
    assert said(at(0, 0, blocks=[(4, 5), (5, 4), (1, 0)])) == "RIGHT"


def test_all_legal_actions_are_as_likely():
    mask = jnp.zeros(28, bool).at[jnp.array([1, 4, 27])].set(True)
    drawn = jax.vmap(random_action, (0, None))(jax.random.split(jax.random.key(0), 3000), mask)
    values, counts = np.unique(drawn, return_counts=True)
    assert values.tolist() == [1, 4, 27]
    assert (abs(counts - 1000) < 130).all()  # five standard deviations


def test_a_random_walk_takes_directions_only():
    mask = jnp.ones(28, bool).at[2].set(False)
    drawn = jax.vmap(random_direction, (0, None))(jax.random.split(jax.random.key(0), 300), mask)
    assert set(drawn.tolist()) == {0, 1, 3}
