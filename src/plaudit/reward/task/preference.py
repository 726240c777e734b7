"""Rows of a task: steps that must earn more than others, the step of doing nothing; and how they fit a reward."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from plaudit.errors import DefinitionError, ShapeMismatch, UnknownField, did_you_mean
from plaudit.language.field import RECORDS, Field, is_exact, to_number
from plaudit.language.shapes import flatten_entries

Row = Mapping[str, Any]
"""What is known of a step by the names of its inputs; what is left out can be anything."""


@dataclass(frozen=True)
class Preference:
    """A statement that `better` must earn more than `over`, each one or more steps whose rewards add up.

    Make it with `prefer(...)`. An input that a step leaves out can have any value, the same on both sides.

    >>> from plaudit import Task
    >>> task = Task(prefer=[prefer({"distance": 30.0}, over={"distance": 4.0}, because="4 m is too close")])
    >>> task.prefer[0].because, task.prefer[0].reads
    ('4 m is too close', frozenset({'distance'}))
    """

    better: tuple[Row, ...] = field(hash=False)
    over: tuple[Row, ...] = field(hash=False)
    because: str = ""

    @property
    def reads(self) -> frozenset[str]:
        """The inputs that either side names."""
        return frozenset(name for row in (*self.better, *self.over) for name in row)


def prefer(better: Row | Sequence[Row], *, over: Row | Sequence[Row], because: str = "") -> Preference:
    """State that one step, or a list of steps, must earn more than another: `Task(prefer=[...])`.

    Args:
        better: A mapping from inputs to values, or a list of such mappings. An input that is left out can have any
            value.
        over: What must earn less, in the same form.
        because: The reason, for readers.

    Returns:
        The preference.

    Raises:
        DefinitionError: A side is not a mapping or a list of mappings.

    >>> prefer({"distance": 30.0}, over={"distance": 4.0}, because="4 m is too close").over[0]["distance"]
    4.0
    """
    if not isinstance(because, str):
        raise DefinitionError(f"a preference's because={because!r} must be a string")
    return Preference(_read_side("better", better), _read_side("over", over), because)


def _read_side(what: str, given: Any) -> tuple[Row, ...]:
    rows = [given] if isinstance(given, Mapping) else given
    if not isinstance(rows, list | tuple) or not rows or not all(isinstance(row, Mapping) for row in rows):
        raise DefinitionError(
            f"a preference's {what} side is a mapping from inputs to values, or a list of such mappings"
        )
    return tuple(freeze_row("a preference", flatten_row("a preference", row)) for row in rows)


def flatten_row(what: str, row: Row) -> Iterator[tuple[str, Any]]:
    """Yield the parts of a row, those of `prev` and `curr` under their whole names."""
    for name, value in row.items():
        if not isinstance(name, str):
            raise DefinitionError(f"{what} names an input {name!r}, and a name is a string")
        if name not in RECORDS:
            yield name, _to_plain(value)
        elif not isinstance(value, Mapping):
            raise DefinitionError(f"{what}'s {name!r} is a mapping from fields to values, not {value!r:.60}")
        else:
            yield from ((f"{name}.{key}", _to_plain(part)) for key, part in value.items())


def _to_plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value


def freeze_row(what: str, parts: Iterable[tuple[str, Any]]) -> Row:
    """Return the parts of a row as a read-only mapping; DefinitionError if one appears twice."""
    row: dict[str, Any] = {}
    for name, value in parts:
        if name in row:
            raise DefinitionError(f"{what} gives {name!r} twice, in two ways")
        row[name] = value
    return MappingProxyType(row)


def fit_preference(preference: Preference, reward: str, inputs: Mapping[str, Field]) -> Preference:
    """Return `preference` by the names of a reward's inputs; an error where a name or value is not one of them."""
    what = f"reward {reward!r}: a preference"
    better, over = (
        tuple(freeze_row(what, fit_row(row, what, inputs)) for row in side)
        for side in (preference.better, preference.over)
    )
    if better == over:
        raise DefinitionError(f"reward {reward!r}: a preference has the same on both sides")
    return replace(preference, better=better, over=over)


def fit_row(row: Row, what: str, inputs: Mapping[str, Field]) -> Iterator[tuple[str, float | bool | str]]:
    """Yield the parts of a row by the names of inputs; errors say `what` the row is."""
    columns = {name.partition("[")[0]: declared for name, declared in inputs.items()}
    for given, value in row.items():
        name = given.removeprefix("curr.") if given.partition("[")[0] not in columns else given
        if name in inputs:
            yield name, _fit_value(what, name, inputs[name], value)
        elif name in columns:
            entries = _read_entries(what, name, columns[name], value)
            for entry, part in zip(columns[name].entries, entries, strict=True):
                if f"{name}{entry}" in inputs:
                    yield f"{name}{entry}", _fit_value(what, f"{name}{entry}", columns[name], part)
        else:
            raise UnknownField(
                f"{what} names {given!r:.60}, which the reward does not read."
                f"{did_you_mean(given, columns)}\nIts inputs: {', '.join(inputs)}."
            )


def _read_entries(what: str, name: str, declared: Field, value: Any) -> Sequence[Any]:
    try:
        return flatten_entries(value, declared.shape)
    except ShapeMismatch as error:
        raise DefinitionError(f"{what}'s {name!r} does not fit: {error}") from None


def _fit_value(what: str, name: str, declared: Field, value: Any) -> float | bool | str:
    number = to_number(value)
    known = value if number is None else number
    fits = isinstance(known, str) or (number is not None and is_exact(number))
    if not fits or not declared.holds(known):
        raise DefinitionError(f"{what}'s {name}={value!r:.60} is not a value that the field allows")
    return known if isinstance(known, str | bool) else float(known)
