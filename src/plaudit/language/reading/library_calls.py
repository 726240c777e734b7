"""Reading calls of the functions and methods of NumPy, JAX and PyTorch: what is passed to which parameter.

A function is known by its module and name, so no library is imported here. What the libraries do not agree on is
refused, with what to write instead.
"""

import ast
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from plaudit.errors import did_you_mean
from plaudit.language import nodes as n
from plaudit.language.reading import arrays, entrywise, instances, pieces, products, reductions, sorting  # noqa: F401  # each registers what it means
from plaudit.language.reading.advice import FOREIGN, METHOD_ADVICE, find_advice, find_whole_name
from plaudit.language.reading.arithmetic import fold
from plaudit.language.reading.conditions import compare
from plaudit.language.reading.context import SPELLINGS, Context
from plaudit.language.reading.dictionaries import read_argument
from plaudit.language.reading.dtypes import BOOL, FLOAT, INTEGER, cast_dtype, cast_integers
from plaudit.language.reading.expressions import fit, list_items, spread
from plaudit.language.reading.indexing import look_up_position
from plaudit.language.reading.values import Constant, Ref, Value, Vector, describe, find_open, has_items, is_array
from plaudit.language.reading.vectors import holds_flags

Arguments = dict[str, Any]
"""What a call passes, by the name of the parameter; None for a literal None."""


IGNORED = ("device", "requires_grad", "non_blocking", "copy", "out_dtype")
"""Keyword arguments that make no difference to a number."""


_FUNCTIONS_ONLY = {
    "where", "array", "asarray", "tensor", "as_tensor", "concatenate", "cat", "concat", "hstack", "stack", "zeros",
    "dstack", "column_stack", "tile", "repeat", "sort",
    "ones", "full", "zeros_like", "ones_like", "full_like", "arange", "shape", "float32", "float64", "Tensor", "std",
    "FloatTensor", "var", "vstack", "select", "interp", "mse_loss", "l1_loss", "smooth_l1_loss", "cosine_similarity",
    "normalize", "softplus", "einsum", "broadcast_to", "isscalar", "is_tensor", "array_split",
    "from_numpy", "DoubleTensor",
}  # fmt: skip
METHODS = {name.removeprefix(".") for name in SPELLINGS if "." not in name[1:] and name not in _FUNCTIONS_ONLY}
"""The spellings that are methods of an array too."""

OF_VECTORS = ("math.dist", "math.prod", "math.fsum")
"""Functions of the math module that take vectors."""

DTYPES: Mapping[str, tuple[str, ...]] = {
    FLOAT: ("float", "float32", "float64", "double", "single"),
    INTEGER: ("int", "int8", "int16", "int32", "int64", "long", "uint8", "uint16", "uint32", "uint64"),
    BOOL: ("bool", "bool_"),
}
"""The names of dtypes, by what arrays of them hold."""

EMPTY = {FLOAT: 0.0, INTEGER: 0, BOOL: False}
_LIKE = ("zeros_like", "ones_like", "full_like")
_CONVERSIONS = ("astype", "to", "array", "asarray", "tensor", "as_tensor")
"""Functions that change nothing but the dtype."""
_DTYPE = "Drop it: every number is a float. To round, write np.floor(x); for a condition, x != 0."

LISTED = "Use a function that docs/reference/language.md lists, or compute it before scoring."
_SPREAD = "NumPy and PyTorch divide by different counts. Write np.std(v), or torch.std(v)."
_SEARCH = "Compute it before scoring and pass it in as a field."
_NAN = "A NaN never reaches a term: write the function without `nan`, such as np.sum(v)."
REFUSED: Mapping[str, str] = {
    **dict.fromkeys(("std", "var"), _SPREAD),
    "sort": "Write np.sort(v), of at most 8 numbers.",
    **dict.fromkeys(("argsort", "median", "unique"), _SEARCH),
    "flip": "Index backwards: v[::-1], m[:, ::-1].",
    "roll": "Join slices: np.concatenate([v[-1:], v[:-1]]).",
    **dict.fromkeys(("take", "index_select"), "Index by a list: v[[0, 2]], m[:, [0, 2]]."),
    **dict.fromkeys(("narrow", "select"), "Index by a slice or a position: v[0:2], m[:, 1]."),
    **dict.fromkeys(("gather", "take_along_axis"), "Index each row: [row[i] for row, i in zip(m, indices)]."),
    **dict.fromkeys(("moveaxis", "movedim"), "Say in which order the axes are: np.transpose(x, (1, 0, 2))."),
    **dict.fromkeys(("hsplit", "vsplit", "dsplit"), "Say along which axis: np.split(m, 2, axis=1)."),
    **dict.fromkeys(("vectorize", "apply_along_axis", "vmap"), "Loop: np.array([f(x) for x in v])."),
    **dict.fromkeys(("diagonal", "diag", "trace"), "Index the entries: [m[i, i] for i in range(3)]."),
    "topk": "Of at most 8 numbers, write sorted(v, reverse=True)[:2].",
    **dict.fromkeys(("quantile", "percentile"), _SEARCH),
    "average": "Write np.mean(v), or np.sum(v * w) / np.sum(w).",
    "ptp": "Write np.max(v) - np.min(v).",
    "outer": "Write v[:, None] * w[None, :].",
    "cdist": "Write np.linalg.norm(a[:, None] - b[None, :], axis=-1).",
    "logsumexp": "Write np.log(np.sum(np.exp(v))).",
    **dict.fromkeys(("nansum", "nanmean", "nanmax", "nanmin"), _NAN),
}
"""What to write instead of spellings that mean different things in different libraries, or that no target has."""

_ELSEWHERE = {"bmm", "byte", "char", "half", "mm", "mode", "mv", "short", "sort", "svd", "t", "type"}
"""Methods of arrays with short names, which are not misspelt although they are close to others."""

_ARRAYS = {"numpy": "ndarray", "jax": "Array", "torch": "Tensor"}

_MODULES = ("numpy", "numpy.linalg", "jax.numpy", "jax.numpy.linalg", "jax.nn", "torch", "torch.functional",
            "torch.linalg", "torch._C._linalg", "torch._C._nn", "torch._C._special", "torch.nn.functional")  # fmt: skip

OF_NUMBERS = tuple(name for name in SPELLINGS if name.startswith("math.") and name not in OF_VECTORS)
"""Functions of Python that take one number at a time."""


def call_spelling(context: Context, name: str, node: ast.Call, *first: Value) -> Value:
    """Return what a function of a library, or a method of the value `first`, gives."""
    spelled = SPELLINGS[name]
    if name == "to" and not _is_cast(context, node):
        return first[0]
    passed = _bind_arguments(context, spelled.signature, node, first)
    known = [value for value in passed.values() if value is not None]
    if (unknown := find_open(*known)) is not None:
        return unknown
    given = passed.pop("dtype", None)
    dtype = _read_dtype(context, given, node)
    value = passed.get("x")
    if dtype and value is not None:
        passed["x"] = _cast(context, name, _name_dtype(given), value, node)
    if name in OF_NUMBERS and any(is_array(value) for value in known):
        advice = f"For an array write np.{name.removeprefix('math.')}(v), entry by entry."
        raise context.error(node, f"`{ast.unparse(node.func)}` takes one number at a time.", advice)
    found = fit(context, partial(spelled.function, context, node, **passed), node=node)
    return cast_dtype(context, dtype, found, node) if dtype and value is None else found


def _is_cast(context: Context, node: ast.Call) -> bool:
    """Return whether `x.to(...)` names a dtype, and not a device alone."""
    given = [each for each in node.args if not isinstance(each, ast.Starred) and getattr(each, "attr", "") != "device"]
    given += [keyword.value for keyword in node.keywords if keyword.arg == "dtype"]
    values = [context.read(argument) for argument in given]
    known = [value.value for value in values if isinstance(value, Constant)]
    return any(type(each).__name__ == "dtype" or isinstance(each, type) for each in known)


def _bind_arguments(context: Context, signature: str, node: ast.Call, first: tuple[Value, ...]) -> Arguments:
    """Return what a call passes to the parameters of `signature`, such as `x low?|min high?|max`."""
    parts = [part.partition("=") for part in signature.split()]
    parameters = [part.replace("?", "").split("|") for part, _, _ in parts]
    required = [part.split("|")[0] for part, _, _ in parts if "?" not in part and "*" not in part]
    values = [*first, *_read_positional(context, node.args)]
    star = next((at for at, names in enumerate(parameters) if names[0].startswith("*")), None)
    passed: Arguments = {}
    if star is not None:
        passed[parameters[star][0][1:]] = Vector(tuple(value for value in values[star:] if value is not None))
        values = values[:star]
    elif len(values) > len(parameters):
        count = len(parameters) - len(first)
        raise context.error(node, f"`{ast.unparse(node.func)}` takes {count} argument{'s'[: count != 1]} here.")
    passed |= {names[0]: value for names, value in zip(parameters, values, strict=False)}
    for keyword in node.keywords:
        if keyword.arg in IGNORED:
            continue
        name = next((names[0] for names in parameters if keyword.arg in names), None)
        if name is None or name in passed:
            advice = f"It takes {', '.join(names[-1] for names in parameters[1:]) or 'no keywords'}."
            advice = "Assign what it returns: x = np.add(x, y)." if keyword.arg == "out" else advice
            raise context.error(node, f"`{ast.unparse(node.func)}` cannot be read with {keyword.arg}=.", advice)
        passed[name] = read_argument(context, keyword.value)
    for names, (_, _, default) in zip(parameters, parts, strict=True):
        if default and passed.get(names[0]) is None:
            passed[names[0]] = Constant(float(default) if set(default) & set(".e") else int(default))
    missing = [name for name in required if passed.get(name) is None]
    if missing:
        raise context.error(node, f"`{ast.unparse(node.func)}` is called without {' and '.join(missing)}.")
    return passed


def _read_positional(context: Context, nodes: list[ast.expr]) -> Iterator[Value | None]:
    for node in nodes:
        if isinstance(node, ast.Starred):
            yield from list_items(context, context.read(node.value), node)
        else:
            yield read_argument(context, node)


def _read_dtype(context: Context, dtype: Value | None, node: ast.AST) -> str:
    """Return a dtype as "float", "int" or "bool"; empty where none is given."""
    if dtype is None:
        return ""
    name = _name_dtype(dtype)
    found = next((sort for sort, names in DTYPES.items() if name in names), "")
    if not found:
        raise context.error(node, f"the dtype {name} cannot be read.", _DTYPE)
    return found


def _name_dtype(dtype: Value) -> str:
    """Return the name of a dtype: "float", "int32"."""
    known = dtype.value if isinstance(dtype, Constant) else None
    return str(getattr(known, "__name__", known)).removeprefix("torch.")


def _cast(context: Context, name: str, exact: str, value: Value, node: ast.AST) -> Value:
    """Return what a function with `dtype=` computes with; a dtype that would change the numbers is refused.

    What is only converted to integers is cut off towards 0, as `int(x)` is; so is nothing in a small or unsigned dtype.
    """
    dtype = next(sort for sort, names in DTYPES.items() if exact in names)
    if dtype == INTEGER and name in _CONVERSIONS:
        return cast_integers(context, exact, value, node)
    if name in _LIKE:
        return spread(context, lambda _: Constant(EMPTY[dtype]), value, node=node)
    if dtype != FLOAT and not holds_flags(value):
        raise context.error(node, f"the dtype {dtype} cannot be read.", _DTYPE)
    return cast_dtype(context, dtype, value, node)


def read_library_method(context: Context, base: Value, node: ast.Call) -> Value:
    """Return what a method of a value gives."""
    assert isinstance(node.func, ast.Attribute)
    name = node.func.attr
    table = base.value if isinstance(base, Constant) else None
    if name == "index" and isinstance(table, tuple) and len(node.args) == 1:
        return look_up_position(context, table, context.read(node.args[0]), node)
    if name in ("count", "get", "items", "keys", "values") and (unknown := find_open(base)) is not None:
        return unknown
    if name == "count" and len(node.args) == 1 and has_items(base):
        return _find_in_list(context, Vector(tuple(list_items(context, base, node))), node)
    if name == "index" and isinstance(base, Vector) and not base.array and len(node.args) == 1:
        return _find_in_list(context, base, node)
    if name in METHODS and (is_array(base) or not isinstance(base, Vector | Constant)):
        return call_spelling(context, f".{name}" if f".{name}" in SPELLINGS else name, node, base)
    if name in METHODS:
        raise context.error(node, f"{describe(base)} has no `.{name}()`.", "Make it an array: np.array(...).")
    advice = REFUSED.get(name) or METHOD_ADVICE.get(name, "")
    near = "" if advice or name in _ELSEWHERE or _exists(name) else did_you_mean(name, METHODS)
    raise context.error(node, f"the method `.{name}()` cannot be read.{near}", advice or LISTED)


def _find_in_list(context: Context, base: Vector, node: ast.Call) -> Value:
    """Return `names.index("foot")`, of constants, or how often a value is in a list."""
    assert isinstance(node.func, ast.Attribute)
    value = context.read(node.args[0])
    if (unknown := find_open(base, value)) is not None:
        return unknown
    if node.func.attr == "count":
        if any(has_items(each) for each in base.items):
            raise context.error(node, "only numbers, bools and strings of a list are counted.")
        equal = [compare(context, ast.Eq(), each, value, node) for each in base.items]
        certain = sum(each.value is True for each in equal if isinstance(each, Constant))
        return fold(context, n.Add, [*(each for each in equal if isinstance(each, Ref)), Constant(certain)], node)
    known = [each.value for each in base.items if isinstance(each, Constant)]
    if len(known) != len(base.items) or not isinstance(value, Constant):
        advice = f"Compare the entries: sum(x == {ast.unparse(node.args[0])} for x in v)."
        raise context.error(node, f"`.{node.func.attr}()` of a list needs constants.", advice)
    if value.value not in known:
        raise context.error(
            node, f"{describe(value)} is not in the list.", f"It holds {', '.join(map(repr, known)):.200}."
        )
    return Constant(known.index(value.value))


def _exists(name: str) -> bool:
    """Return whether arrays of a library that is loaded have a method of this name: then it is not misspelt."""
    classes = [getattr(sys.modules.get(library), kind, None) for library, kind in _ARRAYS.items()]
    return any(hasattr(each, name) for each in classes)


def refuse_library(context: Context, called: object, node: ast.Call) -> None:
    """Refuse a function of a library that is not read."""
    library, name = _get_library(called), str(getattr(called, "__name__", ""))
    if library:
        advice = REFUSED.get(name) or find_advice(find_whole_name(called))
        raise context.error(node, f"`{ast.unparse(node.func)}` of {library} cannot be read.", advice or LISTED)


def _get_library(called: object) -> str:
    library = (getattr(called, "__module__", "") or type(called).__module__ or "").partition(".")[0]
    library = {"jaxlib": "jax"}.get(library, library)
    return library if library in FOREIGN else ""


def find_spelling(called: object) -> str | None:
    """Return the name under which a function of a library is read; None for any other function.

    >>> import numpy as np
    >>> find_spelling(np.linalg.norm), find_spelling(np.linalg.svd), find_spelling(abs)
    ('norm', None, None)
    """
    module = getattr(called, "__module__", "") or ""
    if module in ("math", "statistics"):
        return key if (key := f"{module}.{getattr(called, '__name__', '')}") in SPELLINGS else None
    name = (getattr(called, "__name__", "") or "").removeprefix("linalg_").removeprefix("special_")
    if module not in _MODULES and not module.startswith(("jax._src.numpy", "jax._src.nn", "jax._src.ops.special")):
        return None
    return next((key for key in (f"{_get_library(called)}.{name}", name) if key in SPELLINGS), None)
