"""How blocks of statements end, and how what they leave is joined.

After an `if` whose branches both go on, each name that differs becomes one `Select`; a branch that returns hands its
value to the `Select` at the end. `break` and `continue` are like returns that end with the loop or with its turn. So
the result grows with the function's text and its turns, and never with its number of paths.
"""

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any, NamedTuple

from plaudit.errors import ReadError
from plaudit.language import nodes as n
from plaudit.language.field import Field
from plaudit.language.program import PYTHON_OPERATIONS, find_reachable
from plaudit.language.reading.assignments import AssignmentReader
from plaudit.language.reading.reader import Reader
from plaudit.language.reading.values import Unassigned, Value


class Leave(NamedTuple):
    """A `break` or `continue`: where it happens, and the names it leaves."""

    flag: int | bool
    """The position of a flag, which counts only where nothing before it left; True: always."""
    ends_loop: bool
    env: dict[str, Value]


@dataclass(slots=True)
class Flow:
    """How a block ends: the names it leaves, the value it returned where it did, and where it left a loop."""

    env: dict[str, Value]
    returned: int | bool = False
    """False: it never returned. True: it always returned. A position: the flag that says where it returned."""
    value: Value | None = None
    left: list[Leave] = field(default_factory=list)
    ended: bool = False
    """Whether nothing goes on behind it."""


Return = tuple[int | bool, Value | None]
"""Where a block returned, and what; it counts only where nothing before it returned. None: it raised there."""


MOST_ROWS = 4_096
"""How many rows are tried to see whether every one of them gets to a `return`."""

_TRIED: Mapping[type[n.Node], Callable[..., Any]] = {**PYTHON_OPERATIONS, n.And: operator.and_, n.Or: operator.or_}


class FlowReader(AssignmentReader):
    """Joins how the blocks of one function end."""

    def both(self, left: int | bool, right: int | bool) -> int | bool:
        """Return the conjunction of two flags, either of which may be True."""
        if left is True or right is True:
            return right if left is True else left
        return self.reader.add(n.And(left, right))

    def go_on_without(self, flag: int | bool) -> int | bool:
        """Read what follows as happening only where `flag` is false; return where that is."""
        if flag is True:
            return True  # nothing follows
        going_on = self.reader.add(n.Not(flag))
        path = self.reader.path
        self.reader.path = going_on if path is None else self.reader.add(n.And(path, going_on))
        return going_on

    def fold_returns(self, early: list[Return]) -> tuple[int | bool, Value | None]:
        """Return where a block has returned, and what."""
        returned: int | bool = False
        value: Value | None = None
        for flag, result in reversed(early):
            value = self.join_values(int(flag), result, value, self.source.tree)
            if returned is not True:
                returned = flag if returned is False or flag is True else self.reader.add(n.Or(flag, returned))
        return returned, value

    def join_flows(self, test: int, then: Flow, otherwise: Flow, at: ast.AST) -> Flow:
        """Return how an `if` ends whose branches end in `then` and `otherwise`."""
        return Flow(
            self.join_branches(test, then, otherwise, at),
            self.join_returns(test, then.returned, otherwise.returned),
            self.join_values(test, then.value, otherwise.value, at),
            self.join_leaves(test, then.left, otherwise.left),
            then.ended and otherwise.ended,
        )

    def join_branches(self, test: int, then: Flow, otherwise: Flow, node: ast.AST) -> dict[str, Value]:
        """Return the names after an `if`."""
        if then.ended or otherwise.ended:
            return otherwise.env if then.ended else then.env
        return self.join_names(test, then.env, otherwise.env, node)

    def join_names(
        self, test: int, then: dict[str, Value], otherwise: dict[str, Value], node: ast.AST, *, loop: bool = False
    ) -> dict[str, Value]:
        """Return names that have one value where `test` is true and another elsewhere.

        After a loop, a name that cannot be joined has no value, as it was most likely only of use inside.
        """
        env: dict[str, Value] = {}
        for name in then | otherwise:
            left, right = then.get(name, Unassigned()), otherwise.get(name, Unassigned())
            try:
                env[name] = self.join(test, left, right, node)
            except ReadError:
                if not loop:
                    raise
                env[name] = Unassigned()
            if env[name] not in (left, right):
                self.reader.name(env[name], name)
        return env

    def join_returns(self, test: int, then: int | bool, otherwise: int | bool) -> int | bool:
        """Return where an `if` has returned."""
        add = self.reader.add
        if then is True and otherwise is True:
            return True
        if otherwise is False:
            return False if then is False else self.both(test, then)
        right = self.both(add(n.Not(test)), otherwise)
        return right if then is False else add(n.Or(self.both(test, then), right))

    def join_values(self, test: int, then: Value | None, otherwise: Value | None, node: ast.AST) -> Value | None:
        """Return what an `if` returned, where it did."""
        if then is None or otherwise is None:
            return then or otherwise
        return self.join(test, then, otherwise, node)

    def join_leaves(self, test: int, then: list[Leave], otherwise: list[Leave]) -> list[Leave]:
        """Return where an `if` has left a loop."""
        left = [leave._replace(flag=self.both(test, leave.flag)) for leave in then]
        if otherwise:
            opposite = self.reader.add(n.Not(test))
            left += [leave._replace(flag=self.both(opposite, leave.flag)) for leave in otherwise]
        return left

    def list_breaks(self, left: list[Leave]) -> list[Leave]:
        """Return the breaks of a turn, each where nothing before it left the turn."""
        breaks: list[Leave] = []
        staying: int | bool = True
        for leave in left:
            if leave.ends_loop:
                breaks.append(leave._replace(flag=self.both(staying, leave.flag)))
            elif leave.flag is not True:
                staying = self.both(staying, self.reader.add(n.Not(leave.flag)))
        return breaks

    def join_exits(self, flow: Flow, exits: list[Leave], node: ast.AST) -> dict[str, Value] | None:
        """Return the names behind a turn or a loop that goes on from its end and from `exits`; None if from nowhere."""
        env = None if flow.ended else flow.env
        for leave in reversed(exits):
            if env is None or leave.flag is True:
                env = leave.env
            else:
                env = self.join_names(leave.flag, leave.env, env, node, loop=True)
        return env


def is_always_true(reader: Reader, flag: int | bool, function: ast.FunctionDef) -> bool:
    """Return whether a condition holds for every row: it is about fields that list their values, and each is tried.

    Where no field is declared yet, whether it may: the function asks what is equal, and never what is larger.
    """
    if isinstance(flag, bool):
        return flag
    if reader.scope.fields is None:
        compared = [node for node in ast.walk(function) if isinstance(node, ast.Compare)]
        return not any(isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for node in compared for op in node.ops)
    nodes = reader.builder.nodes
    needed = list(find_reachable(tuple(nodes), [flag]))
    inputs = [at for at in needed if isinstance(nodes[at], n.Input)]
    listed = [_list_values(reader.inputs.get(getattr(nodes[at], "name", ""))) for at in inputs]
    if not all(listed) or prod(map(len, listed)) > MOST_ROWS:
        return False
    if any(type(nodes[at]) not in (*_TRIED, n.Input, n.Const, n.Label) for at in needed):
        return False
    rows = (dict(zip(inputs, row, strict=True)) for row in product(*listed))
    try:
        return all(_compute(reader, needed, row)[flag] for row in rows)
    except (ArithmeticError, ValueError):
        return False  # a row that does not count


def _list_values(declared: Field | None) -> tuple[float | bool, ...]:
    """Return the values that a field lists, a category by its position; nothing for any other field."""
    if declared is None or declared.outside == "allow":
        return ()
    if declared.kind == "flag":
        return (False, True)
    return tuple(map(float, range(len(declared.labels)))) if declared.labels else tuple(declared.numbers or ())


def _compute(reader: Reader, needed: list[int], known: dict[int, Any]) -> dict[int, Any]:
    """Return the values of nodes, given those of the inputs."""
    fields = reader.scope.fields or {}
    for at in needed:
        match node := reader.builder.nodes[at]:
            case n.Const(value):
                known[at] = value
            case n.Label(name, value):
                known[at] = float(fields[name].labels.index(value))
            case _ if at not in known:
                known[at] = _TRIED[type(node)](*(known[operand] for operand in n.operands(node)))
    return known
