"""`plaudit check`: what is wrong with rewards, for people and as a gate."""

import itertools
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click
from rich.text import Text

from plaudit import __version__
from plaudit.atomic import AtomicFile
from plaudit.checks.check import FailOn, list_failing
from plaudit.checks.check import check as check_reward
from plaudit.checks.formats.github import format_github
from plaudit.checks.formats.json import format_json
from plaudit.checks.formats.sarif import format_sarif
from plaudit.checks.report import WIDTH, LocatedReport, format_lines, format_reports, summarise_counts
from plaudit.checks.rules import RULES
from plaudit.checks.rules.registry import Rule
from plaudit.cli.options import seconds_option, tune, tuning_options
from plaudit.cli.outcomes import arrange_outcomes, read_outcomes
from plaudit.errors import did_you_mean
from plaudit.systems import BUILT_IN
from plaudit.systems.arguments import find_reward
from plaudit.systems.commands import output_option
from plaudit.terminal import INTERNAL, Screen, build_table, handle_signals, show_status

Format = Literal["text", "json", "sarif", "github"]
FOUND = 1
"""There are findings that keep the gate shut."""
STANDARD = "-"
_STYLES = {"": "", "title": "bold", "warning": "bold yellow", "advice": "bold cyan", "dim": "dim"}
_EXAMPLE = "Example: plaudit check roadsense parking.py:reward --ignore jump"


def _check_codes(ctx: click.Context, option: click.Parameter, given: Sequence[str] | str | None) -> object:
    for code in [given] if isinstance(given, str) else given or ():
        if code not in RULES:
            near = did_you_mean(code, RULES)
            raise click.BadParameter(f"there is no rule {code!r}.{near} `plaudit check --rules` lists them.")
    return given


@click.command(epilog=_EXAMPLE)
@click.argument("rewards", metavar="[REWARD]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Check all built-in rewards in their default version.")
@click.option(
    "--format",
    "chosen",
    type=click.Choice(["text", "json", "sarif", "github"]),
    help="text for people, which is the default; json for scripts; sarif for code scanning; github for workflow logs.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option(
    "--fail-on",
    type=click.Choice(["warning", "advice", "never"]),
    default="warning",
    show_default=True,
    help="The mildest finding that makes the exit code 1.",
)
@click.option("--only", metavar="CODE", multiple=True, callback=_check_codes, help="Run this rule; can be repeated.")
@click.option("--ignore", metavar="CODE", multiple=True, callback=_check_codes, help="Leave it out; can be repeated.")
@seconds_option("--timeout", 3.0, "The most time for one question to the solver.")
@seconds_option("--limit", 60.0, "About the most time that one reward may take.")
@tuning_options()
@click.option("--outcomes", metavar="FILE", help="Episodes, worst first: a JSON object from names to lists of rows.")
@output_option("Write the report there; it appears when it is complete.")
@click.option("--rules", is_flag=True, help="List every rule and exit.")
@click.option("--explain", metavar="CODE", callback=_check_codes, help="Say why a rule matters and exit.")
def check(
    rewards: Sequence[str],
    everything: bool,
    chosen: Format | None,
    as_json: bool,
    fail_on: FailOn,
    only: Sequence[str],
    ignore: Sequence[str],
    timeout: float,
    limit: float,
    settings: Sequence[str],
    params: str | None,
    outcomes: str | None,
    output: str | None,
    rules: bool,
    explain: str | None,
) -> None:
    """Find what is wrong with each REWARD, and show it.

    Loops that pay, terms that teach nothing, wrong signs and more: findings come with concrete inputs that show the
    flaw, and with what to do. Those that a reward allows, with its reason, are counted apart; questions that stay
    open are said.

    The exit code is 0 if there is nothing as grave as --fail-on, 1 if there is, 2 if a reward could not be checked,
    4 if a rule failed, which is a fault of plaudit; the others are run all the same.
    """
    form = _choose_format(chosen, as_json)
    if rules or explain:
        if form not in ("text", "json"):
            raise click.UsageError(f"rules are listed as text or json, not as {form}.")
        print_rules(explain, as_json=form == "json")
        return
    if not rewards and not everything:
        raise click.UsageError("name a REWARD, or give --all for all built-in ones.")
    names = _list_names(rewards, everything)
    job = CheckJob(names, tuple(only), tuple(ignore), timeout, limit, params, tuple(settings), outcomes)
    done: list[LocatedReport] = []
    with handle_signals() as stop, open_report(output) as file:
        done = check_rewards(job, stop)
        print_reports(done, form, file)
    if any(each.report.failed for each in done):
        raise click.exceptions.Exit(INTERNAL)
    if any(list_failing(each.report, fail_on) for each in done):
        raise click.exceptions.Exit(FOUND)


def _choose_format(chosen: Format | None, as_json: bool) -> Format:
    if as_json and chosen not in (None, "json"):
        raise click.UsageError(f"--json and --format {chosen} cannot be combined; choose one.")
    return "json" if as_json else chosen or "text"


def _list_names(rewards: Sequence[str], everything: bool) -> tuple[str, ...]:
    """Return what to check, each once."""
    return tuple(dict.fromkeys([*(BUILT_IN if everything else ()), *rewards]))


@dataclass(frozen=True, slots=True)
class CheckJob:
    """What is asked for."""

    rewards: tuple[str, ...]
    only: tuple[str, ...]
    ignore: tuple[str, ...]
    timeout: float
    limit: float
    params: str | None
    settings: tuple[str, ...]
    outcomes: str | None


def check_rewards(job: CheckJob, stop: Callable[[], None] = lambda: None) -> list[LocatedReport]:
    """Return a report for each reward; one that cannot be loaded is an error before any is checked.

    `stop` is called after each, and may raise.
    """
    episodes = None if job.outcomes is None else read_outcomes(Path(job.outcomes))
    loaded = {text: tune(find_reward(text), job.params, job.settings) for text in job.rewards}
    done = []
    with _show_name(len(loaded)) as show:
        for text, reward in loaded.items():
            show(text)
            outcomes = None if episodes is None else arrange_outcomes(episodes, reward)
            report = check_reward(
                reward,
                only=job.only,
                ignore=job.ignore,
                outcomes=outcomes,
                timeout=job.timeout,
                limit=job.limit,
            )
            stop()
            file = str(Path.cwd() / text) if Path(text).is_file() else None
            done.append(LocatedReport.of(report, reward, file=file))
    return done


@contextmanager
def _show_name(count: int) -> Iterator[Callable[[str], None]]:
    """Yield what shows which reward is being checked: on a terminal, where it is one of several."""
    if count == 1:
        yield lambda name: None
        return
    numbers = itertools.count(1)
    with show_status("") as update:
        yield lambda name: update(f"checking {name} ({next(numbers)} of {count})")


@contextmanager
def open_report(output: str | None) -> Iterator[AtomicFile | None]:
    """Open the file that the report becomes, if it is to become one; a file that cannot be written fails here."""
    if output in (None, STANDARD):
        yield None
        return
    assert output is not None
    with AtomicFile(output) as draft:
        yield draft


def print_reports(checked: Sequence[LocatedReport], form: Format, draft: AtomicFile | None) -> None:
    """Print reports, or write them and say so in a line."""
    if draft is not None:
        draft.file.write(render(checked, form))
        draft.commit()
        name = checked[0].name if len(checked) == 1 else f"{len(checked)} rewards"
        click.echo(
            f"{name}: {summarise_counts([each.report for each in checked])}. The report is in {draft.name}.", err=True
        )
    elif form == "text":
        _print_text(checked)
    else:
        click.echo(render(checked, form), nl=False)


def render(checked: Sequence[LocatedReport], form: Format) -> str:
    """Return reports as one text in the format `form`."""
    if form == "json":
        return json.dumps(format_json(checked, root=Path.cwd()), indent=2) + "\n"
    if form == "sarif":
        return json.dumps(format_sarif(checked, root=Path.cwd(), version=__version__), indent=2) + "\n"
    if form == "github":
        return format_github(checked, root=os.environ.get("GITHUB_WORKSPACE") or Path.cwd())
    return format_reports(checked)


def _print_text(checked: Sequence[LocatedReport]) -> None:
    screen = Screen()
    for line in format_lines(checked, width=min(screen.width, WIDTH)):
        screen.print(Text.assemble(*((span.text, _STYLES[span.part]) for span in line)), soft_wrap=True)


def print_rules(explain: str | None, *, as_json: bool) -> None:
    """Print all rules, or the one to `explain`."""
    rules = [rule for rule in RULES.values() if explain in (None, rule.code)]
    if as_json:
        click.echo(json.dumps([describe_rule(rule) for rule in rules], indent=2))
    elif explain is not None:
        _print_explained(rules[0])
    else:
        _print_table(rules)


def describe_rule(rule: Rule) -> dict[str, str]:
    """Return a rule as plain data."""
    return {"code": rule.code, "severity": rule.severity, "why": rule.why, "page": locate_page(rule)}


def locate_page(rule: Rule) -> str:
    """Return where the documentation says more.

    >>> locate_page(RULES["jump"])
    'docs/checks/jump.md'
    """
    return f"docs/checks/{rule.code}.md"


def _print_table(rules: list[Rule]) -> None:
    table = build_table("rule", "severity", "why it matters")
    for rule in rules:
        table.add_row(rule.code, rule.severity, rule.why)
    Screen().print(table)


def _print_explained(rule: Rule) -> None:
    screen = Screen()
    screen.print(Text.assemble((rule.code, "bold"), f"  {rule.severity}"))
    screen.print(rule.why)
    screen.print(f'\nWhere it is meant, say so: @term(allow={{"{rule.code}": "the reason"}}).', soft_wrap=True)
    screen.print(f"Examples and repairs: {locate_page(rule)}", soft_wrap=True)
