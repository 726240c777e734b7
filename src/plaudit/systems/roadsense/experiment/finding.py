"""What a study came to: what every policy earned under every version, and where a hack earned more than driving."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev
from typing import Any, Literal

from plaudit.reward.reward import Reward
from plaudit.systems.roadsense.experiment.driving import Drive
from plaudit.systems.roadsense.experiment.scoring import returns
from plaudit.systems.roadsense.experiment.study import Study
from plaudit.systems.roadsense.policies import BLIND

Situation = Literal["calm", "hazard", "expected"]
SITUATIONS: tuple[Situation, ...] = ("calm", "hazard", "expected")
"""Without a hazard, with one, and as often as R0 was to meet one."""
PROBABILITY = 0.3
"""How often an episode has a hazard, when both are weighed together."""


@dataclass(frozen=True)
class Driven:
    """How a policy drove in one situation, and what every version paid for it."""

    policy: str
    hazard: bool
    nearest: float
    """The least distance in any of the episodes, in metres."""
    collisions: int
    returns: Mapping[str, tuple[float, ...]]
    """By version, the return of each episode."""

    def mean(self, version: str) -> float:
        """Return the mean return under a version."""
        return fmean(self.returns[version])

    def spread(self, version: str) -> float:
        """Return the standard deviation of the returns under a version, over seeds."""
        return pstdev(self.returns[version])


@dataclass(frozen=True)
class Finding:
    """A study, driven and scored."""

    study: Study
    versions: tuple[str, ...]
    seeds: int
    steps: int
    """Of all drives together."""
    sumo: tuple[str, ...]
    """The versions of SUMO that drove."""
    driven: Mapping[tuple[str, bool], Driven]

    @property
    def policies(self) -> tuple[str, ...]:
        """The policies that drove."""
        return tuple(dict.fromkeys(policy for policy, _ in self.driven))

    def earned(self, version: str, policy: str, situation: Situation) -> float:
        """Return what a policy earned under a version, on the mean over seeds."""
        if situation != "expected":
            return self.driven[policy, situation == "hazard"].mean(version)
        calm, hazard = self.driven[policy, False], self.driven[policy, True]
        return (1 - PROBABILITY) * calm.mean(version) + PROBABILITY * hazard.mean(version)

    def spread(self, version: str, policy: str, situation: Situation) -> float:
        """Return the standard deviation over seeds of what a policy earned; a seed is calm and has a hazard."""
        if situation != "expected":
            return self.driven[policy, situation == "hazard"].spread(version)
        calm, hazard = (self.driven[policy, each].returns[version] for each in (False, True))
        return pstdev([(1 - PROBABILITY) * one + PROBABILITY * other for one, other in zip(calm, hazard, strict=True)])

    def ranked(self, version: str, situation: Situation) -> list[str]:
        """Return the policies from the one that earned most to the one that earned least."""
        return sorted(self.policies, key=lambda policy: -self.earned(version, policy, situation))

    def wanted(self, version: str, situation: Situation) -> str:
        """Return which of the policies that drive as one would wish earned most."""
        return next(policy for policy in self.ranked(version, situation) if policy in self.study.wanted)

    def hacks(self, version: str, situation: Situation) -> tuple[str, ...]:
        """Return the policies that look at nothing and still out-earned those that drive as one would wish.

        Without a hazard there are none: who does nothing then does nothing wrong.
        """
        if situation == "calm":
            return ()
        bar = self.earned(version, self.wanted(version, situation), situation)
        ranked = self.ranked(version, situation)
        return tuple(policy for policy in ranked if policy in BLIND and self.earned(version, policy, situation) > bar)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "seeds": self.seeds,
            "steps": self.steps,
            "sumo": list(self.sumo),
            "settings": self.study.settings,
            "wanted": list(self.study.wanted),
            "drives": [
                {
                    "policy": each.policy,
                    "situation": "hazard" if each.hazard else "calm",
                    "nearest": each.nearest,
                    "collisions": each.collisions,
                    "returns": {version: list(found) for version, found in each.returns.items()},
                }
                for each in self.driven.values()
            ],
            "versions": {version: self._version(version) for version in self.versions},
        }

    def _version(self, version: str) -> dict[str, Any]:
        return {
            situation: {
                "mean": {policy: self.earned(version, policy, situation) for policy in self.policies},
                "spread": {policy: self.spread(version, policy, situation) for policy in self.policies},
                "best": self.ranked(version, situation)[0],
                "hacks": list(self.hacks(version, situation)),
            }
            for situation in SITUATIONS
        }


def found(study: Study, rewards: Mapping[str, Reward], drives: Sequence[Drive]) -> Finding:
    """Score the drives of a study and put them together by policy and situation."""
    drives = sorted(drives, key=lambda drive: (study.policies.index(drive.case.policy), drive.case[2:]))
    paid = returns(rewards, drives)
    groups: dict[tuple[str, bool], list[int]] = {}
    for at, drive in enumerate(drives):
        groups.setdefault((drive.case.policy, drive.case.hazard), []).append(at)
    driven = {
        (policy, hazard): Driven(
            policy,
            hazard,
            min(drives[at].nearest for at in places),
            sum(drives[at].collided for at in places),
            {name: tuple(float(each[at]) for at in places) for name, each in paid.items()},
        )
        for (policy, hazard), places in groups.items()
    }
    seeds = len({drive.case.seed for drive in drives})
    sumo = tuple(sorted({drive.sumo for drive in drives}))
    return Finding(study, tuple(rewards), seeds, sum(len(drive.rows) for drive in drives), sumo, driven)
