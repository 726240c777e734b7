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
from plaudit.language.flow import is_always_true
from plaudit.language.inputs import OTHER_ROW, Scope
from plaudit.language.program import Builder, Guard
from plaudit.language.reader import Mark, Reader
from plaudit.language.returns import Returned
from plaudit.language.shapes import infer_shape
from plaudit.language.source import Source
from plaudit.language.statements import StatementReader
from plaudit.language.values import Value


@dataclass(frozen=True, slots=True)
class Reading:
    """What came of reading a term or a fact: its result, the guards it needs, and what it read."""

    result: int
    """The position of the score of a term, or of the flag of a fact."""
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
    part: int | str | None = None,
    batched: bool = False,
) -> Reading:
    """Return the score of the function `source` as a node of `builder`.

    `knobs` maps each keyword-only parameter to its default, or to None where the reward must supply it. `within` is
    a flag under which alone the term is scored at all. `part` says which of several returned values is the score. A
    `batched` function takes and returns many rows at once.
    """
    reader = Reader(builder, scope, name, batch=_choose_batch_size(scope) if batched else 0)
    reader.path = within
    named = [argument.arg for argument in source.tree.args.kwonlyargs]  # others are read as parts of records
    values = {knob: reader.read_knob(knob, default) for knob, default in knobs.items() if knob in named}
    function = FunctionReader(reader, source)
    function.returned = Returned(part, batched)
    score = reader.add_number(_read_result(function, values), source.tree, source)
    if reader.batch:
        _drop_other_rows(reader, score, source)
    return _finish_reading(reader, score)


def read_fact(source: Source, name: str, constants: Mapping[str, object], builder: Builder, scope: Scope) -> Reading:
    """Return the flag of the function `source` as a node of `builder`.

    `constants` maps each keyword-only parameter to its default: a fact has no knobs.
    """
    reader = Reader(builder, scope, name, what="fact")
    function = FunctionReader(reader, source)
    function.returned = Returned(fact=True)
    values = {name: function.read_constant(default, source.tree) for name, default in constants.items()}
    value = _read_result(function, values)
    return _finish_reading(reader, reader.add_flag(value, source.tree, source))


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
