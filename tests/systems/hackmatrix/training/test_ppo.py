"""PPO: advantages against a plain loop, masks, pairs of observation and action, and a small game that it solves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit.systems.hackmatrix.training import ppo
from support.hackmatrix_model.toy import QUICK, jax, jnp, small, toy

advantages_of = jax.jit(ppo.compute_advantages)
play = jax.jit(ppo.play, static_argnums=(0, 1))
init_network = jax.jit(ppo.init_network, static_argnums=(1, 2, 3))
apply_network = jax.jit(ppo.apply_network)


@pytest.fixture(scope="module")
def played():
    """Return a rollout of the small game: how it ended, its steps, and the sums over ended episodes."""
    game, config = toy(), small(rollout=18)
    return jax.device_get(play(config, game, ppo.begin(config, game)))


@st.composite
def rollouts(draw):
    """Return a rollout of random numbers, with ends and cuts at random, and discounts."""
    steps, games = draw(st.sampled_from([(1, 1), (12, 3)]))  # few shapes: each is compiled
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    often = draw(st.sampled_from([0.0, 0.3, 1.0]))
    ended = random.random((steps, games)) < often
    cut_off = ended & (random.random((steps, games)) < 0.5)
    numbers = [random.normal(size=(steps, games)).astype(np.float32) for _ in range(3)]
    last = random.normal(size=games).astype(np.float32)
    discounts = draw(st.sampled_from([0.0, 0.9, 1.0])), draw(st.sampled_from([0.0, 0.95, 1.0]))
    return numbers, ended & ~cut_off, cut_off, last, discounts


def plain_advantages(reward, value, final_value, terminated, truncated, last_value, gamma, gae_lambda):
    """Return the advantages of one game, as the definition has them: discounted sums of surprises."""
    steps = len(reward)
    surprises = []
    for t in range(steps):
        if terminated[t]:
            after = 0.0
        elif truncated[t]:
            after = final_value[t]
        else:
            after = value[t + 1] if t + 1 < steps else last_value
        surprises.append(reward[t] + gamma * after - value[t])
    advantages = []
    for t in range(steps):
        total, weight = 0.0, 1.0
        for later in range(t, steps):
            total += weight * surprises[later]
            weight *= gamma * gae_lambda
            if terminated[later] or truncated[later]:
                break
        advantages.append(total)
    return advantages


@given(rollouts())
def test_advantages_are_those_of_a_plain_loop(rollout):
    (reward, value, final), terminated, truncated, last, (gamma, gae_lambda) = rollout
    steps = ppo.Transition((), (), (), (), value, reward, terminated, truncated, final)
    found = advantages_of(steps, jnp.asarray(last), gamma=gamma, gae_lambda=gae_lambda)
    for game in range(reward.shape[1]):
        columns = (each[:, game] for each in (reward, value, final, terminated, truncated))
        expected = plain_advantages(*columns, last[game], gamma, gae_lambda)
        np.testing.assert_allclose(found[:, game], expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_probabilities_sum_to_1_and_illegal_actions_have_none(precision):
    random = np.random.default_rng(0)
    params = init_network(jax.random.key(0), 40, 28, (24, 24))
    observation = 10 * random.normal(size=(200, 40)).astype(jnp.dtype(precision))
    mask = (random.random((200, 28)) < 0.3) | (np.arange(28) == 5)
    log_probabilities, value = apply_network(params, observation, mask)
    probabilities = np.exp(log_probabilities)
    np.testing.assert_allclose(probabilities.sum(axis=-1), 1, rtol=1e-5)
    assert (probabilities[~mask] == 0).all()
    assert value.dtype == log_probabilities.dtype == jnp.float32
    entropy = np.asarray(jax.jit(ppo.compute_entropy)(log_probabilities))
    assert (entropy >= 0).all()
    assert (entropy <= np.log(mask.sum(axis=-1)) + 1e-5).all()


def test_the_only_legal_action_is_always_chosen():
    only = toy()._replace(mask=lambda states: jax.nn.one_hot(states.place, 3) > 0)
    _, transitions, _ = play(small(), only, ppo.begin(small(), only))
    np.testing.assert_array_equal(transitions.action, jnp.argmax(transitions.mask, axis=-1))
    np.testing.assert_allclose(transitions.log_probability, 0, atol=1e-6)


def test_new_weights_are_orthogonal():
    params = init_network(jax.random.key(1), 40, 28, (24, 24))
    for layer, scale in zip(params["trunk"], (2, 2), strict=True):
        weights = np.asarray(layer["weights"])
        np.testing.assert_allclose(weights.T @ weights, scale * np.eye(24), atol=1e-4)
    assert np.abs(params["policy"]["weights"]).max() <= 0.01


def test_an_observation_is_kept_with_the_action_taken_on_it(played):
    _, transitions, _ = played
    place = np.argmax(transitions.observation[..., :2], axis=-1)
    np.testing.assert_array_equal(transitions.mask[..., 2], place == 0)
    np.testing.assert_array_equal(transitions.reward, np.where(transitions.action == 1 - place, 1.0, 0.0))


def test_after_an_end_comes_the_first_observation_of_a_new_episode(played):
    _, transitions, _ = played
    steps = transitions.observation[..., 2]
    ended = transitions.terminated[:-1]
    assert ended.any()
    assert (steps[1:][ended] == 0).all()
    assert (steps[1:][~ended] > 0).all()


def test_a_cut_off_episode_keeps_the_worth_of_its_last_state():
    game, config = toy(max_steps=2), small(max_steps=2)
    training = ppo.begin(config, game)
    _, transitions, _ = play(config, game, training)
    assert not transitions.terminated.any()
    assert transitions.truncated[1::2].all()
    transitions = jax.device_get(transitions)
    place = np.argmax(transitions.observation[1::2, :, :2], axis=-1)
    good = transitions.reward[1::2] > 0
    last = np.eye(2, dtype=np.float32)[np.where(good, 1 - place, place)]
    seen = np.concatenate([last, np.full((*place.shape, 1), 2 / 4, np.float32)], axis=-1)
    _, worth = apply_network(training.params, seen, np.ones((*place.shape, 3), bool))
    np.testing.assert_allclose(transitions.final_value[1::2], worth, rtol=1e-5)


def test_sums_of_episodes_are_those_of_the_steps_between_their_ends(played):
    training, transitions, ended = played
    number = transitions.terminated.sum()
    np.testing.assert_allclose(ended.number, number)
    np.testing.assert_allclose(ended.length, transitions.terminated.size - training.running.length.sum())
    np.testing.assert_allclose(ended.returns + training.running.returns.sum(), transitions.reward.sum(), rtol=1e-5)
    np.testing.assert_allclose(ended.terms.sum(), ended.returns, rtol=1e-5)


@pytest.mark.parametrize(
    ("max_steps", "precision"),
    [
        (None, "float32"),
        (3, "bfloat16"),
        pytest.param(None, "bfloat16", marks=pytest.mark.slow),
        pytest.param(3, "float32", marks=pytest.mark.slow),
    ],
)
def test_a_small_game_is_solved(max_steps, precision):
    config = small(steps=32 * 16 * 30, max_steps=max_steps, precision=precision, gamma=0.5)
    training, update = ppo.begin(config, toy(max_steps)), ppo.compile_update(config, toy(max_steps))
    for _ in range(config.updates):
        training, metrics = update(training)
    best = max_steps or 4
    assert metrics["return"] > 0.9 * best
    assert metrics["length"] == best
    assert metrics["terms/illegal"] == 0
    assert 0 < metrics["entropy_share"] < 0.5
    assert metrics["explained_variance"] > (0.5 if max_steps is None else 0.0)
    assert int(training.update) == config.updates


def test_two_runs_with_one_seed_are_equal_and_with_two_are_not():
    def trained(seed):
        config = small(**QUICK, seed=seed)
        training, _ = ppo.compile_update(config, toy())(ppo.begin(config, toy()))
        return np.asarray(training.params["policy"]["weights"])

    first = trained(0)
    assert (first == trained(0)).all()
    assert (first != trained(1)).any()


def test_where_no_episode_ended_means_are_not_numbers():
    metrics = ppo.summarise_episodes(ppo.Episodes.none((), 2), toy().terms)
    assert metrics["episodes"] == 0
    assert np.isnan(metrics["return"])
    assert np.isnan(metrics["terms/hit"])


def test_the_learning_rate_falls_along_the_run_to_0():
    config = small(epochs=1, minibatches=1, max_gradient=1e9)
    optimizer, flat = ppo.build_optimizer(config), ppo.build_optimizer(small(decay=False))
    gradient = jnp.ones(3)
    state, flat_state = optimizer.init(gradient), flat.init(gradient)
    decay, stay = jax.jit(optimizer.update), jax.jit(flat.update)
    for update in range(config.updates):
        change, state = decay(gradient, state)
        np.testing.assert_allclose(change, -config.learning_rate * (1 - update / config.updates), rtol=1e-3)
        change, flat_state = stay(gradient, flat_state)
        np.testing.assert_allclose(change, -config.learning_rate, rtol=1e-3)


def test_the_weight_of_entropy_goes_to_its_end_in_a_straight_line():
    config = small(entropy=0.1, entropy_end=0.02)
    found = [float(ppo.compute_entropy_weight(config, update)) for update in range(config.updates + 1)]
    np.testing.assert_allclose(found, [0.1, 0.08, 0.06, 0.04, 0.02])
    assert ppo.compute_entropy_weight(small(entropy=0.1), 3) == 0.1
