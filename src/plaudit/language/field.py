"""What a reward reads: a named input with its kind, range and unit; and which Python objects are numbers."""

import math
import numbers
import re
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import wraps
from typing import Any, Literal, get_args

from plaudit.errors import DefinitionError
from plaudit.language.field_advice import describe_wrong_arguments
from plaudit.language.shapes import MOST_ENTRIES, Shape, find_shape_problem, list_entries

Kind = Literal["number", "flag", "category"]
Outside = Literal["raise", "clip", "allow"]

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
RECORDS = ("prev", "curr")
"""The state before a step and after it, whose entries are `prev.x` and `curr.x`."""
RESERVED = (*RECORDS, "terminal", "total")
"""Names with a meaning of their own: the two ends of a step, the flag that ends an episode, the sum of the terms."""
INTEGER_DTYPE = re.compile(r"(u?)int(8|16|32|64)")
LARGEST_INTEGER = 2**53
"""Integers beyond this are not all floats."""


@dataclass(frozen=True, slots=True)
class Field:
    """An input of a reward, declared once.

    With strings in `values` it is a category, with `flag=True` a flag, and otherwise a number.

    Args:
        name: The name that terms use.
        low: The smallest allowed number.
        high: The largest allowed finite number.
        values: The categories, as strings; or the only numbers allowed.
        flag: Whether it is a bool.
        unit: The unit of a number, such as `"m/s"`.
        length: The number of entries of a vector; the same as `shape=(length,)`.
        shape: The shape of a vector, a matrix or a stack of matrices: one to three axes.
        infinite: Whether positive infinity is allowed.
        outside: What to do with a number out of range: `"raise"` an error, `"clip"` it, or `"allow"` any finite number.
        other: The category to use for a string that is not listed.
        missing: The value to use when the input is absent or None.
        integers: The dtype of integers in which functions get it, such as `"int64"` or `"uint8"`: reading needs it
            where arrays of integers store, shift or subtract in another way. Rows may hold any number all the same.
        doc: A sentence that describes it.

    Raises:
        DefinitionError: The declaration contradicts itself.

    >>> Field("distance", low=0, infinite=True, unit="m").kind
    'number'
    >>> Field("phase", values=("planning", "coding")).kind
    'category'
    """

    name: str
    _: KW_ONLY
    low: float | None = None
    high: float | None = None
    values: tuple[str | float, ...] | None = None
    flag: bool = False
    unit: str = ""
    length: int | None = None
    shape: Shape = ()
    infinite: bool = False
    outside: Outside = "raise"
    other: str | None = None
    missing: float | bool | str | None = None
    integers: str = ""
    doc: str = ""

    def __post_init__(self) -> None:
        if self.values is not None:
            values = self.values.tolist() if hasattr(self.values, "tolist") else self.values
            if not isinstance(values, list | tuple | range):
                raise DefinitionError(
                    f"field {self.name!r}: values={self.values!r} must be a tuple of strings or of numbers"
                )
            object.__setattr__(self, "values", tuple(_to_plain(value) for value in values))
        for part in ("low", "high", "missing", "length"):
            object.__setattr__(self, part, _to_plain(getattr(self, part)))
        object.__setattr__(self, "shape", _to_shape(self.shape))
        for problem in _find_problems(self):
            raise DefinitionError(f"field {self.name!r}: {problem}")
        for part in ("low", "high", "missing"):  # 0 and 0.0 declare the same
            if _is_integer(number := getattr(self, part)):
                object.__setattr__(self, part, float(number))
        if self.length is not None:
            object.__setattr__(self, "shape", (self.length,))
        elif len(self.shape) == 1:
            object.__setattr__(self, "length", self.shape[0])

    @property
    def kind(self) -> Kind:
        """What the field holds: a number, a flag or a category."""
        if self.flag:
            return "flag"
        return "category" if self.values and isinstance(self.values[0], str) else "number"

    @property
    def entries(self) -> tuple[str, ...]:
        """What follows the name of each entry, in row-major order; empty for a single value.

        >>> Field("foot_force", shape=(2, 2)).entries
        ('[0][0]', '[0][1]', '[1][0]', '[1][1]')
        """
        return list_entries(self.shape)

    @property
    def labels(self) -> tuple[str, ...]:
        """The categories in order; empty for a number or a flag."""
        return tuple(str(value) for value in self.values or ()) if self.kind == "category" else ()

    @property
    def numbers(self) -> tuple[float, ...]:
        """The only numbers allowed, where they are listed; else empty."""
        return tuple(float(value) for value in self.values or ()) if self.kind == "number" else ()

    @property
    def is_integer(self) -> bool:
        """Whether every number allowed is listed, and whole."""
        return bool(self.numbers) and all(number.is_integer() for number in self.numbers)

    def as_declared(self, value: float | bool | str) -> float | bool | str:
        """Return a value in the type that the field lists: an integer if its numbers are integers.

        Args:
            value: A number, bool or string.

        Returns:
            The value, as an integer if the field lists integers.

        >>> Field("action", values=(0, 1, 2)).as_declared(2.0), Field("speed").as_declared(2.0)
        (2, 2.0)
        """
        return to_integer(value) if self.is_integer and not isinstance(value, str) else value

    @property
    def at_rest(self) -> float | bool | str:
        """The value when nothing happens, unless a task says so: that nearest to 0, False, or the first category."""
        if self.kind == "flag":
            return False
        if self.kind == "category":
            return self.labels[0]
        if self.numbers:
            return min(self.numbers, key=abs)
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        return float(min(max(0.0, low), high))

    def holds(self, value: float | bool | str) -> bool:
        """Check whether the field allows a value.

        Args:
            value: A number, bool or string.

        Returns:
            True if the declaration allows it.

        >>> Field("action", values=(0, 1, 2)).holds(3)
        False
        """
        if self.kind == "category":
            return value in self.labels
        if self.kind == "flag":
            return isinstance(value, bool)
        if isinstance(value, bool | str):
            return False
        if self.numbers:
            return _is_finite(value) and float(value) in self.numbers
        if not _is_finite(value):
            return self.infinite and value == math.inf
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)


def _explain_arguments(init: Callable[..., None]) -> Callable[..., None]:
    """Return an initializer whose error for a wrong argument is what to write instead."""
    known = ("name", *(init.__kwdefaults__ or {}))

    @wraps(init)
    def initialize(self: Field, *positional: Any, **keywords: Any) -> None:
        if problem := describe_wrong_arguments(positional, keywords, known):
            raise TypeError(problem)
        init(self, *positional, **keywords)

    return initialize


Field.__init__ = _explain_arguments(Field.__init__)  # type: ignore[method-assign]  # dataclass made it


def to_integer(value: float) -> float:
    """Return a whole number as an integer; -0.0 and what else is no integer, as in a damaged record, stays what it is.

    >>> to_integer(2.0), to_integer(-0.0), to_integer(math.nan)
    (2, -0.0, nan)
    """
    negative_zero = value == 0 and math.copysign(1.0, value) < 0
    return int(value) if float(value).is_integer() and not negative_zero else value


def _find_problems(field: Field) -> list[str]:
    """Return what is wrong with a declaration, most basic first."""
    if not isinstance(field.name, str) or not NAME.fullmatch(field.name):  # type: ignore[redundant-expr]
        return ["its name must be a plain identifier such as 'distance'"]
    if field.name in RESERVED and not (field.name == "terminal" and field.flag):
        return [f"the name is reserved: {', '.join(RESERVED)} have a meaning of their own"]
    checks = _find_choice_problems(field) + (_find_value_problems(field) if field.values is not None else [])
    return checks or _find_number_problems(field) or _find_stand_in_problems(field)


def _find_choice_problems(field: Field) -> list[str]:
    problems = []
    if field.outside not in get_args(Outside):
        problems.append(f"outside={field.outside!r} is not one of {', '.join(map(repr, get_args(Outside)))}")
    problems += [
        f"{name}={getattr(field, name)!r} must be a bool"
        for name in ("flag", "infinite")
        if not isinstance(getattr(field, name), bool)
    ]
    if field.length is not None and not (_is_integer(field.length) and 1 <= field.length <= MOST_ENTRIES):
        problems.append(f"length={field.length!r} must be an integer from 1 to {MOST_ENTRIES:,}")
    elif field.length is not None and field.shape not in ((), (field.length,)):
        problems.append(f"length={field.length!r} and shape={field.shape!r} are not the same; give one of them")
    if problem := find_shape_problem(field.shape):
        problems.append(problem)
    return problems


def _find_value_problems(field: Field) -> list[str]:
    values = field.values or ()
    if field.flag:
        return ["a flag takes no values; drop values= or flag=True"]
    if not values:
        return ["values= is empty; list what the field can be, or leave it out"]
    strings = sum(isinstance(value, str) for value in values)
    if strings not in (0, len(values)):
        return ["values= mixes strings and numbers; a category lists strings only, a number lists numbers only"]
    if any(isinstance(value, bool) for value in values):
        return ["values= lists True or False; write flag=True instead"]
    if not strings and not all(_is_finite(value) for value in values):
        return ["values= must be strings or finite numbers"]
    if len(set(values)) != len(values):
        return ["values= lists a value twice"]
    return []


def _find_number_problems(field: Field) -> list[str]:
    given = [name for name in ("low", "high") if getattr(field, name) is not None]
    if field.kind != "number":
        given += [name for name in ("infinite", "unit") if getattr(field, name)]
        if field.outside != "raise":
            given.append("outside")
        return [f"{name}= is for numbers, and this field is a {field.kind}" for name in given]
    for name in given:
        if not _is_finite(getattr(field, name)):
            hint = "; write infinite=True to allow infinity" if name == "high" else ""
            return [f"{name}={getattr(field, name)!r} must be a finite number{hint}"]
    if field.values and (given or field.infinite or field.outside != "raise"):
        return ["values= already says which numbers are allowed; drop low, high, infinite and outside"]
    if field.low is not None and field.high is not None and field.low > field.high:
        return [f"low={field.low} is above high={field.high}"]
    if field.outside == "clip" and field.low is None and field.high is None:
        return ["outside='clip' needs low= or high= to clip to"]
    return []


def _find_stand_in_problems(field: Field) -> list[str]:
    if field.other is not None and field.kind != "category":
        return [f"other= is for categories, and this field is a {field.kind}"]
    for name in ("unit", "doc", "integers"):
        if not isinstance(getattr(field, name), str):
            return [f"{name}= must be a string"]
    if field.integers and not INTEGER_DTYPE.fullmatch(field.integers):
        return [f"integers={field.integers!r} is not a dtype of integers, such as 'int64' or 'uint8'"]
    if field.integers and field.kind != "number":
        return [f"integers= is for numbers, and this field is a {field.kind}"]
    for name in ("other", "missing"):
        value = getattr(field, name)
        if value is not None and not _is_allowed(field, value):
            return [f"{name}={value!r} is not a value that the field allows"]
    return []


def _is_allowed(field: Field, value: object) -> bool:
    """Return whether a stand-in is a value of the field, and a float holds it exactly."""
    if not isinstance(value, bool | int | float | str):
        return False
    return (isinstance(value, str) or is_exact(value)) and field.holds(value)


def find_field_name(name: str) -> str:
    """Return the field that an input is of.

    >>> find_field_name("prev.torque[0]")
    'torque'
    """
    return name.rpartition(".")[2].partition("[")[0]


def to_number(value: object) -> int | float | None:
    """Return a known number or bool as plain Python, or None if `value` is neither.

    >>> to_number(True), to_number(3), to_number("3")
    (True, 3, None)
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    return None


def to_float(value: Any) -> float | None:
    """Return a single number as a float, infinite where none is large enough; None for a bool and anything else.

    >>> to_float(3), to_float(True), to_float("3"), to_float(10**400)
    (3.0, None, None, inf)
    """
    if hasattr(value, "item") and getattr(value, "size", 1) == 1:
        value = value.item()  # of NumPy
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def is_exact(value: float) -> bool:
    """Return whether `value` is a number that a float holds exactly."""
    try:
        return not math.isnan(value) and float(value) == value
    except OverflowError:
        return False


def validate_parameter(name: str, value: object) -> float | bool:
    """Return a parameter's value as plain Python; DefinitionError unless it is a finite number or a bool."""
    number = to_number(value)
    if number is None or not is_exact(number) or not math.isfinite(number):
        raise DefinitionError(f"{name}={value!r} must be a finite number")
    return number if isinstance(number, bool) else float(number)


def validate_number(name: str, value: object) -> float:
    """Return a number as plain Python; DefinitionError unless it is finite, and no bool."""
    if isinstance(value, bool):
        raise DefinitionError(f"{name}={value!r} must be a number, and this is a bool")
    return float(validate_parameter(name, value))


def _to_plain(value: Any) -> Any:
    """Return a number, perhaps of NumPy, as plain Python; anything else as it is."""
    number = to_number(value)
    return value if number is None else number


def _to_shape(shape: Any) -> Any:
    """Return a shape given as an integer, a list or a tuple, perhaps of NumPy, as a tuple; anything else as it is."""
    if _is_integer(number := _to_plain(shape)):
        return (number,)
    return tuple(_to_plain(size) for size in shape) if isinstance(shape, list | tuple) else shape


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_finite(value: object) -> bool:
    """Return whether `value` is a number that a float can hold."""
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(float(value))
    except OverflowError:
        return False


TERMINAL = Field("terminal", flag=True, doc="Whether the episode ends with this step.")
"""The input that every reward with terminal terms has; no reward declares it itself."""


def format_category(field: str) -> str:
    """Return the kind of a category of `field`."""
    return f"category {field}"


def infer_field_kind(field: Field) -> str:
    """Return the kind of a field's values."""
    return format_category(field.name) if field.kind == "category" else field.kind
