"""One game as a Gymnasium environment; `plaudit.envs` registers it as `plaudit/HackMatrix-v0`."""

import operator
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from plaudit.errors import MissingExtra, OutOfRange, WrongType, did_you_mean

try:
    import gymnasium
    from gymnasium import spaces
    from gymnasium.error import ResetNeeded
except ModuleNotFoundError as error:
    raise MissingExtra(f"the environment needs {error.name}. Install it: pip install 'plaudit[gym]'") from None

import numpy as np

from plaudit.reward.reward import Reward
from plaudit.systems.hackmatrix.features import GRID_FEATURES, PLAYER, PLAYER_FEATURES, Observation
from plaudit.systems.hackmatrix.plain.convert import to_plain
from plaudit.systems.hackmatrix.plain.state import State, validate_state
from plaudit.systems.hackmatrix.playing import render
from plaudit.systems.hackmatrix.playing.game import SEEDS, Game, Numbers
from plaudit.systems.hackmatrix.rewards import VERSIONS, version
from plaudit.systems.hackmatrix.rules import (
    ACTIONS,
    ATTACK_UPGRADES,
    BONUS_CREDITS,
    BONUS_SIPHONS,
    CELLS,
    CORNERS,
    PROGRAM_CREDITS,
    PROGRAMS,
    SIZE,
    STAGES,
    Rules,
)

if TYPE_CHECKING:
    from plaudit.systems.hackmatrix.state import EnvState

MOST_ATTACK = 1 + ATTACK_UPGRADES * STAGES
"""What it begins with, and ATK+ on every stage."""
MOST_CREDITS = BONUS_CREDITS + STAGES * 3 * (CELLS - 1)
"""The starting bonus, and three credits on every cell but the exit."""
MOST_SIPHONS = BONUS_SIPHONS + STAGES * (len(CORNERS) - 2) + MOST_CREDITS // PROGRAM_CREDITS[PROGRAMS.index("SIPH+")]
"""The starting bonus, two on each board, and what all credits buy."""

_REFERENCE = Rules.reference()
INFO_FIELDS = ("stage", "stage_completed", "won", "died", "illegal")


def build_observation_space(*, flat: bool = False) -> spaces.Space[Any]:
    """Return what an observation can be: three arrays by name, or all of them as one vector.

    The bounds hold for every game that begins with a reset; every number is at most 1, but for two of the player's.
    """
    high = np.ones(len(PLAYER_FEATURES), np.float32)
    for name, most in (("data_siphons", MOST_SIPHONS), ("attack", MOST_ATTACK)):
        at = PLAYER_FEATURES.index(name)
        high[at] = np.float32(most - PLAYER[at].offset) * PLAYER[at].scale
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
    truncated. `reset(options={"state": …})` goes on from a state of yours, plain or an EnvState.
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
        self.render_mode = validate_render_mode(render_mode, self.metadata)
        self.observation_space = build_observation_space(flat=flat)
        self.action_space = spaces.Discrete(ACTIONS)
        self._reward, self._rules = find_reward(reward), rules
        self._flat, self._max_steps = flat, None if max_steps is None else validate_count("max_steps", max_steps)
        self._game: Game | None = None
        self._over = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin a new game; with the same seed, the same one."""
        super().reset(seed=seed)
        given = validate_options(options, "state")
        state = None if given.get("state") is None else _read_state(given["state"])
        drawn = int(self.np_random.integers(SEEDS))
        self._game = Game(drawn, state=state, reward=self._reward, rules=self._rules)
        self._over = False
        return copy_observation(self._game.observation, self._flat), {"action_mask": self._game.allowed.copy()}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take an action."""
        game = self._running()
        if self._over:
            raise ResetNeeded("the game is over; call reset() to start another one.")
        move = game.play(_validate_action(action))
        terminated = move.ended
        truncated = not terminated and self._max_steps is not None and game.moves >= self._max_steps
        self._over = terminated or truncated
        info = {"action_mask": game.allowed.copy(), "reward_components": move.components}
        info |= {name: getattr(move, name) for name in INFO_FIELDS}
        return copy_observation(game.observation, self._flat), move.reward, terminated, truncated, info

    def action_masks(self) -> Numbers:
        """Return which actions are allowed now, under the name that sb3-contrib asks for."""
        return self._running().allowed.copy()

    @property
    def state(self) -> State:
        """The state of the game, which may be changed without changing the game."""
        return self._running().state.copy()

    def render(self) -> str | None:
        """Return a picture of the board; None if no mode was chosen."""
        return None if self.render_mode is None else render.to_text(self._running().state)

    def _running(self) -> Game:
        if self._game is None:
            raise ResetNeeded("there is no game yet; call reset() to start one.")
        return self._game


# -- what comes in ----------------------------------------------------------------------------------------------------


def find_reward(given: str | Reward) -> Reward:
    """Return the reward that is given, or the version of the game's with a label."""
    return given if isinstance(given, Reward) else version(given)


def validate_count(name: str, given: Any) -> int:
    """Return an integer of at least 1, if it is one."""
    if isinstance(given, bool) or not isinstance(given, int | np.integer):
        raise WrongType(f"{name}={given!r} must be an integer.")
    if given < 1:
        raise OutOfRange(f"{name}={given} must be 1 or more.")
    return int(given)


def validate_render_mode(given: str | None, metadata: Mapping[str, Any]) -> str | None:
    """Return a render mode, if the environment has it."""
    modes = metadata["render_modes"]
    if given is not None and given not in modes:
        raise OutOfRange(f"render_mode={given!r} must be {', '.join(map(repr, modes))}, or None.")
    return given


def validate_options(given: dict[str, Any] | None, *known: str) -> dict[str, Any]:
    """Return the options of a reset, if all of them are known."""
    for name in given or {}:
        if name not in known:
            offered = f" Options: {', '.join(known)}." if known else " It takes none."
            raise OutOfRange(f"reset has no option {name!r}.{did_you_mean(str(name), known)}{offered}")
    return given or {}


def _read_state(given: "State | EnvState | Any") -> State:
    if not isinstance(given, State) and not hasattr(given, "exit_row"):
        raise WrongType(f"options['state'] is a {type(given).__name__}; it must be a State or an EnvState.")
    return validate_state(to_plain(given))


def _validate_action(given: Any) -> int:
    try:
        action = operator.index(given.item() if getattr(given, "shape", None) == () else given)
    except TypeError:
        action = None
    if action is None or isinstance(given, bool | np.bool_):
        raise WrongType(f"the action is {given!r}; it must be an integer from 0 to {ACTIONS - 1}.")
    if not 0 <= action < ACTIONS:
        raise OutOfRange(f"the action is {action}; it must be from 0 to {ACTIONS - 1}.")
    return action


# -- what goes out ----------------------------------------------------------------------------------------------------


def copy_observation(observation: Observation, flat: bool) -> Any:
    """Return an observation, of one game or of many, as arrays that the caller may change."""
    if not flat:
        return {name: np.array(part) for name, part in observation._asdict().items()}
    *batch, _ = observation.player.shape
    parts = [np.asarray(part, np.float32).reshape(*batch, -1) for part in observation]
    return np.concatenate(parts, axis=-1)
