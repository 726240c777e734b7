"""A simulated run of the research agent on the terminal, and in a folder."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from plaudit.cli.screen import Screen, table
from plaudit.drafts import Draft
from plaudit.learn.saving import save
from plaudit.ledger.wording import counted
from plaudit.systems.deepthinker import RewardStore, reward
from plaudit.systems.deepthinker.advisor import TIERS
from plaudit.systems.deepthinker.loop import Loop
from plaudit.systems.deepthinker.simulated import Report
from plaudit.systems.deepthinker.simulated.report import FRESH
from plaudit.systems.deepthinker.simulated.run import ROUTER
from plaudit.systems.deepthinker.simulated.world import PHASES

ROUTER_FILE = "router.json"
REPORT_FILE = "report.json"


@contextmanager
def progress(missions: int, check: Callable[[], None]) -> Iterator[Callable[[int, int], None]]:
    """Show on stderr, where that is a terminal, how many missions are done; `check` raises where a signal came."""
    columns = (TextColumn("missions"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    screen = Screen(stderr=True)
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as shown:
        task = shown.add_task("missions", total=missions)

        def told(done: int, of: int) -> None:
            check()
            shown.update(task, completed=done)

        yield told


def keep(folder: str, loop: Loop, report: Report) -> None:
    """Write what the router knows and the report to a folder."""
    save(Path(folder, ROUTER_FILE), ROUTER, loop.router.state, last=loop.router.last)
    with Draft(Path(folder, REPORT_FILE)) as draft:
        draft.file.write(json.dumps(report.to_dict(), indent=2) + "\n")
        draft.commit()


def print_json(report: Report, store: RewardStore) -> None:
    """Print the report, and the record that earned least, without what a clock or a machine has to do with."""
    record = store.ledger[report.telling]
    telling = {"phase": record.phase, "run": record.run, "context": record.context, "signal": record.signal.to_dict()}
    click.echo(json.dumps(report.to_dict() | {"telling": {"record": record.id, **telling}}))


def print_report(report: Report, store: RewardStore, out: str | None) -> None:
    """Print what was earned and why."""
    screen = Screen()

    def say(text: str) -> None:
        screen.print(text, soft_wrap=True)

    what = f"{counted(report.missions, 'mission')} of {len(PHASES)} phases, each run by one of {len(TIERS)} models."
    say(f"{reward.name}@{reward.version}, seed {report.seed}: {what}\n")
    screen.print(_policies(report))
    say(f"\n{_margin(report)}\n\nWhy, by the ledger: the mean reward of each model in each type of phase.\n")
    screen.print(_types(report))
    say("\nWhat was done about drift, and what the phase after it earned.\n")
    screen.print(_corrections(report))
    say(
        f"\nWhat was learnt, in {FRESH} missions that nobody has seen. By {reward.version} tokens cost next to nothing;"
    )
    say("the same ledger, scored anew by rescaled, teaches to save them.\n")
    screen.print(_fresh(report))
    say(f"\nThe phase that earned least:\n\n{store.ledger.why(report.telling)}")
    if out is not None:
        say(f"\nWritten to {out}: rewards.db, {ROUTER_FILE}, {REPORT_FILE}.")


def _margin(report: Report) -> str:
    """Return how the router compares with the best fixed choice, in a sentence."""
    how = "more" if report.margin >= 0 else "LESS"
    amount = f"{abs(report.margin):.4f} ± {report.margin_error:.4f} a phase {how}"
    return f"The router earned {amount} than the best fixed choice, {report.fixed}, all that it tried included."


def _policies(report: Report) -> Table:
    made = table("policy", "reward", "± error", "tokens", right=("reward", "± error", "tokens"))
    for row in report.policies:
        made.add_row(row.policy, f"{row.reward:+.4f}", f"{row.error:.4f}", f"{row.tokens:,.0f}")
    return made


def _types(report: Report) -> Table:
    made = table("phase", *TIERS, "advised now", "sure", right=(*TIERS, "sure"))
    for row in report.types:
        cells = [
            "never" if mean is None else f"{mean:+.3f} ×{times}"
            for mean, times in zip(row.rewards, row.times, strict=True)
        ]
        made.add_row(row.phase, *cells, row.advised, f"{row.confidence:.0%}")
    return made


def _corrections(report: Report) -> Table:
    numbers = ("times", "reward", "drift taken off")
    made = table("correction", *numbers, right=numbers)
    for row in report.corrections:
        figures = ("—" if value is None else f"{value:+.3f}" for value in (row.reward, row.drift))
        made.add_row(row.action, str(row.times), *figures)
    return made


def _fresh(report: Report) -> Table:
    versions = tuple(report.fresh[0].rewards)
    made = table("policy", *versions, "tokens", right=(*versions, "tokens"))
    for row in report.fresh:
        made.add_row(row.policy, *(f"{row.rewards[each]:+.4f}" for each in versions), f"{row.tokens:,.0f}")
    return made
