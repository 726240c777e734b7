"""`plaudit experiment roadsense`: fixed policies behind a convoy, paid by every version of its reward."""

from collections.abc import Sequence

import click

from plaudit.plugins.options import COUNT, output_option, refuse_empty

OUTPUT = "runs/experiment-roadsense"


def _parse_names(context: click.Context, option: click.Parameter, given: Sequence[str]) -> tuple[str, ...]:
    """Return names that were given one by one or with commas between, each once."""
    if any(not text.replace(",", " ").strip() for text in given):
        raise click.BadParameter("it names nothing; leave the option out for all of them.")
    return tuple(dict.fromkeys(name.strip() for text in given for name in text.split(",") if name.strip()))


@click.command("roadsense", epilog="Example: plaudit experiment roadsense --only R0,R8 --plot convoy.svg")
@click.option(
    "--seeds",
    metavar="COUNT",
    type=click.IntRange(1, 10_000),
    default=20,
    show_default=True,
    help="Drives of each policy and situation.",
)
@click.option("--study", metavar="NAMES", multiple=True, callback=_parse_names, help="Only these of the four studies.")
@click.option("--only", metavar="VERSIONS", multiple=True, callback=_parse_names, help="Only these versions: R0,R8.")
@click.option("--reward", metavar="REWARD", multiple=True, help="Score a reward of your own too: mine.py:reward.")
@click.option(
    "--policy",
    metavar="NAMES",
    multiple=True,
    callback=_parse_names,
    help="Only these policies or runs of `plaudit train roadsense`, and those wanted.",
)
@output_option(
    "Keep ledger, report and plot there, or go on with those there.",
    metavar="FOLDER",
    default=OUTPUT,
    show_default=True,
    callback=refuse_empty,
)
@click.option("--ledger", metavar="LEDGER", callback=refuse_empty, help="Record there, not in the folder.")
@click.option("--plot", metavar="FILE", multiple=True, help="Draw it there too: a .png or .svg.")
@click.option("--spread", is_flag=True, help="Show the standard deviation over seeds.")
@click.option("--check/--no-check", default=True, help="Ask `plaudit check` about every version, or do not.")
@click.option("--workers", metavar="COUNT", type=COUNT, help="Processes that drive at once; one for each core.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON object for a script.")
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
    """Let fixed policies drive behind a convoy, and see which of them every version of the reward pays best.

    Some drive as one would wish, others look at nothing: always the same action, or a random one. They drive on SUMO,
    with and without a hazard ahead, on a road where SUMO keeps the gap and on the one that policies are trained on,
    where cars collide; every version from R0 on scores the same drives. Hacks are marked: policies that park or crash
    and earn more than driving. Beside it stands what `plaudit check` says from the definition alone.

    Every step is recorded in a ledger with all that was measured. What is there already is scored again and not driven
    again: a second run takes seconds, and one that was stopped goes on.

    The exit code is 0 if the experiment is complete, 2 if it could not be done, 130 if it was stopped.
    """
    from plaudit.systems.roadsense.commands.experiment_run import ExperimentJob, run_experiment_job

    run_experiment_job(
        ExperimentJob(seeds, study, only, reward, policy, output, ledger, plot, spread, check, workers, quiet, as_json)
    )
