"""Evaluation: every game counts once, however long it takes."""

from functools import cache

import numpy as np
import pytest

from plaudit.systems import hackmatrix
from plaudit.systems.hackmatrix.training.evaluation import NETWORK, build_evaluator, pay_with_all
from plaudit.systems.hackmatrix.training.ppo import Environment, Outcome, init_network
from support.hackmatrix_model.toy import jax, jnp, toy

HALF = 50


@cache  # the same game each time, which is compiled once
def patience():
    """Return a game whose first half of episodes lasts 1 step and pays 1, and whose other half 9 steps and pays 0."""

    def reset(key, count):
        return jnp.where(jnp.arange(count) < count // 2, 1, 9)

    def advance(key, left, action):
        over = left == 1
        earned = (over & (jnp.arange(len(left)) < len(left) // 2)).astype(jnp.float32)
        outcome = Outcome(earned, over, jnp.zeros_like(over), earned[:, None], left, over, inputs={"left": left})
        return left - 1, outcome  # goes on below 0, where nothing may count

    ones = lambda states: jnp.ones((len(states), 2), bool)  # noqa: E731
    return Environment(2, ("earned",), reset, lambda s: s[:, None].astype(jnp.float32), ones, advance, advance)


@pytest.fixture(scope="module")
def params():
    return init_network(jax.random.key(0), 1, 2, (4,))


def play_all(params):
    """Return the games of both halves, with what the reward read in the first half and in one more."""
    return build_evaluator(patience(), episodes=2 * HALF, keep=HALF + 1)("sampled", params, jax.random.key(1))


def test_long_episodes_count_as_much_as_short_ones(params):
    found = play_all(params).evaluation()
    assert found.mean_return == 0.5
    assert found.mean_length == 5
    assert found.deviation == pytest.approx(np.std([0, 1] * HALF, ddof=1))
    assert found.error == pytest.approx(found.deviation / (2 * HALF) ** 0.5)
    assert found.stages == {1: 2 * HALF}
    assert found.terms == {"earned": 0.5}
    assert found.win_rate == 1
    assert found.unfinished == 0


def test_what_is_left_off_is_counted_as_far_as_it_went(params):
    found = build_evaluator(patience(), episodes=2 * HALF, max_steps=4)(
        "sampled", params, jax.random.key(1)
    ).evaluation()
    assert found.unfinished == HALF
    assert found.mean_length == 2.5
    assert found.stages == {1: HALF, 6: HALF}


def test_what_the_reward_read_is_kept_of_the_first_episodes(params):
    inputs = play_all(params).inputs
    assert [episode["left"].tolist() for episode in inputs] == [[1]] * HALF + [[9, 8, 7, 6, 5, 4, 3, 2, 1]]


def test_the_same_key_plays_the_same_games():
    evaluate = build_evaluator(toy(), episodes=64)
    params = init_network(jax.random.key(3), 3, 3, (8,))
    one, same, other = (evaluate("sampled", params, jax.random.key(seed)).evaluation() for seed in (0, 0, 1))
    assert one == same != other
    assert one.terms["illegal"] == 0


def test_one_episode_is_enough(params):
    found = build_evaluator(patience(), episodes=1, policies=NETWORK)("greedy", params, jax.random.key(0)).evaluation()
    assert (found.episodes, found.deviation) == (1, 0.0)


def test_several_rewards_pay_side_by_side():
    twice = hackmatrix.reward.with_params({"kills.weight": 0.6}).with_version("twice")
    game = pay_with_all(toy(), (("once", hackmatrix.reward), ("twice", twice)))
    played = build_evaluator(game, episodes=8)("greedy", init_network(jax.random.key(3), 3, 3, (8,)), jax.random.key(0))
    once, doubled = played.evaluation("once"), played.evaluation("twice")
    assert once.terms["kills"] == pytest.approx(4 * 0.3)  # the toy shoots an enemy in each of its four steps
    assert doubled.terms["kills"] == pytest.approx(4 * 0.6)
    assert doubled.mean_return - once.mean_return == pytest.approx(4 * 0.3)
    assert list(once.terms) == [term.name for term in hackmatrix.reward.terms]
