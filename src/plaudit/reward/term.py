"""A term: a plain Python function with a weight and clamps."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, get_args, overload

from plaudit.errors import DefinitionError
from plaudit.language.field import NAME, to_number
from plaudit.language.parameters import (
    Number,
    Parameter,
    expand_parameters,
    is_array,
    validate_schedulable,
    validate_vector_parameter,
)
from plaudit.language.program import Builder
from plaudit.language.reading.context import Scope
from plaudit.language.reading.decorators import read_source
from plaudit.language.reading.functions import read_term
from plaudit.language.reading.source import ReadFunction, Source, validate_signature
from plaudit.language.schedule import Schedule
from plaudit.reward.declared import validate_allow, validate_name

Intent = Literal["goal", "penalty", "shaping", "bonus", "intrinsic"]
PARAMETERS = ("weight", "low", "high")
"""Names every term has for itself, so that no knob may use them."""


@dataclass(frozen=True)
class Term(ReadFunction):
    """One named part of a reward, made by `@term`. Calling it calls its plain function.

    `weight` multiplies the score after it was clamped to `low` and `high`; a negative weight makes a penalty. A
    `terminal` term is scored only when the episode ends. `kind` declares the purpose of the term for checks.

    >>> from plaudit import term
    >>> @term(weight=-1.0)
    ... def effort(torque, *, scale=2.0):
    ...     return scale * abs(torque)
    >>> effort(3.0), effort.reads, effort.params
    (6.0, ('torque',), {'effort.scale': 2.0, 'effort.weight': -1.0})
    """

    name: str
    weight: Number = 1.0
    low: Number | None = None
    high: Number | None = None
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
    gated: bool = True
    """Whether the gate of the reward, where it has one, is a factor of its value."""
    after_clamp: bool = False
    """Whether it is added after the gate and the clamp of the total."""
    part: int | str | None = field(default=None, compare=False)
    """Which of the values that the function returns is the score: a position in a tuple, or a key of a dict."""
    batched: bool = field(default=False, compare=False)
    """Whether the function takes many rows at once, along the first axis of what it is given."""
    parts: frozenset[str] = field(default=frozenset(), repr=False, compare=False)
    """What its positional parameters, and the parts of those that are records, may be called."""

    def __post_init__(self) -> None:
        validate_name("term", self.name)
        for knob in (*self.knobs, *self.shared):
            if not NAME.fullmatch(knob) or knob in PARAMETERS:
                raise DefinitionError(f"term {self.name!r}: a knob cannot be called {knob!r}")
        for name in PARAMETERS:
            value = getattr(self, name)
            if value is None and name != "weight":
                continue
            object.__setattr__(self, name, validate_schedulable(f"{self.name}.{name}", value))
        validate_limits(f"term {self.name!r}", self.low, self.high)
        for part in ("gated", "after_clamp"):
            if not isinstance(getattr(self, part), bool):
                raise DefinitionError(f"term {self.name!r}: {part}={getattr(self, part)!r:.60} must be True or False")
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
            if isinstance(value, Schedule):
                if name not in knobs:
                    raise DefinitionError(
                        f"term {self.name!r}: the knob {name!r} follows {value}; pass a value when you call the "
                        f"plain function, {name}=..., or score through the reward"
                    )
            elif not isinstance(value, tuple):
                changed |= {name: value} if default != value else {}
            elif validate_vector_parameter(name, default) != value:
                changed[name] = _to_array(value)
        return self.source.function(*inputs, **{**changed, **knobs})

    @property
    def params(self) -> dict[str, float | bool]:
        """The term's own parameters by dotted name: its knobs, entry by entry, its weight and clamps."""
        return expand_parameters(self.numbers)

    @property
    def numbers(self) -> dict[str, Parameter]:
        """The same with vectors and schedules whole."""
        own = {f"{self.name}.{knob}": value for knob, value in self.knobs.items()}
        return own | {f"{self.name}.{name}": value for name in PARAMETERS if (value := getattr(self, name)) is not None}

    def with_values(self, values: Mapping[str, Parameter]) -> "Term":
        """Return this term with other numbers.

        Args:
            values: Knobs by their plain names, and `weight`, `low` or `high`.

        Returns:
            The changed term.
        """
        own: dict[str, Any] = {name: value for name, value in values.items() if name in PARAMETERS}
        knobs = {name: values.get(name, value) for name, value in self.knobs.items()}
        return replace(self, **own, knobs=MappingProxyType(knobs))


def validate_limits(owner: str, low: Number | None, high: Number | None) -> None:
    """Refuse a clamp whose lower end is above its upper end; of schedules, at any count where one of them turns."""
    if low is None or high is None:
        return
    ends = [end for end in (low, high) if isinstance(end, Schedule)]
    if len({end.counter for end in ends}) > 1:
        return  # unknown which counts coincide
    for count in [at for end in ends for at in end.corners] or [0.0]:
        least, most = (end(count) if isinstance(end, Schedule) else end for end in (low, high))
        if least > most:
            when = f" at {ends[0].counter}={count:g}" if ends else ""
            raise DefinitionError(f"{owner}: low={least} is above high={most}{when}")


def share(term: Any, names: Iterable[str]) -> Any:
    """Return a term with those of `names` as shared parameters that it reads by position, or from a record."""
    if not isinstance(term, Term):
        return term  # which the reward refuses
    found = tuple(name for name in names if name in term.parts and name not in term.shared)
    reads = tuple(name for name in term.reads if name not in found)
    return replace(term, shared=term.shared + found, reads=reads) if found else term


def _to_array(value: tuple[Any, ...]) -> Any:
    import numpy as np

    return np.array(value)


@overload
def term(function: Callable[..., Any], /) -> Term: ...


@overload
def term(
    *,
    weight: Number = 1.0,
    low: Number | None = None,
    high: Number | None = None,
    terminal: bool = False,
    gated: bool = True,
    after_clamp: bool = False,
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
    weight: Number = 1.0,
    low: Number | None = None,
    high: Number | None = None,
    terminal: bool = False,
    gated: bool = True,
    after_clamp: bool = False,
    name: str | None = None,
    kind: Intent | None = None,
    allow: Mapping[str, str] | None = None,
    part: int | str | None = None,
    batched: bool = False,
) -> Term | Callable[[Callable[..., Any]], Term]:
    """Make a term from a plain function. Positional parameters are fields, keyword-only parameters are knobs.

    Args:
        function: The function, when used as a bare decorator: `@term`.
        weight: The factor of the score, a number or a schedule; a negative weight makes a penalty.
        low: Lower clamp of the score.
        high: Upper clamp of the score.
        terminal: Whether the term is scored only when the episode ends.
        gated: Whether the gate of the reward, if it has one, multiplies this term.
        after_clamp: Whether the term is added after the gate and the clamp of the total.
        name: The name of the term. If omitted, the name of the function.
        kind: The purpose of the term, for checks: "goal", "penalty", "bonus", "shaping", or "intrinsic" for a bonus
            that should fade.
        allow: Findings to accept: the code of each rule, with the reason.
        part: Which of several returned values is the score: 0 for `return reward, info`, or a key of a returned dict.
        batched: Whether the function was written for a batch, with the rows along the first axis of all its arguments.

    Returns:
        The term; or, with options, the decorator that makes it.

    Raises:
        ReadError: The function uses something outside the language.
        DefinitionError: A name or a number is not allowed.

    >>> @term(weight=-1.0, high=10.0)
    ... def effort(torque, *, scale=2.0):
    ...     return scale * abs(torque)
    >>> effort(3.0), effort.weight, dict(effort.knobs)
    (6.0, -1.0, {'scale': 2.0})
    """

    def decorate(plain: Callable[..., Any]) -> Term:
        source = read_source(plain)
        title = name or (part if isinstance(part, str) else source.name)
        parts = split_parameters(source, f"term {title!r}", title)
        for knob in {*parts.knobs, *parts.shared, *parts.constants} & {*PARAMETERS}:
            raise DefinitionError(f"term {title!r}: a knob cannot be called {knob!r}; that is the term's own parameter")
        scope = Scope(params={f"{title}.{knob}": value for knob, value in parts.knobs.items()})
        reading = read_term(source, title, parts.everything, Builder(), scope, part=part)
        return Term(
            title,
            weight=weight,
            low=low,
            high=high,
            terminal=terminal,
            kind=kind,
            doc=(plain.__doc__ or "").strip(),
            knobs=MappingProxyType(parts.knobs),
            shared=parts.shared,
            reads=reading.reads,
            source=source,
            constants=MappingProxyType(parts.constants),
            allow={} if allow is None else allow,
            gated=gated,
            after_clamp=after_clamp,
            part=part,
            batched=batched,
            parts=reading.parts,
        )

    return decorate if function is None else decorate(function)


class FunctionParameters(NamedTuple):
    """The keyword-only parameters of a plain function."""

    everything: dict[str, Any]
    """Each with its default, None where it has none, in order."""
    knobs: dict[str, Parameter]
    shared: tuple[str, ...]
    constants: dict[str, Any]


def split_parameters(source: Source, owner: str, title: str) -> FunctionParameters:
    """Return the keyword-only parameters of a function: knobs, what the reward supplies, and constants."""
    validate_signature(source)
    defaults = source.function.__kwdefaults__ or {}
    names = [argument.arg for argument in source.tree.args.kwonlyargs]
    for knob in names:
        if knob in defaults and defaults[knob] is None:
            raise DefinitionError(f"{owner}: the knob {knob!r} is None; give it a number, or no default")
    knobs = {
        knob: validate_vector_parameter(f"{title}.{knob}", defaults[knob])
        for knob in names
        if knob in defaults and _is_parameter(defaults[knob])
    }
    constants = {knob: value for knob, value in defaults.items() if knob not in knobs}
    shared = tuple(knob for knob in names if knob not in defaults)
    return FunctionParameters({knob: defaults.get(knob) for knob in names}, knobs, shared, constants)


def _is_parameter(value: Any) -> bool:
    return isinstance(value, Schedule) or to_number(value) is not None or is_array(value)
