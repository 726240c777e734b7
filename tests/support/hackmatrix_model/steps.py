"""Steps of the compiled game on batches of plain states."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import numpy as np

from plaudit.systems.hackmatrix.plain.state import State
from plaudit.systems.hackmatrix.playing.vector_env import Position, build_blank_states, compile_games, renew_games
from plaudit.systems.hackmatrix.rewards import reward
from plaudit.systems.hackmatrix.rules import Rules
from plaudit.systems.hackmatrix.state import EnvState
from plaudit.systems.hackmatrix.training.games import choose_scripted_action
from support.hackmatrix_model.examples import COMPONENTS
from support.hackmatrix_model.states import BATCH, games_of, states_of

REFERENCE = Rules.reference()


class Stepped(NamedTuple):
    """What the compiled game did with one state."""

    game: State
    reward: float
    components: dict[str, float]
    terminated: bool
    truncated: bool
    info: dict[str, Any]


def stepped(games: list[State], actions: list[int], *, rules: Rules = REFERENCE, seed: int = 0) -> list[Stepped]:
    """Return what the compiled game does with each state and its action."""
    results: list[Stepped] = []
    for start in range(0, len(games), BATCH):
        part, chosen = games[start : start + BATCH], actions[start : start + BATCH]
        batch = step_all(seed + start, _filled(part), [*chosen, *[0] * (BATCH - len(part))], rules=rules)
        components = batch.info.pop("reward_components")
        assert components.keys() == set(COMPONENTS)
        results += [
            Stepped(
                game,
                float(batch.reward[index]),
                {name: float(components[name][index]) for name in COMPONENTS},
                bool(batch.terminated[index]),
                bool(batch.truncated[index]),
                {name: values[index].item() for name, values in batch.info.items()},
            )
            for index, game in enumerate(games_of(batch.state)[: len(part)])
        ]
    return results


def _filled(games: list[State]) -> EnvState:
    """Return games as a whole batch."""
    return states_of([*games, *[State()] * (BATCH - len(games))])


def _batches(games: list[State]) -> Iterator[EnvState]:
    """Return games as batches, the last of them filled up."""
    return (_filled(games[start : start + BATCH]) for start in range(0, len(games), BATCH))


def masked(games: list[State]) -> list[list[int]]:
    """Return the actions that the compiled game holds legal, for each state."""
    masks = np.concatenate([look_at_all(states).mask for states in _batches(games)])[: len(games)]
    return [np.flatnonzero(mask).tolist() for mask in masks]


def observations(games: list[State]) -> Any:
    """Return what the environment lets a player see of each game, as a batch."""
    seen = [look_at_all(states).observation for states in _batches(games)]
    return jax.tree.map(lambda *leaves: np.concatenate(leaves)[: len(games)], *seen)


# Two programs, those of the environment for Gymnasium, are traced and compiled once for all that is asked here.


class Batch(NamedTuple):
    """What a batch of steps led to."""

    state: EnvState
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    info: dict[str, Any]
    mask: np.ndarray
    observation: Any


def step_all(seed: int, states: EnvState, actions: Any, *, rules: Rules = REFERENCE) -> Batch:
    """Return what a batch of steps leads to."""
    numbers = np.asarray(actions, np.int32)
    seen, *rest = compile_games(reward, rules)(np.uint32(seed), np.uint32(0), states, numbers)
    return Batch(seen.state, *jax.device_get((*rest, seen.mask, seen.observation)))  # the state is large, and stays


def begin_all(seed: int) -> EnvState:
    """Return a batch of new games."""
    return begin_anew(seed, build_blank_states(BATCH), np.ones(BATCH, bool)).state


def look_at_all(states: EnvState) -> Position:
    """Return what is seen of a batch of games, and which actions each of them allows."""
    return begin_anew(0, states, np.zeros(BATCH, bool))


def begin_anew(seed: int, states: EnvState, over: np.ndarray) -> Position:
    """Return a batch of games in which others have begun in place of those that are over."""
    seen: Position = renew_games(np.uint32(seed), np.uint32(0), states, over)
    return Position(seen.state, *jax.device_get((seen.observation, seen.mask)))


def choose_all(first: np.ndarray, new: EnvState, old: EnvState) -> EnvState:
    """Return the new game where `first` says so, and the old one elsewhere."""
    chosen: EnvState = jax.tree.map(
        lambda mine, its: np.where(first.reshape(-1, *[1] * (mine.ndim - 1)), mine, its), new, old
    )
    return chosen


script_all = jax.jit(jax.vmap(choose_scripted_action))
"""What the script does in each game of a batch."""
