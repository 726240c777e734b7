"""`plaudit parity`: test whether another program computes the same reward."""

import contextlib
import json
import os
import re
import sys
from collections.abc import Sequence
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from plaudit.checks.parity import Command, Function, Mismatch, ParityReport, Recorded
from plaudit.checks.parity import parity as find_mismatch
from plaudit.cli._support.options import seconds_option, tune, tuning_options
from plaudit.errors import DefinitionError, FileError, explain_unreadable
from plaudit.plugins.arguments import find_function, find_reward
from plaudit.reward.reward import Reward
from plaudit.terminal import ExitCode, Screen, build_table, escape_controls, format_value, show_progress

MOST_BRANCHES = 10
"""How many unreached branches are listed."""
_NAME = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*"
_EXAMPLE = 'Example: plaudit parity roadsense --against "./roadsense --quiet" --examples 5000'


@click.command(epilog=_EXAMPLE)
@click.argument("reward")
@click.option(
    "--against", metavar="PROGRAM", required=True, help="Command, module:function, file.py:function or pairs.jsonl."
)
@click.option(
    "--examples",
    metavar="COUNT",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    help="Rows to compare; of recorded pairs, all are compared.",
)
@seconds_option("--timeout", 5.0, "Time limit for one answer of a command.")
@click.option(
    "--tolerance",
    metavar="NUMBER",
    type=click.FloatRange(min=0),
    help="Largest difference allowed between two numbers.  [default: a bound on rounding errors]",
)
@click.option("--seed", metavar="NUMBER", type=int, default=0, show_default=True, help="Random seed.")
@click.option("--float32", is_flag=True, help="Send only 32-bit floats, for a program that computes with them.")
@click.option("--shell", is_flag=True, help="Run the command in a shell, for pipes and variables.")
@tuning_options()
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def parity(
    reward: str,
    against: str,
    examples: int,
    timeout: float,
    tolerance: float | None,
    seed: int,
    float32: bool,
    shell: bool,
    settings: Sequence[str],
    params: str | None,
    as_json: bool,
) -> None:
    """Test another implementation of a reward.

    A command is started once. It reads one row per line as JSON and answers each with one line, in which `values` is
    optional:

    {"distance": 12.0, "deceleration": 3.5, "action": 2}

    {"total": -7.0, "values": {"safety": -5.0, "comfort": -2.0, "appropriateness": 0.0}}

    Rows are aimed at the boundaries and branches of the REWARD. A row on which the two differ is simplified and shown
    with the terms that differ.

    Exit code: 0 if they agree and rows reached every reachable branch, 1 if they differ or the program failed, 2 if
    nothing could be compared, 3 if they agree but no row reached some branches.
    """
    found = tune(find_reward(reward), params, settings)
    options = {"timeout": timeout, "tolerance": tolerance, "seed": seed, "float32": float32}
    report = compare(found, against, examples=examples, shell=shell, **options)
    if as_json:
        click.echo(json.dumps(report.to_dict(), indent=2))
    else:
        print_report(report, Screen())
    if not report.ok:
        raise click.exceptions.Exit(ExitCode.FOUND)
    if not report.complete:
        raise click.exceptions.Exit(ExitCode.INCOMPLETE)


def compare(reward: Reward, text: str, *, examples: int, shell: bool, **options: Any) -> ParityReport:
    """Compare `reward` with the program that `text` names."""
    against = find_program(text, shell=shell)
    total = None if isinstance(against, Recorded) else examples
    # What a function prints must not get into our own output.
    with show_progress(text[:40]) as bar, contextlib.redirect_stdout(sys.stderr):
        if bar is not None:
            options["progress"] = lambda tested: bar(tested, total)
        try:
            return find_mismatch(reward, against, examples=examples, **options)
        except FileError as error:
            if isinstance(against, Command) and re.fullmatch(rf"{_NAME}:{_NAME}", text):
                error.add_note(
                    f"There is no module {text.partition(':')[0]!r} in this folder or on the import path either."
                )
            raise


def find_program(text: str, *, shell: bool = False) -> Command | Function | Recorded:
    """Return the recorded pairs, function or command that `text` names.

    >>> find_program("./reward --fast")
    Command(command='./reward --fast', shell=False)
    """
    if shell:
        return Command(text, shell=True)
    if text.endswith(".jsonl") and (Path(text).exists() or not re.search(r"\s", text)):
        _check_readable(Path(text))
        return Recorded(text)
    place, colon, name = text.rpartition(":")
    if colon and re.fullmatch(_NAME, name) and (place.endswith(".py") or _is_importable(place)):
        return Function(find_function(text), title=text)
    if place.endswith(".py") or (text.endswith(".py") and not os.access(text, os.X_OK) and Path(text).exists()):
        file = place or text
        raise DefinitionError(
            f"{file} is a Python file; name a function in it, {file}:NAME, or run it: --against 'python {file}'."
        )
    return Command(text)


def _check_readable(path: Path) -> None:
    try:
        path.open("rb").close()
    except OSError as error:
        raise explain_unreadable(path, error) from None


def _is_importable(place: str) -> bool:
    if not re.fullmatch(_NAME, place):
        return False
    top = place.partition(".")[0]
    return top in sys.modules or PathFinder.find_spec(top, [os.getcwd(), *sys.path]) is not None


def print_report(report: ParityReport, screen: Screen) -> None:
    """Print a report."""
    mismatch = report.mismatch
    screen.print(Text(_format_headline(report), style="bold"), soft_wrap=True)
    for text in _list_remarks(report):
        screen.print(text, soft_wrap=True)
    if mismatch is None:
        return
    screen.print()
    screen.print(_build_input_table(mismatch))
    if mismatch.got:
        screen.print()
        screen.print(_build_answer_table(mismatch))
    screen.print(f"\nThe row: {escape_controls(mismatch.row)}", soft_wrap=True)


def _format_headline(report: ParityReport) -> str:
    reward, against = f"{report.reward}@{report.version}", escape_controls(report.against)
    mismatch = report.mismatch
    if mismatch is None:
        missed = f", which reach {report.reached:,} of {report.branches:,} branches" if report.unreached else ""
        return f"{reward} and {against} agree on {_count_rows(report.tested)}{missed}."
    if mismatch.failure:
        return f"{against} failed: it {escape_controls(mismatch.failure)}"
    terms = ", ".join(mismatch.terms)
    if mismatch.got and not mismatch.got.values and len(mismatch.terms) > 1:
        terms = "total (the program gives no values, so the term is unknown)"
    if mismatch.line is not None:
        lines = f"in {report.differing:,} of {_count_rows(report.tested)}, first in line {mismatch.line}"
        return f"{reward} and {against} differ {lines}: {terms}."
    return f"{reward} and {against} differ in {terms}."


def _list_remarks(report: ParityReport) -> list[str]:
    found = []
    mismatch = report.mismatch
    if mismatch and mismatch.note:
        found.append(mismatch.note)
    if mismatch and mismatch.breaks:
        facts = ", ".join(mismatch.breaks)
        found.append(f"The row breaks a declared fact: {facts}. Too few rows satisfy the facts to draw only those.")
    if mismatch and mismatch.line is None:
        simplest = "; this is the simplest row that shows it" if mismatch.simplest else ""
        found.append(f"Found after {_count_rows(report.tested)}{simplest}.")
    if report.refused:
        found.append(f"{_count_rows(report.refused)} that the reward refuses {_were(report.refused)} left out.")
    if report.aside:
        found.append(
            f"{_count_rows(report.aside)} {_were(report.aside)} skipped: "
            "rounding decides which side of a boundary they are on."
        )
    if report.unreached:
        found.append("Not compared, because no row reached these branches:")
        found += [f"  {escape_controls(each)}" for each in report.unreached[:MOST_BRANCHES]]
        if len(report.unreached) > MOST_BRANCHES:
            found.append(f"  and {len(report.unreached) - MOST_BRANCHES:,} more")
    return found


def _build_input_table(mismatch: Mismatch) -> Table:
    table = build_table("input", "value")
    for name, value in mismatch.inputs.items():
        table.add_row(name, _format_exactly(value))
    return table


def _build_answer_table(mismatch: Mismatch) -> Table:
    assert mismatch.got is not None
    table = build_table("term", "reward", "program", "", right=["reward", "program"])
    for name, value in mismatch.expected.values.items():
        got = mismatch.got.values.get(name)
        table.add_row(
            name, _format_exactly(value), "" if got is None else _format_exactly(got), _mark_difference(mismatch, name)
        )
    table.add_section()
    expected, total = mismatch.expected.total, mismatch.got.total
    table.add_row("total", _format_exactly(expected), _format_exactly(total), _mark_difference(mismatch, "total"))
    return table


def _mark_difference(mismatch: Mismatch, name: str) -> Text:
    return Text(
        "<- differs" if name in mismatch.terms and mismatch.got and (mismatch.got.values or name == "total") else "",
        style="red",
    )


def _format_exactly(value: float | bool | str) -> str:
    """Return a value with every digit, because only the last one may differ."""
    return repr(value) if isinstance(value, float) else format_value(value)


def _count_rows(count: int) -> str:
    return f"{count:,} row" if count == 1 else f"{count:,} rows"


def _were(count: int) -> str:
    return "was" if count == 1 else "were"
