"""What an expression can stand for while a function is read."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from plaudit.language.kinds import FLAG, UNKNOWN
from plaudit.language.shapes import Shape, nest_entries
from plaudit.language.source import Source


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


@dataclass(frozen=True, slots=True)
class Record:
    """`prev` or `curr`: the values before or after the step."""

    name: str


@dataclass(frozen=True, slots=True)
class Undeclared:
    """A parameter whose field is not declared yet; it may turn out to be a vector."""

    at: int
    name: str

    @property
    def kind(self) -> str:
        """Unknown."""
        return UNKNOWN


@dataclass(frozen=True, slots=True)
class Unassigned:
    """A local name that some path leaves without a value."""


@dataclass(frozen=True, slots=True, eq=False)
class Nested:
    """A function defined inside the one that is read: a `def` or a lambda, with the names around it."""

    source: Source
    defaults: Mapping[str, "Value"]
    names: Callable[[], Mapping[str, "Value"]]
    """The names of the function around it, as they are when this one is called."""
    locals: frozenset[str]
    """What the functions around it assign anywhere: never a name from outside them."""


Value = Ref | Constant | Vector | Record | Undeclared | Unassigned | Nested
"""What an expression can stand for while a function is read."""


def build_vector(entries: Sequence[Value], shape: Shape) -> Vector:
    """Return entries in row-major order as a vector, or as a vector of vectors."""
    made: Vector = nest_entries(entries, shape, lambda items: Vector(tuple(items), array=True))
    return made


def describe(value: Value) -> str:
    """Return a few words on what `value` is, for an error."""
    match value:
        case Ref(_, kind):
            return "a bool" if kind == FLAG else f"a {kind}"
        case Vector(items) if items and isinstance(items[0], Vector):
            return f"an array of {' by '.join(map(str, _list_sizes(value)))}"
        case Vector(items):
            return f"a vector of {len(items)}" if value.array else f"a tuple of {len(items)}"
        case Record(name):
            return f"the whole of `{name}`; read one of its fields, `{name}.something`"
        case Undeclared(_, name):
            return f"the field {name!r}"
        case Nested(source):
            return f"the function {source.name!r}"
        case Constant(known) if isinstance(known, str):
            return f"the string {known!r}"
        case Constant(known):
            short = not isinstance(known, int) or abs(known) < 10**40
            return f"{known!r}" if short and len(repr(known)) < 60 else f"a long {type(known).__name__}"
    return "a value that is not known here"


def _list_sizes(value: Value) -> Iterator[int]:
    """Yield the sizes of a vector and of its first rows."""
    while isinstance(value, Vector):
        yield len(value.items)
        value = value.items[0] if value.items else Unassigned()
