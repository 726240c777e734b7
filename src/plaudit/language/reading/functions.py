"""Reading: a plain Python function becomes nodes, by running it once on symbols instead of numbers.

What the language does not have is refused, with the line and what to do instead.
"""

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count

from plaudit.errors import ReadError
from plaudit.language import nodes as n
from plaudit.language.field import Field
from plaudit.language.kinds import FLAG, NUMBER, UNKNOWN
from plaudit.language.program import Builder, Guard
from plaudit.language.reading.flow import is_always_true
from plaudit.language.reading.inputs import OTHER_ROW, Scope
from plaudit.language.reading.reader import Mark, Reader
from plaudit.language.reading.returns import Returned
from plaudit.language.reading.source import Source
from plaudit.language.reading.statements import StatementReader
from plaudit.language.reading.values import Ref, Value, Vector, describe
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
    marks: tuple[Mark, ...]
    """Where in the source only some rows get."""
    names: Mapping[int, str]
    """What the author called the values of local names, by position."""


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

    `knobs` maps each keyword-only parameter to its default, or to None where the reward must supply it. `within` is
    a flag under which alone the term is scored at all; errors say `what` the function is. `part` says which of several
    returned values is the score. A `batched` function takes and returns many rows at once.
    """
    reader = Reader(builder, scope, name, what=what, batch=_choose_batch_size(scope) if batched else 0)
    reader.path = within
    named = [argument.arg for argument in source.tree.args.kwonlyargs]  # others are read as parts of records
    values = {knob: reader.read_knob(knob, default) for knob, default in knobs.items() if knob in named}
    function = FunctionReader(reader, source)
    if what == "term":
        function.returned = Returned(part, batched)
    score = reader.add_number(_read_result(function, values), source.tree, source)
    if reader.batch:
        _drop_other_rows(reader, score, source)
    return _finish_reading(reader, score)


def read_condition(source: Source, name: str, knobs: Mapping[str, object], builder: Builder, scope: Scope) -> Reading:
    """Return the flag of the function `source`, a condition with knobs, as a node of `builder`."""
    reader = Reader(builder, scope, name, what="override")
    values = {knob: reader.read_knob(knob, default) for knob, default in knobs.items()}
    function = FunctionReader(reader, source)
    return _finish_reading(reader, _require_flag(function, _read_result(function, values), "a condition"))


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

    `constants` maps each keyword-only parameter to its default: a fact has no knobs. Errors say `what` it is.
    """
    reader = Reader(builder, scope, name, what=what)
    function = FunctionReader(reader, source)
    function.returned = Returned(flag=what)
    values = {name: function.read_constant(default, source.tree) for name, default in constants.items()}
    value = _read_result(function, values)
    return _finish_reading(reader, reader.add_flag(value, source.tree, source))


def _require_flag(function: "FunctionReader", value: Value, what: str) -> int:
    """Return the position of the flag that a function returns; an error where it returns anything else."""
    source = function.source
    if function.find_kind(value) not in (FLAG, UNKNOWN):
        raise source.error(
            source.tree,
            f"{what} is true or false of a step, and this returns {describe(value)}.",
            "Return a comparison: `return deceleration == 0`.",
        )
    return function.reader.add_flag(value, source.tree, source)


def read_update(
    source: Source, field: Field, knobs: Mapping[str, object], builder: Builder, scope: Scope
) -> tuple[tuple[Value, ...], Reading]:
    """Return the entries of the state `field` after a step, as the function `source` computes them.

    `knobs` are as those of a term. Where no field is declared yet, what comes back is not looked at.
    """
    reader = Reader(builder, scope, field.name, what="state")
    values = {knob: reader.read_knob(knob, default) for knob, default in knobs.items()}
    function = FunctionReader(reader, source)
    result = _read_result(function, values)
    if scope.fields is None:
        return (), _finish_reading(reader, 0)
    entries = _list_entries(function, result, field)
    return tuple(_fit_entry(function, entry, field) for entry in entries), _finish_reading(reader, 0)


def _list_entries(function: "FunctionReader", result: Value, field: Field) -> list[Value]:
    """Return the entries of what an update returns, in row-major order; an error unless it has the state's shape."""
    level = [result]
    for size in field.shape:
        found: list[Value] = []
        for part in level:
            if not isinstance(part, Vector) or len(part.items) != size:
                raise _make_update_error(function, result, f"the state has the shape {field.shape}")
            found += part.items
        level = found
    if any(isinstance(part, Vector) for part in level):
        wanted = f"the state has the shape {field.shape}" if field.shape else "the state is a single value"
        raise _make_update_error(function, result, wanted)
    return level


def _fit_entry(function: "FunctionReader", entry: Value, field: Field) -> Value:
    """Return an entry of a state as a node: a flag of a flag, a number of a number; bools count 0 and 1 there."""
    reader, source = function.reader, function.source
    if field.kind == "flag":
        if function.find_kind(entry) != FLAG:
            raise _make_update_error(function, entry, "the state is declared with flag=True")
        return Ref(reader.add_flag(entry, source.tree, source), FLAG)
    return Ref(reader.add_number(entry, source.tree, source), NUMBER)


def _make_update_error(function: "FunctionReader", result: Value, wanted: str) -> ReadError:
    return function.source.error(
        function.source.tree,
        f"{wanted}, and this returns {describe(result)}.",
        "Return what the state is after the step, in the shape and kind that it is declared with.",
    )


class FunctionReader(StatementReader):
    """One function being read: the term itself or a helper it calls."""

    def run(self, env: dict[str, Value]) -> Value:
        """Return what the function returns."""
        self.given = tuple(env.values())
        body = self.source.tree.body
        if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) and len(body) > 1:
            body = body[1:]
        flow = self.read_block(body, env)
        if flow.value is None or not (
            flow.returned is True or is_always_true(self.reader, flow.returned, self.source.tree)
        ):
            matches = any(isinstance(node, ast.Match) for node in ast.walk(self.source.tree))
            advice = "Return a number on every path." + " A `match` may need `case _:`." * matches
            raise self.error(self.source.tree, "a path ends without `return`.", advice)
        return flow.value


def _read_result(function: FunctionReader, knobs: Mapping[str, Value]) -> Value:
    """Return what a function returns whose positional parameters are data."""
    reader, source = function.reader, function.source
    data = {a.arg: reader.read_parameter(a.arg, a, source) for a in source.tree.args.args}
    try:
        return function.run({**data, **knobs})
    except RecursionError:
        raise ReadError(f"{source.name!r} cannot be read: it is nested too deeply. Split it into helpers.") from None


def _finish_reading(reader: Reader, result: int) -> Reading:
    return Reading(
        result=result,
        guards=tuple(reader.guards),
        inputs=reader.inputs,
        reads=tuple(reader.reads),
        params=tuple(reader.params),
        parts=frozenset(reader.parts),
        marks=tuple(reader.marks),
        names=reader.names,
    )


def _choose_batch_size(scope: Scope) -> int:
    """Return with how many rows a function for batches is read: a number that no other axis has."""
    shapes = [field.shape for field in (scope.fields or {}).values()]
    shapes += [infer_shape(value) for value in scope.params.values()]
    sizes = {size for shape in shapes for size in shape}
    return next(size for size in count(2) if size not in sizes)


def _drop_other_rows(reader: Reader, result: int, source: Source) -> None:
    """Keep the guards of the first row alone; refuse a result that comes of other rows too."""
    mixed: set[int] = set()
    for at, node in enumerate(reader.builder.nodes):
        other = isinstance(node, n.Input) and OTHER_ROW in node.name
        if other or any(operand in mixed for operand in n.operands(node)):
            mixed.add(at)
    if result in mixed:
        raise source.error(
            source.tree,
            "the score of a row comes of the other rows of the batch too.",
            "Reduce along the axes of a row alone: torch.sum(x, dim=-1), and not torch.sum(x) or x.mean().",
        )
    reader.guards = [guard for guard in reader.guards if guard.node not in mixed]
