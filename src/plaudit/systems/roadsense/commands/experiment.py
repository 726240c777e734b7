"""`plaudit experiment roadsense`: fixed policies behind a convoy, scored by every reward version."""

from collections.abc import Sequence

import click

from plaudit.plugins.options import COUNT, output_option, refuse_empty

OUTPUT = "runs/experiment-roadsense"


def _parse_names(context: click.Context, option: click.Parameter, given: Sequence[str]) -> tuple[str, ...]:
    """Return names that were given one by one or separated by commas, without duplicates."""
    if any(not text.replace(",", " ").strip() for text in given):
        raise click.BadParameter("it is empty; omit the option to select all.")
    return tuple(dict.fromkeys(name.strip() for text in given for name in text.split(",") if name.strip()))


@click.command("roadsense", epilog="Example: plaudit experiment roadsense --only R0,R8 --plot convoy.svg")
@click.option(
    "--seeds",
    metavar="COUNT",
    type=click.IntRange(1, 10_000),
    default=20,
    show_default=True,
    help="Drives per policy and situation.",
)
@click.option("--study", metavar="NAMES", multiple=True, callback=_parse_names, help="Only these studies.")
@click.option(
    "--only", metavar="VERSIONS", multiple=True, callback=_parse_names, help="Only these versions, such as R0,R8."
)
@click.option("--reward", metavar="REWARD", multiple=True, help="Also score your own reward: mine.py:reward.")
@click.option(
    "--policy",
    metavar="NAMES",
    multiple=True,
    callback=_parse_names,
    help="Only these policies or runs of `plaudit train roadsense`, and the reference policies.",
)
@output_option(
    "Folder for ledger, report and plot; resumes a run in it.",
    metavar="FOLDER",
    default=OUTPUT,
    show_default=True,
    callback=refuse_empty,
)
@click.option(
    "--ledger", metavar="LEDGER", callback=refuse_empty, help="Record in this ledger instead of one in the folder."
)
@click.option("--plot", metavar="FILE", multiple=True, help="Also write the plot to this .png or .svg.")
@click.option("--spread", is_flag=True, help="Show the standard deviation over seeds.")
@click.option("--check/--no-check", default=True, show_default=True, help="Run `plaudit check` on every version.")
@click.option("--workers", metavar="COUNT", type=COUNT, help="Parallel processes.  [default: one per core]")
@click.option("--quiet", is_flag=True, help="Do not show progress.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def experiment(
    seeds: int,
    study: tuple[str, ...],
    only: tuple[str, ...],
    reward: tuple[str, ...],
    policy: tuple[str, ...],
    output: str,
    ledger: str | None,
    plot: tuple[str, ...],
    spread: bool,
    check: bool,
    workers: int | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Test fixed policies under every reward version.

    Fixed policies drive behind a convoy on SUMO: reference policies that drive well, and baseline policies that
    ignore their observation (one action, or random ones). They drive with and without a hazard ahead, on a road where
    SUMO keeps the gap and on the training road, where cars collide. Every version scores the same drives. Hacks are
    marked: policies that park or crash and earn more than driving. `plaudit check` adds its findings from the
    definitions alone.

    Every step is recorded in a ledger. Recorded drives are scored again but not driven again, so a second run takes
    seconds, and an interrupted run resumes.

    Exit code: 0 if the experiment is complete, 2 if it failed, 130 if it was stopped.
    """
    from plaudit.systems.roadsense.commands.experiment_run import ExperimentJob, run_experiment_job

    run_experiment_job(
        ExperimentJob(seeds, study, only, reward, policy, output, ledger, plot, spread, check, workers, quiet, as_json)
    )
