"""Parameters that are vectors: one number an entry in a Program, whole for the people who set them.

`pose.default` of three entries is `pose.default[0]`, `pose.default[1]` and `pose.default[2]` in a Program.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from plaudit.errors import DefinitionError, ShapeMismatch, shorten
from plaudit.language.field import to_number, validate_number, validate_parameter
from plaudit.language.schedule import Schedule, expand_schedule, parse_schedule
from plaudit.language.shapes import Shape, find_shape_problem, flatten_entries, infer_shape, list_entries, nest_entries

Number = float | Schedule
"""A number, or one that follows a counter."""
Parameter = float | bool | tuple[Any, ...] | Schedule
"""A number, a bool, a tuple of them, perhaps nested, or a schedule."""
TERM_NUMBERS = ("weight", "low", "high")
"""Numbers that every term has of its own."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """A constant that a function is given where others are given a parameter: a string, a table, an object, None."""

    value: object


def name_knob(parameter: str) -> str:
    """Return what the knob is called that a parameter of a term's function is.

    >>> name_knob("reach"), name_knob("weight")
    ('reach', 'weight_')
    """
    return f"{parameter}_" if parameter in TERM_NUMBERS else parameter


def has_infinity(value: Any) -> bool:
    """Return whether a number is infinite, or one in a tuple, list or array.

    >>> has_infinity((0.0, (1.0, math.inf))), has_infinity("inf")
    (True, False)
    """
    if is_array(value):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return any(has_infinity(each) for each in value)
    number = to_number(value)
    return number is not None and abs(number) == math.inf


def is_array(value: Any) -> bool:
    """Return whether a value is an array of NumPy, JAX or PyTorch with one axis or more."""
    return bool(getattr(value, "shape", ())) and hasattr(value, "dtype") and hasattr(value, "tolist")


def validate_schedulable(name: str, value: Any) -> Number:
    """Return a number as plain Python, or a schedule as it is; DefinitionError where it is neither."""
    if isinstance(value, Schedule):
        return value
    if isinstance(value, list | tuple | Mapping):
        raise DefinitionError(f"{name}={shorten(value, 60)} {_NO_NUMBER}")
    _refuse_function(name, value)
    return validate_number(name, value)


_NO_NUMBER = (
    "must be a finite number; one that changes during training is a schedule, such as linear(0, 1, over=100_000) of "
    "plaudit.schedules"
)


def _refuse_function(name: str, value: Any) -> None:
    if callable(value):
        raise DefinitionError(f"{name} is the function {getattr(value, '__name__', '')!r}: it {_NO_NUMBER}")


def validate_vector_parameter(name: str, value: Any) -> Parameter:
    """Return a parameter as plain Python, a vector as nested tuples; DefinitionError where it cannot be one.

    >>> validate_vector_parameter("pose.default", [0.1, 1])
    (0.1, 1.0)
    """
    if isinstance(value, Schedule):
        return value
    if is_array(value):
        value = value.tolist()
    if not isinstance(value, list | tuple):
        return validate_parameter(name, value)
    shape = infer_shape(value)
    if problem := find_shape_problem(shape) or ("" if all(shape) else "there are no entries"):
        raise DefinitionError(f"{name}: {problem}")
    try:
        entries = flatten_entries(value, shape)
    except ShapeMismatch as error:
        raise DefinitionError(f"{name}: {error}") from None
    checked = [validate_parameter(f"{name}{at}", entry) for at, entry in zip(list_entries(shape), entries, strict=True)]
    if len({isinstance(entry, bool) for entry in checked}) > 1:
        raise DefinitionError(f"{name} holds numbers or bools, not both")
    made: tuple[Any, ...] = nest_entries(checked, shape, tuple)
    return made


def fit_parameter(name: str, value: Any, like: Parameter) -> Parameter:
    """Return another value of a parameter; DefinitionError unless it has the kind and shape of the one before.

    A number may become a schedule, and a schedule a number; a mapping is a schedule as a TOML file writes it.
    """
    if isinstance(value, Mapping):
        value = parse_schedule(name, value)
    if isinstance(value, Schedule):
        if isinstance(like, bool | tuple):
            kind = "bool" if isinstance(like, bool) else "vector"
            raise DefinitionError(f"{name} is a {kind}, and only a single number can follow a schedule")
        return value
    _refuse_function(name, value)
    if isinstance(like, Schedule):
        return validate_number(name, value)
    wanted = infer_shape(like)
    vector = isinstance(value, list | tuple) or is_array(value)
    if wanted and not vector:
        raise DefinitionError(f"{name}={value!r:.60}: values of the shape {wanted} are needed")
    found = validate_vector_parameter(name, value) if wanted else validate_parameter(name, value)
    if infer_shape(found) != wanted:
        raise DefinitionError(f"{name} has the shape {wanted}, and this value has the shape {infer_shape(found)}")
    flag = _is_flag(like)
    if _is_flag(found) != flag:
        needed = "bools are" if wanted and flag else "numbers are" if wanted else "a bool is" if flag else "a number is"
        raise DefinitionError(f"{name}={value!r:.60}: {needed} needed")
    return found


def _is_flag(value: Parameter) -> bool:
    while isinstance(value, tuple):
        value = value[0]
    return isinstance(value, bool)


def expand_parameters(values: Mapping[str, Parameter]) -> dict[str, float | bool]:
    """Return parameters with a number or bool for each entry of a vector, and for each number of a schedule.

    >>> expand_parameters({"gain": 2.0, "pose": (0.1, 0.8)})
    {'gain': 2.0, 'pose[0]': 0.1, 'pose[1]': 0.8}
    """
    flat: dict[str, float | bool] = {}
    for name, value in values.items():
        if isinstance(value, tuple):
            shape = infer_shape(value)
            names = (f"{name}{entry}" for entry in list_entries(shape))
            flat |= dict(zip(names, flatten_entries(value, shape), strict=True))
        elif isinstance(value, Schedule):
            flat |= expand_schedule(name, value)
        else:
            flat[name] = value
    return flat


def collect_parameters(flat: Mapping[str, float | bool]) -> dict[str, Parameter]:
    """Return parameters with vectors whole, as they were before `expand_parameters`.

    >>> collect_parameters({"gain": 2.0, "pose[0]": 0.1, "pose[1]": 0.8})
    {'gain': 2.0, 'pose': (0.1, 0.8)}
    """
    shapes = find_vector_shapes(flat)
    found: dict[str, Parameter] = {}
    for name, value in flat.items():
        whole = name.partition("[")[0]
        if whole not in shapes:
            found[name] = value
        elif whole not in found:
            entries = [flat[f"{whole}{entry}"] for entry in list_entries(shapes[whole])]
            found[whole] = nest_entries(entries, shapes[whole], tuple)
    return found


def find_vector_shapes(names: Iterable[str]) -> dict[str, Shape]:
    """Return the shape of each vector whose entries are among `names`, all of them and in order."""
    last = {whole: entry for whole, bracket, entry in (name.partition("[") for name in names) if bracket}
    return {whole: tuple(int(at) + 1 for at in entry[:-1].split("][")) for whole, entry in last.items()}


def find_schedules(numbers: Mapping[str, Parameter | None]) -> dict[str, Schedule]:
    """Return the parameters that follow a schedule, by dotted name."""
    return {name: value for name, value in numbers.items() if isinstance(value, Schedule)}
