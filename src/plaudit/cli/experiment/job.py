"""What one run of `plaudit experiment roadsense` does: drive, score, keep, print."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from plaudit.cli.errors import terminable
from plaudit.cli.experiment.prints import print_experiment
from plaudit.cli.experiment.watching import watched
from plaudit.cli.ledger.opening import opened_to_write
from plaudit.drafts import Draft
from plaudit.systems.alone import alone_in
from plaudit.systems.roadsense.experiment import Experiment, experiment
from plaudit.systems.roadsense.experiment.experiment import Told
from plaudit.systems.roadsense.experiment.picture import check_name, save_picture

LEDGER, REPORT, PLOT = "rewards.db", "report.json", "plot.png"
"""What the folder keeps."""


@dataclass(frozen=True, slots=True)
class Job:
    """What is asked for."""

    seeds: int | None
    study: str | None
    versions: tuple[str, ...]
    policies: tuple[str, ...]
    out: str
    ledger: str | None
    plots: tuple[str, ...]
    spread: bool
    checks: bool
    workers: int | None
    quiet: bool
    as_json: bool


def carried_out(job: Job) -> None:
    """Drive what lacks, score everything, keep it and print it."""
    for plot in job.plots:
        check_name(plot)
    with alone_in(job.out) as folder:
        found = _found(job, job.ledger or str(folder / LEDGER))
        _keep(job, folder, found)
    if job.as_json:
        click.echo(json.dumps(found.to_dict()))
    else:
        print_experiment(found, spread=job.spread)
        kept = f"{REPORT}, {PLOT}" if job.ledger else f"{LEDGER}, {REPORT}, {PLOT}"
        click.echo(f"\nWritten to {job.out}: {kept}.")


def _found(job: Job, where: str) -> Experiment:
    with terminable() as check, _stoppable(where), watched(quiet=job.quiet) as told:
        return _experiment(job, where, _checking(check, told))


def _experiment(job: Job, where: str, told: Told) -> Experiment:
    with opened_to_write(where, new=True) as ledger:
        return experiment(
            ledger,
            studies=(job.study,) if job.study else (),
            versions=job.versions,
            policies=job.policies,
            seeds=job.seeds,
            checks=job.checks,
            workers=job.workers,
            told=told,
        )


def _keep(job: Job, folder: Path, found: Experiment) -> None:
    with Draft(folder / REPORT) as draft:
        draft.file.write(json.dumps(found.to_dict(), indent=2) + "\n")
        draft.commit()
    for path in (str(folder / PLOT), *job.plots):
        save_picture(found, path)


def _checking(check: Callable[[], None], told: Told) -> Told:
    """Return who is told how it goes, and raises where a signal came."""

    def tell(what: str, done: int, of: int) -> None:
        check()
        told(what, done, of)

    return tell


@contextmanager
def _stoppable(where: str) -> Iterator[None]:
    """Say at Ctrl-C what is kept."""
    try:
        yield
    except KeyboardInterrupt:
        kept = f"{where} keeps every drive that was complete, and the next run goes on"
        click.echo(f"\nStopped: {kept}.", err=True, nl=False)
        raise
