"""How good a policy is: the first episode of many games, each played to its end.

Counting the episodes that end within a number of steps would favour short ones. Here every game counts once, however
long it takes; one that is not over after `max_steps` counts with what it has by then.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from plaudit.reward.reward import Reward
from plaudit.systems.hackmatrix.training.ppo import (
    Environment,
    Episodes,
    Outcome,
    Params,
    States,
    apply_network,
    count_step,
)

Array = jax.Array

Policy = Callable[[Params, Array, States, Array, Array], Array]
"""From weights, a key, states, observations and masks the actions; a policy that needs no weights ignores them."""

Inputs = dict[str, np.ndarray[Any, Any]]
"""What the reward read in the steps of an episode, by name."""

LONGEST = 1_000
"""Steps after which a game is left off."""


@dataclass(frozen=True)
class Evaluation:
    """The results of a policy, over that many episodes."""

    episodes: int
    mean_return: float
    deviation: float
    """The standard deviation of the returns."""
    mean_length: float
    mean_stage: float
    """The stage on which episodes ended."""
    stages: dict[int, int]
    """How many episodes ended on each stage."""
    win_rate: float
    unfinished: int
    """How many were left off before their end."""
    terms: dict[str, float]
    """What each term of the reward gave in an episode, in the mean."""

    @property
    def error(self) -> float:
        """The standard error of the mean return."""
        return float(self.deviation / self.episodes**0.5)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {**vars(self), "error": self.error, "stages": {str(k): v for k, v in self.stages.items()}}


@dataclass(frozen=True)
class PlayedGames:
    """Games that a policy played: what each came to."""

    sums: Episodes
    over: np.ndarray[Any, np.dtype[np.bool_]]
    """Which of them were played to their end."""
    terms: tuple[str, ...]
    inputs: list[Inputs]
    """What the reward read, of those of which it was kept."""
    boards: list[Any]
    """What lay on the board before each of their steps; None where the game has none."""

    def evaluation(self, paid_by: str | None = None) -> Evaluation:
        """Return what the policy came to, by all terms, or by those of one of the rewards of `pay_with_all`."""
        start = "" if paid_by is None else f"{paid_by}/"
        chosen = {name.removeprefix(start): at for at, name in enumerate(self.terms) if name.startswith(start)}
        columns = np.asarray(self.sums.terms, np.float64)[:, list(chosen.values())]
        returns = columns.sum(axis=1)
        return Evaluation(
            episodes=len(returns),
            mean_return=float(returns.mean()),
            deviation=float(returns.std(ddof=min(1, len(returns) - 1))),
            mean_length=float(np.mean(self.sums.length, dtype=np.float64)),
            mean_stage=float(np.mean(self.sums.stage, dtype=np.float64)),
            stages=dict(sorted(Counter(np.asarray(self.sums.stage, int).tolist()).items())),
            win_rate=float(np.mean(self.sums.won, dtype=np.float64)),
            unfinished=int((~self.over).sum()),
            terms=dict(zip(chosen, columns.mean(axis=0).tolist(), strict=True)),
        )


@lru_cache(maxsize=8)
def pay_with_all(environment: Environment, rewards: tuple[tuple[str, Reward], ...]) -> Environment:
    """Return a game to evaluate in which each step is paid by several rewards side by side, each with a label.

    Their terms are called `<label>/<term>`. They read what `advance` says that the environment's own reward read.
    """
    compiled = [reward.compile("jax", guard=False) for _, reward in rewards]

    def advance(key: Array, states: States, action: Array) -> tuple[States, Outcome]:
        after, outcome = environment.advance(key, states, action)
        scores = [each({name: outcome.inputs[name] for name in each.inputs}) for each in compiled]
        values = [value for each in scores for value in each.values.values()]
        return after, outcome._replace(terms=jnp.stack(values, axis=-1))

    terms = tuple(f"{label}/{term.name}" for label, reward in rewards for term in reward.terms)
    return environment._replace(terms=terms, advance=advance)


def sample_action(params: Params, key: Array, states: States, observation: Array, mask: Array) -> Array:
    """Choose as in training: each action with the probability that the network gives it."""
    return jax.random.categorical(key, apply_network(params, observation, mask)[0])


def choose_greedily(params: Params, key: Array, states: States, observation: Array, mask: Array) -> Array:
    """Choose the action that the network finds most probable."""
    return jnp.argmax(apply_network(params, observation, mask)[0], axis=-1)


NETWORK: Mapping[str, Policy] = {"sampled": sample_action, "greedy": choose_greedily}


def build_evaluator(
    environment: Environment,
    *,
    episodes: int,
    policies: Mapping[str, Policy] = NETWORK,
    precision: str = "float32",
    max_steps: int = LONGEST,
    keep: int = 0,
) -> Callable[[str, Params, Array], PlayedGames]:
    """Return what plays `episodes` games with a policy, by its name, with weights and a key.

    It is compiled once for all policies. What the reward read is kept of the first `keep` games.
    """
    names = list(policies)
    play = _compile_play(environment, episodes, tuple(policies.values()), precision, max_steps, keep)

    def evaluate(policy: str, params: Params, key: Array) -> PlayedGames:
        played, over, kept = jax.device_get(play(names.index(policy), params, key))
        lengths = played.length[:keep].astype(int)
        episodes = [
            jax.tree.map(lambda each, game=game, length=length: each[:length, game], kept)
            for game, length in enumerate(lengths)
        ]
        inputs, boards = [read for read, _ in episodes], [board for _, board in episodes]
        return PlayedGames(played, over, environment.terms, inputs, boards)

    return evaluate


@lru_cache(maxsize=8)
def _compile_play(
    environment: Environment, episodes: int, policies: tuple[Policy, ...], precision: str, max_steps: int, keep: int
) -> jax.stages.Wrapped:
    """Return what plays games with the policy that has a number; it is compiled once for all of them."""

    def play(which: Array, params: Params, key: Array) -> tuple[Episodes, Array, Any]:
        key, beginning = jax.random.split(key)
        states = environment.reset(beginning, episodes)
        nothing = Episodes.none((episodes,), len(environment.terms))
        seen = jax.eval_shape(environment.advance, key, states, jnp.zeros(episodes, jnp.int32))[1]
        kept = jax.tree.map(
            lambda each: jnp.zeros((max_steps, keep, *each.shape[1:]), each.dtype), (seen.inputs, seen.board)
        )
        carried = (jnp.int32(0), key, states, kept, nothing, jnp.zeros(episodes, bool))

        def unfinished(carried: Any) -> Array:
            number, *_, over = carried
            return jnp.asarray((number < max_steps) & ~over.all())

        def step(carried: Any) -> Any:
            number, key, states, kept, so_far, over = carried
            key, choosing, stepping = jax.random.split(key, 3)
            observation = environment.observe(states).astype(precision)
            action = jax.lax.switch(which, policies, params, choosing, states, observation, environment.mask(states))
            states, outcome = environment.advance(stepping, states, action)
            played = _add_step(so_far, outcome)
            so_far = jax.tree.map(lambda old, new: jnp.where(_expand_to(over, new), old, new), so_far, played)
            now = outcome.inputs, outcome.board
            kept = jax.tree.map(lambda column, new: column.at[number].set(new[:keep]), kept, now)
            return number + 1, key, states, kept, so_far, over | outcome.ended

        _, _, _, kept, so_far, over = jax.lax.while_loop(unfinished, step, carried)
        return so_far, over, kept

    return jax.jit(play)


def _expand_to(over: Array, values: Array) -> Array:
    return over.reshape(over.shape + (1,) * (values.ndim - 1))


def _add_step(so_far: Episodes, outcome: Any) -> Episodes:
    """Return the sums of the episodes after a step; those that have ended are kept by the caller."""
    never = outcome._replace(terminated=jnp.zeros_like(outcome.terminated), truncated=jnp.zeros_like(outcome.truncated))
    return count_step(so_far, jax.tree.map(lambda values: values[0], so_far), never)[0]
