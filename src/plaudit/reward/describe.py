"""What a reward declares and what a signal says, for people: numbers and ranges in words, and HTML for notebooks."""

import ast
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from plaudit.html import (
    Markup,
    build_element,
    build_folded,
    build_heading,
    build_name,
    build_note,
    build_table,
    join,
)
from plaudit.language.field import Field
from plaudit.language.parameters import Number, Parameter
from plaudit.language.schedule import Schedule
from plaudit.language.writing.mathml import FormulaText
from plaudit.reward.declared import Fact
from plaudit.reward.task.preference import Preference
from plaudit.reward.task.statements import End, Event, Rate
from plaudit.reward.task.task import Task
from plaudit.reward.term import Term
from plaudit.terminal import format_value

MOST_VALUES = 8
"""How many values of a field are written out."""


def format_parameter(value: Parameter) -> str:
    """Return a parameter as people write it; of a long vector the beginning and the end.

    >>> format_parameter((0.5, 2.0)), format_parameter(tuple(float(at) for at in range(99)))
    ('(0.5, 2)', '(0, 1, 2, 3, 4, 5, …, 98)')
    """
    if not isinstance(value, tuple):
        return str(value) if isinstance(value, Schedule) else format_value(value)
    return f"({', '.join(_shorten([format_parameter(entry) for entry in value]))})"


def _shorten(texts: list[str]) -> list[str]:
    return texts if len(texts) <= MOST_VALUES else [*texts[: MOST_VALUES - 2], "…", texts[-1]]


def list_task_rows(task: Task) -> list[tuple[str, str, str, str]]:
    """Return what a task says, for a table: what is said, of what, and where that comes from.

    >>> list_task_rows(Task(better={"fuel": "high"}, horizon=500))
    [('horizon', '', '500 steps', 'declared'), ('better', 'fuel', 'high', 'declared')]
    """
    rows = []
    for part, name, value in task.list_statements():
        seen = task.seen.get(f"{part}.{name}" if name else part)
        origin = "declared" if seen is None else f"seen in {seen}"
        about = value.name if part == "goal" else "" if part == "prefer" else name
        rows.append((part.replace("_", " "), about, _format_statement(part, value), origin))
    return rows


def _format_statement(part: str, value: Any) -> str:
    match value:
        case True if part in ("states", "actions", "still"):
            return {"states": "persists", "actions": "chosen", "still": "unchanged when idle"}[part]
        case Fact():
            return _first_line(value.doc) or _format_function(value)
        case Field():
            return format_allowed(value)
        case End(sign, when):
            said = {"time": "time limit", None: "good or bad: unknown"}.get(sign, str(sign))
            return f"{said}, when {_format_function(when)}" if when is not None else said
        case Rate(rate, dt):
            return f"changes by {rate}" + ("" if dt is None else f" × {format_value(dt)}")
        case Event(at_most, renews, rate):
            parts = [] if at_most is None else [f"at most {at_most:,} times"]
            parts += [] if renews is None else [f"again after {renews:,} steps"]
            parts += [] if rate is None else [f"in {rate:.2%} of steps"]
            return ", ".join(parts) or "happens"
        case Preference(better, over, because):
            return f"{format_steps(better)} over {format_steps(over)}" + (f": {because}" if because else "")
        case (low, high) if part == "start":
            return f"{format_value(low)} … {format_value(high)}"
    if part == "horizon":
        return f"{value:,} steps"
    return f"only {value}" if part == "monotone" else _format_entry(value)


def _format_entry(value: Any) -> str:
    return format_value(value) if isinstance(value, bool | int | float | str) else str(value)


def _format_function(function: Fact) -> str:
    """Return what a short function returns, and the name of a long one."""
    body = function.source.tree.body if function.source is not None else []
    match body[-1:]:
        case [ast.Return(value=ast.expr() as result)] if len(body) == 1 + bool(function.doc):
            return ast.unparse(result)
    return function.name


def format_steps(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return what is known of one or more steps.

    >>> format_steps([{"distance": 30.0, "warned": True}, {}])
    'distance=30, warned=true; then any step'
    """
    texts = [", ".join(f"{name}={_format_entry(value)}" for name, value in row.items()) or "any step" for row in rows]
    return "; then ".join(texts)


def format_range(low: Number | None, high: Number | None) -> str:
    """Return a range as people write it.

    >>> format_range(0.0, 0.3), format_range(0.0, None), format_range(None, None)
    ('0 … 0.3', '≥ 0', '')
    """
    if low is not None and high is not None:
        return f"{format_parameter(low)} … {format_parameter(high)}"
    if low is not None:
        return f"≥ {format_parameter(low)}"
    return "" if high is None else f"≤ {format_parameter(high)}"


def format_allowed(field: Field) -> str:
    """Return which values a field can have, and what becomes of others.

    >>> format_allowed(Field("distance", low=0, infinite=True))
    '≥ 0 or inf'
    >>> format_allowed(Field("delta", low=-1, high=1, outside="clip"))
    '-1 … 1; others clipped'
    """
    values = f"{_format_values(field)} or inf" if field.infinite else _format_values(field)
    outside = {"raise": "", "clip": "others clipped", "allow": "others allowed"}[field.outside]
    other = "" if field.other is None else f"others: {format_value(field.other)}"
    absent = "" if field.missing is None else f"missing: {format_value(field.missing)}"
    return "; ".join(part for part in (values, outside, other, absent) if part)


def _format_values(field: Field) -> str:
    if field.kind == "flag":
        return "true, false"
    if not field.values:
        return format_range(field.low, field.high) or "any number"
    return ", ".join(_shorten([format_value(value) for value in field.values]))


# -- notebooks ---------------------------------------------------------------------------------------------------------


def build_reward_html(
    title: str,
    fingerprint: str,
    doc: str,
    terms: Iterable[Term],
    total: str,
    fields: Mapping[str, Field],
    formula: FormulaText,
    task: Task,
) -> Markup:
    """Return a reward as HTML: its terms, its formulas, what it reads, and its task."""
    rows = [
        (build_name(each.name), format_parameter(each.weight), format_range(each.low, each.high), _first_line(each.doc))
        for each in terms
    ]
    read = [
        (build_name(name), each.kind, format_allowed(each), each.unit, _first_line(each.doc))
        for name, each in fields.items()
    ]
    return join(
        build_heading(title, build_element("code", fingerprint[:12])),
        build_note(doc) if doc else None,
        build_table(
            ("term", "weight", "clamped to", "description"), rows, right=["weight"], total=("total", "", total, "")
        ),
        build_folded("Formulas", Markup(formula._repr_html_())),
        build_folded("Fields", build_table(("field", "kind", "range", "unit", "description"), read)),
        None if task.is_empty else build_folded(f"Task {task.name}@{task.version}", build_task_table(task)),
    )


def build_task_html(task: Task) -> Markup:
    """Return a task as HTML: what is said, of what, and where that comes from."""
    return join(
        build_heading(f"{task.name}@{task.version}", build_element("code", task.fingerprint[:12])),
        build_note(task.doc) if task.doc else None,
        build_note(f"seen in {task.source}") if task.source else None,
        build_note("nothing declared") if task.is_empty else build_task_table(task),
    )


def build_task_table(task: Task) -> Markup:
    """Return what a task says as a table of HTML."""
    rows = [(part, build_name(name) if name else "", said, origin) for part, name, said, origin in list_task_rows(task)]
    return build_table(("statement", "field", "value", "source"), rows)


def build_signal_html(
    title: str,
    terms: Iterable[tuple[str, float, float, float, float]],
    total: float,
    note: str,
    inputs: Mapping[str, float | bool | str],
) -> Markup:
    """Return a signal as HTML: each term from score to value, and the inputs."""
    rows = [(build_name(each[0]), *each[1:]) for each in terms]
    headers = ("term", "score", "clamped", "weight", "value")
    return join(
        build_heading(title),
        build_note("not scored")
        if math.isnan(total)
        else build_table(headers, rows, right=headers[1:], total=("total", "", "", "", total)),
        build_note(note) if note else None,
        build_folded(
            "Inputs", build_table(("input", "value"), [(build_name(k), v) for k, v in inputs.items()], right=["value"])
        ),
    )


def _first_line(doc: str) -> str:
    return doc.partition("\n")[0]
