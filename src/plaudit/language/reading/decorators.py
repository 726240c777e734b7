"""Decorators: the plain function behind those that leave its value alone; a decorator that may change it is refused."""

import ast
import builtins
import inspect
import types

from plaudit.errors import ReadError
from plaudit.language.reading.advice import is_without_gradients
from plaudit.language.reading.effects import Find, is_harmless, is_reporting
from plaudit.language.reading.source import parse_source, read_closure

_COMPILED = {
    "torch.jit.ScriptFunction": "_torchdynamo_inline",
    "jaxlib.PjitFunction": "__wrapped__",
    "functools._lru_cache_wrapper": "__wrapped__",
    "numba.CPUDispatcher": "py_func",
}
"""Objects that compute what a function does, by package and class: where they keep that function."""

_WRAPPERS = {
    "torch.jit._trace:_script_if_tracing.<locals>.wrapper": "",
    "torch._dynamo.eval_frame:_TorchDynamoContext.__call__.<locals>.compile_wrapper": "",
    "torch.utils._contextlib:context_decorator.<locals>.decorate_context": "ctx_factory",
    "numpy._core._ufunc_config:errstate.__call__.<locals>.inner": "",
    "numpy:errstate.__call__.<locals>.inner": "",
}
"""Functions of libraries that only call another, by module and name; where a context decides, what it is called."""

_TAKES_ALL = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
_CONTEXTS = ("no_grad", "inference_mode", "enable_grad", "set_grad_enabled")
"""Contexts that change which gradients are kept, and no value."""


def unwrap(function: object) -> object:
    """Return the function that a decorated one computes; itself where a decorator may change the value."""
    while (inner := _find_wrapped(function)) is not None:
        function = inner
    return function


def refuse_wrapper(function: object) -> None:
    """Refuse the function of a decorator that takes whatever it is given: what it computes cannot be read."""
    inner = getattr(function, "__wrapped__", None)
    if inner is None or not isinstance(function, types.FunctionType) or not function.__code__.co_flags & _TAKES_ALL:
        return
    code = function.__code__
    decorator = code.co_qualname.partition(".<locals>")[0]
    plain = f"{getattr(inner, '__name__', 'f')}.__wrapped__"
    raise ReadError(
        f"{function.__name__!r} cannot be read: the decorator `{decorator}` may change what it returns.\n"
        f"  {code.co_filename}, line {code.co_firstlineno}\n"
        "Do the decorator's work in the function itself. Or, where it makes no difference to the value, read the "
        f"function without it: term({plain})."
    )


def _find_wrapped(function: object) -> object | None:
    """Return the function that `function` only calls; None where it does more."""
    if (place := _COMPILED.get(_name_class(function))) is not None:
        traced = place == "_torchdynamo_inline" and getattr(function, "__name__", "") != "ScriptFunction"
        return None if traced else getattr(function, place, None)  # a trace knows one path of its function
    if not isinstance(function, types.FunctionType):
        return None
    inner = getattr(function, "__wrapped__", None) or getattr(function, "_torchdynamo_orig_callable", None)
    if inner is None:
        return None
    context = _find_wrapper(function)
    if context is None:
        return inner if _only_passes_on(function, inner) else None
    return inner if not context or _is_harmless(read_closure(function).get(context)) else None


def _name_class(value: object) -> str:
    kind = type(value)
    package = kind.__module__.partition(".")[0]
    if kind.__name__ == "ScriptFunction":
        package = "torch.jit"
    return f"{package}.{kind.__name__}"


def _find_wrapper(function: object) -> str | None:
    """Return what the context of a library's wrapper is called, an empty string where it has none; None for others."""
    if not isinstance(function, types.FunctionType):
        return None
    module = function.__globals__.get("__name__", "")  # `functools.wraps` gave it the name of what it wraps
    return _WRAPPERS.get(f"{module}:{function.__code__.co_qualname}")


def _is_harmless(factory: object) -> bool:
    manager = getattr(factory, "__self__", None)
    return type(manager).__name__ in _CONTEXTS and type(manager).__module__.startswith("torch.")


def _only_passes_on(wrapper: types.FunctionType, inner: object) -> bool:
    """Return whether a wrapper returns what `inner` returns for what it is given itself."""
    try:
        source = parse_source(wrapper)
    except ReadError:
        return False
    arguments = source.tree.args
    if arguments.args or arguments.posonlyargs or arguments.kwonlyargs or not (arguments.vararg and arguments.kwarg):
        return False
    names = {name for name, value in read_closure(wrapper).items() if value is inner}
    calls = {f"{name}(*{arguments.vararg.arg}, **{arguments.kwarg.arg})" for name in names}
    kept = {*names, arguments.vararg.arg, arguments.kwarg.arg}
    find = {**vars(builtins), **wrapper.__globals__, **read_closure(wrapper)}.__getitem__
    return _returns_call(source.tree.body, calls, kept, find)


def _returns_call(body: list[ast.stmt], calls: set[str], kept: set[str], find: Find) -> bool:
    """Return whether statements call the function, keep what it returns as it is, and return that."""
    results: set[str] = set()
    for statement in body:
        match statement:
            case ast.Return(value=ast.expr() as value):
                return ast.unparse(value) in calls | results
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name not in kept | results:
                if ast.unparse(value) in calls:
                    results.add(name)
                elif not is_harmless(value, find):
                    return False
            case ast.Expr(value=ast.Constant()):
                pass
            case ast.Expr(value=ast.Call() as call) if is_reporting(call, find):
                if not all(is_harmless(each, find) for each in (*call.args, *(k.value for k in call.keywords))):
                    return False
            case ast.With(items=[item]) if is_without_gradients(item.context_expr) and statement is body[-1]:
                return _returns_call(statement.body, calls, kept | results, find)
            case _:
                return False
    return False
