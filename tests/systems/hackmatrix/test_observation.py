"""What the player sees: the worked examples, and every number against the plain game."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from plaudit.errors import ShapeMismatch, WrongType
from plaudit.systems.hackmatrix import observation
from plaudit.systems.hackmatrix.features import GRID_FEATURES, OBSERVATION_SIZE, PLAYER_FEATURES, Observation
from plaudit.systems.hackmatrix.observation import observe
from plaudit.systems.hackmatrix.plain.convert import to_plain
from plaudit.systems.hackmatrix.plain.observation import observe as observe_plain
from plaudit.systems.hackmatrix.rules import PROGRAMS
from plaudit.systems.hackmatrix.state import Enemies, Enemy, EnvState, Grid, Player, data_block, program_block
from support.hackmatrix_model.boards import entry, random_states
from support.hackmatrix_model.examples import examples, state_of


@pytest.mark.parametrize("example", examples()["observations"], ids=lambda example: example["title"])
def test_an_example_of_the_rules_is_seen_as_they_say(example):
    found = observe(state_of(example["state"]))
    assert found.player == pytest.approx(np.array(example["player"]), abs=1e-6)
    assert np.flatnonzero(found.programs).tolist() == example["programs_owned_slots"]
    grid = np.zeros((6, 6, 42))
    for row, col, feature, value in example["grid_nonzero"]:
        grid[row, col, feature] = value
    np.testing.assert_allclose(found.grid, grid, atol=1e-6)


def test_every_number_is_what_the_plain_game_shows_of_any_state():
    states = random_states(300)
    found = jax.device_get(jax.vmap(observe)(states))
    for at in range(300):
        for name, expected in observe_plain(to_plain(entry(states, at)))._asdict().items():
            np.testing.assert_array_equal(getattr(found, name)[at], expected, err_msg=f"{name} of state {at}")


def test_on_a_gpu_the_same_is_seen_and_nothing_is_reduced(monkeypatch):
    states = random_states(300, seed=3)
    expected = jax.vmap(observe)(states)
    lowered = jax.jit(jax.vmap(observe)).trace(states).lower(lowering_platforms=("cuda",))
    assert "stablehlo.reduce" not in lowered.as_text()
    monkeypatch.setattr(jax.lax, "platform_dependent", lambda *arguments, cuda, default: cuda(*arguments))

    def traced_anew(state):
        return observation._observe.__wrapped__(state)

    assert "reduce_min" not in str(jax.make_jaxpr(traced_anew)(entry(states, 0)))
    jax.tree.map(np.testing.assert_array_equal, jax.jit(jax.vmap(traced_anew))(states), expected)


def test_a_hidden_cryptog_hides_who_stands_with_it():
    stacked = Enemies.of(Enemy("cryptog", 4, 4), Enemy("virus", 4, 4))
    hidden = EnvState(enemies=stacked)
    assert not observe(hidden).grid[4, 4, :7].any()
    beside = hidden.replace(player=Player(row=4))
    assert observe(beside).grid[4, 4, :4].tolist() == [0, 0, 0, 1]


def test_of_several_enemies_on_a_cell_the_first_that_lives_is_observe():
    stacked = Enemies.of(Enemy("virus", 4, 4, hp=0), Enemy("daemon", 4, 4, hp=2), Enemy("glitch", 4, 4))
    features = observe(EnvState(enemies=stacked)).grid[4, 4]
    assert features[:4].tolist() == [0, 1, 0, 0]
    assert features[4] == pytest.approx(2 / 3)


def test_a_question_block_shows_what_it_holds_only_once_it_is_siphoned():
    held = {(2, 2): data_block(7, question=True), (3, 3): program_block("HACK", question=True)}
    grid = observe(EnvState(grid=Grid.of(held))).grid
    for cell in held:
        assert [GRID_FEATURES[at] for at in np.flatnonzero(grid[cell])] == ["question_block"]
    opened = {(2, 2): data_block(9, question=True, siphoned=True)}
    features = observe(EnvState(grid=Grid.of(opened))).grid[2, 2]
    assert [GRID_FEATURES[at] for at in np.flatnonzero(features)] == ["data_block", "block_points", "block_siphoned"]


def test_full_scales_are_exactly_1():
    grid = Grid.of({(1, 1): data_block(9), (2, 2): {"credits": 3}, (3, 3): {"energy": 3}})
    enemies = Enemies.of(Enemy("daemon", 4, 4, hp=3))
    found = observe(EnvState(player=Player(row=5, col=5, credits=50, energy=90), stage=8, grid=grid, enemies=enemies))
    assert found.player[:6].tolist() == [1.0] * 6
    assert found.grid.max() == 1.0
    assert found.grid[1, 1, [10, 35]].tolist() == [1.0, 1.0]


def test_the_flat_observation_is_player_programs_and_grid_one_after_the_other():
    states = random_states(3, seed=1)
    found = jax.vmap(observe)(states)
    flat = found.flat()
    assert (flat.shape, flat.dtype) == ((3, OBSERVATION_SIZE), jnp.float32)
    assert OBSERVATION_SIZE == 1545
    np.testing.assert_array_equal(flat[:, :10], found.player)
    np.testing.assert_array_equal(flat[:, 10:33], found.programs)
    np.testing.assert_array_equal(flat[:, 33:].reshape(3, 6, 6, 42), found.grid)
    np.testing.assert_array_equal(jax.vmap(lambda state: observe(state).flat())(states), flat)


def test_shapes_dtypes_and_names_go_together():
    found = jax.eval_shape(observe, EnvState())
    assert isinstance(found, Observation)
    assert [(part.shape, part.dtype) for part in found] == [
        ((len(PLAYER_FEATURES),), jnp.float32),
        ((len(PROGRAMS),), jnp.int32),
        ((6, 6, len(GRID_FEATURES)), jnp.float32),
    ]
    assert len(set(GRID_FEATURES)) == 42
    assert GRID_FEATURES[12:35] == PROGRAMS


def test_what_is_not_to_be_seen_changes_nothing():
    state = entry(random_states(1, seed=2), 0)
    other = state.replace(
        turn=np.int32(99),
        interval=np.int32(5),
        next_task=np.int32(77),
        pending=np.int32(3),
        step_active=~state.step_active,
        atk_uses=np.int32(1),
        player=state.player.replace(score=np.int32(500)),
        enemies=state.enemies.replace(
            disabled=1 - state.enemies.disabled, from_task=~state.enemies.from_task
        ),
        transmissions=state.transmissions.replace(type=(state.transmissions.type + 1) % 4),
    )  # fmt: skip
    np.testing.assert_array_equal(observe(state).flat(), observe(other).flat())


def test_only_one_state_is_seen_at_a_time():
    with pytest.raises(ShapeMismatch, match=r"states of shape \(2,\).*jax.vmap"):
        observe(random_states(2))
    with pytest.raises(WrongType, match="the state is a Player; it must be an EnvState"):
        observe(Player())
