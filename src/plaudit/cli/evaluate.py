"""`plaudit evaluate`: what another policy would have earned on recorded decisions."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import click
from rich.text import Text

from plaudit.cli._support.options import check_any_record, convert_moment, drop_unset, parse_query, tune, tuning_options
from plaudit.errors import DefinitionError, PlauditError, did_you_mean, explain_unreadable
from plaudit.learn.off_policy import Evaluation, Policy, always, from_file, uniform
from plaudit.learn.off_policy import evaluate as evaluate_policy
from plaudit.plugins.arguments import find_function, find_reward, open_ledger
from plaudit.targets import OnBad
from plaudit.terminal import ExitCode, Screen, build_table, escape_controls, show_progress

_EXAMPLE = "Example: plaudit evaluate rewards.db --decision-class topology --policy router.json --since 7d"
_ESTIMATORS = ("ips", "snips", "dm", "dr", "switch")
_QUERY = ("decision_class", "run", "since", "until")
_POLICY = "A saved learner (router.json), uniform, always:ACTION, file.py:name or package.module:name."


@click.command(epilog=_EXAMPLE)
@click.argument("ledger")
@click.option("--decision-class", metavar="TEXT", required=True, help="What was decided: records of this class.")
@click.option("--policy", metavar="POLICY", required=True, help=_POLICY)
@click.option("--reward", metavar="REWARD", help="Score what was recorded with this reward, instead of as it was.")
@tuning_options("Another value for a knob of --reward.")
@click.option("--since", metavar="WHEN", callback=convert_moment, help="Decisions at or after 2026-11-01, 7d, 12h.")
@click.option("--until", metavar="WHEN", callback=convert_moment, help="Decisions before such a moment.")
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
@click.option(
    "--confidence",
    metavar="SHARE",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    help="Of intervals; 0.95 if not given.",
)
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
    type=click.Choice(get_args(OnBad)),
    default="raise",
    help="Stop at decisions that --reward cannot score, leave them out, or clip their numbers.",
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
    other actions than the policy's are weighed by how likely the policy makes them, or a regression stands in for them.
    A log that cannot tell is refused, with the reason. Nothing is written; a POLICY given as file.py:name is Python,
    which is run.

    The exit code is 0 if every decision counted, 2 if there is no estimate, 3 if some decisions were left out.
    """
    if reward is None and (settings or params):
        raise click.UsageError("--set and --params change a reward: name it with --reward.")
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
    """Return the policy that `text` names; an error says what was looked for.

    >>> find_policy("always:star").actions
    ('star',)
    """
    if text == "uniform":
        return uniform()
    _, colon, name = text.rpartition(":")
    if text.startswith("always:"):
        action = text.removeprefix("always:")
        if not action:
            raise DefinitionError(f"{text!r} names no action after the colon. {_FORMS}")
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
    """A function of the user's, whose failures become one error."""

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
    """Print what was found."""
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
