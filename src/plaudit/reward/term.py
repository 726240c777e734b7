"""A term: a plain Python function with a weight and clamps."""

import re
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any, Literal, NoReturn, get_args, overload

from plaudit.errors import DefinitionError, PlauditError, ReadError, did_you_mean, shorten
from plaudit.language.field import NAME, to_number
from plaudit.language.parameters import (
    TERM_NUMBERS,
    Fixed,
    Number,
    Parameter,
    expand_parameters,
    name_knob,
    validate_schedulable,
    validate_vector_parameter,
)
from plaudit.language.program import Builder
from plaudit.language.reading.context import Scope, Undecided
from plaudit.language.reading.functions import read_term
from plaudit.language.reading.owners import mentions, read_source, unbind
from plaudit.language.reading.paths import mentions_part
from plaudit.language.reading.source import Owner, ReadFunction, Source
from plaudit.language.schedule import Schedule
from plaudit.reward.declared import validate_allow, validate_name
from plaudit.reward.function_parameters import (
    NOTHING,
    FunctionParameters,
    find_fixable,
    find_optional,
    fix_needed,
    list_defaults,
    list_names,
    split_parameters,
    split_shared,
)

Intent = Literal["goal", "penalty", "shaping", "bonus", "intrinsic"]


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
    """Parameters of the function that are numbers, bools, or arrays as tuples, other than data."""
    shared: tuple[str, ...] = ()
    """What the reward supplies: keyword-only parameters without a default, and parts of records."""
    reads: tuple[str, ...] = ()
    """What it reads: `distance`, `prev.tokens_used`."""
    source: Source | None = field(default=None, repr=False, compare=False)
    constants: Mapping[str, object] = field(default_factory=dict, repr=False, compare=False)
    """Parameters whose value is a table, a string, an object or None."""
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
    mentioned: frozenset[str] = field(default=frozenset(), repr=False, compare=False)
    """The same for those that only statements mention that make no difference, such as `print(self.speed)`."""
    given: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """Values of parameters of the function that it was given in place of their defaults."""
    claimed: frozenset[str] = field(default=frozenset(), repr=False, compare=False)
    """Parameters with a default that are fields, since the reward declares them."""
    fixed: frozenset[str] = field(default=frozenset(), repr=False, compare=False)
    """Integers and bools that are constants, since they must be known while the function is read: an axis, a count."""
    undecided: bool = field(default=False, repr=False, compare=False)
    """Whether it is only read once it is known what the reward shares: a branch of it is outside the language."""

    def __post_init__(self) -> None:
        validate_name("term", self.name)
        for knob in (*self.knobs, *self.shared):
            if not NAME.fullmatch(knob) or (knob in TERM_NUMBERS and knob in self.knobs):
                raise DefinitionError(f"term {self.name!r}: a knob cannot be called {knob!r}")
        for name in TERM_NUMBERS:
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

    def __set_name__(self, owner: type, name: str) -> None:
        """Read it again as a method of the class in whose body it is defined: what else the class has is known now."""
        source = self.source
        if source is None or source.function.__qualname__ != f"{owner.__qualname__}.{source.function.__name__}":
            return  # a term that has another name in some class
        source = replace(source, owner=Owner(owner, name))
        object.__setattr__(self, "source", source)
        scope = Scope(params={f"{self.name}.{knob}": value for knob, value in self.knobs.items()})
        knobs = {**dict.fromkeys(self.shared), **self.knobs, **self.constants}
        with suppress(PlauditError):  # the reward says what is wrong, with its fields
            reading = read_term(source, self.name, knobs, Builder(), scope, part=self.part)
            object.__setattr__(self, "reads", reading.reads)
            object.__setattr__(self, "parts", reading.parts)
            object.__setattr__(self, "mentioned", reading.mentioned)

    def __call__(self, *inputs: Any, **knobs: Any) -> Any:
        """Return what the plain function returns, unchecked."""
        if self.source is None:
            raise DefinitionError(
                f"term {self.name!r} was loaded from a specification and has no function; score it through its reward"
            )
        names, defaults = list_names(self.source), list_defaults(self.source)
        passed = {*names[: len(inputs)], *knobs}
        changed = {name: value for name, value in self.given.items() if name not in passed}
        for knob, value in self.knobs.items():
            name = self._find_parameter(knob)
            if name in passed:
                continue
            if isinstance(value, Schedule):
                raise DefinitionError(
                    f"term {self.name!r}: the knob {name!r} follows {value}; pass a value when you call the "
                    f"plain function, {name}=..., or score through the reward"
                )
            default = changed.get(name, defaults.get(name))
            if not isinstance(value, tuple):
                changed |= {name: value} if default != value else {}
            elif validate_vector_parameter(name, default) != value:
                changed[name] = _to_array(value)
        return self.source.called(*inputs, **{**changed, **knobs})

    def _find_parameter(self, knob: str) -> str:
        """Return the parameter of the function that a knob is: `weight` of `weight_`."""
        names = () if self.source is None else list_names(self.source)
        return next((name for name in names if knob not in names and name_knob(name) == knob), knob)

    @property
    def params(self) -> dict[str, float | bool]:
        """The term's own parameters by dotted name: its knobs, entry by entry, its weight and clamps."""
        return expand_parameters(self.numbers)

    @property
    def numbers(self) -> dict[str, Parameter]:
        """The same with vectors and schedules whole."""
        own = {f"{self.name}.{knob}": value for knob, value in self.knobs.items()}
        return own | {
            f"{self.name}.{name}": value for name in TERM_NUMBERS if (value := getattr(self, name)) is not None
        }

    @property
    def arguments(self) -> dict[str, object]:
        """What its function is read with that is not data."""
        return FunctionParameters(self.knobs, self.shared, self.constants).everything

    def with_values(self, values: Mapping[str, Parameter]) -> "Term":
        """Return this term with other numbers.

        Args:
            values: Knobs by their plain names, and `weight`, `low` or `high`.

        Returns:
            The changed term.
        """
        own: dict[str, Any] = {name: value for name, value in values.items() if name in TERM_NUMBERS}
        knobs = {name: values.get(name, value) for name, value in self.knobs.items()}
        return replace(self, **own, knobs=MappingProxyType(knobs))

    def with_(self, *, name: str | None = None, **values: Any) -> "Term":
        """Return this term with another name or other values, to use a function more than once.

        Args:
            name: The name of the new term. If omitted, it keeps its name.
            values: Values of parameters of the function by name, as in `params` of `@term`; and `weight`, `low` or
                `high` of the term. A knob that is called like one of these has an underscore: `weight_`.

        Returns:
            The other term.

        Raises:
            UnknownParameter: The function has no such parameter; the message suggests one.
            DefinitionError: A value is not allowed, or the term was loaded from a specification.

        >>> @term
        ... def contacts(force, *, threshold=1.0):
        ...     return 1 if force > threshold else 0
        >>> hard = contacts.with_(threshold=50.0, name="hard_contacts")
        >>> hard.params["hard_contacts.threshold"], hard(20.0), contacts(20.0)
        (50.0, 0, 1)
        """
        if self.source is None:
            raise DefinitionError(
                f"term {self.name!r} was loaded from a specification and has no function to read again; "
                "change its numbers with reward.with_params(...)"
            )
        own = {each: values.pop(each) for each in TERM_NUMBERS if each in values}
        given = {self._find_parameter(each): value for each, value in values.items()}
        return self._read_again(name or self.name, {**self.given, **given}, self.claimed - given.keys(), own, given)

    def claim(self, fields: Collection[str]) -> "Term":
        """Return this term as it is among some declared fields.

        Args:
            fields: The names of the fields. A positional parameter with a default that has one of these names is data.

        Returns:
            The term; itself if nothing changes.
        """
        claimed = find_optional(self.source, self.given) & {*fields}
        return self if claimed == self.claimed else self._read_again(self.name, self.given, claimed)

    def _decide(self, shared: Mapping[str, Any]) -> "Term":
        """Return an undecided term as it is with the constants that a reward shares, and as few switches as it needs.

        It stays undecided: another reward may share other constants.
        """
        constants = split_shared(shared)[1]
        switches = {name: number for name, v in shared.items() if isinstance(number := to_number(v), int)}

        def read(fixed: frozenset[str]) -> Term:
            known = {**constants, **{name: switches[name] for name in fixed}}
            made = self._read_again(self.name, self.given, self.claimed, shared=known)
            if made.undecided:
                raise ReadError(made.name)
            return replace(made, undecided=True)

        try:
            return fix_needed(read, switches)
        except ReadError:  # the reward says what is wrong, with its fields
            return self._read_again(self.name, self.given, self.claimed)

    def _read_again(
        self,
        name: str,
        given: Mapping[str, Any],
        claimed: frozenset[str],
        own: Mapping[str, Any] = NOTHING,
        changed: Collection[str] = (),
        shared: Mapping[str, object] = NOTHING,
    ) -> "Term":
        assert self.source is not None
        parts = _read_parts(self.source, name, self.part, given, claimed, self.fixed, shared)
        kept = {knob: v for knob, v in self.knobs.items() if self._find_parameter(knob) not in changed}
        knobs = {knob: kept.get(knob, value) for knob, value in parts["knobs"].items()}
        return replace(self, name=name, **own, **{**parts, "knobs": MappingProxyType(knobs)})


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


def settle(term: Any, fields: Collection[str], shared: Mapping[str, Any]) -> Any:
    """Return a term as it is among the fields of a reward, and with what it reads of those that are `shared`."""
    if not isinstance(term, Term):
        return term  # which the reward refuses
    term = term.claim(fields)
    if term.undecided:
        term = term._decide(shared)
    owner = None if term.source is None else term.source.owner
    known = {*term.parts, *term.mentioned}
    parts = {
        name for name in shared if mentions_part(known, name) or (owner is not None and mentions(owner.kind, name))
    }
    found = tuple(name for name in shared if name in parts and name not in term.shared)
    reads = tuple(name for name in term.reads if name not in found)
    return replace(term, shared=term.shared + found, reads=reads) if found else term


def fix_numbers(term: Term, read: Callable[[Term], object], settle: Callable[[Term], Term]) -> Term:
    """Return a term with those integers and bools as constants without which it cannot be read among its fields.

    ReadError where that does not help. `read` reads a term among its fields, `settle` gives it what it shares.
    """

    def fix(fixed: frozenset[str]) -> Term:
        source = term.source
        assert source is not None
        other = (
            term
            if not fixed
            else settle(replace(term, fixed=term.fixed | fixed)._read_again(term.name, term.given, term.claimed))
        )
        read(other)
        return other

    return fix_needed(fix, () if term.source is None else find_fixable(term.source, term.given, term.claimed))


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
    params: Mapping[str, Any] | None = None,
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
    params: Mapping[str, Any] | None = None,
    **unknown: NoReturn,
) -> Term | Callable[[Callable[..., Any]], Term]:
    """Make a term from a plain function.

    Positional parameters are fields, keyword-only parameters are knobs. A positional parameter with a default is a
    field if the reward declares one of its name; otherwise a number is a knob, and anything else is a constant.

    Args:
        function: The function, when used as a bare decorator: `@term`. A `functools.partial` with values by name, and
            an object that can be called, are read as what they call.
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
        params: Values of parameters of the function by name, in place of their defaults: a number is a knob, and
            anything else a constant.
        unknown: Not used; any other argument is a TypeError that says what to write.

    Returns:
        The term; or, with options, the decorator that makes it.

    Raises:
        ReadError: The function uses something outside the language.
        DefinitionError: A name or a number is not allowed.
        UnknownParameter: The function has no parameter of a name in `params`.

    >>> @term(weight=-1.0, high=10.0)
    ... def effort(torque, *, scale=2.0):
    ...     return scale * abs(torque)
    >>> effort(3.0), effort.weight, dict(effort.knobs)
    (6.0, -1.0, {'scale': 2.0})
    """
    for keyword in unknown:
        raise TypeError(_describe_unknown(keyword, unknown[keyword]))

    options: dict[str, Any] = {"weight": weight, "low": low, "high": high, "terminal": terminal, "gated": gated}
    options |= {"after_clamp": after_clamp, "kind": kind, "batched": batched, "allow": {} if allow is None else allow}
    decorate: Callable[[Callable[..., Any]], Term] = partial(make_term, name=name, part=part, params=params, **options)
    return decorate if function is None else decorate(function)


def make_term(
    plain: Callable[..., Any],
    *,
    fields: Collection[str] = (),
    name: str | None = None,
    part: int | str | None = None,
    params: object = None,
    **options: Any,
) -> Term:
    """Return the term of a plain function, as it is read first among some `fields`; `term` explains the rest."""
    if isinstance(plain, str | int | float | Schedule):
        option = f"name={plain!r}" if isinstance(plain, str) else f"weight={plain!r}"
        raise ReadError(f"{plain!r} cannot be read: a term is a plain Python function; write term({option})(near)")
    inner, bound = unbind(plain)
    source = read_source(inner)
    own = source.name if source.name != "__call__" else _write_small(type(plain).__name__)
    title = name or (part if isinstance(part, str) else own)
    given = _join_given(title, bound, params)
    claimed = find_optional(source, bound) & {*fields}
    doc = (source.function.__doc__ or "").strip()
    return Term(title, doc=doc, source=source, part=part, **options, **_read_parts(source, title, part, given, claimed))


_CLAMP, _WEIGHT, _PARAMS = "low=0.0, high=1.0", "weight=0.5", "params={'reach': 2.0}"
_INSTEAD = {
    **dict.fromkeys(("clip", "clamp", "bounds", "range"), _CLAMP),
    **dict.fromkeys(("scale", "coef", "coefficient", "factor", "gain"), _WEIGHT),
    **dict.fromkeys(("knobs", "kwargs", "constants"), _PARAMS),
    **{part: f"Reward({part}=...)" for part in ("fields", "shared", "gate", "override", "action", "version")},
}
"""What to write for options that a term does not have."""


def _describe_unknown(keyword: str, value: object) -> str:
    """Return what to write for an option that a term does not take, perhaps a parameter of its function."""
    if keyword in _INSTEAD:
        return f"term() has no argument {keyword!r}; write {_INSTEAD[keyword]}"
    near = did_you_mean(keyword, term.__kwdefaults__ or {})
    params = f" A value of a parameter of the function is given in params={{{keyword!r}: {shorten(value, 40)}}}."
    return f"term() got an unexpected keyword argument {keyword!r}.{near or params}"


def _write_small(name: str) -> str:
    """Return the name of a class as functions are named: `SmoothReward` is `smooth_reward`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _join_given(name: str, bound: Mapping[str, Any], given: object) -> object:
    """Return the values that a term is given: those that a partial function binds, and `params`."""
    if given is None or not bound:
        return bound if given is None else given
    if not isinstance(given, Mapping):
        raise DefinitionError(f"term {name!r}: params={given!r:.60} must map names of parameters to values")
    return {**bound, **given}


def _read_parts(
    source: Source,
    name: str,
    part: int | str | None,
    given: object,
    claimed: frozenset[str] = frozenset(),
    always: frozenset[str] = frozenset(),
    shared: Mapping[str, object] = NOTHING,
) -> dict[str, Any]:
    """Return the parts of a term that follow from its function, the values it is given, and constants it shares."""
    owner = f"term {name!r}"
    if not isinstance(given, Mapping):
        raise DefinitionError(f"{owner}: params={given!r:.60} must map names of parameters to values")

    params = {each: Fixed(value) for each, value in shared.items()}

    def read(fixed: frozenset[str], *, undecided: bool = False) -> dict[str, Any]:
        fixed |= always
        parts = split_parameters(source, owner, name, given=given, claimed=claimed, fixed=fixed, own=True)
        scope = Scope(params={**params, **{f"{name}.{knob}": value for knob, value in parts.knobs.items()}})
        reading = None if undecided else read_term(source, name, parts.everything, Builder(), scope, part=part)
        return {
            "knobs": parts.knobs,
            "shared": parts.shared,
            "constants": parts.constants,
            "reads": () if reading is None else reading.reads,
            "parts": frozenset() if reading is None else reading.parts,
            "mentioned": frozenset() if reading is None else reading.mentioned,
            "given": MappingProxyType(dict(given)),
            "claimed": claimed,
            "fixed": fixed,
            "undecided": undecided,
        }

    try:
        return fix_needed(read, find_fixable(source, given, claimed))
    except Undecided:
        return read(frozenset(), undecided=True)
