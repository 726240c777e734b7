"""What a run came to: how its policy drives, beside policies that were never trained."""

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import stable_baselines3
import torch
from stable_baselines3.common.policies import BasePolicy

from plaudit.reward.reward import Reward
from plaudit.systems.roadsense.measured import Measured
from plaudit.systems.roadsense.policies import CONTINUOUS, DISCRETE, Policy, Seen
from plaudit.systems.roadsense.sumo.installed import version as sumo_version
from plaudit.systems.roadsense.training.config import Config
from plaudit.systems.roadsense.training.convoys import LIMIT, convoy
from plaudit.systems.roadsense.training.drives import SEED, Drive, Driver, drives
from plaudit.systems.roadsense.training.evaluation import Evaluation, by_bucket, evaluation
from plaudit.systems.roadsense.training.run import Run
from plaudit.systems.roadsense.versions import VERSIONS
from plaudit.systems.training.folder import installed

TRAINED, EXPLORING = "trained", "exploring"
"""The trained policy in a report, by its most probable actions and as in training; others as in `policies`."""


class Evaluated(NamedTuple):
    """How well policies drive, and some of what the trained one did."""

    results: dict[str, Evaluation]
    """By policy, over all buckets; the trained one is the first."""
    buckets: dict[str, dict[str, Evaluation]]
    """By policy, and by the number of peers and the rank of the car that braked."""
    drives: list[Drive]
    """The first drive of each bucket, of the trained policy."""


def evaluated(
    run: Run,
    reward: Reward,
    *,
    episodes: int,
    baselines: bool = False,
    limit: int = LIMIT,
) -> Evaluated:
    """Let the policy of a run drive `episodes` convoys of every bucket, each for at most `limit` steps.

    It drives them twice: always taking its most probable action, and as it did in training. With `baselines` policies
    that need no training drive the same convoys.
    """
    learnt = {TRAINED: trained(run.policy), EXPLORING: trained(run.policy, exploring=True)}
    drivers = {**learnt, **(untrained(run.config) if baselines else {})}
    found: dict[str, list[Drive]] = {}
    torch.manual_seed(SEED)  # which an exploring network draws its actions from
    env = convoy(reward, run.config, limit=limit)
    try:
        for name, driver in drivers.items():
            found[name] = list(drives(env, driver, episodes=episodes))
    finally:
        env.close()
    return Evaluated(
        {name: evaluation(each, versions=VERSIONS) for name, each in found.items()},
        {name: by_bucket(each) for name, each in found.items()},
        found[TRAINED][::episodes],
    )


def trained(policy: BasePolicy, *, exploring: bool = False) -> Driver:
    """Return what drives as a network finds best, or as it explores."""

    def drive(observation: Any, measured: Measured, step: int, rng: np.random.Generator) -> Any:
        return policy.predict(observation, deterministic=not exploring)[0]

    return drive


def untrained(config: Config) -> dict[str, Driver]:
    """Return what drives without having been trained, for the actions of a run."""
    chosen: Mapping[str, Policy] = DISCRETE if config.actions == "discrete" else CONTINUOUS
    return {name: _baseline(policy) for name, policy in chosen.items()}


def _baseline(policy: Policy) -> Driver:
    return lambda observation, measured, step, rng: policy(Seen(measured, step, rng))


def described(run: Run, reward: Reward, found: Evaluated) -> dict[str, Any]:
    """Return the report of a run, as JSON has it."""
    return {
        "system": "roadsense",
        "plaudit": installed(),
        "reward": {"name": reward.name, "version": reward.version, "fingerprint": reward.fingerprint},
        "config": run.config.to_dict(),
        "cores": os.cpu_count(),
        "libraries": {
            "stable-baselines3": stable_baselines3.__version__,
            "torch": torch.__version__,
            "sumo": sumo_version(),
        },
        "updates": run.update,
        "steps": run.steps,
        "seconds": run.seconds,
        "steps_per_second": run.speed if run.rows else None,
        "last": run.rows[-1] if run.rows else None,
        "evaluation": {
            name: {
                "all": overall.to_dict(),
                "buckets": {bucket: each.to_dict() for bucket, each in found.buckets[name].items()},
            }
            for name, overall in found.results.items()
        },
    }
