"""How a policy drives: what it earned, whether it collided, how it took the hazard; and the report of a run."""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import stable_baselines3
import torch
from stable_baselines3.common.policies import BasePolicy

from plaudit import __version__
from plaudit.reward.reward import Reward
from plaudit.systems.roadsense.measurement import select_columns
from plaudit.systems.roadsense.policies import CONTINUOUS, DISCRETE, Policy
from plaudit.systems.roadsense.sumo.installation import find_version
from plaudit.systems.roadsense.training.checkpoint import load_policy
from plaudit.systems.roadsense.training.drives import BUCKETS, SEED, Drive, drive_buckets, stack_measures
from plaudit.systems.roadsense.training.envs import LIMIT, build_env
from plaudit.systems.roadsense.training.run import Run
from plaudit.systems.roadsense.versions import VERSIONS, version
from plaudit.systems.roadsense.world import STEP
from plaudit.targets.numpy import NumpyReward

FAILED = -1000.0
"""An episode that returns this or less was no success, even without a collision."""
CLOSE = 10.0
"""Metres below which the car ahead is too close."""
BRAKES = 0.5
"""Own braking above this, in m/s², is a reaction."""
STANDS = 0.5
"""A car that is no faster than this stands, in m/s."""
TRAINED, EXPLORING = "trained", "exploring"
"""The trained policy in a report, by its most probable actions and as in training; others as in `policies`."""


@dataclass(frozen=True)
class Evaluation:
    """The results of a policy, over that many episodes. A rate or mean of nothing is None."""

    episodes: int
    mean_return: float
    deviation: float
    """The standard deviation of the returns."""
    least_return: float
    most_return: float
    mean_length: float
    collision_rate: float
    truncation_rate: float
    """How often the episode was cut off: at its limit, or because the car had left the road."""
    success_rate: float
    """How often there was no collision and more than -1000 was returned."""
    close_share: float
    """The share of steps with the car ahead nearer than 10 m, in truth."""
    mean_speed: float
    mean_distance: float | None
    """To the car ahead in truth, over the steps in which there was one."""
    hazards: int
    """In how many episodes a car ahead really braked: without it the rest says nothing."""
    failures: dict[str, int]
    """Why it did not in the others."""
    warned_rate: float | None
    """Of those: how often its warning was received."""
    standing_rate: float | None
    """Of those: how often the driven car stood already, so that there was nothing to react with."""
    reaction_rate: float | None
    """Of those: how often the policy asked for more than 0.5 m/s² afterwards, while it was moving."""
    reaction_time: float | None
    """Seconds to it, in the mean."""
    least_distance: float | None
    """The nearest that the car ahead came after the hazard, in truth, in the mean."""
    terms: dict[str, float]
    """What each term of the reward gave in an episode, in the mean."""
    by_version: dict[str, float]
    """What the same drives would have returned under other versions of the reward, in the mean."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return dict(vars(self))


class PolicyEvaluations(NamedTuple):
    """How well policies drive, and some of what the trained one did."""

    results: dict[str, Evaluation]
    """By policy, over all buckets; the trained one is the first."""
    buckets: dict[str, dict[str, Evaluation]]
    """By policy, and by the number of peers and the rank of the car that braked."""
    drives: list[Drive]
    """The first drive of each bucket, of the trained policy."""


def evaluate_run(
    run: Run, reward: Reward, *, episodes: int, baselines: bool = False, limit: int = LIMIT
) -> PolicyEvaluations:
    """Let the policy of a run drive `episodes` convoys of every bucket, each for at most `limit` steps.

    It drives them twice: always taking its most probable action, and as it did in training. With `baselines` policies
    that need no training drive the same convoys.
    """
    learnt = {TRAINED: build_trained_driver(run.policy), EXPLORING: build_trained_driver(run.policy, exploring=True)}
    untrained = DISCRETE if run.config.actions == "discrete" else CONTINUOUS
    drivers = {**learnt, **(untrained if baselines else {})}
    found: dict[str, list[Drive]] = {}
    torch.manual_seed(SEED)  # which an exploring network draws its actions from
    env = build_env(reward, run.config, limit=limit)
    try:
        for name, driver in drivers.items():
            found[name] = list(drive_buckets(env, driver, episodes=episodes))
    finally:
        env.close()
    return PolicyEvaluations(
        {name: evaluate_drives(each, versions=VERSIONS) for name, each in found.items()},
        {name: evaluate_by_bucket(each) for name, each in found.items()},
        found[TRAINED][::episodes],
    )


def build_report(run: Run, reward: Reward, found: PolicyEvaluations) -> dict[str, Any]:
    """Return the report of a run, as JSON has it."""
    return {
        "system": "roadsense",
        "plaudit": __version__,
        "reward": {"name": reward.name, "version": reward.version, "fingerprint": reward.fingerprint},
        "config": run.config.to_dict(),
        "cores": os.cpu_count(),
        "libraries": {
            "stable-baselines3": stable_baselines3.__version__,
            "torch": torch.__version__,
            "sumo": find_version(),
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


def build_trained_driver(policy: BasePolicy, *, exploring: bool = False) -> Policy:
    """Return what drives as a network finds best, or as it explores."""
    return lambda seen: policy.predict(seen.observation, deterministic=not exploring)[0]


def load_driver(path: Path) -> Policy:
    """Return what drives as the network in a file finds best, with one thread: it is small, and more are slower."""
    torch.set_num_threads(1)
    return build_trained_driver(load_policy(path))


def evaluate_drives(drives: Sequence[Drive], *, versions: Sequence[str] = ()) -> Evaluation:
    """Return the results of a policy in some drives; they are scored again by each of the `versions`."""
    returns = np.array([each.returned for each in drives])
    distances = np.concatenate([each.true_distance for each in drives])
    exposed = [each for each in drives if each.hazard is not None]
    reactions = [measure_reaction(each) for each in exposed]
    return Evaluation(
        episodes=len(drives),
        mean_return=float(returns.mean()),
        deviation=float(returns.std(ddof=min(1, len(returns) - 1))),
        least_return=float(returns.min()),
        most_return=float(returns.max()),
        mean_length=float(np.mean([len(each.requested) for each in drives])),
        collision_rate=float(np.mean([each.collision for each in drives])),
        truncation_rate=float(np.mean([each.truncated is not None for each in drives])),
        success_rate=float(np.mean([not each.collision and each.returned > FAILED for each in drives])),
        close_share=float(np.mean(distances < CLOSE)),
        mean_speed=float(np.mean(np.concatenate([each.measured["ego_speed"] for each in drives]))),
        mean_distance=_mean_or_none(distances[np.isfinite(distances)]),
        hazards=len(exposed),
        failures=dict(Counter(each.failed or "unknown" for each in drives if each.hazard is None)),
        warned_rate=_mean_or_none([each.warned for each in exposed]),
        standing_rate=_mean_or_none([_list_speeds_before(each)[_find_onset(each)] <= STANDS for each in exposed]),
        reaction_rate=_mean_or_none([each is not None for each in reactions]),
        reaction_time=_mean_or_none([each for each in reactions if each is not None]),
        least_distance=_mean_or_none(_keep_finite(each.true_distance[_find_onset(each) :].min() for each in exposed)),
        terms={name: float(np.mean([each.terms[name] for each in drives])) for name in drives[0].terms},
        by_version={label: float(np.mean(rescore_drives(drives, version(label)))) for label in versions},
    )


def evaluate_by_bucket(drives: Sequence[Drive]) -> dict[str, Evaluation]:
    """Return the results of a policy for every number of peers and rank of the braking car, as in `3/1`."""
    return {
        str(bucket): evaluate_drives([each for each in drives if each.bucket == bucket])
        for bucket in BUCKETS
        if any(each.bucket == bucket for each in drives)
    }


def measure_reaction(drive: Drive) -> float | None:
    """Return how many seconds after the hazard the policy began to brake while it was moving; None where it did not."""
    start = _find_onset(drive)
    brakes = (drive.requested > BRAKES) & (_list_speeds_before(drive) > STANDS)
    (steps,) = np.nonzero(brakes[start:])
    return float(steps[0]) * STEP if len(steps) else None


def rescore_drives(drives: Sequence[Drive], reward: Reward) -> list[float]:
    """Return what each drive would have returned under another reward."""
    totals = _compile_reward(reward)(select_columns(reward, stack_measures(drives))).total
    ends = np.cumsum([len(each.requested) for each in drives])[:-1]
    return [float(part.sum()) for part in np.split(totals, ends)]


@lru_cache(maxsize=64)  # every policy of a report is scored by every version, which are fewer
def _compile_reward(reward: Reward) -> NumpyReward:
    return reward.compile("numpy")


def _find_onset(drive: Drive) -> int:
    return min(drive.hazard or 0, len(drive.requested) - 1)


def _list_speeds_before(drive: Drive) -> np.ndarray[Any, Any]:
    speeds = drive.measured["ego_speed"]
    return np.concatenate([speeds[:1], speeds[:-1]])


def _mean_or_none(values: Sequence[float] | np.ndarray[Any, Any]) -> float | None:
    return float(np.mean(values)) if len(values) else None


def _keep_finite(values: Iterable[float]) -> list[float]:
    return [value for value in values if np.isfinite(value)]
