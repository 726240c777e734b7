"""The arguments of a task, read one by one: what cannot be said is a DefinitionError that names the argument."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, get_args

from plaudit.errors import DefinitionError, DuplicateName
from plaudit.language.field import NAME, Field, is_exact, validate_number
from plaudit.language.reading.source import ReadFunction
from plaudit.reward.declared import Fact, make_fact
from plaudit.reward.task.preference import Preference, Row, flatten_row, freeze_row
from plaudit.reward.task.statements import End, Event, Rate, Sign

_INPUT = re.compile(r"((prev|curr)\.)?[A-Za-z_][A-Za-z0-9_]*(\[[0-9]+\])*")


def validate_title(what: str, value: object) -> str:
    """Return a name or a version if it is a printable string."""
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise DefinitionError(f"a task's {what} must be a printable string, not {value!r:.60}")
    return value


def validate_plain(what: str, *, doc: object, source: object, goal_ends: object) -> None:
    """Refuse titles that are not strings, and a `goal_ends` that is not a bool."""
    for part, value in (("doc", doc), ("source", source)):
        if not isinstance(value, str):
            raise DefinitionError(f"{what}: {part}={value!r:.60} must be a string")
    if not isinstance(goal_ends, bool):
        raise DefinitionError(f"{what}: goal_ends={goal_ends!r:.60} must be a bool")


def validate_discount(what: str, discount: object) -> float:
    """Return a discount factor, above 0 and at most 1."""
    number = validate_number(f"{what}: discount", discount)
    if not 0 < number <= 1:
        raise DefinitionError(f"{what}: discount={discount!r} must be above 0 and at most 1")
    return number


def validate_horizon(what: str, horizon: object) -> int:
    """Return the most steps of an episode, an integer from 1 up."""
    number = validate_number(f"{what}: horizon", horizon)
    if number < 1 or not number.is_integer():
        raise DefinitionError(f"{what}: horizon={horizon!r} must be an integer of at least 1 (steps)")
    return int(number)


def make_condition(what: str, part: str, given: object, title: str = "goal") -> Fact | None:
    """Return what a plain function says of a step; what was made before is taken as it is."""
    if given is None or isinstance(given, Fact):
        return given
    if isinstance(given, ReadFunction) or not callable(given):
        raise DefinitionError(
            f"{what}: {part}= must be a plain function of a step that returns a bool, not {given!r:.60}"
        )
    return make_fact(given, title)


def _read_mapping(what: str, part: str, given: object) -> Mapping[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise DefinitionError(f"{what}: {part}= must map field names to values, not {given!r:.60}")
    for name in given:
        _validate_field_name(what, part, name)
    return given


def _validate_field_name(what: str, part: str, name: object) -> None:
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise DefinitionError(f"{what}: {part}= names {name!r:.60}, which is not a plain identifier like 'distance'")


def read_choices(what: str, part: str, given: object, choices: Sequence[Any]) -> Mapping[str, Any]:
    """Return what is chosen for each field."""
    for name, value in (found := _read_mapping(what, part, given)).items():
        if not isinstance(value, str) or value not in choices:
            allowed = ", ".join(map(repr, choices))
            raise DefinitionError(f"{what}: {part}={{{name!r}: {value!r:.60}}} is not one of {allowed}")
    return MappingProxyType(dict(found))


def read_numbers(what: str, part: str, given: object, above: float = -math.inf) -> Mapping[str, float]:
    """Return a finite number for each field."""
    found = {}
    for name, value in _read_mapping(what, part, given).items():
        number = validate_number(f"{what}: {part} of {name!r}", value)
        if not above < number < math.inf:
            least = f" above {above:g}" if above > -math.inf else ""
            raise DefinitionError(f"{what}: {part}={{{name!r}: {value!r}}} must be a finite number{least}")
        found[name] = number
    return MappingProxyType(found)


def read_names(what: str, part: str, given: object) -> tuple[str, ...]:
    """Return names of fields, each once."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise DefinitionError(f"{what}: {part}= must be a list of field names, not {given!r:.60}")
    names = tuple(given)
    for name in names:
        _validate_field_name(what, part, name)
    return tuple(dict.fromkeys(names))


def read_preferences(what: str, given: object) -> tuple[Preference, ...]:
    """Return what `prefer` made."""
    preferences = _read_several(what, "prefer", given)
    for each in preferences:
        if not isinstance(each, Preference):
            raise DefinitionError(f"{what}: {each!r:.60} is not a preference; write prefer(better, over=worse)")
        for row in (*each.better, *each.over):
            _validate_row(f"{what}: a preference", row)
    return preferences


def _read_several(what: str, part: str, given: object) -> tuple[Any, ...]:
    if not isinstance(given, Iterable):
        raise DefinitionError(f"{what}: {part}= must be a list, not {given!r:.60}")
    return tuple(given)


def read_facts(what: str, given: object) -> tuple[Fact, ...]:
    """Return what `@fact` made, each name once."""
    facts = _read_several(what, "facts", given)
    seen: set[str] = set()
    for each in facts:
        if not isinstance(each, Fact):
            raise DefinitionError(f"{what}: {each!r:.60} is not a fact; decorate the function with @fact")
        if each.name in seen:
            raise DuplicateName(f"{what} has two facts called {each.name!r}")
        seen.add(each.name)
    return facts


def read_fields(what: str, given: object) -> Mapping[str, Field]:
    """Return fields by name."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise DefinitionError(f"{what}: fields= must be a list of Field(...), not {given!r:.60}")
    found: dict[str, Field] = {}
    for each in given.values() if isinstance(given, Mapping) else given:
        if not isinstance(each, Field):
            raise DefinitionError(f"{what}: {each!r:.60} is not a Field")
        if each.name in found:
            raise DuplicateName(f"{what} declares the field {each.name!r} twice")
        found[each.name] = each
    for name in given if isinstance(given, Mapping) else ():
        if name not in found:
            raise DefinitionError(f"{what}: fields= has a field under {name!r:.60}, which is not its name")
    return MappingProxyType(found)


def read_events(what: str, given: object) -> Mapping[str, Event]:
    """Return how often each event can happen."""
    if not isinstance(given, Mapping):
        return MappingProxyType({name: Event() for name in read_names(what, "events", given)})
    found = {}
    for name, value in _read_mapping(what, "events", given).items():
        if isinstance(value, Event | None):
            found[name] = value or Event()
        elif isinstance(value, int):
            try:
                found[name] = Event(at_most=value)
            except DefinitionError as error:
                raise DefinitionError(f"{what}: events= of {name!r}: {error}") from None
        else:
            raise DefinitionError(
                f"{what}: events={{{name!r}: {value!r:.60}}} must be an Event(...) or the maximum number of times"
            )
    return MappingProxyType(found)


def read_rates(what: str, given: object) -> Mapping[str, Rate]:
    """Return what each field changes by."""
    found = {}
    for name, value in _read_mapping(what, "rates", given).items():
        match value:
            case Rate(field, dt) | (str(field), dt):
                number = None if dt is None else validate_number(f"{what}: rates= of {name!r}: dt", dt)
                rate = Rate(field, number)
            case str():
                rate = Rate(value)
            case _:
                raise DefinitionError(
                    f"{what}: rates={{{name!r}: {value!r:.60}}} must be the name of a field, or (name, dt)"
                )
        _validate_field_name(what, "rates", rate.rate)
        if rate.rate == name:
            raise DefinitionError(f"{what}: rates= names {name!r} as its own rate")
        if rate.dt is not None and not (math.isfinite(rate.dt) and rate.dt != 0):
            raise DefinitionError(
                f"{what}: rates= has {name!r} change by {rate.dt!r} times {rate.rate!r}; dt must not be 0"
            )
        found[name] = rate
    return MappingProxyType(found)


def read_ends(what: str, given: object) -> Mapping[str, End]:
    """Return how episodes end, and what that means."""
    found = {}
    for name, value in _read_mapping(what, "ends", given).items():
        match value:
            case End(sign, when):
                pass
            case (sign, when):
                pass
            case sign:
                when = None
        if sign is not None and sign not in get_args(Sign):
            raise DefinitionError(f"{what}: ends={{{name!r}: {sign!r:.60}}} is not one of 'good', 'bad', 'time'")
        found[name] = End(sign, make_condition(what, "ends", when, "end"))
    return MappingProxyType(found)


def read_row(what: str, part: str, given: object) -> Row:
    """Return inputs with their values, or what an episode begins with."""
    if given is None:
        return MappingProxyType({})
    if not isinstance(given, Mapping):
        raise DefinitionError(f"{what}: {part}= must map inputs to values, not {given!r:.60}")
    row = freeze_row(f"{what}: {part}=", flatten_row(f"{what}: {part}=", given))
    _validate_row(f"{what}: {part}=", row)
    for name, value in row.items() if part == "start" else ():
        if isinstance(value, tuple | list) and len(value) == 2 and not _is_range(*value):
            raise DefinitionError(f"{what}: start= of {name!r} must be a value or (low, high), not {value!r:.60}")
    return row


def _is_range(low: object, high: object) -> bool:
    return isinstance(low, int | float) and isinstance(high, int | float) and low <= high


def _validate_row(what: str, row: Row) -> None:
    """Refuse names that no input has, and values that no field allows."""
    for name, value in row.items():
        if not _INPUT.fullmatch(name):
            raise DefinitionError(
                f"{what} names {name!r:.60}, which is not an input such as 'distance' or 'prev.speed[0]'"
            )
        if not _is_value(value):
            raise DefinitionError(f"{what} has {name}={value!r:.60}, which is not a value that the field allows")


def _is_value(value: object) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_value, value))
    return isinstance(value, bool | str) or (isinstance(value, int | float) and is_exact(value))
