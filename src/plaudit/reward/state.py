"""A state: what a reward carries from step to step, and the plain function that says how."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from dataclasses import field as part
from types import MappingProxyType
from typing import Any

from plaudit.errors import DefinitionError, DuplicateName, ShapeMismatch, UnusedField
from plaudit.language.field import NAME, Field, to_number
from plaudit.language.parameters import Fixed, Parameter, is_array
from plaudit.language.program import Builder, Carried, Guard
from plaudit.language.reading.context import Computed, Scope
from plaudit.language.reading.functions import read_update
from plaudit.language.reading.owners import read_source
from plaudit.language.reading.paths import Claim, claim_parts
from plaudit.language.reading.source import ReadFunction, Source
from plaudit.language.reading.values import Ref, Value, build_vector
from plaudit.language.schedule import Schedule
from plaudit.language.shapes import Shape, flatten_entries
from plaudit.reward.function_parameters import NOTHING, FunctionParameters, find_optional, split_parameters
from plaudit.reward.term import Term


@dataclass(frozen=True, init=False)
class State(ReadFunction):
    """A value, or an array of values, that a reward carries from step to step.

    Declare it among the fields of a reward. In a step, `prev.<name>` is its value before the step. `curr.<name>`, or
    just the name, is its value after the step, which `update` computes. Every episode begins with `reset`. Calling a
    state calls its plain function.

    >>> def fade(prev, speed, *, keep=0.9):
    ...     return keep * prev.average + (1 - keep) * speed
    >>> average = State("average", reset=0.0, low=0, high=30, update=fade)
    >>> average.reads, dict(average.knobs)
    (('speed', 'prev.average'), {'keep': 0.9})
    """

    name: str
    field: Field
    """What it is as a field: its kind, shape and range."""
    reset: tuple[float | bool, ...]
    """What it is before the first step of an episode, entry by entry."""
    knobs: Mapping[str, Parameter] = part(hash=False)
    """Keyword-only parameters of the update with a default: `air_time.dt`."""
    shared: tuple[str, ...]
    """Keyword-only parameters without one: the reward supplies them."""
    reads: tuple[str, ...]
    """What the update reads: `contact`, `prev.air_time`."""
    source: Source | None = part(repr=False, compare=False)
    constants: Mapping[str, object] = part(repr=False, compare=False)
    claimed: frozenset[str] = part(repr=False, compare=False)
    """Parameters with a default that are fields, since the reward declares them."""

    def __init__(
        self,
        name: str,
        *,
        update: Callable[..., Any],
        reset: Any,
        shape: Shape | int = (),
        low: float | None = None,
        high: float | None = None,
        flag: bool = False,
        unit: str = "",
        doc: str = "",
    ) -> None:
        """Declare a state.

        Args:
            name: The name that terms use.
            update: A plain function in the language of terms that returns the state after a step. Its positional
                parameters are fields of the step, and `prev` and `curr`; it reads states only as `prev.<state>`. Its
                keyword-only parameters are knobs.
            reset: The value before the first step of an episode: one value, or an array of the state's shape.
            shape: The shape of a vector, a matrix or a stack of matrices: one to three axes.
            low: The smallest allowed number. A step that would make it smaller cannot be scored.
            high: The largest allowed number.
            flag: Whether it is a bool.
            unit: The unit of a number, such as `"s"`.
            doc: A sentence that describes it. If omitted, the docstring of `update`.

        Raises:
            ReadError: The update uses something outside the language.
            DefinitionError: The declaration contradicts itself, or does not allow `reset`.
        """
        source = read_source(update)
        text = doc or (update.__doc__ or "").strip()
        declared = _declare(name, low=low, high=high, flag=flag, shape=shape, unit=unit, doc=text)
        parts = _read_parts(source, declared, frozenset())
        self._fill(declared, _fit_reset(declared, reset), source=source, **parts)

    @classmethod
    def load(
        cls,
        field: Field,
        reset: Any,
        knobs: Mapping[str, Parameter],
        shared: tuple[str, ...],
        reads: tuple[str, ...],
    ) -> "State":
        """Rebuild a state from a specification, without its function.

        Args:
            field: The name, kind, shape and range.
            reset: The value before the first step of an episode.
            knobs: The knobs by name.
            shared: The names of the shared parameters.
            reads: The inputs that the update reads.

        Returns:
            The state.

        Raises:
            DefinitionError: The field has a setting that states do not have, or does not allow `reset`.
        """
        parts = {part: getattr(field, part) for part in ("low", "high", "flag", "shape", "unit", "doc")}
        if field != _declare(field.name, **parts):
            raise DefinitionError(
                f"state {field.name!r} has a setting that states do not have: a state is a finite number or a bool"
            )
        loaded = cls.__new__(cls)
        loaded._fill(field, _fit_reset(field, reset), knobs, shared, reads)
        return loaded

    def _fill(
        self,
        field: Field,
        reset: tuple[float | bool, ...],
        knobs: Mapping[str, Parameter],
        shared: tuple[str, ...],
        reads: tuple[str, ...],
        source: Source | None = None,
        constants: Mapping[str, object] = NOTHING,
        claimed: frozenset[str] = frozenset(),
    ) -> None:
        for knob in (*knobs, *shared):
            if not NAME.fullmatch(knob):
                raise DefinitionError(f"state {field.name!r}: a knob cannot be called {knob!r}")
        vars(self).update(
            name=field.name,
            field=field,
            reset=reset,
            knobs=MappingProxyType(dict(knobs)),
            shared=shared,
            reads=reads,
            source=source,
            constants=MappingProxyType(dict(constants)),
            claimed=claimed,
        )

    def __call__(self, *inputs: Any, **knobs: Any) -> Any:
        """Return what the plain function returns, unchecked."""
        if self.source is None:
            raise DefinitionError(f"state {self.name!r} was loaded from a specification and has no function")
        changed = {name: value for name, value in self.knobs.items() if not isinstance(value, Schedule)}
        return self.source.called(*inputs, **{**changed, **knobs})

    @property
    def numbers(self) -> dict[str, Parameter]:
        """Its knobs by dotted name, vectors and schedules whole: `air_time.dt`."""
        return {f"{self.name}.{knob}": value for knob, value in self.knobs.items()}

    @property
    def carried(self) -> Carried:
        """What a Program knows of it."""
        return Carried(self.field, self.reset)

    def with_values(self, values: Mapping[str, Parameter]) -> "State":
        """Return this state with other knobs.

        Args:
            values: Knobs by their plain names.

        Returns:
            The changed state.
        """
        own = {name: value for name, value in vars(self).items() if name != "name"}
        other = State.__new__(State)
        other._fill(**{**own, "knobs": {name: values.get(name, value) for name, value in self.knobs.items()}})
        return other

    @property
    def arguments(self) -> dict[str, object]:
        """What its update is read with that is not data."""
        return FunctionParameters(self.knobs, self.shared, self.constants).everything

    def claim(self, fields: Collection[str]) -> "State":
        """Return this state as it is among some declared fields.

        Args:
            fields: The names of the fields. A positional parameter with a default that has one of these names is data.

        Returns:
            The state; itself if nothing changes.
        """
        claimed = find_optional(self.source) & {*fields}
        if self.source is None or claimed == self.claimed:
            return self
        parts = _read_parts(self.source, self.field, claimed)
        parts["knobs"] = {knob: self.knobs.get(knob, value) for knob, value in parts["knobs"].items()}
        other = State.__new__(State)
        other._fill(self.field, self.reset, source=self.source, **parts)
        return other


def _read_parts(source: Source, declared: Field, claimed: frozenset[str]) -> dict[str, Any]:
    """Return the parts of a state that follow from its update."""
    name = declared.name
    parts = split_parameters(source, f"state {name!r}", name, claimed=claimed)
    scope = Scope(params={f"{name}.{knob}": value for knob, value in parts.knobs.items()})
    _, reading = read_update(source, declared, parts.everything, Builder(), scope)
    return {
        "knobs": parts.knobs,
        "shared": parts.shared,
        "reads": reading.reads,
        "constants": parts.constants,
        "claimed": claimed,
    }


def _declare(name: str, **parts: Any) -> Field:
    """Return the field that a state is; errors say that it is one."""
    try:
        return Field(name, **parts)
    except DefinitionError as error:
        raise DefinitionError(str(error).replace("field", "state", 1)) from None


def _fit_reset(declared: Field, reset: Any) -> tuple[float | bool, ...]:
    """Return the entries of a state at the start of an episode; DefinitionError unless it can be that."""
    size = len(declared.entries) or 1
    if is_array(reset):
        reset = reset.tolist()
    try:
        given = flatten_entries(reset, declared.shape) if isinstance(reset, list | tuple) else [reset] * size
    except ShapeMismatch as error:
        raise DefinitionError(f"state {declared.name!r}: reset={reset!r:.60}: {error}") from None
    numbers = [to_number(value) for value in given]
    for value, number in zip(given, numbers, strict=True):
        if number is None or isinstance(number, bool) != declared.flag or not declared.holds(number):
            wanted = "True or False" if declared.flag else "a number within low and high"
            raise DefinitionError(f"state {declared.name!r}: reset={value!r:.60} is not allowed; it must be {wanted}")
    return tuple(number if isinstance(number, bool) else float(number) for number in numbers if number is not None)


@dataclass(frozen=True, slots=True)
class ReadStates:
    """What came of reading the updates of a reward: what its states are after a step, and the guards they need."""

    computed: Mapping[str, Computed]
    entries: Mapping[str, tuple[int, ...]]
    guards: tuple[Guard, ...]
    inputs: Mapping[str, Field]
    claimed: Mapping[str, Claim]


def read_states(
    builder: Builder,
    states: Mapping[str, State],
    fields: Mapping[str, Field],
    transition: frozenset[str],
    shared: Mapping[str, Parameter | Fixed],
) -> ReadStates:
    """Return what the updates of `states` compute, read into `builder`."""
    computed: dict[str, Computed] = {}
    entries: dict[str, tuple[int, ...]] = {}
    guards: list[Guard] = []
    inputs: dict[str, Field] = {}
    claimed: dict[str, Claim] = {}
    for name, state in states.items():
        if state.source is None:
            raise DefinitionError(f"state {name!r} was loaded from a specification and works only in its own reward")
        params = {**shared, **{f"{name}.{knob}": value for knob, value in state.knobs.items()}}
        scope = Scope(fields, transition, params, dict.fromkeys(states))
        values, reading = read_update(state.source, state.field, state.arguments, builder, scope)
        whole: Value = build_vector(values, state.field.shape) if state.field.shape else values[0]
        computed[name] = Computed(whole, reading.inputs)
        entries[name] = tuple(value.at for value in values if isinstance(value, Ref))
        guards += reading.guards
        inputs |= reading.inputs
        claim_parts(name, reading.claimed, claimed, fields)
    return ReadStates(computed, entries, tuple(guards), inputs, claimed)


def validate_states(reward: str, states: Mapping[str, State], terms: Iterable[Term], shared: Iterable[str]) -> None:
    """Refuse states that have the name of a term or of a shared parameter: their knobs would share it too."""
    names = {term.name for term in terms}
    for name in states:
        if name in names:
            raise DuplicateName(
                f"reward {reward!r}: {name!r} is both a term and a state; give the term another name with "
                "@term(name=...)"
            )
        if name in shared:
            raise DuplicateName(f"reward {reward!r}: {name!r} is both a state and a shared parameter")


def refuse_unread(reward: str, states: Iterable[str], inputs: Mapping[str, Field]) -> None:
    """Reject a state that is computed but whose value before the step is never read."""
    read = {field.name for name, field in inputs.items() if name.startswith("prev.")}
    for name in states:
        if name not in read:
            raise UnusedField(
                f"reward {reward!r}: nothing that is scored reads 'prev.{name}', so the state {name!r} has no effect. "
                "Read it in a term, or in the update of a state that is read, or use a helper function instead."
            )
