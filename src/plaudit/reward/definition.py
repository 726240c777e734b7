"""What a reward is made of, whether its parts fit together, and what follows: its numbers, the whole as a Program."""

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

from plaudit.errors import (
    DefinitionError,
    DuplicateName,
    UnknownField,
    UnknownParameter,
    UnusedField,
    did_you_mean,
)
from plaudit.language import nodes as n
from plaudit.language.field import Field, to_number
from plaudit.language.parameters import (
    Fixed,
    Number,
    Parameter,
    expand_parameters,
    find_schedules,
    validate_schedulable,
)
from plaudit.language.program import Builder, Program
from plaudit.language.reading.context import Note
from plaudit.language.reading.functions import Reading
from plaudit.language.reading.source import SourceLine
from plaudit.language.schedule import Schedule
from plaudit.reward.advice import describe_no_field, describe_no_fields, describe_no_term, list_terms
from plaudit.reward.composition import Composition, Override, TotalFunction, read_composition, validate_composition
from plaudit.reward.declared import validate_allow
from plaudit.reward.function_parameters import UNREAD, fix_needed, is_same, list_names, split_shared
from plaudit.reward.lower import Formula, Function, assemble, build_formula, find_transitions, read_term_into
from plaudit.reward.schedules import validate_counters
from plaudit.reward.state import State, read_states, validate_states
from plaudit.reward.task.bound import BoundTask
from plaudit.reward.task.entries import fit_entries
from plaudit.reward.task.fit import validate_fit, validate_known
from plaudit.reward.task.task import Task
from plaudit.reward.term import Term, fix_numbers, settle, validate_limits

_DECLARED = ("name", "version", "doc", "terms", "fields", "action", "shared", "low", "high")
PARTS = (*_DECLARED, "constants", "states", "task", "allow", "_composition", "_formula")
"""What a reward is made of; everything else is worked out from these."""


class FieldIndex(Mapping[str, Field]):
    """The fields of a reward by name, a state as the field that it is; another reward can be made with it."""

    def __init__(self, declared: Mapping[str, Field | State]) -> None:
        self.declared: Mapping[str, Field | State] = MappingProxyType(dict(declared))
        """The same with the states themselves."""
        self._fields = {name: each.field if isinstance(each, State) else each for name, each in declared.items()}

    def __getitem__(self, name: str) -> Field:
        return self._fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __repr__(self) -> str:
        return repr(self._fields)

    def claim(self) -> "FieldIndex":
        """Return these fields with each state as it is among them."""
        states = {name: each.claim(self) for name, each in self.declared.items() if isinstance(each, State)}
        return FieldIndex({**self.declared, **states})


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
    constants: Mapping[str, object]
    """What it was given in `shared=` that is no number: strings, tables, objects, infinity."""
    low: Number | None
    high: Number | None
    _composition: Composition
    """How the values of the terms become the total, where they do not only add up."""
    task: Task
    """What is wanted and what can happen; it says nothing unless one was given."""
    allow: Mapping[str, str]
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
    def notes(self) -> tuple[Note, ...]:
        """What in the functions makes no difference to a score, such as `print(...)`, and where fields come first."""
        terms: dict[tuple[str, SourceLine], list[str]] = {}
        for note in self._formula.notes:
            terms.setdefault((note.what, note.place), []).append(note.term)
        return tuple(Note(_list_few(names), what, place) for (what, place), names in terms.items())

    @property
    def inputs(self) -> tuple[str, ...]:
        """What a row holds: `distance`, `prev.tokens_used`, `torque[0]`, `terminal`, the `step` of a schedule."""
        return tuple(self.program.inputs)

    @cached_property
    def _bound(self) -> BoundTask:
        """The task as this reward meets it."""
        return BoundTask(self.task, self)

    def _read_function(self, builder: Builder, function: Function) -> Reading:
        """Return what came of reading a term, the gate or a condition of this reward into `builder`."""
        transition = find_transitions(self._functions, self.states)
        carried = read_states(builder, self.states, self.fields, transition, self._supplied)
        return read_term_into(builder, function, self.fields, transition, self._supplied, carried.computed)

    def _find_unread(self) -> set[str]:
        """Return the fields that no term has to read: schedules count them, or the task names them."""
        return {schedule.counter for schedule in self._schedules.values()} | self._bound.find_wanted_fields()

    def _list_unused(self, optional: Collection[str] = ()) -> list[str]:
        """Return the fields that nothing reads, counts or checks; those in `optional` may be unread."""
        read = {field.name for field in self._formula.inputs.values()}
        unread = [name for name in self.fields if name not in read and name not in optional]
        return [name for name in unread if name not in self._find_unread()] if unread else []

    @property
    def _supplied(self) -> dict[str, Parameter | Fixed]:
        """What functions share, numbers and constants."""
        return {**self.shared, **{name: Fixed(value) for name, value in self.constants.items()}}

    @property
    def _transition(self) -> frozenset[str]:
        """The fields that have two ends, before and after a step."""
        ends = {field.name for name, field in self._formula.inputs.items() if "." in name}
        return find_transitions(self._functions, self.states) | ends

    def _list_shared(self, functions: Iterable[Function], states: Iterable[State]) -> set[str]:
        """Return the parameters that functions and the updates of states share; the scale may be one of them."""
        names = {name for function in (*functions, *states) for name in function.shared}
        return names | {self.scale} if isinstance(self.scale, str) else names


def _list_few(names: Collection[str]) -> str:
    """Return names as people list them: "near, far", "near, far and 5 more"."""
    few = ", ".join(list(dict.fromkeys(names))[:3])
    more = len(set(names)) - 3
    return f"{few} and {more} more" if more > 0 else few


def define(
    reward: Definition, given: Mapping[str, Any], old: Definition | None = None, optional: Collection[str] = ()
) -> None:
    """Fill in the parts of a reward that is given its arguments; every mistake in the definition is an error.

    If it is the next version of `old`, it has `optional` fields and states from there, which it need not read.
    """
    name, shared, low, high, allow = (given[key] for key in ("name", "shared", "low", "high", "allow"))
    if not isinstance(shared, Mapping | None) or not isinstance(given["action"], str | None):
        raise DefinitionError(
            f"reward {name!r}: shared= must map names to numbers, and action= must be the name of a field"
        )
    if not isinstance(given["doc"], str):
        raise DefinitionError(f"reward {name!r}: doc={given['doc']!r:.60} must be a string")
    numbers, constants = split_shared(shared or {})
    index = index_fields(name, given["fields"]).claim()
    unclaimed = {key: value for key, value in (shared or {}).items() if key not in index}
    parts = vars(reward)
    parts.update(
        name=validate_title("name", name),
        version=validate_title("version", given["version"]),
        doc=given["doc"],
        terms=tuple(settle(term, index, unclaimed) for term in list_terms(name, given["terms"])),
        fields=index,
        states=MappingProxyType({key: each for key, each in index.declared.items() if isinstance(each, State)}),
        action=given["action"],
        shared=MappingProxyType(numbers),
        constants=MappingProxyType(constants),
        low=None if low is None else validate_schedulable("total.low", low),
        high=None if high is None else validate_schedulable("total.high", high),
        _composition=read_composition(name, given["scale"], given["gate"], given["override"]).claim(index),
        task=fit_entries(validate_task(name, given["task"]), index),
        allow=MappingProxyType({}) if allow is None else validate_allow(f"reward {name!r}", allow),
    )
    if old is not None:
        parts["shared"] = _keep_shared(reward, "shared", old)
        parts["constants"] = _keep_shared(reward, "constants", old)
    validate_definition(reward)
    _read_functions(reward, shared or {}, unclaimed, optional)
    unused = reward._list_unused(optional)
    parts["terms"] = tuple(_mention(term, unused) for term in reward.terms)
    notes = [*(_note_unused(field, reward) for field in unused), *_note_unused_shared(reward)]
    parts["_formula"] = replace(reward._formula, notes=(*reward._formula.notes, *notes))
    if reward.task.is_empty:
        return
    if old is None or reward.task is not old.task:
        settle_task(reward)
    else:  # what it says of removed fields is left out
        validate_known(reward._bound)


def _read_functions(
    reward: Definition, given: Mapping[str, Any], shared: Mapping[str, Any], optional: Collection[str]
) -> None:
    """Read the functions of a reward; integers and bools are constants as far as it cannot be read without."""
    parts, before = vars(reward), {part: getattr(reward, part) for part in ("terms", "shared", "constants")}

    def build() -> Formula:
        return build_formula(reward.name, reward._functions, reward.fields, reward._supplied, reward.states, optional)

    def read(fixed: frozenset[str]) -> dict[str, Any]:
        numbers = {name: value for name, value in before["shared"].items() if name not in fixed}
        constants = {**before["constants"], **{name: to_number(given[name]) for name in fixed}}
        parts.update(before, shared=MappingProxyType(numbers), constants=MappingProxyType(constants))
        try:
            formula = build()
        except UNREAD:
            parts["terms"] = tuple(_fix_numbers(reward, each, shared) for each in reward.terms)
            formula = build()
        return {**{part: parts[part] for part in before}, "_formula": formula}

    switches = [name for name in reward.shared if isinstance(to_number(given.get(name)), int) and name != reward.scale]
    parts.update(fix_needed(read, switches))
    for known in ("params", "_numbers", "_schedules"):
        parts.pop(known, None)


def _fix_numbers(reward: Definition, term: Term, shared: Mapping[str, Any]) -> Term:
    """Return a term with its integers and bools as constants, as far as it cannot be read without."""

    def read(made: Term) -> object:
        return reward._read_function(Builder(), made)

    return fix_numbers(term, read, lambda made: settle(made, reward.fields, shared))


def settle_task(reward: Definition, given: Task | None = None) -> None:
    """Refuse a task that does not fit a reward, of which perhaps a part is `given`; let its functions stand alone."""
    validate_fit(reward._bound, given)
    vars(reward)["task"] = reward._bound.settle()
    if reward.task is not reward._bound.task:
        del vars(reward)["_bound"]


def validate_task(reward: object, task: object) -> Task:
    """Return a task; one that says nothing where there is none."""
    if task is None:
        return _NOTHING
    if not isinstance(task, Task):
        load = f"; Task.load({task!r:.60}) reads one from a file" if isinstance(task, str) else ""
        raise DefinitionError(f"reward {reward!r}: task={task!r:.60} is not a Task{load}")
    return task


_NOTHING = Task()


def _keep_shared(reward: Definition, part: str, old: Definition) -> Mapping[str, Any]:
    """Return shared parameters, or constants, without those that the reward has only from `old` and no longer needs."""
    own = getattr(reward, part)
    before: Mapping[str, object] = split_shared({**old.shared, **old.constants})[part == "constants"]
    if not all(isinstance(term, Term) for term in reward.terms):
        return own  # type: ignore[no-any-return]  # this term is rejected
    needed = reward._list_shared(reward._functions, reward.states.values())
    return MappingProxyType({name: v for name, v in own.items() if name in needed or not is_same(before.get(name), v)})


def _mention(term: Term, fields: Iterable[str]) -> Term:
    """Return a term that reads what its function only mentions, such as a field that it logs."""
    known = {read.rpartition(".")[2] for read in term.reads}
    new = tuple(field for field in fields if field in term.mentioned and field not in known)
    return replace(term, reads=(*term.reads, *new)) if new else term


def _note_unused(field: str, reward: Definition) -> Note:
    """Return a note on a declared field that makes no difference to any score; UnusedField if no function has it."""
    for function in reward._functions:
        if function.source is None or all(field != read.rpartition(".")[2] for read in function.reads):
            continue
        tree = function.source.tree
        taken = next((each for each in tree.args.args if each.arg == field), None)
        used = taken is None or any(isinstance(node, ast.Name) and node.id == field for node in ast.walk(tree))
        why = "but it does not affect any score" if used else "and does not use it"
        what = f"{'reads' if used else 'takes'} the field {field!r}, {why}."
        return Note(function.name, what, function.source.locate(taken or tree))
    near = did_you_mean(field, {each.name for each in reward._formula.inputs.values()})
    raise UnusedField(
        f"reward {reward.name!r}: no term reads the declared field {field!r}.{near} Use it or drop it. If it matters "
        "anyway, use it in a task: better=, aim=, a preference, a goal or a fact."
    )


def _note_unused_shared(reward: Definition) -> Iterator[Note]:
    """Yield a note on each shared parameter that is a part of a record and makes no difference to any score."""
    used = {node.name.partition("[")[0] for node in reward._formula.nodes if isinstance(node, n.Param)}
    for name in reward.shared.keys() - used:
        for term in reward.terms:
            if term.source is not None and name in term.shared and name not in list_names(term.source):
                what = f"reads the shared parameter {name!r}, but it does not affect any score."
                yield Note(term.name, what, term.source.locate(term.source.tree))
                break


def validate_definition(reward: Definition) -> None:
    """Raise DefinitionError where the parts of a reward do not fit together; its subclasses say what is wrong."""
    for term in reward.terms:
        if not isinstance(term, Term):
            raise DefinitionError(f"reward {reward.name!r}: {describe_no_term(term)}")
    if not reward.terms:
        raise DefinitionError(f"reward {reward.name!r} has no terms")
    names = [term.name for term in reward.terms]
    for name in names:
        if names.count(name) > 1:
            raise DuplicateName(_describe_duplicate(reward, name))
    validate_limits(f"reward {reward.name!r}", reward.low, reward.high)
    if reward._composed:
        validate_composition(reward.name, reward._composition, names, reward.shared)
    if reward._schedules:
        validate_counters(reward.name, reward._schedules, reward.fields)
    if reward.action is not None and reward.action not in reward.fields:
        near = did_you_mean(reward.action, reward.fields)
        raise UnknownField(f"reward {reward.name!r}: action={reward.action!r} is not a declared field.{near}")
    needed = _validate_shared(reward)
    if reward.states:
        validate_states(reward.name, reward.states, reward.terms, needed)
    for name in needed & set(names):
        raise DuplicateName(f"reward {reward.name!r}: {name!r} is both a term and a shared parameter")


def _describe_duplicate(reward: Definition, name: str) -> str:
    """Return what to do about two terms of one name; a function may be used twice with other values."""
    one, other = [term for term in reward.terms if term.name == name][:2]
    what = f"reward {reward.name!r} has two terms called {name!r}"
    if one.source is None or other.source is None or one.source.function is not other.source.function:
        return f"{what}; give one another name with @term(name=...)"
    pairs = [(key, one.arguments[key], other.arguments.get(key)) for key in one.arguments]
    changed = [f"{key}={getattr(value, 'value', value)!r:.40}" for key, before, value in pairs if before != value]
    values = ", ".join([*changed, f"name='{name}_2'"])
    return f"{what}, of one function{' with other values' if changed else ''}; give one another name: with_({values})"


def _validate_shared(reward: Definition) -> set[str]:
    """Return the shared parameters that a reward needs, if it has them and no others."""
    needed = reward._list_shared(reward._functions, reward.states.values())
    given = reward.shared.keys() | reward.constants.keys()
    for name in needed - given:
        raise UnknownParameter(f"reward {reward.name!r}: a term needs {name!r}; give it with shared={{{name!r}: ...}}")
    for name in given - needed:
        own = [f"{each.name}.{name}" for each in (*reward._functions, *reward.states.values()) if name in each.knobs]
        if own:
            raise UnknownParameter(
                f"reward {reward.name!r}: {name!r} in shared= has a default in the function, so it is no shared "
                f"parameter but {own[0]!r}; set it with with_params, or with_({name}=...) of the term"
            )
        parts = {part for term in reward.terms for part in term.parts if part.isidentifier()}
        near = did_you_mean(name, sorted(parts - given - reward.fields.keys()))
        with suppress(UnknownField) if near else nullcontext():
            for term in reward.terms:  # its error says more: what cannot be read may be what needs it
                if term.source is not None:
                    _fix_numbers(reward, term, {})
        raise UnknownParameter(
            f"reward {reward.name!r}: no term has a keyword-only parameter {name!r} without a default, "
            f"nor reads it from a record.{near}"
        )
    return needed


def validate_title(what: str, value: object) -> str:
    """Return a name or version if it is a printable string; DefinitionError if not."""
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise DefinitionError(f"a reward's {what} must be a printable string, not {value!r}")
    return value


def index_fields(reward: str, given: object) -> FieldIndex:
    """Return the fields and states that a reward is given, one by one or by name, such as those of another reward."""
    if isinstance(given, FieldIndex):
        return given
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise DefinitionError(f"reward {reward!r}: {describe_no_fields(given)}")
    found: dict[str, Field | State] = {}
    for key, each in given.items() if isinstance(given, Mapping) else ((None, each) for each in given):
        if not isinstance(each, Field | State):
            raise DefinitionError(f"reward {reward!r}: {describe_no_field(key, each)}")
        if key not in (None, each.name):
            raise DefinitionError(f"reward {reward!r}: fields= has the field {each.name!r} under the name {key!r:.60}")
        if each.name == "terminal":
            raise DefinitionError(f"reward {reward!r}: 'terminal' needs no declaration: any term may read it")
        if each.name in found:
            also = ": a state is a field too" if isinstance(each, State) or isinstance(found[each.name], State) else ""
            raise DuplicateName(f"reward {reward!r} declares the field {each.name!r} twice{also}")
        found[each.name] = each
    return FieldIndex(found)
