"""Reading: a plain Python function becomes nodes, by running it once on symbols instead of numbers.

Assignments name nodes. After an `if` whose branches both go on, each name that differs becomes one `Select`; a branch
that returns hands its value to the `Select` at the end. So the result grows with the function's text and never with
its number of paths. What the language does not have is refused here, with the line and what to do instead.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from plaudit.errors import ReadError
from plaudit.language.field import Field
from plaudit.language.program import Builder, Guard
from plaudit.language.reader import Reader, Scope
from plaudit.language.source import Source
from plaudit.language.statements import Frame
from plaudit.language.values import Value


@dataclass(frozen=True, slots=True)
class Reading:
    """What came of reading a term: its score, the guards it needs, and what it read."""

    score: int
    guards: tuple[Guard, ...]
    inputs: Mapping[str, Field]
    reads: tuple[str, ...]
    params: tuple[str, ...]


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
    arguments = source.tree.args
    env: dict[str, Value] = {a.arg: reader.parameter(a.arg, a, source) for a in arguments.args}
    env |= {knob: reader.knob(knob, default) for knob, default in knobs.items()}
    try:
        score = Frame(reader, source).run(env)
        at = reader.number(score, source.tree, source)
    except RecursionError:
        raise ReadError(f"{source.name!r} cannot be read: it is nested too deeply. Split it into helpers.") from None
    return Reading(at, tuple(reader.guards), reader.inputs, tuple(reader.reads), tuple(reader.params))
