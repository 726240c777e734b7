"""What stands between the values of the terms and the total: scale, gate, clamp, late terms and overrides.

`score → clamp → × weight × scale → sum of gated terms × gate, plus the others → total clamp → + late terms → override`

Whatever separates the sum of the values from the total is an adjustment: a row of its own beside the terms, whose value
is the amount that was given or taken, so that the values of all rows add up to the total.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, ClassVar

from plaudit.errors import DefinitionError, DuplicateName, UnknownParameter, did_you_mean
from plaudit.language import nodes as n
from plaudit.language.field import NAME, RESERVED
from plaudit.language.parameters import Number, Parameter, validate_schedulable
from plaudit.language.program import Builder, Guard
from plaudit.language.reading.context import Scope
from plaudit.language.reading.functions import Reading, read_condition, read_term
from plaudit.language.reading.owners import read_source
from plaudit.language.reading.source import ReadFunction, Source
from plaudit.language.schedule import Schedule
from plaudit.reward.function_parameters import FunctionParameters, find_optional, split_parameters
from plaudit.reward.schedules import LoweredNumbers
from plaudit.reward.term import Term

GATE, CLAMP, OVERRIDE = ROWS = ("gate", "clamp", "override")
"""Names that no term of a composed reward may have."""
SCALE = "total.scale"
"""The parameter that the scale of a reward is, where it is a number of its own."""


@dataclass(frozen=True)
class TotalFunction(ReadFunction):
    """A plain function that acts on the total: a gate, or the condition of an override."""

    name: str
    condition: bool = False
    """Whether it is true or false; a gate is a number, or a bool that counts 1 or 0."""
    doc: str = ""
    knobs: Mapping[str, Parameter] = field(default_factory=dict, hash=False)
    shared: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    source: Source | None = field(default=None, repr=False, compare=False)
    constants: Mapping[str, object] = field(default_factory=dict, repr=False, compare=False)
    claimed: frozenset[str] = field(default=frozenset(), repr=False, compare=False)
    """Parameters with a default that are fields, since the reward declares them."""

    terminal: ClassVar[bool] = False

    def __post_init__(self) -> None:
        taken = (*RESERVED, *ROWS)
        if not NAME.fullmatch(self.name) or (self.condition and self.name in taken):
            raise DefinitionError(
                f"override {self.name!r}: the name of the condition must be a plain identifier, and not one of "
                f"{', '.join(taken)}"
            )

    def __call__(self, *inputs: Any, **knobs: Any) -> Any:
        """Return what the plain function returns, unchecked."""
        if self.source is None:
            raise DefinitionError(f"{self.name!r} was loaded from a specification and has no function")
        changed = {name: value for name, value in self.knobs.items() if not isinstance(value, tuple | Schedule)}
        return self.source.called(*inputs, **{**changed, **knobs})

    @property
    def numbers(self) -> dict[str, Parameter]:
        """Its knobs by dotted name: `gate.reach`, `fell.height`."""
        return {f"{self.name}.{knob}": value for knob, value in self.knobs.items()}

    @property
    def arguments(self) -> dict[str, object]:
        """What it is read with that is not data."""
        return FunctionParameters(self.knobs, self.shared, self.constants).everything

    def claim(self, fields: Collection[str]) -> "TotalFunction":
        """Return this function as it is among the fields of these names."""
        claimed = find_optional(self.source) & {*fields}
        if self.source is None or claimed == self.claimed:
            return self
        made = _read_parts(self.source, self.name, self.condition, claimed)
        knobs = {knob: self.knobs.get(knob, value) for knob, value in made["knobs"].items()}
        return replace(self, **{**made, "knobs": MappingProxyType(knobs)})

    def with_values(self, values: Mapping[str, Parameter]) -> "TotalFunction":
        """Return this function with other knobs, by their plain names."""
        return replace(self, knobs=MappingProxyType({name: values.get(name, v) for name, v in self.knobs.items()}))


@dataclass(frozen=True)
class Override:
    """A condition and the total where it holds."""

    condition: TotalFunction
    value: Number

    @property
    def name(self) -> str:
        """That of the condition."""
        return self.condition.name

    @property
    def param(self) -> str:
        """The parameter that the value is: `override.fell`."""
        return f"{OVERRIDE}.{self.name}"


@dataclass(frozen=True)
class Composition:
    """How the values of terms become the total of one reward; by default they add up."""

    scale: Number | str | None = None
    """A factor of every value: a number, or the name of a shared parameter."""
    gate: TotalFunction | None = None
    override: tuple[Override, ...] = ()

    @property
    def functions(self) -> tuple[TotalFunction, ...]:
        """The gate and the conditions."""
        return (*((self.gate,) if self.gate is not None else ()), *(each.condition for each in self.override))

    @property
    def scale_param(self) -> str | None:
        """The parameter that the scale is."""
        return self.scale if isinstance(self.scale, str) else None if self.scale is None else SCALE

    @property
    def numbers(self) -> dict[str, Parameter]:
        """Every parameter by dotted name, vectors and schedules whole."""
        own = {name: value for each in self.functions for name, value in each.numbers.items()}
        own |= {each.param: each.value for each in self.override}
        return own if self.scale is None or isinstance(self.scale, str) else {**own, SCALE: self.scale}

    def with_values(self, changed: Mapping[str, Parameter]) -> "Composition":
        """Return this composition with other numbers, by dotted name."""

        def change(function: TotalFunction) -> TotalFunction:
            own = {name.partition(".")[2]: v for name, v in changed.items() if name in function.numbers}
            return function.with_values(own) if own else function

        values = [changed.get(each.param, each.value) for each in self.override]
        return Composition(
            self.scale if isinstance(self.scale, str | None) else changed.get(SCALE, self.scale),  # type: ignore[arg-type]  # it was fitted
            None if self.gate is None else change(self.gate),
            tuple(Override(change(each.condition), value) for each, value in zip(self.override, values, strict=True)),  # type: ignore[arg-type]  # likewise
        )

    def claim(self, fields: Collection[str]) -> "Composition":
        """Return this composition as it is among the fields of these names."""
        overrides = tuple(Override(each.condition.claim(fields), each.value) for each in self.override)
        return Composition(self.scale, None if self.gate is None else self.gate.claim(fields), overrides)

    def changes_total(self, terms: Iterable[Term], low: Number | None, high: Number | None) -> bool:
        """Return whether a total is anything but the sum of the terms, held within limits that are numbers."""
        if self.scale is not None or self.functions or isinstance(low, Schedule) or isinstance(high, Schedule):
            return True
        return (low is not None or high is not None) and any(term.after_clamp for term in terms)


def read_composition(reward: str, scale: object, gate: object, override: object) -> Composition:
    """Return how a reward composes its total, from what its author wrote; DefinitionError where it cannot work."""
    if isinstance(scale, bool) or not isinstance(scale, str | int | float | Schedule | None):
        scale = validate_schedulable(SCALE, scale)
    factor = scale if isinstance(scale, str | None) else validate_schedulable(SCALE, scale)
    found = None if gate is None else _read_function(reward, "gate", gate, GATE)
    if isinstance(override, Mapping | str) or not isinstance(override, Iterable):
        raise DefinitionError(f"reward {reward!r}: override= must be a list of pairs: [(fell, -1.0)]")
    return Composition(factor, found, tuple(_read_override(reward, each) for each in override))


def _read_override(reward: str, pair: Any) -> Override:
    if isinstance(pair, Override):
        return pair
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise DefinitionError(
            f"reward {reward!r}: override= must be a list of pairs, each a condition and the total when it holds: "
            f"[(fell, -1.0)]; this is {pair!r:.60}"
        )
    condition = _read_function(reward, "the condition of an override", pair[0], None)
    return Override(condition, validate_schedulable(f"{OVERRIDE}.{condition.name}", pair[1]))


def _read_function(reward: str, what: str, function: Any, name: str | None) -> TotalFunction:
    if isinstance(function, TotalFunction) and function.condition == (name is None):
        return function  # another reward has it
    if isinstance(function, ReadFunction) or not callable(function):
        made = "; drop the @term above it" if isinstance(function, Term) else ""
        raise DefinitionError(f"reward {reward!r}: {what} must be a plain function, not {function!r:.60}{made}")
    source = read_source(function)
    title = name or source.name
    try:
        parts = _read_parts(source, title, name is None, frozenset())
    except DefinitionError as error:
        raise type(error)(f"reward {reward!r}, {error}") from None
    return TotalFunction(title, condition=name is None, doc=(function.__doc__ or "").strip(), source=source, **parts)


def _read_parts(source: Source, title: str, condition: bool, claimed: frozenset[str]) -> dict[str, Any]:
    """Return the parts of a gate or a condition that follow from its function."""
    parts = split_parameters(source, repr(title), title, claimed=claimed)
    scope = Scope(params={f"{title}.{knob}": value for knob, value in parts.knobs.items()})
    reading = _read_into(Builder(), source, title, condition, parts.everything, scope)
    return {
        "knobs": parts.knobs,
        "shared": parts.shared,
        "constants": parts.constants,
        "reads": reading.reads,
        "claimed": claimed,
    }


def _read_into(
    builder: Builder, source: Source, title: str, condition: bool, knobs: Mapping[str, object], scope: Scope
) -> Reading:
    if condition:
        return read_condition(source, title, knobs, builder, scope)
    return read_term(source, title, knobs, builder, scope, what="the function")


def read_total_function(builder: Builder, function: TotalFunction, scope: Scope) -> Reading:
    """Return what came of reading a gate or a condition into `builder`."""
    if function.source is None:
        raise DefinitionError(f"{function.name!r} was loaded from a specification and works only in its own reward")
    return _read_into(builder, function.source, function.name, function.condition, function.arguments, scope)


def validate_composition(
    reward: str, composition: Composition, terms: Collection[str], shared: Mapping[str, Parameter]
) -> None:
    """Reject duplicate names, and a scale that is not a number."""
    for name in ROWS:
        if name in terms:
            raise DuplicateName(
                f"reward {reward!r}: a term is called {name!r}, which is reserved in a reward "
                "with a scale, a gate, late terms or overrides; give it another name with @term(name=...)"
            )
    names = [each.name for each in composition.override]
    for name in names:
        if names.count(name) > 1:
            raise DuplicateName(f"reward {reward!r} has two overrides whose condition is called {name!r}")
        if name in terms or name in shared:
            what = "term" if name in terms else "shared parameter"
            raise DuplicateName(f"reward {reward!r}: {name!r} is both a {what} and the condition of an override")
    scale = composition.scale
    if isinstance(scale, str):
        if scale not in shared:
            near = did_you_mean(scale, shared)
            raise UnknownParameter(
                f"reward {reward!r}: scale={scale!r} is not a shared parameter.{near} Give it with "
                f"shared={{{scale!r}: ...}}, or write the number itself."
            )
        if isinstance(shared[scale], bool | tuple):
            raise DefinitionError(f"reward {reward!r}: scale={scale!r} must be a number, and {shared[scale]!r} is not")


@dataclass(slots=True)
class Total:
    """The total of a composed reward as it is built: its outputs, its rows, and the guards that they need."""

    builder: Builder
    outputs: dict[str, int] = field(default_factory=dict)
    rows: tuple[str, ...] = ()
    guards: list[Guard] = field(default_factory=list)

    def add_row(self, name: str, score: int, amount: int) -> None:
        """Add a row: what it looked at, and the amount that it gave or took."""
        self.rows += (name,)
        self.outputs |= {f"{name}.score": score, f"{name}.clamped": amount, f"{name}.value": amount}

    def require(self, at: int, where: str = "total", why: str = "adds up to a number that is not finite") -> None:
        """Add the guard that a number is finite."""
        self.guards.append(Guard(self.builder.add(n.IsFinite(at)), where, why))

    def sum(self, values: Iterable[int], start: int | None = None) -> int | None:
        """Return the sum, left to right; None of nothing."""
        for value in values:
            start = value if start is None else self.builder.add(n.Add(start, value))
        return start


def build_total(
    composition: Composition,
    terms: Sequence[Term],
    values: Mapping[str, int],
    scores: Mapping[str, int],
    numbers: LoweredNumbers,
    params: Mapping[str, Any],
) -> Total:
    """Return the total of values that are scaled already: gate, clamp, late terms and overrides, in that order."""
    builder = numbers.builder
    total = Total(builder)
    early = [term for term in terms if not term.after_clamp]
    if composition.gate is None:
        at = total.sum(values[term.name] for term in early)
    else:
        factor = scores[GATE]
        total.require(factor, GATE, "is not finite")
        gated = total.sum(values[term.name] for term in early if term.gated)
        at = None if gated is None else builder.add(n.Mul(gated, factor))
        taken = builder.const(0.0) if gated is None or at is None else builder.add(n.Sub(at, gated))
        total.add_row(GATE, factor, taken)
        at = total.sum((values[term.name] for term in early if not term.gated), at)
    before = builder.const(0.0) if at is None else at
    total.require(before)
    at = numbers.clamp(before, "total", params)
    if at != before:
        total.add_row(CLAMP, before, builder.add(n.Sub(at, before)))
    late = total.sum((values[term.name] for term in terms if term.after_clamp), at)
    if late is not None and late != at:
        at = late
        total.require(at)
    total.outputs["total"] = _add_overrides(total, composition.override, at, scores, numbers)
    return total


def _add_overrides(
    total: Total, overrides: Sequence[Override], at: int, scores: Mapping[str, int], numbers: LoweredNumbers
) -> int:
    """Return the total, with the value of the first override whose condition holds in its place."""
    builder = total.builder
    held: int | None = None
    for each in overrides:
        flag = scores[each.name]
        wins = flag if held is None else builder.add(n.And(builder.add(n.Not(held)), flag))
        given = builder.add(n.Sub(numbers.find(each.param), at))
        amount = builder.add(n.Select(wins, given, builder.const(0.0)))
        total.add_row(each.name, builder.add(n.Number(flag)), amount)
        held = flag if held is None else builder.add(n.Or(held, flag))
    for each in reversed(overrides):
        at = builder.add(n.Select(scores[each.name], numbers.find(each.param), at))
    return at
