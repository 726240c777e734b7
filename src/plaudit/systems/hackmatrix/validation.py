"""What a caller hands in is validated: types and shapes always, values where they are known."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from plaudit.errors import OutOfRange, ShapeMismatch, WrongType
from plaudit.reward.reward import Reward
from plaudit.systems.hackmatrix.rules import ACTIONS, SIZE, Rules
from plaudit.systems.hackmatrix.state import EnvState

Array = jax.Array


def validate_state(state: Any) -> EnvState:
    """Return a state, if it is one, and one alone."""
    if not isinstance(state, EnvState):
        raise WrongType(f"the state is a {type(state).__name__}; it must be an EnvState.")
    if jnp.shape(state.stage) != ():
        raise ShapeMismatch(
            f"these are states of shape {jnp.shape(state.stage)}, and one is needed. Use jax.vmap for a batch."
        )
    return state


def validate_key(key: Any) -> Array:
    """Return a random key, of the new kind or the old, if it is one, and one alone."""
    dtype = getattr(key, "dtype", None)
    new = dtype is not None and jnp.issubdtype(dtype, jax.dtypes.prng_key)
    if not new and dtype != jnp.uint32:
        raise WrongType(f"the key is {_format_value(key)}; it must be a random key, such as jax.random.key(0).")
    if jnp.shape(key) != (() if new else (2,)):
        raise ShapeMismatch(f"these are keys of shape {jnp.shape(key)}, and one is needed. Use jax.vmap for a batch.")
    return jnp.asarray(key)


def validate_rules(rules: Any) -> Rules:
    """Return rules, if they are that."""
    if not isinstance(rules, Rules):
        raise WrongType(f"the rules are {_format_value(rules)}; use Rules.seed(), Rules.reference() or Rules(…).")
    return rules


def validate_reward(reward: Any) -> Reward:
    """Return a reward, if it is one."""
    if not isinstance(reward, Reward):
        raise WrongType(
            f"the reward is {_format_value(reward)}; it must be a Reward, such as hackmatrix.version('potential')."
        )
    return reward


def validate_action(action: Any) -> Array:
    """Return an action as int32. Inside `jit` its value is not known, and not checked.

    >>> validate_action(4).item()
    4
    """
    return _validate_integer("the action", action, ACTIONS, "0–3 directions, 4 siphon, 5–27 programs")


def validate_cell(row: Any, col: Any) -> tuple[Array, Array]:
    """Return the row and the column of a cell as int32."""
    return _validate_integer("the row", row, SIZE, "0 the lowest"), _validate_integer(
        "the column", col, SIZE, "0 the first from the left"
    )


def validate_bool(name: str, value: Any) -> Array:
    """Return a bool, or 1 or 0, as a bool array."""
    given = _require_scalar(name, value)
    if given.dtype == bool:
        return jnp.asarray(given)
    if not jnp.issubdtype(given.dtype, jnp.integer):
        raise WrongType(f"{name} is {_format_value(value)}; it must be a bool.")
    if not isinstance(given, jax.core.Tracer) and int(given) not in (0, 1):
        raise OutOfRange(f"{name} is {int(given)}; it must be a bool, 1 or 0.")
    return jnp.asarray(given) != 0


def _validate_integer(name: str, value: Any, below: int, meaning: str) -> Array:
    given = _require_scalar(name, value)
    if not jnp.issubdtype(given.dtype, jnp.integer):
        raise WrongType(f"{name} is {_format_value(value)}; it must be an integer from 0 to {below - 1} ({meaning}).")
    if not isinstance(given, jax.core.Tracer) and not 0 <= int(given) < below:
        raise OutOfRange(f"{name} is {int(given)}; it must be from 0 to {below - 1} ({meaning}).")
    return jnp.asarray(given, jnp.int32)


def _require_scalar(name: str, value: Any) -> Any:
    given = value if hasattr(value, "dtype") else np.asarray(value)
    if jnp.shape(given) != ():
        raise ShapeMismatch(f"{name} has shape {jnp.shape(given)}, and one is needed. Use jax.vmap for a batch.")
    return given


def _format_value(value: Any) -> str:
    return f"of {value.dtype}" if isinstance(value, jax.core.Tracer) else f"{value!r:.40}"
