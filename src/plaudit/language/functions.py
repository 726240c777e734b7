"""Reading: a plain Python function becomes nodes, by running it once on symbols instead of numbers.

What the language does not have is refused, with the line and what to do instead.
"""

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from plaudit.errors import ReadError
from plaudit.language.field import Field
from plaudit.language.kinds import FLAG, UNKNOWN
from plaudit.language.program import Builder, Guard
from plaudit.language.reader import Mark, Reader, Scope
from plaudit.language.source import Source
from plaudit.language.statements import StatementReader
from plaudit.language.values import Value, describe


@dataclass(frozen=True, slots=True)
class Reading:
    """What came of reading a term or a fact: its result, the guards it needs, and what it read."""

    result: int
    """The position of the score of a term, or of the flag of a fact."""
    guards: tuple[Guard, ...]
    inputs: Mapping[str, Field]
    reads: tuple[str, ...]
    params: tuple[str, ...]
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
) -> Reading:
    """Return the score of the function `source` as a node of `builder`.

    `knobs` maps each keyword-only parameter to its default, or to None where the reward must supply it. `within` is
    a flag under which alone the term is scored at all.
    """
    reader = Reader(builder, scope, name)
    reader.path = within
    values = {knob: reader.read_knob(knob, default) for knob, default in knobs.items()}
    score = _read_result(FunctionReader(reader, source), values)
    return _finish_reading(reader, reader.add_number(score, source.tree, source))


def read_fact(source: Source, name: str, constants: Mapping[str, object], builder: Builder, scope: Scope) -> Reading:
    """Return the flag of the function `source` as a node of `builder`.

    `constants` maps each keyword-only parameter to its default: a fact has no knobs.
    """
    reader = Reader(builder, scope, name, what="fact")
    function = FunctionReader(reader, source)
    values = {name: function.read_constant(default, source.tree) for name, default in constants.items()}
    value = _read_result(function, values)
    if function.find_kind(value) not in (FLAG, UNKNOWN):
        raise source.error(
            source.tree,
            f"a fact is true or false of a step, and this returns {describe(value)}.",
            "Return a comparison: `return deceleration == 0`.",
        )
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
        if flow.returned is not True or flow.value is None:
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
        marks=tuple(reader.marks),
        names=reader.names,
    )
