"""Many games at once as a Gymnasium vector environment: the game in JAX, stepped by one compiled function."""

from functools import lru_cache
from typing import Any, NamedTuple

from plaudit.errors import MissingExtra, OutOfRange, ShapeMismatch, WrongType

try:
    import gymnasium
    import jax
    from gymnasium import spaces
    from gymnasium.error import ResetNeeded
    from gymnasium.vector import AutoresetMode
    from gymnasium.vector.utils import batch_space
except ModuleNotFoundError as error:
    raise MissingExtra(
        f"many games at once need {error.name}. Install it: pip install 'plaudit[gym,jax]'. "
        'Without JAX: gymnasium.make_vec(…, vectorization_mode="sync").'
    ) from None

import numpy as np

from plaudit.reward.reward import Reward
from plaudit.systems.hackmatrix.board_generation import renew
from plaudit.systems.hackmatrix.env import step
from plaudit.systems.hackmatrix.features import Observation
from plaudit.systems.hackmatrix.observation import observe
from plaudit.systems.hackmatrix.playing import render
from plaudit.systems.hackmatrix.playing.game import SEEDS, Numbers
from plaudit.systems.hackmatrix.playing.gym_env import (
    INFO_FIELDS,
    build_observation_space,
    copy_observation,
    find_reward,
    validate_count,
    validate_options,
    validate_render_mode,
)
from plaudit.systems.hackmatrix.rewards import VERSIONS
from plaudit.systems.hackmatrix.rules import ACTIONS, Rules
from plaudit.systems.hackmatrix.state import EnvState
from plaudit.systems.hackmatrix.turns.legality import action_mask

Array = jax.Array

_REFERENCE = Rules.reference()


class HackMatrixVectorEnv(gymnasium.vector.VectorEnv[Any, Any, Any]):
    """Many games at once, stepped by one compiled function; those that end start again in the same step.

    Where a game ended, the observation and the mask are the new game's, and the last ones of the old game are in
    `info["final_obs"]` and `info["final_info"]`. What else `info` holds is of the step that was taken.
    """

    metadata = {  # noqa: RUF012 - Gymnasium's own way
        "render_modes": ["ansi"],
        "render_fps": 4,
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(
        self,
        num_envs: int = 1,
        *,
        reward: str | Reward = VERSIONS[0],
        rules: Rules = _REFERENCE,
        flat: bool = False,
        max_steps: int | None = None,
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        """`max_episode_steps` is `max_steps` under the name by which `gymnasium.make_vec` hands it on."""
        self.num_envs = validate_count("num_envs", num_envs)
        self.render_mode = validate_render_mode(render_mode, self.metadata)
        self.single_observation_space = build_observation_space(flat=flat)
        self.single_action_space = spaces.Discrete(ACTIONS)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._reward = find_reward(reward)
        self._terms = [term.name for term in self._reward.terms]
        self._advance = compile_games(self._reward, rules)
        self._flat = flat
        limit = max_episode_steps if max_steps is None else max_steps
        self._max_steps = None if limit is None else validate_count("max_steps", limit)
        self._state: EnvState | None = None
        self._mask: Numbers
        self._steps = np.zeros(num_envs, np.int64)
        self._seed = self._time = np.uint32(0)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start all games again; the same seed gives the same games."""
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int | np.integer)):
            raise WrongType(f"seed={seed!r} must be one integer, for all games together.")
        super().reset(seed=seed)
        validate_options(options)
        self._seed, self._time = np.uint32(self.np_random.integers(SEEDS)), np.uint32(0)
        self._state = build_blank_states(self.num_envs)
        observation = self._renew(self._all())
        return copy_observation(observation, self._flat), _mark_infos({"action_mask": self._mask.copy()}, self._all())

    def step(self, actions: Any) -> tuple[Any, Numbers, Numbers, Numbers, dict[str, Any]]:
        """Take an action in every game."""
        if self._state is None:
            raise ResetNeeded("there are no games yet; call reset() to start them.")
        chosen = _validate_actions(actions, self.num_envs)
        seen, *outcome = self._advance(self._seed, self._tick(), self._state, chosen)
        observation, self._mask, (rewards, terminated, _, info) = jax.device_get((seen.observation, seen.mask, outcome))
        self._state = seen.state
        self._steps += 1
        truncated = np.zeros_like(terminated) if self._max_steps is None else self._steps >= self._max_steps
        truncated = truncated & ~terminated
        parts = {name: np.array(info["reward_components"][name]) for name in self._terms}
        facts = {"reward_components": parts, **{name: np.array(info[name]) for name in INFO_FIELDS}}
        infos: dict[str, Any] = {}
        ended = terminated | truncated
        if ended.any():
            final = {"action_mask": self._mask.copy(), **jax.tree.map(np.copy, facts)}
            infos["final_obs"] = _split_observations(copy_observation(observation, self._flat), ended)
            infos["final_info"] = _mark_infos(final, ended)
            infos["_final_obs"], infos["_final_info"] = ended.copy(), ended.copy()
            observation = self._renew(ended)
        infos |= _mark_infos({"action_mask": self._mask.copy(), **facts}, self._all())
        return copy_observation(observation, self._flat), np.array(rewards), np.array(terminated), truncated, infos

    def action_masks(self) -> Numbers:
        """Return which actions each game allows now."""
        if self._state is None:
            raise ResetNeeded("there are no games yet; call reset() to start them.")
        return self._mask.copy()

    @property
    def state(self) -> EnvState:
        """The states of the games, each leaf with one more axis."""
        if self._state is None:
            raise ResetNeeded("there are no games yet; call reset() to start them.")
        return self._state

    def render(self) -> tuple[str, ...] | None:
        """Return a picture of each board; None if no mode was chosen."""
        if self.render_mode is None:
            return None
        states = jax.device_get(self.state)
        return tuple(render.to_text(jax.tree.map(lambda leaf: leaf[at], states)) for at in range(self.num_envs))  # noqa: B023

    def _renew(self, ended: Numbers) -> Observation:
        seen = renew_games(self._seed, self._tick(), self._state, ended)
        self._state = seen.state
        self._steps[ended] = 0
        observation, self._mask = jax.device_get((seen.observation, seen.mask))
        return observation  # type: ignore[no-any-return]

    def _tick(self) -> np.uint32:
        self._time = np.uint32(self._time + np.uint32(1))
        return self._time

    def _all(self) -> Numbers:
        return np.ones(self.num_envs, bool)


def _validate_actions(given: Any, count: int) -> Numbers:
    actions = np.asarray(given)
    if actions.dtype.kind not in "iu":
        raise WrongType(f"the actions are of {actions.dtype}; they must be integers from 0 to {ACTIONS - 1}.")
    if actions.shape != (count,):
        raise ShapeMismatch(f"the actions have shape {actions.shape}; give one for each of {count} games.")
    if wrong := np.flatnonzero((actions < 0) | (actions >= ACTIONS)).tolist():
        raise OutOfRange(f"action {wrong[0]} is {actions[wrong[0]]}; it must be from 0 to {ACTIONS - 1}.")
    return actions.astype(np.int32)


def _split_observations(observations: Any, chosen: Numbers) -> Numbers:
    """Return the observations of the chosen games as Gymnasium wants the last ones: an object each, None elsewhere."""
    apart = np.full(chosen.size, None, dtype=object)
    for at in np.flatnonzero(chosen):
        apart[at] = jax.tree.map(lambda leaf: leaf[at].copy(), observations)  # noqa: B023
    return apart


def _mark_infos(infos: dict[str, Any], chosen: Numbers) -> dict[str, Any]:
    """Return infos with a mask beside each, of the games it is about, as Gymnasium does it."""
    marked = {name: _mark_infos(value, chosen) if isinstance(value, dict) else value for name, value in infos.items()}
    return marked | {f"_{name}": chosen.copy() for name in infos}


# -- compiled ---------------------------------------------------------------------------------------------------------


class Position(NamedTuple):
    """A state, or many, with what is seen of it and which actions it allows."""

    state: EnvState
    observation: Observation
    mask: Array


@jax.jit
def look(state: EnvState) -> Position:
    """Return a state with what is seen of it."""
    return Position(state, observe(state), action_mask(state))


@jax.jit
def renew_games(seed: Array, time: Array, state: EnvState, over: Array) -> Position:
    """Begin a new game in place of each one that is over."""

    def one(key: Array, state: EnvState, over: Array) -> Any:
        return look(renew(key, state, stage_over=False, game_over=over))

    seen: Position = jax.vmap(one)(_draw_keys(seed, time, over.size), state, over)
    return seen


@lru_cache(maxsize=16)
def compile_games(reward: Reward, rules: Rules) -> Any:
    """Return the function that makes a move in many games, each with its own state and its own random numbers.

    It returns the positions, and what `step` returns besides: rewards, `terminated`, `truncated` and the `Info`.
    """

    def advance(seed: Array, time: Array, state: EnvState, actions: Array) -> tuple[Position, Array, Array, Array, Any]:
        def one(key: Array, state: EnvState, action: Array) -> tuple[Position, Array, Array, Array, Any]:
            observation, after, earned, terminated, truncated, info = step(
                key, state, action, rules=rules, reward=reward
            )
            return Position(after, observation, action_mask(after)), earned, terminated, truncated, info

        return jax.vmap(one)(_draw_keys(seed, time, actions.size), state, actions)

    return jax.jit(advance)


def _draw_keys(seed: Array, time: Array, count: int) -> Array:
    return jax.random.split(jax.random.fold_in(jax.random.key(seed), time), count)


def build_blank_states(count: int) -> EnvState:
    """Return states of no game yet, for `renew` to begin with."""
    states: EnvState = jax.tree.map(lambda leaf: np.broadcast_to(leaf, (count, *leaf.shape)), EnvState())
    return states
