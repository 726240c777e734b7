"""What is different in the definitions of two rewards: functions, numbers, fields, and what is declared of steps."""

import difflib
import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from plaudit.html import Markup, build_element, build_name, build_note, build_table, join
from plaudit.language.codec import field_to_dict
from plaudit.language.nodes import Node
from plaudit.language.program import Program, prune
from plaudit.language.schedule import Schedule
from plaudit.language.writing.render import render_expression, render_functions
from plaudit.ledger.storage.specs import collect_numbers, find_place
from plaudit.reward.composition import OVERRIDE
from plaudit.reward.describe import list_task_rows
from plaudit.reward.lower import Function
from plaudit.reward.reward import Reward
from plaudit.reward.state import State
from plaudit.reward.task.file import preference_to_dict
from plaudit.reward.task.statements import End
from plaudit.reward.term import Term
from plaudit.terminal import escape_controls, format_value

Kind = Literal["term", "gate", "override", "state", "fact", "goal", "end"]
What = Literal["added", "removed", "renamed", "changed", "moved"]
_HEADS: dict[Kind, str] = {
    "term": "Terms",
    "gate": "Gate",
    "override": "Overrides",
    "state": "States",
    "fact": "Facts",
    "goal": "Goal",
    "end": "Ends",
}


@dataclass(frozen=True, slots=True)
class FunctionChange:
    """A term, the gate, an override, a state, a fact, the goal or an end that is not what it was."""

    kind: Kind
    what: What
    name: str
    """What it is called now; what it was called where it was removed."""
    before: str | None = None
    """Its formula as Python; None where it was not there."""
    after: str | None = None
    note: str = ""
    """Its former name, or where in the composition of the total it stood and stands now."""


@dataclass(frozen=True, slots=True)
class ValueChange:
    """A number, or a part of a declaration, that is not what it was; None on the side that has none."""

    name: str
    before: Any
    after: Any

    def __str__(self) -> str:
        return escape_controls(f"{self.name}: {format_part(self.before)} → {format_part(self.after)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionChanges:
    """The differences between two definitions; empty (false) if there are none.

    Example:
        ```python
        changes = diff(before, after).definition
        for each in changes.numbers:
            print(each)                  # near.reach: 2 → 3
        ```
    """

    functions: tuple[FunctionChange, ...] = ()
    numbers: tuple[ValueChange, ...] = ()
    """Knobs, weights, clamps, schedules, the scale; of functions that both have."""
    inputs: tuple[ValueChange, ...] = ()
    """Ranges, units, kinds and the rest of each field, by dotted name: `distance.high`."""
    steps: tuple[ValueChange, ...] = ()
    """Other declarations: the action, and those of the task, such as `speed.better`."""
    only_before: tuple[str, ...] = ()
    """Inputs that only the old version reads."""
    only_after: tuple[str, ...] = ()
    renamed: Mapping[str, str]
    """Renamed terms: the new name by the old one."""

    def __bool__(self) -> bool:
        return bool(self.functions or self.numbers or self.inputs or self.steps)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data for JSON.

        Returns:
            A dictionary of plain values.
        """
        values = {
            name: [{"name": e.name, "before": _to_plain(e.before), "after": _to_plain(e.after)} for e in listed]
            for name, listed in (("numbers", self.numbers), ("fields", self.inputs), ("steps", self.steps))
        }
        functions = [{name: getattr(each, name) for name in FunctionChange.__slots__} for each in self.functions]
        reads = {"only_before": list(self.only_before), "only_after": list(self.only_after)}
        return {"functions": functions, **values, "inputs": reads}

    def _repr_html_(self) -> str:
        functions = [
            (build_name(each.name), f"{each.kind} {each.what}", _build_code(each.before), _build_code(each.after))
            for each in self.functions
        ]
        values = [
            (build_name(each.name), format_part(each.before), format_part(each.after))
            for each in (*self.numbers, *self.inputs, *self.steps)
        ]
        reads = {"before": self.only_before, "after": self.only_after}
        return join(
            build_table(("function", "", "before", "after"), functions) if functions else None,
            build_table(("number", "before", "after"), values) if values else None,
            *(build_note(f"Read only {which}: {', '.join(names)}") for which, names in reads.items() if names),
        )

    def describe(self, width: int = 120) -> Iterator[str]:
        """Describe the differences as text, with formulas side by side.

        Args:
            width: Maximum line length.

        Yields:
            The lines.
        """
        for kind, head in _HEADS.items():
            alike = [each for each in self.functions if each.kind == kind]
            if alike:
                yield f"\n{head}"
                for each in alike:
                    yield f"  {each.name}: {each.what}{f' ({each.note})' if each.note else ''}"
                    if each.what not in ("renamed", "moved"):
                        yield from set_side_by_side(each.before or "", each.after or "", width - 4, indent=4)
        for head, values in (("Numbers", self.numbers), ("Fields", self.inputs), ("Declared for steps", self.steps)):
            if values:
                yield f"\n{head}"
                yield from (f"  {each}" for each in values)
        for names, which in ((self.only_before, "before"), (self.only_after, "after")):
            if names:
                yield f"\nRead only {which}: {', '.join(names)}"


def _build_code(text: str | None) -> Markup | None:
    return None if text is None else build_element("pre", text)


def compare_definitions(before: Reward, after: Reward) -> DefinitionChanges:
    """Return what differs between the definitions of two rewards."""
    sides = (_Definition(before, after), _Definition(after, before))
    renamed = _find_renamed(*sides)
    return DefinitionChanges(
        functions=tuple(_compare_functions(*sides, renamed)),
        numbers=tuple(_compare_numbers(*sides, renamed)),
        inputs=tuple(_compare_fields(before, after)),
        steps=tuple(_compare_steps(before, after)),
        only_before=tuple(name for name in before.inputs if name not in after.inputs),
        only_after=tuple(name for name in after.inputs if name not in before.inputs),
        renamed=renamed,
    )


class _Definition:
    """One side: its functions by kind and name, the text of each, and what tells two formulas apart."""

    def __init__(self, reward: Reward, other: Reward) -> None:
        self.reward = reward
        kinds: list[tuple[Kind, Sequence[Function | State]]] = [
            ("term", reward.terms),
            ("gate", [reward.gate] if reward.gate is not None else []),
            ("override", [each.condition for each in reward.override]),
            ("state", list(reward.states.values())),
        ]
        self.functions = {each.name: (kind, each) for kind, listed in kinds for each in listed}
        named = all(each.source is not None for side in (reward, other) for each in side._functions)
        # what was loaded from a specification has lost the names of its locals: then neither side shows them
        texts = render_functions(reward.program, reward._find_local_names() if named else {})
        bare = render_functions(reward.program, {})
        self.texts = {name: _drop_signature(text) for name, text in texts.items()}
        self.formulas = {name: _drop_signature(text) for name, text in bare.items()}
        bound = reward._bound
        declared: list[tuple[Kind, Mapping[str, Program]]] = [
            ("fact", dict.fromkeys(bound.facts_program.outputs, bound.facts_program)),
            ("goal", dict.fromkeys(bound.goal_program.outputs, bound.goal_program)),
            ("end", bound.end_programs),
        ]
        self.facts = {(kind, name): _write_flag(each, name) for kind, found in declared for name, each in found.items()}
        self.numbers = collect_numbers(reward)

    def own_numbers(self, name: str) -> dict[str, Any]:
        """Return the numbers of one function by what it calls them."""
        return {key.removeprefix(f"{name}."): v for key, v in self.numbers.items() if key.startswith(f"{name}.")}

    def describe_place(self, name: str) -> str:
        """Return what decides when and where a term counts, besides its formula."""
        function = self.functions[name][1]
        if not isinstance(function, Term):
            return ""
        return f"{find_place(function)}{', at the end of an episode' if function.terminal else ''}"


def _write_flag(program: Program, name: str) -> tuple[str, Sequence[Node]]:
    """Return what a program says of a step under a name, as text and as nodes."""
    at = program.outputs[name]
    return f"return {render_expression(program, at)}", prune(program.nodes, [at])[0]


def _drop_signature(text: str) -> str:
    return textwrap.dedent(text.partition("\n")[2])


def _find_renamed(before: _Definition, after: _Definition) -> dict[str, str]:
    """Return terms that were taken out and put in again under another name; equal numbers decide between several."""
    gone, new = (
        [name for name, (kind, _) in one.functions.items() if kind == "term" and name not in other.functions]
        for one, other in ((before, after), (after, before))
    )
    found: dict[str, str] = {}
    for exactly in (True, False):
        for name in gone:
            if name in found:
                continue
            for candidate in new:
                same = before.formulas[name] == after.formulas[candidate]
                if exactly:
                    same = same and before.own_numbers(name) == after.own_numbers(candidate)
                if same and candidate not in found.values():
                    found[name] = candidate
                    break
    return found


def _compare_functions(before: _Definition, after: _Definition, renamed: Mapping[str, str]) -> Iterator[FunctionChange]:
    new_names = {new: old for old, new in renamed.items()}
    for name, (kind, _) in before.functions.items():
        if name not in after.functions and name not in renamed:
            yield FunctionChange(kind, "removed", name, before.texts[name])
    for name, (kind, _) in after.functions.items():
        was = new_names.get(name, name)
        if was not in before.functions:
            yield FunctionChange(kind, "added", name, None, after.texts[name])
            continue
        texts = (before.texts[was], after.texts[name])
        places = before.describe_place(was), after.describe_place(name)
        moved = f"{places[0]} → {places[1]}" if places[0] != places[1] else ""
        if was != name:
            yield FunctionChange(kind, "renamed", name, *texts, note="; ".join(filter(None, (f"was {was}", moved))))
        elif before.formulas[was] != after.formulas[name]:
            yield FunctionChange(kind, "changed", name, *texts, note=moved)
        elif moved:
            yield FunctionChange(kind, "moved", name, *texts, note=moved)
    for kind, name in dict.fromkeys((*before.facts, *after.facts)):
        (was_fact, was_nodes), (fact, nodes) = (side.facts.get((kind, name), (None, ())) for side in (before, after))
        cut = "…" in (fact or "") and was_nodes != nodes
        if was_fact != fact or cut:  # a long text leaves parts out
            what: What = "added" if was_fact is None else "removed" if fact is None else "changed"
            yield FunctionChange(kind, what, name, was_fact, fact)


def _compare_numbers(before: _Definition, after: _Definition, renamed: Mapping[str, str]) -> Iterator[ValueChange]:
    """Yield numbers that differ, except those of functions that only one side has: they came or went with them."""

    def rename(name: str) -> str:
        owner, dot, rest = name.partition(".")
        return f"{renamed.get(owner, owner)}{dot}{rest}"

    old = {rename(name): value for name, value in before.numbers.items()}
    alone = (before.functions.keys() - renamed.keys()) ^ (after.functions.keys() - set(renamed.values()))
    for name in dict.fromkeys((*old, *after.numbers)):
        owner, _, rest = name.partition(".")
        gone = owner in alone or (owner == OVERRIDE and rest in alone)
        if not gone and old.get(name) != after.numbers.get(name):
            yield ValueChange(name, old.get(name), after.numbers.get(name))
    scales = before.reward._composition.scale_param, after.reward._composition.scale_param
    if scales[0] != scales[1]:
        yield ValueChange("scale", *scales)
    for name, state in before.reward.states.items():
        other = after.reward.states.get(name)
        if other is not None and state.reset != other.reset:
            yield ValueChange(f"{name} before the first step", list(state.reset), list(other.reset))
    for kind in ("term", "override"):
        orders = [[name for name, (each, _) in side.functions.items() if each == kind] for side in (before, after)]
        old_order = [renamed.get(name, name) for name in orders[0]]
        if sorted(old_order) == sorted(orders[1]) and old_order != orders[1]:
            yield ValueChange(f"the order of {kind}s", old_order, orders[1])


def _compare_fields(before: Reward, after: Reward) -> Iterator[ValueChange]:
    for name in dict.fromkeys((*before.fields, *after.fields)):
        if name not in before.fields or name not in after.fields:
            continue  # said by what is read
        was, now = field_to_dict(before.fields[name]), field_to_dict(after.fields[name])
        for part in dict.fromkeys((*was, *now)):
            if was.get(part) != now.get(part):
                yield ValueChange(f"{name}.{part}", was.get(part), now.get(part))


def _compare_steps(before: Reward, after: Reward) -> Iterator[ValueChange]:
    declared = [{"action": side.action, **_list_statements(side)} for side in (before, after)]
    for name in dict.fromkeys((*declared[0], *declared[1])):
        was, now = (each.get(name) for each in declared)
        if was != now:
            yield ValueChange(name, was, now)
    sides = [[_name_preference(preference_to_dict(each)) for each in side.task.prefer] for side in (before, after)]
    for each in sides[0]:
        if each not in sides[1]:
            yield ValueChange("preferred", each, None)
    for each in sides[1]:
        if each not in sides[0]:
            yield ValueChange("preferred", None, each)


def _list_statements(reward: Reward) -> dict[str, Any]:
    """Return what a task says besides functions, which are compared as such, and preferences."""
    found: dict[str, Any] = {"goal_ends": reward.task.goal_ends}
    for row, (part, name, value) in zip(list_task_rows(reward.task), reward.task.list_statements(), strict=True):
        if part not in ("goal", "facts", "prefer"):
            plain = isinstance(value, int | float | str) and part not in ("states", "actions", "still")
            said = value.sign if isinstance(value, End) else value if plain else row[2]
            found[f"{name}.{part}" if name else part] = said
    return found


def _name_preference(plain: Mapping[str, Any]) -> str:
    return f"{json.dumps(plain['better'])} over {json.dumps(plain['over'])}"


def _to_plain(value: Any) -> Any:
    return value.to_dict() if isinstance(value, Schedule) else value


def format_part(value: Any) -> str:
    """Return a value of a definition as people write it.

    >>> format_part(0.5), format_part(None), format_part([0.0, 1.0])
    ('0.5', '(none)', '[0, 1]')
    """
    if value is None:
        return "(none)"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(format_part, value))}]"
    return format_value(value) if isinstance(value, bool | int | float | str) else str(value)


def set_side_by_side(before: str, after: str, width: int, *, indent: int = 0) -> Iterator[str]:
    r"""Yield the lines of two texts beside each other; those that are too long for half of `width` are wrapped.

    >>> print(*set_side_by_side("return 1", "return 2", 30), sep="\n")
    return 1 |  return 2
    """
    room = max((width - indent - 4) // 2, 20)  # with a mark and blanks between them
    left, right = ([line for each in text.splitlines() for line in _wrap(each, room)] for text in (before, after))
    room = max(map(len, left), default=0)
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
    for tag, start, end, first, last in matcher.get_opcodes():
        for at in range(max(end - start, last - first)):
            one = left[start + at] if start + at < end else ""
            other = right[first + at] if first + at < last else ""
            mark = " " if tag == "equal" else "<" if not other else ">" if not one else "|"
            yield f"{' ' * indent}{one.ljust(room)} {mark}  {other}".rstrip()


def _wrap(line: str, room: int) -> list[str]:
    own = len(line) - len(line.lstrip())
    return textwrap.wrap(line, room, subsequent_indent=" " * (own + 4)) or [""]
