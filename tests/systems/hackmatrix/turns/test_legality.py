"""Why an action is not allowed: a reason for each that is not, and for no other."""

import jax
import jax.numpy as jnp
import pytest

from plaudit.systems.hackmatrix.plain.convert import to_plain
from plaudit.systems.hackmatrix.plain.legality import explain_refusal
from plaudit.systems.hackmatrix.rules import ACTIONS, PROGRAMS, action_of
from plaudit.systems.hackmatrix.state import Enemies, Enemy, EnvState, Grid, Player, data_block
from plaudit.systems.hackmatrix.turns.legality import action_mask
from support.hackmatrix_model.boards import entry, random_states


def make_rich(**changes):
    state = EnvState(player=Player(row=2, col=2, credits=50, energy=50), owned=[True] * len(PROGRAMS), stage=8)
    return state.replace(**changes)


def test_an_action_has_a_reason_where_it_is_not_allowed_and_only_there():
    states = random_states(400)
    allowed = jax.device_get(jax.jit(jax.vmap(action_mask))(states))
    for at in range(400):
        state = to_plain(jax.device_get(entry(states, at)))
        for action in range(ACTIONS):
            assert (explain_refusal(state, action) is None) == allowed[at, action], (at, action)


@pytest.mark.parametrize(
    ("make", "action", "why"),
    [
        (EnvState, "LEFT", "that is off the board"),
        (lambda: EnvState(grid=Grid.of({(1, 0): data_block(3)})), "UP", "a block is in the way, and no enemy on it"),
        (EnvState, "SIPHON", "there are no data siphons left"),
        (EnvState, "PUSH", "you do not own PUSH; siphon programs from blocks"),
        (
            lambda: make_rich(player=Player(energy=1)),
            "CRASH",
            "CRASH costs 3 credits and 2 energy, and you have 0 credits and 1 energy",
        ),
        (
            lambda: make_rich(player=Player(energy=3)),
            "RESET",
            "RESET costs 4 energy, and you have 0 credits and 3 energy",
        ),
        (make_rich, "RESET", "your hit points are full"),
        (make_rich, "ROW", "no enemy is in your row"),
        (make_rich, "UNDO", "there is no turn to undo"),
        (make_rich, "SCORE", "it gives nothing on the last stage"),
        (lambda: make_rich(enemies=Enemies.of(Enemy("virus", 0, 0))), "D_BOM", "there is no daemon"),
        (lambda: make_rich(calm=jnp.bool_(True)), "CALM", "CALM is already on"),
        (lambda: make_rich(atk_uses=jnp.int32(2)), "ATK+", "it has already run twice on this stage"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_reason_says_what_is_lacking(make, action, why):
    assert explain_refusal(to_plain(make()), action_of(action)) == why


def test_every_program_that_can_be_refused_for_more_than_its_cost_says_why():
    reasons = {name: explain_refusal(to_plain(make_rich()), action_of(name)) for name in PROGRAMS}
    assert [name for name, why in reasons.items() if why is None] == [
        "WAIT",
        "STEP",
        "SIPH+",
        "EXCH",
        "SHOW",
        "CALM",
        "ATK+",
    ]
    assert len({why for why in reasons.values() if why}) == 16
