"""What the functions of one term share while they are read: values, nodes, guards, the path that leads here."""

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

from plaudit.language import nodes as n
from plaudit.language.field import LARGEST_INTEGER, is_exact, to_number
from plaudit.language.kinds import FLAG, NUMBER, UNKNOWN
from plaudit.language.program import Builder, Guard
from plaudit.language.reading.inputs import InputReader, Scope
from plaudit.language.reading.source import Source, SourceLine
from plaudit.language.reading.values import (
    Constant,
    Nested,
    Ref,
    Undeclared,
    Value,
    Vector,
    describe,
    is_object,
)


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in the source that only some rows reach, and the flag that says which."""

    reached: int
    file: str
    line: int
    column: int
    text: str
    """The statement or expression there."""
    test: int | None = None
    """Where the place is an `if`: its own condition."""


class Reader(InputReader):
    """What all functions of one term share: the nodes, the guards, the path that leads here."""

    def __init__(self, builder: Builder, scope: Scope, term: str, *, what: str = "term", batch: int = 0) -> None:
        """Begin to read `term`, or another function that says `what` it is, into `builder`.

        With `batch`, it takes that many rows at once: each field has one more axis, the first.
        """
        super().__init__(builder, scope, term, what, batch)
        self.path: int | None = None
        self.guards: list[Guard] = []
        self.marks: list[Mark] = []
        self.names: dict[int, str] = {}  # of locals, by the node that got it first
        self.call_stack: list[object] = []
        self.helper_calls = 0
        self.turns = 0  # of all loops and comprehensions
        self.called_from: SourceLine | None = None  # where a library's function was called by the author's code

    @contextmanager
    def under(self, flag: int) -> Iterator[None]:
        """Read what follows as happening only where `flag` is true."""
        outer = self.path
        self.path = flag if outer is None else self.add(n.And(outer, flag))
        try:
            yield
        finally:
            self.path = outer

    def mark(self, node: ast.AST, source: Source, *, test: int | None = None) -> None:
        """Remember that this place is reached only on the path that leads here."""
        if (self.path is None and test is None) or source.library:
            return
        reached = self.builder.const(True) if self.path is None else self.path
        line, column = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
        self.marks.append(Mark(reached, source.file, line, column, _format_first_line(node), test))

    def name(self, value: Value, name: str) -> None:
        """Remember what the author called a value."""
        if isinstance(value, Ref):
            self.names.setdefault(value.at, name)

    def require(self, flag: int, why: str, node: ast.AST, source: Source) -> None:
        """Add the guard that `flag` is true where this point is reached."""
        if self.path is not None:
            flag = self.add(n.Or(self.add(n.Not(self.path)), flag))
        place = self.called_from or source.locate(node)
        self.guards.append(Guard(flag, self.term, why, _format_line(place), place))

    def add_partial(self, node: n.Node, at: ast.AST, source: Source, *, why: str = "") -> Ref:
        """Return a partial operation, with the guard that it is inside its domain where it is reached."""
        position = self.add(node)
        self.require(self.add(n.Defined(position)), why or node.partial, at, source)
        return Ref(position, NUMBER)

    def add_number(self, value: Value, node: ast.AST, source: Source) -> int:
        """Return the position of `value` as a number; a flag counts 1 or 0."""
        match value:
            case Ref(at, kind) if kind in (NUMBER, UNKNOWN):
                return at
            case Undeclared(at, _):
                return at
            case Ref(at, kind) if kind == FLAG:
                return self.add(n.Number(at))
            case Constant(known) if (number := to_number(known)) is not None:
                if not is_exact(number):
                    raise source.error(node, f"{describe(value)} is not a number that a float holds exactly.")
                large = isinstance(number, bool) or abs(number) > LARGEST_INTEGER
                return self.builder.const(float(number) if large else number)
        self.refuse_record(value, node, source)
        advice = ""
        if isinstance(value, Nested):
            advice = f"Call it: `{value.source.name}(...)`."
        elif isinstance(value, Vector):
            advice = "Reduce it to one number: sum(v), np.mean(v), max(v), np.linalg.norm(v)."
        elif isinstance(value, Constant) and value.value is None:
            advice = "Give the field a `missing=` value: there is no None in a row."
        elif isinstance(value, Constant) and is_object(value.value):
            advice = "Use numbers, bools, strings, tuples or dicts; or read one of its attributes."
        raise source.error(node, f"a number is needed here, and this is {describe(value)}.", advice)

    def add_flag(self, value: Value, node: ast.AST, source: Source) -> int:
        """Return the position of `value` as a condition; a number means `!= 0`."""
        match value:
            case Ref(at, kind) if kind in (FLAG, UNKNOWN):
                return at
            case Undeclared(at, _):
                return at
            case Ref(at, kind) if kind == NUMBER:
                return self.add(n.Ne(at, self.builder.const(0)))
            case Constant(known) if to_number(known) is not None:
                return self.builder.const(bool(known))
        self.refuse_record(value, node, source)
        advice = "Compare a category with one of its values: phase == 'coding'."
        if isinstance(value, Vector):
            advice = "Say which entries must hold: any(v > 0) or all(v > 0); join arrays of bools with `&`, `|`, `~`."
        raise source.error(node, f"a condition is needed here, and this is {describe(value)}.", advice)


def _format_first_line(node: ast.AST) -> str:
    """Return the first line of a statement or expression, without writing out what is inside it."""
    if isinstance(node, ast.If):
        node = ast.If(node.test, [ast.Pass()], [])
    elif isinstance(node, ast.For):
        node = ast.For(node.target, node.iter, [ast.Pass()], [], lineno=node.lineno)
    return ast.unparse(node).partition("\n")[0]


@lru_cache(maxsize=256)
def _format_line(place: SourceLine) -> str:
    """Return a line as people are told; an operation on an array has as many guards there as entries."""
    return str(place)
