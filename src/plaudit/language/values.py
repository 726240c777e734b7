"""What an expression can stand for while a function is being read."""

from dataclasses import dataclass

from plaudit.language.kinds import UNKNOWN


@dataclass(frozen=True, slots=True)
class Ref:
    """A node that is computed for each row."""

    at: int
    kind: str


@dataclass(frozen=True, slots=True)
class Constant:
    """A Python value that is known while reading: a number, flag, text, tuple, module or function."""

    value: object

    def same(self, other: object) -> bool:
        """Return whether `other` is the same constant to the bit: `1`, `1.0` and `True` differ."""
        return isinstance(other, Constant) and (other.value is self.value or repr(other.value) == repr(self.value))


@dataclass(frozen=True, slots=True)
class Vector:
    """A short vector, written out."""

    items: tuple["Value", ...]


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


Value = Ref | Constant | Vector | Record | Undeclared | Unassigned
