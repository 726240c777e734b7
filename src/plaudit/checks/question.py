"""A question about rewards is itself a Program: copies of them side by side, joined by what is asked."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from plaudit.language import nodes as n
from plaudit.language.field import Field
from plaudit.language.program import Builder, Program, reachable, renumbered


class Copy:
    """A Program inside a question."""

    def __init__(self, program: Program, moved: Mapping[int, int]) -> None:
        """Keep where each node of `program` went."""
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
        return [self._moved[guard.node] for guard in self._program.domain]


class Question:
    """A Program that is put together: what may be chosen, what is given, and what is asked.

    >>> from plaudit.systems import load
    >>> question = Question()
    >>> near, far = (question.copy(load("roadsense").program, {"distance": d}) for d in ("near", "far"))
    >>> asked = question.minus(near["total"], far["total"])
    >>> sorted(question.program(asked).inputs)
    ['action', 'deceleration', 'far', 'near']
    """

    def __init__(self) -> None:
        """Begin with nothing."""
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
        whole = program.bound() if program.params else program
        moved: dict[int, int] = {}
        for at, node in enumerate(whole.nodes):
            match node:
                case n.Input(name):
                    moved[at] = self.input(names.get(name, name), whole.inputs[name], fixed.get(name))
                case n.Label(field, value):
                    labels = next(each.labels for each in whole.inputs.values() if each.name == field)
                    moved[at] = self.number(labels.index(value))
                case _:
                    moved[at] = self._simplified(renumbered(node, moved))
        made = Copy(whole, moved)
        if scored:
            self.given += made.guards
        return made

    def _simplified(self, node: n.Node) -> int:
        """Return the position of a node; what is taken from itself leaves 0, unless it can be infinite."""
        if isinstance(node, n.Sub) and node.left == node.right and not self._infinite:
            return self.number(0.0)
        return self.builder.simplified(node)

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
            first = self.builder.simplified(n.Add(first, other))
        return first

    def minus(self, left: int, right: int) -> int:
        """Return the position of a difference; what differs from itself by nothing is 0."""
        if left == right:
            return self.number(0.0)
        return self.builder.simplified(n.Sub(left, right))

    def times(self, factor: float, at: int) -> int:
        """Return the position of a multiple."""
        return self.builder.simplified(n.Mul(at, self.number(factor)))

    def compare(self, left: int, how: Callable[[int, int], n.Node], right: int) -> int:
        """Return the position of a comparison: `compare(gain, nodes.Gt, zero)`."""
        return self.builder.simplified(how(left, right))

    def never(self, flag: int) -> int:
        """Return the position of a negation."""
        return self.builder.simplified(n.Not(flag))

    def distance(self, left: int, right: int) -> int:
        """Return the position of an absolute difference."""
        return self.builder.simplified(n.Abs(self.minus(left, right)))

    def all(self, flags: Iterable[int]) -> int:
        """Return the position of a conjunction."""
        return self.builder.all(flags)

    def program(self, asked: int) -> Program:
        """Return the question: outputs `asked`, and `given`, which must be true.

        What is given about inputs that have nothing to do with what is asked is left out.
        """
        outputs = {"asked": asked, "given": self.builder.all(self._relevant(asked))}
        whole = Program(
            "question", (), tuple(self.builder.nodes), self.inputs, {}, outputs, frozenset(), domain=(), ranges=()
        ).pruned()
        read = {node.name for node in whole.nodes if isinstance(node, n.Input)}
        return replace(whole, inputs={name: field for name, field in self.inputs.items() if name in read})

    def _relevant(self, asked: int) -> list[int]:
        """Return the conditions that share an input with what is asked, directly or through one another."""
        nodes = tuple(self.builder.nodes)

        def read(at: int) -> set[str]:
            return {node.name for each in reachable(nodes, [at]) if isinstance(node := nodes[each], n.Input)}

        waiting = {flag: read(flag) for flag in dict.fromkeys(self.given)}
        kept: list[int] = [flag for flag, names in waiting.items() if not names]
        known = read(asked)
        while joined := [flag for flag, names in waiting.items() if flag not in kept and names & known]:
            kept += joined
            known.update(*(waiting[flag] for flag in joined))
        return kept


MOST_OPEN = 3
"""So many inputs that can be infinite are looked at in every combination."""


def every_way(program: Program) -> bool:
    """Return whether `at_infinity` leaves no combination of infinite inputs out."""
    return sum(field.infinite for field in program.inputs.values()) <= MOST_OPEN


def at_infinity(program: Program) -> list[Program]:
    """Return a question once for every way in which its unlimited inputs can be finite or infinite.

    With many such inputs, once with all of them finite and once for each of them alone at infinity.
    """
    open_ends = [name for name, field in program.inputs.items() if field.infinite]
    ways: list[tuple[str, ...]] = [()]
    if every_way(program):
        for name in open_ends:
            ways += [(*way, name) for way in ways]
    else:
        ways += [(name,) for name in open_ends]
    return [_variant(program, set(way)) for way in ways]


def _variant(program: Program, infinite: set[str]) -> Program:
    question = Question()
    finite = {name: replace(field, infinite=False, missing=None, rest=None) for name, field in program.inputs.items()}
    fields = {name: field if name in infinite else finite[name] for name, field in program.inputs.items()}
    copy = question.copy(replace(program, inputs=fields), fixed=dict.fromkeys(infinite, math.inf))
    question.require(copy["given"])
    return question.program(copy["asked"])
