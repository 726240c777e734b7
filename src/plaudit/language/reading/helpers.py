"""Reading helpers: the functions that a term calls are read in place, also those that it defines itself."""

import ast
import inspect
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

from plaudit.errors import ReadError
from plaudit.language.reading.advice import explain_unsupported_call, find_advice, find_whole_name
from plaudit.language.reading.context import Context, reads
from plaudit.language.reading.decorators import refuse_wrapper
from plaudit.language.reading.expressions import fit, read_constant, read_several
from plaudit.language.reading.flow import run_body, run_function
from plaudit.language.reading.owners import MISSING, find_member
from plaudit.language.reading.sharing import forget_shared
from plaudit.language.reading.source import Source, list_assigned, validate_signature
from plaudit.language.reading.values import (
    Constant,
    Dictionary,
    Names,
    Nested,
    Unassigned,
    Value,
    describe,
    find_open,
    is_array,
    list_parts,
)
from plaudit.language.reading.vectors import stack_arrays

FUNCTIONS = "plaudit.functions"
"""The module of functions for one row, which functions for batches call for all rows."""

MOST_CALLS = 10_000


class _Unreadable(ReadError):
    """A function of a library cannot be read, whatever it is called with."""


def read_helper(
    context: Context,
    function: types.FunctionType,
    node: ast.Call,
    bound: Sequence[Value] = (),
    *,
    needed: bool = True,
) -> Value:
    """Read a helper in place, with its parameters standing for what is passed; a method is `bound` to an object.

    Where what it returns is not `needed`, it may return nothing: it is called for what it assigns.
    """
    _count_call(context, function, function.__name__, node)
    source = _find_source(context, function, node)
    names = [argument.arg for argument in source.tree.args.args]
    values = function.__defaults__ or ()
    defaults = dict(zip(names[len(names) - len(values) :], values, strict=True)) | (function.__kwdefaults__ or {})
    known = {name: partial(read_constant, context, default, node) for name, default in defaults.items()}
    passed = _read_arguments(context, source, known, node, bound)
    if (context.batch or context.scope.fields is None) and function.__module__ == FUNCTIONS:
        return _read_rows(context, function, node, source, passed)
    with _point_at_call(context, function, node), _entering(context, function, node, source, passed) as inner:
        if needed:
            return run_function(inner)
        flow = run_body(inner)
        return Constant(None) if flow.value is None else flow.value


def _find_source(context: Context, function: types.FunctionType, node: ast.Call) -> Source:
    """Return the source of a helper; of a library's function that cannot be read, say so where it is called."""
    try:
        refuse_wrapper(function)
        source = context.source.find_helper(function)
        validate_signature(source)
    except ReadError as error:
        if not context.source.is_library_call(function):
            raise
        why = str(error).partition("\n")[0].partition(": ")[2].removesuffix(".")
        flags = function.__code__.co_flags
        if flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
            declared = "*args" if flags & inspect.CO_VARARGS else "**kwargs"
            why = f"`{ast.unparse(node.func)}` is declared with `{declared}`, as by a decorator"
        what = f"{why}, so what it computes cannot be seen."
        raise _Unreadable(str(context.error(node, what, _advise_field(context, function)))) from None
    return source


def _advise_field(context: Context, function: types.FunctionType) -> str:
    """Return how to do without a library's function: its value is a field, or that of the method that calls it."""
    if (advice := find_advice(find_whole_name(function))) != "":
        return advice
    own = context.owner is not None and context.calls and find_member(context.owner, context.source.name) is not MISSING
    name = context.source.name if own else function.__name__
    instead = f"`{name}` then need not be read" if own else "read that in its place"
    return f"Compute it before scoring: declare Field({name!r}), and {instead}."


def _read_rows(context: Context, function: types.FunctionType, node: ast.Call, source: Source, passed: Names) -> Value:
    """Return what a function for one row gives for each row of a batch; of what is no batch, once."""
    batch = context.batch
    batched = [name for name, value in passed.items() if is_array(value) and _count_rows(value) == batch]
    found = []
    for row in range(batch if batched else 1):
        each = {name: list_parts(passed[name])[row] for name in batched}  # type: ignore[index]  # an array
        with (
            _point_at_call(context, function, node),
            _entering(context, function, node, source, passed | each) as inner,
        ):
            inner.batch = 0
            found.append(run_function(inner))
    if not batched:
        return find_open(found[0]) or found[0]  # where no field is declared yet, it may be that of a batch
    return fit(context, stack_arrays, found, 0, node=node)


def _count_rows(value: Value) -> int:
    return len(list_parts(value) or ())


def read_nested(context: Context, helper: Nested, node: ast.Call) -> Value:
    """Read a function that is defined inside another, with the names that has around it now."""
    tree = helper.source.tree
    _count_call(context, tree, tree.name, node)
    known = {name: partial(helper.defaults.__getitem__, name) for name in helper.defaults}
    passed = _read_arguments(context, helper.source, known, node)
    own = list_assigned(tree)
    around = {name: value for name, value in helper.names().items() if name not in own}
    with _entering(context, tree, node, helper.source, around | passed) as inner:
        inner.locals |= helper.locals
        return run_function(inner)


@contextmanager
def _entering(context: Context, function: object, node: ast.Call, source: Source, names: Names) -> Iterator[Context]:
    """Read a helper that is called here; parts of records are the same inside it and, as it leaves them, behind it."""
    parts = {name: value for name, value in context.names.items() if "." in name}
    written, changed = len(context.writes), len(context.changed)
    inner = context.open_helper(source, {**names, **parts})
    context.calls.append(function)
    try:
        yield inner
    finally:
        context.calls.pop()
    new = dict.fromkeys(context.writes[written:])
    if new and not context.certain:
        what = f"{source.name!r} assigns `{next(iter(new))}`, and only some rows call it here."
        raise context.error(node, what, "Call it on a line of its own, under an `if`.")
    for name in new:
        context.names[name] = inner.names.get(name, Unassigned()) if _ends_once(source.tree) else _lose(name, source)
    for value in context.changed[changed:]:
        forget_shared(context, value, *new)


def _ends_once(function: ast.FunctionDef) -> bool:
    """Return whether a function has one end, so that what it leaves assigned is known there."""
    returns, waiting = [], list[ast.AST](function.body)
    while waiting:
        node = waiting.pop()
        returns += [node] if isinstance(node, ast.Return) else []
        waiting += [] if isinstance(node, ast.FunctionDef | ast.Lambda) else ast.iter_child_nodes(node)
    return not returns or returns == function.body[-1:]


def _lose(name: str, source: Source) -> Unassigned:
    return Unassigned(f"`{name}` is assigned in {source.name!r}, which has more than one `return`.")


def define_helper(context: Context, tree: ast.FunctionDef) -> Nested:
    """Return the function that a `def` or a lambda inside this one makes."""
    source = context.source.nest(tree)
    validate_signature(source)
    arguments = tree.args
    names = [argument.arg for argument in arguments.args]
    pairs = list(zip(names[len(names) - len(arguments.defaults) :], arguments.defaults, strict=True))
    pairs += [(a.arg, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None]
    defaults = {name: context.read(default) for name, default in pairs}
    return Nested(source, defaults, lambda: context.statement_names, frozenset(context.locals))


@reads(ast.Lambda)
def _read_lambda(context: Context, node: ast.Lambda) -> Value:
    body = ast.copy_location(ast.Return(node.body), node.body)
    tree = ast.FunctionDef(name="<lambda>", args=node.args, body=[body], decorator_list=[])
    return define_helper(context, ast.copy_location(tree, node))


def _count_call(context: Context, function: object, name: str, node: ast.Call) -> None:
    """Refuse recursion, and calls without end."""
    if function in context.calls or function is context.source.function:
        raise context.error(node, f"{name!r} calls itself.", "Recursion cannot be compiled; compute it before scoring.")
    context.counts["calls"] += 1
    if context.counts["calls"] > MOST_CALLS:
        advice = "Compute part of it before scoring and pass it in as a field."
        raise context.error(node, f"more than {MOST_CALLS:,} calls of helpers.", advice)


@contextmanager
def _point_at_call(context: Context, function: types.FunctionType, node: ast.Call) -> Iterator[None]:
    """Let guards and errors point at the call where what is called belongs to a library."""
    outer = context.called_from
    library = context.source.is_library_call(function)
    if library and outer is None:
        context.called_from = context.source.locate(node)
    try:
        yield
    except ReadError as error:
        if not library or outer is not None:
            raise
        why = str(error).partition("\n")[0].partition(": ")[2]
        name = ast.unparse(node.func)
        if isinstance(error, _Unreadable):
            what = f"`{name}` cannot be read: in it, {why}"
            raise context.error(node, what, _advise_field(context, function)) from None
        own = function.__module__.startswith("plaudit.")
        advice = str(error).rpartition("\n")[2] if own else explain_unsupported_call(name, function)[1]
        raise context.error(node, f"`{name}` cannot be read with these arguments: {why}", advice) from None
    finally:
        context.called_from = outer


def _read_arguments(
    context: Context,
    source: Source,
    defaults: Mapping[str, Callable[[], Value]],
    node: ast.Call,
    bound: Sequence[Value] = (),
) -> Names:
    signature = source.tree.args
    names = [argument.arg for argument in signature.args]
    listed = f"Its parameters: {ast.unparse(signature) or 'none'}."
    given = [*bound, *read_several(context, node.args)]
    if len(given) > len(names) and signature.vararg is None:
        what = f"{source.name!r} takes {len(names)} positional arguments."
        raise context.error(node, what, listed)
    passed = dict(zip(names, given, strict=False))
    known = {*names, *(argument.arg for argument in signature.kwonlyargs)}
    for name, value in _list_keywords(context, node):
        if name not in known and signature.kwarg is not None:
            continue  # which it does not use
        if name not in known or name in passed:
            what = f"{source.name!r} has no argument {name!r}, or is given it twice."
            raise context.error(node, what, listed)
        passed[name] = value
    for name, default in defaults.items():
        if name not in passed:
            passed[name] = default()
    missing = known - passed.keys()
    if missing:
        what = f"{source.name!r} is called without {', '.join(sorted(missing))}."
        raise context.error(node, what, listed)
    return passed


def _list_keywords(context: Context, node: ast.Call) -> Iterator[tuple[str, Value]]:
    """Yield the keyword arguments of a call; `**d` stands for the entries of a dict."""
    for keyword in node.keywords:
        value = context.read(keyword.value)
        if keyword.arg is not None:
            yield keyword.arg, value
        elif isinstance(value, Dictionary):
            yield from ((str(key), item) for key, item in value.items.items())
        else:
            raise context.error(node, f"`**` takes a dict here, and this is {describe(value)}.")
