"""`plaudit observe`: learn a task from an environment or from recorded steps."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plaudit.atomic import AtomicFile
from plaudit.cli._support.environments import find_environment, find_features, make_option, parse_option
from plaudit.cli._support.options import drop_unset, ledger_options, parse_query
from plaudit.plugins.arguments import check_exists, open_ledger
from plaudit.plugins.options import COUNT, SEED, output_option
from plaudit.rows.streams import find_format
from plaudit.terminal import Screen, show_progress

if TYPE_CHECKING:
    from plaudit.reward.task.task import Task

_UNSAID = "It does not state an objective yet: add goal, better or ends."


def _parse_action(ctx: click.Context, option: click.Parameter, text: str | None) -> Any:
    """Return an action; text that is not JSON stays a string."""
    try:
        return None if text is None else json.loads(text)
    except ValueError:
        return text


@click.command(epilog="Example: plaudit observe CartPole-v1 -o task.json")
@click.argument("env", required=False)
@click.option(
    "--features",
    metavar="FILE.py:NAME",
    help="Function from a step to fields by name.  [default: observation, info and action]",
)
@click.option(
    "--steps",
    metavar="COUNT",
    type=COUNT,
    help="Steps to play, or maximum steps to read.  [default: 10000; with --ledger: 200000]",
)
@click.option("--seed", metavar="NUMBER", type=SEED, help="Random seed.  [default: 0]")
@click.option(
    "--max-steps",
    metavar="COUNT",
    type=COUNT,
    help="Maximum steps per episode if ENV has no time limit.  [default: 1000]",
)
@click.option(
    "--idle",
    metavar="ACTION",
    callback=_parse_action,
    help="The action that does nothing.  [default: 0 if actions are continuous or switches]",
)
@make_option()
@click.option(
    "--ledger",
    "where",
    metavar="LEDGER|FILE",
    help="Learn from recorded steps in a ledger, or in a .parquet, .csv or .jsonl file.",
)
@ledger_options("reward", "version", "run", "phase", "actor", "since", "until")
@click.option("--action", metavar="NAME", help="Column of the action in a file.  [default: action]")
@click.option("--name", metavar="TEXT", help="Name of the task.  [default: the name of ENV]")
@output_option("Write the task to this JSON file; declarations already in it are kept.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def observe(
    env: str | None,
    features: str | None,
    steps: int | None,
    seed: int | None,
    max_steps: int | None,
    idle: Any,
    options: Sequence[str],
    where: str | None,
    action: str | None,
    name: str | None,
    output: str | None,
    as_json: bool,
    **others: Any,
) -> None:
    """Learn a task from an environment or records.

    The task holds ranges, rates of change, events, episode ends and facts, each with a count of how often it was
    seen. Correct the file, add your objective, and use it to check, probe and audit rewards.

    ENV is the id of a Gymnasium environment, or file.py:Name or package.module:Name of a class, function or instance.
    It is played with no-op, constant, random and slowly changing actions; only reset and step are called.

    With --ledger, recorded steps are read instead. In a file, a row is a step: the column `episode` names its
    episode, `terminated` and `truncated` (or `end`) say how the episode ended, and every other column is a field.
    """
    query = parse_query(others)
    playing = drop_unset({"seed": seed, "max_steps": max_steps})
    if (env is None) == (where is None):
        raise click.UsageError("name an environment, or recorded steps with --ledger; give one of them.")
    before = _read_declared(output)
    if output is not None:
        AtomicFile(output).discard()  # fails before anything is played if it cannot be written
    if where is None:
        _refuse("--ledger", {**query, **drop_unset({"action": action})})
        settings = drop_unset({"steps": steps, "idle": idle, "name": name, **playing})
        task = _play(env, find_features(features), make=dict(map(parse_option, options)), **settings)
    elif find_format(where) is not None:
        _refuse("a ledger", query)
        _refuse("ENV", {**playing, **drop_unset({"features": features, "steps": steps, "make": options or None})})
        task = _read_file(where, **drop_unset({"idle": idle, "name": name, "action": action}))
    else:
        _refuse("ENV", {**playing, **drop_unset({"features": features, "make": options or None})})
        _refuse("a file", drop_unset({"action": action}))
        task = _read_ledger(where, **drop_unset({"steps": steps, "idle": idle, "name": name}), **query)
    if before is not None:
        task = before.evolve(name=name or before.name).merge(task)
    if output is not None:
        task.save(output)
    if as_json:
        click.echo(task.to_json())
    else:
        _print(task, output, dict.fromkeys(part for part, *_ in before.list_statements()) if before else ())


def _refuse(what: str, given: dict[str, Any]) -> None:
    for name in given:
        raise click.UsageError(f"--{name.replace('_', '-')} needs {what}.")


def _read_declared(output: str | None) -> "Task | None":
    """Return the declarations in the output file, if it exists."""
    from plaudit.reward.task.task import Task

    return Task.load(output).drop_seen() if output is not None and Path(output).is_file() else None


def _play(env: str | None, features: Any, **settings: Any) -> "Task":
    from plaudit.analysis.observe.observe import observe as learn

    with show_progress("observing") as progress:
        return learn(find_environment(env or ""), features, progress=progress, **settings).task


def _read_ledger(where: str, **settings: Any) -> "Task":
    from plaudit.analysis.observe.observe import observe_ledger

    with open_ledger(where) as ledger, show_progress("reading") as progress:
        return observe_ledger(ledger, progress=progress, **settings).task


def _read_file(where: str, **settings: Any) -> "Task":
    from plaudit.analysis.observe.observe import observe_file

    check_exists(where)
    with show_progress("reading") as progress:
        return observe_file(where, progress=progress, **settings).task


def _print(task: "Task", output: str | None, kept: Iterable[str]) -> None:
    from plaudit.cli.show import build_task_table

    screen = Screen()
    screen.print(f"{'' if task.source.startswith(task.name) else f'{task.name}: '}{task.source}\n")
    screen.print(build_task_table(task))
    if output is not None:
        said = f"Its declarations are kept: {', '.join(kept)}." if kept else _UNSAID
        screen.print(f"\nWritten to {output}. {said}")
