"""`plaudit prove`: whether two rewards are equal, and where they differ."""

import json

import click

from plaudit.checks.prove import prove as prove_equal
from plaudit.cli._support.options import apply_task, seconds_option, task_option
from plaudit.plugins.arguments import find_reward, find_reward_or_function
from plaudit.terminal import ExitCode

EXIT = {"equal": ExitCode.DONE, "different": ExitCode.FOUND, "undecided": ExitCode.INCOMPLETE}


@click.command(epilog="Example: plaudit prove roadsense my_rewards.py:rewritten")
@click.argument("left")
@click.argument("right")
@click.option("--facts", is_flag=True, help="Compare only steps that satisfy the facts of LEFT.")
@task_option("With --facts: task to take the facts from.")
@seconds_option("--timeout", 10.0, "Time limit for the proof.")
@click.option(
    "--examples",
    metavar="COUNT",
    type=click.IntRange(min=1),
    default=2000,
    show_default=True,
    help="Rows to compare if nothing can be proved.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def prove(left: str, right: str, facts: bool, task: str | None, timeout: float, examples: int, as_json: bool) -> None:
    """Prove two rewards equal, or show a difference.

    LEFT is a reward, RIGHT a reward or a plain function in the term language (file.py:name). They are compared over
    the ranges that LEFT declares: by a proof over the rationals, with a bound on floating-point rounding.

    Exit code: 0 if they are equal, 1 if they differ, 2 if they cannot be compared, 3 if undecided.
    """
    if task is not None and not facts:
        raise click.UsageError("--task needs --facts: a proof uses only the facts of a task.")
    first, second = apply_task(find_reward(left), task), find_reward_or_function(right)
    proof = prove_equal(first, second, facts=facts, timeout=timeout, examples=examples)
    if as_json:
        click.echo(json.dumps(proof.to_dict(), indent=2))
    else:
        click.echo(str(proof))
    raise click.exceptions.Exit(EXIT[proof.verdict])
