"""One game played move by move, in plain Python: the state is kept between moves, and the reward pays."""

from typing import Any, NamedTuple

import numpy as np

from plaudit.errors import OutOfRange
from plaudit.reward.reward import Reward
from plaudit.systems.hackmatrix.features import Observation
from plaudit.systems.hackmatrix.plain.board_generation import new_game
from plaudit.systems.hackmatrix.plain.draws import fold_in, make_key
from plaudit.systems.hackmatrix.plain.legality import find_allowed
from plaudit.systems.hackmatrix.plain.observation import observe
from plaudit.systems.hackmatrix.plain.state import State
from plaudit.systems.hackmatrix.plain.step import compile_scoring, step
from plaudit.systems.hackmatrix.rewards import reward as default_reward
from plaudit.systems.hackmatrix.rules import ACTIONS, STAGES, Rules

Numbers = np.ndarray[Any, np.dtype[Any]]

SEEDS = 2**32
"""A seed is below this."""
_REFERENCE = Rules.reference()


class Move(NamedTuple):
    """What one action did; `stage` is the one on which it was taken."""

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

    The same seed and the same actions make the same game, and the one that the functions in JAX make:
    `reset(jax.random.key(seed))`, and for move 1, 2, … `step(jax.random.fold_in(jax.random.key(seed), move), state,
    action)`.
    """

    def __init__(
        self,
        seed: int,
        *,
        stage: int = 1,
        state: State | None = None,
        reward: Reward = default_reward,
        rules: Rules = _REFERENCE,
    ) -> None:
        """Begin a new game, perhaps on a later stage, or go on from `state`."""
        if not 0 <= seed < SEEDS:
            raise OutOfRange(f"the seed is {seed}; it must be from 0 to {SEEDS - 1}.")
        if not 1 <= stage <= STAGES:
            raise OutOfRange(f"the stage is {stage}; it must be from 1 to {STAGES}.")
        self.seed, self.moves, self.ended = int(seed), 0, False  # a number of NumPy would overflow
        self._key, self._rules, self._score = make_key(self.seed), rules, compile_scoring(reward)
        self._look(new_game(self._key, stage=stage) if state is None else state.copy())

    def play(self, action: int) -> Move:
        """Take an action; one that is not allowed ends the game, and earns nothing."""
        if self.ended:
            raise RuntimeError("the game is over; start another one.")
        if not 0 <= action < ACTIONS:
            raise OutOfRange(f"the action is {action}; it must be from 0 to {ACTIONS - 1}.")
        self.moves += 1
        taken = step(fold_in(self._key, self.moves), self.state, action, rules=self._rules)
        earned, parts = self._score(taken)
        self._look(taken.state)
        move = Move(action, earned, parts, taken.stage, taken.stage_completed, taken.won, taken.died, taken.illegal)
        self.ended = move.ended
        return move

    def _look(self, state: State) -> None:
        self.state = state
        self.observation: Observation = observe(state)
        self.allowed: Numbers = np.array(find_allowed(state))
