"""Reading: a plain Python function becomes nodes, by running it once on symbols instead of numbers.

Assignments name nodes. After an `if` whose branches both go on, each name that differs becomes one `Select`; a branch
that returns hands its value to the `Select` at the end. So the result grows with the function's text and never with
its number of paths. What the language does not have is refused here, with the line and what to do instead.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from plaudit.errors import ReadError
from plaudit.language.field import Field
from plaudit.language.kinds import FLAG, UNKNOWN
from plaudit.language.program import Builder, Guard
from plaudit.language.reader import Mark, Reader, Scope, describe
from plaudit.language.source import Source
from plaudit.language.statements import Frame
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
    marks: tuple[Mark, ...]
    """Places in the source that only some rows reach."""


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
    score = _returned(Frame(reader, source), {knob: reader.knob(knob, default) for knob, default in knobs.items()})
    return _reading(reader, reader.number(score, source.tree, source))


def read_fact(source: Source, name: str, constants: Mapping[str, object], builder: Builder, scope: Scope) -> Reading:
    """Return the flag of the function `source` as a node of `builder`.

    `constants` maps each keyword-only parameter to its default: a fact has no knobs.
    """
    reader = Reader(builder, scope, name, what="fact")
    frame = Frame(reader, source)
    value = _returned(frame, {name: frame.known(default, source.tree) for name, default in constants.items()})
    if frame.kind(value) not in (FLAG, UNKNOWN):
        raise source.error(
            source.tree,
            f"a fact is true or false of a step, and this returns {describe(value)}.",
            "Return a comparison: `return deceleration == 0`.",
        )
    return _reading(reader, reader.flag(value, source.tree, source))


def _returned(frame: Frame, knobs: Mapping[str, Value]) -> Value:
    """Return what a function returns whose positional parameters are data."""
    reader, source = frame.reader, frame.source
    data = {a.arg: reader.parameter(a.arg, a, source) for a in source.tree.args.args}
    try:
        return frame.run({**data, **knobs})
    except RecursionError:
        raise ReadError(f"{source.name!r} cannot be read: it is nested too deeply. Split it into helpers.") from None


def _reading(reader: Reader, result: int) -> Reading:
    return Reading(
        result, tuple(reader.guards), reader.inputs, tuple(reader.reads), tuple(reader.params), tuple(reader.marks)
    )
