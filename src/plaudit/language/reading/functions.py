"""Reading: a plain Python function becomes nodes, by running it once on symbols instead of numbers.

What the language does not have is refused, with the line and what to do instead.
"""

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from plaudit.errors import PlauditError, ReadError
from plaudit.language import nodes as n
from plaudit.language.field import RECORDS, TERMINAL, Field
from plaudit.language.kinds import FLAG, NUMBER, UNKNOWN
from plaudit.language.parameters import Fixed, name_knob
from plaudit.language.program import Builder, Guard, find_reachable
from plaudit.language.reading import assignments, calls, expression_statements, statements  # noqa: F401  # each registers
from plaudit.language.reading.context import Context, Mark, Note, Path, Returned, Scope, Undecided
from plaudit.language.reading.doubts import settle_doubts
from plaudit.language.reading.dtypes import refuse_wrapping
from plaudit.language.reading.expressions import add_flag, add_number
from plaudit.language.reading.flow import run_function
from plaudit.language.reading.inputs import OTHER_ROW, read_knob, read_parameter
from plaudit.language.reading.presence import settle_suppositions
from plaudit.language.reading.source import Source, list_collected, list_used
from plaudit.language.reading.values import Constant, Names, Record, Ref, Value, Vector, describe, find_kind
from plaudit.language.shapes import infer_shape


@dataclass(frozen=True, slots=True)
class Reading:
    """What came of reading a function: its result, the guards it needs, and what it read."""

    result: int
    """The position of the score of a term, or of the flag of a fact or condition."""
    guards: tuple[Guard, ...]
    inputs: Mapping[str, Field]
    reads: tuple[str, ...]
    params: tuple[str, ...]
    parts: frozenset[str]
    """What positional parameters, and parts of records, may be called, where no field was declared."""
    mentioned: frozenset[str]
    """The same for those that only statements mention that make no difference."""
    marks: tuple[Mark, ...]
    """Where in the source only some rows get."""
    names: Mapping[int, str]
    """What the author called the values of local names, by position."""
    notes: tuple[Note, ...]
    claimed: Mapping[str, Path]
    """Which parameter, or part of a record, each field and shared parameter is."""


Read = tuple[tuple[Ref, ...], Reading]
"""The values that a function computes, entry by entry, and what came of reading it."""
Reader = Callable[[Builder, Scope], Read]


def read_term(
    source: Source,
    name: str,
    knobs: Mapping[str, object],
    builder: Builder,
    scope: Scope,
    *,
    within: int | None = None,
    what: str = "term",
    part: int | str | None = None,
    batched: bool = False,
) -> Reading:
    """Return the score of the function `source` as a node of `builder`.

    `knobs` holds what is not data: numbers, constants, None where the reward must supply it. `within` is
    a flag under which alone the term is scored at all; errors say `what` the function is. `part` says which of several
    returned values is the score. A `batched` function takes and returns many rows at once.
    """

    def read(builder: Builder, scope: Scope) -> Read:
        batch = _choose_batch_size(scope) if batched else 0
        context = Context(builder, scope, name, source, what=what, batch=batch)
        context.path = within
        if what == "term":
            context.returned = Returned(part, batched)
        try:
            score = add_number(context, _read_result(context, knobs), source.tree)
        except ReadError as error:
            raise Undecided(*error.args) if context.switches else error from None
        settle_doubts(context, [score])
        refuse_wrapping(context, [score, *(guard.node for guard in context.guards)])
        if batch:
            _drop_other_rows(context, score)
        return (Ref(score, NUMBER),), _finish_reading(context, score)

    return _hold_shapes(source, name, builder, scope, read, within)[1]


def read_condition(source: Source, name: str, knobs: Mapping[str, object], builder: Builder, scope: Scope) -> Reading:
    """Return the flag of the function `source`, a condition with knobs, as a node of `builder`."""

    def read(builder: Builder, scope: Scope) -> Read:
        context = Context(builder, scope, name, source, what="override")
        value = _read_result(context, knobs)
        if find_kind(value) not in (FLAG, UNKNOWN):
            what = f"a condition must return a bool, and this returns {describe(value)}."
            raise context.error(source.tree, what, "Return a comparison: `return deceleration == 0`.")
        reading = _finish_flag(context, value)
        return (Ref(reading.result, FLAG),), reading

    return _hold_shapes(source, name, builder, scope, read)[1]


def read_fact(
    source: Source,
    name: str,
    constants: Mapping[str, object],
    builder: Builder,
    scope: Scope,
    *,
    what: str = "fact",
) -> Reading:
    """Return the flag of the function `source` as a node of `builder`.

    `constants` maps each parameter that has a default to it: a fact has no knobs, and as a task serves several rewards
    it means the same whatever fields are declared. Errors say `what` it is.
    """
    context = Context(builder, scope, name, source, what=what)
    context.returned = Returned(flag=what)
    for each in source.tree.args.args:
        if each.arg in constants and each.arg in (*RECORDS, TERMINAL.name, *(scope.fields or ())):
            advice = "Drop the default to read the field, or give the constant another name."
            raise context.error(each, f"{each.arg!r} has a default, and there is a field of this name.", advice)
    return _finish_flag(context, _read_result(context, {name: Fixed(default) for name, default in constants.items()}))


def read_update(
    source: Source, field: Field, knobs: Mapping[str, object], builder: Builder, scope: Scope
) -> tuple[tuple[Value, ...], Reading]:
    """Return the entries of the state `field` after a step, as the function `source` computes them.

    `knobs` are as those of a term. Where no field is declared yet, what comes back is not looked at.
    """

    def read(builder: Builder, scope: Scope) -> Read:
        context = Context(builder, scope, field.name, source, what="state")
        result = _read_result(context, knobs)
        if scope.fields is None:
            return (), _finish_reading(context, 0)
        entries = [_fit_entry(context, entry, field) for entry in _list_entries(context, result, field)]
        settle_doubts(context, [entry.at for entry in entries])
        return tuple(entries), _finish_reading(context, 0)

    return _hold_shapes(source, field.name, builder, scope, read)


def _hold_shapes(
    source: Source, name: str, builder: Builder, scope: Scope, read: Reader, within: int | None = None
) -> Read:
    """Return what came of reading a function, with a guard that reads an entry of each array whose shape it goes by.

    Without one, a row whose array has another length would not be refused: the function reads `len(v)` alone.
    """
    values, reading = read(builder, scope)
    guards = []
    for entry, field in _list_unread_arrays(builder, values, reading, scope).items():
        if _is_read_without(field, values, reading, builder, scope, read):
            continue
        at = builder.add(n.Input(entry))
        at = builder.add(n.Number(at)) if field.kind == "flag" else at
        held = builder.add(n.Eq(at, at))
        flag = held if within is None else builder.add(n.Or(builder.add(n.Not(within)), held))
        place = source.locate(source.tree)
        guards.append(Guard(flag, name, f"goes by the shape of {field.name!r}", str(place), place))
    return values, replace(reading, guards=(*reading.guards, *guards))


def _list_unread_arrays(builder: Builder, values: Sequence[Ref], reading: Reading, scope: Scope) -> dict[str, Field]:
    """Return the first entry of each array that a function was read with, and that it computes nothing with."""
    roots = [*(value.at for value in values), *(guard.node for guard in reading.guards)]
    read = (builder.nodes[at] for at in find_reachable(builder.nodes, roots))
    used = {node.name.partition("[")[0] for node in read if isinstance(node, n.Input)}
    found: dict[str, tuple[str, Field]] = {}
    for entry, field in reading.inputs.items():
        whole = entry.partition("[")[0]
        if field.shape and whole not in used and field.name not in scope.states:
            found.setdefault(whole, (entry, field))
    return dict(found.values())


def _is_read_without(
    field: Field, values: Sequence[Ref], reading: Reading, builder: Builder, scope: Scope, read: Reader
) -> bool:
    """Return whether a function computes the same where a field is not declared: then it only takes or mentions it."""
    others = {name: each for name, each in (scope.fields or {}).items() if name != field.name}
    try:
        again, other = read(builder.copy(), replace(scope, fields=others))
    except PlauditError:
        return False
    return again == values and other.guards == reading.guards


def _list_entries(context: Context, result: Value, field: Field) -> list[Value]:
    """Return the entries of what an update returns, in row-major order; an error unless it has the state's shape."""
    level = [result]
    for size in field.shape:
        found: list[Value] = []
        for part in level:
            if not isinstance(part, Vector) or len(part.items) != size:
                raise _make_update_error(context, result, f"the state has the shape {field.shape}")
            found += part.items
        level = found
    if any(isinstance(part, Vector) for part in level):
        wanted = f"the state has the shape {field.shape}" if field.shape else "the state is a single value"
        raise _make_update_error(context, result, wanted)
    return level


def _fit_entry(context: Context, entry: Value, field: Field) -> Ref:
    """Return an entry of a state as a node: a flag of a flag, a number of a number; bools count 0 and 1 there."""
    if field.kind == "flag":
        if find_kind(entry) != FLAG:
            raise _make_update_error(context, entry, "the state is declared with flag=True")
        return Ref(add_flag(context, entry, context.source.tree), FLAG)
    return Ref(add_number(context, entry, context.source.tree), NUMBER)


def _make_update_error(context: Context, result: Value, wanted: str) -> ReadError:
    return context.error(
        context.source.tree,
        f"{wanted}, and this returns {describe(result)}.",
        "Return the state after the step, in its declared shape and kind.",
    )


def _read_result(context: Context, knobs: Mapping[str, object]) -> Value:
    """Return what the function returns; what `knobs` does not hold is data."""
    source = context.source
    arguments = {each.arg: each for each in (*source.tree.args.args, *source.tree.args.kwonlyargs)}
    named = {_find_knob(context, name, knobs): name for name in arguments}
    passed = {named[knob]: read_knob(context, knob, value) for knob, value in knobs.items() if knob in named}
    passed |= {name: read_parameter(context, name, each) for name, each in arguments.items() if name not in passed}
    if isinstance(kind := getattr(context.owner, "receiver", None), type):
        passed[context.receiver] = Constant(kind)  # of a class method
    context.enter_function(source, passed)
    for name in arguments.keys() - list_used(source.tree):
        context.claimed.pop(name, None)  # so that a part of a record may be the field of this name
    _note_unused(context, passed, arguments)
    try:
        return run_function(context)
    except RecursionError:
        raise ReadError(f"{source.name!r} cannot be read: it is nested too deeply. Split it into helpers.") from None


def _note_unused(context: Context, passed: Names, arguments: Mapping[str, ast.arg]) -> None:
    """Note the parameters that are not declared, and that the function does not use."""
    used = list_used(context.source.tree)
    for name, node in arguments.items():
        if isinstance(passed[name], Record) and name not in used and name not in (*RECORDS, context.receiver):
            context.note(node, f"takes {name!r}, which is not declared, and does not use it.")
    for each in list_collected(context.source.tree):
        context.note(each, f"takes any more arguments as {each.arg!r}, and does not use them.")


def _finish_flag(context: Context, value: Value) -> Reading:
    flag = add_flag(context, value, context.source.tree)
    settle_doubts(context, [flag])
    return _finish_reading(context, flag)


def _find_knob(context: Context, parameter: str, knobs: Mapping[str, object]) -> str:
    """Return what a parameter of the function is called among the knobs."""
    return parameter if parameter in knobs or context.what != "term" else name_knob(parameter)


def _finish_reading(context: Context, result: int) -> Reading:
    settle_suppositions(context)
    return Reading(
        result=result,
        guards=tuple(context.guards),
        inputs=context.inputs,
        reads=tuple(context.reads),
        params=tuple(context.params),
        parts=frozenset(context.parts),
        mentioned=frozenset(context.mentioned - context.parts),
        marks=tuple(context.marks),
        names=context.labels,
        notes=tuple(context.notes),
        claimed=context.claimed,
    )


def _choose_batch_size(scope: Scope) -> int:
    """Return with how many rows a function for batches is read: a number that no other axis has."""
    shapes = [field.shape for field in (scope.fields or {}).values()]
    shapes += [infer_shape(value) for value in scope.params.values()]
    sizes = {size for shape in shapes for size in shape}
    return next(size for size in count(2) if size not in sizes)


def _drop_other_rows(context: Context, result: int) -> None:
    """Keep the guards of the first row alone; refuse a result that comes of other rows too."""
    mixed: set[int] = set()
    for at, node in enumerate(context.builder.nodes):
        other = isinstance(node, n.Input) and OTHER_ROW in node.name
        if other or any(operand in mixed for operand in n.operands(node)):
            mixed.add(at)
    if result in mixed:
        advice = "Reduce only along the axes of one row: torch.sum(x, dim=-1), not torch.sum(x) or x.mean()."
        raise context.error(context.source.tree, "the score of a row depends on other rows of the batch.", advice)
    context.guards = [guard for guard in context.guards if guard.node not in mixed]
