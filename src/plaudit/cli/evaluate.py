"""`plaudit evaluate`: estimate what another policy would have earned on recorded decisions."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import click
from rich.text import Text

from plaudit.cli._support.options import (
    SINCE,
    UNTIL,
    check_any_record,
    convert_moment,
    drop_unset,
    parse_query,
    tune,
    tuning_options,
)
from plaudit.errors import DefinitionError, PlauditError, did_you_mean, explain_unreadable
from plaudit.learn.off_policy import Evaluation, Policy, always, from_file, uniform
from plaudit.learn.off_policy import evaluate as evaluate_policy
from plaudit.plugins.arguments import find_function, find_reward, open_ledger
from plaudit.targets import OnBad
from plaudit.terminal import ExitCode, Screen, build_table, escape_controls, show_progress

_EXAMPLE = "Example: plaudit evaluate rewards.db --decision-class topology --policy router.json --since 7d"
_ESTIMATORS = ("ips", "snips", "dm", "dr", "switch")
_QUERY = ("decision_class", "run", "since", "until")
_POLICY = "Saved learner (router.json), uniform, always:ACTION, file.py:name or package.module:name."


@click.command(epilog=_EXAMPLE)
@click.argument("ledger")
@click.option("--decision-class", metavar="TEXT", required=True, help="Only records of this decision class.")
@click.option("--policy", metavar="POLICY", required=True, help=_POLICY)
@click.option("--reward", metavar="REWARD", help="Score the records with this reward.  [default: as recorded]")
@tuning_options("Override a knob, weight or clamp of --reward; can be repeated.")
@click.option("--since", metavar="WHEN", callback=convert_moment, help=SINCE)
@click.option("--until", metavar="WHEN", callback=convert_moment, help=UNTIL)
@click.option("--run", metavar="TEXT", help="Only records of this run (or mission).")
@click.option("--actions", metavar="NAMES", help="Actions of the probability columns of a function: stay,star.")
@click.option(
    "--estimator",
    "estimators",
    type=click.Choice(_ESTIMATORS),
    multiple=True,
    help="Estimator to use; can be repeated.  [default: all but switch]",
)
@click.option(
    "--interval",
    type=click.Choice(["normal", "bootstrap", "anytime"]),
    default="normal",
    show_default=True,
    help="Kind of confidence interval; anytime stays valid however often you look.",
)
@click.option(
    "--confidence",
    metavar="LEVEL",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Confidence level.",
)
@click.option(
    "--reward-range",
    metavar="LOW HIGH",
    nargs=2,
    type=float,
    help="Range of rewards for anytime intervals.  [default: from the reward's definition]",
)
@click.option(
    "--minimum-effective",
    metavar="SIZE",
    type=float,
    help="Fail if the effective sample size is smaller.  [default: 50]",
)
@click.option("--independent", is_flag=True, help="Treat decisions of one episode as independent.")
@click.option(
    "--on-bad",
    type=click.Choice(get_args(OnBad)),
    default="raise",
    show_default=True,
    help="If --reward cannot score a decision: stop, leave it out, or clip its numbers.",
)
@click.option("--seed", metavar="NUMBER", type=click.IntRange(min=0), default=0, show_default=True, help="Random seed.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
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
    """Estimate what another policy would have earned.

    Off-policy evaluation on the decisions in a LEDGER: each record of the decision class holds a decision and its
    probability in its context. Records are weighted by how likely the POLICY is to take the same action, or a
    regression replaces them (ips, snips, dm, dr, switch). If the log cannot support an estimate, the error says why.
    Nothing is written. A POLICY given as file.py:name is executed.

    Exit code: 0 if every decision was used, 2 if there is no estimate, 3 if some decisions were left out.
    """
    if reward is None and (settings or params):
        raise click.UsageError("--set and --params need --reward.")
    found = None if reward is None else tune(find_reward(reward), params, settings)
    given = drop_unset(options)
    if estimators:
        given["estimators"] = estimators
    if actions is not None:
        given["actions"] = tuple(name.strip() for name in actions.split(","))
    query = parse_query({name: given.get(name) for name in _QUERY})
    chosen = find_policy(policy)
    with open_ledger(ledger) as log, show_progress("reading decisions") as progress:
        check_any_record(log, query)
        result = evaluate_policy(log, chosen, reward=found, progress=progress, **given)
    if as_json:
        click.echo(json.dumps(result.to_dict(), indent=2))
    else:
        print_evaluation(result)
    if result.source is not None and (result.source.refused or result.source.lacking):
        raise click.exceptions.Exit(ExitCode.INCOMPLETE)


_FORMS = "A policy is uniform, always:ACTION, the JSON file of a saved learner, file.py:name or package.module:name."


def find_policy(text: str) -> Policy:
    """Return the policy that `text` names; the error lists the forms.

    >>> find_policy("always:star").actions
    ('star',)
    """
    if text == "uniform":
        return uniform()
    _, colon, name = text.rpartition(":")
    if text.startswith("always:"):
        action = text.removeprefix("always:")
        if not action:
            raise DefinitionError(f"{text!r} has no action after the colon. {_FORMS}")
        return always(action)
    if colon and re.fullmatch(r"[A-Za-z_]\w*", name):
        found = find_function(text)
        return _UserPolicy(text, found, getattr(found, "actions", None))
    path = Path(text)
    if not path.is_file():
        if text.endswith(".json") or "/" in text:
            raise explain_unreadable(path, FileNotFoundError())
        raise DefinitionError(f"there is no policy {text!r}.{did_you_mean(text, ['uniform', 'always'])} {_FORMS}")
    return from_file(path)


class _UserPolicy:
    """A user's function whose exceptions become one error."""

    def __init__(self, name: str, function: Callable[[Any], Any], actions: Any) -> None:
        self.name = name
        self.actions = actions
        self._function = function

    def __call__(self, contexts: Any) -> Any:
        try:
            return self._function(contexts)
        except PlauditError:
            raise
        except Exception as error:
            raise DefinitionError(f"{self.name} raised {type(error).__name__}: {error}") from None


def print_evaluation(result: Evaluation) -> None:
    """Print the evaluation."""
    screen = Screen()
    heading, *rows = result.rows()
    table = build_table(*heading, right=heading[1:])
    for row in rows[:-1]:
        table.add_row(*row)
    table.add_section()
    table.add_row(*rows[-1])
    screen.print(table)
    screen.print(f"\n{_describe_source(result)}", soft_wrap=True)
    for note in result.notes:
        screen.print(Text(f"Note: {escape_controls(note)}", style="yellow"), soft_wrap=True)
    screen.print(Text(escape_controls(result.verdict), style="bold"), soft_wrap=True)


def _describe_source(result: Evaluation) -> str:
    if result.source is None:
        return result.figures()
    scored = "scored again with" if result.source.rescored else "as scored by"
    what = escape_controls(f"{result.source.decision_class}, {scored} {result.source.reward}")
    return f"{what}: {result.figures()}"
