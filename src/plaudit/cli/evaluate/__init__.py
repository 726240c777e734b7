"""`plaudit evaluate`: what another policy would have earned on recorded decisions."""

import json
from typing import Any

import click

from plaudit.cli.ledger.moments import as_moment

_EXAMPLE = "Example: plaudit evaluate rewards.db --decision-class topology --policy router.json --since 7d"
_ESTIMATORS = ("ips", "snips", "dm", "dr", "switch")
_POLICY = "A saved learner (router.json), uniform, always:ACTION, file.py:name or package.module:name."


@click.command(epilog=_EXAMPLE)
@click.argument("ledger")
@click.option("--decision-class", metavar="TEXT", required=True, help="What was decided: records of this class.")
@click.option("--policy", metavar="POLICY", required=True, help=_POLICY)
@click.option("--reward", metavar="REWARD", help="Score what was recorded with this reward, instead of as it was.")
@click.option("--set", "settings", metavar="NAME=VALUE", multiple=True, help="Another value for a knob of --reward.")
@click.option("--params", metavar="FILE", help="Such values in a TOML file; --set goes over it.")
@click.option("--since", metavar="WHEN", callback=as_moment, help="Decisions at or after 2026-11-01, 7d, 12h.")
@click.option("--until", metavar="WHEN", callback=as_moment, help="Decisions before such a moment.")
@click.option("--run", metavar="TEXT", help="Decisions of this run (or mission).")
@click.option("--actions", metavar="NAMES", help="What the columns of a function's probabilities are, as in stay,star.")
@click.option(
    "--estimator",
    "estimators",
    type=click.Choice(_ESTIMATORS),
    multiple=True,
    help="Ask this one; can be repeated. All but switch if not given.",
)
@click.option(
    "--interval",
    type=click.Choice(["normal", "bootstrap", "anytime"]),
    default="normal",
    help="How intervals are made; anytime stays true however often you look.",
)
@click.option("--confidence", metavar="SHARE", type=float, default=0.95, help="Of intervals; 0.95 if not given.")
@click.option(
    "--reward-range",
    metavar="LOW HIGH",
    nargs=2,
    type=float,
    help="Of anytime intervals: between what rewards lie; from the reward's definition if not given.",
)
@click.option("--minimum-effective", metavar="SIZE", type=float, help="Refuse a smaller effective sample; 50.")
@click.option("--independent", is_flag=True, help="Take decisions of one episode as independent of each other.")
@click.option(
    "--on-bad",
    type=click.Choice(["raise", "mask"]),
    default="raise",
    help="Stop at decisions that --reward cannot score, or leave them out.",
)
@click.option("--seed", metavar="NUMBER", type=click.IntRange(min=0), default=0, help="What folds and draws depend on.")
@click.option("--json", "as_json", is_flag=True, help="Print the evaluation as JSON for a script.")
def evaluate(
    ledger: str,
    policy: str,
    reward: str | None,
    settings: tuple[str, ...],
    params: str | None,
    actions: str | None,
    estimators: tuple[str, ...],
    as_json: bool,
    **options: Any,
) -> None:
    """Estimate what a POLICY would have earned on the decisions in a LEDGER.

    Each record of the decision class holds the decision in its context, with the probability it was made with. Those of
    other actions than the policy's are weighed by how likely the policy makes them, or a regression stands in for them;
    nothing is run or written. A log that cannot tell is refused, with the reason.

    The exit code is 0 if every decision counted, 1 if some were left out, 2 if there is no estimate.
    """
    from plaudit.cli.errors import SOME_BAD, terminable
    from plaudit.cli.evaluate.policies import find_policy
    from plaudit.cli.evaluate.prints import print_evaluation
    from plaudit.cli.ledger.opening import opened
    from plaudit.cli.ledger.watching import bar
    from plaudit.cli.rewards import find_reward
    from plaudit.cli.settings import tuned
    from plaudit.learn.off_policy import evaluate as evaluated

    if reward is None and (settings or params):
        raise click.UsageError("--set and --params change a reward: name it with --reward.")
    found = None if reward is None else tuned(find_reward(reward), params, settings)
    given = {name: value for name, value in options.items() if value is not None}
    if estimators:
        given["estimators"] = estimators
    if actions is not None:
        given["actions"] = tuple(name.strip() for name in actions.split(","))
    asked = find_policy(policy)
    with terminable(), opened(ledger) as log, bar("reading decisions") as progress:
        result = evaluated(log, asked, reward=found, progress=progress, **given)
    if as_json:
        click.echo(json.dumps(result.to_dict(), indent=2))
    else:
        print_evaluation(result)
    if result.source is not None and (result.source.refused or result.source.lacking):
        raise click.exceptions.Exit(SOME_BAD)
