"""Schedules: numbers that follow a counter of steps, such as a weight that grows while an agent trains.

A schedule stands wherever a number of a reward may stand. In a Program it is nodes over the counter, which is an input
like any other; its own numbers are parameters: `safety.weight.start`, `safety.weight.over`.
"""

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

from plaudit.errors import DefinitionError, UnknownParameter, did_you_mean
from plaudit.language import nodes as n
from plaudit.language.field import NAME, RESERVED, Field, validate_number

COUNTER = "step"
"""What a schedule counts unless told otherwise."""
MOST_VALUES = 1_000

Value = TypeVar("Value")
Apply = Callable[..., Value]
"""From the kind of an operation and its operands to the result: a node's position, or a number."""


@dataclass(frozen=True)
class Schedule(ABC):
    """A number that changes with a counter of steps; call it with a count to get its value there.

    `linear`, `cosine`, `exponential` and `piecewise` make schedules.

    >>> weight = linear(0, 1, over=100_000)
    >>> weight, weight(25_000), weight.span
    (linear(0, 1, over=100000), 0.25, (0.0, 1.0))
    """

    counter: str

    @property
    @abstractmethod
    def kind(self) -> str:
        """What it is called: linear, cosine, exponential, piecewise."""

    @property
    @abstractmethod
    def numbers(self) -> Mapping[str, float | tuple[float, ...]]:
        """Its own numbers by name; they are parameters of the reward."""

    @property
    @abstractmethod
    def corners(self) -> tuple[float, ...]:
        """The counts between which it only rises or only falls."""

    @abstractmethod
    def build(self, apply: Apply[Value], count: Value, number: Callable[[str], Value]) -> Value:
        """Build the formula of the schedule at a count.

        Args:
            apply: Called with the kind of an operation and its operands; returns the result.
            count: The count.
            number: Returns one of the schedule's own numbers by name, such as `"start"` or `"values[1]"`.

        Returns:
            The result of the last operation.
        """

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the schedule as plain data, as in a TOML file: `{linear = [0, 1], over = 1000}`.

        Returns:
            The kind with its numbers, and the other arguments by name.
        """

    @property
    def span(self) -> tuple[float, float]:
        """The smallest and the largest number that is ever in force."""
        values = [self(count) for count in self.corners]
        return min(values), max(values)

    def with_number(self, part: str, value: Any) -> "Schedule":
        """Return the schedule with another value for one of its numbers.

        Args:
            part: The name of the number, such as `"end"` or `"values"`.
            value: The new value; for a list, the whole list.

        Returns:
            The changed schedule.
        """
        return replace(self, **{part: value})

    def __call__(self, count: float) -> float:
        """Return the number that is in force at a count."""
        flat = dict(_expand(self.numbers))
        return float(self.build(_compute, float(count), flat.__getitem__))

    def __str__(self) -> str:
        """Return the schedule as it is written in Python."""
        return repr(self)


@dataclass(frozen=True)
class Ramp(Schedule):
    """From `start` to `end`, while the counter goes `over` steps from `begin` on; constant before and after."""

    shape: str
    start: float
    end: float
    over: float
    begin: float = 0.0

    SHAPES: ClassVar[tuple[str, ...]] = ("linear", "cosine", "exponential")

    def __post_init__(self) -> None:
        _validate_counter(self.kind, self.counter)
        for part in self.numbers:
            object.__setattr__(self, part, validate_number(f"{self.kind}: {part}", getattr(self, part)))
        if self.over <= 0:
            raise DefinitionError(f"{self.kind}: over={self.over:g} must be above 0: it is the number of steps")
        far = max(abs(self.end - self.start), abs(self.begin + self.over))
        if self.shape == "exponential" and (self.start > 0) == (self.end > 0) and self.start != 0:
            far = max(far, abs(self.end / self.start))
        if math.isinf(far):
            raise DefinitionError(f"{self.kind}: {self} goes beyond the range of a float")
        if self.shape == "exponential" and ((self.start > 0) != (self.end > 0) or 0 in (self.start, self.end)):
            raise DefinitionError(
                f"exponential: start={self.start:g} and end={self.end:g} must both be above 0, or both below: 0 is "
                "never reached. Use linear or cosine."
            )

    @property
    def kind(self) -> str:
        """Its shape."""
        return self.shape

    @property
    def numbers(self) -> Mapping[str, float | tuple[float, ...]]:
        """Where it starts and ends, how long it takes, and when it begins."""
        return {"start": self.start, "end": self.end, "over": self.over, "begin": self.begin}

    @property
    def corners(self) -> tuple[float, ...]:
        """When it begins and ends."""
        return self.begin, self.begin + self.over

    def build(self, apply: Apply[Value], count: Value, number: Callable[[str], Value]) -> Value:
        """Return what is in force at a count: exactly `start` up to `begin`, and exactly `end` from there on."""
        start, end, over, begin = map(number, ("start", "end", "over", "begin"))
        share = apply(n.Div, apply(n.Sub, count, begin), over)
        share = apply(n.Min, apply(n.Max, share, apply(n.Const, 0.0)), apply(n.Const, 1.0))
        if self.shape == "exponential":
            under_way = apply(n.Mul, start, apply(n.Power, apply(n.Div, end, start), share))
        else:
            if self.shape == "cosine":
                turned = apply(n.Cos, apply(n.Mul, share, apply(n.Const, math.pi)))
                share = apply(n.Mul, apply(n.Sub, apply(n.Const, 1.0), turned), apply(n.Const, 0.5))
            under_way = apply(n.Add, start, apply(n.Mul, apply(n.Sub, end, start), share))
        return apply(n.Select, apply(n.Ge, count, apply(n.Add, begin, over)), end, under_way)

    def to_dict(self) -> dict[str, Any]:
        """Return the schedule as plain data."""
        ends = [self.start, self.end]
        return {self.shape: ends, "over": self.over, "begin": self.begin, "counter": self.counter}

    def __repr__(self) -> str:
        start, end, over, begin = (_format(value) for value in (self.start, self.end, self.over, self.begin))
        later = f", begin={begin}" if self.begin else ""
        return f"{self.shape}({start}, {end}, over={over}{later}{_format_counter(self.counter)})"


@dataclass(frozen=True)
class Piecewise(Schedule):
    """The first of `values` until the counter reaches the first count of `at`, then the second, and so on."""

    values: tuple[float, ...]
    at: tuple[float, ...]

    def __post_init__(self) -> None:
        _validate_counter(self.kind, self.counter)
        for part in ("values", "at"):
            given = getattr(self, part)
            given = given.tolist() if hasattr(given, "tolist") else given
            if not isinstance(given, list | tuple) or not 1 <= len(given) <= MOST_VALUES:
                raise DefinitionError(f"piecewise: {part}={given!r:.60} must be a list of numbers")
            numbers = tuple(validate_number(f"piecewise: {part}[{at}]", each) for at, each in enumerate(given))
            object.__setattr__(self, part, numbers)
        if len(self.values) != len(self.at) + 1:
            raise DefinitionError(
                f"piecewise: {len(self.values)} values and {len(self.at)} counts at which they change; one value more "
                "than counts is needed: piecewise([0.1, 1.0], at=[10_000])"
            )
        if any(later <= sooner for sooner, later in zip(self.at, self.at[1:], strict=False)):
            raise DefinitionError(f"piecewise: at={list(self.at)} must rise from count to count")

    @property
    def kind(self) -> str:
        """Its name."""
        return "piecewise"

    @property
    def numbers(self) -> Mapping[str, float | tuple[float, ...]]:
        """The values, and the counts at which they change."""
        return {"values": self.values, "at": self.at}

    @property
    def corners(self) -> tuple[float, ...]:
        """Just before the first change, and every change."""
        return math.nextafter(self.at[0], -math.inf), *self.at

    def build(self, apply: Apply[Value], count: Value, number: Callable[[str], Value]) -> Value:
        """Return the value that is in force at a count."""
        found = number("values[0]")
        for at in range(len(self.at)):
            found = apply(n.Select, apply(n.Ge, count, number(f"at[{at}]")), number(f"values[{at + 1}]"), found)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the schedule as plain data."""
        return {"piecewise": list(self.values), "at": list(self.at), "counter": self.counter}

    def __repr__(self) -> str:
        values, at = (", ".join(map(_format, part)) for part in (self.values, self.at))
        return f"piecewise([{values}], at=[{at}]{_format_counter(self.counter)})"


def linear(start: float, end: float, *, over: float, begin: float = 0, counter: str = COUNTER) -> Schedule:
    """Change a number in a straight line during training.

    Use it wherever a reward takes a number: `@term(weight=linear(0, 1, over=100_000))`, the default of a knob, a clamp,
    `Reward(scale=...)`, `reward.with_weights(...)`.

    Args:
        start: The number up to `begin`.
        end: The number from `begin + over` on.
        over: The number of steps that the change takes.
        begin: The count at which it begins to change.
        counter: The input that counts the steps of the whole training; environment wrappers supply it.

    Returns:
        The schedule.

    Raises:
        DefinitionError: A number is not finite, or `over` is not above 0.

    >>> weight = linear(0, 1, over=100_000)
    >>> weight(0), weight(25_000), weight(200_000)
    (0.0, 0.25, 1.0)
    """
    return Ramp(counter, "linear", start, end, over, begin)


def cosine(start: float, end: float, *, over: float, begin: float = 0, counter: str = COUNTER) -> Schedule:
    """Change a number along half a cosine during training: slowly, then fast, then slowly.

    Args:
        start: The number up to `begin`.
        end: The number from `begin + over` on.
        over: The number of steps that the change takes.
        begin: The count at which it begins to change.
        counter: The input that counts the steps of the whole training; environment wrappers supply it.

    Returns:
        The schedule.

    Raises:
        DefinitionError: A number is not finite, or `over` is not above 0.

    >>> weight = cosine(0, 1, over=100)
    >>> round(weight(25), 3), round(weight(50), 3), weight(100)
    (0.146, 0.5, 1.0)
    """
    return Ramp(counter, "cosine", start, end, over, begin)


def exponential(start: float, end: float, *, over: float, begin: float = 0, counter: str = COUNTER) -> Schedule:
    """Change a number by the same factor in every step of training.

    Args:
        start: The number up to `begin`. It has the same sign as `end`, and neither is 0.
        end: The number from `begin + over` on.
        over: The number of steps that the change takes.
        begin: The count at which it begins to change.
        counter: The input that counts the steps of the whole training; environment wrappers supply it.

    Returns:
        The schedule.

    Raises:
        DefinitionError: A number is not finite, or `over` is not above 0.

    >>> weight = exponential(1, 0.01, over=100)
    >>> weight(0), round(weight(50), 6), weight(100)
    (1.0, 0.1, 0.01)
    """
    return Ramp(counter, "exponential", start, end, over, begin)


def piecewise(values: Sequence[float], *, at: Sequence[float], counter: str = COUNTER) -> Schedule:
    """Change a number at given counts, and keep it constant in between.

    Args:
        values: The number before the first count, from the first count on, from the second count on, and so on.
        at: The counts at which it changes, in rising order.
        counter: The input that counts the steps of the whole training; environment wrappers supply it.

    Returns:
        The schedule.

    Raises:
        DefinitionError: There is not exactly one value more than counts, or a number is not finite.

    >>> weight = piecewise([-0.01, -0.1], at=[10_000])
    >>> weight(9_999), weight(10_000)
    (-0.01, -0.1)
    """
    return Piecewise(counter, tuple(values) if isinstance(values, list) else values, at)  # type: ignore[arg-type]


def parse_schedule(name: str, data: Mapping[str, Any]) -> Schedule:
    """Return the schedule of plain data, as it stands in a TOML file: `{linear = [0, 1], over = 100_000}`.

    Raises:
        DefinitionError: The data is not a schedule; the message says what is wrong.

    >>> parse_schedule("safety.weight", {"linear": [0, 1], "over": 100_000})
    linear(0, 1, over=100000)
    """
    kinds = [kind for kind in (*Ramp.SHAPES, "piecewise") if kind in data]
    if len(kinds) != 1:
        example = "{linear = [0, 1], over = 100000}"
        known = ", ".join((*Ramp.SHAPES, "piecewise"))
        raise DefinitionError(f"{name}: a schedule is one of {known}, as in {example}; this is {dict(data)!r:.80}")
    kind = kinds[0]
    parts = {"at", "counter"} if kind == "piecewise" else {"over", "begin", "counter"}
    for part in data.keys() - parts - {kind}:
        raise DefinitionError(f"{name}: {kind} has no {part!r}.{did_you_mean(str(part), parts)}")
    for part in {"at" if kind == "piecewise" else "over"} - data.keys():
        raise DefinitionError(f"{name}: {kind} needs {part!r}")
    numbers = data[kind]
    options = {part: data[part] for part in parts & data.keys()}
    if kind == "piecewise":
        return piecewise(numbers, **options)
    if not isinstance(numbers, list | tuple) or len(numbers) != 2:
        raise DefinitionError(f"{name}: {kind} goes from one number to another: {{{kind} = [0, 1], over = 100000}}")
    return {"linear": linear, "cosine": cosine, "exponential": exponential}[kind](*numbers, **options)


def expand_schedule(name: str, schedule: Schedule) -> dict[str, float]:
    """Return the numbers of a schedule by dotted name, those of a list one by one."""
    return {f"{name}.{part}": value for part, value in _expand(schedule.numbers)}


def change_number(name: str, schedule: Schedule, part: str, value: Any) -> Schedule:
    """Return a schedule with another value of one number: `end`, `values`, `values[1]`."""
    whole, bracket, entry = part.partition("[")
    known = dict(_expand(schedule.numbers))
    if part not in known and part not in schedule.numbers:
        near = did_you_mean(part, [*schedule.numbers, *known])
        raise UnknownParameter(f"{name} is {schedule}, which has no number {part!r}.{near}")
    if bracket:
        entries = list(schedule.numbers[whole])  # type: ignore[arg-type]  # it has entries, so it is a list
        entries[int(entry[:-1])] = value
        value = tuple(entries)
    try:
        return schedule.with_number(whole, value)
    except DefinitionError as error:
        raise DefinitionError(f"{name}: {error}") from None


def declare_counter(name: str) -> Field:
    """Return the field of a counter that the reward does not declare itself."""
    return Field(name, low=0, doc="How many steps were taken before this one, which schedules follow.")


def _validate_counter(kind: str, counter: object) -> None:
    if not isinstance(counter, str) or not NAME.fullmatch(counter) or counter in RESERVED:
        raise DefinitionError(f"{kind}: counter={counter!r:.60} must be the name of an input, such as 'step'")


def _format(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def _format_counter(counter: str) -> str:
    return "" if counter == COUNTER else f", counter={counter!r}"


def _expand(numbers: Mapping[str, float | tuple[float, ...]]) -> list[tuple[str, float]]:
    found: list[tuple[str, float]] = []
    for part, value in numbers.items():
        entries = [(f"{part}[{at}]", each) for at, each in enumerate(value)] if isinstance(value, tuple) else []
        found += entries if isinstance(value, tuple) else [(part, value)]
    return found


_OPERATIONS: Mapping[type[n.Node], Callable[..., Any]] = {
    n.Const: float,
    n.Add: operator.add,
    n.Sub: operator.sub,
    n.Mul: operator.mul,
    n.Div: operator.truediv,
    n.Power: math.pow,
    n.Cos: math.cos,
    n.Min: min,
    n.Max: max,
    n.Ge: operator.ge,
    n.Select: lambda condition, then, otherwise: then if condition else otherwise,
}
"""What Python does for each operation of a schedule, as the Python target writes it."""


def _compute(kind: type[n.Node], *operands: Any) -> Any:
    return _OPERATIONS[kind](*operands)
