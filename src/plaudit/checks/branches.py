"""The branches of a reward: its decisions, which way each goes in a row, and the lines of the source that are reached.

A branch is one way that a decision can go in one term: a comparison that comes out true where that changes what is
chosen, a clamp that binds, an entry of a table. `a and b` is two decisions: `b` decides only where `a` is true. That is
what testers call modified condition/decision coverage (Chilenski and Miller 1994): whoever wrote another threshold for
`b` is found out only by rows on which `b` decides.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from plaudit.checks.solver.ranges import decode_value
from plaudit.language import nodes as n
from plaudit.language.field import Field
from plaudit.language.kinds import FLAG, infer_kinds
from plaudit.language.parameters import expand_parameters, find_schedules
from plaudit.language.program import PYTHON_OPERATIONS, Builder, Program, find_reachable
from plaudit.language.reading.context import Mark
from plaudit.language.reading.source import SourceLine
from plaudit.language.writing.render import render_expression
from plaudit.reward.lower import Function
from plaudit.reward.reward import Reward
from plaudit.terminal import escape_controls, format_value

if TYPE_CHECKING:
    from plaudit.checks.trace import Values  # with NumPy, which listing the rules does not load

MOST_OPERANDS = 64
"""Of a longer chain of `and` and `or`, or of a larger table, only this many parts are examined one by one."""
LONGEST = 60
"""Characters of an expression that are shown of a branch."""

Value = float | bool | str
Place = int | float
"""A node by its position, or a number, which is a float."""
Requirement = tuple[int, bool] | tuple[int, type[n.Node], Place]
"""What a flag must be, or how the value at a node must compare with another."""
SIDES = {-1: "below", 0: "between", 1: "above"}


class Condition(NamedTuple):
    """A condition that a step was tested for, and its result.

    >>> print(Condition("distance < 5", 5.4, False))
    distance < 5 is false (5.4)
    """

    text: str
    """`distance < 5`; of a clamp or a choice, which way it went: `score > 1`."""
    value: Value
    """What is compared, or the flag itself."""
    holds: bool

    def __str__(self) -> str:
        """Return it as a sentence: 'distance < 5 is false (5.4)'."""
        shown = "" if isinstance(self.value, bool) else f" ({format_value(self.value)})"
        return escape_controls(f"{self.text} is {'true' if self.holds else 'false'}{shown}")


class Decision(NamedTuple):
    """Something that can go one way or another in a term."""

    root: str
    """The output it is a decision of: `comfort.value`, `total`."""
    user: int
    """The node that is reached when it is taken."""
    node: int
    """The node that goes one way or another: a flag, or `user` itself."""
    given: tuple[Requirement, ...] = ()
    """The other parts of the same condition, and what they must be for this one to decide."""


class Branch(NamedTuple):
    """One way that a decision can go."""

    decision: Decision
    way: int
    """1 and 0 for true and false; -1, 0 and 1 for below, between and above; the position in a table."""


class Branches:
    """All branches of a Program, whose parameters must be bound."""

    def __init__(self, program: Program) -> None:
        """Find the branches of every term, and of the clamp of the total."""
        from plaudit.checks.trace import Trace

        self.program = program
        self.trace = Trace(program)
        self.flags = [kind == FLAG for kind in infer_kinds(program.nodes, program.inputs, program.params)]
        self.sides = {at: sides for at, node in enumerate(program.nodes) if (sides := _find_sides(node)) is not None}
        """What each choice weighs: a number, and the ends below and above which it goes another way."""
        self._operands: dict[int, Sequence[tuple[int, tuple[Requirement, ...]]]] = {}
        roots = [f"{term}.value" for term in program.terms]
        known: set[int] = set()
        self.walks: dict[str, Walk] = {}
        for root in [*roots, "total"]:
            order = sorted(find_reachable(program.nodes, [program.outputs[root]]), reverse=True)
            own = [at for at in order if root != "total" or at not in known]  # what terms decide is theirs
            known |= set(order)
            self.walks[root] = self._build_walk(root, own)
        every = (decision for walk in self.walks.values() for parts in walk.parts.values() for decision in parts)
        self.all = tuple(Branch(decision, way) for decision in every for way in self._list_ways(decision))
        self._known = frozenset(self.all)

    def _build_walk(self, root: str, order: Sequence[int]) -> "Walk":
        parts = {
            at: (*self._list_conditions(root, at), *([Decision(root, at, at)] if self._chooses(at) else []))
            for at in order
            if not isinstance(self.program.nodes[at], n.And | n.Or | n.Not)  # those are parts of whatever uses them
        }
        return Walk(self.program.outputs[root], tuple(order), parts)

    def _chooses(self, at: int) -> bool:
        return at in self.sides or isinstance(self.program.nodes[at], n.Item)

    def _list_conditions(self, root: str, user: int) -> Iterator[Decision]:
        node = self.program.nodes[user]
        for operand in dict.fromkeys(n.operands(node)):
            chosen: tuple[Requirement, ...] = ()
            if isinstance(node, n.Select) and operand != node.condition:
                chosen = ((node.condition, operand == node.then),)
            for leaf, given in self._split_condition(operand, chosen)[:MOST_OPERANDS] if self.flags[operand] else ():
                if not isinstance(self.program.nodes[leaf], n.Const):
                    yield Decision(root, user, leaf, given)

    def _split_condition(self, at: int, given: tuple[Requirement, ...]) -> list[tuple[int, tuple[Requirement, ...]]]:
        match self.program.nodes[at]:
            case n.Not(arg):
                return self._split_condition(arg, given)
            case n.And(left, right) | n.Or(left, right) as node if len(given) < MOST_OPERANDS:
                quiet = isinstance(node, n.And)
                return [
                    *self._split_condition(left, (*given, (right, quiet))),
                    *self._split_condition(right, (*given, (left, quiet))),
                ]
        return [(at, given)]

    def _list_ways(self, decision: Decision) -> Sequence[int]:
        match self.program.nodes[decision.node]:
            case _ if decision.user != decision.node:
                return (1, 0)
            case n.Clip():
                return (-1, 0, 1)
            case n.Item(table):
                return range(min(len(table), MOST_OPERANDS))
        return (-1, 1)

    def find_taken(self, values: "Values") -> set[Branch]:
        """Return the branches that a row takes, by the values of all nodes."""
        return {branch for root in self.walks for branch in self.find_path(root, values).branches}

    def find_path(self, root: str, values: "Values") -> "Path":
        """Return the way that a row takes to one output."""
        walk = self.walks[root]
        taken: set[Branch] = set()
        reached = {walk.root}
        for at in walk.order:
            if at not in reached:
                continue
            for decision in walk.parts.get(at, ()):
                if all(_is_met(each, values) for each in decision.given):
                    reached.add(decision.node)
                    taken.add(Branch(decision, self.read_way(decision, values)))
            reached.update(
                operand for operand, needed in self.list_operands(at) if all(_is_met(each, values) for each in needed)
            )
        return Path(frozenset(reached), frozenset(taken & self._known))

    def read_way(self, decision: Decision, values: "Values") -> int:
        """Return the way that a decision goes in a row, by the values of all nodes."""
        if decision.user != decision.node:
            return int(bool(values[decision.node]))
        if isinstance(node := self.program.nodes[decision.node], n.Item):
            return int(values[node.index]) if math.isfinite(values[node.index]) else -1
        number, low, high = (read_number(each, values) for each in self.sides[decision.node])
        return (number > high) - (number < low)

    def list_requirements(self, branch: Branch) -> tuple[Requirement, ...]:
        """Return what must be true of a row for it to take a branch, where it gets to the decision."""
        decision, way = branch
        if decision.user != decision.node:
            return *decision.given, (decision.node, bool(way))
        if isinstance(node := self.program.nodes[decision.node], n.Item):
            return *decision.given, (node.index, n.Eq, float(way))
        return *decision.given, *_list_side(*self.sides[decision.node], way)

    def list_operands(self, at: int) -> Sequence[tuple[int, tuple[Requirement, ...]]]:
        """Return what the value of a node may depend on, each with when it does; conditions are apart."""
        if at not in self._operands:
            self._operands[at] = self._find_operands(at)
        return self._operands[at]

    def _find_operands(self, at: int) -> Sequence[tuple[int, tuple[Requirement, ...]]]:
        match self.program.nodes[at]:
            case n.Select(condition, then, otherwise):
                return (then, ((condition, True),)), (otherwise, ((condition, False),))
            case n.Min(left, right) | n.Max(left, right) as node:
                kind = n.Le if isinstance(node, n.Min) else n.Ge
                return (left, ((left, kind, right),)), (right, ((right, kind, left),))
            case n.Clip(arg, low, high):
                return tuple(
                    (operand, _list_side(arg, low, high, way)) for operand, way in ((arg, 0), (low, -1), (high, 1))
                )
            case node:
                return tuple((operand, ()) for operand in n.operands(node) if not self.flags[operand])

    def describe(self, branch: Branch) -> str:
        """Return a branch as people are told: its term, and what is true of it."""
        decision, way = branch
        return f"{decision.root.removesuffix('.value')}: {self._describe_way(decision, way)}"

    def _describe_way(self, decision: Decision, way: int) -> str:
        node = self.program.nodes[decision.node]
        if decision.user != decision.node:
            return f"`{self.render(decision.node)}` is {'true' if way else 'false'}"
        if isinstance(node, n.Item):
            return f"`{self.render(node.index)}` is {self._name_entry(node.index, way)}"
        arg, low, high = map(self.render, self.sides[decision.node])
        ends = f"{low} and {high}" if way == 0 else low if way < 0 else high
        return f"`{arg}` is {SIDES[way]} {f'`{ends}`' if isinstance(node, n.Binary) else ends}"

    def read_condition(self, branch: Branch, values: "Values") -> Condition:
        """Return a branch that a row takes as a condition that was tested."""
        decision, way = branch
        node = self.program.nodes[decision.node]
        if decision.user != decision.node:
            tested = decision.node
            if isinstance(node, n.Binary) and not node.takes_flags:
                tested = node.right if isinstance(self.program.nodes[node.left], n.Const) else node.left
            return Condition(self.render(decision.node), self._decode(tested, values), bool(way))
        if isinstance(node, n.Item):
            label = self._decode(node.index, values)
            return Condition(f"{self.render(node.index)} == {label!r}", label, True)
        arg, low, high = self.sides[decision.node]
        if isinstance(node, n.Binary) and isinstance(self.program.nodes[node.left], n.Const):
            arg, low, high, way = node.right, node.left, node.left, -way
        name, ends = self._name(decision, arg), [self.render(low), self.render(high)]
        text = f"{name} {'<>'[way > 0]} {ends[way > 0]}" if way else f"{ends[0]} <= {name} <= {ends[1]}"
        return Condition(text, self._decode(arg, values), True)

    def _name(self, decision: Decision, at: int) -> str:
        if isinstance(self.program.nodes[decision.node], n.Abs):
            return self.render(at)
        if decision.root == "total":
            return "total"
        clamp, score = (
            self.program.outputs.get(f"{decision.root.removesuffix('.value')}.{part}") for part in ("clamped", "score")
        )
        return "score" if decision.node == clamp and at == score else self.render(at)

    def _decode(self, at: int, values: "Values") -> Value:
        node, value = self.program.nodes[at], values[at]
        return decode_value(self.program.inputs[node.name], value) if isinstance(node, n.Input) else value

    def _name_entry(self, index: int, way: int) -> str:
        match self.program.nodes[index]:
            case n.Input(name) if self.program.inputs[name].kind == "category":
                return repr(decode_value(self.program.inputs[name], way))
        return str(way)

    def render(self, at: Place) -> str:
        """Return a node as readable Python in a line, a long one cut short."""
        if isinstance(at, float):
            return f"{at:g}"
        text = render_expression(self.program, at)
        return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


class Path(NamedTuple):
    """The way that a row takes to an output."""

    nodes: frozenset[int]
    """What the output depends on in this row."""
    branches: frozenset[Branch]


@dataclass(frozen=True, slots=True)
class Walk:
    """How one output is walked through, from its last node to its first."""

    root: int
    order: tuple[int, ...]
    parts: dict[int, tuple[Decision, ...]]
    """The decisions that are taken at each node."""


def _find_sides(node: n.Node) -> tuple[int, Place, Place] | None:
    match node:
        case n.Min(left, right) | n.Max(left, right):
            return left, right, right
        case n.Abs(arg):
            return arg, 0.0, 0.0
        case n.Clip(arg, low, high):
            return arg, low, high
    return None


def _list_side(arg: int, low: Place, high: Place, way: int) -> tuple[Requirement, ...]:
    """Return what must be true where a number is below, between or above the ends of a choice."""
    if way:
        return ((arg, n.Lt, low) if way < 0 else (arg, n.Gt, high),)
    return (arg, n.Ge, low), (arg, n.Le, high)


def read_number(place: Place, values: "Values") -> float:
    """Return the value at a place in a row."""
    return place if isinstance(place, float) else values[place]


def _is_met(requirement: Requirement, values: "Values") -> bool:
    if len(requirement) == 2:
        return bool(values[requirement[0]]) == requirement[1]
    left, kind, right = requirement
    return bool(PYTHON_OPERATIONS[kind](values[left], read_number(right, values)))


@dataclass(frozen=True, slots=True)
class MarkedTerm:
    """A term, read again with its places marked; knobs that are flags or follow a schedule are left open, as inputs."""

    program: Program
    """Outputs `reached 0`, `test 0`, …, one of each for every mark that has them."""
    marks: tuple[Mark, ...]

    def locate(self, at: int) -> SourceLine:
        """Return where a mark stands."""
        mark = self.marks[at]
        return SourceLine(mark.file, mark.line, mark.text)

    def group_places(self) -> list[list[int]]:
        """Return the marks of each place: a helper that is called twice has each of its places twice."""
        found: dict[tuple[str, int, int, str], list[int]] = {}
        for at, mark in enumerate(self.marks):
            if mark.test is None:
                found.setdefault((mark.file, mark.line, mark.column, mark.text), []).append(at)
        return list(found.values())


def mark_branches(reward: Reward, term: Function) -> MarkedTerm | None:
    """Return a term, gate or condition with its places marked; None where it was loaded and has no source."""
    if term.source is None:
        return None
    known: dict[str, MarkedTerm] = vars(reward).setdefault("_marked", {})  # a reward does not change: read it once
    if term.name not in known:
        known[term.name] = _read_marks(reward, term)
    return known[term.name]


def _read_marks(reward: Reward, term: Function) -> MarkedTerm:
    builder = Builder()
    reading = reward._read_function(builder, term)
    owners = (term, *reward.states.values())
    numbers = {name: value for owner in owners for name, value in owner.numbers.items()} | dict(reward.shared)
    params = expand_parameters(numbers)
    switches = {name: Field("switch", flag=True) for name, value in params.items() if isinstance(value, bool)}
    for name, schedule in find_schedules(numbers).items():
        low, high = schedule.span
        switches[name] = Field("schedule", low=low, high=high)
    nodes = [
        n.Input(node.name) if isinstance(node, n.Param) and node.name in switches else node for node in builder.nodes
    ]
    outputs = {f"reached {at}": mark.reached for at, mark in enumerate(reading.marks)}
    outputs |= {f"test {at}": mark.test for at, mark in enumerate(reading.marks) if mark.test is not None}
    inputs = {**reading.inputs, **switches}
    inputs |= {"terminal": Field("terminal", flag=True)} if term.terminal else {}
    program = Program(
        reward.name, (), tuple(nodes), inputs, params, outputs, frozenset(), value_guards=reading.guards, ranges=()
    )
    return MarkedTerm(program.bind(), reading.marks)


def list_places(lines: Sequence[SourceLine], most: int) -> Iterator[tuple[SourceLine, str]]:
    """Yield the first of some places of a term, and with the last of these a sentence about the others."""
    for at, line in enumerate(lines[:most]):
        more = len(lines) - most if at == most - 1 else 0
        yield line, f" The same is true of {more} other places in it." if more > 0 else ""
