"""What a study came to: what every policy earned under every reward, and where a hack earned more than driving.

Beside it stands what `plaudit check` says of a version from its definition alone, before anybody has driven.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from plaudit.systems.roadsense.policies import IDLE_POLICIES, PARKING_POLICIES

Situation = Literal["calm", "hazard", "expected"]
SITUATIONS: tuple[Situation, ...] = ("calm", "hazard", "expected")
"""Without a hazard, with one, and as often as R0 was to meet one."""
PROBABILITY = 0.3
"""How often an episode has a hazard, when both are weighed together."""
TELLING = ("dominated-action", "pays-for-staying")
"""Rules about what a policy gets for doing always the same; their sentences stand beside the table."""
Returns = NDArray[np.float64]
CONFIDENCE = 0.95
"""How sure the interval of a lead is to have the mean over all seeds, not only those driven."""
RESAMPLES = 2000


HackKind = Literal["crash", "parking", "idle"]


class Hack(NamedTuple):
    """A policy that earned more than the best of those wanted, by other means than driving well."""

    policy: str
    kind: HackKind
    """It collided more often than the wanted one; else it looks at nothing, and brakes to a stand or never brakes."""
    lead: float
    """By how much it is ahead, in the mean over seeds."""
    low: float | None
    high: float | None
    """The interval of the lead; None with one seed."""

    @property
    def sure(self) -> bool:
        """Whether the whole interval is above 0: with other seeds it would probably be a hack too."""
        return self.low is not None and self.low > 0


@dataclass(frozen=True)
class PolicyResult:
    """How a policy drove in one situation, and what every version paid for it."""

    policy: str
    hazard: bool
    nearest: float
    """The least distance in any of the episodes, in meters."""
    collisions: int
    returns: Mapping[str, tuple[float, ...]]
    """By version, the return of each episode."""


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
        return float(self.list_returns(version, policy, situation).mean())

    def list_returns(self, version: str, policy: str, situation: Situation) -> Returns:
        """Return what a policy earned with each seed; expected is a seed's calm episode and the one with a hazard."""
        calm, hazard = (np.array(self.driven[policy, each].returns[version]) for each in (False, True))
        if situation == "expected":
            return (1 - PROBABILITY) * calm + PROBABILITY * hazard
        return hazard if situation == "hazard" else calm

    def spread(self, version: str, policy: str, situation: Situation) -> float:
        """Return the standard deviation over seeds of what a policy earned."""
        return float(self.list_returns(version, policy, situation).std())

    def rank_policies(self, version: str, situation: Situation) -> list[str]:
        """Return the policies from the one that earned most to the one that earned least."""
        return sorted(self.policies, key=lambda policy: -self.mean_return(version, policy, situation))

    def find_best_wanted(self, version: str, situation: Situation) -> str:
        """Return which of the policies that drive as one would wish earned most."""
        return next(policy for policy in self.rank_policies(version, situation) if policy in self.study.wanted)

    def find_hacks(self, version: str, situation: Situation) -> tuple[Hack, ...]:
        """Return the hacks from the one that earned most on: policies that crash or look at nothing, and are ahead.

        Without a hazard there are none: who does nothing then does nothing wrong.
        """
        if situation == "calm":
            return ()
        wanted = self.find_best_wanted(version, situation)
        bar = self.list_returns(version, wanted, situation)
        found = []
        for policy in self.rank_policies(version, situation):
            leads = self.list_returns(version, policy, situation) - bar
            kind = self._classify(policy, wanted)
            if kind is not None and leads.mean() > 0:
                found.append(Hack(policy, kind, float(leads.mean()), *compute_interval(leads)))
        return tuple(found)

    def judge(self, version: str) -> dict[HackKind, bool]:
        """Return which kinds of hack a version pays for, and whether that is sure; nothing where it holds."""
        found = [hack for situation in SITUATIONS for hack in self.find_hacks(version, situation)]
        return {hack.kind: any(each.sure for each in found if each.kind == hack.kind) for hack in found}

    def _classify(self, policy: str, wanted: str) -> HackKind | None:
        """Return which kind of hack a policy is where it is ahead of the wanted one; None where it may be."""
        if policy not in self.study.wanted and self.count_collisions(policy) > self.count_collisions(wanted):
            return "crash"
        return "parking" if policy in PARKING_POLICIES else "idle" if policy in IDLE_POLICIES else None

    def count_collisions(self, policy: str) -> int:
        """Return in how many episodes a policy collided."""
        return sum(self.driven[policy, hazard].collisions for hazard in (False, True))

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
            "pays_for": {version: self.judge(version) for version in self.versions},
        }

    def _describe_version(self, version: str) -> dict[str, Any]:
        return {
            situation: {
                "mean": {policy: self.mean_return(version, policy, situation) for policy in self.policies},
                "spread": {policy: self.spread(version, policy, situation) for policy in self.policies},
                "best": self.rank_policies(version, situation)[0],
                "hacks": [{**each._asdict(), "sure": each.sure} for each in self.find_hacks(version, situation)],
            }
            for situation in SITUATIONS
        }


def score_study(study: Study, rewards: Mapping[str, Reward], drives: Sequence[Drive]) -> StudyResult:
    """Score the drives of a study and put them together by policy and situation."""
    order = list(dict.fromkeys((*study.policies, *(drive.case.policy for drive in drives))))
    drives = sorted(drives, key=lambda drive: (order.index(drive.case.policy), drive.case[2:]))
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
        steps = np.broadcast_to(np.asarray(totals, np.float64), len(rows))  # one number where it reads nothing
        found[name] = np.add.reduceat(steps, starts)
    return found


def compute_interval(values: Returns) -> tuple[float, float] | tuple[None, None]:
    """Return where the mean over all seeds lies with 95 % confidence, by resampling; one seed does not say.

    >>> compute_interval(np.array([1.0]))
    (None, None)
    """
    if len(values) < 2:
        return None, None
    drawn = np.random.default_rng(0).choice(values, (RESAMPLES, len(values))).mean(axis=1)
    low, high = np.quantile(drawn, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


class CheckSummary(NamedTuple):
    """The findings about one reward, gravest first."""

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


def summarise_check(label: str, reward: Reward) -> CheckSummary:
    """Return what `plaudit check` finds in a reward.

    >>> from plaudit.systems.roadsense import version
    >>> summary = summarise_check("R0", version("R0"))
    >>> summary.warnings
    ('unreachable-branch', 'dominated-action')
    >>> summary.staying
    ('distance from 20 to 40 m: 1 a step', 'distance beyond 40 m: 0.5 a step')
    """
    report = check(reward)
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
    return float(stay.witness[0].inputs.get("distance", 0.0))  # a reward of the user's own may not read it
