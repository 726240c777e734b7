"""`plaudit show`: a reward or a task."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import click
from rich.console import RenderableType
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from plaudit.cli._support.options import apply_task, task_option
from plaudit.language.codec import field_to_dict
from plaudit.language.parameters import Parameter
from plaudit.language.schedule import Schedule
from plaudit.plugins.arguments import find_reward_or_task
from plaudit.reward.composition import TotalFunction
from plaudit.reward.describe import format_allowed, format_parameter, format_range, list_task_rows
from plaudit.reward.reward import Reward
from plaudit.reward.state import State
from plaudit.reward.task.task import Task
from plaudit.reward.term import Term
from plaudit.terminal import Screen, build_table, escape_controls


@click.command(epilog="Example: plaudit show roadsense@R8 --source")
@click.argument("reward", metavar="REWARD|TASK", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("--formula", is_flag=True, help="Print the formula as Markdown with LaTeX.")
@click.option("--source", is_flag=True, help="Print the formula as Python.")
@click.option("--python", is_flag=True, help="Print the definition as a Python module; functions are imported.")
@click.option("--spec", is_flag=True, help="Print the specification: JSON that every command accepts as a REWARD.")
@click.option(
    "--sql", metavar="DIALECT", help="Print a query over a table `steps` for duckdb, sqlite, postgres or spark."
)
@task_option("Print only the task: the reward's own, or merged with this one.", flag_value="")
def show(
    reward: str | None,
    as_json: bool,
    formula: bool,
    source: bool,
    python: bool,
    spec: bool,
    sql: str | None,
    task: str | None,
) -> None:
    """Show a reward or a task.

    Prints the terms, formula, fields, knobs and fingerprint of a reward, or the statements of a task with their
    sources. REWARD is a built-in (roadsense, or roadsense@R8), path/to/file.py:name, package.module:name, or a JSON
    file; Python files are executed. The specification rebuilds the reward without its Python source:

    \b
        plaudit show roadsense --spec > r.json
        plaudit show r.json

    TASK is a JSON file written by `plaudit observe` or `plaudit declare --json`, or file.py:name.
    """  # noqa: D301 - Click takes a real backspace as "leave these lines alone"
    if as_json + formula + source + python + spec + (sql is not None) > 1:
        raise click.UsageError(
            "--json, --formula, --source, --python, --spec and --sql cannot be combined; choose one."
        )
    if reward is None:
        if not task:
            raise click.UsageError("name a REWARD or a TASK.")
        reward, task = task, ""  # `show --task roadsense`
    found = find_reward_or_task(reward)
    if isinstance(found, Task) or task is not None:
        if formula or source or python or spec or sql is not None:
            raise click.UsageError("a task has no formula; print it as a table or with --json.")
        shown = found if isinstance(found, Task) else apply_task(found, task or None).task
        if as_json:
            click.echo(json.dumps({**shown.to_dict(), "fingerprint": shown.fingerprint}, indent=2, ensure_ascii=False))
        elif shown.is_empty:
            click.echo(f"{reward} has no task. `plaudit declare {reward}` prints one to fill in.")
        else:
            print_task(shown, Screen())
    elif as_json:
        click.echo(json.dumps(describe(found), indent=2))
    elif spec:
        click.echo(found.to_json())
    elif formula:
        click.echo(found.formula().rstrip("\n"))
    elif source:
        click.echo(found.source().rstrip("\n"))
    elif python:
        click.echo(found.to_python().rstrip("\n"))
    elif sql is not None:
        click.echo(found.compile("sql", dialect=sql).select("steps"))
    else:
        print_reward(found, Screen())


def describe(reward: Reward) -> dict[str, Any]:
    """Return a reward as plain data."""
    return {
        "name": reward.name,
        "version": reward.version,
        "doc": reward.doc,
        "fingerprint": reward.fingerprint,
        "domain_fingerprint": reward.domain_fingerprint,
        "action": reward.action,
        "low": describe_number(reward.low),
        "high": describe_number(reward.high),
        "inputs": list(reward.inputs),
        "terms": [_describe_term(term) for term in reward.terms],
        "fields": [{"kind": field.kind, **field_to_dict(field)} for field in reward.fields.values()],
        **({"states": [_describe_state(state) for state in reward.states.values()]} if reward.states else {}),
        "params": dict(reward.params),
        "task": None if reward.task.is_empty else reward.task.to_dict(),
        "task_fingerprint": None if reward.task.is_empty else reward.task.fingerprint,
        "allow": dict(reward.allow),
        "scale": describe_number(reward.scale),
        "gate": None if reward.gate is None else _describe_function(reward.gate),
        "override": [
            {**_describe_function(each.condition), "value": describe_number(each.value)} for each in reward.override
        ],
    }


def describe_number(value: Any) -> Any:
    """Return a number for JSON; a schedule becomes an object."""
    return value.to_dict() if isinstance(value, Schedule) else value


def _describe_term(term: Term) -> dict[str, Any]:
    parts = ("name", "weight", "low", "high", "terminal", "gated", "after_clamp", "kind", "doc", "shared", "reads")
    described = {part: describe_number(getattr(term, part)) for part in parts}
    return described | {"knobs": _describe_knobs(term.knobs), "allow": dict(term.allow)}


def _describe_function(function: TotalFunction) -> dict[str, Any]:
    described = {part: getattr(function, part) for part in ("name", "doc", "shared", "reads")}
    return described | {"knobs": _describe_knobs(function.knobs)}


def _describe_knobs(knobs: Mapping[str, Parameter]) -> dict[str, Any]:
    return {name: describe_number(value) for name, value in knobs.items()}


def _describe_state(state: State) -> dict[str, Any]:
    about = {"name": state.name, "reset": list(state.reset), "shared": state.shared, "reads": state.reads}
    return about | {"knobs": _describe_knobs(state.knobs)}


def print_reward(reward: Reward, screen: Screen) -> None:
    """Print a reward."""
    screen.print(Text.assemble((reward.name, "bold"), "@", reward.version))
    if reward.doc:
        screen.print(escape_controls(reward.doc))
    screen.print(Text.assemble(("fingerprint ", "dim"), reward.fingerprint))
    _print_part(screen, "Terms", _build_term_table(reward))
    _print_part(screen, "Formula", _highlight(reward.source()), soft_wrap=True)  # so that it can be copied
    _print_part(screen, "Fields", _build_field_table(reward))
    screen.print(Text.assemble("\n", ("Inputs of a row: ", "dim"), ", ".join(reward.inputs)))
    if knobs := _build_knob_table(reward):
        _print_part(screen, "Knobs", knobs)
    if not reward.task.is_empty:
        _print_part(screen, f"Task {reward.task.name}@{reward.task.version}", build_task_table(reward.task))


def print_task(task: Task, screen: Screen) -> None:
    """Print a task with the source of each statement."""
    screen.print(Text.assemble((task.name, "bold"), "@", task.version))
    if task.doc:
        screen.print(escape_controls(task.doc))
    screen.print(Text.assemble(("fingerprint ", "dim"), task.fingerprint))
    if task.source:
        screen.print(Text.assemble(("observed in ", "dim"), escape_controls(task.source)))
    screen.print()
    screen.print(build_task_table(task))


def _print_part(screen: Screen, title: str, body: RenderableType, *, soft_wrap: bool = False) -> None:
    screen.print(f"\n{title}\n", style="bold")
    screen.print(body, soft_wrap=soft_wrap)


def _highlight(source: str) -> Text:
    text = Syntax("", "python", background_color="default").highlight(source)
    text.rstrip()
    return text


def _build_term_table(reward: Reward) -> Table:
    rows = []
    for term in reward.terms:
        kind = ", ".join(part for part in (term.kind, "at the end" if term.terminal else "", _find_place(term)) if part)
        first = escape_controls(term.doc.partition("\n")[0])
        rows.append((term.name, format_parameter(term.weight), format_range(term.low, term.high), kind, first))
    if reward._composed:
        rows += _list_adjustments(reward)
    elif clamps := format_range(reward.low, reward.high):
        rows.append(("total", "", clamps, "", "Sum of the terms."))
    return _fill_table(("term", "weight", "clamped to", "kind", "description"), rows, right=["weight"])


def _find_place(term: Term) -> str:
    return "after the clamp" if term.after_clamp else "" if term.gated else "not gated"


def _list_adjustments(reward: Reward) -> list[tuple[str, str, str, str, str]]:
    """Return what is applied to the sum of the terms, in order."""
    rows = []
    if reward.scale is not None:
        scale = reward.scale if isinstance(reward.scale, str) else format_parameter(reward.scale)
        rows.append(("scale", scale, "", "", "Factor of every term."))
    if reward.gate is not None:
        first = escape_controls(reward.gate.doc.partition("\n")[0])
        rows.append(("gate", "", "", "factor", first or "Factor of the sum of the gated terms."))
    if clamps := format_range(reward.low, reward.high):
        rows.append(("clamp", "", clamps, "", "Total, before terms after the clamp."))
    for each in reward.override:
        first = escape_controls(each.condition.doc.partition("\n")[0])
        rows.append(
            (each.name, format_parameter(each.value), "", "override", first or "Total when the condition holds.")
        )
    return rows


def _build_field_table(reward: Reward) -> Table:
    rows = []
    for name, field in reward.fields.items():
        title = name + "".join(f"[0 … {size - 1}]" for size in field.shape)
        role = "action" if name == reward.action else "carried" if name in reward.states else ""
        unit, doc = escape_controls(field.unit), escape_controls(field.doc)
        rows.append((title, field.kind, format_allowed(field), unit, role, doc))
    return _fill_table(("field", "kind", "range", "unit", "role", "description"), rows)


def _build_knob_table(reward: Reward) -> Table | None:
    owners = (*reward._functions, *reward.states.values())
    own = {f"{owner.name}.{knob}": value for owner in owners for knob, value in owner.knobs.items()}
    rows = []
    for name, value in {**own, **reward.shared}.items():
        users = [owner.name for owner in owners if name in owner.shared]
        users += ["scale"] if name == reward.scale else []
        if users or name in own:
            rows.append((name, format_parameter(value), ", ".join(users)))
    return _fill_table(("knob", "value", "shared by"), rows, right=["value"]) if rows else None


def build_task_table(task: Task) -> Table:
    """Return the statements of a task as a table, with their sources."""
    rows = [tuple(escape_controls(cell) for cell in row) for row in list_task_rows(task)]
    made = _fill_table(("statement", "field", "value", "source"), rows)
    *_, says, where = made.columns
    says.min_width, where.no_wrap = 20, True
    return made


def _fill_table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[str] = ()) -> Table:
    kept = [at for at in range(len(headers)) if any(row[at] for row in rows)]
    made = build_table(*(headers[at] for at in kept), right=right)
    for row in rows:
        made.add_row(*(row[at] for at in kept))
    return made
