"""A task as Python text to fill in: the statements so far, and commented lines for open questions."""

import ast
import builtins
import math
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import fields as dataclass_fields
from itertools import count
from typing import Any

from plaudit import functions
from plaudit.language.field import Field
from plaudit.reward.declared import Fact
from plaudit.reward.task.functions import write_function
from plaudit.reward.task.preference import Preference, Row
from plaudit.reward.task.statements import End, Event, Rate, Seen
from plaudit.reward.task.task import Task

WIDTH = 110
"""Characters of a line."""
_UNSIGNED = ": End(None"
_SEEN = "delete the line of a statement that you change: it then counts as declared"
_SIGNS = '"good", "bad" or "time"?'
_ORDER = (
    *("goal", "goal_ends", "better", "aim", "prefer", "ends", "discount", "horizon", "states", "actions", "events"),
    *("idle", "start", "rates", "max_change", "monotone", "still", "facts", "fields", "seen"),
)
OURS = ("End", "Event", "Field", "Reward", "Seen", "State", "Task", "fact", "prefer", "sign", "term")
"""Names of plaudit in such a text."""
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"'})
_LISTS = ("prefer", "states", "actions", "still", "facts", "fields", "terms", "override")


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A statement that a task lacks and that matters for a reward."""

    part: str
    """The parameter of `Task` that says it."""
    asks: str
    """What it is, and what checks assume meanwhile."""
    answer: Any = None
    """What an answer looks like in a file of JSON."""
    entries: Mapping[str, str] = field(default_factory=dict)
    """What to fill in, as Python, each with a remark; nothing where the part is a single value."""

    def to_dict(self) -> dict[str, Any]:
        """Return what is asked, and what an answer looks like."""
        return {"asks": self.asks, "answer": self.answer}


def write_python(task: Task, questions: Sequence[OpenQuestion] = (), *, doc: str = "") -> str:
    """Return a module of Python that defines `task`; a question is a comment where its answer belongs.

    >>> print(write_python(Task("landing", horizon=500), [OpenQuestion("discount", "checks take 1")]))
    from plaudit import Task
    <BLANKLINE>
    task = Task(
        "landing",
        # discount=...,  # checks take 1
        horizon=500,
    )
    <BLANKLINE>
    """
    definitions, body = write_task(task, questions)
    defined = [f"\n\n{text}" for text in definitions]
    imports = write_imports("\n".join([*body, *definitions]))
    opening = [f'"""{doc.translate(_ESCAPES)}"""', ""] if doc else []
    return "\n".join([*opening, *imports, *defined, *([""] if defined else []), "", *body, ""])


def write_task(task: Task, questions: Sequence[OpenQuestion] = ()) -> tuple[list[str], list[str]]:
    """Return the functions of `task` as Python, each a text, and the lines of its definition."""
    names = _Names(task)
    body = list(_write_task(task, {each.part: each for each in questions}, names))
    return names.definitions, body


class _Names:
    """The functions of a task, each defined once; where two share a name, the earlier one is kept under another."""

    def __init__(self, task: Task) -> None:
        self.definitions: list[str] = []
        self._used: dict[tuple[str, bool], str] = {}
        wishes = [task.goal, *(end.when for end in task.ends.values())]
        for function in wishes:
            if function is not None:
                self._define(function, is_fact=False)
        for each in task.facts:
            self._define(each, is_fact=True)

    def _define(self, function: Fact, *, is_fact: bool) -> None:
        text, name = write_function(function).strip(), function.name
        if (text, is_fact) in self._used:
            return
        lines = []
        taken = {other: key for key, other in self._used.items()}
        if name in taken:
            spare = next(each for number in count(1) if (each := f"{name}_{number}") not in taken)
            self._used[taken[name]] = spare
            lines.append(f"{spare} = {name}\n")
        self._used[text, is_fact] = name
        self.definitions.append("\n".join([*lines, *(["@fact"] if is_fact else []), text]))

    def find(self, function: Fact, *, is_fact: bool = False) -> str:
        """Return the name by which a function can be used."""
        return self._used[write_function(function).strip(), is_fact]


def _write_task(task: Task, questions: Mapping[str, OpenQuestion], names: _Names) -> Iterator[str]:
    yield "task = Task("
    yield f"    {write_value(task.name)},"
    for part in ("version", "doc", "source"):
        if (value := getattr(task, part)) != ("1" if part == "version" else ""):
            yield f"    {part}={write_value(value)},"
    known = _write_statements(task, names)
    for part in _ORDER:
        question = questions.get(part)
        if isinstance(value := known.get(part), str):
            yield f"    {part}={value},"
        elif question is not None and not question.entries and not value:
            yield f"    # {part}=...,  # {question.asks}"
        elif value or question is not None:
            yield from (f"    {line}" for line in write_entries(part, value or [], question))
    yield ")"


def write_entries(part: str, entries: Sequence[str], question: OpenQuestion | None = None) -> Iterator[str]:
    """Yield the lines of an argument that is a list or a dict: one line if it fits, or a line for each entry."""
    opening, closing = "[]" if part in _LISTS else "{}"
    whole = f"{part}={opening}{', '.join(entries)}{closing},"
    if question is None and len(whole) <= WIDTH - 4 and _UNSIGNED not in whole:
        yield whole
        return
    asks = _SEEN if part == "seen" else question.asks if question is not None and question.entries else ""
    yield f"{part}={opening}" + (f"  # {asks}" if asks else "")
    for entry in entries:
        yield f"    {entry}," + (f"  # {_SIGNS}" if part == "ends" and _UNSIGNED in entry else "")
    if question is not None:
        plain = [f"{entry}," for entry, remark in question.entries.items() if not remark]
        yield from (f"    # {line}" for line in textwrap.wrap(" ".join(plain), WIDTH - 10))
        yield from (f"    # {entry},  # {remark}" for entry, remark in question.entries.items() if remark)
    yield f"{closing},"


def _write_statements(task: Task, names: _Names) -> dict[str, str | list[str]]:
    """Return what is said by parameter: a value, or an entry for each name."""
    written: dict[str, str | list[str]] = {}
    if task.goal is not None:
        written["goal"] = names.find(task.goal)
        if not task.goal_ends:
            written["goal_ends"] = "False"
    for part in ("discount", "horizon"):
        if (value := getattr(task, part)) is not None:
            written[part] = write_value(value)
    for part in ("better", "aim", "events", "idle", "start", "rates", "max_change", "monotone"):
        written[part] = [f"{write_value(name)}: {write_value(value)}" for name, value in getattr(task, part).items()]
    for part in ("states", "actions", "still"):
        written[part] = [write_value(name) for name in getattr(task, part)]
    written["ends"] = [f"{write_value(name)}: {_write_end(end, names)}" for name, end in task.ends.items()]
    written["prefer"] = [_write_preference(each) for each in task.prefer]
    written["facts"] = [names.find(each, is_fact=True) for each in task.facts]
    written["fields"] = [write_field(each) for each in task.fields.values()]
    written["seen"] = [f"{write_value(key)}: {write_value(seen)}" for key, seen in task.seen.items()]
    return written


def _write_end(end: End, names: _Names) -> str:
    when = None if end.when is None else names.find(end.when)
    if end.sign is None:
        return f"End(None{'' if when is None else f', {when}'})"
    return write_value(end.sign) if when is None else f"({write_value(end.sign)}, {when})"


def _write_preference(preference: Preference) -> str:
    parts = [_write_rows(preference.better), f"over={_write_rows(preference.over)}"]
    parts += [f"because={write_value(preference.because)}"] if preference.because else []
    whole = f"prefer({', '.join(parts)})"
    return (
        whole
        if len(whole) <= WIDTH - 8
        else "".join(["prefer(", *(f"\n            {each}," for each in parts), "\n        )"])
    )


def _write_rows(rows: Sequence[Row]) -> str:
    written = [write_value(dict(row)) for row in rows]
    return written[0] if len(written) == 1 else f"[{', '.join(written)}]"


def write_field(given: Field, **changes: str) -> str:
    """Return a field as Python; `changes` are texts that stand for arguments.

    >>> write_field(Field("speed", low=0, unit="m/s"), high="...")
    'Field("speed", low=0.0, high=..., unit="m/s")'
    """
    parts = {
        part.name: write_value(getattr(given, part.name))
        for part in dataclass_fields(Field)
        if part.name != "name"
        and getattr(given, part.name) != part.default
        and not (part.name == "shape" and given.length is not None)
    }
    order = [part.name for part in dataclass_fields(Field) if part.name in {**parts, **changes}]
    listed = [f"{name}={changes.get(name) or parts[name]}" for name in order]
    return f"Field({', '.join([write_value(given.name), *listed])})"


def write_value(value: Any) -> str:
    """Return a plain value as Python, strings in double quotes."""
    value = value.tolist() if hasattr(value, "tolist") else value
    match value:
        case str():
            return _quote(value)
        case float() if math.isinf(value):
            return f'float("{value}")'
        case Mapping():
            return f"{{{', '.join(f'{write_value(key)}: {write_value(each)}' for key, each in value.items())}}}"
        case list():
            return f"[{', '.join(map(write_value, value))}]"
        case tuple():
            return f"({', '.join(map(write_value, value))}{',' if len(value) == 1 else ''})"
        case Rate(rate, dt):
            return write_value(rate) if dt is None else f"({write_value(rate)}, {write_value(dt)})"
        case Event(None, None, None):
            return "None"
        case Event(at_most, None, None):
            return str(at_most)
        case Event():
            parts = {part: getattr(value, part) for part in value.__slots__}
            return f"Event({', '.join(f'{part}={each!r}' for part, each in parts.items() if each is not None)})"
        case Seen(held, of, unit):
            return f"Seen({held}, {of}{'' if unit == 'steps' else f', {write_value(unit)}'})"
    return repr(value)


def _quote(text: str) -> str:
    written = repr(text)
    return written if '"' in written else f'"{written[1:-1]}"'


def write_imports(text: str, also: Collection[str] = ()) -> list[str]:
    """Return the imports of what a text names, in comments too, and `also` names of plaudit, or `np`."""
    used = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)} | {*also}
    used = (used | {name for name in ("End", "Event", "Field") if f"{name}(" in text}) - {*dir(builtins)}
    ours = sorted(used & {*OURS})
    lines = [f"import {name}" for name in ("math", "numpy") if name in used]
    lines += ["import numpy as np"] if "np" in used else []
    plain = sorted(used & {name for name in vars(math) if not name.startswith("_")} - {*functions.__all__})
    lines += [f"from math import {', '.join(plain)}"] if plain else []
    lines += [""] if lines else []
    lines += [f"from plaudit import {', '.join(ours)}"]
    own = sorted(used & {*functions.__all__})
    return lines + ([f"from plaudit.functions import {', '.join(own)}"] if own else [])
