"""Reports of findings on the command line: the options of a command that makes them, printing, and the exit code."""

import json
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import click
from rich.text import Text

from plaudit import __version__
from plaudit.atomic import AtomicFile
from plaudit.checks.check import FailOn, list_failing
from plaudit.checks.formats.github import format_github
from plaudit.checks.formats.json import format_json
from plaudit.checks.formats.sarif import format_sarif
from plaudit.checks.report import WIDTH, LocatedReport, format_lines, format_reports, summarise_counts
from plaudit.checks.rules.registry import Rule
from plaudit.errors import did_you_mean
from plaudit.plugins.options import Command, add_options, output_option
from plaudit.terminal import ExitCode, Screen, build_table

Format = Literal["text", "json", "sarif", "github"]
STANDARD = "-"
_STYLES = {"": "", "title": "bold", "warning": "bold yellow", "advice": "bold cyan", "note": "cyan", "dim": "dim"}


def report_options(
    list_rules: Callable[[], Collection[str]], listed_by: str, *, loaded: Collection[str] = ()
) -> Callable[[Command], Command]:
    """Return a decorator that adds the options of a command that reports findings; `listed_by` lists its rules.

    Listing all rules may import libraries; a rule that is `loaded` does not wait for that.
    """

    def check_codes(ctx: click.Context, option: click.Parameter, given: Sequence[str] | str | None) -> object:
        for code in [given] if isinstance(given, str) else given or ():
            if code not in loaded and code not in (rules := list_rules()):
                near = did_you_mean(code, rules)
                raise click.BadParameter(f"there is no rule {code!r}.{near} `{listed_by}` lists them.")
        return given

    codes: dict[str, Any] = {"metavar": "CODE", "callback": check_codes}
    return lambda command: add_options(
        command,
        click.option(
            "--format",
            "chosen",
            type=click.Choice(["text", "json", "sarif", "github"]),
            help="Format of the report: sarif for code scanning, github for workflow logs.  [default: text]",
        ),
        click.option("--json", "as_json", is_flag=True, help="Same as --format json."),
        click.option(
            "--fail-on",
            type=click.Choice(["warning", "advice", "note", "never"]),
            default="warning",
            show_default=True,
            help="Exit 1 on findings at or above this severity.",
        ),
        click.option("--only", multiple=True, help="Run only this rule; can be repeated.", **codes),
        click.option("--ignore", multiple=True, help="Skip this rule; can be repeated.", **codes),
        output_option("Write the report to this file."),
        click.option("--rules", is_flag=True, help="List all rules and exit."),
        click.option("--explain", help="Explain a rule and exit.", **codes),
    )


def choose_format(chosen: Format | None, as_json: bool) -> Format:
    """Return the requested format."""
    if as_json and chosen not in (None, "json"):
        raise click.UsageError(f"--json and --format {chosen} cannot be combined; choose one.")
    return "json" if as_json else chosen or "text"


@contextmanager
def open_report(output: str | None) -> Iterator[AtomicFile | None]:
    """Open the file for the report, if there is one; a file that cannot be written fails here."""
    if output in (None, STANDARD):
        yield None
        return
    assert output is not None
    with AtomicFile(output) as draft:
        yield draft


def print_reports(checked: Sequence[LocatedReport], form: Format, draft: AtomicFile | None) -> None:
    """Print reports, or write them to a file and print one line."""
    if draft is not None:
        draft.file.write(render(checked, form))
        draft.commit()
        name = checked[0].name if len(checked) == 1 else f"{len(checked)} rewards"
        click.echo(
            f"{name}: {summarise_counts([each.report for each in checked])}. Report written to {draft.name}.", err=True
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


def exit_with(reports: Sequence[LocatedReport], fail_on: FailOn) -> None:
    """Exit with 1 if there are findings at or above `fail_on`, and with 4 if a rule failed."""
    if any(each.report.failed for each in reports):
        raise click.exceptions.Exit(ExitCode.FAULT)
    if any(list_failing(each.report, fail_on) for each in reports):
        raise click.exceptions.Exit(ExitCode.FOUND)


def print_rules(known: Collection[Rule], explain: str | None, form: Format) -> None:
    """Print all rules, or the one to `explain`."""
    if form not in ("text", "json"):
        raise click.UsageError(f"rules can be listed as text or json, not {form}.")
    rules = [rule for rule in known if explain in (None, rule.code)]
    if form == "json":
        click.echo(json.dumps([describe_rule(rule) for rule in rules], indent=2))
    elif explain is not None:
        _print_explained(rules[0])
    else:
        _print_table(rules)


def describe_rule(rule: Rule) -> dict[str, str]:
    """Return a rule as plain data."""
    return {"code": rule.code, "severity": rule.severity, "why": rule.why, "page": rule.page}


def _print_table(rules: Collection[Rule]) -> None:
    table = build_table("rule", "severity", "why it matters")
    for rule in rules:
        table.add_row(rule.code, rule.severity, rule.why)
    Screen().print(table)


def _print_explained(rule: Rule) -> None:
    screen = Screen()
    screen.print(Text.assemble((rule.code, "bold"), f"  {rule.severity}"))
    screen.print(rule.why)
    screen.print(f'\nIf it is intended, allow it: @term(allow={{"{rule.code}": "the reason"}}).', soft_wrap=True)
    screen.print(f"Examples and fixes: {rule.page}", soft_wrap=True)
