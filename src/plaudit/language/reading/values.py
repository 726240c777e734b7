"""What an expression can stand for while a function is read."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType, NoneType
from typing import Any

from plaudit.language.field import to_number
from plaudit.language.kinds import FLAG, NUMBER, UNKNOWN
from plaudit.language.reading.advice import FOREIGN
from plaudit.language.reading.source import Source
from plaudit.language.shapes import Shape, nest_entries


@dataclass(frozen=True, slots=True)
class Ref:
    """A node that is computed for each row."""

    at: int
    kind: str


@dataclass(frozen=True, slots=True)
class Constant:
    """A Python value that is known while reading: a number, bool, string, tuple, module or function."""

    value: object

    def is_same(self, other: object) -> bool:
        """Return whether `other` is the same constant to the bit: `1`, `1.0` and `True` differ."""
        return isinstance(other, Constant) and (other.value is self.value or repr(other.value) == repr(self.value))


@dataclass(frozen=True, slots=True)
class Vector:
    """Several values, written out; a matrix is a vector of its rows."""

    items: tuple["Value", ...]
    array: bool = False
    """Whether it behaves like an array of NumPy, entry by entry; else it is a Python tuple or list."""
    sequence: type | None = field(default=None, compare=False)
    """Which of the two it is, where that is known: a tuple never equals a list."""


@dataclass(frozen=True, slots=True)
class Picked:
    """The rows of an array, or its entries, where a mask of data is true: how many there are depends on the data."""

    rows: tuple["Value", ...]
    """What stands at each place of the mask, also where it is false; all have one shape."""
    mask: tuple["Value", ...]
    """A flag for each of them."""


@dataclass(frozen=True, slots=True)
class Dictionary:
    """A dict: values by constant keys."""

    items: Mapping[Any, "Value"]
    attributes: bool = False
    """Whether its keys are attributes too: `cfg.scale` is `cfg["scale"]`."""


@dataclass(frozen=True, slots=True)
class Record:
    """Something whose parts are fields: `prev` and `curr`, or a parameter such as `self`, `obs` or `params`."""

    path: tuple[str, ...]
    """The parameter, and the parts that lead here: `("self", "robot")`."""

    @property
    def name(self) -> str:
        """The path as people write it."""
        return ".".join(self.path)


@dataclass(frozen=True, slots=True)
class Undeclared:
    """A parameter whose field is not declared yet; it may turn out to be a vector, or a record."""

    at: int
    name: str
    path: tuple[str, ...] = ()
    """Where its parts may be fields: the parameter, and the parts that lead here."""

    @property
    def kind(self) -> str:
        """Unknown."""
        return UNKNOWN


@dataclass(frozen=True, slots=True)
class Element(Ref):
    """What stands in for any entry of what is not declared yet, or for a list of such entries."""

    path: tuple[str, ...] = ()
    """Where its parts may be fields, with `EACH` for its index."""
    each: "Value | None" = None
    """What a loop over it gives, where that is known."""


@dataclass(frozen=True, slots=True)
class Unassigned:
    """A local name that has no value: some path leaves it without one, or `why` says how it lost it."""

    why: str = ""
    advice: str = ""
    """What to do instead of reading it."""
    error: Exception | None = field(default=None, compare=False)
    """What reading it raises: it needs a field that is not declared."""
    plain: bool = field(default=False, compare=False)
    """Whether it is certainly no array or list, which could be changed in place."""


@dataclass(frozen=True, slots=True, eq=False)
class Nested:
    """A function defined inside the one that is read: a `def` or a lambda, with the names around it."""

    source: Source
    defaults: Mapping[str, "Value"]
    names: Callable[[], Mapping[str, "Value"]]
    """The names of the function around it, as they are when this one is called."""
    locals: frozenset[str]
    """What the functions around it assign anywhere: never a name from outside them."""


Value = Ref | Constant | Vector | Picked | Dictionary | Record | Undeclared | Unassigned | Nested
"""What an expression can stand for while a function is read."""

EACH = "*"
"""Stands in a path for the index of any entry, while no field is declared."""

Names = dict[str, Value]
"""The values of names."""


def find_open(*values: Value) -> Ref | None:
    """Return an unknown that stands for values of which one is not known yet; None where all are."""
    for value in values:
        match value:
            case Ref(at) | Undeclared(at) if value.kind == UNKNOWN:
                return Ref(at, UNKNOWN)
            case Vector(items) if (found := find_open(*items)) is not None:
                return found
            case Picked(rows, mask) if (found := find_open(*rows, *mask)) is not None:
                return found
            case Dictionary(entries) if (found := find_open(*entries.values())) is not None:
                return found
    return None


def is_open(value: Value) -> bool:
    """Return whether the value itself is not known yet, and so may turn out to be an array."""
    return isinstance(value, Undeclared) or (isinstance(value, Ref) and value.kind == UNKNOWN)


def is_record(value: Value) -> bool:
    """Return whether a value has parts by their names, or may have them once fields are declared."""
    return isinstance(value, Record) or (isinstance(value, Undeclared | Element) and bool(value.path))


def find_each(value: Value) -> Value | None:
    """Return what a loop over a value gives that is not known yet; None for any other value."""
    if isinstance(value, Element) and value.each is not None:
        return value.each
    if isinstance(value, Undeclared | Element) and value.path:
        return Element(value.at, UNKNOWN, path=(*value.path, EACH))
    return find_open(value) if is_open(value) else None


def list_each(unknown: Ref, each: Value | None) -> Ref:
    """Return a list that is not known yet, of entries of which one is known as far as they are."""
    return unknown if each is None or find_open(each) is None else Element(unknown.at, UNKNOWN, each=each)


def is_array(value: Value) -> bool:
    """Return whether a value behaves like an array of NumPy."""
    return isinstance(value, Picked) or (isinstance(value, Vector) and value.array)


def has_items(value: Value) -> bool:
    """Return whether a value has entries: an array, or a tuple or list."""
    return isinstance(value, Vector) or (isinstance(value, Constant) and isinstance(value.value, tuple))


def list_parts(value: Value) -> tuple[Value, ...] | None:
    """Return the entries along the first axis; None for a scalar."""
    if isinstance(value, Vector):
        return value.items
    if isinstance(value, Constant) and isinstance(value.value, tuple):
        return tuple(Constant(item) for item in value.value)
    return None


def build_vector(entries: Sequence[Value], shape: Shape) -> Vector:
    """Return entries in row-major order as a vector, or as a vector of vectors."""
    made: Vector = nest_entries(entries, shape, lambda items: Vector(tuple(items), array=True))
    return made


def describe(value: Value) -> str:
    """Return a few words on what `value` is, for an error."""
    match value:
        case Ref(_, kind):
            return {FLAG: "a bool", UNKNOWN: "a value of a field that is not known yet"}.get(kind, f"a {kind}")
        case Vector(items) if items and isinstance(items[0], Vector):
            return f"an array of {' by '.join(map(str, _list_sizes(value)))}"
        case Vector(items):
            kind = "vector" if value.array else "list" if value.sequence is list else "tuple"
            return f"a {kind} of {len(items)}"
        case Picked():
            return "what a mask of data picks"
        case Dictionary(items):
            return f"a dict of {len(items)}"
        case Record():
            shown = format_path(value.path)
            return f"the whole of `{shown}`; read one of its fields, `{shown}.something`"
        case Undeclared(_, name):
            return f"the field {name!r}"
        case Nested(source):
            return f"the function {source.name!r}"
        case Constant(known) if isinstance(known, str):
            return f"the string {known!r}"
        case Constant(Enum() as known) if is_object(known):
            return f"the Enum member {known}"
        case Constant(known) if is_object(known) and not isinstance(known, tuple):
            return f"an object of the class {type(known).__name__}"
        case Constant(known):
            short = not isinstance(known, int) or abs(known) < 10**40
            return f"{known!r}" if short and len(repr(known)) < 60 else f"a long {type(known).__name__}"
    return "a value that is not known here"


def format_path(path: Sequence[str]) -> str:
    """Return a path as people write it: `env.cars[0].speed`."""
    shown = ""
    for part in path:
        part = part.partition("#")[0] if "(" in part else part
        shown += f"[{part}]" if part.lstrip("-").isdigit() else f".{part}" if shown else part
    return shown


def format_part(base: Value, part: str) -> str:
    """Return the local name under which a function keeps what it assigned to a part of a record."""
    return ".".join((*getattr(base, "path", ()), part))


def find_kind(value: Value) -> str:
    """Return the kind of a value; "string" and "other" are kinds of constants."""
    match value:
        case Ref(_, kind):
            return kind
        case Undeclared():
            return UNKNOWN
        case Constant(known) if isinstance(known, str):
            return "string"
        case Constant(known) if isinstance(known, bool):
            return FLAG
        case Constant(known) if to_number(known) is not None:
            return NUMBER
    return "other"


def build_tuple(items: list[Value]) -> Value:
    """Return a tuple of values; a constant where all of them are."""
    known = [item.value for item in items if isinstance(item, Constant)]
    return Constant(tuple(known)) if len(known) == len(items) else Vector(tuple(items), sequence=tuple)


def find_sequence(value: Value) -> type | None:
    """Return whether a value is a tuple or a list; None where that is not known."""
    return value.sequence if isinstance(value, Vector) else tuple if has_items(value) else None


def is_object(known: object) -> bool:
    """Return whether a constant is an object from outside that has attributes, and is no value itself."""
    if isinstance(known, tuple):
        return hasattr(known, "_fields")
    return not isinstance(known, str | float | int | NoneType) and not callable(known)


def _list_sizes(value: Value) -> Iterator[int]:
    while isinstance(value, Vector):
        yield len(value.items)
        value = value.items[0] if value.items else Unassigned()


def is_library_array(value: object) -> bool:
    """Return whether a constant is an array of NumPy, JAX or PyTorch."""
    library = type(value).__module__.partition(".")[0] in (*FOREIGN, "jaxlib")
    return library and hasattr(value, "tolist") and not isinstance(value, type)


def freeze(value: Any) -> Any:
    """Return a copy of what may change, with sets as tuples; anything else as it is.

    >>> freeze([1, {2}]), freeze({"a": [1]})["a"]
    ([1, (2,)], [1])
    """
    if is_library_array(value):
        return value.detach().clone() if hasattr(value, "detach") else value.copy()
    if type(value) in (list, tuple, set, frozenset):
        named = isinstance(value, set | frozenset) and all(isinstance(item, str) for item in value)
        copies = [freeze(item) for item in (sorted(value) if named else value)]  # every process has its own order
        return copies if isinstance(value, list) else tuple(copies)
    if is_mapping(value):
        items = {key: freeze(value[key]) for key in value.keys()}  # noqa: SIM118  # some loop over something else
        return Settings(items) if _has_keys_as_attributes(value) else MappingProxyType(items)
    return value


class Settings(dict[Any, Any]):
    """A copy of a mapping whose keys are attributes too."""


def is_mapping(value: object) -> bool:
    """Return whether a value from outside is a mapping, or looks like one, as configs of many libraries do."""
    if isinstance(value, Mapping):
        return True
    methods = ("keys", "items", "get", "__getitem__", "__iter__")
    return all(hasattr(type(value), name) for name in methods) and not hasattr(type(value), "shape")


def _has_keys_as_attributes(value: Any) -> bool:
    if isinstance(value, Settings):
        return True
    names = [key for key in value.keys() if isinstance(key, str) and key.isidentifier()]  # noqa: SIM118
    return bool(names) and type(value) is not dict and all(hasattr(value, name) for name in names)
