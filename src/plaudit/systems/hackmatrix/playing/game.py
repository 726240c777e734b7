"""Games played move by move: the pure functions of the game, compiled once, with the state kept between moves."""

from functools import lru_cache, partial
from typing import Any, NamedTuple

from plaudit.errors import MissingExtra, OutOfRange

try:
    import jax
    import jax.numpy as jnp
    import numpy as np
except ModuleNotFoundError as error:
    raise MissingExtra("the game needs JAX. Install it: pip install 'plaudit[jax]'") from error

from plaudit.reward.reward import Reward
from plaudit.systems.hackmatrix.board_generation import new_game, new_stage, renew
from plaudit.systems.hackmatrix.env import step
from plaudit.systems.hackmatrix.observation import Observation, observe
from plaudit.systems.hackmatrix.rewards import reward as default_reward
from plaudit.systems.hackmatrix.rules import ACTIONS, STAGES, Rules, interval_of
from plaudit.systems.hackmatrix.state import EnvState, Transmissions
from plaudit.systems.hackmatrix.turns.legality import action_mask

Array = jax.Array
Numbers = np.ndarray[Any, np.dtype[Any]]

SEEDS = 2**32
"""A seed is below this."""
_REFERENCE = Rules.reference()
_FLAGS = ("stage_completed", "won", "died", "illegal")


class Move(NamedTuple):
    """What one action did, as plain numbers; `stage` is the one on which it was taken."""

    action: int
    reward: float
    components: dict[str, float]
    stage: int
    stage_completed: bool
    won: bool
    died: bool
    illegal: bool

    @property
    def ended(self) -> bool:
        """Whether the game is over."""
        return self.won or self.died or self.illegal


class Game:
    """One game, from its first move to its last.

    The same seed and the same actions make the same game: `reset(jax.random.key(seed))`, and for move 1, 2, …
    `step(jax.random.fold_in(jax.random.key(seed), move), state, action)`.
    """

    def __init__(
        self,
        seed: int,
        *,
        stage: int = 1,
        state: EnvState | None = None,
        reward: Reward = default_reward,
        rules: Rules = _REFERENCE,
    ) -> None:
        """Begin a new game, perhaps on a later stage, or go on from `state`."""
        if not 0 <= seed < SEEDS:
            raise OutOfRange(f"the seed is {seed}; it goes from 0 to {SEEDS - 1}.")
        if not 1 <= stage <= STAGES:
            raise OutOfRange(f"the stage is {stage}; it goes from 1 to {STAGES}.")
        self.seed, self.moves, self.ended = seed, 0, False
        self._terms = tuple(term.name for term in reward.terms)
        self._advance = compile_game(reward, rules)
        seen = look(begin_game(seed, stage) if state is None else state)
        self.state: EnvState = seen.state
        self.observation: Observation = _to_numpy(seen.observation)
        self.allowed: Numbers = np.array(seen.mask)

    def prepare(self) -> None:
        """Have the first move compiled before it is played."""
        self._advance(np.uint32(self.seed), np.uint32(0), self.state, 0)  # pure: nothing happens

    def play(self, action: int) -> Move:
        """Take an action; one that is not allowed ends the game, and earns nothing."""
        if self.ended:
            raise RuntimeError("the game is over; begin another one.")
        if not 0 <= action < ACTIONS:
            raise OutOfRange(f"the action is {action}; it goes from 0 to {ACTIONS - 1}.")
        self.moves += 1
        seed, moves = np.uint32(self.seed), np.uint32(self.moves)
        seen, earned, info = self._advance(seed, moves, self.state, int(action))
        self.state, self.observation, self.allowed = seen.state, _to_numpy(seen.observation), np.array(seen.mask)
        earned, info = jax.device_get((earned, info))
        parts = {name: shorten_float32(info["reward_components"][name]) for name in self._terms}
        flags = {name: bool(info[name]) for name in _FLAGS}
        move = Move(action, shorten_float32(earned), parts, int(info["stage"]), **flags)
        self.ended = move.ended
        return move


def shorten_float32(value: Any) -> float:
    """Return a float32 as the float that is written the same: 0.05, and not 0.05000000074505806."""
    return float(str(np.float32(value))) + 0.0  # no -0.0


def _to_numpy(observation: Observation) -> Observation:
    copied: Observation = jax.tree.map(np.array, observation)
    return copied


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


def begin_game(seed: int, stage: int = 1) -> EnvState:
    """Return the start of a new game: `reset(jax.random.key(seed))`, or as if it began on a later stage."""
    key = jax.random.key(np.uint32(seed))
    first = new_game(key)
    if stage == 1:
        return first
    later = first.replace(stage=jnp.int32(stage), interval=jnp.int32(interval_of(stage)), transmissions=Transmissions())
    return new_stage(jax.random.fold_in(key, 0), later)


@lru_cache(maxsize=16)
def compile_game(reward: Reward, rules: Rules) -> Any:
    """Return the function that makes a move; all games with this reward and these rules share it.

    What takes long to compile is `jax.jit(step)` and nothing else, so that a program of one's own finds it compiled.
    """
    take_step = jax.jit(partial(step, rules=rules, reward=reward))

    def advance(seed: Array, moves: Array, state: EnvState, action: int) -> tuple[Position, Array, Any]:
        observation, state, earned, _, _, info = take_step(_draw_key(seed, moves), state, action)
        return Position(state, observation, action_mask(state)), earned, info

    return advance


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


@jax.jit
def _draw_key(seed: Array, time: Array) -> Array:
    return jax.random.fold_in(jax.random.key(seed), time)


def _draw_keys(seed: Array, time: Array, count: int) -> Array:
    return jax.random.split(_draw_key(seed, time), count)


def build_blank_states(count: int) -> EnvState:
    """Return states of no game yet, for `renew` to begin with."""
    states: EnvState = jax.tree.map(lambda leaf: np.broadcast_to(leaf, (count, *leaf.shape)), EnvState())
    return states
