"""How blocks of statements are read, how they end, and how what they leave is joined.

A statement is read by the function that is registered for its type: `@runs(ast.For)`. After an `if` whose branches
both go on, each name that differs becomes one `Select`; a branch that returns hands its value to the `Select` at the
end. `break` and `continue` are like returns that end with the loop or with its turn. So the result grows with the
function's text and its turns, and never with its number of paths.
"""

import ast
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any, NamedTuple

from plaudit.errors import PlauditError, ReadError
from plaudit.language import nodes as n
from plaudit.language.field import Field
from plaudit.language.program import PYTHON_OPERATIONS, find_reachable
from plaudit.language.reading.advice import explain_unsupported
from plaudit.language.reading.conditions import join, leave_text_open
from plaudit.language.reading.context import Context, Registered, register
from plaudit.language.reading.dropped import BUFFERS, drop_statement
from plaudit.language.reading.inputs import read_kept_part
from plaudit.language.reading.sharing import remember_origins
from plaudit.language.reading.values import Names, Unassigned, Value


class Leave(NamedTuple):
    """A `break` or `continue`: where it happens, and the names it leaves."""

    flag: int | bool
    """The position of a flag, which counts only where nothing before it left; True: always."""
    ends_loop: bool
    names: Names


@dataclass(slots=True)
class Flow:
    """How a block ends: the names it leaves, the value it returned where it did, and where it left a loop."""

    names: Names
    returned: int | bool = False
    """False: it never returned. True: it always returned. A position: the flag that says where it returned."""
    value: Value | None = None
    left: list[Leave] = field(default_factory=list)
    ended: bool = False
    """Whether nothing goes on behind it."""


Return = tuple[int | bool, Value | None]
"""Where a block returned, and what; it counts only where nothing before it returned. None: it raised there."""

STATEMENTS: dict[type[ast.stmt], Callable[[Context, Any], Flow | None]] = {}
"""What reads each kind of statement; it returns nothing where the next statement always follows."""

MOST_ROWS = 4_096
"""How many rows are tried to see whether every one of them gets to a `return`."""

_TRIED: Mapping[type[n.Node], Callable[..., Any]] = {**PYTHON_OPERATIONS, n.And: operator.and_, n.Or: operator.or_}


def runs(*kinds: type[ast.stmt]) -> Callable[[Registered], Registered]:
    """Register the function that reads statements of these kinds."""
    return register(STATEMENTS, kinds)


def run_function(context: Context) -> Value:
    """Return what a function returns, which has the values of its parameters already."""
    flow = run_body(context)
    tree = context.source.tree
    if flow.value is None and flow.returned is False and context.returned is not None:
        flow = _return_buffer(context, flow)
    asked = [node.test for node in ast.walk(tree) if isinstance(node, ast.If)]
    if flow.value is None or not (flow.returned is True or is_always_true(context, flow.returned, asked)):
        matches = any(isinstance(node, ast.Match) for node in ast.walk(tree))
        advice = "Return a number on every path." + " A `match` may need `case _:`." * matches
        raise context.error(tree, "a path ends without `return`.", advice)
    return flow.value


def _return_buffer(context: Context, flow: Flow) -> Flow:
    """Return how a function ends that returns nothing: with the reward that it has left in a part of a record."""
    tree = context.source.tree
    written = [name for name in dict.fromkeys(context.writes) if name in flow.names]
    buffers = [name for name in written if name.rpartition(".")[2] in BUFFERS]
    if len(buffers) != 1:
        if written:
            listed = " or ".join(f"`{name}`" for name in written)
            what = f"it returns nothing, and whether the reward is {listed} is not clear."
            raise context.error(
                tree, what, f"Write `return {(buffers or written)[0]}` at its end, if that is the reward."
            )
        return flow
    others = " and ".join(f"`{name}`" for name in written if name not in buffers)
    rest = f" What it assigns to {others} makes no difference." if others else ""
    context.note(tree, f"it returns nothing, so its value is what it assigns to `{buffers[0]}`.{rest}")
    context.begin_statement(flow.names)
    value = ast.parse(buffers[0], mode="eval").body
    statement = ast.Return(value)
    for node in ast.walk(statement):
        ast.copy_location(node, tree.body[-1])
    ended: Flow = STATEMENTS[ast.Return](context, statement)  # type: ignore[assignment]  # a return always ends so
    return ended


def run_body(context: Context) -> Flow:
    """Read the statements of a function; the names that it leaves stay in the context."""
    body = context.source.tree.body
    if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) and len(body) > 1:
        body = body[1:]
    flow = read_block(context, body, context.names)
    context.names = flow.names
    return flow


def read_block(context: Context, statements: list[ast.stmt], names: Names) -> Flow:
    """Read statements in order; early returns are folded into the value at the end, first one outermost."""
    flow = Flow(dict(names))
    outer = context.path, context.names
    early: list[Return] = []
    left: list[Leave] = []
    staying: int | bool = True
    for statement in statements:
        context.begin_statement(flow.names)
        if drop_statement(context, statement):
            continue
        if type(statement) not in STATEMENTS:
            raise context.error(statement, *explain_unsupported(statement))
        flow = STATEMENTS[type(statement)](context, statement) or Flow(context.names)
        if flow.returned is not False:
            early.append((both(context, staying, flow.returned), flow.value))
            go_on_without(context, flow.returned)
        for leave in flow.left:
            left.append(leave)
            staying = both(context, staying, go_on_without(context, leave.flag))
        if flow.ended:
            break
    context.path, context.names = outer
    returned, value = fold_returns(context, early)
    return Flow(flow.names, returned, value, left, flow.ended)


def both(context: Context, left: int | bool, right: int | bool) -> int | bool:
    """Return the conjunction of two flags, either of which may be True."""
    if left is True or right is True:
        return right if left is True else left
    return context.add(n.And(left, right))


def go_on_without(context: Context, flag: int | bool) -> int | bool:
    """Read what follows as happening only where `flag` is false; return where that is."""
    if flag is True:
        return True  # nothing follows
    going_on = context.add(n.Not(flag))
    path = context.path
    context.path = going_on if path is None else context.add(n.And(path, going_on))
    return going_on


def fold_returns(context: Context, early: list[Return]) -> tuple[int | bool, Value | None]:
    """Return where a block has returned, and what."""
    returned: int | bool = False
    value: Value | None = None
    for flag, result in reversed(early):
        value = _join_values(context, int(flag), result, value, context.source.tree)
        if returned is not True:
            returned = flag if returned is False or flag is True else context.add(n.Or(flag, returned))
    return returned, value


def join_flows(context: Context, test: int, then: Flow, otherwise: Flow, at: ast.AST) -> Flow:
    """Return how an `if` ends whose branches end in `then` and `otherwise`."""
    goes_on = otherwise.names if then.ended else then.names  # where one of them ends
    return Flow(
        goes_on if then.ended or otherwise.ended else _join_names(context, test, then.names, otherwise.names, at),
        _join_returns(context, test, then.returned, otherwise.returned),
        _join_values(context, test, then.value, otherwise.value, at),
        _join_leaves(context, test, then.left, otherwise.left),
        then.ended and otherwise.ended,
    )


def _join_names(context: Context, test: int, then: Names, otherwise: Names, node: ast.AST) -> Names:
    """Return names that have one value where `test` is true and another elsewhere.

    A name that cannot be joined has no value: it may only be of use in a branch, or inside a loop.
    """
    joined: Names = {}
    made: dict[tuple[int, int], Value] = {}  # two names of one list stay two names of one list
    branches = then, otherwise
    pairs = {name: [_find_value(context, name, each, node) for each in branches] for name in then | otherwise}
    for name, (left, right) in pairs.items():
        key = id(left), id(right)
        try:
            if key not in made:
                made[key] = remember_origins(context, join(context, test, left, right, node), left, right)
            joined[name] = made[key]
        except ReadError as error:  # it may be that nothing reads it
            joined[name] = leave_text_open(repr(name), left, right) or Unassigned(error=error)
        if joined[name] not in (left, right):
            context.label(joined[name], name)
        if any((name, id(each)) in context.kept_parts for each in (left, right)):
            context.kept_parts[name, id(joined[name])] = joined[name]
    return joined


def _find_value(context: Context, name: str, names: Names, node: ast.AST) -> Value:
    """Return the value of a name at the end of a branch; of a part of a record that it leaves alone, the field's."""
    if name in names or "." not in name:
        return names.get(name, Unassigned())
    try:
        with context.trying(keep=False):  # it may be that nothing reads it
            value = read_kept_part(context, name, node)
    except PlauditError as error:
        return Unassigned(error=error)
    context.kept_parts[name, id(value)] = value
    return value


def _join_returns(context: Context, test: int, then: int | bool, otherwise: int | bool) -> int | bool:
    add = context.add
    if then is True and otherwise is True:
        return True
    if otherwise is False:
        return False if then is False else both(context, test, then)
    right = both(context, add(n.Not(test)), otherwise)
    return right if then is False else add(n.Or(both(context, test, then), right))


def _join_values(
    context: Context, test: int, then: Value | None, otherwise: Value | None, node: ast.AST
) -> Value | None:
    if then is None or otherwise is None:
        return then or otherwise
    return join(context, test, then, otherwise, node)


def _join_leaves(context: Context, test: int, then: list[Leave], otherwise: list[Leave]) -> list[Leave]:
    left = [leave._replace(flag=both(context, test, leave.flag)) for leave in then]
    if otherwise:
        opposite = context.add(n.Not(test))
        left += [leave._replace(flag=both(context, opposite, leave.flag)) for leave in otherwise]
    return left


def list_breaks(context: Context, left: list[Leave]) -> list[Leave]:
    """Return the breaks of a turn, each where nothing before it left the turn."""
    breaks: list[Leave] = []
    staying: int | bool = True
    for leave in left:
        if leave.ends_loop:
            breaks.append(leave._replace(flag=both(context, staying, leave.flag)))
        elif leave.flag is not True:
            staying = both(context, staying, context.add(n.Not(leave.flag)))
    return breaks


def join_exits(context: Context, flow: Flow, exits: list[Leave], node: ast.AST) -> Names | None:
    """Return the names behind a turn or a loop that goes on from its end and from `exits`; None if from nowhere."""
    names = None if flow.ended else flow.names
    for leave in reversed(exits):
        if names is None or leave.flag is True:
            names = leave.names
        else:
            names = _join_names(context, leave.flag, leave.names, names, node)
    return names


def is_always_true(context: Context, flag: int | bool, asked: Iterable[ast.AST]) -> bool:
    """Return whether a condition holds for every row: it is about fields that list their values, and each is tried.

    Where no field is declared yet, whether it may: what is `asked` is what is equal, and never what is larger.
    """
    if isinstance(flag, bool):
        return flag
    if context.scope.fields is None:
        compared = [node for part in asked for node in ast.walk(part) if isinstance(node, ast.Compare)]
        return not any(isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for node in compared for op in node.ops)
    nodes = context.builder.nodes
    needed = list(find_reachable(tuple(nodes), [flag]))
    inputs = [at for at in needed if isinstance(nodes[at], n.Input)]
    listed = [_list_values(context.inputs.get(getattr(nodes[at], "name", ""))) for at in inputs]
    if not all(listed) or prod(map(len, listed)) > MOST_ROWS:
        return False
    if any(type(nodes[at]) not in (*_TRIED, n.Input, n.Const, n.Label) for at in needed):
        return False
    rows = (dict(zip(inputs, row, strict=True)) for row in product(*listed))
    try:
        return all(_compute(context, needed, row)[flag] for row in rows)
    except (ArithmeticError, ValueError):
        return False  # a row that does not count


def _list_values(declared: Field | None) -> tuple[float | bool, ...]:
    """Return the values that a field lists, a category by its position; nothing for any other field."""
    if declared is None or declared.outside == "allow":
        return ()
    if declared.kind == "flag":
        return (False, True)
    return tuple(map(float, range(len(declared.labels)))) if declared.labels else tuple(declared.numbers or ())


def _compute(context: Context, needed: list[int], known: dict[int, Any]) -> dict[int, Any]:
    """Return the values of nodes, given those of the inputs."""
    fields = context.scope.fields or {}
    for at in needed:
        match node := context.builder.nodes[at]:
            case n.Const(value):
                known[at] = value
            case n.Label(name, value):
                known[at] = float(fields[name].labels.index(value))
            case _ if at not in known:
                known[at] = _TRIED[type(node)](*(known[operand] for operand in n.operands(node)))
    return known
