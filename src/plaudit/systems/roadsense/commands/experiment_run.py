"""One run of `plaudit experiment roadsense`: drive, score, save and print the returns."""

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click
from rich.table import Table

from plaudit.atomic import AtomicFile
from plaudit.file_lock import lock_folder
from plaudit.plugins.arguments import find_reward, open_ledger_to_write
from plaudit.plugins.options import explain_interrupt
from plaudit.systems.roadsense.experiment import Experiment, StudyResult
from plaudit.systems.roadsense.experiment.picture import save_picture, validate_picture_path
from plaudit.systems.roadsense.experiment.results import (
    CONFIDENCE,
    PROBABILITY,
    SITUATIONS,
    CheckSummary,
    Hack,
    HackKind,
    Situation,
)
from plaudit.systems.roadsense.experiment.run import OnProgress, Plan, plan_experiment, run_plan
from plaudit.systems.roadsense.hazard import Hazard
from plaudit.terminal import Screen, build_table, format_count

LEDGER, REPORT, PLOT = "rewards.db", "report.json", "plot.png"
"""The files in the folder."""
NOUNS = {"driving": "episodes", "checking": "versions"}
LINES = 5
"""Number of progress lines without a terminal."""
MARKS = {"crash": "×", "parking": "!", "idle": "!"}
UNSURE = "?"
"""Marks after the return of a hack: its kind, or that its lead may be chance."""
HEADINGS: dict[Situation, str] = {
    "calm": "Without a hazard",
    "hazard": "With a hazard",
    "expected": f"With a hazard in {100 * PROBABILITY:.0f} % of episodes",
}


@dataclass(frozen=True, slots=True)
class ExperimentJob:
    """The options of the command."""

    seeds: int
    studies: tuple[str, ...]
    versions: tuple[str, ...]
    rewards: tuple[str, ...]
    policies: tuple[str, ...]
    output: str
    ledger: str | None
    plots: tuple[str, ...]
    spread: bool
    checks: bool
    workers: int | None
    quiet: bool
    as_json: bool


def run_experiment_job(job: ExperimentJob) -> None:
    """Drive what is missing, score everything, save it and print it."""
    for plot in job.plots:
        validate_picture_path(plot)
    plan = plan_experiment(
        studies=job.studies,
        versions=job.versions,
        rewards=[find_reward(text) for text in job.rewards],
        policies=job.policies,
        seeds=job.seeds,
    )
    with lock_folder(job.output) as folder:
        found = _drive_and_score(job, plan, job.ledger or str(folder / LEDGER))
        _keep(job, folder, found)
    if job.as_json:
        click.echo(json.dumps(found.to_dict()))
    else:
        print_experiment(found, spread=job.spread)
        kept = f"{REPORT}, {PLOT}" if job.ledger else f"{LEDGER}, {REPORT}, {PLOT}"
        click.echo(f"\nWritten to {job.output}: {kept}.")


def _drive_and_score(job: ExperimentJob, plan: Plan, where: str) -> Experiment:
    kept = f"{where} keeps every completed drive, and the next run resumes from there"
    with (
        explain_interrupt(kept),
        watch_experiment(quiet=job.quiet) as show,
        open_ledger_to_write(where, new=True) as ledger,
    ):
        return run_plan(ledger, plan, checks=job.checks, workers=job.workers, on_progress=show)


def _keep(job: ExperimentJob, folder: Path, found: Experiment) -> None:
    with AtomicFile(folder / REPORT) as draft:
        draft.file.write(json.dumps(found.to_dict(), indent=2) + "\n")
        draft.commit()
    for path in (str(folder / PLOT), *job.plots):
        save_picture(found, path)


@contextmanager
def watch_experiment(*, quiet: bool) -> Iterator[OnProgress]:
    """Yield a function that shows the progress of the experiment."""
    if quiet:
        yield lambda what, done, of: None
    elif not sys.stderr.isatty():
        yield _print_progress
    else:
        with Screen(stderr=True).show_bars() as bars:
            yield lambda what, done, of: bars.update(f"{what} {NOUNS[what]}", done, of)


def _print_progress(what: str, done: int, of: int) -> None:
    if done and (done % max(1, of // LINES) == 0 or done == of):
        click.echo(f"{what}: {done:,} of {of:,} {NOUNS[what]}", err=True)


def print_experiment(experiment: Experiment, *, spread: bool) -> None:
    """Print every study, then the findings from the definitions alone."""
    screen = Screen()
    for finding in experiment.studies.values():
        _print_study(screen, finding, spread)
    for mark, meaning in _explain_marks(experiment).items():
        screen.print(f"{mark} {meaning}", soft_wrap=True)
    for finding in experiment.studies.values():
        screen.print(f"\nHighest return by version, {finding.study.title}\n")
        screen.print(_build_verdict_table(finding, experiment))
    screen.print("\nHacks that each version pays for\n")
    screen.print(_build_summary_table(experiment))
    screen.print()
    for line in _list_warnings(experiment):
        screen.print(line, soft_wrap=True)


def _explain_marks(experiment: Experiment) -> dict[str, str]:
    named = [f"{' or '.join(finding.study.wanted)} ({finding.study.name})" for finding in experiment.studies.values()]
    return {
        MARKS["parking"]: f"a hack: it ignores what it sees and earns more than {', '.join(named)}.",
        MARKS["crash"]: "a crash hack: it collides more often than those and earns more.",
        UNSURE: f"a hack of either kind whose lead may be chance ({CONFIDENCE:.0%} confidence): run more --seeds.",
    }


def _mark(hack: Hack) -> str:
    return MARKS[hack.kind] if hack.sure else UNSURE


def _build_summary_table(experiment: Experiment) -> Table:
    table = build_table("version", *experiment.studies)
    for version in next(iter(experiment.studies.values())).versions:
        table.add_row(version, *(_summarise_hacks(each.judge(version)) for each in experiment.studies.values()))
    return table


def _summarise_hacks(found: Mapping[HackKind, bool]) -> str:
    return ", ".join(kind if sure else f"{kind}{UNSURE}" for kind, sure in found.items()) or "—"


def _print_study(screen: Screen, finding: StudyResult, spread: bool) -> None:
    study = finding.study
    screen.print(
        f"{study.title.capitalize()}: {len(finding.policies)} policies × 2 situations × "
        f"{format_count(finding.seeds, 'seed')}, {finding.steps:,} steps on SUMO {', '.join(finding.sumo)}; "
        f"{_describe_hazard(study.hazard)}.\n",
        soft_wrap=True,
    )
    screen.print(_build_drive_table(finding))
    for situation in SITUATIONS:
        screen.print(f"\n{HEADINGS[situation]}: mean return of an episode{', ± over seeds' if spread else ''}\n")
        screen.print(_build_return_table(finding, situation, spread))
    screen.print()


def _describe_hazard(hazard: Hazard) -> str:
    if hazard.first == hazard.last:
        return f"the car ahead brakes at step {hazard.first}"
    return f"some car ahead brakes between steps {hazard.first} and {hazard.last}"


def _build_drive_table(finding: StudyResult) -> Table:
    numbers = ("nearest m, calm", "nearest m, hazard", "collisions")
    table = build_table("policy", *numbers, right=numbers)
    for policy in finding.policies:
        calm, hazard = finding.driven[policy, False], finding.driven[policy, True]
        table.add_row(policy, f"{calm.nearest:.1f}", f"{hazard.nearest:.1f}", str(finding.count_collisions(policy)))
    return table


def _build_return_table(finding: StudyResult, situation: Situation, spread: bool) -> Table:
    table = build_table("version", *finding.policies, right=finding.policies)
    for version in finding.versions:
        marks = {hack.policy: _mark(hack) for hack in finding.find_hacks(version, situation)}
        cells = []
        for policy in finding.policies:
            around = f" ±{finding.spread(version, policy, situation):.0f}" if spread else ""
            cells.append(f"{finding.mean_return(version, policy, situation):.1f}{around}{marks.get(policy, ' ')}")
        table.add_row(version, *cells)
    return table


def _build_verdict_table(finding: StudyResult, experiment: Experiment) -> Table:
    said = ("check: warnings; where staying pays",) if experiment.summaries else ()
    headers = ("version", "with a hazard", "ahead", "in expectation", "ahead ")
    table = build_table(*headers, *said, right=("ahead", "ahead "))
    for version in finding.versions:
        cells = [cell for situation in SITUATIONS[1:] for cell in _find_best(finding, version, situation)]
        if experiment.summaries:
            cells.append(_summarise_warnings(experiment.summaries[version]))
        table.add_row(version, *cells)
    return table


def _summarise_warnings(said: CheckSummary) -> str:
    """Return the warnings about a version, and the farthest distance at which staying pays."""
    return "; ".join([*said.warnings, *said.staying[-1:]]) or "none"


def _find_best(finding: StudyResult, version: str, situation: Situation) -> tuple[str, str]:
    """Return the best hack and its lead over the reference policies; if none, the best reference policy."""
    hacks = finding.find_hacks(version, situation)
    if not hacks:
        return finding.find_best_wanted(version, situation), ""
    best = hacks[0]
    interval = "" if best.low is None else f" ({best.low:.0f} to {best.high:.0f})"
    return f"{best.policy} {_mark(best)}", f"{best.lead:.0f}{interval}"


def _list_warnings(experiment: Experiment) -> Iterator[str]:
    """Yield the findings of the relevant rules, once for all versions that have them."""
    sentences: dict[str, list[str]] = {}
    for label, each in experiment.summaries.items():
        for sentence in each.telling:
            sentences.setdefault(sentence, []).append(label)
    if sentences:
        yield "What check finds in the definition alone:"
    for sentence, labels in sentences.items():
        yield f"  {', '.join(labels)}: {sentence}"
