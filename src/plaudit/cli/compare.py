"""`plaudit compare`: how far apart rewards are in what they make an agent want."""

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
    help="How many steps are drawn.",
)
@click.option(
    "--means",
    metavar="COUNT",
    type=click.IntRange(min=2),
    default=512,
    show_default=True,
    help="How many actions and next states a mean is taken over.",
)
@click.option("--ledger", "where", metavar="LEDGER", help="Compare on the steps recorded there instead.")
@click.option("--env", "environment", metavar="ID", help="Compare on steps of a Gymnasium environment's random policy.")
@click.option(
    "--features", metavar="FILE:NAME", help="The function from a step of it to what the rewards read, with --env."
)
@click.option(
    "--steps",
    metavar="COUNT",
    type=click.IntRange(min=1),
    default=10_000,
    show_default=True,
    help="How many, with --env.",
)
@task_option()
@ledger_options("reward", "version", "run", "phase", "actor", "since", "until")
@click.option("--discount", metavar="NUMBER", type=float, help="What they declare, or 0.99, unless given.")
@click.option("--range", "ranges", metavar="FIELD=LOW:HIGH", multiple=True, help="Between what a field is drawn.")
@click.option(
    "--fields",
    type=click.Choice(("same", "shared", "all")),
    default="same",
    show_default=True,
    help="Where they read different ones: refuse, compare without terms that read more, or over all of them.",
)
@click.option(
    "--measure", type=click.Choice(MEASURES), default="epic", show_default=True, help="The matrix of three or more."
)
@click.option("--seed", metavar="NUMBER", type=int, default=0, show_default=True, help="Other numbers, other steps.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON for a script.")
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
    """Tell how far apart REWARDS are in what they make an agent want.

    Steps are drawn from what the fields declare, or are those of a ledger or of an environment. EPIC is 0 where two
    rewards differ by potential shaping and a positive factor alone, and 1 where one is the other's opposite. Three or
    more are shown as a matrix of one measure.
    """
    if len(rewards) < 2:
        raise click.UsageError("name two rewards at least.")
    query = parse_ledger_query(options, where)
    found = [apply_task(find_reward(each), task) for each in rewards]
    chosen = {"samples": samples, "means": means, "discount": discount, "fields": fields, "seed": seed}
    if (environment is None) != (features is None):
        raise click.UsageError("--env and --features go together: an environment, and what is read of its steps.")
    if ranges and (environment or where):
        raise click.UsageError("--range is about steps that are drawn from what fields declare.")
    if environment is not None and features is not None:
        if where is not None:
            raise click.UsageError("compare on a ledger or on an environment, not on both.")
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
        raise click.UsageError(f"--range {text}: write a field and its ends, as in distance=0:60.") from None
    return name.strip(), (low, high)
