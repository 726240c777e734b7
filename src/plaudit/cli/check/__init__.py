"""`plaudit check`: what is wrong with rewards, for people and as a gate."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from plaudit.cli.errors import terminable
from plaudit.errors import did_you_mean

if TYPE_CHECKING:
    from plaudit.checks.formats.checked import Checked
    from plaudit.checks.gate import FailOn
    from plaudit.cli.check.prints import Format

FOUND = 1
"""There are findings that keep the gate shut."""
LONGEST_TIMEOUT = 3600.0
_EXAMPLE = "Example: plaudit check roadsense parking.py:reward --ignore jump"


def _known_codes(ctx: click.Context, option: click.Parameter, given: Sequence[str] | str | None) -> object:
    from plaudit.checks.rules import RULES

    for code in [given] if isinstance(given, str) else given or ():
        if code not in RULES:
            near = did_you_mean(code, RULES)
            raise click.BadParameter(f"there is no rule {code!r}.{near} `plaudit check --rules` lists them.")
    return given


def _positive(ctx: click.Context, option: click.Parameter, seconds: float) -> float:
    if not 0 < seconds <= LONGEST_TIMEOUT:
        raise click.BadParameter(f"{seconds:g} is not in the range 0 < SECONDS <= {LONGEST_TIMEOUT:g}.")
    return seconds


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
@click.option("--only", metavar="CODE", multiple=True, callback=_known_codes, help="Run this rule; can be repeated.")
@click.option("--ignore", metavar="CODE", multiple=True, callback=_known_codes, help="Leave it out; can be repeated.")
@click.option(
    "--timeout",
    metavar="SECONDS",
    type=float,
    default=3.0,
    show_default=True,
    callback=_positive,
    help="The most time for one question to the solver.",
)
@click.option(
    "--limit",
    metavar="SECONDS",
    type=float,
    default=60.0,
    show_default=True,
    callback=_positive,
    help="About the most time that one reward may take.",
)
@click.option(
    "--set",
    "settings",
    metavar="NAME=VALUE",
    multiple=True,
    help="Another value for a knob, a weight or a clamp; can be repeated.",
)
@click.option("--params", metavar="FILE", help="Such values in a TOML file; --set goes over it.")
@click.option("--outcomes", metavar="FILE", help="Episodes, worst first: a JSON object from names to lists of rows.")
@click.option("-o", "--output", metavar="FILE", help="Write the report there; it appears when it is complete.")
@click.option("--rules", is_flag=True, help="List every rule and exit.")
@click.option("--explain", metavar="CODE", callback=_known_codes, help="Say why a rule matters and exit.")
def check(
    rewards: Sequence[str],
    everything: bool,
    chosen: "Format | None",
    as_json: bool,
    fail_on: "FailOn",
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

    The exit code is 0 if there is nothing as grave as --fail-on, 1 if there is, 2 if a reward could not be checked.
    """
    form = _format(chosen, as_json)
    if rules or explain:
        from plaudit.cli.check.catalogue import print_rules

        if form not in ("text", "json"):
            raise click.UsageError(f"rules are listed as text or json, not as {form}.")
        print_rules(explain, as_json=form == "json")
        return
    if not rewards and not everything:
        raise click.UsageError("name a REWARD, or give --all for all built-in ones.")
    from plaudit.checks.gate import failing
    from plaudit.cli.check.job import Job, checked_rewards
    from plaudit.cli.check.prints import print_reports, written_to

    names = _names(rewards, everything)
    job = Job(names, tuple(only), tuple(ignore), timeout, limit, params, tuple(settings), outcomes)
    done: list[Checked] = []
    with terminable() as stop, written_to(output) as file:
        done = checked_rewards(job, stop)
        print_reports(done, form, file)
    if any(failing(each.report, fail_on) for each in done):
        raise click.exceptions.Exit(FOUND)


def _format(chosen: "Format | None", as_json: bool) -> "Format":
    if as_json and chosen not in (None, "json"):
        raise click.UsageError(f"--json and --format {chosen} cannot be combined; choose one.")
    return "json" if as_json else chosen or "text"


def _names(rewards: Sequence[str], everything: bool) -> tuple[str, ...]:
    """Return what to check, each once."""
    from plaudit.systems import BUILT_IN

    return tuple(dict.fromkeys([*(BUILT_IN if everything else ()), *rewards]))
