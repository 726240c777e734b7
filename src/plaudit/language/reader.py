"""What the functions of one term share while they are read: values, nodes, guards, the path that leads here."""

import ast
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache

from plaudit.errors import ReadError, UnknownField, did_you_mean
from plaudit.language import nodes as n
from plaudit.language.field import LARGEST_INTEGER, RECORDS, TERMINAL, Field, is_exact, to_number
from plaudit.language.kinds import FLAG, NUMBER, UNKNOWN, infer_field_kind
from plaudit.language.parameters import Parameter, expand_parameters
from plaudit.language.program import Builder, Guard
from plaudit.language.shapes import infer_shape
from plaudit.language.source import Source, SourceLine
from plaudit.language.values import Constant, Nested, Record, Ref, Undeclared, Value, Vector, build_vector, describe

MOST_NODES = 200_000


@dataclass(frozen=True, slots=True)
class Scope:
    """What a term or fact may read: the reward's fields and parameters, or nothing yet when a term is first defined."""

    fields: Mapping[str, Field] | None = None
    transition: frozenset[str] = frozenset()
    """Fields read as `prev.x` or `curr.x` by some term; read plainly, such a field is its value after the step."""
    params: Mapping[str, Parameter] = field(default_factory=dict)
    """The values of parameters by dotted name; that of a shared one by its plain name."""


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


class Reader:
    """What all functions of one term share: the nodes, the guards, the path that leads here."""

    def __init__(self, builder: Builder, scope: Scope, term: str, *, what: str = "term") -> None:
        """Begin to read `term`, or another function that says `what` it is, into `builder`."""
        self.builder = builder
        self.scope = scope
        self.term = term
        self.what = what
        self.path: int | None = None
        self.guards: list[Guard] = []
        self.marks: list[Mark] = []
        self.names: dict[int, str] = {}  # of locals, by the node that got it first
        self.inputs: dict[str, Field] = {}
        self.reads: dict[str, None] = {}  # an ordered set
        self.params: dict[str, None] = {}
        self.call_stack: list[object] = []
        self.helper_calls = 0
        self.turns = 0  # of all loops and comprehensions
        self.called_from: SourceLine | None = None  # where a library's function was called by the author's code

    def read_parameter(self, name: str, node: ast.AST, source: Source) -> Value:
        """Return what a positional parameter stands for."""
        if name in RECORDS:
            return Record(name)
        self.reads[name] = None
        if name in self.scope.transition:
            return self.read_input(name, f"curr.{name}", node, source)
        return self.read_input(name, name, node, source)

    def read_record(self, record: str, name: str, node: ast.AST, source: Source) -> Value:
        """Return a field before or after the step; what no term reads as `prev.x` or `curr.x` is plain after it."""
        self.reads[f"{record}.{name}"] = None
        if record == "curr" and self.scope.fields is not None and name not in self.scope.transition:
            return self.read_input(name, name, node, source)
        return self.read_input(name, f"{record}.{name}", node, source)

    def read_input(self, field_name: str, name: str, node: ast.AST, source: Source) -> Value:
        """Return an input by its whole name; a vector or matrix is written out in row-major order."""
        if self.scope.fields is None:
            return Undeclared(self.add(n.Input(name)), name)
        declared = TERMINAL if name == "terminal" else self.scope.fields.get(field_name)
        if declared is None:
            known = ", ".join(self.scope.fields) or "none"
            raise UnknownField(
                f"{self.what} {self.term!r} reads {field_name!r}, which the reward does not declare.\n"
                f"  {source.locate(node)}\n"
                f"Declared fields: {known}.{did_you_mean(field_name, self._list_readable())}"
            )
        if not declared.shape:
            return self._add_input(name, declared)
        return build_vector([self._add_input(f"{name}{entry}", declared) for entry in declared.entries], declared.shape)

    def _list_readable(self) -> list[str]:
        """Return the names that a term may read: fields, and fields before and after the step."""
        fields = self.scope.fields or {}
        return [*fields, *(f"{record}.{name}" for name in fields for record in RECORDS)]

    def _add_input(self, name: str, declared: Field) -> Ref:
        self.inputs[name] = declared
        at = self.add(n.Input(name))
        if declared.outside == "clip":
            at = hold_within_range(self.builder, at, declared)
        return Ref(at, infer_field_kind(declared))

    def read_knob(self, name: str, default: object) -> Value:
        """Return a keyword-only parameter: a parameter of the reward, or a constant where it is a table or a string."""
        dotted = name if default is None else f"{self.term}.{name}"
        if default is None and dotted not in self.scope.params:
            self.params[dotted] = None
            return Undeclared(self.add(n.Param(dotted)), dotted)  # the reward will say what it is
        value = self.scope.params.get(dotted, default)
        if dotted not in self.scope.params and to_number(value) is None:
            return Constant(value)
        if isinstance(value, tuple):
            entries = [self._add_parameter(*entry) for entry in expand_parameters({dotted: value}).items()]
            return build_vector(entries, infer_shape(value))
        return self._add_parameter(dotted, value)

    def _add_parameter(self, name: str, value: object) -> Ref:
        self.params[name] = None
        return Ref(self.add(n.Param(name)), FLAG if isinstance(value, bool) else NUMBER)

    def add(self, node: n.Node) -> int:
        """Return the position of `node`."""
        if len(self.builder.nodes) > MOST_NODES:
            raise ReadError(
                f"{self.what} {self.term!r} grows beyond {MOST_NODES:,} operations; compute part of it before scoring."
            )
        return self.builder.add(node)

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
        advice = ""
        if isinstance(value, Nested):
            advice = f"Call it: `{value.source.name}(...)`."
        elif isinstance(value, Vector):
            advice = "Reduce it to one number: sum(v), np.mean(v), max(v), np.linalg.norm(v)."
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


def hold_within_range(builder: Builder, at: int, field: Field) -> int:
    """Return the position of a number that is held within the range of its field."""
    if field.low is not None:
        at = builder.add(n.Max(at, builder.const(float(field.low))))
    return at if field.high is None else builder.add(n.Min(at, builder.const(float(field.high))))
