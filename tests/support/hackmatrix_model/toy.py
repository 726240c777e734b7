"""A game so small that PPO solves it in seconds: two places, each with one good action, and one that is not legal."""

from functools import cache
from typing import NamedTuple

import pytest

from support.running import need

pytest.importorskip("optax", reason="needs plaudit[train]")
jax = need("jax")
jnp = jax.numpy

from plaudit.systems import hackmatrix  # noqa: E402  # after the libraries that it needs
from plaudit.systems.hackmatrix.training.config import Config  # noqa: E402
from plaudit.systems.hackmatrix.training.ppo import Environment, Outcome  # noqa: E402

QUICK = {"envs": 8, "rollout": 4, "steps": 8 * 4 * 4, "hidden": (4,), "epochs": 1}
"""Settings of runs in which nothing is learned: all train with the same program."""
LENGTH = 4
"""Steps of an episode; the best return is 4, one for each."""
GOOD = (1, 0)
"""The good action of place 0 and 1. Action 2 is legal in place 0 only, and leads nowhere."""


class Toy(NamedTuple):
    """The states of all games."""

    place: jax.Array
    steps: jax.Array


def _read():
    """Return what the game's reward reads in a step in which an enemy is shot, by name."""
    row = hackmatrix.episode()[1]
    players = {f"{when}.{name}": value for when in ("prev", "curr") for name, value in row[when].items()}
    return players | {name: value for name, value in row.items() if name not in ("prev", "curr")}


READ = _read()
"""What the game's reward reads in every step of the toy."""


def reset(key, count):
    """Return new games, at any place."""
    return Toy(jax.random.bernoulli(key, 0.5, (count,)).astype(jnp.int32), jnp.zeros(count, jnp.int32))


def observe(states):
    """Return the place, and how much of the episode is over."""
    return jnp.concatenate([jax.nn.one_hot(states.place, 2), states.steps[:, None] / LENGTH], axis=-1)


def mask(states):
    """Return which of the three actions are legal."""
    always = jnp.ones_like(states.place, bool)
    return jnp.stack([always, always, states.place == 0], axis=-1)


@cache  # the same game each time, which is compiled once
def toy(max_steps=None):
    """Return the game; its episodes end after `LENGTH` steps, or are cut off after `max_steps`."""

    def advance(key, states, action):
        legal = jnp.take_along_axis(mask(states), action[:, None], axis=-1)[:, 0]
        good = legal & (action == jnp.array(GOOD)[states.place])
        steps = states.steps + 1
        terminated = (steps >= LENGTH) | ~legal
        cut_off = jnp.zeros_like(terminated) if max_steps is None else (steps >= max_steps) & ~terminated
        parts = jnp.stack([good.astype(jnp.float32), jnp.where(legal, 0.0, -1.0)], axis=-1)
        read = {name: jnp.full(len(action), value) for name, value in READ.items()}
        outcome = Outcome(
            parts.sum(axis=-1), terminated, cut_off, parts, states.place + 1, good & terminated, None, read
        )
        return Toy(jnp.where(good, 1 - states.place, states.place), steps), outcome

    def step(key, states, action):
        final, outcome = advance(key, states, action)
        after = jax.tree.map(lambda new, old: jnp.where(outcome.ended, new, old), reset(key, len(action)), final)
        return after, outcome._replace(final=final if max_steps else None, inputs=None)

    return Environment(3, ("hit", "illegal"), reset, observe, mask, step, advance)


def small(**changes):
    """Return settings for the game, with changes."""
    usual = {"envs": 32, "rollout": 16, "steps": 32 * 16 * 4, "hidden": (16,), "learning_rate": 3e-3}
    return Config(**{**usual, **changes})
