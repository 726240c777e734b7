"""The parameters of a plain function: which are data, and which are knobs, constants, or supplied by the reward."""

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeVar

from plaudit.errors import DefinitionError, ReadError, UnknownField, UnknownParameter, did_you_mean
from plaudit.language.field import RECORDS, TERMINAL, to_number
from plaudit.language.parameters import (
    Fixed,
    Parameter,
    has_infinity,
    is_array,
    name_knob,
    validate_vector_parameter,
)
from plaudit.language.reading.source import Source, validate_signature
from plaudit.language.reading.values import freeze
from plaudit.language.schedule import Schedule

Found = TypeVar("Found")

NOTHING: Mapping[str, Any] = MappingProxyType({})
UNREAD = ReadError, UnknownField
"""What is wrong with a function that may be readable once a switch of it is known."""


@dataclass(frozen=True, slots=True)
class FunctionParameters:
    """What the parameters of a plain function are that are not data."""

    knobs: Mapping[str, Parameter] = field(default_factory=dict)
    shared: tuple[str, ...] = ()
    """What the reward must supply."""
    constants: Mapping[str, object] = field(default_factory=dict)
    """Tables, strings, objects and None, as they were when the function was first read."""

    @property
    def everything(self) -> dict[str, object]:
        """All of them as functions are read with them: None for what the reward supplies."""
        fixed = {name: Fixed(value) for name, value in self.constants.items()}
        return {**dict.fromkeys(self.shared), **self.knobs, **fixed}


def split_parameters(
    source: Source,
    owner: str,
    title: str,
    *,
    given: Mapping[str, Any] = NOTHING,
    claimed: Collection[str] = (),
    fixed: Collection[str] = (),
    own: bool = False,
) -> FunctionParameters:
    """Return what the parameters of a function are, other than data; errors name its `owner`.

    Values that are `given` by name stand in place of defaults. Parameters in `claimed` are data although they have a
    default, and those that are `fixed` constants although they are numbers. A knob of a term has its `own` name where
    the term has such a number itself: `weight_`.
    """
    validate_signature(source)
    names = list_names(source)
    defaults = list_defaults(source)
    for name in given:
        if name not in names:
            raise UnknownParameter(
                f"{owner}: {source.name}({', '.join(names)}) has no parameter {name!r}.{did_you_mean(name, names)}"
            )
    knobs: dict[str, Parameter] = {}
    constants: dict[str, object] = {}
    values = {**defaults, **given}
    data = {*claimed, *(find_optional(source, given) & _READ)}
    for name in names:
        if name not in values or name in data:
            continue
        value = values[name]
        if _is_parameter(value) and name not in fixed:
            knob = name_knob(name) if own else name
            if knob != name and knob in names:
                raise DefinitionError(f"{owner}: it cannot have the parameters {name!r} and {knob!r}; rename one")
            knobs[knob] = validate_vector_parameter(f"{title}.{knob}", value)
        else:
            constants[name] = freeze(value)
    shared = tuple(each.arg for each in source.tree.args.kwonlyargs if each.arg not in values)
    return FunctionParameters(MappingProxyType(knobs), shared, MappingProxyType(constants))


_READ = frozenset({*RECORDS, TERMINAL.name})
"""Names that are data in every reward."""


def list_names(source: Source) -> list[str]:
    """Return the names of the parameters of a function, in order."""
    return [each.arg for each in (*source.tree.args.args, *source.tree.args.kwonlyargs)]


def list_defaults(source: Source) -> dict[str, Any]:
    """Return the defaults of a function by name, the positional ones first."""
    names = [each.arg for each in source.tree.args.args]
    values = source.function.__defaults__ or ()
    return dict(zip(names[len(names) - len(values) :], values, strict=True)) | (source.function.__kwdefaults__ or {})


def find_optional(source: Source | None, given: Mapping[str, Any] = NOTHING) -> frozenset[str]:
    """Return the positional parameters that have a default, which a declared field takes the place of."""
    if source is None:
        return frozenset()
    names = [each.arg for each in source.tree.args.args]
    return frozenset(names[len(names) - len(source.function.__defaults__ or ()) :]) - given.keys()


def find_fixable(source: Source, given: Mapping[str, Any], claimed: Collection[str]) -> tuple[str, ...]:
    """Return the positional parameters with a default or a given value that are integers or bools."""
    values = {**list_defaults(source), **given}
    names = [each.arg for each in source.tree.args.args if each.arg in values and each.arg not in claimed]
    return tuple(name for name in names if isinstance(to_number(values[name]), int))


def fix_needed(read: Callable[[frozenset[str]], Found], names: Collection[str]) -> Found:
    """Return what `read` makes with as few of the parameters `names` fixed as it needs, such as an axis or a count.

    Raises:
        ReadError: It cannot be read with all of them fixed either; what is wrong then is what is left to change.
        UnknownField: The same, of a field that is not declared.
    """
    try:
        return read(frozenset())
    except UNREAD:
        fixed = frozenset(names)
        if not fixed:
            raise
    found = read(fixed)
    for name in names:
        with suppress(*UNREAD):
            found = read(fixed - {name})
            fixed -= {name}
    return found


def split_shared(given: Mapping[str, Any]) -> tuple[dict[str, Parameter], dict[str, object]]:
    """Return what a reward supplies to its functions: numbers, of which a tuple holds several, and constants."""
    constants = {name: freeze(value) for name, value in given.items() if _is_constant(value)}
    numbers = {name: validate_vector_parameter(name, v) for name, v in given.items() if name not in constants}
    return numbers, constants


def _is_constant(value: Any) -> bool:
    if isinstance(value, Schedule) or is_array(value):
        return has_infinity(value)
    if isinstance(value, list | tuple):
        return any(_is_constant(each) for each in value)
    return to_number(value) is None or has_infinity(value)


def is_same(left: object, right: object) -> bool:
    """Return whether two values that functions are given are the same constant, or number."""
    return left is right or repr(left) == repr(right)


def _is_parameter(value: Any) -> bool:
    """Return whether a value becomes a number, or numbers, of the reward; infinity is a constant."""
    if has_infinity(value):
        return False
    return isinstance(value, Schedule) or to_number(value) is not None or is_array(value)
