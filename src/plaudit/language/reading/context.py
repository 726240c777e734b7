"""What a function is read with: the values of its names, the nodes made so far, the guards, the path that leads here.

An expression, or a target of an assignment, is read by the function that is registered for its type in `ast`:
`@reads(ast.Subscript)`, `@binds(ast.Tuple)`. One that reads others within it asks `context.read` and `context.bind`.
"""

import ast
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from functools import lru_cache, partial
from math import inf
from typing import Any, NamedTuple, TypeVar

from plaudit.errors import PlauditError, ReadError
from plaudit.language import nodes as n
from plaudit.language.field import Field
from plaudit.language.kinds import NUMBER
from plaudit.language.parameters import Fixed, Parameter
from plaudit.language.program import Builder, Guard
from plaudit.language.reading.advice import explain_unsupported, explain_unsupported_target
from plaudit.language.reading.owners import find_lost_class
from plaudit.language.reading.source import Source, SourceLine, list_assigned, mentions_again, read_current
from plaudit.language.reading.values import Constant, Names, Ref, Value
from plaudit.terminal import escape_controls

MOST_NODES = 200_000

EXPRESSIONS: dict[type[ast.expr], Callable[["Context", Any], Value]] = {}
"""What reads each kind of expression."""
TARGETS: dict[type[ast.expr], Callable[["Context", Any, Value], None]] = {}
"""What gives each kind of target its value: of an assignment, or of a loop."""

SPELLINGS: dict[str, "Spelling"] = {}
"""What functions and methods of NumPy, JAX and PyTorch mean, by name: no library is imported here."""

X = "x|a|input|arr|object|data|tensors|arrays"
X_Y = f"{X} y|x2|b|exponent|other"
ALONG = "axis?|dim|axis keepdims?|keepdim|keepdims"

Path = tuple[str, ...]
"""A parameter, and the parts that lead to a part of it: `("self", "extras")`."""

Registered = TypeVar("Registered", bound=Callable[..., Any])


def reads(*kinds: type[ast.expr]) -> Callable[[Registered], Registered]:
    """Register the function that reads expressions of these kinds."""
    return register(EXPRESSIONS, kinds)


def binds(*kinds: type[ast.expr]) -> Callable[[Registered], Registered]:
    """Register the function that gives targets of these kinds their value."""
    return register(TARGETS, kinds)


def register(table: dict[Any, Any], kinds: tuple[type[ast.AST], ...]) -> Callable[[Registered], Registered]:
    """Return a decorator that puts a function into a table."""

    def add(function: Registered) -> Registered:
        table.update(dict.fromkeys(kinds, function))
        return function

    return add


class Spelling(NamedTuple):
    """How a function of an array library is called, and what it means."""

    signature: str
    """Its parameters: `x low?|min eps?=1e-8` has one that is needed, one that may be left out and has two names, and
    one with a default."""
    function: Callable[..., Value]


def spells(names: str, signature: str = X, **fixed: object) -> Callable[[Registered], Registered]:
    """Register a function that takes the context and the call as what functions or methods of these names mean.

    Where PyTorch, the math module, or a method means something else: `torch.`, `math.` or `.` and its name.
    """

    def add(function: Registered) -> Registered:
        SPELLINGS.update(dict.fromkeys(names.split(), Spelling(signature, partial(function, **fixed))))
        return function

    return add


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


class Partial(NamedTuple):
    """A value that may be undefined."""

    node: int
    guard: int
    """Which one of the guards says that it is defined."""
    dropped: bool
    """Whether a row may drop it: the guard must hold only where the value counts."""


@dataclass(frozen=True, slots=True)
class Note:
    """Something in a function that makes no difference to the number, or is taken from elsewhere, and where it is."""

    term: str
    """The term, gate or condition that was read."""
    what: str
    place: SourceLine

    def __str__(self) -> str:
        """Return it as people are told."""
        return escape_controls(f"{self.term}: {self.what}\n  {self.place}")


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
    params: Mapping[str, Parameter | Fixed] = field(default_factory=dict)
    """The values of parameters by dotted name; that of a shared one, or a shared constant, by its plain name."""
    states: Mapping[str, Computed | None] = field(default_factory=dict)
    """The states that the reward carries, as they are after the step; None where that must not be read: in updates."""


class Undecided(ReadError):
    """A function cannot be read as far as it is known; what the reward shares may decide that it need not be."""


class Returned(NamedTuple):
    """What is taken of the values that a term or fact returns."""

    part: int | str | None = None
    """A position in a tuple, or a key of a dict."""
    batched: bool = False
    """Whether it returns a value for each row of a batch."""
    flag: str = ""
    """What a function is that returns a bool: a "fact", a "goal"."""


class Context:
    """One function being read: its own names and path, and what it shares with the functions that call it.

    Args:
        builder: Where nodes are added.
        scope: What may be read.
        term: The name of the term, or of what `what` says it is.
        source: The function.
        batch: With how many rows at once it is called: each field then has one more axis, the first.
    """

    def __init__(
        self, builder: Builder, scope: Scope, term: str, source: Source, *, what: str = "term", batch: int = 0
    ) -> None:
        self.builder, self.scope, self.term, self.what, self.batch = builder, scope, term, what, batch
        self.owner = source.owner  # of the term: helpers are given its `self`
        own = source.tree.args.args
        self.first = own[0].arg if own else ""  # parameter of the term
        self.receiver = self.first if source.owner is not None else ""
        self.lost = "" if source.owner is not None else find_lost_class(source.function)  # the class of the method
        self.inputs: dict[str, Field] = {}
        self.reads: dict[str, None] = {}  # an ordered set
        self.known: Names = {}  # what each input was read as
        self.entries: dict[int, Ref] = {}  # of vectors, by their identity: what the caller owns
        self.params: dict[str, None] = {}
        self.parts: set[str] = set()  # what parameters and parts of records may be called, while no field is declared
        self.mentioned: set[str] = set()  # the same for what only statements mention that are dropped
        self.claimed: dict[str, tuple[str, ...]] = {}  # which parameter or part each field is
        self.guards: list[Guard] = []
        self.partial: list[Partial] = []
        self.quiet = False  # where warnings are turned off: what is undefined may be dropped later
        self.looked_at: list[int] = []  # nodes whose values decide something that is no node
        self.infinite: dict[int, bool] = {}  # whether a constant infinity may reach a node
        self.integers: dict[int, bool] = {}  # whether a node may be an integer to NumPy
        self.unsigned: dict[int, ReadError] = {}  # nodes that are integers without a sign, and what to say of them
        self.marks: list[Mark] = []
        self.labels: dict[int, str] = {}  # what locals are called, by the node that got the name first
        self.calls: list[object] = []  # of helpers, that this one stands in
        self.counts: Counter[str] = Counter()  # of turns of loops, and of calls of helpers
        self.failures: dict[tuple[str, ...], PlauditError] = {}  # why a method or property of the class is not read
        self.notes: dict[Note, None] = {}
        self.written: dict[Path, str] = {}  # what dropped statements changed, and where; `()` stands for any method
        self.kept: list[Path] = []  # where dropped statements put what the function may go on to read
        self.writes: list[str] = []  # parts of records that were assigned, `self.x`, in order
        self.bases: Names = {}  # what each of them is a part of
        self.kept_parts: dict[tuple[str, int], Value] = {}  # values of them that on some paths are still the field's
        self.changed: list[Value] = []  # values that were changed in place
        self.supposed: list[tuple[Path, PlauditError]] = []  # what is taken to be there, and what to say if it is not
        self.undecided: list[ReadError] = []  # questions with another answer for another caller
        self.switches: list[ast.expr] = []  # conditions that a constant may decide which the reward shares
        self.origins: dict[int, tuple[Value, set[int]]] = {}  # what joined lists, dicts and arrays were before
        self.iterators: dict[int, Value] = {}  # lists that stand for what runs only once, such as `zip(v, w)`
        self.libraries: set[str] = set()  # whose arrays the caller was found to pass
        self.called_from: SourceLine | None = None  # where a library's function was called by the author's code
        self.path: int | None = None
        self.returned: Returned | None = None  # what is taken of it; a helper returns what it likes
        self.enter_function(source, {})

    def enter_function(self, source: Source, names: Names) -> None:
        """Begin to read a function with what it is passed."""
        self.source = source
        self.locals = list_assigned(source.tree)
        self.given = tuple(names.values())  # never changed in place
        for name, value in names.items():
            if id(value) in self.iterators:
                self.refuse_iterator(name)
        self.begin_statement(names)

    def open_helper(self, source: Source, names: Names) -> "Context":
        """Return the context of a helper that is called here."""
        inner = copy(self)
        inner.returned = None
        inner.enter_function(source, names)
        return inner

    def begin_statement(self, names: Names) -> None:
        """Read what follows as one statement: functions that are defined inside see its names."""
        self.names = self.statement_names = names
        self.statement_path = self.path

    def read(self, node: ast.expr) -> Value:
        """Return what an expression stands for."""
        reader = EXPRESSIONS.get(type(node))
        if reader is None:
            raise self.error(node, *explain_unsupported(node))
        return reader(self, node)

    def bind(self, target: ast.expr, value: Value) -> None:
        """Give a target its value."""
        if type(target) not in TARGETS:
            raise self.error(target, *explain_unsupported_target(target))
        TARGETS[type(target)](self, target, value)

    def assign(self, name: str, value: Value) -> None:
        """Give a local name a value."""
        if id(value) in self.iterators:
            self.refuse_iterator(name)
        self.names[name] = value
        self.label(value, name)

    def refuse_iterator(self, name: str) -> None:
        """Refuse a name for what runs only once, where the function may run over it again."""
        if mentions_again(self.source.tree, name):
            what = f"{name!r} is given what runs only once, and is read again."
            raise self.error(self.source.tree, what, f"Make it a list: {name} = list(zip(v, w)).")

    def label(self, value: Value, name: str) -> None:
        """Remember what the author called a value."""
        if isinstance(value, Ref):
            self.labels.setdefault(value.at, name)

    @contextmanager
    def using(self, names: Names) -> Iterator[Names]:
        """Read what follows with other names."""
        outer, self.names = self.names, names
        try:
            yield names
        finally:
            self.names = outer

    @contextmanager
    def trying(self, *, keep: bool = True) -> Iterator[None]:
        """Read something that may fail: then nothing of it is left; nor is it where it is not to be kept."""
        lists: list[list[Any]] = [
            self.guards,
            self.marks,
            self.partial,
            self.looked_at,
            self.writes,
            self.changed,
            self.kept,
            self.supposed,
        ]
        tables: tuple[dict[Any, Any], ...] = (
            self.inputs,
            self.known,
            self.reads,
            self.params,
            self.claimed,
            self.notes,
            self.names,
            self.written,
        )
        before = [len(each) for each in lists], [dict(each) for each in tables]
        try:
            yield
        except PlauditError:
            keep = False
            raise
        finally:
            if not keep:
                for made, kept in zip(lists, before[0], strict=True):
                    del made[kept:]
                for table, known in zip(tables, before[1], strict=True):
                    table.clear()
                    table.update(known)

    @contextmanager
    def under(self, flag: int) -> Iterator[None]:
        """Read what follows as happening only where `flag` is true."""
        outer = self.path
        self.path = flag if outer is None else self.add(n.And(outer, flag))
        try:
            yield
        finally:
            self.path = outer

    @property
    def certain(self) -> bool:
        """Whether every row that gets to the statement gets to the expression that is read."""
        return self.names is self.statement_names and self.path == self.statement_path

    def note(self, node: ast.AST, what: str) -> None:
        """Remember what the author should know of this place."""
        if not self.source.library:
            self.notes[Note(self.term, what, self.source.locate(node))] = None

    def write(self, part: str, value: Value, base: Value) -> None:
        """Give a part of a record, `self.x`, a value for the rest of the function; `base` is that record."""
        self.names[part] = value
        self.bases[part] = base
        self.writes.append(part)

    def note_switch(self, node: ast.expr) -> None:
        """Remember, while no field is declared, a condition that a shared constant may decide: no order of numbers."""
        compared = [op for part in ast.walk(node) if isinstance(part, ast.Compare) for op in part.ops]
        ordered = any(isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in compared)
        if self.scope.fields is None and not ordered:
            self.switches.append(node)

    def find(self, name: str) -> object:
        """Return the constant that a name stands for; KeyError where it stands for something else, or for nothing."""
        if name not in self.names and name not in self.locals:
            return read_current(self.source.function, name)
        known = self.names.get(name)
        if not isinstance(known, Constant):
            raise KeyError(name)
        return known.value

    def error(self, node: ast.AST, what: str, advice: str = "") -> ReadError:
        """Return the error that points at `node`."""
        return self.source.error(node, what, advice)

    def add(self, node: n.Node) -> int:
        """Return the position of `node`."""
        if len(self.builder.nodes) > MOST_NODES:
            raise ReadError(
                f"{self.what} {self.term!r} grows beyond {MOST_NODES:,} operations; compute part of it before scoring."
            )
        return self.builder.add(node)

    def add_partial(self, node: n.Node, at: ast.AST, *, why: str = "") -> Ref:
        """Return a partial operation, with the guard that it is inside its domain where it is reached."""
        position = self.add(node)
        fails_at_infinity = node.domain is n.FINITE
        self.require(self.add(n.Defined(position)), why or node.partial, at, of=position, finite=fails_at_infinity)
        return Ref(position, NUMBER)

    def require(self, flag: int, why: str, node: ast.AST, *, of: int | None = None, finite: bool = False) -> None:
        """Add the guard that `flag` is true where this point is reached.

        If it says that the node `of` is defined, the row may drop that value: where warnings are off, or where the
        operation is only defined for `finite` operands and a constant infinity may reach it.
        """
        if self.path is not None:
            flag = self.add(n.Or(self.add(n.Not(self.path)), flag))
        place = self.called_from or self.source.locate(node)
        if of is not None:
            self.partial.append(Partial(of, len(self.guards), self.quiet or (finite and self.may_be_infinite(of))))
        self.guards.append(Guard(flag, self.term, why, _format_line(place), place))

    def may_be_infinite(self, at: int) -> bool:
        """Return whether a node is computed from a constant infinity, other than by comparing with it."""
        waiting = [at]
        while waiting:
            here = waiting[-1]
            node = self.builder.nodes[here]
            operands = () if node.flag else n.operands(node)[isinstance(node, n.Select) :]
            unknown = [each for each in operands if each not in self.infinite]
            if unknown:
                waiting += unknown
                continue
            constant = isinstance(node, n.Const) and node.value in (inf, -inf)
            self.infinite[waiting.pop()] = constant or any(self.infinite[each] for each in operands)
        return self.infinite[at]

    @contextmanager
    def without_warnings(self, quiet: bool = True) -> Iterator[None]:
        """Read what follows as computed with warnings turned off, if `quiet` says so."""
        outer, self.quiet = self.quiet, self.quiet or quiet
        try:
            yield
        finally:
            self.quiet = outer

    def mark(self, node: ast.AST, *, test: int | None = None) -> None:
        """Remember that this place is reached only on the path that leads here."""
        if (self.path is None and test is None) or self.source.library:
            return
        reached = self.builder.const(True) if self.path is None else self.path
        line, column = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
        self.marks.append(Mark(reached, self.source.file, line, column, _format_first_line(node), test))


def _format_first_line(node: ast.AST) -> str:
    """Return the first line of a statement or expression, without writing out what is inside it."""
    if isinstance(node, ast.If):
        node = ast.If(node.test, [ast.Pass()], [])
    elif isinstance(node, ast.For):
        node = ast.For(node.target, node.iter, [ast.Pass()], [], lineno=node.lineno)
    return ast.unparse(node).partition("\n")[0]


@lru_cache(maxsize=256)
def _format_line(place: SourceLine) -> str:
    return str(place)  # an operation on an array has as many guards there as entries
