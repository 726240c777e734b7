"""Functions of a task as text that people read and edit, and text as functions; reading runs none of it."""

import ast
import builtins
import math
import symtable
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from io import StringIO
from typing import Any, NoReturn

from plaudit.errors import DefinitionError
from plaudit.language.program import Program, sign
from plaudit.language.reading.decorators import unwrap
from plaudit.language.reading.source import Source, is_installed, read_current
from plaudit.language.writing.render import render_function
from plaudit.reward.declared import UNNAMED, Fact, make_fact_of

MOST_CHARACTERS = 100_000
_PLAIN = (bool, int, float, str, types.NoneType)


def parse_function(text: object, what: str) -> Fact:
    r"""Return the function that a text of Python defines; its body is read and never run.

    Raises:
        DefinitionError: The text is not a single function of the language; errors say `what` it is.

    >>> parse_function("def slow(speed):\n    return speed <= 2", "fact").reads
    ('speed',)
    """
    if not isinstance(text, str) or len(text) > MOST_CHARACTERS:
        raise DefinitionError(f"{what}: the text of a Python function is needed, not {text!r:.60}")
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        said = f"{error.msg}, line {error.lineno}" if isinstance(error, SyntaxError) else str(error)
        raise DefinitionError(f"{what}: the text does not parse: {said}\n  {text!r:.200}") from None
    if len(body) != 1 or not isinstance(tree := body[0], ast.FunctionDef) or tree.decorator_list:
        raise DefinitionError(
            f"{what}: the text is one plain function, `def name(field): return ...`, and not {text!r:.100}"
        )
    if any(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(tree)):
        raise DefinitionError(
            f"{what} {tree.name!r}: the text cannot import anything; math and np are available already"
        )
    if _drop_annotations(tree):
        try:
            return parse_function(ast.unparse(tree), what)
        except RecursionError:
            raise DefinitionError(f"{what} {tree.name!r}: the text is nested too deeply") from None
    try:
        constants = {name: _read_value(each) for name, each in _list_defaults(tree.args)}
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        raise DefinitionError(f"{what} {tree.name!r}: a default is a plain value, such as 0.5") from None
    lines = tuple(StringIO(text, newline=None))  # `splitlines` knows ends of lines that Python does not
    try:
        source = Source(tree.name, UNNAMED, lines, 1, tree, _build_function(tree))
    except SyntaxError as error:  # such as one parameter twice
        raise DefinitionError(f"{what} {tree.name!r}: {error.msg}") from None
    return make_fact_of(source, what, constants, ast.get_docstring(tree) or "", text)


def _list_defaults(arguments: ast.arguments) -> Iterator[tuple[str, ast.expr]]:
    """Yield each parameter with a default, and the default."""
    yield from zip(reversed([each.arg for each in arguments.args]), reversed(arguments.defaults), strict=False)
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if default is not None:
            yield argument.arg, default


def _drop_annotations(tree: ast.FunctionDef) -> bool:
    """Return whether there are annotations, which Python runs where a text is written into a module; none stay."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.arg) and node.annotation is not None]
    typed = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.returns is not None]
    for argument in found:
        argument.annotation = None
    for function in typed:
        function.returns = None
    return bool(found or typed)


def _read_value(node: ast.expr) -> Any:
    """Return what `_write_value` wrote: a literal, or an array of one."""
    match node:
        case ast.Call(ast.Attribute(ast.Name("np"), "array"), [entries], []):
            return _find_names()["np"].array(ast.literal_eval(entries))
    return ast.literal_eval(node)


def _build_function(tree: ast.FunctionDef) -> types.FunctionType:
    """Return the function without running anything but its `def`: there are no annotations, and no defaults."""
    bare = ast.FunctionDef(tree.name, _strip_arguments(tree.args), [ast.Pass()], [])
    module = ast.fix_missing_locations(ast.Module([bare], []))
    return types.FunctionType(compile(module, UNNAMED, "exec").co_consts[0], _find_names(), tree.name)


def _strip_arguments(given: ast.arguments) -> ast.arguments:
    fields, constants = ([ast.arg(each.arg) for each in part] for part in (given.args, given.kwonlyargs))
    return ast.arguments([], fields, None, constants, [None] * len(constants), None, [])


@cache
def _find_names() -> dict[str, Any]:
    """Return what a text may name besides its parameters and Python's own functions."""
    import numpy as np  # which whoever defines a reward need not load

    return {**_find_plain(), "np": np, "numpy": np, "__name__": UNNAMED}


@cache
def _find_plain() -> dict[str, Any]:
    from plaudit import functions

    plain = {name: each for name, each in vars(math).items() if not name.startswith("_")}
    return {**plain, **{name: getattr(functions, name) for name in functions.__all__}, "math": math, "sign": sign}


def write_function(fact: Fact) -> str:
    """Return a function as text that stands alone: values from around it are written out, helpers defined inside it.

    Raises:
        DefinitionError: It uses something from around it that no text holds.
    """
    if fact.text is not None:
        return fact.text
    assert fact.source is not None
    try:
        return _unparse(fact.source, fact.constants, fact.doc)
    except _StandsElsewhere as name:
        raise DefinitionError(
            f"{fact.name!r} cannot be written as text on its own: it uses {name!s}. Save the task of a reward that has "
            f"it, `reward.task`; or make {name!s} a keyword-only parameter with a plain value."
        ) from None


def settle_function(fact: Fact, read: Callable[[], Program]) -> Fact:
    """Return a function that can be written as text: one that uses what stands around it, as it is read."""
    try:
        write_function(fact)
        return fact
    except DefinitionError:
        text = render_function(read(), fact.name, fact.doc)
    try:
        parse_function(text, "text")
    except DefinitionError:
        raise DefinitionError(
            f"{fact.name!r} cannot be written as text: a field that it reads has the name of a function that it needs, "
            f"one of {', '.join(fact.reads)}. Rename the field, or write the function without helpers."
        ) from None
    return replace(fact, text=text)


class _StandsElsewhere(Exception):
    """A function uses something by name that a text cannot hold."""


def _unparse(source: Source, constants: Mapping[str, object], doc: str) -> str:
    tree = _write_tree(source, constants, frozenset(), (source.function,))
    if doc:
        tree.body.insert(0, ast.Expr(ast.Constant(doc)))
    text = ast.unparse(ast.fix_missing_locations(tree))
    for name in _list_globals(symtable.symtable(text, UNNAMED, "exec").get_children()[0]):
        if name not in _find_plain() and name not in ("np", "numpy") and not hasattr(builtins, name):
            raise _StandsElsewhere(name)  # the name of a local, too, of another scope
    return text


def _list_globals(table: symtable.SymbolTable) -> Iterator[str]:
    yield from (symbol.get_name() for symbol in table.get_symbols() if symbol.is_global())
    for inner in table.get_children():
        yield from _list_globals(inner)


def _write_tree(
    source: Source, constants: Mapping[str, object], outer: frozenset[str], calls: tuple[types.FunctionType, ...]
) -> ast.FunctionDef:
    """Return a function with what stands around it inside; `outer` are the names of functions that it stands in."""
    tree = ast.parse(ast.unparse(source.tree)).body[0]  # a copy
    assert isinstance(tree, ast.FunctionDef)
    own = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    own |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    own |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node is not tree}
    body = tree.body[1:] if ast.get_docstring(tree) is not None else tree.body
    writer = _WriteOut(source, own, outer, calls)
    written = [writer.visit(part) for part in body]
    if tree.args.vararg or tree.args.kwarg or tree.args.posonlyargs:
        raise _StandsElsewhere(tree.name)
    arguments = _strip_arguments(tree.args)
    arguments.kw_defaults = [
        _write_value(each.arg, constants[each.arg]) if each.arg in constants else None for each in arguments.kwonlyargs
    ]
    arguments.defaults = [_write_value(tree.name, each) for each in source.function.__defaults__ or ()]
    return ast.FunctionDef(tree.name, arguments, [*writer.helpers.values(), *(written or [ast.Pass()])], [])


class _WriteOut(ast.NodeTransformer):
    """Writes out the values of names from around a function, gathers the helpers it calls, and drops annotations."""

    def __init__(
        self, source: Source, own: set[str], outer: frozenset[str], calls: tuple[types.FunctionType, ...]
    ) -> None:
        self._source, self._own, self._outer, self._calls = source, own, outer, calls
        self.helpers: dict[types.FunctionType, ast.FunctionDef] = {}

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self._own or not isinstance(node.ctx, ast.Load):
            return node
        return self._write(node.id, self._find(node.id))

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Write out a constant of a module, a class or an object; `math` and NumPy stay as they are."""
        root: ast.expr = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name) or root.id in self._own:
            return self.generic_visit(node)  # type: ignore[return-value]
        name, value = ast.unparse(node), self._find(root.id)
        if _find_title(value) in ("math", "np"):
            return self.generic_visit(node)  # type: ignore[return-value]
        for part in name.split(".")[1:]:
            key = (id(value), part)
            value = self._source.known[key] if key in self._source.known else getattr(value, part, _NOTHING)
        return self._write(name, value)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(node.arg)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.returns = None
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> NoReturn:
        raise _StandsElsewhere(f"`{ast.unparse(node)}`")

    def visit_ImportFrom(self, node: ast.ImportFrom) -> NoReturn:
        self.visit_Import(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        return node if node.value is None else ast.Assign([node.target], self.visit(node.value))

    def _find(self, name: str) -> object:
        known = self._source.known  # as it was when the function was first read
        try:
            return known[name] if name in known else read_current(self._source.function, name)
        except KeyError:
            raise _StandsElsewhere(name) from None

    def _write(self, name: str, value: object) -> ast.expr:
        if (title := _find_title(value)) is not None:
            if title in self._own | self._outer:
                raise _StandsElsewhere(name)
            return ast.Name(title, ast.Load())
        if isinstance(value, Fact) and value.source is not None:
            return self._write_helper(name, value.source.function)
        value = unwrap(value)
        return self._write_helper(name, value) if isinstance(value, types.FunctionType) else _write_value(name, value)

    def _write_helper(self, name: str, function: types.FunctionType) -> ast.expr:
        if function not in self.helpers:
            if function in self._calls or is_installed(function):
                raise _StandsElsewhere(name)
            source = self._source.find_helper(function)
            around = self._outer | self._own | {each.name for each in self.helpers.values()}
            made = _write_tree(source, function.__kwdefaults__ or {}, around, (*self._calls, function))
            made.name = name.replace(".", "_")
            while made.name in around or hasattr(builtins, made.name) or made.name in _find_plain():
                made.name += "_"
            self.helpers[function] = made
        return ast.Name(self.helpers[function].name, ast.Load())


_NOTHING = object()


def _find_title(value: object) -> str | None:
    """Return the name by which a text knows a module or a function, whatever it is called where it is used."""
    if isinstance(value, types.ModuleType):
        return {"math": "math", "numpy": "np"}.get(value.__name__)
    return _find_titles().get(id(value))


@cache
def _find_titles() -> dict[int, str]:
    known = {**vars(builtins), **_find_plain()}
    return {id(each): name for name, each in known.items() if callable(each)}


def _write_value(name: str, value: Any) -> ast.expr:
    value = value.item() if type(value).__module__ == "numpy" and not getattr(value, "shape", True) else value
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        array = ast.Attribute(ast.Name("np", ast.Load()), "array", ast.Load())
        return ast.Call(array, [_write_value(name, value.tolist())], [])
    if type(value) in _PLAIN and value == value:
        return ast.Constant(value)
    if type(value) in (tuple, list):
        return ast.Tuple([_write_value(name, each) for each in value], ast.Load())
    if isinstance(value, Mapping):
        return ast.Dict(
            [_write_value(name, key) for key in value], [_write_value(name, each) for each in value.values()]
        )
    raise _StandsElsewhere(name)


def strip_function(text: str) -> str:
    """Return the syntax of a function without comments, docstring and layout: two that agree in it do the same.

    Every version of Python gives the same; `ast.dump` and `ast.unparse` do not.
    """
    tree = ast.parse(text).body[0]
    assert isinstance(tree, ast.FunctionDef)
    if ast.get_docstring(tree) is not None:
        tree.body = tree.body[1:] or [ast.Pass()]
    return _dump(tree)


def _dump(tree: ast.AST) -> str:
    """Return a tree as text, without recursion: a long chain of `elif` nests as deeply."""
    written: list[str] = []
    waiting: list[object] = [tree]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            written.append(part)
            continue
        if isinstance(part, list):
            pieces = [piece for at, each in enumerate(part) for piece in (", " * bool(at), _prepare(each))]
            waiting += ["]", *reversed(pieces), "["]
            continue
        assert isinstance(part, ast.AST)
        said = [(name, each) for name, each in ast.iter_fields(part) if each is not None and each != []]
        named = [
            piece for at, (name, each) in enumerate(said) for piece in (f"{', ' * bool(at)}{name}=", _prepare(each))
        ]
        waiting += [")", *reversed(named), f"{type(part).__name__}("]
    return "".join(written)


def _prepare(part: object) -> object:
    return part if isinstance(part, ast.AST | list) else repr(part)
