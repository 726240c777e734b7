"""The experiment: drive what a ledger lacks, score what it has under every version, ask the checks."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from plaudit.errors import DefinitionError, did_you_mean
from plaudit.systems.roadsense.experiment.driving import Drive, Workers, drive_in_workers
from plaudit.systems.roadsense.experiment.results import (
    PROBABILITY,
    CheckSummary,
    StudyResult,
    score_study,
    summarise_check,
)
from plaudit.systems.roadsense.experiment.storage import drive_reward, load_drives, record_drive
from plaudit.systems.roadsense.experiment.study import STUDIES, Case, Study
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


def run_experiment(
    ledger: "Ledger",
    *,
    studies: Sequence[str] = (),
    versions: Sequence[str] = (),
    policies: Sequence[str] = (),
    seeds: int | None = None,
    checks: bool = True,
    workers: int | None = None,
    on_progress: OnProgress = lambda what, done, of: None,
) -> Experiment:
    """Drive, record and score; episodes that the ledger has are scored again and not driven again.

    Nothing named is everything: all studies, all versions, all policies of a study, each study's own number of seeds.
    Each episode is recorded when it is complete, so that a run that was stopped goes on where it was.
    """
    chosen = [STUDIES[_validate_name("study", name, STUDIES)] for name in studies or STUDIES]
    rewards = {label: version(label) for label in versions or VERSIONS}
    for name in policies:
        _validate_name("policy", name, sorted({policy for study in chosen for policy in study.policies}))
    wanted = {study.name: _list_cases(study, policies, seeds) for study in chosen}
    ledger.register(drive_reward)  # a label that means another formula is an error before anything is driven
    drives = {study.name: _load_wanted(ledger, study, wanted[study.name]) for study in chosen}
    missing = [case for study in chosen for case in wanted[study.name] if case not in drives[study.name]]
    with Workers(workers or os.cpu_count() or 1) as processes:
        for done, drive in enumerate(_drive_missing(missing, processes, on_progress), 1):
            record_drive(ledger, drive)
            drives[drive.case.study][drive.case] = drive
            on_progress(DRIVING, done, len(missing))
        results = {study.name: score_study(study, rewards, list(drives[study.name].values())) for study in chosen}
        summaries = _summarise_checks(tuple(rewards), processes, on_progress) if checks else {}
    return Experiment(results, summaries, len(missing))


def _drive_missing(missing: Sequence[Case], workers: Workers, on_progress: OnProgress) -> Iterator[Drive]:
    if missing:
        on_progress(DRIVING, 0, len(missing))
    return drive_in_workers(missing, workers)


def _validate_name(what: str, name: str, known: Sequence[str] | Mapping[str, Any]) -> str:
    if name not in known:
        raise DefinitionError(f"there is no {what} {name!r}, but {', '.join(known)}.{did_you_mean(name, known)}")
    return name


def _list_cases(study: Study, policies: Sequence[str], seeds: int | None) -> list[Case]:
    """Return the episodes asked for; of the policies named, those that the study has and those it measures by."""
    named = [name for name in study.policies if not policies or name in (*policies, *study.wanted)]
    return list(study.list_cases(study.seeds if seeds is None else seeds, named))


def _load_wanted(ledger: "Ledger", study: Study, wanted: Sequence[Case]) -> dict[Case, Drive]:
    """Return the episodes asked for that the ledger has."""
    cases = set(wanted)
    return {drive.case: drive for drive in load_drives(ledger, study) if drive.case in cases}


def _summarise_checks(labels: Sequence[str], workers: Workers, on_progress: OnProgress) -> dict[str, CheckSummary]:
    """Return what `plaudit check` finds in each version, in their order."""
    on_progress(CHECKING, 0, len(labels))
    answers = {}
    for done, each in enumerate(workers.run(summarise_check, labels), 1):
        answers[each.version] = each
        on_progress(CHECKING, done, len(labels))
    return {label: answers[label] for label in labels}
