"""`plaudit stress`: attacks on a reward of texts, scored beside honest completions."""

import json
from collections.abc import Sequence
from typing import Any

import click

from plaudit.cli._support.options import tune, tuning_options
from plaudit.ledger.jsonl import read_lines
from plaudit.plugins.arguments import find_object, find_reward
from plaudit.targets import OnBad
from plaudit.terminal import ExitCode, format_count, show_progress


@click.command(epilog="Example: plaudit stress sums.py:sums --features sums.py:features --samples samples.jsonl")
@click.argument("reward")
@click.option("--features", metavar="FILE:NAME", required=True, help="Features of the reward.")
@click.option(
    "--samples",
    metavar="FILE",
    required=True,
    help="Honest samples: JSON lines with prompt, completion and the columns that features read.",
)
@click.option("--applies", metavar="FILE:NAME", help="Function that says which samples REWARD is for.")
@click.option("--attack", "attacks", metavar="NAME", multiple=True, help="Attack to try; can be repeated.")
@tuning_options()
@click.option(
    "--on-bad",
    type=click.Choice(["mask", "clip"]),
    default="mask",
    show_default=True,
    help="At numbers out of range: give no reward (mask), or clip them.",
)
@click.option("--step", type=click.IntRange(min=0), default=0, show_default=True, help="Step that schedules follow.")
@click.option(
    "--fail-on",
    metavar="SHARE",
    type=click.FloatRange(0, 1),
    default=0.05,
    show_default=True,
    help="Exit 1 if an attack earns more than the honest completion in more than this share of samples.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def stress(
    reward: str,
    features: str,
    samples: str,
    applies: str | None,
    attacks: Sequence[str],
    settings: tuple[str, ...],
    params: str | None,
    on_bad: OnBad,
    step: int,
    fail_on: float,
    as_json: bool,
    **options: Any,
) -> None:
    """Attack a reward of texts with built completions.

    Each attack replaces the completions of real samples: by nothing, the prompt, all candidate answers, or ten times
    the text; with empty thinking, two answers, tags within the answer, or words to a judge. Shows for how many samples
    the attack earns more than the honest completion, and more than the best honest one; most successful first. Judges
    are asked.

    Exit code: 0 if no attack is above --fail-on, 1 if one is, 2 if the samples cannot be read or scored, 3 if none of
    the completions of an attack could be scored.
    """
    from plaudit.llm import Scoring
    from plaudit.llm import stress as attack

    found = tune(find_reward(reward), params, settings)
    about = None if applies is None else find_object(applies)
    scoring = Scoring(found, find_object(features), applies=about, on_bad=on_bad, max_masked=1)
    lines = read_lines(samples)
    honest = list(lines)
    if lines.dropped:
        click.echo(f"{samples}: the last line is torn and left out.", err=True)
    with show_progress(format_count(len(honest), "sample")) as progress:
        report = attack(scoring, honest, attacks=attacks or None, step=step, progress=progress)
    click.echo(json.dumps(report.to_dict(), indent=2) if as_json else str(report))
    if report.list_failing(fail_on):
        raise click.exceptions.Exit(ExitCode.FOUND)
    if unscored := report.list_unscored():
        named = ", ".join(each.name for each in unscored)
        click.echo(f"Nothing is known of {named}: none of the completions could be scored.", err=True)
        raise click.exceptions.Exit(ExitCode.INCOMPLETE)
