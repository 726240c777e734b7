"""`plaudit compare`: distances between rewards (EPIC, STARC, DARD and others)."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from plaudit.cli._support.options import apply_task, check_any_record, ledger_options, parse_ledger_query, task_option
from plaudit.plugins.arguments import find_function, find_reward, open_ledger
from plaudit.terminal import show_progress

if TYPE_CHECKING:
    from plaudit.analysis import Comparison, Transitions
    from plaudit.reward.reward import Reward

MEASURES = (
    "epic",
    "dard",
    "starc",
    "starc-potential",
    "starc-minimal",
    "argmax",
    "pearson",
    "spearman",
    "pearson-returns",
    "spearman-returns",
)


@click.command(epilog="Example: plaudit compare roadsense@R7 roadsense@R8")
@click.argument("rewards", nargs=-1, required=True)
@click.option(
    "--samples",
    metavar="COUNT",
    type=click.IntRange(min=1000),
    default=1_000_000,
    show_default=True,
    help="Steps to draw.",
)
@click.option(
    "--means",
    metavar="COUNT",
    type=click.IntRange(min=2),
    default=512,
    show_default=True,
    help="Actions and next states to average over.",
)
@click.option("--ledger", "where", metavar="LEDGER", help="Compare on the steps recorded in this ledger.")
@click.option("--env", "environment", metavar="ID", help="Compare on random steps of this Gymnasium environment.")
@click.option("--features", metavar="FILE:NAME", help="With --env: function from a step to the rewards' inputs.")
@click.option(
    "--steps",
    metavar="COUNT",
    type=click.IntRange(min=1),
    default=10_000,
    show_default=True,
    help="With --env: steps to play.",
)
@task_option()
@ledger_options("reward", "version", "run", "phase", "actor", "since", "until")
@click.option("--discount", metavar="NUMBER", type=float, help="Discount factor.  [default: as declared, or 0.99]")
@click.option(
    "--range", "ranges", metavar="FIELD=LOW:HIGH", multiple=True, help="Range to draw a field from; can be repeated."
)
@click.option(
    "--fields",
    type=click.Choice(("same", "shared", "all")),
    default="same",
    show_default=True,
    help="If rewards read different fields: fail, drop terms that read others, or draw all fields.",
)
@click.option(
    "--measure",
    type=click.Choice(MEASURES),
    default="epic",
    show_default=True,
    help="Measure shown for three or more rewards.",
)
@click.option("--seed", metavar="NUMBER", type=int, default=0, show_default=True, help="Random seed.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def compare(
    rewards: tuple[str, ...],
    samples: int,
    means: int,
    where: str | None,
    environment: str | None,
    features: str | None,
    steps: int,
    task: str | None,
    discount: float | None,
    ranges: tuple[str, ...],
    fields: str,
    measure: str,
    seed: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Measure the distance between rewards.

    The measures are EPIC, DARD and STARC distances, correlations of rewards and returns, and disagreement on the best
    action. EPIC is 0 if two rewards differ only by potential shaping and a positive factor, and 1 if they are
    opposites. Steps are drawn from the declared ranges of the fields, or come from a ledger or an environment. Three
    or more rewards are shown as a matrix of one measure.
    """
    if len(rewards) < 2:
        raise click.UsageError("name at least two rewards.")
    query = parse_ledger_query(options, where)
    found = [apply_task(find_reward(each), task) for each in rewards]
    chosen = {"samples": samples, "means": means, "discount": discount, "fields": fields, "seed": seed}
    if (environment is None) != (features is None):
        raise click.UsageError("--env and --features must be given together.")
    if ranges and (environment or where):
        raise click.UsageError(
            "--range cannot be combined with --env or --ledger; it is for steps drawn from declared ranges."
        )
    if environment is not None and features is not None:
        if where is not None:
            raise click.UsageError("--ledger and --env cannot be combined; choose one.")
        result = _compare(found, transitions=_sample(found, environment, features, steps, seed), **chosen)
    elif where is None:
        result = _compare(found, ranges=dict(map(_parse_range, ranges)), **chosen)
    else:
        with open_ledger(where) as ledger:
            check_any_record(ledger, query)
            result = _compare(found, ledger=ledger, **chosen, **query)
    click.echo(json.dumps(result.to_dict(), indent=2) if as_json else result.format(measure))


def _compare(rewards: "Sequence[Reward]", **options: Any) -> "Comparison":
    from plaudit.analysis import compare as measure

    with show_progress("steps") as progress:
        return measure(*rewards, progress=progress, **options)


def _sample(rewards: "Sequence[Reward]", environment: str, features: str, steps: int, seed: int) -> "Transitions":
    from plaudit.analysis.environments import sample_transitions

    function = find_function(features)
    with show_progress("steps") as progress:
        return sample_transitions(environment, rewards, function, steps=steps, seed=seed, progress=progress)


def _parse_range(text: str) -> tuple[str, tuple[float, float]]:
    """Return the field and the ends of a range.

    >>> _parse_range("distance=0:60")
    ('distance', (0.0, 60.0))
    """
    name, _, ends = text.partition("=")
    try:
        low, high = map(float, ends.split(":"))
    except ValueError:
        raise click.UsageError(f"--range {text}: write FIELD=LOW:HIGH, as in distance=0:60.") from None
    return name.strip(), (low, high)
