"""Episodes of policies that need no training, played once for all tests that ask about them."""

from functools import cache, lru_cache
from typing import Any

import jax

from plaudit.systems import hackmatrix
from plaudit.systems.hackmatrix.training.evaluation import PlayedGames, build_evaluator
from plaudit.systems.hackmatrix.training.games import BASELINES, build_games
from support.hackmatrix_model.steps import BATCH

LONGEST = 400
"""Steps after which a game is left off, if one ever gets so far."""


@lru_cache(maxsize=len(BASELINES))  # what the reward read takes much room
def play_episodes(policy: str, seed: int) -> PlayedGames:
    """Return a batch of episodes that a policy played, with what the reward read in each."""
    played: PlayedGames = _build_evaluator()(policy, {}, jax.random.key(seed))
    return played


@cache
def _build_evaluator() -> Any:
    games = build_games(hackmatrix.reward)
    return build_evaluator(games, episodes=BATCH, policies=BASELINES, max_steps=LONGEST, keep=BATCH)
