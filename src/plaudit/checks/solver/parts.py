"""A sum whose parts share no input is as high as its parts are, each examined separately.

The entries of a vector that are added up are such parts, and those that are treated alike are one question.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from plaudit.checks.solver.boxes import Maximum, evaluate, list_inputs_read
from plaudit.checks.solver.deadline import NEVER, Deadline
from plaudit.checks.solver.ranges import declared_range, value_at_rest
from plaudit.language import nodes as n
from plaudit.language.intervals import Interval, bound_nodes_within
from plaudit.language.program import Builder, Program

Search = Callable[[Program, Deadline], Maximum]
"""How a question that has no parts is answered."""


def maximise_by_parts(program: Program, search: Search, deadline: Deadline = NEVER) -> Maximum:
    """Return how high a question's answer can be: a sum part by part, and what only rises with a sum through that sum.

    The parts share the time until the deadline.

    >>> from plaudit import Field, Reward, term
    >>> from plaudit.checks.solver.boxes import maximise
    >>> from plaudit.checks.solver.question import Question
    >>> @term
    ... def effort(torque):
    ...     return sum(each * each for each in torque)
    >>> legs = Reward("legs", version="1", terms=[effort], fields=[Field("torque", length=12, low=-1, high=2)])
    >>> question = Question()
    >>> maximise_by_parts(question.program(question.copy(legs.program)["total"]), maximise).bound
    48.0
    """
    parts = list_parts(program)
    if len(parts) > 1:
        return _add_up(program, parts, search, deadline)
    inner, rises = _find_inner_sum(program)
    if inner == program.outputs["asked"] or any(field.infinite for field in program.inputs.values()):
        return search(program, deadline)
    through = _ask(program, Builder(program.nodes), {inner: 1.0 if rises else -1.0}, [program.outputs["given"]])
    parts = list_parts(through)
    if len(parts) < 2:
        return search(program, deadline)
    return _pass_on(program, inner, rises, _add_up(through, parts, search, deadline))


def list_parts(program: Program) -> list[Program]:
    """Return a question about a sum as questions that share no input; the question itself where it has no parts."""
    if any(field.infinite for field in program.inputs.values()):
        return [program]
    reads = list_inputs_read(program)
    conditions = list(_list_conditions(program))
    whole = _list_addends(program, lambda at: bool(reads[at]))
    groups = _join_inputs([reads[at] for at in (*whole, *conditions)])
    if len(groups) < 2:
        return [program]
    addends = _list_addends(program, lambda at: sum(not reads[at].isdisjoint(group) for group in groups) > 1)
    builder = Builder(program.nodes)
    parts = []
    for group in groups:
        own = {at: scale for at, scale in addends.items() if reads[at] & group}
        parts.append(_ask(program, builder, own, [at for at in conditions if not reads[at] or reads[at] & group]))
    constant = {at: scale for at, scale in addends.items() if not reads[at]}
    return [*parts, _ask(program, builder, constant, [])] if constant else parts


def _list_addends(program: Program, is_split: Callable[[int], bool]) -> dict[int, float]:
    """Return what is added up, each once with its factor; a sum that is not to be split is one of them."""
    found: dict[int, float] = {}
    waiting = [(program.outputs["asked"], 1.0)]
    while waiting:
        at, scale = waiting.pop()
        match program.nodes[at] if is_split(at) else None:
            case n.Add(left, right):
                waiting += [(right, scale), (left, scale)]
            case n.Sub(left, right):
                waiting += [(right, -scale), (left, scale)]
            case n.Neg(arg):
                waiting.append((arg, -scale))
            case n.Mul(left, right) if (factor := _read_constant(program, right)) is not None:
                waiting.append((left, scale * factor))
            case n.Mul(left, right) if (factor := _read_constant(program, left)) is not None:
                waiting.append((right, scale * factor))
            case n.Div(left, right) if factor := _read_constant(program, right):
                waiting.append((left, scale / factor))
            case _:
                found[at] = found.get(at, 0.0) + scale
    return {at: scale for at, scale in found.items() if scale}


def _read_constant(program: Program, at: int) -> float | None:
    node = program.nodes[at]
    return float(node.value) if isinstance(node, n.Const) and math.isfinite(node.value) else None


def _list_conditions(program: Program) -> Iterator[int]:
    waiting = [program.outputs["given"]]
    while waiting:
        at = waiting.pop()
        match program.nodes[at]:
            case n.And(left, right):
                waiting += [right, left]
            case _:
                yield at


def _join_inputs(together: Iterable[frozenset[str]]) -> list[frozenset[str]]:
    """Return the inputs in groups: two that are read together by one part are in the same group."""
    groups: list[frozenset[str]] = []
    for names in together:
        if names:
            joined = [group for group in groups if group & names]
            groups = [group for group in groups if not group & names]
            groups.append(names.union(*joined))
    return groups


def _ask(program: Program, builder: Builder, addends: Mapping[int, float], conditions: list[int]) -> Program:
    """Return the question how high the sum of some nodes of `program` can be under some of its conditions."""
    total: int | None = None
    for at, scale in addends.items():
        each = at if scale == 1 else builder.add(n.Mul(at, builder.const(scale)))
        total = each if total is None else builder.add(n.Add(total, each))
    asked = builder.const(0.0) if total is None else total
    outputs = {"asked": asked, "given": builder.all(conditions)}
    whole = replace(program, nodes=tuple(builder.nodes), outputs=outputs).prune()
    read = {node.name for node in whole.nodes if isinstance(node, n.Input)}
    return replace(whole, inputs={name: field for name, field in program.inputs.items() if name in read})


def _add_up(program: Program, parts: list[Program], search: Search, deadline: Deadline) -> Maximum:
    row = {name: value_at_rest(field) for name, field in program.inputs.items()}  # what cancels out may be anything
    complete, bound = True, 0.0
    for part, end in deadline.take_turns(parts):
        found = search(part, end)
        if not found.possible:
            return Maximum(-math.inf, None)
        bound += found.bound
        complete = complete and found.row is not None
        row |= found.row or {}
    if not complete:
        return Maximum(bound, None)
    value = evaluate(program, row)
    return Maximum(max(bound, value), row, value) if value > -math.inf else Maximum(bound, None)


class Memory:
    """Answers to questions that were asked before; one that differs only in the names of its inputs is the same."""

    def __init__(self) -> None:
        self._known: dict[object, tuple[list[str], Maximum]] = {}

    def recall(self, program: Program, how: object, search: Callable[[], Maximum]) -> Maximum:
        """Return the answer to a question, searched for in the way `how` unless it is known."""
        key = how, describe_shape(program)
        if key not in self._known:
            self._known[key] = list(program.inputs), search()
        names, found = self._known[key]
        if found.row is None:
            return found
        renamed = dict(zip(names, program.inputs, strict=True))
        return replace(found, row={renamed[name]: value for name, value in found.row.items()})


def describe_shape(program: Program) -> object:
    """Return what two questions have in common that differ only in the names of their inputs."""
    places = {name: at for at, name in enumerate(program.inputs)}
    nodes = tuple(f"input {places[node.name]}" if isinstance(node, n.Input) else repr(node) for node in program.nodes)
    return nodes, tuple(program.outputs.values()), tuple(program.inputs.values())


def _find_inner_sum(program: Program) -> tuple[int, bool]:
    """Return the node through which what is asked depends on everything, and whether it rises with it."""
    at, rises = program.outputs["asked"], True
    while True:
        match program.nodes[at]:
            case n.Neg(arg):
                at, rises = arg, not rises
            case n.Clip(arg, low, high) if _are_constant(program, low, high):
                at = arg
            case n.Min(left, right) | n.Max(left, right) if _are_constant(program, right):
                at = left
            case n.Min(left, right) | n.Max(left, right) if _are_constant(program, left):
                at = right
            case n.Mul(left, right) if factor := _read_constant(program, right):
                at, rises = left, rises == (factor > 0)
            case n.Add(left, right) | n.Sub(left, right) if _are_constant(program, right):
                at = left
            case n.Add(left, right) if _are_constant(program, left):
                at = right
            case n.Sub(left, right) if _are_constant(program, left):
                at, rises = right, not rises
            case n.Unary(arg) as node if node.monotone or node.falling:
                at, rises = arg, rises == node.monotone
            case _:
                return at, rises


def _are_constant(program: Program, *places: int) -> bool:
    return all(_read_constant(program, at) is not None for at in places)


def _pass_on(program: Program, inner: int, rises: bool, found: Maximum) -> Maximum:
    """Return the answer to a question from how high, or how low, the node `inner` can be."""
    if not found.possible:
        return found
    reach = Interval(-math.inf, found.bound) if rises else Interval(-found.bound, math.inf)
    box: Mapping[str, Interval] = {name: declared_range(field) for name, field in program.inputs.items()}
    bound = bound_nodes_within(program, box, assumed={inner: reach})[program.outputs["asked"]].high
    if found.row is None:
        return Maximum(bound, None)
    row = {name: found.row.get(name, value_at_rest(field)) for name, field in program.inputs.items()}
    value = evaluate(program, row)
    return Maximum(max(bound, value), row, value) if value > -math.inf else Maximum(bound, None)
