"""`plaudit observe`: a task, learnt from an environment or from recorded steps."""

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

_UNSAID = "Nothing in it says yet what is wanted: goal, better, ends."


def _parse_action(ctx: click.Context, option: click.Parameter, text: str | None) -> Any:
    """Return an action; what is not JSON is a string."""
    try:
        return None if text is None else json.loads(text)
    except ValueError:
        return text


@click.command(epilog="Example: plaudit observe CartPole-v1 -o task.json")
@click.argument("env", required=False)
@click.option(
    "--features",
    metavar="FILE.py:NAME",
    help="The function from a step to fields by name; unless given, the observation's entries, info and the action.",
)
@click.option(
    "--steps", metavar="COUNT", type=COUNT, help="Steps that are played, or read at most.  [default: 10000; 200000]"
)
@click.option("--seed", metavar="NUMBER", type=SEED, help="Random seed.  [default: 0]")
@click.option(
    "--max-steps",
    metavar="COUNT",
    type=COUNT,
    help="Steps of an episode at most, where ENV sets no limit.  [default: 1000]",
)
@click.option(
    "--idle",
    metavar="ACTION",
    callback=_parse_action,
    help="The action that does nothing; unless given, 0 where actions are continuous or switches.",
)
@make_option()
@click.option(
    "--ledger", "where", metavar="LEDGER|FILE", help="Learn from recorded steps: a ledger, or .parquet, .csv, .jsonl."
)
@ledger_options("reward", "version", "run", "phase", "actor", "since", "until")
@click.option("--action", metavar="NAME", help="The column of a file that is the action.  [default: action]")
@click.option("--name", metavar="TEXT", help="What the task is called; named after ENV unless given.")
@output_option("Write the task there, as JSON to read and edit; what was declared in that file is kept.")
@click.option("--json", "as_json", is_flag=True, help="Print the task as JSON for a script.")
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
    """Learn a task from ENV or from recorded steps: ranges, rates, events, ends, facts.

    ENV is the id of a Gymnasium environment, or file.py:Name or package.module:Name, a class, function or instance.
    Doing nothing, constant, random and slowly changing actions are played; only reset and step are called. Every
    statement has a count of how often it was seen. Read the file, correct it, say in it what is wanted, and check,
    probe and audit rewards by it.

    With --ledger, recorded steps are read instead. A row of a file is a step; the column episode says of which
    episode, terminated and truncated (or end) how it ended, and every other column is a field.
    """
    query = parse_query(others)
    playing = drop_unset({"seed": seed, "max_steps": max_steps})
    if (env is None) == (where is None):
        raise click.UsageError("name an environment, or recorded steps with --ledger: one of the two.")
    before = _read_declared(output)
    if output is not None:
        AtomicFile(output).discard()  # whether it can be written is known before anything is played
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
        raise click.UsageError(f"--{name.replace('_', '-')} is for {what}.")


def _read_declared(output: str | None) -> "Task | None":
    """Return what a person declared in the file that is to be written, if it is there."""
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
        said = f"What was declared in it is kept: {', '.join(kept)}." if kept else _UNSAID
        screen.print(f"\nWritten to {output}. {said}")
