"""What a reward is made of, and what follows from it: its numbers, its inputs, the whole as one Program."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from types import MappingProxyType

from plaudit.language.field import Field
from plaudit.language.parameters import Number, Parameter, expand_parameters
from plaudit.language.program import Program
from plaudit.language.schedule import Schedule
from plaudit.reward.composition import Composition, Override, TotalFunction
from plaudit.reward.declared import Fact
from plaudit.reward.intent import Preference, Row, find_wanted_fields, list_known_inputs
from plaudit.reward.lower import Formula, Function, assemble, find_transitions
from plaudit.reward.schedules import find_schedules
from plaudit.reward.state import State
from plaudit.reward.term import Term

_DECLARED = ("name", "version", "doc", "terms", "fields", "action", "shared", "low", "high")
_INTENT = ("prefer", "goal", "goal_ends", "_goal_program", "idle", "discount", "horizon")
PARTS = (*_DECLARED, *_INTENT, "states", "facts", "allow", "_composition", "_facts_program", "_formula")
"""What a reward is made of; everything else is worked out from these."""


class FieldIndex(Mapping[str, Field]):
    """The fields of a reward by name, a state as the field that it is; another reward can be made with it."""

    def __init__(self, declared: Mapping[str, Field | State]) -> None:
        """Index what a reward declares, by name."""
        self.declared: Mapping[str, Field | State] = MappingProxyType(dict(declared))
        """The same with the states themselves."""
        self._fields = {name: each.field if isinstance(each, State) else each for name, each in declared.items()}

    def __getitem__(self, name: str) -> Field:
        """Return a field."""
        return self._fields[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(self._fields)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._fields)

    def __repr__(self) -> str:
        """Return the fields by name."""
        return repr(self._fields)


class Definition:
    """The parts of a reward and what they add up to.

    A `Reward` is a definition that can score. Whatever validates, varies, writes or identifies rewards needs no more
    than this.
    """

    name: str
    version: str
    doc: str
    terms: tuple[Term, ...]
    fields: FieldIndex
    """What terms read, by name; a state is there as the field that it is."""
    states: Mapping[str, State]
    """What is carried from step to step."""
    action: str | None
    shared: Mapping[str, Parameter]
    low: Number | None
    high: Number | None
    _composition: Composition
    """How the values of the terms become the total, where they do not only add up."""
    facts: tuple[Fact, ...]
    discount: float | None
    horizon: int | None
    """How many steps an episode has."""
    prefer: tuple[Preference, ...]
    goal: Fact | None
    """What is true of a step in which the task is done."""
    goal_ends: bool
    """Whether nothing follows that step."""
    idle: Row | None
    """A step of doing nothing; what it leaves out is at rest."""
    allow: Mapping[str, str]
    _facts_program: Program
    """The facts as one flat value: a flag each, under its name."""
    _goal_program: Program
    """The goal as one flat value: a flag under its name, or nothing."""
    _formula: Formula

    @cached_property
    def params(self) -> Mapping[str, float | bool]:
        """Every parameter by its dotted name: `comfort.harsh`, `far`, `pose.default[2]`, `total.low`."""
        return MappingProxyType(expand_parameters(self._numbers))

    @cached_property
    def _numbers(self) -> dict[str, Parameter]:
        """Every parameter by its dotted name, vectors and schedules whole."""
        owners: tuple[Term | State, ...] = (*self.terms, *self.states.values())
        own = {name: value for owner in owners for name, value in owner.numbers.items()}
        ends = {"total.low": self.low, "total.high": self.high}
        clamps = {name: value for name, value in ends.items() if value is not None}
        return {**own, **self.shared, **clamps, **self._composition.numbers}

    @cached_property
    def _schedules(self) -> Mapping[str, Schedule]:
        """The numbers that follow a counter of steps, by dotted name: `safety.weight`."""
        return MappingProxyType(find_schedules(self._numbers))

    @property
    def scale(self) -> Number | str | None:
        """The factor of every value, or the shared parameter that it is."""
        return self._composition.scale

    @property
    def gate(self) -> TotalFunction | None:
        """The function whose result is a factor of the sum of the gated terms."""
        return self._composition.gate

    @property
    def override(self) -> tuple[Override, ...]:
        """The conditions under which the total is another number, the first that holds first."""
        return self._composition.override

    @property
    def _composed(self) -> bool:
        """Whether the total is more than the sum of the terms within fixed limits, so that it has adjustments."""
        return self._composition.changes_total(self.terms, self.low, self.high)

    @property
    def _functions(self) -> tuple[Function, ...]:
        """Whatever was read from a plain function: the terms, the gate, the conditions of overrides."""
        return (*self.terms, *self._composition.functions)

    @cached_property
    def program(self) -> Program:
        """The whole reward as one flat value, which every target compiles and every check walks."""
        return assemble(
            self.name,
            self._formula,
            self.terms,
            self.params,
            self.states,
            composition=self._composition if self._composed else None,
            schedules=self._schedules,
            fields=self.fields,
        )

    @property
    def inputs(self) -> tuple[str, ...]:
        """What a row holds: `distance`, `prev.tokens_used`, `torque[0]`, `terminal`, the `step` of a schedule."""
        return tuple(self.program.inputs)

    @cached_property
    def _known_inputs(self) -> Mapping[str, Field]:
        """Every input that a preference or an idle row may name: `inputs`, and what only checks know of."""
        programs = (self.program.inputs, self._facts_program.inputs, self._goal_program.inputs)
        return MappingProxyType(list_known_inputs(self.fields, *programs))

    def _find_unread(self) -> set[str]:
        """Return the fields that no term has to read: schedules count them, or checks use them."""
        counted = {schedule.counter for schedule in self._schedules.values()}
        return counted | find_wanted_fields(self.fields, self.facts, self.goal, self.prefer)

    @property
    def _scope(self) -> tuple[Mapping[str, Field], frozenset[str], Iterable[str]]:
        """What facts and goals may read, and under which names: fields, those with two ends, and states."""
        ends = {field.name for name, field in self._formula.inputs.items() if "." in name}
        return self.fields, find_transitions(self._functions, self.states) | ends, self.states

    def _list_shared(self, functions: Iterable[Function], states: Iterable[State]) -> set[str]:
        """Return the parameters that functions and the updates of states share; the scale may be one of them."""
        names = {name for function in (*functions, *states) for name in function.shared}
        return names | {self.scale} if isinstance(self.scale, str) else names
