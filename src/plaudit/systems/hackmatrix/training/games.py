"""HackMatrix as PPO plays it: many games at once, and policies to compare with."""

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp

from plaudit.reward.reward import Reward
from plaudit.systems.hackmatrix.boards.generation import new_game, renewed
from plaudit.systems.hackmatrix.calculate import measured
from plaudit.systems.hackmatrix.env import Info, action_mask, auto_reset_step, observe, step
from plaudit.systems.hackmatrix.rules import ACTIONS, Rules
from plaudit.systems.hackmatrix.script import random_action, random_direction, scripted_action
from plaudit.systems.hackmatrix.state import EnvState
from plaudit.systems.hackmatrix.training.config import View
from plaudit.systems.hackmatrix.training.evaluation import Policy
from plaudit.systems.hackmatrix.training.ppo import Environment, Outcome, Params, States
from plaudit.systems.hackmatrix.training.view import around_player

Array = jax.Array

_RULES = Rules.reference()


@lru_cache(maxsize=8)
def games(reward: Reward, *, view: View = "player", max_steps: int | None = None) -> Environment:
    """Return the game as PPO plays it, under the reference rules and paid by `reward`."""
    seen: Callable[[Array], Array] = around_player if view == "player" else lambda observation: observation
    paid: dict[str, Any] = {"rules": _RULES, "reward": reward}
    one_step = partial(_cut_off, max_steps=max_steps, **paid) if max_steps else partial(_renewing, **paid)
    return Environment(
        actions=ACTIONS,
        terms=tuple(term.name for term in reward.terms),
        reset=lambda key, count: jax.vmap(new_game)(jax.random.split(key, count)),
        observe=lambda states: seen(jax.vmap(observe)(states).flat()),
        mask=jax.vmap(action_mask),
        step=_of_all(one_step),
        advance=_of_all(partial(_advancing, **paid)),
    )


def _of_all(one_step: Any) -> Any:
    """Return a step of all games, each with a key of its own."""

    def steps(key: Array, states: States, actions: Array) -> tuple[States, Outcome]:
        after, outcome = jax.vmap(one_step)(jax.random.split(key, len(actions)), states, actions)
        return after, outcome

    return steps


def _renewing(key: Array, state: EnvState, action: Array, **paid: Any) -> tuple[EnvState, Outcome]:
    _, after, earned, terminated, truncated, info = auto_reset_step(key, state, action, **paid)
    return after, _outcome(earned, terminated, truncated, info)


def _advancing(key: Array, state: EnvState, action: Array, **paid: Any) -> tuple[EnvState, Outcome]:
    _, after, earned, terminated, truncated, info = step(key, state, action, **paid)
    inputs = measured(after, info["stage_completed"], info["won"], info["died"], action, rules=_RULES)
    return after, _outcome(earned, terminated, truncated, info)._replace(inputs=inputs)


def _cut_off(key: Array, state: EnvState, action: Array, max_steps: int, **paid: Any) -> tuple[EnvState, Outcome]:
    """Play a step as `_renewing` does, and keep the state in which an episode was cut off."""
    stepping, beginning = jax.random.split(key)
    _, after, earned, terminated, _, info = step(stepping, state, action, **paid)
    truncated = (after.steps >= max_steps) & ~terminated
    outcome = _outcome(earned, terminated, truncated, info)._replace(final=after)
    return renewed(beginning, after, stage_over=jnp.bool_(False), game_over=outcome.ended), outcome


def _outcome(earned: Array, terminated: Array, truncated: Array, info: Info) -> Outcome:
    terms = jnp.stack(list(info["reward_components"].values()))
    return Outcome(earned, terminated, truncated, terms, info["stage"], info["won"])


def _scripted(params: Params, key: Array, states: States, observation: Array, mask: Array) -> Array:
    return jax.vmap(scripted_action)(states)


def _random(params: Params, key: Array, states: States, observation: Array, mask: Array) -> Array:
    return jax.vmap(random_action)(jax.random.split(key, len(mask)), mask)


def _walking(params: Params, key: Array, states: States, observation: Array, mask: Array) -> Array:
    return jax.vmap(random_direction)(jax.random.split(key, len(mask)), mask)


BASELINES: Mapping[str, Policy] = {"script": _scripted, "random walk": _walking, "random": _random}
"""Policies that need no training, the best first."""
