"""The game as pure functions of one environment, for `jit`, `vmap` and `scan`."""

from collections import OrderedDict
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from plaudit.errors import OutOfRange
from plaudit.reward.reward import Reward
from plaudit.systems.hackmatrix import rewards
from plaudit.systems.hackmatrix.board_generation import new_game, renew
from plaudit.systems.hackmatrix.calculate import calculate_reward, remember
from plaudit.systems.hackmatrix.features import Observation
from plaudit.systems.hackmatrix.observation import observe
from plaudit.systems.hackmatrix.rules import ACTIONS, MAX_HP, STAGES, Rules, interval_of
from plaudit.systems.hackmatrix.state import EnvState
from plaudit.systems.hackmatrix.turns.actions import NOTHING, act
from plaudit.systems.hackmatrix.turns.enemy_turn import take_enemy_turn
from plaudit.systems.hackmatrix.turns.legality import action_mask
from plaudit.systems.hackmatrix.validation import (
    validate_action,
    validate_key,
    validate_reward,
    validate_rules,
    validate_state,
)

__all__ = ["Info", "action_mask", "auto_reset_step", "observe", "reset", "step"]

Array = jax.Array
Info = dict[str, Any]
"""`reward_components` by name; `stage`, on which the step was taken; and whether it was `illegal`, and in it the stage
was completed (`stage_completed`), the game `won` and the player `died`."""
Step = tuple[Observation, EnvState, Array, Array, Array, Info]

_REFERENCE = Rules.reference()


def reset(key: Array) -> tuple[Observation, EnvState]:
    """Start a new game.

    Args:
        key: A random key, such as `jax.random.key(0)`.

    Returns:
        The first observation, and the state.

    >>> observation, state = reset(jax.random.key(0))
    >>> observation.flat().shape, state.stage.item()
    ((1545,), 1)
    """
    state = new_game(validate_key(key))
    return observe(state), state


def step(
    key: Array, state: EnvState, action: Array | int, *, rules: Rules = _REFERENCE, reward: Reward = rewards.reward
) -> Step:
    """Take a step; under `jax.jit`, since it takes seconds without.

    The game ends when it is won or lost, or by an illegal action, which changes nothing and earns 0. It is never
    `truncated` here.

    Args:
        key: A random key.
        state: The state of the game.
        action: The action.
        rules: The rules of the game.
        reward: The reward to score with.

    Returns:
        The observation, the state, the reward, `terminated`, `truncated` and the `Info`.

    Example:
        play = jax.jit(step)
        observation, state, reward, terminated, truncated, info = play(key, state, action)
    """
    turn_key, board_key = jax.random.split(validate_key(key))
    played = _play(turn_key, validate_state(state), validate_action(action), rules, reward)
    after = renew(board_key, played.state, stage_over=played.goes_on, game_over=False)
    return observe(after), after, played.reward, played.over, jnp.bool_(False), played.info


def auto_reset_step(
    key: Array,
    state: EnvState,
    action: Array | int,
    *,
    rules: Rules = _REFERENCE,
    reward: Reward = rewards.reward,
    max_steps: int | None = None,
) -> Step:
    """Take a step, and start a new game if the game is over.

    Reward, flags and `Info` are those of the step; observation and state are then those of the new game. The last
    observation of a finished game is not returned.

    Args:
        key: A random key.
        state: The state of the game.
        action: The action.
        rules: The rules of the game.
        reward: The reward to score with.
        max_steps: Time limit of a game in steps, after which it is `truncated`; None for no limit.

    Returns:
        The observation, the state, the reward, `terminated`, `truncated` and the `Info`.

    Raises:
        OutOfRange: `max_steps` is below 1.

    Example:
        play = jax.jit(auto_reset_step)
        observation, state, reward, terminated, truncated, info = play(key, state, action)
    """
    if max_steps is not None and max_steps < 1:
        raise OutOfRange(f"max_steps={max_steps} must be 1 or more.")
    turn_key, board_key = jax.random.split(validate_key(key))
    played = _play(turn_key, validate_state(state), validate_action(action), rules, reward)
    late = jnp.bool_(False) if max_steps is None else played.state.steps >= max_steps
    truncated = late & ~played.over
    over = played.over | truncated
    after = renew(board_key, played.state, stage_over=played.goes_on & ~over, game_over=over)
    return observe(after), after, played.reward, played.over, truncated, played.info


class _StepResult(NamedTuple):
    """A step, but for the board of the next stage."""

    state: EnvState
    reward: Array
    over: Array
    goes_on: Array
    """A stage was completed, and there is another."""
    info: Info


def _play(key: Array, state: EnvState, action: Array, rules: Rules, reward: Reward) -> _StepResult:
    validate_rules(rules)
    validate_reward(reward)
    known = (action >= 0) & (action < ACTIONS)
    legal = known & (action_mask(state) & (jnp.arange(ACTIONS) == action)).any()
    chosen = jnp.where(legal, action, NOTHING)
    seeds = jax.random.bits(key, (3, 2), jnp.uint32)
    remembered = remember(state, jnp.clip(action, 0, ACTIONS - 1), rules=rules)
    acted = act(seeds[0], remembered, chosen)
    turned = take_enemy_turn(seeds[1:], acted.state, acted.ends_turn & ~acted.at_exit)

    completed = acted.at_exit
    won = completed & (state.stage == STAGES)
    died = turned.player.hp == 0
    stage = state.stage + (completed & ~won)
    healed = jnp.minimum(turned.player.hp + completed, MAX_HP)
    after = turned.replace(
        player=turned.player.replace(hp=healed),
        stage=stage,
        interval=jnp.where(completed & ~won, interval_of(stage), turned.interval),
        before=jax.tree.map(lambda new, old: jnp.where(legal, new, old), turned.before, state.before),
        steps=state.steps + legal,
    )
    total, parts = calculate_reward(after, completed, won, died, jnp.maximum(chosen, 0), rules=rules, reward=reward)
    paid = OrderedDict((name, jnp.where(legal, part, 0.0)) for name, part in parts.items())  # jit would sort a dict
    info = {
        "reward_components": paid,
        "stage": state.stage,
        "stage_completed": completed,
        "won": won,
        "died": died & legal,
        "illegal": ~legal,
    }
    return _StepResult(after, jnp.where(legal, total, 0.0), ~legal | won | died, completed & ~won, info)
