"""A question about rewards is itself a Program: copies of them side by side, joined by what is asked.

The answer is one of three things: a row that shows it, that there is none, or that it is unknown.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from plaudit.checks.solver.ranges import NumericRow, declared_range
from plaudit.language import nodes as n
from plaudit.language.field import Field
from plaudit.language.intervals import Interval, bound_nodes_within
from plaudit.language.program import Builder, Program, find_reachable, renumber
from plaudit.reward.task.bound import narrow

MOST_INFINITE = 3
"""Up to this many inputs that can be infinite are tried in every combination."""


@dataclass(frozen=True, slots=True)
class Witness:
    """Yes: here is a row."""

    row: NumericRow


@dataclass(frozen=True, slots=True)
class Impossible:
    """No: there is no such row."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nobody can tell."""

    reason: str = ""


SolverAnswer = Witness | Impossible | Unknown


class Copy:
    """A Program inside a question."""

    def __init__(self, program: Program, moved: Mapping[int, int]) -> None:
        self._program = program
        self._moved = moved

    def __getitem__(self, output: str) -> int:
        """Return the position of an output: `total`, `comfort.value`."""
        return self._moved[self._program.outputs[output]]

    def at(self, position: int) -> int:
        """Return where a node of the Program went."""
        return self._moved[position]

    @property
    def guards(self) -> list[int]:
        """The conditions under which its row can be scored."""
        return [self._moved[guard.node] for guard in self._program.value_guards]


class Question:
    """A Program that is put together: what may be chosen, what is given, and what is asked.

    >>> from plaudit import Field, Reward, term
    >>> @term
    ... def closer(distance, speed):
    ...     return speed - distance
    >>> fields = [Field("distance", low=0, high=9), Field("speed", low=0, high=5)]
    >>> reaching = Reward("reaching", version="1", terms=[closer], fields=fields)
    >>> question = Question()
    >>> near, far = (question.copy(reaching.program, {"distance": name}) for name in ("near", "far"))
    >>> asked = question.minus(near["total"], far["total"])
    >>> sorted(question.program(asked).inputs)
    ['far', 'near', 'speed']
    """

    def __init__(self) -> None:
        self.builder = Builder()
        self.inputs: dict[str, Field] = {}
        self.given: list[int] = []

    def copy(
        self,
        program: Program,
        names: Mapping[str, str] | None = None,
        fixed: Mapping[str, float] | None = None,
        *,
        scored: bool = True,
    ) -> Copy:
        """Add the nodes of `program`, with some inputs renamed and some fixed; its row can be `scored`."""
        names, fixed = names or {}, fixed or {}
        whole = program.bind() if program.params else program
        moved: dict[int, int] = {}
        for at, node in enumerate(whole.nodes):
            match node:
                case n.Input(name):
                    moved[at] = self.input(names.get(name, name), whole.inputs[name], fixed.get(name))
                case n.Label(field, value):
                    labels = next(each.labels for each in whole.inputs.values() if each.name == field)
                    moved[at] = self.number(labels.index(value))
                case _:
                    moved[at] = self._simplify(renumber(node, moved))
        made = Copy(whole, moved)
        if scored:
            self.given += made.guards
        return made

    def _simplify(self, node: n.Node) -> int:
        """Return the position of a node; what is taken from itself leaves 0, unless it can be infinite."""
        if isinstance(node, n.Sub) and node.left == node.right and not self._infinite:
            return self.number(0.0)
        return self.builder.simplify(node)

    @property
    def _infinite(self) -> bool:
        """Whether anything in the question can be infinite: an input, or a constant."""
        constants = (node.value for node in self.builder.nodes if isinstance(node, n.Const))
        return any(field.infinite for field in self.inputs.values()) or not all(map(math.isfinite, constants))

    def input(self, name: str, field: Field, fixed: float | None = None) -> int:
        """Return the position of an input, or of the value that it is fixed to; a category is its position."""
        if fixed is None:
            self.inputs.setdefault(name, field)
            return self.builder.add(n.Input(name))
        return self.builder.const(bool(fixed) if field.kind == "flag" else float(fixed))

    def require(self, flag: int) -> None:
        """Ask only about what makes `flag` true."""
        self.given.append(flag)

    def number(self, value: float) -> int:
        """Return the position of a number."""
        return self.builder.const(float(value))

    def plus(self, *terms: int) -> int:
        """Return the position of a sum."""
        first, *others = terms
        for other in others:
            first = self.builder.simplify(n.Add(first, other))
        return first

    def minus(self, left: int, right: int) -> int:
        """Return the position of a difference; what differs from itself by nothing is 0."""
        if left == right:
            return self.number(0.0)
        return self.builder.simplify(n.Sub(left, right))

    def times(self, factor: float, at: int) -> int:
        """Return the position of a multiple."""
        return self.builder.simplify(n.Mul(at, self.number(factor)))

    def compare(self, left: int, how: Callable[[int, int], n.Node], right: int) -> int:
        """Return the position of a comparison: `compare(gain, nodes.Gt, zero)`."""
        return self.builder.simplify(how(left, right))

    def same(self, left: int, right: int) -> int:
        """Return the position of the condition that two numbers, or two flags, are equal."""
        if not self.builder.nodes[right].flag and not self._is_flag(right):
            return self.compare(left, n.Eq, right)
        both, neither = n.And(left, right), n.And(self.negate(left), self.negate(right))
        return self.builder.simplify(n.Or(self.builder.simplify(both), self.builder.simplify(neither)))

    def _is_flag(self, at: int) -> bool:
        node = self.builder.nodes[at]
        return isinstance(node, n.Input) and self.inputs[node.name].kind == "flag"

    def negate(self, flag: int) -> int:
        """Return the position of a negation."""
        return self.builder.simplify(n.Not(flag))

    def distance(self, left: int, right: int) -> int:
        """Return the position of an absolute difference."""
        return self.builder.simplify(n.Abs(self.minus(left, right)))

    def all(self, flags: Iterable[int]) -> int:
        """Return the position of a conjunction."""
        return self.builder.all(flags)

    def program(self, asked: int) -> Program:
        """Return the question: outputs `asked`, and `given`, which must be true.

        What is given about inputs that have nothing to do with what is asked is left out.
        """
        whole = self._build_program({"asked": asked, "given": self.builder.all(self._list_relevant(asked))}).prune()
        read = {node.name for node in whole.nodes if isinstance(node, n.Input)}
        return replace(whole, inputs={name: field for name, field in self.inputs.items() if name in read})

    def _build_program(self, outputs: dict[str, int]) -> Program:
        nodes = tuple(self.builder.nodes)
        return Program("question", (), nodes, self.inputs, {}, outputs, frozenset(), value_guards=(), ranges=())

    def _list_relevant(self, asked: int) -> list[int]:
        """Return the conditions that share an input with what is asked, directly or through one another."""
        nodes = tuple(self.builder.nodes)
        waiting = {flag: list_inputs(nodes, flag) for flag in dict.fromkeys(self.given)}
        never = self._find_impossible() if self._infinite else set()
        kept: list[int] = [flag for flag, names in waiting.items() if not names or flag in never]
        known = set(list_inputs(nodes, asked))
        while joined := [flag for flag, names in waiting.items() if flag not in kept and names & known]:
            kept += joined
            known.update(*(waiting[flag] for flag in joined))
        return kept

    def _find_impossible(self) -> set[int]:
        """Return the conditions that no inputs meet: what is added to infinity is never finite."""
        bounds = self.bound_nodes()
        return {flag for flag in self.given if bounds[flag].high == 0}

    def bound_nodes(self) -> tuple[Interval, ...]:
        """Return an interval that holds each node, whatever the inputs are."""
        ends = {name: (declared_range(field), field.infinite) for name, field in self.inputs.items()}
        box = {name: Interval(known.low, math.inf) if infinite else known for name, (known, infinite) in ends.items()}
        return bound_nodes_within(self._build_program({}), box)


def list_inputs(nodes: tuple[n.Node, ...], at: int) -> frozenset[str]:
    """Return the inputs that a node depends on."""
    return frozenset(node.name for each in find_reachable(nodes, [at]) if isinstance(node := nodes[each], n.Input))


def splits_completely(program: Program) -> bool:
    """Return whether `split_by_infinity` leaves no combination of infinite inputs out."""
    return sum(field.infinite for field in program.inputs.values()) <= MOST_INFINITE


def split_by_infinity(program: Program) -> list[Program]:
    """Return a question once for every way in which its unlimited inputs can be finite or infinite.

    With many such inputs, once with all of them finite and once for each of them alone at infinity.
    """
    open_ends = [name for name, field in program.inputs.items() if field.infinite]
    ways: list[tuple[str, ...]] = [()]
    if splits_completely(program):
        for name in open_ends:
            ways += [(*way, name) for way in ways]
    else:
        ways += [(name,) for name in open_ends]
    return [_fix_infinite(program, set(way)) for way in ways]


def _fix_infinite(program: Program, infinite: set[str]) -> Program:
    question = Question()
    finite = {name: narrow(field, infinite=False) for name, field in program.inputs.items()}
    fields = {name: field if name in infinite else finite[name] for name, field in program.inputs.items()}
    copy = question.copy(replace(program, inputs=fields), fixed=dict.fromkeys(infinite, math.inf))
    question.require(copy["given"])
    return question.program(copy["asked"])
