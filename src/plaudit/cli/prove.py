"""`plaudit prove`: whether two rewards are equal, and where they are not."""

import json
import math
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from plaudit.checks.prove import Difference, Proof

EXIT = {"equal": 0, "different": 1, "undecided": 2}


@click.command(epilog="Example: plaudit prove roadsense my_rewards.py:rewritten")
@click.argument("left")
@click.argument("right")
@click.option("--facts", is_flag=True, help="Compare only steps of which the facts of LEFT are true.")
@click.option(
    "--timeout",
    metavar="SECONDS",
    type=click.FloatRange(min=0.001),
    default=3.0,
    show_default=True,
    help="The most time of one query of the solver.",
)
@click.option(
    "--examples",
    metavar="COUNT",
    type=click.IntRange(min=1),
    default=2000,
    show_default=True,
    help="How many rows are compared where nothing can be proved.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON for a script.")
def prove(left: str, right: str, facts: bool, timeout: float, examples: int, as_json: bool) -> None:
    """Prove that two rewards are equal, or show where they differ.

    LEFT is a reward, RIGHT a reward or a plain function in the language of terms (file.py:name). They are compared
    over the ranges that LEFT declares: by proof over the rationals, with a bound on the rounding of floats beside it.

    The exit code is 0 if they are equal, 1 if they differ, 2 if that is undecided.
    """
    from plaudit.checks.prove import prove as compared
    from plaudit.cli.rewards import find_reward, find_reward_or_function

    outcome = compared(
        find_reward(left), find_reward_or_function(right), facts=facts, timeout=timeout, examples=examples
    )
    if as_json:
        click.echo(json.dumps(_described(outcome), indent=2))
    else:
        click.echo(str(outcome))
    raise click.exceptions.Exit(EXIT[outcome.verdict])


def _described(outcome: "Proof") -> dict[str, Any]:
    return {
        "left": outcome.left,
        "right": outcome.right,
        "verdict": outcome.verdict,
        "exactly": outcome.exactly,
        "rounding": _number(outcome.rounding),
        "differences": [_difference(each) for each in outcome.differences],
        "missing": list(outcome.missing),
        "tested": outcome.tested,
        "remarks": list(outcome.remarks),
    }


def _difference(each: "Difference") -> dict[str, Any]:
    inputs = {name: _number(value) for name, value in each.inputs.items()}
    return {
        "term": each.term,
        "inputs": inputs,
        "left": each.left,
        "right": each.right,
        "size": _number(each.size),
        "largest": each.largest,
    }


def _number(value: Any) -> Any:
    """Return a number as JSON has it: infinity as a text."""
    return str(value) if isinstance(value, float) and math.isinf(value) else value
