"""Rolling up: operations on the entries of a vector that go the same way become one operation on all of them.

A Program says what happens to each entry, which is what its identity, its proofs and SQL are about. Libraries of arrays
are faster with few operations on many entries: where a sum, a minimum, a maximum, an `any` or an `all` runs over values
that were computed alike, those values are computed together here. Nothing is reordered, so no bit changes.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import groupby
from typing import Any, NamedTuple

from plaudit.language import nodes as n
from plaudit.language.program import Builder, Program, find_reachable, prune, renumber
from plaudit.language.shapes import list_entries
from plaudit.targets.inputs import FEWEST, find_places

DEEPEST = 200
"""How many operations may stand inside one another for that."""


@dataclass(frozen=True, slots=True)
class Entries(n.Node):
    """Inputs of these names, entries of one vector field."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Constants(n.Node):
    """Several constants: all of them numbers, or all of them flags."""

    values: tuple[float | bool, ...]

    def list_values(self, params: Mapping[str, Any]) -> list[Any]:
        """Return them."""
        return list(self.values)


@dataclass(frozen=True, slots=True)
class Params(n.Node):
    """Several parameters."""

    names: tuple[str, ...]

    def list_values(self, params: Mapping[str, Any]) -> list[Any]:
        """Return their values."""
        return [params[name] for name in self.names]

    def find_whole(self, program: Program, given: Mapping[str, Any]) -> Any:
        """Return the array in `given` that these are the entries of, in order; None where there is none."""
        name = self.names[0].partition("[")[0]
        entries = list_entries(program.vector_params.get(name, ()))
        return given.get(name) if self.names == tuple(f"{name}{entry}" for entry in entries) else None


class Sum(n.Unary):
    """The sum of all entries, left to right."""

    __slots__ = ()


class SumOnto(n.Binary):
    """`left`, and on it the entries of `right`, left to right."""

    __slots__ = ()


class Smallest(n.Unary):
    """The smallest entry; the first of those that are equal."""

    __slots__ = ()


class Largest(n.Unary):
    """The largest entry; the first of those that are equal."""

    __slots__ = ()


class AllTrue(n.Unary):
    """Whether all entries are true."""

    __slots__ = ()


class AnyTrue(n.Unary):
    """Whether one entry is true."""

    __slots__ = ()


REDUCTIONS = (Sum, SumOnto, Smallest, Largest, AllTrue, AnyTrue)
"""What makes one value of a vector."""

_REDUCTIONS: Mapping[type[n.Binary], type[n.Unary]] = {
    n.Add: Sum,
    n.Min: Smallest,
    n.Max: Largest,
    n.And: AllTrue,
    n.Or: AnyTrue,
}


class Condition(NamedTuple):
    """A flag that has to be true, or a vector of flags that all have to be; of a state, some of its entries."""

    node: int
    """Its position among the rolled nodes."""
    sources: tuple[int, ...]
    """The nodes of the Program that it stands for, in order: an entry for each where there are several."""


@dataclass(frozen=True, slots=True)
class Rolled:
    """The nodes of a Program, rolled up, and where its roots and its conditions are among them."""

    nodes: tuple[n.Node, ...]
    roots: tuple[int, ...]
    conditions: tuple[Condition, ...]
    states: tuple[tuple[Condition, ...], ...] = ()
    """The parts that each state after the step is made of, in order."""

    def find_vectors(self) -> frozenset[int]:
        """Return which nodes are vectors: those that are given, and whatever is computed from one entry by entry."""
        found: set[int] = set()
        for at, node in enumerate(self.nodes):
            computed = not isinstance(node, REDUCTIONS) and not found.isdisjoint(n.operands(node))
            if computed or isinstance(node, Entries | Constants | Params):
                found.add(at)
        return frozenset(found)

    def find_safe_divisions(self) -> frozenset[int]:
        """Return the divisions by constants that are neither 0 nor infinite in any type of float."""
        found = set()
        for at, node in enumerate(self.nodes):
            if isinstance(node, n.Div | n.FloorDiv | n.Mod):
                match self.nodes[node.right]:
                    case n.Const(value) if 1e-4 < abs(value) < 6e4:
                        found.add(at)
                    case Constants(values) if all(1e-4 < abs(value) < 6e4 for value in values):
                        found.add(at)
        return frozenset(found)


def roll(
    program: Program,
    roots: Sequence[int],
    conditions: Sequence[int] = (),
    states: Sequence[Sequence[int]] = (),
) -> Rolled:
    """Return what computes `roots`, `conditions` and `states` of a Program, on whole vectors where it can.

    A state is a sequence of nodes, its entries.
    """
    needed = sorted(find_reachable(program.nodes, [*roots, *conditions, *(at for each in states for at in each)]))
    roller = _Roller(program, needed, [*roots, *conditions])
    for at in needed:
        roller.add_scalar(at)
    tests = list(roller.join_conditions(conditions))
    parts = [list(roller.join_runs(each)) for each in states]
    scalars = [roller.scalars[at] for at in roots]
    ends = [*scalars, *(test.node for test in [*tests, *(part for each in parts for part in each)])]
    nodes, moved = prune(tuple(roller.builder.nodes), ends)

    def move(found: Iterable[Condition]) -> tuple[Condition, ...]:
        return tuple(each._replace(node=moved[each.node]) for each in found)

    return Rolled(nodes, tuple(moved[at] for at in scalars), move(tests), tuple(map(move, parts)))


class _Roller:
    """Builds the rolled nodes: a scalar for each node of the Program, and vectors of those that are alike."""

    def __init__(self, program: Program, reachable: Sequence[int], roots: Sequence[int]) -> None:
        self.nodes = program.nodes
        self.roots = frozenset(roots)
        self.uses: Counter[int] = Counter(roots)
        for at in reachable:
            self.uses.update(n.operands(self.nodes[at]))
        self.builder = Builder()
        self.scalars: dict[int, int] = {}
        self.vectors: dict[tuple[int, ...], int] = {}
        self.places = find_places(program)
        self.forms = _find_forms(program, self.places, reachable)
        self.depth: dict[int, int] = {}
        links = {at: link for at in reachable if (link := self._find_link(at)) is not None}
        self.ends = links.keys() - {link.left for link in links.values()}

    def _find_link(self, at: int) -> n.Binary | None:
        """Return a node that continues the chain of its left operand, if nothing else reads that; otherwise None."""
        node = self.nodes[at]
        if not isinstance(node, n.Binary) or type(node) not in _REDUCTIONS:
            return None
        return node if type(self.nodes[node.left]) is type(node) and self.uses[node.left] == 1 else None

    def add_scalar(self, at: int) -> None:
        """Add a node whose operands were added before."""
        node = self.nodes[at]
        self.depth[at] = 1 + max((self.depth[operand] for operand in n.operands(node)), default=0)
        if at in self.ends and isinstance(node, n.Binary):
            self.scalars[at] = self._reduce(type(node), self._list_leaves(at))
        else:
            self.scalars[at] = self.builder.add(renumber(node, self.scalars))

    def _list_leaves(self, at: int) -> list[int]:
        """Return what a chain of operations joins, from left to right.

        The first of them may be such an operation itself, if it is one like the next: (a + b) + (c + d) + …
        """
        leaves: list[int] = []
        while (link := self._find_link(at)) is not None:
            leaves.append(link.right)
            at = link.left
            if self.forms[at] == self.forms[leaves[-1]]:
                return [at, *reversed(leaves)]
        return [*n.operands(self.nodes[at]), *reversed(leaves)]

    def join_conditions(self, conditions: Sequence[int]) -> Iterator[Condition]:
        """Yield what has to be true; conditions that are alike become one vector, wherever they stand."""
        alike: dict[int, dict[int, None]] = {}
        for at in conditions:
            alike.setdefault(self.forms[at], {})[at] = None
        for group in (tuple(sorted(found, key=self._find_place)) for found in alike.values()):
            if self._is_worthwhile(group):
                yield Condition(self._join(group), group)
            else:
                yield from (Condition(self.scalars[at], (at,)) for at in group)

    def _find_place(self, at: int) -> int:
        """Return which entry of a vector a node reads first; 0 where it reads none."""
        read = (self.nodes[each] for each in find_reachable(self.nodes, [at]))
        return next(
            (self.places[node.name][1] for node in read if isinstance(node, n.Input) and node.name in self.places), 0
        )

    def join_runs(self, entries: Sequence[int]) -> Iterator[Condition]:
        """Yield the entries of a state in order; those side by side that are alike become one vector."""
        for _, run in groupby(entries, key=lambda at: self.forms[at]):
            alike = tuple(run)
            if self._is_worthwhile(alike):
                yield Condition(self._join(alike), alike)
            else:
                yield from (Condition(self.scalars[at], (at,)) for at in alike)

    def _reduce(self, kind: type[n.Binary], leaves: Sequence[int]) -> int:
        """Return the result of a chain of operations; runs of similar leaves are reduced together."""
        result: int | None = None
        for _, run in groupby(leaves, key=lambda at: self.forms[at]):
            alike = tuple(run)
            if self._is_worthwhile(alike) and not self.roots & set(alike):
                vector = self._join(alike)
                if kind is n.Add and result is not None:
                    result = self.builder.add(SumOnto(result, vector))
                    continue
                parts = [self.builder.add(_REDUCTIONS[kind](vector))]
            else:
                parts = [self.scalars[at] for at in alike]
            for part in parts:
                result = part if result is None else self.builder.add(kind(result, part))
        assert result is not None
        return result

    def _is_worthwhile(self, alike: tuple[int, ...]) -> bool:
        return len(alike) >= FEWEST and len(set(alike)) > 1 and self.depth[alike[0]] <= DEEPEST

    def _join(self, ats: tuple[int, ...]) -> int:
        """Return the vector of nodes that are alike; a scalar where all of them are one node."""
        if len(set(ats)) == 1:
            return self.scalars[ats[0]]
        if ats not in self.vectors:
            found = [self.nodes[at] for at in ats]
            match found[0]:
                case n.Const():
                    made: n.Node = Constants(tuple(node.value for node in found))  # type: ignore[attr-defined]
                case n.Param():
                    made = Params(tuple(node.name for node in found))  # type: ignore[attr-defined]
                case n.Input():
                    made = Entries(tuple(node.name for node in found))  # type: ignore[attr-defined]
                case first:
                    names = n.operand_names(type(first))
                    columns = ([getattr(node, name) for node in found] for name in names)
                    made = replace(
                        first, **{name: self._join(tuple(c)) for name, c in zip(names, columns, strict=True)}
                    )
            self.vectors[ats] = self.builder.add(made)
        return self.vectors[ats]


def _find_forms(program: Program, places: Mapping[str, tuple[int, int]], reachable: Iterable[int]) -> dict[int, int]:
    """Return a number for each node: two that have the same are computed alike, from other entries or constants."""
    numbers: dict[tuple[object, ...], int] = {}
    forms: dict[int, int] = {}
    for at in reachable:
        node = program.nodes[at]
        match node:
            case n.Const(value):
                form: tuple[object, ...] = (n.Const, isinstance(value, bool))
            case n.Param(name):
                form = (n.Param, isinstance(program.params[name], bool))
            case n.Input(name):
                form = (n.Input, places[name][0] if name in places else name)
            case _:
                own = tuple(getattr(node, each.name) for each in fields(node) if each.type is not int)
                form = (type(node), own, *(forms[operand] for operand in n.operands(node)))
        forms[at] = numbers.setdefault(form, len(numbers))
    return forms
