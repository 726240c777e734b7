"""A function as it was written: its syntax tree, where it stands, and the values its names had."""

import ast
import builtins
import dis
import inspect
import linecache
import types
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import PurePath
from pickle import PicklingError
from pkgutil import resolve_name
from typing import Any, NamedTuple, Self

from plaudit.errors import ReadError
from plaudit.language.reading.advice import suggest_rewrite
from plaudit.terminal import escape_controls


class SourceLine(NamedTuple):
    """A line of a source file."""

    file: str
    line: int
    text: str = ""
    """The line itself, without its indentation."""

    def __str__(self) -> str:
        """Return it as people are told: 'rewards.py, line 12:  return a / b'."""
        return escape_controls(f"{PurePath(self.file).name}, line {self.line}:  {self.text}")


@dataclass(frozen=True, slots=True)
class Owner:
    """The class whose method a function is."""

    kind: type
    method: str
    """The name of the method."""
    receiver: object = None
    """The object that it was taken from, or the class itself for a class method; None where only the class is known."""


@dataclass(frozen=True, slots=True)
class Source:
    """A plain Python function, ready to be read."""

    name: str
    file: str
    lines: tuple[str, ...]
    """The lines of the definition, the first one at `first`."""
    first: int
    tree: ast.FunctionDef
    function: types.FunctionType
    known: dict[object, object] = field(default_factory=dict)
    """The values of outer names, as they were when the function was first read."""
    helpers: dict[types.FunctionType, "Source"] = field(default_factory=dict)
    """The functions it calls, as they were when it was first read."""
    library: bool = False
    """Whether it belongs to a library, not to the author of the term: errors then point at the call."""
    owner: Owner | None = None
    """The class whose method it is."""

    @property
    def called(self) -> Callable[..., Any]:
        """The plain function, or the method of the object or class that it was taken from."""
        receiver = None if self.owner is None else self.owner.receiver
        return self.function if receiver is None else types.MethodType(self.function, receiver)

    def locate(self, node: ast.AST) -> SourceLine:
        """Return where `node` stands."""
        line = getattr(node, "lineno", self.tree.lineno)
        return SourceLine(self.file, line, self.lines[line - self.first].strip())

    def error(self, node: ast.AST, what: str, advice: str = "") -> ReadError:
        """Return the error that points at `node`: what cannot be read, where, and what to do instead."""
        line = getattr(node, "lineno", self.tree.lineno)
        text = self.lines[line - self.first].rstrip("\n")
        indent = len(text) - len(text.lstrip())
        start = max(_count_letters(text, getattr(node, "col_offset", 0)) - indent, 0)
        same_line = getattr(node, "end_lineno", line) == line
        stop = (_count_letters(text, getattr(node, "end_col_offset", 0)) if same_line else len(text)) - indent
        caret = " " * start + "^" * max(stop - start, 1)
        parts = [f"{self.name!r} cannot be read: {what}", f"  {self.file}, line {line}", f"    {text.strip()}"]
        return ReadError("\n".join([*parts, f"    {caret}", advice or suggest_rewrite(node)]))

    def find_helper(self, function: types.FunctionType) -> "Source":
        """Return the source of a function that this one calls, read once."""
        if function not in self.helpers:
            source = parse_source(function)
            self.helpers[function] = replace(source, library=self.is_library_call(function))
        return self.helpers[function]

    def is_library_call(self, function: types.FunctionType) -> bool:
        """Return whether a function that this one calls stands in a library, and not in the same package."""
        package, own = (str(each.__module__).partition(".")[0] for each in (function, self.function))
        return self.library or (package != own and (package == _PACKAGE or is_installed(function)))

    def nest(self, tree: ast.FunctionDef) -> "Source":
        """Return the source of a function that is defined inside this one."""
        return replace(self, name=tree.name, tree=tree)


class _PlainFunction:
    """The plain function; there is none on a class, nor where an object was loaded from a specification."""

    def __get__(self, instance: "ReadFunction | None", owner: type) -> Callable[..., Any]:
        if instance is None or instance.source is None:
            raise AttributeError("__wrapped__")
        return instance.source.function


class ReadFunction:
    """What was read from a plain function, and shows it where tools look for one."""

    name: str
    source: Source | None
    __wrapped__ = _PlainFunction()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by name, as functions are; PicklingError where that name means something else."""
        function = getattr(self, "__wrapped__", None)
        name = f"{getattr(function, '__module__', None)}:{getattr(function, '__qualname__', self.name)}"
        with suppress(ValueError, ImportError, AttributeError):
            if resolve_name(name) is self:
                return resolve_name, (name,)
        raise PicklingError(
            f"{self.name!r} is not a name at the top of its module, so another process could not find it: "
            "pickle a reward that has it, or define it at the top of a module."
        )

    @property
    def __name__(self) -> str:
        """Its name."""
        return self.name


def _explain_no_function(function: object, name: str) -> tuple[str, str]:
    """Return what something is that is no plain function, and what to write instead."""
    if isinstance(function, type):
        return f"the class {name!r}", f"\nGive a function, or a method of it: {name}.reward."
    package = (getattr(function, "__module__", None) or "").lstrip("_").partition(".")[0]
    if callable(function) and package and name.isidentifier():
        call = f"{name}(x)" if package == "builtins" else f"{package}.{name}(x)"
        what = f"a function of {package} that is not written in Python"
        return what, f"\nCall it in one: def {name}_of(x): return {call}."
    return f"a {type(function)}", ""


def parse_source(function: object) -> Source:
    """Return the source of a plain function as it was written; ReadError where it has none or is no such function."""
    name = getattr(function, "__name__", repr(function))
    if not isinstance(function, types.FunctionType):
        what, advice = _explain_no_function(function, name)
        raise ReadError(f"{name!r} cannot be read: a term is a plain Python function, this is {what}.{advice}")
    file = function.__code__.co_filename
    try:
        lines, first = _list_lines(function.__code__)  # of a wrapper, not of what it wraps
    except (OSError, TypeError):
        raise ReadError(
            f"{name!r} cannot be read: its source is not available (it was defined in {file!r}).\n"
            "Define it in a file or a notebook cell; a bare interpreter prompt and exec() keep no source."
        ) from None
    text = "".join(lines)
    indented = text[:1].isspace()
    placed = "\n" * (first - 2) + "if True:\n" + text if indented else "\n" * (first - 1) + text  # on its lines
    try:
        body = ast.parse(placed).body
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ReadError(f"{name!r} cannot be read: its source does not parse on its own ({error}).") from None
    block = body[0]
    tree = block.body[0] if indented and isinstance(block, ast.If) else block
    if not isinstance(tree, ast.FunctionDef) or name == "<lambda>":
        raise ReadError(
            f"{name!r} cannot be read: it is not a function made with `def`.\n  {file}, line {first}\n"
            "Write `def name(field, *, knob=1.0): ...`."
        )
    private = _find_private_class(tree, function)
    if private is None:
        raise ReadError(
            f"{name!r} cannot be read: {file}, line {first}, no longer holds the function that runs.\n"
            "The file was edited after it was imported; reload the module, or restart."
        )
    return Source(name, file, tuple(lines), first, _mangle(tree, private) if private else tree, function)


def _list_lines(code: types.CodeType) -> tuple[list[str], int]:
    """Return the lines of a function and the number of the first, like `inspect.getsourcelines`.

    That function searches all imported modules for the file first, which takes milliseconds.
    """
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename)[code.co_firstlineno - 1 :]
    if lines and lines[0].lstrip().startswith(("def ", "@")):
        return inspect.getblock(lines), code.co_firstlineno
    return inspect.getsourcelines(code)


def read_current(function: types.FunctionType, name: str) -> object:
    """Return the value that a name from outside `function` has now; KeyError where it has none."""
    enclosed = name in function.__code__.co_freevars  # perhaps assigned further down
    for scope in (read_closure(function), *([] if enclosed else [function.__globals__, vars(builtins)])):
        if name in scope:
            return scope[name]
    raise KeyError(name)


def read_closure(function: types.FunctionType) -> dict[str, object]:
    """Return the values of the names that a function has from the functions around it."""
    values = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # an empty cell: the name is assigned further down
            values[name] = cell.cell_contents
    return values


def is_installed(function: types.FunctionType) -> bool:
    """Return whether a function stands in the standard library or among installed packages."""
    path = PurePath(function.__code__.co_filename)
    return is_standard(function) or not _INSTALLED.isdisjoint(path.parts)


def is_standard(function: types.FunctionType) -> bool:
    """Return whether a function stands in Python's standard library."""
    return _is_standard_file(function.__code__.co_filename)


@lru_cache(maxsize=256)
def _is_standard_file(name: str) -> bool:
    path = PurePath(name)
    return name.startswith("<frozen") or (path.is_relative_to(_STANDARD) and _INSTALLED.isdisjoint(path.parts))


_PACKAGE = __name__.partition(".")[0]
_STANDARD = PurePath(inspect.__file__).parent
_INSTALLED = {"site-packages", "dist-packages"}


@lru_cache(maxsize=256)  # a helper is read again at each call
def list_assigned(function: ast.FunctionDef) -> frozenset[str]:
    """Return the names that a function assigns itself: not what functions and generators inside it assign."""
    names: set[str] = set()
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        match waiting.pop():
            case ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
            case ast.FunctionDef(name=name):
                names.add(name)
            case ast.Lambda():
                pass
            case ast.comprehension(iter=iterated, ifs=tests):
                waiting += [iterated, *tests]
            case ast.MatchAs(name=str(name)) as node:
                names.add(name)
                waiting += ast.iter_child_nodes(node)
            case node:
                waiting += ast.iter_child_nodes(node)
    return frozenset(names)


_LOOPS = (ast.For, ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp, ast.FunctionDef, ast.Lambda)


@lru_cache(maxsize=256)
def mentions_again(function: ast.FunctionDef, name: str) -> bool:
    """Return whether a function may read a name more than once after it was given a value."""

    def count(node: ast.AST, times: int) -> int:
        if isinstance(node, ast.Name):
            return times if node.id == name and isinstance(node.ctx, ast.Load) else 0
        given = any(
            isinstance(each, ast.Name) and each.id == name and not isinstance(each.ctx, ast.Load)
            for each in ast.walk(node)
        )
        inner = times + (isinstance(node, _LOOPS) and not given)
        once = getattr(node, "iter", None) if isinstance(node, ast.For) else _find_first(node)
        return sum(count(each, times if each is once else inner) for each in _list_children(node))

    return sum(count(each, 1) for each in function.body) > 1


def _find_first(node: ast.AST) -> ast.AST | None:
    """Return what a comprehension runs over only once."""
    return node.generators[0].iter if hasattr(node, "generators") else None


def _list_children(node: ast.AST) -> Iterator[ast.AST]:
    for each in ast.iter_child_nodes(node):
        if isinstance(each, ast.comprehension):
            yield from ast.iter_child_nodes(each)
        else:
            yield each


@lru_cache(maxsize=256)
def list_used(function: ast.FunctionDef) -> frozenset[str]:
    """Return the names that a function reads; not those that it assigns on its first level before it reads them."""
    used: set[str] = set()
    assigned: set[str] = set()
    for statement in function.body:
        names = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
        used |= {node.id for node in names if not isinstance(node.ctx, ast.Store)} - assigned
        if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            used |= {statement.target.id} - assigned
        if isinstance(statement, ast.Assign):
            assigned |= {target.id for target in statement.targets if isinstance(target, ast.Name)} - used
    return frozenset(used)


def list_collected(function: ast.FunctionDef) -> list[ast.arg]:
    """Return the parameters that take all other arguments: `*args` and `**kwargs`."""
    return [each for each in (function.args.vararg, function.args.kwarg) if each is not None]


def validate_signature(source: Source) -> None:
    """Refuse signatures with parameters that cannot be named; `*args` and `**kwargs` only where they are used."""
    arguments = source.tree.args
    for each in list_collected(source.tree):
        if each.arg in list_used(source.tree):
            raise source.error(each, "`*args` and `**kwargs` cannot be read.", "Name each field.")
    if arguments.posonlyargs:
        raise source.error(arguments.posonlyargs[0], "positional-only parameters cannot be read.", "Drop the `/`.")


def _count_letters(text: str, column: int) -> int:
    """Return how many letters stand before a column, which Python counts in bytes."""
    return len(text.encode()[:column].decode(errors="ignore"))


def _find_private_class(tree: ast.FunctionDef, function: types.FunctionType) -> str | None:
    """Return the class whose private names, `self.__x`, a function has, empty if it has none.

    None where `tree` is not the source of the function at all.
    """
    if _is_source_of(tree, function):
        return ""
    kind = ["", *function.__qualname__.split(".")][-2]
    return kind if kind.isidentifier() and _is_source_of(tree, function, kind) else None


def _mangle(tree: ast.FunctionDef, kind: str) -> ast.FunctionDef:
    """Return a function with its private names as Python stores them: `__x` of the class `Env` is `_Env__x`."""
    for node in ast.walk(tree):
        for part in ("id", "attr", "arg"):
            name = getattr(node, part, None)
            if isinstance(name, str) and name.startswith("__") and not name.endswith("__"):
                setattr(node, part, f"_{kind.lstrip('_')}{name}")
    return tree


def _is_source_of(tree: ast.FunctionDef, function: types.FunctionType, kind: str = "") -> bool:
    """Return whether compiling `tree`, perhaps in the class `kind`, gives the code of `function`."""
    bare = ast.FunctionDef(**{**dict(ast.iter_fields(tree)), "decorator_list": []})
    ast.copy_location(bare, tree)
    free = function.__code__.co_freevars
    arguments = ast.arguments([], [ast.arg(name) for name in free], None, [], [], None, [])
    # names of an enclosing function are only that inside one
    body: list[ast.stmt] = [ast.ClassDef(kind, [], [], [bare], [])] if kind else [bare]
    body = [ast.FunctionDef("enclosing", arguments, body, [])] if free else body
    try:
        code = compile(ast.fix_missing_locations(ast.Module(body, [])), "<source>", "exec")
    except (SyntaxError, ValueError):
        return False
    except (RecursionError, MemoryError):
        return True  # the reader refuses what is nested so deeply, and says so
    for name in (*["enclosing"] * bool(free), *[kind] * bool(kind), tree.name):
        inner = (constant for constant in code.co_consts if isinstance(constant, types.CodeType))
        code = next(constant for constant in inner if constant.co_name == name)
    return _is_same_code(code, function.__code__)


def _is_same_code(left: types.CodeType, right: types.CodeType) -> bool:
    """Return whether two code objects do the same, wherever they stand."""
    moved = left.replace(co_firstlineno=right.co_firstlineno, co_linetable=right.co_linetable, co_flags=right.co_flags)
    if moved == right:  # nearly always, and to compare instructions takes long
        return True
    return left.co_varnames == right.co_varnames and list(_list_instructions(left)) == list(_list_instructions(right))


_INCIDENTAL = {"CACHE", "COPY_FREE_VARS", "EXTENDED_ARG", "NOP", "PRECALL", "PUSH_NULL", "RESUME"}
"""Instructions that depend on where a function stands: a call of a module's function is compiled in two ways."""


def _list_instructions(code: types.CodeType) -> Iterator[tuple[str, object]]:
    """Yield what a code object does; a jump goes to the step that it reaches."""
    steps = [step for step in dis.get_instructions(code) if step.opname not in _INCIDENTAL]
    offsets = [step.offset for step in steps]
    for step in steps:
        name = "LOAD_ATTR" if step.opname == "LOAD_METHOD" else step.opname
        if isinstance(step.argval, types.CodeType):
            yield name, list(_list_instructions(step.argval))
        else:
            jumps = "JUMP" in name or name == "FOR_ITER"
            yield name, bisect_left(offsets, step.argval) if jumps else repr(step.argval)
