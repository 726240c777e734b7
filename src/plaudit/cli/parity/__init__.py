"""`plaudit parity`: whether a program in any language computes the same reward."""

import json
from collections.abc import Sequence

import click

DIFFER = 1
"""The two do not agree, or the program failed."""
LONGEST_TIMEOUT = 3600.0
_EXAMPLE = 'Example: plaudit parity roadsense --against "./roadsense --quiet" --examples 5000'


def _positive(ctx: click.Context, option: click.Parameter, seconds: float) -> float:
    if not 0 < seconds <= LONGEST_TIMEOUT:
        raise click.BadParameter(f"{seconds:g} is not in the range 0 < SECONDS <= {LONGEST_TIMEOUT:g}.")
    return seconds


@click.command(epilog=_EXAMPLE)
@click.argument("reward")
@click.option(
    "--against", metavar="WHAT", required=True, help="A command, module:function, file.py:function or pairs.jsonl."
)
@click.option(
    "--examples",
    metavar="COUNT",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    help="How many rows are compared; of recorded pairs, all are.",
)
@click.option(
    "--timeout",
    metavar="SECONDS",
    type=float,
    default=5.0,
    show_default=True,
    callback=_positive,
    help="The most time a command has for one answer.",
)
@click.option(
    "--tolerance",
    metavar="NUMBER",
    type=click.FloatRange(min=0),
    help="How far two numbers may be apart; as far as rounding goes unless given.",
)
@click.option("--seed", metavar="NUMBER", type=int, default=0, show_default=True, help="Other numbers, other rows.")
@click.option("--float32", is_flag=True, help="The other one computes with 32-bit floats: send only such numbers.")
@click.option("--shell", is_flag=True, help="Let a shell run the command, for pipes and variables.")
@click.option(
    "--set",
    "settings",
    metavar="NAME=VALUE",
    multiple=True,
    help="Another value for a knob, a weight or a clamp; can be repeated.",
)
@click.option("--params", metavar="FILE", help="Such values in a TOML file; --set goes over it.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON for a script.")
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
    """Compare a REWARD with another implementation of it.

    A command is started once. It gets one row a line as JSON and answers each with one line; `values` may be left
    out:

    {"distance": 12.0, "deceleration": 3.5, "action": 2}

    {"total": -7.0, "values": {"safety": -5.0, "comfort": -2.0, "appropriateness": 0.0}}

    Rows are aimed at the boundaries of the reward. One on which the two differ is made as simple as it can be and
    shown with the terms that differ.

    The exit code is 0 if the two agree, 1 if they differ or the program failed, 2 if nothing could be compared.
    """
    from plaudit.cli.parity.job import compared
    from plaudit.cli.rewards import find_reward
    from plaudit.cli.settings import tuned

    found = tuned(find_reward(reward), params, settings)
    options = {"timeout": timeout, "tolerance": tolerance, "seed": seed, "float32": float32}
    report = compared(found, against, examples=examples, shell=shell, **options)
    if as_json:
        click.echo(json.dumps(report.to_dict(), indent=2))
    else:
        from plaudit.cli.parity.prints import draw
        from plaudit.cli.screen import Screen

        draw(report, Screen())
    if not report.ok:
        raise click.exceptions.Exit(DIFFER)
