"""A task as one reward meets it: its functions read over the reward's inputs, its rows and fields by their names."""

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from functools import cached_property
from typing import Any, Protocol, TypeVar

from plaudit.language.field import RECORDS, Field, find_field_name
from plaudit.language.intervals import bound_nodes
from plaudit.language.program import Program
from plaudit.reward.declared import Fact, read_facts
from plaudit.reward.lower import Function
from plaudit.reward.state import State
from plaudit.reward.task.functions import settle_function
from plaudit.reward.task.preference import Preference, Row, fit_preference, fit_row, freeze_row
from plaudit.reward.task.statements import Basis, Better, End, Monotone, Role
from plaudit.reward.task.task import Task


@dataclass(frozen=True, slots=True)
class TaskField(Field):
    """A field with what a task says of it; its range may be one that was only seen."""

    _: KW_ONLY
    role: Role | None = None
    rest: float | bool | str | None = None
    step: float | None = None
    """The largest change in one step."""
    monotone: Monotone | None = None
    better: Better | None = None
    aim: float | None = None
    rate: str | None = None
    """The field that says how fast this one changes: where that is not 0, this one cannot stay as it is."""
    range_basis: Basis = "default"

    @property
    def is_wished(self) -> bool:
        """Whether the task says what is better of it."""
        return self.better is not None or self.aim is not None

    @property
    def at_rest(self) -> float | bool | str:
        """The value when nothing happens: what an idle agent meets or, where nothing is said, as of any field."""
        usual = Field.at_rest.__get__(self)
        return usual if self.rest is None else self.rest


AnyField = TypeVar("AnyField", bound=Field)


def narrow(field: AnyField, **changes: Any) -> AnyField:
    """Return a field with another range, and without values that stand in for others: they may lie outside it."""
    stand_ins: dict[str, Any] = {"missing": None, "rest": None} if isinstance(field, TaskField) else {"missing": None}
    return replace(field, **stand_ins, **changes)


class Bindable(Protocol):
    """What a task needs to know of a reward."""

    name: str
    states: Mapping[str, State]

    @property
    def fields(self) -> Mapping[str, Field]:
        """What terms read, by name."""

    @property
    def program(self) -> Program:
        """The whole reward as one flat value."""

    @property
    def _transition(self) -> frozenset[str]:
        """The fields that have two ends, before and after a step."""

    @property
    def _functions(self) -> Sequence[Function]:
        """Whatever was read from a plain function."""


def reads_only(inputs: Iterable[str], fields: Iterable[str]) -> bool:
    """Return whether inputs are of these fields alone, or whether the episode ends.

    >>> reads_only(("prev.torque[0]", "terminal"), {"torque"})
    True
    """
    return {find_field_name(name) for name in inputs} <= {*fields, "terminal"}


def _may_hold(field: Field, value: Any) -> bool:
    return not isinstance(value, int | float) or field.holds(value)


class BoundTask:
    """What a task says of one reward.

    A task serves many versions of a reward: what it says of fields that this one lacks is left out. What neither of
    them declares is a mistake, which `validate_fit` refuses.
    """

    def __init__(self, task: Task, reward: Bindable) -> None:
        self.task, self.reward = task, reward
        self.what = f"reward {reward.name!r} with task {task.name!r}"

    @cached_property
    def declared(self) -> Mapping[str, Field]:
        """The fields of the reward, and those of the task's that wishes are about."""
        open_ended = {name: replace(self._known[name], low=None, high=None, values=None) for name in self._outgrown}
        return {**self._known, **{name: each for name, each in open_ended.items() if name not in self.reward.fields}}

    @cached_property
    def _known(self) -> Mapping[str, Field]:
        named = {find_field_name(name) for each in self.task.prefer for name in each.reads}
        added = {name: field for name, field in self.task.fields.items() if name in named}
        return {**added, **self._wanted}

    @cached_property
    def _wanted(self) -> Mapping[str, Field]:
        """The fields of the reward, and those of the task's that facts and rates may tie to them."""
        own, task = self.reward.fields, self.task
        read = [each.reads for each in (task.goal, *(end.when for end in task.ends.values())) if each is not None]
        wished = {find_field_name(name) for names in read for name in names} | {*task.better, *task.aim, *task.ends}
        while more := {task.rates[name].rate for name in wished | {*own} if name in task.rates} - wished:
            wished |= more
        return {**own, **{name: each for name, each in task.fields.items() if name in wished and name not in own}}

    @cached_property
    def fields(self) -> Mapping[str, TaskField]:
        """Every field with what the task says of it."""
        return {name: self._describe(field) for name, field in self.declared.items()}

    @cached_property
    def inputs(self) -> Mapping[str, TaskField]:
        """Every input of the reward with what the task says of it."""
        return {name: self.view(field) for name, field in self.reward.program.inputs.items()}

    def view(self, field: Field) -> TaskField:
        """Return a field with what the task says of it."""
        found = self.fields.get(field.name)
        return found if found is not None else self._describe(field)

    def _describe(self, field: Field) -> TaskField:
        task, name = self.task, field.name
        given = {each.name: getattr(field, each.name) for each in fields(Field)}
        low, high, basis = self._find_range(field)
        numeric = field.kind == "number"
        rate = task.rates.get(name)
        return TaskField(
            **{**given, "low": low, "high": high},
            role="state" if name in self.reward.states else task.find_role(name),
            rest=self._find_rest(field),
            step=task.max_change.get(name) if numeric else None,
            monotone=task.monotone.get(name) if numeric else None,
            better=task.better.get(name),
            aim=task.aim.get(name),
            rate=rate.rate if rate is not None and rate.rate in self.declared else None,
            range_basis=basis,
        )

    def _find_range(self, field: Field) -> tuple[float | None, float | None, Basis]:
        """Return the range of a field: as the reward declares it, and where that leaves a side open, the task."""
        known = None if field.name in self._outgrown else self.task.fields.get(field.name)
        low, high = field.low, field.high
        basis = "declared" if field.name in self.reward.fields else self.task.find_basis("fields", field.name)
        if field.kind != "number" or field.values:
            return low, high, basis if field.values else "declared"
        if known is None or known.kind != "number" or field.name not in self.reward.fields:
            return low, high, "default" if low is None and high is None else basis
        whole = known.numbers or tuple(each for each in (known.low, known.high) if each is not None)
        if low is None and (known.low is not None or known.numbers):
            low = min(whole)
        if high is None and (known.high is not None or known.numbers):
            high = max(whole)
        if (low, high) == (field.low, field.high) or (low is not None and high is not None and low > high):
            return field.low, field.high, "declared"
        return low, high, self.task.find_basis("fields", field.name)

    @cached_property
    def _outgrown(self) -> frozenset[str]:
        """Fields whose ranges were only seen, in play that never reached the goal, or a number that somebody names."""
        task = self.task
        seen = {name: task.fields[name] for name in self._known if f"fields.{name}" in task.seen}
        rows = [task.aim, *(row for each in task.prefer for row in (*each.better, *each.over))]
        named = [(find_field_name(name), value) for row in rows for name, value in row.items()]
        found = {name for name, value in named if name in seen and not _may_hold(seen[name], value)}
        if self.goal is not None and seen.keys() & {find_field_name(name) for name in self.goal.reads}:
            scope = {name: seen.get(name, field) for name, field in self._known.items()}
            program = read_facts(self.reward.name, (self.goal,), scope, *self.steps, what="goal")
            if bound_nodes(program)[program.outputs[self.goal.name]].high == 0:
                found |= seen.keys() & {each.name for each in program.inputs.values()}
        return frozenset(name for name in found if seen[name].kind == "number")

    @cached_property
    def _rests(self) -> Mapping[str, set[Any]]:
        """The values that an idle agent meets of each field."""
        found: dict[str, set[Any]] = {}
        for name, whole in self.task.idle.items():
            found.setdefault(find_field_name(name), set()).update(_list_entries(whole))
        return found

    def _find_rest(self, field: Field) -> float | bool | str | None:
        """Return what an idle agent meets of a field, where it is one value that the field allows."""
        rests = self._rests.get(field.name, set())
        if len(rests) != 1 or (field.shape and f"{field.name}[" in " ".join(self.task.idle)):
            return None
        (value,) = rests
        value = float(value) if isinstance(value, int) and not isinstance(value, bool) else value
        return value if field.holds(value) else None

    @property
    def scope(self) -> tuple[Mapping[str, Field], frozenset[str], Iterable[str]]:
        """What functions are read over: the fields, those with two ends, and the states."""
        return self.fields, *self.steps

    @property
    def steps(self) -> tuple[frozenset[str], Iterable[str]]:
        """The fields that have two ends, before and after a step, and the states."""
        return self.reward._transition, self.reward.states

    @cached_property
    def facts(self) -> tuple[Fact, ...]:
        """The declared facts about nothing but fields that the reward or a wish has; what was only seen is no fact."""
        said = [each for each in self.task.facts if f"facts.{each.name}" not in self.task.seen]
        return tuple(each for each in said if reads_only(each.reads, self._wanted))

    @cached_property
    def facts_program(self) -> Program:
        """The facts as one flat value: a flag each, under its name."""
        name = self.reward.name
        return read_facts(name, self.facts, *self.scope) if self.facts else Program(name)

    @cached_property
    def goal(self) -> Fact | None:
        """The goal, where all that it reads is declared."""
        goal = self.task.goal
        return goal if goal is not None and reads_only(goal.reads, self._known) else None

    @cached_property
    def goal_program(self) -> Program:
        """The goal as one flat value: a flag under its name, or nothing."""
        name = self.reward.name
        return Program(name) if self.goal is None else read_facts(name, (self.goal,), *self.scope, what="goal")

    @cached_property
    def end_programs(self) -> Mapping[str, Program]:
        """What is true of a step that ends so, as one flat value: a flag under the end's name, where one is given."""
        found = {
            name: replace(end.when, name=name)
            for name, end in self.task.ends.items()
            if end.when is not None and reads_only(end.when.reads, self.declared)
        }
        return {name: read_facts(self.reward.name, (each,), *self.scope, what="end") for name, each in found.items()}

    @cached_property
    def known_inputs(self) -> Mapping[str, Field]:
        """Every input that a preference or an idle row may name: what is read, and fields that nothing reads."""
        programs = (self.reward.program.inputs, self.facts_program.inputs, self.goal_program.inputs)
        known = {name: each for inputs in reversed(programs) for name, each in inputs.items()}
        read = {each.name for each in known.values()}
        for name, each in self.declared.items():
            if name not in read:
                known |= {f"{name}{entry}": each for entry in each.entries or ("",)}
        return known

    @cached_property
    def prefer(self) -> tuple[Preference, ...]:
        """The preferences by the names of the reward's inputs; one about anything else is left out."""
        about = [each for each in self.task.prefer if reads_only(each.reads, self.declared)]
        return tuple(fit_preference(each, self.reward.name, self.known_inputs) for each in about)

    @cached_property
    def idle(self) -> Row | None:
        """The step of doing nothing by the names of the reward's inputs; what it leaves out is at rest.

        A field that terms read before and after the step is the same at both ends, unless `prev` and `curr` say so.
        Where it was only seen, what it leaves out varied: then there is no one such step.
        """
        task, named = self.task, {find_field_name(name) for name in self.task.idle}
        varied = any(task.find_basis("fields", name) == "seen" for name in self.reward.fields if name not in named)
        if not named or (varied and all(task.find_basis("idle", name) == "seen" for name in task.idle)):
            return None
        inputs, what = self.known_inputs, f"{self.what}: the idle row"
        columns = {name.partition("[")[0] for name in inputs}
        spread: list[tuple[str, Any]] = []
        for name, value in self.task.idle.items():
            base = name.partition("[")[0]
            ends = [f"{end}.{name}" for end in RECORDS if base not in columns and f"{end}.{base}" in columns]
            if find_field_name(name) in self.declared:
                spread += [(each, value) for each in ends or [name]]
        return freeze_row(what, fit_row(freeze_row(what, spread), what, inputs))

    def settle(self) -> Task:
        """Return the task with functions that can be written as text, also those that use what stands around them."""
        task = self.task
        if task._stands_alone:  # found out once, and not for every version of a reward
            return task
        goal = None if task.goal is None else self._settle(task.goal)
        facts = tuple(map(self._settle, task.facts))
        ends = {name: End(each.sign, each.when and self._settle(each.when)) for name, each in task.ends.items()}
        same = goal is task.goal and all(map(operator.is_, facts, task.facts))
        same = same and all(each.when is task.ends[name].when for name, each in ends.items())
        return task if same else task.evolve(goal=goal, facts=facts, ends=ends, seen=task.seen)

    def _settle(self, function: Fact) -> Fact:
        scope = {**self.task.fields, **self.fields}
        if not reads_only(function.reads, scope):
            return function
        return settle_function(function, lambda: read_facts(self.reward.name, (function,), scope, *self.steps))

    def find_wanted_fields(self) -> set[str]:
        """Return the fields of which something is said that a check uses, so that no term has to read them."""
        task = self.task
        read = [each.reads for each in (*task.facts, *(() if task.goal is None else (task.goal,)))]
        read += [end.when.reads for end in task.ends.values() if end.when is not None]
        read += [tuple(each.reads) for each in task.prefer]
        wanted = {*task.better, *task.aim, *task.ends, *task.rates, *(each.rate for each in task.rates.values())}
        return wanted | {find_field_name(name) for names in read for name in names}


def _list_entries(value: Any) -> Iterator[Any]:
    """Yield the entries of nested lists, or the one value."""
    if isinstance(value, list | tuple):
        for each in value:
            yield from _list_entries(each)
    else:
        yield value
