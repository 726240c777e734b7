"""The experiment: drive what a ledger lacks, score what it has under every version, ask the checks."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from plaudit.errors import DefinitionError, did_you_mean
from plaudit.ledger.store import Ledger
from plaudit.systems.roadsense.experiment.driving import Drive
from plaudit.systems.roadsense.experiment.finding import PROBABILITY, Finding, found
from plaudit.systems.roadsense.experiment.said import Said, said
from plaudit.systems.roadsense.experiment.storing import record, recorded, stored
from plaudit.systems.roadsense.experiment.study import STUDIES, Case, Study
from plaudit.systems.roadsense.experiment.workers import simulated, spread
from plaudit.systems.roadsense.versions import VERSIONS, version

Told = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and how much there is to do."""
DRIVING, CHECKING = "driving", "checking"


@dataclass(frozen=True)
class Experiment:
    """What was found in every study, and what was said of every version beforehand."""

    studies: Mapping[str, Finding]
    said: Mapping[str, Said]
    simulated: int
    """How many episodes were driven for it; the others were in the ledger."""

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "probability": PROBABILITY,
            "simulated": self.simulated,
            "studies": {name: finding.to_dict() for name, finding in self.studies.items()},
            "check": {label: each._asdict() for label, each in self.said.items()},
        }


def experiment(
    ledger: Ledger,
    *,
    studies: Sequence[str] = (),
    versions: Sequence[str] = (),
    policies: Sequence[str] = (),
    seeds: int | None = None,
    checks: bool = True,
    workers: int | None = None,
    told: Told = lambda what, done, of: None,
) -> Experiment:
    """Drive, record and score; episodes that the ledger has are scored again and not driven again.

    Nothing named is everything: all studies, all versions, all policies of a study, each study's own number of seeds.
    Each episode is recorded when it is complete, so that a run that was stopped goes on where it was.
    """
    chosen = [STUDIES[_known("study", name, STUDIES)] for name in studies or STUDIES]
    rewards = {label: version(label) for label in versions or VERSIONS}
    for name in policies:
        _known("policy", name, sorted({policy for study in chosen for policy in study.policies}))
    wanted = {study.name: _cases(study, policies, seeds) for study in chosen}
    count = workers or os.cpu_count() or 1
    ledger.register(recorded)  # a label that means another formula is told before anything is driven
    drives = {study.name: _there(ledger, study, wanted[study.name]) for study in chosen}
    missing = [case for study in chosen for case in wanted[study.name] if case not in drives[study.name]]
    for done, drive in enumerate(_simulated(missing, count, told), 1):
        record(ledger, drive)
        drives[drive.case.study][drive.case] = drive
        told(DRIVING, done, len(missing))
    findings = {study.name: found(study, rewards, list(drives[study.name].values())) for study in chosen}
    return Experiment(findings, _said(tuple(rewards), count, told) if checks else {}, len(missing))


def _simulated(missing: Sequence[Case], workers: int, told: Told) -> Iterator[Drive]:
    if missing:
        told(DRIVING, 0, len(missing))
    return simulated(missing, workers=workers)


def _known(what: str, name: str, known: Sequence[str] | Mapping[str, Any]) -> str:
    if name not in known:
        raise DefinitionError(f"there is no {what} {name!r}, but {', '.join(known)}.{did_you_mean(name, known)}")
    return name


def _cases(study: Study, policies: Sequence[str], seeds: int | None) -> list[Case]:
    """Return the episodes asked for; of the policies named, those that the study has and those it measures by."""
    named = [name for name in study.policies if not policies or name in (*policies, *study.wanted)]
    return list(study.cases(study.seeds if seeds is None else seeds, named))


def _there(ledger: Ledger, study: Study, wanted: Sequence[Case]) -> dict[Case, Drive]:
    """Return the episodes asked for that the ledger has."""
    asked = set(wanted)
    return {drive.case: drive for drive in stored(ledger, study) if drive.case in asked}


def _said(labels: Sequence[str], workers: int, told: Told) -> dict[str, Said]:
    """Return what is said of each version, in their order."""
    told(CHECKING, 0, len(labels))
    answers = {}
    for done, each in enumerate(spread(said, labels, workers=workers), 1):
        answers[each.version] = each
        told(CHECKING, done, len(labels))
    return {label: answers[label] for label in labels}
