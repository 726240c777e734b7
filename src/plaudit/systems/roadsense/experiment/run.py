"""The experiment: drive what a ledger lacks, score what it has under every version, ask the checks."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from plaudit.errors import DefinitionError, DuplicateName, did_you_mean
from plaudit.reward.reward import Reward
from plaudit.systems.roadsense.experiment.driving import Drive, Workers, drive_in_workers
from plaudit.systems.roadsense.experiment.results import (
    PROBABILITY,
    CheckSummary,
    StudyResult,
    score_study,
    summarise_check,
)
from plaudit.systems.roadsense.experiment.storage import drive_reward, load_drives, record_drive
from plaudit.systems.roadsense.experiment.study import SEEDS, STUDIES, Case, Study
from plaudit.systems.roadsense.experiment.trained import TrainedPolicy, find_trained, is_run
from plaudit.systems.roadsense.measurement import build_input_reader
from plaudit.systems.roadsense.versions import VERSIONS, version

if TYPE_CHECKING:  # a worker needs no ledger, and importing it would take longer than all else
    from plaudit.ledger.ledger import Ledger

OnProgress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is to do."""
DRIVING, CHECKING = "driving", "checking"


@dataclass(frozen=True)
class Experiment:
    """What was found in every study, and what `plaudit check` says of every version."""

    studies: Mapping[str, StudyResult]
    summaries: Mapping[str, CheckSummary]
    simulated: int
    """How many episodes were driven for it; the others were in the ledger."""

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "probability": PROBABILITY,
            "simulated": self.simulated,
            "studies": {name: result.to_dict() for name, result in self.studies.items()},
            "check": {label: each._asdict() for label, each in self.summaries.items()},
        }


class Plan(NamedTuple):
    """What an experiment is to drive and to score."""

    cases: Mapping[Study, Sequence[Case]]
    rewards: Mapping[str, Reward]
    """By their names in the tables."""
    trained: Mapping[str, str]
    """The files of trained policies, by the names that cases have for them."""


def run_experiment(
    ledger: "Ledger",
    *,
    studies: Sequence[str] = (),
    versions: Sequence[str] = (),
    rewards: Sequence[Reward] = (),
    policies: Sequence[str] = (),
    seeds: int = SEEDS,
    checks: bool = True,
    workers: int | None = None,
    on_progress: OnProgress = lambda what, done, of: None,
) -> Experiment:
    """Drive, record and score; episodes that the ledger has are scored again and not driven again.

    Nothing named is everything: all studies, all versions, all policies of a study. `rewards` of your own are scored
    beside the versions, and among `policies` may be folders of trained runs, which drive the studies of their actions.
    Each episode is recorded when it is complete, so that a run that was stopped goes on where it was.
    """
    plan = plan_experiment(studies=studies, versions=versions, rewards=rewards, policies=policies, seeds=seeds)
    return run_plan(ledger, plan, checks=checks, workers=workers, on_progress=on_progress)


def plan_experiment(
    *,
    studies: Sequence[str] = (),
    versions: Sequence[str] = (),
    rewards: Sequence[Reward] = (),
    policies: Sequence[str] = (),
    seeds: int = SEEDS,
) -> Plan:
    """Return what `run_experiment` would do; DefinitionError or InputError where that cannot be done."""
    chosen = [STUDIES[_validate_name("study", name, STUDIES)] for name in studies or STUDIES]
    paying = {label: version(label) for label in versions or VERSIONS} | _label_rewards(rewards)
    runs = [_find_trained(name, chosen) for name in policies if _is_trained(name, chosen)]
    trained = list({policy.name: policy for policy in runs}.values())  # two paths may lead to one run
    named = [name for name in policies if not _is_trained(name, chosen)]
    cases = {study: _list_cases(study, named, trained, seeds) for study in chosen}
    return Plan(cases, paying, {policy.name: policy.path for policy in trained})


def run_plan(ledger: "Ledger", plan: Plan, *, checks: bool, workers: int | None, on_progress: OnProgress) -> Experiment:
    """Drive, record and score what was planned."""
    ledger.register(drive_reward)  # a label that means another formula is an error before anything is driven
    drives = {study.name: _load_wanted(ledger, study, cases) for study, cases in plan.cases.items()}
    missing = [case for study, cases in plan.cases.items() for case in cases if case not in drives[study.name]]
    with Workers(workers or os.cpu_count() or 1) as processes:
        for done, drive in enumerate(_drive_missing(missing, plan.trained, processes, on_progress), 1):
            record_drive(ledger, drive)
            drives[drive.case.study][drive.case] = drive
            on_progress(DRIVING, done, len(missing))
        results = {
            study.name: score_study(study, plan.rewards, list(drives[study.name].values())) for study in plan.cases
        }
        summaries = _summarise_checks(plan.rewards, processes, on_progress) if checks else {}
    return Experiment(results, summaries, len(missing))


def _label_rewards(rewards: Sequence[Reward]) -> dict[str, Reward]:
    """Return rewards by their names in the tables; an error where one reads what the convoy does not measure."""
    found: dict[str, Reward] = {}
    for reward in rewards:
        build_input_reader(reward)
        label = f"{reward.name}@{reward.version}"
        if found.setdefault(label, reward).fingerprint != reward.fingerprint:
            raise DuplicateName(f"two different rewards are called {label}: give one of them another name or version.")
    return found


def _is_trained(name: str, studies: Sequence[Study]) -> bool:
    """Return whether a policy is a trained run and not a fixed policy; an error where it is neither."""
    known = sorted({policy for study in studies for policy in study.policies})
    if name not in known and not is_run(name):
        raise DefinitionError(
            f"there is no policy {name!r}; use {', '.join(known)}, or the folder of a `plaudit train roadsense` run."
            f"{did_you_mean(name, known)}"
        )
    return name not in known


def _find_trained(name: str, studies: Sequence[Study]) -> TrainedPolicy:
    found = find_trained(name)
    if all(study.actions != found.actions for study in studies):
        raise DefinitionError(
            f"{name} was trained with {found.actions} actions, but {', '.join(study.name for study in studies)} uses "
            f"others; choose a study with {found.actions} actions."
        )
    return found


def _drive_missing(
    missing: Sequence[Case], trained: Mapping[str, str], workers: Workers, on_progress: OnProgress
) -> Iterator[Drive]:
    if missing:
        on_progress(DRIVING, 0, len(missing))
    return drive_in_workers(missing, trained, workers)


def _validate_name(what: str, name: str, known: Sequence[str] | Mapping[str, Any]) -> str:
    if name not in known:
        raise DefinitionError(
            f"there is no {what} {name!r}; choose from {', '.join(known)}.{did_you_mean(name, known)}"
        )
    return name


def _list_cases(study: Study, named: Sequence[str], trained: Sequence[TrainedPolicy], seeds: int) -> list[Case]:
    """Return the episodes asked for: of the policies named those that fit the study, and those it measures by."""
    everything = not named and not trained
    fixed = [name for name in study.policies if everything or name in (*named, *study.wanted)]
    fitting = [policy.name for policy in trained if policy.actions == study.actions]
    return list(study.list_cases(seeds, [*fixed, *fitting]))


def _load_wanted(ledger: "Ledger", study: Study, wanted: Sequence[Case]) -> dict[Case, Drive]:
    cases = set(wanted)
    return {drive.case: drive for drive in load_drives(ledger, study) if drive.case in cases}


def _summarise_checks(
    rewards: Mapping[str, Reward], workers: Workers, on_progress: OnProgress
) -> dict[str, CheckSummary]:
    on_progress(CHECKING, 0, len(rewards))
    answers = {}
    ours = [label for label in rewards if label in VERSIONS]
    others = (summarise_check(label, rewards[label]) for label in rewards if label not in VERSIONS)
    # A reward that goes to another process leaves its source behind, which some rules read: ours are loaded there.
    for done, each in enumerate(chain(workers.run(_check_version, ours), others), 1):
        answers[each.version] = each
        on_progress(CHECKING, done, len(rewards))
    return {label: answers[label] for label in rewards}


def _check_version(label: str) -> CheckSummary:
    return summarise_check(label, version(label))
