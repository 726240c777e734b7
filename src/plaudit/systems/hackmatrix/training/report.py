"""What a run came to: how well its policy plays, by which reward, and whether the run was healthy."""

import os
from collections.abc import Callable
from typing import Any, NamedTuple

import jax

from plaudit.reward.reward import Reward
from plaudit.systems.hackmatrix.rewards import reward as standard
from plaudit.systems.hackmatrix.training.evaluation import NETWORK, Evaluation, Inputs, evaluator, paid_by_all
from plaudit.systems.hackmatrix.training.games import BASELINES
from plaudit.systems.hackmatrix.training.ppo import Environment
from plaudit.systems.hackmatrix.training.run import Run
from plaudit.systems.training.folder import installed
from plaudit.systems.training.journal import numbers

SEED = 1_000_003
"""Evaluations of all runs play the same games, which no run was trained on."""


class Evaluated(NamedTuple):
    """How well a policy plays, and some of what it did."""

    results: dict[str, dict[str, Evaluation]]
    """By the version of the reward that paid, and by policy; the standard reward is the first."""
    episodes: dict[str, list[Inputs]]
    """What the reward read in some episodes of each policy."""


def evaluated(
    run: Run,
    reward: Reward,
    paid_by: Callable[[Reward], Environment],
    *,
    episodes: int,
    baselines: bool = False,
    keep: int = 0,
) -> Evaluated:
    """Play `episodes` games with the policy of a run, paid by the standard reward, and by its own if that is another.

    `paid_by` makes the game for a reward. With `baselines` policies that need no training play too. What the reward
    read in the first `keep` episodes is kept.
    """
    key = jax.random.key(SEED)
    policies = {**NETWORK, **(BASELINES if baselines else {})}
    rewards = {standard.version: standard}
    if reward.fingerprint != standard.fingerprint:
        own = reward.version if reward.version not in rewards else f"{reward.version}, {reward.fingerprint[:12]}"
        rewards[own] = reward
    game = paid_by_all(paid_by(standard), tuple(rewards.items()))
    evaluate = evaluator(game, episodes=episodes, policies=policies, precision=run.config.precision, keep=keep)
    played = {name: evaluate(name, run.params, key) for name in policies}
    results = {label: {name: found.evaluation(label) for name, found in played.items()} for label in rewards}
    return Evaluated(results, {name: found.inputs for name, found in played.items()})


def described(run: Run, reward: Reward, evaluation: Evaluated) -> dict[str, Any]:
    """Return the report of a run, as JSON has it."""
    results = evaluation.results.items()
    return {
        "system": "hackmatrix",
        "plaudit": installed(),
        "reward": {"version": reward.version, "fingerprint": reward.fingerprint},
        "config": run.config.to_dict(),
        "device": jax.devices()[0].device_kind,
        "cores": os.cpu_count(),
        "jax": jax.__version__,
        "updates": run.update,
        "steps": run.steps,
        "seconds": run.seconds,
        "compile_seconds": run.compiling,
        "steps_per_second": run.speed if run.rows else None,
        "last": run.rows[-1] if run.rows else None,
        "health": {each.measure.key: numbers(each.to_dict()) for each in run.verdicts},
        "evaluation": {version: {name: each.to_dict() for name, each in found.items()} for version, found in results},
    }
