"""`plaudit run deepthinker`: a research agent learns which model to run its phases with."""

import click

from plaudit.cli.naming import named


@click.command(epilog="Example: plaudit run deepthinker --missions 60 --seed 7 --out runs/deepthinker")
@click.option(
    "--missions",
    metavar="COUNT",
    type=click.IntRange(2, 100_000),
    default=40,
    show_default=True,
    help="Missions of six phases each.",
)
@click.option(
    "--seed",
    metavar="NUMBER",
    type=click.IntRange(0, 2**32 - 1),
    default=7,
    show_default=True,
    help="What all chance depends on.",
)
@click.option(
    "-o",
    "--out",
    metavar="FOLDER",
    callback=named,
    help="Keep rewards, router and report there, or go on with those there.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON for a script.")
def deepthinker(missions: int, seed: int, out: str | None, as_json: bool) -> None:
    """Let a router learn, over simulated missions, which of three models is good at what.

    Every phase is chosen, run, rewarded, recorded and learnt from, as in the real loop; only the models are simulated,
    so that it is known what the other two would have earned. The router is compared with the best fixed choice and with
    the best choice in hindsight. The same seed gives the same run, and a run that was stopped goes on with --out.
    """
    from contextlib import ExitStack
    from tempfile import TemporaryDirectory

    from plaudit.cli.errors import terminable
    from plaudit.cli.run.deepthinker_prints import keep, print_json, print_report, progress
    from plaudit.cli.run.folder import stoppable
    from plaudit.systems.alone import alone_in
    from plaudit.systems.deepthinker import RewardStore
    from plaudit.systems.deepthinker.simulated import check_one_run, reported, simulate

    with ExitStack() as stack:
        check = stack.enter_context(terminable())
        stack.enter_context(stoppable(out))
        folder = stack.enter_context(alone_in(out or stack.enter_context(TemporaryDirectory())))
        store = stack.enter_context(RewardStore(folder))
        check_one_run(store, missions=missions, seed=seed)
        with progress(missions, check) as told:
            loop, met = simulate(store, missions=missions, seed=seed, told=told)
        report = reported(loop, met, missions=missions, seed=seed)
        if out is not None:
            keep(out, loop, report)
        if as_json:
            print_json(report, store)
        else:
            print_report(report, store, out)
