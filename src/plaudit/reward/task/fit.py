"""Check that a task fits a reward: its fields exist, and its statements are possible for them."""

import math
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from plaudit.errors import DefinitionError, DuplicateName, ShapeMismatch, UnknownField, did_you_mean
from plaudit.language import nodes as n
from plaudit.language.field import Field, find_field_name
from plaudit.language.intervals import Interval, bound_field, bound_nodes, bound_nodes_within
from plaudit.language.shapes import flatten_entries
from plaudit.reward.declared import Fact, read_facts
from plaudit.reward.task.bound import Bindable, BoundTask, TaskField
from plaudit.reward.task.statements import End
from plaudit.reward.task.task import Task

_ENDS = "ends= names"


def validate_fit(bound: BoundTask, given: Task | None = None) -> None:
    """Reject a task that names undeclared fields, or makes an impossible statement about one.

    Where another task was `given` to a reward that has one, what that one says of fields that are gone is left out.
    """
    _validate_names(bound, bound.task if given is None else given)
    validate_known(bound)


def validate_known(bound: BoundTask) -> None:
    """Refuse what the task says of the fields that there are, if it cannot be; it may speak of others, too."""
    if bound.task.is_empty:
        return
    _validate_kinds(bound)
    for name, field in bound.fields.items():
        for problem in _find_problems(field):
            raise DefinitionError(f"{bound.what}: field {name!r}: {problem}")
    _validate_start(bound)
    taken = {*(each.name for each in bound.reward._functions), *bound.reward.states}
    for fact in bound.facts:
        if fact.name in taken:
            raise DuplicateName(
                f"{bound.what}: {fact.name!r} is both a term and a fact, or a condition and a fact; rename one of them"
            )
    _ = bound.facts_program, bound.end_programs, bound.prefer, bound.idle
    _validate_goal(bound)
    _validate_ends(bound)


def _validate_names(bound: BoundTask, task: Task) -> None:
    known = {**bound.task.fields, **bound.reward.fields}
    for part, name in _list_named(task):
        if name not in known and name not in ("terminal", "terminated", "truncated"):
            seen = ", ".join(sorted(known)) or "none"
            how = (
                f" Declare a flag of that name, or give its condition: {_show_end(bound, name)}."
                if part == _ENDS
                else ""
            )
            raise UnknownField(
                f"{bound.what}: {part} {name!r:.60}, which neither the reward nor the task "
                f"declares.{did_you_mean(name, known)}{how}\nDeclared fields: {seen}."
            )
    if task.source:
        refuse_other_fields(task, bound.reward)


def refuse_other_fields(task: Task, reward: Bindable) -> None:
    """Refuse a task that has no field in common with a reward."""
    spoken = {name for _, name in _list_named(task)} | {*task.fields}
    if spoken and reward.fields and not spoken & {*reward.fields, "terminal"}:
        words = [name for name in sorted(spoken) if not re.fullmatch(r".*_\d+", name)]  # entries of an array are none
        near = next(filter(None, (did_you_mean(name, reward.fields) for name in words)), "")
        raise UnknownField(
            f"reward {reward.name!r} with task {task.name!r}: the task names {_list_some(spoken)}, and the reward "
            f"reads {_list_some(reward.fields)}: they have no field in common.{near} Use the task of this reward, or "
            "observe its environment with the features that the reward gets."
        )


def _list_some(names: Iterable[str], most: int = 8) -> str:
    listed = sorted(names)
    return ", ".join([*listed[:most], "…"] if len(listed) > most else listed)


def _list_named(task: Task) -> Iterable[tuple[str, str]]:
    """Yield every field that the task names, after the place that names it: `better= names`, `fact 'brakes' reads`."""
    for part in ("better", "aim", "max_change", "monotone", "events", "rates", "states", "actions", "still"):
        yield from ((f"{part}= names", name) for name in getattr(task, part))
    yield from (("rates= names", each.rate) for each in task.rates.values())
    for part in ("idle", "start"):
        yield from ((f"{part}= names", find_field_name(name)) for name in getattr(task, part))
    functions = [("fact", each) for each in task.facts] + ([("goal", task.goal)] if task.goal else [])
    functions += [("end", end.when) for end in task.ends.values() if end.when is not None]
    for part, each in functions:
        yield from ((f"{part} {each.name!r} reads", find_field_name(name)) for name in each.reads)
    yield from ((_ENDS, name) for name, end in task.ends.items() if end.when is None and end.sign != "time")
    yield from (("a preference names", find_field_name(name)) for each in task.prefer for name in each.reads)


def _validate_kinds(bound: BoundTask) -> None:
    for part in ("max_change", "monotone"):
        for name in getattr(bound.task, part).keys() & bound.declared.keys():
            if bound.declared[name].kind != "number":
                kind = bound.declared[name].kind
                raise DefinitionError(f"{bound.what}: {part}= is for numbers, and {name!r} is a {kind}")
    for name in bound.task.fields.keys() & bound.reward.fields.keys():
        ours, theirs = bound.task.fields[name], bound.reward.fields[name]
        numeric = {ours.kind, theirs.kind} <= {"number", "flag"}  # 0 and 1 may stand for a flag
        if ours.shape != theirs.shape or not (ours.kind == theirs.kind or numeric):
            raise DefinitionError(
                f"{bound.what}: {name!r} is a {_describe_kind(theirs)} in the reward and a {_describe_kind(ours)} "
                "in the task. Observe its environment with features that return what the reward gets, or rename one "
                "of them."
            )
    for name, rate in bound.task.rates.items():
        field, other = bound.declared.get(name), bound.declared.get(rate.rate)
        if field is None or other is None:
            continue
        if field.kind != "number" or other.kind != "number" or other.shape not in ((), field.shape):
            raise DefinitionError(
                f"{bound.what}: the rate of {name!r} is {rate.rate!r}, which is not a number of the same shape"
            )


def _validate_goal(bound: BoundTask) -> None:
    goal = bound.goal
    if goal is None:
        return
    program = bound.goal_program
    if bound_nodes(program)[program.outputs[goal.name]].high == 0:
        raise DefinitionError(
            f"{bound.what}: the goal {goal.name!r} can never be true: no step within the declared ranges "
            "reaches it. Fix the goal or the ranges."
        )


def _validate_ends(bound: BoundTask) -> None:
    for name, end in bound.task.ends.items():
        if end.when is None:
            field = bound.declared.get(name) or bound.task.fields.get(name)
            if (
                end.sign != "time"
                and name not in ("terminal", "terminated")
                and (field is None or field.kind != "flag")
            ):
                raise DefinitionError(
                    f"{bound.what}: ends= names {name!r}, which is not a flag. Name a flag that is true when an "
                    f"episode ends this way, or give a condition: {_show_end(bound, name)}."
                )
        if end.sign == "bad" and _goal_needs(bound, name, end):
            raise DefinitionError(
                f"{bound.what}: the end {name!r} is declared bad, but the goal is never reached without it. Declare it "
                "good, or fix the goal."
            )


def _show_end(bound: BoundTask, name: str) -> str:
    return f"{{{name!r}: ({bound.task.ends[name].sign!r}, function)}}"


def _goal_needs(bound: BoundTask, flag: str, end: End) -> bool:
    """Return whether the goal is false wherever an end does not happen: its flag is false, or its condition."""
    if bound.goal is None:
        return False
    if end.when is not None:
        return flag in bound.end_programs and _goal_asks(bound, end.when)
    program = bound.goal_program
    box = {name: bound_field(field) for name, field in program.inputs.items()}
    box |= {name: Interval(0.0, 0.0) for name in (flag, f"curr.{flag}") if name in box}
    return bound_nodes_within(program, box)[program.outputs[bound.goal.name]].high == 0


def _goal_asks(bound: BoundTask, condition: Fact) -> bool:
    """Return whether a condition is the goal, or one of those that the goal asks for together."""
    assert bound.goal is not None
    name = f"{bound.goal.name}_"
    program = read_facts(bound.reward.name, (bound.goal, replace(condition, name=name)), *bound.scope)
    asked = [program.outputs[bound.goal.name]]
    for at in asked:  # which grows meanwhile
        if isinstance(node := program.nodes[at], n.And):
            asked += [node.left, node.right]
    return program.outputs[name] in asked  # what is the same is one node


def _validate_start(bound: BoundTask) -> None:
    for name, value in bound.task.start.items():
        field = bound.declared.get(find_field_name(name))
        if field is None or bound.task.find_basis("start", name) == "seen":
            continue
        if not _fits_start(field, name, value):
            raise DefinitionError(f"{bound.what}: start= has {name}={value!r:.60}, which the field does not allow")


def _fits_start(field: Field, name: str, value: Any) -> bool:
    """Return whether a field, or the entry of one that a name has, can begin with a value or between two of them."""
    entry = name[name.index("[") :] if "[" in name else ""
    if entry and entry not in field.entries:
        return False
    several = value if isinstance(value, tuple | list) else (value,)
    if field.shape and not entry and len(several) != 2:  # two may be a range as well
        try:
            several = flatten_entries(value, field.shape) if several is value else several
        except ShapeMismatch:
            return False
    elif several is value and len(several) != 2:
        return False
    return all(map(field.holds, several))


def _describe_kind(field: Field) -> str:
    return field.kind if not field.shape else f"{field.kind} of the shape {field.shape}"


def _find_problems(field: TaskField) -> Iterable[str]:
    """Yield the statements that are impossible for a field."""
    if field.better is not None and field.kind == "category":
        yield f"better={field.better!r} is for numbers and flags; for categories use prefer(...)"
    if field.aim is not None and (field.kind != "number" or not field.holds(field.aim) or math.isinf(field.aim)):
        yield f"aim={field.aim!r} is not a finite number that the field allows"
