"""The game as Gymnasium environments, one game and many at once. Importing this registers `plaudit/HackMatrix-v0`."""

import operator
from collections.abc import Mapping
from typing import Any

from plaudit.errors import MissingExtra, OutOfRange, ShapeMismatch, WrongType, did_you_mean

try:
    import gymnasium
    import jax
    from gymnasium import spaces
    from gymnasium.error import ResetNeeded
    from gymnasium.vector import AutoresetMode
    from gymnasium.vector.utils import batch_space
except ModuleNotFoundError as error:
    raise MissingExtra(f"the environments need {error.name}. Install it: pip install 'plaudit[gym,jax]'") from None

import numpy as np

from plaudit.reward.reward import Reward
from plaudit.systems.hackmatrix.observation import GRID_FEATURES, PLAYER_FEATURES, Observation
from plaudit.systems.hackmatrix.playing import render
from plaudit.systems.hackmatrix.playing.game import SEEDS, Game, Numbers, build_blank_states, compile_games, renew_games
from plaudit.systems.hackmatrix.rewards import VERSIONS, version
from plaudit.systems.hackmatrix.rules import (
    ACTIONS,
    ATTACK_UPGRADES,
    CELLS,
    CORNERS,
    PROGRAM_CREDITS,
    PROGRAMS,
    SIZE,
    STAGES,
    Rules,
)
from plaudit.systems.hackmatrix.state import EnvState

ID = "plaudit/HackMatrix-v0"

MOST_ATTACK = 1 + ATTACK_UPGRADES * STAGES
"""What it begins with, and ATK+ on every stage."""
MOST_CREDITS = 10 + STAGES * 3 * (CELLS - 1)
"""The starting bonus, and three credits on every cell but the exit."""
MOST_SIPHONS = 1 + STAGES * (len(CORNERS) - 2) + MOST_CREDITS // PROGRAM_CREDITS[PROGRAMS.index("SIPH+")]
"""The starting bonus, two on each board, and what all credits buy."""

_REFERENCE = Rules.reference()
_INFO_FIELDS = ("stage", "stage_completed", "won", "died", "illegal")


def build_observation_space(*, flat: bool = False) -> spaces.Space[Any]:
    """Return what an observation can be: three arrays by name, or all of them as one vector.

    The bounds hold for every game that begins with a reset; every number is at most 1, but for two of the player's.
    """
    high = np.ones(len(PLAYER_FEATURES), np.float32)
    high[PLAYER_FEATURES.index("data_siphons")] = np.float32(MOST_SIPHONS) / np.float32(10)
    high[PLAYER_FEATURES.index("attack")] = (MOST_ATTACK - 1) / 2
    if flat:
        high = np.concatenate([high, np.ones(len(PROGRAMS) + CELLS * len(GRID_FEATURES), np.float32)])
        return spaces.Box(np.zeros_like(high), high, dtype=np.float32)
    return spaces.Dict(
        {
            "player": spaces.Box(np.zeros_like(high), high, dtype=np.float32),
            "programs": spaces.Box(0, 1, (len(PROGRAMS),), dtype=np.int32),
            "grid": spaces.Box(0.0, 1.0, (SIZE, SIZE, len(GRID_FEATURES)), dtype=np.float32),
        }
    )


class HackMatrixEnv(gymnasium.Env[Any, Any]):
    """One game. An action that `info["action_mask"]` does not allow ends it with a reward of 0.

    `reward` is a version or a Reward of your own; `flat` makes an observation one vector; after `max_steps` a game is
    truncated. `reset(options={"state": …})` goes on from a state of yours.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012 - Gymnasium's own way

    def __init__(
        self,
        *,
        reward: str | Reward = VERSIONS[0],
        rules: Rules = _REFERENCE,
        flat: bool = False,
        max_steps: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        self.render_mode = _validate_render_mode(render_mode, self.metadata)
        self.observation_space = build_observation_space(flat=flat)
        self.action_space = spaces.Discrete(ACTIONS)
        self._reward, self._rules = _find_reward(reward), rules
        self._flat, self._max_steps = flat, None if max_steps is None else _validate_count("max_steps", max_steps)
        self._game: Game | None = None
        self._over = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin a new game; with the same seed, the same one."""
        super().reset(seed=seed)
        given = _validate_options(options, "state")
        state = given.get("state")
        if state is not None and not isinstance(state, EnvState):
            raise WrongType(f"options['state'] is a {type(state).__name__}; an EnvState is needed.")
        drawn = int(self.np_random.integers(SEEDS))
        self._game = Game(drawn, state=state, reward=self._reward, rules=self._rules)
        self._over = False
        return _copy_observation(self._game.observation, self._flat), {"action_mask": self._game.allowed.copy()}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take an action."""
        game = self._running()
        if self._over:
            raise ResetNeeded("the game is over; reset() begins another one.")
        move = game.play(_validate_action(action))
        terminated = move.ended
        truncated = not terminated and self._max_steps is not None and game.moves >= self._max_steps
        self._over = terminated or truncated
        info = {"action_mask": game.allowed.copy(), "reward_components": move.components}
        info |= {name: getattr(move, name) for name in _INFO_FIELDS}
        return _copy_observation(game.observation, self._flat), move.reward, terminated, truncated, info

    def action_masks(self) -> Numbers:
        """Return which actions are allowed now, under the name that sb3-contrib asks for."""
        return self._running().allowed.copy()

    @property
    def state(self) -> EnvState:
        """The state of the game."""
        return self._running().state

    def render(self) -> str | None:
        """Return a picture of the board; None if no mode was chosen."""
        return None if self.render_mode is None else render.to_text(self.state)

    def _running(self) -> Game:
        if self._game is None:
            raise ResetNeeded("there is no game yet; reset() begins one.")
        return self._game


class HackMatrixVectorEnv(gymnasium.vector.VectorEnv[Any, Any, Any]):
    """Many games at once, stepped by one compiled function; those that end begin anew in the same step.

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
        self.num_envs = _validate_count("num_envs", num_envs)
        self.render_mode = _validate_render_mode(render_mode, self.metadata)
        self.single_observation_space = build_observation_space(flat=flat)
        self.single_action_space = spaces.Discrete(ACTIONS)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._reward = _find_reward(reward)
        self._terms = [term.name for term in self._reward.terms]
        self._advance = compile_games(self._reward, rules)
        self._flat = flat
        limit = max_episode_steps if max_steps is None else max_steps
        self._max_steps = None if limit is None else _validate_count("max_steps", limit)
        self._state: EnvState | None = None
        self._mask: Numbers
        self._steps = np.zeros(num_envs, np.int64)
        self._seed = self._time = np.uint32(0)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin all games anew; with the same seed, the same ones."""
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int | np.integer)):
            raise WrongType(f"seed={seed!r}: one integer is needed, for all games together.")
        super().reset(seed=seed)
        _validate_options(options)
        self._seed, self._time = np.uint32(self.np_random.integers(SEEDS)), np.uint32(0)
        self._state = build_blank_states(self.num_envs)
        observation = self._renew(self._all())
        return _copy_observation(observation, self._flat), _mark_infos({"action_mask": self._mask.copy()}, self._all())

    def step(self, actions: Any) -> tuple[Any, Numbers, Numbers, Numbers, dict[str, Any]]:
        """Take an action in every game."""
        if self._state is None:
            raise ResetNeeded("there are no games yet; reset() begins them.")
        chosen = _validate_actions(actions, self.num_envs)
        seen, *outcome = self._advance(self._seed, self._tick(), self._state, chosen)
        observation, self._mask, (rewards, terminated, _, info) = jax.device_get((seen.observation, seen.mask, outcome))
        self._state = seen.state
        self._steps += 1
        truncated = np.zeros_like(terminated) if self._max_steps is None else self._steps >= self._max_steps
        truncated = truncated & ~terminated
        parts = {name: np.array(info["reward_components"][name]) for name in self._terms}
        facts = {"reward_components": parts, **{name: np.array(info[name]) for name in _INFO_FIELDS}}
        infos: dict[str, Any] = {}
        ended = terminated | truncated
        if ended.any():
            final = {"action_mask": self._mask.copy(), **jax.tree.map(np.copy, facts)}
            infos["final_obs"] = _split_observations(_copy_observation(observation, self._flat), ended)
            infos["final_info"] = _mark_infos(final, ended)
            infos["_final_obs"], infos["_final_info"] = ended.copy(), ended.copy()
            observation = self._renew(ended)
        infos |= _mark_infos({"action_mask": self._mask.copy(), **facts}, self._all())
        return _copy_observation(observation, self._flat), np.array(rewards), np.array(terminated), truncated, infos

    def action_masks(self) -> Numbers:
        """Return which actions each game allows now."""
        if self._state is None:
            raise ResetNeeded("there are no games yet; reset() begins them.")
        return self._mask.copy()

    @property
    def state(self) -> EnvState:
        """The states of the games, each leaf with one more axis."""
        if self._state is None:
            raise ResetNeeded("there are no games yet; reset() begins them.")
        return self._state

    def render(self) -> tuple[str, ...] | None:
        """Return a picture of each board; None if no mode was chosen."""
        if self.render_mode is None:
            return None
        states = jax.device_get(self.state)
        return tuple(render.to_text(jax.tree.map(lambda leaf: leaf[at], states)) for at in range(self.num_envs))  # noqa: B023

    def _renew(self, ended: Numbers) -> Observation:
        """Begin a new game where one ended, and return what is seen of all."""
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


# -- what comes in ----------------------------------------------------------------------------------------------------


def _find_reward(given: str | Reward) -> Reward:
    return given if isinstance(given, Reward) else version(given)


def _validate_count(name: str, given: Any) -> int:
    if isinstance(given, bool) or not isinstance(given, int | np.integer):
        raise WrongType(f"{name}={given!r}: an integer is needed.")
    if given < 1:
        raise OutOfRange(f"{name}={given}: at least 1 is needed.")
    return int(given)


def _validate_render_mode(given: str | None, metadata: Mapping[str, Any]) -> str | None:
    modes = metadata["render_modes"]
    if given is not None and given not in modes:
        raise OutOfRange(f"render_mode={given!r}: there is {', '.join(map(repr, modes))}, or None.")
    return given


def _validate_options(given: dict[str, Any] | None, *known: str) -> dict[str, Any]:
    for name in given or {}:
        if name not in known:
            offered = f" There is {', '.join(known)}." if known else " There are none."
            raise OutOfRange(f"reset has no option {name!r}.{did_you_mean(str(name), known)}{offered}")
    return given or {}


def _validate_action(given: Any) -> int:
    try:
        action = operator.index(given.item() if getattr(given, "shape", None) == () else given)
    except TypeError:
        action = None
    if action is None or isinstance(given, bool | np.bool_):
        raise WrongType(f"the action is {given!r}; an integer from 0 to {ACTIONS - 1} is needed.")
    if not 0 <= action < ACTIONS:
        raise OutOfRange(f"the action is {action}; it goes from 0 to {ACTIONS - 1}.")
    return action


def _validate_actions(given: Any, count: int) -> Numbers:
    actions = np.asarray(given)
    if actions.dtype.kind not in "iu":
        raise WrongType(f"the actions are of {actions.dtype}; integers from 0 to {ACTIONS - 1} are needed.")
    if actions.shape != (count,):
        raise ShapeMismatch(f"the actions have the shape {actions.shape}; one for each of {count} games is needed.")
    if wrong := np.flatnonzero((actions < 0) | (actions >= ACTIONS)).tolist():
        raise OutOfRange(f"action {wrong[0]} is {actions[wrong[0]]}; it goes from 0 to {ACTIONS - 1}.")
    return actions.astype(np.int32)


# -- what goes out ----------------------------------------------------------------------------------------------------


def _copy_observation(observation: Observation, flat: bool) -> Any:
    """Return an observation, of one game or of many, as arrays that the caller may change."""
    if not flat:
        return {name: np.array(part) for name, part in observation._asdict().items()}
    *batch, _ = observation.player.shape
    parts = [np.asarray(part, np.float32).reshape(*batch, -1) for part in observation]
    return np.concatenate(parts, axis=-1)


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


if ID not in gymnasium.registry:
    gymnasium.register(
        id=ID,
        entry_point=f"{__name__}:{HackMatrixEnv.__name__}",
        vector_entry_point=f"{__name__}:{HackMatrixVectorEnv.__name__}",
    )
