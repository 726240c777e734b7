"""Steps of the environment on a batch of plain games."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple
from unittest.mock import patch

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import compiler  # JAX has no public way to choose the options of everything that is compiled

from plaudit.systems.hackmatrix.env import action_mask, reset, step
from plaudit.systems.hackmatrix.observation import observe
from plaudit.systems.hackmatrix.rules import Rules
from plaudit.systems.hackmatrix.state import EnvState
from support.hackmatrix_model.game import ACTIONS, COMPONENTS, Game
from support.hackmatrix_model.states import games_of, states_of

REFERENCE = Rules.reference()
BATCH = 64
"""How many games take a step at once, whatever the test: the step is traced and compiled once."""
HASTY = {
    "xla_backend_optimization_level": 0,
    "xla_llvm_disable_expensive_passes": True,
    "xla_cpu_use_fusion_emitters": False,
}
"""Options of a compiler that takes a quarter of the time, for programs that run shorter than they are compiled."""


@contextmanager
def hasty_compiler() -> Iterator[None]:
    """Let JAX compile with these options what is compiled meanwhile."""
    usual = compiler.get_compile_options

    def build_options(*given: Any, env_options_overrides: dict[str, Any] | None = None, **options: Any) -> Any:
        return usual(*given, env_options_overrides={**HASTY, **(env_options_overrides or {})}, **options)

    with patch.object(compiler, "get_compile_options", build_options):
        yield


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
    return games_of(jax.tree.map(lambda leaf: leaf[lanes], jax.device_get(states)))


def taken(
    states: EnvState, actions: list[str], *, rules: Rules = REFERENCE, seed: int = 0, lanes: np.ndarray
) -> tuple[EnvState, np.ndarray, list[Stepped]]:
    """Return the states after a batch of steps, which games ended, and what the environment did in those of `lanes`."""
    keys = jax.random.split(jax.random.key(seed), BATCH)
    numbers = np.array([ACTIONS.index(action) for action in actions], np.int32)
    after, *rest = stepper(rules)(keys, states, numbers)
    rewards, terminated, truncated, info, masks = jax.device_get(rest)
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
    masks = np.concatenate([mask_all(states) for states in _batches(games)])[: len(games)]
    return [[name for name, legal in zip(ACTIONS, mask, strict=True) if legal] for mask in masks]


@cache
def stepper(rules: Rules) -> Any:
    def one(key: Any, state: EnvState, action: Any) -> Any:
        _, after, *rest = step(key, state, action, rules=rules)
        return after, *rest, action_mask(after)

    return jax.jit(jax.vmap(one))


mask_all = jax.jit(jax.vmap(action_mask))
"""Which actions each game allows."""
begin_all = jax.jit(jax.vmap(lambda key: reset(key)[1]))
"""A new game for each key."""


@jax.jit
def choose_all(first: Any, new: EnvState, old: EnvState) -> EnvState:
    """Return the new game where `first` says so, and the old one elsewhere."""
    chosen: EnvState = jax.tree.map(
        lambda mine, its: jnp.where(first.reshape(-1, *[1] * (mine.ndim - 1)), mine, its), new, old
    )
    return chosen


def observations(games: list[Game]) -> Any:
    """Return what the environment lets a player see of each game, as a batch."""
    seen = [_SEEN(states) for states in _batches(games)]
    return jax.tree.map(lambda *leaves: np.concatenate(leaves)[: len(games)], *seen)


_SEEN = jax.jit(jax.vmap(observe))
