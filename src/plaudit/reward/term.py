"""A term: a plain Python function with a weight and clamps."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal, get_args, overload

from plaudit.errors import DefinitionError
from plaudit.language.field import NAME, RESERVED, to_number, validate_number
from plaudit.language.functions import read_term
from plaudit.language.inputs import Scope
from plaudit.language.parameters import Parameter, expand_parameters, is_array, validate_vector_parameter
from plaudit.language.program import Builder
from plaudit.language.source import ReadFunction, Source, read_source, validate_signature
from plaudit.reward.declared import validate_allow

Intent = Literal["goal", "penalty", "shaping", "bonus"]
PARAMETERS = ("weight", "low", "high")
"""Names every term has for itself, so that no knob may use them."""


@dataclass(frozen=True)
class Term(ReadFunction):
    """One named part of a reward. Calling it calls the plain function it was made from.

    `weight` multiplies the score, after it has been held within `low` and `high`; a negative one makes a penalty.
    A `terminal` term is scored only when the episode ends. `kind` says what the term is meant to be.
    """

    name: str
    weight: float = 1.0
    low: float | None = None
    high: float | None = None
    terminal: bool = False
    kind: Intent | None = None
    doc: str = ""
    knobs: Mapping[str, Parameter] = field(default_factory=dict, hash=False)
    """Keyword-only parameters with a default: numbers, bools, and arrays as tuples."""
    shared: tuple[str, ...] = ()
    """Keyword-only parameters without one: the reward supplies them."""
    reads: tuple[str, ...] = ()
    """What it reads: `distance`, `prev.tokens_used`."""
    source: Source | None = field(default=None, repr=False, compare=False)
    constants: Mapping[str, object] = field(default_factory=dict, repr=False, compare=False)
    """Keyword-only parameters whose default is a table or a string: constants of the term."""
    allow: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Findings that are meant to be, by the code of their rule, each with the reason."""
    part: int | str | None = field(default=None, compare=False)
    """Which of the values that the function returns is the score: a position in a tuple, or a key of a dict."""
    batched: bool = field(default=False, compare=False)
    """Whether the function takes many rows at once, along the first axis of what it is given."""
    parts: frozenset[str] = field(default=frozenset(), repr=False, compare=False)
    """What its positional parameters, and the parts of those that are records, may be called."""

    def __post_init__(self) -> None:
        """Refuse names and numbers that cannot work."""
        if not NAME.fullmatch(self.name) or self.name in RESERVED:
            raise DefinitionError(
                f"term {self.name!r}: the name must be a plain identifier, and not one of {', '.join(RESERVED)}"
            )
        for knob in (*self.knobs, *self.shared):
            if not NAME.fullmatch(knob) or knob in PARAMETERS:
                raise DefinitionError(f"term {self.name!r}: a knob cannot be called {knob!r}")
        for name in PARAMETERS:
            value = getattr(self, name)
            if value is None and name != "weight":
                continue
            object.__setattr__(self, name, validate_number(f"{self.name}.{name}", value))
        if self.low is not None and self.high is not None and self.low > self.high:
            raise DefinitionError(f"term {self.name!r}: low={self.low} is above high={self.high}")
        if self.kind not in (None, *get_args(Intent)):
            raise DefinitionError(f"term {self.name!r}: kind={self.kind!r} is not one of {', '.join(get_args(Intent))}")
        object.__setattr__(self, "allow", validate_allow(f"term {self.name!r}", self.allow))

    def __call__(self, *inputs: Any, **knobs: Any) -> Any:
        """Return what the plain function returns, unchecked."""
        if self.source is None:
            raise DefinitionError(
                f"term {self.name!r} was loaded from a specification and has no function; score it through its reward"
            )
        defaults = self.source.function.__kwdefaults__ or {}
        changed: dict[str, Any] = {}
        for name, value in self.knobs.items():
            default = defaults.get(name)
            if not isinstance(value, tuple):
                changed |= {name: value} if default != value else {}
            elif validate_vector_parameter(name, default) != value:
                changed[name] = _to_array(value)
        return self.source.function(*inputs, **{**changed, **knobs})

    @property
    def params(self) -> dict[str, float | bool]:
        """The term's own parameters by dotted name: its knobs, entry by entry, its weight and clamps."""
        own = expand_parameters({f"{self.name}.{knob}": value for knob, value in self.knobs.items()})
        return own | {f"{self.name}.{name}": value for name in PARAMETERS if (value := getattr(self, name)) is not None}

    def with_values(self, values: Mapping[str, Parameter]) -> "Term":
        """Return this term with other numbers.

        Args:
            values: Knobs by their plain names, and `weight`, `low` or `high`.
        """
        own: dict[str, Any] = {name: value for name, value in values.items() if name in PARAMETERS}
        knobs = {name: values.get(name, value) for name, value in self.knobs.items()}
        return replace(self, **own, knobs=MappingProxyType(knobs))


def share(term: Any, names: Iterable[str]) -> Any:
    """Return a term with those of `names` as shared parameters that it reads by position, or from a record."""
    if not isinstance(term, Term):
        return term  # which the reward refuses
    found = tuple(name for name in names if name in term.parts and name not in term.shared)
    reads = tuple(name for name in term.reads if name not in found)
    return replace(term, shared=term.shared + found, reads=reads) if found else term


def _to_array(value: tuple[Any, ...]) -> Any:
    """Return a vector parameter as a plain function takes it."""
    import numpy as np

    return np.array(value)


@overload
def term(function: Callable[..., Any], /) -> Term: ...


@overload
def term(
    *,
    weight: float = 1.0,
    low: float | None = None,
    high: float | None = None,
    terminal: bool = False,
    name: str | None = None,
    kind: Intent | None = None,
    allow: Mapping[str, str] | None = None,
    part: int | str | None = None,
    batched: bool = False,
) -> Callable[[Callable[..., Any]], Term]: ...


def term(
    function: Callable[..., Any] | None = None,
    /,
    *,
    weight: float = 1.0,
    low: float | None = None,
    high: float | None = None,
    terminal: bool = False,
    name: str | None = None,
    kind: Intent | None = None,
    allow: Mapping[str, str] | None = None,
    part: int | str | None = None,
    batched: bool = False,
) -> Term | Callable[[Callable[..., Any]], Term]:
    """Make a term of a plain function; positional parameters are fields, keyword-only ones are knobs.

    Args:
        function: The function, where the decorator is used bare: `@term`.
        weight: What the score is multiplied by; a negative one makes a penalty.
        low: The smallest score that counts; lower ones are held there.
        high: The largest score that counts.
        terminal: Whether the term is scored only when the episode ends.
        name: The name of the term, if not that of the function.
        kind: What the term is meant to be, for checks.
        allow: Findings that are meant to be: the code of each rule, with the reason.
        part: Which of several returned values is the score: 0 of `return reward, info`, a key of a returned dict.
        batched: The function was written for many rows at once: everything it is given has them along its first axis.

    Returns:
        The term; or, with options, the decorator that makes it.

    Raises:
        ReadError: The function uses something that is not part of the language.
        DefinitionError: A name or a number cannot work.

    >>> @term(weight=-1.0, high=10.0)
    ... def effort(torque, *, scale=2.0):
    ...     return scale * abs(torque)
    >>> effort(3.0), effort.weight, dict(effort.knobs)
    (6.0, -1.0, {'scale': 2.0})
    """

    def decorate(plain: Callable[..., Any]) -> Term:
        source = read_source(plain)
        validate_signature(source)
        title = name or (part if isinstance(part, str) else source.name)
        defaults = source.function.__kwdefaults__ or {}
        names = [argument.arg for argument in source.tree.args.kwonlyargs]
        for knob in names:
            if knob in defaults and defaults[knob] is None:
                raise DefinitionError(f"term {title!r}: the knob {knob!r} is None; give it a number, or no default")
            if knob in PARAMETERS:
                raise DefinitionError(
                    f"term {title!r}: a knob cannot be called {knob!r}; that is the term's own parameter"
                )
        knobs = {
            knob: validate_vector_parameter(f"{title}.{knob}", defaults[knob])
            for knob in names
            if knob in defaults and (to_number(defaults[knob]) is not None or is_array(defaults[knob]))
        }
        constants = {knob: value for knob, value in defaults.items() if knob not in knobs}
        everything = {knob: defaults.get(knob) for knob in names}
        scope = Scope(params={f"{title}.{knob}": value for knob, value in knobs.items()})
        reading = read_term(source, title, everything, Builder(), scope, part=part)
        return Term(
            title,
            weight=weight,
            low=low,
            high=high,
            terminal=terminal,
            kind=kind,
            doc=(plain.__doc__ or "").strip(),
            knobs=MappingProxyType(knobs),
            shared=tuple(knob for knob in names if knob not in defaults),
            reads=reading.reads,
            source=source,
            constants=MappingProxyType(constants),
            allow={} if allow is None else allow,
            part=part,
            batched=batched,
            parts=reading.parts,
        )

    return decorate if function is None else decorate(function)
