"""What `reset`, `step` and `auto_reset_step` are given: errors outside of jit, and what happens inside of it."""

from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from plaudit.errors import OutOfRange, ShapeMismatch, WrongType
from plaudit.systems import hackmatrix
from plaudit.systems.hackmatrix import (
    Enemies,
    Enemy,
    EnvState,
    Player,
    action_mask,
    auto_reset_step,
    bfs_distance,
    env,
    observe,
    reset,
    step,
)
from plaudit.systems.hackmatrix.rules import Rules
from support.hackmatrix_model.steps import BATCH, step_all


@cache
def key():
    return jax.random.key(0)


@cache
def many_states():
    return jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), EnvState())


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: reset(0), WrongType, "jax.random.key(0)"),
        (lambda: reset(jax.random.split(key())), ShapeMismatch, "jax.vmap"),
        (lambda: step(0, EnvState(), 1), WrongType, "the key is 0"),
        (lambda: step(EnvState(), 1, key()), WrongType, "it must be a random key"),
        (lambda: step(key(), EnvState(), 28), OutOfRange, "from 0 to 27"),
        (lambda: step(key(), EnvState(), -1), OutOfRange, "from 0 to 27"),
        (lambda: step(key(), EnvState(), 1.0), WrongType, "an integer"),
        (lambda: step(key(), EnvState(), np.array([1, 2])), ShapeMismatch, "jax.vmap"),
        (lambda: step(key(), many_states(), 1), ShapeMismatch, "states of shape (2,)"),
        (lambda: step(key(), {"hp": 3}, 1), WrongType, "it must be an EnvState"),
        (lambda: step(key(), EnvState(), 0, reward="potential"), WrongType, "hackmatrix.version('potential')"),
        (lambda: step(key(), EnvState(), 0, rules="seed"), WrongType, "Rules.seed()"),
        (lambda: auto_reset_step(key(), EnvState(), 0, max_steps=0), OutOfRange, "must be 1 or more"),
        (lambda: action_mask(many_states()), ShapeMismatch, "jax.vmap"),
        (lambda: bfs_distance(jnp.zeros((6, 6), bool), 0, 0, 0, 7), OutOfRange, "from 0 to 5"),
        (lambda: bfs_distance(jnp.zeros((5, 6), bool), 0, 0, 0, 5), ShapeMismatch, "(5, 6)"),
        (
            lambda: jax.vmap(step)(jax.random.split(key(), 3), many_states(), jnp.zeros(3, jnp.int32)),
            ValueError,
            "sizes",
        ),
        (lambda: jax.jit(step)(key(), EnvState(), 1.0), WrongType, "an integer"),
    ],
)
def test_what_cannot_be_played_is_refused_with_the_reason(call, error, says):
    with pytest.raises(error) as caught:
        call()
    assert says in str(caught.value)


def steps(state: EnvState, actions: list[int]):
    """Return what each action leads to from a state, by the compiled step that all tests share."""
    states = jax.tree.map(lambda leaf: np.broadcast_to(leaf, (BATCH, *leaf.shape)), state)
    return step_all(0, states, np.resize(actions, BATCH))


def test_inside_jit_an_action_out_of_range_ends_the_game_with_nothing_paid_and_nothing_changed():
    state = EnvState(player=Player(credits=5))
    after, paid, terminated, truncated, info, *_ = steps(state, [28, -1, 1_000, -(2**31)])
    assert terminated.all()
    assert not truncated.any()
    assert info["illegal"].all()
    assert not paid.any()
    assert not any(part.any() for part in info["reward_components"].values())
    changed = jax.tree.map(lambda new, old: (new != np.asarray(old)).any(), after, state)
    assert not any(jax.tree.leaves(changed))


def test_a_step_towards_the_exit_is_paid_for_its_cell_and_costs_a_step():
    after, paid, *_ = steps(EnvState(), [0])
    assert (after.player.row == 1).all()
    np.testing.assert_allclose(paid, 0.05 - 0.01, rtol=1e-5)


def test_components_come_in_the_order_in_which_they_are_summed():
    info = steps(EnvState(), [0])[4]
    assert list(info["reward_components"]) == [term.name for term in hackmatrix.reward.terms]


def test_hit_points_stay_within_their_bounds_also_in_the_step_that_kills():
    crowd = [Enemy("daemon", 1, 2), Enemy("glitch", 3, 2), Enemy("cryptog", 2, 1), Enemy("daemon", 2, 3)]
    owned = [name == "WAIT" for name in hackmatrix.PROGRAMS]
    for hp in (1, 2, 3):
        state = EnvState(player=Player(row=2, col=2, hp=hp, energy=1), enemies=Enemies.of(*crowd), owned=owned)
        after, _, terminated, _, info, *_ = steps(state, [hackmatrix.action_of("WAIT")])
        assert (after.player.hp == 0).all()
        assert terminated.all()
        assert info["died"].all()


@pytest.mark.parametrize(("over", "goes_on"), [(False, False), (False, True), (True, False)])
@pytest.mark.parametrize(("steps", "max_steps"), [(5, None), (4, 5), (5, 5), (6, 5)])
def test_a_game_that_is_over_or_cut_off_is_followed_by_a_new_one(over, goes_on, steps, max_steps, monkeypatch):
    """What comes of a step and is handed to `renew`; `make soak` plays by `auto_reset_step` itself."""
    played = env._StepResult(EnvState(steps=steps), jnp.float32(7), jnp.bool_(over), jnp.bool_(goes_on), {"won": 1})
    new, told = EnvState(stage=3), {}
    monkeypatch.setattr(env, "_play", lambda key, state, action, *paid: told.update(turn=key) or played)
    monkeypatch.setattr(env, "renew", lambda key, state, **ends: told.update(board=key, state=state, **ends) or new)
    seen, after, paid, terminated, truncated, info = auto_reset_step(key(), EnvState(), 0, max_steps=max_steps)
    cut_off = max_steps is not None and steps >= max_steps and not over
    assert (paid, bool(terminated), bool(truncated), info) == (7, over, cut_off, {"won": 1})
    assert told["state"] is played.state
    assert (bool(told["game_over"]), bool(told["stage_over"])) == (
        over or cut_off,
        goes_on and not over and not cut_off,
    )
    assert after is new
    assert seen.player.tolist() == observe(new).player.tolist()
    assert len({*map(str, jax.random.key_data(jnp.stack([key(), told["turn"], told["board"]])))}) == 3


def test_a_step_goes_by_its_rules_in_all_that_depends_on_them(monkeypatch):
    """It is traced here and not compiled."""
    rules, given = Rules(no_path="manhattan", question_blocks="ignored"), []

    def note(measure):
        return lambda *state, rules, **options: given.append(rules) or measure(*state, rules=rules, **options)

    for name in ("remember", "calculate_reward"):
        monkeypatch.setattr(env, name, note(getattr(env, name)))
    jax.eval_shape(partial(step, rules=rules), key(), EnvState(), 0)
    assert given == [rules, rules]
