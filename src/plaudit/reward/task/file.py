"""A task as JSON that people read and edit: a statement a line, each with how often it was seen, if it was."""

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from plaudit.errors import DefinitionError, FileError, PlauditError, SpecError, did_you_mean
from plaudit.language.codec import (
    decode_number,
    encode_number,
    field_to_dict,
    format_canonical,
    parse_json,
    read_field,
)
from plaudit.language.field import Field
from plaudit.reward.declared import Fact
from plaudit.reward.task.functions import parse_function, strip_function, write_function
from plaudit.reward.task.preference import Preference, Row, prefer
from plaudit.reward.task.statements import End, Event, Rate, Seen
from plaudit.reward.task.task import Task

_Made = TypeVar("_Made")

FORMAT = 1
_TITLES = ("name", "version", "doc", "source")
_VALUES = ("discount", "horizon", "better", "aim", "max_change", "monotone")
_ROWS = ("idle", "start")
_LISTED = ("states", "actions", "still")
_INFINITIES = ("inf", "-inf")
_NAMED = ("ends", "fields", "events", "rates", "facts")
PARTS = ("task", *_TITLES, "goal", *_VALUES, *_ROWS, *_LISTED, "prefer", *_NAMED, "questions")


def to_dict(task: Task) -> dict[str, Any]:
    """Return a task as plain data: each statement an object, with `seen` where it was only seen."""
    data: dict[str, Any] = {"task": FORMAT, **{part: getattr(task, part) for part in _TITLES if getattr(task, part)}}
    if task.goal is not None:
        ends = {} if task.goal_ends else {"ends": False}
        data["goal"] = {"when": write_function(task.goal), **ends, **_write_seen(task, "goal")}
    for part in ("discount", "horizon"):
        if (value := getattr(task, part)) is not None:
            data[part] = {"is": value, **_write_seen(task, part)}
    written: dict[str, dict[str, Any]] = {part: {} for part in PARTS if part not in data}
    for part, name, value in task.list_statements():
        if part in written and part != "prefer":
            said = {} if part in _LISTED else _write_statement(value)
            written[part][name] = {**said, **_write_seen(task, part, name)}
    data |= {part: entries for part, entries in written.items() if entries}
    if task.prefer:
        data["prefer"] = [preference_to_dict(each) for each in task.prefer]
    return data


def _write_statement(value: Any) -> dict[str, Any]:
    match value:
        case Field():
            return {key: part for key, part in field_to_dict(value).items() if key != "name"}
        case Fact():
            return {"when": write_function(value)}
        case End(sign, when):
            return {"is": sign, **({} if when is None else {"when": write_function(when)})}
        case Event() | Rate():
            parts = {part: getattr(value, part) for part in value.__slots__}
            return {part: each for part, each in parts.items() if each is not None}
    return {"is": write_entry(value)}


def _write_seen(task: Task, part: str, name: str = "") -> dict[str, str]:
    seen = task.seen.get(f"{part}.{name}" if name else part)
    return {} if seen is None else {"seen": str(seen)}


def preference_to_dict(preference: Preference) -> dict[str, Any]:
    """Return a preference for JSON."""
    sides = {"better": preference.better, "over": preference.over}
    rows = {side: [row_to_dict(row) for row in steps] for side, steps in sides.items()}
    return {**rows, "because": preference.because}


def row_to_dict(row: Row) -> dict[str, Any]:
    """Return a row for JSON."""
    return {name: write_entry(value) for name, value in row.items()}


def write_entry(value: Any) -> Any:
    """Return a value of a row for JSON: infinities are strings, and a category of such a name is an object."""
    if isinstance(value, list | tuple):
        return [write_entry(each) for each in value]
    return {"category": value} if value in _INFINITIES else encode_number(value)


def compute_fingerprint(task: Task) -> str:
    """Return the SHA-256 of what a task says and whether it was only seen; names, sentences, counts are for people."""
    data = to_dict(task)
    content = {part: _keep_meaning(part, value) for part, value in data.items() if part not in ("task", *_TITLES)}
    return hashlib.sha256(format_canonical(content).encode()).hexdigest()


def describe_canonically(task: Task) -> str:
    """Return all that a task says as text: the same for what is said in another order, and of 1 and 1.0."""
    return format_canonical({part: _unify(part, value) for part, value in to_dict(task).items()})


def _unify(part: str, value: Any) -> Any:
    """Return a part of a task as it is told apart: rows by their numbers, preferences in any order."""
    if part == "prefer":
        return sorted((_to_floats(each) for each in value), key=format_canonical)
    return _to_floats(value) if part in _ROWS else value


def _to_floats(value: Any) -> Any:
    match value:
        case Mapping():
            return {name: _to_floats(each) for name, each in value.items()}
        case list():
            return [_to_floats(each) for each in value]
        case int() | float() if not isinstance(value, bool):
            return float(value) + 0.0  # not -0.0
    return value


def _keep_meaning(part: str, value: Any) -> Any:
    if part == "prefer":
        return _unify(part, [[each["better"], each["over"]] for each in value])
    entries = {"": value} if part in ("goal", "discount", "horizon") else _unify(part, value)
    return {
        name: {
            key: strip_function(each) if key == "when" else key == "seen" or each
            for key, each in entry.items()
            if key != "doc"
        }
        for name, entry in entries.items()
    }


def to_json(task: Task, questions: Mapping[str, Any] | None = None) -> str:
    """Return a task as JSON with a statement a line; `questions` are for people, and reading passes over them."""
    return format_lines({**to_dict(task), **({"questions": questions} if questions else {})})


def format_lines(data: Mapping[str, Any]) -> str:
    """Return data as JSON, the parts of each part on a line of their own."""
    lines = []
    for part, value in data.items():
        if isinstance(value, Mapping) and value and all(isinstance(each, Mapping) for each in value.values()):
            inner = [f"    {json.dumps(name)}: {_dump(each)}" for name, each in value.items()]
            lines.append(f"  {json.dumps(part)}: {{\n" + ",\n".join(inner) + "\n  }")
        elif isinstance(value, list):
            lines.append(f"  {json.dumps(part)}: [\n" + ",\n".join(f"    {_dump(each)}" for each in value) + "\n  ]")
        else:
            lines.append(f"  {json.dumps(part)}: {_dump(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def save(task: Task, path: str | Path) -> None:
    """Write a task into a file, whole or not at all."""
    from plaudit.atomic import AtomicFile  # which `import plaudit` does not load

    with AtomicFile(path) as file:
        file.file.write(to_json(task))
        file.commit()


def load(path: str | Path) -> Task:
    """Return the task in a file."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise FileError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    try:
        return from_json(text)
    except SpecError as error:
        raise SpecError(f"{path}: {error}") from None


def from_json(text: str) -> Task:
    """Return the task that a text of JSON holds."""
    return from_dict(parse_json(text))


def from_dict(data: object) -> Task:
    """Return the task that plain data holds; SpecError says what is wrong with it."""
    if not isinstance(data, Mapping) or "task" not in data:
        raise SpecError('this is not a task: it has no "task", which says the version of the format')
    if data["task"] != FORMAT:
        raise SpecError(
            f"this task was written in format {data['task']!r:.20}, and this plaudit reads format {FORMAT}. "
            "Observe or declare it again, or use the plaudit that wrote it."
        )
    for part in data:
        if part not in PARTS:
            near = ' Write "ends": false in its goal.' if part == "goal_ends" else did_you_mean(str(part), PARTS)
            raise SpecError(f"a task has no part {part!r:.60}.{near}")
    try:
        return _read_task(data)
    except PlauditError as error:
        raise SpecError(str(error)) from None
    except (TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
        raise SpecError(f"this is not a task: {type(error).__name__}: {error}") from None


def _read_task(data: Mapping[str, Any]) -> Task:
    parts: dict[str, Any] = {part: data[part] for part in _TITLES if part in data}
    seen: dict[str, Seen] = {}

    def take(part: str, name: str, entry: object, *known: str) -> Mapping[str, Any]:
        where = f"{part}.{name}" if name else part
        if not isinstance(entry, Mapping):
            example = {key: entry for key in known[:1] if key in ("is", "when", "rate")}
            raise DefinitionError(f"{where!r} is {_dump(entry):.60}; write an object, such as {_dump(example):.80}")
        for other in {*entry} - {*known, "seen"}:
            raise DefinitionError(f"{where!r} has no part {other!r:.60}. Its parts: {', '.join((*known, 'seen'))}.")
        for needed in {"is", "rate"} & {*known[:1]} - {*entry}:
            raise DefinitionError(f"{where!r} has no {needed!r}")
        if "seen" in entry:
            seen[where] = _name_place(where, Seen.parse, entry["seen"])
        return {key: value for key, value in entry.items() if key != "seen"}

    def take_all(part: str, *known: str) -> dict[str, Mapping[str, Any]]:
        entries = data.get(part, {})
        if not isinstance(entries, Mapping):
            raise DefinitionError(f"{part!r} is an object with an entry for each name")
        return {str(name): take(part, str(name), entry, *known) for name, entry in entries.items()}

    if "goal" in data:
        goal = take("goal", "", data["goal"], "when", "ends")
        parts |= {"goal": parse_function(goal.get("when"), "goal"), "goal_ends": goal.get("ends", True)}
    for part in ("discount", "horizon"):
        if part in data:
            parts[part] = take(part, "", data[part], "is")["is"]
    for part in ("better", "aim", "max_change", "monotone", *_ROWS):
        parts[part] = {name: _read_value(entry["is"], f"{part}.{name}") for name, entry in take_all(part, "is").items()}
    for part in _LISTED:
        parts[part] = tuple(take_all(part))
    parts["start"] = {name: tuple(each) if isinstance(each, list) else each for name, each in parts["start"].items()}
    known = [name for name in Field.__dataclass_fields__ if name != "name"]
    parts["fields"] = [read_field({"name": name, **each}) for name, each in take_all("fields", *known).items()]
    parts["events"] = {
        name: _name_place(f"events.{name}", Event, **each)
        for name, each in take_all("events", *Event.__slots__).items()
    }
    parts["rates"] = {name: Rate(**each) for name, each in take_all("rates", *Rate.__slots__).items()}
    parts["ends"] = {
        name: End(each["is"], parse_function(each["when"], "end") if "when" in each else None)
        for name, each in take_all("ends", "is", "when").items()
    }
    facts = {name: parse_function(each.get("when"), "fact") for name, each in take_all("facts", "when").items()}
    for name, each in facts.items():
        if each.name != name:
            raise DefinitionError(f"the fact {name!r} defines a function {each.name!r}; give both one name")
    parts["facts"] = tuple(facts.values())
    if not isinstance(preferences := data.get("prefer", []), list):
        raise DefinitionError("'prefer' is a list of preferences")
    parts["prefer"] = [read_preference(entry) for entry in preferences]
    return Task(**parts, seen=seen)


def _name_place(where: str, make: Callable[..., _Made], *given: Any, **parts: Any) -> _Made:
    """Return what is made of a part; an error names where it stands."""
    try:
        return make(*given, **parts)
    except DefinitionError as error:
        raise DefinitionError(f"{where!r}: {error}") from None


def read_preference(entry: object) -> Preference:
    """Return a preference that `preference_to_dict` wrote."""
    if not isinstance(entry, Mapping) or not {"better", "over"} <= entry.keys() <= {"better", "over", "because"}:
        raise DefinitionError("a preference must have these parts and no others: better, over, because")
    rows = {side: [entry[side]] if isinstance(entry[side], Mapping) else entry[side] for side in ("better", "over")}
    better, over = ([_read_row(row) for row in steps] for steps in rows.values())
    return prefer(better, over=over, because=entry.get("because", ""))


def _read_row(row: object) -> Row:
    if not isinstance(row, Mapping):
        raise DefinitionError("a row must be an object")
    return {str(name): _read_value(value, str(name)) for name, value in row.items()}


def _read_value(value: Any, where: str) -> Any:
    match value:
        case list():
            return [_read_value(each, where) for each in value]
        case {"category": str(category), **more} if not more:
            return category
        case str() if value not in _INFINITIES:
            return value
    return decode_number(value, where)
