"""How a policy drives: what it earned, whether it collided, and how it took the hazard."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from plaudit.reward.reward import Reward
from plaudit.systems.roadsense.measured import columns_of
from plaudit.systems.roadsense.training.drives import BUCKETS, Drive
from plaudit.systems.roadsense.versions import version
from plaudit.systems.roadsense.world import STEP

FAILED = -1000.0
"""An episode that returns this or less was no success, even without a collision."""
CLOSE = 10.0
"""Metres below which the car ahead is too close."""
BRAKES = 0.5
"""Own braking above this, in m/s², is a reaction."""
STANDS = 0.5
"""A car that is no faster than this stands, in m/s."""


@dataclass(frozen=True)
class Evaluation:
    """What a policy came to, over so many episodes. A rate or mean of nothing is None."""

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


def evaluation(drives: Sequence[Drive], *, versions: Sequence[str] = ()) -> Evaluation:
    """Return what a policy came to in some drives; they are scored anew by each of the `versions`."""
    returns = np.array([each.returned for each in drives])
    distances = np.concatenate([each.true_distance for each in drives])
    exposed = [each for each in drives if each.hazard is not None]
    reactions = [reaction(each) for each in exposed]
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
        mean_distance=_mean(distances[np.isfinite(distances)]),
        hazards=len(exposed),
        failures=dict(Counter(each.failed or "unknown" for each in drives if each.hazard is None)),
        warned_rate=_mean([each.warned for each in exposed]),
        standing_rate=_mean([_speeds_before(each)[_onset(each)] <= STANDS for each in exposed]),
        reaction_rate=_mean([each is not None for each in reactions]),
        reaction_time=_mean([each for each in reactions if each is not None]),
        least_distance=_mean(_finite(each.true_distance[_onset(each) :].min() for each in exposed)),
        terms={name: float(np.mean([each.terms[name] for each in drives])) for name in drives[0].terms},
        by_version={label: float(np.mean(rescored(drives, version(label)))) for label in versions},
    )


def by_bucket(drives: Sequence[Drive]) -> dict[str, Evaluation]:
    """Return what a policy came to for every number of peers and rank of the braking car, as in `3/1`."""
    return {
        str(bucket): evaluation([each for each in drives if each.bucket == bucket])
        for bucket in BUCKETS
        if any(each.bucket == bucket for each in drives)
    }


def reaction(drive: Drive) -> float | None:
    """Return how many seconds after the hazard the policy began to brake while it was moving; None where it did not."""
    start = _onset(drive)
    brakes = (drive.requested > BRAKES) & (_speeds_before(drive) > STANDS)
    (steps,) = np.nonzero(brakes[start:])
    return float(steps[0]) * STEP if len(steps) else None


def rescored(drives: Sequence[Drive], reward: Reward) -> list[float]:
    """Return what each drive would have returned under another reward."""
    totals = reward.compile("numpy")(columns_of(reward, stacked(drives))).total
    ends = np.cumsum([len(each.requested) for each in drives])[:-1]
    return [float(part.sum()) for part in np.split(totals, ends)]


def stacked(drives: Iterable[Drive]) -> dict[str, np.ndarray[Any, Any]]:
    """Return every measure of some drives under its name, one drive after the other."""
    rows = [each.measured for each in drives]
    return {name: np.concatenate([each[name] for each in rows]) for name in rows[0]}


def _onset(drive: Drive) -> int:
    """Return the row in which the car ahead began to brake."""
    return min(drive.hazard or 0, len(drive.requested) - 1)


def _speeds_before(drive: Drive) -> np.ndarray[Any, Any]:
    """Return how fast the driven car was when each action was taken."""
    speeds = drive.measured["ego_speed"]
    return np.concatenate([speeds[:1], speeds[:-1]])


def _mean(values: Sequence[float] | np.ndarray[Any, Any]) -> float | None:
    return float(np.mean(values)) if len(values) else None


def _finite(values: Iterable[float]) -> list[float]:
    return [value for value in values if np.isfinite(value)]
