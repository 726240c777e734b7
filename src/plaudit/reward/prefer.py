"""Preferences: of two steps, or two episodes, the one that must earn more."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from plaudit.errors import DefinitionError, UnknownField, did_you_mean
from plaudit.language.field import Field
from plaudit.language.numbers import constant_number, exact

Row = Mapping[str, Any]
"""What is known of a step by the names of its inputs; what is left out can be anything."""


@dataclass(frozen=True)
class Preference:
    """That a reward must pay more for `better` than for `over`, each one or more steps whose rewards add up.

    An input that a step leaves out can be anything, the same on both sides. In `Reward.prefer` the names are those of
    the reward's inputs (`prev.phase`, `torque[0]`), and the values are floats, flags and texts.
    """

    better: tuple[Row, ...] = field(hash=False)
    over: tuple[Row, ...] = field(hash=False)
    because: str = ""

    @property
    def reads(self) -> frozenset[str]:
        """The inputs that either side names."""
        return frozenset(name for row in (*self.better, *self.over) for name in row)


def prefer(better: Row | Sequence[Row], *, over: Row | Sequence[Row], because: str = "") -> Preference:
    """Say that one step, or the steps of one episode, must earn more than another: `Reward(prefer=[...])`.

    >>> prefer({"distance": 30.0}, over={"distance": 4.0}, because="nobody is hurt").over[0]["distance"]
    4.0
    """
    if not isinstance(because, str):
        raise DefinitionError(f"a preference's because={because!r} must be a text")
    return Preference(_side("better", better), _side("over", over), because)


def _side(what: str, given: Any) -> tuple[Row, ...]:
    rows = [given] if isinstance(given, Mapping) else given
    if not isinstance(rows, list | tuple) or not rows or not all(isinstance(row, Mapping) for row in rows):
        raise DefinitionError(
            f"a preference's {what} side is a mapping from inputs to values, or a list of such mappings"
        )
    return tuple(_read_only(_flat(row)) for row in rows)


def _flat(row: Row) -> Iterator[tuple[str, Any]]:
    """Yield the parts of a row, those of `prev` and `curr` under their whole names."""
    for name, value in row.items():
        if not isinstance(name, str):
            raise DefinitionError(f"a preference names an input {name!r}, and a name is a text")
        if name not in ("prev", "curr"):
            yield name, value
        elif not isinstance(value, Mapping):
            raise DefinitionError(f"a preference's {name!r} is a mapping from fields to values, not {value!r:.60}")
        else:
            yield from ((f"{name}.{key}", part) for key, part in value.items())


def _read_only(parts: Iterator[tuple[str, Any]]) -> Row:
    row: dict[str, Any] = {}
    for name, value in parts:
        if name in row:
            raise DefinitionError(f"a preference gives {name!r} twice, in two ways")
        row[name] = value
    return MappingProxyType(row)


def fitted(preference: Preference, reward: str, inputs: Mapping[str, Field]) -> Preference:
    """Return `preference` by the names of a reward's inputs; an error where a name or value is not one of them."""
    better, over = (
        tuple(_read_only(_fitted(row, reward, inputs)) for row in side) for side in (preference.better, preference.over)
    )
    if better == over:
        raise DefinitionError(f"reward {reward!r}: a preference has the same on both sides")
    return replace(preference, better=better, over=over)


def _fitted(row: Row, reward: str, inputs: Mapping[str, Field]) -> Iterator[tuple[str, float | bool | str]]:
    columns = {name.partition("[")[0]: declared for name, declared in inputs.items()}
    for given, value in row.items():
        name = given.removeprefix("curr.") if given.partition("[")[0] not in columns else given
        if name in inputs:
            yield name, _value(reward, name, inputs[name], value)
        elif name in columns:
            for at, entry in enumerate(_entries(reward, name, columns[name], value)):
                if f"{name}[{at}]" in inputs:
                    yield f"{name}[{at}]", _value(reward, f"{name}[{at}]", columns[name], entry)
        else:
            raise UnknownField(
                f"reward {reward!r}: a preference names {given!r:.60}, which the reward does not read."
                f"{did_you_mean(given, columns)}\nIts inputs: {', '.join(inputs)}."
            )


def _entries(reward: str, name: str, declared: Field, value: Any) -> Sequence[Any]:
    entries = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(entries, list | tuple) or len(entries) != declared.length:
        raise DefinitionError(f"reward {reward!r}: a preference's {name!r} must hold {declared.length} values")
    return entries


def _value(reward: str, name: str, declared: Field, value: Any) -> float | bool | str:
    """Return a value as the input holds it."""
    number = constant_number(value)
    known = value if number is None else number
    fits = isinstance(known, str) or (number is not None and exact(number))
    if not fits or not declared.holds(known):
        raise DefinitionError(
            f"reward {reward!r}: a preference's {name}={value!r:.60} is not a value that the field allows"
        )
    return known if isinstance(known, str | bool) else float(known)
