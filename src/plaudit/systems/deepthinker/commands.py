"""`plaudit run deepthinker`: a router learns which model to use for each phase of a research agent."""

import json
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from rich.table import Table

from plaudit.atomic import AtomicFile
from plaudit.file_lock import lock_folder
from plaudit.learn.saving import save
from plaudit.plugins.options import SEED, describe_kept, explain_interrupt, output_option, refuse_empty
from plaudit.systems.deepthinker import RewardStore, reward
from plaudit.systems.deepthinker.advisor import TIERS
from plaudit.systems.deepthinker.loop import Loop
from plaudit.systems.deepthinker.simulated import Report, build_report, simulate, validate_store
from plaudit.systems.deepthinker.simulated.report import FRESH
from plaudit.systems.deepthinker.simulated.run import ROUTER
from plaudit.systems.deepthinker.simulated.world import PHASES
from plaudit.terminal import Screen, build_table, format_count, show_progress

ROUTER_FILE = "router.json"
REPORT_FILE = "report.json"


@click.command("deepthinker", epilog="Example: plaudit run deepthinker --missions 60 --seed 7 -o runs/deepthinker")
@click.option(
    "--missions",
    metavar="COUNT",
    type=click.IntRange(2, 100_000),
    default=40,
    show_default=True,
    help="Missions of six phases each.",
)
@click.option("--seed", metavar="NUMBER", type=SEED, default=7, show_default=True, help="Random seed.")
@output_option("Folder for rewards, router and report; resumes a run in it.", metavar="FOLDER", callback=refuse_empty)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def run(missions: int, seed: int, output: str | None, as_json: bool) -> None:
    """Run a router that learns which model to use.

    Over simulated missions, the router chooses one of three models for each phase, and learns from its reward, as in
    the real loop. Only the models are simulated, so the rewards of the other two are known. The router is compared
    with the best fixed choice and the best choice in hindsight. The same seed gives the same run; --output resumes an
    interrupted one.
    """
    with ExitStack() as stack:
        stack.enter_context(explain_interrupt(describe_kept(output)))
        folder = stack.enter_context(lock_folder(output or stack.enter_context(TemporaryDirectory())))
        store = stack.enter_context(RewardStore(folder))
        validate_store(store, missions=missions, seed=seed)
        with show_progress("missions") as show:
            loop, met = simulate(store, missions=missions, seed=seed, on_mission=show)
        report = build_report(loop, met, missions=missions, seed=seed)
        if output is not None:
            _keep(output, loop, report)
        if as_json:
            _print_json(report, store)
        else:
            _print_report(report, store, output)


def _keep(folder: str, loop: Loop, report: Report) -> None:
    save(Path(folder, ROUTER_FILE), ROUTER, loop.router.state, last=loop.router.last)
    with AtomicFile(Path(folder, REPORT_FILE)) as draft:
        draft.file.write(json.dumps(report.to_dict(), indent=2) + "\n")
        draft.commit()


def _print_json(report: Report, store: RewardStore) -> None:
    """Print the report and the record that earned least, without times."""
    record = store.ledger[report.telling]
    telling = {"phase": record.phase, "run": record.run, "context": record.context, "signal": record.signal.to_dict()}
    click.echo(json.dumps(report.to_dict() | {"telling": {"record": record.id, **telling}}))


def _print_report(report: Report, store: RewardStore, out: str | None) -> None:
    screen = Screen()

    def say(text: str) -> None:
        screen.print(text, soft_wrap=True)

    missions = format_count(report.missions, "mission")
    what = f"{missions} of {len(PHASES)} phases, each run by one of {len(TIERS)} models."
    say(f"{reward.name}@{reward.version}, seed {report.seed}: {what}\n")
    screen.print(_build_policy_table(report))
    say(f"\n{_compare_router(report)}\n\nMean reward of each model by type of phase, from the ledger.\n")
    screen.print(_build_phase_table(report))
    say("\nDrift corrections, and the mean reward of the next phase.\n")
    screen.print(_build_correction_table(report))
    say(f"\nThe learned policies on {FRESH} held-out missions. With {reward.version}, tokens cost almost nothing;")
    say("rescoring the same ledger with rescaled teaches the router to save them.\n")
    screen.print(_build_fresh_table(report))
    say(f"\nThe phase with the lowest reward:\n\n{store.ledger.why(report.telling)}")
    if out is not None:
        say(f"\nWritten to {out}: rewards.db, {ROUTER_FILE}, {REPORT_FILE}.")


def _compare_router(report: Report) -> str:
    """Return a sentence that compares the router with the best fixed choice."""
    how = "more" if report.margin >= 0 else "LESS"
    amount = f"{abs(report.margin):.4f} ± {report.margin_error:.4f} {how} per phase"
    return f"The router earned {amount} than the best fixed choice, {report.fixed}, exploration included."


def _build_policy_table(report: Report) -> Table:
    table = build_table("policy", "reward", "± error", "tokens", right=("reward", "± error", "tokens"))
    for row in report.policies:
        table.add_row(row.policy, f"{row.reward:+.4f}", f"{row.error:.4f}", f"{row.tokens:,.0f}")
    return table


def _build_phase_table(report: Report) -> Table:
    table = build_table("phase", *TIERS, "advice", "confidence", right=(*TIERS, "confidence"))
    for row in report.types:
        cells = [
            "never" if mean is None else f"{mean:+.3f} ×{times}"
            for mean, times in zip(row.rewards, row.times, strict=True)
        ]
        table.add_row(row.phase, *cells, row.advised, f"{row.confidence:.0%}")
    return table


def _build_correction_table(report: Report) -> Table:
    numbers = ("times", "reward", "drift removed")
    table = build_table("correction", *numbers, right=numbers)
    for row in report.corrections:
        figures = ("—" if value is None else f"{value:+.3f}" for value in (row.reward, row.drift))
        table.add_row(row.action, str(row.times), *figures)
    return table


def _build_fresh_table(report: Report) -> Table:
    versions = tuple(report.fresh[0].rewards)
    table = build_table("policy", *versions, "tokens", right=(*versions, "tokens"))
    for row in report.fresh:
        table.add_row(row.policy, *(f"{row.rewards[each]:+.4f}" for each in versions), f"{row.tokens:,.0f}")
    return table
