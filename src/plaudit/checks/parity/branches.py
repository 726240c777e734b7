"""The branches of a reward: which of them a row takes, and whether there is a row that takes another.

A branch is one way that a decision can go in one term: a comparison that comes out true where that changes what is
chosen, a clamp that binds, an entry of a table. `a and b` is two decisions: `b` decides only where `a` is true. That is
what testers call modified condition/decision coverage (Chilenski and Miller 1994): whoever wrote another threshold for
`b` is found out only by rows on which `b` decides.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from plaudit.checks.model import RewardModel, drop_sure_guards
from plaudit.checks.parity.trace import Trace, Values
from plaudit.checks.solver.deadline import TIME_IS_UP
from plaudit.checks.solver.question import Copy, Impossible, Question, SolverAnswer, Unknown
from plaudit.checks.solver.ranges import decode_value
from plaudit.checks.solver.solver import Solver, TimeIsUp
from plaudit.language import nodes as n
from plaudit.language.program import Program, find_reachable
from plaudit.language.writing.render import render_expression
from plaudit.rows.row import FlatRow

MOST_OPERANDS = 64
"""Of a longer chain of `and` and `or`, or of a larger table, only so many parts are looked at one by one."""
LONGEST = 60
"""Characters of an expression that are shown of a branch."""


class Decision(NamedTuple):
    """Something that can go one way or another in a term."""

    root: str
    """The output it is a decision of: `comfort.value`, `total`."""
    user: int
    """The node that is reached when it is taken."""
    node: int
    """The node that goes one way or another: a flag, or `user` itself."""
    given: tuple[tuple[int, bool], ...] = ()
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
        self.program = program
        self.flags = [_is_flag(program, at) for at in range(len(program.nodes))]
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
            at: (*self._list_conditions(root, at), *self._list_choices(root, at))
            for at in order
            if not isinstance(self.program.nodes[at], n.And | n.Or | n.Not)  # those are parts of whatever uses them
        }
        return Walk(self.program.outputs[root], tuple(order), parts)

    def _list_conditions(self, root: str, user: int) -> Iterator[Decision]:
        """Yield the parts of every condition that a node reads."""
        node = self.program.nodes[user]
        for operand in dict.fromkeys(n.operands(node)):
            chosen: tuple[tuple[int, bool], ...] = ()
            if isinstance(node, n.Select) and operand != node.condition:
                chosen = ((node.condition, operand == node.then),)
            for leaf, given in self._split_condition(operand, chosen)[:MOST_OPERANDS] if self.flags[operand] else ():
                if not isinstance(self.program.nodes[leaf], n.Const):
                    yield Decision(root, user, leaf, given)

    def _split_condition(
        self, at: int, given: tuple[tuple[int, bool], ...]
    ) -> list[tuple[int, tuple[tuple[int, bool], ...]]]:
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

    def _list_choices(self, root: str, at: int) -> Iterator[Decision]:
        if isinstance(self.program.nodes[at], n.Min | n.Max | n.Abs | n.Clip | n.Item):
            yield Decision(root, at, at)

    def _list_ways(self, decision: Decision) -> Sequence[int]:
        match self.program.nodes[decision.node]:
            case _ if decision.user != decision.node:
                return (1, 0)
            case n.Clip():
                return (-1, 0, 1)
            case n.Item(table):
                return range(min(len(table), MOST_OPERANDS))
        return (-1, 1)

    def find_taken(self, values: Values) -> set[Branch]:
        """Return the branches that a row takes, by the values of all nodes."""
        return {branch for root in self.walks for branch in self.find_path(root, values).branches}

    def find_path(self, root: str, values: Values) -> "Path":
        """Return the way that a row takes to one output."""
        walk = self.walks[root]
        taken: set[Branch] = set()
        reached = {walk.root}
        for at in walk.order:
            if at not in reached:
                continue
            for decision in walk.parts.get(at, ()):
                if all(bool(values[other]) == wanted for other, wanted in decision.given):
                    reached.add(decision.node)
                    taken.add(Branch(decision, self.read_way(decision, values)))
            reached.update(self._list_operands(at, values))
        return Path(frozenset(reached), frozenset(taken & self._known))

    def read_way(self, decision: Decision, values: Values) -> int:
        """Return the way that a decision goes in a row, by the values of all nodes."""
        match self.program.nodes[decision.node]:
            case _ if decision.user != decision.node:
                return int(bool(values[decision.node]))
            case n.Min(left, right) | n.Max(left, right):
                return (values[left] > values[right]) - (values[left] < values[right])
            case n.Abs(arg):
                return (values[arg] > 0) - (values[arg] < 0)
            case n.Clip(arg, low, high):
                return (values[arg] > values[high]) - (values[arg] < values[low])
            case n.Item(_, index):
                return int(values[index]) if math.isfinite(values[index]) else -1
        raise AssertionError(decision)

    def _list_operands(self, at: int, values: Values) -> Iterable[int]:
        """Return the operands that the value of a node depends on in this row; conditions are apart."""
        match self.program.nodes[at]:
            case n.Select(condition, then, otherwise):
                return (then if values[condition] else otherwise,)
            case n.Min(left, right) | n.Max(left, right) if values[left] != values[right]:
                return (left if values[at] == values[left] else right,)
            case n.Clip(arg, low, high):
                return (low if values[arg] < values[low] else high if values[arg] > values[high] else arg,)
        return (operand for operand in n.operands(self.program.nodes[at]) if not self.flags[operand])

    def describe(self, branch: Branch) -> str:
        """Return a branch as people are told: its term, and what is true of it."""
        decision, way = branch
        term = decision.root.removesuffix(".value")
        return f"{term}: {self._describe_way(self.program.nodes[decision.node], decision, way)}"

    def _describe_way(self, node: n.Node, decision: Decision, way: int) -> str:
        sides = {-1: "below", 0: "between", 1: "above"}
        match node:
            case _ if decision.user != decision.node:
                return f"`{self.render(decision.node)}` is {'true' if way else 'false'}"
            case n.Clip(arg, low, high):
                ends = (
                    f"{self.render(low)} and {self.render(high)}" if way == 0 else self.render(low if way < 0 else high)
                )
                return f"`{self.render(arg)}` is {sides[way]} {ends}"
            case n.Item(_, index):
                return f"`{self.render(index)}` is {self._name_entry(index, way)}"
            case n.Abs(arg):
                return f"`{self.render(arg)}` is {sides[way]} 0"
            case n.Binary(left, right):
                return f"`{self.render(left)}` is {sides[way]} `{self.render(right)}`"
        raise AssertionError(decision)

    def _name_entry(self, index: int, way: int) -> str:
        match self.program.nodes[index]:
            case n.Input(name) if self.program.inputs[name].kind == "category":
                return repr(decode_value(self.program.inputs[name], way))
        return str(way)

    def render(self, at: int) -> str:
        """Return a node as readable Python in a line, a long one cut short."""
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


class Coverage:
    """The branches that rows have taken so far."""

    def __init__(self, branches: Branches) -> None:
        """Begin with none."""
        self.branches = branches
        self._trace = Trace(branches.program)
        self._taken: set[Branch] = set()

    def add(self, row: FlatRow) -> None:
        """Take a row into account."""
        if len(self._taken) < len(self.branches.all):
            self._taken |= self.branches.find_taken(self._trace.values(row))

    def describe_rest(self, questions: "BranchQuestions") -> dict[str, Any]:
        """Return what a report says of the branches: how many, those that no row took, those that none can take."""
        rest = [branch for branch in self.branches.all if branch not in self._taken]
        impossible = {branch for branch in rest if isinstance(questions.find_row(branch), Impossible)}
        return {
            "branches": len(self.branches.all),
            "unreached": tuple(self.branches.describe(branch) for branch in rest if branch not in impossible),
            "unreachable": tuple(self.branches.describe(branch) for branch in rest if branch in impossible),
        }


class BranchQuestions:
    """Which row takes a branch, asked of the solver: within the declared ranges, and true to the facts."""

    def __init__(self, branches: Branches, model: RewardModel, solver: Solver) -> None:
        self._branches = branches
        self._solver = solver
        self._reached: dict[str, dict[int, int]] = {}
        self._answers: dict[Branch, SolverAnswer] = {}
        self._question = Question()
        self._copy: Copy = self._question.copy(drop_sure_guards(branches.program))
        model.require_facts(self._question)

    def find_row(self, branch: Branch) -> SolverAnswer:
        """Return a row that takes a branch, Impossible where there is none."""
        if branch not in self._answers:
            try:
                self._answers[branch] = self._ask(branch)
            except TimeIsUp:
                return Unknown(TIME_IS_UP)
        return self._answers[branch]

    def _ask(self, branch: Branch) -> SolverAnswer:
        decision, way = branch
        question, copy = self._question, self._copy
        flags = [self._find_reached(decision.root)[decision.user]]
        flags += [self._require(other, wanted) for other, wanted in decision.given]
        match self._branches.program.nodes[decision.node]:
            case _ if decision.user != decision.node:
                flags.append(self._require(decision.node, bool(way)))
            case n.Min(left, right) | n.Max(left, right):
                flags.append(question.compare(copy.at(left), n.Lt if way < 0 else n.Gt, copy.at(right)))
            case n.Abs(arg):
                flags.append(question.compare(copy.at(arg), n.Lt if way < 0 else n.Gt, question.number(0.0)))
            case n.Clip():
                flags.append(self._require_side(decision.node, way))
            case n.Item(_, index):
                flags.append(question.compare(copy.at(index), n.Eq, question.number(way)))
        return self._solver.find_example(question, question.all(dict.fromkeys(flags)))

    def _find_reached(self, root: str) -> dict[int, int]:
        """Return for each node of an output the flag that says whether the output depends on it."""
        if root not in self._reached:
            self._reached[root] = self._build_reached(root)
        return self._reached[root]

    def _build_reached(self, root: str) -> dict[int, int]:
        branches, builder = self._branches, self._question.builder
        walk = branches.walks[root]
        reached = {walk.root: builder.const(True)}

        def add(at: int, user: int, *flags: int) -> None:
            flag = self._question.all([reached[user], *flags])
            reached[at] = builder.simplify(n.Or(reached[at], flag)) if at in reached else flag

        for at in walk.order:
            if at not in reached:
                continue
            for decision in walk.parts.get(at, ()):
                if decision.node != at:
                    add(decision.node, at, *(self._require(*each) for each in decision.given))
            for operand, flag in self._list_operand_flags(at):
                add(operand, at, *([] if flag is None else [flag]))
        return reached

    def _list_operand_flags(self, at: int) -> Iterator[tuple[int, int | None]]:
        """Yield what the value of a node may depend on, and the flag that says when."""
        question, copy = self._question, self._copy
        match self._branches.program.nodes[at]:
            case n.Select(condition, then, otherwise):
                yield then, copy.at(condition)
                yield otherwise, question.negate(copy.at(condition))
            case n.Min(left, right) | n.Max(left, right) as node:
                less = isinstance(node, n.Min)
                yield left, question.compare(copy.at(left), n.Le if less else n.Ge, copy.at(right))
                yield right, question.compare(copy.at(right), n.Le if less else n.Ge, copy.at(left))
            case n.Clip(arg, low, high):
                yield from ((operand, self._require_side(at, way)) for operand, way in ((arg, 0), (low, -1), (high, 1)))
            case node:
                yield from ((operand, None) for operand in n.operands(node) if not self._branches.flags[operand])

    def _require(self, at: int, wanted: bool) -> int:
        flag = self._copy.at(at)
        return flag if wanted else self._question.negate(flag)

    def _require_side(self, clip: int, way: int) -> int:
        question, copy = self._question, self._copy
        node = self._branches.program.nodes[clip]
        assert isinstance(node, n.Clip)
        arg, low, high = (copy.at(at) for at in n.operands(node))
        if way:
            return question.compare(arg, n.Lt if way < 0 else n.Gt, low if way < 0 else high)
        return question.all([question.compare(arg, n.Ge, low), question.compare(arg, n.Le, high)])


def _is_flag(program: Program, at: int) -> bool:
    """Return whether a node is true or false."""
    match program.nodes[at]:
        case n.Const(value):
            return isinstance(value, bool)
        case n.Input(name):
            return program.inputs[name].kind == "flag"
        case n.Item(table):
            return isinstance(table[0], bool)
        case n.Select(_, then):
            return _is_flag(program, then)
        case node:
            return node.flag
