"""What a study came to: what every policy earned under every version, and where a hack earned more than driving.

Beside it stands what `plaudit check` says of a version from its definition alone, before anybody has driven.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plaudit.checks.check import check
from plaudit.checks.finding import Incentive
from plaudit.reward.reward import Reward
from plaudit.systems.roadsense.experiment.driving import Drive
from plaudit.systems.roadsense.experiment.storage import split_columns
from plaudit.systems.roadsense.experiment.study import Study
from plaudit.systems.roadsense.measurement import select_columns
from plaudit.systems.roadsense.policies import BLIND
from plaudit.systems.roadsense.versions import version

Situation = Literal["calm", "hazard", "expected"]
SITUATIONS: tuple[Situation, ...] = ("calm", "hazard", "expected")
"""Without a hazard, with one, and as often as R0 was to meet one."""
PROBABILITY = 0.3
"""How often an episode has a hazard, when both are weighed together."""
TELLING = ("dominated-action", "pays-for-staying")
"""Rules about what a policy gets for doing always the same; their sentences stand beside the table."""
Returns = NDArray[np.float64]


@dataclass(frozen=True)
class PolicyResult:
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
class StudyResult:
    """A study, driven and scored."""

    study: Study
    versions: tuple[str, ...]
    seeds: int
    steps: int
    """Of all drives together."""
    sumo: tuple[str, ...]
    """The versions of SUMO that drove."""
    driven: Mapping[tuple[str, bool], PolicyResult]

    @property
    def policies(self) -> tuple[str, ...]:
        """The policies that drove."""
        return tuple(dict.fromkeys(policy for policy, _ in self.driven))

    def mean_return(self, version: str, policy: str, situation: Situation) -> float:
        """Return what a policy earned under a version, in the mean over seeds."""
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

    def rank_policies(self, version: str, situation: Situation) -> list[str]:
        """Return the policies from the one that earned most to the one that earned least."""
        return sorted(self.policies, key=lambda policy: -self.mean_return(version, policy, situation))

    def find_best_wanted(self, version: str, situation: Situation) -> str:
        """Return which of the policies that drive as one would wish earned most."""
        return next(policy for policy in self.rank_policies(version, situation) if policy in self.study.wanted)

    def find_hacks(self, version: str, situation: Situation) -> tuple[str, ...]:
        """Return the policies that look at nothing and still out-earned those that drive as one would wish.

        Without a hazard there are none: who does nothing then does nothing wrong.
        """
        if situation == "calm":
            return ()
        bar = self.mean_return(version, self.find_best_wanted(version, situation), situation)
        ranked = self.rank_policies(version, situation)
        return tuple(
            policy for policy in ranked if policy in BLIND and self.mean_return(version, policy, situation) > bar
        )

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
            "versions": {version: self._describe_version(version) for version in self.versions},
        }

    def _describe_version(self, version: str) -> dict[str, Any]:
        return {
            situation: {
                "mean": {policy: self.mean_return(version, policy, situation) for policy in self.policies},
                "spread": {policy: self.spread(version, policy, situation) for policy in self.policies},
                "best": self.rank_policies(version, situation)[0],
                "hacks": list(self.find_hacks(version, situation)),
            }
            for situation in SITUATIONS
        }


def score_study(study: Study, rewards: Mapping[str, Reward], drives: Sequence[Drive]) -> StudyResult:
    """Score the drives of a study and put them together by policy and situation."""
    drives = sorted(drives, key=lambda drive: (study.policies.index(drive.case.policy), drive.case[2:]))
    paid = compute_returns(rewards, drives)
    groups: dict[tuple[str, bool], list[int]] = {}
    for at, drive in enumerate(drives):
        groups.setdefault((drive.case.policy, drive.case.hazard), []).append(at)
    driven = {
        (policy, hazard): PolicyResult(
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
    return StudyResult(study, tuple(rewards), seeds, sum(len(drive.rows) for drive in drives), sumo, driven)


def compute_returns(rewards: Mapping[str, Reward], drives: Sequence[Drive]) -> dict[str, Returns]:
    """Return what each reward pays for each drive as a whole, by the reward's name in `rewards`."""
    rows = np.concatenate([drive.rows for drive in drives])
    lengths = [len(drive.rows) for drive in drives]
    starts = np.cumsum([0, *lengths[:-1]])
    measured = split_columns(rows)
    found = {}
    for name, reward in rewards.items():
        totals = reward.compile("numpy")(select_columns(reward, measured)).total
        found[name] = np.add.reduceat(np.asarray(totals, np.float64), starts)
    return found


class CheckSummary(NamedTuple):
    """The findings about one version, gravest first."""

    version: str
    codes: tuple[str, ...]
    """All rules that found something, each once."""
    warnings: tuple[str, ...]
    """Those whose findings are warnings."""
    telling: tuple[str, ...]
    """What the telling rules found, a sentence each."""
    staying: tuple[str, ...]
    """Where a step that changes nothing pays, from the nearest to the farthest."""
    undecided: int
    """Questions that stayed open."""


def summarise_check(label: str) -> CheckSummary:
    """Return what `plaudit check` finds in a version.

    >>> summary = summarise_check("R0")
    >>> summary.warnings
    ('unreachable-branch', 'dominated-action')
    >>> summary.staying
    ('distance from 20 to 40 m: 1 a step', 'distance beyond 40 m: 0.5 a step')
    """
    report = check(version(label))
    paying = [each for each in report.incentives if each.kind == "stay" and each.pay > 0]
    return CheckSummary(
        label,
        tuple(dict.fromkeys(finding.code for finding in report)),
        tuple(dict.fromkeys(finding.code for finding in report.at_least("warning"))),
        tuple(f"{finding.code}: {finding.message}" for finding in report if finding.code in TELLING),
        tuple(f"{each.where}: {each.pay:g} a step" for each in sorted(paying, key=_read_distance)),
        len(report.undecided),
    )


def _read_distance(stay: Incentive) -> float:
    return float(stay.witness[0].inputs["distance"])
