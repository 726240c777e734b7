"""Steps of the environment on a batch of plain games."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import numpy as np

from plaudit.systems.hackmatrix.playing.game import Position, build_blank_states, compile_games, renew_games
from plaudit.systems.hackmatrix.rewards import reward
from plaudit.systems.hackmatrix.rules import Rules
from plaudit.systems.hackmatrix.state import EnvState
from plaudit.systems.hackmatrix.training.games import choose_scripted_action
from support.hackmatrix_model.game import ACTIONS, COMPONENTS, Game
from support.hackmatrix_model.states import BATCH, games_of, states_of

REFERENCE = Rules.reference()


class Stepped(NamedTuple):
    """What the environment did with one game."""

    game: Game
    reward: float
    components: dict[str, float]
    terminated: bool
    truncated: bool
    info: dict[str, Any]
    mask: list[str]
    """The legal actions after the step."""


def stepped(games: list[Game], actions: list[str], *, rules: Rules = REFERENCE, seed: int = 0) -> list[Stepped]:
    """Return what the environment does with each game and its action."""
    results: list[Stepped] = []
    for start in range(0, len(games), BATCH):
        part, chosen = games[start : start + BATCH], actions[start : start + BATCH]
        states, chosen = _filled(part), [*chosen, *["up"] * (BATCH - len(part))]
        results += taken(states, chosen, rules=rules, seed=seed + start, lanes=np.arange(len(part)))[2]
    return results


def _filled(games: list[Game]) -> EnvState:
    """Return games as a whole batch."""
    return states_of([*games, *[Game()] * (BATCH - len(games))])


def _batches(games: list[Game]) -> Iterator[EnvState]:
    """Return games as batches, the last of them filled up."""
    return (_filled(games[start : start + BATCH]) for start in range(0, len(games), BATCH))


def games_at(states: EnvState, lanes: np.ndarray) -> list[Game]:
    """Return those games of a batch that stand in `lanes`."""
    return games_of(jax.tree.map(lambda leaf: leaf[lanes], states))


def taken(
    states: EnvState, actions: list[str], *, rules: Rules = REFERENCE, seed: int = 0, lanes: np.ndarray
) -> tuple[EnvState, np.ndarray, list[Stepped]]:
    """Return the states after a batch of steps, which games ended, and what the environment did in those of `lanes`."""
    numbers = [ACTIONS.index(action) for action in actions]
    after, rewards, terminated, truncated, info, masks = step_all(seed, states, numbers, rules=rules)
    components = info.pop("reward_components")
    assert components.keys() == set(COMPONENTS)
    return (
        after,
        terminated,
        [
            Stepped(
                game=game,
                reward=float(rewards[index]),
                components={name: float(components[name][index]) for name in COMPONENTS},
                terminated=bool(terminated[index]),
                truncated=bool(truncated[index]),
                info={name: values[index].item() for name, values in info.items()},
                mask=[name for name, legal in zip(ACTIONS, masks[index], strict=True) if legal],
            )
            for index, game in zip(lanes, games_at(after, lanes), strict=True)
        ],
    )


def masked(games: list[Game]) -> list[list[str]]:
    """Return the actions that the environment holds legal, for each game."""
    masks = np.concatenate([look_at_all(states).mask for states in _batches(games)])[: len(games)]
    return [[name for name, legal in zip(ACTIONS, mask, strict=True) if legal] for mask in masks]


def observations(games: list[Game]) -> Any:
    """Return what the environment lets a player see of each game, as a batch."""
    seen = [look_at_all(states).observation for states in _batches(games)]
    return jax.tree.map(lambda *leaves: np.concatenate(leaves)[: len(games)], *seen)


# Two programs, those of the environment for Gymnasium, are traced and compiled once for all that is asked here.


def step_all(seed: int, states: EnvState, actions: Any, *, rules: Rules = REFERENCE) -> tuple[Any, ...]:
    """Return the states after a batch of steps, the rewards, `terminated`, `truncated`, the infos and the masks."""
    numbers = np.asarray(actions, np.int32)
    seen, *rest = jax.device_get(compile_games(reward, rules)(np.uint32(seed), np.uint32(0), states, numbers))
    return seen.state, *rest, seen.mask


def begin_all(seed: int) -> EnvState:
    """Return a batch of new games."""
    return begin_anew(seed, build_blank_states(BATCH), np.ones(BATCH, bool)).state


def look_at_all(states: EnvState) -> Position:
    """Return what is seen of a batch of games, and which actions each of them allows."""
    return begin_anew(0, states, np.zeros(BATCH, bool))


def begin_anew(seed: int, states: EnvState, over: np.ndarray) -> Position:
    """Return a batch of games in which others have begun in place of those that are over."""
    seen: Position = jax.device_get(renew_games(np.uint32(seed), np.uint32(0), states, over))
    return seen


def choose_all(first: np.ndarray, new: EnvState, old: EnvState) -> EnvState:
    """Return the new game where `first` says so, and the old one elsewhere."""
    chosen: EnvState = jax.tree.map(
        lambda mine, its: np.where(first.reshape(-1, *[1] * (mine.ndim - 1)), mine, its), new, old
    )
    return chosen


script_all = jax.jit(jax.vmap(choose_scripted_action))
"""What the script does in each game of a batch."""
