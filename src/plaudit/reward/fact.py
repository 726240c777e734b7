"""A fact: a plain Python function that is true of every step that can happen."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from plaudit.errors import DefinitionError
from plaudit.language.field import NAME, RESERVED
from plaudit.language.program import Builder
from plaudit.language.read import read_fact
from plaudit.language.reader import Scope
from plaudit.language.signature import check_signature
from plaudit.language.source import Source, source_of


@dataclass(frozen=True)
class Fact:
    """What a checker may take for granted about a step. Calling it calls the plain function it was made from.

    Scoring ignores facts, unless a reward is compiled with `guard="facts"`.
    """

    name: str
    doc: str = ""
    reads: tuple[str, ...] = ()
    """What it reads: `deceleration`, `prev.distance`."""
    source: Source | None = field(default=None, repr=False, compare=False)
    constants: Mapping[str, object] = field(default_factory=dict, repr=False, compare=False)
    """Keyword-only parameters: constants of the fact."""

    def __post_init__(self) -> None:
        """Refuse a name that cannot work."""
        if not NAME.fullmatch(self.name) or self.name in RESERVED:
            raise DefinitionError(
                f"fact {self.name!r}: the name must be a plain identifier, and not one of {', '.join(RESERVED)}"
            )

    def __call__(self, *inputs: Any, **constants: Any) -> Any:
        """Return what the plain function returns, unchecked."""
        if self.source is None:
            raise DefinitionError(f"fact {self.name!r} was loaded from a specification and has no function")
        return self.source.function(*inputs, **constants)

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        """The plain function, where tools look for it."""
        if self.source is None:
            raise AttributeError("__wrapped__")
        return self.source.function

    @property
    def __name__(self) -> str:
        """The fact's name, where tools look for it."""
        return self.name


def fact(function: Callable[..., Any], /) -> Fact:
    """Make a fact of a plain function in the language of terms that returns a flag.

    Positional parameters are fields; keyword-only ones are constants and have a default.

    >>> @fact
    ... def brakes(action, deceleration, *, strongest=4.5):
    ...     return deceleration == 0 if action == 0 else deceleration <= strongest
    >>> brakes(0, 3.0), brakes.reads
    (False, ('action', 'deceleration'))
    """
    source = source_of(function)
    check_signature(source)
    constants = source.function.__kwdefaults__ or {}
    for argument in source.tree.args.kwonlyargs:
        if constants.get(argument.arg) is None:
            raise DefinitionError(
                f"fact {source.name!r}: {argument.arg!r} has no value. Keyword-only parameters of a fact are "
                "constants; give it a default, or put it before the `*` if it is a field."
            )
    reading = read_fact(source, source.name, constants, Builder(), Scope())
    doc = (function.__doc__ or "").strip()
    return Fact(source.name, doc, reading.reads, source, MappingProxyType(dict(constants)))
