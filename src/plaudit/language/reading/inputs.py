"""What a function reads: fields, parts of records, and parameters, each an input or a parameter of the Program."""

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from plaudit.errors import ReadError, UnknownField, did_you_mean
from plaudit.language import nodes as n
from plaudit.language.field import RECORDS, TERMINAL, Field, to_number
from plaudit.language.kinds import FLAG, NUMBER, infer_field_kind
from plaudit.language.parameters import Parameter, expand_parameters
from plaudit.language.program import Builder
from plaudit.language.reading.source import Source
from plaudit.language.reading.values import Constant, Record, Ref, Undeclared, Value, Vector, build_vector
from plaudit.language.shapes import infer_shape

MOST_NODES = 200_000
BATCH_SIZES = ("num_envs", "batch_size")
"""What a record calls the number of rows of a batch."""
OTHER_ROW = "@"
"""What follows the name of an input of another row, in functions that are written for batches."""


@dataclass(frozen=True, slots=True)
class Computed:
    """A state after the step: what its update computes, and the inputs that this is computed from."""

    value: Value
    inputs: Mapping[str, Field]


@dataclass(frozen=True, slots=True)
class Scope:
    """What a term or fact may read: the reward's fields and parameters, or nothing yet when a term is first defined."""

    fields: Mapping[str, Field] | None = None
    transition: frozenset[str] = frozenset()
    """Fields read as `prev.x` or `curr.x` by some term; read plainly, such a field is its value after the step."""
    params: Mapping[str, Parameter] = field(default_factory=dict)
    """The values of parameters by dotted name; that of a shared one by its plain name."""
    states: Mapping[str, Computed | None] = field(default_factory=dict)
    """The states that the reward carries, as they are after the step; None where that must not be read: in updates."""


class InputReader:
    """Reads the fields and parameters of one term."""

    def __init__(self, builder: Builder, scope: Scope, term: str, what: str, batch: int) -> None:
        """Begin to read `term`, which is a `what`, into `builder`."""
        self.builder = builder
        self.scope = scope
        self.term = term
        self.what = what
        self.batch = batch
        self.inputs: dict[str, Field] = {}
        self.reads: dict[str, None] = {}  # an ordered set
        self.known: dict[str, Value] = {}  # what each input was read as
        self.entries: dict[int, Ref] = {}  # of vectors, by their identity: what the caller owns
        self.params: dict[str, None] = {}
        self.parts: set[str] = set()  # what parameters and parts of records may be called, while no field is declared
        self.claimed: dict[str, tuple[str, ...]] = {}  # which parameter or part each field is

    def read_parameter(self, name: str, node: ast.AST, source: Source) -> Value:
        """Return what a positional parameter stands for: a field, a shared parameter, or a record of them."""
        if name in RECORDS:
            return Record((name,))
        fields = self.scope.fields
        if fields is not None and name not in fields and name != TERMINAL.name:
            if name in self.scope.params:
                return self.read_knob(name, None)
            return Record((name,))  # refused where it is used as a value
        if fields is None:
            self.parts.add(name)
        return self.read_field(name, (name,), node, source)

    def read_field(self, name: str, path: tuple[str, ...], node: ast.AST, source: Source) -> Value:
        """Return a field that is read plainly: its value after the step. `path` is the parameter or part it is."""
        if self.claimed.setdefault(name, path) != path:
            one, other = (".".join(each) for each in (self.claimed[name], path))
            fit = " and ".join(f"Field({'_'.join(each)!r})" for each in (self.claimed[name], path))
            what = f"`{one}` and `{other}` would both be the field {name!r}."
            raise source.error(node, what, f"Declare one for each: {fit}.")
        self.reads[name] = None
        if name in self.scope.states:
            return self._read_state(name, node, source)
        if name in self.scope.transition:
            return self.read_input(name, f"curr.{name}", node, source)
        return self.read_input(name, name, node, source)

    def read_part(self, path: tuple[str, ...], node: ast.AST, source: Source) -> Value:
        """Return a part of a record: the field, or the shared parameter, whose name is the longest that ends its path.

        `self.robot.pos` is the field `robot_pos`, or `pos`. Where neither is declared, it is a record itself.
        """
        plain = [format_field_name(part) for part in path]
        names = ["_".join(plain[at:]) for at in range(len(path))]
        if self.scope.fields is None:
            if plain[-2] in self.parts:  # it is no field, but a record
                self.reads.pop(plain[-2], None)
            self.parts.update(names)
            self.reads[names[-1]] = None
            return Undeclared(self.add(n.Input(names[-1])), names[-1], path)
        for name in names:
            if name in self.scope.fields or name == TERMINAL.name:
                return self.read_field(name, path, node, source)
            if name in self.scope.params:
                return self.read_knob(name, None)
        if self.batch and path[-1] in BATCH_SIZES:
            return Constant(self.batch)
        return Record(path)

    def read_record(self, record: str, name: str, node: ast.AST, source: Source) -> Value:
        """Return a field before or after the step; what no term reads as `prev.x` or `curr.x` is plain after it."""
        self.reads[f"{record}.{name}"] = None
        if record == "curr" and name in self.scope.states:
            return self._read_state(name, node, source)
        if record == "curr" and self.scope.fields is not None and name not in self.scope.transition:
            return self.read_input(name, name, node, source)
        return self.read_input(name, f"{record}.{name}", node, source)

    def _read_state(self, name: str, node: ast.AST, source: Source) -> Value:
        """Return a state after the step, which is what its update computes."""
        computed = self.scope.states[name]
        if computed is None:
            reader = "an update" if self.what == "state" else f"a {self.what}"
            raise source.error(
                node,
                f"{name!r} is a state, and {reader} does not read what a "
                "state is after the step: that is what updates say.",
                f"Read what it was before the step: `prev.{name}`, with `prev` among the parameters.",
            )
        if self.batch:
            raise source.error(
                node,
                f"{name!r} is a state, which a function for batches does not read after the step.",
                "Write the function for one row, without batched=True.",
            )
        self.inputs |= computed.inputs
        return computed.value

    def read_input(self, field_name: str, name: str, node: ast.AST, source: Source) -> Value:
        """Return an input by its whole name; a vector or matrix is written out in row-major order."""
        if self.scope.fields is None:
            return Undeclared(self.add(n.Input(name)), name, () if "." in name else (name,))
        declared = TERMINAL if name == "terminal" else self.scope.fields.get(field_name)
        if declared is None:
            raise self.make_unknown(field_name, field_name, node, source)
        if name not in self.known:
            rows = ["", *(f"{OTHER_ROW}{row}" for row in range(1, self.batch))]
            values = tuple(self._add_inputs(name, declared, row) for row in rows)
            self.known[name] = Vector(values, array=True) if self.batch else values[0]
        return self.known[name]

    def make_unknown(self, shown: str, name: str, node: ast.AST, source: Source) -> UnknownField:
        """Return the error that says that a field is not declared; `shown` is how it is written."""
        known = ", ".join(self.scope.fields or ()) or "none"
        near = did_you_mean(name, self._list_readable())
        advice = "" if shown == name else f"\nDeclare Field({name!r}), or give it in shared= if it never changes."
        return UnknownField(
            f"{self.what} {self.term!r} reads {shown!r}, which the reward does not declare.\n"
            f"  {source.locate(node)}\n"
            f"Declared fields: {known}.{near}{advice}"
        )

    def refuse_record(self, value: Value, node: ast.AST, source: Source) -> None:
        """Refuse a record where a value is needed: no field is declared for it."""
        if isinstance(value, Record) and value.path[0] not in RECORDS:
            path = value.path
            while path[-1].isdigit():  # an index of what is not declared
                path = path[:-1]
            raise self.make_unknown(".".join(path), format_field_name(path[-1]), node, source)

    def _list_readable(self) -> list[str]:
        """Return the names that a term may read: fields, and fields before and after the step."""
        fields = self.scope.fields or {}
        return [*fields, *(f"{record}.{name}" for name in fields for record in RECORDS)]

    def _add_inputs(self, name: str, declared: Field, row: str) -> Value:
        """Return the entries of a field, of this row or of another one of a batch."""
        if not declared.shape:
            return self._add_input(name, declared, row)
        entries = [self._add_input(f"{name}{entry}", declared, row) for entry in declared.entries]
        self.entries |= {id(entry): entry for entry in entries}
        return build_vector(entries, declared.shape)

    def _add_input(self, name: str, declared: Field, row: str) -> Ref:
        if not row:
            self.inputs[name] = declared
        at = self.add(n.Input(f"{name}{row}"))
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


def format_field_name(part: str) -> str:
    """Return what the field of a part of a record is called.

    >>> format_field_name("joint pos"), format_field_name("distance(a, b)")
    ('joint_pos', 'distance')
    """
    return re.sub(r"\W+", "_", part.partition("(")[0])


def hold_within_range(builder: Builder, at: int, field: Field) -> int:
    """Return the position of a number that is held within the range of its field."""
    if field.low is not None:
        at = builder.add(n.Max(at, builder.const(float(field.low))))
    return at if field.high is None else builder.add(n.Min(at, builder.const(float(field.high))))
